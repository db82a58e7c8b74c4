//! The client of a job that a node leads: it finds the leader, and follows what that has seen from the beginning.
//!
//! Nothing that the client does has an effect on the job, unless it orders the end. When the leader is lost, the client waits for
//! the next one, which knows the job from its own first view on.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use agents::{Outcome, ProgramType, Setup, Transfers};
use bsp::units::Seconds;
use bsp::{HostId, Rank};
use bytes::Bytes;
use machines::JobError;
use machines::client::{FollowedEvents, JobOutput, JobResult, NodeWord, Request};
use machines::views::{LostMember, NextView};
use protocol::identity::{Identity, Role};
use protocol::transport::{Endpoint, JobId, Peer, Received};
use protocol::{
    Build, Declined, Failed, Followed, FollowedEnd, FollowedView, JobMessage, Leader, Member,
    Message, Status, Submit, View, displayed, displayed_message, is_displayable, variant,
};
use record::Event;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::client::{
    EVENTS_MAX, JobObserver, Word, answer_of, connect, endpoint, listen, outcome, runtime, send,
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
    submit: Submit,
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
    pub const fn submit(&self) -> &Submit {
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
        let processes = request.setup.placement.len();
        observer.found_job(finder.job);
        let mut follower = Follower::new(finder.job, request.clone());
        let followed = runtime.block_on(async {
            let mut interrupted = pin!(interrupted);
            let followed = tokio::select! {
                biased;
                () = &mut interrupted => Err(JobError::cluster("interrupted")),
                followed = follower.follow(&finder, told, observer) => followed,
            };
            finder.endpoint.close().await;
            followed
        })?;
        let (result, request) = (follower.result(followed, processes)?, follower.request);
        let decode = program_type.output_decoder();
        outcome(result, Transfers::default(), &request, decode, observer)
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
            (false, Declined::Owner, _) => Err(of_another(job)),
            (false, _, None) => Err(unknown(job)),
            (false, _, Some(error)) => Err(error),
        }
    })
}

fn unknown(job: JobId) -> JobError {
    JobError::input(format!(
        "no node of the list has {job}: what is left of a job is kept for an hour, by the node that led it last"
    ))
}

fn of_another(job: JobId) -> JobError {
    JobError::input(format!(
        "{job} is not of this client: use the certificate with which it was submitted"
    ))
}

/// What `peer`, the node `name`, answers to a message.
async fn answer(peer: &mut Peer, message: JobMessage, name: &str) -> Result<JobMessage, JobError> {
    send(&peer.sender, message)?;
    match tokio::time::timeout(ANSWER_LIMIT, peer.messages.receive()).await {
        Ok(Ok(Received::Message(_, _, Message::Job(message)))) => Ok(*message),
        Ok(Ok(Received::Message(..))) => Err(JobError::cluster(format!(
            "{name} answered with a message of another kind"
        ))),
        Ok(Ok(Received::Closed { reason })) => Err(JobError::cluster(format!(
            "{name} has closed the connection: {reason}"
        ))),
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
        let began = Clock::now();
        loop {
            let statuses = self.ask_all().await;
            let leads = |status: &Status| {
                let mut led = status.led.iter();
                let led = led.find(|led| led.job == self.job.0.get())?;
                Some(led.ended)
            };
            // The one that leads it now, or that ended it last.
            let leader = statuses
                .iter()
                .filter_map(|(index, status)| Some((leads(status)?, *index)))
                .min_by(|(one, _), (other, _)| {
                    one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal)
                });
            if let Some((_, index)) = leader {
                match self.attach_to(index).await {
                    Ok(told) => return Ok(told),
                    Err(error) if error.loss.is_none() => return Err(error),
                    Err(_) => {}
                }
            }
            let job =
                |status: &Status| status.job.as_ref().map(|job| (job.job, job.leader.clone()));
            let of_job = statuses.iter().filter_map(|(_, status)| job(status));
            let mut of_job = of_job
                .filter(|(job, _)| *job == self.job.0.get())
                .peekable();
            if leader.is_none() && of_job.peek().is_none() {
                return Err(unknown(self.job));
            }
            if of_job.any(|(_, leader)| leader == Leader::Client) && began.elapsed() > LOSS_LIMIT {
                return Err(JobError::input(format!(
                    "{} is led by its own client, which is connected: `run` follows it",
                    self.job
                )));
            }
            if FIND_LIMIT < began.elapsed() {
                return Err(JobError::cluster(format!(
                    "no node has led {} for {} s",
                    self.job,
                    FIND_LIMIT.as_secs()
                )));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The status of each member that answers.
    async fn ask_all(&self) -> Vec<(usize, Status)> {
        let asking = self.members.iter().cloned().map(|(member, role)| {
            let endpoint = Arc::clone(&self.endpoint);
            tokio::spawn(async move {
                let answer = answer_of(&endpoint, &member, role);
                tokio::time::timeout(ANSWER_LIMIT, answer).await
            })
        });
        let asking: Vec<_> = asking.collect();
        let mut statuses = Vec::new();
        for (index, asked) in asking.into_iter().enumerate() {
            if let Ok(Ok(answer)) = asked.await
                && let Ok(status) = answer.status
            {
                statuses.push((index, status));
            }
        }
        statuses
    }

    async fn attach_to(&self, index: usize) -> Result<Told, JobError> {
        let (member, role) = &self.members[index];
        let mut peer = connect(&self.endpoint, member, *role).await?;
        let order = JobMessage::Attach(self.job.0.get());
        match answer(&mut peer, order, &member.name).await? {
            JobMessage::Attached(submit) => Ok(Told {
                leader: member.name.clone(),
                peer,
                submit: *submit,
            }),
            JobMessage::Declined(Declined::Owner) => Err(of_another(self.job)),
            JobMessage::Declined(_) => Err(unknown(self.job)),
            other => Err(JobError::cluster(format!(
                "{} answered with {}",
                member.name,
                variant(&other)
            ))),
        }
    }
}

/// What a client knows of a job that a node leads.
struct Follower {
    job: JobId,
    /// That of the view that goes on.
    request: Request,
    check: FollowedEvents,
    /// The number of that view.
    view: u64,
    calls: Vec<record::Call>,
    checkpoints: Vec<record::Checkpoint>,
    outputs: BTreeMap<Rank, Bytes>,
}

impl Follower {
    fn new(job: JobId, request: Request) -> Self {
        Self {
            job,
            check: FollowedEvents::new(&request.setup),
            view: request.view.as_ref().map_or(0, |view| view.number),
            request,
            calls: Vec::new(),
            checkpoints: Vec::new(),
            outputs: BTreeMap::new(),
        }
    }

    /// Follows the job through its leaders to its end.
    async fn follow(
        &mut self,
        finder: &Finder,
        mut told: Told,
        observer: &mut dyn JobObserver,
    ) -> Result<FollowedEnd, JobError> {
        let mut seen = 0;
        loop {
            let leader = told.leader.clone();
            let base = told.submit.view.clone();
            let lost = match self.hear(told, &mut seen, observer).await {
                Ok(end) => return Ok(end),
                Err(Heard::Failed(error)) => return Err(error),
                Err(Heard::Lost(error)) => error,
            };
            tracing::warn!("{lost}; waits for a node that leads the job");
            self.outputs.clear();
            told = finder.find().await?;
            if told.leader != leader || told.submit.view != base {
                seen = 0;
            }
        }
    }

    /// Hears what one leader tells, but for what has been `seen` of it.
    async fn hear(
        &mut self,
        told: Told,
        seen: &mut usize,
        observer: &mut dyn JobObserver,
    ) -> Result<FollowedEnd, Heard> {
        let (sender, mut words) = mpsc::channel::<Word>(EVENTS_MAX);
        let leader = told.leader;
        listen((0, Arc::default()), told.peer, &sender);
        drop(sender);
        let (mut skipped, mut end) = (0, None);
        let are_files = self.request.files.is_some_and(|files| files.outputs);
        let processes = self.request.setup.placement.len();
        let expected = if are_files { 0 } else { processes };
        loop {
            if let Some(end) = end.take_if(|_| self.outputs.len() == expected) {
                return Ok(end);
            }
            let Some((_, word)) = words.recv().await else {
                let error = JobError::cluster(format!("{leader} has closed the connection"));
                return Err(Heard::Lost(error));
            };
            match word {
                NodeWord::Message(JobMessage::Followed(_), _) if skipped < *seen => skipped += 1,
                NodeWord::Message(JobMessage::Followed(followed), _) => {
                    skipped += 1;
                    *seen += 1;
                    end = self
                        .take(*followed, &leader, observer)
                        .map_err(Heard::Failed)?;
                }
                NodeWord::Output { rank, output, .. } if rank.index() < expected => {
                    self.outputs.insert(rank, output);
                }
                NodeWord::Closed(closed) if end.is_none() || closed.is_err() => {
                    let error = NodeWord::Closed(closed).error(&leader);
                    return Err(Heard::Lost(error));
                }
                NodeWord::Closed(_) => {}
                word @ (NodeWord::Message(..) | NodeWord::Output { .. }) => {
                    return Err(Heard::Failed(word.error(&leader)));
                }
            }
        }
    }

    /// Takes what the leader has seen next. Returns the end of the job, if that is it.
    fn take(
        &mut self,
        followed: Followed,
        leader: &str,
        observer: &mut dyn JobObserver,
    ) -> Result<Option<FollowedEnd>, JobError> {
        let wrong = |problem: &str| JobError::cluster(format!("{leader} told {problem}"));
        match followed {
            Followed::View(view) => self.begin(view, leader, observer)?,
            Followed::Begun(restored) if restored < Seconds::ZERO => {
                return Err(wrong("a time below zero"));
            }
            Followed::Begun(restored) => observer.view_begun(restored)?,
            Followed::Folders(folders) => {
                if !folders
                    .iter()
                    .all(|(name, folder)| is_displayable(name) && is_displayable(folder))
                {
                    return Err(wrong("a folder that cannot be displayed"));
                }
                observer.found_folders(folders);
            }
            Followed::Events(lines) => {
                for line in lines.lines() {
                    let event = self.check.parse(line);
                    let event = event.map_err(|problem| wrong(&displayed_message(&problem)))?;
                    match &event {
                        Event::Call(call) => self.calls.push((**call).clone()),
                        Event::Checkpoint(checkpoint) => self.checkpoints.push(checkpoint.clone()),
                        _ => {}
                    }
                    observer.observe(&event)?;
                }
            }
            Followed::Failed(failed) => {
                return Err(Failed {
                    message: displayed_message(&failed.message),
                    ..failed
                }
                .into());
            }
            Followed::Complete(end) => return Ok(Some(end)),
        }
        Ok(None)
    }

    /// The job goes on in another view.
    fn begin(
        &mut self,
        view: FollowedView,
        leader: &str,
        observer: &mut dyn JobObserver,
    ) -> Result<(), JobError> {
        let are_plain = view
            .members
            .iter()
            .all(|member| is_displayable(&member.name) && is_displayable(&member.set));
        let is_member = view.leader.index() < view.members.len();
        let is_time = view.silent.is_none_or(|silent| Seconds::ZERO <= silent);
        let limit = self.request.setup.superstep_limit;
        let are_numbers = view.number < VIEWS_MAX && view.repeats <= limit;
        if view.number <= self.view || !are_plain || !is_member || !is_time || !are_numbers {
            return Err(JobError::cluster(format!(
                "{leader} told a view that cannot be"
            )));
        }
        let next = NextView {
            job: self.job,
            view: View {
                number: view.number,
                leader: Some(view.leader),
                ..View::first(false)
            },
            members: view.members,
            hosts: Vec::new(),
            connected: Vec::new(),
            resumed: view.resumed,
            lost: view
                .lost
                .into_iter()
                .map(|(name, reason)| LostMember {
                    name: displayed(&name, 64),
                    reason: displayed_message(&reason),
                    silent: view.silent,
                })
                .collect(),
            joined: view.joined.iter().map(|name| displayed(name, 64)).collect(),
            unproven: Vec::new(),
            pauses: Vec::new(),
            repeats: view.repeats,
        };
        let setup: Setup = observer.begin_view(&next)?;
        self.request = next.request(&self.request, setup)?;
        self.check = FollowedEvents::new(&self.request.setup);
        self.view = view.number;
        self.calls.clear();
        self.checkpoints.clear();
        Ok(())
    }

    /// The result of the job, of so many processes.
    fn result(&mut self, end: FollowedEnd, processes: usize) -> Result<JobResult, JobError> {
        let members = self.request.members.len();
        let are_hosts = end.hosts.iter().all(|host| host.index() < members);
        if end.hosts.len() != processes || !are_hosts || members < end.builds.len() {
            return Err(JobError::cluster("the leader told an end that cannot be"));
        }
        let host = |rank: Rank| end.hosts[rank.index()];
        let values = std::mem::take(&mut self.outputs).into_iter();
        let values = values.map(|(rank, value)| (rank, (host(rank), JobOutput::Value(value))));
        let files = end
            .files
            .iter()
            .filter(|file| file.rank.index() < processes);
        let files = files.map(|file| (file.rank, (host(file.rank), JobOutput::File(*file))));
        Ok(JobResult {
            outputs: values.chain(files).collect(),
            ended: BTreeMap::from([(HostId(0), end.end)]),
            calls: std::mem::take(&mut self.calls),
            checkpoints: std::mem::take(&mut self.checkpoints),
            builds: end.builds,
        })
    }
}

/// Why nothing more is heard of a leader.
enum Heard {
    /// It is lost.
    Lost(JobError),
    /// The job has ended without a result, or is not followed any more.
    Failed(JobError),
}

/// The number of a view is below it.
const VIEWS_MAX: u64 = 1 << 32;
/// How long a node may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(4);
/// How long nodes may take to notice that the client of a job is lost.
const LOSS_LIMIT: Duration = Duration::from_secs(4);
/// How long a leader is waited for.
const FIND_LIMIT: Duration = Duration::from_secs(60);
/// The time between two questions for it.
const PAUSE: Duration = Duration::from_millis(250);
