"""Executes scripts that are written for MPI: `from migbsp import mpi as MPI` in place of `from mpi4py import MPI`.

    python -m migbsp stencil.py simulate -n 8      a script, unchanged but for that line, or not even for it
    python -m migbsp stencil.py up --local 4 -n 8
    python stencil.py                              one process, without migbsp

Each process of the script is executed by an executor of its own. A call that waits for a message ends the superstep. There is
`COMM_WORLD` with `Send`, `Recv`, `Isend`, `Irecv`, `Sendrecv`, `Wait`, `Waitall`, `Bcast`, `Reduce`, `Allreduce`, `Gather`,
`Scatter`, `Allgather`, `Alltoall`, `Barrier` and those in small letters for objects; others raise `NotImplementedError` with
their name. `Send` does not wait for its receiver. Operations are applied in rank order. Charges are measured, unless the
script calls `comm.charge`. The output of a process is what it prints, and must be the same in each execution: times belong on
`sys.stderr`. When all processes wait and no message is under way, the run ends, and each says what it waits for.

A process may move if the script names its state:

    s = comm.migratable(step=0, u=u)    # on arrival: with the values that it left with
    while s.step < steps:
        ...                             # uses s.u
        s.step += 1
        comm.migrate()                  # here the state is complete

All that changes in the loop is named. `migrate` copies it, so where the state is large, call it every few steps. On arrival the
script is executed from its first line, and receives again what it had received before `migratable` and since the last
`migrate`; it does not send or print again.

Objects are plain data, as in `migbsp.Program`. `MPI.allows_pickle = True` has others pickled, for scripts all of whose
processes are trusted.
"""

from __future__ import annotations

import atexit
import io
import os
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from . import _executor, _reduction
from . import _frames as frames
from ._frames import Buffer, ProtocolError
from ._program import Failure, Send
from ._values import MESSAGE, OUTPUT, PICKLED_MESSAGE, Piece, decode, decode_state, encode, encode_state, measure

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "BAND",
    "BOR",
    "BXOR",
    "COMM_WORLD",
    "IN_PLACE",
    "LAND",
    "LOR",
    "LXOR",
    "MAX",
    "MAXLOC",
    "MIN",
    "MINLOC",
    "PROC_NULL",
    "PROD",
    "SUM",
    "Comm",
    "Exception",
    "Finalize",
    "Get_processor_name",
    "Init",
    "Intracomm",
    "Is_finalized",
    "Is_initialized",
    "Op",
    "Request",
    "Status",
    "Wtick",
    "Wtime",
]

ANY_SOURCE = -1
ANY_TAG = -1
PROC_NULL = -2
UNDEFINED = -32766

#: Whether objects of other types than plain data are pickled.
allows_pickle = False


class _InPlace:
    def __repr__(self) -> str:
        return "migbsp.mpi.IN_PLACE"


IN_PLACE = _InPlace()


class MPIError(RuntimeError):
    """A call is wrong, or all processes wait for each other; `Exception` is its name in MPI."""


class Op:
    """An operation of a reduction; it is applied in rank order."""

    def __init__(self, name: str, of_two: Callable[[Any, Any], Any], of_arrays: str | None) -> None:
        self.name = name
        self._of_two = of_two
        self._of_arrays = of_arrays

    def __call__(self, one: Any, other: Any) -> Any:
        return self._of_two(one, other)

    def __repr__(self) -> str:
        return f"migbsp.mpi.{self.name}"

    @staticmethod
    def Create(*_: Any, **__: Any) -> NoReturn:
        """Own operations: `gather` and a loop over the values are one."""
        raise NotImplementedError("migbsp.mpi has no Op.Create")

    def fold(self, values: Sequence[Any]) -> Any:
        """The combination of objects."""
        result = values[0]
        for value in values[1:]:
            result = self._of_two(result, value)
        return result

    def fold_arrays(self, arrays: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        """The combination of arrays, element by element."""
        import numpy

        if self._of_arrays is None:
            raise NotImplementedError(f"migbsp.mpi has {self.name} for objects only: use the call in small letters")
        combine = getattr(numpy, self._of_arrays)
        result: np.ndarray[Any, Any] = arrays[0].copy()
        for array in arrays[1:]:
            result[...] = combine(result, array)
        return result


def _largest(one: Any, other: Any) -> Any:
    return other if other > one else one


def _least(one: Any, other: Any) -> Any:
    return other if other < one else one


def _largest_place(one: Any, other: Any) -> Any:
    if one[0] == other[0]:
        return (one[0], min(one[1], other[1]))
    return one if one[0] > other[0] else other


def _least_place(one: Any, other: Any) -> Any:
    if one[0] == other[0]:
        return (one[0], min(one[1], other[1]))
    return one if one[0] < other[0] else other


SUM = Op("SUM", lambda one, other: one + other, "add")
PROD = Op("PROD", lambda one, other: one * other, "multiply")
MAX = Op("MAX", _largest, "maximum")
MIN = Op("MIN", _least, "minimum")
LAND = Op("LAND", lambda one, other: bool(one) and bool(other), "logical_and")
LOR = Op("LOR", lambda one, other: bool(one) or bool(other), "logical_or")
LXOR = Op("LXOR", lambda one, other: bool(one) != bool(other), "logical_xor")
BAND = Op("BAND", lambda one, other: one & other, "bitwise_and")
BOR = Op("BOR", lambda one, other: one | other, "bitwise_or")
BXOR = Op("BXOR", lambda one, other: one ^ other, "bitwise_xor")
MAXLOC = Op("MAXLOC", _largest_place, None)
MINLOC = Op("MINLOC", _least_place, None)


class Status:
    """Where a message came from, its tag and its length."""

    def __init__(self) -> None:
        self.source = ANY_SOURCE
        self.tag = ANY_TAG
        self._bytes = 0

    def Get_source(self) -> int:
        """The rank of the sender."""
        return self.source

    def Get_tag(self) -> int:
        """The tag."""
        return self.tag

    def Get_count(self, datatype: Any = None) -> int:
        """The number of elements of a type, of bytes if there is none."""
        size = getattr(datatype, "size", 1)
        return self._bytes // size if self._bytes % size == 0 else UNDEFINED

    def _set(self, source: int, tag: int, content: Any) -> None:
        self.source, self.tag = source, tag
        self._bytes = getattr(content, "nbytes", 0)


class Request:
    """A message that is being sent or received."""

    def __init__(self, complete: Callable[[bool], tuple[bool, Any]] | None = None, status: Status | None = None) -> None:
        self._complete = complete
        self._result: Any = None

    def wait(self, status: Status | None = None) -> Any:
        """Waits for the message; returns the object that is received."""
        if self._complete is not None:
            complete, self._complete = self._complete, None
            _, (self._result, found) = complete(True)
            if status is not None:
                status.source, status.tag, status._bytes = found.source, found.tag, found._bytes
        return self._result

    def Wait(self, status: Status | None = None) -> bool:
        """Waits for the message."""
        self.wait(status)
        return True

    def test(self, status: Status | None = None) -> tuple[bool, Any]:
        """Whether the message is there, and the object that is received. If it is not there, the superstep ends."""
        if self._complete is not None:
            is_there, found = self._complete(False)
            if not is_there:
                return False, None
            self._complete = None
            self._result, of = found
            if status is not None:
                status.source, status.tag, status._bytes = of.source, of.tag, of._bytes
        return True, self._result

    def Test(self, status: Status | None = None) -> bool:
        """Whether the message is there. If it is not, the superstep ends."""
        return self.test(status)[0]

    @staticmethod
    def waitall(requests: Sequence[Request], statuses: Sequence[Status] | None = None) -> list[Any]:
        """Waits for all messages; returns the objects that are received."""
        return [
            request.wait(statuses[index] if statuses else None) for index, request in enumerate(requests)
        ]

    @staticmethod
    def Waitall(requests: Sequence[Request], statuses: Sequence[Status] | None = None) -> bool:
        """Waits for all messages."""
        Request.waitall(requests, statuses)
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotImplementedError(f"migbsp.mpi has no Request.{name}")


class State:
    """The named state of a process that may move: what `comm.migratable` returns."""

    def __init__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)


class Comm:
    """All processes: `COMM_WORLD`."""

    def __init__(self, process: _Process) -> None:
        self._process = process

    @property
    def rank(self) -> int:
        """Which process this is, from 0."""
        return self._process.rank

    @property
    def size(self) -> int:
        """How many processes there are."""
        return self._process.size

    @property
    def name(self) -> str:
        """The name of the communicator."""
        return "MPI_COMM_WORLD"

    def Get_rank(self) -> int:
        """Which process this is, from 0."""
        return self._process.rank

    def Get_size(self) -> int:
        """How many processes there are."""
        return self._process.size

    def Get_name(self) -> str:
        """The name of the communicator."""
        return self.name

    def Abort(self, errorcode: int = 0) -> NoReturn:
        """Ends the run."""
        raise Failure(f"p{self.rank + 1} calls Abort({errorcode})")

    # What MPI does not have

    def migratable(self, **state: Any) -> Any:
        """Names the state of the process: its values are the attributes of what is returned.

        On arrival after a move, these are the values that the process left with.
        """
        return self._process.migratable(state)

    def migrate(self) -> None:
        """Ends the superstep; the process may move, and its state is complete."""
        self._process.migrate()

    def charge(self, instructions: float) -> None:
        """Adds to the computation of this superstep, for simulations with declared charges."""
        self._process.work += int(instructions)

    # From one process to another

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Sends an object."""
        self._send(obj, dest, tag, "send")

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Sends an array."""
        self._send(_array(buf), dest, tag, "Send")

    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Sends an object."""
        self._send(obj, dest, tag, "isend")
        return Request()

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Sends an array, which is copied."""
        self._send(_array(buf), dest, tag, "Isend")
        return Request()

    def recv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Any:
        """Receives an object."""
        return self._receiving("recv", source, tag, None).wait(status)

    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> None:
        """Receives an array."""
        self._receiving("Recv", source, tag, _array(buf)).wait(status)

    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Receives an object, later."""
        return self._receiving("irecv", source, tag, None)

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Receives an array, later."""
        return self._receiving("Irecv", source, tag, _array(buf))

    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Any:
        """Sends an object and receives another."""
        self._send(sendobj, dest, sendtag, "sendrecv")
        return self._receiving("sendrecv", source, recvtag, None).wait(status)

    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Sends an array and receives another."""
        self._send(_array(sendbuf), dest, sendtag, "Sendrecv")
        self._receiving("Sendrecv", source, recvtag, _array(recvbuf)).wait(status)

    def _send(self, content: Any, to: int, tag: int, call: str) -> None:
        if to == PROC_NULL:
            return
        if not 0 <= to < self.size:
            raise MPIError(f"{call} to rank {to}, but the ranks are 0 to {self.size - 1}")
        if tag < 0:
            raise MPIError(f"{call} with tag {tag}, expected 0 or more")
        self._process.send(to, [tag, content])

    def _receiving(self, call: str, source: int, tag: int, into: np.ndarray[Any, Any] | None) -> Request:
        process = self._process
        if source != ANY_SOURCE and source != PROC_NULL and not 0 <= source < self.size:
            raise MPIError(f"{call} from rank {source}, but the ranks are 0 to {self.size - 1}")
        place = process.ask(source, tag)

        def complete(waits: bool) -> tuple[bool, Any]:
            status = Status()
            if source == PROC_NULL:
                status.source = PROC_NULL
                return True, (None, status)
            found = process.take(place)
            if found is None and not waits:
                process.sync(None)
                found = process.take(place)
                if found is None:
                    return False, None
            while found is None:
                of = "any process" if source == ANY_SOURCE else f"p{source + 1}"
                process.sync(f"in {call} for a message of {of}" + ("" if tag == ANY_TAG else f" with tag {tag}"))
                found = process.take(place)
            sender, sent_tag, content = found
            status._set(sender, sent_tag, content)
            if into is None:
                return True, (content, status)
            _fill(into, content, f"{call} from p{sender + 1}", is_whole=False)
            return True, (None, status)

        return Request(complete)

    # Of all processes

    def barrier(self) -> None:
        """Waits for all processes."""
        self._exchange("barrier", [None] * self.size)

    def Barrier(self) -> None:
        """Waits for all processes."""
        self.barrier()

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """The object of process `root`."""
        return self._from_root("bcast", obj, root)

    def Bcast(self, buf: Any, root: int = 0) -> None:
        """Fills an array with that of process `root`."""
        array = _array(buf)
        received = self._from_root("Bcast", array, root)
        if self.rank != root:
            _fill(array, received, "Bcast")

    def scatter(self, sendobj: Any, root: int = 0) -> Any:
        """The element of a list of process `root` that is for this process."""
        values: list[Any] = []
        if self._check_root("scatter", root) == self.rank:
            values = list(sendobj)
            if len(values) != self.size:
                raise MPIError(f"scatter of {len(values)} objects to {self.size} processes")
        return self._scattered("scatter", values, root)

    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Fills an array with a part of that of process `root`."""
        parts: list[Any] = []
        if self._check_root("Scatter", root) == self.rank:
            parts = self._parts("Scatter", _array(sendbuf))
        received = self._scattered("Scatter", parts, root)
        if recvbuf is not IN_PLACE:
            _fill(_array(recvbuf), received, "Scatter")

    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """At process `root`, the objects of all processes in rank order."""
        return self._to_root("gather", sendobj, root)

    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Fills an array of process `root` with those of all processes, in rank order."""
        if sendbuf is IN_PLACE:
            sendbuf = self._parts("Gather", _array(recvbuf))[self.rank].copy()
        received = self._to_root("Gather", _array(sendbuf), root)
        if received is not None:
            self._fill_parts("Gather", _array(recvbuf), received)

    def allgather(self, sendobj: Any) -> list[Any]:
        """The objects of all processes in rank order."""
        return self._exchange("allgather", [sendobj] * self.size)

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Fills an array with those of all processes, in rank order."""
        into = _array(recvbuf)
        if sendbuf is IN_PLACE:
            sendbuf = self._parts("Allgather", into)[self.rank].copy()
        array = _array(sendbuf)
        self._fill_parts("Allgather", into, self._exchange("Allgather", [array] * self.size))

    def alltoall(self, sendobj: Sequence[Any]) -> list[Any]:
        """The objects that all processes have for this one, in rank order."""
        values = list(sendobj)
        if len(values) != self.size:
            raise MPIError(f"alltoall of {len(values)} objects to {self.size} processes")
        return self._exchange("alltoall", values)

    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Fills an array with the parts that all processes have for this one, in rank order."""
        into = _array(recvbuf)
        array = into.copy() if sendbuf is IN_PLACE else _array(sendbuf)
        self._fill_parts("Alltoall", into, self._exchange("Alltoall", self._parts("Alltoall", array)))

    def reduce(self, sendobj: Any, op: Op = SUM, root: int = 0) -> Any:
        """At process `root`, the combination of the objects of all processes."""
        received = self._to_root(f"reduce with {op!r}", sendobj, root)
        return None if received is None else op.fold(received)

    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM, root: int = 0) -> None:
        """Fills an array of process `root` with the combination of those of all processes, element by element."""
        array = _array(recvbuf if sendbuf is IN_PLACE else sendbuf)
        received = self._to_root(f"Reduce with {op!r}", array, root)
        if received is not None:
            _fill(_array(recvbuf), op.fold_arrays(_alike("Reduce", received)), "Reduce")

    def allreduce(self, sendobj: Any, op: Op = SUM) -> Any:
        """The combination of the objects of all processes."""
        return op.fold(self._exchange(f"allreduce with {op!r}", [sendobj] * self.size))

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> None:
        """Fills an array with the combination of those of all processes, element by element."""
        into = _array(recvbuf)
        array = into if sendbuf is IN_PLACE else _array(sendbuf)
        call = f"Allreduce with {op!r}"
        if array.nbytes < _DIVIDED_MIN or self.size == 1:
            received = self._exchange(call, [array] * self.size)
            _fill(into, op.fold_arrays(_alike("Allreduce", received)), "Allreduce")
            return
        # A long array is divided: each process combines a part, and sends that to all.
        flat = array.reshape(-1)
        places = [flat.size * rank // self.size for rank in range(self.size + 1)]
        shares = [flat[begin:end] for begin, end in zip(places, places[1:])]
        own = op.fold_arrays(_alike("Allreduce", self._exchange(call, shares)))
        combined = self._exchange(call, [own] * self.size)
        if into.size != flat.size:
            raise MPIError(f"Allreduce of {flat.size} elements into {into.size}")
        whole = into.reshape(-1)
        for begin, part in zip(places, combined):
            whole[begin : begin + part.size] = part

    def _begin(self, call: str) -> int:
        """The tag of the messages of the next call of all processes."""
        self._process.collectives += 1
        return -1 - self._process.collectives

    def _check_root(self, call: str, root: int) -> int:
        if not 0 <= root < self.size:
            raise MPIError(f"{call} with root {root}, but the ranks are 0 to {self.size - 1}")
        return root

    def _from_root(self, call: str, value: Any, root: int) -> Any:
        tag = self._begin(call)
        if self._check_root(call, root) == self.rank:
            self._process.send(frames.OTHERS, [tag, value, call])
            return value
        return self._collected(call, tag, [root])[0]

    def _scattered(self, call: str, values: list[Any], root: int) -> Any:
        tag = self._begin(call)
        if root != self.rank:
            return self._collected(call, tag, [root])[0]
        for to, value in enumerate(values):
            if to != root:
                self._process.send(to, [tag, value, call])
        return values[root]

    def _to_root(self, call: str, value: Any, root: int) -> list[Any] | None:
        tag = self._begin(call)
        if self._check_root(call, root) != self.rank:
            self._process.send(root, [tag, value, call])
            return None
        others = [rank for rank in range(self.size) if rank != root]
        values = self._collected(call, tag, others)
        values.insert(root, value)
        return values

    def _exchange(self, call: str, values: list[Any]) -> list[Any]:
        """Sends a value to each process; what all have sent to this one, in rank order."""
        tag = self._begin(call)
        first = values[0]
        if all(value is first for value in values):
            self._process.send(frames.OTHERS, [tag, first, call])
        else:
            for to, value in enumerate(values):
                if to != self.rank:
                    self._process.send(to, [tag, value, call])
        others = [rank for rank in range(self.size) if rank != self.rank]
        received = self._collected(call, tag, others)
        received.insert(self.rank, values[self.rank])
        return received

    def _collected(self, call: str, tag: int, senders: list[int]) -> list[Any]:
        """The messages of these processes in a call of all."""
        process = self._process
        found: dict[int, Any] = {}
        while True:
            missing = [sender for sender in senders if sender not in found]
            for sender in missing:
                message = process.take_collective(sender, tag)
                if message is None:
                    continue
                value, theirs = message
                if theirs != call:
                    raise MPIError(f"p{process.rank + 1} is in {call}, while p{sender + 1} is in {theirs}")
                found[sender] = value
            missing = [sender for sender in missing if sender not in found]
            if not missing:
                return [found[sender] for sender in senders]
            process.sync(f"in {call} for {_listed(missing)}")

    def _parts(self, call: str, array: np.ndarray[Any, Any]) -> list[Any]:
        flat = array.reshape(-1)
        count, rest = divmod(flat.size, self.size)
        if rest:
            raise MPIError(f"{call} of {flat.size} elements among {self.size} processes")
        return [flat[rank * count : (rank + 1) * count] for rank in range(self.size)]

    def _fill_parts(self, call: str, into: np.ndarray[Any, Any], received: list[Any]) -> None:
        for part, content in zip(self._parts(call, into), received):
            _fill(part, content, call)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotImplementedError(f"migbsp.mpi has no Comm.{name}: {_WHAT_THERE_IS}")


Intracomm = Comm


class Datatype:
    """The type of the elements of a buffer. Arrays know it, so it is read only in `Get_count`."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size

    def Get_size(self) -> int:
        """The bytes of an element."""
        return self.size


BYTE, CHAR, SIGNED_CHAR, UNSIGNED_CHAR, BOOL = (
    Datatype(name, 1) for name in ("BYTE", "CHAR", "SIGNED_CHAR", "UNSIGNED_CHAR", "BOOL")
)
SHORT, UNSIGNED_SHORT = Datatype("SHORT", 2), Datatype("UNSIGNED_SHORT", 2)
INT, UNSIGNED, FLOAT = Datatype("INT", 4), Datatype("UNSIGNED", 4), Datatype("FLOAT", 4)
LONG, UNSIGNED_LONG, DOUBLE, LONG_LONG = (
    Datatype(name, 8) for name in ("LONG", "UNSIGNED_LONG", "DOUBLE", "LONG_LONG")
)
INT8_T, INT16_T, INT32_T, INT64_T = (Datatype(f"INT{8 * size}_T", size) for size in (1, 2, 4, 8))
UINT8_T, UINT16_T, UINT32_T, UINT64_T = (Datatype(f"UINT{8 * size}_T", size) for size in (1, 2, 4, 8))
COMPLEX, DOUBLE_COMPLEX = Datatype("COMPLEX", 8), Datatype("DOUBLE_COMPLEX", 16)


class _Received(NamedTuple):
    """What arrives with a superstep, and a digest of what was sent in the superstep before."""

    messages: list[tuple[int, Piece]]
    #: How many processes did nothing but wait in the superstep before, and how many ended.
    waiting: int
    ended: int
    #: What each process waits for, once all wait.
    waits: list[str]
    digest: int


class _Process:
    """A process of the script: what it has received, and how a superstep ends.

    This one is alone, and without a runtime.
    """

    def __init__(self) -> None:
        self.rank, self.size = 0, 1
        self.work = 0
        #: How many calls of all processes there have been.
        self.collectives = 0
        #: Messages that have arrived: sender, tag and content, in this order.
        self.arrived: list[tuple[int, int, Any]] = []
        #: Messages that are asked for: source, tag, and the message once it has arrived.
        self.asked: list[list[Any]] = []
        #: Messages of calls of all processes, by sender and tag: content and name of the call.
        self.collective: dict[tuple[int, int], list[Any]] = {}
        self.has_progress = False

    def send(self, to: int, message: list[Any]) -> None:
        """Sends a message; one to the process itself has arrived."""
        self.has_progress = True
        if to == self.rank:
            self.arrive(self.rank, decode(_encoded(message), allows_pickle=allows_pickle))

    def arrive(self, sender: int, message: Any) -> None:
        """A message has arrived: its tag, its content, and of a call of all processes its name."""
        if len(message) == 3:
            tag, content, call = message
            self.collective[sender, tag] = [content, call]
            return
        tag, content = message
        for each in self.asked:
            if each[2] is None and each[0] in (sender, ANY_SOURCE) and each[1] in (tag, ANY_TAG):
                each[2] = (sender, tag, content)
                return
        self.arrived.append((sender, tag, content))

    def ask(self, source: int, tag: int) -> list[Any]:
        """Asks for the first message from there with this tag. Those who ask are served in the order in which they ask."""
        place: list[Any] = [source, tag, None]
        if source == PROC_NULL:
            return place
        for index, message in enumerate(self.arrived):
            if source in (message[0], ANY_SOURCE) and tag in (message[1], ANY_TAG):
                del self.arrived[index]
                place[2] = message
                break
        self.asked.append(place)
        return place

    def take(self, place: list[Any]) -> tuple[int, int, Any] | None:
        """The message that was asked for, if it has arrived."""
        found: tuple[int, int, Any] | None = place[2]
        if found is not None:
            self.has_progress = True
            self.asked = [each for each in self.asked if each is not place]
        return found

    def take_collective(self, sender: int, tag: int) -> list[Any] | None:
        """The message of a call of all processes, if it has arrived: content and name of the call."""
        found = self.collective.pop((sender, tag), None)
        if found is not None:
            self.has_progress = True
        return found

    def sync(self, waits: str | None) -> None:
        """Ends the superstep. `waits` says what for, if the process waits."""
        if waits is not None:
            raise MPIError(f"deadlock: p1, the only process, waits {waits}")

    def migratable(self, state: dict[str, Any]) -> State:
        """Names the state."""
        return State(state)

    def migrate(self) -> None:
        """Ends the superstep where the state is complete."""


class _Executed(_Process):
    """A process of the script in an executor, which is there for it alone.

    The script is executed by the main thread. A call that waits writes DONE, and reads requests until the next superstep.

    The state of a process is what it has received, from which the script comes to the same place when it is executed again.
    What was received before `migrate` is replaced by what is named in `migratable`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.channel = frames.Channel(_executor.channel())
        self.can_save = _names_state()
        #: The request that has not been answered.
        self.pending: tuple[int, int] = (0, frames.EXECUTOR)
        self.is_welcomed = self.has_begun = self.has_ended = False
        self.error: BaseException | None = None
        self.started = 0
        self.sends: list[Send] = []
        self.items: list[tuple[int, int, bytes, Buffer]] = []
        self.digest = 0
        self.ended = 0
        self.is_suspected = False
        #: What has been received before `migratable`, and since the state was complete.
        self.prelude: list[_Received] = []
        self.log: list[_Received] = []
        #: The lengths of both, encoded, and of the first alone.
        self.log_length = self.prelude_length = 0
        self.state: State | None = None
        self.complete = b""
        #: Of a process that has arrived: what it is still to receive again, what the script has sent when it is
        #: there, and, until `migratable` is called, what it receives again afterwards and the complete state.
        self.is_replaying = False
        self.again: list[_Received] = []
        self.digest_at_end = 0
        self.arrival: tuple[list[_Received], bytes] | None = None
        self.output = _Output(self, sys.stdout)
        sys.stdout = self.output
        sys.excepthook = self._note_error
        self._exit = sys.exit
        sys.exit = self._note_exit
        atexit.register(self._end)
        self._await_start()

    # What the script calls

    def send(self, to: int, message: list[Any]) -> None:
        if to == self.rank:
            super().send(to, message)
            return
        self.has_progress = True
        if to == frames.OTHERS and self.size == 1:
            return
        content = _encoded(message)
        if self.can_save:
            self.digest = zlib.crc32(content, self.digest)
        if not self.is_replaying:
            self.sends.append((to, content, len(content)))

    def sync(self, waits: str | None) -> None:
        if self.is_suspected and waits is not None:
            self.items.append((frames.GATHERED, 0, _WAITS, encode(f"p{self.rank + 1} waits {waits}")))
        elif waits is not None and not self.has_progress:
            self.items.append((frames.SUM, _reduction.I64, _WAITING, _ONE))
        self.has_progress = False
        if self.is_replaying:
            digest = self.again[0].digest if self.again else self.digest_at_end
            if digest != self.digest or (self.arrival is not None and not self.again):
                raise Failure(_DIFFERS)
        self._next(self._done)

    def migratable(self, state: dict[str, Any]) -> State:
        if self.state is not None:
            raise MPIError("migratable is called twice; the state of a process is named once")
        self.state = State(state)
        self.prelude, self.log, self.prelude_length = self.log, [], self.log_length
        if self.arrival is None:
            return self.state
        if self.again:
            raise Failure(_DIFFERS)
        (self.again, self.complete), self.arrival = self.arrival, None
        self._restore(self.complete)
        # It goes on behind the call of `migrate` in which its state was complete.
        if not self.again:
            self.digest = self.digest_at_end
        self._next(self._done)
        return self.state

    def migrate(self) -> None:
        if self.can_save:
            if self.is_replaying:
                raise Failure(_DIFFERS)
            if self.state is None:
                raise MPIError("migrate is called before migratable, which names the state")
            if self.asked:
                raise MPIError("migrate is called before a request is complete: wait for it first")
            self.complete = self._kept()
            self.log, self.log_length = [], self.prelude_length
        self.has_progress = True
        self.sync(None)

    def _next(self, done: Callable[[], None]) -> None:
        """Goes on to the next superstep: it is received again, or this one ends with `done` and the next is awaited."""
        if self.again:
            received = self.again.pop(0)
        else:
            if self.is_replaying:
                # The superstep was over when the process was saved.
                self.is_replaying = False
                self._reply(frames.READY, [frames.READY_BODY.pack(self._state_length(), frames.UNKNOWN)])
            else:
                done()
            received = self._await_step()
        self.sends, self.items, self.digest, self.work = [], [], 0, 0
        if self.can_save:
            self.log.append(received)
            self.log_length += measure(list(received))
        for sender, content in received.messages:
            try:
                message = decode(bytearray(content) if self.can_save else content, allows_pickle=allows_pickle)
            except ProtocolError as error:
                raise Failure(f"the message of p{sender + 1} cannot be decoded: {error}") from None
            self.arrive(sender, message)
        if received.waits:
            raise MPIError("deadlock: " + "; ".join(received.waits))
        self.is_suspected = received.waiting > 0 and received.waiting + self.ended == self.size
        self.ended += received.ended

    def _kept(self) -> bytes:
        """What has to be kept of this process where its state is complete."""
        assert self.state is not None
        own = [self.collectives, self.arrived, list(self.collective.items()), self.ended, self.is_suspected, self.output.text]
        return bytes(encode_state([vars(self.state), own], allows_pickle=allows_pickle))

    def _restore(self, kept: bytes) -> None:
        """The process becomes what it was where its state was complete."""
        values, own = decode_state(bytearray(kept), allows_pickle=allows_pickle)
        assert self.state is not None
        vars(self.state).update(values)
        self.collectives, self.arrived, collective, self.ended, self.is_suspected, self.output.text = own
        self.collective = dict(collective)

    # What the runtime asks

    def _await_start(self) -> None:
        """Serves requests until there is a process to execute."""
        while not self.has_begun:
            kind, _, body = self._read()
            if kind == frames.HELLO:
                hello = frames.read_hello(body)
                _executor.parameters_of(hello)
                self.is_welcomed, self.size = True, hello.processes
                flags = frames.CAN_SAVE if self.can_save else 0
                file = _script()
                name = os.path.splitext(os.path.basename(file or "mpi"))[0]
                self._reply(frames.WELCOME, _executor.welcome(flags, (1, 0), name, _executor.files_beside(file)))
            elif kind == frames.START:
                self._take_rank(body)
                self._reply(frames.READY, [frames.READY_BODY.pack(0, frames.UNKNOWN)])
                self._await_step()
            elif kind == frames.LOAD:
                self._take_rank(body)
                self._load(body[16:])
            else:
                self._answer(kind)

    def _take_rank(self, body: memoryview) -> None:
        self.rank = frames.read_rank(body)
        if not self.is_welcomed or self.rank >= self.size:
            raise ProtocolError(f"rank {self.rank} of {self.size} processes")

    def _await_step(self) -> _Received:
        """Serves requests until the next superstep."""
        sys.stdout.flush()
        while True:
            kind, _, body = self._read()
            if kind != frames.STEP:
                self._answer(kind)
                continue
            self.started = time.process_time_ns()
            self.has_begun = True
            _, _, messages, _, _, items = frames.read_step(body)
            named = _executor.by_name(items)
            kept: list[tuple[int, Piece]] = list(messages)
            if self.can_save:
                kept = [(sender, bytes(content)) for sender, content in messages]
            waiting, ended = (
                _reduction.result("", named[name]) if name in named else 0 for name in (_WAITING, _ENDED)
            )
            waits = [decode(item.content) for item in named.get(_WAITS, [])]
            return _Received(kept, waiting, ended, waits, self.digest)

    def _answer(self, kind: int) -> None:
        """Answers what is no superstep."""
        if kind == frames.SAVE and self.can_save:
            self._reply(frames.SAVED, [self._saved()])
        elif kind == frames.SAVE:
            text = "the script does not name its state (comm.migratable)"
            self._reply(frames.FAILED, frames.failed(frames.PROGRAM, text))
        elif kind == frames.VERIFY:
            self._reply(frames.VERDICT, [frames.VERDICT_BODY.pack(0, 0, 0)])
        elif kind == frames.DROP:
            self._reply(frames.OK, [])
            self.has_ended = True
        else:
            self._refuse(ProtocolError(f"a request of kind {kind}, which this executor of one process does not expect"))

    def _saved(self) -> bytes:
        """The state of the process between two supersteps."""
        state = [
            _OVER if self.has_ended else _BEGUN if self.has_begun else _NEW,
            [list(received) for received in self.prelude],
            [list(received) for received in self.log],
            self.complete,
            self.digest,
        ]
        return bytes(encode(state))

    def _load(self, content: memoryview) -> None:
        """Takes a state. The request is answered once the script is where the process was saved."""
        try:
            place, prelude, log, complete, self.digest_at_end = decode(content)
            prelude, log = ([_Received(*received) for received in part] for part in (prelude, log))
        except (ProtocolError, TypeError, ValueError) as error:
            self._fail(Failure(f"the state cannot be decoded: {error}"))
        if place != _BEGUN:
            self._reply(frames.READY, [frames.READY_BODY.pack(0, frames.UNKNOWN)])
            if place == _OVER:
                self._await_end()
            self._await_step()
            return
        self.is_replaying = self.has_begun = True
        if complete:
            self.again, self.arrival = prelude, (log, complete)
        else:
            self.again = prelude + log

    def _done(self, flags: int = 0, output: Buffer = b"") -> None:
        """Answers STEP: the superstep is over."""
        pieces: list[Buffer] = []
        size = _executor.add_parts(pieces, self.sends, self.items, output)
        head = frames.DONE_BODY.pack(
            flags,
            len(self.sends),
            len(self.items),
            0,
            self.work,
            time.process_time_ns() - self.started,
            self._state_length(),
            frames.UNKNOWN,
            float("nan"),
            len(output),
        )
        assert size == sum(map(len, pieces))
        self._reply(frames.DONE, [head, *pieces])

    def _state_length(self) -> int:
        """The length of the state, or a few bytes more."""
        return len(self.complete) + self.log_length + _AROUND if self.can_save else 0

    def _read(self) -> tuple[int, int, memoryview]:
        """The next request. If there is none, or it is BYE, the executor ends."""
        try:
            request = _executor.read(self.channel)
        except ProtocolError as error:
            self._refuse(error)
        if request is None or request[0] == frames.BYE:
            self._leave(0)
        self.pending = request[:2]
        return request

    def _reply(self, kind: int, body: list[Buffer]) -> None:
        self.channel.write(_executor.reply(kind, self.pending[1], body))

    def _fail(self, error: BaseException) -> NoReturn:
        """Answers that the script has failed, and waits for the end."""
        self._reply(frames.FAILED, _executor.describe(error))
        self._await_end()

    def _refuse(self, error: ProtocolError) -> NoReturn:
        self._reply(frames.FAILED, frames.failed(frames.PROTOCOL, str(error)))
        print(f"migbsp: {error}", file=sys.stderr)
        self._leave(1)

    def _await_end(self) -> NoReturn:
        self.has_ended = True
        while True:
            self._answer(self._read()[0])

    def _leave(self, code: int) -> NoReturn:
        """Ends the executor without a line of the script more."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)

    # The end of the script

    def _note_error(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        """The script has raised what it does not catch."""
        self.error = error

    def _note_exit(self, code: Any = None) -> NoReturn:
        self.error = None if code is None or code == 0 else SystemExit(code)
        self._exit(code)

    def _end(self) -> None:
        """The interpreter ends."""
        error = self.error
        if isinstance(error, ProtocolError):
            self._refuse(error)
        if error is None and self.is_replaying:
            error = Failure(_DIFFERS)
        if error is not None:
            self._fail(error)
        unread = len(self.arrived) + len(self.collective)
        if unread:
            print(f"migbsp: p{self.rank + 1} ends with {unread} messages that it has not received", file=sys.stderr)
        self.items.append((frames.SUM, _reduction.I64, _ENDED, _ONE))
        self._done(frames.HALTS | frames.IS_MESSAGEPACK, encode(self.output.text, OUTPUT))
        self._await_end()


class _Output(io.TextIOBase):
    """Standard output of the script: it is in the log, and it is the output of the process."""

    def __init__(self, process: _Executed, log: Any) -> None:
        self.text = ""
        self._process = process
        self._log = log

    def write(self, text: str) -> int:
        if len(self.text) < _OUTPUT_MAX:
            self.text += text[: _OUTPUT_MAX - len(self.text)]
        if not self._process.is_replaying:
            self._log.write(text)
        return len(text)

    def flush(self) -> None:
        self._log.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        number: int = self._log.fileno()
        return number

    @property
    def buffer(self) -> Any:
        """Bytes that are written are in the log alone."""
        return self._log.buffer

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"


def _encoded(message: Any) -> bytearray:
    return encode(message, PICKLED_MESSAGE if allows_pickle else MESSAGE)


def _array(buf: Any) -> np.ndarray[Any, Any]:
    """The array of a buffer, as it is in memory: an array, or a list of an array, perhaps a count, and a type."""
    import numpy

    count = None
    if isinstance(buf, (list, tuple)):
        if not buf:
            raise MPIError("an empty list is no buffer")
        counts = [part for part in buf[1:] if isinstance(part, int)]
        buf, count = buf[0], counts[0] if counts else None
    if buf is None:
        return numpy.empty(0, numpy.uint8)
    array = buf if isinstance(buf, numpy.ndarray) else numpy.frombuffer(buf, numpy.uint8)
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        array = array.T
    if not array.flags.c_contiguous:
        raise ValueError("an array that is not contiguous is no buffer: give a copy of it")
    if array.ndim == 0:
        array = array.reshape(1)
    if count is None:
        return array
    if count > array.size:
        raise MPIError(f"a buffer of {array.size} elements has no {count}")
    return array.reshape(-1)[:count]


def _fill(into: np.ndarray[Any, Any], content: Any, call: str, *, is_whole: bool = True) -> None:
    """Fills an array with one that has arrived."""
    if not hasattr(content, "dtype"):
        raise MPIError(f"{call}: an object has arrived, not an array; calls in small letters receive objects")
    if content.dtype != into.dtype:
        raise MPIError(f"{call}: an array of {content.dtype} has arrived for one of {into.dtype}")
    if content.size > into.size or (is_whole and content.size != into.size):
        raise MPIError(f"{call}: {content.size} elements have arrived for {into.size}")
    into.reshape(-1)[: content.size] = content.reshape(-1)


def _alike(call: str, arrays: list[Any]) -> list[Any]:
    """Arrays of all processes, which have to be alike."""
    flat = [array.reshape(-1) for array in arrays]
    for rank, array in enumerate(flat):
        if array.size != flat[0].size or array.dtype != flat[0].dtype:
            raise MPIError(
                f"{call} of {flat[0].size} elements of {flat[0].dtype} by p1, and of {array.size} of {array.dtype} by p{rank + 1}"
            )
    return flat


def _listed(ranks: list[int]) -> str:
    named = [f"p{rank + 1}" for rank in ranks[:8]]
    if len(ranks) > 8:
        return ", ".join(named) + f" and {len(ranks) - 8} more"
    return " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))


def _script() -> str | None:
    """The file of the script."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is not None and os.path.dirname(os.path.realpath(file)) == os.path.dirname(os.path.realpath(__file__)):
        file = sys.argv[0]
    return file


def _names_state() -> bool:
    """Whether the script names a state: then its processes can be saved."""
    file = _script()
    if file is None or not os.path.isfile(file):
        return False
    with open(file, "rb") as source:
        return b".migratable(" in source.read()


def Init() -> None:
    """Nothing: the import does it."""


def Finalize() -> None:
    """Nothing: the end of the script does it."""


def Is_initialized() -> bool:
    """Always."""
    return True


def Is_finalized() -> bool:
    """Never."""
    return False


def Get_processor_name() -> str:
    """The name of the process, which is the same wherever it is."""
    return f"p{COMM_WORLD.rank + 1}"


def Wtime() -> float:
    """Seconds since some time in the past."""
    return time.perf_counter()


def Wtick() -> float:
    """The resolution of `Wtime`."""
    return time.get_clock_info("perf_counter").resolution


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise NotImplementedError(f"migbsp.mpi has no {name}: {_WHAT_THERE_IS}")


_WHAT_THERE_IS = (
    "there is COMM_WORLD with Send, Recv, Isend, Irecv, Sendrecv, Bcast, Reduce, Allreduce, Gather, Scatter, Allgather, Alltoall, "
    "Barrier, and those in small letters"
)
_DIFFERS = (
    "after a move, the script does not come to the place where it was: is all that changes in the loop named in "
    "comm.migratable, the step too, and does the script do the same each time?"
)
_WAITING, _ENDED, _WAITS = b"mpi.waiting", b"mpi.ended", b"mpi.waits"
# The bytes of a state around what has been received and what is complete.
_AROUND = 27
_NEW, _BEGUN, _OVER = range(3)
_ONE = (1).to_bytes(8, "little")
_DIVIDED_MIN = 64 << 10
_OUTPUT_MAX = 1 << 20

Exception = MPIError
COMM_WORLD = Comm(_Executed() if _executor.is_executor() else _Process())
