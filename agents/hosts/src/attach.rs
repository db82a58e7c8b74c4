//! The shell of a client of a job that a node leads: it finds the leader, and follows what that has seen from the beginning. What it
//! decides is in two machines, [`machines::finder::Finder`] and [`Follower`].
//!
//! Nothing that the client does has an effect on the job, unless it orders the end. When the leader is lost, the client waits for
//! the next one, which knows the job from its own first view on.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant as Clock;

use agents::{Outcome, ProgramType, Transfers};
use machines::client::{JobResult, NodeWord, Request};
use machines::finder::{self, ANSWER_LIMIT, FinderAction, FinderEvent, FoundLeader};
use machines::follower::{Follower, FollowerAction, FollowerEvent};
use machines::{JobError, Loss};
use protocol::identity::{Identity, Role};
use protocol::transport::{Endpoint, JobId, Peer, Received};
use protocol::{Build, Declined, JobMessage, Member, Message, Submit};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::client::{
    EVENTS_MAX, JobObserver, Word, answer_of, connect, endpoint, listen, outcome, runtime, send,
    sleep_until,
};

/// A job of this client, as the node that leads it tells it.
#[derive(Debug)]
pub struct Attachment {
    runtime: Runtime,
    finder: Finder,
    told: Told,
}

/// What finds the leader of a job.
#[derive(Debug)]
pub(super) struct Finder {
    endpoint: Arc<Endpoint>,
    members: Vec<(Member, Role)>,
    job: JobId,
}

/// The connection to the leader.
struct Told {
    /// The name of the leader.
    leader: String,
    peer: Peer,
    /// The view after which it began to lead the job.
    submit: Box<Submit>,
}

impl std::fmt::Debug for Told {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Told")
            .field("leader", &self.leader)
            .finish_non_exhaustive()
    }
}

/// Attaches to the job of this number, on some of `members`.
///
/// # Errors
///
/// If no node knows the job, it is of another client, or its own client leads it.
pub fn attach(
    identity: Identity,
    build: &Build,
    members: Vec<(Member, Role)>,
    job: JobId,
) -> Result<Attachment, JobError> {
    let runtime = runtime()?;
    let (finder, told) = runtime.block_on(async {
        let finder = Finder::new(endpoint(identity, build)?, members, job);
        let told = finder.find().await?;
        Ok::<_, JobError>((finder, told))
    })?;
    Ok(Attachment {
        runtime,
        finder,
        told,
    })
}

impl Attachment {
    /// The view after which the leader began to lead the job.
    #[must_use]
    pub fn submit(&self) -> &Submit {
        &self.told.submit
    }

    /// Follows the job, whose programs are of this type, to its end: `request` is that of [`Self::submit`]. When `interrupted`, the job
    /// goes on.
    ///
    /// # Errors
    ///
    /// Why the job has no result, or is not followed any more.
    pub fn follow(
        self,
        request: &Request,
        program_type: ProgramType,
        observer: &mut dyn JobObserver,
        interrupted: impl Future<Output = ()>,
    ) -> Result<Outcome, JobError> {
        let Self {
            runtime,
            finder,
            told,
        } = self;
        let (job, leader) = (finder.job, told.leader.clone());
        observer.found_job(job);
        let mut follower = Follower::new(job, request.clone(), leader, &told.submit);
        let result = runtime.block_on(async {
            let mut interrupted = pin!(interrupted);
            let result = tokio::select! {
                biased;
                () = &mut interrupted => Err(JobError::cluster("interrupted")),
                result = follow(&mut follower, &finder, told, observer) => result,
            };
            finder.endpoint.close().await;
            result
        })?;
        let (request, decode) = (follower.request(), program_type.output_decoder());
        outcome(result, Transfers::default(), request, decode, observer)
    }
}

/// Orders the end of a job of this client, on all of `members` that know it.
///
/// # Errors
///
/// If no node knows the job, or it is of another client.
pub fn end(
    identity: Identity,
    build: &Build,
    members: Vec<(Member, Role)>,
    job: JobId,
) -> Result<(), JobError> {
    runtime()?.block_on(async {
        let endpoint = endpoint(identity, build)?;
        let asking = members.into_iter().map(|(member, role)| {
            let endpoint = Arc::clone(&endpoint);
            tokio::spawn(async move {
                let mut peer = connect(&endpoint, &member, role).await?;
                let order = JobMessage::End(job.0.get());
                answer(&mut peer, order, &member.name).await
            })
        });
        let (mut is_ended, mut declined, mut problem) = (false, Declined::Unknown, None);
        for asked in asking.collect::<Vec<_>>() {
            match asked.await {
                Ok(Ok(JobMessage::Ending)) => is_ended = true,
                Ok(Ok(JobMessage::Declined(Declined::Owner))) => declined = Declined::Owner,
                Ok(Ok(_)) => {}
                Ok(Err(error)) => problem = Some(error),
                Err(panic) => problem = Some(JobError::cluster(panic.to_string())),
            }
        }
        endpoint.close().await;
        match (is_ended, declined, problem) {
            (true, ..) => Ok(()),
            (false, Declined::Owner, _) => Err(finder::of_another(job)),
            (false, _, None) => Err(finder::unknown(job)),
            (false, _, Some(error)) => Err(error),
        }
    })
}

/// What `peer`, the node `name`, answers to a message.
async fn answer(peer: &mut Peer, message: JobMessage, name: &str) -> Result<JobMessage, JobError> {
    send(&peer.sender, message)?;
    match tokio::time::timeout(ANSWER_LIMIT, peer.messages.receive()).await {
        Ok(Ok(Received::Message(_, _, Message::Job(message)))) => Ok(*message),
        Ok(Ok(Received::Message(..))) => Err(JobError::cluster(format!(
            "{name} answered with a message of another kind"
        ))),
        Ok(Ok(Received::Closed { reason })) => {
            let problem = format!("{name} has closed the connection: {reason}");
            let mut error = JobError::cluster(problem);
            error.loss = Some(Loss { silent: None });
            Err(error)
        }
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(JobError::cluster(format!("{name} does not answer"))),
    }
}

impl Finder {
    /// What finds the leader of a job on these members.
    pub(super) const fn new(
        endpoint: Arc<Endpoint>,
        members: Vec<(Member, Role)>,
        job: JobId,
    ) -> Self {
        Self {
            endpoint,
            members,
            job,
        }
    }

    /// The name of the node that leads the job, as soon as there is one.
    pub(super) async fn find_leader(&self) -> Result<String, JobError> {
        let told = self.find().await?;
        // The leader is not to send what is not read.
        drop(told.peer.sender.close("the client has left the job").await);
        Ok(told.leader)
    }

    /// Finds the leader, and has it tell what it has seen. While there is none, waits for one.
    async fn find(&self) -> Result<Told, JobError> {
        let members = self.members.iter();
        let names = members.map(|(member, _)| member.name.clone());
        let mut machine = finder::Finder::new(self.job, names.collect(), Clock::now());
        let (sender, mut events) = mpsc::unbounded_channel();
        let mut attached = None;
        loop {
            while let Some(action) = machine.poll() {
                match action {
                    FinderAction::AskAll(round) => self.ask_all(round, &sender),
                    FinderAction::Attach(round, place) => {
                        self.attach_to((round, place), sender.clone());
                    }
                    FinderAction::Finish(found) => {
                        let FoundLeader { place, submit } = found?;
                        let leader = self.members[place].0.name.clone();
                        let lost = || JobError::cluster(format!("{leader} is lost"));
                        let peer = attached.take().ok_or_else(lost)?;
                        return Ok(Told {
                            leader,
                            peer,
                            submit,
                        });
                    }
                }
            }
            let event = tokio::select! {
                biased;
                Some((event, peer)) = events.recv() => {
                    attached = peer;
                    event
                }
                () = sleep_until(machine.next_timeout()) => FinderEvent::Tick,
            };
            machine.handle(Clock::now(), event);
        }
    }

    /// Asks each member for its status.
    fn ask_all(&self, round: u64, events: &Answers) {
        for (place, (member, role)) in self.members.iter().cloned().enumerate() {
            let (endpoint, events) = (Arc::clone(&self.endpoint), events.clone());
            drop(tokio::spawn(async move {
                let answer = answer_of(&endpoint, &member, role);
                let answer = tokio::time::timeout(ANSWER_LIMIT, answer).await;
                let status = answer.ok().and_then(|answer| answer.status.ok());
                let event = FinderEvent::Answered(round, place, status.map(Box::new));
                // The leader may have been found without this member.
                drop(events.send((event, None)));
            }));
        }
    }

    /// Attaches to the job at a member.
    fn attach_to(&self, (round, place): (u64, usize), events: Answers) {
        let (member, role) = self.members[place].clone();
        let (endpoint, job) = (Arc::clone(&self.endpoint), self.job);
        drop(tokio::spawn(async move {
            let attaching = async {
                let mut peer = connect(&endpoint, &member, role).await?;
                let order = JobMessage::Attach(job.0.get());
                let answer = answer(&mut peer, order, &member.name).await?;
                Ok((answer, peer))
            };
            let (answer, peer) = match attaching.await {
                Ok((answer, peer)) => (Ok(answer), Some(peer)),
                Err(error) => (Err(error), None),
            };
            // It may have taken too long.
            drop(events.send((FinderEvent::Attached(round, answer), peer)));
        }));
    }
}

/// What members answer, with the connection to one that is asked to tell of the job.
type Answers = mpsc::UnboundedSender<(FinderEvent, Option<Peer>)>;

/// Follows the job through its leaders to its end.
async fn follow(
    follower: &mut Follower,
    finder: &Finder,
    told: Told,
    observer: &mut dyn JobObserver,
) -> Result<JobResult, JobError> {
    let mut words = hear(told.peer);
    loop {
        while let Some(action) = follower.poll() {
            match action {
                FollowerAction::BeginView(next) => {
                    let setup = Box::new(observer.begin_view(&next)?);
                    follower.handle(FollowerEvent::SetUp(setup));
                }
                FollowerAction::ShowBegun(restored) => observer.view_begun(restored)?,
                FollowerAction::ShowFolders(folders) => observer.found_folders(folders),
                FollowerAction::Observe(event) => observer.observe(&event)?,
                FollowerAction::Find(error) => {
                    tracing::warn!("{error}; waits for a node that leads the job");
                    let told = finder.find().await?;
                    words = hear(told.peer);
                    follower.handle(FollowerEvent::Attached(told.leader, told.submit));
                }
                FollowerAction::Finish(result) => return *result,
            }
        }
        let word = words.recv().await.map(|(_, word)| word);
        // The channel closes after the end of the connection: its outputs do not all arrive.
        let lost = || NodeWord::Closed(Err(JobError::cluster("the connection has ended")));
        follower.handle(FollowerEvent::Leader(word.unwrap_or_else(lost)));
    }
}

/// What a leader says from now on.
fn hear(peer: Peer) -> mpsc::Receiver<Word> {
    let (sender, words) = mpsc::channel::<Word>(EVENTS_MAX);
    listen((0, Arc::default()), peer, &sender);
    words
}
