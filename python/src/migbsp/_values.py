"""The encoding of values: of messages and states, and of outputs.

A value is encoded as MessagePack. An array of NumPy is the extension of type 1 that the protocol describes, with zeros before
its numbers, so that these begin at a multiple of 16 from the beginning of the value. Outputs have nothing else: tuples are
arrays there, and scalars of NumPy are numbers.

Messages and states arrive with the types that they left with. MessagePack does not use the byte C1. Here it begins what
MessagePack does not have, and the byte behind it says what that is:

| byte | value | content |
|---|---|---|
| `t` | tuple | an array |
| `d`, `q` | list of `float`, of `int` | u32 count; numbers of 8 bytes |
| `n` | integer of more than 64 bits | u32 length; the integer, signed |
| `c` | `complex` | two f64 |
| `s` | scalar of NumPy | u8 length of its type, the type as NumPy writes it, the scalar |
| `F` | array in Fortran's order | the transposed array |
| `g` | `numpy.random.Generator` | an array: class, state and seed of its source of bits |
| `r` | `random.Random` | its state |
| `p` | pickled object | u32 length; the pickle |
| `=` | the object again, in a state | u32 index among the lists, dictionaries, arrays and generators before it |

Numbers behind C1 are little-endian.
"""

from __future__ import annotations

import array
import pickle
import random
import re
import struct
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Union

from ._frames import MESSAGE_MAX, ZEROS, ProtocolError

if TYPE_CHECKING:
    import numpy as np

View = memoryview
Piece = Union[bytes, bytearray, memoryview]


class Encoding:
    """How a value is encoded."""

    __slots__ = ("allows_pickle", "apart", "apart_length", "is_output", "places")

    def __init__(self, *, is_output: bool = False, allows_pickle: bool = False, is_state: bool = False) -> None:
        self.is_output = is_output
        self.allows_pickle = allows_pickle
        # Of a state, the index of each object that may be met again. Objects live as long as the state.
        self.places: dict[int, int] | None = {} if is_state else None
        # Numbers that are not copied, with the place where they belong; and their length.
        self.apart: list[tuple[int, memoryview]] | None = None
        self.apart_length = 0


class Decoding:
    """How a value is decoded."""

    __slots__ = ("allows_pickle", "objects")

    def __init__(self, *, allows_pickle: bool = False, is_state: bool = False) -> None:
        self.allows_pickle = allows_pickle
        self.objects: list[Any] | None = [] if is_state else None


Encoder = Callable[[Any, bytearray, Encoding], None]
Measure = Callable[[Any, int, Encoding], int]
Decoder = Callable[[View, int, Decoding], "tuple[Any, int]"]

MESSAGE = Encoding()
OUTPUT = Encoding(is_output=True)
PICKLED_MESSAGE = Encoding(allows_pickle=True)
PLAIN = Decoding()
PICKLED = Decoding(allows_pickle=True)


def encode(value: Any, encoding: Encoding = MESSAGE) -> bytearray:
    """A value as bytes. Arrays are copied.

    Raises `TypeError` with a sentence if it has something that cannot be encoded.
    """
    out = bytearray()
    encoder = ENCODERS.get(type(value), _encode_other)
    try:
        encoder(value, out, encoding)
    except RecursionError:
        raise TypeError(f"{_name(value)} is nested too deeply, or contains itself") from None
    except (TypeError, ValueError) as error:
        raise _located(value, encoding, error) from None
    return out


def encode_apart(value: Any, encoding: Encoding = MESSAGE) -> list[Piece]:
    """A value as pieces, one after the other; long arrays are pieces, and not copied."""
    encoding = Encoding(is_output=encoding.is_output, allows_pickle=encoding.allows_pickle)
    apart = encoding.apart = []
    out = encode(value, encoding)
    pieces: list[Piece] = []
    view, begin = memoryview(out), 0
    for place, numbers in apart:
        pieces += [view[begin:place], numbers]
        begin = place
    pieces.append(view[begin:])
    return pieces


def encode_state(value: Any, *, allows_pickle: bool = False) -> bytearray:
    """A state as bytes. An object that is in it more than once is so after decoding, too.

    Raises `TypeError` if arrays share memory without being the same: they would not share it after decoding.
    """
    _refuse_shared_memory(value)
    return encode(value, Encoding(allows_pickle=allows_pickle, is_state=True))


def measure(value: Any, encoding: Encoding = MESSAGE) -> int:
    """The length of a value's encoding. An object that is in a state more than once counts as often."""
    try:
        return MEASURES.get(type(value), _measure_other)(value, 0, encoding)
    except RecursionError:
        raise TypeError(f"{_name(value)} is nested too deeply, or contains itself") from None
    except (TypeError, ValueError) as error:
        raise _located(value, encoding, error) from None


def decode(content: Piece, *, allows_pickle: bool = False) -> Any:
    """The value that has been encoded so. Its arrays are views of `content`, which may be written to if that may."""
    return decode_view(memoryview(content), PICKLED if allows_pickle else PLAIN)


def decode_state(content: Piece, *, allows_pickle: bool = False) -> Any:
    """The state that has been encoded so."""
    return decode_view(memoryview(content), Decoding(allows_pickle=allows_pickle, is_state=True))


def decode_view(view: View, decoding: Decoding) -> Any:
    """As `decode`, of a view."""
    try:
        value, end = DECODERS[view[0]](view, 0, decoding)
    except ProtocolError:
        raise
    except RecursionError:
        raise ProtocolError("a value is nested too deeply") from None
    except Exception as error:  # whatever pickles raise, too
        raise ProtocolError(f"a value cannot be decoded: {type(error).__name__}: {error}") from error
    if end != len(view):
        raise ProtocolError(f"a value of {len(view)} bytes has {end}")
    return value


# Encoders


def _encode_none(value: None, out: bytearray, encoding: Encoding) -> None:
    out.append(0xC0)


def _encode_bool(value: bool, out: bytearray, encoding: Encoding) -> None:
    out.append(0xC3 if value else 0xC2)


def _encode_int(value: int, out: bytearray, encoding: Encoding) -> None:
    if 0 <= value < 0x80:
        out.append(value)
    elif -0x8000_0000 <= value < 0x8000_0000:
        out += _I32(0xD2, value)
    elif -(1 << 63) <= value < 1 << 63:
        out += _I64(0xD3, value)
    elif 0 <= value < 1 << 64:
        out += _U64(0xCF, value)
    elif encoding.is_output:
        raise ValueError("an integer of an output has 64 bits at most: give its text")
    else:
        length = value.bit_length() // 8 + 1
        out += b"\xc1n"
        out += _LE_U32(length)
        out += value.to_bytes(length, "little", signed=True)


def _encode_float(value: float, out: bytearray, encoding: Encoding) -> None:
    out += _F64(0xCB, value)


def _encode_complex(value: complex, out: bytearray, encoding: Encoding) -> None:
    if encoding.is_output:
        raise TypeError("a complex number cannot be in an output: give its parts")
    out += b"\xc1c"
    out += _LE_COMPLEX(value.real, value.imag)


def _encode_str(value: str, out: bytearray, encoding: Encoding) -> None:
    encoded = value.encode()
    length = len(encoded)
    if length < 32:
        out.append(0xA0 | length)
    elif length < 0x100:
        out += bytes((0xD9, length))
    else:
        out += _U32(0xDB, _checked(length))
    out += encoded


def _encode_bytes(value: bytes, out: bytearray, encoding: Encoding) -> None:
    length = len(value)
    out += bytes((0xC4, length)) if length < 0x100 else _U32(0xC6, _checked(length))
    out += value


def _encode_list(value: list[Any], out: bytearray, encoding: Encoding) -> None:
    if encoding.places is not None and _is_again(value, out, encoding.places):
        return
    _encode_elements(value, out, encoding)


def _encode_tuple(value: tuple[Any, ...], out: bytearray, encoding: Encoding) -> None:
    if not encoding.is_output:
        out += b"\xc1t"
    _encode_elements(value, out, encoding)


def _encode_elements(value: list[Any] | tuple[Any, ...], out: bytearray, encoding: Encoding) -> None:
    length = len(value)
    if length >= _PACKED_MIN and not encoding.is_output:
        numbers = _packed(value)
        if numbers is not None:
            out += b"\xc1d" if numbers.typecode == "d" else b"\xc1q"
            out += _LE_U32(length)
            out += _little_endian(numbers)
            return
    out += bytes((0x90 | length,)) if length < 16 else _U32(0xDD, _checked(length))
    encoders = ENCODERS
    for element in value:
        encoders.get(type(element), _encode_other)(element, out, encoding)


def _encode_dict(value: dict[Any, Any], out: bytearray, encoding: Encoding) -> None:
    if encoding.places is not None and _is_again(value, out, encoding.places):
        return
    length = len(value)
    out += bytes((0x80 | length,)) if length < 16 else _U32(0xDF, _checked(length))
    encoders = ENCODERS
    for key, element in value.items():
        encoders.get(type(key), _encode_other)(key, out, encoding)
        encoders.get(type(element), _encode_other)(element, out, encoding)


def _encode_array(value: np.ndarray[Any, Any], out: bytearray, encoding: Encoding) -> None:
    if encoding.places is not None and _is_again(value, out, encoding.places):
        return
    flags = value.flags
    if flags.c_contiguous:
        pass
    elif flags.f_contiguous and not encoding.is_output:
        # Sums over arrays depend on their order, so it is kept.
        out += b"\xc1F"
        value = value.T
    else:
        value = value.copy("C")
    header = _HEADERS.get(value.dtype) or _header(value.dtype, encoding)
    dimensions = value.ndim
    length = value.nbytes
    begin = len(out) + encoding.apart_length + 9 + len(header) + 8 * dimensions
    zeros = -begin & 15
    size = 3 + len(header) + 8 * dimensions + zeros + length
    if size > MESSAGE_MAX:
        raise ValueError(f"an array has {length} B; it may have 4 GiB: divide it")
    out += _EXTENSION(0xC9, size, 1, zeros, dimensions, len(header))
    out += header
    if dimensions == 1:
        out += _LE_U64(length // value.itemsize)
    else:
        out += struct.pack(f"<{dimensions}Q", *value.shape)
    out += ZEROS[zeros]
    if value.dtype.kind in "mM":
        # Times have no buffer of their own.
        value = value.view("i8")
    if encoding.apart is not None and length >= _APART_MIN:
        encoding.apart.append((len(out), value.data.cast("B")))
        encoding.apart_length += length
    elif dimensions:
        out += value.data
    else:
        out += value.tobytes()


def _encode_scalar(value: np.generic[Any], out: bytearray, encoding: Encoding) -> None:
    if encoding.is_output:
        item = value.item()
        if type(item) not in _OF_OUTPUTS:
            raise TypeError(f"{_name(value)} cannot be in an output: give a number or a text")
        ENCODERS[type(item)](item, out, encoding)
        return
    header = _HEADERS.get(value.dtype) or _header(value.dtype, encoding)
    out += b"\xc1s"
    out.append(len(header))
    out += header
    out += value.tobytes()


def _encode_generator(value: np.random.Generator, out: bytearray, encoding: Encoding) -> None:
    if encoding.places is not None and _is_again(value, out, encoding.places):
        return
    if encoding.is_output:
        raise TypeError("a generator of random numbers cannot be in an output")
    out += b"\xc1g"
    _encode_list(_parts_of_generator(value), out, _INNER)


def _encode_random(value: random.Random, out: bytearray, encoding: Encoding) -> None:
    if encoding.places is not None and _is_again(value, out, encoding.places):
        return
    if encoding.is_output:
        raise TypeError("a generator of random numbers cannot be in an output")
    version, words, gauss = value.getstate()
    out += b"\xc1r"
    _encode_list([version, list(words), gauss], out, _INNER)


def _encode_other(value: Any, out: bytearray, encoding: Encoding) -> None:
    """Encodes a value whose type has not been met before, or cannot be encoded."""
    encoder = _learned(type(value))
    if encoder is not None:
        encoder(value, out, encoding)
    elif encoding.allows_pickle and not encoding.is_output:
        pickled = pickle.dumps(value, protocol=5)
        out += b"\xc1p"
        out += _LE_U32(_checked(len(pickled)))
        out += pickled
    else:
        raise TypeError(_refusal(value, encoding))


# Measures: the length of the encoding from the beginning on, if that of what is before the value is `at`


def _measure_one(value: object, at: int, encoding: Encoding) -> int:
    return at + 1


def _measure_int(value: int, at: int, encoding: Encoding) -> int:
    if 0 <= value < 0x80:
        return at + 1
    if -0x8000_0000 <= value < 0x8000_0000:
        return at + 5
    if -(1 << 63) <= value < 1 << 64:
        return at + 9
    return at + 7 + value.bit_length() // 8


def _measure_float(value: float, at: int, encoding: Encoding) -> int:
    return at + 9


def _measure_complex(value: complex, at: int, encoding: Encoding) -> int:
    return at + 18


def _measure_str(value: str, at: int, encoding: Encoding) -> int:
    length = len(value) if value.isascii() else len(value.encode())
    return at + length + (1 if length < 32 else 2 if length < 0x100 else 5)


def _measure_bytes(value: bytes, at: int, encoding: Encoding) -> int:
    length = len(value)
    return at + length + (2 if length < 0x100 else 5)


def _measure_list(value: list[Any], at: int, encoding: Encoding) -> int:
    length = len(value)
    if length >= _PACKED_MIN and not encoding.is_output and (_has_only(value, float) or _packed(value) is not None):
        return at + 6 + 8 * length
    at += 1 if length < 16 else 5
    measures = MEASURES
    for element in value:
        at = measures.get(type(element), _measure_other)(element, at, encoding)
    return at


def _measure_tuple(value: tuple[Any, ...], at: int, encoding: Encoding) -> int:
    return _measure_list(value, at if encoding.is_output else at + 2, encoding)  # type: ignore[arg-type]


def _measure_dict(value: dict[Any, Any], at: int, encoding: Encoding) -> int:
    at += 1 if len(value) < 16 else 5
    measures = MEASURES
    for key, element in value.items():
        if type(key) is str and len(key) < 32 and key.isascii():
            at += 1 + len(key)
        else:
            at = measures.get(type(key), _measure_other)(key, at, encoding)
        at = measures.get(type(element), _measure_other)(element, at, encoding)
    return at


def _measure_array(value: np.ndarray[Any, Any], at: int, encoding: Encoding) -> int:
    flags = value.flags
    if flags.f_contiguous and not flags.c_contiguous and not encoding.is_output:
        at += 2
    header = _HEADERS.get(value.dtype) or _header(value.dtype, encoding)
    return ((at + 9 + len(header) + 8 * value.ndim + 15) & ~15) + value.nbytes


def _measure_scalar(value: np.generic[Any], at: int, encoding: Encoding) -> int:
    header = _HEADERS.get(value.dtype) or _header(value.dtype, encoding)
    return at + 3 + len(header) + value.nbytes


def _measure_encoded(value: Any, at: int, encoding: Encoding) -> int:
    """The length of what does not depend on its place."""
    out = bytearray(at & 15)
    ENCODERS.get(type(value), _encode_other)(value, out, _WITH_PICKLE if encoding.allows_pickle else MESSAGE)
    return at + len(out) - (at & 15)


def _measure_other(value: Any, at: int, encoding: Encoding) -> int:
    if _learned(type(value)) is not None:
        return MEASURES[type(value)](value, at, encoding)
    return _measure_encoded(value, at, encoding)


# Decoders: each returns a value, and where the next begins


def _decode_none(view: View, at: int, decoding: Decoding) -> tuple[None, int]:
    return None, at + 1


def _decode_false(view: View, at: int, decoding: Decoding) -> tuple[bool, int]:
    return False, at + 1


def _decode_true(view: View, at: int, decoding: Decoding) -> tuple[bool, int]:
    return True, at + 1


def _decode_small(view: View, at: int, decoding: Decoding) -> tuple[int, int]:
    return view[at], at + 1


def _decode_negative(view: View, at: int, decoding: Decoding) -> tuple[int, int]:
    return view[at] - 0x100, at + 1


def _decode_float(view: View, at: int, decoding: Decoding) -> tuple[float, int]:
    return _READ_F64(view, at + 1)[0], at + 9


def _number_decoder(number: str) -> Decoder:
    packed = struct.Struct(">" + number)
    read, size = packed.unpack_from, 1 + packed.size

    def decode_number(view: View, at: int, decoding: Decoding) -> tuple[Any, int]:
        return read(view, at + 1)[0], at + size

    return decode_number


def _decode_short_str(view: View, at: int, decoding: Decoding) -> tuple[str, int]:
    return _str(view, at + 1, view[at] & 31)


def _str(view: View, at: int, length: int) -> tuple[str, int]:
    end = at + length
    if end > len(view):
        _expect(end, view)
    return str(view[at:end], "utf-8"), end


def _bytes(view: View, at: int, length: int) -> tuple[bytes, int]:
    end = at + length
    if end > len(view):
        _expect(end, view)
    return view[at:end].tobytes(), end


def _decode_short_list(view: View, at: int, decoding: Decoding) -> tuple[list[Any], int]:
    return _list(view, at + 1, view[at] & 15, decoding)


def _list(view: View, at: int, length: int, decoding: Decoding) -> tuple[list[Any], int]:
    elements: list[Any] = []
    if decoding.objects is not None:
        decoding.objects.append(elements)
    return elements, _elements(elements, view, at, length, decoding)


def _elements(elements: list[Any], view: View, at: int, length: int, decoding: Decoding) -> int:
    _expect(at + length, view)
    decoders, append = DECODERS, elements.append
    for _ in range(length):
        element, at = decoders[view[at]](view, at, decoding)
        append(element)
    return at


def _decode_short_dict(view: View, at: int, decoding: Decoding) -> tuple[dict[Any, Any], int]:
    return _dict(view, at + 1, view[at] & 15, decoding)


def _dict(view: View, at: int, length: int, decoding: Decoding) -> tuple[dict[Any, Any], int]:
    _expect(at + 2 * length, view)
    elements: dict[Any, Any] = {}
    if decoding.objects is not None:
        decoding.objects.append(elements)
    decoders = DECODERS
    for _ in range(length):
        key, at = decoders[view[at]](view, at, decoding)
        elements[key], at = decoders[view[at]](view, at, decoding)
    return elements, at


def _sized_decoder(number: str, read: Callable[[View, int, int], tuple[Any, int]]) -> Decoder:
    packed = struct.Struct(">" + number)
    unpack, size = packed.unpack_from, 1 + packed.size

    def decode_sized(view: View, at: int, decoding: Decoding) -> tuple[Any, int]:
        return read(view, at + size, unpack(view, at + 1)[0])

    return decode_sized


def _nested_decoder(number: str, read: Callable[[View, int, int, Decoding], tuple[Any, int]]) -> Decoder:
    packed = struct.Struct(">" + number)
    unpack, size = packed.unpack_from, 1 + packed.size

    def decode_nested(view: View, at: int, decoding: Decoding) -> tuple[Any, int]:
        return read(view, at + size, unpack(view, at + 1)[0], decoding)

    return decode_nested


def _decode_array(view: View, at: int, decoding: Decoding) -> tuple[np.ndarray[Any, Any], int]:
    _, size, kind, zeros, dimensions, type_length = _READ_EXTENSION(view, at)
    end = at + 6 + size
    _expect(end, view)
    if kind != 1:
        raise ProtocolError(f"an extension of type {kind}; arrays have type 1")
    at += 9
    dtype = _dtype(bytes(view[at : at + type_length]))
    at += type_length
    shape = struct.unpack_from(f"<{dimensions}Q", view, at)
    at += 8 * dimensions + zeros
    length = dtype.itemsize
    for extent in shape:
        length *= extent
    if length != end - at:
        raise ProtocolError(f"an array of {dtype} and shape {shape} has {end - at} bytes")
    numbers = sys.modules["numpy"].ndarray(shape, dtype, view, at)
    if decoding.objects is not None:
        decoding.objects.append(numbers)
    return numbers, end


def _decode_own(view: View, at: int, decoding: Decoding) -> tuple[Any, int]:
    decoder = _OWN.get(view[at + 1])
    if decoder is None:
        raise ProtocolError(f"no value begins with the bytes c1 {view[at + 1]:02x}")
    return decoder(view, at + 2, decoding)


def _decode_tuple(view: View, at: int, decoding: Decoding) -> tuple[tuple[Any, ...], int]:
    tag = view[at]
    elements: list[Any] = []
    if 0x90 <= tag < 0xA0:
        at = _elements(elements, view, at + 1, tag & 15, decoding)
    elif tag == 0xDD:
        at = _elements(elements, view, at + 5, _READ_U32(view, at + 1)[0], decoding)
    elif tag == 0xC1 and view[at + 1] in b"dq":
        elements, at = _numbers(view, at + 2, chr(view[at + 1]))
    else:
        raise ProtocolError("a tuple is not an array")
    return tuple(elements), at


def _decode_floats(view: View, at: int, decoding: Decoding) -> tuple[list[float], int]:
    return _registered(*_numbers(view, at, "d"), decoding)


def _decode_ints(view: View, at: int, decoding: Decoding) -> tuple[list[int], int]:
    return _registered(*_numbers(view, at, "q"), decoding)


def _numbers(view: View, at: int, number: str) -> tuple[list[Any], int]:
    end = at + 4 + 8 * _READ_LE_U32(view, at)[0]
    _expect(end, view)
    numbers: array.array[Any] = array.array(number)
    numbers.frombytes(view[at + 4 : end])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist(), end


def _decode_long_int(view: View, at: int, decoding: Decoding) -> tuple[int, int]:
    content, at = _bytes(view, at + 4, _READ_LE_U32(view, at)[0])
    return int.from_bytes(content, "little", signed=True), at


def _decode_complex(view: View, at: int, decoding: Decoding) -> tuple[complex, int]:
    return complex(*_READ_LE_COMPLEX(view, at)), at + 16


def _decode_scalar(view: View, at: int, decoding: Decoding) -> tuple[np.generic[Any], int]:
    length = view[at]
    dtype = _dtype(bytes(view[at + 1 : at + 1 + length]))
    at += 1 + length
    end = at + dtype.itemsize
    _expect(end, view)
    scalar: np.generic[Any] = sys.modules["numpy"].ndarray((), dtype, view, at)[()]
    return scalar, end


def _decode_transposed(view: View, at: int, decoding: Decoding) -> tuple[np.ndarray[Any, Any], int]:
    if view[at] != 0xC9:
        raise ProtocolError("what is transposed is not an array")
    numbers, end = _decode_array(view, at, PLAIN)
    return _registered(numbers.T, end, decoding)


def _decode_generator(view: View, at: int, decoding: Decoding) -> tuple[Any, int]:
    parts, end = DECODERS[view[at]](view, at, PLAIN)
    return _registered(_generator_of(*parts), end, decoding)


def _decode_random(view: View, at: int, decoding: Decoding) -> tuple[random.Random, int]:
    (version, words, gauss), end = DECODERS[view[at]](view, at, PLAIN)
    generator = random.Random(0)
    generator.setstate((version, tuple(words), gauss))
    return _registered(generator, end, decoding)


def _decode_pickle(view: View, at: int, decoding: Decoding) -> tuple[Any, int]:
    end = at + 4 + _READ_LE_U32(view, at)[0]
    _expect(end, view)
    if not decoding.allows_pickle:
        raise ProtocolError(
            "a value is pickled, and unpickling may execute code of its sender: a program that trusts all senders is "
            "declared with `class P(migbsp.Program, pickle=True)`"
        )
    return pickle.loads(view[at + 4 : end]), end


def _decode_again(view: View, at: int, decoding: Decoding) -> tuple[Any, int]:
    if decoding.objects is None:
        raise ProtocolError("only states refer to what is before")
    return decoding.objects[_READ_LE_U32(view, at)[0]], at + 4


def _decode_unknown(view: View, at: int, decoding: Decoding) -> tuple[Any, int]:
    raise ProtocolError(f"no value begins with the byte {view[at]:02x}")


def _registered(value: Any, end: int, decoding: Decoding) -> tuple[Any, int]:
    if decoding.objects is not None:
        decoding.objects.append(value)
    return value, end


def _expect(end: int, view: View) -> None:
    if end > len(view):
        raise ProtocolError(f"a value ends at byte {end} of {len(view)}")


# Lists of numbers


def _packed(value: list[Any] | tuple[Any, ...]) -> array.array[Any] | None:
    """The numbers of a list that has nothing else, as numbers of 8 bytes."""
    if _has_only(value, float):
        return array.array("d", value)
    if not _has_only(value, int):
        return None
    try:
        return array.array("q", value)
    except OverflowError:
        return None


def _has_only(value: list[Any] | tuple[Any, ...], kind: type) -> bool:
    return type(value[0]) is kind and set(map(type, value)) == {kind}


def _little_endian(numbers: array.array[Any]) -> array.array[Any]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


# Types of NumPy


def _header(dtype: np.dtype[Any], encoding: Encoding) -> bytes:
    """The type of an array as NumPy writes it; it is remembered."""
    header: bytes = dtype.str.encode()
    if dtype.kind not in "biufcSUmM" or not _DTYPE.fullmatch(header):
        kind = "objects" if dtype.kind == "O" else f"elements of type {dtype}"
        raise TypeError(f"an array of {kind} cannot be encoded: {_WHAT_CAN_BE}")
    if dtype.kind in "SUmM" and encoding.is_output:
        raise TypeError(f"an array of elements of type {dtype} cannot be in an output: give a list of texts")
    if dtype.metadata is None and dtype.kind not in "SUmM" and len(_HEADERS) < 100:
        _HEADERS[dtype] = header
    return header


def _dtype(header: bytes) -> np.dtype[Any]:
    dtype = _DTYPES.get(header)
    if dtype is None:
        if not _DTYPE.fullmatch(header):
            raise ProtocolError(f"{header!r} is no type of numbers")
        import numpy

        dtype = numpy.dtype(header.decode())
        if len(_DTYPES) < 100:
            _DTYPES[header] = dtype
    return dtype


def _parts_of_generator(generator: np.random.Generator) -> list[Any]:
    """Class, state and seed of the source of a generator's bits."""
    source = generator.bit_generator
    name = type(source).__name__
    if type(generator).__name__ != "Generator" or name not in _SOURCES_OF_BITS:
        raise TypeError(f"a generator of random numbers with {name} cannot be encoded: use numpy.random.default_rng")
    seeds: Any = getattr(source, "seed_seq", None) or getattr(source, "_seed_seq", None)
    seed = None
    if type(seeds).__name__ == "SeedSequence":
        entropy = seeds.entropy
        if isinstance(entropy, (tuple, list)):
            entropy = [int(word) for word in entropy]
        elif hasattr(entropy, "tolist"):
            entropy = entropy.tolist()
        seed = [entropy, list(seeds.spawn_key), seeds.pool_size, seeds.n_children_spawned]
    return [name, source.state, seed]


def _generator_of(name: str, state: dict[str, Any], seed: list[Any] | None) -> np.random.Generator:
    import numpy

    if name not in _SOURCES_OF_BITS or state["bit_generator"] != name:
        raise ProtocolError(f"{name!r} is no source of random bits")
    source_type = getattr(numpy.random, name)
    if seed is None:
        source = source_type(0)
    else:
        entropy, spawn_key, pool_size, children = seed
        if not 4 <= pool_size <= 64:
            raise ProtocolError(f"a seed has a pool of {pool_size} words")
        source = source_type(
            numpy.random.SeedSequence(
                entropy, spawn_key=tuple(spawn_key), pool_size=pool_size, n_children_spawned=children
            )
        )
    # NumPy does not check these, and reads what is there.
    if name == "MT19937" and not 0 <= state["state"]["pos"] <= 624:
        raise ProtocolError("a generator is beyond its numbers")
    if name == "Philox" and not 0 <= state["buffer_pos"] <= 4:
        raise ProtocolError("a generator is beyond its numbers")
    source.state = state
    return numpy.random.Generator(source)


def _learned(kind: type) -> Encoder | None:
    """The encoder of a type of NumPy, which is remembered."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if kind is numpy.ndarray:
        found: tuple[Encoder, Measure] = (_encode_array, _measure_array)
    elif issubclass(kind, numpy.generic) and kind.__module__.partition(".")[0] == "numpy" and kind is not numpy.void:
        found = (_encode_scalar, _measure_scalar)
    elif kind is numpy.random.Generator:
        found = (_encode_generator, _measure_encoded)
    else:
        return None
    ENCODERS[kind], MEASURES[kind] = found
    return found[0]


# What is shared


def _is_again(value: Any, out: bytearray, places: dict[int, int]) -> bool:
    """Whether a state had this object before; then a reference is written."""
    place = places.get(id(value))
    if place is None:
        places[id(value)] = len(places)
        return False
    out += b"\xc1="
    out += _LE_U32(place)
    return True


def _refuse_shared_memory(state: Any) -> None:
    """Refuses arrays of a state that share memory without being the same array."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return
    found: dict[int, tuple[int, int, str, Any]] = {}
    _collect_arrays(state, "", found, set(), numpy)
    end, last = 0, ("", None)
    for begin, behind, path, numbers in sorted(found.values(), key=lambda each: each[:2]):
        if begin < end and _share_memory(last[1], numbers, numpy):
            raise TypeError(
                f"the arrays {last[0]} and {path} share memory, and would not after a move: keep one of them, and take the "
                "view where it is used, or copy"
            )
        if behind > end:
            end, last = behind, (path, numbers)


def _collect_arrays(
    value: Any, path: str, found: dict[int, tuple[int, int, str, Any]], seen: set[int], numpy: Any
) -> None:
    kind = type(value)
    if kind is numpy.ndarray:
        if value.nbytes and id(value) not in found:
            bounds = numpy.lib.array_utils.byte_bounds if hasattr(numpy.lib, "array_utils") else numpy.byte_bounds
            found[id(value)] = (*bounds(value), path or "of the state", value)
        return
    if kind not in (dict, list, tuple) or id(value) in seen:
        return
    seen.add(id(value))
    if kind is dict:
        for key, element in value.items():
            _collect_arrays(element, f"{path}[{key!r}]" if path else str(key), found, seen, numpy)
    elif not _CONTAINERS.isdisjoint(map(type, value)) or numpy.ndarray in set(map(type, value)):
        for index, element in enumerate(value):
            _collect_arrays(element, f"{path}[{index}]", found, seen, numpy)


def _share_memory(one: Any, other: Any, numpy: Any) -> bool:
    try:
        return bool(numpy.shares_memory(one, other, max_work=10_000))
    except numpy.exceptions.TooHardError if hasattr(numpy, "exceptions") else numpy.TooHardError:
        return True


# What is refused


def _located(value: Any, encoding: Encoding, error: Exception) -> TypeError:
    """The error, with the place in the value to which it belongs."""
    place = _place(value, encoding, 0)
    return TypeError(f"{error}, at {place}" if place else str(error))


def _place(value: Any, encoding: Encoding, depth: int) -> str:
    if type(value) in (list, tuple):
        elements = [(f"[{index}]", element) for index, element in enumerate(value)]
    elif type(value) is dict:
        elements = [(f"[{key!r}]", element) for key, element in value.items()]
    else:
        return ""
    trial = Encoding(is_output=encoding.is_output, allows_pickle=encoding.allows_pickle)
    for name, element in elements:
        try:
            ENCODERS.get(type(element), _encode_other)(element, bytearray(), trial)
        except (TypeError, ValueError, RecursionError):
            return name + (_place(element, encoding, depth + 1) if depth < 20 else "")
    return ""


def _refusal(value: Any, encoding: Encoding) -> str:
    """Why a value cannot be encoded, and what would do."""
    name = _name(value)
    if isinstance(value, (set, frozenset)):
        return f"{name} cannot be encoded, because its order differs from process to process: give sorted(...) of it"
    if isinstance(value, bytearray):
        return f"{name} cannot be encoded: give bytes"
    for kind in (int, float, str, bytes, list, tuple, dict):
        if isinstance(value, kind):
            return f"{name} would arrive as {kind.__name__}: give {kind.__name__}(...) of it"
    if callable(value) or type(value).__name__ in ("module", "generator", "coroutine") or hasattr(value, "fileno"):
        return f"{name} cannot be encoded: {_WHAT_CAN_BE}"
    if type(value).__name__ == "RandomState":
        return f"{name} cannot be encoded: use numpy.random.default_rng"
    if encoding.is_output:
        return f"{name} cannot be in an output: give plain data"
    return (
        f"{name} cannot be encoded: {_WHAT_CAN_BE}. Turn it into these, for a state in `save` and `load`, or allow pickles of "
        "senders that are trusted: class P(migbsp.Program, pickle=True), or migbsp.mpi.allows_pickle = True"
    )


def _name(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _checked(length: int) -> int:
    if length > MESSAGE_MAX:
        raise ValueError(f"a value has {length} B or elements; it may have 4 GiB: divide it")
    return length


_WHAT_CAN_BE = (
    "None, numbers, texts, bytes, lists, tuples, dictionaries, and arrays of numbers, scalars and generators of NumPy can be"
)
_CONTAINERS = {dict, list, tuple}
_OF_OUTPUTS = {bool, int, float, str, bytes}
_SOURCES_OF_BITS = {"PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"}
_PACKED_MIN = 8
_APART_MIN = 4096
_INNER = Encoding()
_WITH_PICKLE = PICKLED_MESSAGE
_DTYPE = re.compile(
    rb"\|[bui]1|[<>]([iu][248]|f[248]|c8|c16|U[1-9][0-9]{0,8}|[mM]8(\[[0-9]{0,9}[a-zA-Z]{1,7}\])?)|\|S[1-9][0-9]{0,8}"
)

_I32 = struct.Struct(">Bi").pack
_U32 = struct.Struct(">BI").pack
_I64 = struct.Struct(">Bq").pack
_U64 = struct.Struct(">BQ").pack
_F64 = struct.Struct(">Bd").pack
_EXTENSION = struct.Struct(">BIBBBB").pack
_LE_U32 = struct.Struct("<I").pack
_LE_U64 = struct.Struct("<Q").pack
_LE_COMPLEX = struct.Struct("<dd").pack
_READ_U32 = struct.Struct(">I").unpack_from
_READ_F64 = struct.Struct(">d").unpack_from
_READ_EXTENSION = struct.Struct(">BIBBBB").unpack_from
_READ_LE_U32 = struct.Struct("<I").unpack_from
_READ_LE_COMPLEX = struct.Struct("<dd").unpack_from

ENCODERS: dict[type, Encoder] = {
    type(None): _encode_none,
    bool: _encode_bool,
    int: _encode_int,
    float: _encode_float,
    complex: _encode_complex,
    str: _encode_str,
    bytes: _encode_bytes,
    list: _encode_list,
    tuple: _encode_tuple,
    dict: _encode_dict,
    random.Random: _encode_random,
}
MEASURES: dict[type, Measure] = {
    type(None): _measure_one,
    bool: _measure_one,
    int: _measure_int,
    float: _measure_float,
    complex: _measure_complex,
    str: _measure_str,
    bytes: _measure_bytes,
    list: _measure_list,
    tuple: _measure_tuple,
    dict: _measure_dict,
    random.Random: _measure_encoded,
}
DECODERS: list[Decoder] = (
    [_decode_small] * 0x80
    + [_decode_short_dict] * 16
    + [_decode_short_list] * 16
    + [_decode_short_str] * 32
    + [_decode_unknown] * 32
    + [_decode_negative] * 32
)
DECODERS[0xC0] = _decode_none
DECODERS[0xC1] = _decode_own
DECODERS[0xC2] = _decode_false
DECODERS[0xC3] = _decode_true
DECODERS[0xC4:0xC7] = [_sized_decoder(number, _bytes) for number in "BHI"]
DECODERS[0xC9] = _decode_array
DECODERS[0xCA] = _number_decoder("f")
DECODERS[0xCB] = _decode_float
DECODERS[0xCC:0xD4] = [_number_decoder(number) for number in "BHIQbhiq"]
DECODERS[0xD9:0xDC] = [_sized_decoder(number, _str) for number in "BHI"]
DECODERS[0xDC:0xDE] = [_nested_decoder(number, _list) for number in "HI"]
DECODERS[0xDE:0xE0] = [_nested_decoder(number, _dict) for number in "HI"]
_OWN: dict[int, Decoder] = {
    ord("t"): _decode_tuple,
    ord("d"): _decode_floats,
    ord("q"): _decode_ints,
    ord("n"): _decode_long_int,
    ord("c"): _decode_complex,
    ord("s"): _decode_scalar,
    ord("F"): _decode_transposed,
    ord("g"): _decode_generator,
    ord("r"): _decode_random,
    ord("p"): _decode_pickle,
    ord("="): _decode_again,
}
_HEADERS: dict[Any, bytes] = {}
_DTYPES: dict[bytes, Any] = {}
