//! `reproduce`: published results beside those of our runs.

use std::path::PathBuf;

use analysis::compare::Seeds;
use analysis::document::Document;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use commands::file::{HTML, check_output, write};
use commands::output::{Format, print, print_json, print_text};
use commands::{Command, CommandFailure, Context, JobsArguments, RunBar};
use experiments::batch::Batch;
use experiments::{Failure, Provenance, Published};

use crate::html::page;
use crate::papers::{Part, reproduce};
use crate::published::Table;
use crate::report::Report;
use crate::runs::Variant;
use crate::text::{document, summary};
use crate::{chen, du, santana};

/// The arguments of `reproduce`.
#[derive(Debug, Args)]
struct ReproduceArguments {
    /// Part of the papers
    #[arg(value_name = "PART", value_parser = PartArgument::parser(), default_value = Part::All.name())]
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
    /// Number of moves of each kind of state; du2007-cost only [default: 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    moves: Option<u32>,
    /// Seeds to run, both ends included; du2007-table1 only [default: 1..400]
    #[arg(long, value_name = "A..B")]
    seeds: Option<Seeds>,
    #[command(flatten)]
    jobs: JobsArguments,
}

/// `--ties`: which comes first among processes of equal potential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Ties {
    /// The lowest rank: scenario iii
    Rank,
    /// The shortest reception time: scenario iii-receive-time
    ReceiveTime,
}

/// `PART`: a part of the papers of the model, or of another.
#[derive(Clone, Copy, Debug)]
enum PartArgument {
    /// The papers of the model.
    Papers(Part),
    /// Chen, Wang and Lau 2008.
    Chen(chen::Part),
    /// Du, Sun and Wu 2007: the cost of a migration by the size of the state.
    DuFigure1,
    /// Their choice of hosts, over seeds.
    DuTable1,
    /// Their measurements, which need real nodes.
    DuCost,
    /// Santana and Souza.
    Santana,
}

/// The command `reproduce`.
#[must_use]
pub fn command() -> Command {
    Command::new("reproduce", "Reproduce the published tables", execute)
        .long_about(REPRODUCE_ABOUT)
        .after_long_help(REPRODUCE_HELP)
        .example("reproduce table2", "a published table beside ours")
}

/// Runs the experiments of a part and shows the results beside the published ones.
///
/// # Errors
///
/// If an option does not apply to the part, or results cannot be written.
fn execute(arguments: &ReproduceArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    arguments.check()?;
    if let Some(file) = &arguments.html {
        // An unwritable place is reported before the runs, not after them.
        check_output(file, HTML)?;
    }
    let bar = RunBar::new(context.has_progress());
    let batch = Batch {
        jobs: arguments.jobs.threads(),
        progress: &bar,
    };
    match arguments.part {
        PartArgument::Papers(part) => {
            let ties: &[Variant] = match arguments.ties {
                None => &[Variant::Iii, Variant::ReceiveTime],
                Some(Ties::Rank) => &[Variant::Iii],
                Some(Ties::ReceiveTime) => &[Variant::ReceiveTime],
            };
            let report = reproduce(part, ties, batch)?;
            arguments.write_page(|| page(&report))?;
            let shown = if arguments.summary { summary } else { document };
            arguments.show(context, &report, Report::csv, shown)
        }
        PartArgument::Chen(part) => {
            let report = chen::reproduce(part, arguments.instances, batch)?;
            arguments.write_page(|| chen::page(part, &report))?;
            let shown = |report: &chen::Report| chen::document(part, report);
            arguments.show(context, &report, chen::Report::csv, shown)
        }
        PartArgument::DuFigure1 => {
            let report = du::reproduce(batch)?;
            arguments.write_page(|| du::page(&report))?;
            arguments.show(context, &report, du::Report::csv, du::document)
        }
        PartArgument::DuTable1 => {
            let seeds = arguments.seeds.clone();
            let seeds = seeds.unwrap_or_else(|| TABLE1_SEEDS.parse().expect("a range of seeds"));
            let report = du::table1::reproduce(&seeds, context.registry(), batch)?;
            let shown = du::table1::document;
            arguments.show(context, &report, du::table1::Report::csv, shown)
        }
        PartArgument::DuCost => measure_cost(arguments, context),
        PartArgument::Santana => {
            let report = santana::reproduce(&santana::Constants::default(), batch)?;
            arguments.write_page(|| santana::page(&report))?;
            arguments.show(context, &report, santana::Report::csv, santana::document)
        }
    }
}

/// Measures moves between two nodes of this machine, and shows the errors of predictions beside the published ones.
fn measure_cost(
    arguments: &ReproduceArguments,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    let moves = arguments.moves.unwrap_or(MOVES).to_string();
    let format = arguments.format.to_possible_value();
    let format = format.as_ref().map_or("table", PossibleValue::get_name);
    let link =
        "up --local 2 --sets 2 --between 11.8MBps -- bench migration --level 0.1..0.9 --dwell 10s";
    let link: Vec<&str> = link.split(' ').collect();
    context.execute(&[&link[..], &["--moves", &moves, "--format", format]].concat())
}

/// Seeds of du2007-table1, if none are given.
const TABLE1_SEEDS: &str = "1..400";

/// Moves of each kind of state: the paper has six.
const MOVES: u32 = 60;

impl ReproduceArguments {
    /// Refuses options that do not apply to the part.
    fn check(&self) -> Result<(), Failure> {
        let only = |is_given: bool, option: &str, part: &str| {
            is_given.then(|| format!("{option} applies to {part} only"))
        };
        let not = |is_given: bool, option: &str, paper: &str| {
            is_given.then(|| format!("{option} does not apply to {paper}"))
        };
        let (has_instances, has_html) = (self.instances.is_some(), self.html.is_some());
        let is_chen = matches!(self.part, PartArgument::Chen(_));
        let paper = match self.part {
            PartArgument::Papers(_) => None,
            PartArgument::Chen(_) => Some("chen2008, which has no rescheduling"),
            PartArgument::DuFigure1 | PartArgument::DuCost => Some("du2007, whose moves are given"),
            PartArgument::DuTable1 => Some("du2007-table1"),
            PartArgument::Santana => Some("santana, which has no rescheduling"),
        };
        let is_table1 = matches!(self.part, PartArgument::DuTable1);
        let is_cost = matches!(self.part, PartArgument::DuCost);
        let has_format = self.summary && self.format != Format::Table;
        let problem = only(self.moves.is_some() && !is_cost, "--moves", "du2007-cost")
            .or_else(|| {
                only(
                    self.seeds.is_some() && !is_table1,
                    "--seeds",
                    "du2007-table1",
                )
            })
            .or_else(|| not(self.ties.is_some(), "--ties", paper?))
            .or_else(|| not(self.summary, "--summary", paper?))
            .or_else(|| has_format.then(|| "--summary cannot be used with --format".to_owned()))
            .or_else(|| only(has_instances && !is_chen, "--instances", "chen2008"))
            .or_else(|| not(has_html && is_table1, "--html", "du2007-table1"))
            .or_else(|| not(has_html && is_cost, "--html", COST_HAS_CHART));
        problem.map_or(Ok(()), |problem| Err(Failure::Usage(problem)))
    }

    fn write_page(&self, page: impl FnOnce() -> String) -> Result<(), CommandFailure> {
        match &self.html {
            Some(file) => Ok(write(file, &page())?),
            None => Ok(()),
        }
    }

    fn show<R: Published>(
        &self,
        context: &Context<'_>,
        report: &R,
        csv: impl FnOnce(&R, &Provenance) -> Result<String, Failure>,
        document: impl FnOnce(&R) -> Document,
    ) -> Result<(), CommandFailure> {
        match self.format {
            Format::Table => print_text(true, |layout| document(report).text(layout)),
            Format::Json => print_json(&context.provenance()?, report),
            Format::Csv => print(&csv(report, &context.provenance()?)?),
        }
    }
}

const COST_HAS_CHART: &str = "du2007-cost: `bench migration --svg FILE` makes a chart";

impl PartArgument {
    fn all() -> impl Iterator<Item = Self> {
        let papers = Part::all().map(Self::Papers);
        let chen = chen::Part::ALL.map(Self::Chen);
        let others = [Self::DuFigure1, Self::DuTable1, Self::DuCost, Self::Santana];
        papers.chain(chen).chain(others)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Papers(part) => part.name(),
            Self::Chen(part) => part.name(),
            Self::DuFigure1 => "du2007-figure1",
            Self::DuTable1 => "du2007-table1",
            Self::DuCost => "du2007-cost",
            Self::Santana => "santana",
        }
    }

    const fn help(self) -> &'static str {
        match self {
            Self::Papers(Part::Table(table)) => match table {
                Table::Table1 => "Lattice Boltzmann on 10 processes",
                Table::Table2 => "on 25",
                Table::Table3 => "on 50",
                Table::Table4 => "on 100",
                Table::Table5 => "on 200",
                Table::Table6 => "Waiting time of p1 at the last barrier",
                Table::Table7 => "Smith-Waterman",
                Table::Table9 => "LU decomposition of orders up to 2000",
                Table::Fig16 => "LU decomposition of order 5000",
            },
            Self::Papers(Part::Migrations) => "The published migrations",
            Self::Papers(Part::All) => "All of these",
            Self::Chen(chen::Part::Table2) => "Chen, Wang and Lau 2008: initial levels",
            Self::Chen(chen::Part::Table3) => "cost and search time of rebalancing algorithms",
            Self::Chen(chen::Part::Table4) => "number of moves that they need",
            Self::Chen(chen::Part::Figures) => "costs against levels, figures 4 to 7",
            Self::DuFigure1 => "Du, Sun and Wu 2007: cost of a migration by size of the state",
            Self::DuTable1 => "choice of a host for a process that has to leave its own",
            Self::DuCost => {
                "figures 3 to 6: errors of predicted costs, measured on two nodes of this machine"
            }
            Self::Santana => "Santana and Souza: a task farm on a cluster that hosts join",
        }
    }

    /// Accepts the name of a part.
    fn parser() -> impl TypedValueParser<Value = Self> {
        let value = |part: Self| PossibleValue::new(part.name()).help(part.help());
        PossibleValuesParser::new(Self::all().map(value)).map(|name| {
            let mut parts = Self::all();
            let part = parts.find(|part| part.name() == name);
            part.expect("only names of parts are possible values")
        })
    }
}

const REPRODUCE_ABOUT: &str = "\
Reproduce the published tables.

Shows every published number for Lattice Boltzmann, Smith-Waterman and LU, that of our run, and the \
relative error. The experiments are those of conf/paper, which are in this binary: nothing is read, and \
MIGBSP__ variables change nothing.

Scenario i is the application alone, ii pays for rescheduling without migrations, in iii processes migrate. \
The papers' scenario iii is compared with up to three runs: iii breaks ties between equal potentials by \
rank, iii-receive-time by reception time, and iii-forced makes the migrations that the papers \
state and no others. Numbers that contradict other numbers of the papers are flagged; means are given \
with them and without.";

const REPRODUCE_HELP: &str = "\
Formats:
  table  every number, then the means, the gains, and the number of published migrations that agree
  json   one object, schema migbsp.reproduce/1: cells, means, gains, migrations, agreement
  csv    one row per number; of `migrations` one row per published migration

The chen2008 parts are about `{bin} rebalance` (Chen, Wang and Lau 2008) and not in `all`: means over
instances drawn anew, --instances of each group (the paper has 100). Algorithms have the steps of sixteen
first iterations of IMLP each; but mparv runs to its end, and best has a million steps. Neither --ties nor
--summary is for them. Schema migbsp.reproduce-chen2008/1, one row per number.

The du2007 parts are about the cost of migrations and the choice of hosts (Du, Sun and Wu 2007) and not in `all`,
either. In figure1 a process moves over a simulated link, once for each size of its state; every claim of the paper is
checked to the precision of its printed numbers. --ties, --summary and --instances are not for them. Schema
migbsp.reproduce-du2007/1, one row per size. In table1 a process leaves its host for one of up to eleven others, which
have owners, by each strategy of the paper and by two of ours, once for each of --seeds on light, mixed and busy networks:
about three minutes for 400 seeds. Schema migbsp.reproduce-du2007-table1/1, one row per strategy. cost starts two nodes on this machine, with a link of 11.8 MB/s whose level
is drawn anew every 10 s on average, and moves states of four kinds between them, --moves of each: it is
`up --local 2 --sets 2 --between 11.8MBps -- bench migration --level 0.1..0.9 --dwell 10s`, and takes some minutes.
Errors differ from run to run. Schema migbsp.bench-migration/1, one row per move.

The part santana is about a task farm on machines of unequal speed, which others join while it runs (Santana and Souza),
and not in `all`, either. The paper prints curves without numbers; every statement of its text is checked, by id. The same
with the rules of migbsp is beside it. Constants that the paper does not print are our calibration, and called that.
--ties, --summary and --instances are not for it. A quarter of a minute. Schema migbsp.reproduce-santana/1, one row per
cluster, size and rule.

Examples:
  {bin} reproduce table2                             Lattice Boltzmann on 25 processes
  {bin} reproduce table7 --ties rank --format csv
  {bin} reproduce migrations                         processes, calls and hosts
  {bin} reproduce --html tables.html                 all of it, with charts
  {bin} reproduce chen2008-table4 --instances 100    how many moves rebalancing needs
  {bin} reproduce du2007-figure1                     seconds that moves of 0.4 to 635 MB take
  {bin} reproduce du2007-table1 --seeds 1..40        the choice of a host, in a quarter of a minute
  {bin} reproduce du2007-cost --moves 6              as often as in the paper
  {bin} reproduce santana --html santana.html        speedups of a task farm, with its figures

What the columns mean and how stated migrations are forced: lab/docs/tables.md.";
