"""Frames, and requests that break the protocol."""

from __future__ import annotations

import os
import random
import socket
import struct
import threading
from typing import Any

import pytest
from runtime import Message, frame, hello, parts, step_body

import migbsp
from migbsp import _frames as frames
from migbsp._executor import Executor
from migbsp._frames import Channel, ProtocolError
from migbsp._values import encode

# How many requests are changed at random.
MUTATED = int(os.environ.get("MUTATED_FRAMES", "100000"))


class Chatter(migbsp.Program):
    """Uses everything."""

    def __init__(self, ctx: migbsp.Start, *, weight: float = 1.0) -> None:
        self.heard: list[Any] = []
        self.weight = weight

    def superstep(self, ctx: migbsp.Superstep) -> None:
        self.heard = [ctx.messages, ctx.sized, ctx.elapsed, ctx.standby]
        for name in ("sum", "none", "gathered"):
            try:
                self.heard.append(ctx.reduced(name) if name != "gathered" else ctx.gathered(name))
            except migbsp.ReductionError as error:
                self.heard.append(str(error))
        ctx.send(ctx.rank, self.weight)
        ctx.broadcast(["to", "all"])
        ctx.send_sized(0, 5)
        ctx.reduce("sum", migbsp.Sum([1.0, 2.0]))
        ctx.gather("gathered", {"rank": ctx.rank})
        ctx.note("note", 1)
        ctx.snapshot("field", [1])

    @classmethod
    def verify(cls, outputs: list[Any], **parameters: Any) -> str:
        return f"{len(outputs)} outputs"


def started() -> Executor:
    executor = Executor(Chatter)
    executor.answer(frames.HELLO, frames.EXECUTOR, memoryview(hello(2, {"weight": 2.5})))
    executor.answer(frames.START, 7, memoryview(struct.pack("<I12x", 1)))
    return executor


def full_step(superstep: int = 3) -> bytes:
    messages = [
        Message(0, bytes(encode([1, "text"])), 7),
        Message(0, None, 1 << 40),
        Message(1, bytes(encode({"key": 1.5})), 0),
    ]
    messages = [Message(m.sender, m.content, m.length if m.content is None else len(m.content)) for m in messages]
    items = [
        (1, 0, b"sum", 0, struct.pack("<dd", 1, 2)),
        (6, 0, b"gathered", 0, bytes(encode("a"))),
        (6, 0, b"gathered", 1, bytes(encode("b"))),
        (0, 0, b"none", 0, b"too large"),
    ]
    return step_body(superstep, 0.5, messages, [0, 1, 5], items)


def answered(executor: Executor, kind: int, handle: int, body: bytes) -> tuple[int, bytes]:
    answer = b"".join(executor.answer(kind, handle, memoryview(bytearray(body))))
    replied, zero, magic, of, length = struct.unpack_from("<BBHIQ", answer)
    assert (zero, magic, of, length) == (0, 0x5342, handle, len(answer) - 16)
    return replied, answer[16:]


def test_a_step_has_all_that_a_process_sees() -> None:
    executor = started()
    kind, _ = answered(executor, frames.STEP, 7, full_step())
    assert kind == frames.DONE
    program = executor._processes[7]._program
    assert program.heard == [  # type: ignore[attr-defined]
        [(0, [1, "text"]), (1, {"key": 1.5})],
        [(0, 1 << 40)],
        0.5,
        (0, 1, 5),
        pytest.approx([1.0, 2.0]),
        "`none`: too large",
        [(0, "a"), (1, "b")],
    ]


def test_frames_are_read_however_they_arrive() -> None:
    bodies = [b"", b"1234", bytes(range(256)) * 300, b"x" * 65_520, b"y" * 65_521, b"", b"z" * 200_000, b"end"]
    stream = b"".join(frame(3, index, body) for index, body in enumerate(bodies))
    for seed in range(10):
        own, other = socket.socketpair()
        rng = random.Random(seed)

        def write() -> None:
            at = 0
            while at < len(stream):
                length = rng.choice([1, 7, 16, 100, 65_536, len(stream)])
                other.sendall(stream[at : at + length])
                at += length
            other.close()

        writer = threading.Thread(target=write)
        writer.start()
        channel = Channel(own)
        read = []
        while (request := channel.read()) is not None:
            read.append(request)
        writer.join()
        assert [(kind, handle, bytes(body)) for kind, handle, body in read] == [
            (3, index, body) for index, body in enumerate(bodies)
        ]


def test_long_frames_are_written_in_pieces() -> None:
    own, other = socket.socketpair()
    pieces: list[Any] = [bytes([index % 256]) * (index % 1000) for index in range(2000)] + [memoryview(b"end" * 100_000)]
    expected = b"".join(pieces)
    received = bytearray()

    def read() -> None:
        while part := other.recv(10_000):
            received.extend(part)

    reader = threading.Thread(target=read)
    reader.start()
    Channel(own).write(list(pieces))
    own.close()
    reader.join()
    assert received == expected


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        (b"Hello from a lib\n", "b'Hello from a lib' is not the header of a frame"),
        (frame(3, 0, b"")[:9], "the stream ends in the header of a frame, after 9 bytes"),
        (frame(3, 0, b"12345")[:-1], "the stream ends after 4 of 5 bytes of a frame"),
        (struct.pack("<BBHIQ", 3, 0, 0x5342, 0, 1 << 33), "a frame of 8589934592 bytes"),
        (struct.pack("<BBHIQ", 3, 1, 0x5342, 0, 0), "is not the header of a frame"),
    ],
)
def test_streams_that_are_no_frames(stream: bytes, text: str) -> None:
    own, other = socket.socketpair()
    other.sendall(stream)
    other.close()
    with pytest.raises(ProtocolError, match=text):
        Channel(own).read()


@pytest.mark.parametrize(
    ("kind", "handle", "body"),
    [
        (frames.HELLO, frames.EXECUTOR, b"short"),
        (frames.HELLO, frames.EXECUTOR, hello(2, version=2)),
        (frames.HELLO, frames.EXECUTOR, hello(0)),
        (frames.HELLO, frames.EXECUTOR, hello(2) + bytes(16)),
        (frames.HELLO, frames.EXECUTOR, parts(struct.pack("<HHIQQII", 1, 1, 1, 0, 0, 0, 2), b"[]")),
        (frames.HELLO, frames.EXECUTOR, parts(struct.pack("<HHIQQII", 1, 1, 1, 0, 0, 0, 99), b"{}")),
        (frames.START, 7, bytes(16)),
        (frames.START, 8, struct.pack("<I12x", 2)),
        (frames.START, 8, bytes(17)),
        (frames.START, 8, b""),
        (frames.STEP, 8, bytes(32)),
        (frames.STEP, 7, b""),
        (frames.STEP, 7, struct.pack("<QdIIII", 0, 0, 1, 0, 0, 0)),
        (frames.STEP, 7, struct.pack("<QdIIII", 0, 0, 1 << 31, 0, 0, 0)),
        (frames.STEP, 7, struct.pack("<QdIIII", 0, 0, 0, 1 << 31, 0, 0)),
        (frames.STEP, 7, struct.pack("<QdIIII", 0, 0, 0, 0, 1 << 31, 0)),
        (frames.STEP, 7, struct.pack("<QdIIII", 0, 0, 0, 0, 0, 1)),
        (frames.STEP, 7, full_step() + bytes(16)),
        (frames.STEP, 7, full_step()[:-16]),
        (frames.STEP, 7, step_body(0, 0, [], [], [(9, 0, b"name", 0, b"")])),
        (frames.STEP, 7, step_body(0, 0, [], [], [(1, 3, b"sum", 0, bytes(8))])),
        (frames.STEP, 7, step_body(0, 0, [], [], [(1, 0, b"sum", 0, bytes(7))])),
        (frames.STEP, 7, step_body(0, 0, [], [], [(4, 0, b"sum", 0, b"\2")])),
        (frames.SAVE, 8, b""),
        (frames.DROP, 8, b""),
        (frames.LOAD, 7, bytes(17)),
        (frames.LOAD, 8, b""),
        (frames.VERIFY, frames.EXECUTOR, struct.pack("<QQ", 1 << 60, 0)),
        (frames.VERIFY, frames.EXECUTOR, struct.pack("<QQQQ", 1, 0, 1 << 60, 0)),
        (77, 7, b""),
    ],
)
def test_requests_that_break_the_protocol(kind: int, handle: int, body: bytes) -> None:
    with pytest.raises(ProtocolError):
        started().answer(kind, handle, memoryview(body))


def test_messages_that_cannot_be_decoded_are_a_fault_of_the_input() -> None:
    for content, text in ((b"\xc1", "the message of p1 cannot be decoded: a value"), (b"\xc1p\1\0\0\0.", "is pickled")):
        body = step_body(0, 0, [Message(0, content, len(content))])
        kind, answer = answered(started(), frames.STEP, 7, body)
        assert kind == frames.FAILED
        assert answer[:4] == struct.pack("<I", 1)
        assert text in answer.decode("utf-8", "replace")


@pytest.mark.parametrize("seed", range(10))
def test_mutated_requests_raise_nothing_but_a_protocol_error(seed: int) -> None:
    rng = random.Random(seed)
    executor = started()
    state = answered(executor, frames.SAVE, 7, b"")[1]
    requests = [
        (frames.STEP, full_step()),
        (frames.STEP, full_step()),
        (frames.STEP, step_body(1, 0, [])),
        (frames.LOAD, struct.pack("<I12x", 0) + state),
        (frames.START, struct.pack("<I12x", 0)),
        (frames.VERIFY, parts(struct.pack("<QQ", 2, 0), struct.pack("<QQ", 1, 2), b"\1", b"\xa1x")),
        (frames.HELLO, hello(2, {"weight": 1})),
        (frames.SAVE, b""),
        (frames.DROP, b""),
    ]
    answers = {kind: 0 for kind in (frames.DONE, frames.FAILED)}
    refused = 0
    for _ in range(MUTATED // 10):
        kind, body = rng.choice(requests)
        mutated = bytearray(body)
        for _ in range(rng.randrange(3)):
            way = rng.randrange(8)
            if way == 0:
                del mutated[rng.randrange(len(mutated) + 1) :]
            elif way == 1:
                mutated += rng.randbytes(rng.choice([1, 16]))
            elif mutated:
                mutated[rng.randrange(len(mutated))] = rng.choice([0, 1, 255, rng.randrange(256)])
        try:
            answer = b"".join(executor.answer(kind, rng.choice([7, 7, 8]), memoryview(mutated)))
        except ProtocolError:
            refused += 1
        else:
            assert len(answer) == 16 + struct.unpack_from("<Q", answer, 8)[0]
            answers[answer[0]] = answers.get(answer[0], 0) + 1
        if 7 not in executor._processes:
            executor = started()
    assert refused > MUTATED // 100 and answers[frames.DONE] > MUTATED // 100 and answers[frames.FAILED] > 0
