"""Reductions: how values of all processes are combined, and the numbers of contributions and results."""

from __future__ import annotations

import array
import struct
import sys
from typing import Any, Union

from . import _frames as frames
from ._frames import Item, ProtocolError


class ReductionError(Exception):
    """A process asks for a combined value that does not exist."""


class Sum:
    """The sum of the values of all processes: of arrays and lists, element by element.

    That of `float` is the exact sum, rounded once, so it depends on no order. It is infinite if it is too large. That of
    integers has 64 bits: signed, or unsigned for unsigned arrays of NumPy.
    """

    __slots__ = ("value",)
    kind = frames.SUM

    def __init__(self, value: Any) -> None:
        self.value = value

    def contribution(self) -> tuple[int, int, bytes]:
        """Kind, type and content of an item."""
        return (self.kind, *_numbers(self.value))


class Min(Sum):
    """The least of the values of all processes: of arrays and lists, element by element.

    It is not a number if one of them is not; −0 is less than 0.
    """

    __slots__ = ()
    kind = frames.MIN


class Max(Sum):
    """The greatest of the values of all processes: of arrays and lists, element by element.

    It is not a number if one of them is not; −0 is less than 0.
    """

    __slots__ = ()
    kind = frames.MAX


class And:
    """Whether a condition holds in all processes."""

    __slots__ = ("value",)
    kind = frames.AND

    def __init__(self, value: Any) -> None:
        self.value = bool(value)

    def contribution(self) -> tuple[int, int, bytes]:
        """Kind, type and content of an item."""
        return self.kind, 0, b"\1" if self.value else b"\0"


class Or(And):
    """Whether a condition holds in any process."""

    __slots__ = ()
    kind = frames.OR


Reduction = Union[Sum, And]

NAME_MAX = 64
F64, I64, U64 = range(3)
KINDS = ("nothing", "a sum", "a minimum", "a maximum", "`and`", "`or`", "gathered values")


def name_of(name: str) -> bytes:
    """The name of a reduction as bytes, checked."""
    encoded = name.encode()
    if len(encoded) > NAME_MAX:
        raise ValueError(f"the name of a reduction has {NAME_MAX} bytes at most: `{name}`")
    return encoded


def result(name: str, items: list[Item]) -> Any:
    """The combined value in an item."""
    kind, number, _, content = items[0]
    if kind == frames.SUM or kind == frames.MIN or kind == frames.MAX:
        return _value(number, content)
    if kind == frames.AND or kind == frames.OR:
        if len(content) != 1 or content[0] > 1:
            raise ProtocolError(f"the condition `{name}` is {bytes(content)!r}")
        return content[0] == 1
    if kind == frames.GATHERED:
        raise ReductionError(f"`{name}` was reduced as gathered values: ask for it with `gathered`")
    raise ReductionError(f"`{name}`: {str(content, 'utf-8', 'replace')}")


def _numbers(value: Any) -> tuple[int, bytes]:
    """Numbers as type and content."""
    if type(value) is float:
        return F64, _PACK_F64(value)
    if isinstance(value, int):
        try:
            return I64, _PACK_I64(value)
        except struct.error:
            raise ValueError(f"{value} does not fit 64 bits: reduce it as a float") from None
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic, list, tuple)):
        numbers = numpy.asarray(value)
        number = {"f": F64, "i": I64, "b": I64, "u": U64}.get(numbers.dtype.kind)
        if number is None:
            raise TypeError(f"an array of {numbers.dtype} cannot be reduced: give integers or floats")
        return number, numbers.astype(_NUMPY[number]).tobytes()
    if isinstance(value, float):
        return F64, _PACK_F64(value)
    if isinstance(value, (list, tuple)):
        is_whole = all(isinstance(element, int) for element in value)
        packed: array.array[Any] = array.array("q", value) if is_whole and value else array.array("d", value)
        if sys.byteorder == "big":
            packed.byteswap()
        return I64 if packed.typecode == "q" else F64, packed.tobytes()
    raise TypeError(f"{type(value).__name__} cannot be reduced: give a number, an array or a list of numbers")


def _value(number: int, content: memoryview) -> Any:
    """A number, or an array of them; without NumPy, a list."""
    if number > U64 or len(content) % 8:
        raise ProtocolError(f"{len(content)} bytes are no numbers of type {number}")
    if len(content) == 8:
        return _UNPACK[number](content)[0]
    try:
        import numpy
    except ImportError:
        return list(struct.unpack(f"<{len(content) // 8}{'dqQ'[number]}", content))
    return numpy.frombuffer(content, _NUMPY[number]).copy()


_PACK_F64 = struct.Struct("<d").pack
_PACK_I64 = struct.Struct("<q").pack
_UNPACK = tuple(struct.Struct("<" + number).unpack for number in "dqQ")
_NUMPY = ("<f8", "<i8", "<u8")
