//! `reproduce`: published results beside those of our runs.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::{Part, Table, Variant, chen, du, page, reproduce, santana, summary, text};
use analysis::compare::Seeds;
use commands::file::{HTML, check_output, write};
use commands::output::{Format, print, print_json, print_text};
use commands::{Command, CommandFailure, Context, JobsArguments, RunBar};
use experiments::Failure;
use experiments::batch::Batch;

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
    /// Du, Sun and Wu 2007.
    Du(du::Part),
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
    if arguments.moves.is_some() && !matches!(arguments.part, PartArgument::DuCost) {
        let problem = "--moves applies to du2007-cost only";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    if arguments.seeds.is_some() && !matches!(arguments.part, PartArgument::DuTable1) {
        let problem = "--seeds applies to du2007-table1 only";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    let part = match arguments.part {
        PartArgument::Papers(part) => part,
        PartArgument::Chen(part) => return chen_command(part, arguments, context),
        PartArgument::Du(part) => return du_command(part, arguments, context),
        PartArgument::DuTable1 => return du_table1_command(arguments, context),
        PartArgument::DuCost => return du_cost_command(arguments, context),
        PartArgument::Santana => return santana_command(arguments, context),
    };
    if arguments.summary && arguments.format != Format::Table {
        let problem = "--summary cannot be used with --format";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    arguments.refuse_instances()?;
    arguments.check_html()?;
    let bar = RunBar::new(context.has_progress());
    let batch = arguments.batch(&bar);
    let ties: &[Variant] = match arguments.ties {
        None => &[Variant::Iii, Variant::ReceiveTime],
        Some(Ties::Rank) => &[Variant::Iii],
        Some(Ties::ReceiveTime) => &[Variant::ReceiveTime],
    };
    let report = reproduce(part, ties, batch)?;
    if let Some(file) = &arguments.html {
        write(file, &page(&report))?;
    }
    match arguments.format {
        Format::Table if arguments.summary => print_text(true, |layout| summary(&report, layout)),
        Format::Table => print_text(true, |layout| text(&report, layout)),
        Format::Json => print_json(&context.provenance()?, &report),
        Format::Csv => print(&report.csv(&context.provenance()?)?),
    }
}

/// Draws the instances of a part, runs the algorithms and shows the results beside the published ones.
fn chen_command(
    part: chen::Part,
    arguments: &ReproduceArguments,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    arguments.refuse_options_of_rescheduling("chen2008, which has no rescheduling")?;
    arguments.check_html()?;
    let bar = RunBar::new(context.has_progress());
    let report = chen::reproduce(part, arguments.instances, arguments.batch(&bar))?;
    if let Some(file) = &arguments.html {
        write(file, &chen::page(part, &report))?;
    }
    match arguments.format {
        Format::Table => print_text(true, |layout| chen::text(part, &report, layout)),
        Format::Json => print_json(&context.provenance()?, &report),
        Format::Csv => print(&report.csv(&context.provenance()?)?),
    }
}

/// Simulates the migrations of a part and shows what they cost beside the published costs.
fn du_command(
    part: du::Part,
    arguments: &ReproduceArguments,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    arguments.refuse_options_of_rescheduling("du2007, whose moves are given")?;
    arguments.refuse_instances()?;
    arguments.check_html()?;
    let bar = RunBar::new(context.has_progress());
    let report = du::reproduce(part, arguments.batch(&bar))?;
    if let Some(file) = &arguments.html {
        write(file, &du::page(&report))?;
    }
    match arguments.format {
        Format::Table => print_text(true, |layout| du::text(&report, layout)),
        Format::Json => print_json(&context.provenance()?, &report),
        Format::Csv => print(&report.csv(&context.provenance()?)?),
    }
}

/// Runs the choices of hosts with all seeds, and shows them beside the published ones.
fn du_table1_command(
    arguments: &ReproduceArguments,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    arguments.refuse_options_of_rescheduling("du2007-table1")?;
    arguments.refuse_instances()?;
    if arguments.html.is_some() {
        let problem = "--html does not apply to du2007-table1";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    let bar = RunBar::new(context.has_progress());
    let seeds = arguments
        .seeds
        .clone()
        .unwrap_or_else(|| TABLE1_SEEDS.parse().expect("a range of seeds"));
    let report = du::table1::reproduce(&seeds, context.registry(), arguments.batch(&bar))?;
    match arguments.format {
        Format::Table => print_text(true, |layout| du::table1::text(&report, layout)),
        Format::Json => print_json(&context.provenance()?, &report),
        Format::Csv => print(&report.csv(&context.provenance()?)?),
    }
}

/// Seeds of du2007-table1, if none are given.
const TABLE1_SEEDS: &str = "1..400";

/// Runs a task farm on a cluster that hosts join, and shows its speedups and what the paper states of them.
fn santana_command(
    arguments: &ReproduceArguments,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    arguments.refuse_options_of_rescheduling("santana, which has no rescheduling")?;
    arguments.refuse_instances()?;
    arguments.check_html()?;
    let bar = RunBar::new(context.has_progress());
    let report = santana::reproduce(&santana::Constants::default(), arguments.batch(&bar))?;
    if let Some(file) = &arguments.html {
        write(file, &santana::page(&report))?;
    }
    match arguments.format {
        Format::Table => print_text(true, |layout| santana::text(&report, layout)),
        Format::Json => print_json(&context.provenance()?, &report),
        Format::Csv => print(&report.csv(&context.provenance()?)?),
    }
}

/// Measures moves between two nodes of this machine, and shows the errors of predictions beside the published ones.
fn du_cost_command(
    arguments: &ReproduceArguments,
    context: &Context<'_>,
) -> Result<(), CommandFailure> {
    arguments.refuse_options_of_rescheduling("du2007, whose moves are given")?;
    arguments.refuse_instances()?;
    if arguments.html.is_some() {
        let problem =
            "--html does not apply to du2007-cost: `bench migration --svg FILE` makes a chart";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    let moves = arguments.moves.unwrap_or(MOVES).to_string();
    let format = arguments.format.to_possible_value();
    let format = format.as_ref().map_or("table", PossibleValue::get_name);
    let bench = [
        "bench",
        "migration",
        "--level",
        "0.1..0.9",
        "--dwell",
        "10s",
    ];
    let bench = [&bench[..], &["--moves", &moves, "--format", format]].concat();
    let link = [
        "up",
        "--local",
        "2",
        "--sets",
        "2",
        "--between",
        "11.8MBps",
        "--",
    ];
    context.execute(&[&link[..], &bench].concat())
}

/// Moves of each kind of state: the paper has six.
const MOVES: u32 = 60;

impl ReproduceArguments {
    /// Refuses `--ties` and `--summary` for parts of `paper`.
    fn refuse_options_of_rescheduling(&self, paper: &str) -> Result<(), Failure> {
        let options = [(self.ties.is_some(), "--ties"), (self.summary, "--summary")];
        match options.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => Err(Failure::Usage(format!(
                "{option} does not apply to {paper}"
            ))),
            None => Ok(()),
        }
    }

    fn refuse_instances(&self) -> Result<(), Failure> {
        if self.instances.is_none() {
            return Ok(());
        }
        let problem = "--instances applies to chen2008 only";
        Err(Failure::Usage(problem.to_owned()))
    }

    /// Checks the place of the page: an unwritable one is reported before the runs, not after them.
    fn check_html(&self) -> Result<(), CommandFailure> {
        match &self.html {
            Some(file) => Ok(check_output(file, HTML)?),
            None => Ok(()),
        }
    }

    fn batch<'a>(&self, bar: &'a RunBar) -> Batch<'a> {
        Batch {
            jobs: self.jobs.threads(),
            progress: bar,
        }
    }
}

impl PartArgument {
    fn all() -> impl Iterator<Item = Self> {
        let papers = Part::all().map(Self::Papers);
        let others = chen::Part::ALL.map(Self::Chen);
        let du = du::Part::ALL.map(Self::Du).into_iter();
        let du = du.chain([Self::DuTable1, Self::DuCost, Self::Santana]);
        papers.chain(others).chain(du)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Papers(part) => part.name(),
            Self::Chen(part) => part.name(),
            Self::Du(part) => part.name(),
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
            Self::Du(du::Part::Figure1) => {
                "Du, Sun and Wu 2007: cost of a migration by size of the state"
            }
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

What the columns mean and how stated migrations are forced: docs/tables.md.";
