//! A model of a task farm.

use settings::{Files, Unit};
use workloads::task_farm::{ModelOutcome, Parameters, TaskFarm, processes};

use crate::workload::{Common, Rejection, Supersteps, Workload};

/// Tasks that have sizes and costs, dealt to workers.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelFarm;

impl Workload for ModelFarm {
    type Parameters = Parameters;
    type Program = TaskFarm;
    const NAME: &'static str = "task-farm";
    const ABOUT: &'static str =
        "a model of a task farm: tasks with sizes and costs, dealt to workers";
    const SUPERSTEPS: Supersteps = Supersteps::Refused;
    const IS_MODEL: bool = true;

    fn unit(key: &str) -> Unit {
        match key {
            "instructions" => Unit::Instructions,
            "shared" | "task" | "outcome" => Unit::Bytes,
            _ => Unit::None,
        }
    }

    fn draws(parameters: &Parameters) -> bool {
        0.0 < parameters.variation
    }

    fn build(parameters: &Parameters, common: Common) -> Result<Vec<TaskFarm>, String> {
        processes(parameters, common).map_err(|error| error.to_string())
    }

    /// Each outcome has the number of its task.
    fn verify(
        parameters: &Parameters,
        _common: Common,
        _files: Files<'_>,
        outputs: &[Vec<ModelOutcome>],
    ) -> Result<Option<String>, Rejection> {
        let outcomes = outputs.first().map_or(&[][..], Vec::as_slice);
        let numbers = outcomes.iter().map(|outcome| outcome.number);
        if !numbers.eq(0..parameters.tasks) {
            let problem = "outcomes are not in the order of the tasks";
            return Err(Rejection::Outputs(problem.to_owned()));
        }
        Ok(Some(format!(
            "all {} tasks were executed once",
            parameters.tasks
        )))
    }
}
