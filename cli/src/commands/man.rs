//! `migbsp man`: manual pages.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use clap_mangen::Man;
use experiments::Failure;

use crate::failure::CommandFailure;
use crate::output::print;

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Folder for a page of every command, instead of the page of the program on stdout
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Writes the pages of `command`.
///
/// # Errors
///
/// If a page cannot be written.
pub(crate) fn command(
    arguments: &ManArguments,
    command: clap::Command,
) -> Result<(), CommandFailure> {
    let Some(folder) = &arguments.out else {
        return print(&page(command)?);
    };
    let problem = |error| Failure::Run(format!("{}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(problem)?;
    clap_mangen::generate_to(command, folder).map_err(problem)?;
    Ok(())
}

fn page(command: clap::Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(Failure::run)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

pub(crate) const MAN_HELP: &str = "\
Examples:
  migbsp man | man -l -
  migbsp man --out ~/.local/share/man/man1           a page for every command: man migbsp-simulate";
