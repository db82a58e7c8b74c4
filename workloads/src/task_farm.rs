//! A model of a task farm: tasks that have sizes and costs, and compute nothing.
//!
//! It is for comparisons of rules by which tasks are dealt, on simulated platforms. [`matrix_product`](crate::matrix_product)
//! is a farm that computes.

use bsp::farm::{self, Dealing, Farm, Tasks, Work};
use bsp::units::{Bytes, Instructions};
use bsp::{BoxError, Rank};
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dealing::DealingParameters;
use crate::draws::{generator, unit};
use crate::parameters::{AMOUNT_MAX, Common, Error, at_least, whole, within};

/// Tasks that only take time.
#[derive(Debug)]
pub struct Models;

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelTask {
    number: u64,
    instructions: Instructions,
    content: Content,
}

/// What workers share: the content of an outcome, and what nothing reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelShared {
    outcome: Content,
    content: Content,
}

/// The outcome of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelOutcome {
    /// The number of the task, from 0.
    pub number: u64,
    content: Content,
}

/// A process of the farm.
pub type TaskFarm = Farm<Models>;

impl Tasks for Models {
    type Shared = ModelShared;
    type Task = ModelTask;
    type Outcome = ModelOutcome;

    fn execute(
        shared: &ModelShared,
        task: &ModelTask,
        work: &mut Work,
    ) -> Result<ModelOutcome, BoxError> {
        work.charge(task.instructions);
        Ok(ModelOutcome {
            number: task.number,
            content: shared.outcome.clone(),
        })
    }
}

/// The processes of the farm.
///
/// # Errors
///
/// If there is no worker, a number is out of its range, or the number of supersteps is given, which follows from the rest.
///
/// # Examples
///
/// ```
/// use bsp::reference;
/// use workloads::{Common, task_farm};
///
/// let parameters = task_farm::Parameters { tasks: 10, ..task_farm::Parameters::default() };
/// let common = Common { processes: 3, supersteps: None, seed: 1 };
/// let run = reference::run(task_farm::processes(&parameters, common)?, reference::Limit::default())
///     .expect("the farm ends");
/// assert!(run.outputs[0].iter().map(|outcome| outcome.number).eq(0..10));
/// # Ok::<(), workloads::Error>(())
/// ```
pub fn processes(parameters: &Parameters, common: Common) -> Result<Vec<TaskFarm>, Error> {
    common.build(builder(parameters, common)?)
}

/// What builds each process, given its rank: [`processes`] without the states.
///
/// # Errors
///
/// As [`processes`].
pub fn builder(
    parameters: &Parameters,
    common: Common,
) -> Result<impl Fn(Rank) -> Result<TaskFarm, Error>, Error> {
    common.refuse_supersteps()?;
    let processes = ("processes", common.processes);
    at_least(processes, 2, "a master and a worker")?;
    let Checked {
        tasks,
        instructions,
        variation,
        shared,
        task,
        outcome,
        dealing,
    } = parameters.checked()?;
    let master = move || {
        let content = Content::new(task);
        let mut generator = generator(common.seed, b"instructions of tasks   ", 0);
        let tasks = (0..tasks).map(|number| ModelTask {
            number,
            instructions: {
                // Uniform between 1 - variation and 1 + variation of the mean.
                let factor = 1.0 + variation * (2.0 * unit(generator.next_u64()) - 1.0);
                Instructions(whole(instructions * factor))
            },
            content: content.clone(),
        });
        let shared = ModelShared {
            outcome: Content::new(outcome),
            content: Content::new(shared),
        };
        (shared, tasks.collect())
    };
    let build = farm::builder::<Models>(master, common.processes, dealing)?;
    Ok(move |rank| Ok(build(rank)?))
}

/// How many tasks there are, and what they take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The number of tasks, at most 10⁸.
    pub tasks: u64,
    /// Instructions of a task in the mean.
    pub instructions: f64,
    /// By which part of the mean the instructions of a task are below or above it at most, from 0 to 1.
    pub variation: f64,
    /// Bytes that all workers share, at most 1 GiB.
    pub shared: Bytes,
    /// Bytes of a task, at most 1 GiB.
    pub task: Bytes,
    /// Bytes of an outcome, at most 1 GiB.
    pub outcome: Bytes,
    /// How tasks are dealt.
    pub dealing: DealingParameters,
}

/// The same, checked.
struct Checked {
    tasks: u64,
    instructions: f64,
    variation: f64,
    shared: usize,
    task: usize,
    outcome: usize,
    dealing: Dealing,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            tasks: 1000,
            instructions: 1e7,
            variation: 0.0,
            shared: Bytes(0),
            task: Bytes(1000),
            outcome: Bytes(1000),
            dealing: DealingParameters::default(),
        }
    }
}

impl Parameters {
    fn checked(&self) -> Result<Checked, Error> {
        let bytes = |key: &'static str, bytes: Bytes| {
            let bytes = within((key, bytes.as_f64()), 0.0, BYTES_MAX, "at most 1 GiB")?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is in its range"
            )]
            Ok::<usize, Error>(bytes as usize)
        };
        let tasks = self.tasks as f64;
        within(("tasks", tasks), 0.0, TASKS_MAX, "at most 10^8")?;
        Ok(Checked {
            tasks: self.tasks,
            instructions: within(
                ("instructions", self.instructions),
                0.0,
                AMOUNT_MAX / 2.0,
                "a number from 0 to 2^62",
            )?,
            variation: within(
                ("variation", self.variation),
                0.0,
                1.0,
                "a number from 0 to 1",
            )?,
            shared: bytes("shared", self.shared)?,
            task: bytes("task", self.task)?,
            outcome: bytes("outcome", self.outcome)?,
            dealing: self.dealing.dealing()?,
        })
    }
}

/// The most tasks of a farm.
pub const TASKS_MAX: f64 = 1e8;

const BYTES_MAX: f64 = 1_073_741_824.0;

/// Zeros that messages carry. In a text, it is their number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Content(bytes::Bytes);

impl Content {
    /// This number of zeros.
    fn new(length: usize) -> Self {
        Self(bytes::Bytes::from(vec![0; length]))
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.0.len().serialize(serializer)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            usize::deserialize(deserializer).map(Self::new)
        } else {
            bytes::Bytes::deserialize(deserializer).map(Self)
        }
    }
}

#[cfg(test)]
mod tests;
