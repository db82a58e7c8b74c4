//! Programs whose states differ in kind.

use settings::{Files, Unit};
use workloads::state_kinds::{Parameters, Solved, StateKinds, processes};

use crate::workload::{Common, Rejection, Workload};

/// Four programs whose states differ in kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct KindsOfState;

impl Workload for KindsOfState {
    type Parameters = Parameters;
    type Program = StateKinds;
    const NAME: &'static str = "state-kinds";
    const ABOUT: &'static str = "linpack, bitonic, gzip or xlintims: states of different kinds";

    fn unit(key: &str) -> Unit {
        match key {
            "state" => Unit::Bytes,
            _ => Unit::of_key(key),
        }
    }

    fn build(parameters: &Parameters, common: Common) -> Result<Vec<StateKinds>, String> {
        processes(parameters, common).map_err(|error| error.to_string())
    }

    /// Every process has checked its results; the sum of what they solved is left to say.
    fn verify(
        _parameters: &Parameters,
        _common: Common,
        _files: Files<'_>,
        outputs: &[Solved],
    ) -> Result<Option<String>, Rejection> {
        let problems = outputs.iter().map(|solved| u128::from(solved.problems));
        let problems: u128 = problems.sum();
        Ok(Some(if problems == 0 {
            "no problem was solved: there were too few supersteps".to_owned()
        } else {
            format!("{problems} problems were solved and checked by their processes")
        }))
    }
}
