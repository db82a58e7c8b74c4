//! Our runs: which they are, carrying them out, and the published migrations as scripts.

use bsp::numbers::{length, real};
use experiments::{Failure, PreparedExperiment, Registry, RunReport, Scenario};
use record::Event;
use workloads::lbm;

use crate::published::{AQUARIO, Application, Cell, Destination, Stated};

/// One run of an experiment of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    /// The application.
    pub application: Application,
    /// Number of processes.
    pub processes: u32,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of the others.
    pub row: u64,
    /// α; scenario i has none.
    pub interval: Option<u32>,
    /// The scenario.
    pub variant: Variant,
}

/// A scenario of the papers, scenario iii in three ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
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

impl Variant {
    /// All of them, in the order they are shown.
    pub const ALL: [Self; 5] = [
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
}

/// The results of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What `migbsp simulate` would show of it.
    pub report: RunReport,
    /// How long p1 waits in the last superstep, in seconds: all of it but its own computation. Only of
    /// Lattice Boltzmann, whose processes all compute the same.
    pub waiting: f64,
}

/// Runs `run`; `stated` are the migrations that the papers state.
///
/// # Errors
///
/// If its experiment is at fault, which a test excludes for all that are in the binary.
pub(super) fn execute(run: &Run, stated: &[Stated]) -> Result<Outcome, Failure> {
    let registry = Registry::shipped();
    let experiment = run.application.experiment(run.processes);
    let experiment = experiment.ok_or_else(|| {
        Failure::run(format!(
            "there is no experiment with {} processes",
            run.processes
        ))
    })?;
    let moves = match run.variant {
        Variant::Forced => forced(run, stated).unwrap_or_default(),
        Variant::I | Variant::Ii | Variant::Iii | Variant::ReceiveTime => Vec::new(),
    };
    let mut assignments = assignments(run);
    let scenario = if run.variant == Variant::Forced && moves.is_empty() {
        // An empty script would leave it to the model.
        Scenario::Ii
    } else {
        assignments.push(format!("scheduler.script={}", script(&moves)));
        run.variant.scenario()
    };
    let loaded = experiments::load_embedded(experiment, &assignments, &registry)?;
    let prepared = PreparedExperiment::new(loaded)?;
    let mut began = 0.0;
    let finished = prepared.run(scenario, &registry, &mut |event| {
        if let Event::Superstep(superstep) = event {
            began = superstep.started.get();
        }
    })?;
    let report = RunReport::new(scenario, &finished, &prepared.platform);
    let waiting = report.seconds - began - computation(&prepared, &report);
    Ok(Outcome { report, waiting })
}

fn assignments(run: &Run) -> Vec<String> {
    let interval = run
        .interval
        .map(|interval| format!("scheduler.interval={interval}"));
    let mut assignments: Vec<String> = run.application.assignment(run.row).into_iter().collect();
    assignments.extend(interval);
    if run.application == Application::SmithWaterman && run.variant == Variant::Ii {
        // The papers ran it so; only scenario iii takes growing work for regular.
        assignments.push("scheduler.delta=0.01".to_owned());
    }
    if run.variant == Variant::ReceiveTime {
        assignments.push("scheduler.tie_break=receive-time".to_owned());
    }
    assignments
}

/// Seconds that p1 computes in the last superstep of Lattice Boltzmann, sharing its processor.
fn computation(prepared: &PreparedExperiment, report: &RunReport) -> f64 {
    let name = |host: &bsp::HostId| prepared.platform.host(*host).name.as_str();
    let mut hosts: Vec<&str> = prepared.placement.iter().map(name).collect();
    for migration in report.calls.iter().flat_map(|call| &call.migrations) {
        let number: Option<usize> = migration.step.process.trim_start_matches('p').parse().ok();
        let rank = number.and_then(|number| number.checked_sub(1));
        if let Some(host) = rank.and_then(|rank| hosts.get_mut(rank)) {
            *host = &migration.step.to;
        }
    }
    let own = |host: &&&str| **host == hosts[0];
    let residents = hosts.iter().filter(own).count();
    let host = prepared
        .platform
        .host_by_name(hosts[0])
        .unwrap_or(prepared.placement[0]);
    let share = lbm::Parameters::default().instructions / real(length(hosts.len()));
    share * real(length(residents)) / prepared.platform.host(host).speed.get()
}

/// A scripted migration: after this number of supersteps a process, from 1, moves to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Forced {
    /// Number of completed supersteps.
    pub superstep: u64,
    /// The process, from 1.
    pub process: u32,
    /// Name of the host.
    pub to: String,
}

/// The published migrations of `run`; `None` if the papers do not name its processes.
///
/// * A migration is made in the call it is published for; calls beyond the end of the run are left out.
/// * For Lattice Boltzmann, migrations are published for α = 4 only. With another α they are made in the same
///   order, in calls after α / 4 times as many supersteps: 8, 24, 56, … and 16, 48, 112, …. With ten
///   processes the papers report no migration.
/// * Where no host is named, it is the next one of Aquario, from the first again after the last.
/// * Where the process is one of several, those of lowest rank are taken.
pub(super) fn forced(run: &Run, stated: &[Stated]) -> Option<Vec<Forced>> {
    let is_lbm = run.application == Application::LatticeBoltzmann;
    let interval = run.interval?;
    let about = |stated: &&Stated| {
        let same = (stated.application, stated.processes) == (run.application, run.processes);
        same && (is_lbm || (stated.row, stated.interval) == (run.row, interval))
    };
    let mut moves = Vec::new();
    let mut is_stated = is_lbm;
    let mut hosts = (1..=HOSTS).cycle();
    for stated in stated.iter().filter(about) {
        let Some(call) = stated.call else { continue };
        is_stated = true;
        let superstep = call * u64::from(interval) / u64::from(stated.interval);
        for process in stated.candidates.iter().take(stated.count) {
            let number = match stated.destination {
                Destination::Host(number) => number,
                Destination::Aquario => hosts.next().unwrap_or(1),
            };
            if superstep < run.application.supersteps(run.row) {
                let to = format!("{AQUARIO}-{number}");
                let process = *process;
                moves.push(Forced {
                    superstep,
                    process,
                    to,
                });
            }
        }
    }
    is_stated.then_some(moves)
}

/// `moves` as a value of `scheduler.script`.
fn script(moves: &[Forced]) -> String {
    let orders = moves.iter().map(|forced| {
        let Forced {
            superstep,
            process,
            to,
        } = forced;
        format!("{{ superstep = {superstep}, process = \"p{process}\", to = \"{to}\" }}")
    });
    format!("[{}]", orders.collect::<Vec<_>>().join(", "))
}

/// Number of hosts of Aquario.
const HOSTS: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::stated;

    fn moves(application: Application, processes: u32, row: u64, interval: u32) -> Option<String> {
        let run = Run {
            application,
            processes,
            row,
            interval: Some(interval),
            variant: Variant::Forced,
        };
        let moves = forced(&run, &stated())?;
        let texts = moves
            .iter()
            .map(|forced| format!("{} p{} {}", forced.superstep, forced.process, forced.to));
        Some(texts.collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn other_intervals_make_the_same_moves_in_their_own_calls() {
        let lbm = |processes, row, interval| {
            moves(Application::LatticeBoltzmann, processes, row, interval).unwrap()
        };
        assert_eq!(lbm(25, 10, 4), "4 p21 aquario-1");
        assert_eq!(
            lbm(25, 50, 4),
            "4 p21 aquario-1, 12 p22 aquario-2, 28 p23 aquario-3"
        );
        assert_eq!(lbm(25, 50, 16), "16 p21 aquario-1, 48 p22 aquario-2");
        assert_eq!(lbm(50, 10, 8), "8 p38 aquario-1");
        assert_eq!(lbm(10, 2000, 4), "");
    }

    #[test]
    fn unnamed_hosts_are_taken_in_turn() {
        let wavefront = moves(Application::SmithWaterman, 25, 25, 16);
        assert_eq!(wavefront.unwrap(), "48 p24 aquario-1, 48 p25 aquario-2");
        assert_eq!(moves(Application::SmithWaterman, 200, 200, 16), None);
        let lu = moves(Application::Lu, 50, 2000, 4).unwrap();
        assert!(lu.ends_with("9 p34 aquario-20"), "{lu}");
    }

    #[test]
    fn a_script_is_valid_in_an_experiment() {
        let forced = Forced {
            superstep: 4,
            process: 21,
            to: "aquario-1".to_owned(),
        };
        let expected = "[{ superstep = 4, process = \"p21\", to = \"aquario-1\" }]";
        assert_eq!(script(&[forced]), expected);
    }
}
