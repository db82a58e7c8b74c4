//! The simulation of one seed.

use std::panic::{self, AssertUnwindSafe};

use agents::mutant::{self, Mutant};
use bsp::HostId;
use checkpoint::Store;

use super::cluster::{Cluster, Found};
use super::resumption;
use super::scenario::Scenario;

/// What the simulation of a seed found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeedRun {
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
pub(crate) struct SeedOptions {
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
    pub(crate) const fn new(seed: u64) -> Self {
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
pub(crate) fn simulate_seed(options: &SeedOptions) -> SeedRun {
    let mut scenario = Scenario::draw(options.seed);
    if let Some(chosen) = &options.faults {
        let all = scenario.faults.into_iter().enumerate();
        let chosen = all.filter(|(index, _)| chosen.contains(index));
        scenario.faults = chosen.map(|(_, fault)| fault).collect();
    }
    let simulation = || simulate(&scenario, options.has_trace);
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

/// Runs the job of a scenario, and if it has a checkpoint folder, the job that resumes from what is there afterwards.
pub(super) fn simulate(scenario: &Scenario, has_trace: bool) -> Found {
    let mut found = Cluster::new(scenario, has_trace).run();
    if scenario.request.checkpoint.is_none() || !found.violations.is_empty() {
        return found;
    }
    let (files, complete) = &mut found.folder;
    // The job that resumes has a disk that works.
    files.repair();
    let resumed = match (Store::new(&mut *files, HostId(0)).latest(), *complete) {
        (Ok(latest), _) if !latest.damaged.is_empty() => {
            Err(format!("a checkpoint is damaged: {}", latest.damaged[0]))
        }
        (Ok(latest), complete) if Some(latest.checkpoint.generation) < complete => {
            Err("the newest checkpoint is lost".to_owned())
        }
        (Ok(latest), _) => resumption::resumed(scenario, files.clone(), &latest).map(Some),
        (Err(none), None) if none.damaged.is_empty() => Ok(None),
        (Err(none), _) => Err(none.to_string()),
    };
    match resumed {
        Ok(None) => {}
        Ok(Some(resumed)) => {
            let second = Cluster::new(&resumed, has_trace).run_resumed();
            found.passed += second.passed;
            found.violations.extend(second.violations);
            found.trace.append(second.trace);
        }
        Err(problem) => found.violations.push(problem),
    }
    found
}

/// The number of faults that the scenario of `seed` has.
#[must_use]
pub(crate) fn faults_of(seed: u64) -> usize {
    Scenario::draw(seed).faults.len()
}

/// The smallest set of faults of a failing seed that is found by leaving out one after the other, as long as something
/// still happens that must not.
#[must_use]
pub(crate) fn shrink(seed: u64) -> Vec<usize> {
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
pub(crate) fn kinds_and_steps() -> (Vec<String>, Vec<String>) {
    let kinds = super::fault::FaultKind::ALL.iter();
    let steps = protocol::Step::ALL.iter();
    (
        kinds.map(ToString::to_string).collect(),
        steps.map(ToString::to_string).collect(),
    )
}
