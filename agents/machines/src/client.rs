//! The client of a job: it submits the job to nodes and follows it to its end.
//!
//! A job that fails may have a better reason than the first one that arrives, and nodes have parts of the record that
//! are not sent yet. So the client waits for all nodes: at most 2 s, or 0.5 s if a node may be lost. If it ends the job
//! itself (Ctrl-C), it orders the nodes to stop. It ends every job by closing its connections.
//!
//! A machine follows one view of a job. If the job has views and loses a node, the client orders the others to leave the session,
//! waits for what each has of checkpoints, and ends with that: [`Views`](crate::views::Views) says how the job goes on, and
//! another machine follows the next view on the same connections.
//!
//! While a job runs, the client asks for the nodes of its pool. When one is there and free, it has all processes saved before the
//! next superstep, and held there; when they are, the view ends as after a loss, and no complete superstep is executed again.
//! Nodes that the experiment names are asked when it says so, and if that pays (`joining`).

mod event_check;
mod joining;
mod pool;
mod snapshot_order;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::path::{Component, Path};
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use agents::mutant::{self, Mutant};
use agents::{Setup, buddies};
use bsp::units::{self, Instant, Seconds};
use bsp::{HostId, Rank, SetId};
use bytes::Bytes;
use event_check::EventCheck;
pub use event_check::FollowedEvents;
pub use joining::{Decided, Expected};
use joining::{Joining, Situation};
use protocol::identity::Role;
use protocol::transport::JobId;
use protocol::{
    Address, Build, Declined, EncodedState, Ended, Fault, Frame, InputFolder, JobMessage, Lead,
    LostNode, Member, Message, NodeFiles, Progressed, Status, Submit, Suspended, View,
    WrittenOutput, displayed_message, encode, is_displayable, variant,
};
use record::{Call, Checkpoint, End, Event, Join, Names};

use crate::input_memory::InputMemory;
use crate::job_error::{JobError, Loss};
use crate::journal::Journal;
use crate::members::{self, Builds, mismatch};
use crate::quorum::quorum;
use crate::resumption;
use crate::views::NextView;
use crate::{between, duration};
use pool::{Asking, Pool};
use snapshot_order::SnapshotOrder;

/// The client of a job, as a state machine: it receives events and returns actions.
///
/// Between two events, all actions are to be performed, in order.
pub struct ClientMachine<'a> {
    request: &'a Request,
    ids: JobIds,
    /// The processes in the order in which they are sent.
    order: Vec<Rank>,
    now: Clock,
    phase: Phase,
    /// When the nodes must have done what the phase waits for.
    limit: Option<Clock>,
    /// Nodes that have done it.
    done: BTreeSet<HostId>,
    /// Nodes that have the processes which start there.
    built: BTreeSet<HostId>,
    /// Nodes from which nothing more comes.
    ended: BTreeSet<HostId>,
    journal: Journal,
    event_check: EventCheck,
    /// The host of each process after the calls recorded so far, by rank.
    placement: Vec<HostId>,
    /// The files that processes have written.
    snapshots: SnapshotOrder,
    /// If the job has files on its nodes: the folder in which each node has those of jobs.
    folders: BTreeMap<HostId, String>,
    /// The bytes of states on each node that is ready, and of memory that its machine can still give, if it says so.
    memory: BTreeMap<HostId, (u64, Option<u64>)>,
    /// The builds and roles of the nodes, by host, once the client has connected to them.
    connected: BTreeMap<HostId, (Build, Role)>,
    /// When nodes that have declined are asked again.
    asks_again: Option<Clock>,
    /// Whether this is a node that asks to lead the job.
    takes_over: bool,
    /// Whether another node has led the job to its end.
    is_overtaken: bool,
    /// Whether all members of the view have accepted it.
    is_complete: bool,
    /// The nodes that obey another leader, as they say, or have not lost theirs yet.
    declined: BTreeMap<HostId, String>,
    /// The nodes that have no part in the job any more, as they say.
    without_part: BTreeSet<HostId>,
    /// The number of supersteps that are complete, as far as the record says, and when the last one was.
    completed: u64,
    completed_at: Instant,
    /// The nodes that may join.
    pool: Pool,
    /// When those of them join that the experiment names, if it names any.
    joins: Option<Joining>,
    /// When processes were held for this view, or a loss before it was known; `None`: it is the first that this client leads.
    since: Option<Clock>,
    /// Those of them that have offered to, after those of the request.
    offered: Vec<Member>,
    /// The members that are to leave, and why.
    leaving: BTreeMap<HostId, String>,
    /// The hosts that have joined with this view, or with one before that has not begun.
    joined: BTreeSet<HostId>,
    /// Whether the nodes have begun.
    has_begun: bool,
    /// Whether processes are saved.
    saves: bool,
    /// Whether processes are to be held before a superstep.
    holds: bool,
    /// The nodes of the pool for which they are.
    awaited: BTreeSet<usize>,
    /// How long it took to hold and save them, once they are.
    saved_in: Option<Duration>,
    /// If the job is to end once they are: when it ends in any case.
    ends_by: Option<Clock>,
    result: JobResult,
    actions: VecDeque<ClientAction>,
}

impl fmt::Debug for ClientMachine<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClientMachine")
            .field("ids", &self.ids)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

enum Phase {
    /// The client connects to all nodes.
    Connecting(BTreeMap<HostId, Result<(Build, Role), JobError>>),
    /// A node of another program says which workloads it has.
    Asking,
    /// The nodes accept the job; whether all count instructions so far.
    Submitted(bool),
    /// The nodes connect to each other, and each process of a job that resumes is sent to the host where it starts; this
    /// number has been.
    Sending(usize),
    /// All processes are sent, or the nodes build them.
    Meeting,
    Running,
    /// A node is lost, or processes are held, and the nodes leave the session.
    Suspending(Suspension),
    /// Nodes send the rest of the record. A better reason than this error may follow.
    Failing(JobError),
    Over,
}

impl<'a> ClientMachine<'a> {
    /// The client of `request`, which submits the job under these numbers and, if that resumes one on disk, sends processes in this
    /// order.
    pub fn new(request: &'a Request, (ids, order): (JobIds, Vec<Rank>), now: Clock) -> Self {
        let rules = members::rules(&request.setup);
        let hosts = (0..).map(HostId::from_index).zip(&request.members);
        let connecting = hosts.map(|(host, member)| {
            let role = members::role_of(&rules, host);
            ClientAction::Connect(host, Box::new(member.clone()), role)
        });
        let mut client = Self {
            actions: connecting.collect(),
            ..Self::unconnected(request, (ids, order), now)
        };
        client.await_hosts(None);
        client
    }

    /// The hosts that the experiment names are held back, until it is `decided` which of them join.
    fn await_hosts(&mut self, decided: Option<Decided>) {
        let view = self.request.view.as_ref();
        let awaited = view.and_then(|view| view.awaited.as_ref());
        let Some((hosts, awaited)) = self.request.setup.awaited.clone().zip(awaited) else {
            return;
        };
        let asked = || {
            let names = awaited.asked.as_ref()?.iter();
            Some(
                names
                    .map(|name| (name.clone(), Expected::default()))
                    .collect(),
            )
        };
        let joins = Joining::new(hosts, duration(awaited.passed), decided.or_else(asked));
        for (place, node) in view.iter().flat_map(|view| &view.pool).enumerate() {
            if joins.holds_back(&node.name) {
                self.pool.hold_back(place);
            }
        }
        self.joins = Some(joins);
    }

    /// The client of the `next` view, which is connected to its nodes, and submits it now.
    pub fn going_on(request: &'a Request, ids: JobIds, next: &NextView, now: Clock) -> Self {
        let mut client = Self::unconnected(request, (ids, Vec::new()), now);
        let hosts = (0..next.connected.len()).map(HostId::from_index);
        client.connected = hosts.zip(next.connected.iter().cloned()).collect();
        client.pool = Pool::new(next.pauses.iter().map(|pause| now + *pause).collect());
        let names = next.unproven.iter();
        let joined = names.filter_map(|name| {
            let mut members = request.members.iter();
            members.position(|member| member.name == *name)
        });
        client.joined = joined.map(HostId::from_index).collect();
        client.since = next.since;
        client.await_hosts(next.decided.clone());
        client.set_builds();
        if let Err(error) = client.submit() {
            client.fail(error);
        }
        client
    }

    /// A node that asks to lead the next view of a job, after that of `request`, whose leader is lost. `ids` has the session of that
    /// view. It connects to all members, itself too, and ends with what is saved on those that obey it.
    pub fn taking_over(request: &'a Request, ids: JobIds, now: Clock) -> Self {
        let rules = members::rules(&request.setup);
        let hosts = (0..).map(HostId::from_index).zip(&request.members);
        let connecting = hosts.map(|(host, member)| {
            let role = members::role_of(&rules, host);
            ClientAction::Connect(host, Box::new(member.clone()), role)
        });
        let mut client = Self {
            actions: connecting.collect(),
            takes_over: true,
            ..Self::unconnected(request, (ids, Vec::new()), now)
        };
        client.enter_suspending();
        client
    }

    fn unconnected(request: &'a Request, (ids, order): (JobIds, Vec<Rank>), now: Clock) -> Self {
        let rules = members::rules(&request.setup);
        let traced = rules.running().filter(|_| rules.traced).count();
        let resumed = request.setup.resumed.as_ref();
        Self {
            request,
            ids,
            order,
            now,
            phase: Phase::Connecting(BTreeMap::new()),
            limit: None,
            done: BTreeSet::new(),
            built: BTreeSet::new(),
            ended: BTreeSet::new(),
            journal: Journal::new(request.setup.platform.sets().len(), traced),
            event_check: EventCheck::new(&request.setup, request.files.is_some()),
            placement: request.setup.placement.clone(),
            snapshots: SnapshotOrder::new(&request.setup),
            folders: BTreeMap::new(),
            memory: BTreeMap::new(),
            connected: BTreeMap::new(),
            asks_again: None,
            takes_over: false,
            is_overtaken: false,
            is_complete: false,
            declined: BTreeMap::new(),
            without_part: BTreeSet::new(),
            completed: resumed.map_or(0, |resumed| resumed.superstep),
            completed_at: Instant::START,
            pool: Pool::new(vec![
                now;
                request.candidates().count() - request.members.len()
            ]),
            joins: None,
            since: None,
            offered: Vec::new(),
            leaving: BTreeMap::new(),
            joined: BTreeSet::new(),
            has_begun: false,
            saves: false,
            holds: false,
            awaited: BTreeSet::new(),
            saved_in: None,
            ends_by: None,
            result: JobResult::default(),
            actions: VecDeque::new(),
        }
    }

    /// Handles an event that happens now.
    pub fn handle(&mut self, now: Clock, event: ClientEvent) {
        self.now = now;
        let handled = match event {
            _ if matches!(self.phase, Phase::Over) => return,
            ClientEvent::Interrupted => self.interrupt(),
            // The record takes nothing more.
            ClientEvent::ObserverFailed(error) => return self.finish(Err(error)),
            ClientEvent::Connected(host, connected) => self.handle_connected(host, connected),
            ClientEvent::StateSent(sent) => sent.map(|()| self.send_next_state()),
            ClientEvent::Node(host, word) => self.handle_node(host, word),
            ClientEvent::Tick => {
                self.ask_again();
                Ok(())
            }
        };
        let handled = handled.and_then(|()| self.ask_awaited());
        self.ask_pool();
        match handled.and_then(|()| self.check_limit()) {
            Ok(()) => {}
            Err(error) => self.fail(error),
        }
    }

    /// The next action; `None` until the next event.
    pub fn poll(&mut self) -> Option<ClientAction> {
        self.actions.pop_front()
    }

    /// Whether it has had the nodes of the view begin.
    pub const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// When a tick is due, if nothing else happens before.
    pub fn next_timeout(&self) -> Option<Clock> {
        let pool = self.asks_pool().then(|| self.pool.next_timeout());
        let pool = pool.flatten();
        self.limit
            .into_iter()
            .chain(self.ends_by)
            .chain(self.asks_again)
            .chain(pool)
            .min()
    }

    /// The job is to end: at once, or when all processes are held and saved, if the request has a time for that.
    ///
    /// # Errors
    ///
    /// If it ends now, with nodes that send the rest of the record.
    fn interrupt(&mut self) -> Result<(), JobError> {
        let begins = match self.phase {
            Phase::Running => false,
            // The next view begins with all that was saved.
            Phase::Suspending(_) | Phase::Submitted(_) | Phase::Sending(_) | Phase::Meeting => {
                1 < self.view() || self.has_begun
            }
            _ => false,
        };
        let is_running = matches!(self.phase, Phase::Running);
        let can_save = begins || (is_running && self.saves);
        if !self.request.grace.is_zero() && can_save {
            self.ends_by = Some(self.now + self.request.grace);
            if is_running {
                self.hold();
            }
            return Ok(());
        }
        let error = JobError::cluster(INTERRUPTED);
        if is_running {
            return Err(error);
        }
        self.finish(Err(error));
        Ok(())
    }

    /// Has all processes held and saved before the next superstep.
    fn hold(&mut self) {
        if self.holds {
            return;
        }
        self.holds = true;
        for host in self.hosts() {
            self.send(host, JobMessage::Hold);
        }
    }

    fn handle_connected(
        &mut self,
        host: HostId,
        connected: Result<(Build, Role), JobError>,
    ) -> Result<(), JobError> {
        if let Some(place) = self.place_in_pool(host) {
            match connected {
                Ok((build, _)) if !self.request.builds.allows(&build) => {
                    self.pool.leave_out(place);
                    let problem = format!("{build} runs there, which may not take part");
                    self.actions.push_back(ClientAction::Refuse(host, problem));
                }
                connected => self.pool.connect(place, connected.ok(), self.now),
            }
            return Ok(());
        }
        if let Phase::Suspending(_) = &self.phase {
            if !self.takes_over {
                // It was to be in the view before, in which it had another host.
                return Ok(());
            }
            match connected {
                Ok(connected) => {
                    self.connected.insert(host, connected);
                    self.ask(host);
                }
                Err(error) => {
                    let silent = error.loss.and_then(|loss| loss.silent);
                    self.lose(host, error.message, silent);
                    self.finish_if_suspended();
                }
            }
            return Ok(());
        }
        let Phase::Connecting(results) = &mut self.phase else {
            return Ok(());
        };
        results.insert(host, connected);
        // The error is that of the first node in the list, so that it does not depend on which is faster.
        let mut found = BTreeMap::new();
        for host in (0..self.request.members.len()).map(HostId::from_index) {
            match results.get(&host) {
                None => return Ok(()),
                Some(Err(error)) => {
                    let error = error.clone();
                    self.finish(Err(error));
                    return Ok(());
                }
                Some(Ok(connected)) => {
                    found.insert(host, connected.clone());
                }
            }
        }
        self.connected = found;
        self.set_builds();
        let Some(mismatch) = Mismatch::first(self.request, &self.result.builds) else {
            return self.submit();
        };
        if !mismatch.is_other_program() {
            let error = mismatch.error(None);
            self.finish(Err(error));
            return Ok(());
        }
        let host = mismatch.host;
        self.enter(Phase::Asking, Some(ANSWER_LIMIT));
        self.send(host, JobMessage::Inquire);
        Ok(())
    }

    /// The result has the builds of the nodes that are connected.
    fn set_builds(&mut self) {
        let builds = self.connected.values().map(|(build, _)| build.clone());
        self.result.builds = builds.collect();
    }

    /// Asks the node of `host` to obey this one.
    fn ask(&mut self, host: HostId) {
        let lead = Lead {
            job: self.ids.job.0.get(),
            session: self.ids.session.0.get(),
        };
        self.send(host, JobMessage::Lead(lead));
    }

    /// Asks the nodes again that have declined, when it is time.
    fn ask_again(&mut self) {
        if self.asks_again.is_some_and(|at| at <= self.now) {
            self.asks_again = None;
            for host in std::mem::take(&mut self.declined).into_keys() {
                self.ask(host);
            }
        }
    }

    /// Ends with the error about another build; `status` is what its node says of itself.
    fn refuse_build(&mut self, status: Option<&Status>) {
        let mismatch = Mismatch::first(self.request, &self.result.builds);
        if let Some(error) = mismatch.map(|mismatch| mismatch.error(status)) {
            self.finish(Err(error));
        }
    }

    /// Submits the job to all nodes.
    fn submit(&mut self) -> Result<(), JobError> {
        let processes = u32::try_from(self.request.setup.placement.len());
        let processes = processes.map_err(|_| JobError::input("more than 2^32 processes"))?;
        for host in self.hosts() {
            let submit = Submit {
                job: self.ids.job.0.get(),
                session: self.ids.session.0.get(),
                host,
                members: self.request.members.clone(),
                experiment: self.request.experiment.clone(),
                folder: self.request.folder.clone(),
                processes,
                checkpoint: self.request.checkpoint.clone(),
                resumed: resumption::submitted(&self.request.setup),
                files: self.request.files,
                view: self.request.view.clone(),
                memory: self.request.memory_part,
                wait: self.request.wait,
            };
            self.send(host, JobMessage::Submit(Box::new(submit)));
        }
        self.enter(Phase::Submitted(true), Some(ANSWER_LIMIT));
        Ok(())
    }

    /// Sends the next process to the host where it starts, after the one that has just been sent.
    fn send_next_state(&mut self) {
        let Phase::Sending(sent) = self.phase else {
            return;
        };
        self.send_state(sent + 1);
    }

    /// Sends a process after this number of others.
    fn send_state(&mut self, sent: usize) {
        let placement = &self.request.setup.placement;
        let next = self.order.get(sent);
        if let Some((rank, host)) =
            next.and_then(|rank| Some((*rank, placement.get(rank.index())?)))
        {
            self.phase = Phase::Sending(sent);
            self.actions.push_back(ClientAction::SendState(*host, rank));
            return;
        }
        self.phase = Phase::Meeting;
        self.limit_meeting();
        self.begin_if_ready();
    }

    /// Limits the time until all nodes are ready, from when all of them have their processes: building them takes as long as
    /// it takes.
    fn limit_meeting(&mut self) {
        let are_built = self.built.len() == self.request.members.len();
        if matches!(self.phase, Phase::Meeting) && are_built {
            self.limit = Some(self.now + CONNECT_LIMIT);
        }
    }

    /// Has the nodes begin, once all processes are sent and all nodes are ready.
    fn begin_if_ready(&mut self) {
        let needed = self.request.members.len() - usize::from(mutant::is(Mutant::BeginEarly));
        if !matches!(self.phase, Phase::Meeting) || self.done.len() < needed {
            return;
        }
        let missing = self.missing_memory();
        let saves = missing.is_none();
        self.has_begun = true;
        self.saves = saves && self.request.setup.checkpointing.is_some();
        for host in self.hosts() {
            self.send(host, JobMessage::Begin { saves });
        }
        self.actions
            .extend(missing.map(ClientAction::ShowMissingMemory));
        let changed_in = self.since.map(|since| between(since, self.now));
        if let Some(joins) = &mut self.joins {
            joins.begin(self.now, changed_in);
        }
        if 1 < self.view() {
            self.actions.push_back(ClientAction::ShowView);
            self.record_joins(changed_in);
        }
        if self.request.is_left {
            for host in self.hosts() {
                self.send(host, JobMessage::Leave);
            }
            self.enter(Phase::Over, None);
            self.actions.push_back(ClientAction::Leave);
            return;
        }
        self.enter(Phase::Running, None);
        match self.ends_by {
            Some(_) if self.saves => self.hold(),
            Some(_) => self.fail(JobError::cluster(INTERRUPTED)),
            None => {}
        }
        self.finish_if_over();
    }

    /// The first node that does not have the memory to save its processes and those of its wards, if checkpoints are taken only
    /// where there is room for them.
    fn missing_memory(&self) -> Option<MissingMemory> {
        let part = self.request.memory_part?;
        let setup = &self.request.setup;
        let checkpointing = setup.checkpointing.as_ref()?;
        let sets: Vec<SetId> = setup.platform.hosts().iter().map(|host| host.set).collect();
        let buddies = buddies(&sets, &BTreeSet::new());
        let states = |host: HostId| self.memory.get(&host).map_or(0, |(states, _)| *states);
        self.hosts().find_map(|host| {
            let (own, free) = *self.memory.get(&host)?;
            let wards = buddies
                .iter()
                .enumerate()
                .filter(|(_, buddy)| checkpointing.copies && **buddy == Some(host));
            let wards = wards.map(|(ward, _)| states(HostId::from_index(ward)));
            let needed = wards.fold(own, u64::saturating_add);
            let free = free?;
            let is_missing = free as f64 * part < needed as f64;
            is_missing.then(|| MissingMemory {
                node: self.name(host).to_owned(),
                needed: units::Bytes(needed),
                free: units::Bytes(free),
            })
        })
    }

    /// The place in the pool of the node of `host`, if that is none of the members.
    fn place_in_pool(&self, host: HostId) -> Option<usize> {
        host.index().checked_sub(self.request.members.len())
    }

    /// The member, or the node of the pool, at a place.
    fn candidate(&self, place: usize) -> Option<&Member> {
        self.request.candidates().chain(&self.offered).nth(place)
    }

    /// Whether nodes of the pool are asked now: they may join, or one that led the job may have completed it.
    fn asks_pool(&self) -> bool {
        matches!(self.phase, Phase::Running)
            && !self.holds
            && 0 < self.view()
            && (self.saves || self.is_led_by_node())
    }

    fn is_led_by_node(&self) -> bool {
        let view = self.request.view.as_ref();
        view.is_some_and(|view| view.leader.is_some())
    }

    /// Asks the nodes of the pool that it is time to ask. If one is free, has all processes held before the next superstep.
    fn ask_pool(&mut self) {
        if !self.asks_pool() {
            return;
        }
        let members = self.request.members.len();
        for (place, asking) in self.pool.advance(self.now) {
            let host = HostId::from_index(members + place);
            match asking {
                Asking::Connect => {
                    let member = self.candidate(host.index()).cloned();
                    // One with more rights serves as one.
                    let connect = member
                        .map(|member| ClientAction::Connect(host, Box::new(member), Role::Node));
                    self.actions.extend(connect);
                }
                Asking::Inquire => self.send(host, JobMessage::Inquire),
            }
        }
        if self.saves && (self.pool.free().next().is_some() || !self.leaving.is_empty()) {
            self.awaited = self.pool.free().map(|(place, _)| place).collect();
            self.hold();
        }
    }

    /// Decides which of the hosts join that the experiment names, when it is time.
    ///
    /// # Errors
    ///
    /// If that cannot be decided.
    fn ask_awaited(&mut self) -> Result<(), JobError> {
        if !self.saves || !self.asks_pool() {
            return Ok(());
        }
        let saving = self.saving();
        let view = self.request.view.as_ref();
        let pool = view.map_or(&[][..], |view| &view.pool);
        let (Some(joins), Some(awaited)) =
            (&mut self.joins, view.and_then(|view| view.awaited.as_ref()))
        else {
            return Ok(());
        };
        let waiting = awaited.homes.iter();
        let waiting = waiting.map(|home| (home.host.as_str(), home.processes.len()));
        let resumed = self.request.setup.resumed.as_ref();
        let is_decided = joins.decide(&Situation {
            now: self.now,
            completed: self.completed,
            first: resumed.map_or(0, |resumed| resumed.superstep),
            members: &self.request.members,
            pool,
            placement: &self.placement,
            waiting: &waiting.collect(),
            saving,
        })?;
        if is_decided {
            for (place, node) in pool.iter().enumerate() {
                if !joins.holds_back(&node.name) {
                    self.pool.release(place, self.now);
                }
            }
        }
        Ok(())
    }

    /// How long the next checkpoint takes: as the last one, or as long as its bytes.
    fn saving(&self) -> Seconds {
        if let Some(last) = self.result.checkpoints.last() {
            return last.complete - last.at;
        }
        let states = self.memory.values().map(|(states, _)| *states);
        let most = states.max().unwrap_or_default();
        Seconds::new(most as f64 / BANDWIDTH).unwrap_or_default()
    }

    /// Records the hosts that the experiment names and that have joined with this view, for which processes stood still so long.
    fn record_joins(&mut self, waited: Option<Seconds>) {
        let setup = &self.request.setup;
        let resumed = setup.resumed.as_ref();
        let decided = self.joins.as_ref().and_then(Joining::decided);
        let joined = self.joined.iter().filter_map(|host| {
            let expected = decided?.get(self.name(*host))?;
            let ranks = (0..).map(Rank).zip(&setup.placement);
            let its = ranks.filter(|(rank, place)| {
                *place == host && !resumed.is_some_and(|resumed| resumed.has_halted(*rank))
            });
            Some(Join {
                superstep: resumed.map_or(0, |resumed| resumed.superstep),
                processes: its.map(|(rank, _)| rank).collect(),
                waited,
                ..expected.recorded(*host, None)
            })
        });
        let joined: Vec<Join> = joined.collect();
        self.add_joins(joined);
    }

    /// Records the hosts that do not join, as it was decided, after the last complete superstep.
    fn record_declined(&mut self) {
        let declined = self.joins.as_mut().map(Joining::take_declined);
        let (completed, at) = (self.completed, self.completed_at);
        let declined = declined.into_iter().flatten().map(|join| Join {
            superstep: completed,
            asked: at,
            at,
            ended: at,
            ..join
        });
        let declined: Vec<Join> = declined.collect();
        self.add_joins(declined);
    }

    fn add_joins(&mut self, joins: Vec<Join>) {
        self.result.joins.extend(joins.iter().cloned());
        self.show(joins.into_iter().map(Event::Join));
    }

    /// A node says how much of the job is done there.
    fn add_progress(&mut self, host: HostId, progress: Progressed) -> Result<(), JobError> {
        let setup = &self.request.setup;
        let sizes = (
            self.request.members.len(),
            setup.placement.len(),
            setup.superstep_limit,
        );
        let now = self.now;
        let joins = self.joins.as_mut();
        let added = joins.map_or(Ok(()), |joins| joins.report(host, progress, sizes, now));
        added.map_err(|problem| self.refuse(host, &problem))
    }

    /// A node would take part, which says this of itself.
    fn add_offer(&mut self, member: Member) {
        let known: Vec<&Member> = self.request.candidates().chain(&self.offered).collect();
        // Sets and nodes have names of one kind.
        let differs = |known: &&Member| {
            let names = [&known.name, &known.set];
            known.name != member.name && known.name != member.set && !names.contains(&&member.name)
        };
        let is_new = known.iter().all(differs)
            && member.name != member.set
            && known.len() < members::MEMBERS_MAX
            && self.offered.len() < OFFERS_MAX;
        if is_new && members::check(&member).is_ok() {
            self.offered.push(member);
            self.pool.add(self.now);
        }
    }

    /// Handles what a node of the pool sends.
    fn handle_pool(&mut self, place: usize, word: NodeWord) {
        match word {
            NodeWord::Message(JobMessage::Status(status), _) => {
                if self.has_completed(place, &status) {
                    let member = self.candidate(self.request.members.len() + place);
                    let name = member.map_or("another node", |member| &member.name);
                    let error = format!("the job is over: {name} has led it to its end");
                    self.is_overtaken = true;
                    return self.fail(JobError::cluster(error));
                }
                let is_free = status.job.is_none() && status.abandoned.is_none();
                if is_free && !self.saves {
                    return self.pool.leave_out(place);
                }
                self.pool.answer(place, is_free, self.now);
            }
            NodeWord::Closed(_) => self.pool.connect(place, None, self.now),
            NodeWord::Message(..) | NodeWord::Output { .. } => {}
        }
    }

    /// Whether a node of the pool, which may lead, has led the job to its end, as its status says: it could not tell those that go on.
    fn has_completed(&self, place: usize, status: &Status) -> bool {
        let mut led = status.led.iter();
        self.is_led_by_node()
            && self.pool.may_lead(place)
            && led.any(|led| led.job == self.ids.job.0.get() && led.is_complete)
    }

    /// Ends the view when its processes are held and saved, so that others take part in the next one.
    fn change_if_held(&mut self) {
        if let Some(took) = self.saved_in
            && matches!(self.phase, Phase::Running)
        {
            if self.ends_by.is_some() {
                return self.fail(JobError::cluster(INTERRUPTED));
            }
            self.suspend([]);
            if let Phase::Suspending(suspension) = &mut self.phase {
                suspension.since = self.now.checked_sub(took).unwrap_or(self.now);
            }
        }
    }

    fn handle_node(&mut self, host: HostId, word: NodeWord) -> Result<(), JobError> {
        if let Some(place) = self.place_in_pool(host) {
            self.handle_pool(place, word);
            return Ok(());
        }
        if let NodeWord::Message(JobMessage::Offered(member), _) = word {
            // Nodes offer themselves at any time.
            self.add_offer(*member);
            return Ok(());
        }
        // Outputs have streams of their own: those of the view before may be late.
        if let NodeWord::Output { view, .. } = word
            && view != self.view()
            && !mutant::is(Mutant::TakeOldOutputs)
        {
            return Ok(());
        }
        if word.is_last() {
            self.ended.insert(host);
        }
        let Some(word) = self.suspend_if_lost(host, word) else {
            return Ok(());
        };
        match (&mut self.phase, word) {
            (Phase::Connecting(_), NodeWord::Closed(Err(error))) => {
                self.finish(Err(error));
                Ok(())
            }
            (Phase::Asking, NodeWord::Message(JobMessage::Status(status), _)) => {
                self.refuse_build(Some(&status));
                Ok(())
            }
            (Phase::Asking, _) => {
                self.refuse_build(None);
                Ok(())
            }
            (
                Phase::Submitted(counts),
                NodeWord::Message(JobMessage::Accepted { counts: it, folder }, _),
            ) => {
                *counts &= it;
                let counts = *counts;
                self.add_folder(host, folder)?;
                self.done.insert(host);
                if self.done.len() == self.request.members.len() {
                    self.is_complete = true;
                    for host in self.hosts() {
                        self.send(host, JobMessage::Meet { counts });
                    }
                    if self.request.files.is_some() {
                        let folders = self.folders.clone();
                        self.actions.push_back(ClientAction::ShowFolders(folders));
                    }
                    self.enter(Phase::Meeting, None);
                    self.send_state(0);
                }
                Ok(())
            }
            (Phase::Sending(_) | Phase::Meeting, NodeWord::Message(JobMessage::Built, _)) => {
                if !self.built.insert(host) {
                    return Err(self.refuse(host, "that it has its processes twice"));
                }
                self.limit_meeting();
                Ok(())
            }
            // A node on which no process starts may be ready before all processes are sent.
            (
                Phase::Sending(_) | Phase::Meeting,
                NodeWord::Message(JobMessage::Ready { states, free }, _),
            ) => {
                self.done.insert(host);
                self.memory.insert(host, (states, free));
                self.begin_if_ready();
                Ok(())
            }
            (Phase::Running, word) => {
                self.handle_running(host, word)?;
                self.finish_if_over();
                self.change_if_held();
                Ok(())
            }
            (Phase::Suspending(_), word) => self.handle_suspending(host, word),
            (Phase::Failing(_), word) => {
                self.handle_failing(host, word);
                Ok(())
            }
            (Phase::Over, _) => Ok(()),
            (_, word) => Err(word.error(self.name(host))),
        }
    }

    /// Handles the rest of what a node sends in a job that has failed.
    fn handle_failing(&mut self, host: HostId, word: NodeWord) {
        match (&mut self.phase, word) {
            (Phase::Failing(error), NodeWord::Message(JobMessage::Failed(failed), _))
                if error.fault == Fault::Cluster && failed.fault != Fault::Cluster =>
            {
                *error = failed.into();
            }
            // Nodes that have left because others have do not know the cause, and may say so first.
            (Phase::Failing(error), word) if error.is_reported && word.names_loss() => {
                let error = word.error(self.name(host));
                self.phase = Phase::Failing(error);
            }
            (_, NodeWord::Message(JobMessage::Recorded(lines), memory)) => {
                // The job has failed already.
                drop(self.record_lines(host, &lines, memory));
            }
            (_, NodeWord::Message(..) | NodeWord::Output { .. } | NodeWord::Closed(_)) => {}
        }
        self.finish_if_failed();
    }

    /// If `word` of the node of `host` says that the view is over: has all nodes leave its session. Otherwise returns the word.
    fn suspend_if_lost(&mut self, host: HostId, word: NodeWord) -> Option<NodeWord> {
        let view = self.view();
        let begins = matches!(
            self.phase,
            Phase::Submitted(_) | Phase::Sending(_) | Phase::Meeting
        );
        let has_begun = match self.phase {
            Phase::Running => 0 < view,
            // The first view is no job before it begins.
            _ => begins && 1 < view,
        };
        let word = self.without_joining(host, word);
        let is_loss = match &word {
            NodeWord::Message(JobMessage::Suspended(_), _) => true,
            NodeWord::Closed(Err(error)) => error.loss.is_some(),
            _ => false,
        };
        if !has_begun || !is_loss {
            return Some(word);
        }
        self.suspend([host]);
        // What this node says counts as any that follows.
        if let Err(error) = self.handle_suspending(host, word) {
            self.fail(error);
        }
        None
    }

    /// What a node says that does not join, which is a loss before the view has begun: the job goes on without it.
    fn without_joining(&self, host: HostId, word: NodeWord) -> NodeWord {
        let is_end = match &word {
            NodeWord::Message(message, _) => matches!(message, JobMessage::Failed(_)),
            NodeWord::Closed(closed) => closed.is_err(),
            NodeWord::Output { .. } => false,
        };
        if !is_end || self.has_begun || !self.joined.contains(&host) {
            return word;
        }
        let mut error = word.error(self.name(host));
        error.loss.get_or_insert(Loss { silent: None });
        NodeWord::Closed(Err(error))
    }

    /// Orders all nodes but these to leave the session.
    fn suspend(&mut self, but: impl IntoIterator<Item = HostId>) {
        let but: BTreeSet<HostId> = but.into_iter().collect();
        for host in self.hosts().filter(|host| !but.contains(host)) {
            self.send(host, JobMessage::Suspend);
        }
        self.enter_suspending();
    }

    fn enter_suspending(&mut self) {
        let suspension = Suspension {
            since: self.now,
            lost: BTreeMap::new(),
            suspended: BTreeMap::new(),
            connected: BTreeMap::new(),
            completed: self.completed,
            is_complete: self.is_complete,
            has_begun: self.has_begun,
            joining: BTreeMap::new(),
            withdrawn: Vec::new(),
            offered: Vec::new(),
            leaving: BTreeMap::new(),
            decided: None,
            lasted: Duration::ZERO,
        };
        self.enter(Phase::Suspending(suspension), Some(SUSPEND_LIMIT));
    }

    /// Handles what a node sends while all leave the session.
    fn handle_suspending(&mut self, host: HostId, word: NodeWord) -> Result<(), JobError> {
        let size = self.request.setup.placement.len();
        let members = self.request.members.len();
        let supersteps = self.request.setup.superstep_limit;
        let name = self.name(host).to_owned();
        let word = self.without_joining(host, word);
        let Phase::Suspending(suspension) = &mut self.phase else {
            return Ok(());
        };
        match word {
            NodeWord::Message(JobMessage::Suspended(suspended), _) => {
                match checked(*suspended, (members, size), supersteps) {
                    Ok(suspended) => suspension.add(host, suspended),
                    Err(problem) => {
                        let error = self.refuse(host, &problem);
                        self.lose(host, error.message, None);
                    }
                }
            }
            NodeWord::Message(JobMessage::Declined(declined), _) => match declined.displayed() {
                Declined::Follows(reason) => {
                    self.declined.insert(host, reason);
                    self.asks_again.get_or_insert(self.now + ASK_AGAIN);
                }
                Declined::Later(view) => {
                    let error = JobError::cluster(format!(
                        "the job goes on without this node, in view {view}, as {name} says"
                    ));
                    self.finish(Err(error));
                    return Ok(());
                }
                Declined::Unknown | Declined::Owner => {
                    let reason = format!("{name} has no part in the job any more");
                    self.lose(host, reason, None);
                    self.end_if_over(host);
                    return Ok(());
                }
            },
            NodeWord::Message(JobMessage::Failed(_), _) => return Err(word.error(&name)),
            NodeWord::Closed(closed) => {
                let silent = closed.as_ref().err().and_then(|error| error.loss);
                let silent = silent.and_then(|loss| loss.silent);
                let reason = NodeWord::Closed(closed).error(&name).message;
                suspension.lose(LostNode {
                    host,
                    reason,
                    silent,
                });
            }
            NodeWord::Message(JobMessage::Recorded(lines), memory) => {
                self.record_lines(host, &lines, memory)?;
            }
            // Of the view that is over.
            NodeWord::Message(..) | NodeWord::Output { .. } => {}
        }
        self.finish_if_suspended();
        Ok(())
    }

    /// The node of `host` has no part in the job any more, and gets none. Ends if too few nodes of the view can have one: the job is
    /// over on the others, or can never go on.
    fn end_if_over(&mut self, host: HostId) {
        self.without_part.insert(host);
        if self.can_decide(|host| !self.without_part.contains(&host)) {
            return self.finish_if_suspended();
        }
        let (members, gone) = (self.request.members.len(), self.without_part.len());
        let names = self.without_part.iter();
        let names: Vec<&str> = names.map(|host| self.name(*host)).collect();
        let error = JobError::cluster(format!(
            "the job is over, or cannot go on: {gone} of the {members} nodes of its last view have no part in it any more ({})",
            names.join(", ")
        ));
        self.finish(Err(error));
    }

    /// Whether the nodes of the view for which this holds could decide about the next one. Its leader breaks ties: the client, unless a
    /// node asks to lead in its place, or a node.
    fn can_decide(&self, holds: impl Fn(HostId) -> bool) -> bool {
        let leader = self.request.view.as_ref().and_then(|view| view.leader);
        let votes = self.hosts().filter(|host| holds(*host)).count();
        let has_tie_breaker = leader.map_or(!self.takes_over, &holds);
        quorum(votes, self.request.members.len(), has_tie_breaker)
    }

    /// Counts the node of `host` as lost.
    fn lose(&mut self, host: HostId, reason: String, silent: Option<Seconds>) {
        if let Phase::Suspending(suspension) = &mut self.phase {
            suspension.lose(LostNode {
                host,
                reason,
                silent,
            });
        }
    }

    /// Ends with what is left, once each node has left the session or is lost. A node that others have lost is waited for no
    /// longer than all others.
    fn finish_if_suspended(&mut self) {
        let (hosts, now) = (self.hosts(), self.now);
        let Phase::Suspending(suspension) = &self.phase else {
            return;
        };
        let missing: Vec<HostId> = hosts.filter(|host| !suspension.has(*host)).collect();
        let early = usize::from(mutant::is(Mutant::GoOnEarly));
        if missing.len() <= early {
            return self.finish_suspended();
        }
        let has_declined = |host: &HostId| self.declined.contains_key(host);
        let declined = missing.iter().filter(|host| has_declined(host)).count();
        let is_lost = |host: &HostId| suspension.lost.contains_key(host);
        let has_votes = 0 < declined && !suspension.suspended.is_empty();
        if has_votes && !self.can_decide(|host| !has_declined(&host) && !is_lost(&host)) {
            // Another candidate has the other votes, or they have not lost their leader. It may need those that are here.
            return self.finish_suspended();
        }
        let patience = if missing.iter().all(|host| suspension.is_missed(*host)) {
            MISSED_LIMIT
        } else if missing.len() == declined {
            DECLINED_LIMIT
        } else {
            return;
        };
        self.limit = self.limit.map(|limit| limit.min(now + patience));
    }

    fn finish_suspended(&mut self) {
        let Phase::Suspending(suspension) = &self.phase else {
            return;
        };
        let members = self.request.members.len();
        let free = self.pool.free();
        let joining: BTreeMap<HostId, (Build, Role)> = free
            .map(|(place, known)| (HostId::from_index(members + place), known.clone()))
            .collect();
        let connected = self.connected.clone().into_iter();
        let suspension = Box::new(Suspension {
            connected: connected.chain(joining.clone()).collect(),
            withdrawn: self
                .awaited
                .iter()
                .map(|place| HostId::from_index(members + place))
                .filter(|host| !joining.contains_key(host))
                .collect(),
            has_begun: self.has_begun,
            joining,
            offered: self.offered.clone(),
            leaving: self.leaving.clone(),
            decided: self.joins.as_ref().and_then(Joining::decided).cloned(),
            lasted: {
                let joins = self.joins.as_ref();
                joins.map_or(Duration::ZERO, |joins| joins.lasted(self.now))
            },
            ..suspension.clone()
        });
        self.enter(Phase::Over, None);
        let rest = self.journal.rest();
        // Nothing can be missing that the next view does not repeat.
        drop(self.observe(rest));
        self.actions.push_back(ClientAction::GoOn(suspension));
    }

    /// Ends with the error once nothing more comes.
    fn finish_if_failed(&mut self) {
        if self.ended.len() < self.request.members.len() {
            return;
        }
        if let Phase::Failing(error) = &self.phase {
            let error = error.clone();
            self.finish(Err(error));
        }
    }

    /// Records the events in `lines`, which the node of `host` has sent.
    fn record_lines(
        &mut self,
        host: HostId,
        lines: &str,
        memory: InputMemory,
    ) -> Result<(), JobError> {
        let memory = Arc::new(memory);
        for line in lines.lines() {
            let event = self.event_check.parse(host, line);
            let event = event.map_err(|problem| {
                let event = format!("an invalid event of the record: {problem}");
                self.refuse(host, &event)
            })?;
            self.record(host, event, &memory)?;
        }
        Ok(())
    }

    fn handle_running(&mut self, host: HostId, word: NodeWord) -> Result<(), JobError> {
        match word {
            NodeWord::Message(JobMessage::Leaving(reason), _) => {
                self.leaving.insert(host, displayed_message(&reason));
                Ok(())
            }
            NodeWord::Message(JobMessage::Progressed(progress), _) => {
                self.add_progress(host, progress)
            }
            NodeWord::Message(JobMessage::Recorded(lines), memory) => {
                self.record_lines(host, &lines, memory)
            }
            NodeWord::Message(JobMessage::Ended(ended), _) => {
                let is_new = self.result.ended.insert(host, ended).is_none();
                is_new
                    .then_some(())
                    .ok_or_else(|| self.refuse(host, "a second end"))
            }
            NodeWord::Message(JobMessage::OutputWritten(file), _) => {
                self.add_output(host, file.rank, JobOutput::File(file))
            }
            NodeWord::Output { rank, output, .. } => {
                self.add_output(host, rank, JobOutput::Value(output))
            }
            word @ (NodeWord::Message(..) | NodeWord::Closed(_)) => {
                Err(word.error(self.name(host)))
            }
        }
    }

    /// Adds the output of a process that has ended on `host`, as its node says, or what it says of the file with the output.
    fn add_output(&mut self, host: HostId, rank: Rank, output: JobOutput) -> Result<(), JobError> {
        let are_written = self.request.files.is_some_and(|files| files.outputs);
        let (is_expected, what) = match &output {
            JobOutput::Value(_) => (!are_written, "output"),
            JobOutput::File(_) => (are_written, "file with the output"),
        };
        let is_new = is_expected
            && self.event_check.shape().rank(rank).is_ok()
            && self.result.outputs.insert(rank, (host, output)).is_none();
        let problem = format!("an unexpected {what} of {rank}");
        is_new
            .then_some(())
            .ok_or_else(|| self.refuse(host, &problem))
    }

    /// Adds the folder in which a node writes files of the job, if the job has any.
    fn add_folder(&mut self, host: HostId, folder: Option<String>) -> Result<(), JobError> {
        match folder {
            None if self.request.files.is_none() => Ok(()),
            Some(folder) if self.request.files.is_some() && is_folder(&folder) => {
                self.folders.insert(host, folder);
                Ok(())
            }
            None => Err(self.refuse(host, "no folder for the files of the job")),
            Some(_) => Err(self.refuse(host, "a folder for files that is none")),
        }
    }

    /// Records an event that the node of `host` has sent.
    fn record(
        &mut self,
        host: HostId,
        event: Event,
        memory: &Arc<InputMemory>,
    ) -> Result<(), JobError> {
        if let Event::Snapshot(snapshot) = event {
            let added = self.snapshots.add(snapshot);
            let ready = added.map_err(|problem| self.refuse(host, &problem))?;
            self.show(ready.map(Event::Snapshot));
            return Ok(());
        }
        let ready = self.journal.add(event, memory);
        self.observe(ready)
    }

    fn observe(&mut self, events: Vec<Event>) -> Result<(), JobError> {
        for mut event in events {
            if let Event::Call(call) = &event {
                for migration in &call.migrations {
                    self.placement[migration.rank.index()] = migration.to;
                }
                self.snapshots.move_processes(call);
                self.result.calls.push(call.clone().without_lists());
            } else if let Event::Checkpoint(checkpoint) = &mut event {
                checkpoint.held &= self.holds;
                if checkpoint.held {
                    let took = (checkpoint.complete - checkpoint.at).get();
                    self.saved_in = Duration::try_from_secs_f64(took).ok();
                }
                self.result.checkpoints.push(checkpoint.clone());
            } else if let Event::Superstep(superstep) = &event {
                self.completed = superstep.index + 1;
                self.completed_at = superstep.ended;
                let ready = self.snapshots.complete(superstep.index);
                let ready = ready.map_err(|(host, problem)| self.refuse(host, &problem))?;
                self.show(ready.into_iter().map(Event::Snapshot));
            }
            let is_superstep = matches!(event, Event::Superstep(_));
            self.show([event]);
            if is_superstep {
                self.record_declined();
            }
        }
        Ok(())
    }

    fn show(&mut self, events: impl IntoIterator<Item = Event>) {
        let events = events.into_iter().map(Box::new);
        self.actions.extend(events.map(ClientAction::Observe));
    }

    /// Ends with the outputs, once all nodes have ended and all outputs and events are here.
    fn finish_if_over(&mut self) {
        let JobResult { outputs, ended, .. } = &self.result;
        let is_over = outputs.len() == self.request.setup.placement.len()
            && ended.len() == self.request.members.len()
            && self.journal.is_empty();
        if !is_over {
            return;
        }
        match self.check_outputs().and_then(|()| self.check_snapshots()) {
            Ok(()) => {
                self.record_declined();
                let result = std::mem::take(&mut self.result);
                self.finish(Ok(result));
            }
            Err(error) => self.fail(error),
        }
    }

    /// Checks that each output is from the node on which its process ended.
    fn check_outputs(&mut self) -> Result<(), JobError> {
        let mut outputs = self.result.outputs.iter();
        let misplaced = outputs.find(|(rank, (host, _))| self.placement[rank.index()] != *host);
        let Some((rank, (host, _))) = misplaced else {
            return Ok(());
        };
        let (rank, host) = (*rank, *host);
        Err(self.refuse(
            host,
            &format!("the output of {rank}, which ended elsewhere"),
        ))
    }

    /// Checks that no file is of a superstep that the job does not have.
    fn check_snapshots(&mut self) -> Result<(), JobError> {
        match self.snapshots.first_waiting() {
            None => Ok(()),
            Some((host, superstep)) => {
                let problem =
                    format!("a file of superstep {superstep}, which the job does not have");
                Err(self.refuse(host, &problem))
            }
        }
    }

    /// Closes the connection to a node because of what it sent. Returns the error, which names the node.
    fn refuse(&mut self, host: HostId, problem: &str) -> JobError {
        let problem = format!("{} sent {problem}", self.name(host));
        // The error of the connection says the same with the address.
        self.actions
            .push_back(ClientAction::Refuse(host, problem.clone()));
        JobError::cluster(problem)
    }

    /// The first error has arrived. If a program fails, its node closes its connections, and the errors of other nodes
    /// about that may arrive first. All nodes end then, and send what they have recorded.
    fn fail(&mut self, first: JobError) {
        self.ends_by = None;
        match self.phase {
            Phase::Failing(_) | Phase::Over => {}
            Phase::Running => {
                for host in self.hosts() {
                    self.send(host, JobMessage::Stop);
                }
                let are_all_there = first.fault != Fault::Cluster || first.message == INTERRUPTED;
                let limit = if are_all_there {
                    REST_LIMIT
                } else {
                    CAUSE_LIMIT
                };
                self.enter(Phase::Failing(first), Some(limit));
                self.finish_if_failed();
            }
            _ if first.fault == Fault::Cluster => {
                self.enter(Phase::Failing(first), Some(CAUSE_LIMIT));
            }
            _ => self.finish(Err(first)),
        }
    }

    fn finish(&mut self, result: Result<JobResult, JobError>) {
        self.enter(Phase::Over, None);
        if result.is_err() {
            let rest = self.journal.rest();
            // The job has failed already.
            drop(self.observe(rest));
        }
        self.actions.push_back(match result {
            Err(error) if self.takes_over || self.is_overtaken => {
                ClientAction::Overtaken(Box::new(error))
            }
            result => ClientAction::Finish(Box::new(result)),
        });
    }

    fn enter(&mut self, phase: Phase, limit: Option<Duration>) {
        self.phase = phase;
        self.limit = limit.map(|limit| self.now + limit);
        self.done.clear();
    }

    /// Checks that the nodes have done in time what the phase waits for.
    fn check_limit(&mut self) -> Result<(), JobError> {
        if self.ends_by.is_some_and(|end| end <= self.now) {
            return Err(JobError::cluster(INTERRUPTED));
        }
        if self.limit.is_none_or(|limit| self.now < limit) {
            return Ok(());
        }
        let limit = match &self.phase {
            Phase::Asking => {
                self.refuse_build(None);
                return Ok(());
            }
            Phase::Failing(first) => {
                let first = first.clone();
                self.finish(Err(first));
                return Ok(());
            }
            Phase::Suspending(suspension) => {
                let missing: Vec<HostId> =
                    self.hosts().filter(|host| !suspension.has(*host)).collect();
                for host in missing {
                    let (reason, silent) = self.missed(host);
                    self.lose(host, reason, silent);
                }
                self.finish_suspended();
                return Ok(());
            }
            Phase::Submitted(_) | Phase::Sending(_) | Phase::Meeting if 1 < self.view() => {
                let done = self.done.clone();
                let missing: Vec<HostId> =
                    self.hosts().filter(|host| !done.contains(host)).collect();
                self.suspend(missing.iter().copied());
                for host in missing {
                    let reason = format!("{} has not answered in time", self.name(host));
                    self.lose(host, reason, None);
                }
                self.finish_if_suspended();
                return Ok(());
            }
            Phase::Submitted(_) => ANSWER_LIMIT,
            _ => CONNECT_LIMIT,
        };
        let missing = self.hosts().filter(|host| !self.done.contains(host));
        let names: Vec<&str> = missing.map(|host| self.name(host)).collect();
        let (names, limit) = (names.join(", "), limit.as_secs());
        Err(JobError::cluster(format!(
            "no answer from {names} in {limit} s"
        )))
    }

    /// Why the node of `host`, which has not answered, counts as lost, and for how long it had been silent: as another node says, if one
    /// does.
    fn missed(&self, host: HostId) -> (String, Option<Seconds>) {
        if let Phase::Suspending(suspension) = &self.phase
            && let Some(lost) = suspension.reported(host)
        {
            return (lost.reason.clone(), lost.silent);
        }
        let reason = self.declined.get(&host).cloned();
        let reason = reason.unwrap_or_else(|| {
            let limit = SUSPEND_LIMIT.as_secs();
            format!("{} has not answered in {limit} s", self.name(host))
        });
        (reason, None)
    }

    /// The number of the view; 0 if the job has none.
    fn view(&self) -> u64 {
        self.request.view.as_ref().map_or(0, |view| view.number)
    }

    fn hosts(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..self.request.members.len()).map(HostId::from_index)
    }

    fn send(&mut self, host: HostId, message: JobMessage) {
        let message = Message::Job(Box::new(message));
        let frame = encode(Address::Client, Address::Node(HostId(0)), &message);
        self.actions.push_back(ClientAction::Send(host, frame));
    }

    fn name(&self, host: HostId) -> &str {
        &self.request.members[host.index()].name
    }
}

/// The most nodes that have offered themselves in a view: others do so again in the next one.
const OFFERS_MAX: usize = 64;

/// What a node has said of the nodes that it has lost and of its pieces, in a job of these numbers of nodes and processes, and at most so many
/// supersteps.
///
/// # Errors
///
/// What no node says.
fn checked(
    mut suspended: Suspended,
    (members, processes): (usize, usize),
    supersteps: u64,
) -> Result<Suspended, String> {
    let Suspended {
        lost,
        saved,
        completed,
        leaves,
        views,
    } = &mut suspended;
    if let Some(reason) = leaves {
        *reason = displayed_message(reason);
    }
    let are_members = lost.iter().all(|lost| lost.host.index() < members);
    if members < lost.len() || !are_members {
        return Err("the loss of a node that the job does not have".to_owned());
    }
    for lost in lost {
        lost.reason = displayed_message(&lost.reason);
    }
    if supersteps < *completed {
        return Err(format!("{completed} complete supersteps"));
    }
    if Suspended::CHECKPOINTS_MAX < saved.len() {
        return Err(format!("pieces of {} checkpoints", saved.len()));
    }
    if Suspended::VIEWS_MAX < views.len() {
        return Err(format!("{} views that it has accepted", views.len()));
    }
    for saved in saved {
        let mut ranks = BTreeSet::new();
        let is_new = |rank: Rank| rank.index() < processes && ranks.insert(rank);
        if !saved.pieces.iter().map(|piece| piece.rank).all(is_new) {
            return Err(
                "a piece of a process twice, or of one that the job does not have".to_owned(),
            );
        }
    }
    Ok(suspended)
}

/// The numbers of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobIds {
    /// That of its checkpoints, the same in all of its views.
    pub job: JobId,
    /// That of the connections and frames of the view.
    pub session: JobId,
}

impl JobIds {
    /// Numbers that are drawn at random.
    #[must_use]
    pub fn random() -> Self {
        Self {
            job: JobId::random(),
            session: JobId::random(),
        }
    }

    /// Those of the next view.
    #[must_use]
    pub fn next(self) -> Self {
        Self {
            session: JobId::random(),
            ..self
        }
    }
}

/// What is left of a view whose session all nodes have left that are not lost.
#[derive(Clone, Debug)]
pub struct Suspension {
    /// When the client knew of the first loss, or when processes were held.
    pub since: Clock,
    /// The nodes that the client has lost, that have left, or that have not answered, by host.
    pub lost: BTreeMap<HostId, LostNode>,
    /// What the others have, by host.
    pub suspended: BTreeMap<HostId, Suspended>,
    /// The build and the role of each node that has been connected to, by host.
    pub connected: BTreeMap<HostId, (Build, Role)>,
    /// The number of supersteps that were complete, as far as the record or a node says.
    pub completed: u64,
    /// Whether all members have accepted the view from this leader.
    pub is_complete: bool,
    /// Whether the nodes of the view have begun.
    pub has_begun: bool,
    /// The nodes of the pool that are free, by their hosts, which are those after the members'.
    pub joining: BTreeMap<HostId, (Build, Role)>,
    /// Those for which processes were held and that are not free any more.
    pub withdrawn: Vec<HostId>,
    /// The nodes that have offered to join, whose hosts are those after the pool's.
    pub offered: Vec<Member>,
    /// The members that are there and leave the job, and why.
    pub leaving: BTreeMap<HostId, String>,
    /// Which of the hosts join that the experiment names, if it names any and that is decided.
    pub decided: Option<Decided>,
    /// How long the job has lasted, if the experiment names hosts that join.
    pub lasted: Duration,
}

impl Suspension {
    /// Whether a node is lost or has left the session.
    fn has(&self, host: HostId) -> bool {
        self.lost.contains_key(&host) || self.suspended.contains_key(&host)
    }

    /// Adds what the node of `host` has. One that leaves the job is lost.
    fn add(&mut self, host: HostId, suspended: Suspended) {
        match suspended.leaves {
            Some(reason) => self.lose(LostNode {
                host,
                reason,
                silent: None,
            }),
            None if self.lost.contains_key(&host) => {}
            None => {
                self.completed = self.completed.max(suspended.completed);
                self.suspended.insert(host, suspended);
            }
        }
    }

    /// Counts a node as lost.
    fn lose(&mut self, lost: LostNode) {
        self.suspended.remove(&lost.host);
        self.lost.entry(lost.host).or_insert(lost);
    }

    /// Whether another node has lost the node of `host`.
    fn is_missed(&self, host: HostId) -> bool {
        self.reported(host).is_some()
    }

    /// What another node says of its loss of the node of `host`.
    fn reported(&self, host: HostId) -> Option<&LostNode> {
        let mut lost = self.suspended.values().flat_map(|of| &of.lost);
        lost.find(|lost| lost.host == host)
    }
}

/// The output of a process that has ended in a view of this number.
pub fn output(view: u64, rank: Rank, payload: Bytes) -> EncodedState {
    EncodedState {
        epoch: view,
        ..initial(rank, payload)
    }
}

/// The state of a process that has not started.
pub fn initial(rank: Rank, payload: Bytes) -> EncodedState {
    EncodedState {
        rank,
        epoch: 0,
        agent: 0,
        declared: None,
        payload,
    }
}

/// Whether a node may say that it writes files to this folder: an absolute path without `..` that can be displayed.
fn is_folder(folder: &str) -> bool {
    let path = Path::new(folder);
    let mut parts = path.components();
    let is_plain = parts.all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    path.is_absolute() && is_plain && folder.len() <= FOLDER_MAX && is_displayable(folder)
}

/// The greatest number of bytes of the path of a folder.
const FOLDER_MAX: usize = 4096;
/// Bytes a second at which a checkpoint is expected to be saved before one has been: those of a link of 1 Gbit/s, less what it loses.
const BANDWIDTH: f64 = 1e8;
/// The error of an interrupted run.
const INTERRUPTED: &str = "interrupted";
/// How long a node may take to answer.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// How long nodes may take to connect to each other.
const CONNECT_LIMIT: Duration = Duration::from_secs(40);
/// How long nodes that are all there may take to send the rest of the record.
const REST_LIMIT: Duration = Duration::from_secs(2);
/// How long to wait for a more specific error, and for the rest of the record, if a node may be lost.
const CAUSE_LIMIT: Duration = Duration::from_millis(500);

/// How long nodes may take to leave a session: the silence of one that cannot is noticed before.
const SUSPEND_LIMIT: Duration = Duration::from_secs(4);
/// The time after which a node that obeys another leader is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(200);
/// How much longer a node may take that obeys another leader: one that has not lost its leader yet does so soon.
const DECLINED_LIMIT: Duration = Duration::from_secs(3);
/// How much longer a node may take that another one has lost.
const MISSED_LIMIT: Duration = Duration::from_millis(300);

/// An event of a client.
#[derive(Debug)]
pub enum ClientEvent {
    /// The client has connected to the node of a host, which runs this build and has this role, or cannot.
    Connected(HostId, Result<(Build, Role), JobError>),
    /// A node has sent something.
    Node(HostId, NodeWord),
    /// The state that was sent last has arrived, or is lost.
    StateSent(Result<(), JobError>),
    /// The observer of the record has failed.
    ObserverFailed(JobError),
    /// The user has interrupted the run.
    Interrupted,
    /// Time has passed.
    Tick,
}

/// Something that a client receives from a node.
#[derive(Debug)]
pub enum NodeWord {
    /// A message. The memory is held until its events of the record are in order.
    Message(JobMessage, InputMemory),
    /// The output of a process.
    Output {
        /// The view in which the process has ended.
        view: u64,
        /// The process.
        rank: Rank,
        /// The output.
        output: Bytes,
    },
    /// The connection has ended: in order, with the reason that the node gave, or not.
    Closed(Result<String, JobError>),
}

/// What a client is to do now. Actions are performed in order.
#[derive(Debug)]
pub enum ClientAction {
    /// Connect to the node of a host, which has this role.
    Connect(HostId, Box<Member>, Role),
    /// Send a frame to a node.
    Send(HostId, Frame),
    /// Encode the state of a process and send it to a node.
    SendState(HostId, Rank),
    /// Close the connection to a node because of what it sent.
    Refuse(HostId, String),
    /// Show the observer the folder in which each node writes the files of jobs: this one has some.
    ShowFolders(BTreeMap<HostId, String>),
    /// Show the observer that processes are not saved, because a node does not have the memory for it.
    ShowMissingMemory(MissingMemory),
    /// Show the observer that the nodes of another view begin.
    ShowView,
    /// Pass an event of the record to the observer.
    Observe(Box<Event>),
    /// The view is over, and the connections stay: the job may go on with what is left.
    GoOn(Box<Suspension>),
    /// The job goes on without this client.
    Leave,
    /// The job is over, or goes on without this node, which has asked to lead it or leads it: close all connections.
    Overtaken(Box<JobError>),
    /// The job is over: close all connections.
    Finish(Box<Result<JobResult, JobError>>),
}

impl NodeWord {
    /// Whether nothing follows that counts: a node that says why the job has failed has sent its part of the record.
    const fn is_last(&self) -> bool {
        match self {
            Self::Message(message, _) => matches!(message, JobMessage::Failed(_)),
            Self::Closed(_) => true,
            Self::Output { .. } => false,
        }
    }

    /// Whether it says which node is lost.
    fn names_loss(&self) -> bool {
        match self {
            Self::Message(JobMessage::Suspended(suspended), _) => {
                suspended.leaves.is_some() || !suspended.lost.is_empty()
            }
            Self::Message(..) | Self::Output { .. } | Self::Closed(_) => false,
        }
    }

    /// The error of something that ends the job, from the node `name`.
    pub fn error(self, name: &str) -> JobError {
        match self {
            Self::Message(JobMessage::Failed(mut failed), _) => {
                // A message of a node about itself begins with its name.
                if failed.fault == Fault::Cluster && !failed.message.starts_with(name) {
                    failed.message = format!("{name}: {}", failed.message);
                }
                failed.into()
            }
            Self::Message(JobMessage::Suspended(_), _) if !self.names_loss() => {
                JobError::cluster(format!("{name} has left because another node has")).reported()
            }
            Self::Message(JobMessage::Suspended(suspended), _) => {
                let reasons = suspended.lost.into_iter().map(|lost| lost.reason);
                let reasons: Vec<String> = reasons.chain(suspended.leaves).collect();
                JobError::cluster(format!(
                    "{name}: {}",
                    displayed_message(&reasons.join("; "))
                ))
            }
            Self::Message(message, _) => {
                let message = variant(&message);
                JobError::cluster(format!("unexpected message of {name}: {message}"))
            }
            Self::Output { rank, .. } => {
                JobError::cluster(format!("{name} sent an unexpected output of {rank}"))
            }
            Self::Closed(Ok(reason)) => JobError::cluster(format!("{name} has left: {reason}")),
            Self::Closed(Err(error)) => error,
        }
    }
}

/// A job for a cluster.
#[derive(Clone, Debug)]
pub struct Request {
    /// The build of the client, and whether nodes may run others.
    pub builds: Builds,
    /// The workload that the nodes must have.
    pub workload: String,
    /// The nodes that take part, by host. Those of a Set are adjacent, the node of its Manager first.
    pub members: Vec<Member>,
    /// The experiment with all its values, for the nodes.
    pub experiment: String,
    /// Where its input files are.
    pub folder: InputFolder,
    /// The folder to which its checkpoints are written, an absolute path, if they are. The client and all nodes share it.
    pub checkpoint: Option<String>,
    /// The files that nodes write for it, if they write any.
    pub files: Option<NodeFiles>,
    /// The setup that the nodes derive from the experiment; its hosts are those of the cluster.
    pub setup: Setup,
    /// Which view of the job this is, if the job goes on when a node is lost.
    pub view: Option<View>,
    /// The part of the free memory of a node that checkpoints may take, if there are to be none where it is too little.
    pub memory_part: Option<f64>,
    /// Whether the client leaves the job when it has begun.
    pub is_left: bool,
    /// How long nodes wait for a leader when it is lost.
    pub wait: Seconds,
    /// How long a client that is interrupted waits until all processes are held and saved; zero: not at all.
    pub grace: Duration,
}

impl Request {
    /// The nodes that take part, and those of the pool, by host.
    pub fn candidates(&self) -> impl Iterator<Item = &Member> {
        let pool = self.view.iter().flat_map(|view| &view.pool);
        self.members.iter().chain(pool)
    }

    /// The request for the view of `submit`, of which this is made.
    ///
    /// # Errors
    ///
    /// If that does not fit the state in which the view begins.
    pub fn of_view(submit: &Submit, setup: Setup, builds: Builds) -> Result<Self, JobError> {
        let setup = match &submit.resumed {
            Some(resumed) => resumption::resume(setup, resumed)?,
            None => setup,
        };
        Ok(Self {
            builds,
            workload: String::new(),
            members: submit.members.clone(),
            experiment: submit.experiment.clone(),
            folder: submit.folder.clone(),
            checkpoint: submit.checkpoint.clone(),
            files: submit.files,
            setup,
            view: submit.view.clone(),
            memory_part: submit.memory,
            is_left: false,
            wait: submit.wait,
            grace: Duration::ZERO,
        })
    }
}

/// A node that does not have the memory to save processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingMemory {
    /// Its name.
    pub node: String,
    /// The memory for the states of its processes and of those of its wards.
    pub needed: units::Bytes,
    /// The memory that its machine has.
    pub free: units::Bytes,
}

/// The outputs, totals, calls and checkpoints of a job.
#[derive(Clone, Default, Debug)]
pub struct JobResult {
    /// The outputs, with the host of the node that sent each or has its file.
    pub outputs: BTreeMap<Rank, (HostId, JobOutput)>,
    /// The totals of each node.
    pub ended: BTreeMap<HostId, Ended>,
    /// Its rescheduling calls.
    pub calls: Vec<Call>,
    /// The hosts that the experiment names and that have joined, or do not because it does not pay.
    pub joins: Vec<Join>,
    /// Its complete checkpoints.
    pub checkpoints: Vec<Checkpoint>,
    /// The builds of the nodes, by host.
    pub builds: Vec<Build>,
}

/// The output of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutput {
    /// Encoded.
    Value(Bytes),
    /// In a file of the node.
    File(WrittenOutput),
}

impl JobResult {
    /// The totals of the run.
    pub fn end(&self) -> End {
        let sum = |what: fn(&Ended) -> u64| {
            let numbers = self.ended.values().map(what);
            numbers.fold(0, u64::saturating_add)
        };
        let seconds = self.ended.values().map(|ended| ended.seconds).max();
        let supersteps = self.ended.values().map(|ended| ended.supersteps).max();
        End {
            seconds: Instant::START + seconds.unwrap_or_default(),
            supersteps: supersteps.unwrap_or_default(),
            messages: sum(|ended| ended.messages),
            bytes: units::Bytes(sum(|ended| ended.bytes)),
            attainable: None,
            imbalance: None,
            moved: units::Bytes(sum(|ended| ended.moved)),
        }
    }
}

/// Nodes whose build the client does not allow.
struct Mismatch<'a> {
    request: &'a Request,
    /// The first of them.
    host: HostId,
    build: &'a Build,
    /// All nodes that run the same build.
    run: String,
    are_several: bool,
}

impl<'a> Mismatch<'a> {
    /// The first build of `builds`, those of the nodes by host, that the client of `request` does not allow, and the nodes
    /// that run it.
    fn first(request: &'a Request, builds: &'a [Build]) -> Option<Self> {
        let first = builds
            .iter()
            .position(|build| !request.builds.allows(build))?;
        let build = &builds[first];
        let all = request.members.iter().zip(builds);
        let names: Vec<&str> = all
            .filter(|(_, other)| *other == build)
            .map(|(member, _)| member.name.as_str())
            .collect();
        let run = match &names[..] {
            [name] => format!("node {name} runs"),
            names => format!("nodes {} run", names.join(", ")),
        };
        Some(Self {
            request,
            host: HostId::from_index(first),
            build,
            run,
            are_several: 1 < names.len(),
        })
    }

    /// Whether a node of another program runs there: it says which workloads it has.
    fn is_other_program(&self) -> bool {
        self.build.program() != self.request.builds.own.program()
    }

    /// The error, with the answer of the node if it has been asked.
    fn error(&self, status: Option<&Status>) -> JobError {
        let (own, workload) = (&self.request.builds.own, &self.request.workload);
        let (run, build) = (&self.run, self.build);
        if status.is_some_and(|status| !status.workloads.contains(workload)) {
            let have = if self.are_several { "have" } else { "has" };
            return JobError::build(format!(
                "{run} {build} and {have} no workload `{workload}`: start `{} node` there",
                own.program()
            ));
        }
        // Without an answer, the general error names both builds.
        mismatch(("this client", own), (run, build))
    }
}

#[cfg(test)]
pub(crate) mod tests;
