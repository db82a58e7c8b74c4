//! The checkpoints of a job, at its beginning.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use bsp::HostId;
use protocol::transport::JobId;

use super::Checkpoints;
use super::parts::CheckpointParts;
use crate::buddy::buddies;
use crate::checkpointing::{CheckpointSchedule, Checkpointing};
use crate::setup::{Rules, Setup};

impl Checkpoints {
    /// The checkpoints of `job` on the node of `own`, which has these `processors`.
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
