//! `migbsp verify`: recomputes the decisions of a recorded run, and reports differences.

mod report;
mod text;

use std::path::{Path, PathBuf};

use agents::record;
use agents::replay::{Replay, ReplayError};
use bsp::HostId;
use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use crate::configuration::{self, Fault, Scenario, Scheduler};
use crate::failure::Failure;
use crate::output::{Format, print, print_json};
use crate::record::{fault, find, manifest};
use crate::tree::Node;
use crate::verify::report::{Head, Report};

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// A record, as `simulate --out DIR` leaves it in DIR/iii; of DIR itself, iii is taken
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Decides the run again.
///
/// # Errors
///
/// If there is no such record, it lacks observations, or a decision differs.
pub(crate) fn command(arguments: &VerifyArguments) -> Result<(), Failure> {
    let folder = find(&arguments.run)?;
    let (report, ended) = report(&folder)?;
    let first = report.first();
    // A partial verification is not reported as success.
    if ended.is_ok() || first.is_some() {
        match arguments.format {
            Format::Table => print(&text::text(&report))?,
            Format::Json => print_json(&report)?,
            Format::Csv => print(&report.csv()?)?,
        }
    }
    ended?;
    first.map_or(Ok(()), |first| {
        Err(Failure::Verification(format!(
            "{}: {first}",
            folder.display()
        )))
    })
}

/// The result for the run in `folder`, and whether its record was read to the end.
fn report(folder: &Path) -> Result<(Report, Result<(), Failure>), Failure> {
    let manifest = manifest(folder)?;
    let run = record::head(folder).map_err(fault)?;
    let at_fault = |problem: String| Failure::input(format!("{}: {problem}", folder.display()));
    let configured = configured(
        &manifest.configuration["scheduler"],
        &manifest.scenario,
        &run,
    );
    let (policy, scheduler) = configured.map_err(|problem| at_fault(problem.to_string()))?;
    let broken = |error: ReplayError| at_fault(error.to_string());
    let mut replay = Replay::new(scheduler, &run).map_err(broken)?;
    let mut report = Report::new(Head {
        record: folder.display().to_string(),
        scenario: manifest.scenario,
        policy,
        processes: run.placement.len(),
    });
    let mut ended = Ok(());
    let take = |event| {
        if ended.is_err() {
            return;
        }
        match replay.take(event) {
            Ok(checked) => report.calls.extend(checked.map(Into::into)),
            Err(error) => ended = Err(broken(error)),
        }
    };
    record::scan(folder, |_| true, take).map_err(fault)?;
    Ok((report, ended))
}

/// The name of the policy, and the scheduler that the `section` of a record's configuration describes.
fn configured(
    section: &Value,
    scenario: &str,
    run: &record::Run,
) -> Result<(String, Option<agents::Scheduler>), Fault> {
    let written = |problem: String| Fault::new(None, "scheduler", problem);
    let node: Node = Node::deserialize(section).map_err(|error| written(error.to_string()))?;
    let scheduler = Scheduler::new(&node)?;
    let scenario = Scenario::named(scenario)
        .ok_or_else(|| written(format!("there is no scenario {scenario:?}")))?;
    let processes = u32::try_from(run.placement.len())
        .expect("the number of processes of a record fits 32 bits");
    let host = |name: &str| {
        let position = run.hosts.iter().position(|host| host == name);
        let position = position.ok_or_else(|| format!("the run has no host {name:?}"))?;
        Ok(HostId::from_index(position))
    };
    let script = configuration::script(&scheduler.orders, &node, processes, host)?;
    Ok((
        scheduler.options.policy.to_string(),
        scheduler.agents(scenario, script),
    ))
}
