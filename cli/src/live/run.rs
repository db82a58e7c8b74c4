//! `migbsp run`: an experiment on the hosts of a cluster.

use std::path::PathBuf;

use clap::Args;
use record::Event;

use crate::arguments::{Overrides, TRACED};
use crate::command::{Command, Context};
use crate::dashboard::{DashboardAddress, Listening};
use crate::failure::CommandFailure;
use crate::file::check_folder;
use crate::live::checkpoints::{CheckpointArguments, DiskWatch};
use crate::live::cluster_members::{ClusterArguments, ClusterMembers};
use crate::live::help::{RUN_ABOUT, RUN_HELP};
use crate::live::run_job::RunJob;
use crate::live::run_observers::{FlushedRecorder, RunObservers};
use crate::output::{Format, print, print_json, print_text};
use crate::outputs_place::{OutputsPlace, outputs_place};
use crate::progress::Progress;
use crate::signals::TerminationSignal;
use analysis::live::{Report, Simulated, Watch, hints};
use analysis::report::LiveRun;
use experiments::CsvTable;
use experiments::Entry;
use experiments::Failure;
use experiments::Finished;
use experiments::PreparedExperiment;
use experiments::Provenance;
use experiments::Published;
use experiments::Recorder;
use experiments::Registry;
use experiments::RunFailure;
use experiments::RunReport;
use experiments::Scenario;
use experiments::beginning;
use experiments::csv_of_run;
use experiments::record::RecordedFailure;
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
    pub(crate) checkpoints: CheckpointArguments,
    /// Show long tables whole
    #[arg(long)]
    all: bool,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Accept nodes that run another build than this client
    #[arg(long)]
    pub(crate) allow_mixed_builds: bool,
    /// Keep the record of the run in a folder of this one: DIR/iii, or DIR/i with --policy none
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace a complete record in the folder of --out
    #[arg(long, requires = "out")]
    force: bool,
    /// Compress the events of the record: events.jsonl.gz
    #[arg(long, requires = "out")]
    compress: bool,
    /// Keep what each process did in each superstep in the record, trace.bin: the same as --set run.trace=true
    #[arg(long, requires = "out", conflicts_with = "resume")]
    trace: bool,
    /// File for the programs' outputs, .json, .csv, .msgpack or .npy; or a folder, DIR/, for them and the files that
    /// the workload makes
    #[arg(long, value_name = "PATH", value_parser = outputs_place())]
    outputs: Option<OutputsPlace>,
    /// Serve a page of the run while it goes on, at this address [default without a value: 127.0.0.1:7448]
    #[arg(
        long,
        value_name = "HOST:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DashboardAddress::DEFAULT
    )]
    dashboard: Option<DashboardAddress>,
}

/// What a run is compared with, and what sees its events.
pub(crate) struct Following<'a> {
    /// The same run in simulation, if the cluster plays its platform.
    pub(crate) simulated: Option<&'a Simulated>,
    /// Where the page of the run is served, if it is.
    pub(crate) dashboard: Option<Listening>,
    /// It sees each event of the record after all else has.
    pub(crate) spectator: &'a mut dyn FnMut(&Event),
}

impl RunArguments {
    /// A socket for the page of the run, if one is wanted.
    ///
    /// # Errors
    ///
    /// If the address is in use, or no address of this machine.
    pub(crate) fn dashboard(&self) -> Result<Option<Listening>, Failure> {
        self.dashboard.as_ref().map(Listening::at).transpose()
    }
}

/// The command `run`.
pub(crate) fn command() -> Command {
    Command::new("run", "Run an experiment on the hosts of a cluster", run)
        .long_about(RUN_ABOUT)
        .after_long_help(RUN_HELP)
}

/// Runs an experiment on the cluster that is named.
///
/// # Errors
///
/// Whatever is wrong with the experiment, the program, the cluster or the disk.
fn run(arguments: &RunArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let cluster = ClusterMembers::find(&arguments.cluster)?;
    let following = Following {
        simulated: None,
        dashboard: arguments.dashboard()?,
        spectator: &mut |_| {},
    };
    follow(arguments, cluster, context, following)
}

/// The same, on a cluster that is known.
pub(crate) fn follow(
    arguments: &RunArguments,
    cluster: ClusterMembers,
    context: &Context<'_>,
    following: Following<'_>,
) -> Result<(), CommandFailure> {
    let registry = context.registry();
    let mut job = job(arguments, &cluster, registry, following.simulated.is_some())?;
    let workload = &job.loaded.experiment.application.workload;
    let entry = registry.find(workload, None)?;
    if let Some(place) = &arguments.outputs {
        place.check(entry)?;
    }
    let scenario = scenario(&job.prepared);
    for hint in hints(&job.prepared, registry, following.simulated.is_some())? {
        tracing::warn!("{hint}");
    }
    let recorder = recorder(arguments, scenario, &job.prepared, registry)?;
    let page = || page(arguments, scenario, &job.prepared, registry);
    let dashboard = following.dashboard;
    let dashboard = dashboard.map(|listening| listening.serve(page()?));
    let dashboard = dashboard.transpose()?;
    let supersteps = job.loaded.experiment.application.supersteps;
    let (is_wanted, platform) = (context.has_progress(), &job.prepared.platform);
    let observers = RunObservers {
        progress: Progress::new(is_wanted, scenario, supersteps, platform),
        watch: Watch::new(beginning(scenario, &job.prepared, registry)?)?,
        disk: DiskWatch::default(),
        recorder: recorder.map(FlushedRecorder::new),
        dashboard: dashboard.as_ref(),
        spectator: following.spectator,
    };
    let simulated = following.simulated;
    let result = execute(
        arguments,
        (&mut job, cluster),
        registry,
        (observers, simulated),
    );
    if let Some(dashboard) = dashboard {
        dashboard.finish(&match &result {
            Ok(()) => "The run is complete.".to_owned(),
            Err(CommandFailure::Interrupted(_)) => "The run was interrupted.".to_owned(),
            Err(failure) => format!("The run failed: {failure}"),
        });
    }
    result
}

/// Runs the job, and shows and writes its results.
fn execute(
    arguments: &RunArguments,
    (job, cluster): (&mut RunJob, ClusterMembers),
    registry: &Registry,
    (mut observers, simulated): (RunObservers<'_>, Option<&Simulated>),
) -> Result<(), CommandFailure> {
    let termination = TerminationSignal::default();
    let entry = registry.find(&job.loaded.experiment.application.workload, None)?;
    let interrupted = termination.clone().received();
    let finished = job
        .run(entry, cluster.client, &mut observers, interrupted)
        .and_then(|outcome| Finished::new(entry, job.loaded.build_input(), outcome));
    observers.progress.finish();
    let finished = match finished {
        Ok(finished) if termination.number().is_none() => finished,
        finished => {
            let failure = failure(arguments, entry, finished.err(), termination.number());
            if let Some(recorder) = observers.recorder {
                recorder.fail(&recorded(&failure));
            }
            return Err(failure);
        }
    };
    let RunJob {
        loaded, prepared, ..
    } = &*job;
    let run = RunReport::new(scenario(prepared), &finished, &prepared.platform);
    let report = Report::new(prepared, run, &observers.watch, simulated);
    let provenance = || Provenance::of_experiment(&prepared.loaded, registry);
    let written = match &arguments.outputs {
        Some(place) => place.write(loaded, registry, &finished, provenance),
        None => Ok(()),
    };
    let recorder = observers.recorder;
    let recorded = recorder.map(|recorder| recorder.finish(report.run()));
    show(arguments, &report, provenance)?;
    recorded.unwrap_or(Ok(()))?;
    written
}

/// Why a run has no result, whose outputs are kept if it has outputs: a signal, if it received one, or else `failure`.
fn failure(
    arguments: &RunArguments,
    entry: &dyn Entry,
    failure: Option<RunFailure>,
    signal: Option<u8>,
) -> CommandFailure {
    let checkpoints = &arguments.checkpoints;
    match (signal, failure) {
        (Some(signal), _) => {
            if let Some(advice) = checkpoints.advice() {
                tracing::warn!("{advice}");
            }
            CommandFailure::Interrupted(signal)
        }
        (None, Some(RunFailure::Rejected(rejected))) => match &arguments.outputs {
            Some(place) => place.keep_rejected(entry, *rejected).into(),
            None => rejected.failure.into(),
        },
        (None, Some(failure)) => checkpoints.explain(failure.into()).into(),
        (None, None) => unreachable!("a run without a failure that no signal ended has a result"),
    }
}

/// What the record of a run says of its failure.
fn recorded(failure: &CommandFailure) -> RecordedFailure {
    match failure {
        CommandFailure::Failure(failure) => failure.into(),
        CommandFailure::Interrupted(signal) | CommandFailure::Stopped { signal, .. } => {
            RecordedFailure::interrupted(*signal)
        }
        CommandFailure::Output(error) => (&Failure::run(error)).into(),
    }
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

/// The page of the run before its first event.
fn page(
    arguments: &RunArguments,
    scenario: Scenario,
    prepared: &PreparedExperiment,
    registry: &Registry,
) -> Result<LiveRun, Failure> {
    let name = arguments.checkpoints.resumed();
    let name = name.or(arguments.file.as_deref());
    let name = name.map_or_else(String::new, |name| name.display().to_string());
    let record = arguments.out.as_ref().map(|out| out.join(scenario.name()));
    let beginning = beginning(scenario, prepared, registry)?;
    LiveRun::new(&name, beginning, record.as_deref(), registry)
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
    let recorder = recorder.replacing(arguments.force);
    Ok(Some(recorder.compressing(arguments.compress)))
}
