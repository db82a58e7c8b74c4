//! What the nodes of a cluster sent to the client of a job.

use std::collections::BTreeMap;

use bsp::units::{Bytes, Instant};
use bsp::{HostId, Rank};
use protocol::{Build, Ended};

use record::{Call, Checkpoint, End};

/// The outputs, totals, calls and checkpoints of a job.
#[derive(Default)]
pub(crate) struct JobResult {
    /// The outputs, with the host of the node that sent each.
    pub(crate) outputs: BTreeMap<Rank, (HostId, bytes::Bytes)>,
    pub(crate) ended: BTreeMap<HostId, Ended>,
    pub(crate) calls: Vec<Call>,
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// The builds of the nodes, by host.
    pub(crate) builds: Vec<Build>,
}

impl JobResult {
    /// The totals of the run.
    pub(crate) fn end(&self) -> End {
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
