//! The results as tables, as text and as a page.

use analysis::chart::{Lines, Scale, Series, Style};
use analysis::document::Document;
use analysis::text::rounded;

use crate::chen::{Cell, Part, Quantity, Report};
use crate::sheet::{self, Sheet};

/// The tables of a part, in the paper's order, then the claims.
fn sheets(part: Part, report: &Report) -> Vec<Sheet> {
    let mut sheets = match part {
        Part::Table2 => vec![levels(report)],
        Part::Table3 => vec![times(report)],
        Part::Table4 => vec![uniform(report)],
        Part::Figures => figures(report),
    };
    if !report.claims.is_empty() {
        sheets.push(claims(report));
    }
    sheets
}

fn levels(report: &Report) -> Sheet {
    let row = |cell: &Cell| {
        vec![
            cell.group.clone(),
            number(cell.paper, 0),
            number(cell.ours, 1),
            error(cell),
        ]
    };
    Sheet::new(
        "Table 2: the highest initial level (DC_I)",
        &["group", "paper", "ours", "error"],
        report.cells.iter().map(row),
    )
}

fn times(report: &Report) -> Sheet {
    let rows = rows(report).map(|cells| {
        let of = |quantity| find(cells, quantity);
        let mut row = heading(&cells[0]);
        row.extend([
            percent(of(Quantity::Success).ours),
            number(of(Quantity::Cost).ours, 3),
            number(of(Quantity::LowerBound).ours, 3),
            number(of(Quantity::SecondsTotal).paper, 4),
            number(of(Quantity::SecondsTotal).ours, 4),
            number(of(Quantity::SecondsToBest).paper, 4),
            number(of(Quantity::SecondsToBest).ours, 4),
        ]);
        row
    });
    Sheet::new(
        "Table 3: total seconds, and seconds until the best was found",
        &[
            "group",
            "target",
            "algorithm",
            "met",
            "cost s",
            "at least",
            "all: paper",
            "ours",
            "best: paper",
            "ours",
        ],
        rows,
    )
}

fn uniform(report: &Report) -> Sheet {
    let rows = rows(report).map(|cells| {
        let of = |quantity| find(cells, quantity);
        let [success, moves, time] = [
            Quantity::Success,
            Quantity::Migrations,
            Quantity::SecondsToBest,
        ]
        .map(of);
        let milliseconds = |seconds: Option<f64>| number(seconds.map(|seconds| seconds * 1e3), 2);
        let mut row = heading(&cells[0]);
        row.extend([
            percent(success.paper),
            percent(success.ours),
            number(moves.paper, 1),
            number(moves.ours, 1),
            error(moves),
            milliseconds(time.paper),
            milliseconds(time.ours),
        ]);
        row
    });
    Sheet::new(
        "Table 4: every move costs 1",
        &[
            "group",
            "target",
            "algorithm",
            "met: paper",
            "ours",
            "moves: paper",
            "ours",
            "error",
            "ms: paper",
            "ours",
        ],
        rows,
    )
}

/// One sheet for each figure and group: a row for each target, a column for each algorithm.
fn figures(report: &Report) -> Vec<Sheet> {
    curves(report)
        .map(|cells| {
            let names = names(cells);
            let by_target = cells.chunk_by(|left, right| left.target == right.target);
            let rows = by_target.map(|cells| {
                let mut row = vec![number(cells[0].target, 1)];
                row.extend(names.iter().map(|name| {
                    let is_own = |cell: &&Cell| {
                        cell.quantity == Quantity::Cost && cell.algorithm.as_deref() == Some(name)
                    };
                    number(cells.iter().find(is_own).and_then(|cell| cell.ours), 3)
                }));
                row.push(number(find(cells, Quantity::LowerBound).ours, 3));
                row
            });
            let short: Vec<String> = names.iter().map(|name| short(name)).collect();
            let mut headers = vec!["target"];
            headers.extend(short.iter().map(String::as_str));
            headers.push("at least");
            Sheet::new(title(&cells[0]), &headers, rows)
        })
        .collect()
}

/// The numbers of each figure and group.
fn curves(report: &Report) -> impl Iterator<Item = &[Cell]> {
    report
        .cells
        .chunk_by(|left, right| (left.figure, &left.group) == (right.figure, &right.group))
}

/// The algorithms of a figure.
fn names(cells: &[Cell]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in cells.iter().filter_map(|cell| cell.algorithm.as_deref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Title of a figure.
fn title(cell: &Cell) -> String {
    let figure = cell.figure.unwrap_or_default();
    let varied = match figure {
        4 => ", IMLP's levels and thresholds",
        5 => ", IMLP's penalties",
        _ => "",
    };
    format!(
        "Figure {figure}{varied}: {}, cost in seconds by target",
        cell.group
    )
}

/// A variant by its values alone: `6 crs2`, `full γ 1`.
fn short(name: &str) -> String {
    let values = name.strip_prefix("imlp:").unwrap_or(name);
    let keys = [
        ("levels=", ""),
        ("thresholds=", ""),
        ("penalisation=", ""),
        ("gamma=", "γ "),
        (",", " "),
    ];
    let shorten = |text: String, (key, instead): (&str, &str)| text.replace(key, instead);
    keys.into_iter().fold(values.to_owned(), shorten)
}

fn claims(report: &Report) -> Sheet {
    let rows = report.claims.iter().map(|claim| {
        vec![
            claim.claim.clone(),
            format!("{} of {}", claim.holds, claim.of),
        ]
    });
    Sheet::new(
        "Claims of the paper, and the number of cases in which they hold here",
        &["claim", "holds in"],
        rows,
    )
}

/// The numbers of each group, target and algorithm.
fn rows(report: &Report) -> impl Iterator<Item = &[Cell]> {
    report.cells.chunk_by(|left, right| {
        (&left.group, left.target, &left.algorithm)
            == (&right.group, right.target, &right.algorithm)
    })
}

fn find(cells: &[Cell], quantity: Quantity) -> &Cell {
    let found = cells.iter().find(|cell| cell.quantity == quantity);
    found.expect("every row has all quantities of its table")
}

fn heading(cell: &Cell) -> Vec<String> {
    vec![
        cell.group.clone(),
        cell.target
            .map_or_else(String::new, |target| target.to_string()),
        cell.algorithm.clone().unwrap_or_default(),
    ]
}

fn number(number: Option<f64>, decimals: u8) -> String {
    number.map_or_else(String::new, |number| match decimals {
        0 => format!("{number:.0}"),
        decimals => rounded(number, decimals),
    })
}

fn percent(part: Option<f64>) -> String {
    part.map_or_else(String::new, |part| format!("{part:.0} %"))
}

fn error(cell: &Cell) -> String {
    cell.error
        .map_or_else(String::new, |error| format!("{:+.1} %", error * 100.0))
}

/// Tables first, then the claims, then notes on method.
pub(crate) fn document(part: Part, report: &Report) -> Document {
    sheet::document(sheets(part, report), preface(part, report.instances))
}

/// Notes on method, and on published numbers without a counterpart.
fn preface(part: Part, instances: u32) -> String {
    let drawn = format!(
        "Means over {instances} instances of each group, drawn anew; the paper has 100 of its own."
    );
    let budget = "Every algorithm has the steps of sixteen first iterations of IMLP;";
    match part {
        Part::Table2 => drawn,
        Part::Table3 => format!(
            "{drawn}\n{budget} steps of one take longer than those\nof another. The paper's times are those of its machine, and it does not say for which targets they are; it\nprints no costs, but an order of them. Costs are means where all four meet the target."
        ),
        Part::Table4 => format!(
            "{drawn}\nISLP and TABU have the steps of sixteen first iterations of IMLP; MPARV ends by itself. Moves are means where\nthe target is met. With exchanges=needed two processes change places only where no single move meets the\ntarget, as the paper's numbers suggest and its text does not. With opt=workload a level is compared\nwith workloads, as algorithm 3 of the paper is written. Where the paper has nothing, its target is not met, or its\nnumber cannot be read."
        ),
        Part::Figures => format!(
            "{drawn}\n{budget} the paper draws its curves and\nprints no numbers of them: what its text says is counted above. A cost is there where the target is met on\nall instances. The group of figures 4 and 5 is not named in the paper. `best` is not in it; it has a million\nsteps."
        ),
    }
}

/// The page.
pub(crate) fn page(part: Part, report: &Report) -> String {
    let charts: Vec<String> = match part {
        Part::Figures => curves(report).map(chart).collect(),
        Part::Table2 | Part::Table3 | Part::Table4 => Vec::new(),
    };
    sheet::page(
        "Load rebalancing: the paper's numbers and ours",
        &preface(part, report.instances),
        &sheets(part, report),
        &charts,
    )
}

/// Costs of each algorithm, and the lower bound, by target.
fn chart(cells: &[Cell]) -> String {
    let points = |is_own: &dyn Fn(&Cell) -> bool| {
        let own = cells.iter().filter(|cell| is_own(cell));
        let point = |cell: &Cell| {
            (
                cell.target.unwrap_or(f64::NAN),
                cell.ours.unwrap_or(f64::NAN),
            )
        };
        own.map(point).collect()
    };
    let line = |name: &&str| Series {
        name: short(name),
        points: points(&|cell| {
            cell.quantity == Quantity::Cost && cell.algorithm.as_deref() == Some(*name)
        }),
        style: Style::Line,
        ..Series::default()
    };
    let mut series: Vec<Series> = names(cells).iter().map(line).collect();
    series.push(Series {
        name: "lower bound".to_owned(),
        points: points(&|cell| cell.quantity == Quantity::LowerBound),
        style: Style::Dashed,
        ..Series::default()
    });
    let costs = series.iter().flat_map(|series| &series.points);
    let costs: Vec<f64> = costs.map(|(_, cost)| *cost).collect();
    let lines = Lines {
        title: title(&cells[0]),
        note: String::new(),
        x_label: "target: highest level of a machine".to_owned(),
        y_label: "cost of migration (seconds)".to_owned(),
        x_is_log: false,
        y_scale: Scale::of(&costs),
        series,
        ..Lines::default()
    };
    lines.svg()
}
