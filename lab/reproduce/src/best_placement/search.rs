//! The search for the best placement.

use std::path::{Path, PathBuf};

use bsp::HostId;
use experiments::batch::{Batch, Progress, Silent};
use experiments::{Failure, PreparedExperiment, Provenance, Registry, load};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::best_placement::beginnings::beginnings;
use crate::best_placement::graph::Graph;
use crate::best_placement::moves::Moves;
use crate::best_placement::steadiness;
use crate::best_placement::trial::{Pace, Trial};
use analysis::known_best::BestPlacement;

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
struct Judged {
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
    let judge = |placement: &Vec<HostId>| -> Result<Judged, Failure> {
        let pace = trial.pace(placement)?;
        batch.progress.advance();
        Ok(Judged {
            placement: placement.clone(),
            pace,
        })
    };
    let mut begun = beginnings(&graph, &prepared.placement, &prepared.platform);
    begun.truncate(usize::try_from(search.budget).unwrap_or(usize::MAX));
    let mut judged = silent.run(&begun, judge)?;
    let at_start = judged[0].pace.seconds;
    let by_adaptive = trial.pace(&graph.final_placement)?.seconds;
    judged.sort_by(|a, b| a.pace.seconds.total_cmp(&b.pace.seconds));
    let left = search.budget - u64::try_from(judged.len()).unwrap_or(search.budget);
    let chains: Vec<Chain<'_>> = (0..CHAINS)
        .map(|number| Chain {
            trial: &trial,
            graph: &graph,
            hosts: prepared.platform.hosts().len(),
            progress: batch.progress,
            number,
            begin: &judged[usize::try_from(number % FROM).unwrap_or(0) % judged.len()],
            steps: left / CHAINS + u64::from(number < left % CHAINS),
        })
        .collect();
    let ends = silent.run(&chains, |chain| chain.run(search.seed))?;
    batch.progress.end();
    let best = ends.iter().fold(&judged[0], |best, end| {
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
    begin: &'a Judged,
    steps: u64,
}

impl Chain<'_> {
    /// The best placement that it meets.
    fn run(&self, seed: u64) -> Result<Judged, Failure> {
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
                at = Judged { placement, pace };
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

#[cfg(test)]
mod tests;
