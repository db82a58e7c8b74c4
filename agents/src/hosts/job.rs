//! One node's part in a job.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bsp::{HostId, Rank, SetId};
use bytes::Bytes;
use protocol::transport::{Endpoint, Peer, Sender, SpeakingRights};
use protocol::{Address, AgentMessage, JobMessage, Message, Start, Submit, encode};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Machine;
use super::builds::Builds;
use super::failure::JobError;
use super::input::{Input, listen, waits};
use super::local_agents::LocalAgents;
use super::local_event::LocalEvent;
use super::members::{connect, refuse_peer, role_of};
use super::pool::Done;
use super::prepared::Prepared;
use super::world::{HostWorld, JobPeers};
use crate::error::RunError;
use crate::setup::Rules;

/// The part of a node in a job, from its submission on.
pub(super) struct Job {
    pub(super) submit: Submit,
    pub(super) prepared: Prepared,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) machine: Machine,
    /// Which builds other nodes may run.
    pub(super) builds: Builds,
    /// The connection to the client.
    pub(super) client: Sender,
    /// Input from the client, and from this node itself.
    pub(super) inputs: mpsc::Receiver<Input>,
    pub(super) input: mpsc::Sender<Input>,
    /// Peers that have connected for this job.
    pub(super) peers: mpsc::Receiver<Peer>,
    pub(super) peer: mpsc::Sender<Peer>,
    /// The progress that the node reports in its status: supersteps, and processes here.
    pub(super) progress: Rc<RefCell<(u64, usize)>>,
    /// Connections being set up, which end with the job.
    pub(super) calls: JoinSet<()>,
}

/// The connections and states that have arrived before the job begins.
#[derive(Default)]
struct Gathered {
    senders: BTreeMap<HostId, Sender>,
    states: BTreeMap<Rank, Bytes>,
    /// When the client ordered the nodes to connect.
    ordered: Option<tokio::time::Instant>,
    /// Whether all machines count instructions.
    counts: bool,
}

/// The input from other nodes. Nothing is read from it while an input waits for the job to begin here, so the
/// connections hold back the rest.
struct NodeInputs {
    sender: mpsc::Sender<Input>,
    receiver: mpsc::Receiver<Input>,
    /// The input that waits, from a node on which the job has begun.
    waiting: Option<Input>,
}

impl Job {
    /// Takes part until the job is over here and the client has closed its connection.
    ///
    /// # Errors
    ///
    /// The error that ends the job before. The client and the other nodes have been notified as far as possible.
    pub(super) async fn take_part(mut self) -> Result<(), JobError> {
        let mut senders = BTreeMap::new();
        let result = self.run(&mut senders).await;
        let reason = match &result {
            Ok(()) => "the job is over".to_owned(),
            Err(error) => {
                self.send_to_client(JobMessage::Failed(error.clone().into()));
                error.message.clone()
            }
        };
        for sender in senders.into_values() {
            let reason = reason.clone();
            // A node that does not read the reason detects the end by itself.
            drop(actix_rt::spawn(async move { sender.close(&reason).await }));
        }
        result
    }

    async fn run(&mut self, senders: &mut BTreeMap<HostId, Sender>) -> Result<(), JobError> {
        let rules = Arc::new(self.prepared.rules());
        let (done, mut executed) = mpsc::unbounded_channel();
        let (tasks, mut local) = mpsc::unbounded_channel();
        let mut nodes = NodeInputs::new();
        let gathered = self.gather(&rules, &nodes).await?;
        senders.clone_from(&gathered.senders);
        let world = self.world(&rules, gathered, (&done, tasks)).await?;
        let mut local_agents = LocalAgents::new(self.submit.host, &rules, &world);
        let (mut is_ready, mut has_begun) = (false, false);
        let mut reporting = tokio::time::interval(REPORTING);
        loop {
            loop {
                let deliveries = world.borrow_mut().deliveries()?;
                if deliveries.is_empty() {
                    break;
                }
                local_agents.deliver(deliveries).await?;
                local_agents.release(world.borrow_mut().departed());
            }
            {
                let mut world = world.borrow_mut();
                world.execute();
                world.end_if_complete();
                if world.is_record_due() {
                    world.send_record();
                }
                if !is_ready && world.has_probed() {
                    is_ready = true;
                    self.send_to_client(JobMessage::Ready);
                }
            }
            tokio::select! {
                Some(done) = executed.recv() => {
                    handle_executed(&mut world.borrow_mut(), done, &mut executed);
                }
                Some(event) = local.recv() => world.borrow_mut().handle_local(event),
                Some(input) = self.inputs.recv() => {
                    let is_begin = matches!(input, Input::Job(JobMessage::Begin));
                    if is_begin && (has_begun || !is_ready) {
                        return Err(self.fault(input));
                    }
                    if self.handle_input(input, &world)?.is_break() {
                        return Ok(());
                    }
                    if is_begin {
                        has_begun = true;
                        begin(&rules, &local_agents, &mut world.borrow_mut());
                        if let Some(input) = nodes.waiting.take() {
                            self.handle_node_input(input, &world)?;
                        }
                    }
                }
                Some(input) = nodes.receiver.recv(), if nodes.waiting.is_none() => {
                    if !has_begun && waits(&input) {
                        nodes.waiting = Some(input);
                    } else {
                        self.handle_node_input(input, &world)?;
                        self.handle_waiting_inputs(has_begun, &mut nodes, &world)?;
                    }
                }
                Some(peer) = self.peers.recv() => refuse_peer(&peer),
                _ = reporting.tick() => {
                    let mut world = world.borrow_mut();
                    world.send_record();
                    *self.progress.borrow_mut() = world.progress();
                }
            }
        }
    }

    /// Handles the inputs of nodes that have arrived meanwhile.
    fn handle_waiting_inputs(
        &mut self,
        has_begun: bool,
        nodes: &mut NodeInputs,
        world: &RefCell<HostWorld>,
    ) -> Result<(), JobError> {
        for _ in 0..INPUTS_AT_ONCE {
            let Ok(input) = nodes.receiver.try_recv() else {
                break;
            };
            if !has_begun && waits(&input) {
                nodes.waiting = Some(input);
                break;
            }
            self.handle_node_input(input, world)?;
        }
        Ok(())
    }

    /// The world of this node's agents, with the processes that start here, after the first probes have been sent.
    async fn world(
        &self,
        rules: &Arc<Rules>,
        gathered: Gathered,
        events: (
            &mpsc::UnboundedSender<Vec<Done>>,
            mpsc::UnboundedSender<LocalEvent>,
        ),
    ) -> Result<Rc<RefCell<HostWorld>>, JobError> {
        let own = self.submit.host;
        let connections = JobPeers {
            endpoint: Arc::clone(&self.endpoint),
            client: self.client.clone(),
            peers: gathered.senders,
        };
        let member = &self.submit.members[own.index()];
        let slots = NonZeroU32::new(member.slots).unwrap_or(NonZeroU32::MIN);
        let machine = self.machine.giving(slots, member.speed);
        let machine = machine.counting(gathered.counts);
        let Prepared {
            setup,
            program_type,
        } = &self.prepared;
        let part = (own, setup, Arc::clone(rules), *program_type);
        let mut world = HostWorld::new(part, connections, machine, events);
        let (program_type, states) = (*program_type, gathered.states);
        // Decoding takes time in proportion to the states, so another thread does it.
        let decoding = tokio::task::spawn_blocking(move || {
            let decode =
                |(rank, state): (Rank, Bytes)| Ok((rank, program_type.decode(rank, &state[..])?));
            states
                .into_iter()
                .map(decode)
                .collect::<Result<Vec<_>, RunError>>()
        });
        let decoded = decoding.await;
        let decoded =
            decoded.map_err(|panic| JobError::program(format!("decoding a process: {panic}")))?;
        for (rank, program) in decoded? {
            world.insert_program(rank, program);
        }
        world.start_probing();
        Ok(Rc::new(RefCell::new(world)))
    }

    /// Handles input from another node.
    fn handle_node_input(&self, input: Input, world: &RefCell<HostWorld>) -> Result<(), JobError> {
        let mut world = world.borrow_mut();
        match input {
            Input::Message(message) => world.handle_message(*message),
            Input::Image(host, image) => world.handle_image(host, *image),
            Input::Gone(..) if world.has_ended() => {}
            other => return Err(self.fault(other)),
        }
        Ok(())
    }

    /// Handles input from the client or from this node itself. Breaks when the job is over and the client has closed its
    /// connection.
    fn handle_input(
        &self,
        input: Input,
        world: &RefCell<HostWorld>,
    ) -> Result<ControlFlow<()>, JobError> {
        let mut world = world.borrow_mut();
        match input {
            Input::Job(JobMessage::Begin) => world.begin(),
            Input::ClientGone(None) if world.has_ended() => {
                *self.progress.borrow_mut() = world.progress();
                return Ok(ControlFlow::Break(()));
            }
            other => return Err(self.fault(other)),
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The error of an input that ends the job.
    fn fault(&self, input: Input) -> JobError {
        match input {
            Input::ClientGone(None) => JobError::cluster("the client has gone"),
            Input::ClientGone(Some(error)) => error.into(),
            Input::Gone(host, Ok(words)) => {
                let name = &self.submit.members[host.index()].name;
                JobError::cluster(format!("{name} has left: {words}"))
            }
            Input::Gone(_, Err(error)) => error.into(),
            Input::Unreachable(error) => error,
            Input::Leave => {
                let name = &self.submit.members[self.submit.host.index()].name;
                JobError::cluster(format!("{name} has been told to leave"))
            }
            Input::Job(message) => {
                JobError::cluster(format!("the client said at the wrong time: {message:?}"))
            }
            Input::Message(_) | Input::State(_) | Input::Image(..) => {
                JobError::cluster("a state arrived at the wrong time")
            }
        }
    }

    /// Waits for the client's order to connect to the other nodes, for them, and for the processes that start here.
    async fn gather(&mut self, rules: &Rules, nodes: &NodeInputs) -> Result<Gathered, JobError> {
        let own = self.submit.host;
        let placement = rules.placement.iter();
        let residents = placement.filter(|host| **host == own).count();
        let others = self.submit.members.len() - 1;
        let mut gathered = Gathered::default();
        let is_complete = |gathered: &Gathered| {
            gathered.ordered.is_some()
                && gathered.senders.len() == others
                && gathered.states.len() == residents
        };
        while !is_complete(&gathered) {
            tokio::select! {
                Some(peer) = self.peers.recv() => self.admit(rules, peer, &mut gathered, nodes)?,
                // Large states take long; the loss of a node that sends one is an input of its own.
                () = overdue(gathered.ordered), if gathered.senders.len() < others => {
                    let limit = CONNECT_LIMIT.as_secs();
                    return Err(JobError::cluster(format!("not all other nodes have connected in {limit} s")));
                }
                Some(input) = self.inputs.recv() => match input {
                    Input::Job(JobMessage::Meet { counts }) => {
                        gathered.counts = counts;
                        gathered.ordered = Some(tokio::time::Instant::now());
                        self.connect_to_others(rules);
                    }
                    Input::State(delivered) => {
                        let state = delivered.state;
                        let place = rules.placement.get(state.rank.index());
                        if place != Some(&own) || gathered.states.insert(state.rank, state.payload).is_some() {
                            return Err(JobError::cluster(format!("{} does not start here", state.rank)));
                        }
                    }
                    other => return Err(self.fault(other)),
                },
            }
        }
        Ok(gathered)
    }

    /// Adds the connection to another node of the job, in its role. A peer that has no part in the job is refused, and the
    /// job goes on.
    ///
    /// # Errors
    ///
    /// If the node runs another build.
    fn admit(
        &self,
        rules: &Rules,
        peer: Peer,
        gathered: &mut Gathered,
        nodes: &NodeInputs,
    ) -> Result<(), JobError> {
        let members = &self.submit.members;
        let name = peer.info.subject.name.as_str();
        let place = members.iter().position(|member| member.name == name);
        let host = place.map(HostId::from_index).filter(|host| {
            *host != self.submit.host
                && role_of(rules, *host) == peer.info.subject.role
                && !gathered.senders.contains_key(host)
        });
        let Some(host) = host else {
            refuse_peer(&peer);
            return Ok(());
        };
        let own = &members[self.submit.host.index()].name;
        self.builds.check(own, (name, &peer.build))?;
        let managed = rules
            .managers
            .iter()
            .enumerate()
            .filter(|(_, manager)| **manager == host);
        peer.restrict_to(SpeakingRights {
            hosts: BTreeSet::from([host]),
            sets: managed.map(|(set, _)| SetId::from_index(set)).collect(),
        });
        gathered.senders.insert(host, peer.sender.clone());
        listen(host, peer, &nodes.sender);
        Ok(())
    }

    /// Connects to the nodes after this one in the list; those before it connect to this one.
    fn connect_to_others(&mut self, rules: &Rules) {
        let own = self.submit.host.index();
        for (index, member) in self.submit.members.iter().enumerate().skip(own + 1) {
            let role = role_of(rules, HostId::from_index(index));
            let (endpoint, member) = (Arc::clone(&self.endpoint), member.clone());
            let (peer, input) = (self.peer.clone(), self.input.clone());
            let connecting = async move {
                match connect(&endpoint, &member, role).await {
                    // The job may be over.
                    Ok(connected) => drop(peer.send(connected).await),
                    Err(error) => drop(input.send(Input::Unreachable(error)).await),
                }
            };
            // It ends with the job.
            drop(self.calls.spawn(connecting));
        }
    }

    fn send_to_client(&self, message: JobMessage) {
        let message = Message::Job(Box::new(message));
        let frame = encode(Address::Node(self.submit.host), Address::Client, &message);
        // The loss of the client is an input.
        drop(self.client.push(frame));
    }
}

impl NodeInputs {
    fn new() -> Self {
        let (sender, receiver) = mpsc::channel(INPUTS_MAX);
        Self {
            sender,
            receiver,
            waiting: None,
        }
    }
}

/// Completes when the time for nodes to connect is over.
async fn overdue(ordered: Option<tokio::time::Instant>) {
    match ordered {
        Some(ordered) => tokio::time::sleep_until(ordered + CONNECT_LIMIT).await,
        None => std::future::pending().await,
    }
}

/// Starts all processes here.
fn begin(rules: &Rules, local_agents: &LocalAgents, world: &mut HostWorld) {
    let message = AgentMessage::Start(Start {
        superstep: 0,
        interval: None,
        checkpoint: false,
    });
    for rank in local_agents.ranks() {
        let event = crate::world::Event::Message {
            from: Address::SetManager(rules.first),
            message: message.clone(),
        };
        world.deliver(Address::Process(rank), event);
    }
}

/// Handles `done` and what has been executed meanwhile.
fn handle_executed(
    world: &mut HostWorld,
    done: Vec<Done>,
    executed: &mut mpsc::UnboundedReceiver<Vec<Done>>,
) {
    let more = iter::from_fn(|| executed.try_recv().ok());
    let all = iter::once(done).chain(more.take(INPUTS_AT_ONCE));
    all.flatten().for_each(|done| world.handle_executed(done));
}

/// How long nodes may take to connect to each other.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// The time between two parts of the record that are sent to the client.
const REPORTING: Duration = Duration::from_millis(50);
/// Inputs from other nodes that wait to be handled.
const INPUTS_MAX: usize = 256;
/// Inputs that are handled before what they cause is delivered.
const INPUTS_AT_ONCE: usize = 64;
