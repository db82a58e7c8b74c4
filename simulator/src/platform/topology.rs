//! Hosts in a regular pattern of switches and cables.
//!
//! Cables, their names and the routes over them are those of SimGrid's clusters. A route follows from
//! the numbers of its two hosts, so that nothing is stored for a pair.

pub(super) mod dragonfly;
pub(super) mod fat_tree;
pub(super) mod problem;
pub(super) mod torus;

use bsp::numbers::length;

use crate::platform::topology::dragonfly::Dragonfly;
use crate::platform::topology::fat_tree::FatTree;
use crate::platform::topology::problem::TopologyProblem;
use crate::platform::topology::torus::Torus;

/// A pattern of hosts, switches and cables. Nodes are the hosts, then the switches.
#[derive(Debug)]
pub(super) enum Topology {
    FatTree(FatTree),
    Torus(Torus),
    Dragonfly(Dragonfly),
}

impl Topology {
    /// Number of hosts.
    pub(super) const fn hosts(&self) -> u32 {
        match self {
            Self::FatTree(tree) => tree.hosts(),
            Self::Torus(torus) => torus.hosts(),
            Self::Dragonfly(dragonfly) => dragonfly.hosts(),
        }
    }

    /// Checks that there is a host for each place.
    pub(super) fn check_hosts(&self, hosts: usize) -> Result<(), TopologyProblem> {
        let (expected, met) = (u64::from(self.hosts()), length(hosts));
        if expected == met {
            return Ok(());
        }
        Err(TopologyProblem::Hosts { expected, met })
    }

    /// Number of cables.
    pub(super) const fn cables(&self) -> u32 {
        match self {
            Self::FatTree(tree) => tree.cables(),
            Self::Torus(torus) => torus.cables(),
            Self::Dragonfly(dragonfly) => dragonfly.cables(),
        }
    }

    /// The numbers in the names of the switches' limiters, in the order of the switches.
    pub(super) fn switch_ids(&self) -> Vec<i64> {
        match self {
            Self::FatTree(tree) => tree.switch_ids(),
            Self::Torus(_) => Vec::new(),
            Self::Dragonfly(dragonfly) => dragonfly.switch_ids(),
        }
    }

    /// Visits what a message from one host to another crosses, in order. A host of a torus reaches
    /// itself over its limiter alone.
    pub(super) fn walk(&self, from: u32, to: u32, visit: impl FnMut(Crossing)) {
        match self {
            Self::FatTree(tree) => tree.walk(from, to, visit),
            Self::Torus(torus) => torus.walk(from, to, visit),
            Self::Dragonfly(dragonfly) => dragonfly.walk(from, to, visit),
        }
    }
}

/// What a message crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::platform) enum Crossing {
    /// The limiter of a node. Nodes are the hosts, then the switches.
    Limiter(u32),
    /// A cable, in the direction it was declared in or the other.
    Cable { number: u32, up: bool },
}

/// A cable of a topology.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::platform) struct NamedCable {
    pub(in crate::platform) name: String,
    /// Its bandwidth, in bandwidths of the cluster's cables.
    pub(in crate::platform) width: u32,
}
