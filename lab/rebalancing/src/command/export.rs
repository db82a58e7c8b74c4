//! `rebalance export`: a plan in the files that vt wrote.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::vt::{PlanSource, export};
use crate::{Target, read_target};
use commands::CommandFailure;
use commands::file::{check_folder, write_new};
use commands::output::print;
use experiments::{Failure, OutputFile};
use settings::{name_of, read};

/// The arguments of `rebalance export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Plan: what `{bin} rebalance INSTANCE --format json` writes for an imported instance; `-` reads stdin
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// LB data of vt that the instance was imported from
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Folder to write, with the names of the files in PATH, none of which may exist there
    #[arg(short, long, value_name = "FOLDER")]
    out: PathBuf,
    /// Target whose solution is exported, if the plan has several
    #[arg(long, value_name = "LEVEL|PERCENT%", value_parser = read_target)]
    target: Option<Target>,
    /// Phase that was imported; the last one that all ranks have by default
    #[arg(long, value_name = "ID")]
    phase: Option<u64>,
}

/// Reads plan and files, and writes the files after the plan.
///
/// # Errors
///
/// If plan or files are invalid or do not belong together, or a file exists or cannot be written.
pub(super) fn execute(arguments: &ExportArguments) -> Result<(), CommandFailure> {
    check_folder(&arguments.out)?;
    let text = read(&arguments.plan).map_err(Failure::input)?;
    let plan = PlanSource {
        name: &name_of(&arguments.plan),
        text: &text,
        target: arguments.target,
        phase: arguments.phase,
    };
    let exported = export(plan, &arguments.paths)?;
    refuse_existing(&arguments.out, &exported.files)?;
    write_new(&arguments.out, &exported.files)?;
    let (files, folder) = (exported.files.len(), arguments.out.display());
    let (moved, tasks) = (exported.moved, exported.tasks);
    print(&format!(
        "{folder}: {files} files, in which {moved} of {tasks} tasks have another rank\n"
    ))
}

/// The error of a file that would be replaced.
fn refuse_existing(folder: &Path, files: &[OutputFile]) -> Result<(), Failure> {
    let paths = files.iter().map(|file| folder.join(file.name()));
    let mut existing = paths.filter(|path| fs::symlink_metadata(path).is_ok());
    match existing.next() {
        Some(path) => Err(Failure::Usage(format!(
            "--out {}: {} exists; must be a folder without files of ranks",
            folder.display(),
            path.display()
        ))),
        None => Ok(()),
    }
}
