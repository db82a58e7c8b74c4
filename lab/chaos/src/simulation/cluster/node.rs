//! Nodes in a fault simulation: their events, what they do, and what each has.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agents::process_state::{self, PackingTimes, ProcessState};
use agents::{ChunkReader, Delivery, Event, Node, Process, Rules, SetManager, World};
use bsp::numbers::length;
use bsp::units::{Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, SetId};
use bytes::Bytes;
use checkpoint::{Delta, Piece};
use machines::client::output as output_state;
use machines::ledger::Ledgers;
use machines::node::{ConnectionId, JobEvent, NodeEvent};
use machines::node::{JobAction, JobEnd, NodeAction, StartedJob};
use machines::node::{NodeMachine, NodeParts, Prepare};
use machines::seconds;
use machines::{
    ArrivedProcess, Builds, Done, Execution, HostMeter, InitialStateBuilder, InitialStateDecoder,
    InputMemory, JobError, Residents, Routes, Task, Transfer,
};
use protocol::identity::Role;
use protocol::transport::{JobId, PeerError, Session};
use protocol::{
    Abandoned, Address, EncodedState, Frame, JobMessage, Limits, Message, Migrate, Status, decode,
};

use crate::simulation::cluster::checkpoints::Change;
use crate::simulation::cluster::connection::{EndRole, Untaken};
use crate::simulation::cluster::followers::{LinesInMemory, NodeTelling};
use crate::simulation::cluster::wire::{At, CONNECTING};
use crate::simulation::cluster::{By, Cluster, Connecting, Happening, Owner};

impl Cluster<'_> {
    /// Tells a node of an event, and performs what it decides.
    pub(super) fn tell_node(&mut self, place: usize, event: NodeEvent) {
        let now = self.instant();
        if let Some(node) = &mut self.nodes[place] {
            node.machine.handle(now, event);
            self.settle(place);
        }
    }

    /// Performs what a node decides until it waits for the next event.
    pub(super) fn settle(&mut self, place: usize) {
        loop {
            let Some(node) = &mut self.nodes[place] else {
                return;
            };
            if let Some(action) = node.machine.poll() {
                if let Some(event) = self.perform(place, action) {
                    let now = self.instant();
                    if let Some(node) = &mut self.nodes[place] {
                        node.machine.handle(now, event.into());
                    }
                }
                continue;
            }
            if !node.machine.takes_peer_events() {
                break;
            }
            let Some(event) = node.peer_events.pop_front() else {
                break;
            };
            let now = self.instant();
            if let Some(node) = &mut self.nodes[place] {
                node.machine.handle(now, event.into());
            }
        }
        self.check_checkpoints(place);
        let owner = self.owner(place);
        let Some(node) = &self.nodes[place] else {
            return;
        };
        let timeout = node.machine.next_timeout().map(|at| self.date(at));
        if let (Some(at), Some(node)) = (timeout, &mut self.nodes[place])
            && node.timer != timeout
        {
            node.timer = timeout;
            let timer = Happening::Timer(owner, at);
            self.queue.add(at.max(self.now), timer);
        }
    }

    pub(super) fn timer(&mut self, owner: Owner, at: u64) {
        if !self.is_alive(owner) {
            return;
        }
        if let Some(node) = &mut self.nodes[owner.place]
            && node.timer == Some(at)
        {
            node.timer = None;
            self.tell_node(owner.place, NodeEvent::Tick);
        }
    }

    /// A node has caused something itself, in its session of this number.
    pub(super) fn local(&mut self, owner: Owner, number: u64, event: JobEvent) {
        let is_current = self
            .job(owner.place)
            .is_some_and(|job| job.number == number);
        if !self.is_alive(owner) || !is_current {
            return;
        }
        match (event, &mut self.nodes[owner.place]) {
            (event, Some(node)) if event.is_of_peer() => {
                node.peer_events.push_back(event);
                self.settle(owner.place);
            }
            (event, _) => self.tell_node(owner.place, event.into()),
        }
    }

    /// Has a node cause `event` after some time, unless it has left its session.
    pub(super) fn later(&mut self, place: usize, after: u64, event: JobEvent) {
        let owner = self.owner(place);
        let number = self.nodes[place].as_ref().map_or(0, |node| node.jobs);
        let local = Happening::Local(owner, number, Box::new(event));
        self.queue.add(self.now + after, local);
    }

    /// The job of the node at a place, if it has one.
    pub(super) fn job(&self, place: usize) -> Option<&SimulatedJob> {
        self.nodes[place].as_ref()?.job.as_ref()
    }

    /// Whether the states are read that the client at an end sends.
    pub(super) fn reads_states(&self, at: At) -> bool {
        let end = &self.connections[at.0].ends[at.1];
        self.job(end.place).is_some_and(|job| job.client == end.id)
    }

    fn perform(&mut self, place: usize, action: NodeAction) -> Option<JobEvent> {
        match action {
            NodeAction::Job(action) => return self.perform_for_job(place, action),
            NodeAction::Attend(connection) => {
                let at = self.at(place, connection)?;
                self.end(at).1.role = EndRole::Client;
                self.read_unread(at);
            }
            NodeAction::RefusePeer(connection) => {
                let at = self.at(place, connection)?;
                self.abort(at, "it has no part in a job here".to_owned());
            }
            NodeAction::SendToClient(connection, frame) => {
                let at = self.at(place, connection)?;
                self.check_obeyed(place, connection, &frame);
                // The loss of the client is an event of its connection.
                drop(self.send_frame(at, 0, &frame));
            }
            NodeAction::Begin(begun) => {
                let at = self.at(place, begun.client)?;
                let node = self.nodes[place].as_mut()?;
                node.session.begin(begun.session, 0);
                let before = node.view.replace((begun.job, begun.view));
                node.obeyed = Some(begun.client);
                node.jobs += 1;
                node.job = Some(SimulatedJob {
                    number: node.jobs,
                    session: begun.session,
                    id: begun.job,
                    view: begun.view,
                    client: begun.client,
                    own: begun.own,
                    peers: BTreeMap::new(),
                    agents: None,
                    decoder: begun.decoder,
                    processors: Vec::new(),
                });
                if let Some(builder) = &begun.builder {
                    self.build(place, builder);
                }
                self.check_view(place, before, (begun.job, begun.view));
                self.check_whole_views();
                self.read_unread(at);
            }
            NodeAction::Suspend(client, last) => {
                let name = &self.scenario.request.members[place].name;
                self.trace
                    .line(self.now, format_args!("{name} leaves the session"));
                self.end_session(place, "a node is lost");
                let client = self.at(place, client?)?;
                for frame in &last {
                    // The loss of the client is an event of its connection.
                    drop(self.send_frame(client, 0, frame));
                }
            }
            NodeAction::Lead(order) => self.lead(place, *order),
            NodeAction::End(ended) => {
                self.nodes[place].as_mut()?.view = None;
                let reason = match &ended.end {
                    JobEnd::Complete(_) => "the job is over".to_owned(),
                    JobEnd::Failed(error) => error.message.clone(),
                    JobEnd::Panicked => "the node has failed".to_owned(),
                };
                let name = &self.scenario.request.members[place].name;
                self.trace
                    .line(self.now, format_args!("{name} ends its job: {reason}"));
                if reason.contains("it is broken") {
                    self.violate(format!("{name} takes an honest node for broken: {reason}"));
                }
                self.end_session(place, &reason);
                let client = self.at(place, ended.client?)?;
                for frame in &ended.last {
                    // The loss of the client is an event of its connection.
                    drop(self.send_frame(client, 0, frame));
                }
                self.close(client, "the job is over");
            }
        }
        None
    }

    /// Ends what a node has for the session of its job, if it is in one.
    fn end_session(&mut self, place: usize, reason: &str) {
        let Some(node) = &mut self.nodes[place] else {
            return;
        };
        node.session.end();
        node.peer_events.clear();
        let Some(job) = node.job.take() else { return };
        for at in job.peers.into_values() {
            self.close(at, reason);
        }
    }

    /// Checks that the node at a place may begin with this view of a job: a later one, only if it was in one before, or joins.
    fn check_view(
        &mut self,
        place: usize,
        before: Option<(JobId, u64)>,
        (job, view): (JobId, u64),
    ) {
        let was_in_job = before.is_some_and(|(of, before)| of == job && before < view);
        let facts = self.session_at(place);
        let joins = facts.is_some_and(|facts| facts.joined.contains(&place));
        if 1 < view && !was_in_job && !joins {
            let name = &self.scenario.request.members[place].name;
            self.violate(format!(
                "{name} begins with view {view} of a job that it was not in"
            ));
        }
    }

    /// Checks that at most one view of a job has all of its members in its session: that one makes progress.
    fn check_whole_views(&mut self) {
        let mut places: BTreeMap<JobId, Vec<usize>> = BTreeMap::new();
        for place in 0..self.nodes.len() {
            if let Some(job) = self.job(place) {
                places.entry(job.session).or_default().push(place);
            }
        }
        let whole = places.iter().filter(|(session, there)| {
            let facts = self.sessions.get(session);
            facts.is_some_and(|facts| facts.places.iter().all(|place| there.contains(place)))
        });
        if 1 < whole.count() {
            self.violate("two views of the job make progress".to_owned());
        }
    }

    /// Checks that a node that says what it has to one leader does not obey another one.
    fn check_obeyed(&mut self, place: usize, connection: ConnectionId, frame: &Frame) {
        let bytes: Vec<u8> = [&frame.head[..], &frame.payload[..]].concat();
        let is_suspended = matches!(
            decode(bytes.into(), &Limits::default()),
            Ok((_, _, Message::Job(message))) if matches!(*message, JobMessage::Suspended(_))
        );
        let Some(node) = self.nodes[place].as_mut().filter(|_| is_suspended) else {
            return;
        };
        let before = node.obeyed.replace(connection);
        let before = before.filter(|before| *before != connection);
        let before = before.and_then(|before| self.at(place, before));
        if before.is_some_and(|at| self.end(at).1.is_open) {
            let name = &self.scenario.request.members[place].name;
            self.violate(format!("{name} obeys two leaders"));
        }
    }

    fn at(&self, place: usize, connection: ConnectionId) -> Option<At> {
        let node = self.nodes[place].as_ref()?;
        node.connections.get(&connection).copied()
    }

    fn perform_for_job(&mut self, place: usize, action: JobAction) -> Option<JobEvent> {
        let node = self.nodes[place].as_mut()?;
        let job = node.job.as_mut()?;
        let epoch = node.session.state().epoch;
        let client = node.connections.get(&job.client).copied();
        let failed = |error: PeerError| JobEvent::Failed(error.into());
        match action {
            JobAction::Connect(host, member, role) => self.call(place, (host, &member.name), role),
            JobAction::Restore(pieces) => self.restore(place, pieces),
            JobAction::Admit(connection, host, rights) => {
                let at = node.connections.get(&connection).copied()?;
                job.peers.insert(host, at);
                let (_, end) = self.end(at);
                (end.role, end.rights) = (EndRole::Node(host), Some(rights));
                self.read_unread(at);
            }
            JobAction::Start(started) => job.start(started),
            JobAction::StartClock => {}
            JobAction::Send(host, frame) => {
                let at = *job.peers.get(&host)?;
                let sent = self.send_frame(at, epoch, &frame);
                return sent.err().map(|error| JobEvent::unsent(host, error));
            }
            JobAction::SendToClient(frame) => drop(self.send_frame(client?, 0, &frame)),
            JobAction::SendRecord(frame) => {
                if let Err(error) = self.send_frame(client?, 0, &frame) {
                    return Some(failed(error));
                }
                let after = self.random.duration(1_000, 5_000_000);
                self.later(place, after, JobEvent::RecordTaken);
            }
            JobAction::SendOutput(rank, output) => {
                let ends = (Address::Node(job.own), Address::Client);
                let state = (ends, output_state(job.view, rank, output));
                let sent = self.send_state(client?, 0, state, Untaken::Output);
                return sent.err().map(failed);
            }
            JobAction::WriteOutput(rank, _) => {
                // Jobs of these nodes have no files, and the nodes no folders for them.
                let problem = format!("there is no folder for the output of {rank}");
                return Some(JobEvent::Failed(JobError::cluster(problem)));
            }
            JobAction::Refuse(host, problem) => {
                let at = *job.peers.get(&host)?;
                self.refuse(at, problem);
            }
            JobAction::AdvanceEpoch(epoch) => node.session.advance(epoch),
            JobAction::Execute(tasks) => {
                for task in tasks {
                    self.execute(place, task);
                }
            }
            JobAction::Depart(order, process) => return self.depart(place, &order, &process),
            JobAction::Plan(set, deliberation) => {
                let deliberated = Box::new(deliberation.conclude());
                let after = self.random.duration(100_000, 2_000_000_000);
                self.later(place, after, JobEvent::Deliberated(set, deliberated));
            }
            JobAction::Deliver(deliveries) => {
                let agents = job.agents.as_mut()?;
                for delivery in deliveries {
                    if let Err(error) = agents.deliver(delivery) {
                        return Some(JobEvent::Failed(error));
                    }
                }
            }
            JobAction::Release(ranks) => job.agents.as_mut()?.release(&ranks),
            JobAction::SendPieces(host, superstep, changed) => {
                let at = *job.peers.get(&host)?;
                let ends = (Address::Node(job.own), Address::Node(host));
                let parts: Vec<Bytes> = Delta::encode_all(&changed).collect();
                let pieces = (superstep, parts.concat().into());
                // The end of a connection is an event of its own.
                drop(self.send_pieces(at, epoch, ends, pieces));
            }
            JobAction::WritePieces(generation, pieces) => {
                self.change_folder(place, Change::Write(generation, pieces));
            }
            JobAction::FinishCheckpoint(generation, files) => {
                self.change_folder(place, Change::Finish(generation, files));
            }
        }
        None
    }

    /// Builds the processes that start at a node, one after the other, each of which takes some time.
    fn build(&mut self, place: usize, builder: &InitialStateBuilder) {
        let mut events = Vec::new();
        let built = builder.build(&mut |rank, state, bytes| {
            events.push(JobEvent::State(rank, state, bytes));
            Ok(())
        });
        events.extend(built.err().map(JobEvent::Failed));
        let mut after = 0;
        for event in events {
            after += self.random.duration(10_000, 5_000_000);
            self.later(place, after, event);
        }
    }

    /// Decodes the state of a process that starts at a node, which has it after some time.
    pub(super) fn decode_initial(&mut self, place: usize, state: EncodedState) {
        let Some(job) = self.job(place) else {
            return;
        };
        let mut source = vec![state.payload].into_iter();
        let decoded = job.decoder.decode(state.rank, &mut source);
        let event = decoded.map_or_else(
            |error| JobEvent::Failed(error.into()),
            |(decoded, bytes)| JobEvent::State(state.rank, decoded, bytes),
        );
        let after = self.random.duration(10_000, 5_000_000);
        self.later(place, after, event);
    }

    /// Decodes the states in pieces, with which processes start at a node, one after the other.
    fn restore(&mut self, place: usize, pieces: Vec<Piece>) {
        self.check_restored(place, &pieces);
        let mut after = 0;
        for piece in pieces {
            let Some(job) = self.job(place) else { return };
            let rank = piece.head.rank;
            let chunks = piece.content.chunks().iter();
            let chunks: Vec<Bytes> = chunks.map(|chunk| chunk.bytes().clone()).collect();
            let decoded = job.decoder.decode(rank, &mut chunks.into_iter());
            let event = decoded.map_or_else(
                |error| JobEvent::Failed(error.into()),
                |(decoded, bytes)| JobEvent::State(rank, decoded, bytes),
            );
            let (least, most) = self.scenario.decoding;
            after += self.random.duration(least, most);
            self.later(place, after, event);
        }
    }

    /// Has a node connect to another one, which has this host and this name.
    fn call(&mut self, place: usize, (host, name): (HostId, &str), role: Role) {
        let Some(to) = self.place_of(name) else {
            return;
        };
        let from = self.owner(place);
        let Some(node) = &self.nodes[place] else {
            return;
        };
        let (job, number) = (node.session.state().job, node.jobs);
        let delay = self.network.delay(place, to, 3000) + self.network.delay(to, place, 3000);
        let connecting = Connecting {
            from,
            to,
            host,
            job,
            number,
            by: By::Node,
            role,
            limit: self.now + CONNECTING,
        };
        self.queue
            .add(self.now + delay, Happening::Connect(connecting));
    }

    /// Executes a superstep; the result is there after some time.
    fn execute(&mut self, place: usize, task: Task) {
        let Task {
            mut program,
            turn,
            delay,
            saving,
            is_held,
        } = task;
        if let Some(saving) = saving {
            self.save(place, *saving, &*program);
        }
        if is_held {
            return;
        }
        let (rank, superstep) = (turn.rank, turn.superstep);
        self.note_execution(place, rank, superstep);
        let result = program.execute(turn);
        let (least, most) = self.scenario.computation;
        let least = self.random.duration(least, most);
        let (owner, now) = (self.owner(place), self.now);
        let Some(node) = &mut self.nodes[place] else {
            return;
        };
        let (number, executing) = (node.jobs, &node.meter.executing);
        executing.set(executing.get() + 1);
        let job = node.job.as_mut();
        let free = job.and_then(|job| job.processors.iter_mut().min());
        let Some(free) = free else { return };
        let begins = now.max(*free);
        let took = self.places[place].lasts(begins, least);
        let end = begins + took;
        *free = end;
        let held = seconds(Duration::from_nanos(took)) + delay;
        let work = Instructions(took);
        let done = Done {
            rank,
            program,
            result,
            work,
            held,
            delay,
            snapshots: Vec::new(),
        };
        self.queue.add(end, Happening::Executed(owner, number, 1));
        self.later(place, end - now, JobEvent::Executed(vec![done]));
    }

    /// Notes that a process executes a superstep, which has to be the next one.
    fn note_execution(&mut self, place: usize, rank: Rank, superstep: u64) {
        let Some(job) = self.job(place) else {
            return;
        };
        let session = job.session;
        let last = self.executed.insert((session, rank), superstep);
        let first = self.sessions.get(&session).map_or(0, |facts| facts.first);
        let expected = last.map_or(first, |last| last + 1);
        if superstep != expected {
            self.violate(format!(
                "{rank} executes superstep {superstep}, expected {expected}"
            ));
        }
    }

    /// Encodes a process and sends it to another node.
    fn depart(&mut self, place: usize, order: &Migrate, state: &ProcessState) -> Option<JobEvent> {
        let ProcessState {
            program,
            agent,
            inbox,
        } = state;
        let mut chunks: Vec<Bytes> = Vec::new();
        let times = |_| Some(PackingTimes::default());
        let encoded =
            process_state::encode(order.rank, &**program, agent, inbox, &mut chunks, times);
        if let Err(error) = encoded {
            return Some(JobEvent::Failed(error.into()));
        }
        let payload = Bytes::from(chunks.concat());
        let bytes = length(payload.len());
        let state = EncodedState {
            rank: order.rank,
            epoch: order.epoch,
            agent: u32::try_from(agent.len()).expect("an agent's state is small"),
            declared: program.declared().map(MemorySize::total),
            payload,
        };
        let node: &NodeProcess = self.nodes[place].as_ref()?;
        let at = *node.job.as_ref()?.peers.get(&order.to)?;
        let epoch = node.session.state().epoch;
        let ends = (Address::Node(order.from), Address::Node(order.to));
        let untaken = Untaken::State(order.to, bytes, self.now);
        let sent = self.send_state(at, epoch, (ends, state), untaken);
        sent.err().map(|error| JobEvent::unsent(order.to, error))
    }

    /// Decodes the state of a process that has arrived at a node, which has it after some time.
    pub(super) fn decode(
        &mut self,
        place: usize,
        host: HostId,
        ends: (Address, Address),
        mut head: EncodedState,
    ) {
        let Some(job) = self.job(place) else {
            return;
        };
        let mut source = vec![std::mem::take(&mut head.payload)].into_iter();
        let mut chunks = ChunkReader::new(&mut source);
        let decoded = process_state::decode(job.decoder.program_type, head.rank, &mut chunks);
        let (least, most) = self.scenario.decoding;
        let after = self.random.duration(least, most);
        let event = match decoded {
            Err(error) => JobEvent::Failed(error.into()),
            Ok(decoded) => {
                // Its first byte arrived so much earlier.
                let arrived = decoded.bytes * self.scenario.delay.1;
                let transfer = Transfer {
                    packing: decoded.packing.unwrap_or_default(),
                    arrived: Duration::from_nanos(arrived),
                    unpacked: Duration::from_nanos(after),
                    decoded: Duration::from_nanos(arrived + after),
                };
                JobEvent::Process(Box::new(ArrivedProcess {
                    host,
                    ends,
                    head,
                    decoded,
                    transfer,
                    round_trip: Seconds::ZERO,
                    memory: InputMemory::default(),
                }))
            }
        };
        self.later(place, after, event);
    }
}

/// A node: its machine, and what its shell would have.
pub(super) struct NodeProcess {
    pub(super) machine: NodeMachine,
    pub(super) session: Session,
    pub(super) meter: Rc<SimulatedMeter>,
    /// Where each connection is: its number in the simulation, and its end.
    connections: BTreeMap<ConnectionId, (usize, usize)>,
    connected: u64,
    pub(super) job: Option<SimulatedJob>,
    /// The number of sessions that have begun.
    pub(super) jobs: u64,
    /// The job that it is in, and which of its views that is or was last.
    view: Option<(JobId, u64)>,
    /// The connection of the leader that it has obeyed last.
    pub(super) obeyed: Option<ConnectionId>,
    /// The date at which it wakes.
    timer: Option<u64>,
    /// What other nodes have sent that it does not take yet.
    pub(super) peer_events: VecDeque<JobEvent>,
    /// What it keeps of the jobs that it leads, and what it tells clients that are attached, by the end of their connection.
    pub(super) ledgers: Ledgers<LinesInMemory>,
    pub(super) tellings: BTreeMap<At, NodeTelling>,
}

/// What a node has for a session of a job.
pub(super) struct SimulatedJob {
    /// Which of the sessions of the node it is.
    pub(super) number: u64,
    pub(super) session: JobId,
    /// The number that its checkpoints have.
    pub(super) id: JobId,
    /// The number of its view; 0 if it has none.
    view: u64,
    client: ConnectionId,
    pub(super) own: HostId,
    pub(super) peers: BTreeMap<HostId, (usize, usize)>,
    agents: Option<DirectAgents>,
    decoder: InitialStateDecoder,
    /// When each processor is free.
    processors: Vec<u64>,
}

impl SimulatedJob {
    /// Starts the agents, and the processors that execute supersteps.
    fn start(&mut self, started: StartedJob) {
        let slots = usize::try_from(started.slots.get()).expect("few processors");
        self.processors = vec![0; slots];
        self.agents = Some(DirectAgents::new(started));
    }
}

impl NodeProcess {
    /// The node `name`, which may lead jobs if its certificate allows it, and starts at `now`.
    pub(super) fn start(
        (name, leads): (&str, bool),
        builds: &Builds,
        prepare: Box<Prepare>,
        now: Instant,
    ) -> Self {
        let meter = Rc::new(SimulatedMeter::default());
        let parts = NodeParts {
            name: name.to_owned(),
            builds: builds.clone(),
            routes: Routes::default(),
            folder: None,
            prepare,
            leads,
            meter: Rc::clone(&meter) as Rc<dyn HostMeter>,
        };
        Self {
            machine: NodeMachine::new(parts, now),
            session: Session::default(),
            meter,
            connections: BTreeMap::new(),
            connected: 0,
            job: None,
            jobs: 0,
            view: None,
            obeyed: None,
            timer: None,
            peer_events: VecDeque::new(),
            ledgers: Ledgers::default(),
            tellings: BTreeMap::new(),
        }
    }

    /// How the node is.
    pub(super) fn status(&mut self, now: Instant) -> Status {
        let execution = self
            .meter
            .oldest_execution()
            .filter(|_| self.machine.is_idle());
        Status {
            workloads: Vec::new(),
            abandoned: execution.map(|execution| Abandoned {
                rank: execution.rank,
                superstep: execution.superstep,
                since: seconds(execution.age),
            }),
            up: Seconds::ZERO,
            speed: self.meter.offered(1.0).get(),
            processors: 1,
            load: (0.0, 0.0),
            job: self.machine.job_status(now),
            jobs: self.machine.jobs(),
            refused: 0,
            memory: None,
            led: self.ledgers.status(now),
            others: Vec::new(),
        }
    }

    /// The number of a new connection, which is `at` in the simulation.
    pub(super) fn connect(&mut self, at: (usize, usize)) -> ConnectionId {
        self.connected += 1;
        let id = ConnectionId(self.connected);
        self.connections.insert(id, at);
        id
    }
}

/// What a simulated node measures: nothing disturbs its host but faults.
#[derive(Default)]
pub(super) struct SimulatedMeter {
    /// The number of supersteps that are executed, in the job that runs or in one that has ended.
    pub(super) executing: Cell<u64>,
}

impl HostMeter for SimulatedMeter {
    fn free_memory(&self) -> Option<u64> {
        None
    }

    fn offered(&self, factor: f64) -> InstructionsPerSecond {
        InstructionsPerSecond::new(1e9 * factor).expect("a positive speed")
    }

    fn counts(&self) -> bool {
        false
    }

    fn is_a_host(&self) -> bool {
        true
    }

    fn load(&self, _: Seconds) -> f64 {
        0.0
    }

    fn unavailable(&self, _: Seconds) -> f64 {
        0.0
    }

    fn busy_periods(&self, _: Seconds) -> u64 {
        0
    }

    fn ages(&self) -> Vec<Seconds> {
        Vec::new()
    }

    fn overhead(&self) -> Seconds {
        Seconds::ZERO
    }

    fn oldest_execution(&self) -> Option<Execution> {
        (0 < self.executing.get()).then_some(Execution {
            rank: Rank(0),
            superstep: 0,
            age: Duration::ZERO,
        })
    }

    fn count(&self, _event: &record::Event) {}
}

/// The agents of one host.
struct DirectAgents {
    own: HostId,
    rules: Arc<Rules>,
    world: Rc<RefCell<dyn World>>,
    processes: BTreeMap<Rank, Process>,
    node: Node,
    manager: Option<(SetId, SetManager)>,
}

impl DirectAgents {
    fn new(started: StartedJob) -> Self {
        let StartedJob {
            own,
            rules,
            world,
            processes,
            ..
        } = started;
        let Residents { ranks, manager } = Residents::of(&rules, own);
        let manages = |(set, hosts)| (set, SetManager::new(&rules, set, hosts));
        Self {
            own,
            world,
            processes,
            manager: manager.map(manages),
            node: Node::new(&rules, own, ranks),
            rules,
        }
    }

    /// Has an agent handle an event.
    fn deliver(&mut self, delivery: Delivery) -> Result<(), JobError> {
        let Delivery { to, event } = delivery;
        if let (Address::Process(rank), Event::Moved(_)) = (to, &event) {
            let process = Process::new(&self.rules, rank, self.own);
            self.processes.insert(rank, process);
        }
        let (rules, world) = (&self.rules, &mut *self.world.borrow_mut());
        match to {
            Address::Process(rank) => {
                if let Some(process) = self.processes.get_mut(&rank) {
                    process.handle(rules, event, world);
                    return Ok(());
                }
            }
            Address::Node(host) if host == self.own => {
                self.node.handle(rules, event, world);
                return Ok(());
            }
            Address::SetManager(set) => {
                if let Some((own, manager)) = &mut self.manager
                    && *own == set
                {
                    manager.handle(rules, event, world);
                    return Ok(());
                }
            }
            Address::Node(_) | Address::Client => {}
        }
        Err(JobError::cluster(format!(
            "a message for {to:?}, which is not here: {event:?}"
        )))
    }

    /// Processes have left, or are done.
    fn release(&mut self, ranks: &[Rank]) {
        for rank in ranks {
            self.processes.remove(rank);
        }
    }
}
