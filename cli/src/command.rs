//! A command of a program, what it is executed with, and arguments that several commands have.

use std::ffi::OsString;
use std::fmt;
use std::num::NonZero;

use analysis::compare::Contender;
use clap::{ArgMatches, Args};
use experiments::{Failure, Provenance, Registry};
use model::Policies;

use crate::commands::Commands;
use crate::failure::CommandFailure;
use crate::log::LogFormat;

/// A command: its name, its help, its arguments, and what it does with them.
///
/// Texts are written with `{bin}` for the name of the program, in whose help it is replaced.
pub struct Command {
    clap: clap::Command,
    /// Words after the name of the program, and a remark.
    examples: Vec<(&'static str, &'static str)>,
    /// The end of names of files, and the words that are meant where such a file stands alone.
    opened: Option<(&'static str, &'static str)>,
    parse: Parse,
}

/// Makes of matched arguments what is to be executed.
type Parse = Box<dyn Fn(&ArgMatches) -> Result<Parsed, clap::Error>>;

/// A command with its arguments.
pub(crate) struct Parsed {
    /// The format of its log, if it is a node.
    pub(crate) log: Option<LogFormat>,
    pub(crate) execute: Execute,
}

type Execute = Box<dyn FnOnce(&Context<'_>) -> Result<(), CommandFailure>>;

impl Command {
    /// The command `name` with the arguments `A`; `about` is its line in the help of the program.
    #[must_use]
    pub fn new<A: Args + 'static>(
        name: &'static str,
        about: &'static str,
        execute: fn(&A, &Context<'_>) -> Result<(), CommandFailure>,
    ) -> Self {
        Self::with_log(name, about, execute, |_| None)
    }

    /// The same, whose log has the format that `log` makes of its arguments.
    pub(crate) fn with_log<A: Args + 'static>(
        name: &'static str,
        about: &'static str,
        execute: fn(&A, &Context<'_>) -> Result<(), CommandFailure>,
        log: fn(&A) -> Option<LogFormat>,
    ) -> Self {
        let parse = move |matches: &ArgMatches| {
            let arguments = A::from_arg_matches(matches)?;
            Ok(Parsed {
                log: log(&arguments),
                execute: Box::new(move |context: &Context<'_>| execute(&arguments, context)),
            })
        };
        Self {
            clap: A::augment_args(clap::Command::new(name)).about(about),
            examples: Vec::new(),
            opened: None,
            parse: Box::new(parse),
        }
    }

    /// With this text at the beginning of its long help, instead of the line.
    #[must_use]
    pub fn long_about(mut self, text: impl Into<String>) -> Self {
        self.clap = self.clap.long_about(text.into());
        self
    }

    /// With this text at the end of its help.
    #[must_use]
    pub fn after_help(mut self, text: impl Into<String>) -> Self {
        self.clap = self.clap.after_help(text.into());
        self
    }

    /// With this text at the end of its long help.
    #[must_use]
    pub fn after_long_help(mut self, text: impl Into<String>) -> Self {
        self.clap = self.clap.after_long_help(text.into());
        self
    }

    /// Without these arguments in its help, which it refuses.
    #[must_use]
    pub(crate) fn hiding(mut self, arguments: &[&str]) -> Self {
        for argument in arguments {
            self.clap = self.clap.mut_arg(*argument, |argument| argument.hide(true));
        }
        self
    }

    /// With an example in the help of the program: the words after its name, and a remark, which may be empty.
    #[must_use]
    pub fn example(mut self, words: &'static str, remark: &'static str) -> Self {
        self.examples.push((words, remark));
        self
    }

    /// With the words that are meant where the program is given a file whose name has this ending, and no command.
    #[must_use]
    pub const fn opening(mut self, ending: &'static str, words: &'static str) -> Self {
        self.opened = Some((ending, words));
        self
    }

    pub(crate) fn name(&self) -> &str {
        self.clap.get_name()
    }

    pub(crate) const fn clap(&self) -> &clap::Command {
        &self.clap
    }

    /// Its examples in the help of the program, as lines.
    pub(crate) fn example_lines(&self) -> String {
        let lines = self.examples.iter().map(|(words, remark)| {
            let line = format!("  {{bin}} {words}");
            match remark.len() {
                0 => format!("{line}\n"),
                _ if line.len() < REMARKS => format!("{line:REMARKS$}{remark}\n"),
                _ => format!("{line}\n{:REMARKS$}{remark}\n", ""),
            }
        });
        lines.collect()
    }

    pub(crate) const fn opened(&self) -> Option<(&'static str, &'static str)> {
        self.opened
    }

    pub(crate) fn parse(&self, matches: &ArgMatches) -> Result<Parsed, clap::Error> {
        (self.parse)(matches)
    }
}

/// The column of the remarks beside examples.
const REMARKS: usize = 53;

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Command").field(&self.name()).finish()
    }
}

/// The program that executes a command.
#[derive(Debug)]
pub struct Context<'a> {
    pub(crate) commands: &'a Commands<'a>,
    /// The whole command line.
    pub(crate) clap: &'a clap::Command,
    pub(crate) has_progress: bool,
}

impl<'a> Context<'a> {
    /// The workloads and rules that it knows.
    #[must_use]
    pub const fn registry(&self) -> &'a Registry {
        self.commands.registry()
    }

    /// Its name.
    #[must_use]
    pub fn program(&self) -> &'static str {
        self.registry().program()
    }

    /// Whether progress bars on stderr are wanted.
    #[must_use]
    pub const fn has_progress(&self) -> bool {
        self.has_progress
    }

    /// What makes a result that depends on nothing but the program.
    ///
    /// # Errors
    ///
    /// If the binary of this process cannot be read.
    pub fn provenance(&self) -> Result<Provenance, Failure> {
        Provenance::of_program(self.registry())
    }

    /// Executes another command: `words` are its name and its arguments.
    ///
    /// # Errors
    ///
    /// Those of the command; [`Failure::Usage`] if it refuses the arguments.
    pub fn execute(&self, words: &[&str]) -> Result<(), CommandFailure> {
        let words = [self.program()].into_iter().chain(words.iter().copied());
        let mut clap = self.clap.clone();
        let parsed = clap
            .try_get_matches_from_mut(words.map(OsString::from))
            .and_then(|matches| self.commands.parse(&matches))
            .map_err(|error| Failure::Usage(error.to_string()))?;
        (parsed.execute)(self)
    }
}

/// Values of an experiment that are changed.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Overrides {
    /// Number of processes [default: from the experiment]
    #[arg(short = 'n', long = "np", value_name = "N")]
    processes: Option<u32>,
    /// Seed of random numbers [default: from the experiment]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Policy, with parameters of [scheduler] [default: from the experiment]
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]")]
    policy: Option<Contender>,
    /// Value to set in the experiment; can be given several times
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

impl Overrides {
    /// All of them as `section.key=value`; an option of its own overrides `--set`.
    pub(crate) fn assignments(&self) -> Vec<String> {
        let mut all = self.set.clone();
        let processes = self.processes.iter();
        all.extend(processes.map(|number| format!("application.processes={number}")));
        all.extend(self.seed.iter().map(|seed| format!("run.seed={seed}")));
        if let Some(policy) = &self.policy {
            all.extend(policy.written.iter().cloned());
        }
        all
    }

    /// The arguments with which `compare` runs the same experiment: it has seeds and policies of its own.
    pub(crate) fn of_comparison(&self) -> String {
        let all = self.assignments();
        let is_compared = |assignment: &&String| {
            let key = assignment.split('=').next().unwrap_or_default().trim();
            let decided = ["run.seed", "scheduler.policy", "scheduler.scenario"];
            key != "scheduler.script" && !decided.contains(&key)
        };
        let quoted = |assignment: &String| {
            let is_plain = |character: char| {
                character.is_ascii_alphanumeric() || "-_.=:/+,".contains(character)
            };
            if assignment.chars().all(is_plain) {
                format!(" --set {assignment}")
            } else {
                format!(" --set '{}'", assignment.replace('\'', "'\\''"))
            }
        };
        all.iter().filter(is_compared).map(quoted).collect()
    }
}

/// What `--trace` sets.
pub(crate) const TRACED: &str = "run.trace=true";

/// `--jobs`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct JobsArguments {
    /// Number of threads [default: one per core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    jobs: Option<u32>,
}

impl JobsArguments {
    /// The number of threads; `None`: one per core.
    #[must_use]
    pub fn threads(self) -> Option<NonZero<usize>> {
        NonZero::new(usize::try_from(self.jobs?).unwrap_or(usize::MAX))
    }
}

/// Takes `-1` after an option for its value, so that the value's parser reports the error.
pub(crate) fn taking_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        let is_option = !argument.is_positional() && argument.get_action().takes_values();
        argument.allow_negative_numbers(is_option)
    });
    command.mut_subcommands(taking_negative_numbers)
}

/// Reads `--policy` of all commands as one of `policies`.
pub(crate) fn knowing_policies(command: clap::Command, policies: &Policies) -> clap::Command {
    let known = policies.clone();
    let command = command.mut_args(move |argument| {
        if argument.get_long() != Some("policy") {
            return argument;
        }
        let known = known.clone();
        argument.value_parser(move |text: &str| Contender::new(text, &known))
    });
    command.mut_subcommands(|subcommand| knowing_policies(subcommand, policies))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_its_own_overrides_set() {
        let overrides = Overrides {
            processes: Some(8),
            seed: Some(3),
            policy: Some("adaptive:planning.horizon=20".parse().unwrap()),
            set: vec!["run.seed=1".to_owned(), "scheduler.interval=5 s".to_owned()],
        };
        let expected = [
            "run.seed=1",
            "scheduler.interval=5 s",
            "application.processes=8",
            "run.seed=3",
            "scheduler.policy=adaptive",
            "scheduler.script=[]",
            "scheduler.planning.horizon=20",
        ];
        assert_eq!(overrides.assignments(), expected);
        assert_eq!(
            overrides.of_comparison(),
            " --set 'scheduler.interval=5 s' --set application.processes=8 \
             --set scheduler.planning.horizon=20"
        );
        assert_eq!(Overrides::default().assignments(), [""; 0]);
    }
}
