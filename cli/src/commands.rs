//! The set of commands that a program has, and its name in their help; below, each command of simulations and records.

mod advise;
pub(crate) mod compare;
mod completions;
mod explain;
mod export;
pub(crate) mod laws;
mod man;
mod platform;
#[cfg(feature = "otlp")]
mod push;
mod record;
mod report;
mod simulate;
mod sweep;
mod verify;

use std::env;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::{ArgAction, ArgMatches, Args, FromArgMatches as _};
use experiments::{Experiment, Failure, Registry};
use settings::nearest;

use crate::command::{Command, Context, Parsed, knowing_policies, taking_negative_numbers};
use crate::failure::exit_code;
use crate::log::Log;
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
    /// Names of commands that this build does not have, and what has them.
    absent: Vec<(&'static str, &'static str)>,
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
            record::command(),
            explain::command(),
            export::command(),
            report::command(),
            advise::command(),
            verify::command(),
            live::node::command(),
            live::run::command(),
            live::attach::attach_command(),
            live::attach::end_command(),
            live::attach::drain_command(),
            live::attach::add_command(),
            live::up::command(),
            live::batch::slurm_command(),
            live::batch::pbs_command(),
            live::batch::oar_command(),
            live::bench::command(),
            live::status::command(),
            live::check::command(),
            platform::command(),
            cert::command(),
            completions::command(),
            man::command(),
        ];
        Self {
            registry,
            commands,
            absent: Vec::new(),
        }
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

    /// These, where the command `name` is refused with `hint`, which says what has it.
    #[must_use]
    pub fn without(mut self, name: &'static str, hint: &'static str) -> Self {
        self.absent.push((name, hint));
        self
    }

    /// Executes the command that the arguments of this process name.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let mut arguments = env::args_os().skip(1);
        if arguments
            .next()
            .is_some_and(|first| first == external::LAUNCH)
        {
            return external::launch(&arguments.collect::<Vec<_>>());
        }
        if let Ok(own) = env::current_exe() {
            external::launch_through(own);
        }
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
                let known = (&self.commands[..], &self.absent[..]);
                let error = misuse::explained(error, &clap, &words, known);
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
                log.report(&failure.to_string());
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

/// `text` with the name of `program`.
pub(crate) fn named(text: impl Display, program: &str) -> String {
    text.to_string().replace(PLACEHOLDER, program)
}

/// `command` with the name of `program` in its help and that of all its subcommands.
pub(crate) fn named_help(mut command: clap::Command, program: &str) -> clap::Command {
    if let Some(text) = command.get_long_about() {
        let text = help(text, program);
        command = command.long_about(text);
    }
    if let Some(text) = command.get_after_help() {
        let text = help(text, program);
        command = command.after_help(text);
    }
    if let Some(text) = command.get_after_long_help() {
        let text = help(text, program);
        command = command.after_long_help(text);
    }
    command
        .mut_args(|argument| match argument.get_help() {
            Some(text) => {
                let text = named(text, program);
                argument.help(text)
            }
            None => argument,
        })
        .mut_subcommands(|subcommand| named_help(subcommand, program))
}

/// The help `text` for users of `program`. Only migbsp has its files and documents beside it.
fn help(text: impl Display, program: &str) -> String {
    let text = text.to_string();
    let lines = text.lines().map(|line| {
        let mut own = named(line, program);
        if program != WITH_FILES {
            own = with_word_for(&own, "conf/", |_| "FILE".to_owned());
            for folder in ["docs/", "README.md"] {
                own = with_word_for(&own, folder, |file| format!("{file} of {WITH_FILES}"));
            }
        }
        aligned(line, own)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `line` with `replace` applied to each name of a file that begins with `start`.
fn with_word_for(line: &str, start: &str, replace: impl Fn(&str) -> String) -> String {
    let mut replaced = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(start) {
        let (before, from) = rest.split_at(at);
        let is_end = |next: char| !next.is_alphanumeric() && !"/_-.*".contains(next);
        let end = from.find(is_end).unwrap_or(from.len());
        let word = from[..end].trim_end_matches('.');
        replaced.push_str(before);
        replaced.push_str(&replace(word));
        rest = &from[word.len()..];
    }
    replaced.push_str(rest);
    replaced
}

/// `own` with its remark in the column where `line` has it, if a remark follows the command.
fn aligned(line: &str, own: String) -> String {
    let remark = |line: &str| {
        let text = line.len() - line.trim_start().len();
        let gap = text + line[text..].find("  ")?;
        let column = gap + line[gap..].find(|next| next != ' ')?;
        Some((gap, column))
    };
    match (remark(line), remark(&own)) {
        (Some((_, column)), Some((gap, own_column))) if own != line => {
            let (command, remark) = (&own[..gap], &own[own_column..]);
            let width = column.saturating_sub(1);
            format!("{command:width$} {remark}")
        }
        _ => own,
    }
}

/// What stands for the name of the program.
const PLACEHOLDER: &str = "{bin}";

/// The program that comes with conf, docs and README.md.
const WITH_FILES: &str = "migbsp";

/// Warns about every variable `MIGBSP_…` that sets no value, with the one that may be meant.
fn warn_of_unknown_variables(registry: &Registry) {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    for name in names {
        if let Some(warning) = warning(&name, registry) {
            tracing::warn!("{warning}");
        }
    }
}

/// The warning about the variable `name`; `None`: it is not ours, or sets a value.
fn warning(name: &str, registry: &Registry) -> Option<String> {
    let rest = name.strip_prefix("MIGBSP_")?;
    if rest.starts_with('_') || KNOWN.contains(&name) {
        return None;
    }
    let workloads = registry.names().into_iter();
    let workloads = workloads.filter_map(|name| {
        let defaults = registry.find(name, None).ok()?;
        let defaults = defaults.effective(&settings::Node::empty_table()).ok()?;
        let key = |(key, _): &(String, _)| format!("application.{name}.{key}");
        Some(defaults.entries().iter().map(key).collect::<Vec<_>>())
    });
    let mut keys = Experiment::keys();
    keys.extend(workloads.flatten());
    let flat: Vec<String> = keys
        .iter()
        .map(|key| key.replace(['.', '-'], "_"))
        .collect();
    let written = rest.to_lowercase().replace("__", "_");
    let known: Vec<&str> = flat.iter().map(String::as_str).collect();
    let meant = nearest(&written, &known)
        .and_then(|nearest| flat.iter().position(|name| name == nearest))
        .map(|at| {
            let variable = keys[at].replace('.', "__").replace('-', "_").to_uppercase();
            format!("; did you mean `MIGBSP__{variable}`?")
        });
    let meant = meant.unwrap_or_else(|| {
        ": variables that set a value are called MIGBSP__SECTION__KEY".to_owned()
    });
    Some(format!(
        "the environment variable `{name}` has no effect{meant}"
    ))
}

/// Variables that the tests of this repository read.
const KNOWN: [&str; 1] = ["MIGBSP_UPDATE"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Commands::new(&Registry::shipped()).clap().debug_assert();
    }

    #[test]
    fn the_program_is_named_where_its_place_is_kept_and_nowhere_else() {
        for (written, expected) in [
            ("`{bin} simulate FILE`", "`life simulate FILE`"),
            ("{bin} up -- migbsp", "life up -- migbsp"),
            ("--policy migbsp simulates", "--policy migbsp simulates"),
            ("completions/{bin}.fish", "completions/life.fish"),
            ("größe: {bin} up", "größe: life up"),
        ] {
            assert_eq!(named(written, "life"), expected);
        }
    }

    #[test]
    fn help_names_no_files_that_only_migbsp_has_and_keeps_its_columns() {
        let written = "\
Examples:
  {bin} simulate conf/lbm.toml           one
  {bin} simulate 'conf/dynamic/*.toml'
  {bin} up                               two
See README.md, docs/model.md.";
        let of_life = "\
Examples:
  life simulate FILE                     one
  life simulate 'FILE'
  life up                                two
See README.md of migbsp, docs/model.md of migbsp.";
        let of_migbsp = "\
Examples:
  migbsp simulate conf/lbm.toml          one
  migbsp simulate 'conf/dynamic/*.toml'
  migbsp up                              two
See README.md, docs/model.md.";
        let help = |program| {
            let inner = clap::Command::new("inner").after_help(written);
            let command = named_help(clap::Command::new("any").subcommand(inner), program);
            let inner = command.find_subcommand("inner");
            inner
                .and_then(clap::Command::get_after_help)
                .map(ToString::to_string)
        };
        assert_eq!(help("life").as_deref(), Some(of_life));
        assert_eq!(help("migbsp").as_deref(), Some(of_migbsp));
    }

    #[test]
    fn a_variable_that_sets_nothing_is_named_with_the_nearest_that_does() {
        let registry = Registry::shipped();
        let warning = |name| warning(name, &registry);
        let suggestion = |name| {
            warning(name)
                .unwrap()
                .split("mean ")
                .nth(1)
                .unwrap()
                .to_owned()
        };
        assert_eq!(
            suggestion("MIGBSP_SCHEDULER_INTERVAL"),
            "`MIGBSP__SCHEDULER__INTERVAL`?"
        );
        assert_eq!(
            suggestion("MIGBSP_SCHEDULER__INTERVALL"),
            "`MIGBSP__SCHEDULER__INTERVAL`?"
        );
        assert_eq!(suggestion("MIGBSP_RUN_SEED"), "`MIGBSP__RUN__SEED`?");
        assert_eq!(
            suggestion("MIGBSP_APPLICATION_SYNTHETIC_MEMORY"),
            "`MIGBSP__APPLICATION__SYNTHETIC__MEMORY`?"
        );
        assert!(warning("MIGBSP_GRAVITY").unwrap().ends_with(
            "has no effect: variables that set a value are called MIGBSP__SECTION__KEY"
        ));
        for name in ["MIGBSP__RUN__SEED", "MIGBSP__X", "PATH", "MIGBSP"] {
            assert_eq!(warning(name), None);
        }
    }
}
