//! `migbsp cert show`.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use protocol::identity::Revocations;
use protocol::identity::files::{list_certificates, read_revocations};

use crate::cert::authority::fault;
use crate::cert::folder::{certificates, folder};
use crate::failure::CommandFailure;
use crate::output::{Format, print, print_json, print_text};
use analysis::certificates::Report;
use experiments::{Failure, Provenance, Registry};

/// Arguments of `cert show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Files with certificates, or folders: of a folder, all files that end in .pem [default: ~/.config/migbsp]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Format of the list
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn execute(
    arguments: &ShowArguments,
    registry: &Registry,
) -> Result<(), CommandFailure> {
    let default;
    let paths = if arguments.files.is_empty() {
        default = [folder(None)?];
        &default[..]
    } else {
        &arguments.files
    };
    let mut report = Report::new(SystemTime::now());
    for path in paths {
        let is_folder = path.is_dir();
        let mut is_any_shown = false;
        for file in expanded(path)? {
            let certificates = match list_certificates(&file) {
                Ok(certificates) => certificates,
                // A folder may have certificates of other programs.
                Err(error) if is_folder => {
                    tracing::warn!("not shown: {error}");
                    continue;
                }
                Err(error) => return Err(fault(error).into()),
            };
            is_any_shown = true;
            let beside = file.parent().unwrap_or(&file);
            let revocations = read_revocations(beside).map_err(fault)?;
            let revoked = revocations.as_ref().map(Revocations::serials);
            report.add(&file.display().to_string(), &certificates, revoked);
        }
        if is_folder && !is_any_shown {
            return Err(no_certificate(path).into());
        }
    }
    let provenance = || Provenance::of_program(registry);
    match arguments.format {
        Format::Table => print_text(true, |layout| report.text(layout)),
        Format::Json => print_json(&provenance()?, &report),
        Format::Csv => print(&report.csv(&provenance()?)?),
    }
}

/// `path`, or the certificates in it if it is a folder, in the order of their names.
fn expanded(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let files = certificates(path)?;
    Ok(files)
}

fn no_certificate(folder: &Path) -> Failure {
    let place = folder.display();
    Failure::Input(format!(
        "{place}: no certificate; the folder must have files that end in .pem"
    ))
}
