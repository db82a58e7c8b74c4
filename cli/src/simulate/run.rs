//! One run, with the types of its programs erased when it is over.

use agents::record::{Call, Event};
use agents::{Outcome, RunError, Setup};
use bsp::Program;
use bsp::units::{Bytes, Instant, Seconds};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::configuration::Fault;
use crate::failure::Failure;
use crate::output::hexadecimal;
use crate::workload::Rejection;

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The makespan.
    pub(crate) seconds: Instant,
    /// Number of supersteps.
    pub(crate) supersteps: u64,
    /// The rescheduling calls that were held.
    pub(crate) calls: Vec<Call>,
    /// Computation that the best mappings would have saved, in simulation.
    pub(crate) attainable: Option<Seconds>,
    /// Computation that perfect balance would have saved, in simulation.
    pub(crate) imbalance: Option<Seconds>,
    /// Bytes of the processes that moved.
    pub(crate) moved: Bytes,
    /// Messages between processes.
    pub(crate) messages: u64,
    /// Bytes between processes.
    pub(crate) bytes: Bytes,
    /// Digest of the outputs: equal for equal outputs.
    pub(crate) outputs: String,
    /// Their description, from the workload.
    pub(crate) verified: Option<String>,
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SimulationError {
    /// The workload's parameters are invalid.
    #[error(transparent)]
    Parameters(#[from] Fault),
    /// The program or the platform failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The outputs are no valid result.
    #[error(transparent)]
    Outputs(#[from] Rejection),
}

/// Runs `programs` on `setup`, and verifies their outputs.
///
/// # Errors
///
/// If a program fails, or the platform cannot run it.
pub(crate) fn simulate<P: Program>(
    setup: &Setup,
    programs: Vec<P>,
    verify: impl FnOnce(&[P::Output]) -> Result<Option<String>, Rejection>,
    observer: &mut dyn FnMut(&Event),
) -> Result<Finished, SimulationError> {
    let outcome = agents::simulate(setup, programs, observer)?;
    let outputs = digest(&outcome.outputs);
    let verified = verify(&outcome.outputs)?;
    let Outcome {
        seconds,
        supersteps,
        calls,
        attainable,
        imbalance,
        moved,
        messages,
        bytes,
        ..
    } = outcome;
    Ok(Finished {
        seconds,
        supersteps,
        calls,
        attainable: Some(attainable),
        imbalance: Some(imbalance),
        moved,
        messages,
        bytes,
        outputs,
        verified,
    })
}

impl From<SimulationError> for Failure {
    fn from(error: SimulationError) -> Self {
        match error {
            SimulationError::Parameters(fault) => fault.into(),
            // The platform's file is invalid, not the program.
            SimulationError::Run(error @ (RunError::NoRoute(_) | RunError::Stuck { .. })) => {
                Self::input(error)
            }
            SimulationError::Run(error) => Self::run(error),
            SimulationError::Outputs(error @ Rejection::Input(_)) => Self::input(error),
            SimulationError::Outputs(error @ Rejection::Outputs(_)) => {
                Self::Verification(error.to_string())
            }
        }
    }
}

pub(crate) fn digest<Output: Serialize>(outputs: &[Output]) -> String {
    let mut hasher = Sha256::new();
    for output in outputs {
        let bytes = serde_json::to_vec(output);
        // Values without a JSON form, such as a map whose keys are not strings, count by their position alone.
        hasher.update(bytes.unwrap_or_default());
        hasher.update([0]);
    }
    hexadecimal(&hasher.finalize())
}
