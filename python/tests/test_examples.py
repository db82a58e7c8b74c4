"""The examples in all ways: checked, simulated, moved, on a slow node, without a node, and resumed. Outputs are equal to the last bit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/python"
SOURCE = str(ROOT / "python/src")
#: Parameters, and a superstep before which there is a checkpoint.
PROGRAMS = {
    "heat": (["-n", "6", "-p", "size=48", "-p", "steps=500"], 150),
    "pagerank": (["-n", "6", "-p", "vertices=300", "-p", "degree=2", "-p", "damping=0.98", "-p", "tolerance=1e-12"], 90),
}
EARLY = ["--set", "checkpoint.first=0.03s"]


@pytest.fixture
def binary():
    found = os.environ.get("MIGBSP") or str(ROOT / "target/debug/migbsp")
    if not Path(found).exists():
        pytest.skip("there is no migbsp: cargo build")
    return found


@pytest.fixture
def command(binary, tmp_path):
    def execute(*words, python=True):
        program = [sys.executable, str(EXAMPLES / words[0]), *words[1:]] if python else [binary, *words]
        environment = {**os.environ, "PYTHONPATH": SOURCE, "MIGBSP": binary}
        ended = subprocess.run(list(map(str, program)), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert ended.returncode == 0, (words, ended.stdout, ended.stderr)
        return ended.stdout

    return execute


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_computes_the_same_in_all_ways(name, command, tmp_path):
    file, (options, late) = f"{name}.py", PROGRAMS[name]
    read = lambda output: (tmp_path / output).read_bytes()  # noqa: E731
    command(file, "simulate", *options, "--outputs", "simulated.json")
    moves = [{"superstep": at, "process": "p1", "to": to} for at, to in ((4, "node-2"), (20, "node-3"), (40, "node-1"))]
    script = "[" + ", ".join(f'{{ superstep = {m["superstep"]}, process = "p1", to = "{m["to"]}" }}' for m in moves) + "]"
    moved = ["--set", f"scheduler.script={script}", "--set", "scheduler.interval=4", "--format", "json", "--outputs", "moved.json"]
    shown = json.loads(command(file, "up", "--local", 3, "--slow", "3:0.4", *options, *moved))
    assert sum(len(call["migrations"]) for call in shown["run"]["calls"]) == 3
    assert read("moved.json") == read("simulated.json")
    lost = [*EARLY, "--format", "json", "--outputs", "lost.json", "--checkpoint", "saved"]
    shown = json.loads(command(file, "up", "--local", 3, "--kill", f"2@{late}", *options, *lost))
    assert [view["reason"] for view in shown["views"]] == ["start", "lost"]
    assert shown["views"][1]["superstep"] > 0
    assert read("lost.json") == read("simulated.json")
    command("up", "--local", 2, "--", "run", "--resume", "saved", "--outputs", "resumed.json", python=False)
    assert read("resumed.json") == read("simulated.json")


@pytest.mark.parametrize(("name", "options"), [("heat", ["-p", "size=24", "-p", "steps=8"]), ("pagerank", ["-p", "vertices=100"]), ("cg", [])])
def test_an_example_keeps_the_laws(name, options, command):
    assert "keeps the laws" in command(f"{name}.py", "check", "-n", 3, *options)
