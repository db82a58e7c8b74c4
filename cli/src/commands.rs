//! The commands: their arguments, their help, what they print; and the set of them that a program has.

mod advise;
pub(crate) mod compare;
mod completions;
mod explain;
mod export;
mod flows;
mod man;
mod platform;
mod report;
mod runs;
mod simulate;
mod sweep;
mod verify;

use std::env;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::{ArgAction, ArgMatches, Args, FromArgMatches as _};
use experiments::{Failure, Registry};

use crate::arguments::{knowing_policies, taking_negative_numbers};
use crate::command::{Command, Context, Parsed};
use crate::environment::warn_of_unknown_variables;
use crate::exit::exit_code;
use crate::log::Log;
use crate::named::{named, named_help};
use crate::{cert, live, misuse, topics};

/// The commands of a program.
///
/// Results go to stdout, everything else to stderr; the exit codes are those of `help exit-codes`.
///
/// # Examples
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     commands::Commands::new(&experiments::Registry::shipped()).run()
/// }
/// ```
#[derive(Debug)]
pub struct Commands<'a> {
    registry: &'a Registry,
    /// In the order of the help.
    commands: Vec<Command>,
}

impl<'a> Commands<'a> {
    /// Those that every program has. They know the workloads and the rules of policies of `registry`, and the program is
    /// called as it says.
    #[must_use]
    pub fn new(registry: &'a Registry) -> Self {
        let commands = vec![
            simulate::command(registry),
            compare::command(registry),
            sweep::command(),
            explain::command(),
            export::command(),
            report::command(),
            advise::command(),
            verify::command(),
            live::node::command(),
            live::run::command(),
            live::up::command(),
            live::bench::command(),
            live::status::command(),
            platform::command(),
            cert::command(),
            completions::command(),
            man::command(),
        ];
        Self { registry, commands }
    }

    /// These and another one, before those that are about the program itself, `completions` and `man`.
    ///
    /// # Panics
    ///
    /// If there is a command of that name.
    #[must_use]
    pub fn with(mut self, command: Command) -> Self {
        let name = command.name();
        assert!(
            self.find(name).is_none(),
            "there is a command `{name}` already"
        );
        self.commands.insert(self.commands.len() - 2, command);
        self
    }

    /// Executes the command that the arguments of this process name.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let mut clap = self.clap();
        let parsed = clap
            .try_get_matches_from_mut(env::args_os())
            .and_then(|matches| {
                let global = Global::from_arg_matches(&matches)?;
                Ok((global, self.parse(&matches)?))
            });
        let (global, parsed) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                let words = env::args_os().skip(1);
                let words: Vec<String> = words
                    .map(|word| word.to_string_lossy().into_owned())
                    .collect();
                let error = misuse::explained(error, &clap, &words, &self.commands);
                // A closed stdout is no error of help.
                let _unread = error.print();
                return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
            }
        };
        let log = Log {
            verbose: global.verbose,
            quiet: global.quiet,
            node: parsed.log,
        };
        log.begin();
        warn_of_unknown_variables(self.registry);
        // A progress bar and log lines would overwrite each other.
        let is_silent = global.verbose == 0 && env::var_os("RUST_LOG").is_none();
        let context = Context {
            commands: &self,
            clap: &clap,
            has_progress: is_silent && !global.quiet && io::stderr().is_terminal(),
        };
        let ended = check_open_files()
            .map_err(Into::into)
            .and_then(|()| (parsed.execute)(&context));
        match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
            Err(failure) => {
                log.report(&named(&failure, self.registry.program()));
                exit_code(&failure)
            }
        }
    }

    pub(crate) const fn registry(&self) -> &'a Registry {
        self.registry
    }

    /// The command that `matches` name, with its arguments.
    pub(crate) fn parse(&self, matches: &ArgMatches) -> Result<Parsed, clap::Error> {
        let (name, matches) = matches.subcommand().expect("clap requires a command");
        match self.find(name) {
            Some(command) => command.parse(matches),
            None => Ok(topics::parsed(name)),
        }
    }

    fn find(&self, name: &str) -> Option<&Command> {
        self.commands.iter().find(|command| command.name() == name)
    }

    /// The whole command line.
    fn clap(&self) -> clap::Command {
        let (program, version) = (self.registry.program(), self.registry.version());
        let commands = self.commands.iter().map(|command| command.clap().clone());
        let examples = self.commands.iter().map(Command::example_lines);
        let command = clap::Command::new(program)
            .version(version)
            .max_term_width(100)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(commands)
            .after_help(format!(
                "Examples:\n{}\n\
                 Topics: {{bin}} help {}.\n\
                 See also: `{{bin}} help simulate`, README.md, docs/model.md.",
                examples.collect::<String>(),
                topics::NAMES.join(", ")
            ));
        // Options of all commands after the commands, so that each lists its own first.
        let command = Global::augment_args(topics::added(command, self.registry))
            .about("Live rescheduling of bulk-synchronous parallel processes");
        let command = knowing_policies(command, self.registry.policies());
        taking_negative_numbers(named_help(command, program))
    }
}

/// The options of every command.
#[derive(Debug, Args)]
struct Global {
    /// Log to stderr: calls and migrations (-v), supersteps (-vv)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Log only errors, and show no progress
    #[arg(short, long, global = true)]
    quiet: bool,
}

/// Checks that this process may open the files and sockets that every run needs: libraries panic without them.
fn check_open_files() -> Result<(), Failure> {
    let opened: io::Result<Vec<File>> = (0..OPEN_FILES_MIN)
        .map(|_| File::open("/dev/null"))
        .collect();
    opened.map(drop).map_err(|error| {
        Failure::Usage(format!(
            "this process may open too few files: {error}: raise the limit, for example with `ulimit -n 1024`"
        ))
    })
}

/// Files and sockets that a run without any peer opens, beside standard input and outputs.
const OPEN_FILES_MIN: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Commands::new(&Registry::shipped()).clap().debug_assert();
    }
}
