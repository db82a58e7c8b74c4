//! The external load that is expected on each host.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bsp::HostId;
use bsp::units::Instant;

use super::inventory::Inventory;
use crate::completion::UTILISATION_MAX;
use crate::knowledge::selection;
use crate::{ExternalLoad, Processor};

/// The external load that is expected on each host over a horizon: by the predictor of [`PREDICTORS`] that was off least
/// over horizons that have passed.
///
/// Equation `LOAD-FORECAST` of `docs/model.md`.
#[derive(Debug, Default)]
pub(super) struct LoadForecasts {
    /// The recent mean squared error of each predictor, over all hosts.
    pub(super) errors: [f64; PREDICTORS],
    hosts: BTreeMap<HostId, HostForecast>,
}

/// What is expected of owners.
#[derive(Debug)]
pub(super) struct ExpectedLoads {
    /// Seconds for which the owner's jobs are expected to interrupt each second of computation, beyond the loads.
    pub(super) interruptions: BTreeMap<HostId, f64>,
    /// The hosts whose owners run jobs.
    pub(super) owners: Vec<HostId>,
    /// The part of the time since the last call in which no owner's job interrupted a process.
    pub(super) left: f64,
}

impl Default for ExpectedLoads {
    fn default() -> Self {
        Self {
            interruptions: BTreeMap::new(),
            owners: Vec::new(),
            left: 1.0,
        }
    }
}

/// What is known of one host.
#[derive(Debug)]
struct HostForecast {
    /// The date of the last report, in seconds.
    date: f64,
    /// Seconds of load until then.
    taken: f64,
    /// Reports whose predictions have not been compared yet, the oldest first.
    reports: VecDeque<Report>,
}

/// What is known of the load of a host at a call.
#[derive(Clone, Copy, Debug)]
struct Report {
    date: f64,
    taken: f64,
    /// The load in the last moment, in the last minute, and over `planning.owner_window`.
    recent: f64,
    minute: f64,
    utilisation: f64,
    /// Seconds for which what runs now is expected to go on.
    rest: f64,
    /// The part of a core that it withholds now.
    present: f64,
}

impl LoadForecasts {
    /// Replaces the loads of all processors, which are those of the last moment at `now`, by what is expected over the
    /// next `horizon` seconds.
    pub(super) fn expect(
        &mut self,
        now: Instant,
        horizon: f64,
        sets: &mut [Inventory],
    ) -> ExpectedLoads {
        let mut expected = ExpectedLoads::default();
        let occupied: BTreeSet<HostId> = sets
            .iter()
            .flat_map(|set| &set.loads)
            .map(|load| load.host)
            .collect();
        let horizon = horizon.max(HORIZON_MIN);
        let best = selection::best(&self.errors);
        let (mut sums, mut count) = ([0.0; PREDICTORS], 0.0);
        let work = sets
            .iter()
            .flat_map(|set| &set.loads)
            .map(|load| load.instructions);
        let work = work.clone().sum::<f64>() / work.count().max(1) as f64;
        for set in sets {
            let mut external = set.measured.external.iter().peekable();
            for processor in &mut set.processors {
                while external
                    .peek()
                    .is_some_and(|load| load.host < processor.host)
                {
                    external.next();
                }
                let reported = external.next_if(|load| load.host == processor.host);
                let is_known = self.hosts.contains_key(&processor.host);
                if reported.is_none() && !is_known && processor.load <= 0.0 {
                    continue;
                }
                let assumed = ExternalLoad::of(processor);
                let host = self.hosts.entry(processor.host).or_default();
                let load = reported.unwrap_or(&assumed);
                let found = (best, &mut sums, &mut count);
                let (present, later) = host.expect(now.get(), horizon, (processor, load), found);
                let computes = work / processor.speed.get();
                let busy = load.utilisation.min(UTILISATION_MAX);
                let arrivals = load.arrivals / (1.0 - busy);
                let rare = if 0.0 < load.arrivals {
                    libm::exp(-arrivals * computes)
                } else {
                    0.0
                };
                let rest = (later * rare).min(UTILISATION_MAX);
                processor.load = (present + later * (1.0 - rare)).clamp(0.0, UTILISATION_MAX);
                if 0.0 < rest {
                    let interruption = rest / (1.0 - rest);
                    expected.interruptions.insert(processor.host, interruption);
                }
                if 0.0 < load.arrivals {
                    expected.owners.push(processor.host);
                    if occupied.contains(&processor.host) {
                        expected.left *= (1.0 - load.since).max(LEFT_MIN);
                    }
                }
            }
        }
        if 0.0 < count {
            selection::learn(&mut self.errors, sums.map(|sum| sum / count));
        }
        expected
    }
}

impl HostForecast {
    /// The load that is expected over the next `horizon` seconds.
    fn expect(
        &mut self,
        now: f64,
        horizon: f64,
        (processor, load): (&Processor, &ExternalLoad),
        (best, means, count): (usize, &mut [f64; PREDICTORS], &mut f64),
    ) -> (f64, f64) {
        self.taken += load.since.clamp(0.0, 1.0) * (now - self.date).max(0.0);
        self.date = now;
        let is_due = |report: &Report| report.date + PASSED * horizon <= now;
        while let Some(report) = self.reports.pop_front_if(|report| is_due(report)) {
            let passed = now - report.date;
            let met = (self.taken - report.taken) / passed;
            let errors = report
                .predictions(passed)
                .map(|(present, later)| (present + later - met) * (present + later - met));
            for (sum, error) in means.iter_mut().zip(errors) {
                *sum += error;
            }
            *count += 1.0;
        }
        let ages = load.ages.iter().map(|age| age.get().max(AGE_MIN));
        let report = Report {
            date: now,
            taken: self.taken,
            recent: processor.load.clamp(0.0, 1.0),
            minute: load.minute,
            utilisation: load.utilisation,
            rest: ages.sum::<f64>() / processor.width(),
            present: load.present,
        };
        if self.reports.len() == REPORTS_MAX {
            self.reports.pop_front();
        }
        self.reports.push_back(report);
        let predictions = report.predictions(horizon);
        predictions[best]
    }
}

impl Default for HostForecast {
    fn default() -> Self {
        Self {
            date: 0.0,
            taken: 0.0,
            reports: VecDeque::new(),
        }
    }
}

impl Report {
    /// The mean load over the next `horizon` seconds, by predictor: what runs now goes on for as long again as it has
    /// run, and then the host is as in its past; the load of the last moment; that of the last minute; that of the past.
    fn predictions(&self, horizon: f64) -> [(f64, f64); PREDICTORS] {
        let rest = (self.rest / horizon).min(1.0);
        [
            (rest.min(self.present), (1.0 - rest) * self.utilisation),
            (self.recent, 0.0),
            (0.0, self.minute),
            (0.0, self.utilisation),
        ]
    }
}

const PREDICTORS: usize = 4;

/// A prediction is compared when this part of the present horizon has passed.
const PASSED: f64 = 0.5;

/// No horizon is shorter, in seconds.
const HORIZON_MIN: f64 = 1e-9;

/// The least part of the time that a host is assumed to have left.
const LEFT_MIN: f64 = 0.02;

/// Reports of a host that wait to be compared.
const REPORTS_MAX: usize = 64;

/// Seconds for which a job is expected to go on at least.
const AGE_MIN: f64 = 2.0;
