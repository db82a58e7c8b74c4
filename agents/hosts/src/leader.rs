//! The jobs that a node leads when their client is lost, and what it keeps of them for clients that attach.
//!
//! A thread of the node follows the job as a client does: it connects to all members, this node too, asks them to obey it, and
//! submits the next view. What a client would see goes into a [`Ledger`]: lines of the record into a temporary file, the rest
//! into memory. A client that attaches receives all of it from the beginning, and then the outputs. The ledger of a job that has
//! ended is kept for an hour. It is lost with its node: another node that leads the job then has the record from there on.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as Clock};

use agents::Setup;
use bsp::units::Seconds;
use bsp::{HostId, Rank};
use bytes::Bytes;
use machines::client::{JobIds, JobOutput, JobResult, Request, output};
use machines::node::{LeadOrder, NodeEvent, frame};
use machines::views::{Hindrance, NextView};
use machines::{Builds, JobError, Prepared, Routes};
use protocol::identity::Identity;
use protocol::transport::{JobId, PeerError, Sender};
use protocol::{
    Address, Declined, Failed, Followed, FollowedEnd, FollowedView, JobMessage, LedJob, Submit,
};
use record::Event;
use tokio::sync::watch;

use crate::client::{JobObserver, lead};
use crate::pace::elapsed;

/// What a job is made of, from what its client submits, on any thread.
pub type SharedPrepare = dyn Fn(&Submit) -> Result<Prepared, JobError> + Send + Sync;

/// What a node needs to lead a job.
pub(crate) struct LeaderParts {
    pub(crate) identity: Identity,
    pub(crate) builds: Builds,
    pub(crate) routes: Routes,
    pub(crate) prepare: Arc<SharedPrepare>,
    pub(crate) ledgers: Arc<Ledgers>,
}

impl LeaderParts {
    /// Asks the members of a view whose leader is lost to obey this node, and leads the job to its end. If they do not let it, returns
    /// the event that says so to the node.
    pub(crate) fn lead(self, order: LeadOrder) -> Option<NodeEvent> {
        let LeadOrder { job, owner, submit } = order;
        let Ok(ledger) = Ledger::new(owner.clone(), &submit) else {
            return Some(NodeEvent::NotLed);
        };
        let ledger = Arc::new(ledger);
        let mut keeper = Keeper {
            job,
            prepare: self.prepare,
            submit: submit.clone(),
            ledger: Arc::clone(&ledger),
            ledgers: self.ledgers,
        };
        let led = keeper
            .request(&submit, self.builds)
            .map_err(Hindrance::Ended)
            .and_then(|(request, ids)| {
                lead(
                    self.identity,
                    (&request, ids, owner),
                    self.routes,
                    &mut keeper,
                )
            });
        match led {
            Err(Hindrance::NoQuorum(error)) => {
                tracing::debug!("job {job:016x} is not led by this node: {error}");
                keeper.ledgers.remove(job, &ledger);
                return Some(NodeEvent::NotLed);
            }
            // The end of the connections ends the job on the nodes that obey this one.
            Err(Hindrance::Overtaken(error)) => {
                tracing::info!("job {job:016x}: {error}");
                return Some(NodeEvent::Overtaken(job, error));
            }
            Err(Hindrance::Ended(error)) => {
                keeper.register();
                ledger.end(Err(error));
            }
            Ok((result, request)) => ledger.end(complete(result, &request)),
        }
        None
    }
}

/// What is kept of a job that is complete.
fn complete(result: JobResult, request: &Request) -> Result<Complete, JobError> {
    let end = result
        .ended
        .values()
        .copied()
        .reduce(|one, other| protocol::Ended {
            seconds: if one.seconds < other.seconds {
                other.seconds
            } else {
                one.seconds
            },
            supersteps: one.supersteps.max(other.supersteps),
            messages: one.messages.saturating_add(other.messages),
            bytes: one.bytes.saturating_add(other.bytes),
            moved: one.moved.saturating_add(other.moved),
        });
    let end = end.ok_or_else(|| JobError::cluster("a job without a node"))?;
    let (mut hosts, mut values, mut files) = (Vec::new(), VecDeque::new(), Vec::new());
    for (rank, (host, output)) in result.outputs {
        hosts.push(host);
        match output {
            JobOutput::Value(value) => values.push_back((rank, value)),
            JobOutput::File(file) => files.push(file),
        }
    }
    let number = request.view.as_ref().map_or(0, |view| view.number);
    let end = FollowedEnd {
        end,
        builds: result.builds,
        hosts,
        files,
    };
    Ok(Complete {
        end,
        number,
        values,
    })
}

/// The outputs and totals of a job.
#[derive(Debug)]
struct Complete {
    end: FollowedEnd,
    /// The number of its last view.
    number: u64,
    /// The outputs that are not in files.
    values: VecDeque<(Rank, Bytes)>,
}

/// The observer of a job that a node leads.
struct Keeper {
    job: u64,
    prepare: Arc<SharedPrepare>,
    /// The last view, as it was submitted to this node.
    submit: Submit,
    ledger: Arc<Ledger>,
    ledgers: Arc<Ledgers>,
}

impl Keeper {
    /// The request for the view of `submit`, and the numbers of the job and its session.
    fn request(&self, submit: &Submit, builds: Builds) -> Result<(Request, JobIds), JobError> {
        let setup = (self.prepare)(submit)?.setup;
        let number = |number: u64| {
            let number = std::num::NonZeroU64::new(number).map(JobId);
            number.ok_or_else(|| JobError::cluster("a job without a number"))
        };
        let ids = JobIds {
            job: number(submit.job)?,
            session: number(submit.session)?,
        };
        Ok((Request::of_view(submit, setup, builds)?, ids))
    }

    /// Clients may attach from now on.
    fn register(&self) {
        self.ledgers.insert(self.job, &self.ledger);
    }
}

impl JobObserver for Keeper {
    fn observe(&mut self, event: &Event) -> Result<(), JobError> {
        self.ledger.record(event).map_err(|error| {
            JobError::program(format!("the record of the job cannot be kept: {error}"))
        })
    }

    fn found_folders(&mut self, folders: BTreeMap<String, String>) {
        self.ledger.add(Followed::Folders(folders));
    }

    fn begin_view(&mut self, next: &NextView) -> Result<Setup, JobError> {
        self.register();
        let own = next.view.leader.unwrap_or(HostId(0));
        self.submit = Submit {
            host: own,
            members: next.members.clone(),
            resumed: next.resumed.clone(),
            view: Some(next.view.clone()),
            ..self.submit.clone()
        };
        self.ledger.add(Followed::View(FollowedView {
            number: next.view.number,
            members: next.members.clone(),
            leader: own,
            resumed: next.resumed.clone(),
            lost: next
                .lost
                .iter()
                .map(|lost| (lost.name.clone(), lost.reason.clone()))
                .collect(),
            silent: next.lost.iter().find_map(|lost| lost.silent),
            joined: next.joined.clone(),
            repeats: next.repeats,
        }));
        Ok((self.prepare)(&self.submit)?.setup)
    }

    fn view_begun(&mut self, restored: Seconds) -> Result<(), JobError> {
        self.ledger.add(Followed::Begun(restored));
        Ok(())
    }
}

/// The jobs that a node leads, and those that it has led and keeps.
#[derive(Debug, Default)]
pub(crate) struct Ledgers(Mutex<BTreeMap<u64, Arc<Ledger>>>);

impl Ledgers {
    fn jobs(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Ledger>>> {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.retain(|_, ledger| ledger.ended().is_none_or(|ended| ended.elapsed() < KEEPING));
        jobs
    }

    fn insert(&self, job: u64, ledger: &Arc<Ledger>) {
        let mut jobs = self.jobs();
        jobs.insert(job, Arc::clone(ledger));
        while LedJob::COUNT_MAX < jobs.len() {
            let ended = jobs
                .iter()
                .filter_map(|(job, of)| Some((of.ended()?, *job)));
            let Some((_, oldest)) = ended.min() else {
                return;
            };
            jobs.remove(&oldest);
        }
    }

    /// Forgets a job that this node does not lead any more.
    fn remove(&self, job: u64, ledger: &Arc<Ledger>) {
        let mut jobs = self.jobs();
        if jobs.get(&job).is_some_and(|of| Arc::ptr_eq(of, ledger)) {
            jobs.remove(&job);
            ledger.news.send_modify(|_| {});
        }
    }

    /// The jobs, for the status of the node.
    pub(crate) fn status(&self) -> Vec<LedJob> {
        let jobs = self.jobs();
        let led = jobs.iter().map(|(job, ledger)| LedJob {
            job: *job,
            owner: ledger.owner.clone(),
            ended: ledger.ended().map(elapsed),
        });
        led.collect()
    }

    /// What is kept of a job of the client `owner`.
    ///
    /// # Errors
    ///
    /// If there is no such job, or it is of another client.
    pub(crate) fn find(&self, job: u64, owner: &str) -> Result<Arc<Ledger>, Declined> {
        let jobs = self.jobs();
        let ledger = jobs.get(&job).ok_or(Declined::Unknown)?;
        if ledger.owner != owner {
            return Err(Declined::Owner);
        }
        Ok(Arc::clone(ledger))
    }
}

/// What the leader of a job has seen.
#[derive(Debug)]
pub(crate) struct Ledger {
    owner: String,
    /// The view that was followed by the first one in it.
    submit: Submit,
    entries: Mutex<Entries>,
    /// Changes with each entry.
    news: watch::Sender<()>,
}

#[derive(Debug)]
struct Entries {
    /// The lines of the record.
    file: File,
    /// The bytes in it.
    length: u64,
    /// Lines that are not in it yet.
    lines: String,
    all: Vec<Entry>,
    end: Option<(Clock, Result<Arc<Complete>, Failed>)>,
}

#[derive(Clone, Debug)]
enum Entry {
    /// Lines of the record: so many bytes from there on in the file.
    Lines(u64, usize),
    Other(Followed),
}

impl Entries {
    /// Writes the lines that wait.
    fn flush(&mut self) -> io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        self.file.write_all(self.lines.as_bytes())?;
        let length = self.lines.len();
        self.all.push(Entry::Lines(self.length, length));
        self.length += length as u64;
        self.lines.clear();
        Ok(())
    }

    /// The entry at a place; its lines if it has some.
    fn read(&mut self, place: usize) -> io::Result<Option<Followed>> {
        if self.all.len() <= place {
            self.flush()?;
        }
        match self.all.get(place) {
            None => Ok(None),
            Some(Entry::Other(followed)) => Ok(Some(followed.clone())),
            Some(Entry::Lines(at, length)) => {
                let mut bytes = vec![0; *length];
                self.file.read_exact_at(&mut bytes, *at)?;
                let lines = String::from_utf8(bytes).map_err(io::Error::other)?;
                Ok(Some(Followed::Events(lines)))
            }
        }
    }
}

impl Ledger {
    fn new(owner: String, submit: &Submit) -> io::Result<Self> {
        let entries = Entries {
            file: tempfile::tempfile()?,
            length: 0,
            lines: String::new(),
            all: Vec::new(),
            end: None,
        };
        let submit = Submit {
            session: 0,
            ..submit.clone()
        };
        Ok(Self {
            owner,
            submit,
            entries: Mutex::new(entries),
            news: watch::channel(()).0,
        })
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> Option<Clock> {
        self.entries().end.as_ref().map(|(at, _)| *at)
    }

    fn record(&self, event: &Event) -> io::Result<()> {
        let mut entries = self.entries();
        entries.lines.push_str(&serde_json::to_string(event)?);
        entries.lines.push('\n');
        if LINES_MAX < entries.lines.len() {
            entries.flush()?;
        }
        drop(entries);
        self.news.send_replace(());
        Ok(())
    }

    fn add(&self, followed: Followed) {
        let mut entries = self.entries();
        // The next line that cannot be written ends the job.
        drop(entries.flush());
        entries.all.push(Entry::Other(followed));
        drop(entries);
        self.news.send_replace(());
    }

    fn end(&self, result: Result<Complete, JobError>) {
        let result = result.map(Arc::new).map_err(Failed::from);
        let mut entries = self.entries();
        drop(entries.flush());
        entries.end = Some((Clock::now(), result));
        drop(entries);
        self.news.send_replace(());
    }

    /// Tells the client at `sender` all of it, and what follows, to the end of the job.
    ///
    /// # Errors
    ///
    /// If the client is gone.
    pub(crate) async fn tell(&self, sender: &Sender) -> Result<(), PeerError> {
        let mut news = self.news.subscribe();
        let attached = JobMessage::Attached(Box::new(self.submit.clone()));
        sender.send(frame(attached)).await?;
        let mut place = 0;
        loop {
            news.mark_unchanged();
            let (entry, end) = {
                let mut entries = self.entries();
                let entry = entries.read(place);
                (entry, entries.end.as_ref().map(|(_, end)| end.clone()))
            };
            let followed = match (entry, end) {
                (Ok(Some(entry)), _) => {
                    place += 1;
                    entry
                }
                (Err(error), _) => {
                    let problem = format!("the record of the job cannot be read: {error}");
                    Followed::Failed(JobError::program(problem).into())
                }
                (Ok(None), Some(Err(failed))) => Followed::Failed(failed),
                (Ok(None), Some(Ok(complete))) => {
                    for (rank, value) in &complete.values {
                        let state = output(complete.number, *rank, value.clone());
                        let from = Address::Node(HostId(0));
                        sender.send_state(from, Address::Client, state).await?;
                    }
                    Followed::Complete(complete.end.clone())
                }
                (Ok(None), None) => {
                    // The ledger has the sender of the news.
                    drop(news.changed().await);
                    // More than one line at a time.
                    tokio::time::sleep(GATHERING).await;
                    continue;
                }
            };
            let is_last = matches!(followed, Followed::Complete(_) | Followed::Failed(_));
            let message = JobMessage::Followed(Box::new(followed));
            sender.send(frame(message)).await?;
            if is_last {
                return Ok(());
            }
        }
    }
}

/// How long what is left of a job is kept.
const KEEPING: Duration = Duration::from_secs(3600);
/// How long lines are gathered before they are told.
const GATHERING: Duration = Duration::from_millis(20);
/// Bytes of lines that are written at once.
const LINES_MAX: usize = 64 << 10;
