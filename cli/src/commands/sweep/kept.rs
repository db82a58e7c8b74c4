//! The folder that keeps a sweep.

use std::path::Path;

use analysis::compare::Ledger;
use analysis::sweep::{Plan, SweepFolder, check_folder};
use experiments::{Attributed, Provenance};

use crate::failure::CommandFailure;
use crate::file::write;

/// Makes `folder` the one of the sweep `plan`, or finds that it is; the ledger of its runs. No other process has the
/// folder as long as the ledger exists.
///
/// # Errors
///
/// If the folder has another sweep, another process has it, or it cannot be written to.
pub(super) fn begin(
    folder: &Path,
    plan: &Plan,
    provenance: &Provenance,
) -> Result<Ledger, CommandFailure> {
    // Before anything is written into a folder of something else.
    check_folder(folder, plan, provenance)?;
    let ledger = Ledger::open(folder)?;
    if !check_folder(folder, plan, provenance)? {
        let attributed = Attributed::new(provenance, plan);
        let text = serde_json::to_string_pretty(&attributed).expect("a plan is plain data");
        write(&folder.join(SweepFolder::PLAN), &(text + "\n"))?;
    }
    Ok(ledger)
}
