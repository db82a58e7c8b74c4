//! The best placement of a steady experiment that a long search finds, and the file that keeps it.
//!
//! The search has the simulator as its objective: a placement is as good as the supersteps of a short simulation of it
//! are fast. What it finds is a bound in practice: makespan / (seconds of a superstep · supersteps) is how far a policy
//! is from it.

mod steadiness;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use agents::{Scheduler, Script, Setup};
use analysis::known_best::BestPlacement;
use bsp::numbers::length;
use bsp::{HostId, Rank};
use experiments::batch::{Batch, Progress, Silent};
use experiments::{
    BuildInput, Common, Entry, Failure, PreparedExperiment, Provenance, Registry, RunFailure,
    Scenario, load,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use record::Event;
use simulated::simulate;
use simulator::Platform;

/// A search that is asked for.
#[derive(Clone, Debug)]
pub struct Search {
    /// The experiment, a TOML file.
    pub experiment: PathBuf,
    /// Number of placements that are simulated, at least one.
    pub budget: u64,
    /// Seed of the search.
    pub seed: u64,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Found {
    /// The best placement.
    pub best: BestPlacement,
    /// What made it.
    pub provenance: Provenance,
    /// Seconds of a superstep where the processes start.
    pub at_start: f64,
    /// Seconds of a superstep where `adaptive` leaves them.
    pub by_adaptive: f64,
}

/// A placement and its pace.
#[derive(Clone, Debug)]
struct Candidate {
    placement: Vec<HostId>,
    pace: Pace,
}

/// The best placement of a steady experiment that a search finds, which simulates `search.budget` placements.
///
/// It begins at the start of the experiment, where `adaptive` leaves the processes, and at blocks of neighbours for
/// every choice of Sets. From the best of these, several independent chains of moves and exchanges accept what is
/// worse by less than a threshold, which falls to zero. `batch` has an item for each placement.
///
/// # Errors
///
/// [`Failure::Usage`] for a budget of zero; [`Failure::Input`] if the experiment is not steady; that of a run.
pub fn search(search: &Search, registry: &Registry, batch: Batch<'_>) -> Result<Found, Failure> {
    if search.budget == 0 {
        let problem = "invalid value `0` for the budget: must be at least 1 placement";
        return Err(Failure::Usage(problem.to_owned()));
    }
    let prepared = prepared(&search.experiment, registry)?;
    let file = search.experiment.display().to_string();
    steadiness::check(&search.experiment, &prepared, registry)?;
    let graph = Graph::of_run(&prepared, registry).map_err(|failure| failure.of(&file))?;
    let trial = Trial::new(&prepared, registry)?;
    batch
        .progress
        .begin(usize::try_from(search.budget).unwrap_or(usize::MAX));
    let silent = Batch {
        progress: &Silent,
        ..batch
    };
    let try_out = |placement: &Vec<HostId>| -> Result<Candidate, Failure> {
        let pace = trial.pace(placement)?;
        batch.progress.advance();
        Ok(Candidate {
            placement: placement.clone(),
            pace,
        })
    };
    let mut begun = beginnings(&graph, &prepared.placement, &prepared.platform);
    begun.truncate(usize::try_from(search.budget).unwrap_or(usize::MAX));
    let mut tried = silent.run(&begun, try_out)?;
    let at_start = tried[0].pace.seconds;
    let by_adaptive = trial.pace(&graph.final_placement)?.seconds;
    tried.sort_by(|a, b| a.pace.seconds.total_cmp(&b.pace.seconds));
    let left = search.budget - length(tried.len());
    let chains: Vec<Chain<'_>> = (0..CHAINS)
        .map(|number| Chain {
            trial: &trial,
            graph: &graph,
            hosts: prepared.platform.hosts().len(),
            progress: batch.progress,
            number,
            begin: &tried[usize::try_from(number % FROM).unwrap_or(0) % tried.len()],
            steps: left / CHAINS + u64::from(number < left % CHAINS),
        })
        .collect();
    let ends = silent.run(&chains, |chain| chain.run(search.seed))?;
    batch.progress.end();
    let best = ends.iter().fold(&tried[0], |best, end| {
        if end.pace.seconds < best.pace.seconds {
            end
        } else {
            best
        }
    });
    let name = |host: &HostId| prepared.platform.host(*host).name.clone();
    Ok(Found {
        best: BestPlacement {
            valid_for: prepared.steady_digest()?,
            seconds_per_superstep: best.pace.seconds,
            budget: search.budget,
            placement: best.placement.iter().map(name).collect(),
        },
        provenance: Provenance::of_program(registry)?.with_seed(search.seed),
        at_start,
        by_adaptive,
    })
}

/// The experiment in `file` under `adaptive`.
fn prepared(file: &Path, registry: &Registry) -> Result<PreparedExperiment, Failure> {
    let assignments = ADAPTIVE.map(str::to_owned);
    let loaded = load(file, &assignments, registry)?;
    PreparedExperiment::new(loaded).map_err(|failure| failure.of(file.display()))
}

/// A walk from one placement to the next.
struct Chain<'a> {
    trial: &'a Trial<'a>,
    graph: &'a Graph,
    hosts: usize,
    progress: &'a dyn Progress,
    number: u64,
    begin: &'a Candidate,
    steps: u64,
}

impl Chain<'_> {
    /// The best placement that it meets.
    fn run(&self, seed: u64) -> Result<Candidate, Failure> {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(self.number);
        let mut moves = Moves::new(self.graph, self.hosts, generator);
        let (mut at, mut best) = (self.begin.clone(), self.begin.clone());
        for step in 0..self.steps {
            let left = 1.0 - step as f64 / (DESCENT * self.steps as f64);
            let threshold = 1.0 + THRESHOLD * left.max(0.0);
            let placement = moves.neighbour(&at.placement, at.pace.slowest.index());
            self.progress.advance();
            if placement == at.placement {
                continue;
            }
            let pace = self.trial.pace(&placement)?;
            if pace.seconds <= at.pace.seconds * threshold {
                at = Candidate { placement, pace };
                if at.pace.seconds < best.pace.seconds {
                    best = at.clone();
                }
            }
        }
        Ok(best)
    }
}

const ADAPTIVE: [&str; 3] = [
    "scheduler.policy=adaptive",
    "scheduler.scenario=iii",
    "scheduler.script=[]",
];

/// Number of chains. It does not depend on the machine, so that the result does not either.
const CHAINS: u64 = 8;

/// Number of placements at which chains begin: the best of the first ones.
const FROM: u64 = 4;

/// By how much a placement may be worse than the one before in the first step of a chain.
const THRESHOLD: f64 = 0.03;

/// Part of the steps after which nothing worse is accepted.
const DESCENT: f64 = 0.7;

/// Draws changes of placements.
struct Moves<'a> {
    graph: &'a Graph,
    hosts: usize,
    generator: ChaCha8Rng,
}

impl<'a> Moves<'a> {
    /// Changes of placements on this number of hosts.
    const fn new(graph: &'a Graph, hosts: usize, generator: ChaCha8Rng) -> Self {
        Self {
            graph,
            hosts,
            generator,
        }
    }

    /// A placement near `placement`, in which the process `slowest` holds the others up. It may be the same.
    fn neighbour(&mut self, placement: &[HostId], slowest: usize) -> Vec<HostId> {
        let mut changed = placement.to_vec();
        let process = self.process(placement, slowest);
        match self.below(100) {
            0..40 => changed[process] = HostId::from_index(self.below(self.hosts)),
            40..55 => {
                // To where one of its partners runs.
                let partners = &self.graph.partners[process];
                let number = self.below(partners.len().max(1));
                if let Some(partner) = self.graph.partners[process].iter().nth(number) {
                    changed[process] = placement[*partner];
                }
            }
            55..85 => {
                let other = self.below(placement.len());
                changed.swap(process, other);
            }
            _ => {
                // Two hosts exchange their processes.
                let (from, to) = (
                    placement[process],
                    HostId::from_index(self.below(self.hosts)),
                );
                for host in &mut changed {
                    if *host == from {
                        *host = to;
                    } else if *host == to {
                        *host = from;
                    }
                }
            }
        }
        changed
    }

    /// Any process, and as often one on the host of the slowest.
    fn process(&mut self, placement: &[HostId], slowest: usize) -> usize {
        let process = self.below(placement.len());
        if self.below(2) == 0 {
            return process;
        }
        let host = placement[slowest];
        let residents = (0..placement.len()).filter(|other| placement[*other] == host);
        let residents: Vec<usize> = residents.collect();
        let number = self.below(residents.len());
        residents[number]
    }

    /// A number below `bound`, which is at least one.
    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("a usize fits 64 bits");
        usize::try_from(self.generator.next_u64() % bound).expect("it is less than a usize")
    }
}

/// Simulates placements of an experiment for a few supersteps.
struct Trial<'a> {
    entry: &'a dyn Entry,
    input: BuildInput<'a>,
    setup: Setup,
}

/// The result of a simulation.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Seconds from the start of the last superstep but one to that of the last.
    seconds: f64,
    /// The process that computed longest.
    slowest: Rank,
}

impl<'a> Trial<'a> {
    /// Trials of `prepared`.
    ///
    /// # Errors
    ///
    /// If its workload is unknown to `registry`.
    fn new(prepared: &'a PreparedExperiment, registry: &'a Registry) -> Result<Self, Failure> {
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
    fn pace(&self, placement: &[HostId]) -> Result<Pace, Failure> {
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
const SUPERSTEPS: u64 = 4;

/// Processes by rank, as the policy of a run has seen them.
#[derive(Clone, Debug)]
struct Graph {
    /// Instructions of a superstep.
    work: Vec<f64>,
    /// The processes that each sends to or receives from; the heaviest of them.
    partners: Vec<BTreeSet<usize>>,
    /// Where the run ended.
    final_placement: Vec<HostId>,
}

impl Graph {
    /// The graph that a run of `prepared` in scenario iii reveals, under a policy whose plans name hosts.
    ///
    /// # Errors
    ///
    /// If the run has no result.
    fn of_run(prepared: &PreparedExperiment, registry: &Registry) -> Result<Self, Failure> {
        let processes = prepared.placement.len();
        let mut graph = Self {
            work: vec![1.0; processes],
            partners: vec![BTreeSet::new(); processes],
            final_placement: prepared.placement.clone(),
        };
        prepared.run(Scenario::Iii, registry, &mut |event| graph.observe(event))?;
        Ok(graph)
    }

    fn observe(&mut self, event: &Event) {
        match event {
            Event::Observed(observed) => {
                let rank = observed.rank.index();
                self.work[rank] = observed.forecast.unwrap_or(1.0);
                for edge in &observed.edges {
                    self.partners[rank].insert(edge.from.index());
                    self.partners[edge.from.index()].insert(rank);
                }
            }
            Event::Moved(moved) => self.final_placement[moved.rank.index()] = moved.host,
            _ => {}
        }
    }

    /// All processes, each after those that are nearer to `first`; parts of the graph that it does not reach follow.
    fn breadth_first(&self, first: usize) -> Vec<usize> {
        let processes = self.partners.len();
        let mut is_reached = vec![false; processes];
        let mut order = Vec::with_capacity(processes);
        for start in std::iter::once(first).chain(0..processes) {
            if is_reached[start] {
                continue;
            }
            is_reached[start] = true;
            let mut waiting = VecDeque::from([start]);
            while let Some(process) = waiting.pop_front() {
                order.push(process);
                for &partner in &self.partners[process] {
                    if !is_reached[partner] {
                        is_reached[partner] = true;
                        waiting.push_back(partner);
                    }
                }
            }
        }
        order
    }
}

/// Where processes start, where a policy has placed them, and for every sequence of Sets the processes in several
/// orders, cut into a block for each Set in proportion to its speed.
///
/// `start` is the placement of the experiment. Each placement occurs once.
fn beginnings(graph: &Graph, start: &[HostId], platform: &Platform) -> Vec<Vec<HostId>> {
    let by_rank: Vec<usize> = (0..graph.work.len()).collect();
    let near = graph.breadth_first(0);
    let farthest = near.last().copied().unwrap_or(0);
    let orders = [by_rank, graph.breadth_first(farthest), near];
    let mut placements = vec![start.to_vec(), graph.final_placement.clone()];
    for sets in sequences(platform.sets().len()) {
        for order in &orders {
            placements.push(in_blocks(graph, order, &sets, platform));
        }
    }
    let mut distinct: Vec<Vec<HostId>> = Vec::new();
    for placement in placements {
        if !distinct.contains(&placement) {
            distinct.push(placement);
        }
    }
    distinct
}

/// Every choice of Sets in every order; with many Sets, each alone and all of them.
fn sequences(sets: usize) -> Vec<Vec<usize>> {
    if SETS_MAX < sets {
        let mut all: Vec<Vec<usize>> = (0..sets).map(|set| vec![set]).collect();
        all.push((0..sets).collect());
        return all;
    }
    let mut all: Vec<Vec<usize>> = Vec::new();
    let mut longest: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..sets {
        let longer = longest.iter().flat_map(|sequence| {
            let others = (0..sets).filter(|set| !sequence.contains(set));
            others.map(|set| [sequence.as_slice(), &[set]].concat())
        });
        longest = longer.collect();
        all.extend(longest.iter().cloned());
    }
    all
}

/// The processes in this `order`, cut into a block for each of `sets`, and each block on the hosts of its Set.
fn in_blocks(graph: &Graph, order: &[usize], sets: &[usize], platform: &Platform) -> Vec<HostId> {
    let speed = |set: usize| -> f64 {
        let hosts = platform.sets()[set].hosts.iter();
        hosts.map(|host| speed_of(platform, *host)).sum()
    };
    let speed_of_all: f64 = sets.iter().map(|set| speed(*set)).sum();
    let work_of_all: f64 = graph.work.iter().sum();
    let mut placement = vec![HostId::from_index(0); order.len()];
    let (mut next, mut end, mut done) = (0, 0.0, 0.0);
    for (place, &set) in sets.iter().enumerate() {
        end += work_of_all * speed(set) / speed_of_all;
        let first = next;
        while next < order.len() && (place + 1 == sets.len() || done < end) {
            done += graph.work[order[next]];
            next += 1;
        }
        let hosts = &platform.sets()[set].hosts;
        heaviest_first(graph, &order[first..next], hosts, platform, &mut placement);
    }
    placement
}

/// Puts `block` on `hosts`, the heaviest process first, each where it ends earliest.
fn heaviest_first(
    graph: &Graph,
    block: &[usize],
    hosts: &[HostId],
    platform: &Platform,
    placement: &mut [HostId],
) {
    let mut block = block.to_vec();
    block.sort_by(|a, b| graph.work[*b].total_cmp(&graph.work[*a]).then(a.cmp(b)));
    let mut work = vec![0.0; hosts.len()];
    for process in block {
        let time = |host: usize| {
            let with = work[host] + graph.work[process];
            with / speed_of(platform, hosts[host])
        };
        let best = (0..hosts.len()).min_by(|a, b| time(*a).total_cmp(&time(*b)));
        if let Some(best) = best {
            work[best] += graph.work[process];
            placement[process] = hosts[best];
        }
    }
}

/// Speed of all cores of a host.
fn speed_of(platform: &Platform, host: HostId) -> f64 {
    let host = platform.host(host);
    host.speed.get() * f64::from(host.cores)
}

/// Most Sets of which all sequences are tried: 64 sequences.
const SETS_MAX: usize = 4;
