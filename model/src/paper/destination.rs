//! Where to place a candidate: the processors of its target Set.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bsp::units::{Bytes, Instructions, Seconds};
use bsp::{HostId, Rank};
use serde::{Deserialize, Serialize};

use crate::Processor;
use crate::bounded::non_negative;

/// The processors of one Set during one call, kept up to date while candidates come and go.
///
/// Implements equations `TIME`, `T1` and `T2` of `docs/model.md`. The Manager of a candidate computes
/// [`Processors::stay`] and sends it in a [`Request`]; the Manager of the target Set answers; the
/// former then lets the candidate [`depart`](Processors::depart).
///
/// This is what one Manager knows in a negotiation: its own Set, with the exact instructions of the last superstep.
/// Plans have a [`Snapshot`](crate::Snapshot) of all Sets, and ask an [`Assignment`](crate::Assignment).
#[derive(Clone, Debug, PartialEq)]
pub struct Processors {
    /// Seconds per byte inside the Set.
    transfer_rate: f64,
    /// By host.
    processors: Vec<Processor>,
    /// Hosts to which a process has migrated: none takes another.
    occupied: BTreeSet<HostId>,
    /// Rank → position of its processor.
    residences: BTreeMap<Rank, usize>,
}

/// The question of a candidate's Manager to the Manager of its target Set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Request {
    /// The candidate, `i`.
    pub rank: Rank,
    /// Its instructions in the last superstep.
    pub instructions: Instructions,
    /// The bytes that it received in the last superstep from processes of the target Set, `B(i, j)`.
    pub bytes: Bytes,
    /// The cost of moving it there, `Mem(i, j)`.
    pub migration: Seconds,
    /// Its time where it is.
    pub t2: Seconds,
    /// Seconds per byte that were predicted for its image, if the cost of moves is learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_byte: Option<f64>,
}

/// The answer of the Manager of the target Set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The candidate may come, and is counted there from now on.
    Offer {
        /// The host that it goes to.
        host: HostId,
        /// Its time there; less than the request's `t2`.
        t1: Seconds,
        /// The second best processor and the time there.
        runner_up: Option<(HostId, Seconds)>,
    },
    /// The candidate stays.
    Refuse(Refusal),
}

/// Why a candidate stays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// The best processor would take at least as long as the present one.
    NoFasterPlace {
        /// That processor.
        host: HostId,
        /// The time there.
        t1: Seconds,
        /// The time where the candidate is.
        t2: Seconds,
    },
    /// The candidate did not compute in the last superstep, which leaves nothing to compare.
    Idle,
    /// Every processor of the Set has taken a migrated process already, or there is none.
    NoProcessor,
}

impl Processors {
    /// The `processors` of a Set inside which a byte takes `transfer_rate` seconds; a process has migrated earlier to each
    /// of the hosts `occupied`, so that they take no other in this run.
    #[must_use]
    pub fn new(
        transfer_rate: f64,
        mut processors: Vec<Processor>,
        occupied: &BTreeSet<HostId>,
    ) -> Self {
        processors.sort_by_key(|processor| processor.host);
        let mut residences = BTreeMap::new();
        for (position, processor) in processors.iter().enumerate() {
            let residents = processor.residents.iter();
            residences.extend(residents.map(|(rank, _)| (*rank, position)));
        }
        Self {
            transfer_rate: non_negative(transfer_rate),
            processors,
            occupied: occupied.clone(),
            residences,
        }
    }

    /// Answers a request; an offer puts the candidate in its place.
    pub fn answer(&mut self, request: &Request) -> Answer {
        if request.instructions == Instructions::ZERO {
            return Answer::Refuse(Refusal::Idle);
        }
        let mut best: Option<(usize, Seconds)> = None;
        let mut second: Option<(usize, Seconds)> = None;
        let present = self.residences.get(&request.rank).copied();
        for (position, processor) in self.processors.iter().enumerate() {
            if Some(position) == present || self.occupied.contains(&processor.host) {
                continue;
            }
            let time = processor.time();
            if best.is_none_or(|(_, least)| time < least) {
                second = best.replace((position, time));
            } else if second.is_none_or(|(_, least)| time < least) {
                second = Some((position, time));
            }
        }
        let Some((position, time)) = best else {
            return Answer::Refuse(Refusal::NoProcessor);
        };
        let rest = request.bytes.as_f64() * self.transfer_rate + request.migration.get();
        let t1_of = |time: Seconds| Seconds::bounded(time.get() + rest);
        let host = self.processors[position].host;
        let (t1, t2) = (t1_of(time), request.t2);
        if t2 <= t1 {
            return Answer::Refuse(Refusal::NoFasterPlace { host, t1, t2 });
        }
        let runner_up = second.map(|(other, time)| (self.processors[other].host, t1_of(time)));
        self.receive(request, position);
        Answer::Offer {
            host,
            t1,
            runner_up,
        }
    }

    /// Places a candidate on `host` as a script orders, whether that pays or not.
    ///
    /// # Panics
    ///
    /// If `host` is not in this Set.
    pub fn place(&mut self, request: &Request, host: HostId) -> Answer {
        let mut hosts = self.processors.iter().map(|processor| processor.host);
        let position = hosts.position(|one| one == host);
        let position = position.expect("the host is in this Set");
        let time = self.processors[position].time();
        let rest = request.bytes.as_f64() * self.transfer_rate + request.migration.get();
        self.receive(request, position);
        let t1 = Seconds::bounded(time.get() + rest);
        Answer::Offer {
            host,
            t1,
            runner_up: None,
        }
    }

    /// Takes a process that leaves off its processor, if it is in this Set.
    pub fn depart(&mut self, rank: Rank) {
        if let Some(position) = self.residences.remove(&rank) {
            let residents = &mut self.processors[position].residents;
            residents.retain(|(resident, _)| *resident != rank);
        }
    }

    fn receive(&mut self, request: &Request, position: usize) {
        self.depart(request.rank);
        let processor = &mut self.processors[position];
        processor
            .residents
            .push((request.rank, request.instructions));
        self.occupied.insert(processor.host);
        self.residences.insert(request.rank, position);
    }

    /// `t2 = time(p') + B(i, j)·T(own → j)`: the time of the process `rank` where it is, receiving
    /// `bytes` from the target Set at `transfer_rate` seconds each; `None` if it is not here.
    #[must_use]
    pub fn stay(&self, rank: Rank, bytes: Bytes, transfer_rate: f64) -> Option<Seconds> {
        let processor = &self.processors[*self.residences.get(&rank)?];
        let reception = bytes.as_f64() * non_negative(transfer_rate);
        let time = processor.time();
        Some(Seconds::bounded(time.get() + reception))
    }

    /// Our processes, by host, as placed so far.
    pub fn residents(&self) -> impl Iterator<Item = (HostId, &[(Rank, Instructions)])> {
        let processors = self.processors.iter();
        processors.map(|processor| (processor.host, processor.residents.as_slice()))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFasterPlace { host, t1, t2 } => write!(
                formatter,
                "{host} would take {t1:.6}, moving included, and staying takes {t2:.6}"
            ),
            Self::Idle => write!(
                formatter,
                "the process did not compute in the last superstep"
            ),
            Self::NoProcessor => write!(
                formatter,
                "no processor of the Set is left that has not taken a migrated process"
            ),
        }
    }
}

#[cfg(test)]
mod tests;
