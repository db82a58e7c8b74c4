//! Results as tables of texts.

use crate::chen::Part;
use crate::chen::cell::{Cell, Quantity, Report};
use crate::sheet::Sheet;
use analysis::text::rounded;

/// The tables of a part, in the paper's order, then the claims.
pub(super) fn sheets(part: Part, report: &Report) -> Vec<Sheet> {
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
    Sheet {
        title: "Table 2: the highest initial level (DC_I)".to_owned(),
        headers: ["group", "paper", "ours", "error"]
            .map(str::to_owned)
            .to_vec(),
        rows: report.cells.iter().map(row).collect(),
    }
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
    Sheet {
        title: "Table 3: total seconds, and seconds until the best was found".to_owned(),
        headers: headers(&[
            "met",
            "cost s",
            "at least",
            "all: paper",
            "ours",
            "best: paper",
            "ours",
        ]),
        rows: rows.collect(),
    }
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
    Sheet {
        title: "Table 4: every move costs 1".to_owned(),
        headers: headers(&[
            "met: paper",
            "ours",
            "moves: paper",
            "ours",
            "error",
            "ms: paper",
            "ours",
        ]),
        rows: rows.collect(),
    }
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
            let mut headers = vec!["target".to_owned()];
            headers.extend(names.iter().map(|name| short(name)));
            headers.push("at least".to_owned());
            Sheet {
                title: title(&cells[0]),
                headers,
                rows: rows.collect(),
            }
        })
        .collect()
}

/// The numbers of each figure and group.
pub(super) fn curves(report: &Report) -> impl Iterator<Item = &[Cell]> {
    report
        .cells
        .chunk_by(|left, right| (left.figure, &left.group) == (right.figure, &right.group))
}

/// The algorithms of a figure.
pub(super) fn names(cells: &[Cell]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in cells.iter().filter_map(|cell| cell.algorithm.as_deref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Title of a figure.
pub(super) fn title(cell: &Cell) -> String {
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
pub(super) fn short(name: &str) -> String {
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
    Sheet {
        title: "Claims of the paper, and the number of cases in which they hold here".to_owned(),
        headers: ["claim", "holds in"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
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

fn headers(more: &[&str]) -> Vec<String> {
    let first = ["group", "target", "algorithm"];
    first
        .iter()
        .chain(more)
        .map(|name| (*name).to_owned())
        .collect()
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
