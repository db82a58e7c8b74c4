//! Hosts that join while a simulated run goes on.

use std::collections::BTreeMap;

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank};
use serde::{Deserialize, Serialize};

/// Hosts that are not there at the start, and when they join.
///
/// A process whose host is one of them is on standby ([`bsp::Superstep::is_standby`]): it starts on another host, and moves
/// when its host joins.
#[derive(Clone, Debug, PartialEq)]
pub struct Elasticity {
    /// The hosts that are not there at the start, in the order in which they join.
    pub pool: Vec<PooledHost>,
    /// The number of them that join.
    pub take: usize,
    /// When they are asked to join: at the end of the superstep in which this is reached.
    pub at: JoinTime,
    /// What the processes do while a host is prepared.
    pub preparation: Preparation,
    /// Whether hosts join only if that pays (equation `JOIN`).
    pub guard: bool,
    /// The processes on standby, with the hosts for which they wait.
    pub standby: BTreeMap<Rank, HostId>,
}

/// A host that is not there at the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledHost {
    /// The host.
    pub host: HostId,
    /// How long its preparation takes.
    pub creation: Seconds,
}

/// When hosts are asked to join.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JoinTime {
    /// When this part of the computation has been done ([`bsp::Program::progress`]).
    Part(f64),
    /// After this number of supersteps.
    Superstep(u64),
    /// At this date.
    Date(Instant),
}

/// What the processes do while hosts are prepared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preparation {
    /// They wait, while one host after the other is prepared (Santana and Souza).
    Blocking,
    /// They go on. All hosts are prepared at the same time, and each joins after the superstep in which it is ready.
    #[default]
    Concurrent,
}

/// The hosts that join after a superstep.
#[derive(Clone, Debug, PartialEq)]
pub struct Joining {
    /// The hosts.
    pub hosts: Vec<HostId>,
    /// How long the processes wait until they are prepared.
    pub wait: Seconds,
    /// The processes that move to them, with their present hosts.
    pub moves: Vec<Relocation>,
    /// What is recorded of each host.
    pub records: Vec<record::Join>,
}

/// A process that moves to the host for which it waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The process.
    pub rank: Rank,
    /// Its present host.
    pub from: HostId,
    /// The host that joins.
    pub to: HostId,
}
