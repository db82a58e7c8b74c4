//! `migbsp reproduce`: published results beside those of our runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::bar::RunBar;
use crate::file::{check_writable, write};
use crate::output::{Format, print, print_json};
use analysis::reproduce::{Part, Table, Variant, chen, page, reproduce, summary, text};
use experiments::Failure;

/// The arguments of `reproduce`.
#[derive(Debug, Args)]
pub(crate) struct ReproduceArguments {
    /// Part of the papers
    #[arg(value_name = "PART", value_enum, default_value_t)]
    part: PartArgument,
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

/// `PART`: a part of the papers, or of Chen, Wang and Lau 2008.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum PartArgument {
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

/// `--ties`: which comes first among processes of equal potential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Ties {
    /// The lowest rank: scenario iii
    Rank,
    /// The shortest reception time: scenario iii-receive-time
    ReceiveTime,
}

/// What a [`PartArgument`] is a part of.
enum Parsed {
    /// The papers of the model.
    Papers(Part),
    /// Chen, Wang and Lau 2008.
    Chen(chen::Part),
}

/// Runs the experiments of a part and shows the results beside the published ones.
///
/// # Errors
///
/// If an option does not apply to the part, or results cannot be written.
pub(crate) fn command(arguments: &ReproduceArguments) -> Result<(), Failure> {
    let part = match arguments.part.parsed() {
        Parsed::Papers(part) => part,
        Parsed::Chen(part) => return chen_command(part, arguments),
    };
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
    let ties: &[Variant] = match arguments.ties {
        None => &[Variant::Iii, Variant::ReceiveTime],
        Some(Ties::Rank) => &[Variant::Iii],
        Some(Ties::ReceiveTime) => &[Variant::ReceiveTime],
    };
    let report = reproduce(part, ties, &RunBar::new(arguments.progress))?;
    if let Some(file) = &arguments.html {
        write(file, &page(&report))?;
    }
    match arguments.format {
        Format::Table if arguments.summary => print(&summary(&report)),
        Format::Table => print(&text(&report)),
        Format::Json => print_json(&report),
        Format::Csv => print(&report.csv().map_err(Failure::run)?),
    }
}

/// Draws the instances of a part, runs the algorithms and shows the results beside the published ones.
fn chen_command(part: chen::Part, arguments: &ReproduceArguments) -> Result<(), Failure> {
    for (is_given, option) in [
        (arguments.ties.is_some(), "--ties"),
        (arguments.summary, "--summary"),
    ] {
        if is_given {
            let problem = format!("{option} does not apply to chen2008, which has no rescheduling");
            return Err(Failure::Usage(problem));
        }
    }
    if let Some(file) = &arguments.html {
        // An unwritable place is reported before the runs, not after them.
        check_writable(file)?;
    }
    let progress = &RunBar::new(arguments.progress);
    let report = chen::reproduce(part, arguments.instances, progress)?;
    if let Some(file) = &arguments.html {
        write(file, &chen::page(part, &report))?;
    }
    match arguments.format {
        Format::Table => print(&chen::text(part, &report)),
        Format::Json => print_json(&report),
        Format::Csv => print(&report.csv().map_err(Failure::run)?),
    }
}

impl PartArgument {
    const fn parsed(self) -> Parsed {
        let part = match self {
            Self::Table1 => Part::Table(Table::Table1),
            Self::Table2 => Part::Table(Table::Table2),
            Self::Table3 => Part::Table(Table::Table3),
            Self::Table4 => Part::Table(Table::Table4),
            Self::Table5 => Part::Table(Table::Table5),
            Self::Table6 => Part::Table(Table::Table6),
            Self::Table7 => Part::Table(Table::Table7),
            Self::Table9 => Part::Table(Table::Table9),
            Self::Fig16 => Part::Table(Table::Fig16),
            Self::Migrations => Part::Migrations,
            Self::All => Part::All,
            Self::ChenTable2 => return Parsed::Chen(chen::Part::Table2),
            Self::ChenTable3 => return Parsed::Chen(chen::Part::Table3),
            Self::ChenTable4 => return Parsed::Chen(chen::Part::Table4),
            Self::ChenFigures => return Parsed::Chen(chen::Part::Figures),
        };
        Parsed::Papers(part)
    }
}

pub(crate) const REPRODUCE_ABOUT: &str = "\
Reproduce the published tables.

Shows every published number for Lattice Boltzmann, Smith-Waterman and LU, that of our run, and the \
relative error. The experiments are those of conf/paper, which are in this binary: nothing is read, and \
MIGBSP__ variables change nothing.

Scenario i is the application alone, ii pays for rescheduling without migrations, in iii processes migrate. \
The papers' scenario iii is compared with up to three runs: iii breaks ties between equal potentials by \
rank, iii-receive-time by reception time, and iii-forced makes the migrations that the papers \
state and no others. Numbers that contradict other numbers of the papers are flagged; means are given \
with them and without.";

pub(crate) const REPRODUCE_HELP: &str = "\
Formats:
  table  every number, then the means, the gains, and the number of published migrations that agree
  json   one object, schema migbsp.reproduce/1: cells, means, gains, migrations, agreement
  csv    one row per number; of `migrations` one row per published migration

The chen2008 parts are about `migbsp rebalance` (Chen, Wang and Lau 2008) and not in `all`: means over
instances drawn anew, --instances of each group (the paper has 100). Algorithms have the steps of sixteen
first iterations of IMLP each; but mparv runs to its end, and best has a million steps. Neither --ties nor
--summary is for them. Schema migbsp.reproduce-chen2008/1, one row per number.

Examples:
  migbsp reproduce table2                            Lattice Boltzmann on 25 processes
  migbsp reproduce table7 --ties rank --format csv
  migbsp reproduce migrations                        processes, calls and hosts
  migbsp reproduce --html tables.html                all of it, with charts
  migbsp reproduce chen2008-table4 --instances 100   how many moves rebalancing needs

What the columns mean and how stated migrations are forced: docs/tables.md.";
