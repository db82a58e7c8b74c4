//! The shell of a node that leads a job whose client is lost, and of what it keeps of such jobs for clients that attach.
//!
//! A thread of the node follows the job as a client does: it connects to all members, this node too, asks them to obey it, and
//! submits the next view. What a client would see goes into a ledger ([`machines::ledger`]): lines of the record into a temporary
//! file, the rest into memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant as Clock;

use agents::Setup;
use bsp::HostId;
use bsp::units::Seconds;
use machines::client::{JobIds, Request};
use machines::ledger::{GATHERING, LedgerFile, LedgerId, Ledgers, Tell, Telling};
use machines::node::{LeadOrder, NodeEvent, frame};
use machines::views::{Hindrance, NextView};
use machines::{Builds, JobError, Prepared, Routes};
use protocol::identity::Identity;
use protocol::transport::{JobId, PeerError, Sender};
use protocol::{Address, Submit};
use record::Event;
use tokio::sync::watch;

use crate::client::{JobObserver, lead};

/// What a job is made of, from what its client submits, on any thread.
pub type SharedPrepare = dyn Fn(&Submit) -> Result<Prepared, JobError> + Send + Sync;

/// What a node needs to lead a job.
pub(crate) struct LeaderParts {
    pub(crate) identity: Identity,
    pub(crate) builds: Builds,
    pub(crate) routes: Routes,
    pub(crate) prepare: Arc<SharedPrepare>,
    pub(crate) ledgers: Arc<SharedLedgers>,
}

impl LeaderParts {
    /// Asks the members of a view whose leader is lost to obey this node, and leads the job to its end. If they do not let it, returns
    /// the event that says so to the node.
    pub(crate) fn lead(self, order: LeadOrder) -> Option<NodeEvent> {
        let LeadOrder { job, owner, submit } = order;
        let Ok(file) = TemporaryFile::new() else {
            return Some(NodeEvent::NotLed);
        };
        let ledgers = self.ledgers;
        let mut keeper = Keeper {
            prepare: self.prepare,
            submit: submit.clone(),
            ledger: ledgers.change(|all| all.begin(owner.clone(), &submit, file)),
            ledgers: Arc::clone(&ledgers),
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
        let ledger = keeper.ledger;
        match led {
            Err(Hindrance::NoQuorum(error)) => {
                tracing::debug!("job {job:016x} is not led by this node: {error}");
                ledgers.change(|all| all.abandon(ledger));
                return Some(NodeEvent::NotLed);
            }
            // The end of the connections ends the job on the nodes that obey this one.
            Err(Hindrance::Overtaken(error)) => {
                tracing::info!("job {job:016x}: {error}");
                ledgers.change(|all| all.abandon(ledger));
                return Some(NodeEvent::Overtaken(job, error));
            }
            Err(Hindrance::Ended(error)) => {
                ledgers.change(|all| all.end(Clock::now(), ledger, Err(error)));
            }
            Ok((result, request)) => {
                ledgers.change(|all| all.end(Clock::now(), ledger, Ok((result, &request))));
            }
        }
        None
    }
}

/// The observer of a job that a node leads.
struct Keeper {
    prepare: Arc<SharedPrepare>,
    /// The last view, as it was submitted to this node.
    submit: Submit,
    ledger: LedgerId,
    ledgers: Arc<SharedLedgers>,
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
}

impl JobObserver for Keeper {
    fn observe(&mut self, event: &Event) -> Result<(), JobError> {
        let recorded = self.ledgers.change(|all| all.record(self.ledger, event));
        recorded.map_err(|error| {
            JobError::program(format!("the record of the job cannot be kept: {error}"))
        })
    }

    fn found_folders(&mut self, folders: BTreeMap<String, String>) {
        self.ledgers
            .change(|all| all.add_folders(self.ledger, folders));
    }

    fn begin_view(&mut self, next: &NextView) -> Result<Setup, JobError> {
        self.submit = Submit {
            host: next.view.leader.unwrap_or(HostId(0)),
            members: next.members.clone(),
            resumed: next.resumed.clone(),
            view: Some(next.view.clone()),
            ..self.submit.clone()
        };
        let now = Clock::now();
        self.ledgers
            .change(|all| all.begin_view(now, self.ledger, next));
        Ok((self.prepare)(&self.submit)?.setup)
    }

    fn view_begun(&mut self, restored: Seconds) -> Result<(), JobError> {
        self.ledgers
            .change(|all| all.view_begun(self.ledger, restored));
        Ok(())
    }
}

/// The ledgers of a node, on any thread.
#[derive(Debug, Default)]
pub(crate) struct SharedLedgers {
    all: Mutex<Ledgers<TemporaryFile>>,
    /// Changes with each change of them.
    news: watch::Sender<()>,
}

impl SharedLedgers {
    fn lock(&self) -> MutexGuard<'_, Ledgers<TemporaryFile>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the ledgers.
    pub(crate) fn with<T>(&self, with: impl FnOnce(&mut Ledgers<TemporaryFile>) -> T) -> T {
        with(&mut self.lock())
    }

    /// Changes the ledgers, of which clients that are attached hear.
    fn change<T>(&self, change: impl FnOnce(&mut Ledgers<TemporaryFile>) -> T) -> T {
        let changed = change(&mut self.lock());
        self.news.send_replace(());
        changed
    }

    /// Tells the client at `sender` all of a ledger, and what follows, to the end of the job.
    ///
    /// # Errors
    ///
    /// If the client is gone.
    pub(crate) async fn tell(
        &self,
        mut telling: Telling,
        sender: &Sender,
    ) -> Result<(), PeerError> {
        let mut news = self.news.subscribe();
        loop {
            news.mark_unchanged();
            let told = self.with(|all| all.tell(&mut telling));
            match told {
                Tell::Message(message) => sender.send(frame(*message)).await?,
                Tell::Output(state) => {
                    let from = Address::Node(HostId(0));
                    sender.send_state(from, Address::Client, state).await?;
                }
                Tell::Wait => {
                    // The ledgers have the sender of the news.
                    drop(news.changed().await);
                    // More than one line at a time.
                    tokio::time::sleep(GATHERING).await;
                }
                Tell::Over => return Ok(()),
                Tell::Abandoned => {
                    return sender
                        .close("the node does not lead the job any more")
                        .await;
                }
            }
        }
    }
}

/// A file that is gone when the node ends.
#[derive(Debug)]
pub(crate) struct TemporaryFile(File);

impl TemporaryFile {
    fn new() -> io::Result<Self> {
        tempfile::tempfile().map(Self)
    }
}

impl LedgerFile for TemporaryFile {
    fn append(&mut self, lines: &str) -> io::Result<()> {
        self.0.write_all(lines.as_bytes())
    }

    fn read(&mut self, at: u64, length: usize) -> io::Result<String> {
        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, at)?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }
}
