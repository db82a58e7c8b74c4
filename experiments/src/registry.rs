//! Workloads, which make programs runnable by name, and the registry of those and of the rules that a binary knows.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use agents::{Outputs, ProgramType, Programs, hosted};
use bsp::farm::{DealingError, FarmError};
use bsp::reference::{Limit, contain};
use bsp::units::Bytes;
use bsp::{Program, Rank};
use external::ProgramTrace;
use machines::{JobError, TakeProcess};
use model::{Gate, Plan, Policies, Rule, When};
use protocol::Build;
use serde::Serialize;
use serde::de::DeserializeOwned;
use settings::{
    DataFolder, Fault, Files, InputFileError, Node, Unit, decode, join, nearest, tree_of,
};

use crate::binary::binary_digest;
use crate::failure::Failure;
use crate::outputs::{OutputFile, OutputsError, OutputsFormat, check_form, encode};
use crate::prepared::{Verified, VerifyError};
use crate::scheduler::Scheduler;

pub use workloads::{Common, DealingParameters, ParameterError};

/// The workloads and the rules of policies that a binary knows, and what the binary is called.
#[derive(Clone)]
pub struct Registry {
    program: &'static str,
    version: &'static str,
    entries: Vec<Arc<dyn Entry>>,
    policies: Policies,
}

/// The source of a workload's programs.
#[derive(Clone, Copy, Debug)]
pub struct BuildInput<'a> {
    /// The section `[application]`, as written.
    pub application: &'a Node,
    /// Parameters that every workload has.
    pub common: Common,
    /// The folder that names of input files are relative to.
    pub folder: DataFolder<'a>,
}

/// A workload with its types erased, for any number of threads.
pub trait Entry: Send + Sync {
    /// Its name in experiments.
    fn name(&self) -> &'static str;

    /// One line about it.
    fn about(&self) -> &'static str;

    /// Its use of `application.supersteps`.
    fn supersteps(&self) -> Supersteps;

    /// Whether its programs charge for computations that they do not execute.
    fn is_model(&self) -> bool;

    /// All parameters, those that are not written included.
    ///
    /// # Errors
    ///
    /// The first parameter that is unknown or of the wrong type.
    fn effective(&self, written: &Node) -> Result<Node, Fault>;

    /// Whether the seed makes any difference to it.
    ///
    /// # Errors
    ///
    /// The first parameter that is unknown or of the wrong type.
    fn draws(&self, written: &Node) -> Result<bool, Fault>;

    /// The type of its programs, for nodes.
    fn program_type(&self) -> ProgramType;

    /// Its programs, all of them, for a run in one process of the operating system.
    ///
    /// # Errors
    ///
    /// If the parameters do not make a program.
    fn programs(&self, order: BuildInput<'_>) -> Result<Programs, Fault>;

    /// Builds the processes of these `ranks`, one after the other, and passes each to `take`.
    ///
    /// # Errors
    ///
    /// If the parameters do not make a program; the error of `take`.
    fn build(
        &self,
        order: BuildInput<'_>,
        ranks: &[Rank],
        take: &mut TakeProcess<'_>,
    ) -> Result<(), Unbuilt>;

    /// Executes the programs several times side by side, moved and not moved, to see whether they keep the laws of programs
    /// ([`bsp::testing`]).
    ///
    /// # Errors
    ///
    /// If they cannot be built, or break a law.
    fn check_laws(&self, order: BuildInput<'_>, limit: u64) -> Result<Lawful, Unlawful>;

    /// What the program does, to be replayed instead of it ([`Workload::record`]).
    ///
    /// # Errors
    ///
    /// If it cannot be recorded.
    fn record(&self, order: BuildInput<'_>) -> Result<Option<Arc<ProgramTrace>>, Fault>;

    /// What the processes need on a host beside their states, `here` of which start on it ([`Workload::resources`]).
    ///
    /// # Errors
    ///
    /// If the host does not have it.
    fn resources(&self, order: BuildInput<'_>, here: u32) -> Result<Option<Resources>, Fault>;

    /// Checks the parameters as far as that is possible without the input files, which may be on nodes alone.
    ///
    /// # Errors
    ///
    /// If the parameters do not make a program.
    fn check(&self, order: BuildInput<'_>) -> Result<(), Fault>;

    /// Checks the outputs of the programs that were built from the same `order`.
    ///
    /// # Errors
    ///
    /// If they are no result.
    fn verify(&self, order: BuildInput<'_>, outputs: &Outputs) -> Result<Verified, VerifyError>;

    /// Checks that a format can hold outputs of its programs, as far as their type says it before there are any.
    ///
    /// # Errors
    ///
    /// If it cannot.
    fn check_format(&self, format: OutputsFormat) -> Result<(), OutputsError>;

    /// The outputs of its programs in a format.
    ///
    /// # Errors
    ///
    /// If the format cannot hold them.
    fn encode(&self, outputs: &Outputs, format: OutputsFormat) -> Result<Vec<u8>, OutputsError>;

    /// The files that the workload derives from the outputs of the programs that were built from the same `order`.
    ///
    /// # Errors
    ///
    /// If there is no result to make them of.
    fn files(
        &self,
        order: BuildInput<'_>,
        outputs: &Outputs,
    ) -> Result<Vec<OutputFile>, VerifyError>;
}

impl Registry {
    /// No workloads yet; the shipped rules of policies. The program is called migbsp.
    #[must_use]
    pub fn new() -> Self {
        Self {
            program: "migbsp",
            version: env!("CARGO_PKG_VERSION"),
            entries: Vec::new(),
            policies: Policies::default(),
        }
    }

    /// These, in a program with a name and a version of its own: in its help, in records, and on its nodes.
    ///
    /// # Examples
    ///
    /// ```
    /// let registry = experiments::Registry::shipped().named("life", env!("CARGO_PKG_VERSION"));
    /// assert_eq!(registry.program(), "life");
    /// ```
    ///
    /// # Panics
    ///
    /// If `program` or `version` is empty, longer than [`Build::TEXT_MAX`] bytes, or has control characters.
    #[must_use]
    pub fn named(mut self, program: &'static str, version: &'static str) -> Self {
        let build = Build::new(program, version, [0; Build::DIGEST_LEN]);
        assert!(build.is_ok(), "{build:?}");
        self.program = program;
        self.version = version;
        self
    }

    /// These, and `W`.
    ///
    /// # Panics
    ///
    /// If there already is one of that name.
    #[must_use]
    pub fn with<W: Workload>(mut self) -> Self {
        assert!(
            !self.names().contains(&W::NAME),
            "two workloads are called {}",
            W::NAME
        );
        self.entries.push(Arc::new(Registered::<W>(PhantomData)));
        self
    }

    /// These, and a rule that says when to call.
    ///
    /// # Panics
    ///
    /// If there already is a rule or a policy of that name, or a key of `[scheduler]`.
    #[must_use]
    pub fn with_when(mut self, rule: Rule<dyn When>) -> Self {
        check_rule(rule.name());
        self.policies = self.policies.with_when(rule);
        self
    }

    /// These, and a plan.
    ///
    /// # Panics
    ///
    /// As [`Registry::with_when`].
    #[must_use]
    pub fn with_plan(mut self, rule: Rule<dyn Plan>) -> Self {
        check_rule(rule.name());
        self.policies = self.policies.with_plan(rule);
        self
    }

    /// These, and `plans`.
    ///
    /// # Panics
    ///
    /// As [`Registry::with_when`].
    #[must_use]
    pub fn with_plans(self, plans: impl IntoIterator<Item = Rule<dyn Plan>>) -> Self {
        plans.into_iter().fold(self, Self::with_plan)
    }

    /// These, and a gate.
    ///
    /// # Panics
    ///
    /// As [`Registry::with_when`].
    #[must_use]
    pub fn with_gate(mut self, rule: Rule<dyn Gate>) -> Self {
        check_rule(rule.name());
        self.policies = self.policies.with_gate(rule);
        self
    }

    /// The name of the program.
    #[must_use]
    pub const fn program(&self) -> &'static str {
        self.program
    }

    /// The version of the program.
    #[must_use]
    pub const fn version(&self) -> &'static str {
        self.version
    }

    /// The build of this process: its program, and what tells its binary from others.
    ///
    /// # Errors
    ///
    /// If the binary cannot be read.
    pub fn build(&self) -> Result<Build, Failure> {
        let digest = binary_digest().map_err(Failure::run)?;
        Build::new(self.program, self.version, digest).map_err(Failure::run)
    }

    /// The rules of policies.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The names, in the order of registration.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.entries.iter().map(|entry| entry.name()).collect()
    }

    /// Names and descriptions.
    pub fn descriptions(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.entries
            .iter()
            .map(|entry| (entry.name(), entry.about()))
    }

    /// The workload that was asked for at `place`.
    ///
    /// # Errors
    ///
    /// If there is none of that name.
    pub fn find(&self, name: &str, place: Option<&str>) -> Result<&dyn Entry, Fault> {
        let found = self.entries.iter().find(|entry| entry.name() == name);
        found.map(AsRef::as_ref).ok_or_else(|| {
            let names = self.names();
            let hint = nearest(name, &names).map_or_else(String::new, |nearest| {
                format!("; did you mean \"{nearest}\"?")
            });
            let list = names.join(", ");
            let problem = format!("unknown workload, must be one of {list}{hint}");
            Fault::invalid(place, "application.workload", name, problem)
        })
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Registry")
            .field(&self.names())
            .finish()
    }
}

/// Refuses a rule whose parameters would be written where a key of `[scheduler]` is.
fn check_rule(name: &str) {
    let is_taken = Scheduler::keys().contains(&name);
    assert!(!is_taken, "a key of [scheduler] is called {name}");
}

/// No workload is inside: all of it is in its type.
struct Registered<W>(PhantomData<fn() -> W>);

impl<W: Workload> Registered<W> {
    fn parameters(written: &Node) -> Result<W::Parameters, Fault> {
        decode(written, &format!("application.{}", W::NAME), W::unit)
    }

    /// The section of the workload.
    fn section<'a>(order: &BuildInput<'a>) -> &'a Node {
        const NOTHING: &Node = &Node::empty_table();
        order.application.get(W::NAME).unwrap_or(NOTHING)
    }

    fn files<'a>(order: &BuildInput<'a>) -> Files<'a> {
        Files::in_folder(order.folder, Self::section(order))
    }

    /// The fault of what has not been built, at the place of its key.
    fn fault(order: &BuildInput<'_>, error: BuildError) -> Fault {
        let own = Self::section(order);
        let section = format!("application.{}", W::NAME);
        match error {
            BuildError::Parameter(ParameterError {
                key,
                found,
                problem,
                remedy,
            }) => {
                let name = key.split('[').next().unwrap_or_default();
                let is_common = ["processes", "supersteps"].contains(&name);
                let (node, path) = if is_common && own.find(name).is_none() {
                    (order.application.find(name), join("application", &key))
                } else if key.is_empty() {
                    (Some(own), section)
                } else {
                    (own.find(name), join(&section, &key))
                };
                let place = node.unwrap_or(own).place();
                let fault = match found {
                    Some(found) => Fault::invalid(place, &path, found, problem),
                    None => Fault::new(place, &path, problem),
                };
                let help = remedy.or_else(|| fault.help.clone());
                Fault { help, ..fault }
            }
            BuildError::File(error) => {
                let (key, path) = (&error.key, error.path.display());
                let place = own.find(key).unwrap_or(own).place();
                let problem = format!("{path} {}", error.problem);
                let fault = Fault::new(place, &join(&section, key), problem);
                // What a file that was named on the command line contains is no fault of the command line.
                if fault.is_usage() && !error.is_unread {
                    let origin = None;
                    return Fault { origin, ..fault };
                }
                fault
            }
        }
    }
}

impl<W: Workload> Entry for Registered<W> {
    fn name(&self) -> &'static str {
        W::NAME
    }

    fn about(&self) -> &'static str {
        W::ABOUT
    }

    fn supersteps(&self) -> Supersteps {
        W::SUPERSTEPS
    }

    fn is_model(&self) -> bool {
        W::IS_MODEL
    }

    fn effective(&self, written: &Node) -> Result<Node, Fault> {
        Ok(tree_of(&Self::parameters(written)?))
    }

    fn draws(&self, written: &Node) -> Result<bool, Fault> {
        Ok(W::draws(&Self::parameters(written)?))
    }

    fn program_type(&self) -> ProgramType {
        ProgramType::new::<W::Program>()
    }

    fn programs(&self, order: BuildInput<'_>) -> Result<Programs, Fault> {
        let parameters = Self::parameters(Self::section(&order))?;
        let programs = W::programs(&parameters, order.common, Self::files(&order));
        programs.map_err(|error| Self::fault(&order, error))
    }

    fn build(
        &self,
        order: BuildInput<'_>,
        ranks: &[Rank],
        take: &mut TakeProcess<'_>,
    ) -> Result<(), Unbuilt> {
        let parameters = Self::parameters(Self::section(&order))?;
        let fault = |error| Self::fault(&order, error);
        let build = W::builder(&parameters, order.common, Self::files(&order)).map_err(fault)?;
        for rank in ranks {
            let program = build(*rank).map_err(fault)?;
            take(*rank, hosted(program))?;
        }
        Ok(())
    }

    fn check_laws(&self, order: BuildInput<'_>, limit: u64) -> Result<Lawful, Unlawful> {
        let parameters = Self::parameters(Self::section(&order))?;
        let fault = |error| Self::fault(&order, error);
        let build = W::builder(&parameters, order.common, Self::files(&order)).map_err(fault)?;
        let ranks = || (0..order.common.processes).map(Rank);
        let build_all = || ranks().map(&build).collect::<Result<Vec<_>, _>>();
        let first = Cell::new(Some(build_all().map_err(fault)?));
        // Later executions are begun in the middle of the check, which has no errors of theirs.
        let unbuilt = Cell::new(None);
        let processes = || {
            first.take().unwrap_or_else(|| {
                build_all().unwrap_or_else(|error| {
                    unbuilt.set(Some(error));
                    panic!("the processes cannot be built again")
                })
            })
        };
        let checked = contain(|| bsp::testing::verify(processes, Limit(limit)));
        if let Some(error) = unbuilt.take() {
            return Err(fault(error).into());
        }
        let checked = checked.map_err(Unlawful::Panicked)??;
        Ok(Lawful {
            supersteps: checked.run.supersteps,
            moves: checked.moves,
            state_max: checked.state_max,
            outputs: Outputs::new::<W::Program>(checked.run.outputs),
        })
    }

    fn record(&self, order: BuildInput<'_>) -> Result<Option<Arc<ProgramTrace>>, Fault> {
        let parameters = Self::parameters(Self::section(&order))?;
        let trace = W::record(&parameters, order.common, Self::files(&order));
        trace.map_err(|error| Self::fault(&order, error))
    }

    fn resources(&self, order: BuildInput<'_>, here: u32) -> Result<Option<Resources>, Fault> {
        let parameters = Self::parameters(Self::section(&order))?;
        let resources = W::resources(&parameters, order.common, Self::files(&order), here);
        resources.map_err(|error| Self::fault(&order, error))
    }

    fn check(&self, order: BuildInput<'_>) -> Result<(), Fault> {
        let parameters = Self::parameters(Self::section(&order))?;
        match W::builder(&parameters, order.common, Self::files(&order)).map(drop) {
            Ok(()) | Err(BuildError::File(_)) => Ok(()),
            Err(error @ BuildError::Parameter(_)) => Err(Self::fault(&order, error)),
        }
    }

    fn verify(&self, order: BuildInput<'_>, outputs: &Outputs) -> Result<Verified, VerifyError> {
        let parameters = Self::parameters(Self::section(&order))?;
        let files = Self::files(&order);
        let outputs = outputs.typed::<W::Program>();
        let statement = match guarded(|| W::verify(&parameters, order.common, files, outputs)) {
            // Nodes have had the file, and the outputs are a result.
            Err(Rejection::Unbuilt(BuildError::File(error))) if error.is_unread => {
                let path = error.path.display();
                Some(format!("not checked, because {path} is not here"))
            }
            checked => checked?,
        };
        Ok(Verified::new(outputs, statement))
    }

    fn check_format(&self, format: OutputsFormat) -> Result<(), OutputsError> {
        W::check_format(format)
    }

    fn encode(&self, outputs: &Outputs, format: OutputsFormat) -> Result<Vec<u8>, OutputsError> {
        W::encode(outputs.typed::<W::Program>(), format)
    }

    fn files(
        &self,
        order: BuildInput<'_>,
        outputs: &Outputs,
    ) -> Result<Vec<OutputFile>, VerifyError> {
        let parameters = Self::parameters(Self::section(&order))?;
        let files = Self::files(&order);
        let outputs = outputs.typed::<W::Program>();
        Ok(guarded(|| {
            W::files(&parameters, order.common, files, outputs)
        })?)
    }
}

/// What a workload says of outputs. They may be those of other machines, and a check that panics rejects them.
fn guarded<T>(check: impl FnOnce() -> Result<T, Rejection>) -> Result<T, Rejection> {
    contain(check).unwrap_or_else(|message| {
        let problem = format!("the check of the outputs panicked: {message}");
        Err(Rejection::Outputs(problem))
    })
}

/// Programs that keep the laws.
#[derive(Debug)]
pub struct Lawful {
    /// The number of supersteps.
    pub supersteps: u64,
    /// How often a process was moved.
    pub moves: u64,
    /// The length of the longest encoded state.
    pub state_max: Bytes,
    /// The outputs.
    pub outputs: Outputs,
}

/// Why programs are not known to keep the laws.
#[derive(Debug, thiserror::Error)]
pub enum Unlawful {
    /// They cannot be built.
    #[error(transparent)]
    Parameters(#[from] Fault),
    /// They break one.
    #[error(transparent)]
    Law(#[from] bsp::testing::Error),
    /// The code of a program panicked where it is saved, loaded or built.
    #[error("the program panicked: {0}")]
    Panicked(String),
}

/// What is kept on a host as long as a job has it.
pub type Resources = Arc<dyn Any + Send + Sync>;

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
/// use bsp::{BoxError, Program, Rank, Step, Superstep};
/// use experiments::{BuildError, Common, Files, Registry, Workload};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Countdown { left: u64, work: u64 }
///
/// impl Program for Countdown {
///     type Message = ();
///     type Output = ();
///
///     fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<()>, BoxError> {
///         ctx.charge(Instructions(self.work));
///         self.left -= 1;
///         if self.left == 0 { Ok(Step::Halt(())) } else { Ok(Step::Continue) }
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
///     fn builder(
///         parameters: &Parameters,
///         common: Common,
///         _: Files<'_>,
///     ) -> Result<impl Fn(Rank) -> Result<Countdown, BuildError>, BuildError> {
///         let left = common.required_supersteps()?;
///         let work = parameters.instructions;
///         Ok(move |_| Ok(Countdown { left, work }))
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

    /// What builds each process, given its rank.
    ///
    /// On real hosts, each node builds the processes that start there: it calls this once, and what this returns once for each
    /// of them. So what is read or computed here is what all processes share, such as a matrix of which each takes a part;
    /// what only one process has is made in what this returns. It is dropped when the last process has been built.
    ///
    /// The client calls it, too, to find invalid parameters before it submits anything. An error of a file is none there,
    /// because nodes may have the file.
    ///
    /// # Laws
    ///
    /// A process depends on parameters, `common`, files and rank alone: it is the same on any node, and however many others
    /// are built there.
    ///
    /// # Errors
    ///
    /// The invalid parameter or file.
    fn builder(
        parameters: &Self::Parameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<Self::Program, BuildError>, BuildError>;

    /// All processes, by rank: for tests, and for runs in one process of the operating system.
    ///
    /// # Errors
    ///
    /// As [`Workload::builder`], or if there is no process or no superstep.
    fn processes(
        parameters: &Self::Parameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<Vec<Self::Program>, BuildError> {
        common.build(Self::builder(parameters, common, files)?)
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

    /// The programs of all processes, for a simulation.
    ///
    /// # Errors
    ///
    /// As [`Self::builder`].
    fn programs(
        parameters: &Self::Parameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<Programs, BuildError> {
        Ok(Programs::new(Self::processes(parameters, common, files)?))
    }

    /// What the program does, to be replayed instead of it; `None` for workloads that are not recorded.
    ///
    /// # Errors
    ///
    /// If it cannot be recorded.
    fn record(
        _parameters: &Self::Parameters,
        _common: Common,
        _files: Files<'_>,
    ) -> Result<Option<Arc<ProgramTrace>>, BuildError> {
        Ok(None)
    }

    /// What its processes need on a host beside their states, while a job has this host: `here` of them start on it. Kept until the
    /// job is over, also where no process is. It does not wait.
    ///
    /// # Errors
    ///
    /// If the host does not have it.
    fn resources(
        _parameters: &Self::Parameters,
        _common: Common,
        _files: Files<'_>,
        _here: u32,
    ) -> Result<Option<Resources>, BuildError> {
        Ok(None)
    }

    /// Checks that outputs can be written in a format, by their type.
    ///
    /// # Errors
    ///
    /// If they cannot.
    fn check_format(format: OutputsFormat) -> Result<(), OutputsError> {
        check_form::<<Self::Program as Program>::Output>(format)
    }

    /// The outputs, by rank, in a format.
    ///
    /// # Errors
    ///
    /// If the format cannot hold them.
    fn encode(
        outputs: &[<Self::Program as Program>::Output],
        format: OutputsFormat,
    ) -> Result<Vec<u8>, OutputsError> {
        encode(outputs, format)
    }
}

/// Why parameters make no programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// An invalid parameter.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// An input file that cannot be read, or whose contents are invalid.
    #[error(transparent)]
    File(#[from] InputFileError),
}

impl From<workloads::Error> for BuildError {
    fn from(error: workloads::Error) -> Self {
        Self::Parameter(error.into())
    }
}

impl From<FarmError> for BuildError {
    fn from(error: FarmError) -> Self {
        Self::Parameter(error.into())
    }
}

impl From<DealingError> for BuildError {
    fn from(error: DealingError) -> Self {
        Self::Parameter(error.into())
    }
}

/// Why not all processes of a job have been built.
#[derive(Debug, thiserror::Error)]
pub enum Unbuilt {
    /// The parameters make no program.
    #[error(transparent)]
    Parameters(#[from] Fault),
    /// A process has been built and not been taken.
    #[error(transparent)]
    Untaken(#[from] JobError),
}

/// Why the outputs are no valid result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The result does not exist, such as the factors of a singular matrix.
    #[error("{0}")]
    Input(String),
    /// The input cannot be had here, such as a file that only nodes have.
    #[error(transparent)]
    Unbuilt(#[from] BuildError),
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
