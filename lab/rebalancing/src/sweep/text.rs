//! The cost of each level as text.

use crate::sweep::report::{Point, Report};
use analysis::text::{Layout, rounded};

/// A row for each level, the lowest first, and a column for each algorithm.
pub fn text(report: &Report, layout: Layout) -> String {
    let mut headers = vec!["target"];
    headers.extend(report.algorithms.iter().map(String::as_str));
    headers.push("at least");
    headers.extend(["moves", "spared"]);
    let name = names(report);
    let rows = report.levels().map(|level| {
        let best = best(level);
        let mut row = vec![name(level[0].target)];
        row.extend(level.iter().map(cost));
        row.push(
            level[0]
                .lower_bound
                .map_or_else(|| "impossible".to_owned(), |bound| rounded(bound, 3)),
        );
        row.push(best.map_or_else(String::new, |best| best.migrations.to_string()));
        row.push(best.map_or_else(String::new, |best| spared(report, best.dc)));
        row
    });
    let what = match report.cost_unit {
        "moves" => "number of moves",
        _ => "cost in seconds of migration",
    };
    format!(
        "{}: {what}, by highest allowed level of a machine\n\n{}\n{}",
        report.instance,
        layout.table(&headers, rows),
        layout.paragraph(&legend(report))
    )
}

fn cost(point: &Point) -> String {
    if point.feasible {
        rounded(point.cost, 3)
    } else {
        String::new()
    }
}

/// The cheapest that meets the level.
fn best(level: &[Point]) -> Option<&Point> {
    let met = level.iter().filter(|point| point.feasible);
    met.min_by(|left, right| left.cost.total_cmp(&right.cost))
}

/// The part of the possible gain that a level reaches.
fn spared(report: &Report, reached: f64) -> String {
    let most = report.dc_initial - report.dc_ideal;
    let part = (report.dc_initial - reached) / most;
    if 0.0 < most && part.is_finite() {
        format!("{:.0} %", (part * 100.0).clamp(0.0, 100.0))
    } else {
        String::new()
    }
}

fn legend(report: &Report) -> String {
    format!(
        "The initial highest level is {}, perfect balance {}. `at least` is a lower\n\
         bound, `moves` are those of the cheapest, `spared` is the part of the imbalance that goes. \
         An empty place: not met.\n\
         Budget: {} for {} number{}; seed {}.\n",
        rounded(report.dc_initial, 2),
        rounded(report.dc_ideal, 2),
        report.budget,
        if report.budget.ends_with("steps") {
            "each"
        } else {
            "all"
        },
        if report.budget.ends_with("steps") {
            ""
        } else {
            "s together"
        },
        report.seed
    )
}

/// The labels of the rows: as given if two would look the same.
fn names(report: &Report) -> fn(f64) -> String {
    let texts: Vec<String> = report
        .levels()
        .map(|level| short(level[0].target))
        .collect();
    if texts.windows(2).any(|pair| pair[0] == pair[1]) {
        |level: f64| level.to_string()
    } else {
        short
    }
}

fn short(level: f64) -> String {
    rounded(level, 2)
}
