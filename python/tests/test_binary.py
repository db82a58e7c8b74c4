"""The examples and the offenders with the command `migbsp`, which the variable MIGBSP names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from heat import Heat

import migbsp

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parent.parent / "examples" / "python"
# The gate asks for fewer random changes, and for fewer programs.
IS_LONG = "MUTATED_FRAMES" not in os.environ

pytestmark = pytest.mark.skipif("MIGBSP" not in os.environ, reason="MIGBSP names no command")

CHECKED = [
    (["heat.py"], ["-p", "size=12", "-p", "steps=4"]),
    (["pagerank.py"], ["-p", "vertices=100", "-p", "tolerance=1e-3"]),
    (["cg.py"], ["-p", "size=8", "-p", "tolerance=1e-2"]),
    (["-m", "migbsp", "mpi_heat.py"], ["--", "2"]),
]
# Which program, and what `check` says of it.
OFFENDERS = {
    "shared_array": "the arrays plate and inner share memory",
    "class_attribute": "is another",
    "clock": "output of superstep 4 is another",
    "elapsed": "output of superstep 4 is another",
    "ended_loop": "moved before every superstep",
    "global_counter": "is another",
    "lost_attribute": "moved before every superstep: p2's message of superstep 0 is another",
    "memory": "of memory before superstep",
    "random_numbers": "message of superstep 0 is another",
    "remaining": "p1 executes superstep 3, but had said",
    "set_order": "is another",
    "unnamed_array": "moved before every superstep",
    "unsaved_halo": "is another",
}


def call(*line: str, folder: Path = EXAMPLES) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *line], capture_output=True, text=True, cwd=folder, timeout=300)


@pytest.mark.parametrize(("file", "options"), CHECKED if IS_LONG else CHECKED[:1])
def test_examples_keep_the_laws(file: list[str], options: list[str]) -> None:
    processes = ["1", "2", "3", "7"] if IS_LONG and file[0] != "-m" else ["2"]
    for count in processes:
        ended = call(*file, "check", "-n", count, *options)
        assert ended.returncode == 0, ended.stderr
        assert "keeps the laws of programs" in ended.stdout


@pytest.mark.parametrize("name", list(OFFENDERS) if IS_LONG else list(OFFENDERS)[:1])
def test_offenders_are_found(name: str) -> None:
    module = ["-m", "migbsp"] if "MPI" in (FOLDER / "offenders" / f"{name}.py").read_text() else []
    ended = call(*module, f"{name}.py", "check", "-n", "2", folder=FOLDER / "offenders")
    assert ended.returncode != 0
    assert OFFENDERS[name] in ended.stderr


def test_every_offender_is_listed() -> None:
    assert {file.stem for file in (FOLDER / "offenders").glob("*.py")} == set(OFFENDERS)


def test_outputs_of_a_simulation_are_those_of_this_interpreter(tmp_path: Path) -> None:
    file = tmp_path / "heat.npy"
    ended = call("heat.py", "simulate", "-n", "4", "-p", "size=16", "-p", "steps=5", "--outputs", str(file))
    assert ended.returncode == 0, ended.stderr
    here = migbsp.run_here(Heat, processes=4, size=16, steps=5)
    assert np.load(file).tobytes() == np.stack(here.outputs).tobytes()
