//! `migbsp advise`: where a recorded run lost time, and which keys would shorten it.

use std::path::PathBuf;

use analysis::advise::{advise, attempt};
use clap::Args;
use experiments::batch::Batch;
use experiments::record::{find_last, manifest};
use experiments::{Failure, Provenance};

use crate::command::{Command, Context, JobsArguments};
use crate::failure::CommandFailure;
use crate::output::{Format, show};
use crate::progress::RunBar;

/// Arguments of `advise`.
#[derive(Debug, Args)]
pub(crate) struct AdviseArguments {
    /// Folder of a record, as `simulate --out DIR` writes to DIR/iii; DIR stands for DIR/iii, or else for the last in it
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Simulate the experiment of the record with the best three recommendations, and show the measured gains
    #[arg(long = "try")]
    is_tried: bool,
    /// Experiment file, relative to whose folder the paths of the record are [default: the current folder, or one above
    /// RUN that has the platform]
    #[arg(long, value_name = "FILE", requires = "is_tried")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) jobs: JobsArguments,
    /// Format of the advice
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The command `advise`.
pub(crate) fn command() -> Command {
    Command::new(
        "advise",
        "Say from a record where time was lost, and which keys would shorten the run",
        execute,
    )
    .long_about(ADVISE_ABOUT)
    .after_long_help(ADVISE_HELP)
    .example("advise runs/lbm", "what lost time, and what to change")
}

/// Assesses the record.
///
/// # Errors
///
/// If there is no complete record, it has nothing to assess, an attempt fails, or the advice cannot be written.
fn execute(arguments: &AdviseArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let registry = context.registry();
    let folder = find_last(&arguments.run)?;
    let mut report = advise(&folder)?;
    if arguments.is_tried {
        let bar = RunBar::new(context.has_progress());
        let batch = Batch {
            jobs: arguments.jobs.threads(),
            progress: &bar,
        };
        attempt(
            &mut report,
            (&folder, arguments.file.as_deref()),
            registry,
            batch,
        )?;
    }
    let provenance =
        || -> Result<Provenance, Failure> { Provenance::of_record(&manifest(&folder)?, registry) };
    show(&report, (arguments.format, false), provenance)
}

const ADVISE_ABOUT: &str = "\
Say from a record where time was lost, which keys would shorten the run, and by how much.

RUN is the folder of a record, as `{bin} simulate FILE --out DIR` writes to DIR/iii. If DIR has no scenario iii, the \
last one in it is judged. Nothing is run without --try: the advice follows from the record alone.

The advice judges imbalance, communication, and what calls and moves cost. Gains are upper bounds: what the cause of a \
recommendation took from the run. A change that saves 1 % at most is not recommended.";

const ADVISE_HELP: &str = "\
The advice shows:
  the parts of the makespan: the ideal, and each loss; their sum is the makespan
  recommendations, the most valuable first: the key, its value now and the better one, and the evidence
  with --try, what simulations of the same scenario gained, beside the bound: with five seeds, beginning with that
  of the record, if the experiment draws at random. A change that is not better is no recommendation any more

Formats:
  table  the parts of the makespan, then the recommendations
  json   one object, schema migbsp.advise/1, times in seconds and gains as parts of 1, at full precision
  csv    one row per recommendation

Examples:
  {bin} simulate conf/synthetic.toml --out runs/synthetic
  {bin} advise runs/synthetic                       what lost time, and what to change
  {bin} advise runs/synthetic --try --file conf/synthetic.toml
                                                    and is that so?
  {bin} advise runs/synthetic/ii                    another scenario
  {bin} advise runs/synthetic --format json | jq -r '.recommendations[0].set'

Exit codes: 0 advice was given, or there is none to give; 4 RUN holds no complete record, or one without calls.

The evidence: docs/reference/command-line.md. Why processes moved: `{bin} explain`.";
