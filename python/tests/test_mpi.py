"""Scripts for MPI."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import runtime
from runtime import READY, SAVED, Executor, ProgramFailed, Runtime, hello

from migbsp._values import decode

FOLDER = Path(__file__).parent
HEAT = FOLDER.parent.parent / "examples" / "python" / "mpi_heat.py"
HEAD = "import sys\nimport numpy as np\nfrom migbsp import mpi as MPI\ncomm = MPI.COMM_WORLD\nrank, size = comm.rank, comm.size\n"


def run(folder: Path, source: str, processes: int = 3, **settings: object) -> list[str]:
    """What the processes of a script print."""
    file = folder / "script.py"
    file.write_text(HEAD + source)
    outcome = Runtime([sys.executable, str(file)], processes, **settings).run()  # type: ignore[arg-type]
    return [decode(output) for output in outcome.outputs]


def failure(folder: Path, source: str, processes: int = 3, **settings: object) -> ProgramFailed:
    with pytest.raises(ProgramFailed) as failed:
        run(folder, source, processes, **settings)
    return failed.value


def calls(processes: int) -> str:
    outcome = Runtime([sys.executable, "-m", "migbsp", str(FOLDER / "mpi_calls.py")], processes).run()
    return decode(outcome.outputs[0])


def test_calls_give_what_mpi4py_gave_on_mpich() -> None:
    assert calls(3) == (FOLDER / "mpi_calls_of_3.txt").read_text()


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")
@pytest.mark.parametrize("processes", [2, 5])
def test_calls_give_what_mpi4py_gives(processes: int) -> None:
    mpiexec = shutil.which("mpiexec", path=os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    if mpiexec is None:
        pytest.skip("mpiexec is not installed")
    command = [mpiexec, "-n", str(processes), sys.executable, str(FOLDER / "mpi_calls.py")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert calls(processes) == ended.stdout


def test_a_script_that_names_its_state_moves() -> None:
    command = [sys.executable, str(HEAT)]
    still = Runtime(command, 2).run()
    assert decode(still.outputs[0]).startswith("step 10: 514.718540355")
    for moves in ({1, 6, 20}, {33, 34}):
        moved = Runtime(command, 2, moves=moves).run()
        assert moved.outputs == still.outputs
        assert moved.supersteps == still.supersteps
        assert moved.moves == 2 * len(moves)


def test_a_state_is_the_same_moved_or_not(tmp_path: Path) -> None:
    source = """
size_of = comm.bcast({"n": 4} if rank == 0 else None)["n"]
print("start", file=sys.stderr)
print("start")
state = comm.migratable(step=0, u=np.full(size_of, 1.0 * rank))
while state.step < 3:
    state.u += comm.allreduce(state.u.sum())
    print(state.step)
    comm.barrier()
    state.step += 1
    comm.migrate()
"""
    (tmp_path / "script.py").write_text(HEAD + source)
    states = []
    for moves in ({4}, {1, 3, 4}):
        given = Runtime([sys.executable, str(tmp_path / "script.py")], 2, moves=moves, keeps=True)
        seen: list[bytes] = []
        expect = Executor.expect

        def kept(self: Executor, expected: int, kind: int, handle: int, body: bytes = b"") -> bytes:
            answer = expect(self, expected, kind, handle, body)
            if kind == runtime.SAVE:
                seen.append(answer)
            return answer

        try:
            Executor.expect = kept  # type: ignore[method-assign]
            outcome = given.run()
        finally:
            Executor.expect = expect  # type: ignore[method-assign]
        states.append(seen[-2:])
        assert [decode(output) for output in outcome.outputs] == ["start\n0\n1\n2\n"] * 2
    assert states[0] == states[1]


def test_the_length_of_a_state_is_known(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(
        HEAD + "s = comm.migratable(step=0, u=np.arange(9.0))\n"
        "while s.step < 4:\n    comm.sendrecv('x' * s.step, 0, source=0)\n    comm.migrate()\n    s.step += 1"
    )
    given = Executor([sys.executable, str(file)])
    given.welcome(hello(1))
    given.expect(READY, runtime.START, 0, bytes(16))
    for superstep in range(4):
        body = given.expect(runtime.DONE, runtime.STEP, 0, runtime.step_body(superstep, 0.0, []))
        length = len(given.expect(SAVED, runtime.SAVE, 0))
        assert length <= runtime.read_done(0, body).state < length + 30
    given.end()


def test_what_a_process_prints_is_its_output(tmp_path: Path) -> None:
    outputs = run(tmp_path, "print('at', rank)\nprint('elsewhere', file=sys.stderr)\nsys.stdout.write('end')")
    assert outputs == [f"at {rank}\nend" for rank in range(3)]


def test_processes_that_wait_for_each_other(tmp_path: Path) -> None:
    source = "comm.recv(source=(rank + 1) % size, tag=7) if rank else comm.Barrier()"
    found = failure(tmp_path, source)
    assert found.message == (
        "migbsp.mpi.MPIError: deadlock: p1 waits in barrier for p2 and p3; p2 waits in recv for a message of p3 with tag 7; "
        "p3 waits in recv for a message of p1 with tag 7"
    )
    assert "script.py" in found.details and "mpi.py" not in found.details


def test_a_process_that_waits_for_one_that_has_ended(tmp_path: Path) -> None:
    source = """
comm.barrier()
if rank == 1:
    sys.exit()
comm.Recv(np.zeros(1), source=MPI.ANY_SOURCE)
"""
    found = failure(tmp_path, source)
    assert "deadlock: p1 waits in Recv for a message of any process; p3 waits in Recv" in found.message


def test_long_computations_are_no_deadlock(tmp_path: Path) -> None:
    source = """
if rank == 0:
    for step in range(5):
        comm.migrate()
    comm.send("late", 1)
elif rank == 1:
    print(comm.recv(source=0))
"""
    assert run(tmp_path, source)[1] == "late\n"


def test_different_calls_of_all_processes(tmp_path: Path) -> None:
    found = failure(tmp_path, "comm.bcast(1) if rank == 0 else comm.allreduce(2)\ncomm.barrier()", 2)
    assert "p2 is in allreduce with migbsp.mpi.SUM, while p1 is in bcast" in found.message


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("comm.Split(0)", "NotImplementedError: migbsp.mpi has no Comm.Split: there is COMM_WORLD with Send, Recv"),
        ("comm.Gatherv(1, 2)", "NotImplementedError: migbsp.mpi has no Comm.Gatherv"),
        ("MPI.File.Open", "NotImplementedError: migbsp.mpi has no File"),
        ("MPI.Op.Create(max)", "NotImplementedError: migbsp.mpi has no Op.Create"),
        ("comm.isend(1, 0).cancel()", "NotImplementedError: migbsp.mpi has no Request.cancel"),
        ("comm.Allreduce(np.zeros(1), np.zeros(1), MPI.MAXLOC)", "NotImplementedError: migbsp.mpi has MAXLOC for objects only"),
        ("comm.send(1, 5)", "migbsp.mpi.MPIError: send to rank 5, but the ranks are 0 to 0"),
        ("comm.recv(source=5)", "migbsp.mpi.MPIError: recv from rank 5"),
        ("comm.bcast(1, root=3)", "migbsp.mpi.MPIError: bcast with root 3"),
        ("comm.send(1, 0, -3)", "migbsp.mpi.MPIError: send with tag -3"),
        ("comm.scatter([1, 2])", "migbsp.mpi.MPIError: scatter of 2 objects to 1 processes"),
        ("comm.Send(np.zeros(3), 0); comm.Recv(np.zeros(2))", "migbsp.mpi.MPIError: Recv from p1: 3 elements have arrived for 2"),
        ("comm.Send(np.zeros(3), 0); comm.Recv(np.zeros(3, int))", "migbsp.mpi.MPIError: Recv from p1: an array of float64"),
        ("comm.send('x', 0); comm.Recv(np.zeros(3))", "migbsp.mpi.MPIError: Recv from p1: an object has arrived, not an array"),
        ("comm.Send(np.zeros((3, 3))[:, 1], 0)", "ValueError: an array that is not contiguous is no buffer"),
        ("comm.send({1}, 0)", "TypeError: a set cannot be encoded, because its order differs"),
        ("comm.Abort(3)", "p1 calls Abort(3)"),
        ("raise ValueError('broken')", "ValueError: broken"),
        ("sys.exit(4)", "the program calls sys.exit(4)"),
        ("sys.exit('bad input')", "the program calls sys.exit('bad input')"),
        ("1 +", "SyntaxError: invalid syntax"),
        ("comm.migratable(a=1); comm.migratable(b=1)", "migbsp.mpi.MPIError: migratable is called twice"),
        ("s = comm.migratable(a={1}); comm.migrate()", "TypeError: a set cannot be encoded"),
        (
            "s = comm.migratable(a=1); r = comm.irecv(); comm.migrate()",
            "migbsp.mpi.MPIError: migrate is called before a request is complete",
        ),
        ("s = lambda: comm.migratable(a=1)\ncomm.migrate()", "migbsp.mpi.MPIError: migrate is called before migratable"),
    ],
)
def test_failures(tmp_path: Path, source: str, message: str) -> None:
    if "SyntaxError" in message:
        # The script is not executed at all: the interpreter ends, and the log says why.
        (tmp_path / "script.py").write_text(HEAD + source)
        with pytest.raises(runtime.ExecutorEnded):
            Runtime([sys.executable, str(tmp_path / "script.py")], 1).run()
        return
    assert failure(tmp_path, source, 1).message.startswith(message)


def test_objects_of_other_types_are_pickled_if_the_script_allows_it(tmp_path: Path) -> None:
    outputs = run(tmp_path, "MPI.allows_pickle = True\nprint(sorted(comm.allgather({rank})[1]))")
    assert outputs == ["[1]\n"] * 3


def test_messages_that_are_not_received_are_in_the_log(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(HEAD + "comm.send('lost', rank)")
    given = Executor([sys.executable, str(file)])
    given.welcome(hello(1))
    given.expect(READY, runtime.START, 0, bytes(16))
    given.expect(runtime.DONE, runtime.STEP, 0, runtime.step_body(0, 0.0, []))
    given.expect(runtime.OK, runtime.DROP, 0)
    assert given.end() == 0
    assert given.errors() == "migbsp: p1 ends with 1 messages that it has not received\n"


def test_a_script_that_does_not_name_its_state_cannot_be_saved(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(HEAD + "comm.barrier()")
    given = Executor([sys.executable, str(file)])
    assert given.welcome(hello(2))[0] == 0
    given.expect(READY, runtime.START, 0, bytes(16))
    given.expect(runtime.DONE, runtime.STEP, 0, runtime.step_body(0, 0.0, []))
    with pytest.raises(ProgramFailed, match="the script does not name its state"):
        given.request(runtime.SAVE, 0)
    with pytest.raises(ProgramFailed, match="a request of kind 2, which this executor of one process does not expect"):
        given.request(runtime.START, 1, bytes(16))
    assert given.process.wait(10) == 1
    given.close()


def test_hostile_states_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(HEAD + "s = comm.migratable(step=0)\ncomm.barrier()\ncomm.migrate()")
    for state in (b"", b"\xc1", b"\x90", b"\x95\1\xc0\xc0\xc4\0\0", b"\x95\1\x91\xc0\x90\xc4\0\0", b"\x95\1\x90\x90\xc4\1\xc1\0"):
        given = Executor([sys.executable, str(file)])
        assert given.welcome(hello(2))[0] == 1
        with pytest.raises(ProgramFailed):
            given.request(runtime.LOAD, 0, bytes(16) + state)
        given.close()


def test_a_process_that_has_not_begun_can_be_moved(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(HEAD + "s = comm.migratable(step=0)\nprint(rank)")
    command = [sys.executable, str(file)]
    one, other = Executor(command), Executor(command)
    for given in (one, other):
        given.welcome(hello(2))
    one.expect(READY, runtime.START, 0, b"\1" + bytes(15))
    state = one.expect(SAVED, runtime.SAVE, 0)
    other.expect(READY, runtime.LOAD, 5, b"\1" + bytes(15) + state)
    done = runtime.read_done(1, other.expect(runtime.DONE, runtime.STEP, 5, runtime.step_body(0, 0.0, [])))
    assert decode(done.output) == "1\n"
    # One that has ended, too.
    third = Executor(command)
    third.welcome(hello(2))
    third.expect(READY, runtime.LOAD, 6, b"\1" + bytes(15) + other.expect(SAVED, runtime.SAVE, 5))
    with pytest.raises(ProgramFailed, match="a request of kind 3"):
        third.request(runtime.STEP, 6, runtime.step_body(1, 0.0, []))
    third.close()
    for given in (one, other):
        given.end()


def test_a_script_without_migbsp_is_one_process(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        HEAD + "s = comm.migratable(u=3)\ncomm.migrate()\nprint(size, comm.allreduce(5), comm.sendrecv(1, 0, source=0), s.u)\ncomm.recv()"
    )
    ended = subprocess.run([sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True)
    assert ended.stdout == "1 5 1 3\n"
    assert "deadlock: p1, the only process, waits in recv for a message of any process" in ended.stderr


def test_charges_are_measured_unless_the_script_charges(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(HEAD + "comm.charge(500)\ncomm.barrier()\ncomm.charge(7)")
    assert Runtime([sys.executable, str(file)], 2).run().charge == 1014


def test_wrong_types_of_status_and_names() -> None:
    from migbsp import mpi

    assert (mpi.Get_processor_name(), mpi.Is_initialized(), mpi.COMM_WORLD.Get_name()) == ("p1", True, "MPI_COMM_WORLD")
    assert mpi.Wtime() > 0
    with pytest.raises(AttributeError):
        mpi.COMM_WORLD._missing
    with pytest.raises(NotImplementedError, match="migbsp.mpi has no COMM_SELF"):
        mpi.COMM_SELF
