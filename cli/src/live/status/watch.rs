//! `status --watch`: a cluster, again and again.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bsp::units::Seconds;
use clap::Args;
use console::Term;
use hosts::NodeAnswer;
use machines::JobError;
use protocol::Build;
use tokio::sync::oneshot;

use super::watched::{HEADERS, Watched};
use crate::failure::CommandFailure;
use crate::live::between::positive_time;
use crate::live::cluster_members::{ClusterMembers, roles};
use crate::output::{Format, print_json, print_text};
use crate::signals::TerminationSignal;
use analysis::text::age;
use experiments::{Failure, Provenance};

/// Options of `--watch`.
#[derive(Clone, Debug, Args)]
pub(super) struct WatchArguments {
    /// Show the nodes again and again until Ctrl-C; a terminal is cleared each time
    #[arg(long)]
    watch: bool,
    /// Time from one to the next [default: 1s]
    #[arg(long, value_name = "DURATION", requires = "watch", allow_hyphen_values = true, value_parser = interval)]
    every: Option<Duration>,
}

impl WatchArguments {
    pub(super) const fn is_wanted(&self) -> bool {
        self.watch
    }
}

/// Shows the cluster until the user or a signal ends it. Nodes that do not answer are shown as such.
///
/// # Errors
///
/// If a signal ends it, there are no sockets, or stdout is gone.
pub(super) fn watch(
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
    let watched = Watched::new(cluster.members.clone(), every, Instant::now());
    let answers = Answers::begin(cluster, provenance.build(), every)?;
    let terminal = Term::stdout();
    let shown = each_time(watched, &answers, every, |watched, now| match format {
        Format::Json => print_json(provenance, &watched.report(provenance.build().clone(), now)),
        Format::Table | Format::Csv => {
            if terminal.is_term() {
                terminal.clear_screen()?;
            }
            table(watched, now)
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
        let ClusterMembers { members, client } = cluster;
        let roles: Vec<_> = roles(&members).collect();
        let asked = members.into_iter().zip(roles).collect();
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

fn table(watched: &Watched, now: Instant) -> Result<(), CommandFailure> {
    print_text(true, |layout| {
        let (answering, all) = watched.answering(now);
        let since = age(watched.since(now).as_secs_f64());
        let mut text = format!("After {since}: {answering} of {all} nodes answer.\n");
        for job in watched.jobs() {
            text.push_str(&job.sentence());
            text.push('\n');
        }
        let rows = watched.cells(now).into_iter().map(Vec::from);
        text.push_str(&layout.reduced_table(&HEADERS, rows, &[7, 6, 5, 1]));
        for problem in watched.problems(now) {
            text.push_str(&problem);
            text.push('\n');
        }
        text + "\n"
    })
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
