//! Carrying out a run.

use record::Event;
use workloads::lbm;

use crate::application::Application;
use crate::forced::{forced, script};
use crate::run::{Run, Variant};
use crate::stated::Stated;
use experiments::Failure;
use experiments::PreparedExperiment;
use experiments::Registry;
use experiments::RunReport;
use experiments::Scenario;

/// The results of a run.
#[derive(Debug)]
pub struct Outcome {
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
    let share = lbm::Parameters::default().instructions / to_float(hosts.len());
    share * to_float(residents) / prepared.platform.host(host).speed.get()
}

fn to_float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}
