//! `migbsp advise`: where a recorded run lost time, and which keys would shorten it.

use std::path::PathBuf;

use analysis::advise::{advise, text};
use clap::Args;
use experiments::record::{find_last, manifest};
use experiments::{Failure, Provenance, Registry};

use crate::failure::CommandFailure;
use crate::output::{Format, print, print_json, print_text};

/// Arguments of `advise`.
#[derive(Debug, Args)]
pub(crate) struct AdviseArguments {
    /// Folder of a record, as `simulate --out DIR` writes to DIR/iii; DIR stands for DIR/iii, or else for the last in it
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Format of the advice
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Judges the record.
///
/// # Errors
///
/// If there is no complete record, it has nothing to judge, or the advice cannot be written.
pub(crate) fn command(
    arguments: &AdviseArguments,
    registry: &Registry,
) -> Result<(), CommandFailure> {
    let folder = find_last(&arguments.run)?;
    let report = advise(&folder)?;
    let provenance =
        || -> Result<Provenance, Failure> { Provenance::of_record(&manifest(&folder)?, registry) };
    match arguments.format {
        Format::Table => print_text(false, |layout| text(&report, layout)),
        Format::Json => print_json(&provenance()?, &report),
        Format::Csv => print(&report.csv(&provenance()?)?),
    }
}

pub(crate) const ADVISE_ABOUT: &str = "\
Say from a record where time was lost, which keys would shorten the run, and by how much.";

pub(crate) const ADVISE_HELP: &str = "\
Examples:
  migbsp advise runs/farm";
