//! What the papers of the model print, beside what our runs say.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use experiments::Failure;
use experiments::batch::Batch;

use crate::published::{Cell, Stated, Table, stated};
use crate::report::{Report, StatedReport, gains, runs_of_gains};
use crate::runs::{Outcome, Run, Variant, execute, forced};

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
    let stated = stated();
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
        runs.extend(runs_of_gains());
    }
    let outcomes = outcomes(runs, batch, &stated)?;
    let migrations = if part.has_migrations() {
        compare(&stated, ties, &outcomes)
    } else {
        Vec::new()
    };
    let gains = if part == Part::All {
        gains(&outcomes)
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

/// A part of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A table, or a figure that prints numbers.
    Table(Table),
    /// The migrations that the papers state.
    Migrations,
    /// All of these.
    All,
}

impl Part {
    /// All of them: the tables in the order of the papers, then the rest.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let tables = Table::ALL.into_iter().map(Self::Table);
        tables.chain([Self::Migrations, Self::All])
    }

    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Table(table) => table.name(),
            Self::Migrations => "migrations",
            Self::All => "all",
        }
    }

    /// The tables that it has.
    fn tables(self) -> impl Iterator<Item = Table> {
        Table::ALL
            .into_iter()
            .filter(move |table| self == Self::All || self == Self::Table(*table))
    }

    /// Whether it has the migrations that the papers state.
    const fn has_migrations(self) -> bool {
        matches!(self, Self::Migrations | Self::All)
    }
}
