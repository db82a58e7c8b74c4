//! A process as it has to be known to place it.

use std::cmp::Ordering;

use bsp::{HostId, MemorySize, Rank, SetId};
use serde::{Deserialize, Serialize};

use crate::Edge;
use crate::bounded::{count, non_negative};

/// A process as a planner has to know it to place it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The process.
    pub rank: Rank,
    /// The host that it runs on.
    pub host: HostId,
    /// Predicted instructions of the next superstep.
    pub instructions: f64,
    /// If the process seems to have finished: the most instructions that it executed in a superstep.
    pub finished: Option<f64>,
    /// Its memory image.
    pub image: MemorySize,
    /// What it is predicted to receive in a superstep.
    pub received: Vec<Received>,
    /// The heaviest of these, by sender.
    pub edges: Vec<Edge>,
    /// How much its computation times vary, as a part of them: [`Noise::deviation`](crate::Noise::deviation).
    pub noise: f64,
}

/// What a process receives in a superstep from the processes of one Set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Received {
    /// The Set of the senders.
    pub set: SetId,
    /// How many bytes.
    pub bytes: f64,
    /// Seconds that the messages took, summed.
    pub time: f64,
}

impl Load {
    /// The same with finite numbers that are not negative.
    pub(crate) fn sound(mut self) -> Self {
        self.instructions = non_negative(self.instructions);
        self.noise = non_negative(self.noise);
        for received in &mut self.received {
            received.bytes = non_negative(received.bytes);
            received.time = non_negative(received.time);
        }
        for edge in &mut self.edges {
            *edge = edge.sound();
        }
        self
    }
}

/// By work, then by rank.
pub(crate) fn lighter_first(loads: &[Load], one: usize, other: usize) -> Ordering {
    let work = |process: usize| loads[process].instructions;
    work(one).total_cmp(&work(other)).then(one.cmp(&other))
}

/// Fills in the instructions of idle processes: the mean of the busy ones, or nothing if the process has computed
/// as much as others do and seems to have finished.
///
/// A process that is idle now may compute as much as the others soon; counted as nothing, all of them could be
/// placed on one host.
pub(crate) fn fill_in_idle(processes: &mut [Load]) {
    let most = processes
        .iter()
        .map(|load| load.instructions)
        .fold(0.0, f64::max);
    // Initialisation work alone does not count as having computed.
    let has_finished = |load: &Load| {
        load.finished
            .is_some_and(|had| IDLE_OF_BUSIEST * most <= had)
    };
    let is_idle = |load: &Load| load.instructions < IDLE_OF_BUSIEST * most;
    let busy = processes.iter().filter(|load| !is_idle(load));
    let number = count(busy.clone().count());
    let mean = busy.map(|load| load.instructions).sum::<f64>() / number.max(1.0);
    for load in processes.iter_mut().filter(|load| is_idle(load)) {
        load.instructions = if has_finished(load) { 0.0 } else { mean };
    }
}

/// A process below this fraction of the largest work counts as idle.
const IDLE_OF_BUSIEST: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;

    /// By predicted instructions, and by the most executed if the process seems to have finished.
    fn filled_in(loads: &[(f64, Option<f64>)]) -> Vec<f64> {
        let load = |&(instructions, finished): &(f64, Option<f64>)| Load {
            rank: Rank(0),
            host: HostId(0),
            instructions,
            finished,
            image: MemorySize::default(),
            received: Vec::new(),
            edges: Vec::new(),
            noise: 0.0,
        };
        let mut loads: Vec<Load> = loads.iter().map(load).collect();
        fill_in_idle(&mut loads);
        loads.iter().map(|load| load.instructions).collect()
    }

    #[test]
    fn processes_not_started_count_as_the_mean_and_finished_ones_as_nothing() {
        let loads = [
            (4e9, None),
            (2e9, None),
            (0.0, None),
            (1e6, None),
            (0.0, Some(3e9)),
            (1e-60, Some(3e9)),
            // It did much more once, and goes on as others do.
            (3e9, Some(900e9)),
            // Initialisation work alone.
            (0.0, Some(1e6)),
        ];
        let expected = [4e9, 2e9, 3e9, 3e9, 0.0, 0.0, 3e9, 3e9];
        assert_eq!(filled_in(&loads), expected);
    }
}
