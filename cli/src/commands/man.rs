//! `migbsp man`: manual pages.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use clap_mangen::Man;
use experiments::Failure;

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use crate::output::print;

/// Arguments of `man`.
#[derive(Debug, Args)]
struct ManArguments {
    /// Folder for a page of every command, instead of the page of the program on stdout
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The command `man`.
pub(super) fn command() -> Command {
    Command::new("man", "Write manual pages", execute).after_help(MAN_HELP)
}

/// Writes the pages of the program.
///
/// # Errors
///
/// If a page cannot be written.
fn execute(arguments: &ManArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let command = context.clap.clone();
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

const MAN_HELP: &str = "\
Examples:
  {bin} man | man -l -
  {bin} man --out ~/.local/share/man/man1            a page for every command: man {bin}-simulate";
