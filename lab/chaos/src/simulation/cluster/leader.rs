//! What leads jobs in a fault simulation: the client, and nodes whose leader is lost. A node leads in a process of its own, which
//! ends with the node.

use std::cell::OnceCell;
use std::num::NonZeroU64;
use std::time::Instant;

use agents::{RunError, decode};
use bsp::numbers::length;
use bsp::{HostId, Rank};
use bytes::Bytes;
use machines::client::{
    ClientAction, ClientEvent, ClientMachine, JobIds, JobOutput, JobResult, NodeWord, Request,
    Suspension, initial,
};
use machines::ledger::LedgerId;
use machines::node::{LeadOrder, NodeEvent};
use machines::views::{Hindrance, NextView, Views};
use machines::{InputMemory, JobError, between};
use protocol::transport::{JobId, Refusal, SessionState};
use protocol::{Address, Message};
use record::Event;

use crate::simulation::cluster::connection::{Packet, Untaken};
use crate::simulation::cluster::followers::{LinesInMemory, Seen};
use crate::simulation::cluster::wire::{At, CONNECTING};
use crate::simulation::cluster::{By, Cluster, Connecting, Happening, Owner, SessionFacts};
use crate::simulation::fault::SECOND;
use crate::simulation::scenario::{MBIT_10, describe_job, setup_of};

impl<'a> Cluster<'a> {
    /// Starts a client, which submits the job.
    pub(super) fn submit(&mut self) {
        let ids = JobIds {
            job: self.job_id(),
            session: self.job_id(),
        };
        let place = self.client_place();
        self.places[place].incarnation += 1;
        let scenario = self.scenario;
        if let Some(description) = describe_job(&scenario.request, ids.job)
            && let Err(problem) = self.disk.describe(&description)
            && !self.has_described
        {
            self.violate(format!("the job cannot be described: {problem}"));
        }
        self.has_described = true;
        // Nodes build the processes of a new job.
        let states = scenario.saved.clone().unwrap_or_default();
        let order = (0..states.len()).map(Rank::from_index).collect();
        let request = &scenario.request;
        self.begin_session(ids, request);
        self.result = None;
        let leader = LeaderProcess {
            owner: self.owner(place),
            machine: ClientMachine::new(request, (ids, order), self.instant()),
            request,
            ids,
            views: Views::of(ids.job, request),
            hosts: self.places_of(request),
            states,
            connections: vec![None; request.members.len()],
            timer: None,
            ledger: None,
            since: self.instant(),
            has_led: false,
        };
        self.followers.job.get_or_insert(ids.job);
        self.began = self.now;
        self.leaders.insert(CLIENT, leader);
        self.settle_leader(CLIENT);
    }

    /// Starts the process in which a node asks to lead a job, and leads it.
    pub(super) fn lead(&mut self, place: usize, order: LeadOrder) {
        let LeadOrder { job, owner, submit } = order;
        let scenario = self.scenario;
        let number = |number: u64| NonZeroU64::new(number).map(JobId);
        let (Some(job), Some(session)) = (number(job), number(submit.session)) else {
            return;
        };
        let ids = JobIds { job, session };
        let view = submit.view.as_ref().map(|view| view.number);
        let setup = setup_of(&scenario.request.setup, view, &submit.members);
        let builds = scenario.request.builds.clone();
        let request = match Request::of_view(&submit, setup, builds) {
            Ok(request) => self.requests.add(request),
            Err(error) => return self.violate(format!("a view cannot be followed: {error}")),
        };
        let name = scenario.request.members[place].name.clone();
        self.trace
            .line(self.now, format_args!("{name} asks to lead the job"));
        let now = self.instant();
        let Some(node) = &mut self.nodes[place] else {
            return;
        };
        let file = LinesInMemory::default();
        let ledger = node.ledgers.begin(owner.clone(), &submit, file);
        let leader = LeaderProcess {
            owner: self.owner(place),
            machine: ClientMachine::taking_over(request, ids, now),
            request,
            ids,
            views: Views::led_by((name, owner), job, request),
            hosts: self.places_of(request),
            states: Vec::new(),
            connections: vec![None; scenario.request.members.len()],
            timer: None,
            ledger: Some(ledger),
            since: now,
            has_led: false,
        };
        self.led += 1;
        let id = CLIENT + self.led;
        self.leaders.insert(id, leader);
        self.settle_leader(id);
    }

    /// Tells the client of an event, or another leader.
    pub(super) fn tell_leader(&mut self, id: u64, event: ClientEvent) {
        let now = self.instant();
        if let Some(leader) = self.leaders.get_mut(&id) {
            leader.machine.handle(now, event);
            self.settle_leader(id);
        }
    }

    /// A leader has caused something itself.
    pub(super) fn leader_local(&mut self, (id, owner): (u64, Owner), event: ClientEvent) {
        let Some(leader) = self.leaders.get_mut(&id) else {
            return;
        };
        if leader.owner != owner {
            return;
        }
        if matches!(event, ClientEvent::Tick) {
            leader.timer = None;
        }
        if 0 < self.places[owner.place].stopped {
            let happening = Happening::LeaderLocal(id, owner, Box::new(event));
            return self.places[owner.place].postponed.push(happening);
        }
        self.tell_leader(id, event);
    }

    /// Performs what a leader decides.
    fn settle_leader(&mut self, id: u64) {
        while let Some(action) = self
            .leaders
            .get_mut(&id)
            .and_then(|leader| leader.machine.poll())
        {
            self.perform_leader(id, action);
        }
        let Some(leader) = self.leaders.get(&id) else {
            return;
        };
        let timeout = leader.machine.next_timeout().map(|at| self.date(at));
        if let (Some(at), Some(leader)) = (timeout, self.leaders.get_mut(&id))
            && leader.timer != timeout
        {
            leader.timer = timeout;
            let tick = Happening::LeaderLocal(id, leader.owner, Box::new(ClientEvent::Tick));
            self.queue.add(at.max(self.now), tick);
        }
    }

    fn perform_leader(&mut self, id: u64, action: ClientAction) {
        let Some(leader) = self.leaders.get(&id) else {
            return;
        };
        let connection = |host: HostId| leader.connections[leader.hosts[host.index()]];
        match action {
            ClientAction::Connect(host, _, role) => {
                let (from, to) = (leader.owner, leader.hosts[host.index()]);
                let delay = self.network.delay(from.place, to, 3000)
                    + self.network.delay(to, from.place, 3000);
                let connecting = Connecting {
                    from,
                    to,
                    host,
                    job: None,
                    number: leader.view(),
                    by: By::Leader(id),
                    role,
                    limit: self.now + CONNECTING,
                };
                self.queue
                    .add(self.now + delay, Happening::Connect(connecting));
            }
            ClientAction::Leave => {
                self.trace
                    .line(self.now, format_args!("the client leaves the job"));
                self.end_leader(id, Some("the client has left the job"));
            }
            ClientAction::Send(host, frame) => {
                if let Some(at) = connection(host) {
                    // The end of a connection is an event of its own.
                    drop(self.send_frame(at, 0, &frame));
                }
            }
            ClientAction::SendState(host, rank) => self.send_initial(id, host, rank),
            ClientAction::Refuse(host, problem) => {
                if let Some(at) = connection(host) {
                    self.refuse(at, problem);
                }
            }
            ClientAction::Observe(event) => {
                let seen = Some(Seen::Event(event.clone()));
                self.keep(id, seen, |ledgers, ledger, _| {
                    drop(ledgers.record(ledger, &event));
                });
                if let Event::Checkpoint(checkpoint) = &*event {
                    if let Some(facts) = self.session_of(id) {
                        facts.is_saved = true;
                    }
                    let superstep = checkpoint.superstep;
                    let problem = checkpoint.problem.as_deref().unwrap_or("complete");
                    let line =
                        format_args!("the checkpoint before superstep {superstep}: {problem}");
                    self.trace.line(self.now, line);
                }
                if let Event::Call(call) = *event {
                    let (superstep, moves) = (call.superstep, call.migrations.len());
                    let line = format_args!("a call after superstep {superstep} moves {moves}");
                    self.trace.line(self.now, line);
                }
            }
            // Jobs of these nodes have no files, and their checkpoints fit.
            ClientAction::ShowFolders(_) | ClientAction::ShowMissingMemory(_) => {}
            ClientAction::ShowView => {
                let since = leader.since;
                self.keep(id, Some(Seen::Begun), |ledgers, ledger, now| {
                    ledgers.view_begun(ledger, between(since, now));
                });
                if id != CLIENT {
                    self.schedule_led();
                }
                self.trace.line(self.now, format_args!("the view begins"));
                let now = self.now;
                if let Some(facts) = self.session_of(id) {
                    facts.begun = Some(now);
                    let left_out = std::mem::take(&mut facts.left_out);
                    self.check_left_out(left_out);
                }
            }
            ClientAction::GoOn(left) => self.go_on_without(id, &left),
            ClientAction::Overtaken(error) => self.overtake(id, *error),
            ClientAction::Finish(result) => self.finish(id, *result),
        }
    }

    fn send_initial(&mut self, id: u64, host: HostId, rank: Rank) {
        let Some(leader) = self.leaders.get(&id) else {
            return;
        };
        let owner = leader.owner;
        let Some(at) = leader.connections[leader.hosts[host.index()]] else {
            return;
        };
        let state = initial(rank, leader.states[rank.index()].clone());
        let ends = (Address::Client, Address::Process(rank));
        if let Err(error) = self.send_state(at, 0, (ends, state), Untaken::Initial) {
            let sent = ClientEvent::StateSent(Err(error.into()));
            let happening = Happening::LeaderLocal(id, owner, Box::new(sent));
            self.queue.add(self.now, happening);
        }
    }

    /// What is known of the session of a leader.
    fn session_of(&mut self, id: u64) -> Option<&mut SessionFacts> {
        let session = self.leaders.get(&id)?.ids.session;
        self.sessions.get_mut(&session)
    }

    /// Checks that the present view, which began with a checkpoint, has completed one of its own: it begins with one, so that what it
    /// goes on with is whole again.
    fn check_saved_again(&mut self, id: u64) {
        let (now, last) = (self.now, self.faults.latest());
        let is_slow = self.scenario.delay.1 == MBIT_10;
        let limit = if is_slow { SAVED_SLOWLY } else { SAVED };
        let Some(facts) = self.session_of(id) else {
            return;
        };
        let is_late = facts
            .begun
            .is_some_and(|begun| last < begun && begun + limit < now);
        if is_late && facts.begins_with.is_some() && !facts.is_saved {
            self.violate("a view that began with a checkpoint has completed none".to_owned());
        }
    }

    /// Checks that a view, which begins, leaves out only nodes that may be lost.
    fn check_left_out(&mut self, places: Vec<usize>) {
        for place in places {
            if !self.may_fail() && !self.faults.may_lose(place) {
                let name = &self.scenario.request.members[place].name;
                self.violate(format!("a view begins without {name}, which is there"));
            }
        }
    }

    /// The view of the job is over: the job goes on with what is left, or fails, or others may lead it.
    fn go_on_without(&mut self, id: u64, left: &Suspension) {
        let session = self.job_id();
        let Some(leader) = self.leaders.get_mut(&id) else {
            return;
        };
        let before = leader.request;
        let of = (before, leader.ids.session);
        let ids = JobIds {
            session,
            ..leader.ids
        };
        leader.since = left.since;
        let changes = !left.leaving.is_empty() || !left.joining.is_empty();
        let mut suspended = left.suspended.values();
        let is_planned = left.lost.is_empty() && suspended.all(|of| of.lost.is_empty());
        let next = match leader.views.next(of, left) {
            Ok(next) => next,
            Err(Hindrance::NoQuorum(error)) if leader.views.is_led_by_node() => {
                return self.stop_leading(id, &error);
            }
            Err(hindrance) => return self.finish(id, Err(hindrance.into())),
        };
        if changes && is_planned && 0 < next.repeats {
            let repeats = next.repeats;
            self.violate(format!(
                "{repeats} supersteps are executed again although no node is lost"
            ));
        }
        let seen = Some(Seen::View(next.view.number));
        self.keep(id, seen, |ledgers, ledger, now| {
            ledgers.begin_view(now, ledger, &next);
        });
        self.note_open(id);
        if let Some(leader) = self.leaders.get_mut(&id) {
            leader.has_led = true;
        }
        let number = Some(next.view.number);
        let setup = setup_of(&self.scenario.request.setup, number, &next.members);
        match next.request(before, setup) {
            Ok(request) => {
                let request = self.requests.add(request);
                self.begin_view(id, (request, ids), &next);
            }
            Err(error) => self.finish(id, Err(error)),
        }
    }

    /// A leader submits the next view.
    fn begin_view(&mut self, id: u64, (request, ids): (&'a Request, JobIds), next: &NextView) {
        self.begin_session(ids, request);
        let lost: Vec<String> = next
            .lost
            .iter()
            .map(|lost| format!("{} ({})", lost.name, lost.reason))
            .collect();
        let (view, first) = (next.view.number, request.setup.resumed.as_ref());
        let line = format_args!(
            "view {view} begins with superstep {}, without {}, with {}",
            first.map_or(0, |first| first.superstep),
            lost.join(", "),
            next.joined.join(", ")
        );
        self.trace.line(self.now, line);
        let now = self.instant();
        let hosts = self.places_of(request);
        let members = request.members.len();
        let Some(leader) = self.leaders.get_mut(&id) else {
            return;
        };
        let before = leader.request.members.len();
        let before = std::mem::replace(&mut leader.hosts, hosts)
            .into_iter()
            .enumerate()
            .map(|(host, place)| (place, host < before));
        let remaining = &leader.hosts[..members];
        let gone: Vec<(usize, bool)> = before
            .filter(|(place, _)| !remaining.contains(place))
            .collect();
        let closing = gone.iter();
        let closing: Vec<At> = closing
            .filter_map(|(place, _)| leader.connections[*place].take())
            .collect();
        let left_out = gone.iter().filter(|(_, was_member)| *was_member);
        let left_out: Vec<usize> = left_out.map(|(place, _)| *place).collect();
        (leader.request, leader.ids) = (request, ids);
        leader.machine = ClientMachine::going_on(request, ids, next, now);
        leader.timer = None;
        for at in closing {
            self.close(at, WITHOUT);
        }
        let joined = next.joined.iter().filter_map(|name| self.place_of(name));
        let joined: Vec<usize> = joined.collect();
        self.joined += length(joined.len());
        if let Some(facts) = self.session_of(id) {
            facts.left_out = left_out;
            facts.joined = joined;
        }
    }

    /// Too few nodes obey a node: it leads the job no more, and those that obey it notice that at once.
    fn stop_leading(&mut self, id: u64, error: &JobError) {
        let line = format_args!("a node does not lead the job: {error}");
        self.trace.line(self.now, line);
        self.abandon_ledger(id);
        let Some(leader) = self.leaders.remove(&id) else {
            return;
        };
        for at in leader.connections.into_iter().flatten() {
            self.abort(at, "the node does not lead the job".to_owned());
        }
        self.tell_node(leader.owner.place, NodeEvent::NotLed);
    }

    /// Another node has led the job to its end, or leads it.
    fn overtake(&mut self, id: u64, error: JobError) {
        let line = format_args!("the job goes on without a node, or is over: {error}");
        self.trace.line(self.now, line);
        self.abandon_ledger(id);
        let leader = self.leaders.get(&id);
        let of = leader.map(|leader| (leader.owner.place, leader.ids.job.0.get()));
        self.end_leader(id, Some(&error.message));
        if let Some((place, job)) = of {
            self.tell_node(place, NodeEvent::Overtaken(job, error));
        }
    }

    /// The job is over for a leader.
    fn finish(&mut self, id: u64, result: Result<JobResult, JobError>) {
        let reason = result
            .as_ref()
            .err()
            .map_or("the job is over", |error| &error.message)
            .to_owned();
        match &result {
            Ok(_) => {
                self.trace
                    .line(self.now, format_args!("the job is complete"));
                self.check_saved_again(id);
            }
            Err(error) => self
                .trace
                .line(self.now, format_args!("the job has failed: {error}")),
        }
        self.end_ledger(id, &result);
        self.end_leader(id, Some(&reason));
        if id == CLIENT || result.is_ok() {
            // What a node does not lead to its end, another one may; a job that is complete stays so.
            if !matches!(self.result, Some(Ok(_))) {
                self.result = Some(result);
            }
        } else {
            self.check(result, false);
        }
    }

    /// The place of the node that leads the job.
    pub(super) fn leading_place(&self) -> Option<usize> {
        let leads = |leader: &&LeaderProcess<'_>| leader.ledger.is_some() && leader.has_led;
        let leader = self.leaders.values().find(leads)?;
        Some(leader.owner.place)
    }

    /// The job is over for a leader: clients that are attached hear of it, if it has led the job.
    fn end_ledger(&mut self, id: u64, result: &Result<JobResult, JobError>) {
        let Some(leader) = self.leaders.get(&id) else {
            return;
        };
        let (request, has_led) = (leader.request, leader.has_led);
        match result {
            Err(_) if !has_led => {
                self.abandon_ledger(id);
            }
            Err(error) => {
                let result = Err(error.clone());
                self.keep(id, None, |ledgers, ledger, now| {
                    ledgers.end(now, ledger, result);
                });
                self.note_failed(id);
            }
            Ok(result) => {
                let result = Ok((result.clone(), request));
                self.keep(id, None, |ledgers, ledger, now| {
                    ledgers.end(now, ledger, result);
                });
            }
        }
    }

    /// The process of a leader ends. It closes its connections in order, for this reason, unless it dies.
    pub(super) fn end_leader(&mut self, id: u64, reason: Option<&str>) {
        let leader = self.leaders.remove(&id);
        let (Some(leader), Some(reason)) = (leader, reason) else {
            return;
        };
        for at in leader.connections.into_iter().flatten() {
            self.close(at, reason);
        }
    }

    /// A leader has a connection to the node at `place`, which is that of `host`.
    pub(super) fn leader_connected(&mut self, id: u64, at: At, (place, host): (usize, HostId)) {
        let build = self.scenario.request.builds.own.clone();
        let role = self.places[place].info.subject.role;
        if let Some(leader) = self.leaders.get_mut(&id) {
            leader.connections[place] = Some(at);
        }
        self.tell_leader(id, ClientEvent::Connected(host, Ok((build, role))));
    }

    /// A leader reads a packet.
    pub(super) fn read_at_leader(&mut self, id: u64, at: At, packet: Packet) {
        let own = self.host_of_leader(id, at);
        if let Some(word) = self.word(at, own, packet) {
            self.tell_leader_of(id, at, word);
        }
    }

    /// What a packet says that has come to a leader, or to a client that attaches, from a node: `own` in the present view, if it has
    /// a place there.
    pub(super) fn word(&mut self, at: At, own: Option<HostId>, packet: Packet) -> Option<NodeWord> {
        Some(match packet {
            Packet::Close(reason) => {
                let error = self.end(at).1.closed(reason.clone());
                self.lose(at, error);
                NodeWord::Closed(Ok(reason))
            }
            Packet::Frame(stamp, bytes) => {
                let session = SessionState::default();
                let checked = self.connections[at.0].check_frame(at.1, (stamp, bytes), session);
                let own = own.map(Address::Node);
                let checked = checked.and_then(|(from, _, message)| {
                    // A node that is asked calls itself the first.
                    if own.is_some() && own != Some(from) && from != Address::Node(HostId(0)) {
                        let problem = format!("a message in the name of {from:?}");
                        return Err(Refusal::Content(problem));
                    }
                    Ok(message)
                });
                match checked {
                    Ok(Message::Job(message)) => {
                        NodeWord::Message(*message, InputMemory::default())
                    }
                    Ok(Message::Agent(_) | Message::Node(_)) => return None,
                    Err(refusal) => {
                        let error = self.end(at).1.refused(refusal.clone());
                        self.refuse(at, refusal.to_string());
                        NodeWord::Closed(Err(error.into()))
                    }
                }
            }
            // Nodes send them to each other alone.
            Packet::Pieces(..) => return None,
            Packet::State(_, _, state) => {
                self.take(at);
                NodeWord::Output {
                    view: state.epoch,
                    rank: state.rank,
                    output: state.payload,
                }
            }
        })
    }

    /// Tells a leader what has come from the node at a connection, if that is one of its present view.
    pub(super) fn tell_leader_of(&mut self, id: u64, at: At, word: NodeWord) {
        if let Some(host) = self.host_of_leader(id, at) {
            self.tell_leader(id, ClientEvent::Node(host, word));
        }
    }

    /// The host of the node at a connection in the present view of a leader.
    fn host_of_leader(&self, id: u64, at: At) -> Option<HostId> {
        let place = self.connections[at.0].ends[1 - at.1].place;
        let leader = self.leaders.get(&id)?;
        let host = leader.hosts.iter().position(|of| *of == place)?;
        (leader.connections[place] == Some(at)).then_some(HostId::from_index(host))
    }

    /// Checks the result of a job, which has to be complete if `must_complete`.
    pub(super) fn check(&mut self, result: Result<JobResult, JobError>, must_complete: bool) {
        match result {
            Ok(result) => {
                let outputs: Result<Vec<u64>, _> = result
                    .outputs
                    .into_iter()
                    .map(|(rank, (_, output))| match output {
                        JobOutput::Value(output) => decode("the output of", rank, &output),
                        JobOutput::File(_) => {
                            let problem = "it is in a file of its node";
                            Err(RunError::encoding(
                                "the output of",
                                rank,
                                "decoded",
                                &problem,
                            ))
                        }
                    })
                    .collect();
                if outputs.as_ref() != Ok(&self.scenario.outputs) {
                    self.violate("the outputs are not those of the reference".to_owned());
                }
            }
            Err(error) if must_complete => {
                self.violate(format!("the job failed without a reason: {error}"));
            }
            Err(error) => {
                let names_cause = ["node-", "interrupted", "client"];
                if !names_cause.iter().any(|name| error.message.contains(name)) {
                    self.violate(format!("the error does not name the cause: {error}"));
                }
            }
        }
    }
}

/// A leader: its machine, and what its shell would have.
pub(super) struct LeaderProcess<'a> {
    /// The process of which it is a part.
    pub(super) owner: Owner,
    machine: ClientMachine<'a>,
    /// What is asked for in the present view.
    request: &'a Request,
    ids: JobIds,
    views: Views,
    /// The place of each host of the present view, and then of its pool.
    hosts: Vec<usize>,
    /// The saved processes, if the job resumes another one.
    states: Vec<Bytes>,
    /// By place.
    connections: Vec<Option<(usize, usize)>>,
    timer: Option<u64>,
    /// What the node keeps for clients that attach, if it is one.
    pub(super) ledger: Option<LedgerId>,
    /// When the leader knew of what ended the view before.
    since: Instant,
    /// Whether it has begun to lead the job in another view.
    has_led: bool,
}

impl LeaderProcess<'_> {
    /// The number of its present view; 0 if the job has none.
    pub(super) fn view(&self) -> u64 {
        self.request.view.as_ref().map_or(0, |view| view.number)
    }
}

/// The number of the client among the leaders.
pub(super) const CLIENT: u64 = 0;

/// The requests for the views after the first, which stay where they are until the simulation is over.
#[derive(Default)]
pub(in crate::simulation) struct Requests(OnceCell<(Request, Box<Self>)>);

impl Requests {
    fn add(&self, request: Request) -> &Request {
        match self.0.get() {
            Some((_, rest)) => rest.add(request),
            None => &self.0.get_or_init(|| (request, Box::default())).0,
        }
    }
}

/// How long the first checkpoint of a view may take, in nanoseconds, and on slow links.
const SAVED: u64 = SECOND;
const SAVED_SLOWLY: u64 = 20 * SECOND;
/// The reason with which the connection closes to a node without which the job goes on.
const WITHOUT: &str = "the job goes on without this node";
