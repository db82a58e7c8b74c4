"""The reference runner: executes all processes of a program in this interpreter, one after the other."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from . import _frames as frames
from . import _reduction
from ._executor import by_name, is_own, made, refuse_returned
from ._frames import Item
from ._program import Program, Start, Superstep
from ._values import decode


class ProgramError(Exception):
    """A process breaks a rule: it sends to a process that has halted, it never halts, or it reduces as no other does."""


@dataclass(frozen=True)
class Note:
    """What processes noted under one name in a superstep."""

    count: int
    sum: float
    min: float
    max: float


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What a process has written in a superstep."""

    superstep: int
    rank: int
    name: str
    value: Any


@dataclass(frozen=True, eq=False)
class Finished:
    """The results of a computation in this interpreter."""

    #: The outputs in rank order. Tuples have become lists, as in files.
    outputs: list[Any] = field(repr=False)
    #: The number of supersteps.
    supersteps: int
    #: What all processes have charged together.
    instructions: int
    #: For each superstep in which processes noted something, the notes by name.
    notes: list[tuple[int, dict[str, Note]]] = field(repr=False)
    #: The snapshots, by superstep and rank.
    snapshots: list[Snapshot] = field(repr=False)
    #: The sentence of `verify`, if the program has it.
    verified: str | None = None


def run_here(
    program: type[Program],
    /,
    *,
    processes: int = 4,
    supersteps: int | None = None,
    seed: int = 1,
    limit: int = 1_000_000,
    **parameters: Any,
) -> Finished:
    """Runs a program in this interpreter, where breakpoints stop and exceptions arrive as they are.

    Outputs are those of simulations and of real hosts, to the last bit. A process computes for as long as a host of 1e9
    instructions per second takes for what it charges (`ctx.elapsed`), and no process is on standby.

    Raises what the program raises, and `ProgramError` if a process sends to one that has halted, or has not halted after
    `limit` supersteps.
    """
    computation = _Computation(program, processes, supersteps, seed, parameters)
    while computation.running:
        if computation.superstep >= limit:
            rank = computation.running[0]
            raise ProgramError(f"p{rank + 1} had not halted after {limit} supersteps; if it needs more, raise `limit`")
        computation.execute()
    verified = None
    if is_own(program, "verify"):
        # They are those of `verify`, which may change them.
        verified = program.verify([decode(bytearray(output)) for output in computation.outputs], **parameters)
    outputs = [decode(output) for output in computation.outputs]
    return Finished(
        outputs, computation.superstep, computation.work, computation.notes, computation.snapshots, verified
    )


class _Computation:
    """All processes, and what they have sent in the superstep before."""

    def __init__(
        self, program: type[Program], processes: int, supersteps: int | None, seed: int, parameters: dict[str, Any]
    ) -> None:
        if processes < 1:
            raise ValueError(f"{processes} processes; expected 1 or more")
        starts = [Start(rank, processes, seed, supersteps) for rank in range(processes)]
        self.processes = [made(program, start, parameters) for start in starts]
        self.contexts = [Superstep(start, program.allows_pickle) for start in starts]
        self.messages: list[list[tuple[int, bytearray]]] = [[] for _ in starts]
        self.sized: list[list[tuple[int, int]]] = [[] for _ in starts]
        self.outputs: list[bytearray] = [bytearray()] * processes
        self.halted: list[int | None] = [None] * processes
        self.running = list(range(processes))
        self.reduced: dict[bytes, list[Item]] = {}
        self.notes: list[tuple[int, dict[str, Note]]] = []
        self.snapshots: list[Snapshot] = []
        self.superstep = 0
        self.work = 0

    def execute(self) -> None:
        """Executes the next superstep of all processes that have not halted."""
        for rank in self.running:
            try:
                self._execute_one(rank)
            except Exception as error:
                if hasattr(error, "add_note"):
                    error.add_note(f"in superstep {self.superstep} of p{rank + 1}")
                raise
        sent = [(rank, self.contexts[rank]) for rank in self.running]
        for rank, ctx in sent:
            if ctx._has_halted:
                self.halted[rank] = self.superstep
                self.outputs[rank] = bytearray(ctx._output)
            self.work += ctx._work
            self.messages[rank] = []
            self.sized[rank] = []
        # Senders come in rank order, so their messages are ordered.
        for rank, ctx in sent:
            for to, content, length in ctx._sends:
                receivers: Iterable[int] = (to,)
                if to == frames.OTHERS:
                    receivers = (each for each in range(len(self.processes)) if each != rank)
                for receiver in receivers:
                    self._deliver(rank, receiver, content, length)
        self._conclude(sent)
        self.running = [rank for rank in self.running if self.halted[rank] is None]
        self.superstep += 1

    def _execute_one(self, rank: int) -> None:
        ctx = self.contexts[rank]
        ctx._elapsed = ctx._work / _SPEED
        ctx._work, ctx._has_looked = 0, False
        ctx._sends, ctx._items, ctx._snapshots = [], [], {}
        ctx.superstep = self.superstep
        allows_pickle = ctx._allows_pickle
        # Each receiver has a copy of its own, as if it were elsewhere.
        ctx.messages = [
            (sender, decode(content, allows_pickle=allows_pickle)) for sender, content in self.messages[rank]
        ]
        ctx.sized = self.sized[rank]
        ctx._reduced = self.reduced
        returned = self.processes[rank].superstep(ctx)  # type: ignore[func-returns-value]
        if returned is not None:
            refuse_returned(returned)

    def _deliver(self, sender: int, receiver: int, content: Any, length: int) -> None:
        halted = self.halted[receiver]
        if halted is not None and (halted < self.superstep or content is not None):
            raise ProgramError(
                f"p{sender + 1} sent to p{receiver + 1} in superstep {self.superstep}, which had halted by superstep {halted}"
            )
        if content is None:
            self.sized[receiver].append((sender, length))
        else:
            copy = bytearray(b"".join(content) if isinstance(content, list) else content)
            self.messages[receiver].append((sender, copy))

    def _conclude(self, sent: list[tuple[int, Superstep]]) -> None:
        """Combines what processes have reduced, and keeps notes and snapshots."""
        items = [(rank, *item) for rank, ctx in sent for item in ctx._items]
        notes: dict[str, list[float]] = {}
        contributions: list[tuple[int, int, int, bytes, Any]] = []
        for each in items:
            rank, kind, number, name, content = each
            if kind == frames.NOTE:
                notes.setdefault(name.decode(), []).extend(struct.unpack("<d", content))
            elif kind == frames.SNAPSHOT:
                value = decode(content) if number else bytes(content)
                self.snapshots.append(Snapshot(self.superstep, rank, name.decode(), value))
            else:
                contributions.append(each)
        if notes:
            noted = {name: _note(values) for name, values in sorted(notes.items())}
            self.notes.append((self.superstep, noted))
        total = 0
        for _, kind, _, name, content in contributions:
            total += len(content) if kind == frames.GATHERED else 0
        self.reduced = by_name(list(combine(contributions)))
        for results in self.reduced.values():
            total += sum(len(item.content) for item in results if item.kind != frames.GATHERED)
        total += sum(32 + len(name.encode()) for name in notes)
        if total > _REDUCTIONS_MAX:
            raise ProgramError(
                f"superstep {self.superstep}: the reductions and notes of a superstep may take {_REDUCTIONS_MAX} B together, "
                "and have "
                f"{total} B: send what takes more in messages"
            )


def combine(contributions: Iterable[tuple[int, int, int, bytes, Any]]) -> Iterator[tuple[bytes, Item]]:
    """The results of reductions: of rank, kind, type, name and content of each contribution, in rank order."""
    named: dict[bytes, list[tuple[int, int, int, Any]]] = {}
    for rank, kind, number, name, content in contributions:
        named.setdefault(name, []).append((rank, kind, number, content))
    for name, given in sorted(named.items()):
        kinds = {(kind, number, 0 if kind == frames.GATHERED else len(content)) for _, kind, number, content in given}
        if len(kinds) > 1:
            one, other, *_ = (_description(*kind) for kind in sorted(kinds))
            raise ProgramError(
                f"`{name.decode()}` was reduced as {one} by some processes, and as {other} by others"
            )
        ((kind, number, length),) = kinds
        contents = [content for _, _, _, content in given]
        if kind == frames.GATHERED:
            for rank, _, _, content in given:
                yield name, Item(kind, 0, rank, memoryview(content))
        elif kind in (frames.AND, frames.OR):
            combined = (min if kind == frames.AND else max)(content[0] for content in contents)
            yield name, Item(kind, 0, 0, memoryview(bytes([combined])))
        else:
            yield name, _combined(name, kind, number, length // 8, contents)


def _combined(name: bytes, kind: int, number: int, count: int, contents: list[Any]) -> Item:
    """The sum, the minimum or the maximum of numbers."""
    packed = struct.Struct(f"<{count}{'dqQ'[number]}")
    columns = zip(*(packed.unpack(content) for content in contents))
    combine_one: Callable[[Any], Any]
    if kind == frames.SUM:
        combine_one = _float_sum if number == _reduction.F64 else sum
    elif number == _reduction.F64:
        combine_one = _least if kind == frames.MIN else _greatest
    else:
        combine_one = min if kind == frames.MIN else max
    results = [combine_one(column) for column in columns]
    try:
        return Item(kind, number, 0, memoryview(packed.pack(*results)))
    except struct.error:
        fits = range(-(1 << 63), 1 << 63) if number == _reduction.I64 else range(1 << 64)
        sums = next(result for result in results if result not in fits)
        text = f"the sum `{name.decode()}` is {sums}, which does not fit its type: reduce it as a sum of floats"
        return Item(frames.NO_RESULT, 0, 0, memoryview(text.encode()))


def _float_sum(numbers: Iterable[float]) -> float:
    """The exact sum, rounded once."""
    numbers = list(numbers)
    special = [number for number in numbers if not math.isfinite(number)]
    if special:
        # What is not a number has one encoding.
        total = sum(special)
        return math.nan if math.isnan(total) else total
    try:
        return math.fsum(numbers) + 0.0
    except OverflowError:
        exact = sum(map(Fraction, numbers), Fraction())
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf


def _least(numbers: Iterable[float]) -> float:
    numbers = list(numbers)
    return math.nan if any(map(math.isnan, numbers)) else min(numbers, key=_order)


def _greatest(numbers: Iterable[float]) -> float:
    numbers = list(numbers)
    return math.nan if any(map(math.isnan, numbers)) else max(numbers, key=_order)


def _order(number: float) -> tuple[float, float]:
    """By which numbers ascend: −0 is less than 0."""
    return number, math.copysign(1, number)


def _note(values: list[float]) -> Note:
    return Note(len(values), _float_sum(values), _least(values), _greatest(values))


def _description(kind: int, number: int, length: int) -> str:
    if kind not in (frames.SUM, frames.MIN, frames.MAX):
        return _reduction.KINDS[kind]
    what = f"{_reduction.KINDS[kind]} of {('floats', 'integers', 'unsigned integers')[number]}"
    return what if length == 8 else f"{what}, {length // 8} of them"


_SPEED = 1e9
_REDUCTIONS_MAX = 4 << 20
