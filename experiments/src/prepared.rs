//! An experiment that is ready to be run, and the result of a run, whose outputs are verified.

use std::sync::Arc;

use agents::{
    AwaitedHosts, Checkpointing, Elasticity, Outcome, Outputs, OutputsOnNodes, RunError, Script,
    Setup, Transfers, placement,
};
use bsp::{HostId, Rank};
use machines::JobError;
use protocol::{Build, Fault as AtFault};
use record::{Call, Checkpoint, End, Event, Join, ResumedRun, ViewChange};
use serde::Serialize;
use settings::Fault;
use sha2::{Digest, Sha256};
use simulator::Platform;

use crate::failure::Failure;
use crate::loaded::Loaded;
use crate::platform::find_host;
use crate::registry::{BuildInput, Entry, Registry, Rejection};
use crate::scheduler::Scenario;

/// An experiment that is ready to be run, repeatedly and by several threads concurrently.
#[derive(Debug)]
pub struct PreparedExperiment {
    /// The loaded experiment.
    pub loaded: Loaded,
    /// Its platform.
    pub platform: Arc<Platform>,
    /// The host on which each process starts, by rank.
    pub placement: Vec<HostId>,
    /// The hosts that join in a simulation, if there are any.
    pub elasticity: Option<Elasticity>,
    /// The hosts that a job on real hosts awaits, if there are any.
    pub awaited: Option<AwaitedHosts>,
    /// Checkpoints, if there are any.
    pub checkpointing: Option<Checkpointing>,
    /// Scripted migrations; none: the policy decides.
    pub script: Option<Script>,
    /// The checkpoint that a run on real hosts resumes, if it does.
    pub resumed: Option<ResumedRun>,
    /// The view of its job that a run on real hosts is, if it is not the first.
    pub view: Option<ViewChange>,
}

impl PreparedExperiment {
    /// Prepares the experiment.
    ///
    /// # Errors
    ///
    /// If its platform is invalid or has too few places, or the script names an unknown process or host.
    pub fn new(loaded: Loaded) -> Result<Self, Failure> {
        let platform = loaded.platform()?;
        let placement = Self::initial_placement(&loaded, &platform)?;
        Self::placed(loaded, platform, placement, false)
    }

    /// Prepares an experiment whose processes start on these hosts.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub(crate) fn at(loaded: Loaded, placement: Vec<HostId>) -> Result<Self, Failure> {
        let platform = loaded.platform()?;
        Self::placed(loaded, platform, placement, false)
    }

    /// Prepares an experiment that goes on with `placement`, wherever its own rules place processes, or begins again as they do
    /// if there is none. A script that names other hosts than there are is left out, with a warning.
    ///
    /// # Errors
    ///
    /// As [`Self::new`], but for the script.
    pub fn going_on(loaded: Loaded, placement: Option<Vec<HostId>>) -> Result<Self, Failure> {
        let platform = loaded.platform()?;
        let placement = match placement {
            Some(placement) => placement,
            None => Self::initial_placement(&loaded, &platform)?,
        };
        Self::placed(loaded, platform, placement, true)
    }

    /// The host on which each process starts, as the experiment says.
    ///
    /// # Errors
    ///
    /// If the platform has too few places.
    pub(crate) fn initial_placement(
        loaded: &Loaded,
        platform: &Platform,
    ) -> Result<Vec<HostId>, Failure> {
        let experiment = &loaded.experiment;
        let processes = experiment.application.processes;
        placement(platform, &experiment.placement, processes).map_err(Failure::input)
    }

    fn placed(
        loaded: Loaded,
        platform: Platform,
        mut placement: Vec<HostId>,
        is_resuming: bool,
    ) -> Result<Self, Failure> {
        let experiment = &loaded.experiment;
        let processes = experiment.application.processes;
        // The hosts of a cluster are those that are there.
        let elasticity = if loaded.is_of_cluster() {
            None
        } else {
            let elasticity = &experiment.elasticity;
            elasticity.agents((&platform, &loaded.written), &mut placement)?
        };
        let checkpoint = &experiment.checkpoint;
        let checkpointing = checkpoint.agents((&platform, &loaded.written), elasticity.as_ref())?;
        let orders = &experiment.scheduler.orders;
        let script = crate::scheduler::script(orders, &loaded.written, processes, |name| {
            let host = find_host(name, &platform)?;
            let pool = elasticity.iter().flat_map(|elasticity| &elasticity.pool);
            match pool.into_iter().find(|pooled| pooled.host == host) {
                Some(_) => Err(format!(
                    "{name} is in `elasticity.pool`; a script moves processes to other hosts"
                )),
                None => Ok(host),
            }
        });
        let script = match script {
            Err(fault) if is_resuming => {
                tracing::warn!("the script of moves is left out: {fault}");
                None
            }
            script => script?,
        };
        Ok(Self {
            platform: Arc::new(platform),
            placement,
            elasticity,
            awaited: None,
            checkpointing,
            script,
            resumed: None,
            view: None,
            loaded,
        })
    }

    /// Runs it once; `observer` receives every event.
    ///
    /// # Errors
    ///
    /// If the workload's parameters are invalid, or the run has no result.
    pub fn run(
        &self,
        scenario: Scenario,
        registry: &Registry,
        observer: &mut dyn FnMut(&Event),
    ) -> Result<Finished, RunFailure> {
        let workload = &self.loaded.experiment.application.workload;
        let entry = registry.find(workload, None)?;
        let order = self.loaded.build_input();
        let programs = entry.programs(order)?;
        let outcome = simulated::simulate(&self.setup(scenario), programs, observer)?;
        Finished::new(entry, order, outcome)
    }

    /// The scheduler of the agents in a run of `scenario`.
    pub fn setup(&self, scenario: Scenario) -> Setup {
        let experiment = &self.loaded.experiment;
        Setup {
            platform: Arc::clone(&self.platform),
            network: experiment.platform.network,
            start: experiment.network.start,
            placement: self.placement.clone(),
            barrier: experiment.barrier,
            scheduler: {
                let seed = experiment.run.seed;
                let script = self.script.clone();
                experiment.scheduler.agents(scenario, script, seed)
            },
            elasticity: self.elasticity.clone(),
            awaited: self.awaited.clone(),
            checkpointing: self.checkpointing,
            superstep_limit: experiment.run.superstep_limit,
            traced: experiment.run.trace,
            repeats: true,
            resumed: None,
        }
    }
}

/// The result of a run, in either world, its outputs verified.
#[derive(Debug)]
pub struct Finished {
    /// The makespan and the totals of the run.
    pub end: End,
    /// The rescheduling calls that were held, without their lists of processes.
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
    /// The node that each process ended on, by rank; none in a simulation.
    pub nodes: Vec<String>,
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
        let checked = match outcome.outputs.files() {
            Some(files) => Ok(Verified::on_nodes(files)),
            None => entry.verify(order, &outcome.outputs),
        };
        let verified = match checked {
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
            nodes: outcome.nodes,
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

/// The outputs of a run, checked.
#[derive(Debug)]
pub struct Verified {
    /// Their digest: equal for equal outputs.
    pub digest: String,
    /// A description of them, in the workload's words.
    pub statement: Option<String>,
}

/// Why the outputs of a run are no result.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The workload's parameters are invalid.
    #[error(transparent)]
    Parameters(#[from] Fault),
    /// The workload rejects them.
    #[error(transparent)]
    Outputs(#[from] Rejection),
}

impl VerifyError {
    /// The process whose output is wrong, if it is one.
    pub(crate) const fn process(&self) -> Option<Rank> {
        match self {
            Self::Outputs(Rejection::Output { process, .. }) => Some(*process),
            Self::Outputs(Rejection::Input(_) | Rejection::Unbuilt(_) | Rejection::Outputs(_))
            | Self::Parameters(_) => None,
        }
    }
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        let problem = error.to_string();
        match error {
            VerifyError::Parameters(fault) => fault.into(),
            VerifyError::Outputs(Rejection::Input(_) | Rejection::Unbuilt(_)) => {
                Self::Input(problem)
            }
            VerifyError::Outputs(Rejection::Outputs(_) | Rejection::Output { .. }) => {
                Self::Verification(problem)
            }
        }
    }
}

impl Verified {
    /// The digest of `outputs`, by rank, with the workload's `statement`.
    pub fn new<Output: Serialize>(outputs: &[Output], statement: Option<String>) -> Self {
        let digests = outputs.iter().map(|output| {
            // What cannot be encoded counts by its place alone; on real hosts, its run fails.
            let encoded = rmp_serde::to_vec(output).unwrap_or_default();
            Sha256::digest(encoded).into()
        });
        Self {
            digest: digest_of_all(digests),
            statement,
        }
    }

    /// The same of outputs that nodes have in files. To check them, all have to be here.
    #[must_use]
    pub fn on_nodes(outputs: &OutputsOnNodes) -> Self {
        let digests = outputs.files.iter().map(|file| file.sha256);
        Self {
            digest: digest_of_all(digests),
            statement: Some("not checked, because the outputs are on the nodes".to_owned()),
        }
    }
}

/// The digest of the outputs of all processes, given that of each, by rank: the SHA-256 of their bytes, one after the other.
///
/// So it is had from files that are on many nodes, without the outputs.
fn digest_of_all(digests: impl Iterator<Item = [u8; 32]>) -> String {
    let mut hasher = Sha256::new();
    digests.for_each(|digest| hasher.update(digest));
    hex::encode(hasher.finalize())
}
