"""Compares `migbsp rebalance` with the optimum of small instances that have pins, memory and edges.

    python -m venv venv && venv/bin/pip install scipy
    venv/bin/python integration-tests/exact/limits.py target/release/migbsp [INSTANCES]

Each instance is drawn from its number. The target is between the lowest level that is found and the level before any
move. HiGHS (scipy.optimize.milp) solves the instance as a mixed integer linear program: x[p, m] says that process p is on
machine m, y[b, m] that machine m holds block b, and z[e, m] that exactly one process of edge e is there. Ends with 1 if
the geometric mean of the costs, ours to the optimum, is above 1.05, or if a target is missed that can be met.
"""

import json
import math
import random
import subprocess
import sys
import tempfile

import numpy
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_matrix


def draw(number):
    """An instance with 4 machines and 20 processes."""
    lot = random.Random(number)
    machines, processes, blocks = 4, 20, 4
    capacities = [lot.choice([1, 1, 2]) for _ in range(machines)]
    rows = []
    for _ in range(processes):
        rows.append({
            "workload": round(lot.lognormvariate(1, 0.7), 3),
            "size": round(lot.lognormvariate(1, 1), 3),
            "machine": lot.choice([0, 0, 1, 2, 3]),
            "movable": lot.random() < 0.85,
            "memory": lot.randint(1, 20),
            "blocks": sorted(lot.sample(range(blocks), lot.choice([0, 1, 1, 2]))),
        })
    sizes = [lot.randint(5, 40) for _ in range(blocks)]
    held = [0] * machines
    for machine in range(machines):
        here = [row for row in rows if row["machine"] == machine]
        used = {block for row in here for block in row["blocks"]}
        held[machine] = sum(row["memory"] for row in here) + sum(sizes[block] for block in used)
    room = max(held)
    edges = []
    for _ in range(30):
        one, other = lot.sample(range(processes), 2)
        edges.append([one, other, lot.randint(1, 100)])
    return {
        "name": f"drawn {number}",
        "capacities": capacities,
        "cluster": [0, 0, 1, 1],
        "bandwidth": {"intra": 100, "inter": 10},
        "memory": [max(room * lot.uniform(0.5, 1.1), own) for own in held],
        "blocks": sizes,
        "processes": rows,
        "edges": edges,
        "weight": 0.01,
    }


def optimum(instance, target):
    """The least cost of an assignment that meets the target; None if there is none."""
    rows, edges = instance["processes"], instance["edges"]
    count, machines = len(rows), len(instance["capacities"])
    blocks = len(instance["blocks"])
    x = lambda process, machine: process * machines + machine
    y = lambda block, machine: count * machines + block * machines + machine
    z = lambda edge, machine: (count + blocks) * machines + edge * machines + machine
    size = (count + blocks + len(edges)) * machines
    costs, lower, upper = numpy.zeros(size), numpy.zeros(size), numpy.ones(size)
    terms, low, high = [], [], []

    def constrain(row, least, most):
        terms.append(row)
        low.append(least)
        high.append(most)

    for process, row in enumerate(rows):
        home = row["machine"]
        for machine in range(machines):
            if machine != home:
                same = instance["cluster"][machine] == instance["cluster"][home]
                bandwidth = instance["bandwidth"]["intra" if same else "inter"]
                costs[x(process, machine)] = row["size"] / bandwidth
                if not row["movable"]:
                    upper[x(process, machine)] = 0
            for block in row["blocks"]:
                constrain({y(block, machine): 1, x(process, machine): -1}, 0, math.inf)
        constrain({x(process, machine): 1 for machine in range(machines)}, 1, 1)
    for edge, (one, other, _) in enumerate(edges):
        for machine in range(machines):
            for first, second in [(one, other), (other, one)]:
                row = {z(edge, machine): 1, x(first, machine): -1, x(second, machine): 1}
                constrain(row, 0, math.inf)
    for machine, capacity in enumerate(instance["capacities"]):
        level = {x(p, machine): row["workload"] / capacity for p, row in enumerate(rows)}
        level |= {z(e, machine): instance["weight"] * edge[2] for e, edge in enumerate(edges)}
        constrain(level, 0, target)
        memory = {x(p, machine): row["memory"] for p, row in enumerate(rows)}
        memory |= {y(b, machine): size for b, size in enumerate(instance["blocks"])}
        constrain(memory, 0, instance["memory"][machine])
    matrix = lil_matrix((len(terms), size))
    for number, row in enumerate(terms):
        for column, value in row.items():
            matrix[number, column] += value
    whole = numpy.zeros(size)
    whole[: (count + blocks) * machines] = 1
    solved = milp(
        costs,
        constraints=LinearConstraint(matrix.tocsr(), low, high),
        integrality=whole,
        bounds=Bounds(lower, upper),
        options={"time_limit": 120, "mip_rel_gap": 1e-6},
    )
    return (solved.fun, solved.mip_gap) if solved.x is not None else (None, None)


def rebalance(program, instance, *arguments):
    """The first solution of `migbsp rebalance`."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(instance, file)
        file.flush()
        command = [program, "rebalance", file.name, "--format", "json", *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode not in (0, 3):
        sys.exit(ended.stderr)
    found = json.loads(ended.stdout)
    return found, found["solutions"][0]


def main():
    program = sys.argv[1]
    instances = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    logarithms, missed = [], 0
    for number in range(1, instances + 1):
        instance = draw(number)
        found, lowest = rebalance(program, instance, "--target", "min", "--budget", "200 ms")
        initial = max(found["levels_initial"])
        target = round(0.6 * lowest["dc"] + 0.4 * initial, 4)
        _, ours = rebalance(program, instance, "--target", str(target), "--budget", "100 ms")
        least, gap = optimum(instance, target)
        if not ours["feasible"]:
            missed += 1
            print(f"{number:3}: target {target} missed; optimum {least}")
        elif least is not None and least > 1e-9:
            logarithms.append(math.log(ours["cost"] / least))
            print(f"{number:3}: {ours['cost']:.4f} of {least:.4f}, gap {gap:.1e}", flush=True)
    mean = math.exp(sum(logarithms) / len(logarithms))
    print(f"geometric mean {mean:.4f} over {len(logarithms)} instances, {missed} missed")
    sys.exit(0 if mean <= 1.05 and missed == 0 else 1)


if __name__ == "__main__":
    main()
