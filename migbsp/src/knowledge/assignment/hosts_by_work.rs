//! Hosts by how much their processes execute, to find the host that ends first without a look at all of them.

use std::collections::{BTreeMap, BTreeSet};

use bsp::SetId;

use super::computing::Computing;
use crate::Snapshot;

/// The hosts of an assignment, in groups of equal ones, each with the host first that has least to execute.
#[derive(Clone, Debug)]
pub(super) struct HostsByWork {
    groups: Vec<Group>,
    /// By host: its group.
    group: Vec<usize>,
}

/// Hosts of one Set that are equally fast.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) set: SetId,
    /// Instructions per second of all cores of one host.
    capacity: f64,
    /// Seconds of a superstep in which its processes cannot compute.
    offset: f64,
    /// The bits of the instructions, which order as these do, and the host.
    hosts: BTreeSet<(u64, usize)>,
}

impl HostsByWork {
    /// The hosts with the processes of `computing`.
    pub(super) fn new(snapshot: &Snapshot, computing: &Computing) -> Self {
        let mut equal: BTreeMap<(SetId, u64, u64), usize> = BTreeMap::new();
        let mut groups: Vec<Group> = Vec::new();
        let hosts = snapshot.hosts().iter().enumerate();
        let group = hosts.map(|(number, host)| {
            let key = (host.set, host.rate.to_bits(), host.cores.to_bits());
            let index = *equal.entry(key).or_insert(groups.len());
            if index == groups.len() {
                let barrier = snapshot.barrier(host.set);
                groups.push(Group {
                    set: host.set,
                    capacity: host.cores * host.rate,
                    offset: barrier.release() + barrier.arrival(),
                    hosts: BTreeSet::new(),
                });
            }
            let work = computing.work(number).to_bits();
            groups[index].hosts.insert((work, number));
            index
        });
        let group = group.collect();
        Self { groups, group }
    }

    /// The processes of `host` execute `after` instructions instead of `before`.
    pub(super) fn update(&mut self, host: usize, before: f64, after: f64) {
        let hosts = &mut self.groups[self.group[host]].hosts;
        hosts.remove(&(before.to_bits(), host));
        hosts.insert((after.to_bits(), host));
    }

    /// Groups of equal hosts.
    pub(super) fn groups(&self) -> &[Group] {
        &self.groups
    }
}

impl Group {
    /// The hosts, those first that have least to execute, each with the seconds that a superstep takes at least with
    /// `work` more instructions: those in which all cores are busy.
    pub(super) fn least_times(&self, work: f64) -> impl Iterator<Item = (usize, f64)> {
        let hosts = self.hosts.iter();
        hosts.map(move |(bits, host)| {
            let work = f64::from_bits(*bits) + work;
            (*host, self.offset + work / self.capacity)
        })
    }
}
