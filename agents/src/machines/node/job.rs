//! One node's part in a job.

mod gathering;
mod starting;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use bsp::units::Seconds;
use bsp::{HostId, Rank};
use bytes::Bytes;
use protocol::transport::PeerInfo;
use protocol::{
    Address, AgentMessage, Frame, JobMessage, Message, Start, Step, Submit, encode, variant,
};

use super::action::{JobAction, NodeAction, StartedJob};
use super::event::{ConnectionId, JobEvent};
use crate::machines::builds::Builds;
use crate::machines::failure::JobError;
use crate::machines::host_meter::HostMeter;
use crate::machines::job_progress::JobProgress;
use crate::machines::prepared::Prepared;
use crate::machines::processors::Processors;
use crate::machines::starting_process::StartingProcess;
use crate::machines::world::HostWorld;
use crate::setup::Rules;
use crate::world::{Event, World};

/// The part of a node in a job, from its submission on.
pub(super) struct Job {
    pub(super) client: ConnectionId,
    submit: Submit,
    pub(super) prepared: Prepared,
    rules: Arc<Rules>,
    /// Which builds other nodes may run.
    builds: Builds,
    meter: Rc<dyn HostMeter>,
    now: Clock,
    phase: Phase,
    actions: VecDeque<NodeAction>,
}

enum Phase {
    /// Connections and states arrive.
    Gathering(Gathered),
    /// The states of the processes that start here are decoded.
    Decoding(Gathered),
    /// There are agents.
    Running(Running),
}

/// The connections and states that have arrived before the job begins.
#[derive(Default)]
struct Gathered {
    peers: BTreeMap<HostId, Arc<PeerInfo>>,
    states: BTreeMap<Rank, Bytes>,
    /// The outputs of processes that have halted before the job begins, once all states are here.
    outputs: BTreeMap<Rank, Bytes>,
    /// When all nodes must have connected, once the client has ordered them to.
    limit: Option<Clock>,
    /// Whether all machines count instructions.
    counts: bool,
}

struct Running {
    world: Rc<RefCell<HostWorld>>,
    /// Whether the client knows that this node is ready.
    is_ready: bool,
    has_begun: bool,
    /// Events of nodes on which the job has begun before it has here.
    waiting: VecDeque<JobEvent>,
    /// When the client was last sent a part of the record.
    reported: Clock,
}

/// What a job is made of.
pub(super) struct JobParts {
    pub(super) client: ConnectionId,
    pub(super) submit: Submit,
    pub(super) prepared: Prepared,
    pub(super) builds: Builds,
    pub(super) meter: Rc<dyn HostMeter>,
}

impl Job {
    /// A job that is submitted now.
    pub(super) fn new(parts: JobParts, now: Clock) -> Self {
        let JobParts {
            client,
            submit,
            prepared,
            builds,
            meter,
        } = parts;
        Self {
            client,
            submit,
            rules: Arc::new(prepared.rules()),
            prepared,
            builds,
            meter,
            now,
            phase: Phase::Gathering(Gathered::default()),
            actions: VecDeque::new(),
        }
    }

    /// How far it is here.
    pub(super) fn progress(&self) -> JobProgress {
        match &self.phase {
            Phase::Running(running) => running.world.borrow().progress(),
            Phase::Gathering(_) | Phase::Decoding(_) => JobProgress::default(),
        }
    }

    /// Whether all that this node had to do is done and reported; its client has not closed yet.
    pub(super) fn has_ended(&self) -> bool {
        match &self.phase {
            Phase::Running(running) => running.world.borrow().has_ended(),
            Phase::Gathering(_) | Phase::Decoding(_) => false,
        }
    }

    /// Where the node is in the protocol.
    pub(super) fn step(&self) -> Step {
        match &self.phase {
            Phase::Gathering(_) => Step::Gather,
            Phase::Decoding(_) => Step::Decode,
            Phase::Running(running) if !running.is_ready => Step::Probe,
            Phase::Running(running) => running.world.borrow().step(),
        }
    }

    /// How long the run has lasted.
    pub(super) fn lasted(&self) -> Seconds {
        match &self.phase {
            Phase::Running(running) => running.world.borrow().lasted(),
            Phase::Gathering(_) | Phase::Decoding(_) => Seconds::ZERO,
        }
    }

    /// The rest of its part of the record, when it is over.
    pub(super) fn rest_of_record(&self) -> Option<Frame> {
        match &self.phase {
            Phase::Running(running) => running.world.borrow_mut().rest_of_record(),
            Phase::Gathering(_) | Phase::Decoding(_) => None,
        }
    }

    /// Whether events of other nodes are handled now. Until then, nothing is to be read from their connections, which hold
    /// back the rest.
    pub(super) fn takes_peer_events(&self) -> bool {
        matches!(&self.phase, Phase::Running(running) if running.waiting.is_empty())
    }

    /// When time matters next.
    pub(super) fn next_timeout(&self) -> Option<Clock> {
        match &self.phase {
            Phase::Gathering(gathered) => gathered.limit.filter(|_| !self.are_all_here(gathered)),
            Phase::Decoding(_) => None,
            Phase::Running(running) => {
                let world = running.world.borrow();
                let reporting = world.has_news().then(|| running.reported + REPORTING);
                world.next_timeout().into_iter().chain(reporting).min()
            }
        }
    }

    /// Time has passed.
    ///
    /// # Errors
    ///
    /// If other nodes have not connected in time.
    pub(super) fn advance(&mut self, now: Clock) -> Result<(), JobError> {
        self.now = now;
        match &mut self.phase {
            Phase::Gathering(gathered) => {
                let limit = gathered.limit.filter(|limit| *limit <= now);
                // Large states take long; the loss of a node that sends one is an event of its own.
                if limit.is_some() && gathered.peers.len() + 1 < self.submit.members.len() {
                    let limit = CONNECT_LIMIT.as_secs();
                    return Err(JobError::cluster(format!(
                        "not all other nodes have connected in {limit} s"
                    )));
                }
            }
            Phase::Decoding(_) => {}
            Phase::Running(running) => {
                let mut world = running.world.borrow_mut();
                world.advance(now);
                if world.has_news() && running.reported + REPORTING <= now {
                    running.reported = now;
                    world.send_record();
                }
            }
        }
        Ok(())
    }

    /// Handles a message of the client.
    ///
    /// # Errors
    ///
    /// The error that ends the job.
    pub(super) fn handle_client(&mut self, message: JobMessage) -> Result<(), JobError> {
        match (&mut self.phase, message) {
            (Phase::Gathering(gathered), JobMessage::Meet { counts })
                if gathered.limit.is_none() =>
            {
                gathered.counts = counts;
                gathered.limit = Some(self.now + CONNECT_LIMIT);
                self.connect_to_others();
                self.decode_if_complete();
                Ok(())
            }
            (Phase::Running(running), JobMessage::Begin)
                if running.is_ready && !running.has_begun =>
            {
                self.begin();
                Ok(())
            }
            (_, JobMessage::Stop) => Err(JobError::cluster(STOPPED).reported()),
            (_, message) => Err(JobError::cluster(format!(
                "the client said {} at the wrong time",
                variant(&message)
            ))),
        }
    }

    /// The client has closed its connection. Breaks if the job is over.
    ///
    /// # Errors
    ///
    /// If the job is not over.
    pub(super) fn handle_client_gone(&self, error: Option<JobError>) -> Result<(), JobError> {
        match (&self.phase, error) {
            (Phase::Running(running), None) if running.world.borrow().has_ended() => Ok(()),
            (_, None) => Err(JobError::cluster("the client has gone").reported()),
            (_, Some(error)) => Err(error),
        }
    }

    /// The error of a node that is to leave.
    pub(super) fn left(&self) -> JobError {
        let name = &self.submit.members[self.submit.host.index()].name;
        JobError::cluster(format!("{name} has been told to leave"))
    }

    /// Handles an event of this node or of another one.
    ///
    /// # Errors
    ///
    /// The error that ends the job.
    pub(super) fn handle(&mut self, event: JobEvent) -> Result<(), JobError> {
        let event = match event {
            JobEvent::State(state) => return self.add_state(state),
            JobEvent::Decoded(processes) => return self.run(processes),
            JobEvent::Failed(error) => return Err(error),
            event => event,
        };
        let Phase::Running(running) = &mut self.phase else {
            return if event.is_of_peer() {
                Err(JobError::cluster("a node sent something at the wrong time"))
            } else {
                Ok(())
            };
        };
        match event {
            JobEvent::PeerGone(..) if running.world.borrow().has_ended() => Ok(()),
            JobEvent::PeerGone(host, Ok(reason)) => {
                let name = &self.submit.members[host.index()].name;
                Err(JobError::cluster(format!("{name} has left: {reason}")).reported())
            }
            JobEvent::PeerGone(_, Err(error)) => Err(error),
            event if event.waits() && !running.has_begun => {
                running.waiting.push_back(event);
                Ok(())
            }
            event => {
                handle_in(&mut running.world.borrow_mut(), event);
                Ok(())
            }
        }
    }

    /// What is to be done now.
    ///
    /// # Errors
    ///
    /// The error that ends the job.
    pub(super) fn poll(&mut self) -> Result<Option<NodeAction>, JobError> {
        if let Some(action) = self.actions.pop_front() {
            return Ok(Some(action));
        }
        let own = self.submit.host;
        let Phase::Running(running) = &mut self.phase else {
            return Ok(None);
        };
        let mut world = running.world.borrow_mut();
        if let Some(action) = world.poll()? {
            return Ok(Some(action.into()));
        }
        if running.is_ready || !world.has_probed() {
            return Ok(None);
        }
        running.is_ready = true;
        let ready = JobAction::SendToClient(frame(own, JobMessage::Ready));
        Ok(Some(ready.into()))
    }

    /// Starts the agents, with the processes that start here, and sends the first probes.
    ///
    /// # Errors
    ///
    /// If an agent is none of the job.
    fn run(&mut self, starting: Vec<StartingProcess>) -> Result<(), JobError> {
        let Phase::Decoding(gathered) = &mut self.phase else {
            return Ok(());
        };
        let Gathered {
            peers,
            counts,
            outputs,
            ..
        } = std::mem::take(gathered);
        let own = self.submit.host;
        let member = &self.submit.members[own.index()];
        let slots = NonZeroU32::new(member.slots).unwrap_or(NonZeroU32::MIN);
        let processors = Processors {
            count: slots,
            speed: self.meter.offered(member.speed),
        };
        let Prepared {
            setup,
            program_type,
            ..
        } = &self.prepared;
        let part = (own, setup, Arc::clone(&self.rules), *program_type);
        let measured = (Rc::clone(&self.meter), processors);
        let checkpoints = self.checkpoints(processors);
        let mut world = HostWorld::new(part, peers, measured, checkpoints, self.now);
        let mut processes = BTreeMap::new();
        for process in starting {
            processes.insert(process.rank, self.agent(&process)?);
            world.insert_process(process);
        }
        for (rank, output) in outputs {
            world.insert_halted(rank, output);
        }
        world.start_probing();
        let world = Rc::new(RefCell::new(world));
        let for_agents: Rc<RefCell<dyn World>> = world.clone();
        let start = JobAction::Start(StartedJob {
            own,
            rules: Arc::clone(&self.rules),
            world: for_agents,
            processes,
            slots,
            speed: member.speed,
            counts,
        });
        self.actions.push_back(start.into());
        self.phase = Phase::Running(Running {
            world,
            is_ready: false,
            has_begun: false,
            waiting: VecDeque::new(),
            reported: self.now,
        });
        Ok(())
    }

    /// Starts all processes here, and handles the events that have waited for it.
    fn begin(&mut self) {
        let Phase::Running(running) = &mut self.phase else {
            return;
        };
        running.has_begun = true;
        let own = self.submit.host;
        let mut world = running.world.borrow_mut();
        world.begin();
        world.send_halted();
        let message = AgentMessage::Start(Start {
            superstep: self.rules.first_superstep(),
            interval: None,
            checkpoint: false,
        });
        for (rank, _) in self.rules.running().filter(|(_, host)| *host == own) {
            let event = Event::Message {
                from: Address::SetManager(self.rules.first),
                message: message.clone(),
            };
            world.deliver(Address::Process(rank), event);
        }
        for event in std::mem::take(&mut running.waiting) {
            handle_in(&mut world, event);
        }
    }
}

/// Handles an event in the world of a job that has begun, or that need not have.
fn handle_in(world: &mut HostWorld, event: JobEvent) {
    match event {
        JobEvent::RecordTaken => world.handle_record_taken(),
        JobEvent::Executed(done) => done
            .into_iter()
            .for_each(|done| world.handle_executed(done)),
        JobEvent::Arrived(process) => world.handle_arrived(*process),
        JobEvent::Sent(host, bytes, took) => world.handle_sent(host, bytes, took),
        JobEvent::Saved(saved) => world.handle_saved(*saved),
        JobEvent::Written(superstep, file) => world.handle_written(superstep, file),
        JobEvent::CheckpointFinished(superstep, finished) => {
            world.handle_checkpoint_finished(superstep, finished);
        }
        JobEvent::Deliberated(set, deliberated) => {
            world.deliver(Address::SetManager(set), Event::Deliberated(deliberated));
        }
        JobEvent::Message(message) => world.handle_message(*message),
        JobEvent::Image(image) => world.handle_image(*image),
        JobEvent::Pieces(pieces) => world.handle_pieces(*pieces),
        JobEvent::State(_)
        | JobEvent::Decoded(_)
        | JobEvent::Failed(_)
        | JobEvent::PeerGone(..) => unreachable!("handled by the job itself"),
    }
}

/// The frame of a message of `own` to the client.
fn frame(own: HostId, message: JobMessage) -> Frame {
    let message = Message::Job(Box::new(message));
    encode(Address::Node(own), Address::Client, &message)
}

/// How long nodes may take to connect to each other.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// The error of a job that its client stops.
const STOPPED: &str = "the client has stopped the job";
/// The time between two parts of the record that are sent to the client.
const REPORTING: Duration = Duration::from_millis(50);
