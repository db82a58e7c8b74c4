//! Where to put a candidate: the processors of its target Set.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bsp::units::{Bytes, Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, Rank};
use serde::{Deserialize, Serialize};

use crate::bounded::{non_negative, seconds};
use crate::{CandidateWork, Config};

/// A host and our processes on it, as its Set Manager knows them at a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Processor {
    /// Which one.
    pub host: HostId,
    /// Of one core, `cpu(p)`.
    pub speed: InstructionsPerSecond,
    /// How many processes can compute at once; at least 1.
    pub cores: u32,
    /// What part of its cores others use, `load(p)`, in `[0, 1]`.
    pub load: f64,
    /// Our processes on it, each with what it adds to the host's time.
    pub residents: Vec<(Rank, Instructions)>,
}

/// The processors of one Set during one call, kept up to date while candidates come and go.
///
/// Implements equations `TIME`, `T1` and `T2` of `docs/model.md`. The Manager of a candidate asks for
/// [`Processors::stay`], sends it in a [`Request`], and the Manager of the target Set answers; the
/// former then lets the candidate [`depart`](Processors::depart).
#[derive(Clone, Debug, PartialEq)]
pub struct Processors {
    candidate_work: CandidateWork,
    one_migrant: bool,
    /// Seconds per byte inside the Set.
    transfer_rate: f64,
    /// By host.
    places: Vec<Place>,
    /// Rank → position of its place.
    residences: BTreeMap<Rank, usize>,
}

#[derive(Clone, Debug, PartialEq)]
struct Place {
    host: HostId,
    /// What a process alone on the host gets, in instructions per second.
    rate: f64,
    cores: f64,
    residents: Vec<(Rank, Instructions)>,
    has_migrant: bool,
}

/// What the Manager of a candidate asks of the Manager of its target Set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The candidate, `i`.
    pub rank: Rank,
    /// What it executed in the last superstep.
    pub instructions: Instructions,
    /// What it received in the last superstep from processes of the target Set, `B(i, j)`.
    pub bytes: Bytes,
    /// What moving it there takes, `Mem(i, j)`.
    pub migration: Seconds,
    /// Its time where it is.
    pub t2: Seconds,
}

/// What the Manager of the target Set answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The candidate may come, and is counted there from now on.
    Offer {
        /// Where to.
        host: HostId,
        /// Its time there; less than the request's `t2`.
        t1: Seconds,
        /// The second best processor and the time there.
        runner_up: Option<(HostId, Seconds)>,
    },
    /// It had better stay.
    Refuse(Refusal),
}

/// Why a candidate had better stay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
    /// The candidate did not compute in the last superstep, so that nothing can be told.
    Idle,
    /// Every processor of the Set has taken a migrated process already, or there is none.
    NoProcessor,
}

impl Processors {
    /// The `processors` of a Set inside which a byte takes `transfer_rate` seconds; `has_migrant`
    /// holds the hosts to which a process migrated earlier in the run.
    #[must_use]
    pub fn new(
        config: &Config,
        transfer_rate: f64,
        processors: Vec<Processor>,
        has_migrant: &BTreeSet<HostId>,
    ) -> Self {
        let parameters = config.parameters();
        let mut places: Vec<Place> = processors
            .into_iter()
            .map(|processor| Place {
                host: processor.host,
                rate: processor.rate(),
                cores: f64::from(processor.cores.max(1)),
                has_migrant: has_migrant.contains(&processor.host),
                residents: processor.residents,
            })
            .collect();
        places.sort_by_key(|place| place.host);
        let mut residences = BTreeMap::new();
        for (position, place) in places.iter().enumerate() {
            residences.extend(place.residents.iter().map(|(rank, _)| (*rank, position)));
        }
        Self {
            candidate_work: parameters.candidate_work,
            one_migrant: parameters.one_migrant_per_processor,
            transfer_rate: non_negative(transfer_rate),
            places,
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
        let home = self.residences.get(&request.rank).copied();
        for (position, place) in self.places.iter().enumerate() {
            if Some(position) == home || (self.one_migrant && place.has_migrant) {
                continue;
            }
            let time = self.time(place, request);
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
        let t1_of = |time: Seconds| seconds(time.get() + rest);
        let host = self.places[position].host;
        let (t1, t2) = (t1_of(time), request.t2);
        if t2 <= t1 {
            return Answer::Refuse(Refusal::NoFasterPlace { host, t1, t2 });
        }
        let runner_up = second.map(|(other, time)| (self.places[other].host, t1_of(time)));
        self.depart(request.rank);
        self.places[position].receive(request.rank, request.instructions);
        self.residences.insert(request.rank, position);
        Answer::Offer {
            host,
            t1,
            runner_up,
        }
    }

    /// Places a candidate on `host` whether that is worth it or not, as somebody else decided.
    ///
    /// # Panics
    ///
    /// If `host` is not in this Set.
    pub fn place(&mut self, request: &Request, host: HostId) -> Answer {
        let position = self.places.iter().position(|place| place.host == host);
        let position = position.expect("the host is in this Set");
        let time = self.time(&self.places[position], request);
        let rest = request.bytes.as_f64() * self.transfer_rate + request.migration.get();
        self.depart(request.rank);
        self.places[position].receive(request.rank, request.instructions);
        self.residences.insert(request.rank, position);
        let t1 = seconds(time.get() + rest);
        Answer::Offer {
            host,
            t1,
            runner_up: None,
        }
    }

    /// `time(p)` of a host that is asked to take a candidate.
    fn time(&self, place: &Place, request: &Request) -> Seconds {
        match self.candidate_work {
            CandidateWork::Excluded => place.time(Instructions::ZERO),
            CandidateWork::Included => place.time(request.instructions),
        }
    }

    /// Takes a process that is leaving off its processor, if it is here.
    pub fn depart(&mut self, rank: Rank) {
        if let Some(position) = self.residences.remove(&rank) {
            self.places[position]
                .residents
                .retain(|(resident, _)| *resident != rank);
        }
    }

    /// `t2 = time(p') + B(i, j)·T(own → j)`: the time of the process `rank` where it is, receiving
    /// `bytes` from the target Set at `transfer_rate` seconds each; `None` if it is not here.
    #[must_use]
    pub fn stay(&self, rank: Rank, bytes: Bytes, transfer_rate: f64) -> Option<Seconds> {
        let place = &self.places[*self.residences.get(&rank)?];
        let reception = bytes.as_f64() * non_negative(transfer_rate);
        let time = place.time(Instructions::ZERO);
        Some(seconds(time.get() + reception))
    }

    /// Our processes, by host, as placed so far.
    pub fn residents(&self) -> impl Iterator<Item = (HostId, &[(Rank, Instructions)])> {
        let places = self.places.iter();
        places.map(|place| (place.host, place.residents.as_slice()))
    }
}

impl Processor {
    /// What others leave of one core, `(1 − load(p))·cpu(p)`, in instructions per second.
    pub(crate) fn rate(&self) -> f64 {
        let share = 1.0 - self.load;
        // Not `clamp`: a load that is not a number counts as a full one.
        let share = if SHARE_MIN < share {
            share.min(1.0)
        } else {
            SHARE_MIN
        };
        self.speed.get() * share
    }
}

/// `capacity(j)`: the mean over the cores of a Set of `(1 − load(p))·cpu(p)`, in instructions per
/// second; zero without processors.
///
/// Implements equation `CAPACITY` of `docs/model.md`.
#[must_use]
pub fn capacity(processors: &[Processor]) -> f64 {
    let (mut sum, mut number) = (0.0, 0.0);
    for processor in processors {
        let cores = f64::from(processor.cores.max(1));
        sum += cores * processor.rate();
        number += cores;
    }
    if 0.0 < number { sum / number } else { 0.0 }
}

impl Place {
    /// Equation `TIME`: how long the host takes for its residents and `extra` work.
    ///
    /// One core executes everything one after the other. Several share the sum, but a single process
    /// cannot use more than one of them.
    fn time(&self, extra: Instructions) -> Seconds {
        let works = self.residents.iter().map(|(_, work)| *work);
        let sum: Instructions = works.clone().sum::<Instructions>() + extra;
        let longest = works.max().unwrap_or_default().max(extra);
        let shared = sum.as_f64() / (self.cores * self.rate);
        seconds(shared.max(longest.as_f64() / self.rate))
    }

    fn receive(&mut self, rank: Rank, work: Instructions) {
        self.residents.push((rank, work));
        self.has_migrant = true;
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

/// A host always has something left for us, however loaded, so that its times stay finite.
const SHARE_MIN: f64 = 1e-6;

#[cfg(test)]
mod tests;
