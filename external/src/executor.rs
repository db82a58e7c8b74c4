//! An executor: a process of the operating system that answers requests.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, BufRead, BufReader, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bsp::Round;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use crate::frame::{EXECUTOR, Frame, FrameError, Reader, VERSION, Writer, reply, request};
use crate::launch::{self, Start};

/// An executor that has been started.
#[derive(Debug)]
pub(crate) struct Executor {
    /// The process; `None` if it was there before, and is only connected to.
    child: Option<Child>,
    /// What it is called in errors.
    name: String,
    channel: BufReader<UnixStream>,
    /// Whether there is a limit to how long the channel is waited for.
    is_limited: bool,
    log: Log,
    /// All executors that can be killed together with this one.
    group: Group,
    /// What it is, once it has answered.
    pub(crate) welcome: Welcome,
    /// Whether it answers as the protocol asks, so far.
    is_sound: Arc<AtomicBool>,
}

/// What an executor says of itself.
#[derive(Clone, Debug, Default)]
pub struct Welcome {
    /// Whether it saves processes.
    pub can_save: bool,
    /// Whether it holds any number of them.
    pub holds_many: bool,
    /// Whether it checks outputs.
    pub verifies: bool,
    /// The supersteps that belong together.
    pub round: Round,
    /// More about it.
    pub about: About,
}

/// What an executor says of itself in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// The name of the program.
    pub name: String,
    /// Its language.
    pub language: String,
    /// A checksum of what the program consists of.
    pub digest: String,
    /// Versions of what it uses.
    pub packages: std::collections::BTreeMap<String, String>,
}

/// Why an executor does not answer as it should.
#[derive(Debug, thiserror::Error)]
pub enum ExecutorError {
    /// It could not be started.
    #[error("{command} cannot be started: {error}")]
    Unstarted {
        /// The command.
        command: String,
        /// The system's reason.
        error: io::Error,
    },
    /// Another version of the program has saved the process.
    #[error(
        "its state was saved by another version of {name} than the one here: start the same one on all nodes"
    )]
    OtherVersion {
        /// The program.
        name: String,
    },
    /// It says that it failed.
    #[error("{message}{}", below(details))]
    Failed {
        /// Which side is at fault: 1 the input, 2 the program, 3 the protocol.
        at_fault: u32,
        /// Its message.
        message: String,
        /// More, such as a traceback.
        details: String,
    },
    /// It ended.
    #[error("its executor ({executor}) {how}{}", last_lines(log))]
    Ended {
        /// Which process of the operating system, or where it is connected to.
        executor: String,
        /// How.
        how: String,
        /// The last lines that it wrote.
        log: Vec<String>,
    },
    /// It does not answer.
    #[error(
        "its executor ({executor}) did not answer in {seconds} s and was killed{}",
        last_lines(log)
    )]
    Silent {
        /// Which process of the operating system, or where it is connected to.
        executor: String,
        /// How long it had.
        seconds: f64,
        /// The last lines that it wrote.
        log: Vec<String>,
    },
    /// It breaks a rule of the protocol.
    #[error("its executor ({executor}) was killed: {problem}{}", last_lines(log))]
    Broken {
        /// Which process of the operating system, or where it is connected to.
        executor: String,
        /// The rule.
        problem: String,
        /// The last lines that it wrote.
        log: Vec<String>,
    },
}

fn below(details: &str) -> String {
    if details.is_empty() {
        return String::new();
    }
    format!("\n{}", details.trim_end())
}

fn last_lines(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    format!("; its last lines:\n  {}", lines.join("\n  "))
}

/// The processes of the operating system that belong together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group(Arc<Mutex<BTreeSet<u32>>>);

impl Group {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills all of them. What waits for an answer of one gets an error.
    pub(crate) fn kill(&self) {
        for process in &*self.lock() {
            kill(*process);
        }
    }

    /// The processes.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.lock().iter().copied().collect()
    }
}

/// Kills a process, and all that it has started.
fn kill(process: u32) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    // It may have ended.
    let _ended = pid.map(|pid| kill_process_group(pid, Signal::KILL));
}

/// The last lines that an executor wrote.
#[derive(Debug, Default)]
struct Log {
    lines: Arc<Mutex<VecDeque<String>>>,
    thread: Option<JoinHandle<()>>,
}

/// The number of lines that are kept.
const LINES_KEPT: usize = 20;

/// The most bytes of a line that are kept.
const LINE_MAX: u64 = 1000;

impl Log {
    /// Reads what is written to `from` until that ends.
    fn new(name: &str, from: impl Read + Send + 'static) -> Self {
        let lines: Arc<Mutex<VecDeque<String>>> = Arc::default();
        let kept = Arc::clone(&lines);
        let name = name.to_owned();
        let named = thread::Builder::new().name("executor-log".to_owned());
        let thread = named.spawn(move || {
            let mut from = BufReader::new(from);
            loop {
                let mut line = Vec::new();
                let read = from.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
                if !matches!(read, Ok(1..)) {
                    return;
                }
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                tracing::info!(target: "program", "{name}: {line}");
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() == LINES_KEPT {
                    kept.pop_front();
                }
                kept.push_back(line);
            }
        });
        Self {
            lines,
            thread: Some(thread.expect("the system has room for a thread")),
        }
    }

    /// The last lines of an executor that has ended.
    fn last(&mut self) -> Vec<String> {
        if let Some(thread) = self.thread.take() {
            // What it has started may still have its stderr; then its last lines are those so far.
            let until = Instant::now() + Duration::from_millis(200);
            while !thread.is_finished() && Instant::now() < until {
                thread::sleep(Duration::from_millis(2));
            }
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}

/// The bytes of replies that are read at once, at most.
const BUFFER: usize = 64 << 10;

/// Reads until a date.
struct Until<'a> {
    channel: &'a mut BufReader<UnixStream>,
    until: Option<Instant>,
}

impl Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(until) = self.until
            && self.channel.buffer().is_empty()
        {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.channel.get_ref().set_read_timeout(Some(left))?;
        }
        self.channel.read(into)
    }
}

impl Executor {
    /// Starts one; [`Self::greet`] waits for it.
    pub(crate) fn start(name: &str, start: Start, group: &Group) -> Result<Self, ExecutorError> {
        let command = start.command.join(" ");
        // A process is in the group as soon as it is there.
        let mut processes = group.lock();
        let started = launch::start(start);
        let (child, channel, log) =
            started.map_err(|error| ExecutorError::Unstarted { command, error })?;
        processes.insert(child.id());
        drop(processes);
        Ok(Self {
            log: Log::new(name, log),
            name: format!("process {}", child.id()),
            child: Some(child),
            channel: BufReader::with_capacity(BUFFER, channel),
            is_limited: false,
            group: group.clone(),
            welcome: Welcome::default(),
            is_sound: Arc::new(AtomicBool::new(true)),
        })
    }

    /// Connects to one that waits at a socket.
    pub(crate) fn connect(path: &Path) -> Result<Self, ExecutorError> {
        let channel = UnixStream::connect(path).map_err(|error| ExecutorError::Unstarted {
            command: format!("what waits at {}", path.display()),
            error,
        })?;
        Ok(Self {
            log: Log::default(),
            name: path.display().to_string(),
            child: None,
            channel: BufReader::with_capacity(BUFFER, channel),
            is_limited: false,
            group: Group::default(),
            welcome: Welcome::default(),
            is_sound: Arc::new(AtomicBool::new(true)),
        })
    }

    /// Whether it answers as the protocol asks, as long as it lasts.
    pub(crate) fn soundness(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_sound)
    }

    /// Says HELLO, and waits for the answer.
    pub(crate) fn greet(&mut self, hello: Writer, within: Duration) -> Result<(), ExecutorError> {
        let welcome = self.ask(hello, EXECUTOR, reply::WELCOME, Some(within))?;
        let read = || {
            let mut body = Reader::new(welcome.body);
            let version = body.u16()?;
            if version != VERSION {
                let problem = format!("it speaks version {version}");
                return Err(FrameError::Contradiction(problem));
            }
            let flags = body.u16()?;
            let (length, last) = (body.u32()?, body.u32()?);
            let text = body.u32()?;
            let text = body.text(text.into())?;
            body.end()?;
            let about = serde_json::from_str(&text);
            let about = about.map_err(|error| FrameError::Contradiction(error.to_string()))?;
            let round = Round {
                length: u64::from(length).max(1),
                last: last.into(),
            };
            Ok(Welcome {
                can_save: flags & 1 != 0,
                holds_many: flags & 2 != 0,
                verifies: flags & 4 != 0,
                round: if round.is_superstep() {
                    Round::SUPERSTEP
                } else {
                    round
                },
                about,
            })
        };
        self.welcome = read().map_err(|error| self.fails(&error, None))?;
        Ok(())
    }

    /// Writes a request, and reads its reply.
    pub(crate) fn ask(
        &mut self,
        request: Writer,
        handle: u32,
        expected: u8,
        within: Option<Duration>,
    ) -> Result<Frame, ExecutorError> {
        let asked = self.exchange(request, within);
        let frame = asked.map_err(|error| self.fails(&error, within))?;
        if frame.handle != handle {
            let problem = format!(
                "it answers for process {} instead of {handle}",
                frame.handle
            );
            return Err(self.fails(&FrameError::Contradiction(problem), within));
        }
        if frame.kind == reply::FAILED {
            // It may end now, or be in any state.
            self.is_sound.store(false, Ordering::Relaxed);
            return Err(match failed(frame) {
                Ok(failed) => failed,
                Err(error) => self.fails(&error, within),
            });
        }
        if frame.kind != expected {
            let problem = format!("it answers with {} where {expected} is due", frame.kind);
            return Err(self.fails(&FrameError::Contradiction(problem), within));
        }
        Ok(frame)
    }

    fn exchange(&mut self, request: Writer, within: Option<Duration>) -> Result<Frame, FrameError> {
        let channel = self.channel.get_mut();
        if within.is_some() || self.is_limited {
            channel.set_write_timeout(within)?;
            channel.set_read_timeout(within)?;
            self.is_limited = within.is_some();
        }
        let written = request.write(channel);
        let reply = Frame::read(Until {
            channel: &mut self.channel,
            until: within.map(|within| Instant::now() + within),
        });
        match (written, reply) {
            // One that ends in the middle of a request may have said why.
            (Err(_), Ok(reply)) => Ok(reply),
            (Err(error), Err(_)) if is_late(&error) => Err(error.into()),
            (_, reply) => reply,
        }
    }

    /// Ends the executor, which did not keep to the protocol.
    pub(crate) fn fails(&mut self, error: &FrameError, within: Option<Duration>) -> ExecutorError {
        let late = matches!(error, FrameError::Channel(error) if is_late(error));
        let executor = self.name.clone();
        self.is_sound.store(false, Ordering::Relaxed);
        let ended = matches!(error, FrameError::End | FrameError::Channel(_)) && !late;
        let status = if ended { self.wait_for_end() } else { None };
        self.end();
        let log = self.log.last();
        match (status, error) {
            _ if late => ExecutorError::Silent {
                executor,
                seconds: within.unwrap_or_default().as_secs_f64(),
                log,
            },
            (Some(status), _) => ExecutorError::Ended {
                executor,
                how: how(status),
                log,
            },
            (None, FrameError::End | FrameError::Channel(_)) => ExecutorError::Ended {
                executor,
                how: "closed its channel and was killed".to_owned(),
                log,
            },
            (None, error @ (FrameError::Garbage(_) | FrameError::Contradiction(_))) => {
                let problem = error.to_string();
                ExecutorError::Broken {
                    executor,
                    problem,
                    log,
                }
            }
        }
    }

    /// How it ended, if it does within a moment.
    fn wait_for_end(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + Duration::from_millis(500);
        let child = self.child.as_mut()?;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(1)),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// Kills it, if it has not ended, and what it has started.
    fn end(&mut self) {
        // What is only connected to has an end of its own.
        drop(self.channel.get_ref().shutdown(Shutdown::Both));
        let Some(child) = &mut self.child else {
            return;
        };
        // Not before it is out of the group: then its number is that of another process.
        self.group.lock().remove(&child.id());
        kill(child.id());
        drop(child.kill());
        drop(child.wait());
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        if self.is_sound.load(Ordering::Relaxed) {
            // It may do something in the end, which is not waited for longer than a moment.
            let bye = Writer::new(request::BYE, EXECUTOR);
            drop(
                self.channel
                    .get_mut()
                    .set_write_timeout(Some(Duration::from_millis(100))),
            );
            if bye.write(self.channel.get_mut()).is_ok() {
                drop(self.channel.get_mut().shutdown(Shutdown::Write));
            }
            let _status = self.wait_for_end();
        }
        self.end();
    }
}

/// Whether there was no time left.
fn is_late(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
    )
}

fn how(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended".to_owned(),
    }
}

fn failed(frame: Frame) -> Result<ExecutorError, FrameError> {
    let mut body = Reader::new(frame.body);
    let at_fault = body.u32()?;
    let message = body.u32()?;
    let details = body.u64()?;
    let message = body.lossy_text(message.into())?;
    let details = body.lossy_text(details)?;
    body.end()?;
    Ok(ExecutorError::Failed {
        at_fault,
        message,
        details,
    })
}
