//! `migbsp run`: an experiment on the hosts of a cluster.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use agents::hosts::JobError;
use agents::record::Event;
use clap::Args;

use crate::arguments::{Overrides, TRACED};
use crate::failure::CommandFailure;
use crate::file::check_folder;
use crate::live::checkpoints::{CheckpointArguments, DiskWatch};
use crate::live::cluster_members::{ClusterArguments, ClusterMembers};
use crate::live::run_job::RunJob;
use crate::output::{Format, print, print_json, print_text};
use crate::outputs_place::{OutputsPlace, outputs_place};
use crate::progress::Progress;
use crate::signals::TerminationSignal;
use analysis::live::{Report, Simulated, Watch};
use experiments::CsvTable;
use experiments::Failure;
use experiments::Finished;
use experiments::PreparedExperiment;
use experiments::Provenance;
use experiments::Published;
use experiments::Recorder;
use experiments::Registry;
use experiments::RunReport;
use experiments::Scenario;
use experiments::csv_of_run;
use experiments::refuse_records;
use experiments::submission::scenario;

/// Arguments of `run`.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunArguments {
    /// The experiment, a TOML file; `-` reads stdin
    #[arg(value_name = "FILE", required_unless_present = "resume")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
    #[command(flatten)]
    checkpoints: CheckpointArguments,
    /// Show long tables whole
    #[arg(long)]
    all: bool,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Accept nodes that run another build than this client
    #[arg(long)]
    pub(crate) allow_mixed_builds: bool,
    /// Keep the record of the run in a folder of this one: DIR/iii
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace a complete record in the folder of --out
    #[arg(long, requires = "out")]
    force: bool,
    /// Keep what each process did in each superstep in the record, trace.bin: the same as --set run.trace=true
    #[arg(long, requires = "out", conflicts_with = "resume")]
    trace: bool,
    /// File for the programs' outputs, .json, .csv, .msgpack or .npy; or a folder, DIR/, for them and the files that
    /// the workload makes
    #[arg(long, value_name = "PATH", value_parser = outputs_place())]
    outputs: Option<OutputsPlace>,
    /// Whether a bar on stderr is wanted.
    #[arg(skip)]
    pub(crate) progress: bool,
}

/// Runs an experiment on the cluster that is named.
///
/// # Errors
///
/// Whatever is wrong with the experiment, the program, the cluster or the disk.
pub(crate) fn command(arguments: &RunArguments, registry: &Registry) -> Result<(), CommandFailure> {
    let cluster = ClusterMembers::find(&arguments.cluster)?;
    follow(arguments, cluster, registry, None, &mut |_| {})
}

/// The same, on a cluster that is known; `simulated` is the same run, if the cluster plays its platform. `spectator` sees
/// each event of the record after all else has.
pub(crate) fn follow(
    arguments: &RunArguments,
    cluster: ClusterMembers,
    registry: &Registry,
    simulated: Option<&Simulated>,
    spectator: &mut dyn FnMut(&Event),
) -> Result<(), CommandFailure> {
    let checkpoints = &arguments.checkpoints;
    let mut job = job(arguments, &cluster, registry, simulated.is_some())?;
    let scenario = scenario(&job.prepared);
    if let Some(place) = &arguments.outputs {
        place.check()?;
    }
    let mut recorder = recorder(arguments, scenario, &job.prepared, registry)?;
    let supersteps = job.loaded.experiment.application.supersteps;
    let (is_wanted, platform) = (arguments.progress, &job.prepared.platform);
    let mut progress = Progress::new(is_wanted, scenario, supersteps, platform);
    let mut watch = Watch::default();
    let mut disk = DiskWatch::default();
    let mut flushed = Instant::now();
    let mut observer = |event: &Event| {
        progress.observe(event);
        watch.observe(event);
        disk.observe(event);
        if let Some(recorder) = &mut recorder {
            recorder.observe(event);
            if FLUSHING < flushed.elapsed() {
                recorder.flush();
                flushed = Instant::now();
            }
            // A run without its record is of no use.
            if let Some(problem) = recorder.lost() {
                return Err(JobError::program(problem));
            }
        }
        spectator(event);
        Ok(())
    };
    let termination = TerminationSignal::default();
    let entry = registry.find(&job.loaded.experiment.application.workload, None)?;
    let interrupted = termination.clone().received();
    let finished = job
        .run(entry, cluster.client, &mut observer, interrupted)
        .and_then(|outcome| Finished::new(entry, job.loaded.build_input(), outcome))
        .map_err(Failure::from);
    progress.finish();
    if let Some(signal) = termination.number() {
        if let Some(advice) = checkpoints.advice() {
            tracing::warn!("{advice}");
        }
        return Err(CommandFailure::Interrupted(signal));
    }
    let finished = finished.map_err(|failure| checkpoints.explain(failure))?;
    let RunJob {
        loaded, prepared, ..
    } = &job;
    let run = RunReport::new(scenario, &finished, &prepared.platform);
    let report = Report::new(prepared, run, &watch, simulated);
    if let Some(recorder) = recorder {
        recorder.finish(report.run())?;
    }
    let provenance = || Provenance::of_experiment(&prepared.loaded, registry);
    let written = match &arguments.outputs {
        Some(place) => place.write(loaded, registry, &finished, provenance),
        None => Ok(()),
    };
    show(arguments, &report, provenance)?;
    written
}

/// The job that the arguments name.
fn job(
    arguments: &RunArguments,
    cluster: &ClusterMembers,
    registry: &Registry,
    plays: bool,
) -> Result<RunJob, Failure> {
    let (members, allowed) = (&cluster.members, arguments.allow_mixed_builds);
    match (arguments.checkpoints.resumed(), &arguments.file) {
        (Some(folder), _) => RunJob::of_checkpoint(folder, members, registry, allowed),
        (None, Some(file)) => {
            let mut assignments = arguments.overrides.assignments();
            assignments.extend(arguments.trace.then(|| TRACED.to_owned()));
            RunJob::of_experiment(
                (file, assignments),
                &arguments.checkpoints,
                members,
                registry,
                (allowed, plays),
            )
        }
        (None, None) => Err(Failure::Usage(
            "name an experiment, FILE, or a saved job, --resume DIR".to_owned(),
        )),
    }
}

/// Prints the report.
fn show(
    arguments: &RunArguments,
    report: &Report,
    provenance: impl Fn() -> Result<Provenance, Failure>,
) -> Result<(), CommandFailure> {
    match arguments.format {
        Format::Table => print_text(arguments.all, |layout| report.text(layout)),
        Format::Json => print_json(&provenance()?, report),
        Format::Csv => {
            let table = CsvTable::new(Report::SCHEMA, &provenance()?);
            print(&csv_of_run(table, [report.run()])?)
        }
    }
}

/// The recorder, if a record is wanted and there is a place for it.
fn recorder(
    arguments: &RunArguments,
    scenario: Scenario,
    prepared: &PreparedExperiment,
    registry: &Registry,
) -> Result<Option<Recorder>, Failure> {
    let Some(folder) = &arguments.out else {
        return Ok(None);
    };
    check_folder(folder)?;
    if !arguments.force {
        refuse_records(folder, &[scenario])?;
    }
    let recorder = Recorder::new(folder, scenario, prepared, registry)?;
    Ok(Some(recorder.replacing(arguments.force)))
}

/// Time that the record may lag behind the run.
const FLUSHING: Duration = Duration::from_secs(1);
