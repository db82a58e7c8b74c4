//! `migbsp run`: an experiment on the hosts of a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use agents::{Outcome, Setup};
use analysis::live::{Report, Simulated, ViewReport, Views, Watch, hints, view_sentence};
use analysis::report::LiveRun;
use analysis::sentences::unjoined;
use analysis::text::data;
use bsp::HostId;
use bsp::units::Seconds;
use checkpoint::{DiskFiles, SavedStates, Store};
use clap::Args;
use experiments::record::RecordedFailure;
use experiments::submission::{JobHosts, attached, next_view, request, scenario};
use experiments::{
    CheckpointTime, Entry, Failure, Finished, Loaded, PreparedExperiment, Provenance, Recorder,
    Registry, RunFailure, RunReport, SavedExperiment, SavedJob, Scenario, absolute, beginning,
    refuse_records,
};
use hosts::{Attachment, JobObserver, NodeAnswer, TransferProgress};
use machines::JobError;
use machines::client::{MissingMemory, Request};
use machines::views::NextView;
use protocol::identity::Identity;
use protocol::transport::JobId;
use protocol::{Build, JobFolder, Member, NodeFiles, View};
use record::{Event, ViewChange};

use crate::command::{Command, Context, Overrides, TRACED};
use crate::dashboard::{Dashboard, DashboardAddress, Listening};
use crate::failure::CommandFailure;
use crate::file::{LiveOutputs, OutputsPlace, check_folder, live_outputs};
use crate::live::cluster::{ClusterArguments, ClusterMembers};
use crate::live::help::{RUN_ABOUT, RUN_HELP};
use crate::live::links::duration;
use crate::output::{self, Format, print};
use crate::progress::Progress;
use crate::signals::{TerminationSignal, until};

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
    #[command(flatten)]
    results: ResultArguments,
    /// Accept nodes that run another build than this client
    #[arg(long)]
    pub(crate) allow_mixed_builds: bool,
    /// Keep what each process did in each superstep in the record, trace.bin: the same as --set run.trace=true
    #[arg(long, requires = "out", conflicts_with = "resume")]
    trace: bool,
    /// Have the nodes write the snapshots that processes take; the folder of --out has a list of them
    #[arg(long, requires = "out")]
    snapshots: bool,
    /// End the run when a node is lost; otherwise it goes on without that node [default: unless recovery.enabled is false]
    #[arg(long)]
    no_recovery: bool,
    /// Leave the run when it has begun: a node leads it, keeps its record and its outputs for an hour after its end, and `attach`
    /// fetches them
    #[arg(
        long,
        conflicts_with_all = ["no_recovery", "resume", "out", "outputs", "snapshots", "dashboard", "checkpoint"]
    )]
    pub(crate) detach: bool,
}

/// Where the results of a run go.
#[derive(Clone, Debug, Args)]
pub(crate) struct ResultArguments {
    /// Show long tables whole
    #[arg(long)]
    all: bool,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Keep the record of the run in a folder of this one: DIR/iii, or DIR/i with --policy none
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace a complete record in the folder of --out
    #[arg(long, requires = "out")]
    force: bool,
    /// Compress the events of the record: events.jsonl.gz
    #[arg(long, requires = "out")]
    compress: bool,
    /// File for the programs' outputs, .json, .csv, .msgpack or .npy; or a folder, DIR/, for them and the files that
    /// the workload makes; or `nodes`: each output stays in a file of the node on which its process ends, and the folder of
    /// --out has a list of them
    #[arg(long, value_name = "PATH", value_parser = live_outputs())]
    outputs: Option<LiveOutputs>,
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
    /// What ends it early.
    pub(crate) termination: TerminationSignal,
    /// It sees each event of the record after all else has.
    pub(crate) spectator: &'a mut dyn FnMut(&Event),
}

impl ResultArguments {
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

impl RunArguments {
    /// A socket for the page of the run, if one is wanted.
    ///
    /// # Errors
    ///
    /// If the address is in use, or no address of this machine.
    pub(crate) fn dashboard(&self) -> Result<Option<Listening>, Failure> {
        self.results.dashboard()
    }

    /// These arguments in a job whose nodes are launched for it: the run goes on from a checkpoint in its folder, if one is there, and
    /// takes a last one when the job is to end.
    ///
    /// # Errors
    ///
    /// If they name another cluster, or leave the nodes alone.
    pub(crate) fn in_job(&self) -> Result<Self, Failure> {
        if self.cluster.is_given() || self.detach {
            let problem = "--cluster, --identity, --as, --wait and --detach are for nodes that are there already; leave them out, or use `run`";
            return Err(Failure::Usage(problem.to_owned()));
        }
        let mut run = self.clone();
        let checkpoints = &mut run.checkpoints;
        checkpoints.resume_if_possible = checkpoints.checkpoint.is_some();
        if checkpoints.written().is_some() {
            checkpoints.grace.get_or_insert(GRACE_OF_JOB);
        }
        Ok(run)
    }

    /// Whether processes leave files on the nodes.
    const fn has_files(&self) -> bool {
        self.snapshots || self.results.has_outputs_on_nodes()
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
    let cluster = ClusterMembers::load(&arguments.cluster, context.program())?;
    let following = Following {
        simulated: None,
        dashboard: arguments.dashboard()?,
        termination: TerminationSignal::default(),
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
    arguments.results.check_outputs()?;
    let job = job(arguments, &cluster, registry, following.simulated.is_some())?;
    let name = arguments.checkpoints.resumed();
    let name = name.or(arguments.file.as_deref());
    let shown = Shown {
        name: name.map_or_else(String::new, |name| name.display().to_string()),
        results: &arguments.results,
        checkpoints: &arguments.checkpoints,
    };
    if let Some(limit) = arguments.cluster.wait() {
        let build = registry.build()?;
        wait_for((&cluster, &job), &build, limit, &following.termination)?;
    }
    if arguments.detach {
        return detach(&job, cluster, arguments.results.format);
    }
    shown.follow(job, cluster.client, context, following)
}

/// Waits until all members of a job answer and are free.
///
/// # Errors
///
/// If they are not in this time, or a signal ends the command.
fn wait_for(
    (cluster, job): (&ClusterMembers, &RunJob),
    build: &Build,
    limit: Duration,
    termination: &TerminationSignal,
) -> Result<(), CommandFailure> {
    let began = Instant::now();
    let members = &job.request.members;
    let asked: Vec<_> = cluster
        .all()
        .into_iter()
        .filter(|(node, _)| members.iter().any(|member| member.name == node.name))
        .collect();
    let mut said = String::new();
    loop {
        let inquiring = {
            let (client, build, asked) = (cluster.client.clone(), build.clone(), asked.clone());
            move || hosts::inquire(client, &build, asked)
        };
        let Some(answers) = until(termination, inquiring)? else {
            return Err(CommandFailure::Interrupted(
                termination.number().unwrap_or_default(),
            ));
        };
        let answers = answers.map_err(|error| Failure::Cluster(error.message))?;
        let mut nodes = asked.iter().map(|(node, _)| node).zip(&answers);
        let Some((node, hindrance)) =
            nodes.find_map(|(node, answer)| Some((node.name.as_str(), hindrance(answer)?)))
        else {
            return Ok(());
        };
        if limit <= began.elapsed() {
            let limit = limit.as_secs_f64();
            let problem = format!("{node} {hindrance}: waited {limit} s, as --wait says");
            return Err(Failure::Cluster(problem).into());
        }
        if said != node {
            tracing::warn!("waits: {node} {hindrance}");
            node.clone_into(&mut said);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Why a node takes no job, if it takes none.
fn hindrance(answer: &NodeAnswer) -> Option<String> {
    match &answer.status {
        Err(error) => Some(format!("does not answer ({error})")),
        Ok(status) => match (&status.job, &status.abandoned) {
            (Some(job), _) => Some(format!("runs a job of {}", job.client)),
            (None, Some(abandoned)) => Some(format!(
                "still executes superstep {} of a job that has ended",
                abandoned.superstep
            )),
            (None, None) => None,
        },
    }
}

/// The time between two questions of a client that waits.
const PAUSE: Duration = Duration::from_millis(500);

/// Begins with the job, and leaves it to a node.
fn detach(job: &RunJob, cluster: ClusterMembers, format: Format) -> Result<(), CommandFailure> {
    let (number, leader) = hosts::detach(cluster.client, &job.request, &mut |_: &Event| Ok(()))
        .map_err(|error| CommandFailure::Failure(RunFailure::from(error).into()))?;
    let job = format!("{:016x}", number.0);
    match format {
        Format::Table => print(&format!(
            "job {job} goes on, led by {leader}\n\n  attach {job}   follows it, and fetches its record and its outputs\n  \
             end {job}      ends it\n"
        ))?,
        Format::Json => print(&format!(
            "{}\n",
            serde_json::json!({ "job": job, "leader": leader })
        ))?,
        Format::Csv => print(&format!("job,leader\n{job},{leader}\n"))?,
    }
    Ok(())
}

/// How the results of a run are shown, and how its user can go on when it has none.
pub(super) struct Shown<'a> {
    /// What the user calls the run.
    pub(super) name: String,
    pub(super) results: &'a ResultArguments,
    pub(super) checkpoints: &'a CheckpointArguments,
}

impl Shown<'_> {
    /// Runs or follows the job as `client`, and shows and writes its results.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the experiment, the program, the cluster or the disk.
    pub(super) fn follow(
        &self,
        mut job: RunJob,
        client: Identity,
        context: &Context<'_>,
        following: Following<'_>,
    ) -> Result<(), CommandFailure> {
        let registry = context.registry();
        let workload = &job.loaded.experiment.application.workload;
        let entry = registry.find(workload, None)?;
        if let Some(place) = self.results.place() {
            place.check(entry)?;
        }
        if job.attachment.is_none() {
            for hint in hints(&job.prepared, registry, following.simulated.is_some())? {
                tracing::warn!("{hint}");
            }
        }
        let scenario = scenario(&job.prepared);
        // The view before that of an attached job has no record here.
        let recorder = match job.attachment {
            Some(_) => None,
            None => recorder(self.results, scenario, &job.prepared, registry)?,
        };
        let page = || page(self, scenario, &job.prepared, registry);
        let dashboard = following.dashboard;
        let dashboard = dashboard.map(|listening| listening.serve(page()?));
        let dashboard = dashboard.transpose()?;
        let supersteps = job.loaded.experiment.application.supersteps;
        let (is_wanted, platform) = (context.has_progress(), &job.prepared.platform);
        let begin = (job.saved.take(), job.attachment.take());
        let observers = RunObservers {
            views: ViewFollower::new(self, (&job, begin.1.is_some()), registry),
            progress: Progress::new(is_wanted, scenario, supersteps, platform),
            watch: Watch::new(beginning(scenario, &job.prepared, registry)?)?,
            disk: DiskWatch::default(),
            recorder: recorder.map(FlushedRecorder::new),
            dashboard: dashboard.as_ref(),
            spectator: following.spectator,
            joins: BTreeSet::new(),
        };
        let seen = (observers, following.simulated, following.termination);
        let result = self.execute((&job, begin, client), registry, seen);
        if let Some(dashboard) = dashboard {
            dashboard.finish(&match &result {
                Ok(()) => "The run is complete.".to_owned(),
                Err(CommandFailure::Interrupted(_)) => "The run was interrupted.".to_owned(),
                Err(failure) => format!("The run failed: {failure}"),
            });
        }
        result
    }

    fn execute(
        &self,
        (job, begin, client): (&RunJob, (Option<SavedStates>, Option<Attachment>), Identity),
        registry: &Registry,
        (mut observers, simulated, termination): (
            RunObservers<'_>,
            Option<&Simulated>,
            TerminationSignal,
        ),
    ) -> Result<(), CommandFailure> {
        let entry = registry.find(&job.loaded.experiment.application.workload, None)?;
        let interrupted = termination.clone().received();
        let finished = job
            .run((entry, begin), client, &mut observers, interrupted)
            .and_then(|outcome| Finished::new(entry, job.loaded.build_input(), outcome));
        observers.progress.finish();
        let finished = match finished {
            // It was to end after a last checkpoint, and is complete.
            Ok(finished) if termination.number().is_none() || !job.request.grace.is_zero() => {
                finished
            }
            finished => {
                let failure = failure(self, entry, finished.err(), termination.number());
                if let Some(recorder) = observers.recorder {
                    recorder.fail(&recorded(&failure));
                }
                return Err(failure);
            }
        };
        let loaded = &job.loaded;
        if let Some(awaited) = &job.request.setup.awaited {
            let pool = awaited.pool.iter().take(awaited.take);
            let joined = observers.joins.iter().map(String::as_str).collect();
            for warning in unjoined(pool.map(String::as_str), &joined) {
                tracing::warn!("{warning}");
            }
        }
        let prepared = observers.views.prepared.as_ref().unwrap_or(&job.prepared);
        let run = RunReport::new(scenario(prepared), &finished, &prepared.platform);
        let report = Report::new(prepared, run, &observers.watch, simulated);
        let report = report.with_views(observers.views.reports(job));
        let provenance = || Provenance::of_experiment(&prepared.loaded, registry);
        let written = match self.results.place() {
            Some(place) => place.write(loaded, registry, &finished, provenance),
            None => Ok(()),
        };
        let recorder = observers.recorder;
        let recorded = recorder.map(|recorder| recorder.finish(&finished, report.run()));
        show(self.results, &report, provenance)?;
        recorded.unwrap_or(Ok(()))?;
        written
    }
}

/// Why a run has no result, whose outputs are kept if it has outputs: a signal, if it received one, or else `failure`.
fn failure(
    shown: &Shown<'_>,
    entry: &dyn Entry,
    failure: Option<RunFailure>,
    signal: Option<u8>,
) -> CommandFailure {
    let checkpoints = shown.checkpoints;
    match (signal, failure) {
        (Some(signal), _) => {
            if let Some(advice) = checkpoints.advice() {
                tracing::warn!("{advice}");
            }
            CommandFailure::Interrupted(signal)
        }
        (None, Some(RunFailure::Rejected(rejected))) => match shown.results.place() {
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
    let (nodes, allowed) = (
        (&cluster.members[..], &cluster.pool[..]),
        arguments.allow_mixed_builds,
    );
    let mut job = match (arguments.checkpoints.resumed(), &arguments.file) {
        (Some(folder), _) => {
            let saved = SavedJob::open(folder, registry, allowed)?;
            RunJob::of_checkpoint(saved, nodes, registry, allowed)
        }
        (None, Some(file)) => {
            let mut assignments = arguments.overrides.assignments();
            assignments.extend(arguments.trace.then(|| TRACED.to_owned()));
            let job = RunJob::of_experiment(
                (file, assignments),
                (&arguments.checkpoints, arguments.no_recovery),
                nodes,
                registry,
                (allowed, plays),
            )?;
            match arguments.checkpoints.resumed_if_possible() {
                Some(folder) => job.resumed(folder, nodes, registry, allowed),
                None => Ok(job),
            }
        }
        (None, None) => Err(Failure::Usage(
            "name an experiment, FILE, or a saved job, --resume DIR".to_owned(),
        )),
    }?;
    job.request.grace = arguments.checkpoints.grace.unwrap_or_default();
    if !job.request.grace.is_zero() && job.request.checkpoint.is_none() {
        return Err(Failure::Usage(
            "--grace: there is no folder for a last checkpoint: add --checkpoint DIR".to_owned(),
        ));
    }
    job.write_files(
        arguments.has_files(),
        arguments.results.has_outputs_on_nodes(),
    );
    let is_wanted = job.loaded.experiment.recovery.enabled && !arguments.no_recovery;
    let can_go_on = arguments.detach || (is_wanted && 1 < job.request.members.len());
    if can_go_on && !plays {
        let begins_anew = job.saved.is_none() && job.request.checkpoint.is_none();
        job.request.view = Some(View {
            pool: job.hosts.pool.clone(),
            awaited: job.hosts.awaited.clone(),
            ..View::first(begins_anew)
        });
    }
    let takes_nodes = job.request.view.is_some() && job.request.setup.checkpointing.is_some();
    if let (Some(_), false) = (&job.hosts.awaited, takes_nodes) {
        let rule = "needs a job that goes on when a node is lost and whose processes are saved in memory, on two hosts beside the pool";
        let elasticity = &job.loaded.experiment.elasticity;
        let found = format!("{:?}", elasticity.pool);
        let fault = job
            .loaded
            .written
            .invalid("", "elasticity.pool", &found, rule);
        return Err(Failure::input(fault));
    }
    if job.request.view.is_some() {
        // Its leader asks for the nodes of the pool.
    } else if let Some(host) = cluster.pool.first() {
        tracing::warn!(
            "{} does not join: only a job on two nodes or more that goes on when a node is lost takes nodes of the pool",
            host.name
        );
    }
    Ok(job)
}

/// The page of the run before its first event.
fn page(
    shown: &Shown<'_>,
    scenario: Scenario,
    prepared: &PreparedExperiment,
    registry: &Registry,
) -> Result<LiveRun, Failure> {
    let out = &shown.results.out;
    let record = out.as_ref().map(|out| out.join(scenario.name()));
    let beginning = beginning(scenario, prepared, registry)?;
    LiveRun::new(&shown.name, beginning, record.as_deref(), registry)
}

/// Prints the report.
fn show(
    arguments: &ResultArguments,
    report: &Report,
    provenance: impl Fn() -> Result<Provenance, Failure>,
) -> Result<(), CommandFailure> {
    output::show(report, (arguments.format, arguments.all), provenance)
}

/// The recorder, if a record is wanted and there is a place for it.
fn recorder(
    arguments: &ResultArguments,
    scenario: Scenario,
    prepared: &PreparedExperiment,
    registry: &Registry,
) -> Result<Option<Recorder>, Failure> {
    let Some(folder) = &arguments.out else {
        return Ok(None);
    };
    check_folder(folder)?;
    if !arguments.force && prepared.view.is_none() {
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
    /// Its hosts.
    hosts: JobHosts,
    /// The node that tells of it, if the client does not submit it.
    attachment: Option<Attachment>,
}

impl RunJob {
    /// The experiment in `file`, changed by `assignments`, from its beginning. `plays`: its background load is played.
    ///
    /// # Errors
    ///
    /// If it cannot be run on `members`.
    pub(super) fn of_experiment(
        (file, mut assignments): (&Path, Vec<String>),
        (checkpoints, no_recovery): (&CheckpointArguments, bool),
        (members, pool): (&[Member], &[Member]),
        registry: &Registry,
        (are_mixed_builds_allowed, plays): (bool, bool),
    ) -> Result<Self, Failure> {
        let mut loaded = experiments::load_for_cluster(file, &assignments, registry)?;
        let is_on = loaded.experiment.checkpoint.is_on();
        let mut more: Vec<String> = checkpoints.assignments(is_on).into_iter().collect();
        let recovers = loaded.experiment.recovery.enabled && !no_recovery;
        let hosts = JobHosts::new(&loaded, members, pool)?;
        let has_buddies = loaded.experiment.checkpoint.copies && 1 < hosts.members.len();
        let is_by_itself = recovers && !plays && has_buddies && !is_on && more.is_empty();
        if is_by_itself {
            more.push(format!("checkpoint.interval={}", CheckpointTime::Optimal));
            let written = loaded.written.get("checkpoint");
            if written.is_none_or(|written| written.get("first").is_none()) {
                more.push(FIRST.to_owned());
            }
        }
        if !more.is_empty() {
            assignments.extend(more);
            let given = loaded.overrides;
            loaded = experiments::load_for_cluster(file, &assignments, registry)?;
            if is_by_itself {
                // The user has set none of this.
                loaded.overrides = given;
            }
        }
        let (prepared, mut request) =
            request(&loaded, &hosts, registry, are_mixed_builds_allowed, plays)?;
        request.checkpoint = checkpoints.folder()?;
        request.memory_part = is_by_itself.then_some(loaded.experiment.recovery.memory);
        Ok(Self {
            hosts,
            ..Self::of_request(loaded, prepared, request)
        })
    }

    /// A job that begins with nothing that is saved.
    fn of_request(loaded: Loaded, prepared: PreparedExperiment, request: Request) -> Self {
        Self {
            loaded,
            prepared,
            request,
            saved: None,
            files: None,
            hosts: JobHosts::default(),
            attachment: None,
        }
    }

    /// The same job from the newest complete checkpoint in `folder` on, if there is one.
    ///
    /// # Errors
    ///
    /// If that is of another experiment, or cannot go on here.
    fn resumed(
        self,
        folder: &Path,
        nodes: (&[Member], &[Member]),
        registry: &Registry,
        are_mixed_builds_allowed: bool,
    ) -> Result<Self, Failure> {
        let Some(saved) = SavedJob::find(folder, registry, are_mixed_builds_allowed)? else {
            return Ok(self);
        };
        match saved.compare(&self.request.experiment) {
            SavedExperiment::Same => {}
            SavedExperiment::SavedOtherwise => tracing::warn!(
                "the job goes on with [checkpoint] and [recovery] of the checkpoint in {}, which differ from those given",
                folder.display()
            ),
            SavedExperiment::Other => {
                return Err(Failure::Input(format!(
                    "{} has checkpoints of another experiment; name another folder",
                    folder.display()
                )));
            }
        }
        let saved = saved.with_folder(self.loaded.folder);
        Self::of_checkpoint(saved, nodes, registry, are_mixed_builds_allowed)
    }

    /// The job that is saved, from its newest checkpoint on.
    ///
    /// # Errors
    ///
    /// If it cannot go on here.
    fn of_checkpoint(
        saved: SavedJob,
        (members, pool): (&[Member], &[Member]),
        registry: &Registry,
        are_mixed_builds_allowed: bool,
    ) -> Result<Self, Failure> {
        let hosts = saved.hosts(members, pool)?;
        let (prepared, request) = saved.request(&hosts, registry, are_mixed_builds_allowed)?;
        let files = saved.files();
        let (loaded, states) = saved.into_states();
        Ok(Self {
            saved: Some(states),
            files,
            hosts,
            ..Self::of_request(loaded, prepared, request)
        })
    }

    /// The job that a node leads.
    ///
    /// # Errors
    ///
    /// If this program cannot read its experiment.
    pub(super) fn of_attachment(
        attachment: Attachment,
        registry: &Registry,
    ) -> Result<Self, Failure> {
        let (loaded, prepared, request) = attached(attachment.submit(), registry)?;
        Ok(Self {
            attachment: Some(attachment),
            ..Self::of_request(loaded, prepared, request)
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

    /// Runs the job, whose workload is `entry`, as `client`, from the states with which it begins if it is saved on disk; or follows
    /// it, as the node tells it that leads it.
    ///
    /// # Errors
    ///
    /// If it has no result.
    pub(super) fn run(
        &self,
        (entry, begin): (&dyn Entry, (Option<SavedStates>, Option<Attachment>)),
        client: Identity,
        observer: &mut dyn JobObserver,
        interrupted: impl Future<Output = ()>,
    ) -> Result<Outcome, RunFailure> {
        let request = &self.request;
        let outcome = match begin {
            (_, Some(attachment)) => {
                attachment.follow(request, entry.program_type(), observer, interrupted)
            }
            (Some(states), None) => {
                let saved = (states, entry.program_type());
                hosts::resume(client, request, saved, observer, interrupted)
            }
            (None, None) => {
                hosts::run(client, request, entry.program_type(), observer, interrupted)
            }
        };
        Ok(outcome?)
    }
}

/// When copies in memory are taken first, if a run takes them by itself: a run that is shorter pays nothing, and a loss before
/// costs less than that.
const FIRST: &str = "checkpoint.first=30 s";

/// What makes the observers of the next view of a job.
pub(super) struct ViewFollower<'a> {
    shown: &'a Shown<'a>,
    job: &'a RunJob,
    /// Whether the first view is of another client.
    is_attached: bool,
    registry: &'a Registry,
    /// The number of the job, once it has one.
    number: Option<JobId>,
    /// The experiment on the nodes of the newest view, if it is not the first.
    prepared: Option<PreparedExperiment>,
    /// The newest view, as long as its nodes have not begun.
    unbegun: Option<ViewChange>,
    /// The numbers of views that were over before there was anything to be recorded.
    unrecorded: BTreeSet<u64>,
    /// The later views.
    later: Vec<ViewReport>,
    began: Instant,
}

impl<'a> ViewFollower<'a> {
    fn new(
        shown: &'a Shown<'a>,
        (job, is_attached): (&'a RunJob, bool),
        registry: &'a Registry,
    ) -> Self {
        Self {
            shown,
            job,
            is_attached,
            registry,
            number: None,
            prepared: None,
            unbegun: None,
            unrecorded: BTreeSet::new(),
            later: Vec::new(),
            began: Instant::now(),
        }
    }

    /// The views of the job, if it has any.
    fn reports(&self, job: &RunJob) -> Option<Views> {
        job.request.view.as_ref()?;
        let first = ViewReport::new(&job.prepared, self.shown.results.out.is_some());
        let first = (!self.is_attached).then_some(first);
        let mut views: Vec<ViewReport> = first.into_iter().chain(self.later.clone()).collect();
        for view in &mut views {
            if self.unrecorded.contains(&view.number()) {
                view.set_unrecorded();
            }
        }
        Some(Views {
            seconds: self.began.elapsed().as_secs_f64(),
            views,
        })
    }
}

/// All that sees the events of a run.
pub(super) struct RunObservers<'a> {
    pub(super) views: ViewFollower<'a>,
    pub(super) progress: Progress,
    pub(super) watch: Watch,
    pub(super) disk: DiskWatch,
    pub(super) recorder: Option<FlushedRecorder>,
    pub(super) dashboard: Option<&'a Dashboard<LiveRun>>,
    /// The names of the hosts that have joined, or do not because it does not pay.
    joins: BTreeSet<String>,
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
            // What a node tells a client that attaches happened earlier.
            if !self.views.is_attached {
                recorder.date(event, SystemTime::now());
            }
            recorder.observe(event)?;
        }
        if let Some(dashboard) = self.dashboard {
            dashboard.observe(event);
        }
        if let Event::Join(join) = event {
            let ViewFollower { job, prepared, .. } = &self.views;
            let prepared = prepared.as_ref().unwrap_or(&job.prepared);
            let host = || prepared.platform.host(join.host).name.clone();
            let name = join.name.clone().unwrap_or_else(host);
            self.joins.insert(name);
        }
        (self.spectator)(event);
        Ok(())
    }

    fn miss_memory(&mut self, missing: &MissingMemory) {
        let MissingMemory { node, needed, free } = missing;
        tracing::warn!(
            "processes are not saved while they run: {node} has {} of memory, and the states of its processes and of its ward's \
             take {}; when a node is lost, the job begins again from its beginning",
            data(free.as_f64()),
            data(needed.as_f64())
        );
    }

    fn await_measurements(&mut self) {
        tracing::warn!(
            "the nodes still call each other, and probe the links between Sets with 1 to 4 MiB in each direction: the run begins when they \
             have"
        );
    }

    fn warn_of_certificates(&mut self, ending: &str) {
        tracing::warn!("{ending}");
    }

    /// Ends the record of the view that is over: the next one has its own.
    fn begin_view(&mut self, next: &NextView) -> Result<Setup, JobError> {
        let ViewFollower { job, registry, .. } = self.views;
        let (mut prepared, setup) = next_view(&job.loaded, &job.request, next, registry)
            .map_err(|failure| JobError::program(failure.to_string()))?;
        if let Some(view) = &mut prepared.view {
            let going_on = view_sentence(view, prepared.platform.hosts().len());
            tracing::warn!("{going_on}");
            if let Some(recorder) = self.recorder.take() {
                if !recorder.recorder.has_begun() {
                    let over = self.views.prepared.as_ref();
                    let over = over.and_then(|prepared| prepared.view.as_ref());
                    let number = over.map_or(1, |view| view.number);
                    self.views.unrecorded.insert(number);
                }
                recorder.fail(&(&Failure::Cluster(going_on)).into());
            }
            if let Some(earlier) = self.views.unbegun.take() {
                view.follow_unbegun(earlier);
            }
            self.views.unbegun = Some(view.clone());
        }
        self.progress.go_on(&prepared.platform);
        self.views.prepared = Some(prepared);
        Ok(setup)
    }

    fn view_begun(&mut self, restored: Seconds) -> Result<(), JobError> {
        let ViewFollower {
            shown,
            registry,
            prepared,
            later,
            number,
            unbegun,
            ..
        } = &mut self.views;
        let Some(prepared) = prepared else {
            return Ok(());
        };
        if let Some(view) = &mut prepared.view {
            view.restored = restored;
        }
        *unbegun = None;
        later.push(ViewReport::new(prepared, shown.results.out.is_some()));
        let scenario = scenario(prepared);
        let observers = || {
            let recorder = recorder(shown.results, scenario, prepared, registry)?;
            let watch = Watch::new(beginning(scenario, prepared, registry)?)?;
            let page = self
                .dashboard
                .map(|dashboard| (dashboard, page(shown, scenario, prepared, registry)));
            let page = page.map(|(dashboard, page)| Ok::<_, Failure>((dashboard, page?)));
            Ok::<_, Failure>((recorder, watch, page.transpose()?))
        };
        let made = observers().map_err(|failure| JobError::program(failure.to_string()))?;
        let (recorder, watch, page) = made;
        self.recorder = recorder.map(FlushedRecorder::new);
        if let (Some(recorder), Some(number)) = (&mut self.recorder, *number) {
            recorder.recorder.set_job(number);
        }
        self.watch = watch;
        if let Some((dashboard, page)) = page {
            dashboard.replace(page);
        }
        Ok(())
    }

    fn found_job(&mut self, job: JobId) {
        self.views.number = Some(job);
        if let Some(recorder) = &mut self.recorder {
            recorder.recorder.set_job(job);
        }
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

    /// Says when the run began, before its first event, which comes at `now`.
    fn date(&mut self, event: &Event, now: SystemTime) {
        if self.recorder.has_begun() {
            return;
        }
        // Nodes send what they record every few milliseconds.
        let since = match event {
            Event::Superstep(superstep) => (superstep.ended - bsp::units::Instant::START).get(),
            _ => 0.0,
        };
        if let Ok(now) = now.duration_since(SystemTime::UNIX_EPOCH) {
            self.recorder.set_began(now.as_secs_f64() - since);
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
    /// Go on from the newest complete checkpoint in the folder of --checkpoint, if there is one of this experiment; otherwise start
    #[arg(long, requires = "checkpoint")]
    resume_if_possible: bool,
    /// Go on from the newest checkpoint in a folder of --checkpoint, on these or other nodes: no FILE and no changes of it;
    /// later checkpoints are written to the same folder
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["file", "processes", "seed", "policy", "set", "checkpoint", "every"]
    )]
    resume: Option<PathBuf>,
    /// When a signal asks the run to end (SIGTERM, SIGUSR1, Ctrl-C): the time for a last checkpoint; a second signal ends it at once
    /// [default: none]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration)]
    grace: Option<Duration>,
}

impl CheckpointArguments {
    /// The folder of the job to go on with, if it is one that is saved.
    pub(crate) fn resumed(&self) -> Option<&Path> {
        self.resume.as_deref()
    }

    /// The folder of the job to go on with, if one is saved there.
    fn resumed_if_possible(&self) -> Option<&Path> {
        self.checkpoint
            .as_deref()
            .filter(|_| self.resume_if_possible)
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

/// The time for a last checkpoint of a job, unless another is given: Slurm kills a job 30 s after it has told it to end.
const GRACE_OF_JOB: Duration = Duration::from_secs(20);

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
