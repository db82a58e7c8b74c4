//! `migbsp simulate`: an experiment on a simulated platform.

mod progress;
mod recorder;
mod report;
mod run;
mod script;
mod stage;
mod text;

use std::fs;
use std::path::Path;

use agents::record::{Event, WriteError};

use crate::command::SimulateArguments;
use crate::configuration::{self, Scenario};
use crate::failure::Failure;
use crate::output::{Format, print, print_json};
use crate::registry::Registry;
use crate::simulate::report::Report;

pub(crate) use progress::Progress;
pub(crate) use recorder::Recorder;
#[cfg(test)]
pub(crate) use report::{CallReport, MigrationReport};
pub(crate) use report::{RunReport, csv as csv_of_run};
pub(crate) use run::{Finished, SimulationError, digest, simulate};
pub(crate) use stage::Stage;
pub(crate) use text::shortened;

/// Runs the scenarios of an experiment and shows their results.
///
/// # Errors
///
/// Errors of the experiment, the platform, the program or the disk.
pub(crate) fn command(arguments: &SimulateArguments, registry: &Registry) -> Result<(), Failure> {
    let loaded = configuration::load(&arguments.file, &arguments.set, registry)?;
    let effective = loaded.experiment.effective();
    if arguments.print_config {
        return print(&configuration::print(&effective, &loaded.written));
    }
    let stage = Stage::new(loaded)?;
    for warning in stage.platform.warnings() {
        let platform = stage.loaded.platform_file();
        tracing::warn!(platform = %platform.display(), "{warning}");
    }
    let mut runs = Vec::new();
    let options = stage.loaded.experiment.scheduler.options;
    let scenarios = options.scenario.runs(options.policy);
    if let Some(folder) = &arguments.out {
        refuse_records(folder, scenarios)?;
    }
    for scenario in scenarios {
        runs.push(run(&stage, *scenario, arguments, registry)?);
    }
    if let Some(script) = &stage.script {
        for warning in script::unfollowed(script, &runs, &stage.platform) {
            tracing::warn!("{warning}");
        }
    }
    let report = Report::new(&stage.loaded, &stage.platform, runs);
    match arguments.format {
        Format::Table => print(&text::text(&report)),
        Format::Json => print_json(&report),
        Format::Csv => print(&report.csv().map_err(Failure::run)?),
    }
}

/// One scenario, with progress on stderr and a record if requested.
fn run(
    stage: &Stage,
    scenario: Scenario,
    arguments: &SimulateArguments,
    registry: &Registry,
) -> Result<RunReport, Failure> {
    let mut recorder = match &arguments.out {
        Some(folder) => Some(Recorder::new(folder, scenario, stage)?),
        None => None,
    };
    let supersteps = stage.loaded.experiment.application.supersteps;
    let mut progress = Progress::new(arguments.progress, scenario, supersteps);
    let mut observer = |event: &Event| {
        progress.observe(event);
        if let Some(recorder) = &mut recorder {
            recorder.observe(event);
        }
    };
    let finished = stage.run(scenario, registry, &mut observer);
    progress.finish();
    let report = RunReport::new(scenario, &finished?, &stage.platform);
    if let Some(recorder) = recorder {
        recorder.finish(stage, &report)?;
    }
    Ok(report)
}

/// No scenario is run if one of them has no place for its record.
pub(crate) fn refuse_records(folder: &Path, scenarios: &[Scenario]) -> Result<(), Failure> {
    for scenario in scenarios {
        let place = folder.join(scenario.name());
        let taken = fs::read_dir(&place).is_ok_and(|mut entries| entries.next().is_some());
        if taken {
            let directory = place;
            return Err(Failure::chain(WriteError::NotEmpty { directory }));
        }
    }
    Ok(())
}
