//! Results of a search as text.

use crate::rebalance::instance::Instance;
use crate::rebalance::solve::report::{Assigned, Move, Report, level};
use crate::text::{Layout, counted, rounded};

/// The instance, the cost of each target, and for each target its moves and the resulting load of the
/// machines.
pub fn text(report: &Report, instance: &Instance, layout: Layout) -> String {
    let mut clusters = instance.clusters.clone();
    clusters.sort_unstable();
    clusters.dedup();
    let mut text = format!(
        "{}: {} on {} in {}, highest level {}, perfect balance {}\n\n",
        report.instance,
        counted(instance.processes.len(), "process"),
        counted(instance.capacities.len(), "machine"),
        counted(clusters.len(), "cluster"),
        level(report.dc_initial),
        level(report.dc_ideal),
    );
    text.push_str(&targets(report, layout));
    for solution in &report.solutions {
        text.push_str(&assigned(report, instance, solution, layout));
    }
    text.push_str(&layout.paragraph(&format!(
        "\nFound by {}, {} for each target, seed {}. A level is workload by capacity;\n`at least` is what \
         no assignment that meets the target costs less than.\n",
        report.algorithm, report.budget, report.seed
    )));
    text
}

fn targets(report: &Report, layout: Layout) -> String {
    let cost = unit(report, "cost");
    let headers = ["target", "level", "met", &cost, "at least", "moves"];
    layout.table(
        &headers,
        report.solutions.iter().map(|solution| {
            vec![
                solution.target.to_string(),
                level(solution.dc),
                if solution.feasible { "yes" } else { "NO" }.to_owned(),
                rounded(solution.cost, 3),
                solution
                    .lower_bound
                    .map_or_else(|| "impossible".to_owned(), |bound| rounded(bound, 3)),
                solution.migrations.to_string(),
            ]
        }),
    )
}

fn assigned(report: &Report, instance: &Instance, solution: &Assigned, layout: Layout) -> String {
    let met = if solution.feasible {
        ""
    } else {
        ", which is not met"
    };
    let heading = format!("\nTarget {}{met}: ", solution.target);
    if solution.moves.is_empty() {
        return format!("{heading}no moves\n");
    }
    let moves = counted(solution.moves.len(), "move");
    format!(
        "{heading}{moves}, the most expensive first\n\n{}\nMachines by initial level\n\n{}",
        move_table(report, instance, &solution.moves, layout),
        machines(report, instance, solution, layout),
    )
}

fn move_table(report: &Report, instance: &Instance, moves: &[Move], layout: Layout) -> String {
    let cost = unit(report, "cost");
    let headers = ["process", "workload", "size MB", "from", "to", "way", &cost];
    let row = |one: &Move| {
        let process = &instance.processes[one.process];
        let is_inside = instance.clusters[one.from.index] == instance.clusters[one.to.index];
        vec![
            one.process.to_string(),
            rounded(process.workload, 1),
            rounded(process.size, 2),
            one.from.to_string(),
            one.to.to_string(),
            if is_inside {
                "inside a cluster"
            } else {
                "between clusters"
            }
            .to_owned(),
            rounded(one.cost, 3),
        ]
    };
    cut(&headers, moves.iter().map(row).collect(), layout)
}

fn machines(report: &Report, instance: &Instance, solution: &Assigned, layout: Layout) -> String {
    let homes = instance.processes.iter().map(|process| process.machine);
    let counts_before = counts(homes, instance);
    let counts_after = counts(
        solution.assignment.iter().map(|machine| machine.index),
        instance,
    );
    let before = |machine: usize| report.loads_initial[machine] / instance.capacities[machine];
    let mut order: Vec<usize> = (0..instance.capacities.len()).collect();
    order.sort_by(|left, right| before(*right).total_cmp(&before(*left)));
    let row = |machine: usize| {
        let capacity = instance.capacities[machine];
        vec![
            instance.machines[machine].clone(),
            instance.clusters[machine].to_string(),
            rounded(capacity, 3),
            counts_before[machine].to_string(),
            counts_after[machine].to_string(),
            level(before(machine)),
            level(solution.loads[machine] / capacity),
        ]
    };
    let headers = [
        "machine",
        "cluster",
        "capacity",
        "processes",
        "after",
        "level",
        "after",
    ];
    cut(&headers, order.into_iter().map(row).collect(), layout)
}

/// Number of processes on each machine.
fn counts(places: impl Iterator<Item = usize>, instance: &Instance) -> Vec<usize> {
    let mut counts = vec![0; instance.capacities.len()];
    for place in places {
        counts[place] += 1;
    }
    counts
}

/// A table, and a hint if it is cut.
fn cut(headers: &[&str], rows: Vec<Vec<String>>, layout: Layout) -> String {
    let (shown, more) = layout.cut(rows.len(), ROWS);
    let rows = rows.into_iter().take(shown);
    // The last but one is the least needed, both of moves and of machines.
    let mut text = layout.reduced_table(headers, rows, &[5, 1, 2]);
    if 0 < more {
        text.push_str(&format!(
            " … {more} more; --all or --format json shows all of them\n"
        ));
    }
    text
}

fn unit(report: &Report, what: &str) -> String {
    match report.cost_unit {
        "seconds" => format!("{what} s"),
        _ => what.to_owned(),
    }
}

/// Maximum number of rows of a table.
const ROWS: usize = 10;
