//! State that all scenarios of an experiment share.

use std::sync::Arc;

use agents::{Checkpointing, Elasticity, Script, Setup, placement};
use bsp::HostId;
use record::{Event, ResumedRun};
use simulator::Platform;

use crate::failure::Failure;
use crate::finished::{Finished, RunFailure};
use crate::loaded::Loaded;
use crate::platform::find_host;
use crate::registry::Registry;
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
    /// The hosts that join, if there are any.
    pub elasticity: Option<Elasticity>,
    /// Checkpoints, if there are any.
    pub checkpointing: Option<Checkpointing>,
    /// Scripted migrations; none: the policy decides.
    pub script: Option<Script>,
    /// The checkpoint that a run on real hosts resumes, if it does.
    pub resumed: Option<ResumedRun>,
}

impl PreparedExperiment {
    /// Prepares the experiment.
    ///
    /// # Errors
    ///
    /// If its platform is invalid or has too few places, or the script names an unknown process or host.
    pub fn new(loaded: Loaded) -> Result<Self, Failure> {
        let platform = loaded.platform()?;
        let experiment = &loaded.experiment;
        let processes = experiment.application.processes;
        let placement =
            placement(&platform, &experiment.placement, processes).map_err(Failure::input)?;
        Self::placed(loaded, platform, placement, false)
    }

    /// Prepares an experiment that goes on with `placement`, wherever its own rules place processes. A script that names
    /// other hosts than there are is left out, with a warning.
    ///
    /// # Errors
    ///
    /// If its platform is invalid.
    pub fn resuming(loaded: Loaded, placement: Vec<HostId>) -> Result<Self, Failure> {
        let platform = loaded.platform()?;
        Self::placed(loaded, platform, placement, true)
    }

    fn placed(
        loaded: Loaded,
        platform: Platform,
        mut placement: Vec<HostId>,
        is_resuming: bool,
    ) -> Result<Self, Failure> {
        let experiment = &loaded.experiment;
        let processes = experiment.application.processes;
        let elasticity = &experiment.elasticity;
        let elasticity = elasticity.agents((&platform, &loaded.written), &mut placement)?;
        let checkpoint = &experiment.checkpoint;
        let checkpointing = checkpoint.agents((&platform, &loaded.written), elasticity.as_ref())?;
        let orders = &experiment.scheduler.orders;
        let script = crate::script::script(orders, &loaded.written, processes, |name| {
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
            checkpointing,
            script,
            resumed: None,
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
            checkpointing: self.checkpointing,
            superstep_limit: experiment.run.superstep_limit,
            traced: experiment.run.trace,
            repeats: true,
            resumed: None,
        }
    }
}
