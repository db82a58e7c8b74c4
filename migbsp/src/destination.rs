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
            let time = match self.candidate_work {
                CandidateWork::Excluded => place.time(Instructions::ZERO),
                CandidateWork::Included => place.time(request.instructions),
            };
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
    fn rate(&self) -> f64 {
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Parameters;

    fn config(change: impl FnOnce(&mut Parameters)) -> Config {
        let mut parameters = Parameters::default();
        change(&mut parameters);
        Config::new(parameters).unwrap()
    }

    fn time(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    /// A host of 10 instructions per second and core.
    fn processor(host: u32, cores: u32, residents: &[(u32, u64)]) -> Processor {
        let residents = residents.iter();
        Processor {
            host: HostId(host),
            speed: InstructionsPerSecond::new(10.0).unwrap(),
            cores,
            load: 0.0,
            residents: residents
                .map(|(rank, work)| (Rank(*rank), Instructions(*work)))
                .collect(),
        }
    }

    fn set(config: &Config, processors: Vec<Processor>) -> Processors {
        Processors::new(config, 0.5, processors, &BTreeSet::new())
    }

    /// A candidate with 20 instructions that receives 2 bytes and costs a second to move.
    fn request(rank: u32, t2: f64) -> Request {
        Request {
            rank: Rank(rank),
            instructions: Instructions(20),
            bytes: Bytes(2),
            migration: time(1.0),
            t2: time(t2),
        }
    }

    fn offer(host: u32, t1: f64, runner_up: Option<(u32, f64)>) -> Answer {
        Answer::Offer {
            host: HostId(host),
            t1: time(t1),
            runner_up: runner_up.map(|(host, t1)| (HostId(host), time(t1))),
        }
    }

    #[test]
    fn the_least_busy_processor_is_offered_and_the_lowest_among_equals() {
        let processors = vec![
            processor(2, 1, &[(0, 10)]),
            processor(1, 1, &[(1, 10)]),
            processor(3, 1, &[(2, 30)]),
        ];
        let mut set = set(&Config::default(), processors);
        let answer = set.answer(&request(9, 9.0));
        assert_eq!(answer, offer(1, 1.0 + 1.0 + 1.0, Some((2, 3.0))));
    }

    #[test]
    fn an_offer_stands_for_the_candidates_behind_it() {
        let processors = vec![processor(0, 1, &[]), processor(1, 1, &[(1, 10)])];
        let mut once = set(&Config::default(), processors.clone());
        assert_eq!(once.answer(&request(8, 9.0)), offer(0, 2.0, Some((1, 3.0))));
        assert_eq!(once.answer(&request(9, 9.0)), offer(1, 3.0, None));
        assert_eq!(
            once.answer(&request(10, 9.0)),
            Answer::Refuse(Refusal::NoProcessor)
        );

        let often = config(|parameters| parameters.one_migrant_per_processor = false);
        let mut often = set(&often, processors);
        often.answer(&request(8, 9.0));
        assert_eq!(
            often.answer(&request(9, 9.0)),
            offer(1, 3.0, Some((0, 4.0)))
        );
        assert_eq!(
            often.answer(&request(10, 9.0)),
            offer(0, 4.0, Some((1, 5.0)))
        );
    }

    #[test]
    fn a_processor_that_took_a_migrant_earlier_takes_no_other() {
        let processors = vec![processor(0, 1, &[]), processor(1, 1, &[])];
        let has_migrant = BTreeSet::from([HostId(0)]);
        let mut set = Processors::new(&Config::default(), 0.5, processors, &has_migrant);
        assert_eq!(set.answer(&request(9, 9.0)), offer(1, 2.0, None));
    }

    #[test]
    fn nobody_moves_to_a_place_that_takes_as_long() {
        let mut set = set(&Config::default(), vec![processor(0, 1, &[])]);
        let refusal = Refusal::NoFasterPlace {
            host: HostId(0),
            t1: time(2.0),
            t2: time(2.0),
        };
        assert_eq!(set.answer(&request(9, 2.0)), Answer::Refuse(refusal));
        assert_eq!(
            refusal.to_string(),
            "host 0 would take 2.000000 s, moving included, and staying takes 2.000000 s"
        );
    }

    #[test]
    fn an_idle_candidate_stays() {
        let mut set = set(&Config::default(), vec![processor(0, 1, &[])]);
        let idle = Request {
            instructions: Instructions::ZERO,
            ..request(9, 9.0)
        };
        assert_eq!(set.answer(&idle), Answer::Refuse(Refusal::Idle));
    }

    #[test]
    fn the_candidates_own_work_counts_if_told_to() {
        let included = config(|parameters| parameters.candidate_work = CandidateWork::Included);
        let mut set = set(&included, vec![processor(0, 1, &[(1, 10)])]);
        assert_eq!(set.answer(&request(9, 9.0)), offer(0, 5.0, None));
    }

    #[test]
    fn staying_takes_all_that_is_on_the_processor_and_what_is_received() {
        let mut set = set(
            &Config::default(),
            vec![processor(0, 1, &[(1, 10), (2, 30)])],
        );
        assert_eq!(set.stay(Rank(1), Bytes(8), 0.25), Some(time(6.0)));
        set.depart(Rank(2));
        assert_eq!(set.stay(Rank(1), Bytes(8), 0.25), Some(time(3.0)));
        assert_eq!(set.stay(Rank(2), Bytes(8), 0.25), None);
    }

    #[test]
    fn several_cores_share_the_sum_but_not_one_process() {
        let check = |residents: &[(u32, u64)], expected| {
            let set = set(&Config::default(), vec![processor(0, 4, residents)]);
            let stay = set.stay(Rank(0), Bytes::ZERO, 0.0);
            assert_eq!(stay, Some(time(expected)));
        };
        check(&[(0, 40)], 4.0);
        check(&[(0, 40), (1, 40)], 4.0);
        check(&[(0, 40), (1, 40), (2, 40), (3, 40), (4, 40)], 5.0);
    }

    #[test]
    fn the_load_of_others_slows_a_processor_down() {
        let with_load = |load| Processor {
            load,
            ..processor(0, 1, &[(0, 10)])
        };
        let stay = |load| {
            let set = set(&Config::default(), vec![with_load(load)]);
            set.stay(Rank(0), Bytes::ZERO, 0.0).unwrap()
        };
        assert_eq!(stay(0.5), time(2.0));
        assert_eq!(stay(-1.0), time(1.0));
        for full in [1.0, 7.0, f64::NAN, f64::INFINITY] {
            assert!(time(1e5) < stay(full), "a load of {full}");
        }
        assert_eq!(
            time(capacity(&[with_load(0.5), processor(1, 3, &[])])),
            time((5.0 + 30.0) / 4.0)
        );
        assert_eq!(time(capacity(&[])), Seconds::ZERO);
    }

    #[test]
    fn the_fourteen_free_processors_of_the_papers_take_fourteen_of_sixteen() {
        // LU with 50 processes: Aquario has 20 processors and took six migrants before.
        let processors = (0..20).map(|host| processor(host, 1, &[])).collect();
        let has_migrant = (0..6).map(HostId).collect();
        let mut aquario = Processors::new(&Config::default(), 0.5, processors, &has_migrant);
        let answers = (20..36).map(|rank| aquario.answer(&request(rank, 9.0)));
        let moved = answers.filter(|answer| matches!(answer, Answer::Offer { .. }));
        assert_eq!(moved.count(), 14);
    }

    /// Ranks `0..` on the hosts of two Sets, each with its work.
    fn two_sets() -> impl Strategy<Value = [Vec<Processor>; 2]> {
        let works = prop::collection::vec(prop::collection::vec(0..50_u64, 0..4), 1..12);
        (works, 0..12_usize).prop_map(|(works, cut)| {
            let mut rank = 0;
            let hosts = (0..).zip(works).map(|(host, works)| {
                let ranks = rank..;
                let residents: Vec<(u32, u64)> = ranks.zip(works).collect();
                rank += u32::try_from(residents.len()).unwrap();
                processor(host, 1 + host % 2, &residents)
            });
            let mut first: Vec<_> = hosts.collect();
            let second = first.split_off(cut.min(first.len()));
            [first, second]
        })
    }

    proptest! {
        #[test]
        fn a_plan_keeps_every_rank_once_and_every_move_is_faster(
            [first, second] in two_sets(),
            one_migrant in any::<bool>(),
        ) {
            let config = config(|parameters| parameters.one_migrant_per_processor = one_migrant);
            let residents: Vec<_> = first.iter().flat_map(|host| host.residents.clone()).collect();
            let size = residents.len()
                + second.iter().map(|host| host.residents.len()).sum::<usize>();
            let (mut from, mut to) = (set(&config, first), set(&config, second));
            let mut hosts = Vec::new();
            for (rank, instructions) in residents {
                let t2 = from.stay(rank, Bytes(2), 0.5).unwrap();
                let migration = time(0.1);
                let bytes = Bytes(2);
                let request = Request { rank, instructions, bytes, migration, t2 };
                if let Answer::Offer { host, t1, .. } = to.answer(&request) {
                    prop_assert!(t1 < t2);
                    from.depart(rank);
                    hosts.push(host);
                }
            }
            let after = from.residents().chain(to.residents());
            let mut ranks: Vec<_> = after
                .flat_map(|(_, residents)| residents.iter().map(|(rank, _)| rank.index()))
                .collect();
            ranks.sort_unstable();
            prop_assert_eq!(ranks, (0..size).collect::<Vec<_>>());
            let distinct: BTreeSet<_> = hosts.iter().collect();
            prop_assert!(!one_migrant || distinct.len() == hosts.len());
        }
    }
}
