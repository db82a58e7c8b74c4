//! `migbsp verify`: recomputes the decisions of a recorded run, and reports differences.

mod report;
mod text;

use std::collections::BTreeSet;
use std::path::Path;

use agents::Checkpointing;
use agents::replay::{Replay, ReplayError};
use bsp::HostId;
use serde::Deserialize;
use serde_json::Value;

use crate::verify::report::Head;
use experiments::CheckpointSection;
use experiments::Failure;
use experiments::Registry;
use experiments::Scenario;
use experiments::Scheduler;
use experiments::record::adapted;
use experiments::record::fault;
use experiments::record::manifest;
use experiments::record::shortfall;
use settings::Fault;
use settings::Node;
use settings::tree_of;

pub use report::Report;
pub use text::text;

/// Decides the calls of the run in `folder` again. Returns the comparison, and whether the run ended.
///
/// # Errors
///
/// If the record cannot be read, or its configuration is no scheduler.
pub fn verify(
    folder: &Path,
    registry: &Registry,
) -> Result<(Report, Result<(), Failure>), Failure> {
    let manifest = manifest(folder)?;
    let run = record::head(folder).map_err(fault)?;
    let at_fault = |problem: String| Failure::input(format!("{}: {problem}", folder.display()));
    let configured = configured(
        (&manifest.configuration["scheduler"], folder),
        &manifest.scenario,
        &run,
        registry,
    );
    let (policy, scheduler) = configured.map_err(|problem| at_fault(problem.to_string()))?;
    let broken = |error: ReplayError| at_fault(error.to_string());
    let absent = absent(&manifest.configuration["elasticity"], &run);
    let checkpointing = checkpointing(&manifest.configuration["checkpoint"], folder);
    let checkpointing = checkpointing.map_err(|problem| at_fault(problem.to_string()))?;
    let replay = Replay::new(scheduler, &run, absent).map_err(broken)?;
    let mut replay = replay.with_checkpoints(checkpointing.as_ref());
    let mut report = Report::new(Head {
        record: folder.display().to_string(),
        scenario: manifest.scenario,
        policy,
        processes: run.placement.len(),
        is_complete: true,
        shortfall: None,
        checkpoints: 0,
    });
    let failure = manifest.failure;
    let mut ended = Ok(());
    let take = |event| {
        if ended.is_err() {
            return;
        }
        report.head.checkpoints += usize::from(matches!(event, record::Event::Checkpoint(_)));
        match replay.take(event) {
            Ok(checked) => report.calls.extend(checked.map(Into::into)),
            Err(error) => ended = Err(broken(error)),
        }
    };
    let extent = record::scan(folder, |_| true, take).map_err(fault)?;
    report.head.is_complete = extent.is_complete;
    report.head.shortfall = shortfall(&extent, failure.as_ref());
    Ok((report, ended))
}

/// The hosts that are not there at the start, as the `section` of a record's configuration names them.
fn absent(section: &Value, run: &record::Run) -> BTreeSet<HostId> {
    let names = section["pool"].as_array().into_iter().flatten();
    let host = |name: &Value| {
        run.hosts
            .iter()
            .position(|host| Some(host.as_str()) == name.as_str())
    };
    names.filter_map(host).map(HostId::from_index).collect()
}

/// The checkpoints that the `section` of a record's configuration describes.
fn checkpointing(section: &Value, folder: &Path) -> Result<Option<Checkpointing>, Fault> {
    let fault = |error: serde_json::Error| Fault::new(None, "checkpoint", error.to_string());
    let node = match section {
        // Records of older versions have no such section.
        Value::Null => return Ok(None),
        section => Node::deserialize(section).map_err(fault)?,
    };
    let section = ("checkpoint", &node);
    let section = adapted(folder, section, CheckpointSection::of, |section| {
        tree_of(section)
    })?;
    Ok(section.options())
}

/// The name of the policy, and the scheduler that the `section` of a record's configuration describes.
fn configured(
    (section, folder): (&Value, &Path),
    scenario: &str,
    run: &record::Run,
    registry: &Registry,
) -> Result<(String, Option<agents::Scheduler>), Fault> {
    let written = |problem: String| Fault::new(None, "scheduler", problem);
    let node: Node = Node::deserialize(section).map_err(|error| written(error.to_string()))?;
    let read = |node: &Node| Scheduler::new(node, registry.policies());
    let section = ("scheduler", &node);
    let scheduler = adapted(folder, section, read, Scheduler::effective)?;
    let scenario = Scenario::named(scenario)
        .ok_or_else(|| written(format!("there is no scenario {scenario:?}")))?;
    let processes = u32::try_from(run.placement.len())
        .expect("the number of processes of a record fits 32 bits");
    let host = |name: &str| {
        let position = run.hosts.iter().position(|host| host == name);
        let position = position.ok_or_else(|| format!("the run has no host {name:?}"))?;
        Ok(HostId::from_index(position))
    };
    let script = experiments::script(&scheduler.orders, &node, processes, host);
    let script = match script {
        // A job that resumes leaves out a script that names other hosts.
        Err(_) if run.resumed.is_some() => None,
        script => script?,
    };
    Ok((
        scheduler.policy_name(),
        // What probes found is in the record.
        scheduler.agents(scenario, script, 0),
    ))
}
