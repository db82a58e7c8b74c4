//! The place of a node in the checkpoints of a job.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use bsp::HostId;
use protocol::transport::JobId;

use super::Checkpoints;
use crate::buddy::buddies;
use crate::checkpointing::{CheckpointSchedule, Checkpointing};
use crate::setup::{Rules, Setup};

/// What the checkpoints of a job on one node are made of.
pub(super) struct CheckpointParts {
    pub(super) own: HostId,
    /// The node of the first Manager.
    pub(super) collector: HostId,
    /// The other nodes.
    pub(super) others: Vec<HostId>,
    pub(super) job: JobId,
    pub(super) incarnation: u64,
    /// The number of processes.
    pub(super) size: u32,
    /// The number of processors here.
    pub(super) processors: u32,
    /// Where the pieces of this node are copied, if they are.
    pub(super) buddy: Option<HostId>,
    /// The nodes whose pieces are copied here.
    pub(super) wards: BTreeSet<HostId>,
    /// Whether checkpoints are written to disk.
    pub(super) is_on_disk: bool,
}

impl Checkpoints {
    /// The checkpoints of `job` on the node of `own`, which has so many `processors`.
    pub(crate) fn of_job(
        (job, own): (JobId, HostId),
        (setup, checkpointing, rules): (&Setup, &Checkpointing, &Rules),
        processors: NonZeroU32,
        is_on_disk: bool,
    ) -> Self {
        let buddies: BTreeMap<HostId, HostId> = if checkpointing.copies {
            let all = buddies(&rules.sets, &rules.absent).into_iter().enumerate();
            let some = all.filter_map(|(host, buddy)| Some((HostId::from_index(host), buddy?)));
            some.collect()
        } else {
            BTreeMap::new()
        };
        let wards = buddies.iter().filter(|(_, buddy)| **buddy == own);
        let hosts = (0..rules.sets.len()).map(HostId::from_index);
        let started: BTreeSet<HostId> = setup.placement.iter().copied().collect();
        let parts = CheckpointParts {
            own,
            collector: rules.first_host(),
            others: hosts.filter(|host| *host != own).collect(),
            job,
            incarnation: setup.incarnation(),
            size: u32::try_from(setup.placement.len()).expect("ranks fit 32 bits"),
            processors: processors.get(),
            buddy: buddies.get(&own).copied(),
            wards: wards.map(|(ward, _)| *ward).collect(),
            is_on_disk,
        };
        let schedule = CheckpointSchedule::new(checkpointing, started.len());
        Self::new(parts, schedule.from_superstep(rules.first_superstep()))
    }
}
