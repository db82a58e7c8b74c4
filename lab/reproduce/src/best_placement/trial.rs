//! How long a superstep takes under a placement.

use std::collections::BTreeMap;

use agents::{Scheduler, Script, Setup};
use bsp::{HostId, Rank};
use experiments::{
    BuildInput, Common, Entry, Failure, PreparedExperiment, Registry, RunFailure, Scenario,
};
use record::Event;
use simulated::simulate;

/// Simulates placements of an experiment for a few supersteps.
pub(super) struct Trial<'a> {
    entry: &'a dyn Entry,
    input: BuildInput<'a>,
    setup: Setup,
}

/// The result of a simulation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Seconds from the start of the last superstep but one to that of the last.
    pub(super) seconds: f64,
    /// The process that computed longest.
    pub(super) slowest: Rank,
}

impl<'a> Trial<'a> {
    /// Trials of `prepared`.
    ///
    /// # Errors
    ///
    /// If its workload is unknown to `registry`.
    pub(super) fn new(
        prepared: &'a PreparedExperiment,
        registry: &'a Registry,
    ) -> Result<Self, Failure> {
        let application = &prepared.loaded.experiment.application;
        Ok(Self {
            entry: registry.find(&application.workload, None)?,
            input: prepared.loaded.build_input(),
            setup: prepared.setup(Scenario::I),
        })
    }

    /// The pace of `placement` in a simulation of [`SUPERSTEPS`].
    ///
    /// Processes start where those of the experiment do, and move in a call after the first superstep: Managers run
    /// where the experiment starts, and no policy moves them, so barriers take what they take in a run of a policy.
    ///
    /// # Errors
    ///
    /// If the run has no result.
    pub(super) fn pace(&self, placement: &[HostId]) -> Result<Pace, Failure> {
        let common = Common {
            supersteps: Some(SUPERSTEPS),
            ..self.input.common
        };
        let programs = self.entry.programs(BuildInput {
            common,
            ..self.input
        })?;
        let moves = placement.iter().zip(&self.setup.placement).enumerate();
        let moves = moves.filter(|(_, (host, start))| host != start);
        let moves = moves.map(|(process, (host, _))| (Rank::from_index(process), *host));
        let script = Script(BTreeMap::from([(1, moves.collect())]));
        let setup = Setup {
            scheduler: Some(Scheduler {
                script: Some(script),
                ..Scheduler::default()
            }),
            ..self.setup.clone()
        };
        let (mut before, mut pace) = (0.0, None);
        let mut observe = |event: &Event| {
            if let Event::Superstep(superstep) = event {
                let started = superstep.started.get();
                pace = Some(Pace {
                    seconds: started - before,
                    slowest: superstep.slowest,
                });
                before = started;
            }
        };
        simulate(&setup, programs, &mut observe).map_err(RunFailure::from)?;
        pace.ok_or_else(|| Failure::Run("the run has no superstep".to_owned()))
    }
}

/// Supersteps of a simulation. In the first one all processes start simultaneously, and the second one begins with the
/// moves; from the third one on, supersteps are alike.
pub(super) const SUPERSTEPS: u64 = 4;
