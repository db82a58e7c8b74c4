//! What all scenarios of an experiment share.

use std::sync::Arc;

use agents::record::Event;
use agents::{Script, Setup, placement};
use bsp::HostId;
use simulator::Platform;

use crate::configuration::{self, Loaded, Scenario};
use crate::failure::Failure;
use crate::platform::find_host;
use crate::registry::{Order, Registry};
use crate::simulate::run::{Finished, RunFailure};

/// An experiment that is ready to be run, as often as needed and by several threads at once.
#[derive(Debug)]
pub(crate) struct Stage {
    /// What it was made of.
    pub(crate) loaded: Loaded,
    /// Where it runs.
    pub(crate) platform: Arc<Platform>,
    /// Where each process starts, by rank.
    pub(crate) placement: Vec<HostId>,
    /// Moves decided beforehand; none: the model decides.
    pub(crate) script: Option<Script>,
}

impl Stage {
    /// The stage of an experiment.
    ///
    /// # Errors
    ///
    /// If its platform is at fault, has no place for the processes, or the script names what is not there.
    pub(crate) fn new(loaded: Loaded) -> Result<Self, Failure> {
        let experiment = &loaded.experiment;
        let platform = loaded.platform()?;
        let processes = experiment.application.processes;
        let options = experiment.placement.options();
        let placement = placement(&platform, &options, processes).map_err(Failure::input)?;
        let orders = &experiment.scheduler.orders;
        let script = configuration::script(orders, &loaded.written, processes, |name| {
            find_host(name, &platform)
        })?;
        Ok(Self {
            platform: Arc::new(platform),
            placement,
            script,
            loaded,
        })
    }

    /// One run of it, every event of which `observer` sees.
    ///
    /// # Errors
    ///
    /// If the workload's parameters make no program, or the run has no result.
    pub(crate) fn run(
        &self,
        scenario: Scenario,
        registry: &Registry,
        observer: &mut dyn FnMut(&Event),
    ) -> Result<Finished, Failure> {
        let workload = &self.loaded.experiment.application.workload;
        let entry = registry.find(workload, None)?;
        let order = Order::of(&self.loaded);
        let mut run = || -> Result<Finished, RunFailure> {
            let programs = entry.programs(order)?;
            let outcome = agents::simulate(&self.setup(scenario), programs, observer)?;
            Finished::new(entry, order, outcome)
        };
        Ok(run()?)
    }

    /// What the agents of a run in `scenario` are told.
    pub(crate) fn setup(&self, scenario: Scenario) -> Setup {
        let experiment = &self.loaded.experiment;
        Setup {
            platform: Arc::clone(&self.platform),
            network: experiment.platform.network(),
            start: experiment.network.start,
            placement: self.placement.clone(),
            barrier: experiment.barrier.options(),
            scheduler: experiment.scheduler.agents(scenario, self.script.clone()),
            superstep_limit: experiment.run.superstep_limit,
        }
    }
}
