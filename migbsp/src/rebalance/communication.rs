//! What processes exchange, as a part of the level of their machines.

use crate::Graph;

/// Which processes exchange how much in a superstep, and what a byte adds to a level.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Communication {
    graph: Graph,
    weight: f64,
}

impl Communication {
    /// The bytes that two of as many processes exchange, for each of `edges`; each adds `weight` to the levels of both
    /// machines, unless they are the same.
    pub(super) fn new(processes: usize, edges: &[(usize, usize, f64)], weight: f64) -> Self {
        Self {
            graph: Graph::of_bytes(processes, edges),
            weight,
        }
    }

    /// The pairs of processes that exchange bytes, and how many.
    pub(super) fn edges(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let processes = 0..self.graph.processes();
        processes.flat_map(|process| {
            let messages = self.graph.outgoing(process).iter();
            messages.map(move |message| (process, message.other, message.bytes))
        })
    }

    /// What a byte adds to a level.
    pub(super) const fn weight(&self) -> f64 {
        self.weight
    }

    /// With which processes `process` exchanges how many bytes.
    #[inline]
    pub(super) fn of(&self, process: usize) -> impl Iterator<Item = (usize, f64)> {
        let messages = self.graph.neighbours(process);
        messages.map(|message| (message.other, message.bytes))
    }

    /// The bytes that each of as many machines exchanges with others.
    pub(super) fn exchanged(&self, assignment: &[usize], machines: usize) -> Vec<f64> {
        let mut exchanged = vec![0.0; machines];
        for (process, &machine) in assignment.iter().enumerate() {
            for (other, bytes) in self.of(process) {
                if assignment[other] != machine {
                    exchanged[machine] += bytes;
                }
            }
        }
        exchanged
    }

    /// By how many bytes a move of `process` changes what the machines that it leaves and enters exchange with others.
    ///
    /// No other machine exchanges more or less: what it exchanged with one of the two, it exchanges with the other.
    #[inline]
    pub(super) fn change(
        &self,
        process: usize,
        (from, to): (usize, usize),
        place: impl Fn(usize) -> usize,
    ) -> (f64, f64) {
        let (mut left, mut entered) = (0.0, 0.0);
        for (other, bytes) in self.of(process) {
            let place = place(other);
            left += if place == from { bytes } else { -bytes };
            entered += if place == to { -bytes } else { bytes };
        }
        (left, entered)
    }
}
