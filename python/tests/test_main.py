"""The commands of a program's own file, with a stand-in for the command `migbsp`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from migbsp import _binary
from migbsp._main import Misuse, Options, literal

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "python"
STAND_IN = """#!{python}
import json, os, sys
arguments = sys.argv[1:]
files = {{each: open(each).read() for each in arguments if each.endswith(".toml") and os.path.exists(each)}}
folder = os.path.dirname(next(iter(files), ""))
print(json.dumps([arguments, files, sorted(os.listdir(folder)) if folder else []]))
sys.exit({code})
"""


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    file = tmp_path / "bin" / "migbsp"
    file.parent.mkdir()
    file.write_text(STAND_IN.format(python=sys.executable, code=3))
    file.chmod(0o755)
    return file


def command(binary: Path, *line: str, folder: Path = EXAMPLES) -> Any:
    ended = subprocess.run(
        [sys.executable, *line], capture_output=True, text=True, cwd=folder, env={**os.environ, "MIGBSP": str(binary)}
    )
    assert ended.returncode == 3, ended.stderr
    return json.loads(ended.stdout)


def toml(text: str) -> Any:
    tomllib = pytest.importorskip("tomllib")
    return tomllib.loads(text)


def test_simulate_writes_an_experiment(binary: Path) -> None:
    arguments, files, listed = command(
        binary, "heat.py", "simulate", "-n", "6", "-p", "size=64", "--parameter=steps=7", "--policy", "adaptive", "--trace"
    )
    file, *rest = arguments[1:]
    assert (arguments[0], rest) == ("simulate", ["--policy", "adaptive", "--trace"])
    assert os.path.basename(file) == "heat.toml"
    experiment = toml(files[file])
    assert experiment == {
        "application": {
            "workload": "external",
            "processes": 6,
            "external": {
                "program": "heat",
                "command": [sys.executable, str(EXAMPLES / "heat.py")],
                "charge": "declared",
                "parameters": {"size": 64, "steps": 7},
            },
        },
        "platform": {"file": "two-sets.toml"},
        "placement": {"per_host": 2},
    }
    assert listed == ["heat.toml", "two-sets.toml"]
    assert not os.path.exists(file)


def test_up_divides_its_options_from_those_of_the_run(binary: Path) -> None:
    line = ["heat.py", "up", "--local", "4", "--seed", "3", "--slow", "4:0.4", "-n8", "--slow=2:0.5", "--dashboard", "--", "--sets"]
    arguments, files, _ = command(binary, *line)
    (file,) = files
    assert arguments == [
        *["up", "--local", "4", "--slow", "4:0.4", "--slow=2:0.5", "--", "run", file],
        *["--seed", "3", "--dashboard", "--sets"],
    ]
    assert toml(files[file])["application"]["processes"] == 8


def test_an_own_experiment_is_changed_by_set(binary: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[application]\nprocesses = 3\n")
    line = ["heat.py", "compare", "--conf", str(own), "-p", "size=64", "-p", "name=some text", "--np=9", "--supersteps", "5"]
    arguments, _, _ = command(binary, *line[:6], *line[8:])
    assert arguments == [
        *["compare", str(own), "--set", 'application.workload="external"', "--set", 'application.external.program="heat"'],
        *["--set", f'application.external.command=["{sys.executable}", "{EXAMPLES / "heat.py"}"]'],
        *["--set", "application.processes=9", "--set", "application.supersteps=5"],
        *["--set", "application.external.parameters.size=64"],
    ]


def test_an_own_platform(binary: Path, tmp_path: Path) -> None:
    platform = tmp_path / "own.toml"
    platform.write_text("")
    _, files, _ = command(binary, "heat.py", "simulate", f"--platform={platform}", "--charge", "measured")
    experiment = toml(next(iter(files.values())))
    assert experiment["platform"] == {"file": str(platform)}
    assert "placement" not in experiment
    assert experiment["application"]["external"]["charge"] == "measured"
    assert experiment["application"]["processes"] == 4


def test_a_script_for_mpi_is_a_command(binary: Path, tmp_path: Path) -> None:
    line = ["-m", "migbsp", "mpi_heat.py", "simulate", "-n", "3", "-q", "--", "an", "argument"]
    arguments, files, _ = command(binary, *line)
    (file,) = files
    assert arguments == ["simulate", file, "-q"]
    assert toml(files[file])["application"]["external"] == {
        "program": "mpi_heat",
        "command": [sys.executable, "-m", "migbsp", str(EXAMPLES / "mpi_heat.py"), "an", "argument"],
        "charge": "measured",
    }


def test_a_file_with_a_class_is_a_command(binary: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import migbsp\nclass P(migbsp.Program):\n    pass\n")
    arguments, files, _ = command(binary, "-m", "migbsp", "program.py", "check", folder=tmp_path)
    assert arguments == ["check", next(iter(files))]
    external = toml(next(iter(files.values())))["application"]["external"]
    assert external["command"] == [sys.executable, "-m", "migbsp", str(tmp_path / "program.py")]
    assert external["charge"] == "declared"
    heat = command(binary, "-m", "migbsp", "heat.py", "check")[1]
    assert toml(next(iter(heat.values())))["application"]["external"]["command"] == [sys.executable, str(EXAMPLES / "heat.py")]


def run(*line: str, folder: Path = EXAMPLES, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *line], capture_output=True, text=True, cwd=folder, env={**os.environ, **environment}
    )


def test_help_has_the_parameters_of_the_program() -> None:
    for line in (["heat.py", "--help"], ["heat.py", "help"], ["heat.py", "simulate", "--help"]):
        ended = run(*line)
        assert ended.returncode == 0
        assert ended.stdout.startswith("The heat equation on a square plate")
        assert "  size   [default: 512]\n  steps  [default: 100]\n" in ended.stdout
        assert "  python heat.py simulate -n 8 -p size=512\n" in ended.stdout
    assert run("heat.py").returncode == 2
    assert run("-m", "migbsp", "mpi_heat.py", "--help").stdout.startswith("The heat equation on a square plate, written for MPI.")
    assert "FILE is a script that imports `migbsp.mpi` or `mpi4py`" in run("-m", "migbsp").stdout


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["heat.py", "simulat"], "unrecognized command `simulat`: expected check, simulate, compare"),
        (["heat.py", "check", "-n", "0"], "invalid value `0` for `-n`: expected a number from 1 on"),
        (["heat.py", "check", "-n"], "a value is required for `-n`"),
        (["heat.py", "check", "-p", "size"], "invalid value `size` for `-p`: expected NAME=VALUE"),
        (["heat.py", "check", "-p", "sise=3"], "no parameter `sise`: there are size, steps"),
        (["heat.py", "check", "--charge=free"], "invalid value `free` for `--charge`"),
        (["heat.py", "check", "--conf", "missing.toml"], "no file missing.toml"),
        (["-m", "migbsp", "missing.py", "check"], "no file missing.py"),
    ],
)
def test_command_lines_that_are_wrong(line: list[str], message: str, binary: Path) -> None:
    ended = run(*line, MIGBSP=str(binary))
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"error: {message}")


def test_the_experiment_can_be_printed() -> None:
    printed = run("cg.py", "run", "-n", "5", "--supersteps", "3", "--print-experiment")
    assert toml(printed.stdout)["application"]["supersteps"] == 3


def test_values_of_parameters() -> None:
    texts = ["5", "-1", "1e-9", "true", "text", "[1, 2]", '"5"', "NaN", "1 kB", ""]
    assert list(map(literal, texts)) == [5, -1, 1e-9, True, "text", [1, 2], "5", "NaN", "1 kB", ""]
    options = Options.parse(["-pa=b=c", "-p", "d=", "--out", "x", "--", "-n", "3"])
    assert options.parameters == {"a": "b=c", "d": ""}
    assert (options.rest, options.behind, options.processes) == (["--out", "x"], ["-n", "3"], None)
    with pytest.raises(Misuse):
        Options.parse(["-p", "=3"])


def test_an_interrupt_waits_for_the_command(tmp_path: Path) -> None:
    binary = tmp_path / "migbsp"
    binary.write_text(
        f"#!{sys.executable}\nimport signal, sys, time\nprint('begun', flush=True)\n"
        "try:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    time.sleep(0.2)\n    print('ended')\n    sys.exit(130)\n"
    )
    binary.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "heat.py", "run"],
        cwd=EXAMPLES,
        env={**os.environ, "MIGBSP": str(binary)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdout.read() == "ended\n"
    assert process.wait(10) == 130


def test_the_binary_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "migbsp"
    file.write_text("")
    file.chmod(0o755)
    monkeypatch.setenv("MIGBSP", str(file))
    assert _binary.find_binary() == file
    monkeypatch.setenv("MIGBSP", str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match="the variable MIGBSP names .*missing, which is not a file"):
        _binary.find_binary()
    monkeypatch.delenv("MIGBSP")
    monkeypatch.setattr(_binary, "_places", lambda: iter([tmp_path / "no", file]))
    assert _binary.find_binary() == file
    monkeypatch.setattr(_binary, "_places", lambda: iter([]))
    with pytest.raises(FileNotFoundError, match="no command migbsp: install the package"):
        _binary.find_binary()
