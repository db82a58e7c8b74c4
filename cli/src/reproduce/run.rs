//! Our runs.

use agents::record::Event;
use workloads::lbm;

use crate::reproduce::application::Application;
use crate::reproduce::cell::Cell;
use crate::reproduce::forced::{forced, script};
use crate::reproduce::stated::Stated;
use experiments::Failure;
use experiments::PreparedExperiment;
use experiments::Registry;
use experiments::RunReport;
use experiments::Scenario;

/// One run of an experiment of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    /// The application.
    pub(crate) application: Application,
    /// Number of processes.
    pub(crate) processes: u32,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of the others.
    pub(crate) row: u64,
    /// α; scenario i has none.
    pub(crate) interval: Option<u32>,
    /// The scenario.
    pub(crate) variant: Variant,
}

/// A scenario of the papers, scenario iii in three ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Variant {
    /// The application alone.
    I,
    /// Calls are held and paid for; no process migrates.
    Ii,
    /// The policy decides; the lowest rank breaks ties of potentials.
    Iii,
    /// The published migrations, and no others.
    Forced,
    /// The policy decides; the shortest reception time breaks ties of potentials.
    ReceiveTime,
}

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The report of `migbsp simulate`.
    pub(crate) report: RunReport,
    /// Waiting time of p1 in the last superstep, in seconds: all but its own computation. Only for
    /// Lattice Boltzmann, whose processes all compute the same.
    pub(crate) waiting: f64,
}

impl Variant {
    /// All of them, in the order they are shown.
    pub(crate) const ALL: [Self; 5] = [
        Self::I,
        Self::Ii,
        Self::Iii,
        Self::Forced,
        Self::ReceiveTime,
    ];

    /// Its name in result files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::I => "i",
            Self::Ii => "ii",
            Self::Iii => "iii",
            Self::Forced => "iii-forced",
            Self::ReceiveTime => "iii-receive-time",
        }
    }

    /// The scenario of the papers that it is compared with.
    pub(crate) const fn scenario(self) -> Scenario {
        match self {
            Self::I => Scenario::I,
            Self::Ii => Scenario::Ii,
            Self::Iii | Self::Forced | Self::ReceiveTime => Scenario::Iii,
        }
    }
}

impl Run {
    /// The run that `cell` is compared with.
    pub(crate) const fn of_cell(cell: &Cell, variant: Variant) -> Self {
        Self {
            application: cell.table.application(),
            processes: cell.processes,
            row: cell.row,
            interval: cell.interval,
            variant,
        }
    }

    /// The run that the papers describe in `stated`.
    pub(crate) const fn of_stated(stated: &Stated, variant: Variant) -> Self {
        Self {
            application: stated.application,
            processes: stated.processes,
            row: stated.row,
            interval: Some(stated.interval),
            variant,
        }
    }

    /// Estimate of the amount to simulate.
    pub(crate) fn weight(&self) -> u64 {
        self.application.supersteps(self.row) * u64::from(self.processes)
    }

    /// Runs it; `stated` are the published migrations.
    ///
    /// # Errors
    ///
    /// If its experiment is invalid, which a test excludes for all that are in the binary.
    pub(crate) fn execute(&self, stated: &[Stated]) -> Result<Outcome, Failure> {
        let registry = Registry::shipped();
        let experiment = self.application.experiment(self.processes);
        let experiment = experiment.ok_or_else(|| {
            Failure::run(format!(
                "there is no experiment with {} processes",
                self.processes
            ))
        })?;
        let moves = match self.variant {
            Variant::Forced => forced(self, stated).unwrap_or_default(),
            Variant::I | Variant::Ii | Variant::Iii | Variant::ReceiveTime => Vec::new(),
        };
        let mut assignments = self.assignments();
        let scenario = if self.variant == Variant::Forced && moves.is_empty() {
            // An empty script would leave the decision to the model.
            Scenario::Ii
        } else {
            assignments.push(format!("scheduler.script={}", script(&moves)));
            self.variant.scenario()
        };
        let loaded = experiments::load_embedded(experiment, &assignments, &registry)?;
        let stage = PreparedExperiment::new(loaded)?;
        let mut began = 0.0;
        let finished = stage.run(scenario, &registry, &mut |event| {
            if let Event::Superstep(superstep) = event {
                began = superstep.started.get();
            }
        })?;
        let report = RunReport::new(scenario, &finished, &stage.platform);
        let waiting = report.seconds - began - computation(&stage, &report);
        Ok(Outcome { report, waiting })
    }

    fn assignments(&self) -> Vec<String> {
        let interval = self
            .interval
            .map(|interval| format!("scheduler.interval={interval}"));
        let mut assignments: Vec<String> =
            self.application.assignment(self.row).into_iter().collect();
        assignments.extend(interval);
        if self.application == Application::SmithWaterman && self.variant == Variant::Ii {
            // As in the papers; only scenario iii treats growing work as regular.
            assignments.push("scheduler.delta=0.01".to_owned());
        }
        if self.variant == Variant::ReceiveTime {
            assignments.push("scheduler.tie_break=receive-time".to_owned());
        }
        assignments
    }
}

/// Seconds that p1 computes in the last superstep of Lattice Boltzmann, sharing its processor.
fn computation(stage: &PreparedExperiment, report: &RunReport) -> f64 {
    let name = |host: &bsp::HostId| stage.platform.host(*host).name.as_str();
    let mut hosts: Vec<&str> = stage.placement.iter().map(name).collect();
    for migration in report.calls.iter().flat_map(|call| &call.migrations) {
        let number: Option<usize> = migration.process.trim_start_matches('p').parse().ok();
        let rank = number.and_then(|number| number.checked_sub(1));
        if let Some(host) = rank.and_then(|rank| hosts.get_mut(rank)) {
            *host = &migration.to;
        }
    }
    let own = |host: &&&str| **host == hosts[0];
    let residents = hosts.iter().filter(own).count();
    let host = stage
        .platform
        .host_by_name(hosts[0])
        .unwrap_or(stage.placement[0]);
    let share = lbm::Parameters::default().instructions / to_float(hosts.len());
    share * to_float(residents) / stage.platform.host(host).speed.get()
}

fn to_float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}
