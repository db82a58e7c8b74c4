//! What Managers report at a call.

use serde::{Deserialize, Serialize};

use crate::{Load, MigrationCost, PlanningAssumptions, Processor, Snapshot};

/// What is known of one Set at a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// Its hosts, without their residents.
    pub processors: Vec<Processor>,
    /// Its processes, in rank order.
    pub loads: Vec<Load>,
    /// Seconds that a byte takes from this Set to every Set.
    pub rates: Vec<f64>,
    /// Seconds that each process here adds to every superstep, because the barrier handles one after the other.
    pub barrier_delay: f64,
}

/// The reports of all Sets as one snapshot.
pub(super) fn snapshot(
    sets: Vec<Inventory>,
    cost: MigrationCost,
    assumptions: PlanningAssumptions,
) -> Snapshot {
    let (mut processors, mut loads) = (Vec::new(), Vec::new());
    let (mut rates, mut barrier_delays) = (Vec::new(), Vec::new());
    for set in sets {
        processors.push(set.processors);
        loads.extend(set.loads);
        rates.push(set.rates);
        barrier_delays.push(set.barrier_delay);
    }
    Snapshot::new(&processors, loads, rates, cost, assumptions).with_barrier_delays(barrier_delays)
}
