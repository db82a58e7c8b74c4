//! `migbsp completions`: completion scripts for shells.

use clap::ValueEnum;
use clap_complete::Generator;
use clap_complete::shells::{Bash, Elvish, Fish, PowerShell, Zsh};
use clap_complete_nushell::Nushell;

use crate::failure::CommandFailure;
use crate::output::print;

/// A shell with completion scripts.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shell {
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

/// Writes the script of `shell` for `command` to stdout.
///
/// # Errors
///
/// If stdout does not take it.
pub(crate) fn command(shell: Shell, command: clap::Command) -> Result<(), CommandFailure> {
    let script = match shell {
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

pub(crate) const COMPLETIONS_HELP: &str = "\
Examples:
  migbsp completions bash > ~/.local/share/bash-completion/completions/migbsp
  migbsp completions zsh > ~/.zfunc/_migbsp
  migbsp completions fish > ~/.config/fish/completions/migbsp.fish
  migbsp completions nushell > ~/.config/nushell/autoload/migbsp.nu";
