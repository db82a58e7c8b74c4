"""A runtime that speaks the protocol of docs/reference/program-protocol.md, version 1, with executors on this machine."""

import contextlib
import dataclasses
import json
import math
import os
import select
import socket
import struct
import subprocess
import tempfile

HELLO, START, STEP, SAVE, LOAD, DROP, VERIFY, BYE = range(1, 9)
WELCOME, READY, DONE, SAVED, VERDICT, OK, FAILED = 128, 129, 130, 131, 132, 133, 255
REPLIES = {HELLO: WELCOME, START: READY, STEP: DONE, SAVE: SAVED, LOAD: READY, DROP: OK, VERIFY: VERDICT}
EXECUTOR = 0xFFFFFFFF
ALL_OTHERS = 0xFFFFFFFF
UNKNOWN = 2**64 - 1
MARK = 0x5342
SECONDS = 60


class Failed(Exception):
    """The executor answered FAILED."""

    def __init__(self, fault, message, details):
        super().__init__(message)
        self.fault, self.details = fault, details


class Ended(Exception):
    """The executor ended in place of a reply."""

    def __init__(self, status, log):
        super().__init__(f"the executor ended with {status}: {log}")
        self.status, self.log = status, log


def padded(part):
    return part + bytes(-len(part) % 16)


def frame(kind, handle, body=b""):
    return struct.pack("<BBHIQ", kind, 0, MARK, handle, len(body)) + body


def hello(processes, parameters=None, seed=0, supersteps=0, world=2, versions=(1, 1), text=None):
    text = json.dumps({"parameters": parameters or {}}).encode() if text is None else text
    return struct.pack("<HHIQQII", *versions, processes, seed, supersteps, world, len(text)) + padded(text)


def rank_body(rank, state=b""):
    return struct.pack("<I12x", rank) + state


def step(index, messages=(), standby=(), items=(), elapsed=0.0):
    """`messages` are (sender, content), where a content that is a number is only a length; `items` (kind, type, name, rank, content)."""
    body = struct.pack("<QdIIII", index, elapsed, len(messages), len(standby), len(items), 0)
    for sender, content in messages:
        sized = isinstance(content, int)
        body += struct.pack("<IIQ", sender, int(sized), content if sized else len(content))
    body += padded(struct.pack(f"<{len(standby)}I", *standby))
    body += b"".join(map(item, items))
    return body + b"".join(padded(content) for _, content in messages if not isinstance(content, int))


def item(values):
    kind, type, name, rank, content = values
    return struct.pack("<BBHIQ", kind, type, len(name.encode()), rank, len(content)) + padded(name.encode()) + padded(content)


class Parts:
    """A body, read part by part; everything between parts must be zero."""

    def __init__(self, body):
        self.body, self.at = body, 0

    def take(self, length):
        part = self.body[self.at : self.at + length]
        assert len(part) == length, "a body is too short"
        end = self.at + length + (-length % 16)
        assert self.body[self.at + length : end] == bytes(-length % 16), "padding is not zero"
        self.at = end
        return part

    def end(self):
        assert self.at == len(self.body), "a body is too long"


@dataclasses.dataclass
class Done:
    flags: int
    charge: int
    nanoseconds: int
    state: int
    remaining: int
    progress: float
    messages: list
    items: list
    output: bytes

    @property
    def halts(self):
        return bool(self.flags & 1)

    @classmethod
    def parse(cls, body):
        parts = Parts(body)
        flags, count, items, zero, charge, nanoseconds, state, remaining, progress, output = struct.unpack("<IIIIQQQQdQ", parts.take(64))
        assert zero == 0 and flags < 8
        records = [struct.unpack("<IIQ", parts.take(16)) for _ in range(count)]
        found = []
        for _ in range(items):
            kind, type, name, rank, length = struct.unpack("<BBHIQ", parts.take(16))
            name = parts.take(name).decode()
            found.append((kind, type, name, rank, parts.take(length)))
        messages = [(to, length if sized else parts.take(length)) for to, sized, length in records]
        done = cls(flags, charge, nanoseconds, state, remaining, progress, messages, found, parts.take(output))
        parts.end()
        assert done.halts or not output
        return done


class Executor:
    def __init__(self, command, processes=1, parameters=None, greet=True, environment=None, **hello_fields):
        ours, theirs = socket.socketpair()
        ours.settimeout(SECONDS)
        self.log = tempfile.TemporaryFile()
        environment = {**os.environ, "MIGBSP_EXECUTOR": "1", **(environment or {})}
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=self.log, env=environment)
        theirs.close()
        self.socket = ours
        self.unread = b""
        self.held = set()
        if greet:
            self.welcome = self.greet(processes, parameters, **hello_fields)

    def greet(self, processes, parameters=None, **fields):
        parts = Parts(self.request(HELLO, EXECUTOR, hello(processes, parameters, **fields)))
        version, flags, length, last, text = struct.unpack("<HHIII", parts.take(16))
        welcome = json.loads(parts.take(text))
        parts.end()
        assert version == 1
        return {"flags": flags, "round": (length, last), **welcome}

    def request(self, kind, handle, body=b""):
        """Sends a request, and returns the body of the reply."""
        self.send(frame(kind, handle, body))
        return self.reply(kind, handle)

    def send(self, data):
        # An executor that has failed may have closed the socket; its reply is still to be read.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def reply(self, kind, handle):
        found, body = self.receive(handle)
        if found == FAILED:
            parts = Parts(body)
            fault, message, details = struct.unpack("<IIQ", parts.take(16))
            message, details = parts.take(message), parts.take(details)
            parts.end()
            raise Failed(fault, message.decode(errors="replace"), details)
        assert found == REPLIES[kind], f"reply {found} to request {kind}"
        return body

    def receive(self, handle=None):
        kind, zero, mark, found, length = struct.unpack("<BBHIQ", self.read(16))
        assert (zero, mark) == (0, MARK), "what arrived is no frame"
        assert handle in (None, found), "the reply has another handle"
        return kind, self.read(length)

    def read(self, length):
        data = bytearray()
        while len(data) < length:
            try:
                more = self.socket.recv(min(length - len(data), 1 << 20))
            except ConnectionResetError:
                more = b""
            if not more:
                raise Ended(*self.wait())
            data += more
        return bytes(data)

    def start(self, handle, rank):
        ready = self.request(START, handle, rank_body(rank))
        return struct.unpack("<QQ", ready)

    def step(self, handle, index, **fields):
        return Done.parse(self.request(STEP, handle, step(index, **fields)))

    def save(self, handle):
        return self.request(SAVE, handle)

    def load(self, handle, rank, state):
        return struct.unpack("<QQ", self.request(LOAD, handle, rank_body(rank, state)))

    def drop(self, handle):
        assert self.request(DROP, handle) == b""

    def verify(self, outputs):
        lengths = struct.pack(f"<{len(outputs)}Q", *map(len, outputs))
        body = struct.pack("<QQ", len(outputs), 0) + padded(lengths) + b"".join(map(padded, outputs))
        parts = Parts(self.request(VERIFY, EXECUTOR, body))
        verdict, length, zero = struct.unpack("<IIQ", parts.take(16))
        text = parts.take(length).decode()
        parts.end()
        return verdict, text

    def wait(self):
        status = self.process.wait(timeout=SECONDS)
        self.log.seek(0)
        return status, self.log.read().decode(errors="replace")

    def bye(self):
        """Ends the executor, and returns its log."""
        self.socket.sendall(frame(BYE, EXECUTOR))
        status, log = self.wait()
        self.close()
        assert status == 0, (status, log)
        return log

    def close(self):
        self.socket.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()

    def has_input(self):
        return bool(select.select([self.socket], [], [], 0)[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


NUMBERS = {0: "d", 1: "q", 2: "Q"}


def reduced(contributions):
    """The items of the next superstep, from the items of all processes in rank order: (rank, item)."""
    names = {}
    for rank, (kind, type, name, _, content) in contributions:
        if kind <= 6:
            names.setdefault(name, []).append((kind, type, rank, content))
    items = []
    for name, values in sorted(names.items()):
        kinds = {(kind, type) for kind, type, _, _ in values}
        if len(kinds) > 1:
            items.append((0, 0, name, 0, f"processes disagree about `{name}`".encode()))
            continue
        [(kind, type)] = kinds
        if kind == 6:
            items += [(6, 0, name, rank, content) for _, _, rank, content in values]
            continue
        contents = [content for _, _, _, content in values]
        if kind >= 4:
            combine = min if kind == 4 else max
            items.append((kind, 0, name, 0, combine(contents)))
            continue
        vectors = [struct.unpack(f"<{len(content) // 8}{NUMBERS[type]}", content) for content in contents]
        if len({len(vector) for vector in vectors}) > 1:
            items.append((0, 0, name, 0, f"`{name}` has unlike lengths".encode()))
            continue
        combine = {1: math.fsum if type == 0 else sum, 2: min, 3: max}[kind]
        combined = [combine(column) for column in zip(*vectors)]
        items.append((kind, type, name, 0, struct.pack(f"<{len(combined)}{NUMBERS[type]}", *combined)))
    return items


@dataclasses.dataclass
class Run:
    outputs: list
    flags: list
    supersteps: int
    charges: list
    messages: list
    notes: list
    snapshots: dict
    moves: int
    log: str
    welcome: dict


def run(command, processes, parameters=None, shared=False, moves=True, standby=(), supersteps_max=100_000, **hello_fields):
    """Executes the program. If `moves`, each process is saved, loaded in another executor (or again, if shared) and dropped after each superstep."""
    count = 1 if shared else processes
    executors = [Executor(command, processes, parameters, **hello_fields) for _ in range(count)]
    try:
        places = {}
        handles = iter(range(10_000_000))
        for rank in range(processes):
            places[rank] = (executors[rank % count], next(handles))
            places[rank][0].start(places[rank][1], rank)
        result = Run([None] * processes, [0] * processes, 0, [], [], [], {}, 0, "", executors[0].welcome)
        inboxes, items, halted = {rank: [] for rank in places}, [], set()
        for index in range(supersteps_max):
            running = [rank for rank in range(processes) if rank not in halted]
            if not running:
                break
            result.supersteps = index + 1
            dones = {}
            for rank in running:
                executor, handle = places[rank]
                dones[rank] = executor.step(handle, index, messages=inboxes[rank], items=items, standby=standby, elapsed=0.5 if index else 0.0)
            inboxes = {rank: [] for rank in places}
            contributions = []
            for rank, done in dones.items():
                result.charges.append(done.charge)
                result.messages.append((index, rank, done.messages))
                for to, content in done.messages:
                    receivers = [other for other in range(processes) if other != rank] if to == ALL_OTHERS else [to]
                    for receiver in receivers:
                        assert receiver < processes and receiver not in halted, f"p{receiver} has halted or does not exist"
                        inboxes[receiver].append((rank, content))
                for entry in done.items:
                    if entry[0] == 7:
                        result.notes.append((index, rank, entry[2], struct.unpack("<d", entry[4])[0]))
                    elif entry[0] == 8:
                        result.snapshots[entry[2], index, rank] = (entry[1], entry[4])
                    else:
                        contributions.append((rank, entry))
                if done.halts:
                    halted.add(rank)
                    result.outputs[rank], result.flags[rank] = done.output, done.flags
                elif moves:
                    executor, handle = places[rank]
                    state = executor.save(handle)
                    assert len(state) == done.state, "the state has not the length in DONE"
                    other, new = executors[(executors.index(executor) + 1) % count], next(handles)
                    length, _ = other.load(new, rank, state)
                    assert length == done.state
                    assert other.save(new) == state, "saving what was loaded gives another state"
                    executor.drop(handle)
                    places[rank] = (other, new)
                    result.moves += 1
            items = reduced(contributions)
        for executor, handle in places.values():
            executor.drop(handle)
        result.log = "".join(executor.bye() for executor in executors)
        return result
    finally:
        for executor in executors:
            executor.close()


def array(output):
    """The type, the shape and the bytes of an output that is a MessagePack array."""
    code, length, extension = struct.unpack(">BIB", output[:6])
    assert (code, extension, length) == (0xC9, 1, len(output) - 6)
    zeros, dimensions, type_length = output[6:9]
    at = 9 + type_length
    shape = struct.unpack(f"<{dimensions}Q", output[at : at + 8 * dimensions])
    at += 8 * dimensions
    assert output[at : at + zeros] == bytes(zeros)
    return output[9 : 9 + type_length].decode(), shape, output[at + zeros :]
