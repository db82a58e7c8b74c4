"""The bytes of requests and replies, written out."""

import hashlib
import json
import struct

import pytest
import runtime
from runtime import BYE, DROP, EXECUTOR, HELLO, LOAD, SAVE, START, STEP, VERIFY, Executor, Failed, frame

NAN = "ffffffffffffffff"
UNKNOWN = "ffffffffffffffff"


def words(text):
    return bytes.fromhex("".join(text.split()))


def test_requests_have_these_bytes():
    assert frame(HELLO, EXECUTOR, runtime.hello(3, {"a": 1}, seed=5, supersteps=6)) == words(
        "01004253 ffffffff 4000000000000000"
        "0100 0100 03000000 0500000000000000 0600000000000000 02000000 18000000"
        "7b22706172616d65 74657273223a207b 2261223a20317d7d 0000000000000000"
    )
    step = runtime.step(1, messages=[(0, b"abc"), (2, 9)], standby=[1], items=[(1, 0, "x", 0, struct.pack("<d", 1.0))], elapsed=0.5)
    assert frame(STEP, 7, step) == words(
        "03004253 07000000 9000000000000000"
        "0100000000000000 000000000000e03f 02000000 01000000 01000000 00000000"
        "00000000 00000000 0300000000000000"
        "02000000 01000000 0900000000000000"
        "01000000 00000000 0000000000000000"
        "0100 0100 00000000 0800000000000000"
        "78000000000000000000000000000000"
        "000000000000f03f 0000000000000000"
        "61626300000000000000000000000000"
    )


def test_replies_have_these_bytes(build):
    with Executor(build("pinned.c"), 3) as executor:

        def answer(kind, handle, body=b""):
            executor.send(frame(kind, handle, body))
            kind, body = executor.receive()
            return kind, body

        assert answer(START, 9, words("02000000 000000000000000000000000")) == (129, words(f"0000000000000000 {UNKNOWN}"))
        kind, body = answer(STEP, 9, runtime.step(0))
        # The processor time is the only part that varies.
        assert 0 < struct.unpack_from("<Q", body, 24)[0] < 10**9
        body = body[:24] + bytes(8) + body[32:]
        assert (kind, body) == (
            130,
            words(
                "00000000 03000000 01000000 00000000 0201000000000000 0000000000000000"
                "0000000000000000 0100000000000000 000000000000e03f 0000000000000000"
                "01000000 00000000 0300000000000000"
                "00000000 01000000 0500000000000000"
                "ffffffff 00000000 1100000000000000"
                "0100 0100 00000000 0800000000000000"
                "78000000000000000000000000000000"
                "000000000000f03f 0000000000000000"
                "61626300000000000000000000000000"
                "736576656e7465656e206c6574746572 73000000000000000000000000000000"
            ),
        )
        kind, body = answer(STEP, 9, runtime.step(1))
        body = body[:24] + bytes(8) + body[32:]
        assert (kind, body) == (
            130,
            words(
                "01000000 00000000 00000000 00000000 0000000000000000 0000000000000000"
                f"0000000000000000 {UNKNOWN} {NAN} 0300000000000000"
                "6f757400000000000000000000000000"
            ),
        )
        assert answer(DROP, 9) == (133, b"")
        assert answer(SAVE, 9) == (
            255,
            words("03000000 25000000 0000000000000000") + b"there is no process with the handle 9".ljust(48, b"\0"),
        )


def test_welcome_names_the_program(build):
    command = build("pinned.c")
    with Executor(command, greet=False) as executor:
        body = executor.request(HELLO, EXECUTOR, runtime.hello(1))
    with open(command[0], "rb") as program:
        digest = hashlib.sha256(program.read()).hexdigest()
    length = struct.unpack_from("<I", body, 12)[0]
    assert body[:12] == words("0100 0200 01000000 00000000")
    text = json.loads(body[16 : 16 + length])
    assert (text["name"], text["language"], text["digest"]) == ("pinned", "C", digest)
    assert list(text["packages"]) in (["gcc"], ["clang"])


def test_digest_is_that_of_the_bytes(build, tmp_path):
    [program] = build("pinned.c")
    with open(program, "rb") as file:
        code = file.read()
    digests = []
    for name, extra in [("one", b""), ("two", b""), ("three", b"x" * 4097)]:
        copy = tmp_path / name
        copy.write_bytes(code + extra)
        copy.chmod(0o755)
        with Executor([str(copy)]) as executor:
            digests.append(executor.welcome["digest"])
            assert digests[-1] == hashlib.sha256(code + extra).hexdigest()
    assert digests[0] == digests[1] != digests[2]


def test_states_and_verdicts_have_these_bytes(build):
    with Executor(build("everything.c"), 2, {"state": 3, "supersteps": 4}) as executor:
        state = words("04000000 0300000000000000 626262")
        assert executor.request(START, 1, runtime.rank_body(1)) == words("0f00000000000000 0400000000000000")
        assert executor.request(SAVE, 1) == state
        assert executor.request(LOAD, 0x80000000, runtime.rank_body(1, state)) == words("0f00000000000000 0400000000000000")
        outputs = words("0200000000000000 0000000000000000 0200000000000000 0100000000000000") + b"a!".ljust(16, b"\0") + b"!".ljust(16, b"\0")
        assert executor.request(VERIFY, EXECUTOR, outputs) == words("01000000 16000000 0000000000000000") + b"2 outputs end with `!`".ljust(32, b"\0")


def test_requests_may_arrive_before_replies_are_read(build):
    with Executor(build("ring.c"), 4, {"bytes": 1000}) as executor:
        for handle in range(4):
            executor.send(frame(START, handle, runtime.rank_body(handle)))
            executor.send(frame(STEP, handle, runtime.step(0)))
            executor.send(frame(SAVE, handle))
            executor.send(frame(DROP, handle))
        executor.send(frame(BYE, EXECUTOR))
        replies = [executor.receive()[0] for _ in range(16)]
        assert replies == [129, 130, 131, 133] * 4
        assert executor.wait()[0] == 0


def test_a_frame_may_arrive_byte_by_byte(build):
    with Executor(build("ring.c"), 2, {"bytes": 100}) as executor:
        executor.start(0, 0)
        for byte in frame(STEP, 0, runtime.step(1, messages=[(1, b"x" * 100)])):
            executor.send(bytes([byte]))
        assert len(runtime.Done.parse(executor.reply(STEP, 0)).messages) == 2


def test_handles_are_not_ranks(build):
    with Executor(build("ring.c"), 2, {"bytes": 3}) as executor:
        for handle in [3000000000, 5, 4, 6, 0, 0xFFFFFFFE]:
            executor.start(handle, 1)
        for handle in [0, 5, 0xFFFFFFFE]:
            executor.drop(handle)
        assert executor.save(3000000000) == executor.save(4)


def test_the_end_of_the_stream_ends_the_executor(build):
    with Executor(build("ring.c")) as executor:
        executor.start(0, 0)
        executor.socket.close()
        assert executor.process.wait(timeout=10) == 0


def test_versions_are_negotiated(build):
    with Executor(build("ring.c"), versions=(1, 9)):
        pass
    for versions in [(2, 9), (0, 0)]:
        with pytest.raises(Failed, match="version 1 of the protocol") as failed:
            Executor(build("ring.c"), versions=versions)
        assert failed.value.fault == 3
