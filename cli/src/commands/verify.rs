//! `migbsp verify`: recomputes the decisions of a recorded run, and reports differences.

use std::path::{Path, PathBuf};

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use clap::Args;
use experiments::record::{find, manifest};
use experiments::{Failure, Provenance, Registry};

use crate::output::{Format, show};
use analysis::verify::verify;

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// A record, as `simulate --out DIR` leaves it in DIR/iii; of DIR itself, iii is taken
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The command `verify`.
pub(crate) fn command() -> Command {
    Command::new(
        "verify",
        "Verify the decisions of a recorded run by recomputing them",
        execute,
    )
    .long_about(VERIFY_ABOUT)
    .after_long_help(VERIFY_HELP)
    .example("verify runs/lbm", "recompute all decisions of a run")
}

/// Decides the run again.
///
/// # Errors
///
/// If there is no such record, it lacks observations, or a decision differs.
fn execute(arguments: &VerifyArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let registry = context.registry();
    let folder = find(&arguments.run)?;
    let verified = decide_again(&folder, arguments.format, registry);
    if verified.is_err()
        && let Ok(manifest) = manifest(&folder)
        && let Some(recorded) = manifest.build
        && recorded != Provenance::of_program(registry)?.recorded_build()
    {
        let (program, version) = (recorded.program, recorded.version);
        tracing::warn!(
            sha256 = recorded.sha256,
            "the record is by another build, {program} {version}: rules that have changed since decide differently; \
             only the build of a record can verify it for certain"
        );
    }
    verified
}

/// Decides the run in `folder` again, and prints the comparison.
fn decide_again(folder: &Path, format: Format, registry: &Registry) -> Result<(), CommandFailure> {
    let (report, ended) = verify(folder, registry)?;
    let first = report.first();
    let provenance =
        || -> Result<Provenance, Failure> { Provenance::of_record(&manifest(folder)?, registry) };
    // A partial verification is not reported as success.
    if ended.is_ok() || first.is_some() {
        show(&report, (format, true), provenance)?;
    }
    ended?;
    first.map_or(Ok(()), |first| {
        Err(Failure::Verification(format!("{}: {first}", folder.display())).into())
    })
}

const VERIFY_ABOUT: &str = "\
Verify the decisions of a recorded run by recomputing them.

RUN is the folder of a record, as `{bin} simulate FILE --out DIR` writes to DIR/iii. The record has the inputs of \
every call: free capacity of hosts, distances between Sets, measurements of processes, durations of \
supersteps. From these alone the model recomputes when calls are held, all potentials, the list, the \
candidates, each negotiation or the plan, the migrations, and the interval to the next call. Values are \
compared to the last digit. The record of a run that did not end is verified as far as it goes.";

const VERIFY_HELP: &str = "\
A line per call says `verified`, or shows a difference as recorded and as recomputed. A line for a superstep \
without a call says that one was due.

The measurements of a process in each single superstep are not in the record and cannot be verified: a call \
has their patterns and predictions (P_comp, P_comm, CTP, BTP) and, over all processes, sums and extremes.

Formats:
  table  a line per call
  json   one object, schema migbsp.verify/1, with all differences
  csv    one row per difference, and one per call without any

Exit codes: 0 all is verified; 3 a decision differs; 4 the record is broken, or of another version.

Examples:
  {bin} simulate conf/lbm.toml --out runs/lbm
  {bin} verify runs/lbm                             all calls of scenario iii
  {bin} verify runs/lbm/ii --format json            another scenario, all differences
  {bin} verify runs/lbm && echo verified

The model: docs/model.md. The comparison: docs/reference/records.md.";
