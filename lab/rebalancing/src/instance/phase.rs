//! A phase of an instance: other measurements of the same processes.

use crate::instance::edge::Edge;

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
