//! What Managers report at a call.

use serde::{Deserialize, Serialize};

use crate::{
    BarrierTime, Load, Measurements, MoveCost, Path, PlanningAssumptions, Processor, Snapshot,
};

/// What is known of one Set at a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// Its hosts, without their residents.
    pub processors: Vec<Processor>,
    /// Its processes, in rank order.
    pub loads: Vec<Load>,
    /// Seconds that a byte takes from this Set to every Set.
    pub rates: Vec<f64>,
    /// What messages take from this Set to every Set.
    pub paths: Vec<Path>,
    /// What the barrier adds for the processes of this Set.
    pub barrier: BarrierTime,
    /// What else its hosts have measured.
    #[serde(default, skip_serializing_if = "Measurements::is_empty")]
    pub measured: Measurements,
}

/// Seconds that the first process of `sets` takes to move between the Sets that are farthest from each other.
pub(super) fn moving(sets: &[Inventory], cost: MoveCost) -> f64 {
    let image = sets
        .iter()
        .flat_map(|set| &set.loads)
        .map(|load| load.image);
    let rates = sets.iter().flat_map(|set| &set.rates).copied();
    let rate = rates.fold(0.0, f64::max);
    image
        .take(1)
        .map(|image| cost.time(image, rate).get())
        .sum()
}

/// The reports of all Sets as one snapshot.
pub(super) fn snapshot(
    sets: Vec<Inventory>,
    cost: MoveCost,
    assumptions: &PlanningAssumptions,
) -> Snapshot {
    let (mut processors, mut loads) = (Vec::new(), Vec::new());
    let (mut rates, mut paths, mut barriers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut links, mut external) = (Vec::new(), Vec::new());
    for set in sets {
        processors.push(set.processors);
        loads.extend(set.loads);
        rates.push(set.rates);
        paths.push(set.paths);
        barriers.push(set.barrier);
        links.extend(set.measured.links);
        external.extend(set.measured.external);
    }
    Snapshot::new(&processors, loads, rates, cost, assumptions)
        .with_barriers(barriers)
        .with_links(&links)
        .with_external(&external)
        .with_paths(&paths)
}
