//! The pool of hosts that may join a simulated run.
//!
//! Hosts of the pool are not there at the start. Managers do not measure them, so no policy plans for them. A process
//! whose host is in the pool starts on another host of its Set, and its program sees that it is on standby.
//!
//! At the end of each superstep every Manager asks the world which hosts join (`Membership::joining`). The pool decides
//! that once, so all Managers get the same answer. It decides whether joining pays, and knows when a host is prepared.
//!
//! On real hosts no living agent hears of a host that joins: the job goes on in another view, and the crate `machines` decides when.
//! The rule by which joining pays is the same one, [`Prospect`].

use std::collections::{BTreeMap, BTreeSet};

use agents::{
    Elasticity, JoinTime, Joining, PooledHost, Preparation, Prospect, Relocation, UNKNOWN_PROGRESS,
};
use bsp::units::{Instant, Instructions, Seconds};
use bsp::{HostId, Rank};
use simulator::Platform;

use super::supersteps::Supersteps;

/// The hosts that have not joined, and the processes on standby for them.
pub(super) struct Pool {
    elasticity: Elasticity,
    /// The hosts that are being prepared, once hosts have been asked to join, in the order of the pool.
    preparing: Option<Vec<Prepared>>,
    /// The processes whose hosts have not joined, in rank order.
    standby: Vec<Rank>,
    /// The hosts that joined, by the number of complete supersteps: all Managers get the same answer, and some ask late.
    joined: BTreeMap<u64, Joining>,
    /// The last number of supersteps for which that was decided.
    decided: u64,
    /// Instructions executed so far.
    work: f64,
    /// Whether each process has computed.
    has_worked: Vec<bool>,
    /// The part of the work that had been done when it last changed, and the instructions executed then.
    done: Option<(f64, f64)>,
}

/// What the world knows at the end of a superstep.
#[derive(Clone, Copy)]
pub(super) struct Situation<'a> {
    /// The number of complete supersteps.
    pub(super) completed: u64,
    pub(super) now: Instant,
    pub(super) platform: &'a Platform,
    /// The host of each process.
    pub(super) hosts: &'a [HostId],
    /// The processes and what is known of them.
    pub(super) supersteps: &'a Supersteps,
}

/// A host that has been asked to join.
struct Prepared {
    ready: Instant,
    record: record::Join,
}

impl Pool {
    pub(super) fn new(elasticity: Elasticity) -> Self {
        Self {
            standby: elasticity.standby.keys().copied().collect(),
            elasticity,
            preparing: None,
            joined: BTreeMap::new(),
            decided: 0,
            work: 0.0,
            has_worked: Vec::new(),
            done: None,
        }
    }

    /// The processes whose hosts have not joined, in rank order.
    pub(super) fn standby(&self) -> &[Rank] {
        &self.standby
    }

    /// The hosts that have not joined.
    pub(super) fn absent(&self) -> BTreeSet<HostId> {
        let all = self.elasticity.pool.iter().map(|pooled| pooled.host);
        let has_joined = |host: &HostId| {
            let mut joined = self.joined.values();
            joined.any(|joining| joining.hosts.contains(host))
        };
        all.filter(|host| !has_joined(host)).collect()
    }

    /// A superstep begins in which each process executes this many instructions.
    pub(super) fn add_work(&mut self, work: &[Instructions]) {
        self.has_worked.resize(work.len(), false);
        for (has_worked, work) in self.has_worked.iter_mut().zip(work) {
            *has_worked |= Instructions::ZERO < *work;
            self.work += work.as_f64();
        }
    }

    /// The hosts that join now, and what is to be recorded of hosts that do not.
    ///
    /// # Errors
    ///
    /// If hosts join after a part of the work, and the program does not know how much of it is done.
    pub(super) fn joining(
        &mut self,
        situation: Situation<'_>,
    ) -> Result<(Option<Joining>, Vec<record::Join>), String> {
        if situation.completed <= self.decided {
            let joined = self.joined.get(&situation.completed);
            return Ok((joined.cloned(), Vec::new()));
        }
        self.decided = situation.completed;
        let mut declined = Vec::new();
        if self.preparing.is_none() {
            let progress = situation.supersteps.progress(situation.completed);
            if self.done.map(|(before, _)| before) != progress {
                self.done = progress.map(|progress| (progress, self.work));
            }
            if self.is_time(situation, progress)? {
                declined = self.ask(situation);
            }
        }
        let joining = self.ready(situation);
        if let Some(joining) = &joining {
            self.joined.insert(situation.completed, joining.clone());
        }
        Ok((joining, declined))
    }

    fn is_time(&self, situation: Situation<'_>, progress: Option<f64>) -> Result<bool, String> {
        Ok(match self.elasticity.at {
            JoinTime::Superstep(superstep) => superstep <= situation.completed,
            JoinTime::Date(date) => date <= situation.now,
            JoinTime::Part(part) => part <= progress.ok_or(UNKNOWN_PROGRESS)?,
        })
    }

    /// Asks the hosts that are to join, if that pays. Returns those for which it does not.
    fn ask(&mut self, situation: Situation<'_>) -> Vec<record::Join> {
        let mut prospect = self.prospect(situation);
        let (mut preparing, mut declined) = (Vec::new(), Vec::new());
        let is_blocking = self.elasticity.preparation == Preparation::Blocking;
        for PooledHost { host, creation } in self.elasticity.pool.iter().take(self.elasticity.take)
        {
            let speed = situation.platform.host(*host).speed.get();
            let saves = prospect
                .as_ref()
                .map(|prospect| prospect.saves(speed, *creation, is_blocking));
            let joins = !self.elasticity.guard || saves.is_none_or(|saves| 0.0 < saves);
            let record = record::Join {
                superstep: situation.completed,
                host: *host,
                asked: situation.now,
                at: situation.now,
                creation: *creation,
                remaining: prospect
                    .as_ref()
                    .and_then(|prospect| Seconds::new(prospect.left).ok()),
                saves,
                joined: joins,
                ended: situation.now,
                processes: Vec::new(),
                waited: None,
                name: None,
            };
            if joins {
                if let Some(prospect) = &mut prospect {
                    prospect.join(speed);
                }
                let ready = if is_blocking {
                    situation.now
                } else {
                    situation.now + *creation
                };
                preparing.push(Prepared { ready, record });
            } else {
                declined.push(record);
            }
        }
        self.preparing = Some(preparing);
        declined
    }

    /// What is left, and with what power; `None`: the program does not know.
    fn prospect(&self, situation: Situation<'_>) -> Option<Prospect> {
        let (progress, work) = self.done.filter(|(progress, _)| 0.0 < *progress)?;
        let mut at_work: Vec<HostId> = (0..)
            .map(Rank)
            .zip(situation.hosts.iter().zip(&self.has_worked))
            .filter(|(rank, (_, has_worked))| **has_worked && !self.standby.contains(rank))
            .map(|(_, (host, _))| *host)
            .collect();
        at_work.sort();
        at_work.dedup();
        let speed = |host: &HostId| situation.platform.host(*host).speed.get();
        let power: f64 = at_work.iter().map(speed).sum();
        let left = work * (1.0 - progress) / progress / power;
        left.is_finite().then_some(Prospect { left, power })
    }

    /// The hosts that are ready join.
    fn ready(&mut self, situation: Situation<'_>) -> Option<Joining> {
        let preparing = self.preparing.as_mut()?;
        let (ready, rest): (Vec<_>, Vec<_>) = std::mem::take(preparing)
            .into_iter()
            .partition(|prepared| prepared.ready <= situation.now);
        *preparing = rest;
        if ready.is_empty() {
            return None;
        }
        let mut joining = Joining {
            hosts: Vec::new(),
            wait: Seconds::ZERO,
            moves: Vec::new(),
            records: Vec::new(),
        };
        for Prepared { mut record, .. } in ready {
            if self.elasticity.preparation == Preparation::Blocking {
                joining.wait += record.creation;
            }
            let waiting = self.elasticity.standby.iter();
            let waiting = waiting.filter(|(rank, host)| {
                **host == record.host && !situation.supersteps.has_halted(**rank)
            });
            let moves = waiting.map(|(rank, host)| Relocation {
                rank: *rank,
                from: situation.hosts[rank.index()],
                to: *host,
            });
            let moves: Vec<Relocation> = moves.filter(|moved| moved.from != moved.to).collect();
            self.standby
                .retain(|rank| self.elasticity.standby[rank] != record.host);
            record.superstep = situation.completed;
            record.at = situation.now;
            record.processes = moves.iter().map(|moved| moved.rank).collect();
            joining.hosts.push(record.host);
            joining.moves.extend(moves);
            joining.records.push(record);
        }
        Some(joining)
    }
}
