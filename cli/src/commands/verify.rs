//! `migbsp verify`: decides a recorded run again, and says where the record has it otherwise.

use std::path::PathBuf;

use clap::Args;
use experiments::record::find;
use experiments::{Failure, Registry};

use crate::output::{Format, print, print_json};
use analysis::verify::{text, verify};

/// What `verify` is told.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// A record, as `simulate --out DIR` leaves it in DIR/iii; of DIR itself, iii is taken
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// How to show what came of it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Decides the run again.
///
/// # Errors
///
/// If there is no such record, it does not say what was observed, or a decision is another one.
pub(crate) fn command(arguments: &VerifyArguments, registry: &Registry) -> Result<(), Failure> {
    let folder = find(&arguments.run)?;
    let (report, ended) = verify(&folder, registry)?;
    let first = report.first();
    // Nothing is verified of what was not decided to its end.
    if ended.is_ok() || first.is_some() {
        match arguments.format {
            Format::Table => print(&text(&report))?,
            Format::Json => print_json(&report)?,
            Format::Csv => print(&report.csv()?)?,
        }
    }
    ended?;
    first.map_or(Ok(()), |first| {
        Err(Failure::Verification(format!(
            "{}: {first}",
            folder.display()
        )))
    })
}

pub(crate) const VERIFY_ABOUT: &str = "\
Decide a recorded run again from what it observed, and say whether that comes out the same.

RUN is the folder of a record, as `migbsp simulate FILE --out DIR` leaves it in DIR/iii. The record says what every \
call was decided from: what hosts had left, how far Sets are from each other, what processes measured, what \
supersteps took. From that alone the model computes anew when calls come, all potentials, the list, who is a \
candidate, each negotiation or the plan, who moves, and the pace of the calls to come. Nothing is compared \
with itself, and everything to the last digit.";

pub(crate) const VERIFY_HELP: &str = "\
A line per call says `verified`, or what differs, as the record has it and as it comes out. A line for a superstep \
without a call says that one was due there.

What no record says is taken as observed: what a process measured in each single superstep, of which a call \
has the patterns and predictions (P_comp, P_comm, CTP, BTP) and, over all processes, the sums and extremes.

Formats:
  table  a line per call
  json   one object, schema migbsp.verify/1, with all differences
  csv    one row per difference, and one per call without any

Exit codes: 0 all is verified; 3 something differs; 4 the record is broken, or of another version.

Examples:
  migbsp simulate conf/lbm.toml --out runs/lbm
  migbsp verify runs/lbm                            all calls of scenario iii
  migbsp verify runs/lbm/ii --format json           of another scenario, every difference
  migbsp verify runs/lbm && echo as decided

What is computed: docs/model.md. What is compared: docs/verify.md.";
