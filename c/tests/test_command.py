"""The stencil in C by the command: checked, simulated, moved, without a node, and resumed. Outputs are equal to the last bit."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLATFORM = """[[set]]
name = "s"
hosts = 2
cores = 1
speed = "1 Gf"
link = { bandwidth = "125 MBps", latency = "50 us" }
"""
EXPERIMENT = """[application]
workload = "external"
processes = 6
[application.external]
command = ["./heat"]
parameters = { size = 60, steps = 1500 }
[platform]
file = "platform.toml"
[checkpoint]
first = 0.1
"""


@pytest.fixture
def command(build, tmp_path):
    binary = os.environ.get("MIGBSP") or str(ROOT / "target/debug/migbsp")
    if not pathlib.Path(binary).exists():
        pytest.skip("there is no migbsp: cargo build")
    (tmp_path / "heat").symlink_to(build("heat.c")[0])
    (tmp_path / "platform.toml").write_text(PLATFORM)
    (tmp_path / "heat.toml").write_text(EXPERIMENT)

    def execute(*words):
        ended = subprocess.run([binary, *map(str, words)], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert ended.returncode == 0, (words, ended.stdout, ended.stderr)
        return ended.stdout

    return execute


def test_the_stencil_computes_the_same_in_all_ways(command, tmp_path):
    said = command("check", "heat.toml", "--set", "application.external.parameters.steps=8")
    assert "keeps the laws" in said
    command("simulate", "heat.toml", "--outputs", "simulated.json")
    moves = ", ".join(f'{{ superstep = {at}, process = "p1", to = "{to}" }}' for at, to in ((4, "node-2"), (20, "node-1")))
    script = ["--set", f"scheduler.script=[{moves}]", "--set", "scheduler.interval=4", "--format", "json", "--outputs", "moved.json"]
    shown = json.loads(command("up", "--local", 2, "--slow", "2:0.4", "--", "run", "heat.toml", *script))
    assert sum(len(call["migrations"]) for call in shown["run"]["calls"]) == 2
    lost = ["--format", "json", "--outputs", "lost.json", "--checkpoint", "saved"]
    shown = json.loads(command("up", "--local", 3, "--kill", "2@700", "--", "run", "heat.toml", *lost))
    assert [view["reason"] for view in shown["views"]] == ["start", "lost"]
    command("up", "--local", 2, "--", "run", "--resume", "saved", "--outputs", "resumed.json")
    outputs = {(tmp_path / f"{name}.json").read_bytes() for name in ("simulated", "moved", "lost", "resumed")}
    assert len(outputs) == 1
