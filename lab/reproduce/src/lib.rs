//! What papers print, and what our runs say: the command `reproduce`; and the best placements of steady experiments.

mod agreement;
mod application;
pub mod best_placement;
mod cell;
mod cell_report;
pub mod chen;
mod command;
pub mod du;
mod execute;
mod forced;
mod gain;
mod html;
mod mean;
mod part;
mod plot;
mod report;
mod run;
pub mod santana;
mod sheet;
mod stated;
mod summary;
mod text;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::execute::execute;
use crate::forced::forced;
use experiments::Failure;
use experiments::batch::Batch;

pub use agreement::{Agreement, AgreementTotal, StatedReport};
pub use application::Application;
pub use cell::{Cell, Table};
pub use cell_report::CellReport;
pub use command::command;
pub use execute::Outcome;
pub use gain::GainReport;
pub use html::page;
pub use mean::Mean;
pub use part::Part;
pub use report::Report;
pub use run::{Run, Variant};
pub use stated::{Destination, Stated};
pub use summary::summary;
pub use text::text;

/// Runs what `part` needs and sets it beside what the papers print.
///
/// The papers' scenario iii is compared with the runs of `ties`, each [`Variant::Iii`] or [`Variant::ReceiveTime`].
///
/// # Errors
///
/// If an experiment is at fault, which a test excludes for all that are in the binary.
pub fn reproduce(part: Part, ties: &[Variant], batch: Batch<'_>) -> Result<Report, Failure> {
    let others = [Variant::I, Variant::Ii, Variant::Forced];
    let variants: Vec<Variant> = others.iter().chain(ties).copied().collect();
    let stated = stated::stated();
    let cells: Vec<(Cell, Vec<Run>)> = part
        .tables()
        .flat_map(Table::cells)
        .map(|cell| (cell, runs_of(&cell, &variants, &stated)))
        .collect();
    let mut runs: Vec<Run> = cells.iter().flat_map(|(_, runs)| runs).copied().collect();
    if part.has_migrations() {
        let of = |stated: &Stated| {
            ties.iter()
                .map(|ties| Run::of_stated(stated, *ties))
                .collect::<Vec<_>>()
        };
        runs.extend(stated.iter().flat_map(of));
    }
    if part == Part::All {
        runs.extend(gain::runs());
    }
    let outcomes = outcomes(runs, batch, &stated)?;
    let migrations = if part.has_migrations() {
        compare(&stated, ties, &outcomes)
    } else {
        Vec::new()
    };
    let gains = if part == Part::All {
        gain::gains(&outcomes)
    } else {
        Vec::new()
    };
    Ok(Report::new(&cells, &outcomes, migrations, gains))
}

/// The runs that `cell` is compared with.
fn runs_of(cell: &Cell, variants: &[Variant], stated: &[Stated]) -> Vec<Run> {
    let is_wanted = |run: &Run| match run.variant {
        Variant::I | Variant::Ii => variants.contains(&run.variant),
        // The barrier of Table 6 is compared with scenario iii without a fixed plan.
        Variant::Iii if !cell.table.is_makespans() => true,
        Variant::Iii | Variant::ReceiveTime => {
            variants.contains(&run.variant) && cell.table.is_makespans()
        }
        Variant::Forced => {
            let is_wanted = variants.contains(&run.variant) && cell.table.is_makespans();
            is_wanted && forced(run, stated).is_some()
        }
    };
    Variant::ALL
        .into_iter()
        .filter(|variant| variant.scenario() == cell.scenario)
        .map(|variant| Run::of_cell(cell, variant))
        .filter(is_wanted)
        .collect()
}

/// The results of `runs`; each is run once.
fn outcomes(
    mut runs: Vec<Run>,
    batch: Batch<'_>,
    stated: &[Stated],
) -> Result<BTreeMap<Run, Outcome>, Failure> {
    // The longest first, so that no core ends with a long run.
    runs.sort_unstable_by_key(|run| (Reverse(run.weight()), *run));
    runs.dedup();
    let outcomes = batch.run(&runs, |run| execute(run, stated))?;
    Ok(runs.into_iter().zip(outcomes).collect())
}

/// The published results beside ours.
fn compare(
    stated: &[Stated],
    ties: &[Variant],
    outcomes: &BTreeMap<Run, Outcome>,
) -> Vec<StatedReport> {
    let report = |stated: &Stated| {
        let runs: Vec<_> = ties
            .iter()
            .filter_map(|ties| {
                let outcome = outcomes.get(&Run::of_stated(stated, *ties))?;
                Some((*ties, &outcome.report))
            })
            .collect();
        StatedReport::new(stated, &runs)
    };
    stated.iter().map(report).collect()
}
