"""Frames of the protocol of external programs, version 1, as an executor reads and writes them.

`docs/reference/program-protocol.md` is their description.
"""

from __future__ import annotations

import socket
import struct
import sys
from typing import NamedTuple, Union

Buffer = Union[bytes, bytearray, memoryview]

MAGIC = 0x5342
EXECUTOR = 0xFFFFFFFF
OTHERS = 0xFFFFFFFF
UNKNOWN = 0xFFFF_FFFF_FFFF_FFFF
VERSION = 1

HELLO, START, STEP, SAVE, LOAD, DROP, VERIFY, BYE = range(1, 9)
WELCOME, READY, DONE, SAVED, VERDICT, OK = range(128, 134)
FAILED = 255

CAN_SAVE, HOLDS_MANY, VERIFIES = 1, 2, 4
HALTS, IS_MESSAGEPACK, LOOKED = 1, 2, 4
ONLY_SIZE = 1
INPUT, PROGRAM, PROTOCOL = 1, 2, 3

NO_RESULT, SUM, MIN, MAX, AND, OR, GATHERED, NOTE, SNAPSHOT = range(9)

FRAME = struct.Struct("<BBHIQ")
HELLO_BODY = struct.Struct("<HHIQQII")
STEP_BODY = struct.Struct("<QdIIII")
DONE_BODY = struct.Struct("<IIIIQQQQdQ")
RECORD = struct.Struct("<IIQ")
ITEM = struct.Struct("<BBHIQ")
READY_BODY = struct.Struct("<QQ")
WELCOME_BODY = struct.Struct("<HHIII")
FAILED_BODY = struct.Struct("<IIQ")
VERDICT_BODY = struct.Struct("<IIQ")
DONE_FRAME = struct.Struct("<BBHIQ" + "IIIIQQQQdQ")

ZEROS = tuple(bytes(count) for count in range(16))

BODY_MAX = 4 << 30
STATE_MAX = 16 << 30
MESSAGES_MAX = 1 << 24
MESSAGE_MAX = (1 << 32) - 1
FAILED_MAX = 64 << 10
JSON_MAX = 1 << 20


class ProtocolError(Exception):
    """The other side wrote what the protocol does not allow."""


class Hello(NamedTuple):
    """The body of HELLO."""

    lowest: int
    highest: int
    processes: int
    seed: int
    supersteps: int
    world: int
    text: bytes


class Item(NamedTuple):
    """A result of a reduction, in a STEP."""

    kind: int
    type: int
    rank: int
    content: memoryview


#: The body of STEP: superstep, seconds, messages as pairs of sender and content, those that are only a size as pairs of
#: sender and size, processes on standby, and results of reductions with their names.
Step = tuple[int, float, list[tuple[int, memoryview]], list[tuple[int, int]], tuple[int, ...], list[tuple[bytes, Item]]]


def padded(length: int) -> int:
    """The length of a part with the zeros behind it."""
    return (length + 15) & ~15


def read_hello(body: Buffer) -> Hello:
    """The body of HELLO, checked."""
    if len(body) < HELLO_BODY.size:
        raise ProtocolError(f"HELLO has {len(body)} bytes, expected {HELLO_BODY.size} or more")
    lowest, highest, processes, seed, supersteps, world, length = HELLO_BODY.unpack_from(body)
    text, end = _part(memoryview(body), HELLO_BODY.size, length, "the text of HELLO")
    _expect_end(body, end, "HELLO")
    return Hello(lowest, highest, processes, seed, supersteps, world, bytes(text))


def read_step(body: memoryview) -> Step:
    """The body of STEP, checked. Contents are views of it."""
    end = len(body)
    if end < STEP_BODY.size:
        raise ProtocolError(f"STEP has {end} bytes, expected {STEP_BODY.size} or more")
    superstep, elapsed, message_count, standby_count, item_count, zero = _READ_STEP(body)
    if end == STEP_BODY.size and not message_count and not standby_count and not item_count and not zero:
        return superstep, elapsed, [], [], (), []
    at = STEP_BODY.size
    if zero != 0 or message_count > MESSAGES_MAX or 16 * message_count > end - at:
        raise ProtocolError(f"STEP of {end} bytes with {message_count} messages")
    records = RECORD.iter_unpack(body[at : at + 16 * message_count])
    at += 16 * message_count
    standby: tuple[int, ...] = ()
    if standby_count:
        part, at = _part(body, at, 4 * standby_count, "the processes on standby")
        standby = struct.unpack(f"<{standby_count}I", part)
    items = []
    for _ in range(item_count):
        header, at = _part(body, at, ITEM.size, "an item")
        kind, number_type, name_length, rank, length = ITEM.unpack(header)
        if kind > GATHERED:
            raise ProtocolError(f"STEP has an item of kind {kind}")
        name, at = _part(body, at, name_length, "the name of an item")
        content, at = _part(body, at, length, "the content of an item")
        items.append((bytes(name), Item(kind, number_type, rank, content)))
    messages: list[tuple[int, memoryview]] = []
    sized: list[tuple[int, int]] = []
    for sender, flags, length in records:
        if flags == 0:
            # As in `_part`, which is called for what there are fewer of.
            behind = at + length
            if behind > end:
                raise ProtocolError(f"the message of p{sender + 1} ends at byte {behind} of {end}")
            messages.append((sender, body[at:behind]))
            at = (behind + 15) & ~15
        elif flags == ONLY_SIZE:
            sized.append((sender, length))
        else:
            raise ProtocolError(f"the message of p{sender + 1} has flags {flags}")
    _expect_end(body, at, "STEP")
    return superstep, elapsed, messages, sized, standby, items


def read_outputs(body: memoryview) -> list[memoryview]:
    """The outputs in VERIFY."""
    if len(body) < 16:
        raise ProtocolError(f"VERIFY has {len(body)} bytes, expected 16 or more")
    count, zero = struct.unpack_from("<QQ", body)
    if zero != 0 or 8 * count > len(body):
        raise ProtocolError(f"VERIFY of {len(body)} bytes with {count} outputs")
    part, at = _part(body, 16, 8 * count, "the lengths of outputs")
    outputs = []
    for (length,) in struct.iter_unpack("<Q", part):
        output, at = _part(body, at, length, "an output")
        outputs.append(output)
    _expect_end(body, at, "VERIFY")
    return outputs


def read_rank(body: memoryview) -> int:
    """The rank at the beginning of START and LOAD."""
    if len(body) < 16:
        raise ProtocolError(f"START or LOAD has {len(body)} bytes, expected 16 or more")
    rank: int = struct.unpack_from("<I", body)[0]
    return rank


def failed(kind: int, message: str, details: str = "") -> list[Buffer]:
    """The body of FAILED. Of a long text, begin and end remain."""
    short, rest = _cut(message, FAILED_MAX // 4), _cut(details, FAILED_MAX // 2)
    return [FAILED_BODY.pack(kind, len(short), len(rest)), *part(short), *part(rest)]


def part(content: Buffer) -> list[Buffer]:
    """A part of a body: the content, and zeros up to the next."""
    zeros = -len(content) & 15
    return [content, ZEROS[zeros]] if zeros else [content]


def item(kind: int, number_type: int, name: bytes, content: Buffer) -> list[Buffer]:
    """An item of DONE."""
    header = ITEM.pack(kind, number_type, len(name), 0, len(content))
    return [header, *part(name), *part(content)]


class Channel:
    """The stream of frames between runtime and executor.

    Requests are read into memory of their own, so arrays that are views of it may be kept and written to.
    """

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._receive = stream.recv_into
        self._buffer = bytearray(_AT_ONCE)
        self._view = memoryview(self._buffer)
        self._begin = 0
        self._end = 0

    def read(self) -> tuple[int, int, memoryview] | None:
        """The next frame: kind, handle and body; `None` at the end of the stream."""
        buffer = self._buffer
        begin, end = self._begin, self._end
        if end - begin < 16:
            if begin:
                buffer[: end - begin] = buffer[begin:end]
                begin, end = 0, end - begin
            while end < 16:
                count = self._receive(self._view[end:] if end else buffer)
                if count == 0:
                    if end:
                        raise ProtocolError(f"the stream ends in the header of a frame, after {end} bytes")
                    return None
                end += count
        kind, zero, magic, handle, length = _READ_FRAME(buffer, begin)
        if magic != MAGIC or zero != 0:
            raise ProtocolError(f"{bytes(buffer[begin : begin + 16])!r} is not the header of a frame")
        if length > BODY_MAX and (kind not in (LOAD, VERIFY) or length > STATE_MAX + 16):
            raise ProtocolError(f"a frame of {length} bytes")
        begin += 16
        behind = begin + length
        if behind <= end:
            self._begin, self._end = (behind, end) if behind < end else (0, 0)
            return kind, handle, memoryview(buffer[begin:behind])
        have = end - begin
        if length >= _LONG and not _keeps_memory:
            _keep_memory()
        body = _memory(length)
        body[:have] = self._view[begin:end]
        self._begin = self._end = 0
        while have < length:
            count = self._receive(body[have:])
            if count == 0:
                raise ProtocolError(f"the stream ends after {have} of {length} bytes of a frame")
            have += count
        return kind, handle, body

    def write(self, pieces: list[Buffer]) -> None:
        """Writes a frame that is in `pieces`."""
        if len(pieces) == 1:
            self._stream.sendall(pieces[0])
            return
        length = sum(map(len, pieces))
        if length <= _AT_ONCE:
            self._stream.sendall(b"".join(pieces))
            return
        if length >= _LONG and not _keeps_memory:
            _keep_memory()
        for begin in range(0, len(pieces), _PIECES_MAX):
            rest = pieces[begin : begin + _PIECES_MAX]
            while rest:
                sent = self._stream.sendmsg(rest)
                first = 0
                while first < len(rest) and len(rest[first]) <= sent:
                    sent -= len(rest[first])
                    first += 1
                rest = rest[first:]
                if sent:
                    rest[0] = memoryview(rest[0])[sent:]


def _part(body: memoryview, begin: int, length: int, what: str) -> tuple[memoryview, int]:
    end = begin + length
    if end > len(body):
        raise ProtocolError(f"{what} ends at byte {end} of {len(body)}")
    return body[begin:end], (end + 15) & ~15


def _expect_end(body: Buffer, end: int, what: str) -> None:
    if end != len(body):
        raise ProtocolError(f"{what} has {len(body)} bytes, expected {end}")


def _cut(text: str, most: int) -> bytes:
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most:
        return encoded
    half = most // 2 - 8
    kept = encoded[:half] + b" [...] " + encoded[-half:]
    return kept.decode("utf-8", "ignore").encode("utf-8")


def _memory(length: int) -> memoryview:
    """Memory of this length, at a multiple of 16. That of NumPy is not filled with zeros first."""
    numpy = sys.modules.get("numpy")
    if numpy is None or length < _AT_ONCE:
        return memoryview(bytearray(length))
    return memoryview(numpy.empty(length, numpy.uint8))


def _keep_memory() -> None:
    """Has the allocator of the C library keep freed memory for the next superstep.

    Otherwise it returns that of long messages to the system in each superstep, and asks for it in the next: that takes as long
    as copying the messages twice.
    """
    global _keeps_memory
    _keeps_memory = True
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_TRIM_THRESHOLD, 64 << 20)
    mallopt(_M_MMAP_THRESHOLD, 32 << 20)


_keeps_memory = False
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LONG = 256 << 10
_AT_ONCE = 64 << 10
_PIECES_MAX = 512
_READ_FRAME = FRAME.unpack_from
_READ_STEP = STEP_BODY.unpack_from
