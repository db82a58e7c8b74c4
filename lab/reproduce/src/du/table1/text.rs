//! The table as text.

use analysis::document::Document;

use super::checks::Check;
use crate::du::table1::{Parameters, Report, Strategy, Table, TableRow};
use crate::sheet::{self, Sheet, verdict};

/// A table for each condition, then the checks, then notes on method.
pub(crate) fn document(report: &Report) -> Document {
    let mut sheets: Vec<Sheet> = report.tables.iter().flat_map(sheets).collect();
    sheets.push(checks(report));
    sheet::document(sheets, notes(report))
}

fn sheets(table: &Table) -> [Sheet; 3] {
    [seconds(table), ratios(table), bands(table)]
}

fn seconds(table: &Table) -> Sheet {
    let row = |row: &TableRow| {
        let mut cells = vec![
            row.name.to_owned(),
            format!("{:.0}", row.work_seconds),
            format!("{:.1}", row.state_megabytes),
        ];
        cells.extend(row.cells.iter().map(|cell| match cell.seconds.margin {
            Some(margin) => format!("{:.1} ± {margin:.1}", cell.seconds.value),
            None => format!("{:.1}", cell.seconds.value),
        }));
        cells
    };
    let strategies = Strategy::ALL.map(Strategy::name);
    Sheet::new(
        format!(
            "Seconds from the decision to the end, {}",
            table.condition.name()
        ),
        &[&["row", "work s", "state MB"][..], &strategies].concat(),
        table.rows.iter().map(row),
    )
}

fn ratios(table: &Table) -> Sheet {
    let row = |row: &TableRow| {
        let mut cells = vec![row.name.to_owned()];
        let others = row
            .cells
            .iter()
            .filter(|cell| cell.strategy != Strategy::Dsa);
        cells.extend(others.map(|cell| match cell.to_dsa_range {
            Some([low, high]) => format!("{:.3} ({low:.2}-{high:.2})", cell.to_dsa),
            None => format!("{:.3}", cell.to_dsa),
        }));
        let dsa = row.cell(Strategy::Dsa).paper;
        cells.extend(Strategy::PAPER[1..].iter().map(|strategy| {
            let printed = row.cell(*strategy).paper;
            let ratio = printed.zip(dsa).map(|(printed, dsa)| printed / dsa);
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}"))
        }));
        cells
    };
    let [_, ours @ ..] = Strategy::ALL.map(Strategy::name);
    Sheet::new(
        format!(
            "The same as a multiple of DSA, paired by seed, geometric means (95 %), {}",
            table.condition.name()
        ),
        &[&["row"][..], &ours, &["paper: MCM", "ETM", "RS"]].concat(),
        table.rows.iter().map(row),
    )
}

fn bands(table: &Table) -> Sheet {
    let row = |strategy: Strategy| {
        let mut cells = vec![strategy.name().to_owned()];
        let share = |band: usize| 100.0 * table.mean(strategy, |cell| cell.bands[band]);
        cells.extend((0..4).map(|band| format!("{:.1} %", share(band))));
        cells.push(format!("{:.3}", table.mean(strategy, |cell| cell.to_best)));
        cells.push(format!("{:.3}", table.mean(strategy, |cell| cell.to_dsa)));
        cells
    };
    Sheet::new(
        format!(
            "Trials by how far they are above the best of the paper's four, {}",
            table.condition.name()
        ),
        &[
            "strategy",
            "≤ 5 %",
            "5-20 %",
            "20-50 %",
            "> 50 %",
            "times best",
            "times DSA",
        ],
        Strategy::ALL.map(row),
    )
}

fn checks(report: &Report) -> Sheet {
    let row = |check: &Check| {
        vec![
            check.id.clone(),
            check.claim.clone(),
            format!("{:.3}", check.limit),
            format!("{:.3}", check.value),
            verdict(check.holds),
        ]
    };
    Sheet::new(
        "Checks, busy network",
        &["check", "of", "limit", "ours", ""],
        report.checks.iter().map(row),
    )
}

fn notes(report: &Report) -> String {
    let Parameters {
        utilisation,
        lifetime,
        longest,
        spread,
    } = report.parameters;
    let [least, most] = utilisation;
    let [slow, fast] = spread;
    let (seeds, end) = (report.seeds, lifetime * longest);
    format!(
        "Every cell is a mean over {seeds} seeds, which draw owners' jobs and levels of links; all strategies meet the same.
The experiments are conf/du2007/linpack-1.toml to xlintims-3.toml. Of each host, a utilisation from {least} to {most} is
drawn. Jobs last {lifetime} s / x, as in the paper, but at most {end} s, because without an end their lifetime has no
mean; a factor from {slow} to {fast} of each host applies. The paper does not state its ranges, its capacities or what work
was left: those are ours. Of each link, 2 to 50 % are left on a busy network, 5 to 100 % on a mixed one and 30 to 100 % on
a light one. A process with preemptive owners computes while no job does; with shared ones it has an equal share.
DSA+ expects a job to go on for as long again as it has run. The clairvoyant choice is the host that turns out to be the
best of all, idle or not. Means of short rows hang on a few long interruptions: the checks are about ratios with equal
seeds."
    )
}
