//! Results of a search as text.

use crate::budget::Limit;
use crate::instance::Instance;
use crate::solve::report::{Assigned, Move, Report, Seconds, level};
use crate::target::Target;
use analysis::text::{Layout, counted, data, duration, rounded};

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
    text.push_str(&layout.paragraph(&exceeded(report)));
    text.push_str(&targets(report, layout));
    for solution in &report.solutions {
        text.push_str(&assigned(report, instance, solution, layout));
    }
    text.push_str(&layout.paragraph(&legend(report, instance)));
    text
}

/// That machines hold more than they may before any move; empty: none does.
fn exceeded(report: &Report) -> String {
    let initial = &report.initial;
    let (Some(first), Some(held), Some(limits)) =
        (initial.exceeded.first(), &initial.memory, &initial.limits)
    else {
        return String::new();
    };
    let [held, limit] = [held, limits].map(|bytes| data(bytes[first.index] as f64));
    let first = format!("{first} ({held} of {limit})");
    match initial.exceeded.len() {
        1 => format!(
            "Above its memory before any move is machine {first}; every assignment below mends that.\n\n"
        ),
        count => format!(
            "{count} machines are above their memory before any move, as machine {first}; every assignment below \
             mends that.\n\n"
        ),
    }
}

fn legend(report: &Report, instance: &Instance) -> String {
    let (of_each, took) = match report.limit {
        Limit::Steps(_) => (" for each target", String::new()),
        Limit::Seconds(_) => ("", took(report.took)),
    };
    let exchange = if instance.weighs_exchange() {
        ",\nand the bytes exchanged with other machines by their weight"
    } else {
        ""
    };
    format!(
        "\nFound by {}, {}{of_each}, seed {}. A level is workload by capacity{exchange};\n`at least` is what \
         no assignment that meets the target costs less than.\n{took}",
        report.algorithm, report.limit, report.seed,
    )
}

fn took(seconds: Seconds) -> String {
    let Seconds {
        reading,
        searching,
        bounds,
    } = seconds;
    format!(
        "Reading took {}, searching {}, lower bounds {}.\n",
        duration(reading),
        duration(searching),
        duration(bounds)
    )
}

fn targets(report: &Report, layout: Layout) -> String {
    let cost = unit(report, "cost");
    let headers = ["target", "level", "met", &cost, "at least", "moves"];
    layout.table(
        &headers,
        report.solutions.iter().map(|solution| {
            vec![
                target(solution),
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
    let heading = format!("\nTarget {}{met}: ", target(solution));
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
            instance.process_name(one.process),
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
    let before = &report.initial;
    let mut order: Vec<usize> = (0..instance.capacities.len()).collect();
    order.sort_by(|left, right| before.levels[*right].total_cmp(&before.levels[*left]));
    let row = |machine: usize| {
        let mut row = vec![
            instance.machines[machine].clone(),
            instance.clusters[machine].to_string(),
            rounded(instance.capacities[machine], 3),
            counts_before[machine].to_string(),
            counts_after[machine].to_string(),
            level(before.levels[machine]),
            level(solution.levels[machine]),
        ];
        if let (Some(before), Some(after)) = (&before.exchanged, &solution.exchanged) {
            row.extend([before, after].map(|bytes| data(bytes[machine])));
        }
        if let (Some(before), Some(after)) = (&before.memory, &solution.memory) {
            row.extend([before, after].map(|bytes| data(bytes[machine] as f64)));
        }
        row
    };
    let mut headers = vec![
        "machine",
        "cluster",
        "capacity",
        "processes",
        "after",
        "level",
        "after",
    ];
    if before.exchanged.is_some() {
        headers.extend(["exchanged", "after"]);
    }
    if before.memory.is_some() {
        headers.extend(["memory", "after"]);
    }
    cut(&headers, order.into_iter().map(row).collect(), layout)
}

/// The target as it was asked for.
fn target(solution: &Assigned) -> String {
    match solution.percent_of_ideal {
        Some(percent) => format!("{} ({})", level(solution.target), Target::OfIdeal(percent)),
        None if solution.lowest => Target::Lowest.to_string(),
        None => solution.target.to_string(),
    }
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
