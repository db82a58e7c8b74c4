//! The outside of agents on a real host.

mod probing;
mod record_queue;
mod telling;
mod travel;
mod turns;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant as Clock};

use bsp::reference;
use bsp::units::{Instant, Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, Image, Rank, SetId};
use bytes::Bytes;
use protocol::transport::{Endpoint, Sender};
use protocol::{
    Address, AgentMessage, Message, Migrate, NodeMessage, Placed, ProcessImage, encode,
};
use tokio::sync::{Semaphore, mpsc};

use super::Machine;
use super::exchanges::Exchanges;
use super::failure::JobError;
use super::meter::thread_time;
use super::one_way_delay::OneWayDelay;
use super::pool::{Done, Pool, Task};
use super::rates::Rates;
use crate::deliberation::{Deliberated, Deliberation};
use crate::error::RunError;
use crate::programs::{HostedProgram, ProgramType, Turn};
use crate::record;
use crate::setup::{Rules, Setup, Shape};
use crate::world::{Cost, Delivery, Event, World};
use probing::Probing;
use record_queue::RecordQueue;
use travel::{PACKERS, ReceivedProcess};

pub(super) use travel::IncomingMigration;

/// What one node sees of a job, and what is under way there.
pub(super) struct HostWorld {
    own: HostId,
    rules: Arc<Rules>,
    program_type: ProgramType,
    superstep_limit: u64,
    began: Clock,
    machine: Machine,
    endpoint: Arc<Endpoint>,
    client: Sender,
    peers: BTreeMap<HostId, Sender>,
    /// Programs that are not being executed.
    programs: BTreeMap<Rank, Box<dyn HostedProgram>>,
    exchanges: Exchanges,
    /// Processes whose turn has come, until all agents know that the superstep begins.
    starting: Vec<Task>,
    /// Who has computed in this superstep.
    computed: Vec<Computed>,
    /// Processes that wait for what they are to receive.
    exchanging: BTreeSet<Rank>,
    pool: Pool,
    ways: BTreeMap<HostId, OneWayDelay>,
    rates: Rates,
    /// How often the placement has changed.
    epoch: u64,
    probing: Probing,
    /// Places of those that pack processes which leave.
    packers: Arc<Semaphore>,
    /// States that come and whose agents have not been told yet.
    arriving: BTreeMap<Rank, IncomingMigration>,
    /// What happens at once, to agents here.
    deliveries: VecDeque<Delivery>,
    /// Processes whose agents are not needed here any more.
    departed: Vec<Rank>,
    /// What processes here left behind, until they know that they are done.
    outputs: BTreeMap<Rank, Bytes>,
    totals: Totals,
    recorded: RecordQueue,
    tasks: mpsc::UnboundedSender<Local>,
    error: Option<JobError>,
}

/// A process that has computed its superstep.
struct Computed {
    rank: Rank,
    program: Box<dyn HostedProgram>,
    work: Instructions,
    /// How long it had a processor.
    held: Seconds,
    halted: bool,
}

#[derive(Debug, Default)]
struct Totals {
    supersteps: u64,
    /// Supersteps that were recorded here.
    recorded: u64,
    /// Bytes of states that left.
    moved: u64,
    /// The client has been told that all is over here.
    has_ended: bool,
}

/// What a node has brought about by itself.
pub(super) enum Local {
    /// The time has come that an agent asked to be woken at.
    Woken(Address),
    /// A process that has come is decoded.
    Arrived(Box<ReceivedProcess>),
    /// The state of a process has reached its host.
    Sent(HostId, u64, Seconds),
    /// The plan that the Manager of a Set asked for is made.
    Deliberated(SetId, Box<Deliberated>),
    /// Something that takes time has failed.
    Failed(JobError),
}

/// With whom a node is in a job.
pub(super) struct JobPeers {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) client: Sender,
    pub(super) peers: BTreeMap<HostId, Sender>,
}

impl HostWorld {
    /// The world of `own` in the job that `setup` describes. What has been executed is told `done`, what else
    /// happens here `tasks`.
    pub(super) fn new(
        (own, setup, rules, program_type): (HostId, &Setup, Arc<Rules>, ProgramType),
        company: JobPeers,
        machine: Machine,
        (done, tasks): (
            &mpsc::UnboundedSender<Vec<Done>>,
            mpsc::UnboundedSender<Local>,
        ),
    ) -> Self {
        let hosts = setup.placement.clone();
        Self {
            own,
            program_type,
            superstep_limit: setup.superstep_limit,
            began: Clock::now(),
            pool: Pool::new(machine.processors, machine.processor, done),
            ways: company
                .peers
                .keys()
                .map(|host| (*host, OneWayDelay::new()))
                .collect(),
            probing: Probing::new(&rules, own),
            exchanges: Exchanges::new(own, rules.sets.clone(), hosts, setup.senders_stay()),
            endpoint: company.endpoint,
            client: company.client,
            peers: company.peers,
            machine,
            rules,
            programs: BTreeMap::new(),
            starting: Vec::new(),
            computed: Vec::new(),
            exchanging: BTreeSet::new(),
            rates: Rates::default(),
            epoch: 0,
            packers: Arc::new(Semaphore::new(PACKERS)),
            arriving: BTreeMap::new(),
            deliveries: VecDeque::new(),
            departed: Vec::new(),
            outputs: BTreeMap::new(),
            totals: Totals::default(),
            recorded: RecordQueue::default(),
            tasks,
            error: None,
        }
    }

    /// A process that starts here.
    pub(super) fn settle(&mut self, rank: Rank, program: Box<dyn HostedProgram>) {
        self.programs.insert(rank, program);
    }

    /// The clock begins.
    pub(super) fn begin(&mut self) {
        self.began = Clock::now();
    }

    /// What happens next to agents here, as far as anything does at once.
    pub(super) fn next(&mut self) -> Result<VecDeque<Delivery>, JobError> {
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut self.deliveries)),
        }
    }

    /// Has everybody executed whose turn has come: together, so that a thread that sleeps is woken once.
    pub(super) fn execute(&mut self) {
        self.pool.execute(self.starting.drain(..));
    }

    /// Something happens to an agent here.
    pub(super) fn deliver(&mut self, to: Address, event: Event) {
        self.deliveries.push_back(Delivery { to, event });
    }

    /// Processes that have left since the last time.
    pub(super) fn departed(&mut self) -> Vec<Rank> {
        std::mem::take(&mut self.departed)
    }

    /// A message has come from `host`, at `came`.
    pub(super) fn take(
        &mut self,
        host: HostId,
        (from, to): (Address, Address),
        message: Message,
        came: Clock,
    ) {
        match message {
            Message::Node(NodeMessage::Batch(batch)) => {
                let round_trip = self.round_trip(host);
                let now = seconds(came.saturating_duration_since(self.began));
                let way = self.ways.get_mut(&host).expect("a peer");
                let took = way.took(batch.sent, now, round_trip);
                let bytes = u64::try_from(batch.payload.len()).expect("lengths fit 64 bits");
                self.rates.learn(self.rules.sets[host.index()], bytes, took);
                if let Err(error) = self.exchanges.receive(host, *batch, took) {
                    self.fail(error);
                }
                self.send_acknowledgements();
                self.deliver_exchanges();
            }
            Message::Node(NodeMessage::BatchAcknowledged(superstep)) => {
                if let Err(error) = self.exchanges.acknowledged(host, superstep) {
                    self.fail(error);
                }
                self.deliver_exchanges();
            }
            Message::Node(NodeMessage::Placed(placed)) => self.handle_placed(from, &placed),
            Message::Node(NodeMessage::Probe(probe)) => self.handle_probe(host, &probe, came),
            Message::Job(message) => self.fail(RunError::Peer(format!(
                "{host} sent a message of a client: {message:?}"
            ))),
            Message::Call(message) => {
                self.deliver_from(host, (from, to), AgentMessage::Call(message));
            }
            Message::Agent(message) => self.deliver_from(host, (from, to), message),
        }
    }

    /// Delivers a message that has come from `host`, if its sender runs there.
    fn deliver_from(
        &mut self,
        host: HostId,
        (from, to): (Address, Address),
        message: AgentMessage,
    ) {
        let speaks = match from {
            Address::Process(_) => self.host_of(from) == Some(host),
            // For others the connection has been told for whom its peer speaks.
            Address::Node(_) | Address::SetManager(_) | Address::Client => true,
        };
        if speaks {
            self.deliver(to, Event::Message { from, message });
        } else {
            self.fail(RunError::Peer(format!(
                "{host} spoke for {from:?}, which is not there"
            )));
        }
    }

    /// A Manager says where processes live from now on.
    fn handle_placed(&mut self, from: Address, placed: &Placed) {
        let own_set = self.rules.sets[self.own.index()];
        let hosts = self.rules.sets.len();
        let exists = |(rank, host): &(Rank, HostId)| {
            self.exchanges.host_of(*rank).is_some() && host.index() < hosts
        };
        let is_due = from == Address::SetManager(self.announcing_manager(own_set))
            && placed.epoch == self.epoch + 1;
        if is_due && placed.moves.iter().all(exists) {
            self.place(placed.epoch, &placed.moves);
        } else {
            let epoch = placed.epoch;
            self.fail(RunError::Peer(format!(
                "{from:?} told placement {epoch}, which does not follow"
            )));
        }
    }

    /// The Manager that tells the hosts of `set` where processes live: the one that lets theirs go on, so that they
    /// hear it before.
    fn announcing_manager(&self, set: SetId) -> SetId {
        match self.rules.barrier.shape {
            Shape::Hierarchical => set,
            Shape::Central | Shape::Ideal => self.rules.first,
        }
    }

    /// Something that this node brought about has happened.
    pub(super) fn happened(&mut self, local: Local) {
        match local {
            Local::Woken(agent) => self.deliver(agent, Event::Woken),
            Local::Arrived(arrival) => self.admit(*arrival),
            Local::Sent(host, bytes, took) => {
                self.totals.moved += bytes;
                self.rates.learn(self.rules.sets[host.index()], bytes, took);
            }
            Local::Deliberated(set, deliberated) => {
                self.deliver(Address::SetManager(set), Event::Deliberated(deliberated));
            }
            Local::Failed(error) => {
                self.error.get_or_insert(error);
            }
        }
    }

    /// Processes live elsewhere from now on.
    fn place(&mut self, epoch: u64, moves: &[(Rank, HostId)]) {
        for (rank, host) in moves {
            self.exchanges.place(*rank, *host);
        }
        // Nobody may live here any more who would have sent anything.
        self.send_acknowledgements();
        self.epoch = epoch;
        self.endpoint.advance(epoch);
        // Whatever was sent before the placement before this one has arrived.
        self.endpoint.retire(epoch.saturating_sub(1));
    }

    /// Tells other nodes that their batches have been taken.
    fn send_acknowledgements(&mut self) {
        for (host, superstep) in self.exchanges.acknowledgements() {
            let (own, other) = (Address::Node(self.own), Address::Node(host));
            self.post(
                host,
                own,
                other,
                &Message::Node(NodeMessage::BatchAcknowledged(superstep)),
            );
        }
    }

    /// To another node.
    fn post(&mut self, host: HostId, from: Address, to: Address, message: &Message) {
        let Some(peer) = self.peers.get(&host) else {
            let error = RunError::Peer(format!("{from:?} has a message for {to:?} on {host}"));
            return self.fail(error);
        };
        if let Err(error) = peer.push(encode(from, to, message)) {
            self.error.get_or_insert_with(|| error.into());
        }
    }

    /// Where an agent lives; a process that does not exist lives nowhere.
    fn host_of(&self, agent: Address) -> Option<HostId> {
        match agent {
            Address::Process(rank) => self.exchanges.host_of(rank),
            Address::Node(host) => Some(host),
            Address::SetManager(set) => self.rules.managers.get(set.index()).copied(),
            Address::Client => None,
        }
    }

    fn round_trip(&self, host: HostId) -> Seconds {
        let peer = self.peers.get(&host);
        peer.map_or(Seconds::ZERO, |peer| seconds(peer.round_trip()))
    }
}

impl World for HostWorld {
    fn now(&self) -> Instant {
        Instant::START + seconds(self.began.elapsed())
    }

    fn send(&mut self, from: Address, to: Address, message: AgentMessage, _: Cost) {
        match self.host_of(to) {
            Some(host) if host == self.own => self.deliver(to, Event::Message { from, message }),
            Some(host) => self.post(host, from, to, &message.into()),
            None => self.fail(RunError::Peer(format!("{from:?} has a message for {to:?}"))),
        }
    }

    fn run(&mut self, rank: Rank, superstep: u64, delay: Seconds) {
        if self.superstep_limit <= superstep {
            let limit = self.superstep_limit;
            // Whichever node says so, it is of the same process.
            let rank = self.exchanges.first_running().unwrap_or(rank);
            return self.fail(reference::Error::NeverHalts { rank, limit }.into());
        }
        self.totals.supersteps = superstep + 1;
        if let Err(error) = self.exchanges.begin(superstep) {
            return self.fail(error);
        }
        let Some(program) = self.programs.remove(&rank) else {
            return self.fail(RunError::Peer(format!(
                "{rank} is to compute, but is not here"
            )));
        };
        let turn = Turn {
            rank,
            size: self.exchanges.size(),
            superstep,
            inbox: self.exchanges.remove_inbox(rank),
        };
        self.starting.push(Task {
            program,
            turn,
            delay,
        });
    }

    fn exchange(&mut self, rank: Rank) {
        self.exchanging.insert(rank);
        self.deliver_exchanges();
    }

    fn listen(&mut self, _: u64, _: Option<Rank>) {
        // A host takes messages as they come.
    }

    fn depart(&mut self, order: Migrate, agent: Vec<u8>) {
        self.send_off(order, agent);
    }

    fn install(&mut self, _: HostId, state: ProcessImage) {
        let coming = self.arriving.remove(&state.rank);
        let coming = coming.expect("its node was told of it when it began to come");
        self.unpack(&state, coming);
    }

    fn commit(&mut self, set: SetId, epoch: u64, moves: &[Migrate]) {
        if self.announcing_manager(set) != set {
            return;
        }
        let moves: Vec<(Rank, HostId)> = moves.iter().map(|order| (order.rank, order.to)).collect();
        self.place(epoch, &moves);
        let placed = Message::Node(NodeMessage::Placed(Box::new(Placed { epoch, moves })));
        let sets = self.rules.sets.iter().enumerate();
        let told = sets.filter(|(_, of)| self.announcing_manager(**of) == set);
        let hosts = told.map(|(index, _)| HostId::from_index(index));
        let others: Vec<HostId> = hosts.filter(|host| *host != self.own).collect();
        for host in others {
            self.post(host, Address::SetManager(set), Address::Node(host), &placed);
        }
    }

    fn wake(&mut self, agent: Address, after: Seconds) {
        let tasks = self.tasks.clone();
        let after = Duration::try_from_secs_f64(after.get()).unwrap_or(Duration::MAX);
        drop(tokio::spawn(async move {
            tokio::time::sleep(after).await;
            // The job may be over.
            drop(tasks.send(Local::Woken(agent)));
        }));
    }

    fn flush(&mut self, set: SetId) {
        // Messages keep their order: whatever it is followed by comes after them.
        self.deliver(Address::SetManager(set), Event::Flushed);
    }

    fn deliberate(&mut self, set: SetId, deliberation: Deliberation) {
        let tasks = self.tasks.clone();
        // Planning takes as long as processes are many; meanwhile others have their messages carried, and a job
        // that ends does not wait for it.
        let thread = thread::Builder::new().name("planning".to_owned());
        let spawned = thread.spawn(move || {
            let planned = panic::catch_unwind(AssertUnwindSafe(|| deliberation.conclude()));
            let told = planned.map_or_else(
                |_| {
                    let problem =
                        format!("the Manager of {set} has failed to plan; see the log of its node");
                    Local::Failed(JobError::cluster(problem))
                },
                |deliberated| Local::Deliberated(set, Box::new(deliberated)),
            );
            // The job may be over.
            drop(tasks.send(told));
        });
        if let Err(error) = spawned {
            let problem = format!("there is no thread to plan with: {error}");
            self.error.get_or_insert_with(|| JobError::cluster(problem));
        }
    }

    fn finished(&mut self, rank: Rank) {
        self.hand_over(rank);
    }

    fn image(&self, rank: Rank) -> Image {
        let program = self.programs.get(&rank);
        program.map_or_else(Image::default, |program| program.image())
    }

    fn processors(&self, _: HostId) -> (InstructionsPerSecond, u32) {
        (self.machine.offered(), self.machine.processors.get())
    }

    fn load(&self, _: HostId, window: Seconds) -> f64 {
        self.machine.load.load(window)
    }

    fn overhead_busy(&self, _: HostId) -> Seconds {
        // Messages are carried by the thread that asks.
        seconds(thread_time())
    }

    fn transfer_rate(&self, _: SetId, to: SetId) -> f64 {
        self.rates.per_byte(to)
    }

    fn latency(&self, _: SetId, to: SetId) -> Seconds {
        self.rates.latency(to)
    }

    fn record(&mut self, event: record::Event) {
        self.totals.recorded += u64::from(matches!(event, record::Event::Superstep(_)));
        match serde_json::to_string(&event) {
            Ok(line) => self.recorded.push(&line),
            Err(error) => unreachable!("events are plain numbers and names: {error}"),
        }
    }

    fn fail(&mut self, error: RunError) {
        self.error.get_or_insert_with(|| error.into());
    }
}

fn seconds(duration: Duration) -> Seconds {
    Seconds::new(duration.as_secs_f64()).expect("a duration is finite")
}
