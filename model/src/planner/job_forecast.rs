//! What the jobs of owners are expected to take, and how far that was right.
//!
//! That is not part of a plan. Expected loads replace those of the processors before plans see the snapshot, so every
//! plan uses them. The jobs are those of the simulator in simulations and on nodes that play a platform; on real hosts
//! they are busy processes of other programs. Interruptions that are expected in addition are kept apart: `Assignment`
//! adds them up over the hosts in use, because a superstep waits for every process.

use std::collections::{BTreeMap, BTreeSet};

use bsp::HostId;

use super::Inventory;
use crate::bounded::count;
use crate::{ExternalLoad, Processor, Snapshot};

/// What the jobs of owners are expected to take over a horizon: a job that runs goes on for a multiple of its age, and then
/// the host is used as in the past.
///
/// Equation `JOBS` of `docs/model.md`.
#[derive(Debug, Default)]
pub(super) struct JobForecast {
    /// Whether processes have a share of processors on which owners' jobs run; `None`: that has not been seen.
    shares: Option<bool>,
}

/// For what is to be predicted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    /// Seconds for which a plan is expected to stay good.
    pub(super) horizon: f64,
    /// Supersteps since the last call.
    pub(super) supersteps: f64,
    /// Seconds that a process takes to move.
    pub(super) moving: f64,
}

/// What is expected of the jobs of owners, beyond the loads of processors.
#[derive(Debug)]
pub(super) struct ExpectedJobs {
    /// Seconds for which jobs that have not arrived yet are expected to interrupt each second of computation.
    pub(super) interruptions: BTreeMap<HostId, f64>,
    /// The hosts whose owners run jobs.
    pub(super) owned: Vec<HostId>,
    /// The part of the time since the last call in which no job interrupted a process.
    pub(super) left: f64,
}

impl JobForecast {
    /// Replaces the loads of all processors whose owners run jobs, which are those of the last moment, by what is expected.
    pub(super) fn expect(&mut self, outlook: Outlook, sets: &mut [Inventory]) -> ExpectedJobs {
        let mut expected = ExpectedJobs::default();
        let loads = sets.iter().flat_map(|set| &set.loads);
        let occupied: BTreeSet<HostId> = loads.clone().map(|load| load.host).collect();
        let work = loads.clone().map(|load| load.instructions).sum::<f64>();
        let work = work / count(loads.count()).max(1.0);
        for set in sets {
            let mut external = set.measured.external.iter().peekable();
            for processor in &mut set.processors {
                while external
                    .next_if(|load| load.host < processor.host)
                    .is_some()
                {}
                let reported = external.next_if(|load| load.host == processor.host);
                let Some(load) = reported.filter(|load| 0.0 < load.arrivals) else {
                    continue;
                };
                self.observe_sharing(processor, load);
                let (present, later) = self.jobs(outlook, (processor, load), work);
                processor.load = present.min(UTILISATION_MAX);
                expected.interruptions.insert(processor.host, later);
                expected.owned.push(processor.host);
                if occupied.contains(&processor.host) {
                    expected.left *= (1.0 - load.since).max(LEFT_MIN);
                }
            }
        }
        expected
    }

    fn observe_sharing(&mut self, processor: &Processor, load: &ExternalLoad) {
        if processor.width() <= count(load.ages.len()) {
            self.shares = Some(load.present < 1.0);
        }
    }

    /// The load that is expected of the owner's jobs on a host: that of the jobs that run now and of those that come often;
    /// and the seconds for which the others interrupt each second of computation. Processes have `work` instructions to
    /// execute in a superstep, in the mean.
    fn jobs(
        &self,
        outlook: Outlook,
        (processor, load): (&Processor, &ExternalLoad),
        work: f64,
    ) -> (f64, f64) {
        let ages = load.ages.iter().map(|age| age.get().max(AGE_MIN));
        let rest = REST * ages.sum::<f64>() / processor.width();
        let rest = (rest / outlook.horizon.max(HORIZON_MIN)).min(1.0);
        let used = load.utilisation.min(UTILISATION_MAX);
        let computes = work / processor.speed.get();
        let mut later = (1.0 - rest) * used;
        if self.shares == Some(true) {
            // A process that has a share reaches the next barrier, and can move away.
            let escape = outlook.supersteps.min(ESCAPE_MAX) * computes / processor.width();
            later = later.min(load.arrivals * (escape + outlook.moving));
        }
        // Interruptions of most supersteps are hidden behind those of other processes.
        let rare = libm::exp(-load.arrivals * computes / (1.0 - used));
        let interruption = (later * rare).min(UTILISATION_MAX);
        let present = rest.min(load.present) + later * (1.0 - rare);
        (present, interruption / (1.0 - interruption))
    }
}

impl ExpectedJobs {
    /// The hosts of `snapshot` whose owners use more than `idle_below` of them.
    pub(super) fn busy_hosts(&self, snapshot: &Snapshot, idle_below: f64) -> BTreeSet<usize> {
        let hosts = self.owned.iter().filter_map(|id| snapshot.host(*id));
        let is_busy = |host: &usize| idle_below < snapshot.hosts()[*host].utilisation;
        hosts.filter(is_busy).collect()
    }
}

impl Default for ExpectedJobs {
    fn default() -> Self {
        Self {
            interruptions: BTreeMap::new(),
            owned: Vec::new(),
            left: 1.0,
        }
    }
}

/// Highest utilisation that is assumed, a share of the host's time.
///
/// A host measured to be busier still makes progress at a twentieth of its speed: it is unattractive, and sums and
/// differences of its times remain finite.
const UTILISATION_MAX: f64 = 0.95;

/// No horizon is shorter, in seconds.
const HORIZON_MIN: f64 = 1e-9;

/// A job is expected to go on for this multiple of its age: the mean rest of a job whose lifetime has a Pareto
/// distribution of index 1 and ends at 20 times its age, ln 20. Half of such jobs end within their age again.
const REST: f64 = 3.0;

/// Jobs count as this old at least, in seconds.
const AGE_MIN: f64 = 2.0;

/// The most supersteps that an interrupted process is expected to compute before it moves away.
const ESCAPE_MAX: f64 = 2.0;

/// The least part of the time that a host is assumed to have left.
const LEFT_MIN: f64 = 0.02;

/// The time that owners' jobs took from supersteps, as a multiple of the prediction.
///
/// Interruptions of different hosts add up if they are rare and hide behind each other if they are frequent, and processes
/// move away from some: the sum over hosts is only a first guess.
#[derive(Debug, Default)]
pub(super) struct LostTime {
    /// Seconds lost, and their prediction, over the recent past.
    sums: Option<(f64, f64)>,
    /// Predicted seconds of each superstep since the last call.
    predicted: Option<f64>,
}

impl LostTime {
    /// What interruptions take, as a multiple of their prediction.
    pub(super) fn factor(&self) -> f64 {
        let factor = self.sums.map_or(1.0, |(lost, predicted)| lost / predicted);
        factor.clamp(FACTOR_MIN, FACTOR_MAX)
    }

    /// Learns from `number` supersteps that took `seconds` each, in the mean, and `uninterrupted` by prediction.
    pub(super) fn observe(&mut self, number: f64, seconds: f64, uninterrupted: f64) {
        let Some(predicted) = self.predicted.take() else {
            return;
        };
        let prior = PRIOR * uninterrupted.max(f64::MIN_POSITIVE);
        let (lost, sum) = self.sums.get_or_insert((prior, prior));
        *lost = REMEMBERED * *lost + number * (seconds - uninterrupted).max(0.0);
        *sum = REMEMBERED * *sum + number * predicted.max(0.0);
        // What has been forgotten is the prior again.
        *lost += (1.0 - REMEMBERED) * prior;
        *sum += (1.0 - REMEMBERED) * prior;
    }

    /// Interruptions are predicted to take `seconds` of each superstep until the next call.
    pub(super) const fn predict(&mut self, seconds: f64) {
        self.predicted = Some(seconds);
    }
}

/// The prediction counts as right over this many supersteps before the first.
const PRIOR: f64 = 16.0;

/// What is remembered of sums from call to call.
const REMEMBERED: f64 = 0.98;

/// Bounds of the factor.
const FACTOR_MIN: f64 = 0.05;
const FACTOR_MAX: f64 = 2.0;

#[cfg(test)]
mod tests {
    use bsp::units::{InstructionsPerSecond, Seconds};
    use bsp::{MemorySize, Rank};

    use super::*;
    use crate::{BarrierTime, Load, Measurements};

    /// A process of a second on each of as many hosts as there are loads: utilisation, arrivals, present load, ages.
    fn sets(loads: &[(f64, f64, f64, &[f64])]) -> Vec<Inventory> {
        let ids = (0..loads.len()).map(HostId::from_index);
        let processor = |host| Processor {
            host,
            speed: InstructionsPerSecond::new(1e9).unwrap(),
            cores: 1,
            load: 0.25,
            residents: Vec::new(),
        };
        let external =
            |(host, (utilisation, arrivals, present, ages)): (HostId, &(_, _, _, &[f64]))| {
                ExternalLoad {
                    host,
                    utilisation: *utilisation,
                    since: *utilisation,
                    arrivals: *arrivals,
                    present: *present,
                    ages: ages.iter().map(|age| Seconds::new(*age).unwrap()).collect(),
                }
            };
        let process = |host: HostId| Load {
            rank: Rank(host.0),
            host,
            instructions: 1e9,
            finished: None,
            image: MemorySize::default(),
            received: Vec::new(),
            edges: Vec::new(),
            noise: 0.0,
        };
        vec![Inventory {
            processors: ids.clone().map(processor).collect(),
            loads: ids.clone().map(process).collect(),
            rates: vec![0.0],
            paths: Vec::new(),
            barrier: BarrierTime::Ideal,
            measured: Measurements {
                links: Vec::new(),
                external: ids.zip(loads).map(external).collect(),
            },
        }]
    }

    const OUTLOOK: Outlook = Outlook {
        horizon: 100.0,
        supersteps: 4.0,
        moving: 1.0,
    };

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    #[test]
    fn a_job_is_expected_to_go_on_for_a_multiple_of_its_age() {
        let mut sets = sets(&[(0.2, 0.01, 1.0, &[10.0]), (0.2, 0.01, 0.0, &[])]);
        let expected = JobForecast::default().expect(OUTLOOK, &mut sets);
        let loads: Vec<f64> = sets[0].processors.iter().map(|host| host.load).collect();
        // Thirty of a hundred seconds, and jobs that come in the others.
        let rare = (-0.01_f64 / 0.8).exp();
        close(loads[0], 0.3 + 0.7 * 0.2 * (1.0 - rare));
        close(loads[1], 0.2 * (1.0 - rare));
        let interruption = |later: f64| later * rare / (1.0 - later * rare);
        close(expected.interruptions[&HostId(0)], interruption(0.7 * 0.2));
        close(expected.interruptions[&HostId(1)], interruption(0.2));
        close(expected.left, 0.8 * 0.8);
        assert_eq!(expected.owned, [HostId(0), HostId(1)]);
    }

    #[test]
    fn a_process_that_has_a_share_can_leave() {
        let mut busy = sets(&[(0.4, 0.01, 0.5, &[1e6])]);
        let mut forecast = JobForecast::default();
        forecast.expect(OUTLOOK, &mut busy);
        close(busy[0].processors[0].load, 0.5);
        let mut idle = sets(&[(0.4, 0.01, 0.0, &[])]);
        let expected = forecast.expect(OUTLOOK, &mut idle);
        // Two supersteps and a move, once in a hundred seconds.
        let later = 0.03 * (-0.01_f64 / 0.6).exp();
        close(expected.interruptions[&HostId(0)], later / (1.0 - later));
    }

    #[test]
    fn hosts_without_jobs_keep_their_load_and_what_is_measured_stays_finite() {
        let mut none = sets(&[(0.4, 0.0, 0.4, &[])]);
        let expected = JobForecast::default().expect(OUTLOOK, &mut none);
        close(none[0].processors[0].load, 0.25);
        assert!(expected.owned.is_empty());
        let mut full = sets(&[(1.0, 1e9, 1.0, &[1e300]), (1.0, 1e-300, 1.0, &[])]);
        let expected = JobForecast::default().expect(OUTLOOK, &mut full);
        assert!(
            expected
                .interruptions
                .values()
                .all(|value| value.is_finite())
        );
        assert!(
            full[0]
                .processors
                .iter()
                .all(|host| host.load <= UTILISATION_MAX)
        );
    }

    #[test]
    fn the_factor_follows_what_was_lost() {
        let mut lost = LostTime::default();
        assert!((lost.factor() - 1.0).abs() < 1e-12);
        // Nothing was predicted.
        lost.observe(10.0, 5.0, 1.0);
        assert!((lost.factor() - 1.0).abs() < 1e-12);
        for _ in 0..200 {
            lost.predict(2.0);
            lost.observe(10.0, 1.5, 1.0);
        }
        // A quarter of what was predicted, and the prior.
        assert!((lost.factor() - 0.25).abs() < 0.02, "{}", lost.factor());
        for _ in 0..200 {
            lost.predict(0.1);
            lost.observe(10.0, 9.0, 1.0);
        }
        assert!((lost.factor() - FACTOR_MAX).abs() < 1e-12);
    }
}
