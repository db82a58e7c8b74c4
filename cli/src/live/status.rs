//! `migbsp status`: how the nodes of a cluster are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use analysis::document::{Answer, Document, Table, csv};
use analysis::text::{age, counted, data, rounded};
use bsp::numbers::real;
use bsp::units::Seconds;
use bsp::{Note, Notes};
use clap::Args;
use console::Term;
use experiments::{Failure, Provenance, Published, Registry};
use hosts::{NodeAnswer, inquire};
use machines::JobError;
use protocol::identity::{Certificate, Name, Validity, date, ending};
use protocol::{Build, BusyProcess, CallsStatus, Leader, LedJob, Member};
use serde::Serialize;
use tokio::sync::oneshot;

use crate::command::{Command, Context};
use crate::failure::CommandFailure;
use crate::live::cluster::{ClusterArguments, ClusterMembers};
use crate::live::help::STATUS_HELP;
use crate::live::links::positive_time;
use crate::output::{self, Format, print_json, print_text};
use crate::signals::TerminationSignal;

/// Arguments of `status`.
#[derive(Clone, Debug, Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    watch: WatchArguments,
}

/// The command `status`.
pub(crate) fn command() -> Command {
    Command::new("status", "Show the state of a cluster's nodes", execute)
        .after_long_help(STATUS_HELP)
}

/// Shows how the nodes of a cluster are.
///
/// # Errors
///
/// If there is no cluster, or a node does not answer; the others are shown first.
fn execute(arguments: &StatusArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    show(
        arguments,
        ClusterMembers::find(&arguments.cluster, context.registry())?,
        context.registry(),
    )
}

/// The same, of a cluster that is known.
pub(crate) fn show(
    arguments: &StatusArguments,
    cluster: ClusterMembers,
    registry: &Registry,
) -> Result<(), CommandFailure> {
    let provenance = Provenance::of_program(registry)?;
    if arguments.watch.is_wanted() {
        return watch(&arguments.watch, arguments.format, cluster, &provenance);
    }
    let own = cluster.client.certificate().clone();
    let asked = cluster.all();
    let answers = inquire(cluster.client, provenance.build(), asked.clone())
        .map_err(|error| Failure::Cluster(error.message))?;
    let nodes = asked.iter().zip(answers);
    let nodes: Vec<Row> = nodes
        .map(|((member, _), answer)| Row::new(member, answer))
        .collect();
    let silent = nodes.iter().filter(|row| row.problem.is_some()).count();
    let report = Report::new((provenance.build(), &own), nodes);
    output::show(&report, (arguments.format, true), || Ok(provenance))?;
    if silent == 0 {
        return Ok(());
    }
    let all = report.nodes.len();
    Err(Failure::Cluster(format!("{silent} of {all} nodes do not answer: see above")).into())
}

/// How a cluster is.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Report {
    /// The build of this client, for the text.
    #[serde(skip)]
    build: Build,
    /// What is said of certificates that end soon, for the text.
    #[serde(skip)]
    ending: Option<String>,
    /// When the certificate of the client ends.
    certificate_not_after: String,
    /// The nodes of the list of hosts.
    nodes: Vec<Row>,
}

impl Report {
    /// The cluster of `nodes`, for a client that runs this build and has this certificate.
    fn new((build, own): (&Build, &Certificate), nodes: Vec<Row>) -> Self {
        let names = nodes.iter().map(|row| row.name.parse().ok());
        let names: Vec<Option<Name>> = names.collect();
        let of_nodes = names.iter().zip(&nodes);
        let of_nodes = of_nodes.filter_map(|(name, row)| Some((name.as_ref()?, row.validity?)));
        let all = of_nodes.chain([(&own.subject.name, own.validity)]);
        Self {
            build: build.clone(),
            ending: ending(all, SystemTime::now()),
            certificate_not_after: date(own.validity.until()),
            nodes,
        }
    }
}

/// How a node is.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Row {
    /// Name of its host.
    name: String,
    /// Name of its Set.
    set: String,
    /// Where it listens.
    address: String,
    /// Why its state is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// The build that it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<Build>,
    /// How long its certificate is valid.
    #[serde(skip)]
    validity: Option<Validity>,
    /// When that ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_not_after: Option<String>,
    /// The workloads that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    workloads: Option<Vec<String>>,
    /// For how long it has been up.
    #[serde(skip_serializing_if = "Option::is_none")]
    up_seconds: Option<f64>,
    /// Instructions per second of one processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<f64>,
    /// Number of its processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    processors: Option<u32>,
    /// The fraction that others take, over a quarter of an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<f64>,
    /// The same over a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    load_recent: Option<f64>,
    /// The processes of other programs that keep its machine busy, the oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    others: Option<Vec<OtherProcess>>,
    /// Client of its job.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// The number of the job, which `attach` and `end` take.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    /// Who leads it: `client`, the name of a node, or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<String>,
    /// Which of its views the node is in, if it has views.
    #[serde(skip_serializing_if = "Option::is_none")]
    view: Option<u64>,
    /// The nodes of that view, while the job has no leader.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    awaited: Vec<String>,
    /// Supersteps of its job that have begun there.
    #[serde(skip_serializing_if = "Option::is_none")]
    superstep: Option<u64>,
    /// The number of supersteps of the job, if its experiment has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    supersteps: Option<u64>,
    /// Processes of its job on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<u32>,
    /// The calls of the job, on the node of its first Set Manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<CallsRow>,
    /// The notes of the last superstep of the job that has some, on the node of its first Set Manager.
    #[serde(skip_serializing_if = "Notes::is_empty")]
    notes: Notes,
    /// A superstep of an ended job, because of which it accepts no job.
    #[serde(skip_serializing_if = "Option::is_none")]
    abandoned: Option<AbandonedRow>,
    /// Jobs that have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<u64>,
    /// Connections and frames refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<u64>,
    /// Bytes of memory that its process occupies.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    /// The jobs that it leads, or has led and keeps the results of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    led: Vec<LedRow>,
}

/// A job that a node leads or has led.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct LedRow {
    /// Its number.
    job: String,
    /// The name of its client.
    owner: String,
    /// How long ago it ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_seconds: Option<f64>,
}

impl LedRow {
    fn new(led: &LedJob) -> Self {
        Self {
            job: format!("{:016x}", led.job),
            owner: led.owner.clone(),
            ended_seconds: led.ended.map(Seconds::get),
        }
    }
}

/// The calls of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct CallsRow {
    /// Their number.
    count: u64,
    /// Processes that all of them have moved.
    moves: u64,
    /// The number of supersteps that were complete before the last one.
    last_superstep: u64,
    /// The number of processes that the last one has moved.
    last_moves: u64,
}

/// A busy process of another program.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct OtherProcess {
    /// Name of its program.
    name: String,
    /// Its number in the operating system.
    pid: u32,
    /// The processor time that it has consumed.
    processor_seconds: f64,
}

/// A superstep that goes on after the end of its job.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct AbandonedRow {
    /// Its process.
    #[cfg_attr(feature = "schemas", schemars(pattern("^p[1-9][0-9]*$")))]
    process: String,
    /// The superstep.
    superstep: u64,
    /// For how long it has gone on.
    seconds: f64,
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.status/1";
}

impl Row {
    /// The row of `member`.
    fn new(member: &Member, answer: NodeAnswer) -> Self {
        let (status, problem) = match answer.status {
            Ok(status) => (Some(status), None),
            Err(error) => (None, Some(error.message)),
        };
        let status = status.as_ref();
        let job = status.and_then(|status| status.job.as_ref());
        let abandoned = status.and_then(|status| status.abandoned.as_ref());
        Self {
            name: member.name.clone(),
            set: member.set.clone(),
            address: member.address.clone(),
            problem,
            build: answer.build,
            validity: answer.validity,
            certificate_not_after: answer.validity.map(|validity| date(validity.until())),
            workloads: status.map(|status| status.workloads.clone()),
            up_seconds: status.map(|status| status.up.get()),
            speed: status.map(|status| status.speed),
            processors: status.map(|status| status.processors),
            load: status.map(|status| status.load.0),
            load_recent: status.map(|status| status.load.1),
            others: status.map(|status| OtherProcess::oldest_first(&status.others)),
            client: job.map(|job| job.client.clone()),
            job: job.map(|job| format!("{:016x}", job.job)),
            leader: job.map(|job| match &job.leader {
                Leader::Client => "client".to_owned(),
                Leader::Node(name) => name.clone(),
                Leader::None(_) => "none".to_owned(),
            }),
            view: job.map(|job| job.view).filter(|view| 0 < *view),
            awaited: job.map_or_else(Vec::new, |job| match &job.leader {
                Leader::None(awaited) => awaited.clone(),
                Leader::Client | Leader::Node(_) => Vec::new(),
            }),
            superstep: job.map(|job| job.superstep),
            supersteps: job.and_then(|job| job.supersteps),
            calls: job.and_then(|job| job.calls.as_ref()).map(CallsRow::new),
            notes: job.map_or_else(Notes::default, |job| job.notes.clone()),
            processes: job.map(|job| job.processes),
            abandoned: abandoned.map(|abandoned| AbandonedRow {
                process: abandoned.rank.to_string(),
                superstep: abandoned.superstep,
                seconds: abandoned.since.get(),
            }),
            jobs: status.map(|status| status.jobs),
            refused: status.map(|status| status.refused),
            memory_bytes: status.and_then(|status| status.memory),
            led: status.map_or_else(Vec::new, |status| {
                status.led.iter().map(LedRow::new).collect()
            }),
        }
    }

    /// The row of `member`, of which nothing is known because of `problem`.
    fn unknown(member: &Member, problem: String) -> Self {
        Self::new(member, NodeAnswer::failed(JobError::cluster(problem)))
    }

    /// The oldest busy process of another program.
    fn oldest(&self) -> Option<&OtherProcess> {
        self.others.as_ref()?.first()
    }
}

impl CallsRow {
    const fn new(calls: &CallsStatus) -> Self {
        Self {
            count: calls.count,
            moves: calls.moves,
            last_superstep: calls.last,
            last_moves: calls.last_moves,
        }
    }
}

impl OtherProcess {
    /// Those of `busy`, in whatever order a node sends them.
    fn oldest_first(busy: &[BusyProcess]) -> Vec<Self> {
        let mut busy: Vec<_> = busy.iter().collect();
        busy.sort_by_key(|process| (Reverse(process.age()), process.pid()));
        let others = busy.into_iter().map(|process| Self {
            name: process.name().to_owned(),
            pid: process.pid(),
            processor_seconds: process.age().get(),
        });
        others.collect()
    }
}

impl AbandonedRow {
    fn sentence(&self) -> String {
        let Self {
            process, superstep, ..
        } = self;
        let seconds = age(self.seconds);
        format!(
            "superstep {superstep} of {process} has gone on for {seconds} although its job has ended; the node accepts \
             jobs when it ends: restart the node if it never does"
        )
    }
}

impl Answer for Report {
    fn document(&self) -> Document {
        let shown = |value: Option<String>| value.unwrap_or_default();
        let program = |row: &Row| match &row.build {
            Some(build) => format!("{} {}", build.program(), build.version()),
            None => "no answer".to_owned(),
        };
        let nodes = Table::of(
            &self.nodes,
            &[
                ("node", &|row| row.name.clone()),
                ("Set", &|row| row.set.clone()),
                ("address", &|row| row.address.clone()),
                ("program", &|row| program(row)),
                ("build", &|row| shown(row.build.as_ref().map(Build::short))),
                ("up", &|row| shown(row.up_seconds.map(age))),
                ("Minstr/s", &|row| {
                    shown(row.speed.map(|speed| rounded(speed / 1e6, 0)))
                }),
                ("processors", &|row| {
                    shown(row.processors.map(|count| count.to_string()))
                }),
                ("load", &|row| {
                    shown(row.load_recent.map(|load| rounded(load, 2)))
                }),
                ("others", &|row| {
                    shown(row.others.as_ref().map(|others| others.len().to_string()))
                }),
                ("oldest", &|row| {
                    shown(row.oldest().map(|oldest| {
                        let OtherProcess {
                            name,
                            processor_seconds,
                            ..
                        } = oldest;
                        format!("{name} {}", age(*processor_seconds))
                    }))
                }),
                ("job of", &|row| {
                    row.client.clone().unwrap_or_else(|| "-".to_owned())
                }),
                ("superstep", &|row| {
                    shown(row.superstep.map(|superstep| superstep.to_string()))
                }),
                ("processes", &|row| {
                    shown(row.processes.map(|count| count.to_string()))
                }),
            ],
        );
        let mut document = Document::default();
        document.table(nodes.dispensing(&[6, 7, 8, 4, 3, 13, 2, 10, 9]));
        for line in job_sentences(&self.nodes).iter().chain(&self.ending) {
            document.say(line);
        }
        for row in &self.nodes {
            if let Some(problem) = &row.problem {
                document.say(format!("{}: {problem}", row.name));
            }
            if let Some(abandoned) = &row.abandoned {
                document.say(format!("{}: {}", row.name, abandoned.sentence()));
            }
            let other = row.build.as_ref().filter(|build| **build != self.build);
            if let Some(other) = other {
                let own = &self.build;
                let remedy =
                    "`run` needs --allow-mixed-builds at both ends, or one build on all hosts";
                document.say(format!(
                    "{}: runs {other}, this client runs {own}: {remedy}",
                    row.name
                ));
            }
        }
        document
    }

    /// One row for each node.
    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let build = |row: &Row, part: fn(&Build) -> String| row.build.as_ref().map(part);
        csv::<Self, _>(
            provenance,
            &self.nodes,
            &[
                ("name", &|row| row.name.as_str().into()),
                ("set", &|row| row.set.as_str().into()),
                ("address", &|row| row.address.as_str().into()),
                ("program", &|row| {
                    build(row, |build| build.program().to_owned()).into()
                }),
                ("version", &|row| {
                    build(row, |build| build.version().to_owned()).into()
                }),
                ("build_sha256", &|row| build(row, Build::sha256).into()),
                ("speed", &|row| row.speed.into()),
                ("processors", &|row| row.processors.into()),
                ("load", &|row| row.load.into()),
                ("load_recent", &|row| row.load_recent.into()),
                ("others", &|row| row.others.as_ref().map(Vec::len).into()),
                ("oldest_name", &|row| {
                    row.oldest().map(|oldest| oldest.name.as_str()).into()
                }),
                ("oldest_pid", &|row| {
                    row.oldest().map(|oldest| oldest.pid).into()
                }),
                ("oldest_processor_seconds", &|row| {
                    row.oldest().map(|oldest| oldest.processor_seconds).into()
                }),
                ("client", &|row| row.client.as_deref().into()),
                ("problem", &|row| row.problem.as_deref().into()),
            ],
        )
    }
}

/// What is said of jobs that no client leads: each once, with the nodes that say it.
fn job_sentences(nodes: &[Row]) -> Vec<String> {
    let mut said: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for row in nodes {
        if let (Some(job), Some(leader)) = (&row.job, &row.leader)
            && leader != "client"
        {
            let view = row.view.unwrap_or_default();
            let sentence = if leader == "none" {
                let count = row.awaited.len();
                let missing = missing(row, nodes);
                let missing = if missing.is_empty() {
                    String::new()
                } else {
                    format!(", without {}", missing.join(", "))
                };
                format!(
                    "job {job} has no leader since view {view}: it waits for more than half of its {count} nodes{missing}"
                )
            } else {
                format!(
                    "job {job} is led by {leader}, view {view}: `attach {job}` follows it, `end {job}` ends it"
                )
            };
            said.entry(sentence).or_default().push(&row.name);
        }
        for led in &row.led {
            if let Some(ended) = led.ended_seconds {
                let LedRow { job, owner, .. } = led;
                let sentence = format!(
                    "job {job} of {owner} ended {} ago: `attach {job}` fetches its results",
                    age(ended)
                );
                said.entry(sentence).or_default().push(&row.name);
            }
        }
    }
    let sentences = said.into_iter();
    sentences
        .map(|(sentence, nodes)| format!("{}: {sentence}", nodes.join(", ")))
        .collect()
}

/// The nodes that the one of `row` awaits and that do not say that they are in the same job.
fn missing<'a>(row: &'a Row, nodes: &[Row]) -> Vec<&'a str> {
    let is_there = |name: &str| {
        let mut others = nodes.iter();
        others.any(|other| other.name == name && other.job == row.job)
    };
    let awaited = row.awaited.iter().map(String::as_str);
    awaited.filter(|name| !is_there(name)).collect()
}

/// Options of `--watch`.
#[derive(Clone, Debug, Args)]
struct WatchArguments {
    /// Show the nodes again and again until Ctrl-C; a terminal is cleared each time
    #[arg(long)]
    watch: bool,
    /// Time from one to the next [default: 1s]
    #[arg(long, value_name = "DURATION", requires = "watch", allow_hyphen_values = true, value_parser = interval)]
    every: Option<Duration>,
}

impl WatchArguments {
    const fn is_wanted(&self) -> bool {
        self.watch
    }
}

/// Shows the cluster until the user or a signal ends it. Nodes that do not answer are shown as such.
///
/// # Errors
///
/// If a signal ends it, there are no sockets, or stdout is gone.
fn watch(
    arguments: &WatchArguments,
    format: Format,
    cluster: ClusterMembers,
    provenance: &Provenance,
) -> Result<(), CommandFailure> {
    if format == Format::Csv {
        let problem =
            "--watch: csv has one header and one table: use --format json, an object each time";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    let every = arguments.every.unwrap_or(EVERY);
    let own = cluster.client.certificate().clone();
    let all = cluster.all().into_iter();
    let members = all.map(|(member, _)| member).collect();
    let watched = Watched::new(members, every, Instant::now());
    let answers = Answers::begin(cluster, provenance.build(), every)?;
    let terminal = Term::stdout();
    let shown = each_time(watched, &answers, every, |watched, now| match format {
        Format::Json => print_json(provenance, &watched.report((provenance.build(), &own), now)),
        Format::Table | Format::Csv => {
            if terminal.is_term() {
                terminal.clear_screen()?;
            }
            let build = (provenance.build(), &own);
            table(watched, &watched.report(build, now), now)
        }
    });
    let ended = answers.end();
    shown.and(ended)
}

/// The answers of nodes, received by a thread of its own.
struct Answers {
    /// Without a value, there are no more.
    received: mpsc::Receiver<Option<(usize, NodeAnswer)>>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<(), JobError>>,
    termination: TerminationSignal,
}

impl Answers {
    fn begin(cluster: ClusterMembers, build: &Build, every: Duration) -> Result<Self, Failure> {
        let (asked, client) = (cluster.all(), cluster.client);
        let (sender, received) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let termination = TerminationSignal::default();
        let (build, signal) = (build.clone(), termination.clone());
        let thread = thread::Builder::new().name("status".to_owned());
        let thread = thread.spawn(move || {
            // The user may have left.
            let send = |answer| drop(sender.send(answer));
            let mut answered = |index, answer| send(Some((index, answer)));
            let ended = async {
                tokio::select! {
                    biased;
                    _stopped = stopped => {}
                    () = signal.received() => {}
                }
                send(None);
            };
            hosts::watch(client, &build, (asked, every), &mut answered, ended)
        });
        Ok(Self {
            received,
            stop,
            thread: thread.map_err(Failure::run)?,
            termination,
        })
    }

    /// Ends the questions.
    fn end(self) -> Result<(), CommandFailure> {
        // It may have ended by itself.
        self.stop.send(()).unwrap_or_default();
        let ended = self.thread.join();
        if let Some(signal) = self.termination.number() {
            let message = "interrupted".to_owned();
            return Err(CommandFailure::Stopped { signal, message });
        }
        match ended {
            Ok(ended) => Ok(ended.map_err(|error| Failure::Cluster(error.message))?),
            Err(_) => {
                Err(Failure::Run("the thread that asks nodes has panicked".to_owned()).into())
            }
        }
    }
}

/// Shows the cluster `every` so often.
fn each_time(
    mut watched: Watched,
    answers: &Answers,
    every: Duration,
    mut show: impl FnMut(&Watched, Instant) -> Result<(), CommandFailure>,
) -> Result<(), CommandFailure> {
    let mut next = Instant::now() + every;
    loop {
        let left = next.saturating_duration_since(Instant::now());
        match answers.received.recv_timeout(left) {
            Ok(Some((index, answer))) => watched.take(index, answer, Instant::now()),
            Ok(None) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                show(&watched, Instant::now())?;
                next += every;
            }
        }
    }
}

fn table(watched: &Watched, report: &Report, now: Instant) -> Result<(), CommandFailure> {
    let (answering, all) = watched.answering(now);
    let since = age(watched.since(now).as_secs_f64());
    let mut lines = vec![format!("After {since}: {answering} of {all} nodes answer.")];
    lines.extend(watched.jobs().iter().map(WatchedJob::sentence));
    let mut document = Document::default();
    document.say(lines.join("\n"));
    let rows = watched.cells(now).into_iter().map(Vec::from);
    document.table(Table::new(HEADERS, rows).dispensing(&[7, 6, 5, 1]));
    for line in report.ending.iter().chain(&watched.problems(now)) {
        document.say(line);
    }
    print_text(true, |layout| document.text(layout) + "\n")
}

/// A time between two looks.
fn interval(text: &str) -> Result<Duration, String> {
    let seconds: Seconds = positive_time(text)?;
    if seconds.get() < LEAST {
        return Err(format!("must be at least {LEAST} s"));
    }
    Duration::try_from_secs_f64(seconds.get()).map_err(|error| error.to_string())
}

/// The default of `--every`.
const EVERY: Duration = Duration::from_secs(1);
/// Seconds; nodes have other work.
const LEAST: f64 = 0.1;

/// What is known of a cluster that is watched.
#[derive(Debug)]
struct Watched {
    members: Vec<Member>,
    nodes: Vec<WatchedNode>,
    /// By client.
    rates: BTreeMap<String, JobRate>,
    /// The time without an answer after which a node counts as silent.
    patience: Duration,
    began: Instant,
}

/// What is known of a node.
#[derive(Debug)]
struct WatchedNode {
    /// Its last answer, or why there is none.
    row: Option<Row>,
    /// When it answered last, or when it was asked first.
    heard: Instant,
}

/// A job, as its nodes together know it.
#[derive(Clone, Debug, PartialEq)]
struct WatchedJob {
    client: String,
    /// Supersteps that have begun.
    superstep: u64,
    supersteps: Option<u64>,
    calls: Option<CallsRow>,
    notes: Notes,
    per_second: Option<f64>,
}

/// Titles of the columns.
const HEADERS: [&str; 9] = [
    "node",
    "Set",
    "superstep",
    "processes",
    "load",
    "others",
    "memory",
    "up",
    "job of",
];

impl Watched {
    /// Nothing is known at `now` of `members`, which are asked `every` so often.
    fn new(members: Vec<Member>, every: Duration, now: Instant) -> Self {
        let unknown = |_: &Member| WatchedNode {
            row: None,
            heard: now,
        };
        Self {
            nodes: members.iter().map(unknown).collect(),
            members,
            rates: BTreeMap::new(),
            patience: PATIENCE.max(2 * every),
            began: now,
        }
    }

    /// The node at position `index` has answered at `now`, or cannot be asked.
    fn take(&mut self, index: usize, answer: NodeAnswer, now: Instant) {
        let (Some(member), Some(node)) = (self.members.get(index), self.nodes.get_mut(index))
        else {
            return;
        };
        let row = Row::new(member, answer);
        if row.problem.is_none() {
            node.heard = now;
        }
        node.row = Some(row);
        let jobs = self.jobs();
        for job in &jobs {
            self.rates
                .entry(job.client.clone())
                .or_default()
                .add(now, job.superstep);
        }
        self.rates
            .retain(|client, _| jobs.iter().any(|job| job.client == *client));
    }

    /// The time from the beginning until `now`.
    fn since(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }

    /// The jobs under way, by client.
    fn jobs(&self) -> Vec<WatchedJob> {
        let mut jobs: BTreeMap<&str, WatchedJob> = BTreeMap::new();
        for row in self.nodes.iter().filter_map(|node| node.row.as_ref()) {
            let (Some(client), Some(superstep)) = (&row.client, row.superstep) else {
                continue;
            };
            let job = jobs.entry(client).or_insert_with(|| WatchedJob {
                client: client.clone(),
                superstep: 0,
                supersteps: row.supersteps,
                calls: None,
                notes: Notes::default(),
                per_second: self.rates.get(client).and_then(JobRate::per_second),
            });
            job.superstep = job.superstep.max(superstep);
            job.calls = job.calls.or(row.calls);
            if job.notes.is_empty() {
                job.notes.clone_from(&row.notes);
            }
        }
        jobs.into_values().collect()
    }

    /// The number of nodes that answer at `now`, and of all.
    fn answering(&self, now: Instant) -> (usize, usize) {
        let answering = (0..self.nodes.len()).filter(|index| self.is_answering(*index, now));
        (answering.count(), self.nodes.len())
    }

    /// Whether the node at position `index` answers at `now`.
    fn is_answering(&self, index: usize, now: Instant) -> bool {
        let is_known = self.nodes[index].row.is_some();
        is_known && self.problem(index, now).is_none()
    }

    /// A row for each node at `now`, in the columns of [`HEADERS`].
    fn cells(&self, now: Instant) -> Vec<[String; 9]> {
        let nodes = 0..self.nodes.len();
        nodes.map(|index| self.cells_of(index, now)).collect()
    }

    /// The cluster at `now`, for the client `of` this build and certificate.
    fn report(&self, of: (&Build, &Certificate), now: Instant) -> Report {
        let nodes = self.nodes.iter().enumerate().map(|(index, node)| {
            let problem = self.problem(index, now).or_else(|| {
                let unasked = node.row.is_none();
                unasked.then(|| "has not answered yet".to_owned())
            });
            match (&node.row, problem) {
                (Some(row), None) => row.clone(),
                (_, problem) => Row::unknown(&self.members[index], problem.unwrap_or_default()),
            }
        });
        Report::new(of, nodes.collect())
    }

    /// Why nodes do not answer at `now`, a sentence for each that says why.
    fn problems(&self, now: Instant) -> Vec<String> {
        let nodes = (0..self.nodes.len()).filter(|index| !self.is_answering(*index, now));
        let reasons = nodes.filter_map(|index| {
            let reason = self.nodes[index].row.as_ref()?.problem.as_ref()?;
            Some(format!("{}: {reason}", self.members[index].name))
        });
        reasons.collect()
    }

    fn cells_of(&self, index: usize, now: Instant) -> [String; 9] {
        let member = &self.members[index];
        let mut cells: [String; 9] = Default::default();
        cells[0].clone_from(&member.name);
        cells[1].clone_from(&member.set);
        if self.problem(index, now).is_some() {
            let heard = self.nodes[index].heard;
            let silent = now.saturating_duration_since(heard);
            cells[8] = format!("no answer for {}", age(silent.as_secs_f64()));
            return cells;
        }
        let Some(row) = &self.nodes[index].row else {
            cells[8] = "is asked".to_owned();
            return cells;
        };
        let shown = |value: Option<String>| value.unwrap_or_default();
        cells[2] = shown(row.superstep.map(|superstep| superstep.to_string()));
        cells[3] = shown(row.processes.map(|count| count.to_string()));
        cells[4] = shown(row.load_recent.map(|load| rounded(load, 2)));
        cells[5] = shown(row.others.as_ref().map(|others| others.len().to_string()));
        cells[6] = shown(row.memory_bytes.map(in_bytes));
        cells[7] = shown(row.up_seconds.map(age));
        cells[8] = match (&row.client, &row.abandoned) {
            (Some(client), _) => client.clone(),
            (None, Some(abandoned)) => abandoned.sentence(),
            (None, None) => "-".to_owned(),
        };
        cells
    }

    /// Why nothing is known of a node at `now`, if it has been asked for long enough.
    fn problem(&self, index: usize, now: Instant) -> Option<String> {
        let node = &self.nodes[index];
        let silent = now.saturating_duration_since(node.heard);
        let reason = node.row.as_ref().and_then(|row| row.problem.as_deref());
        if reason.is_none() && silent < self.patience {
            return None;
        }
        let silence = || format!("no answer for {}", age(silent.as_secs_f64()));
        Some(reason.map_or_else(silence, str::to_owned))
    }
}

impl WatchedJob {
    /// How far it is, how fast, and what its calls did.
    fn sentence(&self) -> String {
        let mut sentence = format!("{}: superstep {}", self.client, self.superstep);
        if let Some(all) = self.supersteps {
            sentence.push_str(&format!(" of {all}"));
        }
        if let Some(rate) = self.per_second {
            let digits = if rate < 10.0 { 2 } else { 0 };
            sentence.push_str(&format!(", {} per second", rounded(rate, digits)));
        }
        if let Some(left) = self.left() {
            sentence.push_str(&format!(", {} left", age(left)));
        }
        if let Some(calls) = &self.calls {
            let CallsRow {
                count,
                moves,
                last_superstep,
                last_moves,
            } = calls;
            let several =
                |count: u64, what| counted(usize::try_from(count).unwrap_or(usize::MAX), what);
            let (count, moves) = (several(*count, "call"), several(*moves, "move"));
            sentence.push_str(&format!(
                "; {count} with {moves}, the last one after superstep {last_superstep} with {last_moves}"
            ));
        }
        if !self.notes.is_empty() {
            let notes = self
                .notes
                .iter()
                .map(|(name, note)| format!("{name} {}", noted(note)));
            let notes: Vec<String> = notes.take(NOTES).collect();
            sentence.push_str(&format!("; {}", notes.join(", ")));
            if NOTES < self.notes.len() {
                sentence.push_str(", …");
            }
        }
        sentence
    }

    /// Seconds until the end at the present rate, if both are known.
    fn left(&self) -> Option<f64> {
        let rate = self.per_second.filter(|rate| 0.0 < *rate)?;
        let left = self.supersteps?.saturating_sub(self.superstep);
        Some(real(left) / rate)
    }
}

/// How fast the supersteps of a job follow each other, by the last seconds.
#[derive(Clone, Debug, Default)]
struct JobRate {
    /// Times with the number of supersteps that had begun, the latest last.
    samples: VecDeque<(Instant, u64)>,
}

impl JobRate {
    /// At `now`, this number of supersteps has begun.
    fn add(&mut self, now: Instant, superstep: u64) {
        if self
            .samples
            .back()
            .is_some_and(|(_, last)| superstep < *last)
        {
            // Another job of the same client.
            self.samples.clear();
        }
        self.samples.push_back((now, superstep));
        // The oldest sample is the beginning of the window, or before it.
        while self
            .samples
            .get(1)
            .is_some_and(|(second, _)| WINDOW <= now.duration_since(*second))
        {
            self.samples.pop_front();
        }
    }

    /// Supersteps per second, once two samples are far enough apart.
    fn per_second(&self) -> Option<f64> {
        let ((first, from), (last, to)) = (self.samples.front()?, self.samples.back()?);
        let seconds = last.duration_since(*first);
        let supersteps = u32::try_from(to - from).unwrap_or(u32::MAX);
        (SHORTEST <= seconds).then(|| f64::from(supersteps) / seconds.as_secs_f64())
    }
}

/// The value of a note; of several, their mean with the least and the greatest.
fn noted(note: &Note) -> String {
    if note.count == 1 {
        return rounded(note.min, 4);
    }
    let [mean, least, greatest] =
        [note.mean(), note.min, note.max].map(|number| rounded(number, 4));
    format!("{mean} ({least} to {greatest})")
}

/// The most notes of a job that are shown.
const NOTES: usize = 4;

fn in_bytes(bytes: u64) -> String {
    data(real(bytes))
}

/// A node that is silent for less may be busy.
const PATIENCE: Duration = Duration::from_secs(3);

/// The time over which the rate is a mean.
const WINDOW: Duration = Duration::from_secs(10);
/// A shorter time says little.
const SHORTEST: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use bsp::{Reductions, reference};
    use protocol::{JobStatus, Status};

    use super::*;

    fn member(name: &str, set: &str) -> Member {
        Member {
            name: name.to_owned(),
            address: "127.0.0.1:7447".to_owned(),
            set: set.to_owned(),
            slots: 1,
            speed: 1.0,
        }
    }

    /// An answer of a node that has begun this number of supersteps of 1000, or has no job.
    fn answer(superstep: Option<u64>, calls: Option<CallsStatus>) -> NodeAnswer {
        let job = superstep.map(|superstep| JobStatus {
            job: 0xa1,
            client: "laptop".to_owned(),
            leader: Leader::Client,
            view: 0,
            since: Seconds::ZERO,
            superstep,
            supersteps: Some(1000),
            processes: 8,
            calls,
            notes: Notes::default(),
        });
        NodeAnswer {
            build: None,
            validity: None,
            status: Ok(Status {
                workloads: Vec::new(),
                abandoned: None,
                up: Seconds::new(7440.0).unwrap(),
                speed: 1e9,
                processors: 2,
                load: (0.1, 0.25),
                job,
                jobs: 0,
                refused: 0,
                memory: Some(35_000_000),
                led: Vec::new(),
                others: Vec::new(),
            }),
        }
    }

    fn refused() -> NodeAnswer {
        NodeAnswer::failed(JobError::cluster("node-2 is lost"))
    }

    const CALLS: CallsStatus = CallsStatus {
        count: 3,
        moves: 7,
        last: 100,
        last_moves: 2,
    };

    #[test]
    fn a_job_is_what_its_nodes_know_together() {
        let began = Instant::now();
        let every = Duration::from_secs(1);
        let members = vec![member("node-1", "left"), member("node-2", "right")];
        let mut watched = Watched::new(members, every, began);
        assert_eq!(watched.jobs(), []);
        for second in 0..3_u32 {
            let now = began + second * every;
            let superstep = 100 + 20 * u64::from(second);
            watched.take(0, answer(Some(superstep), Some(CALLS)), now);
            watched.take(1, answer(Some(superstep - 1), None), now);
        }
        let jobs = watched.jobs();
        let sentences: Vec<String> = jobs.iter().map(WatchedJob::sentence).collect();
        assert_eq!(
            sentences,
            [
                "laptop: superstep 140 of 1000, 20 per second, 43 s left; 3 calls with 7 moves, the last one after superstep \
              100 with 2"
            ]
        );
        let mut noted = Reductions::noted("residual", 0.5);
        noted.combine(Reductions::noted("residual", 1.5));
        noted.combine(Reductions::noted("left", 7.0));
        let now = began + 3 * every;
        for (index, calls) in [(0, Some(CALLS)), (1, None)] {
            let mut answer = answer(Some(160), calls);
            if index == 0 {
                let job = answer.status.as_mut().unwrap().job.as_mut().unwrap();
                job.notes = reference::conclude(noted.clone(), 159).unwrap().notes;
            }
            watched.take(index, answer, now);
        }
        let sentence = watched.jobs()[0].sentence();
        let notes = "; left 7.0000, residual 1.0000 (0.5000 to 1.5000)";
        assert!(sentence.ends_with(notes), "{sentence}");
        let now = began + 4 * every;
        watched.take(0, answer(None, None), now);
        watched.take(1, answer(None, None), now);
        assert_eq!(watched.jobs(), []);
        assert!(watched.rates.is_empty());
    }

    #[test]
    fn silent_nodes_are_shown_as_such() {
        let began = Instant::now();
        let every = Duration::from_secs(1);
        let members = ["node-1", "node-2", "node-3"].map(|name| member(name, "all"));
        let mut watched = Watched::new(members.to_vec(), every, began);
        let at = |seconds| began + Duration::from_secs(seconds);
        let last = |watched: &Watched, now| {
            watched
                .cells(now)
                .into_iter()
                .map(|cells| cells[8].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(last(&watched, at(0)), ["is asked"; 3]);
        for index in 0..3 {
            watched.take(index, answer(None, None), at(1));
        }
        assert_eq!(watched.answering(at(2)), (3, 3));
        watched.take(0, answer(None, None), at(8));
        watched.take(1, refused(), at(8));
        assert_eq!(watched.answering(at(9)), (1, 3));
        assert_eq!(
            last(&watched, at(9)),
            ["-", "no answer for 8 s", "no answer for 8 s"]
        );
        assert_eq!(watched.problems(at(9)), ["node-2: node-2 is lost"]);
        watched.take(1, answer(None, None), at(10));
        watched.take(2, answer(None, None), at(10));
        assert_eq!(watched.answering(at(10)), (3, 3));
    }

    #[test]
    fn the_rate_is_that_of_the_last_ten_seconds() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut rate = JobRate::default();
        rate.add(at(0), 100);
        assert_eq!(rate.per_second(), None);
        for second in 1..=20 {
            rate.add(at(second), 100 + 5 * second);
        }
        assert_eq!(rate.per_second(), Some(5.0));
        for second in 21..=25 {
            rate.add(at(second), 200);
        }
        assert_eq!(rate.per_second(), Some(2.5));
        for second in 26..=36 {
            rate.add(at(second), 200);
        }
        assert_eq!(rate.per_second(), Some(0.0));
        rate.add(at(37), 3);
        assert_eq!(rate.per_second(), None);
        rate.add(at(38), 7);
        assert_eq!(rate.per_second(), Some(4.0));
    }
}
