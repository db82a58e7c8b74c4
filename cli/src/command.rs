//! A command of a program, and what it is executed with.

use std::ffi::OsString;
use std::fmt;

use clap::{ArgMatches, Args};
use experiments::{Failure, Provenance, Registry};

use crate::commands::Commands;
use crate::failure::CommandFailure;
use crate::log::LogFormat;

/// A command: its name, its help, its arguments, and what it does with them.
///
/// Texts are written with `{bin}` for the name of the program, in whose help and errors it is replaced.
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
