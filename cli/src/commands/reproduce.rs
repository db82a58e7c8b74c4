//! `migbsp reproduce`: what the papers print, and what our runs say.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::bar::RunBar;
use crate::file::{check_writable, write};
use crate::output::{Format, print, print_json};
use crate::reproduce::{Part, Table, Variant, chen, page, reproduce, summary, text};
use experiments::Failure;

/// The arguments of `reproduce`.
#[derive(Debug, Args)]
pub(crate) struct ReproduceArguments {
    /// Which part of the papers
    #[arg(value_name = "PART", value_enum, default_value_t)]
    part: PartArgument,
    /// Who comes first among processes of equal potential; if left out, both are run
    #[arg(long, value_enum, value_name = "FIRST")]
    ties: Option<Ties>,
    /// How to show the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Show means, gains and who moved, and leave the cells out
    #[arg(long)]
    summary: bool,
    /// Write a page with tables and charts to this file besides
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Over how many instances of each group means are taken; of chen2008 only [default: 100, of table4 and figures 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    instances: Option<u32>,
    /// Whether a bar on stderr is wanted.
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
    /// What p1 waits at the last barrier
    Table6,
    /// Smith-Waterman
    Table7,
    /// LU decomposition of orders up to 2000
    Table9,
    /// LU decomposition of order 5000
    Fig16,
    /// The migrations that the papers state
    Migrations,
    /// Everything of these
    #[default]
    All,
    /// Chen, Wang and Lau 2008: levels before anybody moves
    #[value(name = "chen2008-table2")]
    ChenTable2,
    /// what algorithms of rebalancing cost and how long they look
    #[value(name = "chen2008-table3")]
    ChenTable3,
    /// how many moves they need
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
    /// Who spends least time receiving: scenario iii-receive-time
    ReceiveTime,
}

/// What a [`PartArgument`] is a part of.
enum Parsed {
    /// The papers of the model.
    Papers(Part),
    /// Chen, Wang and Lau 2008.
    Chen(chen::Part),
}

/// Runs what the part needs and shows it beside the papers.
///
/// # Errors
///
/// If an option is not of the part, or results cannot be written.
pub(crate) fn command(arguments: &ReproduceArguments) -> Result<(), Failure> {
    let part = match arguments.part.parsed() {
        Parsed::Papers(part) => part,
        Parsed::Chen(part) => return chen_command(part, arguments),
    };
    if arguments.summary && arguments.format != Format::Table {
        let problem = "--summary is a table: leave it out, or --format";
        return Err(Failure::Usage(problem.to_owned()));
    }
    if arguments.instances.is_some() {
        let problem = "--instances is for chen2008 alone: other parts have no instances";
        return Err(Failure::Usage(problem.to_owned()));
    }
    if let Some(file) = &arguments.html {
        // A place that takes nothing is better known before the runs than after them.
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

/// Draws what the part needs, runs it and shows it beside the paper.
fn chen_command(part: chen::Part, arguments: &ReproduceArguments) -> Result<(), Failure> {
    for (is_given, option) in [
        (arguments.ties.is_some(), "--ties"),
        (arguments.summary, "--summary"),
    ] {
        if is_given {
            let problem = format!("{option} is not for chen2008: nobody reschedules there");
            return Err(Failure::Usage(problem));
        }
    }
    if let Some(file) = &arguments.html {
        // A place that takes nothing is better known before the runs than after them.
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
Set the tables of the papers beside what our runs say.

Every number that the papers print for Lattice Boltzmann, Smith-Waterman and LU, that of our run, and the \
relative error. The experiments are those of conf/paper, which are in this binary: nothing is read, and \
MIGBSP__ variables change nothing.

Scenario i is the application alone, ii pays for rescheduling and moves nobody, in iii processes migrate. \
The papers' scenario iii is compared with up to three runs: iii breaks ties between equal potentials by \
rank, iii-receive-time by the time of receiving, and iii-forced makes the migrations that the papers \
state and no others. Numbers that contradict other numbers of the papers are flagged; means are given \
with them and without.";

pub(crate) const REPRODUCE_HELP: &str = "\
Formats:
  table  every number, then the means, what is gained, and how many stated migrations agree
  json   one object, schema migbsp.reproduce/1: cells, means, gains, migrations, agreement
  csv    one row per number; of `migrations` one row per stated migration

The chen2008 parts are about `migbsp rebalance` (Chen, Wang and Lau 2008) and not in `all`: means over
instances drawn anew, --instances of each group (the paper has 100). Algorithms have the steps of sixteen
first iterations of IMLP each; but mparv runs to its end, and best has a million steps. Neither --ties nor
--summary is for them. Schema migbsp.reproduce-chen2008/1, one row per number.

Examples:
  migbsp reproduce table2                            Lattice Boltzmann on 25 processes
  migbsp reproduce table7 --ties rank --format csv
  migbsp reproduce migrations                        who moves, when and where to
  migbsp reproduce --html tables.html                all of it, with charts
  migbsp reproduce chen2008-table4 --instances 100   how many moves rebalancing needs

What the columns mean and how stated migrations are forced: docs/tables.md.";
