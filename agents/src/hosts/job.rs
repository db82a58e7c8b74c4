//! One node's part in a job.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
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
use super::members::{connect, role_of, rules};
use super::pool::Done;
use super::prepared::Prepared;
use super::world::{HostWorld, JobPeers};
use crate::error::RunError;
use crate::setup::Rules;

/// A node's part in a job, from its submission on.
pub(super) struct Job {
    pub(super) submit: Submit,
    pub(super) prepared: Prepared,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) machine: Machine,
    /// Which builds other nodes may run.
    pub(super) builds: Builds,
    /// What goes to the client.
    pub(super) client: Sender,
    /// What comes from it, and from others.
    pub(super) inputs: mpsc::Receiver<Input>,
    pub(super) input: mpsc::Sender<Input>,
    /// Other nodes that come.
    pub(super) peers: mpsc::Receiver<Peer>,
    pub(super) peer: mpsc::Sender<Peer>,
    /// Where the job's progress is looked up.
    pub(super) progress: Rc<RefCell<(u64, usize)>>,
    /// Connections being set up: what is not there when the job ends must not come into the next one.
    pub(super) calls: JoinSet<()>,
}

/// The connections and states that have arrived before the job begins.
#[derive(Default)]
struct Meeting {
    senders: BTreeMap<HostId, Sender>,
    states: BTreeMap<Rank, Bytes>,
    /// What has come from nodes that see how far others are.
    early: Vec<Input>,
    /// When the client said that all shall meet.
    met: Option<tokio::time::Instant>,
    /// All machines count instructions.
    counts: bool,
}

impl Job {
    /// Takes part until the job is over here and the client has gone.
    ///
    /// # Errors
    ///
    /// Whatever ends the job before. Peers have been told then, as far as they can be.
    pub(super) async fn take_part(mut self) -> Result<(), JobError> {
        let mut senders = BTreeMap::new();
        let result = self.play(&mut senders).await;
        let words = match &result {
            Ok(()) => "the job is over".to_owned(),
            Err(error) => {
                let failed = JobMessage::Failed(error.clone().into());
                self.tell(failed);
                error.message.clone()
            }
        };
        for sender in senders.into_values() {
            let words = words.clone();
            // A node that does not read the reason has gone.
            drop(actix_rt::spawn(async move { sender.close(&words).await }));
        }
        result
    }

    async fn play(&mut self, senders: &mut BTreeMap<HostId, Sender>) -> Result<(), JobError> {
        let rules = Arc::new(rules(&self.prepared.setup));
        let (done, mut executed) = mpsc::unbounded_channel();
        let (tasks, mut local) = mpsc::unbounded_channel();
        let mut meeting = self.gather(&rules).await?;
        senders.clone_from(&meeting.senders);
        let early = std::mem::take(&mut meeting.early);
        let world = self.world(&rules, meeting, (&done, tasks)).await?;
        let mut local_agents = LocalAgents::new(self.submit.host, &rules, &world);
        let mut is_ready = false;
        // Inputs from nodes that begin earlier wait until the clock of this one runs.
        let mut held = Some(Vec::new());
        self.handle_all(early, &world)?;
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
                    self.tell(JobMessage::Ready);
                }
            }
            tokio::select! {
                Some(done) = executed.recv() => {
                    let mut world = world.borrow_mut();
                    done.into_iter().for_each(|done| world.handle_executed(done));
                }
                Some(event) = local.recv() => world.borrow_mut().handle_local(event),
                Some(input) = self.inputs.recv() => {
                    let is_begin = matches!(input, Input::Job(JobMessage::Begin));
                    if is_begin && (held.is_none() || !is_ready) {
                        return Err(self.fault(input));
                    }
                    if let Some(held) = held.as_mut().filter(|_| waits(&input)) {
                        held.push(input);
                        continue;
                    }
                    if self.take(input, &world)?.is_break() {
                        *self.progress.borrow_mut() = world.borrow().progress();
                        return Ok(());
                    }
                    if is_begin {
                        begin(&rules, &local_agents, &mut world.borrow_mut());
                        self.handle_all(held.take().unwrap_or_default(), &world)?;
                    }
                }
                _ = reporting.tick() => {
                    let mut world = world.borrow_mut();
                    world.send_record();
                    *self.progress.borrow_mut() = world.progress();
                }
            }
        }
    }

    /// What this node sees of the job, its processes settled and its probes sent.
    async fn world(
        &self,
        rules: &Arc<Rules>,
        meeting: Meeting,
        told: (
            &mpsc::UnboundedSender<Vec<Done>>,
            mpsc::UnboundedSender<LocalEvent>,
        ),
    ) -> Result<Rc<RefCell<HostWorld>>, JobError> {
        let own = self.submit.host;
        let company = JobPeers {
            endpoint: Arc::clone(&self.endpoint),
            client: self.client.clone(),
            peers: meeting.senders,
        };
        let member = &self.submit.members[own.index()];
        let slots = NonZeroU32::new(member.slots).unwrap_or(NonZeroU32::MIN);
        let machine = self.machine.giving(slots, member.speed);
        let machine = machine.counting(meeting.counts);
        let Prepared {
            setup,
            program_type,
        } = &self.prepared;
        let part = (own, setup, Arc::clone(rules), *program_type);
        let mut world = HostWorld::new(part, company, machine, told);
        let (program_type, states) = (*program_type, meeting.states);
        // Decoding takes as long as states are large; meanwhile others have their messages carried.
        let unpacking = tokio::task::spawn_blocking(move || {
            let unpack =
                |(rank, state): (Rank, Bytes)| Ok((rank, program_type.decode(rank, &state[..])?));
            states
                .into_iter()
                .map(unpack)
                .collect::<Result<Vec<_>, RunError>>()
        });
        let unpacked = unpacking.await;
        let unpacked =
            unpacked.map_err(|panic| JobError::program(format!("decoding a process: {panic}")))?;
        for (rank, resident) in unpacked? {
            world.insert_program(rank, resident);
        }
        world.start_probing();
        Ok(Rc::new(RefCell::new(world)))
    }

    /// What has come from other nodes before it was looked at.
    fn handle_all(&self, inputs: Vec<Input>, world: &RefCell<HostWorld>) -> Result<(), JobError> {
        for input in inputs {
            if self.take(input, world)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Something has come from another machine; breaks when the job is over and the client has gone.
    fn take(
        &self,
        input: Input,
        world: &RefCell<HostWorld>,
    ) -> Result<std::ops::ControlFlow<()>, JobError> {
        let mut world = world.borrow_mut();
        match input {
            // States have streams of their own.
            Input::Message(host, _, Message::Agent(AgentMessage::ProcessImage(state)), _) => {
                let problem = format!("{host} sent the state of {} among its messages", state.rank);
                return Err(JobError::cluster(problem));
            }
            Input::Message(host, ends, message, came) => {
                world.handle_message(host, ends, message, came);
            }
            Input::Image(image) => world.handle_image(*image),
            Input::Job(JobMessage::Begin) => world.begin(),
            Input::ClientGone(None) if world.has_ended() => {
                return Ok(std::ops::ControlFlow::Break(()));
            }
            Input::Gone(..) if world.has_ended() => {}
            other => return Err(self.fault(other)),
        }
        Ok(std::ops::ControlFlow::Continue(()))
    }

    /// Why `input` ends the job.
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
            Input::Message(host, (from, _), _, _) => JobError::cluster(format!(
                "{host} sent a message of {from:?} before the job began"
            )),
            Input::State(_) | Input::Image(_) => {
                JobError::cluster("a state came at the wrong time")
            }
        }
    }

    /// Waits for the client's word to meet the others, for them, and for the processes that start here.
    async fn gather(&mut self, rules: &Rules) -> Result<Meeting, JobError> {
        let own = self.submit.host;
        let placement = rules.placement.iter();
        let residents = placement.filter(|host| **host == own).count();
        let others = self.submit.members.len() - 1;
        let mut meeting = Meeting::default();
        let is_complete = |meeting: &Meeting| {
            meeting.met.is_some()
                && meeting.senders.len() == others
                && meeting.states.len() == residents
        };
        while !is_complete(&meeting) {
            tokio::select! {
                Some(peer) = self.peers.recv() => self.welcome(rules, peer, &mut meeting)?,
                // Large states take long; the loss of a node that sends one is an input of its own.
                () = overdue(meeting.met), if meeting.senders.len() < others => {
                    let waited = MEETING.as_secs();
                    return Err(JobError::cluster(format!("not all other nodes have come in {waited} s")));
                }
                Some(input) = self.inputs.recv() => match input {
                    Input::Job(JobMessage::Meet { counts }) => {
                        meeting.counts = counts;
                        meeting.met = Some(tokio::time::Instant::now());
                        self.call_others(rules);
                    }
                    Input::State(delivered) => {
                        let state = delivered.state;
                        let place = rules.placement.get(state.rank.index());
                        if place != Some(&own) || meeting.states.insert(state.rank, state.payload).is_some() {
                            return Err(JobError::cluster(format!("{} does not start here", state.rank)));
                        }
                    }
                    // A node that is connected to all others may already probe them.
                    input @ Input::Message(..) => meeting.early.push(input),
                    other => return Err(self.fault(other)),
                },
            }
        }
        Ok(meeting)
    }

    /// A node has come, or let us come.
    fn welcome(&self, rules: &Rules, peer: Peer, meeting: &mut Meeting) -> Result<(), JobError> {
        let members = &self.submit.members;
        let name = peer.info.subject.name.as_str();
        let place = members.iter().position(|member| member.name == name);
        let host = place
            .map(HostId::from_index)
            .filter(|host| *host != self.submit.host);
        let Some(host) = host.filter(|host| !meeting.senders.contains_key(host)) else {
            return Err(JobError::cluster(format!("{} is not expected", peer.info)));
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
        meeting.senders.insert(host, peer.sender.clone());
        listen(host, peer, &self.input);
        Ok(())
    }

    /// Connects to the nodes behind this one in the list; those before it come by themselves.
    fn call_others(&mut self, rules: &Rules) {
        let own = self.submit.host.index();
        for (index, member) in self.submit.members.iter().enumerate().skip(own + 1) {
            let role = role_of(rules, HostId::from_index(index));
            let (endpoint, member) = (Arc::clone(&self.endpoint), member.clone());
            let (peer, input) = (self.peer.clone(), self.input.clone());
            let calling = async move {
                match connect(&endpoint, &member, role).await {
                    // The job may be over.
                    Ok(met) => drop(peer.send(met).await),
                    Err(error) => drop(input.send(Input::Unreachable(error)).await),
                }
            };
            // It ends with the job.
            drop(self.calls.spawn(calling));
        }
    }

    fn tell(&self, message: JobMessage) {
        let message = Message::Job(Box::new(message));
        let frame = encode(Address::Node(self.submit.host), Address::Client, &message);
        // If it has gone, that is said where it is heard.
        drop(self.client.push(frame));
    }
}

/// Completes when the time for nodes to connect is over.
async fn overdue(met: Option<tokio::time::Instant>) {
    match met {
        Some(met) => tokio::time::sleep_until(met + MEETING).await,
        None => std::future::pending().await,
    }
}

/// All processes here begin.
fn begin(rules: &Rules, local_agents: &LocalAgents, world: &mut HostWorld) {
    let message = AgentMessage::Start(Start {
        superstep: 0,
        interval: None,
    });
    for rank in local_agents.ranks() {
        let event = crate::world::Event::Message {
            from: Address::SetManager(rules.first),
            message: message.clone(),
        };
        world.deliver(Address::Process(rank), event);
    }
}

/// How long nodes may take to meet.
const MEETING: Duration = Duration::from_secs(30);
/// The time between two parts of the record that are sent to the client.
const REPORTING: Duration = Duration::from_millis(50);
