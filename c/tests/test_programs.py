"""Programs give the same outputs wherever their processes are."""

import math
import shutil
import struct
import subprocess

import pytest
import runtime
from conftest import EXAMPLES
from runtime import Executor

HEAT = {"size": 48, "steps": 20}


def plate(run):
    """The bytes of the plate, from strips."""
    strips = [runtime.array(output) for output in run.outputs]
    assert {(type, shape[1]) for type, shape, _ in strips} == {("<f8", HEAT["size"])}
    assert run.flags == [3] * len(run.outputs)
    return b"".join(strip for _, _, strip in strips)


def heat_by_hand():
    """The arithmetic of the Python example."""
    size, steps = HEAT["size"], HEAT["steps"]
    middle, width = size / 2, 0.01 * (float(size) * size)
    u = [[math.exp(-((x - middle) ** 2 + (y - middle) ** 2) / width) for x in range(size)] for y in range(-1, size + 1)]
    for _ in range(steps):
        old = [row[:] for row in u]
        for y in range(1, size + 1):
            for x in range(1, size - 1):
                u[y][x] += 0.2 * (old[y - 1][x] + old[y + 1][x] + old[y][x - 1] + old[y][x + 1] - 4 * old[y][x])
    return b"".join(struct.pack(f"<{size}d", *row) for row in u[1:-1])


@pytest.mark.parametrize("processes", [1, 3, 8])
@pytest.mark.parametrize("shared", [False, True])
def test_heat_gives_the_same_bits_for_any_processes_and_moves(build, processes, shared):
    moved = runtime.run(build("heat.c"), processes, HEAT, shared=shared)
    unmoved = runtime.run(build("heat.c"), processes, HEAT, shared=shared, moves=False)
    assert (moved.outputs, moved.messages, moved.charges) == (unmoved.outputs, unmoved.messages, unmoved.charges)
    assert (moved.moves, moved.supersteps, moved.log) == (processes * HEAT["steps"], HEAT["steps"] + 1, "")
    assert sum(moved.charges) == 10 * HEAT["size"] ** 2 * HEAT["steps"]
    assert plate(moved) == heat_by_hand()


@pytest.mark.parametrize("processes", [1, 3, 8])
def test_heat_in_fortran_gives_the_bits_of_c(build, processes):
    fortran = runtime.run(build.fortran(), processes, HEAT)
    c = runtime.run(build("heat.c"), processes, HEAT, moves=False)
    assert (fortran.outputs, fortran.messages, fortran.charges) == (c.outputs, c.messages, c.charges)
    assert fortran.welcome["language"] == "Fortran"
    assert fortran.moves == processes * HEAT["steps"]


def test_heat_gives_the_sum_of_mpi(build, tmp_path):
    if shutil.which("mpicc") is None or shutil.which("mpirun") is None:
        pytest.skip("MPI is not installed")
    subprocess.run(["make", "-s", "-C", EXAMPLES, f"OUT={tmp_path}", "mpi"], check=True)
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", tmp_path / "mpi_heat", str(HEAT["size"]), str(HEAT["steps"])]
    mpi = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    values = plate(runtime.run(build("heat.c"), 3, HEAT))
    assert float(mpi) == pytest.approx(math.fsum(struct.unpack(f"<{len(values) // 8}d", values)), rel=1e-11)


@pytest.mark.parametrize("processes", [1, 3, 8])
def test_conjugate_gradients_are_the_same_wherever_they_are(build, processes):
    moved = runtime.run(build("cg.c"), processes, {"size": 24})
    shared = runtime.run(build("cg.c"), processes, {"size": 24}, shared=True)
    unmoved = runtime.run(build("cg.c"), processes, {"size": 24}, moves=False)
    assert moved.outputs == shared.outputs == unmoved.outputs
    assert moved.notes == shared.notes == unmoved.notes
    assert moved.welcome["round"] == (2, 0)
    with Executor(build("cg.c"), processes, {"size": 24}) as executor:
        verdict, text = executor.verify(moved.outputs)
        assert verdict == 1 and text.startswith("the residual is")
        wrong = [moved.outputs[0][:-8] + struct.pack("<d", 1.0), *moved.outputs[1:]]
        assert executor.verify(wrong)[0] == 3
        assert executor.verify([b""] * processes)[0] == 3


EVERYTHING = {"supersteps": 3, "double": 0.5, "bool": True, "text": 'ä"\\\n😀', "list": [1, {"a": None}], "round": 3}


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_each_function_does_what_it_says(build, shared, moves):
    run = runtime.run(build("everything.c"), 2, EVERYTHING, shared=shared, moves=moves, standby=[1], seed=7, supersteps=9)
    lines = {rank: [line[3:] for line in run.log.split("\n") if line.startswith(f"{rank}:")] for rank in (0, 1)}
    common = [
        "gathered 4 from 0",
        "gathered 0 from 0",
        "gathered 4 from 1",
        "gathered 1 from 1",
        "sum 0.20000000000000001 int -1 uint 1 sums 4 -2 ints -11 14 uints 18446744073709551613 and 0 or 1",
        "conflict 0 absent 0 elapsed 0.5 standby 0 1 seed 7 supersteps 9",
        'double 0.5 bool 1 text ä"\\',
    ]
    assert lines[0] == ["message from 0: ", "message from 1: to the right", "message from 1: to all", "1099511627776 bytes from 1", *common]
    assert lines[1] == ["message from 0: to the right", "message from 0: to all", "message from 1: ", "1099511627776 bytes from 0", *common]
    assert run.log.count('😀 json [1, {"a": null}] none otherwise') == 2
    # The parameters are arguments, too: bsp_create has seen --double=0.5.
    assert run.outputs == [b"Daa!", b"Dbb!"]
    assert run.notes == [(0, 0, "a note", 0.0), (0, 1, "a note", 0.5)]
    assert run.charges == [2**64 - 1] * 2 + [0] * 4
    assert run.snapshots["bytes", 0, 1] == (0, b"snapshot")
    kind, contents = run.snapshots["array", 0, 0]
    assert (kind, runtime.array(contents)) == (1, ("<f4", (1, 3), struct.pack("<3f", 1, 2, 3)))
    assert run.welcome["round"] == (3, 2)


def test_a_program_that_looks_at_the_seconds_says_so(build):
    with Executor(build("everything.c"), 2, EVERYTHING) as executor:
        executor.start(0, 0)
        items = runtime.reduced([(rank, item) for rank in (0, 1) for item in executor.step(0, 0).items])
        executor.start(1, 0)
        executor.step(1, 0)
        assert executor.step(1, 1, items=items).flags == 4
        assert executor.step(1, 2).flags == 1


@pytest.mark.parametrize("processes", [1, 3, 8])
def test_a_state_may_have_any_length(build, processes):
    for length in [0, 1, 65519, 65520, 65521, 65536, 1_000_003]:
        run = runtime.run(build("everything.c"), processes, {"state": length, "supersteps": 2})
        assert [len(output) for output in run.outputs] == [length + 1] * processes
        with Executor(build("everything.c"), 1, {"state": length}) as executor:
            executor.start(0, 0)
            state = executor.save(0)
            assert len(state) == 12 + length
            executor.load(1, 0, state)
            assert executor.save(1) == state


def test_large_messages_arrive(build):
    with Executor(build("ring.c"), 2, {"bytes": 3_000_001}) as executor:
        executor.start(0, 0)
        done = executor.step(0, 0)
        assert [(to, len(content)) for to, content in done.messages] == [(1, 3_000_001)] * 2
        messages = [(1, bytes([value]) * 3_000_001) for value in (3, 4)]
        done = executor.step(0, 1, messages=messages)
        assert [content[0] for _, content in done.messages] == [7, 7]


@pytest.mark.parametrize("processes", [1, 2, 5, 8])
def test_prefix_sums_of_bsplib(build, processes):
    run = runtime.run(build("sums.c"), processes, moves=False)
    assert [struct.unpack("<q", output)[0] for output in run.outputs] == [rank * (rank + 1) // 2 for rank in range(1, processes + 1)]
    assert run.welcome["flags"] == 0


@pytest.mark.parametrize("processes", [1, 2, 3, 7])
def test_puts_gets_and_messages_of_bsplib(build, processes):
    run = runtime.run(build("bsplib.c"), processes, moves=False)
    assert run.outputs == [b"right"] * processes
    assert run.log == "after the end\n" * processes


@pytest.mark.parametrize("processes", [1, 2, 3, 7])
def test_a_program_in_cplusplus_moves(build, processes):
    run = runtime.run(build("exceptions.cpp", "-std=c++11", "-O2", "-Wall", "-Wextra", "-Werror", compiler="c++"), processes)
    rounds = [[(rank + at) % processes for at in range(processes + 1)] for rank in range(processes)]
    assert [list(struct.unpack(f"<{processes + 1}q", output)) for output in run.outputs] == rounds
    assert run.welcome["language"] == "C++"


@pytest.mark.parametrize("source", ["heat.c", "cg.c", "everything.c", "ring.c"])
def test_nothing_leaks_and_nothing_is_undefined(build, source):
    flags = ["-std=c99", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    parameters = {"heat.c": HEAT, "cg.c": {"size": 9}}.get(source, {})
    command = build(source, *flags)
    if source == "ring.c":
        with Executor(command, 2, {"bytes": 5}) as executor:
            executor.start(0, 0)
            for index in range(3):
                executor.step(0, index, messages=[(1, b"12345")] if index else [])
            executor.load(1, 0, executor.save(0))
            executor.drop(0)
            executor.drop(1)
            executor.bye()
        return
    run = runtime.run(command, 3, parameters, shared=True)
    assert "ERROR" not in run.log
