//! A checker of its own: what a solution claims, from the definition.

use model::rebalance::{MoveCost, Problem, Solution};

/// Recomputes what `solution` claims from the definition.
pub(crate) fn check(
    problem: &Problem,
    target: f64,
    solution: &Solution,
    move_costs: &[Vec<MoveCost>],
) {
    let machines = problem.machines();
    let residents = problem.residents();
    assert_eq!(solution.assignment.len(), residents.len());
    let mut cost = 0.0;
    let mut migrations = 0;
    for (resident, &machine) in residents.iter().zip(&solution.assignment) {
        assert!(machine < machines.len(), "machine {machine}");
        if machine != resident.initial_machine {
            let move_cost =
                move_costs[machines[resident.initial_machine].group][machines[machine].group];
            cost += move_cost.fixed + move_cost.per_size * resident.size;
            migrations += 1;
        }
    }
    let mut level: f64 = 0.0;
    for (number, machine) in machines.iter().enumerate() {
        let on = residents.iter().zip(&solution.assignment);
        let on = on.filter(|&(_, &other)| other == number);
        let load: f64 = on.map(|(resident, _)| resident.workload).sum();
        level = level.max(load / machine.capacity);
    }
    assert!((solution.cost - cost).abs() <= 1e-9 * (1.0 + cost));
    assert!(0.0 <= solution.cost);
    assert!((solution.level - level).abs() <= 1e-9 * (1.0 + level));
    assert_eq!(solution.migrations, migrations);
    assert_eq!(solution.feasible, solution.level <= target * (1.0 + 1e-9));
    let initial = problem.level(&problem.initial_assignment());
    if initial <= target {
        assert_eq!(solution.migrations, 0);
    } else if !solution.feasible {
        assert!(solution.level <= initial, "nothing is better than worse");
    }
}
