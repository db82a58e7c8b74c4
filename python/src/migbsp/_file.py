"""Files that do not call `migbsp.main`: scripts for MPI, and files with a class."""

from __future__ import annotations

import ast
import os
import runpy
import sys
import types
from collections.abc import Sequence

from . import _executor, _main
from ._program import Program

HELP = """\
Usage: python -m migbsp FILE COMMAND [OPTIONS] [-- ARGUMENTS]

FILE is a script that imports `migbsp.mpi` or `mpi4py`, or has a class of a program. The arguments are those of the script.

Examples:
  python -m migbsp stencil.py simulate -n 8
  python -m migbsp stencil.py up --local 4 --slow 4:0.4 -n 8
  python -m migbsp stencil.py --help
"""


def main(arguments: Sequence[str]) -> int:
    """Executes a file, as an executor, or a command for it; returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(HELP, end="")
        return 0 if arguments else 2
    file, *rest = arguments
    if not os.path.isfile(file):
        print(f"error: no file {file}: expected `python -m migbsp FILE COMMAND`", file=sys.stderr)
        return 2
    sys.path[0] = os.path.dirname(os.path.abspath(file))
    if not is_for_mpi(file):
        return _execute_class(file, rest)
    if _executor.is_executor():
        sys.argv = [file, *rest]
        replace_mpi4py()
        runpy.run_path(file, run_name="__main__")
        return 0
    name = os.path.splitext(os.path.basename(file))[0]
    target = _main.Target(name, f"python -m migbsp {file}", [sys.executable, "-m", "migbsp", os.path.abspath(file)])
    target.takes_arguments = True
    with open(file, "rb") as source:
        about = ast.get_docstring(ast.parse(source.read(), file))
    target.about = about + "\n\n" if about else ""
    return _main.command(target, rest)


def is_for_mpi(file: str) -> bool:
    """Whether a script imports `migbsp.mpi` or `mpi4py`."""
    with open(file, "rb") as source:
        tree = ast.parse(source.read(), file)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        if any(name.split(".")[:2] == ["migbsp", "mpi"] or name.split(".")[0] == "mpi4py" for name in names):
            return True
    return False


def replace_mpi4py() -> None:
    """From here on, `from mpi4py import MPI` imports `migbsp.mpi`."""
    from . import mpi

    package = types.ModuleType("mpi4py", "migbsp.mpi under another name")
    package.MPI = mpi  # type: ignore[attr-defined]
    package.__version__ = "4.0.0"  # type: ignore[attr-defined]
    sys.modules["mpi4py"] = package
    sys.modules["mpi4py.MPI"] = mpi


def _execute_class(file: str, arguments: Sequence[str]) -> int:
    """Executes a file, and then the commands of its class, if it does not call `migbsp.main`."""
    sys.argv = [file, *arguments]
    names = runpy.run_path(file, run_name="__main__")
    programs = [
        each
        for each in names.values()
        if isinstance(each, type) and issubclass(each, Program) and each.__module__ == "__main__"
    ]
    if len(programs) != 1:
        print(
            f"error: {file} has {len(programs) or 'no'} classes of programs, and does not call migbsp.main(CLASS)", file=sys.stderr
        )
        return 2
    if _executor.is_executor():
        _executor.serve(programs[0])
        return 0
    command = [sys.executable, "-m", "migbsp", os.path.abspath(file)]
    return _main.command(_main.Target.of_class(programs[0], command), arguments)
