//! Why targets are not met.

use migbsp::rebalance::Problem;

use crate::instance::Instance;
use crate::search::Search;
use crate::solve::report::{Assigned, Report};
use crate::target::Target;
use analysis::text::rounded;

/// A message for each target that is not met, one a line; `None` if all are.
pub fn complaint(report: &Report, instance: &Instance, search: Search) -> Option<String> {
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
