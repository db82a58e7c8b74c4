"""`migbsp rebalance import` reads LB data of vt as a few lines that know JSON alone do."""

import json
import random
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python/src"))

from migbsp.analysis import call  # noqa: E402

RANKS, TASKS, PHASE, WEIGHT, LIMIT = 5, 60, 2, 1e-6, 4000


def write(folder, draw):
    """Files of random tasks, of which some share blocks, and of random communications, recorded at either end."""
    tasks = []
    for number in range(TASKS):
        entity = {"type": "object", "id": 1000 + number, "home": draw.randrange(RANKS), "migratable": draw.random() < 0.9}
        user = {"rank_working_bytes": 1e8, "task_working_bytes": draw.choice([1e6, 5e6]), "shared_id": draw.randrange(-1, 9)}
        user |= {"task_footprint_bytes": float(draw.randrange(10**6)), "shared_bytes": 2e8, "task_serialized_bytes": 1e5}
        tasks.append({"entity": entity, "node": entity["home"], "resource": "cpu", "time": draw.random(), "user_defined": user})
    communications = defaultdict(list)
    for _ in range(4 * TASKS):
        ends = draw.choices(tasks, k=2)
        kind = draw.choice(["SendRecv", "SendRecv", "Broadcast"])
        message = {"type": kind, "messages": 1, "bytes": float(draw.randrange(10**5))}
        message |= {"from": ends[0]["entity"], "to": ends[1]["entity"]}
        communications[draw.choice(ends)["node"]].append(message)
    for rank in range(RANKS):
        own = [task for task in tasks if task["node"] == rank]
        phase = {"id": PHASE, "tasks": own, "communications": communications[rank]}
        metadata = {"type": "LBDatafile", "rank": rank}
        text = json.dumps({"metadata": metadata, "phases": [{"id": 0, "tasks": []}, phase]})
        (folder / f"data.{rank}.json").write_text(text)


def read(folder):
    """Load, memory and bytes exchanged with others of each rank, and bytes of all pairs of tasks."""
    phases = [json.loads((folder / f"data.{rank}.json").read_text())["phases"] for rank in range(RANKS)]
    phases = [next(phase for phase in own if phase["id"] == PHASE) for own in phases]
    home = {task["entity"]["id"]: rank for rank, phase in enumerate(phases) for task in phase["tasks"]}
    loads = [sum(task["time"] for task in phase["tasks"]) for phase in phases]
    memory, exchanged, total = [], [0.0] * RANKS, 0.0
    working = max(task["user_defined"]["task_working_bytes"] for phase in phases for task in phase["tasks"])
    for phase in phases:
        user = [task["user_defined"] for task in phase["tasks"]]
        blocks = {one["shared_id"]: one["shared_bytes"] for one in user if one["shared_id"] >= 0}
        base = max(one["rank_working_bytes"] for one in user)
        memory.append(base + working + sum(blocks.values()) + sum(one["task_footprint_bytes"] for one in user))
        for message in phase["communications"]:
            ends = message["from"]["id"], message["to"]["id"]
            if message["type"] == "SendRecv" and ends[0] != ends[1]:
                total += message["bytes"]
                ranks = {home[end] for end in ends}
                for rank in ranks if len(ranks) == 2 else []:
                    exchanged[rank] += message["bytes"]
    return loads, memory, exchanged, total


@pytest.mark.parametrize("seed", range(3))
def test_loads_levels_edges_and_memory_are_those_of_the_files(seed, tmp_path):
    write(tmp_path, random.Random(seed))
    loads, memory, exchanged, total = read(tmp_path)
    file = tmp_path / "instance.json"
    call("rebalance", "import", tmp_path, "--memory", LIMIT, "--out", file)
    instance = json.loads(file.read_text())
    assert sum(edge[2] for edge in instance["edges"]) == pytest.approx(total, rel=1e-12)
    arguments = ["rebalance", file, "--target", 1000, "--weight", WEIGHT, "--budget", "1000 steps", "--format", "json"]
    results = json.loads(call(*arguments))
    assert results["loads_initial"] == pytest.approx(loads, rel=1e-12)
    assert results["exchanged_initial"] == pytest.approx(exchanged, rel=1e-12)
    levels = [load + WEIGHT * size for load, size in zip(loads, exchanged)]
    assert results["levels_initial"] == pytest.approx(levels, rel=1e-9)
    assert results["dc_initial"] == pytest.approx(max(levels), rel=1e-9)
    # What a rank occupies without tasks is taken from its limit.
    occupied = [own + 1e6 * (LIMIT - limit) for own, limit in zip(results["memory_initial"], instance["memory"])]
    assert occupied == pytest.approx(memory, abs=len(instance["processes"]))
    assert len(instance["processes"]) == TASKS


def test_an_export_has_each_task_on_the_rank_of_the_plan(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    write(data, random.Random(7))
    file, plan, out = tmp_path / "instance.json", tmp_path / "plan.json", tmp_path / "out"
    call("rebalance", "import", data, "--out", file)
    plan.write_text(call("rebalance", file, "--target", 7, "--budget", "100 ksteps", "--format", "json"))
    solution = json.loads(plan.read_text())["solutions"][0]
    assert solution["migrations"] > 0
    call("rebalance", "export", plan, data, "--out", out)
    loads, *_ = read(out)
    assert loads == pytest.approx(solution["loads"], rel=1e-12)
    before, after = tasks_of(data), tasks_of(out)
    assert before.keys() == after.keys()
    assert [after[task]["node"] for task in sorted(after)] == [int(rank) for rank in solution["assignment"]]
    for task, own in before.items():
        assert own | {"node": after[task]["node"]} == after[task]


def tasks_of(folder):
    """The tasks of a phase by id, each of which has the rank of its file."""
    tasks = {}
    for rank in range(RANKS):
        phase = json.loads((folder / f"data.{rank}.json").read_text())["phases"][1]
        assert all(task["node"] == rank for task in phase["tasks"])
        tasks |= {task["entity"]["id"]: task for task in phase["tasks"]}
    return tasks
