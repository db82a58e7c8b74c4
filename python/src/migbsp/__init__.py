"""Bulk-synchronous parallel programs whose processes are rescheduled while they run.

A program is a class (`Program`); `main` makes its file a command:

    python heat.py check -n 4                     holds it to the laws of programs
    python heat.py simulate -n 8                  runs it on a simulated platform
    python heat.py up --local 4 --slow 4:0.4 -n 8   runs it on real processes of this machine, and moves them

`run_here` runs it in this interpreter. `migbsp.mpi` executes programs that are written for MPI. `simulate`, `compare`,
`sweep`, `run`, `explain` and the others call the command `migbsp` and return its results as tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _executor

_executor.take_channel()

from ._frames import ProtocolError
from ._main import main
from ._program import Failure, Program, Round, Start, Superstep, share
from ._reduction import And, Max, Min, Or, ReductionError, Sum

if TYPE_CHECKING:
    from ._attached import attached
    from ._binary import find_binary
    from ._reference import Finished, Note, ProgramError, Snapshot, run_here
    from .analysis import (
        CheckError,
        ClusterError,
        Comparison,
        InputError,
        MigbspError,
        Record,
        Simulation,
        UsageError,
        check,
        compare,
        explain,
        record,
        run,
        simulate,
        sweep,
        verify,
    )
    from .frames import Frame

# Executors do without these, and start sooner.
_MODULES = {
    "frames": "",
    "Frame": "frames",
    "attached": "_attached",
    "find_binary": "_binary",
    **dict.fromkeys(("Finished", "Note", "ProgramError", "Snapshot", "run_here"), "_reference"),
    **dict.fromkeys(
        (
            "CheckError",
            "ClusterError",
            "Comparison",
            "InputError",
            "MigbspError",
            "Record",
            "Simulation",
            "UsageError",
            "check",
            "compare",
            "explain",
            "record",
            "run",
            "simulate",
            "sweep",
            "verify",
        ),
        "analysis",
    ),
}

__all__ = [
    "And",
    "CheckError",
    "ClusterError",
    "Comparison",
    "Failure",
    "Finished",
    "Frame",
    "InputError",
    "Max",
    "MigbspError",
    "Min",
    "Note",
    "Or",
    "Program",
    "ProgramError",
    "ProtocolError",
    "Record",
    "ReductionError",
    "Round",
    "Simulation",
    "Snapshot",
    "Start",
    "Sum",
    "Superstep",
    "UsageError",
    "attached",
    "check",
    "compare",
    "explain",
    "find_binary",
    "frames",
    "main",
    "record",
    "run",
    "run_here",
    "share",
    "simulate",
    "sweep",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f".{_MODULES[name] or name}", __name__)
    value = globals()[name] = getattr(module, name) if _MODULES[name] else module
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
