"""What a program is: `Program`, and what it sees of the world while a process is made and in each superstep."""

from __future__ import annotations

import operator
import re
import struct
from typing import Any, ClassVar, NamedTuple, NoReturn, Union

from . import _frames as frames
from . import _reduction
from ._frames import Item
from ._reduction import Reduction, ReductionError
from ._values import ENCODERS, MESSAGE, OUTPUT, PICKLED_MESSAGE, Piece, decode, encode, encode_apart


class Failure(Exception):
    """What keeps a process from going on lies in its input; `ctx.fail` raises it.

    It ends the run with its text, without a traceback. Any other exception says that the program is wrong.
    """


class Round(NamedTuple):
    """Supersteps that belong together: every `length` of them form a round.

    Processes are rescheduled between rounds, because what they compute in one superstep of a round says little about the
    next.
    """

    #: The number of supersteps of a round, at least 1.
    length: int
    #: The index of a superstep that ends a round.
    last: int


class Start:
    """What a process knows when it is made: which it is, of how many, and what the experiment says."""

    __slots__ = ("rank", "seed", "size", "supersteps")

    def __init__(self, rank: int, size: int, seed: int = 0, supersteps: int | None = None) -> None:
        #: Which process this is, from 0.
        self.rank = rank
        #: How many processes there are.
        self.size = size
        #: The seed of the experiment. A generator that each process has for itself is
        #: `numpy.random.default_rng([ctx.seed, ctx.rank])`.
        self.seed = seed
        #: The number of supersteps that the experiment says, if it says one.
        self.supersteps = supersteps

    @property
    def left(self) -> int | None:
        """The process with the next lower rank, if there is one."""
        return self.rank - 1 if self.rank > 0 else None

    @property
    def right(self) -> int | None:
        """The process with the next higher rank, if there is one."""
        return self.rank + 1 if self.rank + 1 < self.size else None

    def fail(self, text: str) -> NoReturn:
        """Ends the run with this text, because the input of the process is at fault."""
        raise Failure(text)


class Superstep(Start):
    """What a process sees of the world in a superstep, and what it does there."""

    __slots__ = (
        "_allows_pickle",
        "_elapsed",
        "_encoding",
        "_has_halted",
        "_has_looked",
        "_items",
        "_output",
        "_reduced",
        "_sends",
        "_snapshots",
        "_standby",
        "_work",
        "messages",
        "sized",
        "superstep",
    )

    def __init__(self, start: Start, allows_pickle: bool = False) -> None:
        super().__init__(start.rank, start.size, start.seed, start.supersteps)
        #: Which superstep this is, from 0.
        self.superstep = 0
        #: What was sent to this process in the superstep before: pairs of sender and value, ordered by sender, and those of
        #: a sender as they were sent. Arrays may be written to and kept.
        self.messages: list[tuple[int, Any]] = []
        #: Messages of the superstep before that were only a size: pairs of sender and bytes.
        self.sized: list[tuple[int, int]] = []
        self._allows_pickle = allows_pickle
        self._encoding = PICKLED_MESSAGE if allows_pickle else MESSAGE
        self._elapsed = 0.0
        self._standby: tuple[int, ...] = ()
        self._reduced: dict[bytes, list[Item]] = {}
        self._has_looked = False
        self._has_halted = False
        self._work = 0
        self._output: Piece = b""
        self._sends: list[Send] = []
        self._items: list[tuple[int, int, bytes, Piece]] = []
        self._snapshots: dict[str, int] = {}

    @property
    def elapsed(self) -> float:
        """The seconds for which this process computed in the superstep before; 0 in the first.

        It is for programs that divide their work by the speed of their processes. The outputs must not depend on it.
        """
        self._has_looked = True
        return self._elapsed

    @property
    def standby(self) -> tuple[int, ...]:
        """The processes on standby, in rank order: their hosts have not joined, and they run on hosts of others.

        It is for programs that leave such processes without work. The outputs must not depend on it.
        """
        self._has_looked = True
        return self._standby

    def send(self, to: int, value: Any, *, copy: bool = True) -> None:
        """Sends a value to process `to`, which receives it in the next superstep.

        The value is encoded at once, so what the process does with it afterwards changes nothing. With `copy=False`, long
        arrays are not copied: they must not be changed until the superstep is over.
        """
        if type(to) is not int:
            to = operator.index(to)
        if not 0 <= to < self.size:
            raise ValueError(f"p{self.rank + 1} sends to rank {to}, but the ranks are 0 to {self.size - 1}")
        if copy:
            content = bytearray()
            try:
                ENCODERS[type(value)](value, content, self._encoding)
            except Exception:
                # It is a type that is not known yet, or the error says where in the value it is.
                content = encode(value, self._encoding)
            length = len(content)
            if length <= frames.MESSAGE_MAX:
                self._sends.append((to, content, length))
                return
        self._add(to, value, copy)

    def broadcast(self, value: Any, *, copy: bool = True) -> None:
        """Sends a value to all other processes, none of which may have halted.

        It is encoded once, and travels once to each node. `copy` is that of `send`.
        """
        if self.size > 1:
            self._add(frames.OTHERS, value, copy)

    def _add(self, to: int, value: Any, copy: bool) -> None:
        if copy:
            content = encode(value, self._encoding)
            length = len(content)
            self._sends.append((to, content, length))
        else:
            pieces = encode_apart(value, self._encoding)
            length = sum(map(len, pieces))
            self._sends.append((to, pieces, length))
        if length > frames.MESSAGE_MAX:
            raise ValueError(f"a message of {length} B; it may have {frames.MESSAGE_MAX} B: send it in parts")

    def send_sized(self, to: int, size: int) -> None:
        """Sends `size` bytes without content, to occupy the network as a real message would."""
        to, size = operator.index(to), operator.index(size)
        if not 0 <= to < self.size:
            raise ValueError(f"p{self.rank + 1} sends to rank {to}, but the ranks are 0 to {self.size - 1}")
        if not 0 <= size < 1 << 64:
            raise ValueError(f"a message of {size} B")
        self._sends.append((to, None, size))

    def charge(self, instructions: float) -> None:
        """Adds to the computation of this superstep. A simulated host takes time for it; a real host takes the time it takes."""
        work = instructions if type(instructions) is int else int(instructions)
        if work < 0:
            raise ValueError(f"{work} instructions are charged")
        self._work += work

    def halt(self, output: Any = None) -> None:
        """The process is done after this superstep and leaves `output`: `return ctx.halt(output)`."""
        if self._has_halted:
            raise RuntimeError(f"p{self.rank + 1} halts twice in superstep {self.superstep}")
        self._output = encode(output, OUTPUT)
        self._has_halted = True

    def reduce(self, name: str, contribution: Reduction) -> None:
        """Contributes to the reduction `name`: `ctx.reduce("residual", migbsp.Sum(x))`.

        In the next superstep, every process has the combined value of all that contributed (`reduced`). It costs no
        superstep and no message: contributions travel with the barrier. Of several contributions to one name, all count.
        """
        kind, number, content = contribution.contribution()
        self._items.append((kind, number, _reduction.name_of(name), content))

    def reduced(self, name: str) -> Any:
        """The combined value of the reduction `name` of the superstep before.

        One number is an `int` or a `float`; several are an array of one dimension, or a list where NumPy is not installed.

        Raises `ReductionError` if no process contributed, or an integer does not hold the sum.
        """
        return _reduction.result(name, self._items_of(name))

    def gather(self, name: str, value: Any) -> None:
        """Gives `value` to all processes, for an operation that `reduce` does not have.

        In the next superstep, each has the values of all that gave one (`gathered`). The values of a superstep may take
        4 MiB together.
        """
        self._items.append((frames.GATHERED, 0, _reduction.name_of(name), encode(value, self._encoding)))

    def gathered(self, name: str) -> list[tuple[int, Any]]:
        """The values that processes gave as `name` in the superstep before: pairs of rank and value, in rank order.

        Raises `ReductionError` if no process gave one.
        """
        items = self._items_of(name)
        if items[0].kind == frames.NO_RESULT:
            _reduction.result(name, items)
        if items[0].kind != frames.GATHERED:
            kind = _reduction.KINDS[items[0].kind]
            raise ReductionError(f"`{name}` was reduced as {kind}, not as gathered values: ask for it with `reduced`")
        # Decoded from a copy: what this process does with an array must not change what the next call returns.
        allows_pickle = self._allows_pickle
        return [(item.rank, decode(bytearray(item.content), allows_pickle=allows_pickle)) for item in items]

    def _items_of(self, name: str) -> list[Item]:
        items = self._reduced.get(name.encode())
        if items is None:
            raise ReductionError(f"no process reduced `{name}` in the superstep before")
        return items

    def note(self, name: str, value: float) -> None:
        """Notes a number for people: the record of the run has, for each superstep and name, how many processes noted,
        their sum, the least and the greatest."""
        encoded = name.encode()
        if not 0 < len(encoded) <= _reduction.NAME_MAX or _CONTROL.search(name):
            raise ValueError(
                f"a note cannot be named {name!r}: a name has 1 to {_reduction.NAME_MAX} bytes, and no control characters"
            )
        self._items.append((frames.NOTE, 0, encoded, _PACK_F64(value)))

    def snapshot(self, name: str, value: Any) -> None:
        """Writes a value to the file `snapshots/NAME/SUPERSTEP/PROCESS.msgpack` in the folder of the run."""
        self._take_snapshot(name, 1, encode(value, OUTPUT))

    def snapshot_bytes(self, name: str, content: bytes) -> None:
        """Writes bytes to the file `snapshots/NAME/SUPERSTEP/PROCESS.bin` in the folder of the run."""
        self._take_snapshot(name, 0, bytes(content))

    def _take_snapshot(self, name: str, kind: int, content: Piece) -> None:
        taken = self._snapshots
        if not _SNAPSHOT_NAME.fullmatch(name):
            raise ValueError(
                f"a snapshot cannot be named {name!r}: a name has 1 to 64 characters, which are small letters (a-z), digits, "
                "`-` and `_`, and begins with a letter or a digit"
            )
        if name in taken:
            raise ValueError(f"a second snapshot `{name}` in a superstep: the first would be lost")
        if len(taken) == _SNAPSHOTS_MAX:
            raise ValueError(f"the snapshot `{name}` is one too many: a process may take {_SNAPSHOTS_MAX} in a superstep")
        taken[name] = len(content)
        total = sum(taken.values())
        if total > _SNAPSHOT_BYTES_MAX:
            raise ValueError(
                f"with the snapshot `{name}`, those of the process in this superstep have {total} B; they may have "
                f"{_SNAPSHOT_BYTES_MAX} B"
            )
        self._items.append((frames.SNAPSHOT, kind, name.encode(), content))


#: A message: the receiver, its content, in pieces if arrays are not copied and `None` if it is only a size, and its length.
Send = tuple[int, Union[bytearray, list[Piece], None], int]


class Program:
    """One process of a bulk-synchronous parallel computation: its attributes are its whole state.

    A subclass has `__init__(self, ctx, ...)`, whose other parameters are those of the experiment, and `superstep(self, ctx)`.

        class Total(migbsp.Program):
            def __init__(self, ctx, *, first=1):
                self.mine = first + ctx.rank

            def superstep(self, ctx):
                if ctx.superstep == 0:
                    ctx.reduce("total", migbsp.Sum(self.mine))
                else:
                    ctx.halt(ctx.reduced("total"))

        assert migbsp.run_here(Total, processes=4).outputs == [10, 10, 10, 10]

    Between two supersteps, a process may move: its attributes are encoded, and decoded elsewhere. They are None, numbers,
    texts, bytes, lists, tuples, dictionaries, and arrays, scalars and generators of NumPy. A program with other attributes
    has `save` and `load`, or is declared with `pickle=True`: then objects of other types are pickled, in messages too, and
    processes that it receives from have to be trusted.

    Laws: moving changes nothing. Nothing but state and messages matters: no clock, no global variable, no random numbers
    that are not part of the state, no order of a set. `migbsp check` holds a program to them.
    """

    #: The supersteps that belong together.
    ROUND: ClassVar[Round] = Round(1, 0)

    allows_pickle: ClassVar[bool] = False

    def __init_subclass__(cls, *, pickle: bool | None = None, **others: Any) -> None:
        super().__init_subclass__(**others)
        if pickle is not None:
            cls.allows_pickle = pickle
        has_own_state = cls.save is not Program.save and cls.load is not Program.load
        if "__slots__" in vars(cls) and not has_own_state:
            raise TypeError(f"{cls.__name__} has __slots__, which are no state: remove them, or write `save` and `load`")

    def __init__(self, ctx: Start) -> None:
        """Makes the process. Subclasses add the parameters of the experiment, best as keywords with defaults."""

    def superstep(self, ctx: Superstep) -> None:
        """One round: receive what was sent in the round before, compute, send; the last ends with `ctx.halt(output)`."""
        raise NotImplementedError(f"{type(self).__name__} has no method `superstep`")

    def save(self) -> Any:
        """The state, as plain data."""
        return vars(self)

    def load(self, state: Any) -> None:
        """Takes a state from `save`. The process is new: `__init__` has not been called."""
        vars(self).update(state)

    def remaining(self) -> int | None:
        """The most supersteps that the process still executes; `None`: it does not know.

        What a migration gains ends with the program, so processes are not moved where too few supersteps are left.
        """
        return None

    def progress(self) -> float | None:
        """The part of the whole computation that is done, from 0 to 1; `None`: the process does not know."""
        return None

    def memory(self) -> int | None:
        """The bytes that a migration moves, if they are more than the encoded state; `None`: they are not."""
        return None

    @classmethod
    def verify(cls, outputs: list[Any], **parameters: Any) -> str | None:
        """Checks the outputs of all processes, in rank order, where the run was started.

        Returns a sentence about correct outputs, raises `ValueError` or `AssertionError` about wrong ones, and `Failure`
        about parameters that are at fault.
        """
        return None


def share(n: int, rank: int, size: int) -> range:
    """The part of process `rank` of `size` in `n` elements: `range(n)` is divided, and parts differ by one element at most."""
    return range(n * rank // size, n * (rank + 1) // size)


_PACK_F64 = struct.Struct("<d").pack
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SNAPSHOT_NAME = re.compile("[a-z0-9][a-z0-9_-]{0,63}")
_SNAPSHOTS_MAX = 16
_SNAPSHOT_BYTES_MAX = 1 << 30
