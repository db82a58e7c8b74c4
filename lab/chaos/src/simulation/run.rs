//! The simulation of one seed, with the job that resumes from its checkpoints.

use std::fmt::{self, Write};
use std::panic::{self, AssertUnwindSafe};

use agents::mutant::{self, Mutant};
use agents::resumed_placement;
use bsp::HostId;
use bytes::Bytes;
use checkpoint::{Condition, Latest, SimulatedFiles, Store};
use protocol::Step;
use sha2::{Digest, Sha256};

use crate::simulation::cluster::{Cluster, Found, Requests};
use crate::simulation::fault::FaultKind;
use crate::simulation::random::{Purpose, Random};
use crate::simulation::scenario::Scenario;

/// What the simulation of a seed found.
#[derive(Clone, Debug, Default, PartialEq)]
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
    pub faults: Vec<(FaultKind, Step)>,
    /// Whether the job was completed in spite of them.
    pub is_completed: bool,
    /// The number of views of the job; 0 if it ends when a node is lost.
    pub views: u64,
    /// How often a node was taken into a view that was not in the one before.
    pub joined: u64,
    /// How often a client has attached, and how many of these have followed the job to its end.
    pub attached: u64,
    pub followed: u64,
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
            SeedRun {
                seed: options.seed,
                violations: found.violations,
                digest,
                trace,
                events,
                nanoseconds: found.passed,
                faults: found.hits,
                is_completed: found.is_completed,
                views: found.views,
                joined: found.joined,
                attached: found.attached,
                followed: found.followed,
            }
        }
        Err(payload) => SeedRun {
            seed: options.seed,
            violations: vec![format!(
                "panic: {}",
                bsp::reference::panic_message(&*payload)
            )],
            ..SeedRun::default()
        },
    }
}

/// Runs the job of a scenario, and if it has a checkpoint folder, the job that resumes from what is there afterwards.
pub(super) fn simulate(scenario: &Scenario, has_trace: bool) -> Found {
    let requests = Requests::default();
    let mut found = Cluster::new(scenario, &requests, has_trace).run();
    if 0 < found.attached {
        check_without_followers(scenario, &mut found);
    }
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
        (Ok(latest), _) => resumed(scenario, files.clone(), &latest).map(Some),
        (Err(none), None) if none.damaged.is_empty() => Ok(None),
        (Err(none), _) => Err(none.to_string()),
    };
    match resumed {
        Ok(None) => {}
        Ok(Some(resumed)) => {
            let second = Cluster::new(&resumed, &requests, has_trace).run_resumed();
            found.passed += second.passed;
            found.violations.extend(second.violations);
            found.trace.append(second.trace);
        }
        Err(problem) => found.violations.push(problem),
    }
    found
}

/// Checks that the same happens in the job if no client attaches.
fn check_without_followers(scenario: &Scenario, found: &mut Found) {
    let requests = Requests::default();
    if found.violations.is_empty() {
        let alone = Cluster::new(scenario, &requests, false);
        let alone = alone.without_followers().run();
        if alone.trace.digest.finalize() != found.trace.digest.clone().finalize() {
            let problem = "other things happen in the job if no client attaches";
            found.violations.push(problem.to_owned());
        }
    }
    let of_followers = found.trace_of_followers.digest.clone();
    found.trace.digest.update(of_followers.finalize());
}

/// The number of faults that the scenario of `seed` has.
pub(crate) fn faults_of(seed: u64) -> usize {
    Scenario::draw(seed).faults.len()
}

/// The smallest set of faults of a failing seed that is found by leaving out one after the other, as long as something
/// still happens that must not.
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

/// The job that resumes from `latest`, without faults, on some of the hosts.
///
/// # Errors
///
/// What is wrong with the checkpoint.
fn resumed(
    scenario: &Scenario,
    mut files: SimulatedFiles,
    latest: &Latest,
) -> Result<Scenario, String> {
    let mut random = Random::new(scenario.seed, Purpose::Checkpoints);
    let checkpoint = &latest.checkpoint;
    let mut resumed = scenario.clone();
    resumed.faults.clear();
    let setup = &mut resumed.request.setup;
    setup.resumed = Some(latest.resumed()?);
    let mut store = Store::new(&mut files, HostId(0));
    let mut work = vec![None; setup.placement.len()];
    let mut states = vec![Bytes::new(); setup.placement.len()];
    for host in checkpoint.hosts().collect::<Vec<_>>() {
        let pieces = store.pieces(checkpoint, host);
        for piece in pieces.map_err(|damage| damage.to_string())? {
            let index = piece.head.rank.index();
            let is_running = piece.head.condition == Condition::Running;
            work[index] = is_running.then_some(piece.head.work);
            let chunks = piece.content.chunks().iter();
            let chunks: Vec<&[u8]> = chunks.map(|chunk| &chunk.bytes()[..]).collect();
            states[index] = chunks.concat().into();
        }
    }
    let hosts = 1 + random.index(setup.platform.hosts().len());
    setup.placement = resumed_placement(&work, &[], &vec![1.0; hosts]);
    resumed.saved = Some(states);
    resumed.request.checkpoint = None;
    resumed.request.view = None;
    resumed.request.is_left = false;
    Ok(resumed)
}

/// What happened: its digest, and lines if they are wanted.
pub(super) struct Trace {
    digest: Sha256,
    pub(super) events: u64,
    lines: Option<String>,
}

impl Trace {
    /// Nothing has happened; `has_lines` says whether lines are wanted.
    pub(super) fn new(has_lines: bool) -> Self {
        Self {
            digest: Sha256::new(),
            events: 0,
            lines: has_lines.then(String::new),
        }
    }

    /// Something has happened.
    pub(super) fn add(&mut self, at: u64, identity: [u64; 3]) {
        self.events += 1;
        let mut bytes = [0; 32];
        let words = [at].into_iter().chain(identity);
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.digest.update(bytes);
    }

    /// Adds a line about something that happened at `at`.
    pub(super) fn line(&mut self, at: u64, line: fmt::Arguments<'_>) {
        if let Some(lines) = &mut self.lines {
            let (seconds, nanoseconds) = (at / 1_000_000_000, at % 1_000_000_000);
            writeln!(lines, "{seconds}.{nanoseconds:09} {line}").unwrap_or_default();
        }
    }

    /// Adds what has happened in another simulation, after this one.
    fn append(&mut self, other: Self) {
        self.events += other.events;
        self.digest.update(other.digest.finalize());
        if let (Some(lines), Some(others)) = (&mut self.lines, other.lines) {
            lines.push_str("The job resumes.\n");
            lines.push_str(&others);
        }
    }

    /// The digest in hexadecimal, and the lines.
    fn finish(self) -> (String, String) {
        (
            hex::encode(self.digest.finalize()),
            self.lines.unwrap_or_default(),
        )
    }
}
