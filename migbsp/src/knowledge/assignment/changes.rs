//! What a move or an exchange would change.

use bsp::SetId;

use super::links::{LinkChanges, Way};
use super::{Assignment, Changes};

impl Assignment<'_> {
    /// Seconds that the slowest of those hosts would take that change if `process` went to `host`, or the messages
    /// between their Sets.
    #[must_use]
    pub fn after_move(&self, process: usize, host: usize) -> f64 {
        let from = self.places[process];
        let changes = [(process, host)];
        let left = self.host_after((from, Some(process), None), &changes);
        let taken = self.host_after((host, None, Some(process)), &changes);
        let sets = [self.set(from), self.set(host)];
        let delay = |set: SetId| self.snapshot.barrier(set).process();
        self.longest_after(&changes, &[left, taken]) + delay(sets[1]) - delay(sets[0])
    }

    /// Seconds by which interruptions of a superstep would become longer if `process` went to `host`.
    #[must_use]
    pub(crate) fn interruption_after_move(&self, process: usize, host: usize) -> f64 {
        let from = self.places[process];
        let factor = |host: usize| self.snapshot.hosts()[host].interruption;
        let mut change = 0.0;
        if 0.0 < factor(from) {
            let left = self.computation_with(from, Some(process), None);
            change += factor(from) * left - self.interruptions[from];
        }
        if 0.0 < factor(host) {
            let taken = self.computation_with(host, None, Some(process));
            change += factor(host) * taken - self.interruptions[host];
        }
        change
    }

    /// The hosts whose interruptions are expected to take longest, the longest first, at most `number`.
    pub(crate) fn most_interrupted(&self, number: usize) -> Vec<usize> {
        let hosts = 0..self.interruptions.len();
        let mut hosts: Vec<usize> = hosts
            .filter(|host| 0.0 < self.interruptions[*host])
            .collect();
        let time = |host: &usize| self.interruptions[*host];
        hosts.sort_by(|one, other| time(other).total_cmp(&time(one)).then(one.cmp(other)));
        hosts.truncate(number);
        hosts
    }

    /// The same if `process` and `other` changed places.
    #[must_use]
    pub fn after_swap(&self, process: usize, other: usize) -> f64 {
        let (from, host) = (self.places[process], self.places[other]);
        let changes = [(process, host), (other, from)];
        let left = self.host_after((from, Some(process), Some(other)), &changes);
        let taken = self.host_after((host, Some(other), Some(process)), &changes);
        self.longest_after(&changes, &[left, taken])
    }

    /// The longest time after `changes`: of the `hosts` that change, of a process elsewhere that sends to a process that
    /// moves, and of the links whose messages change.
    fn longest_after(&self, changes: Changes<'_>, hosts: &[HostAfter; 2]) -> f64 {
        let graph = self.snapshot.graph();
        let mut last = hosts[0].time.max(hosts[1].time);
        let mut links = LinkChanges::none(&self.links);
        for (process, _) in changes {
            for message in graph.incoming(*process) {
                let sender = message.other;
                let host = self.place(sender, changes);
                if hosts.iter().all(|changed| changed.host != host) {
                    let release = self.snapshot.barrier(self.set(host)).release();
                    let end = self.computing.end(sender);
                    last = last.max(release + end + self.delivery(sender, host, changes));
                }
                self.redirect(
                    (sender, *process),
                    message.bytes,
                    (changes, hosts),
                    &mut links,
                );
            }
            for message in graph.outgoing(*process) {
                // A message between two processes that move is counted at its receiver.
                if changes.iter().all(|(other, _)| *other != message.other) {
                    let ends = (*process, message.other);
                    self.redirect(ends, message.bytes, (changes, hosts), &mut links);
                }
            }
        }
        if let Some(flows) = &self.flows {
            for change in links.iter() {
                last = last.max(self.links.time_after(*change, flows, hosts));
            }
        }
        last
    }

    /// Adds to `links` how `changes` redirect a message.
    fn redirect(
        &self,
        (from, to): (usize, usize),
        bytes: f64,
        (changes, hosts): (Changes<'_>, &[HostAfter; 2]),
        links: &mut LinkChanges<'_>,
    ) {
        let way = |sender: usize, receiver: usize| Way {
            link: (self.set(sender), self.set(receiver)),
            sender,
        };
        let before = way(self.places[from], self.places[to]);
        let after = way(self.place(from, changes), self.place(to, changes));
        let changed = hosts.iter().find(|changed| changed.host == after.sender);
        let end = changed.map_or_else(
            || self.computing.host_end(after.sender),
            |changed| changed.end,
        );
        links.redirect(before, after, bytes, end);
    }
}

/// A host whose processes have changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostAfter {
    pub(super) host: usize,
    /// Seconds from the start of the superstep until all of its processes have computed.
    pub(super) end: f64,
    /// Seconds until all of them have arrived at the barrier.
    pub(super) time: f64,
}
