//! What makes a program runnable by name.

use bsp::{Program, Rank};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::outputs::OutputFile;
use settings::Files;
use settings::Unit;

pub use workloads::{Common, DealingParameters};

/// A workload's use of `application.supersteps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supersteps {
    /// The program has no end of its own: it executes this number.
    Required,
    /// The program determines its own length, or ends after this number.
    Optional,
    /// The program determines its own length; a partial run has no valid result.
    Refused,
}

/// A program with a name and parameters, for `[application]` of an experiment file.
///
/// # Examples
///
/// ```
/// use bsp::units::Instructions;
/// use bsp::{Program, Step, Superstep};
/// use experiments::{Common, Registry, Workload};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Countdown { left: u64, work: u64 }
///
/// impl Program for Countdown {
///     type Message = ();
///     type Output = ();
///
///     fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Step<()> {
///         ctx.charge(Instructions(self.work));
///         self.left -= 1;
///         if self.left == 0 { Step::Halt(()) } else { Step::Continue }
///     }
/// }
///
/// #[derive(Serialize, Deserialize)]
/// #[serde(default, deny_unknown_fields)]
/// struct Parameters { instructions: u64 }
///
/// impl Default for Parameters {
///     fn default() -> Self {
///         Self { instructions: 1_000_000 }
///     }
/// }
///
/// struct CountdownWorkload;
///
/// impl Workload for CountdownWorkload {
///     type Parameters = Parameters;
///     type Program = Countdown;
///     const NAME: &'static str = "countdown";
///     const ABOUT: &'static str = "computes, and sends nothing";
///
///     fn build(parameters: &Parameters, common: Common) -> Result<Vec<Countdown>, String> {
///         let left = common.required_supersteps().map_err(|error| error.to_string())?;
///         let one = || Countdown { left, work: parameters.instructions };
///         Ok((0..common.processes).map(|_| one()).collect())
///     }
/// }
///
/// let registry = Registry::new().with::<CountdownWorkload>();
/// assert_eq!(registry.names(), ["countdown"]);
/// // fn main() -> std::process::ExitCode { commands::Commands::new(&registry).run() }
/// ```
pub trait Workload: 'static {
    /// Parameters of `[application.NAME]`. Every field has a default, and `deny_unknown_fields` is set,
    /// so that a mistyped key is an error.
    type Parameters: Serialize + DeserializeOwned + Default;
    /// The program.
    type Program: Program;
    /// Its value of `application.workload`, in kebab case.
    const NAME: &'static str;
    /// One line for the list of workloads.
    const ABOUT: &'static str;

    /// Whether `application.supersteps` has to be set; by default it has to.
    const SUPERSTEPS: Supersteps = Supersteps::Required;

    /// Whether its programs are a model: they charge for computations that they do not execute, so that on real hosts they
    /// take no time and a slow host is as fast as the others. `run` warns of it. By default they are none.
    const IS_MODEL: bool = false;

    /// The unit that a parameter may carry, by its key; by default that of the shipped names
    /// (`memory`, `bytes`, `instructions`, …).
    fn unit(key: &str) -> Unit {
        Unit::of_key(key)
    }

    /// Whether anything depends on [`Common::seed`]; by default it may. What does not is run once for
    /// all seeds by a comparison.
    fn draws(_parameters: &Self::Parameters) -> bool {
        true
    }

    /// One program for each rank.
    ///
    /// # Errors
    ///
    /// Names the invalid parameter, its value and the rule.
    fn build(parameters: &Self::Parameters, common: Common) -> Result<Vec<Self::Program>, String>;

    /// The same, where parameters may name files; by default none does.
    ///
    /// # Errors
    ///
    /// As [`Workload::build`], and if the contents of a file are invalid.
    fn build_from(
        parameters: &Self::Parameters,
        common: Common,
        _files: Files<'_>,
    ) -> Result<Vec<Self::Program>, Unbuilt> {
        Ok(Self::build(parameters, common)?)
    }

    /// Checks the outputs of processes that were built from the same arguments, in rank order,
    /// and describes them in one line; by default there is no check.
    ///
    /// # Errors
    ///
    /// If it is no result.
    fn verify(
        _parameters: &Self::Parameters,
        _common: Common,
        _files: Files<'_>,
        _outputs: &[<Self::Program as Program>::Output],
    ) -> Result<Option<String>, Rejection> {
        Ok(None)
    }

    /// The files that `--outputs DIR/` writes beside the outputs, such as a picture, made of the outputs of processes
    /// that were built from the same arguments, in rank order; by default none. Their names have no folder in them and
    /// differ from each other and from `outputs.json`.
    ///
    /// # Errors
    ///
    /// If there is no result to make them of.
    fn files(
        _parameters: &Self::Parameters,
        _common: Common,
        _files: Files<'_>,
        _outputs: &[<Self::Program as Program>::Output],
    ) -> Result<Vec<OutputFile>, Rejection> {
        Ok(Vec::new())
    }
}

/// Why parameters that may name files make no programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unbuilt {
    /// An invalid parameter.
    #[error("{0}")]
    Parameter(String),
    /// Invalid contents of a file.
    #[error("{0}")]
    File(String),
}

impl From<String> for Unbuilt {
    fn from(problem: String) -> Self {
        Self::Parameter(problem)
    }
}

/// Why the outputs are no valid result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The result does not exist, such as the factors of a singular matrix.
    #[error("{0}")]
    Input(String),
    /// The result is not the required one: the program is wrong.
    #[error("{0}")]
    Outputs(String),
    /// The output of one process is none that it can have: the program is wrong, or the host that it ended on.
    #[error("the output of {process} {problem}")]
    Output {
        /// The process.
        process: Rank,
        /// What is wrong with its output.
        problem: String,
    },
}

impl Rejection {
    /// The output of the process at `index` is none that it can have, for it `problem` (as "has no row").
    ///
    /// # Panics
    ///
    /// If `index` is no rank.
    pub fn output(index: usize, problem: impl Into<String>) -> Self {
        let (process, problem) = (Rank::from_index(index), problem.into());
        Self::Output { process, problem }
    }
}
