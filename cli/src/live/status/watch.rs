//! `status --watch`: a cluster, again and again.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use agents::hosts::{self, JobError, NodeAnswer};
use bsp::units::Seconds;
use clap::Args;
use protocol::Build;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::widgets::TableState;
use tokio::sync::oneshot;

use super::screen::Screen;
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
    /// Show the nodes again and again, on the whole terminal, until q or Ctrl-C; without one, a table each time
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
/// If a signal ends it, there are no sockets, or the terminal or stdout is gone.
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
    let has_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    let shown = if format == Format::Table && has_terminal {
        on_terminal(watched, &answers)
    } else {
        each_time(watched, &answers, every, |watched, now| match format {
            Format::Json => {
                print_json(provenance, &watched.report(provenance.build().clone(), now))
            }
            Format::Table | Format::Csv => table(watched, now),
        })
    };
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

fn on_terminal(mut watched: Watched, answers: &Answers) -> Result<(), CommandFailure> {
    let mut screen = Screen::open()?;
    loop {
        loop {
            match answers.received.try_recv() {
                Ok(Some((index, answer))) => watched.take(index, answer, Instant::now()),
                Err(TryRecvError::Empty) => break,
                Ok(None) | Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
        screen.show(&watched, Instant::now())?;
        while event::poll(LOOK)? {
            if let Event::Key(key) = event::read()?
                && key.kind == KeyEventKind::Press
                && !obey(key, &mut screen.rows, watched.len())
            {
                return Ok(());
            }
            screen.show(&watched, Instant::now())?;
        }
    }
}

/// Does what a key says, with a table of `count` rows. Returns whether the user stays.
fn obey(key: KeyEvent, rows: &mut TableState, count: usize) -> bool {
    let last = count.saturating_sub(1);
    let offset = rows.offset();
    let to = match key.code {
        KeyCode::Char('q') => return false,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        KeyCode::Up => offset.saturating_sub(1),
        KeyCode::Down => offset + 1,
        KeyCode::PageUp => offset.saturating_sub(PAGE),
        KeyCode::PageDown => offset + PAGE,
        KeyCode::Home => 0,
        KeyCode::End => last,
        _ => offset,
    };
    *rows.offset_mut() = to.min(last);
    true
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
/// The time between two looks at the answers, while no key is pressed.
const LOOK: Duration = Duration::from_millis(200);
/// Rows of a page.
const PAGE: usize = 10;
