//! Programs in any language, as a workload.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agents::Programs;
use bsp::Rank;
use bsp::units::{InstructionsPerSecond, Seconds};
use external::{
    Allowed, ExecutorError, Executors, External, Output, ProgramTrace, Recipe, Verdict, World,
    allowed,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use settings::{Files, Place, Unit};

use crate::outputs::{OutputsError, OutputsFormat, encode};
use crate::registry::{
    BuildError, Common, ParameterError, Rejection, Resources, Supersteps, Workload,
};

/// A program in any language: a command whose executors speak a protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExternalProgram;

/// `[application.external]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Parameters {
    /// Its name; not set: that of the command.
    program: Option<String>,
    /// Program and arguments. Paths are relative to the folder of the experiment.
    command: Vec<String>,
    /// The socket at which an executor waits that is there already, in simulations; not set: the command is started.
    connect: Option<String>,
    /// What a superstep costs in simulations.
    charge: Charge,
    /// Instructions a second of the machine that simulates, if processor time is the charge.
    speed: InstructionsPerSecond,
    /// How often simulations execute the program.
    execution: Execution,
    /// The most processes in an executor; not set: one on hosts, and any number in simulations.
    per_executor: Option<NonZeroU32>,
    /// How many threads the libraries of the program may use.
    threads: NonZeroU32,
    /// How long an executor may take to start.
    start_timeout: Seconds,
    /// How long a superstep may take; not set: any time.
    superstep_timeout: Option<Seconds>,
    /// The most memory of an executor, in bytes; not set: any.
    memory: Option<NonZeroU64>,
    /// What the program is given.
    parameters: BTreeMap<String, Value>,
}

/// What a superstep costs in simulations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Charge {
    /// What the program charges.
    #[default]
    Declared,
    /// The processor time that it takes on the machine that simulates.
    Measured,
}

/// How often simulations execute a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Execution {
    /// Once for all that have the same parameters and the same seed: they replay what it did. A program that looks at
    /// times or at who is on standby is executed in each.
    #[default]
    Once,
    /// In each.
    Each,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            program: None,
            command: Vec::new(),
            connect: None,
            charge: Charge::Declared,
            execution: Execution::Once,
            speed: InstructionsPerSecond::new(1e9).expect("a speed"),
            per_executor: None,
            threads: NonZeroU32::MIN,
            start_timeout: Seconds::new(30.0).expect("a time"),
            superstep_timeout: None,
            memory: None,
            parameters: BTreeMap::new(),
        }
    }
}

impl Parameters {
    fn name(&self) -> String {
        let of_command = || {
            // An interpreter is named by what it interprets.
            let last = self
                .command
                .iter()
                .rev()
                .find(|word| !word.starts_with('-'));
            let last = last.map(|word| Path::new(word).file_stem().unwrap_or_default());
            last.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        };
        self.program.clone().unwrap_or_else(of_command)
    }

    fn recipe(&self, common: Common, files: Files<'_>) -> Result<Recipe, BuildError> {
        let name = self.name();
        if let Some((key, _)) = self.parameters.iter().find(|(_, value)| has_null(value)) {
            let problem = "must have finite numbers, as JSON has them";
            return Err(fault(
                &format!("parameters.{key}"),
                problem.to_owned(),
                None,
            ));
        }
        let place = files.place();
        let mut recipe = Recipe {
            name: name.clone(),
            command: self.command.clone(),
            connect: self
                .connect
                .as_ref()
                .map(|socket| files.path("connect", socket)),
            wrapper: Vec::new(),
            folder: None,
            memory: self.memory,
            threads: self.threads.get(),
            parameters: serde_json::to_string(&self.parameters)
                .map_err(|error| fault("parameters", error.to_string(), None))?,
            processes: common.processes,
            seed: common.seed,
            supersteps: common.supersteps,
            world: match place {
                Place::Client(_) => World::Simulation,
                Place::Node(_) => World::Hosts,
            },
            per_executor: self.per_executor.map(NonZeroU32::get),
            start_timeout: duration(self.start_timeout),
            superstep_timeout: self.superstep_timeout.map(duration),
            measured: (self.charge == Charge::Measured).then(|| self.speed.get()),
        };
        if matches!(place, Place::Node(_)) && self.connect.is_some() {
            let problem = "is for simulations and `check`: nodes start executors by `command`";
            return Err(fault("connect", problem.to_owned(), None));
        }
        match (place, allowed()) {
            (Place::Client(folder), _) => recipe.folder = Some(absolute(folder)?),
            (Place::Node(folder), Allowed::Any) => {
                let folder = folder.filter(|folder| folder.is_dir());
                let folder = folder.ok_or_else(|| {
                    let problem = "the folder of the experiment, in which the command is started, is not there on this node";
                    let help = "share the folder, or list the program in `[node.programs]` of the node";
                    fault("command", problem.to_owned(), Some(help.to_owned()))
                })?;
                recipe.folder = Some(folder.to_path_buf());
            }
            (Place::Node(_), Allowed::Listed(programs)) => {
                let listed = programs.get(&name).ok_or_else(|| {
                    let names: Vec<&str> = programs.keys().map(String::as_str).collect();
                    let problem = format!("this node starts no external program `{name}`, only those that it lists: {}", names.join(", "));
                    fault("program", problem, None)
                })?;
                recipe.command.clone_from(&listed.command);
                recipe.wrapper.clone_from(&listed.wrapper);
                recipe.memory = listed.memory.or(recipe.memory);
            }
            (Place::Node(_), Allowed::None) => {
                let problem = "this node starts no external programs".to_owned();
                let help = "its administrator allows them with `external` in `[node]`: \"listed\" or \"any\"";
                return Err(fault("command", problem, Some(help.to_owned())));
            }
        }
        if self.program.is_none() {
            check_command(&recipe)?;
        }
        if COMMAND_MAX < recipe.command.len()
            || recipe.command.iter().any(|word| WORD_MAX < word.len())
        {
            let problem = format!(
                "has more than {COMMAND_MAX} words, or words of more than {WORD_MAX} bytes"
            );
            return Err(fault("command", problem, None));
        }
        Ok(recipe)
    }
}

/// Whether a parameter is, or has, a number that JSON does not have.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.iter().any(has_null),
        Value::Object(values) => values.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Checks that there is a command. A client that names a program which nodes list needs none.
fn check_command(recipe: &Recipe) -> Result<(), BuildError> {
    if recipe.connect.is_none() && recipe.command.first().is_none_or(String::is_empty) {
        let problem = "is missing: program and arguments, such as `[\"python3\", \"heat.py\"]`";
        return Err(fault("command", problem.to_owned(), None));
    }
    Ok(())
}

/// The most words of a command.
const COMMAND_MAX: usize = 64;

/// The most bytes of one of them.
const WORD_MAX: usize = 4096;

fn absolute(folder: &Path) -> Result<std::path::PathBuf, BuildError> {
    let absolute = std::path::absolute(Path::new(".").join(folder));
    absolute.map_err(|error| fault("command", error.to_string(), None))
}

fn duration(time: Seconds) -> Duration {
    Duration::try_from_secs_f64(time.get()).unwrap_or(Duration::MAX)
}

fn fault(key: &str, problem: String, remedy: Option<String>) -> BuildError {
    ParameterError {
        key: key.to_owned(),
        found: None,
        problem,
        remedy,
    }
    .into()
}

/// The program does not do what it is asked.
fn failed(error: &ExecutorError) -> BuildError {
    fault("command", error.to_string(), None)
}

fn executors(
    parameters: &Parameters,
    common: Common,
    files: Files<'_>,
) -> Result<Arc<Executors>, BuildError> {
    let recipe = parameters.recipe(common, files)?;
    check_command(&recipe)?;
    Executors::of(recipe).map_err(|error| failed(&error))
}

/// What an external program did, without the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedProgram;

/// `[application.recorded]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RecordedParameters {
    /// The program trace, which `record` writes, or a time-independent trace of SimGrid.
    file: String,
}

impl Workload for RecordedProgram {
    type Parameters = RecordedParameters;
    type Program = External;
    const NAME: &'static str = "recorded";
    const ABOUT: &'static str =
        "what an external or MPI program did, from a file that `record` or SimGrid writes";
    const SUPERSTEPS: Supersteps = Supersteps::Refused;
    const IS_MODEL: bool = true;

    fn draws(_: &RecordedParameters) -> bool {
        false
    }

    fn builder(
        parameters: &RecordedParameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<External, BuildError>, BuildError> {
        let name = &parameters.file;
        if name.is_empty() {
            let problem = "is missing: a program trace, which `record` or SimGrid writes";
            return Err(fault("file", problem.to_owned(), None));
        }
        let file = files.open("file", name)?;
        let trace = ProgramTrace::read_file(file, &files.path("file", name));
        let trace = trace.map_err(|error| files.invalid("file", name, error))?;
        let (found, recorded) = (common.processes, trace.len());
        if usize::try_from(found) != Ok(recorded) {
            let problem = format!("must be {recorded}, as many as were recorded");
            return Err(ParameterError {
                key: "processes".to_owned(),
                found: Some(found.to_string()),
                problem,
                remedy: None,
            }
            .into());
        }
        let process = trace.process_builder();
        Ok(move |rank| Ok(process(rank)))
    }

    fn check_format(_: OutputsFormat) -> Result<(), OutputsError> {
        Ok(())
    }

    fn encode(outputs: &[Output], format: OutputsFormat) -> Result<Vec<u8>, OutputsError> {
        encode_values(outputs, format)
    }
}

/// The values of outputs in a format.
fn encode_values(outputs: &[Output], format: OutputsFormat) -> Result<Vec<u8>, OutputsError> {
    let values = outputs.iter().map(Output::value);
    let values: Result<Vec<external::Value>, _> = values.collect();
    let values = values.map_err(|error| OutputsError::new(format, error.to_string()))?;
    encode(&values, format)
}

impl Workload for ExternalProgram {
    type Parameters = Parameters;
    type Program = External;
    const NAME: &'static str = "external";
    const ABOUT: &'static str = "a program in any language: a command that executes supersteps";
    const SUPERSTEPS: Supersteps = Supersteps::Optional;

    fn unit(key: &str) -> Unit {
        match key {
            "start_timeout" | "superstep_timeout" => Unit::Seconds,
            "memory" => Unit::Bytes,
            "speed" => Unit::Instructions,
            _ => Unit::None,
        }
    }

    fn builder(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<External, BuildError>, BuildError> {
        // Commands that only check an experiment start nothing.
        let recipe = parameters.recipe(common, files)?;
        let executors: RefCell<Option<Arc<Executors>>> = RefCell::default();
        Ok(move |rank| {
            let mut executors = executors.borrow_mut();
            let executors = match &mut *executors {
                Some(executors) => executors,
                none => {
                    check_command(&recipe)?;
                    let begun = Executors::of(recipe.clone()).map_err(|error| failed(&error))?;
                    none.insert(begun)
                }
            };
            External::new(executors, rank).map_err(|error| failed(&error))
        })
    }

    fn programs(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<Programs, BuildError> {
        if parameters.execution == Execution::Once {
            let recipe = parameters.recipe(common, files)?;
            check_command(&recipe)?;
            let trace = ProgramTrace::of(&recipe).map_err(|error| failed(&error))?;
            if let Some(trace) = trace {
                return Ok(Programs::new(trace.processes()));
            }
        }
        Ok(Programs::new(Self::processes(parameters, common, files)?))
    }

    fn resources(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
        here: u32,
    ) -> Result<Option<Resources>, BuildError> {
        let executors = executors(parameters, common, files)?;
        let guard: Resources = Arc::new(executors.guard(here));
        Ok(Some(guard))
    }

    fn verify(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
        outputs: &[Output],
    ) -> Result<Option<String>, Rejection> {
        if parameters.command.is_empty() && parameters.connect.is_none() {
            return Ok(Some(
                "not checked, because the program is only on nodes".to_owned(),
            ));
        }
        // The program may be on nodes alone, and what is called as it is here another one.
        let unchecked = |error: ExecutorError| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Ok(Some(format!(
                "not checked, because the program does not do it here: {first}"
            )))
        };
        let executors = match Executors::of(parameters.recipe(common, files)?) {
            Ok(executors) => executors,
            Err(error) => return unchecked(error),
        };
        match executors.verify(outputs) {
            Err(error) => unchecked(error),
            Ok(verdict) => match verdict {
                Verdict::Unchecked => Ok(None),
                Verdict::Accepted(text) => Ok(Some(text)),
                Verdict::Input(problem) => Err(Rejection::Input(problem)),
                Verdict::Rejected(problem) => Err(Rejection::Outputs(problem)),
            },
        }
    }

    fn check_format(_: OutputsFormat) -> Result<(), OutputsError> {
        // What outputs are is known when they are there.
        Ok(())
    }

    fn encode(outputs: &[Output], format: OutputsFormat) -> Result<Vec<u8>, OutputsError> {
        encode_values(outputs, format)
    }

    fn record(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<Option<Arc<ProgramTrace>>, BuildError> {
        let recipe = parameters.recipe(common, files)?;
        check_command(&recipe)?;
        let trace = ProgramTrace::of(&recipe).map_err(|error| failed(&error))?;
        let trace = trace.ok_or_else(|| {
            let problem = "the program looks at the time of the superstep before or at who is on standby: what it does is no one trace";
            fault("command", problem.to_owned(), None)
        })?;
        Ok(Some(trace))
    }
}
