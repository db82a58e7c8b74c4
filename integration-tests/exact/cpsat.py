#!/usr/bin/env python3
"""How far the best rebalancing method is from what an exact solver finds.

Needs OR-tools (`pip install ortools`), so it is no part of the tests.

    cargo run --release -p migbsp-rebalancing-algorithms --example rebalance_instance -- I1,1 200 100 76 > I1_1_200.json
    python3 integration-tests/exact/cpsat.py 60 I1_1_200.json ..

Solves the generalised assignment problem of every instance and target by CP-SAT with one worker for at most so
many seconds, and prints its cost, its bound, and the ratio of the instance's `best_cost` to its cost.
"""
import json
import sys

from ortools.sat.python import cp_model

SCALE = 1_000_000


def solve(instance, target, seconds):
    capacities, processes = instance["capacities"], instance["processes"]
    cluster, bandwidth = instance["cluster"], instance["bandwidth"]
    model = cp_model.CpModel()
    places = [[model.NewBoolVar("") for _ in capacities] for _ in processes]
    for row in places:
        model.AddExactlyOne(row)
    for machine, capacity in enumerate(capacities):
        load = sum(int(process[0]) * row[machine] for process, row in zip(processes, places))
        model.Add(load <= int(target * (1 + 1e-9) * capacity))
    cost = 0
    for (_, size, home), row in zip(processes, places):
        for machine, place in enumerate(row):
            if machine != home:
                way = "intra" if cluster[machine] == cluster[home] else "inter"
                cost += round(SCALE * size / bandwidth[way]) * place
    model.Minimize(cost)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    status = solver.Solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return solver.StatusName(status), solver.ObjectiveValue() / SCALE if found else None, solver.BestObjectiveBound() / SCALE


def main():
    for file in sys.argv[2:]:
        instance = json.load(open(file))
        for target, best, bound in zip(instance["targets"], instance["best_cost"], instance["bound"]):
            status, cost, exact_bound = solve(instance, target, float(sys.argv[1]))
            ratio = f"{best / cost:.4f}" if best and cost else "-"
            print(f"{instance['name']} {target}: {status} {cost}, bound {exact_bound:.4f};",
                  f"best {best}, bound {bound:.4f}; ratio {ratio}", flush=True)


main()
