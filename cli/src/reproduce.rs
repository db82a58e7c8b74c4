//! `migbsp reproduce`: published results beside those of our runs.

mod agreement;
mod application;
mod cell;
mod chen;
mod forced;
mod gain;
mod html;
mod mean;
mod plot;
mod report;
mod run;
mod stated;
mod summary;
mod text;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::bar::RunBar;
use crate::file::{check_writable, write};
use crate::output::{Format, print, print_json};
use crate::reproduce::agreement::StatedReport;
use crate::reproduce::cell::{Cell, Table};
use crate::reproduce::forced::forced;
use crate::reproduce::report::Report;
use crate::reproduce::run::{Outcome, Run, Variant};
use crate::reproduce::stated::Stated;
use experiments::Failure;
use experiments::batch::{self, Progress};

/// Arguments of `reproduce`.
#[derive(Debug, Args)]
pub(crate) struct ReproduceArguments {
    /// Part of the papers
    #[arg(value_name = "PART", value_enum, default_value_t)]
    part: Part,
    /// Rule among processes of equal potential; both by default
    #[arg(long, value_enum, value_name = "FIRST")]
    ties: Option<Ties>,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Means, gains and migrations only, without the cells
    #[arg(long)]
    summary: bool,
    /// File for a page with tables and charts, written in addition
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Number of instances of each group for means; chen2008 only [default: 100, of table4 and figures 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    instances: Option<u32>,
    /// Whether to show a progress bar on stderr.
    #[arg(skip)]
    pub(crate) progress: bool,
}

/// A part of the papers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Lattice Boltzmann on 10 processes
    Table1,
    /// on 25
    Table2,
    /// on 50
    Table3,
    /// on 100
    Table4,
    /// on 200
    Table5,
    /// Waiting time of p1 at the last barrier
    Table6,
    /// Smith-Waterman
    Table7,
    /// LU decomposition of orders up to 2000
    Table9,
    /// LU decomposition of order 5000
    Fig16,
    /// The published migrations
    Migrations,
    /// All of these
    #[default]
    All,
    /// Chen, Wang and Lau 2008: initial levels
    #[value(name = "chen2008-table2")]
    ChenTable2,
    /// cost and search time of rebalancing algorithms
    #[value(name = "chen2008-table3")]
    ChenTable3,
    /// number of moves that they need
    #[value(name = "chen2008-table4")]
    ChenTable4,
    /// costs against levels, figures 4 to 7
    #[value(name = "chen2008-figures")]
    ChenFigures,
}

/// Rule among processes of equal potential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Ties {
    /// The lowest rank: scenario iii
    Rank,
    /// The shortest reception time: scenario iii-receive-time
    ReceiveTime,
}

/// Runs the experiments of a part and shows the results beside the published ones.
///
/// # Errors
///
/// If an option does not apply to the part, or results cannot be written.
pub(crate) fn command(arguments: &ReproduceArguments) -> Result<(), Failure> {
    if let Some(part) = arguments.part.chen() {
        for (is_given, option) in [
            (arguments.ties.is_some(), "--ties"),
            (arguments.summary, "--summary"),
        ] {
            if is_given {
                let problem =
                    format!("{option} does not apply to chen2008, which has no rescheduling");
                return Err(Failure::Usage(problem));
            }
        }
        let orders = chen::Orders {
            instances: arguments.instances,
            format: arguments.format,
            html: arguments.html.as_deref(),
            progress: &RunBar::new(arguments.progress),
        };
        return chen::command(part, orders);
    }
    if arguments.summary && arguments.format != Format::Table {
        let problem = "--summary cannot be used with --format";
        return Err(Failure::Usage(problem.to_owned()));
    }
    if arguments.instances.is_some() {
        let problem = "--instances applies to chen2008 only";
        return Err(Failure::Usage(problem.to_owned()));
    }
    if let Some(file) = &arguments.html {
        // An unwritable place is reported before the runs, not after them.
        check_writable(file)?;
    }
    let report = reproduce(arguments)?;
    if let Some(file) = &arguments.html {
        write(file, &html::page(&report))?;
    }
    match arguments.format {
        Format::Table if arguments.summary => print(&summary::summary(&report)),
        Format::Table => print(&text::text(&report)),
        Format::Json => print_json(&report),
        Format::Csv => print(&report.csv().map_err(Failure::run)?),
    }
}

fn reproduce(arguments: &ReproduceArguments) -> Result<Report, Failure> {
    let ties: &[Variant] = match arguments.ties {
        None => &[Variant::Iii, Variant::ReceiveTime],
        Some(Ties::Rank) => &[Variant::Iii],
        Some(Ties::ReceiveTime) => &[Variant::ReceiveTime],
    };
    let stated = stated::stated();
    let cells: Vec<(Cell, Vec<Run>)> = arguments
        .part
        .tables()
        .flat_map(Table::cells)
        .map(|cell| (cell, runs_of(&cell, ties, &stated)))
        .collect();
    let mut runs: Vec<Run> = cells.iter().flat_map(|(_, runs)| runs).copied().collect();
    if arguments.part.has_migrations() {
        let of = |stated: &Stated| {
            ties.iter()
                .map(|ties| Run::of_stated(stated, *ties))
                .collect::<Vec<_>>()
        };
        runs.extend(stated.iter().flat_map(of));
    }
    if arguments.part == Part::All {
        runs.extend(gain::runs());
    }
    let outcomes = outcomes(runs, &RunBar::new(arguments.progress), &stated)?;
    let migrations = if arguments.part.has_migrations() {
        compare(&stated, ties, &outcomes)
    } else {
        Vec::new()
    };
    let gains = if arguments.part == Part::All {
        gain::gains(&outcomes)
    } else {
        Vec::new()
    };
    Ok(Report::new(&cells, &outcomes, migrations, gains))
}

/// The runs that `cell` is compared with.
fn runs_of(cell: &Cell, ties: &[Variant], stated: &[Stated]) -> Vec<Run> {
    let is_wanted = |run: &Run| match run.variant {
        Variant::I | Variant::Ii => true,
        // The barrier of Table 6 is compared with scenario iii without a fixed plan.
        Variant::Iii if !cell.table.is_makespans() => true,
        Variant::Iii | Variant::ReceiveTime => {
            ties.contains(&run.variant) && cell.table.is_makespans()
        }
        Variant::Forced => cell.table.is_makespans() && forced(run, stated).is_some(),
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
    progress: &dyn Progress,
    stated: &[Stated],
) -> Result<BTreeMap<Run, Outcome>, Failure> {
    // The longest first, so that no core ends with a long run.
    runs.sort_unstable_by_key(|run| (Reverse(run.weight()), *run));
    runs.dedup();
    let outcomes = batch::run(&runs, progress, |run| run.execute(stated))?;
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

impl Part {
    fn tables(self) -> impl Iterator<Item = Table> {
        let name = self
            .to_possible_value()
            .map(|value| value.get_name().to_owned());
        Table::ALL
            .into_iter()
            .filter(move |table| self == Self::All || name.as_deref() == Some(table.name()))
    }

    const fn chen(self) -> Option<chen::Part> {
        match self {
            Self::ChenTable2 => Some(chen::Part::Table2),
            Self::ChenTable3 => Some(chen::Part::Table3),
            Self::ChenTable4 => Some(chen::Part::Table4),
            Self::ChenFigures => Some(chen::Part::Figures),
            Self::Table1
            | Self::Table2
            | Self::Table3
            | Self::Table4
            | Self::Table5
            | Self::Table6
            | Self::Table7
            | Self::Table9
            | Self::Fig16
            | Self::Migrations
            | Self::All => None,
        }
    }

    const fn has_migrations(self) -> bool {
        matches!(self, Self::Migrations | Self::All)
    }
}
