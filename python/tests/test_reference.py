"""Programs in this interpreter: what they see, what they may do, and the reference runner."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import migbsp
from migbsp import And, Max, Min, Or, Sum


class Scripted(migbsp.Program):
    """Executes functions, one in each superstep, and halts with what they return."""

    def __init__(self, ctx: migbsp.Start, *, script: list[Any]) -> None:
        self.position = 0
        self.returned: list[Any] = []
        Scripted.script = script  # type: ignore[attr-defined]

    def superstep(self, ctx: migbsp.Superstep) -> None:
        script: list[Any] = Scripted.script  # type: ignore[attr-defined]
        self.returned.append(script[self.position](ctx))
        self.position += 1
        if self.position == len(script):
            ctx.halt(self.returned)


def run(*script: Any, processes: int = 3, **settings: Any) -> migbsp.Finished:
    return migbsp.run_here(Scripted, processes=processes, script=list(script), **settings)


def last(*script: Any, processes: int = 3) -> list[Any]:
    """What the last function returns in each process."""
    return [output[-1] for output in run(*script, processes=processes).outputs]


def test_messages_come_in_the_order_of_senders_and_of_sending() -> None:
    def send(ctx: migbsp.Superstep) -> None:
        for to in reversed(range(ctx.size)):
            ctx.send(to, f"first of {ctx.rank}")
            ctx.send(np.int64(to), [ctx.rank, to])

    expected = [[[sender, text] for sender in range(3) for text in (f"first of {sender}", [sender, to])] for to in range(3)]
    assert last(send, lambda ctx: ctx.messages) == expected


def test_broadcast_reaches_all_others() -> None:
    received = last(lambda ctx: ctx.broadcast(np.full(2, ctx.rank)), lambda ctx: [(s, a.sum()) for s, a in ctx.messages])
    assert received == [[[1, 2], [2, 4]], [[0, 0], [2, 4]], [[0, 0], [1, 2]]]
    assert last(lambda ctx: ctx.broadcast(1), lambda ctx: ctx.messages, processes=1) == [[]]


def test_receivers_have_arrays_of_their_own() -> None:
    def send(ctx: migbsp.Superstep) -> None:
        numbers = np.zeros(2)
        ctx.broadcast(numbers)
        numbers += 5

    def add(ctx: migbsp.Superstep) -> Any:
        for _, numbers in ctx.messages:
            numbers += ctx.rank
        return [numbers.tolist() for _, numbers in ctx.messages]

    assert last(send, add) == [[[0, 0]] * 2, [[1, 1]] * 2, [[2, 2]] * 2]


def test_sizes_arrive_apart_from_messages() -> None:
    received = run(lambda ctx: ctx.send_sized(0, 1 << 50), lambda ctx: ctx.sized).outputs
    assert received[0][1] == [[0, 1 << 50], [1, 1 << 50], [2, 1 << 50]]


def test_neighbours_seed_and_supersteps() -> None:
    def told(ctx: migbsp.Superstep) -> Any:
        return ctx.left, ctx.right, ctx.seed, ctx.supersteps, ctx.superstep, ctx.standby

    assert run(told, seed=5, supersteps=9).outputs[1] == [[0, 2, 5, 9, 0, []]]
    assert run(told, processes=1).outputs == [[[None, None, 1, None, 0, []]]]


def test_elapsed_is_what_was_charged() -> None:
    assert run(lambda ctx: ctx.charge(2e9), lambda ctx: ctx.elapsed).instructions == 6_000_000_000
    assert last(lambda ctx: ctx.charge(2e9), lambda ctx: ctx.elapsed) == [2.0] * 3


NUMBERS = [0.1, 1e16, -1e16, 0.2, 1e308, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize(
    ("operation", "values", "expected"),
    [
        (Sum, [0.1, 1e16, -1e16], 0.1),
        (Sum, [1e308, 1e308, -1e308], 1e308),
        (Sum, [1e308, 1e308, 1e308], math.inf),
        (Sum, [-0.0, -0.0, -0.0], 0.0),
        (Sum, [math.inf, 1.0, 2.0], math.inf),
        (Sum, [math.inf, -math.inf, 2.0], math.nan),
        (Sum, [1, 2, 3], 6),
        (Sum, [True, True, False], 2),
        (Sum, [(1 << 63) - 1, 5, -5], (1 << 63) - 1),
        (Sum, [np.uint64((1 << 64) - 2), np.uint8(1), np.uint64(0)], (1 << 64) - 1),
        (Sum, [np.float32(0.5), np.float64(0.25), 1.0], 1.75),
        (Min, [0.0, -0.0, 3.0], -0.0),
        (Max, [0.0, -0.0, -3.0], 0.0),
        (Min, [1.0, math.nan, -1.0], math.nan),
        (Max, [-5, 3, 2], 3),
        (And, [True, np.True_, 1], True),
        (And, [True, False, True], False),
        (Or, [False, False, True], True),
        (Or, [False, 0, np.False_], False),
    ],
)
def test_reductions_of_one_value(operation: Any, values: list[Any], expected: Any) -> None:
    found = last(lambda ctx: ctx.reduce("r", operation(values[ctx.rank])), lambda ctx: ctx.reduced("r"))
    for each in found:
        assert type(each) is type(expected)
        assert each == expected or (math.isnan(each) and math.isnan(expected))
        assert math.copysign(1, each) == math.copysign(1, expected)


def test_reductions_of_arrays_and_lists() -> None:
    def reduce(ctx: migbsp.Superstep) -> None:
        ctx.reduce("sum", Sum(np.array([[ctx.rank, 0.5], [1.0, -1.0]], "f4")))
        ctx.reduce("list", Sum([ctx.rank, 2]))
        ctx.reduce("max", Max(np.array([ctx.rank, -ctx.rank], "u1" if ctx.rank < 0 else "i2")))
        ctx.reduce("none", Min([]))
        ctx.reduce("mixed", Min([ctx.rank, 0.5]))

    def reduced(ctx: migbsp.Superstep) -> Any:
        arrays = [ctx.reduced(name) for name in ("sum", "list", "max", "none", "mixed")]
        arrays[0] += 1
        assert [str(array.dtype) for array in arrays] == ["float64", "int64", "int64", "float64", "float64"]
        return [array.tolist() for array in arrays]

    assert last(reduce, reduced) == [[[4.0, 2.5, 4.0, -2.0], [3, 6], [2, 0], [], [0.0, 0.5]]] * 3


def test_several_contributions_count_and_some_processes_may_give_none() -> None:
    def reduce(ctx: migbsp.Superstep) -> None:
        for _ in range(ctx.rank):
            ctx.reduce("sum", Sum(1))

    assert last(reduce, lambda ctx: ctx.reduced("sum")) == [3] * 3


def test_values_are_gathered_in_rank_order() -> None:
    def gather(ctx: migbsp.Superstep) -> None:
        if ctx.rank != 1:
            ctx.gather("values", ("of", ctx.rank, np.arange(ctx.rank)))
            ctx.gather("values", None)

    def gathered(ctx: migbsp.Superstep) -> Any:
        first = ctx.gathered("values")
        first[-2][1][2][:] = 7
        return [[rank, value and [*value[:2], value[2].tolist()]] for rank, value in ctx.gathered("values")]

    assert last(gather, gathered) == [[[0, ["of", 0, []]], [0, None], [2, ["of", 2, [0, 1]]], [2, None]]] * 3


@pytest.mark.parametrize(
    ("reduce", "reduced", "text"),
    [
        (lambda ctx: None, lambda ctx: ctx.reduced("r"), "no process reduced `r` in the superstep before"),
        (lambda ctx: ctx.gather("r", 1), lambda ctx: ctx.reduced("r"), "was reduced as gathered values: ask for it with `gathered`"),
        (lambda ctx: ctx.reduce("r", Sum(1)), lambda ctx: ctx.gathered("r"), "was reduced as a sum, not as gathered values"),
        (
            lambda ctx: ctx.reduce("r", Sum((1 << 63) - 1)),
            lambda ctx: ctx.reduced("r"),
            "the sum `r` is 27670116110564327421, which does not fit its type: reduce it as a sum of floats",
        ),
    ],
)
def test_values_that_are_not_there(reduce: Any, reduced: Any, text: str) -> None:
    with pytest.raises(migbsp.ReductionError, match=text):
        run(reduce, reduced)


def test_processes_that_disagree_about_a_reduction() -> None:
    with pytest.raises(migbsp.ProgramError, match="`r` was reduced as a sum of floats by some processes, and as a sum of integers"):
        run(lambda ctx: ctx.reduce("r", Sum(1 if ctx.rank else 1.0)), lambda ctx: None)
    with pytest.raises(migbsp.ProgramError, match="a sum of integers, 2 of them by some processes, and as a sum of integers, 3"):
        run(lambda ctx: ctx.reduce("r", Sum([1] * (2 + ctx.rank))), lambda ctx: None, processes=2)
    with pytest.raises(migbsp.ProgramError, match="may take 4194304 B together"):
        run(lambda ctx: ctx.gather("r", bytes(3 << 20)), lambda ctx: None)


def test_notes_and_snapshots() -> None:
    def note(ctx: migbsp.Superstep) -> None:
        ctx.note("a residual", 0.1 * (1 + ctx.rank))
        if ctx.rank == 1:
            ctx.snapshot("field", {"x": np.arange(2)})
            ctx.snapshot_bytes("picture", b"P5")

    finished = run(lambda ctx: None, note, note)
    notes = [(superstep, noted["a residual"]) for superstep, noted in finished.notes]
    assert notes == [(step, migbsp.Note(3, 0.6000000000000001, 0.1, 0.30000000000000004)) for step in (1, 2)]
    taken = [(each.superstep, each.rank, each.name) for each in finished.snapshots]
    assert taken == [(1, 1, "field"), (1, 1, "picture"), (2, 1, "field"), (2, 1, "picture")]
    assert finished.snapshots[0].value["x"].tolist() == [0, 1]
    assert finished.snapshots[1].value == b"P5"


@pytest.mark.parametrize(
    ("action", "error", "text"),
    [
        (lambda ctx: ctx.send(3, 1), ValueError, "p1 sends to rank 3, but the ranks are 0 to 2"),
        (lambda ctx: ctx.send(-1, 1), ValueError, "p1 sends to rank -1"),
        (lambda ctx: ctx.send("0", 1), TypeError, "interpreted as an integer"),
        (lambda ctx: ctx.send_sized(0, -1), ValueError, "a message of -1 B"),
        (lambda ctx: ctx.charge(-1), ValueError, "-1 instructions"),
        (lambda ctx: ctx.send(0, {1}), TypeError, "a set cannot be encoded"),
        (lambda ctx: ctx.fail("the matrix is singular"), migbsp.Failure, "the matrix is singular"),
        (lambda ctx: [ctx.halt(), ctx.halt()], RuntimeError, "p1 halts twice in superstep 0"),
        (lambda ctx: ctx.reduce("x" * 65, Sum(1)), ValueError, "64 bytes at most"),
        (lambda ctx: ctx.reduce("x", Sum("a")), TypeError, "an? (array of )?.*str.* cannot be reduced|str cannot be reduced"),
        (lambda ctx: ctx.reduce("x", Sum(1 << 63)), ValueError, "does not fit 64 bits: reduce it as a float"),
        (lambda ctx: ctx.reduce("x", Sum(np.array([1j]))), TypeError, "an array of complex128 cannot be reduced"),
        (lambda ctx: ctx.note("", 1), ValueError, "a note cannot be named ''"),
        (lambda ctx: ctx.note("a\nb", 1), ValueError, "no control characters"),
        (lambda ctx: ctx.snapshot("A", 1), ValueError, "a snapshot cannot be named 'A'"),
        (lambda ctx: [ctx.snapshot("a", 1), ctx.snapshot("a", 1)], ValueError, "a second snapshot `a`"),
        (lambda ctx: [ctx.snapshot(f"s{i}", 1) for i in range(17)], ValueError, "`s16` is one too many"),
        (lambda ctx: ctx.halt(1j), TypeError, "a complex number cannot be in an output"),
    ],
)
def test_what_a_process_may_not_do(action: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text) as raised:
        run(action)
    if hasattr(raised.value, "__notes__"):
        assert raised.value.__notes__ == ["in superstep 0 of p1"]


def test_messages_to_processes_that_have_halted() -> None:
    def superstep(ctx: migbsp.Superstep) -> None:
        if ctx.rank == 1:
            ctx.halt()
        else:
            ctx.send(1, "too late")

    with pytest.raises(migbsp.ProgramError, match="p1 sent to p2 in superstep 0, which had halted by superstep 0"):
        run(superstep, lambda ctx: None)

    def sized(ctx: migbsp.Superstep) -> None:
        if ctx.rank == 1 and ctx.superstep == 0:
            ctx.halt()
        else:
            ctx.send_sized(1, 5)

    with pytest.raises(migbsp.ProgramError, match="p1 sent to p2 in superstep 1, which had halted by superstep 0"):
        run(sized, sized)


def test_programs_that_never_halt() -> None:
    class Endless(migbsp.Program):
        def superstep(self, ctx: migbsp.Superstep) -> None:
            pass

    with pytest.raises(migbsp.ProgramError, match="p1 had not halted after 10 supersteps"):
        migbsp.run_here(Endless, limit=10)


def test_supersteps_return_nothing() -> None:
    class Returns(migbsp.Program):
        def superstep(self, ctx: migbsp.Superstep) -> Any:
            return [1]

    class Yields(migbsp.Program):
        def superstep(self, ctx: migbsp.Superstep) -> Any:
            yield

    with pytest.raises(TypeError, match="`superstep` returns a list: a process ends with `return ctx.halt"):
        migbsp.run_here(Returns)
    with pytest.raises(TypeError, match="must not have `yield`"):
        migbsp.run_here(Yields)


def test_parameters_are_checked() -> None:
    class Sized(migbsp.Program):
        def __init__(self, ctx: migbsp.Start, *, size: int, steps: int = 3) -> None:
            self.steps = steps

        def superstep(self, ctx: migbsp.Superstep) -> None:
            ctx.halt()

        @classmethod
        def verify(cls, outputs: list[Any], *, size: int, steps: int = 3) -> str:
            return f"{len(outputs)} outputs of size {size}"

    assert migbsp.run_here(Sized, size=5).verified == "4 outputs of size 5"
    with pytest.raises(migbsp.Failure, match="Sized has no parameter `stepz`: it has size, steps"):
        migbsp.run_here(Sized, size=1, stepz=3)
    with pytest.raises(migbsp.Failure, match="Sized needs the parameter `size`"):
        migbsp.run_here(Sized)


def test_slots_are_refused() -> None:
    with pytest.raises(TypeError, match="Slots has __slots__, which are no state"):

        class Slots(migbsp.Program):
            __slots__ = ("value",)


def test_shares_cover_all_elements_once() -> None:
    for n in (0, 1, 7, 100):
        for size in (1, 2, 3, 8, 120):
            shares = [migbsp.share(n, rank, size) for rank in range(size)]
            assert [each for share in shares for each in share] == list(range(n))
            assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_the_example_in_the_documentation_of_programs() -> None:
    text = inspect.getdoc(migbsp.Program) or ""
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ") or not line]
    code = "\n".join(lines)
    assert "class Total" in code and "assert migbsp.run_here(Total" in code
    exec(compile(code, "doc", "exec"), {"migbsp": migbsp})
