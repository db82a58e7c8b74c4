//! `migbsp completions`: completion scripts for shells.

use clap::{Args, ValueEnum};
use clap_complete::Generator;
use clap_complete::shells::{Bash, Elvish, Fish, PowerShell, Zsh};
use clap_complete_nushell::Nushell;

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use crate::output::print;

/// A shell with completion scripts.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    /// GNU Bash
    Bash,
    /// Elvish
    Elvish,
    /// fish
    Fish,
    /// Nushell
    Nushell,
    /// PowerShell
    #[value(name = "powershell")]
    Power,
    /// Z shell
    Zsh,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// The command `completions`.
pub(super) fn command() -> Command {
    Command::new(
        "completions",
        "Write a completion script for a shell to stdout",
        execute,
    )
    .after_help(COMPLETIONS_HELP)
}

/// Writes the script for the commands of the program to stdout.
///
/// # Errors
///
/// If stdout does not take it.
fn execute(arguments: &CompletionsArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let command = context.clap.clone();
    let script = match arguments.shell {
        Shell::Bash => script(Bash, command),
        Shell::Elvish => script(Elvish, command),
        Shell::Fish => script(Fish, command),
        Shell::Nushell => script(Nushell, command),
        Shell::Power => script(PowerShell, command),
        Shell::Zsh => script(Zsh, command),
    };
    print(&script)
}

fn script(generator: impl Generator, mut command: clap::Command) -> String {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let name = name.to_owned();
    let mut script = Vec::new();
    clap_complete::generate(generator, &mut command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

const COMPLETIONS_HELP: &str = "\
Examples:
  {bin} completions bash > ~/.local/share/bash-completion/completions/{bin}
  {bin} completions zsh > ~/.zfunc/_{bin}
  {bin} completions fish > ~/.config/fish/completions/{bin}.fish
  {bin} completions nushell > ~/.config/nushell/autoload/{bin}.nu";
