//! A model of a task farm: tasks that have sizes and costs, and compute nothing.
//!
//! It is for comparisons of rules by which tasks are dealt, on simulated platforms. [`matrix_product`](crate::matrix_product)
//! is a farm that computes.

mod content;
mod parameters;

use bsp::farm::{self, Farm, Tasks, Work};
use bsp::units::Instructions;
use serde::{Deserialize, Serialize};

use self::content::Content;
use self::parameters::Checked;
use crate::draws::{generator, unit};
use crate::parameters::{Common, Error, at_least, whole};
use rand_chacha::rand_core::Rng;

pub use self::parameters::{Parameters, TASKS_MAX};

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

    fn execute(shared: &ModelShared, task: &ModelTask, work: &mut Work) -> ModelOutcome {
        work.charge(task.instructions);
        ModelOutcome {
            number: task.number,
            content: shared.outcome.clone(),
        }
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
    Ok(farm::processes(
        &shared,
        tasks.collect(),
        common.processes,
        dealing,
    )?)
}

#[cfg(test)]
mod tests;
