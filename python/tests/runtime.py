"""A small runtime of the protocol of external programs, for tests: it shares no code with the package.

`Runtime(...).run()` starts executors as processes of the operating system and executes a program on them; with `moves`,
every process is saved, dropped and loaded by another executor before every superstep, or before some. `python runtime.py` measures
supersteps.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

HELLO, START, STEP, SAVE, LOAD, DROP, VERIFY, BYE = range(1, 9)
WELCOME, READY, DONE, SAVED, VERDICT, OK, FAILED = 128, 129, 130, 131, 132, 133, 255
ALL = 0xFFFFFFFF
SOURCE = Path(__file__).resolve().parent.parent / "src"


class ProgramFailed(Exception):
    """An executor has answered FAILED."""

    def __init__(self, kind: int, message: str, details: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.details = details


class ExecutorEnded(Exception):
    """An executor has ended without an answer."""


def parts(*contents: bytes) -> bytes:
    """Parts of a body, with zeros behind each."""
    return b"".join(content + bytes(-len(content) % 16) for content in contents)


def frame(kind: int, handle: int, body: bytes) -> bytes:
    return struct.pack("<BBHIQ", kind, 0, 0x5342, handle, len(body)) + body


def hello(processes: int, parameters: dict | None = None, seed: int = 1, supersteps: int = 0, version: int = 1) -> bytes:
    text = json.dumps({"parameters": parameters or {}}).encode()
    return parts(struct.pack("<HHIQQII", version, version, processes, seed, supersteps, 0, len(text)), text)


class Executor:
    """An executor, and the requests to it."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None) -> None:
        own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        own.settimeout(60)
        self.stream = own
        self.log = tempfile.TemporaryFile()
        paths = [str(SOURCE), os.environ.get("PYTHONPATH", "")]
        # Otherwise what is printed before the package is imported is in the channel.
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        variables = {**variables, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths)), "MIGBSP_EXECUTOR": "1"}
        self.process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=self.log, env={**variables, **(environment or {})}
        )
        other.close()

    def write(self, kind: int, handle: int, body: bytes = b"") -> None:
        self.stream.sendall(frame(kind, handle, body))

    def read(self) -> tuple[int, int, bytes]:
        head = self._exactly(16)
        kind, zero, magic, handle, length = struct.unpack("<BBHIQ", head)
        assert (zero, magic) == (0, 0x5342), f"{head!r} is no header of a frame"
        body = self._exactly(length)
        if kind == FAILED:
            fault, short, long = struct.unpack_from("<IIQ", body)
            begin = 16 + short + -short % 16
            assert len(body) == begin + long + -long % 16 <= 64 << 10
            message, details = body[16 : 16 + short].decode(), body[begin : begin + long].decode()
            raise ProgramFailed(fault, message, details)
        return kind, handle, body

    def request(self, kind: int, handle: int, body: bytes = b"") -> tuple[int, bytes]:
        self.write(kind, handle, body)
        answer, of, body = self.read()
        assert of == handle
        return answer, body

    def expect(self, expected: int, kind: int, handle: int, body: bytes = b"") -> bytes:
        answer, body = self.request(kind, handle, body)
        assert answer == expected, (answer, expected)
        return body

    def welcome(self, body: bytes) -> tuple[int, tuple[int, int], dict]:
        """Flags, round and description."""
        answer = self.expect(WELCOME, HELLO, ALL, body)
        version, flags, length, last, count = struct.unpack_from("<HHIII", answer)
        assert version == 1
        assert len(answer) == 16 + count + -count % 16
        return flags, (length, last), json.loads(answer[16 : 16 + count])

    def errors(self) -> str:
        """The log."""
        self.log.seek(0)
        return self.log.read().decode()

    def end(self) -> int:
        """Ends the executor; its exit code."""
        try:
            self.write(BYE, ALL)
        except OSError:
            pass
        code = self.process.wait(10)
        self.close()
        return code

    def close(self) -> None:
        self.stream.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def _exactly(self, length: int) -> bytes:
        pieces = bytearray(length)
        view, have = memoryview(pieces), 0
        while have < length:
            try:
                count = self.stream.recv_into(view[have:])
            except ConnectionError:
                count = 0
            if count == 0:
                raise ExecutorEnded(f"after {have} of {length} bytes, exit code {self.process.wait(10)}")
            have += count
        return bytes(pieces)


@dataclass
class Message:
    """A message on its way: `None` as content is only a size."""

    sender: int
    content: bytes | None
    length: int


@dataclass
class Done:
    """The body of DONE."""

    flags: int
    charge: int
    seconds: float
    state: int
    remaining: int
    progress: float
    sends: list[tuple[int, Message]]
    items: list[tuple[int, int, bytes, bytes]]
    output: bytes


def read_done(rank: int, body: bytes) -> Done:
    """The body of DONE, checked."""
    flags, sends, items, zero, charge, nanoseconds, state, remaining, progress, output = struct.unpack_from(
        "<IIIIQQQQdQ", body
    )
    assert zero == 0
    at = 64
    records = [struct.unpack_from("<IIQ", body, at + 16 * index) for index in range(sends)]
    at += 16 * sends
    read_items = []

    def part(length: int) -> bytes:
        nonlocal at
        begin, end = at, at + length
        at = end + -end % 16
        assert end <= len(body) and body[end:at] == bytes(at - end), "a part without its zeros"
        return body[begin:end]

    for _ in range(items):
        kind, number, name_length, of, length = struct.unpack("<BBHIQ", part(16))
        assert of == 0
        name = part(name_length)
        read_items.append((kind, number, name, part(length)))
    messages = []
    for to, only_size, length in records:
        messages.append((to, Message(rank, None if only_size else part(length), length)))
    outcome = part(output)
    assert at == len(body)
    assert flags & 1 or not outcome
    return Done(flags, charge, nanoseconds / 1e9, state, remaining, progress, messages, read_items, outcome)


def step_body(
    superstep: int,
    elapsed: float,
    messages: list[Message],
    standby: list[int] = [],
    items: list[tuple[int, int, bytes, int, bytes]] = [],
) -> bytes:
    """The body of STEP; an item is kind, type, name, rank and content."""
    head = struct.pack("<QdIIII", superstep, elapsed, len(messages), len(standby), len(items), 0)
    if not messages and not standby and not items:
        return head
    records = b"".join(struct.pack("<IIQ", each.sender, each.content is None, each.length) for each in messages)
    given = [
        part
        for kind, number, name, rank, content in items
        for part in (struct.pack("<BBHIQ", kind, number, len(name), rank, len(content)), name, content)
    ]
    contents = [each.content for each in messages if each.content is not None]
    return parts(head, records, struct.pack(f"<{len(standby)}I", *standby), *given, *contents)


def combined(contributions: list[tuple[int, tuple[int, int, bytes, bytes]]]) -> list[tuple[int, int, bytes, int, bytes]]:
    """The results of reductions."""
    results = []
    names = sorted({name for _, (kind, _, name, _) in contributions if kind < 7})
    for name in names:
        given = [(rank, item) for rank, item in contributions if item[2] == name and item[0] < 7]
        kind, number, _, first = given[0][1]
        assert {(item[0], item[1]) for _, item in given} == {(kind, number)}
        contents = [item[3] for _, item in given]
        if kind == 6:
            results += [(kind, 0, name, rank, item[3]) for rank, item in given]
        elif kind >= 4:
            holds = [content == b"\1" for content in contents]
            results.append((kind, 0, name, 0, bytes([all(holds) if kind == 4 else any(holds)])))
        else:
            numbers = struct.Struct(f"<{len(first) // 8}{'dqQ'[number]}")
            columns = list(zip(*map(numbers.unpack, contents)))
            fold = {1: exact_sum if number == 0 else sum, 2: min, 3: max}[kind]
            results.append((kind, number, name, 0, numbers.pack(*map(fold, columns))))
    return results


def exact_sum(numbers: tuple[float, ...]) -> float:
    if not all(map(math.isfinite, numbers)):
        return sum(numbers)
    return float(sum(map(Fraction, numbers)))


@dataclass
class Outcome:
    """What a run produced."""

    outputs: list[bytes]
    supersteps: int
    charge: int
    moves: int = 0
    notes: list[tuple[int, bytes, float]] = field(default_factory=list)
    snapshots: list[tuple[int, int, bytes, bytes]] = field(default_factory=list)
    dones: list[list[Done]] = field(default_factory=list)
    seconds: float = 0.0


class Runtime:
    """Executes a program."""

    def __init__(
        self,
        command: list[str],
        processes: int,
        parameters: dict | None = None,
        *,
        moves: bool | set[int] = False,
        shared: bool = False,
        seed: int = 1,
        supersteps: int = 0,
        limit: int = 100_000,
        keeps: bool = False,
        at_once: bool = False,
    ) -> None:
        self.command = command
        self.hello = hello(processes, parameters, seed, supersteps)
        self.size = processes
        self.moves = moves
        self.limit = limit
        self.keeps = keeps
        self.at_once = at_once
        self.executors: list[Executor] = []
        self.flags = 0
        started = self._new(1 if shared else processes)
        self.places = started * processes if shared else started
        self.handles = list(range(processes))
        self.spare: Executor | None = None

    def _new(self, count: int) -> list[Executor]:
        """Starts executors, side by side."""
        started = [Executor(self.command) for _ in range(count)]
        self.executors += started
        for executor in started:
            self.flags, self.round, self.description = executor.welcome(self.hello)
        return started

    def run(self) -> Outcome:
        try:
            return self._run()
        finally:
            for executor in self.executors:
                executor.close()

    def _run(self) -> Outcome:
        outcome = Outcome([b""] * self.size, 0, 0)
        for rank, executor in enumerate(self.places):
            executor.expect(READY, START, self.handles[rank], struct.pack("<I12x", rank))
        inboxes: list[list[Message]] = [[] for _ in range(self.size)]
        elapsed = [0.0] * self.size
        running = list(range(self.size))
        halted: dict[int, int] = {}
        items: list[tuple[int, int, bytes, int, bytes]] = []
        begun = time.perf_counter()
        while running:
            superstep = outcome.supersteps
            assert superstep < self.limit, f"p{running[0] + 1} does not halt"
            if superstep and (self.moves is True or (self.moves and superstep in self.moves)):
                self._move(running, outcome)
            dones: dict[int, Done] = {}
            for rank in running:
                body = step_body(superstep, elapsed[rank], inboxes[rank], [], items)
                inboxes[rank] = []
                self.places[rank].write(STEP, self.handles[rank], body)
                if not self.at_once:
                    dones[rank] = self._done(rank)
            if self.at_once:
                dones = {rank: self._done(rank) for rank in running}
            contributions = []
            for rank, done in dones.items():
                outcome.charge += done.charge
                elapsed[rank] = done.charge / 1e9
                for item in done.items:
                    kind, number, name, content = item
                    if kind == 7:
                        outcome.notes.append((superstep, name, struct.unpack("<d", content)[0]))
                    elif kind == 8:
                        outcome.snapshots.append((superstep, rank, name, content))
                    else:
                        contributions.append((rank, item))
                if done.flags & 1:
                    halted[rank] = superstep
                    outcome.outputs[rank] = done.output
            for rank, done in dones.items():
                for to, message in done.sends:
                    receivers = [to] if to != ALL else [each for each in range(self.size) if each != rank]
                    for receiver in receivers:
                        assert receiver not in halted, f"p{rank + 1} sent to p{receiver + 1}, which had halted"
                        inboxes[receiver].append(message)
            items = combined(contributions) if contributions else []
            running = [rank for rank in running if rank not in halted]
            if self.keeps:
                outcome.dones.append(list(dones.values()))
            outcome.supersteps += 1
        outcome.seconds = time.perf_counter() - begun
        return outcome

    def _done(self, rank: int) -> Done:
        kind, handle, body = self.places[rank].read()
        assert (kind, handle) == (DONE, self.handles[rank])
        return read_done(rank, body)

    def _move(self, running: list[int], outcome: Outcome) -> None:
        """Moves every process to the executor of the next, under another handle; executors of one process are replaced."""
        states = {rank: self.places[rank].expect(SAVED, SAVE, self.handles[rank]) for rank in running}
        for rank in running:
            assert self.places[rank].expect(OK, DROP, self.handles[rank]) == b""
        if self.flags & 2:
            places = [self.places[running[index - 1]] for index in range(len(running))]
        else:
            for rank in running:
                self.places[rank].close()
                self.executors.remove(self.places[rank])
            places = self._new(len(running))
        for rank, place in zip(running, places):
            self.places[rank] = place
            self.handles[rank] += self.size
            place.expect(READY, LOAD, self.handles[rank], struct.pack("<I12x", rank) + states[rank])
            outcome.moves += 1


EMPTY = """
import migbsp

class Empty(migbsp.Program):
    def __init__(self, ctx, *, supersteps=1000, size=0):
        self.left, self.message = supersteps, bytes(size)

    def superstep(self, ctx):
        self.left -= 1
        if self.left == 0:
            return ctx.halt(ctx.rank)
        if self.message:
            ctx.send((ctx.rank + 1) % ctx.size, self.message)
            ctx.send((ctx.rank - 1) % ctx.size, self.message)

migbsp.main(Empty)
"""


def measure() -> None:
    """Measures the microseconds of a superstep of a process: from a STEP to its DONE, without what a runtime does between."""
    parser = argparse.ArgumentParser(description="Measures supersteps of a Python program that receives and sends two messages.")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--supersteps", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="*", default=[0, 1 << 10, 64 << 10, 1 << 20])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "empty.py")
        file.write_text(EMPTY)
        for name, shared, at_once in [
            ("own executors", False, False),
            ("own executors, all requests first", False, True),
            ("one executor", True, False),
        ]:
            for size in arguments.sizes:
                count = arguments.supersteps if size <= 1 << 10 else max(20, arguments.supersteps // 20)
                times = [
                    measured(str(file), arguments.processes, count, size, shared, at_once) for _ in range(arguments.repeat)
                ]
                wall, busy = min(times)
                print(f"{name}, messages of {size} B: {wall:.1f} us, of them {busy:.1f} us by DONE", flush=True)


def measured(file: str, processes: int, supersteps: int, size: int, shared: bool, at_once: bool) -> tuple[float, float]:
    """Microseconds of a superstep of a process, the tenth percentile; and the mean of those that the process says it
    computed."""
    parameters = {"supersteps": supersteps + 1, "size": size}
    runtime = Runtime([sys.executable, file], processes, parameters, shared=shared)
    streams = [place.stream for place in runtime.places]
    content = b"\xc6" + struct.pack(">I", size) + bytes(size) if size > 255 else b"\xc4\0"
    messages = [Message(sender, content, len(content)) for sender in (0, 1)] if size else []
    requests = [bytearray(frame(STEP, rank, step_body(0, 0.0, messages))) for rank in range(processes)]
    answer = memoryview(bytearray(1 << 24))
    busy = 0
    try:
        for rank, place in enumerate(runtime.places):
            place.expect(READY, START, rank, struct.pack("<I12x", rank))
            streams[rank].settimeout(None)

        def read(stream: socket.socket) -> None:
            nonlocal busy
            have = stream.recv_into(answer)
            length = 16 + struct.unpack_from("<Q", answer, 8)[0]
            while have < length:
                have += stream.recv_into(answer[have:])
            busy += struct.unpack_from("<Q", answer, 40)[0]

        each = []
        for superstep in range(supersteps):
            begun = time.perf_counter()
            for request, stream in zip(requests, streams):
                struct.pack_into("<Q", request, 16, superstep)
                stream.sendall(request)
                if not at_once:
                    read(stream)
            if at_once:
                for stream in streams:
                    read(stream)
            each.append(time.perf_counter() - begun)
    finally:
        for executor in runtime.executors:
            executor.close()
    return sorted(each)[supersteps // 10] / processes * 1e6, busy / 1e3 / supersteps / processes


if __name__ == "__main__":
    measure()
