//! The contents of an instance file.

use crate::instance::edge::Edge;
use crate::instance::phase::Phase;
use crate::instance::place::Range;
use crate::instance::process::Process;

/// The contents of an instance file.
///
/// Invariant: all numbers are within the ranges of a file; every machine and block of a process, and every process of an
/// edge, exists; there are at least one machine and one process, and as many clusters as machines, whose names
/// differ; the memory of no machine is exceeded.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Its name.
    pub name: String,
    /// Of each machine: workload that it does in a unit of time.
    pub capacities: Vec<f64>,
    /// Of each machine: its name; its position from 0, if the file names none.
    pub machines: Vec<String>,
    /// Of each machine: the number of its cluster, as written.
    pub clusters: Vec<u64>,
    /// MB/s between machines of one cluster.
    pub bandwidth_intra: f64,
    /// MB/s between machines of two.
    pub bandwidth_inter: f64,
    /// Of each machine: MB that its processes and their blocks may occupy; `None` if that is not limited.
    pub memory: Option<Vec<f64>>,
    /// MB of each block.
    pub blocks: Vec<f64>,
    /// The processes.
    pub processes: Vec<Process>,
    /// What processes exchange in a superstep.
    pub edges: Vec<Edge>,
    /// The level that a byte adds to that of each of two machines between which it is exchanged.
    pub weight: f64,
    /// Other measurements of the same processes.
    pub phases: Vec<Phase>,
    /// Levels to meet.
    pub targets: Vec<f64>,
}

/// The names of machines that have none of their own.
pub(super) fn positions(machines: usize) -> Vec<String> {
    (0..machines).map(|position| position.to_string()).collect()
}

/// Range of workloads, sizes, bytes and weights: no sum or product of them leaves the range of floats.
pub(crate) const AMOUNT: Range = Range {
    low: 1e-15,
    high: 1e15,
    or_zero: true,
};

/// Range of capacities, bandwidths and levels.
pub(crate) const RATE: Range = Range {
    low: 1e-12,
    high: 1e15,
    or_zero: false,
};
