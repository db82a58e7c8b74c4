//! The simulation of one seed.

use std::panic::{self, AssertUnwindSafe};

use super::cluster::Cluster;
use super::scenario::Scenario;
use crate::mutant::{self, Mutant};

/// What the simulation of a seed found.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedRun {
    /// The seed.
    pub seed: u64,
    /// What must not happen and did; empty if all is well.
    pub violations: Vec<String>,
    /// The identity of what happened: equal for equal seeds, on any machine and in any build.
    pub digest: String,
    /// What happened, a line each, if it was asked for.
    pub trace: String,
    /// The number of events.
    pub events: u64,
    /// Virtual time that passed, in nanoseconds.
    pub nanoseconds: u64,
    /// The faults that happened: the kind, and the step of the protocol in which each hit a node.
    pub faults: Vec<(String, String)>,
    /// Whether the job was completed in spite of them.
    pub is_completed: bool,
}

/// Which seed is simulated, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedOptions {
    /// The seed.
    pub seed: u64,
    /// Of the faults of the seed, only these, from 0; `None`: all.
    pub faults: Option<Vec<usize>>,
    /// Whether to describe what happens.
    pub has_trace: bool,
    /// The defect that the protocol is given, in builds that have defects.
    pub mutant: Option<Mutant>,
}

impl SeedOptions {
    /// All faults of `seed`, without a description.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            faults: None,
            has_trace: false,
            mutant: None,
        }
    }
}

/// Simulates a seed.
#[must_use]
pub fn simulate_seed(options: &SeedOptions) -> SeedRun {
    let mut scenario = Scenario::draw(options.seed);
    if let Some(chosen) = &options.faults {
        let all = scenario.faults.into_iter().enumerate();
        let chosen = all.filter(|(index, _)| chosen.contains(index));
        scenario.faults = chosen.map(|(_, fault)| fault).collect();
    }
    let simulation = || Cluster::new(&scenario, options.has_trace).run();
    mutant::choose(options.mutant);
    let simulated = panic::catch_unwind(AssertUnwindSafe(simulation));
    mutant::choose(None);
    match simulated {
        Ok(found) => {
            let events = found.trace.events;
            let (digest, trace) = found.trace.finish();
            let faults = found.met.iter();
            SeedRun {
                seed: options.seed,
                violations: found.violations,
                digest,
                trace,
                events,
                nanoseconds: found.passed,
                faults: faults
                    .map(|(kind, step)| (kind.to_string(), step.to_string()))
                    .collect(),
                is_completed: found.is_completed,
            }
        }
        Err(payload) => SeedRun {
            seed: options.seed,
            violations: vec![format!(
                "panic: {}",
                bsp::reference::panic_message(&*payload)
            )],
            digest: String::new(),
            trace: String::new(),
            events: 0,
            nanoseconds: 0,
            faults: Vec::new(),
            is_completed: false,
        },
    }
}

/// The number of faults that the scenario of `seed` has.
#[must_use]
pub fn faults_of(seed: u64) -> usize {
    Scenario::draw(seed).faults.len()
}

/// The smallest set of faults of a failing seed that is found by leaving out one after the other, as long as something
/// still happens that must not.
#[must_use]
pub fn shrink(seed: u64) -> Vec<usize> {
    let mut faults: Vec<usize> = (0..faults_of(seed)).collect();
    let mut place = 0;
    while place < faults.len() {
        let mut fewer = faults.clone();
        fewer.remove(place);
        let options = SeedOptions {
            faults: Some(fewer.clone()),
            ..SeedOptions::new(seed)
        };
        if simulate_seed(&options).violations.is_empty() {
            place += 1;
        } else {
            faults = fewer;
        }
    }
    faults
}

/// All kinds of faults, and all steps of the protocol, by name.
#[must_use]
pub fn kinds_and_steps() -> (Vec<String>, Vec<String>) {
    let kinds = super::fault::FaultKind::ALL.iter();
    let steps = crate::machines::step::Step::ALL.iter();
    (
        kinds.map(ToString::to_string).collect(),
        steps.map(ToString::to_string).collect(),
    )
}
