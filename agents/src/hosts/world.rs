//! The world of the agents on a real host.

mod agent_interface;
mod checks;
mod client_link;
mod computation;
mod peer_links;
mod placement_epoch;
mod planning;
mod probe_messages;
mod probing;
mod record_queue;
mod transfer_times;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant as Clock;

use bsp::units;
use bsp::{HostId, Rank};
use migbsp::MeasuredMove;
use protocol::transport::{Endpoint, Sender};
use protocol::{Address, AgentMessage, Ended, Message, NodeMessage};
use tokio::sync::mpsc;

use super::Machine;
use super::exchanges::Exchanges;
use super::failure::JobError;
use super::input::NodeInput;
use super::local_event::LocalEvent;
use super::migration::arrival::IncomingImage;
use super::migration::arrived_process::ArrivedProcess;
use super::migration::departure::Departures;
use super::played_host::PlayedHost;
use super::pool::Done;
use super::time::{elapsed, seconds};
use crate::error::RunError;
use crate::programs::{HostedProgram, ProgramType};
use crate::record;
use crate::setup::{Rules, Setup};
use crate::world::{Delivery, Event, World};
use client_link::ClientLink;
use computation::Computation;
use peer_links::PeerLinks;
use placement_epoch::PlacementEpoch;
use transfer_times::TransferTimes;

/// The world of the agents on one host, for one job.
///
/// Each part owns its state: the world connects agents, parts and messages.
pub(super) struct HostWorld {
    own: HostId,
    rules: Arc<Rules>,
    program_type: ProgramType,
    superstep_limit: u64,
    began: Clock,
    machine: Machine,
    client: ClientLink,
    peers: PeerLinks,
    placement: PlacementEpoch,
    transfers: TransferTimes,
    computation: Computation,
    departures: Departures,
    exchanges: Exchanges,
    /// Processes that wait for the messages of the superstep.
    exchanging: BTreeSet<Rank>,
    /// What the moves of processes took that have arrived and are not installed yet.
    measured: BTreeMap<Rank, MeasuredMove>,
    /// Events of agents here that are to be handled now.
    deliveries: VecDeque<Delivery>,
    /// Processes whose agents are not needed here any more.
    departed: Vec<Rank>,
    /// The number of supersteps that have begun here.
    supersteps: u64,
    /// Bytes of the images that have left.
    moved: u64,
    events: mpsc::UnboundedSender<LocalEvent>,
    error: Option<JobError>,
}

/// The connections of a node in a job.
pub(super) struct JobPeers {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) client: Sender,
    pub(super) peers: BTreeMap<HostId, Sender>,
}

impl HostWorld {
    /// The world of `own` in the job that `setup` describes. `done` receives the supersteps that programs have
    /// executed, `events` the other events of this node.
    pub(super) fn new(
        (own, setup, rules, program_type): (HostId, &Setup, Arc<Rules>, ProgramType),
        connections: JobPeers,
        machine: Machine,
        (done, events): (
            &mpsc::UnboundedSender<Vec<Done>>,
            mpsc::UnboundedSender<LocalEvent>,
        ),
    ) -> Self {
        let JobPeers {
            endpoint,
            client,
            peers,
        } = connections;
        let hosts = setup.placement.clone();
        let peers = PeerLinks::new(own, peers);
        Self {
            own,
            program_type,
            superstep_limit: setup.superstep_limit,
            began: Clock::now(),
            client: ClientLink::new(own, client, events.clone()),
            placement: PlacementEpoch::new(own, Arc::clone(&rules), endpoint),
            transfers: TransferTimes::new(Arc::clone(&rules), own, peers.hosts()),
            peers,
            computation: Computation::new(&machine, done),
            departures: Departures::new(events.clone()),
            exchanges: Exchanges::new(
                own,
                rules.sets.clone(),
                hosts,
                setup.senders_stay(),
                setup.superstep_limit,
            ),
            exchanging: BTreeSet::new(),
            measured: BTreeMap::new(),
            machine,
            rules,
            deliveries: VecDeque::new(),
            departed: Vec::new(),
            supersteps: 0,
            moved: 0,
            events,
            error: None,
        }
    }

    /// Adds a program that starts here.
    pub(super) fn insert_program(&mut self, rank: Rank, program: Box<dyn HostedProgram>) {
        self.computation.insert(rank, program);
    }

    /// Starts the clock of the run.
    pub(super) fn begin(&mut self) {
        self.began = Clock::now();
        if let Some(host) = self.machine.pace.played() {
            host.begin();
        }
    }

    /// The events that agents here are to handle now.
    ///
    /// # Errors
    ///
    /// The first error of the job, if there is one.
    pub(super) fn deliveries(&mut self) -> Result<VecDeque<Delivery>, JobError> {
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut self.deliveries)),
        }
    }

    /// Adds an event for an agent here.
    pub(super) fn deliver(&mut self, to: Address, event: Event) {
        self.deliveries.push_back(Delivery { to, event });
    }

    /// Executes all supersteps that agents have started.
    pub(super) fn execute(&mut self) {
        self.computation.execute();
    }

    /// Processes that have left or finished since the last call.
    pub(super) fn departed(&mut self) -> Vec<Rank> {
        std::mem::take(&mut self.departed)
    }

    /// Supersteps that have begun here, and processes here that have not halted.
    pub(super) fn progress(&self) -> (u64, usize) {
        (self.supersteps, self.exchanges.living_here())
    }

    /// Whether enough has been recorded to be sent to the client.
    pub(super) fn is_record_due(&self) -> bool {
        self.client.is_full()
    }

    /// Sends the new part of the record to the client, as far as it accepts it.
    pub(super) fn send_record(&mut self) {
        let sent = self.client.send_record().map(drop);
        self.check(sent);
    }

    /// Reports the end of the job to the client, once all processes have halted and all else has been sent.
    pub(super) fn end_if_complete(&mut self) {
        let Some(supersteps) = self.exchanges.supersteps() else {
            return;
        };
        // Batches may show that the last superstep is over before the first Manager records it.
        let recorded_here = (self.own == self.rules.first_host()).then_some(supersteps);
        let ended = Ended {
            seconds: elapsed(self.began),
            supersteps: self.supersteps,
            messages: self.exchanges.messages,
            bytes: self.exchanges.bytes,
            moved: self.moved,
        };
        let had_ended = self.client.has_ended();
        let sent = self.client.end(recorded_here, ended);
        self.check(sent);
        if !had_ended && self.client.has_ended() {
            self.warn_if_late(ended.seconds);
        }
    }

    /// Warns if this machine was too slow for the host that it plays, in a run that is over.
    fn warn_if_late(&self, run: units::Seconds) {
        let late = self.machine.pace.played().map(PlayedHost::late);
        if let Some(late) = late.filter(|late| run.get() * LATE < late.as_secs_f64()) {
            let late = seconds(late);
            tracing::warn!(
                "computations took {late} longer than on the host that is played, in a run of {run}: \
                 this machine is busy with something else"
            );
        }
    }

    /// Whether the end has been reported.
    pub(super) const fn has_ended(&self) -> bool {
        self.client.has_ended()
    }

    /// Handles a message from another node.
    pub(super) fn handle_message(&mut self, input: NodeInput) {
        let NodeInput {
            host,
            ends: (from, to),
            message,
            arrived,
            memory,
        } = input;
        match message {
            Message::Node(NodeMessage::Batch(batch)) => {
                let bytes = u64::try_from(batch.payload.len()).expect("lengths fit 64 bits");
                let now = seconds(arrived.saturating_duration_since(self.began));
                let transport = self.peers.transport(host);
                let times = (batch.sent, now);
                let took = self.transfers.add_batch(host, bytes, times, transport);
                let received = self.exchanges.receive(host, *batch, took, memory);
                self.check_peer(host, received);
                self.send_acknowledgements();
                self.deliver_exchanges();
            }
            Message::Node(NodeMessage::BatchAcknowledged(superstep)) => {
                let acknowledged = self.exchanges.acknowledged(host, superstep);
                self.check_peer(host, acknowledged);
                self.deliver_exchanges();
            }
            Message::Node(NodeMessage::Placed(placed)) => {
                let size = self.exchanges.size();
                let checked = self.placement.check(from, &placed, size);
                match checked.and_then(|()| self.check_residents(&placed.moves)) {
                    Ok(()) => self.place(placed.epoch, &placed.moves),
                    Err(problem) => self.refuse(Address::Node(host), problem),
                }
            }
            Message::Node(NodeMessage::Probe(probe)) => self.handle_probe(host, &probe, arrived),
            Message::Job(message) => {
                let problem = format!("a message of a client: {message:?}");
                self.refuse(Address::Node(host), problem);
            }
            Message::Call(message) => {
                self.deliver_from(host, (from, to), AgentMessage::Call(message));
            }
            Message::Agent(message) => self.deliver_from(host, (from, to), message),
        }
    }

    /// Receives the image of a process that moves here from `host`.
    pub(super) fn handle_image(&mut self, host: HostId, image: IncomingImage) {
        let (rank, ends) = (image.image.rank, image.ends);
        let is_expected = ends == (Address::Node(host), Address::Node(self.own))
            && self.exchanges.host_of(rank) == Some(host)
            && !self.computation.contains(rank);
        if is_expected {
            image.decode(self.program_type, self.events.clone());
        } else {
            let problem = format!("an unexpected image of {rank}");
            self.refuse(Address::Node(host), problem);
        }
    }

    /// Handles an event that this node caused itself.
    pub(super) fn handle_local(&mut self, event: LocalEvent) {
        match event {
            LocalEvent::Woken(agent) => self.deliver(agent, Event::Woken),
            LocalEvent::Arrived(process) => self.handle_arrived(*process),
            LocalEvent::Sent(host, bytes, took) => {
                self.moved += bytes;
                self.transfers.learn(host, bytes, took);
            }
            LocalEvent::Deliberated(set, deliberated) => {
                self.deliver(Address::SetManager(set), Event::Deliberated(deliberated));
            }
            LocalEvent::Failed(error) => self.check(Err::<(), _>(error)),
        }
    }

    /// Handles the result of a superstep that a program has executed. Once all programs here have, their messages are
    /// sent.
    pub(super) fn handle_executed(&mut self, done: Done) {
        let rank = done.rank;
        let mut executed = match self.computation.add_computed(done) {
            Ok(executed) => executed,
            Err(error) => return self.fail(error),
        };
        if let Some(interaction) = executed.interaction.take() {
            self.record(record::Event::Interaction(interaction));
        }
        if let Some(output) = &executed.output {
            self.client.add_output(rank, output.clone());
        }
        if let Err(error) = self.exchanges.computed(rank, executed) {
            return self.fail(error);
        }
        if self.exchanges.all_computed() {
            self.send_batches();
            for (rank, event) in self.computation.finish() {
                self.deliver(Address::Process(rank), event);
            }
        }
    }

    fn send_batches(&mut self) {
        let now = elapsed(self.began);
        for (host, batch) in self.exchanges.batches(self.peers.hosts(), now) {
            self.send_to_node(host, NodeMessage::Batch(Box::new(batch)));
        }
        self.send_acknowledgements();
    }

    fn send_acknowledgements(&mut self) {
        for (host, superstep) in self.exchanges.acknowledgements() {
            self.send_to_node(host, NodeMessage::BatchAcknowledged(superstep));
        }
    }

    /// Delivers the messages of the superstep to all processes here, once all batches have arrived and all processes
    /// wait for them.
    fn deliver_exchanges(&mut self) {
        if !self.exchanges.is_awaited_by(self.exchanging.len()) {
            return;
        }
        match self.exchanges.complete() {
            Ok(None) => {}
            Ok(Some(exchanged)) => {
                self.exchanging.clear();
                for (rank, exchange) in exchanged {
                    self.deliver(Address::Process(rank), Event::Exchanged(exchange));
                }
            }
            Err(error) => self.fail(error),
        }
    }

    /// A process has arrived. Its agent follows when the node's agent installs it.
    fn handle_arrived(&mut self, process: ArrivedProcess) {
        let ArrivedProcess {
            ends: (from, to),
            image,
            inbox,
            program,
            bytes,
            parts,
            transfer,
        } = process;
        let (rank, epoch) = (image.rank, image.epoch);
        let Address::Node(source) = from else {
            unreachable!("checked when the image began to arrive");
        };
        // The queue of the link is that of the image itself.
        let (took, times) = transfer.times(self.peers.round_trip_least(source));
        self.computation.insert(rank, program);
        self.exchanges.insert_inbox(rank, inbox);
        let moved = record::Moved {
            at: self.now(),
            rank,
            host: self.own,
            epoch,
            bytes: units::Bytes(bytes),
            took,
            times: Some(times),
            parts: Some(parts),
            declared: image.declared.filter(MeasuredMove::is_possible_size),
        };
        self.measured.insert(rank, moved.measured());
        self.record(record::Event::Moved(moved));
        let message = AgentMessage::ProcessImage(Box::new(image));
        self.deliver(to, Event::Message { from, message });
    }

    /// Begins the placement of `epoch`, in which `moves` run on other hosts.
    fn place(&mut self, epoch: u64, moves: &[(Rank, HostId)]) {
        for (rank, host) in moves {
            self.exchanges.place(*rank, *host);
        }
        // Without the processes that left, all batches of this host may be complete.
        self.send_acknowledgements();
        self.placement.advance(epoch);
    }

    fn send_to_node(&mut self, host: HostId, message: NodeMessage) {
        let sent = self.peers.send_to_node(host, message);
        self.check(sent);
    }

    /// The host of an agent, if the agent exists.
    fn host_of(&self, agent: Address) -> Option<HostId> {
        match agent {
            Address::Process(rank) => self.exchanges.host_of(rank),
            Address::Node(host) => Some(host),
            Address::SetManager(set) => self.rules.managers.get(set.index()).copied(),
            Address::Client => None,
        }
    }

    /// Keeps the error of a message from `host`. A violation of the protocol closes the connection.
    fn check_peer(&mut self, host: HostId, result: Result<(), RunError>) {
        match result {
            Err(RunError::Peer(problem)) => self.refuse(Address::Node(host), problem),
            other => self.check(other),
        }
    }

    /// Keeps the first error, which ends the job.
    fn check(&mut self, result: Result<(), impl Into<JobError>>) {
        if let Err(error) = result {
            self.error.get_or_insert_with(|| error.into());
        }
    }
}

/// The part of a run by which computations may be late in all.
const LATE: f64 = 0.02;
