//! The contents of an instance file: machines, processes, what they exchange, and phases.

use crate::instance::place::Range;

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

/// A process, where it is before any move.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Its name, if it has one; results show its position otherwise.
    pub name: Option<String>,
    /// Its workload.
    pub workload: f64,
    /// MB that a move transfers.
    pub size: f64,
    /// The position of its machine.
    pub machine: usize,
    /// Whether it may move.
    pub movable: bool,
    /// MB that it occupies on its machine, in addition to its blocks.
    pub memory: f64,
    /// The positions of the blocks that it uses: a machine holds each block once for all its processes.
    pub blocks: Vec<usize>,
}

impl Process {
    /// A process that may move, and occupies no memory.
    pub const fn new(workload: f64, size: f64, machine: usize) -> Self {
        Self {
            name: None,
            workload,
            size,
            machine,
            movable: true,
            memory: 0.0,
            blocks: Vec::new(),
        }
    }

    /// Whether workload, size and machine say all about it.
    pub(super) fn is_plain(&self) -> bool {
        *self == Self::new(self.workload, self.size, self.machine)
    }
}

/// What two processes exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The positions of both.
    pub processes: (usize, usize),
    /// Bytes in a superstep, both ways together.
    pub bytes: f64,
}

/// What the processes computed and exchanged in another phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its name, which differs from those of the others.
    pub name: String,
    /// The workload of each process.
    pub workloads: Vec<f64>,
    /// What processes exchanged.
    pub edges: Vec<Edge>,
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
