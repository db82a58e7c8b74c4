"""The encoding of values."""

from __future__ import annotations

import collections
import enum
import math
import random
import struct
from typing import Any

import numpy as np
import pytest

import migbsp
from migbsp._values import (
    OUTPUT,
    Encoding,
    decode,
    decode_state,
    encode,
    encode_apart,
    encode_state,
    measure,
)

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ">f8", ">i4", "S3", "U4", "M8[s]", "m8[ns]"]


def same(one: Any, other: Any) -> bool:
    """Whether values are equal to the last bit, and of the same types."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        contiguous = one.flags.f_contiguous == other.flags.f_contiguous or not one.flags.c_contiguous
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes() and contiguous
    if isinstance(one, np.generic):
        return one.dtype == other.dtype and one.tobytes() == other.tobytes()
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, float):
        return struct.pack("<d", one) == struct.pack("<d", other)
    if isinstance(one, complex):
        return same([one.real, one.imag], [other.real, other.imag])
    if isinstance(one, np.random.Generator):
        return same(one.bit_generator.state, other.bit_generator.state) and one.random() == other.random()
    if isinstance(one, random.Random):
        return one.getstate() == other.getstate()
    return bool(one == other)


def drawn(rng: random.Random, depth: int = 0) -> Any:
    """A value that is drawn."""
    kind = rng.randrange(17 if depth < 4 else 11)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.choice([1, -1]) * rng.getrandbits(rng.choice([3, 7, 8, 31, 32, 33, 63, 64, 65, 200]))
    if kind == 2:
        return rng.choice([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, rng.gauss(0, 1e9)])
    if kind == 3:
        return complex(rng.random(), -0.0)
    if kind == 4:
        return "".join(rng.choice("aé主🙂\0") for _ in range(rng.choice([0, 3, 31, 32, 90, 300])))
    if kind == 5:
        return rng.randbytes(rng.choice([0, 1, 255, 256, 70_000]))
    if kind == 6:
        return [rng.random() for _ in range(rng.randrange(20))]
    if kind == 7:
        return tuple(rng.getrandbits(62) for _ in range(rng.randrange(20)))
    if kind in (8, 9):
        dtype = np.dtype(rng.choice(DTYPES))
        shape = tuple(rng.randrange(5) for _ in range(rng.randrange(4)))
        count = math.prod(shape)
        numbers = np.frombuffer(bytes(rng.choices(b"abcd", k=count * 4 * 4)), "S16")[:count]
        if dtype.kind in "SU":
            array = numbers.astype(dtype).reshape(shape)
        else:
            array = np.array([rng.randrange(100) for _ in range(count)]).astype(dtype).reshape(shape)
        way = rng.randrange(4)
        if way == 1:
            return np.asfortranarray(array)
        if way == 2 and array.ndim and array.shape[0]:
            return array[::2]
        return array[()] if array.ndim == 0 and way == 3 else array
    if kind == 10:
        if rng.randrange(4) == 0:
            return random.Random(rng.random())
        source = getattr(np.random, rng.choice(["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"]))
        generator = np.random.Generator(source(rng.choice([None, 5, [1, 2]])))
        generator.random(rng.randrange(5))
        generator.integers(5, dtype=np.int32)
        return generator
    if kind in (11, 12, 13):
        return [drawn(rng, depth + 1) for _ in range(rng.choice([0, 1, 3, 16]))]
    if kind == 14:
        return tuple(drawn(rng, depth + 1) for _ in range(rng.choice([0, 1, 3, 16])))
    keys = ["key", 5, (1, "a"), None, 2.5, b"bytes", "a longer key, with ü", True, *map(str, range(12))]
    return {key: drawn(rng, depth + 1) for key in rng.sample(keys, rng.choice([0, 1, 4, 18]))}


@pytest.mark.parametrize("seed", range(20))
def test_values_arrive_as_they_left_and_are_as_long_as_measured(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(150):
        value = drawn(rng)
        encoded = encode(value)
        assert measure(value) == len(encoded)
        assert b"".join(encode_apart(value)) == encoded
        state = encode_state({"value": value})
        assert len(state) <= measure({"value": value})
        # The comparison draws numbers from generators, so it comes last.
        assert same(decode(encoded), decode_state(state)["value"])
        assert same(value, decode(encoded))


def test_arrays_are_aligned_views_that_can_be_written_to() -> None:
    for before in range(40):
        value = ["x" * before, np.arange(5.0), (np.arange(6, dtype="i2").reshape(2, 3),)]
        encoded = encode(value)
        _, one, (other,) = decode(encoded)
        begin = np.frombuffer(encoded, np.uint8).__array_interface__["data"][0]
        for array in (one, other):
            assert array.flags.writeable
            assert (array.__array_interface__["data"][0] - begin) % 16 == 0
        one[:] = 7
        assert decode(encoded)[1].tolist() == [7] * 5


def test_long_arrays_are_not_copied_without_copy() -> None:
    array = np.arange(10_000.0)
    pieces = encode_apart([1, array, "end"])
    assert len(pieces) == 3
    array[0] = 5
    assert decode(bytearray(b"".join(pieces)))[1][0] == 5


def test_objects_that_a_state_has_twice_are_so_after_a_move() -> None:
    array, inner = np.arange(3.0), [1, 2]
    rng = np.random.default_rng(1)
    state = {"one": array, "two": (array, inner), "three": {"deep": inner}, "rng": rng, "again": [rng, {}, {}]}
    moved = decode_state(encode_state(state))
    assert moved["one"] is moved["two"][0]
    assert moved["two"][1] is moved["three"]["deep"]
    assert moved["rng"] is moved["again"][0]
    assert moved["again"][1] is not moved["again"][2]
    moved["one"][0] = 9
    assert moved["two"][0][0] == 9
    loop: list[Any] = [1]
    loop.append(loop)
    moved = decode_state(encode_state(loop))
    assert moved[1] is moved


def test_generators_go_on_and_spawn_as_if_they_had_not_moved() -> None:
    rng = np.random.default_rng([3, 4])
    rng.spawn(2)
    moved = decode(encode(rng))
    assert moved.random(5).tolist() == rng.random(5).tolist()
    assert moved.spawn(1)[0].random() == rng.spawn(1)[0].random()


def test_arrays_in_a_state_that_overlap_are_refused() -> None:
    plate = np.zeros((4, 4))
    for state in (
        {"plate": plate, "row": plate[0]},
        {"plate": plate, "rows": [1, {"deep": plate.T}]},
        {"row": plate[:2], "other": plate[1:]},
    ):
        with pytest.raises(TypeError, match="share memory, and would not after a move"):
            encode_state(state)
    encode_state({"one": plate[:2], "other": plate[2:], "even": np.zeros(4)[::2]})
    whole = np.zeros(8)
    encode_state({"even": whole[::2], "odd": whole[1::2]})


class Colour(enum.IntEnum):
    RED = 1


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({1, 2}, "a set cannot be encoded, because its order differs from process to process: give sorted"),
        (bytearray(b"x"), "a bytearray cannot be encoded: give bytes"),
        (Colour.RED, r"a Colour would arrive as int: give int\(...\) of it"),
        (Point(1, 2), r"a Point would arrive as tuple: give tuple\(...\) of it"),
        (collections.OrderedDict(), "an OrderedDict would arrive as dict"),
        (lambda: 0, "a function cannot be encoded: None, numbers, texts"),
        (np.array([None]), "an array of objects cannot be encoded"),
        (np.zeros(2, [("x", "f8")]), "an array of elements of type"),
        (np.random.RandomState(1), "use numpy.random.default_rng"),
        (np.matrix([[1]]), "a matrix cannot be encoded"),
        (object(), "an object cannot be encoded: .* write|Turn it into these, for a state in `save` and `load`"),
        ("\ud800", "surrogates not allowed"),
    ],
)
def test_other_values_are_refused_with_a_sentence(value: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        encode(value)
    with pytest.raises(TypeError, match=text):
        measure(value)
    with pytest.raises(TypeError, match=r"at \['list'\]\[2\]"):
        encode({"number": 1, "list": [1, 2, value]})


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    for call in (encode, measure):
        with pytest.raises(TypeError, match="contains itself"):
            call(loop)


def test_pickles_are_refused_unless_they_are_allowed() -> None:
    value = [1, Colour.RED, {2}]
    allowing = Encoding(allows_pickle=True)
    encoded = encode(value, allowing)
    assert decode(encoded, allows_pickle=True) == value
    assert measure(value, allowing) == len(encoded)
    with pytest.raises(migbsp.ProtocolError, match="a value is pickled, and unpickling may execute code of its sender"):
        decode(encoded)


def test_outputs_are_messagepack() -> None:
    array = np.array([[1.0, 2.0, 3.0]])
    assert encode([None, True, 5, -1, 1.5, "a", b"b", (1, 2)], OUTPUT) == (
        b"\x98\xc0\xc3\x05\xd2\xff\xff\xff\xff\xcb\x3f\xf8\0\0\0\0\0\0\xa1a\xc4\1b\x92\1\2"
    )
    assert encode({"k": np.float32(0.5), "n": np.int8(-1)}, OUTPUT) == b"\x82\xa1k\xcb\x3f\xe0\0\0\0\0\0\0\xa1n\xd2\xff\xff\xff\xff"
    assert encode(list(range(10)), OUTPUT) == b"\x9a" + bytes(range(10))
    encoded = encode(array, OUTPUT)
    head = b"\xc9" + struct.pack(">IB", len(encoded) - 6, 1) + bytes([4, 2, 3]) + b"<f8" + struct.pack("<QQ", 1, 3) + bytes(4)
    assert encoded == head + array.tobytes()
    assert len(head) % 16 == 0
    # Fortran's order is that of the type's description: C.
    assert encode(np.asfortranarray(array), OUTPUT) == encoded
    for value in (1j, 1 << 64, np.random.default_rng(1), np.array(["a"]), np.datetime64(1, "s")):
        with pytest.raises(TypeError):
            encode(value, OUTPUT)


def test_integers_are_read_in_all_forms_of_messagepack() -> None:
    forms = [b"\xcc\xff", b"\xcd\1\0", b"\xce\0\0\0\1", b"\xcf" + bytes(7) + b"\2", b"\xd0\xff", b"\xd1\xff\xfe", b"\xe0", b"\x7f"]
    assert [decode(form) for form in forms] == [255, 256, 1, 2, -1, -2, -32, 127]
    assert decode(b"\xca\x3f\x80\0\0") == 1.0
    assert decode(b"\xdc\0\1\xde\0\1\xda\0\1a\xc5\0\1b") == [{"a": b"b"}]


@pytest.mark.parametrize("seed", range(10))
def test_hostile_bytes_raise_nothing_but_a_protocol_error(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(150):
        encoded = encode_state([drawn(rng), drawn(rng)])
        for _ in range(20):
            hostile = bytearray(encoded[:4096])
            for _ in range(rng.randrange(1, 4)):
                way = rng.randrange(4)
                if way == 0:
                    del hostile[rng.randrange(len(hostile) + 1) :]
                elif way == 1:
                    hostile[rng.randrange(len(hostile) + 1) :] = rng.randbytes(rng.randrange(9))
                elif hostile:
                    hostile[rng.randrange(min(len(hostile), 60))] = rng.choice([rng.randrange(256), 0xC1, 0xC9, 0xDD, 0xFF])
            for read in (decode, decode_state):
                try:
                    read(hostile)
                except migbsp.ProtocolError:
                    pass


@pytest.mark.parametrize(("name", "place", "number"), [("MT19937", "pos", 10**6), ("MT19937", "pos", -5), ("Philox", "buffer_pos", 9)])
def test_generators_beyond_their_numbers_are_refused(name: str, place: str, number: int) -> None:
    state = getattr(np.random, name)(1).state
    (state["state"] if place in state["state"] else state)[place] = number
    hostile = b"\xc1g" + bytes(encode([name, state, None]))
    with pytest.raises(migbsp.ProtocolError, match="beyond its numbers"):
        decode(hostile)


@pytest.mark.parametrize(
    "hostile",
    [
        b"",
        b"\x91" * 100_000,
        b"\xdd\xff\xff\xff\xff\xc0",
        b"\xdf\xff\xff\xff\xff\xc0",
        b"\x81\x90\xc0",
        b"\xc1d\xff\xff\xff\xff",
        b"\xc1n\xff\xff\xff\xff",
        b"\xc1=\0\0\0\0",
        b"\xc1t\xc0",
        b"\xc1F\xc0",
        b"\xc1",
        b"\xc9\0\0\0\x0b\1\0\1\3|O8" + bytes(8),
        b"\xc9\0\0\0\x2b\1\0\5\3<f8" + b"\xff" * 40,
        b"\xc1s\3|O8" + bytes(8),
        b"\xc1g\x93\xa5PCG64\x80\xc0",
        b"\xc1g\x93\xa6system\x80\xc0",
        b"\xc1g\xc0",
        b"\xc1r\x93\3\x90\xc0",
        b"\xc0\xc0",
    ],
)
def test_hostile_values(hostile: bytes) -> None:
    for read in (decode, decode_state):
        with pytest.raises(migbsp.ProtocolError):
            read(hostile)
