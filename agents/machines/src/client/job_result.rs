//! What the nodes of a cluster sent to the client of a job.

use std::collections::BTreeMap;

use bsp::units::{Bytes, Instant};
use bsp::{HostId, Rank};
use protocol::{Build, Ended};
use record::{Call, Checkpoint, End};

/// The outputs, totals, calls and checkpoints of a job.
#[derive(Default, Debug)]
pub struct JobResult {
    /// The outputs, with the host of the node that sent each.
    pub outputs: BTreeMap<Rank, (HostId, bytes::Bytes)>,
    /// The totals of each node.
    pub ended: BTreeMap<HostId, Ended>,
    /// Its rescheduling calls.
    pub calls: Vec<Call>,
    /// Its complete checkpoints.
    pub checkpoints: Vec<Checkpoint>,
    /// The builds of the nodes, by host.
    pub builds: Vec<Build>,
}

impl JobResult {
    /// The totals of the run.
    pub fn end(&self) -> End {
        let sum = |what: fn(&Ended) -> u64| {
            let numbers = self.ended.values().map(what);
            numbers.fold(0, u64::saturating_add)
        };
        let seconds = self.ended.values().map(|ended| ended.seconds).max();
        let supersteps = self.ended.values().map(|ended| ended.supersteps).max();
        End {
            seconds: Instant::START + seconds.unwrap_or_default(),
            supersteps: supersteps.unwrap_or_default(),
            messages: sum(|ended| ended.messages),
            bytes: Bytes(sum(|ended| ended.bytes)),
            attainable: None,
            imbalance: None,
            moved: Bytes(sum(|ended| ended.moved)),
        }
    }
}
