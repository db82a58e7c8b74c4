//! A node in a fault simulation: the process of the operating system, and what it has.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bsp::units::{InstructionsPerSecond, Seconds};
use bsp::{HostId, Rank};
use machines::node::{ConnectionId, JobEvent, NodeMachine, NodeParts, StartedJob};
use machines::{Builds, Execution, HostMeter, InitialStateDecoder, Prepared, Routes};
use protocol::transport::{JobId, Session};

use super::agents::DirectAgents;

/// A node: its machine, and what its shell would have.
pub(super) struct NodeProcess {
    pub(super) machine: NodeMachine,
    pub(super) session: Session,
    pub(super) meter: Rc<SimulatedMeter>,
    /// Where each connection is: its number in the simulation, and its end.
    pub(super) connections: BTreeMap<ConnectionId, (usize, usize)>,
    pub(super) connected: u64,
    pub(super) job: Option<SimulatedJob>,
    /// The number of jobs that have begun.
    pub(super) jobs: u64,
    /// The date at which it wakes.
    pub(super) timer: Option<u64>,
    /// What other nodes have sent that it does not take yet.
    pub(super) peer_events: VecDeque<JobEvent>,
}

/// What a node has for a job.
pub(super) struct SimulatedJob {
    /// Which of its jobs it is.
    pub(super) number: u64,
    pub(super) id: JobId,
    pub(super) client: ConnectionId,
    pub(super) own: HostId,
    pub(super) peers: BTreeMap<HostId, (usize, usize)>,
    pub(super) agents: Option<DirectAgents>,
    pub(super) decoder: InitialStateDecoder,
    /// When each processor is free.
    pub(super) processors: Vec<u64>,
}

impl SimulatedJob {
    /// Starts the agents, and the processors that execute supersteps.
    pub(super) fn start(&mut self, started: StartedJob) {
        let slots = usize::try_from(started.slots.get()).expect("few processors");
        self.processors = vec![0; slots];
        self.agents = Some(DirectAgents::new(started));
    }
}

impl NodeProcess {
    /// The node `name`, which starts at `now`. Jobs are `prepared`.
    pub(super) fn start(name: &str, builds: &Builds, prepared: Prepared, now: Instant) -> Self {
        let meter = Rc::new(SimulatedMeter::default());
        let parts = NodeParts {
            name: name.to_owned(),
            builds: builds.clone(),
            routes: Routes::default(),
            prepare: Box::new(move |_| Ok(prepared.clone())),
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
            timer: None,
            peer_events: VecDeque::new(),
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
}
