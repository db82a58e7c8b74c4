//! `migbsp run`: an experiment on the hosts of a cluster.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agents::Outcome;
use analysis::live::{Report, Simulated, Watch, hints};
use analysis::report::LiveRun;
use bsp::HostId;
use checkpoint::{DiskFiles, SavedStates, Store};
use clap::Args;
use experiments::record::RecordedFailure;
use experiments::submission::{request, scenario};
use experiments::{
    CheckpointTime, CsvTable, Entry, Failure, Finished, Loaded, PreparedExperiment, Provenance,
    Published, Recorder, Registry, RunFailure, RunReport, SavedJob, Scenario, absolute, beginning,
    csv_of_run, refuse_records,
};
use hosts::{JobObserver, TransferProgress};
use machines::JobError;
use machines::client::Request;
use protocol::identity::Identity;
use protocol::transport::JobId;
use protocol::{JobFolder, Member, NodeFiles};
use record::Event;

use crate::command::{Command, Context, Overrides, TRACED};
use crate::dashboard::{Dashboard, DashboardAddress, Listening};
use crate::failure::CommandFailure;
use crate::file::{LiveOutputs, OutputsPlace, check_folder, live_outputs};
use crate::live::cluster::{ClusterArguments, ClusterMembers};
use crate::live::help::{RUN_ABOUT, RUN_HELP};
use crate::output::{Format, print, print_json, print_text};
use crate::progress::Progress;
use crate::signals::TerminationSignal;

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
    /// the workload makes; or `nodes`: each output stays in a file of the node on which its process ends, and the folder of
    /// --out has a list of them
    #[arg(long, value_name = "PATH", value_parser = live_outputs())]
    outputs: Option<LiveOutputs>,
    /// Have the nodes write the snapshots that processes take; the folder of --out has a list of them
    #[arg(long, requires = "out")]
    snapshots: bool,
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

    /// Where outputs go with the client, if they do.
    fn place(&self) -> Option<&OutputsPlace> {
        self.outputs.as_ref().and_then(LiveOutputs::place)
    }

    /// Whether outputs stay on the nodes.
    const fn has_outputs_on_nodes(&self) -> bool {
        matches!(self.outputs, Some(LiveOutputs::Nodes))
    }

    /// Whether processes leave files on the nodes.
    const fn has_files(&self) -> bool {
        self.snapshots || self.has_outputs_on_nodes()
    }

    /// Checks that there is a place for the list of the files that stay on the nodes.
    ///
    /// # Errors
    ///
    /// If there is none.
    fn check_outputs(&self) -> Result<(), Failure> {
        if self.has_outputs_on_nodes() && self.out.is_none() {
            return Err(Failure::Usage(
                "--outputs nodes: the list of the files is written with the record of the run: add --out DIR".to_owned(),
            ));
        }
        Ok(())
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
    let cluster = ClusterMembers::find(&arguments.cluster, context.program())?;
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
    arguments.check_outputs()?;
    let mut job = job(arguments, &cluster, registry, following.simulated.is_some())?;
    let workload = &job.loaded.experiment.application.workload;
    let entry = registry.find(workload, None)?;
    if let Some(place) = arguments.place() {
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
    let written = match arguments.place() {
        Some(place) => place.write(loaded, registry, &finished, provenance),
        None => Ok(()),
    };
    let recorder = observers.recorder;
    let recorded = recorder.map(|recorder| recorder.finish(&finished, report.run()));
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
        (None, Some(RunFailure::Rejected(rejected))) => match arguments.place() {
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
    let mut job = match (arguments.checkpoints.resumed(), &arguments.file) {
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
    }?;
    job.write_files(arguments.has_files(), arguments.has_outputs_on_nodes());
    Ok(job)
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

/// The job of `run`.
pub(super) struct RunJob {
    pub(super) loaded: Loaded,
    pub(super) prepared: PreparedExperiment,
    request: Request,
    /// The states with which it begins, if it is saved on disk.
    saved: Option<SavedStates>,
    /// The number of the folder in which the nodes of the job that it goes on with have written files, if they have.
    files: Option<u64>,
}

impl RunJob {
    /// The experiment in `file`, changed by `assignments`, from its beginning. `plays`: its background load is played.
    ///
    /// # Errors
    ///
    /// If it cannot be run on `members`.
    pub(super) fn of_experiment(
        (file, mut assignments): (&Path, Vec<String>),
        checkpoints: &CheckpointArguments,
        members: &[Member],
        registry: &Registry,
        (are_mixed_builds_allowed, plays): (bool, bool),
    ) -> Result<Self, Failure> {
        let mut loaded = experiments::load_for_cluster(file, &assignments, registry)?;
        let is_on = loaded.experiment.checkpoint.is_on();
        if let Some(assignment) = checkpoints.assignments(is_on) {
            assignments.push(assignment);
            loaded = experiments::load_for_cluster(file, &assignments, registry)?;
        }
        let (prepared, mut request) =
            request(&loaded, members, registry, are_mixed_builds_allowed, plays)?;
        request.checkpoint = checkpoints.folder()?;
        Ok(Self {
            loaded,
            prepared,
            request,
            saved: None,
            files: None,
        })
    }

    /// The job whose checkpoints are in `folder`, from the newest one on.
    ///
    /// # Errors
    ///
    /// If there is none, or it cannot go on here.
    fn of_checkpoint(
        folder: &Path,
        members: &[Member],
        registry: &Registry,
        are_mixed_builds_allowed: bool,
    ) -> Result<Self, Failure> {
        let saved = SavedJob::open(folder, registry, are_mixed_builds_allowed)?;
        let (prepared, request) = saved.request(members, registry, are_mixed_builds_allowed)?;
        let files = saved.files();
        let (loaded, states) = saved.into_states();
        Ok(Self {
            loaded,
            prepared,
            request,
            saved: Some(states),
            files,
        })
    }

    /// Has the nodes write files of processes, if they `are_wanted`: snapshots, and `outputs`. A job that goes on does so where it did
    /// before.
    fn write_files(&mut self, are_wanted: bool, outputs: bool) {
        let before = self.files.map(JobFolder);
        let drawn = || JobFolder(JobId::random().0.get());
        self.request.files = are_wanted.then(|| NodeFiles {
            job: before.unwrap_or_else(drawn),
            outputs,
        });
    }

    /// Runs the job, whose workload is `entry`, as `client`.
    ///
    /// # Errors
    ///
    /// If it has no result.
    pub(super) fn run(
        &mut self,
        entry: &dyn Entry,
        client: Identity,
        observer: &mut dyn JobObserver,
        interrupted: impl Future<Output = ()>,
    ) -> Result<Outcome, RunFailure> {
        let request = &self.request;
        let outcome = match self.saved.take() {
            Some(states) => {
                let saved = (states, entry.program_type());
                hosts::resume(client, request, saved, observer, interrupted)
            }
            None => hosts::run(client, request, entry.program_type(), observer, interrupted),
        };
        Ok(outcome?)
    }
}

/// All that sees the events of a run.
pub(super) struct RunObservers<'a> {
    pub(super) progress: Progress,
    pub(super) watch: Watch,
    pub(super) disk: DiskWatch,
    pub(super) recorder: Option<FlushedRecorder>,
    pub(super) dashboard: Option<&'a Dashboard<LiveRun>>,
    /// It sees each event after all else has.
    pub(super) spectator: &'a mut dyn FnMut(&Event),
}

impl JobObserver for RunObservers<'_> {
    /// Fails if the record is not written any more: a run without its record is of no use.
    fn observe(&mut self, event: &Event) -> Result<(), JobError> {
        self.progress.observe(event);
        self.watch.observe(event);
        self.disk.observe(event);
        if let Some(recorder) = &mut self.recorder {
            recorder.observe(event)?;
        }
        if let Some(dashboard) = self.dashboard {
            dashboard.observe(event);
        }
        (self.spectator)(event);
        Ok(())
    }

    fn found_folders(&mut self, folders: BTreeMap<String, String>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.recorder.set_folders(folders);
        }
    }

    fn transferred(&mut self, progress: TransferProgress) {
        self.progress.transferred(progress);
    }
}

/// A record that is on disk within a second.
#[derive(Debug)]
pub(super) struct FlushedRecorder {
    recorder: Recorder,
    flushed: Instant,
}

impl FlushedRecorder {
    pub(super) fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            flushed: Instant::now(),
        }
    }

    fn observe(&mut self, event: &Event) -> Result<(), JobError> {
        self.recorder.observe(event);
        if FLUSHING < self.flushed.elapsed() {
            self.recorder.flush();
            self.flushed = Instant::now();
        }
        match self.recorder.lost() {
            Some(problem) => Err(JobError::program(problem)),
            None => Ok(()),
        }
    }

    /// Ends the record of a run that has failed.
    pub(super) fn fail(self, failure: &RecordedFailure) {
        if let Err(error) = self.recorder.fail(failure) {
            // The failure itself is what the command reports.
            tracing::warn!("the record does not say why the run failed: {error}");
        }
    }

    /// Completes the record at the end of the run.
    ///
    /// # Errors
    ///
    /// If the disk does not take the rest, or the run has not ended.
    pub(super) fn finish(mut self, finished: &Finished, report: &RunReport) -> Result<(), Failure> {
        self.recorder.add_outputs(finished);
        self.recorder.finish(report)
    }
}

/// Time that the record may lag behind the run.
const FLUSHING: Duration = Duration::from_secs(1);

/// Options about checkpoints.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CheckpointArguments {
    /// Write checkpoints to a folder that the client and all nodes share, from which `run --resume` goes on
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
    /// Time from one checkpoint to the next, "30 s" or "20 supersteps" [default: checkpoint.interval, or "optimal"]
    #[arg(long, value_name = "TIME", requires = "checkpoint")]
    every: Option<CheckpointTime>,
    /// Go on from the newest checkpoint in a folder of --checkpoint, on these or other nodes: no FILE and no changes of it;
    /// later checkpoints are written to the same folder
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["file", "processes", "seed", "policy", "set", "checkpoint", "every"]
    )]
    resume: Option<PathBuf>,
}

impl CheckpointArguments {
    /// The folder of the job to go on with, if it is one that is saved.
    pub(crate) fn resumed(&self) -> Option<&Path> {
        self.resume.as_deref()
    }

    /// What they set in the experiment, in which there are checkpoints already if `is_on`.
    pub(crate) fn assignments(&self, is_on: bool) -> Option<String> {
        let is_missing = !is_on && self.checkpoint.is_some();
        let default = || is_missing.then_some(CheckpointTime::Optimal);
        let every = self.every.or_else(default);
        every.map(|every| format!("checkpoint.interval={every}"))
    }

    /// The folder to which checkpoints of a new job are written, an absolute path.
    ///
    /// # Errors
    ///
    /// If there is no working directory.
    pub(crate) fn folder(&self) -> Result<Option<String>, Failure> {
        self.checkpoint.as_deref().map(absolute).transpose()
    }

    /// The folder to which a run with these options writes, an absolute path, for the nodes of `up`.
    ///
    /// # Errors
    ///
    /// As [`Self::folder`].
    pub(crate) fn used(&self) -> Result<Option<String>, Failure> {
        self.written().map(absolute).transpose()
    }

    /// The same failure, with how to go on.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        let has_run = matches!(failure, Failure::Cluster(_) | Failure::Run(_));
        match self.written().filter(|_| has_run) {
            Some(folder) => match going_on(folder) {
                Some(advice) => failure.followed_by(advice),
                None => failure,
            },
            None => failure,
        }
    }

    /// How to go on after an interrupt, if there is a checkpoint.
    pub(crate) fn advice(&self) -> Option<String> {
        going_on(self.written()?)
    }

    /// The folder to which checkpoints are written, if they are.
    fn written(&self) -> Option<&Path> {
        self.checkpoint.as_deref().or(self.resume.as_deref())
    }
}

/// How to go on from the newest checkpoint in `folder`.
fn going_on(folder: &Path) -> Option<String> {
    let mut store = Store::new(DiskFiles::new(folder), HostId(0));
    let latest = store.latest().ok()?;
    let superstep = latest.checkpoint.generation.superstep;
    let folder = folder.display();
    Some(format!(
        "the newest checkpoint is of superstep {superstep}: `run --resume {folder}` goes on from there, \
         on these or other nodes"
    ))
}

/// Warns about the first checkpoint that is not on disk.
#[derive(Debug, Default)]
pub(crate) struct DiskWatch {
    has_warned: bool,
}

impl DiskWatch {
    pub(crate) fn observe(&mut self, event: &Event) {
        let Event::Checkpoint(checkpoint) = event else {
            return;
        };
        if let Some(problem) = checkpoint.problem.as_ref().filter(|_| !self.has_warned) {
            self.has_warned = true;
            let superstep = checkpoint.superstep;
            tracing::warn!(
                "the checkpoint of superstep {superstep} is not on disk: {problem}; \
                 the run goes on, and the checkpoint before it stays"
            );
        }
    }
}
