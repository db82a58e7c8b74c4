"""Programs that break a law on purpose: what a check compares shows it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import runtime
from runtime import ExecutorEnded, ProgramFailed, Runtime

FOLDER = Path(__file__).parent / "offenders"


def kept(name: str, *, moves: bool | set[int] = False, shared: bool = False) -> tuple[list[bytes], list[list[runtime.Done]]]:
    outcome = Runtime(
        [sys.executable, str(FOLDER / f"{name}.py")], 2, moves=moves, shared=shared, keeps=True, limit=12
    ).run()
    return outcome.outputs, outcome.dones


def is_caught(name: str) -> bool:
    """Whether executions differ: again, moved, and in one executor."""
    own = kept(name)
    is_script = "MPI" in (FOLDER / f"{name}.py").read_text()
    # A move of a script starts an interpreter.
    ways = [{}, {"moves": {2, 4}}] if is_script else [{}, {"moves": True}, {"shared": True}]
    for way in ways:
        try:
            outputs, dones = kept(name, **way)  # type: ignore[arg-type]
        except (ProgramFailed, ExecutorEnded, AssertionError):
            return True
        if outputs != own[0]:
            return True
        of_each = [[[(d.sends, d.items, d.charge) for d in step] for step in steps] for steps in (dones, own[1])]
        if of_each[0] != of_each[1]:
            return True
    return False


@pytest.mark.parametrize("name", sorted(file.stem for file in FOLDER.glob("*.py")))
def test_offenders_do_not_do_the_same_each_time(name: str) -> None:
    if name == "elapsed":
        _, dones = kept(name)
        assert all(done.flags & 4 for step in dones for done in step)
    elif name == "remaining":
        _, dones = kept(name)
        ends = [superstep + 1 + step[0].remaining for superstep, step in enumerate(dones)]
        assert min(ends) < len(dones)
    elif name == "memory":
        _, dones = kept(name)
        assert dones[0][0].state == 100
    else:
        assert is_caught(name)


def test_arrays_that_share_memory_are_refused_with_their_names() -> None:
    with pytest.raises(ProgramFailed, match="the arrays plate and inner share memory, and would not after a move") as failed:
        kept("shared_array", moves=True)
    assert failed.value.kind == 2


def test_a_script_that_sends_other_messages_after_a_move_is_told_why(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        """
from migbsp import mpi as MPI
comm = MPI.COMM_WORLD
total = comm.rank
state = comm.migratable(step=0)
while state.step < 3:
    comm.barrier()
    total += comm.allreduce(total)
    comm.barrier()
    state.step += 1
    comm.migrate()
"""
    )
    with pytest.raises(ProgramFailed, match="is all that changes in the loop named"):
        Runtime([sys.executable, str(script)], 2, moves={6}).run()
