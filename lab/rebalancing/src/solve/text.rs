//! Results of a search as text, and why targets are not met.

use analysis::document::{Document, Part, Table};
use analysis::text::{counted, data, duration, rounded};
use model::rebalance::Problem;

use crate::instance::Instance;
use crate::search::{Limit, Search, Target};
use crate::solve::{Assigned, Move, Report, Seconds, level};

/// The instance, the cost of each target, and for each target its moves and the resulting load of the
/// machines.
pub(crate) fn document(report: &Report, instance: &Instance) -> Document {
    let mut clusters = instance.clusters.clone();
    clusters.sort_unstable();
    clusters.dedup();
    let mut document = Document::default();
    document.say(format!(
        "{}: {} on {} in {}, highest level {}, perfect balance {}",
        report.instance,
        counted(instance.processes.len(), "process"),
        counted(instance.capacities.len(), "machine"),
        counted(clusters.len(), "cluster"),
        level(report.dc_initial),
        level(report.dc_ideal),
    ));
    document.extend(exceeded(report).map(Part::Paragraph));
    document.table(targets(report));
    for solution in &report.solutions {
        assigned(&mut document, report, instance, solution);
    }
    document.paragraph(legend(report, instance));
    document
}

/// That machines hold more than they may before any move; `None`: none does.
fn exceeded(report: &Report) -> Option<String> {
    let initial = &report.initial;
    let first = initial.exceeded.first()?;
    let (held, limits) = (initial.memory.as_ref()?, initial.limits.as_ref()?);
    let [held, limit] = [held, limits].map(|bytes| data(bytes[first.index] as f64));
    let first = format!("{first} ({held} of {limit})");
    Some(match initial.exceeded.len() {
        1 => format!(
            "Above its memory before any move is machine {first}; every assignment below mends that."
        ),
        count => format!(
            "{count} machines are above their memory before any move, as machine {first}; every assignment below \
             mends that."
        ),
    })
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
        "Found by {}, {}{of_each}, seed {}. A level is workload by capacity{exchange};\n`at least` is what \
         no assignment that meets the target costs less than.{took}",
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
        "\nReading took {}, searching {}, lower bounds {}.",
        duration(reading),
        duration(searching),
        duration(bounds)
    )
}

fn targets(report: &Report) -> Table {
    let cost = unit(report, "cost");
    let headers = ["target", "level", "met", &cost, "at least", "moves"];
    Table::new(
        headers,
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

fn assigned(document: &mut Document, report: &Report, instance: &Instance, solution: &Assigned) {
    let missed = if solution.feasible {
        ""
    } else {
        ", which is not met"
    };
    let heading = format!("Target {}{missed}: ", target(solution));
    if solution.moves.is_empty() {
        document.say(format!("{heading}no moves"));
        return;
    }
    let moves = counted(solution.moves.len(), "move");
    document.say(format!("{heading}{moves}, the most expensive first"));
    document.table(move_table(report, instance, &solution.moves));
    document.say("Machines by initial level");
    document.table(machines(report, instance, solution));
}

fn move_table(report: &Report, instance: &Instance, moves: &[Move]) -> Table {
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
    cut(Table::new(headers, moves.iter().map(row)))
}

fn machines(report: &Report, instance: &Instance, solution: &Assigned) -> Table {
    let initial = instance.processes.iter().map(|process| process.machine);
    let counts_before = counts(initial, instance);
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
    cut(Table::new(headers, order.into_iter().map(row)))
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

/// The table, cut if it is long.
fn cut(table: Table) -> Table {
    // The last but one is the least needed, both of moves and of machines.
    table.dispensing(&[5, 1, 2]).cut(ROWS, |more| {
        format!(" … {more} more; --all or --format json shows all of them")
    })
}

fn unit(report: &Report, what: &str) -> String {
    match report.cost_unit {
        "seconds" => format!("{what} s"),
        _ => what.to_owned(),
    }
}

/// Maximum number of rows of a table.
const ROWS: usize = 10;

/// A message for each target that is not met, one a line; `None` if all are.
pub(crate) fn complaint(report: &Report, instance: &Instance, search: Search) -> Option<String> {
    let missed = report
        .solutions
        .iter()
        .filter(|solution| !solution.feasible);
    let problem = instance.problem(search.cost);
    let lines: Vec<String> = missed
        .map(|solution| missed_by(report, (instance, &problem), search.cost_max, solution))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn missed_by(
    report: &Report,
    (instance, problem): (&Instance, &Problem),
    cost_max: f64,
    solution: &Assigned,
) -> String {
    let target = solution.target;
    let reached = beside(solution.dc, target);
    if solution.lowest {
        return format!(
            "no assignment within the limits of memory was found that costs at most {cost_max}: the cheapest costs {}",
            beside(solution.cost, cost_max)
        );
    }
    let asked = match solution.percent_of_ideal {
        Some(percent) => format!(
            "{} ({})",
            beside(target, report.dc_ideal),
            Target::OfIdeal(percent)
        ),
        None => target.to_string(),
    };
    if let Some((machine, level)) = pinned_above(problem, target) {
        let (machine, level) = (&instance.machines[machine], beside(level, target));
        return format!(
            "target {asked} cannot be met: processes that may not move bring machine {machine} to {level}; \
             {reached} was reached"
        );
    }
    let message = match solution.lower_bound {
        None if target < report.dc_ideal => format!(
            "target {asked} cannot be met: perfect balance is {}; {reached} was reached",
            beside(report.dc_ideal, target)
        ),
        None => format!("target {asked} cannot be met by any assignment; {reached} was reached"),
        Some(_) if solution.is_exhausted => format!(
            "target {asked} is not met: {} reached {reached} and ended within {}; another --algorithm may find more",
            report.algorithm, report.limit
        ),
        Some(_) => format!(
            "target {asked} is not met: {} reached {reached} within {}; a larger --budget may find more",
            report.algorithm, report.limit
        ),
    };
    let lower = solution.relaxed.iter();
    let lower = lower.filter(|relaxed| relaxed.level < solution.dc * (1.0 - ROUNDED));
    let without: Vec<String> = lower
        .map(|relaxed| {
            let level = beside(relaxed.level, target);
            format!("; without {}, it reached {level}", relaxed.what)
        })
        .collect();
    message + &without.concat()
}

/// The machine that its processes that may not move bring to the highest level, if that is above `target`.
fn pinned_above(problem: &Problem, target: f64) -> Option<(usize, f64)> {
    let loads = problem.pinned_loads().into_iter().zip(problem.machines());
    let levels = loads.map(|(load, machine)| load / machine.capacity);
    let highest = levels.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    highest.filter(|(_, level)| target * (1.0 + ROUNDED) < *level)
}

/// Levels differ by less because they are rounded.
const ROUNDED: f64 = 1e-9;

/// A level as text, with enough digits to show on which side of `target` it is.
fn beside(number: f64, target: f64) -> String {
    let side = number.partial_cmp(&target);
    let is_distinct = |text: &String| {
        let read = text.parse::<f64>();
        read.is_ok_and(|read| read.partial_cmp(&target) == side)
    };
    let mut texts = (2..=DECIMALS_MAX).map(|decimals| rounded(number, decimals));
    texts
        .find(is_distinct)
        .unwrap_or_else(|| number.to_string())
}

/// Maximum number of digits.
const DECIMALS_MAX: u8 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_level_is_on_the_same_side_of_the_target() {
        for (number, target, text) in [
            (45.0, 44.0, "45.00"),
            (33.33, 33.33, "33.33"),
            (100.0 / 3.0, 33.33, "33.333"),
            (100.0 / 3.0, 33.3333, "33.33333"),
            (33.334, 33.33, "33.334"),
            (33.329, 33.33, "33.329"),
            (1.0 + f64::EPSILON, 1.0, "1.0000000000000002"),
        ] {
            assert_eq!(beside(number, target), text, "{number} {target}");
        }
    }
}
