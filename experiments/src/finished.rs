//! The result of one run, in either world.

use agents::{Outcome, Outputs, RunError, Transfers};
use machines::JobError;
use protocol::{Build, Fault as AtFault};
use record::{Call, Checkpoint, End, Join};

use crate::failure::Failure;
use crate::registry::BuildInput;
use crate::registry::Entry;
use settings::Fault;

/// The result of a run, in either world, its outputs verified.
#[derive(Debug)]
pub struct Finished {
    /// The makespan and the totals of the run.
    pub end: End,
    /// The rescheduling calls that were held.
    pub calls: Vec<Call>,
    /// The hosts that joined, or that were to join and did not.
    pub joins: Vec<Join>,
    /// The checkpoints that became complete.
    pub checkpoints: Vec<Checkpoint>,
    /// The outputs of the programs, by rank.
    pub outputs: Outputs,
    /// Digest of the outputs: equal for equal outputs.
    pub outputs_digest: String,
    /// A description of the outputs, in the workload's words.
    pub verified: Option<String>,
    /// The builds of the nodes, by host; none in a simulation.
    pub builds: Vec<Build>,
    /// What the client sent before the run and received after it; `None` in a simulation.
    pub transfers: Option<Transfers>,
}

impl Finished {
    /// The result of the run of `entry` that ended with `outcome`.
    ///
    /// # Errors
    ///
    /// If its bytes cannot be counted, or its outputs are no result. They are part of the error.
    pub fn new(
        entry: &dyn Entry,
        order: BuildInput<'_>,
        outcome: Outcome,
    ) -> Result<Self, RunFailure> {
        // Sums of bytes end at the greatest number.
        if outcome.end.moved.0 == u64::MAX {
            return Err(RunFailure::Moved);
        }
        let verified = match entry.verify(order, &outcome.outputs) {
            Ok(verified) => verified,
            Err(reason) => {
                let Outcome { outputs, nodes, .. } = outcome;
                let process = reason.process();
                let node = process.and_then(|process| nodes.get(process.index()));
                let mut failure = Failure::from(reason);
                if let Some(node) = node {
                    failure = failure.followed_by(format!("the node {node} sent this output"));
                }
                let rejected = RejectedOutputs { failure, outputs };
                return Err(RunFailure::Rejected(Box::new(rejected)));
            }
        };
        Ok(Self {
            end: outcome.end,
            calls: outcome.calls,
            joins: outcome.joins,
            checkpoints: outcome.checkpoints,
            outputs: outcome.outputs,
            outputs_digest: verified.digest,
            verified: verified.statement,
            builds: outcome.builds,
            transfers: outcome.transfers,
        })
    }
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    /// The workload's parameters are invalid.
    #[error(transparent)]
    Parameters(#[from] Fault),
    /// The simulated program or platform failed.
    #[error(transparent)]
    Simulation(#[from] RunError),
    /// The job on real hosts failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The outputs are no result.
    #[error("{}", .0.failure)]
    Rejected(Box<RejectedOutputs>),
    /// The bytes that moved are too many to be counted.
    #[error("the states of all processes that moved have more bytes than 64 bits count: 18 EB")]
    Moved,
}

/// The outputs of a run that has ended, which are no result.
#[derive(Debug)]
pub struct RejectedOutputs {
    /// What is wrong with them.
    pub failure: Failure,
    /// The outputs, by rank.
    pub outputs: Outputs,
}

impl From<RunFailure> for Failure {
    fn from(error: RunFailure) -> Self {
        match error {
            RunFailure::Parameters(fault) => fault.into(),
            // The platform's file is invalid, not the program.
            RunFailure::Simulation(
                error @ (RunError::NoRoute(_) | RunError::Stuck { .. } | RunError::Elasticity(_)),
            ) => Self::input(error),
            RunFailure::Simulation(error) => Self::run(error),
            RunFailure::Moved => Self::run(RunFailure::Moved),
            RunFailure::Job(JobError { fault, message, .. }) => match fault {
                AtFault::Program => Self::Run(message),
                AtFault::Input => Self::Input(message),
                AtFault::Cluster | AtFault::Build => Self::Cluster(message),
            },
            RunFailure::Rejected(rejected) => rejected.failure,
        }
    }
}
