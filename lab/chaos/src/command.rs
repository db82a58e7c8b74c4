//! `chaos`: fault simulations of nodes and clients.

use std::str::FromStr;

use agents::mutant::Mutant;
use analysis::compare::Seeds;
use clap::Args;
use commands::output::{Format, print, print_json, print_text};
use commands::{Command, CommandFailure, Context, JobsArguments, RunBar};
use experiments::Failure;
use experiments::batch::Batch;

use crate::campaign::{Report, campaign, document, mutants};
use crate::simulation::{SeedOptions, faults_of, simulate_seed};

/// Arguments of `chaos`.
#[derive(Debug, Args)]
struct ChaosArguments {
    /// Seeds: 7, or 1,2,5, or 1..1000 with both ends
    #[arg(long, default_value = "1..1000", conflicts_with = "seed")]
    seeds: Seeds,
    /// One seed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Of the faults of the seed, only these, from 0: 0,2; or `none` [default: all]
    #[arg(long, value_name = "LIST", requires = "has_trace")]
    faults: Option<ChosenFaults>,
    /// Describe what happens in the seed, a line each, and its identity at the end
    #[arg(long = "trace", requires = "seed")]
    has_trace: bool,
    /// Give the protocol one defect after the other, and look for a seed that shows it; for programs that were built with
    /// RUSTFLAGS='--cfg mutant'
    #[arg(long = "mutants", conflicts_with = "seed")]
    has_mutants: bool,
    #[command(flatten)]
    jobs: JobsArguments,
    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The command `chaos`.
#[must_use]
pub fn command() -> Command {
    Command::new(
        "chaos",
        "Simulate nodes and a client with faults, and check what they promise",
        execute,
    )
    .long_about(CHAOS_ABOUT)
    .after_long_help(CHAOS_HELP)
}

/// Simulates seeds.
///
/// # Errors
///
/// If something happened that must not, or the report cannot be written.
fn execute(arguments: &ChaosArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    if arguments.has_trace {
        return trace(arguments);
    }
    let seeds = match arguments.seed {
        Some(seed) => vec![seed],
        None => arguments.seeds.all().to_vec(),
    };
    if arguments.has_mutants && !Mutant::ARE_BUILT {
        let problem =
            "this program was built without mutants: build it with RUSTFLAGS='--cfg mutant'";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    let bar = RunBar::new(context.has_progress());
    let batch = Batch {
        jobs: arguments.jobs.threads(),
        progress: &bar,
    };
    let mut report = campaign(&seeds, batch)?;
    if arguments.has_mutants {
        report.mutants = Some(mutants(&seeds, batch)?);
    }
    show(&report, arguments.format, context)?;
    match report.failure(context.program()) {
        Some(failure) => Err(failure.into()),
        None => Ok(()),
    }
}

fn show(report: &Report, format: Format, context: &Context<'_>) -> Result<(), CommandFailure> {
    match format {
        Format::Table => print_text(false, |layout| {
            document(report, context.program()).text(layout)
        }),
        Format::Json => print_json(&context.provenance()?, report),
        Format::Csv => print(&report.csv(&context.provenance()?)?),
    }
}

/// The numbers of faults of a seed.
#[derive(Clone, Debug)]
struct ChosenFaults(Vec<usize>);

impl FromStr for ChosenFaults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(Vec::new()));
        }
        let numbers: Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
        let numbers = numbers.map_err(|_| "must be numbers such as 0,2, or `none`")?;
        Ok(Self(numbers))
    }
}

/// Describes what happens in one seed.
fn trace(arguments: &ChaosArguments) -> Result<(), CommandFailure> {
    let seed = arguments.seed.unwrap_or_default();
    let count = faults_of(seed);
    let chosen = arguments.faults.as_ref().map(|chosen| &chosen.0);
    let mut faults = chosen.into_iter().flatten();
    if let Some(missing) = faults.find(|fault| count <= **fault) {
        return Err(Failure::Usage(format!(
            "invalid value `{missing}` for --faults: seed {seed} has {count} faults, from 0"
        ))
        .into());
    }
    let run = simulate_seed(&SeedOptions {
        faults: chosen.cloned(),
        has_trace: true,
        ..SeedOptions::new(seed)
    });
    print(&format!("{}identity {}\n", run.trace, run.digest))?;
    match run.violations.first() {
        Some(violation) => Err(Failure::Verification(format!("seed {seed}: {violation}")).into()),
        None => Ok(()),
    }
}

const CHAOS_ABOUT: &str = "\
Simulate nodes and a client with faults, from seeds, and check what they promise.

The code that decides on real hosts runs in one thread, under a simulated clock, with a simulated network: nodes, the \
client, agents, the encoding of messages, and the checks of what peers send. A seed draws 2 to 7 nodes in 1 to 3 Sets, a \
program, a policy, the shape of the barrier, moves, delays, and faults: nodes that crash, stop, leave or are slow, paths \
that are blocked in one or both directions, loss and delay, and a client that crashes, stops or is interrupted. \
Clients attach to jobs that nodes lead, die, are cut off, and attach again. Faults of \
odd seeds happen at any event; the first fault of an even seed is aimed at a step of the protocol, all pairs in turn. \
Every eighth seed (7, 15, 23 and so on) is aimed at messages that overtake each other, because paths are late.

A job has to end with the outputs of the reference runner, or with an error that names the cause. Faults that no \
connection notices must not end it, and nothing may be refused. All nodes that run have to be free 13 virtual seconds later, and complete a second job.";

const CHAOS_HELP: &str = "\
The report shows:
  the number of events, the virtual time that passed, and the faults by kind
  how often a fault of each kind hit a node at each step of the protocol
  the identity of what happened: equal for equal seeds, on any machine and in any build
  seeds that failed, with the faults that they take and the command that shows what happens

Formats:
  table  as above
  json   one object, schema migbsp.chaos/1
  csv    one row per step and kind of fault

Examples:
  {bin} chaos --seeds 1..1000                   a campaign
  {bin} chaos --seed 17 --trace                 what happens in one seed
  {bin} chaos --seed 17 --faults 0 --trace      with the first of its faults alone
  {bin} chaos --seeds 1..5000 --format json | jq .coverage.pairs_met

Exit codes: 0 no seed failed; 2 the seeds are none; 3 a seed failed, or no seed shows a mutant.

What is simulated and what is not: lab/docs/chaos.md.";
