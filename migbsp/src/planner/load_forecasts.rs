//! The external load that is expected on each host.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bsp::HostId;

use super::inventory::Inventory;
use crate::bounded::count;
use crate::completion::UTILISATION_MAX;
use crate::knowledge::selection;
use crate::{ExternalLoad, Processor};

/// The external load that is expected on each host over a horizon.
///
/// Where jobs of an owner come and go, a job that runs is expected to go on for a multiple of its age, and then the host to
/// be used as in the past. Elsewhere the load is predicted by that of the last moment, of the last minute, or of the past,
/// whichever was off least over horizons that have passed, on all hosts together.
///
/// Equation `LOAD-FORECAST` of `docs/model.md`.
#[derive(Debug, Default)]
pub(super) struct LoadForecasts {
    /// The recent mean squared error of each predictor.
    errors: [f64; PREDICTORS],
    hosts: BTreeMap<HostId, HostReports>,
    /// Whether processes have a share of processors on which owners' jobs run; `None`: that has not been seen.
    shares: Option<bool>,
}

/// For what loads are to be predicted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    /// Seconds since the run began.
    pub(super) now: f64,
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

/// The last reports of one host.
#[derive(Debug, Default)]
struct HostReports {
    /// When it last reported, in seconds.
    date: f64,
    /// Seconds of load until then.
    taken: f64,
    /// Reports whose predictions have not been compared yet, the oldest first.
    open: VecDeque<Report>,
}

/// What is known of the load of a host at a call.
#[derive(Clone, Copy, Debug)]
struct Report {
    date: f64,
    taken: f64,
    /// The mean load over the next seconds, by predictor: that of the last moment, of the last minute, and of the past.
    predictions: [f64; PREDICTORS],
}

impl LoadForecasts {
    /// Replaces the loads of all processors, which are those of the last moment, by what is expected.
    pub(super) fn expect(&mut self, outlook: Outlook, sets: &mut [Inventory]) -> ExpectedJobs {
        let outlook = Outlook {
            horizon: outlook.horizon.max(HORIZON_MIN),
            ..outlook
        };
        let loads = sets.iter().flat_map(|set| &set.loads);
        let occupied: BTreeSet<HostId> = loads.clone().map(|load| load.host).collect();
        let work = loads.clone().map(|load| load.instructions).sum::<f64>();
        let work = work / count(loads.count()).max(1.0);
        let mut expected = ExpectedJobs::default();
        let mut errors = Errors::default();
        let best = selection::best(&self.errors);
        for set in sets {
            let mut external = set.measured.external.iter().peekable();
            for processor in &mut set.processors {
                while external
                    .next_if(|load| load.host < processor.host)
                    .is_some()
                {}
                let reported = external.next_if(|load| load.host == processor.host);
                let is_known = self.hosts.contains_key(&processor.host);
                if reported.is_none() && !is_known && processor.load <= 0.0 {
                    continue;
                }
                let assumed = ExternalLoad::of(processor);
                let load = reported.unwrap_or(&assumed);
                let reports = self.hosts.entry(processor.host).or_default();
                let predictions = reports.add(outlook, processor, load, &mut errors);
                if load.arrivals <= 0.0 {
                    processor.load = predictions[best].min(UTILISATION_MAX);
                    continue;
                }
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
        if let Some(means) = errors.means() {
            selection::learn(&mut self.errors, means);
        }
        expected
    }

    fn observe_sharing(&mut self, processor: &Processor, load: &ExternalLoad) {
        if processor.width() <= count(load.ages.len()) {
            self.shares = Some(load.present < 1.0);
        }
    }

    /// The load that is expected of the owner's jobs on a host: that of the jobs that run now and of those that come often,
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
        let rest = (rest / outlook.horizon).min(1.0);
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

impl HostReports {
    /// Adds a report, and compares earlier ones with what was met. Returns what each predictor predicts.
    fn add(
        &mut self,
        outlook: Outlook,
        processor: &Processor,
        load: &ExternalLoad,
        errors: &mut Errors,
    ) -> [f64; PREDICTORS] {
        let Outlook { now, horizon, .. } = outlook;
        self.taken += load.since.clamp(0.0, 1.0) * (now - self.date).max(0.0);
        self.date = now;
        let is_over = |report: &&Report| report.date + OVER * horizon <= now;
        let over = self.open.iter().take_while(is_over).count();
        for report in self.open.drain(..over) {
            let met = (self.taken - report.taken) / (now - report.date);
            errors.add(
                report
                    .predictions
                    .map(|found| (found - met) * (found - met)),
            );
        }
        if self.open.len() == REPORTS_MAX {
            self.open.pop_front();
        }
        let predictions = [processor.load, load.minute, load.utilisation];
        let predictions = predictions.map(|load| load.clamp(0.0, 1.0));
        self.open.push_back(Report {
            date: now,
            taken: self.taken,
            predictions,
        });
        predictions
    }
}

/// The errors of predictors that were compared in one call.
#[derive(Debug, Default)]
struct Errors {
    sums: [f64; PREDICTORS],
    number: f64,
}

impl Errors {
    fn add(&mut self, errors: [f64; PREDICTORS]) {
        for (sum, error) in self.sums.iter_mut().zip(errors) {
            *sum += error;
        }
        self.number += 1.0;
    }

    fn means(&self) -> Option<[f64; PREDICTORS]> {
        (0.0 < self.number).then(|| self.sums.map(|sum| sum / self.number))
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

const PREDICTORS: usize = 3;

/// A prediction is compared when this part of the present horizon is over.
const OVER: f64 = 0.5;

/// No horizon is shorter, in seconds.
const HORIZON_MIN: f64 = 1e-9;

/// Reports of a host that wait to be compared.
const REPORTS_MAX: usize = 64;

/// A job is expected to go on for this multiple of its age: the mean rest of a job whose lifetime has a Pareto
/// distribution of index 1 and ends at 20 times its age, ln 20. Half of such jobs end within their age again.
const REST: f64 = 3.0;

/// Jobs count as this old at least, in seconds.
const AGE_MIN: f64 = 2.0;

/// The most supersteps that an interrupted process is expected to compute before it moves away.
const ESCAPE_MAX: f64 = 2.0;

/// The least part of the time that a host is assumed to have left.
const LEFT_MIN: f64 = 0.02;
