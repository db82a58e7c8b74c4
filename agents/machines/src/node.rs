//! A node of a cluster: it waits for clients, and takes part in one job at a time.

mod job;
mod world;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, Instant as Clock};

use agents::mutant::{self, Mutant};
use agents::process_state::ProcessState;
use agents::{
    Deliberated, Deliberation, Delivery, Executed, HostedProgram, Process, ProgramType, Rules,
    RunError, Setup, Turn, World,
};
use bsp::units::{Instructions, Seconds};
use bsp::{HostId, Notes, Rank, SetId};
use bytes::Bytes;
use checkpoint::{Condition, Delta, DeltaError, Generation, Generations, Piece, WrittenPieces};
use job::{Job, Stop};
use protocol::identity::{Name, Role};
use protocol::transport::{JobId, PeerError, PeerInfo, SpeakingRights};
use protocol::{
    AcceptedView, Address, Build, CallsStatus, Declined, Frame, JobFolder, JobMessage, JobStatus,
    Lead, Leader, LostNode, Member, Message, Migrate, NodeMessage, SavedPieces, SavedProcess, Step,
    Submit, Suspended, WrittenOutput, encode,
};

use crate::between;
use crate::checkpoints::{SavedPiece, Saving};
use crate::host_meter::HostMeter;
use crate::initial_states::{
    InitialState, InitialStateBuilder, InitialStateDecoder, ProgramBuilder,
};
use crate::input_memory::InputMemory;
use crate::job_error::JobError;
use crate::links::KnownLinks;
use crate::members::{self, Builds, Routes, check_own, names};
use crate::migration::ArrivedProcess;
use crate::quorum::AcceptedViews;
use crate::resumption;

/// What a job is made of, from what its client submits.
pub type Prepare = dyn Fn(&Submit) -> Result<Prepared, JobError>;

/// A node of a cluster, as a state machine: it receives events and returns actions.
///
/// Between two events, all actions are to be performed, in order.
pub struct NodeMachine {
    parts: NodeParts,
    now: Clock,
    /// The number of jobs that have ended.
    jobs: u64,
    /// Clients that are connected, and have not submitted a job.
    guests: Vec<Guest>,
    /// Jobs that wait until the threads of the last one have ended.
    submissions: VecDeque<Submission>,
    /// The client whose job is being prepared.
    preparing: Option<ConnectionId>,
    current: Option<Current>,
    actions: VecDeque<NodeAction>,
}

impl fmt::Debug for NodeMachine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("NodeMachine")
            .field("parts", &self.parts)
            .field("jobs", &self.jobs)
            .finish_non_exhaustive()
    }
}

/// What a node is made of.
pub struct NodeParts {
    /// The name in its certificate.
    pub name: String,
    /// The build that it runs, and whether its clients and other nodes may run others.
    pub builds: Builds,
    /// Where it reaches other nodes, if not at the addresses of a client's list.
    pub routes: Routes,
    /// The absolute path of the folder in which it writes files of jobs, if it has one.
    pub folder: Option<String>,
    /// Makes what a client has submitted into a job.
    pub prepare: Box<Prepare>,
    /// Whether its certificate allows it to lead a job whose leader is lost.
    pub leads: bool,
    /// What is measured of the host.
    pub meter: Rc<dyn HostMeter>,
}

impl fmt::Debug for NodeParts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("NodeParts")
            .field("name", &self.name)
            .field("builds", &self.builds)
            .finish_non_exhaustive()
    }
}

/// A client that is connected, or a node that may ask to lead a job.
struct Guest {
    connection: ConnectionId,
    role: Role,
    /// The name in its certificate.
    name: String,
    /// The client as others know it.
    party: String,
    build: Build,
}

/// A job, or a later view of one, that a client has submitted, or a node that leads it.
struct Submission {
    client: Guest,
    submit: Submit,
    /// When it arrived.
    since: Clock,
}

/// The job that runs.
struct Current {
    /// Its number, the same in all of its views.
    number: u64,
    /// Whom it obeys.
    obeyed: Obeyed,
    /// The name in the certificate of the client whose job it is.
    name: String,
    /// That client as others know it.
    party: String,
    since: Clock,
    /// Why it leaves the job, if it is to.
    leaving: Option<String>,
    /// The views of the job that it has accepted.
    views: AcceptedViews,
    /// What was submitted for the last complete view, if the node has accepted others since.
    complete: Option<Box<Submit>>,
    part: Part,
}

/// Whom a node obeys in a job: one peer at a time, until its connection is lost.
enum Obeyed {
    /// The one at this connection, which has submitted the view: the client, or the node of this name.
    Leader(ConnectionId, Option<String>),
    /// The node of this name, at this connection, which asks to lead the next view. The node has been without a leader since then.
    Candidate(ConnectionId, String, Clock),
    /// None since then. At the second date, if there is one, this node asks the others to lead.
    None(Clock, Option<Clock>),
}

impl Obeyed {
    const fn connection(&self) -> Option<ConnectionId> {
        match self {
            Self::Leader(connection, _) | Self::Candidate(connection, ..) => Some(*connection),
            Self::None(..) => None,
        }
    }

    /// Whether a node that obeys so may obey a candidate.
    fn may_change(&self) -> bool {
        match self {
            Self::None(..) => true,
            Self::Candidate(..) => mutant::is(Mutant::ObeyTwo),
            Self::Leader(..) => false,
        }
    }

    /// Since when the node has been without a leader.
    const fn since(&self, now: Clock) -> Clock {
        match self {
            Self::Candidate(.., since) | Self::None(since, _) => *since,
            Self::Leader(..) => now,
        }
    }
}

/// The part of this node in the job that runs.
enum Part {
    /// In a session.
    Job(Box<Job>),
    /// It has left the session of a view, and waits for the next one.
    Suspended(Box<SuspendedPart>),
}

/// What a node keeps of a job whose session it has left.
struct SuspendedPart {
    /// The view that it has left; once the node has left its session, the last complete one.
    submit: Submit,
    /// How long it waits for a leader.
    wait: Duration,
    /// The other nodes of the view that it has lost.
    lost: Vec<LostNode>,
    /// The names of the nodes of that view, by host.
    hosts: Vec<String>,
    /// The number of supersteps that were complete, as far as is known here.
    completed: u64,
    /// The pieces of checkpoints here.
    kept: Generations,
    /// What probes of links from here have found.
    links: KnownLinks,
}

impl Current {
    const fn job(&self) -> Option<&Job> {
        match &self.part {
            Part::Job(job) => Some(job),
            Part::Suspended(..) => None,
        }
    }

    /// Whether the job can go on without this node and repeat nothing.
    fn can_be_held(&self) -> bool {
        let job = self.job();
        matches!(self.obeyed, Obeyed::Leader(..)) && job.is_some_and(Job::can_be_held)
    }

    /// Whether the job goes on when its client is lost.
    fn goes_on_without_client(&self) -> bool {
        match &self.part {
            Part::Job(job) => job.goes_on_without_client(),
            Part::Suspended(_) => true,
        }
    }

    /// What was submitted for the view in which the node is, or for the last complete one of those in which it was.
    fn submit(&self) -> &Submit {
        match &self.part {
            Part::Job(job) => &job.submit,
            Part::Suspended(part) => &part.submit,
        }
    }

    /// The number of that view, if the job has views.
    fn view(&self) -> Option<u64> {
        let has_views = self.submit().view.is_some();
        has_views.then(|| self.views.last().number)
    }

    /// The node that leads the job, if one does and is silent, as `error` says. One that has closed the connection may be there: it
    /// leads no more.
    fn lost_leader(&self, error: Option<&JobError>) -> Vec<LostNode> {
        let (Obeyed::Leader(_, Some(name)), Some(error)) = (&self.obeyed, error) else {
            return Vec::new();
        };
        let host = match &self.part {
            Part::Job(job) => {
                let mut members = job.submit.members.iter();
                members.position(|member| member.name == *name)
            }
            Part::Suspended(part) => part.hosts.iter().position(|host| host == name),
        };
        let silent = error.loss.and_then(|loss| loss.silent);
        let lost = host.zip(silent).map(|(host, silent)| LostNode {
            host: HostId::from_index(host),
            reason: error.message.clone(),
            silent: Some(silent),
        });
        lost.into_iter().collect()
    }

    /// Whether the node waits for `submit`: a later view of its job.
    fn goes_on_with(&self, submit: &Submit) -> bool {
        let next = submit.view.as_ref().map(|view| view.number);
        let is_suspended = matches!(self.part, Part::Suspended(..));
        is_suspended && submit.job == self.number && self.view() < next
    }
}

impl NodeMachine {
    /// A node without a job.
    pub fn new(parts: NodeParts, now: Clock) -> Self {
        Self {
            parts,
            now,
            jobs: 0,
            guests: Vec::new(),
            submissions: VecDeque::new(),
            preparing: None,
            current: None,
            actions: VecDeque::new(),
        }
    }

    /// Handles an event that happens now.
    pub fn handle(&mut self, now: Clock, event: NodeEvent) {
        self.now = now;
        self.on_job(|job| job.advance(now));
        match event {
            NodeEvent::Connected(peer) => self.handle_connected(peer),
            NodeEvent::FromClient(client, message) => self.handle_client(client, *message),
            NodeEvent::ClientGone(client, error) => self.handle_client_gone(client, error),
            NodeEvent::Leave(leave) => self.leave(leave),
            NodeEvent::NotLed => self.plan_to_lead(LEAD_AGAIN),
            NodeEvent::Overtaken(job, error) => self.end_without_part(job, error),
            NodeEvent::Panicked => self.handle_panic(),
            NodeEvent::Tick => self.advance_without_leader(),
            NodeEvent::Job(event) => self.on_job(|job| job.handle(event)),
        }
        self.admit_submissions();
    }

    /// The next action; `None` until the next event.
    pub fn poll(&mut self) -> Option<NodeAction> {
        loop {
            if let Some(action) = self.actions.pop_front() {
                return Some(action);
            }
            let Part::Job(job) = &mut self.current.as_mut()?.part else {
                return None;
            };
            match job.poll() {
                Ok(action) => return action,
                Err(stop) => self.stop(stop),
            }
        }
    }

    /// When a tick is due, if nothing else happens before.
    pub fn next_timeout(&self) -> Option<Clock> {
        let job = self.current.as_ref();
        let job = job.and_then(|current| current.job()?.next_timeout());
        // Dates that follow from the submission alone, whatever else happens here.
        let waiting = self.submissions.front().map(|first| {
            let waited = self.now.saturating_duration_since(first.since);
            let polls = waited.as_millis() / POLLING.as_millis() + 1;
            first.since + POLLING * u32::try_from(polls).unwrap_or(u32::MAX)
        });
        let leaderless = self.current.as_ref().and_then(Current::next_timeout);
        job.into_iter().chain(waiting).chain(leaderless).min()
    }

    /// Whether the node handles events of the other nodes of its job now.
    pub fn takes_peer_events(&self) -> bool {
        let job = self.current.as_ref().and_then(Current::job);
        job.is_some_and(Job::takes_peer_events)
    }

    /// Where the node is in the protocol of a job.
    pub fn step(&self) -> Step {
        match self.current.as_ref().map(|current| &current.part) {
            None => Step::Idle,
            Some(Part::Job(job)) => job.step(),
            Some(Part::Suspended(..)) => Step::Suspend,
        }
    }

    /// The pieces of checkpoints that it has in the job that runs.
    pub fn with_generations<T>(&self, with: impl FnOnce(&Generations) -> T) -> Option<T> {
        match &self.current.as_ref()?.part {
            Part::Job(job) => job.with_generations(with),
            Part::Suspended(part) => Some(with(&part.kept)),
        }
    }

    /// Whether no job runs.
    pub const fn is_idle(&self) -> bool {
        self.current.is_none()
    }

    /// The number of jobs that have ended.
    pub const fn jobs(&self) -> u64 {
        self.jobs
    }

    /// The job that runs.
    pub fn job_status(&self, now: Clock) -> Option<JobStatus> {
        let current = self.current.as_ref()?;
        let job = current.job();
        let progress = job.map_or_else(JobProgress::default, Job::progress);
        let leader = match (&current.obeyed, &current.part) {
            (Obeyed::Leader(_, None), _) => Leader::Client,
            (Obeyed::Leader(_, Some(name)), _) => Leader::Node(name.clone()),
            (_, Part::Suspended(part)) => Leader::None(part.hosts.clone()),
            (_, Part::Job(_)) => Leader::None(Vec::new()),
        };
        Some(JobStatus {
            job: current.number,
            client: current.party.clone(),
            leader,
            view: current.view().unwrap_or_default(),
            since: between(current.since, now),
            superstep: progress.superstep,
            supersteps: job.and_then(|job| job.prepared.supersteps),
            processes: u32::try_from(progress.processes).unwrap_or(u32::MAX),
            calls: progress.calls,
            notes: progress.notes,
        })
    }

    /// A peer of the job that runs takes part in it; a client may submit one.
    fn handle_connected(&mut self, peer: NewPeer) {
        let current = self.current.as_ref().and_then(Current::job);
        let session = current.and_then(|job| NonZeroU64::new(job.submit.session).map(JobId));
        if peer.job.is_some() && peer.job == session {
            return self.on_job(|job| job.admit(&peer));
        }
        let NewPeer {
            connection,
            info,
            job,
            build,
        } = peer;
        let role = info.subject.role;
        if job.is_some() {
            return self.actions.push_back(NodeAction::RefusePeer(connection));
        }
        self.guests.push(Guest {
            connection,
            role,
            name: info.subject.name.to_string(),
            party: PeerInfo::to_string(&info),
            build,
        });
        self.actions.push_back(NodeAction::Attend(connection));
    }

    fn handle_client(&mut self, client: ConnectionId, message: JobMessage) {
        if let Some(current) = self.current.as_ref().filter(|_| self.is_of_client(client)) {
            return match (message, &current.part) {
                (JobMessage::Submit(submit), _) if current.goes_on_with(&submit) => {
                    self.go_on(*submit);
                }
                (JobMessage::Leave, _) if current.goes_on_without_client() => {
                    self.lose_leader(Vec::new());
                }
                (message, Part::Job(_)) => {
                    if matches!(message, JobMessage::Meet { .. }) {
                        self.complete_view();
                    }
                    let begins = matches!(message, JobMessage::Begin { .. });
                    self.on_job(|job| job.handle_client(message));
                    if begins {
                        self.say_leaving();
                    }
                }
                (JobMessage::Stop, Part::Suspended(..)) => {
                    self.end(
                        JobEnd::Failed(JobError::cluster(job::STOPPED).reported()),
                        false,
                    );
                }
                // The client said it before it knew that the view is over.
                (_, Part::Suspended(..)) => {}
            };
        }
        let mut guests = self.guests.iter();
        let Some(place) = guests.position(|guest| guest.connection == client) else {
            // The messages of a client whose job is over have no effect.
            return;
        };
        match (message, self.guests[place].role) {
            (JobMessage::Submit(submit), role)
                if role == Role::Client || self.is_led_by(place, &submit) =>
            {
                self.submissions.push_back(Submission {
                    client: self.guests.swap_remove(place),
                    submit: *submit,
                    since: self.now,
                });
                if self.is_awaited() {
                    self.plan_to_lead(Duration::ZERO);
                }
            }
            (JobMessage::Lead(lead), Role::SetManager | Role::Node) => self.vote(place, lead),
            (JobMessage::End(job), Role::Client) => self.end_for(place, job),
            (JobMessage::Offer(member), _) => self.pass_offer(place, member),
            // So have those of one whose job has not begun.
            _ => {}
        }
    }

    /// Whether a guest is a node that may lead jobs, and leads the later view of a job that it submits.
    fn is_led_by(&self, place: usize, submit: &Submit) -> bool {
        let guest = &self.guests[place];
        let number = submit.view.as_ref().map_or(0, |view| view.number);
        guest.role == Role::SetManager && leader_of(submit) == Some(&guest.name) && 1 < number
    }

    /// All members have accepted the view that the node has accepted last.
    fn complete_view(&mut self) {
        if let Some(current) = &mut self.current {
            current.views.complete_last();
            current.complete = None;
        }
    }

    /// A node asks to lead a job. It is obeyed if its certificate allows it, this node has been in the view that it knows, and has no
    /// leader.
    fn vote(&mut self, place: usize, lead: Lead) {
        let (connection, name, may_lead) = {
            let guest = &self.guests[place];
            let may_lead = guest.role == Role::SetManager;
            (guest.connection, guest.name.clone(), may_lead)
        };
        let answer = match &mut self.current {
            Some(current) if current.number == lead.job => {
                let own = &self.parts.name;
                let known = current.views.since(lead.session, &name);
                let complete = current.views.complete();
                let has_left = complete.is_some_and(|view| !view.members.contains(&name));
                match (known, &current.obeyed, &current.part) {
                    _ if has_left => Declined::Later(current.view().unwrap_or_default()),
                    (None, ..) => Declined::Follows(format!(
                        "{own} is in view {} of the job",
                        current.view().unwrap_or_default()
                    )),
                    (_, Obeyed::None(..), _) if !may_lead => {
                        Declined::Follows(format!("{own} has no leader"))
                    }
                    (Some((view, since)), obeyed, Part::Suspended(part)) if obeyed.may_change() => {
                        let suspended = Suspended {
                            views: since.to_vec(),
                            ..part.answer(&view.members)
                        };
                        let since = obeyed.since(self.now);
                        current.obeyed = Obeyed::Candidate(connection, name, since);
                        let suspended = JobMessage::Suspended(Box::new(suspended));
                        return self.send_to_client(connection, suspended);
                    }
                    (_, Obeyed::Leader(_, None), _) => {
                        Declined::Follows(format!("{own} follows the client"))
                    }
                    (_, Obeyed::Leader(_, Some(other)) | Obeyed::Candidate(_, other, _), _) => {
                        Declined::Follows(format!("{own} follows {other}"))
                    }
                    // A node without a leader has left the session.
                    (_, Obeyed::None(..), _) => Declined::Unknown,
                }
            }
            _ => Declined::Unknown,
        };
        self.send_to_client(connection, JobMessage::Declined(answer));
    }

    /// A node would take part in the job here: its leader decides that.
    fn pass_offer(&mut self, place: usize, mut member: Box<Member>) {
        let guest = &self.guests[place];
        if member.set.is_empty()
            && let Some(submit) = self.current.as_ref().map(Current::submit)
            && let Some(own) = submit.members.get(submit.host.index())
        {
            member.set.clone_from(&own.set);
        }
        let leader = self
            .current
            .as_ref()
            .and_then(|current| match current.obeyed {
                Obeyed::Leader(connection, _) if current.view().is_some() => Some(connection),
                _ => None,
            });
        // A node offers itself, a client any.
        let may_offer = guest.role == Role::Client || member.name == guest.name;
        match leader.filter(|_| may_offer) {
            Some(leader) => self.send_to_client(leader, JobMessage::Offered(member)),
            None => {
                let unknown = JobMessage::Declined(Declined::Unknown);
                self.send_to_client(guest.connection, unknown);
            }
        }
    }

    /// A client orders the end of a job.
    fn end_for(&mut self, place: usize, job: u64) {
        let guest = &self.guests[place];
        let (connection, party) = (guest.connection, guest.party.clone());
        let of_job = self
            .current
            .as_ref()
            .filter(|current| current.number == job);
        let answer = match of_job {
            None => JobMessage::Declined(Declined::Unknown),
            Some(current) if current.name != guest.name => JobMessage::Declined(Declined::Owner),
            Some(_) => {
                let error = JobError::cluster(format!("{party} has ended the job"));
                self.end(JobEnd::Failed(error), false);
                JobMessage::Ending
            }
        };
        self.send_to_client(connection, answer);
    }

    fn handle_client_gone(&mut self, client: ConnectionId, error: Option<JobError>) {
        self.guests.retain(|guest| guest.connection != client);
        self.submissions
            .retain(|submission| submission.client.connection != client);
        let Some(current) = self.current.as_mut().filter(|current| {
            let obeyed = current.obeyed.connection();
            obeyed == Some(client)
        }) else {
            return;
        };
        if mutant::is(Mutant::StayWithoutClient) {
            return;
        }
        if let Obeyed::Candidate(.., since) = current.obeyed
            && let Some(error) = &error
        {
            // Too few nodes obey it, or it is lost, as the leader was. The time until a loss is noticed is no time without one.
            let is_silent = error.loss.is_some_and(|loss| loss.silent.is_some());
            let since = if is_silent { self.now } else { since };
            current.obeyed = Obeyed::None(since, None);
            return self.plan_to_lead(LEAD);
        }
        let is_loss = error.as_ref().is_some_and(|error| error.loss.is_some());
        let goes_on = current.goes_on_without_client();
        if is_loss && goes_on {
            let lost = current.lost_leader(error.as_ref());
            return self.lose_leader(lost);
        }
        let end = match (current.job(), error) {
            (Some(job), error) => {
                let end = job.handle_client_gone(error);
                end.map_or_else(JobEnd::Failed, |()| JobEnd::Complete(job.lasted()))
            }
            (None, Some(error)) => JobEnd::Failed(error),
            (None, None) => JobEnd::Failed(JobError::cluster("the client has gone").reported()),
        };
        self.end(end, false);
    }

    /// The leader of the job is lost, with these nodes, or has left: the node leaves the session, and waits for another leader, or
    /// becomes it.
    fn lose_leader(&mut self, lost: Vec<LostNode>) {
        let Some(current) = &mut self.current else {
            return;
        };
        current.obeyed = Obeyed::None(self.now, None);
        match &mut current.part {
            Part::Job(_) => self.suspend(lost),
            Part::Suspended(part) => {
                let is_new = |of: &LostNode| part.lost.iter().all(|known| known.host != of.host);
                let lost: Vec<LostNode> = lost.into_iter().filter(is_new).collect();
                part.lost.extend(lost);
            }
        }
        let delay = if self.is_awaited() {
            Duration::ZERO
        } else {
            LEAD
        };
        self.plan_to_lead(delay);
    }

    /// Whether the client of the job has submitted another one: this one is likely to be over.
    fn is_awaited(&self) -> bool {
        let of_client = |current: &Current| {
            let mut submissions = self.submissions.iter();
            submissions.any(|submission| submission.client.name == current.name)
        };
        self.current.as_ref().is_some_and(of_client)
    }

    /// Has this node ask the others to lead the job later, if it obeys none. The first member asks first, so that seldom two do. One
    /// that may not lead asks too: it learns whether the job is over, or goes on without it.
    fn plan_to_lead(&mut self, delay: Duration) {
        if let Some(current) = &mut self.current
            && let Obeyed::None(_, leads) = &mut current.obeyed
            && current.views.complete().is_some()
            && current.leaving.is_none()
        {
            let is_later = !self.parts.leads && !delay.is_zero();
            let delay = if is_later { LEARN } else { delay };
            let place = match &current.part {
                Part::Job(job) => job.submit.host.0,
                Part::Suspended(part) => part.submit.host.0,
            };
            *leads = Some(self.now + delay * (place + 1));
        }
    }

    /// Without a leader: asks to lead, or waits no longer.
    fn advance_without_leader(&mut self) {
        let Some(Current {
            obeyed: Obeyed::None(since, leads),
            part: Part::Suspended(part),
            number,
            name,
            ..
        }) = &mut self.current
        else {
            return;
        };
        if *since + part.wait <= self.now {
            let (view, waited) = (
                part.submit.view.as_ref().map_or(0, |view| view.number),
                part.wait.as_secs(),
            );
            let error = JobError::cluster(format!(
                "no node could lead the job since its leader was lost in view {view}, {waited} s ago: more than half of the nodes \
                 of a view have to reach each other, or wait longer (recovery.wait)"
            ));
            return self.end(JobEnd::Failed(error), false);
        }
        if leads.is_some_and(|leads| leads <= self.now) {
            *leads = None;
            let order = LeadOrder {
                job: *number,
                owner: name.clone(),
                submit: part.submit.clone(),
            };
            self.actions.push_back(NodeAction::Lead(Box::new(order)));
        }
    }

    /// Ends with the job of this number, which is over or goes on without this node, as it has learned when it asked to lead. If it
    /// obeys another node, the end of that connection decides.
    fn end_without_part(&mut self, job: u64, error: JobError) {
        let current = self.current.as_ref();
        let is_waiting = current.is_some_and(|current| {
            let obeys_none = match &current.obeyed {
                Obeyed::None(..) => true,
                Obeyed::Candidate(_, name, _) => *name == self.parts.name,
                Obeyed::Leader(..) => false,
            };
            current.number == job && obeys_none
        });
        if is_waiting {
            self.end(JobEnd::Failed(error), false);
        }
    }

    fn is_of_client(&self, client: ConnectionId) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| current.obeyed.connection() == Some(client))
    }

    /// Begins with the first job that waits, so that it is not refused for what the one before has left.
    fn admit_submissions(&mut self) {
        while let Some(first) = self.submissions.front() {
            if self.now < first.since + self.patience(first) {
                return;
            }
            let Some(submission) = self.submissions.pop_front() else {
                return;
            };
            let client = submission.client.connection;
            self.preparing = Some(client);
            let entered = self.enter(submission);
            self.preparing = None;
            if let Err(error) = entered {
                self.send_to_client(client, JobMessage::Failed(error.into()));
            }
        }
    }

    /// How long a submission may wait for the end of what goes on.
    ///
    /// When a client closes its connection, the packet that says so may be lost, and the next run of the client be here
    /// before its silence is noticed. That a client has closed is likely if its job has ended here, or if it submits
    /// another one.
    fn patience(&self, submission: &Submission) -> Duration {
        match &self.current {
            None if self.parts.meter.oldest_execution().is_some() => LEAVING,
            Some(current)
                if (current.job().is_some_and(Job::has_ended)
                    || current.name == submission.client.name)
                    && !mutant::is(Mutant::RefuseAtOnce) =>
            {
                CLOSING
            }
            None | Some(_) => Duration::ZERO,
        }
    }

    /// Begins with a job, if there is none and it can be done.
    fn enter(&mut self, submission: Submission) -> Result<(), JobError> {
        let Submission { client, submit, .. } = submission;
        let own = &self.parts.name;
        if let Some(current) = &self.current {
            let since = self.now.saturating_duration_since(current.since).as_secs();
            return Err(JobError::cluster(format!(
                "{own} runs a job of {} since {since} s: wait for its end",
                current.party
            )));
        }
        let Guest {
            connection,
            role,
            name,
            party,
            build,
        } = client;
        self.parts.builds.check(own, (&party, &build))?;
        let (leader, name, party) = match role {
            Role::Client => (None, name, party),
            _ => {
                let owner = submit.view.as_ref().and_then(|view| view.owner.as_ref());
                let owner: Option<Name> = owner.and_then(|owner| owner.parse().ok());
                let owner = owner.ok_or_else(|| JobError::cluster("a job of no client"))?;
                (Some(name), owner.to_string(), format!("client {owner}"))
            }
        };
        if let Some(execution) = self.parts.meter.oldest_execution() {
            let problem = execution.problem(own);
            return Err(JobError::cluster(format!("{problem}: {REMEDY}")));
        }
        let accepted = self.accept(submit, (connection, &party), Default::default())?;
        let leader = Obeyed::Leader(connection, leader);
        let view = accepted_view(&accepted.1.submit);
        let views = if 1 < view.number {
            AcceptedViews::joining(view)
        } else {
            AcceptedViews::new(view)
        };
        let of = (name, party, self.now, None);
        self.begin((connection, leader), of, (views, None), accepted);
        Ok(())
    }

    /// Goes on in the next view with what is saved here.
    fn go_on(&mut self, submit: Submit) {
        let Some(current) = &mut self.current else {
            return;
        };
        let Part::Suspended(part) = &mut current.part else {
            return;
        };
        let (connection, leader) = match &current.obeyed {
            Obeyed::Leader(connection, leader) => (*connection, leader.clone()),
            Obeyed::Candidate(connection, name, _) => (*connection, Some(name.clone())),
            Obeyed::None(..) => return,
        };
        let kept = (
            std::mem::take(&mut part.kept),
            std::mem::take(&mut part.links),
        );
        let party = current.party.clone();
        let is_same = is_same_job(&part.submit, &submit);
        let accepted = if is_same {
            self.accept(submit, (connection, &party), kept)
        } else {
            let problem = "the leader went on with another experiment than the one of the job";
            Err(JobError::cluster(problem))
        };
        match accepted {
            Ok(accepted) => {
                if let Some(mut current) = self.current.take() {
                    current.views.accept(accepted_view(&accepted.1.submit));
                    if let Part::Suspended(part) = current.part {
                        current.complete = Some(Box::new(part.submit));
                    }
                    let of = (current.name, current.party, current.since, current.leaving);
                    let views = (current.views, current.complete);
                    let leader = Obeyed::Leader(connection, leader);
                    self.begin((connection, leader), of, views, accepted);
                }
            }
            Err(error) => self.end(JobEnd::Failed(error), false),
        }
    }

    /// What a submitted job, or a view of one, is made of here, where these pieces and these links are known of the view before.
    ///
    /// # Errors
    ///
    /// If it cannot be done here.
    fn accept(
        &self,
        submit: Submit,
        (client, party): (ConnectionId, &str),
        kept: (Generations, KnownLinks),
    ) -> Result<(BegunJob, Job), JobError> {
        check_own(&self.parts.name, &submit)?;
        resumption::check(&submit)?;
        let id = NonZeroU64::new(submit.session).map(JobId);
        let id = id.ok_or_else(|| JobError::cluster("a session without a number"))?;
        let mut prepared = (self.parts.prepare)(&submit)?;
        if let Some(resumed) = &submit.resumed {
            prepared.setup = resumption::resume(prepared.setup, resumed)?;
        }
        let places = submit.processes;
        if u32::try_from(prepared.setup.placement.len()) != Ok(places) {
            let problem = "the client and the node make different jobs of the experiment: run one build everywhere";
            return Err(JobError::cluster(problem));
        }
        let resumed = prepared.setup.resumed.as_ref();
        let halted = (0..places).map(Rank);
        let halted = halted.filter(|rank| resumed.is_some_and(|resumed| resumed.has_halted(*rank)));
        let are_forked = prepared.setup.checkpointing.is_some();
        let are_encoded = are_forked || prepared.setup.scheduler.is_some();
        let decoder = InitialStateDecoder {
            program_type: prepared.program_type,
            halted: Arc::new(halted.collect()),
            are_forked,
        };
        let starting = prepared.setup.placement.iter().enumerate();
        let starting = starting.filter(|(_, host)| **host == submit.host);
        let builder = InitialStateBuilder {
            programs: prepared.programs.clone(),
            ranks: starting.map(|(index, _)| Rank::from_index(index)).collect(),
            are_encoded,
            are_forked,
        };
        let view = submit.view.as_ref();
        let checkpointing = prepared.setup.checkpointing.as_ref();
        let keep = checkpointing.map(|checkpointing| checkpointing.keep);
        let begun = BegunJob {
            decoder,
            builder: resumed.is_none().then_some(builder),
            session: id,
            job: NonZeroU64::new(submit.job)
                .map(JobId)
                .ok_or_else(|| JobError::cluster("a job without a number"))?,
            view: view.map_or(0, |view| view.number),
            own: submit.host,
            client,
            party: party.to_owned(),
            processes: submit.processes,
            nodes: submit.members.len(),
            checkpoint: submit.checkpoint.as_ref().map(PathBuf::from),
            keep: keep.unwrap_or(NonZeroU32::MIN),
            files: submit.files.map(|files| {
                let resumed = submit.resumed.as_ref();
                (files.job, resumed.map_or(0, |resumed| resumed.incarnation))
            }),
        };
        let (builds, meter) = (self.parts.builds.clone(), Rc::clone(&self.parts.meter));
        let reached = (builds, self.parts.routes.clone());
        let job = Job::new(submit, prepared, reached, meter, kept, self.now)?;
        Ok((begun, job))
    }

    /// Begins with a job, or a view of it, which the leader at a connection has submitted. Its client has this name and is this
    /// party to others, it runs since a date, the node leaves it for this reason, and has accepted these views of it; the last complete one was this, if it is not the last of them.
    fn begin(
        &mut self,
        (client, obeyed): (ConnectionId, Obeyed),
        (name, party, since, leaving): (String, String, Clock, Option<String>),
        (views, complete): (AcceptedViews, Option<Box<Submit>>),
        (begun, job): (BegunJob, Job),
    ) {
        let has_files = job.submit.files.is_some();
        self.current = Some(Current {
            number: job.submit.job,
            obeyed,
            name,
            party,
            since,
            leaving,
            views,
            complete,
            part: Part::Job(Box::new(job)),
        });
        self.actions.push_back(NodeAction::Begin(Box::new(begun)));
        let counts = self.parts.meter.counts();
        let folder = self.parts.folder.clone().filter(|_| has_files);
        self.send_to_client(client, JobMessage::Accepted { counts, folder });
    }

    /// What has been going on panicked: the job that runs, or the preparation of one.
    fn handle_panic(&mut self) {
        match self.preparing.take() {
            Some(client) => {
                let failed = JobError::cluster(PANICKED);
                self.send_to_client(client, JobMessage::Failed(failed.into()));
            }
            None => self.end(JobEnd::Panicked, true),
        }
    }

    /// The node is to leave its job.
    fn leave(&mut self, leave: Leave) {
        let name = &self.parts.name;
        let reason = format!("{name} has been told to leave");
        if let Some(current) = self
            .current
            .as_mut()
            .filter(|current| current.can_be_held())
            && leave == Leave::WhenHeld
        {
            current.leaving = Some(reason);
            return self.say_leaving();
        }
        self.end(JobEnd::Failed(JobError::cluster(reason)), true);
    }

    /// If the node leaves its job, says so to the leader.
    fn say_leaving(&mut self) {
        if let Some(current) = &self.current
            && let (Some(reason), Obeyed::Leader(leader, _)) = (&current.leaving, &current.obeyed)
        {
            let leaving = JobMessage::Leaving(reason.clone());
            self.send_to_client(*leader, leaving);
        }
    }

    /// Does something with the job that runs, if it is in a session. An error ends that.
    fn on_job(&mut self, with: impl FnOnce(&mut Job) -> Result<(), Stop>) {
        if let Some(Current {
            part: Part::Job(job),
            ..
        }) = &mut self.current
            && let Err(stop) = with(job)
        {
            self.stop(stop);
        }
    }

    fn stop(&mut self, stop: Stop) {
        match stop {
            Stop::Failed(error) => self.end(JobEnd::Failed(error), false),
            Stop::Suspended(lost) => self.suspend(lost),
        }
    }

    /// Leaves the session of the view, with the pieces of checkpoints that are here, and says so to the leader.
    fn suspend(&mut self, lost: Vec<LostNode>) {
        let Some(mut current) = self.current.take() else {
            return;
        };
        if let Part::Job(job) = current.part {
            let mut last: Vec<Frame> = job.rest_of_record().into_iter().collect();
            let mut part = job.into_suspended(lost);
            if current.views.complete().is_none() {
                part.wait = part.wait.min(JOINING_WAIT);
            }
            let answer = part.answer(&part.hosts);
            last.push(frame(JobMessage::Suspended(Box::new(answer))));
            if let Some(complete) = current.complete.take() {
                part.submit = *complete;
            }
            let leader = current.obeyed.connection();
            self.actions.push_back(NodeAction::Suspend(leader, last));
            current.part = Part::Suspended(Box::new(part));
        }
        self.current = Some(current);
    }

    /// Ends the job that runs. Its client hears of everything before the connection closes. If the job has views, it may go on
    /// without a node that `leaves`.
    fn end(&mut self, end: JobEnd, leaves: bool) {
        let Some(current) = self.current.take() else {
            return;
        };
        let has_views = current.view().is_some();
        let job = current.job();
        let mut last = Vec::new();
        let failed = match &end {
            JobEnd::Complete(_) => None,
            JobEnd::Failed(error) => Some(error.clone()),
            JobEnd::Panicked => Some(JobError::cluster(PANICKED)),
        };
        if let Some(error) = failed {
            last.extend(job.and_then(Job::rest_of_record));
            last.push(frame(if leaves && has_views {
                JobMessage::Suspended(Box::new(Suspended {
                    lost: Vec::new(),
                    saved: Vec::new(),
                    completed: 0,
                    leaves: Some(error.message),
                    views: Vec::new(),
                }))
            } else {
                JobMessage::Failed(error.into())
            }));
        }
        self.jobs += 1;
        self.actions.push_back(NodeAction::End(EndedJob {
            end,
            client: current.obeyed.connection(),
            last,
            supersteps: job.map_or(0, |job| job.progress().superstep),
        }));
    }

    fn send_to_client(&mut self, client: ConnectionId, message: JobMessage) {
        let frame = frame(message);
        self.actions
            .push_back(NodeAction::SendToClient(client, frame));
    }
}

impl SuspendedPart {
    /// What the node says of it to the leader of a view with these nodes, or to a candidate.
    fn answer(&self, members: &[String]) -> Suspended {
        let lost = self.lost.iter().filter_map(|lost| {
            let name = self.hosts.get(lost.host.index())?;
            let host = members.iter().position(|member| member == name)?;
            Some(LostNode {
                host: HostId::from_index(host),
                ..lost.clone()
            })
        });
        Suspended {
            lost: lost.collect(),
            saved: saved_pieces(&self.kept),
            completed: self.completed,
            leaves: None,
            views: Vec::new(),
        }
    }
}

impl Current {
    /// When a node without a leader does something by itself.
    fn next_timeout(&self) -> Option<Clock> {
        match (&self.obeyed, &self.part) {
            (Obeyed::None(since, leads), Part::Suspended(part)) => {
                let limit = *since + part.wait;
                Some(leads.map_or(limit, |leads| leads.min(limit)))
            }
            _ => None,
        }
    }
}

/// Whether a view is of the job of the view before: the leader decides of its members and its state alone.
fn is_same_job(before: &Submit, next: &Submit) -> bool {
    let job = |submit: &Submit| {
        let Submit {
            experiment,
            folder,
            processes,
            checkpoint,
            files,
            ..
        } = submit.clone();
        (experiment, folder, processes, checkpoint, files)
    };
    job(before) == job(next)
}

/// The name of the node that leads the view of `submit`, if one does.
fn leader_of(submit: &Submit) -> Option<&String> {
    let host = submit.view.as_ref()?.leader?;
    Some(&submit.members.get(host.index())?.name)
}

/// The view of `submit`, as a node has accepted it.
fn accepted_view(submit: &Submit) -> AcceptedView {
    let view = submit.view.as_ref();
    AcceptedView {
        session: submit.session,
        number: view.map_or(0, |view| view.number),
        members: names(&submit.members),
        leader: leader_of(submit).cloned(),
    }
}

/// What a node says of the pieces that it has `kept`.
fn saved_pieces(kept: &Generations) -> Vec<SavedPieces> {
    let inventory = kept.inventory().into_iter();
    let listed = inventory.map(|(generation, pieces)| SavedPieces {
        incarnation: generation.incarnation,
        superstep: generation.superstep,
        pieces: pieces
            .into_iter()
            .map(|piece| SavedProcess {
                rank: piece.rank,
                is_copy: piece.is_copy,
                halted: match piece.condition {
                    Condition::Running => None,
                    Condition::Halted { superstep } => Some(superstep),
                },
                work: piece.work.0,
            })
            .collect(),
    });
    listed.collect()
}

impl From<JobEvent> for NodeEvent {
    fn from(event: JobEvent) -> Self {
        Self::Job(event)
    }
}

/// The frame of a message of a node, as itself, to a client.
pub fn frame(message: JobMessage) -> Frame {
    let message = Message::Job(Box::new(message));
    encode(Address::Node(HostId(0)), Address::Client, &message)
}

/// The error that a client receives if the node has panicked.
const PANICKED: &str = "the node has failed; see its log";
/// What a client can do about a superstep that is still executed.
const REMEDY: &str =
    "the node accepts jobs when that superstep ends; restart the node if it never does";
/// How long a submitted job waits for the threads of the one before.
const LEAVING: Duration = Duration::from_secs(5);
/// How long one waits for the close of the client of a job that has ended: its silence is noticed after 2.7 s, and other nodes are
/// asked whether the job is over.
const CLOSING: Duration = Duration::from_secs(4);
/// The time, for each place of a node among the members, after which it asks the others to lead a job.
const LEAD: Duration = Duration::from_millis(100);
/// The same for a node that may not lead.
const LEARN: Duration = Duration::from_secs(2);
/// The same after it could not.
const LEAD_AGAIN: Duration = Duration::from_millis(200);
/// How long a node waits for a leader that has joined, and does not know that the view is complete: it cannot lead, nor learn whether
/// the job goes on without it.
const JOINING_WAIT: Duration = Duration::from_secs(5);
/// The time between two looks at them.
const POLLING: Duration = Duration::from_millis(10);

/// A connection to another process of the operating system, as the node's shell numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// An event of a node. Events of a job end with the job: its shell drops them.
#[derive(Debug)]
pub enum NodeEvent {
    /// A peer has connected.
    Connected(NewPeer),
    /// A client has sent a message.
    FromClient(ConnectionId, Box<JobMessage>),
    /// The connection of a client has closed, with an error unless it was closed in order.
    ClientGone(ConnectionId, Option<JobError>),
    /// The node is to leave its job, because it ends.
    Leave(Leave),
    /// The node has asked the others to lead the job, and too few obey it.
    NotLed,
    /// The node has asked the others to lead the job of this number, which is over or goes on without it.
    Overtaken(u64, JobError),
    /// The part of the node in its job has panicked.
    Panicked,
    /// Time has passed.
    Tick,
    /// Of the job that runs.
    Job(JobEvent),
}

/// An event of the job that runs.
#[derive(Debug)]
pub enum JobEvent {
    /// The state of a process that starts here, built or decoded, and the bytes of its encoding.
    State(Rank, InitialState, u64),
    /// The client has taken the last part of the record.
    RecordTaken,
    /// The output of a process is in a file of this node.
    OutputWritten(WrittenOutput),
    /// Supersteps have been executed.
    Executed(Vec<Done>),
    /// The state of a process has reached its host: its bytes, and how long it took.
    Sent(HostId, u64, Seconds),
    /// The state of a process has been saved.
    Saved(Box<SavedPiece>),
    /// The pieces of this node for the checkpoint before a superstep are on the disk, or cannot be.
    Written(u64, Result<WrittenPieces, String>),
    /// The checkpoint before a superstep is complete on the disk, or cannot be.
    CheckpointFinished(u64, Result<(), String>),
    /// The plan that the Manager of a Set asked for is complete.
    Deliberated(SetId, Box<Deliberated>),
    /// A task has failed, or a connection, which ends the job.
    Failed(JobError),
    /// Another node has sent a message.
    Message(Box<NodeInput>),
    /// A process has arrived that moves here.
    Process(Box<ArrivedProcess>),
    /// What has changed of the pieces of another node has arrived.
    Pieces(Box<IncomingPieces>),
    /// The connection of another node has closed: in order, with its reason, or with an error.
    PeerGone(HostId, Result<String, JobError>),
}

/// When a node leaves its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// When all processes are held before a superstep, so that the others repeat nothing; at once if they cannot be.
    WhenHeld,
    /// At once.
    AtOnce,
}

/// A peer that has connected.
#[derive(Debug)]
pub struct NewPeer {
    /// Its connection.
    pub connection: ConnectionId,
    /// What its certificate says.
    pub info: Arc<PeerInfo>,
    /// The job of the connection.
    pub job: Option<JobId>,
    /// The build that it runs.
    pub build: Build,
}

/// A message from another node.
#[derive(Debug)]
pub struct NodeInput {
    /// The host of the node.
    pub host: HostId,
    /// Its sender and its receiver.
    pub ends: (Address, Address),
    /// What it says.
    pub message: Message,
    /// When it arrived.
    pub arrived: Instant,
    /// Of a batch: the estimated round-trip time, and the bandwidth that follows from what may be under way during it,
    /// in bytes per second.
    pub transport: (Seconds, f64),
    /// Held until it has been handled.
    pub memory: InputMemory,
}

/// Pieces of a checkpoint that have arrived.
#[derive(Debug)]
pub struct IncomingPieces {
    /// The host of the node that sent them.
    pub host: HostId,
    /// The sender and the receiver.
    pub ends: (Address, Address),
    /// The superstep before which the checkpoint is.
    pub superstep: u64,
    /// What has changed, or why that is not known.
    pub deltas: Result<Vec<Delta>, DeltaError>,
}

impl JobEvent {
    /// Sending something to the node of `host` has failed: it has closed the connection in order or is lost, or the error ends the
    /// job.
    #[must_use]
    pub fn unsent(host: HostId, error: PeerError) -> Self {
        if let PeerError::Closed { reason, .. } = error {
            return Self::PeerGone(host, Ok(reason));
        }
        let error = JobError::from(error);
        match error.loss {
            Some(_) => Self::PeerGone(host, Err(error)),
            None => Self::Failed(error),
        }
    }

    /// Whether another node has sent it.
    pub const fn is_of_peer(&self) -> bool {
        matches!(
            self,
            Self::Message(_) | Self::Process(_) | Self::Pieces(_) | Self::PeerGone(..)
        )
    }

    /// Whether the event has to wait until the job has begun on this node.
    pub(crate) fn waits(&self) -> bool {
        match self {
            Self::Message(input) => !matches!(input.message, Message::Node(NodeMessage::Probe(_))),
            event => matches!(event, Self::Process(_) | Self::Pieces(_)),
        }
    }
}

/// What a node is to do now. Actions are performed in order.
#[derive(Debug)]
pub enum NodeAction {
    /// Read what the client at a connection sends.
    Attend(ConnectionId),
    /// Close the connection of a peer that has no part in a job here, and count the refusal.
    RefusePeer(ConnectionId),
    /// Send a message to a client, if its connection is not lost.
    SendToClient(ConnectionId, Frame),
    /// A job has begun: stamp frames with its number, and build the processes that start here, or read the states that its
    /// client sends.
    Begin(Box<BegunJob>),
    /// The view of the job is over: end all that belongs to its session, and send these frames to its leader, if that is there.
    Suspend(Option<ConnectionId>, Vec<Frame>),
    /// Ask the members of a view whose leader is lost to obey this node, and lead the next view.
    Lead(Box<LeadOrder>),
    /// The job is over: end all that belongs to it.
    End(EndedJob),
    /// Of the job that runs.
    Job(JobAction),
}

/// What a node is to do for the job that runs.
#[derive(Debug)]
pub enum JobAction {
    /// Connect to the node of another host, which has this role. That it cannot be reached is an event.
    Connect(HostId, Box<Member>, Role),
    /// Decode the states in pieces, with which processes start here.
    Restore(Vec<Piece>),
    /// Read what a peer sends, which is the node of a host and may speak for these agents.
    Admit(ConnectionId, HostId, SpeakingRights),
    /// Start the agents of this host, and the threads that execute supersteps.
    Start(StartedJob),
    /// Start the clock of the host that this node plays, if it plays one.
    StartClock,
    /// Send a frame to the node of a host.
    Send(HostId, Frame),
    /// Send a frame to the client.
    SendToClient(Frame),
    /// Send a part of the record to the client, and report when it has been taken.
    SendRecord(Frame),
    /// Send the output of a process to the client.
    SendOutput(Rank, Bytes),
    /// Write the output of a process to its file in the folder of the job's files.
    WriteOutput(Rank, Bytes),
    /// Close the connection to the node of a host because of what it sent.
    Refuse(HostId, String),
    /// Stamp frames with this epoch from now on.
    AdvanceEpoch(u64),
    /// Execute supersteps.
    Execute(Vec<Task>),
    /// Encode a process and send it to another node.
    Depart(Migrate, Box<ProcessState>),
    /// Send what has changed of pieces, for the checkpoint before this superstep, to the node of a host.
    SendPieces(HostId, u64, Vec<Delta>),
    /// Write the pieces of this node to the folder of the job's checkpoints.
    WritePieces(Generation, Vec<Piece>),
    /// Complete a checkpoint in that folder, and remove those before it.
    FinishCheckpoint(Generation, BTreeMap<HostId, WrittenPieces>),
    /// Make a plan.
    Plan(SetId, Box<Deliberation>),
    /// Have agents here handle events, in this order.
    Deliver(VecDeque<Delivery>),
    /// Drop the agents of processes that have left, or are done.
    Release(Vec<Rank>),
}

/// A job that a node is to lead.
#[derive(Debug)]
pub struct LeadOrder {
    /// Its number.
    pub job: u64,
    /// The name in the certificate of its client.
    pub owner: String,
    /// The view that is to be followed by another one.
    pub submit: Submit,
}

/// A job that begins.
#[derive(Debug)]
pub struct BegunJob {
    /// What its frames are stamped with.
    pub session: JobId,
    /// The number that its checkpoints have.
    pub job: JobId,
    /// Which of its views begins, from 1; 0 if it has none. Outputs that are sent to the client are stamped with it.
    pub view: u64,
    /// The host of this node.
    pub own: HostId,
    /// The connection of its client.
    pub client: ConnectionId,
    /// The client as others know it.
    pub party: String,
    /// How many processes it has.
    pub processes: u32,
    /// How many nodes it has.
    pub nodes: usize,
    /// Decodes the states that the client sends.
    pub decoder: InitialStateDecoder,
    /// Builds the processes that start here; `None`: their states come from the client, or from the memory of nodes.
    pub builder: Option<InitialStateBuilder>,
    /// The folder for its checkpoints, if they are written to disk.
    pub checkpoint: Option<PathBuf>,
    /// How many complete checkpoints stay there.
    pub keep: NonZeroU32,
    /// Its folder in that of this node for files of jobs, if it has files, and the incarnation that writes them.
    pub files: Option<(JobFolder, u64)>,
}

/// What the agents and the threads of a job are made of.
pub struct StartedJob {
    /// The host of this node.
    pub own: HostId,
    /// What all agents of the job know.
    pub rules: Arc<Rules>,
    /// The world of the agents.
    pub world: Rc<RefCell<dyn World>>,
    /// The agents of the processes that start here.
    pub processes: BTreeMap<Rank, Process>,
    /// The number of threads.
    pub slots: NonZeroU32,
    /// What each processor is worth of what was measured.
    pub speed: f64,
    /// Whether all machines of the job count instructions.
    pub counts: bool,
}

impl fmt::Debug for StartedJob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StartedJob")
            .field("own", &self.own)
            .field("processes", &self.processes)
            .finish_non_exhaustive()
    }
}

/// A job that is over.
#[derive(Debug)]
pub struct EndedJob {
    /// How it ended here.
    pub end: JobEnd,
    /// The connection of its leader, if it has one.
    pub client: Option<ConnectionId>,
    /// The rest of the record, and the reason if it failed: the client receives them before the connection closes.
    pub last: Vec<Frame>,
    /// The supersteps that were complete.
    pub supersteps: u64,
}

/// How a job ended on a node.
#[derive(Debug)]
pub enum JobEnd {
    /// All its processes have halted, after this time.
    Complete(Seconds),
    /// An error ended it.
    Failed(JobError),
    /// The node's part of it panicked.
    Panicked,
}

impl From<JobAction> for NodeAction {
    fn from(action: JobAction) -> Self {
        Self::Job(action)
    }
}

/// A superstep to be executed.
#[derive(Debug)]
pub struct Task {
    /// The program of the process.
    pub program: Box<dyn HostedProgram>,
    /// What it is given.
    pub turn: Turn,
    /// What the process pays first.
    pub delay: Seconds,
    /// What is saved before it is executed.
    pub saving: Option<Box<Saving>>,
    /// Whether it is not executed: the job goes on in another view.
    pub is_held: bool,
}

/// A superstep that has been executed.
#[derive(Debug)]
pub struct Done {
    /// The process.
    pub rank: Rank,
    /// Its program.
    pub program: Box<dyn HostedProgram>,
    /// The messages that it sent and its output, or the error that ends the run.
    pub result: Result<Executed, RunError>,
    /// What a processor did for it.
    pub work: Instructions,
    /// The time for which it had a processor.
    pub held: Seconds,
    /// What of that the process paid first, without computing.
    pub delay: Seconds,
    /// The files that it has written here in the superstep.
    pub snapshots: Vec<record::Snapshot>,
}

/// What a job is made of.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The job, all hosts being those of the cluster.
    pub setup: Setup,
    /// What its processes execute.
    pub program_type: ProgramType,
    /// Builds their programs, if the job is new.
    pub programs: ProgramBuilder,
    /// The number of its supersteps, if its experiment has it.
    pub supersteps: Option<u64>,
}

impl Prepared {
    /// The data that its agents have from the start.
    pub(crate) fn rules(&self) -> Rules {
        members::rules(&self.setup).in_rounds(self.program_type.round())
    }
}

/// The agents that start on a host, except its own.
#[derive(Debug)]
pub struct Residents {
    /// The processes, without those that have halted before the run begins.
    pub ranks: BTreeSet<Rank>,
    /// The Set whose Manager runs here, with its hosts, if there is one.
    pub manager: Option<(SetId, Vec<HostId>)>,
}

impl Residents {
    /// The agents that start on `own`.
    pub fn of(rules: &Rules, own: HostId) -> Self {
        let here = rules.running().filter(|(_, host)| *host == own);
        let set = rules.sets[own.index()];
        let hosts = (0..rules.sets.len()).map(HostId::from_index);
        let hosts = hosts.filter(|host| rules.sets[host.index()] == set);
        let is_manager = rules.managers[set.index()] == own;
        Self {
            ranks: here.map(|(rank, _)| rank).collect(),
            manager: is_manager.then(|| (set, hosts.collect())),
        }
    }
}

/// How far a job is on a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct JobProgress {
    /// Supersteps that have begun there, with those before the job begins.
    pub(super) superstep: u64,
    /// Processes there that have not halted.
    pub(super) processes: usize,
    /// The calls that were recorded there, once there has been one.
    pub(super) calls: Option<CallsStatus>,
    /// The first notes of the last superstep with notes that was recorded there.
    pub(super) notes: Notes,
}
