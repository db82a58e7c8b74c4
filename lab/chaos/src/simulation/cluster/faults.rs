//! Faults happen and end.

use machines::client::ClientEvent;
use machines::node::NodeEvent;
use protocol::Step;

use crate::simulation::cluster::node::NodeProcess;
use crate::simulation::cluster::{Cluster, Happening};
use crate::simulation::fault::{Fault, FaultKind, When};
use crate::simulation::scenario::Scenario;

impl Cluster<'_> {
    /// Has the faults happen that are due.
    pub(super) fn inject(&mut self) {
        for index in 0..self.faults.all.len() {
            let (fault, state) = &self.faults.all[index];
            let State::Waiting(count) = *state else {
                continue;
            };
            let node = match fault.when {
                When::Event(number) => (number <= self.trace.events).then_some(fault.node),
                When::Step(step, wanted) => {
                    let at = self.node_at(step);
                    let count = count + u64::from(at.is_some());
                    self.faults.all[index].1 = State::Waiting(count);
                    at.filter(|_| wanted <= count)
                }
            };
            if let Some(node) = node {
                self.hit(index, node);
            }
        }
    }

    /// The first node that is at `step`.
    fn node_at(&self, step: Step) -> Option<usize> {
        let at = |node: &Option<NodeProcess>| {
            node.as_ref()
                .is_some_and(|node| node.machine.step() == step)
        };
        self.nodes.iter().position(at)
    }

    /// A fault happens at a node.
    fn hit(&mut self, index: usize, node: usize) {
        let fault = self.faults.all[index].0.clone();
        let hit = self.nodes[node].as_ref();
        let Some(step) = hit.map(|node| node.machine.step()) else {
            // The node does not run.
            self.faults.all[index].1 = State::Over;
            return;
        };
        self.faults.hits.push((fault.kind, step));
        self.trace
            .line(self.now, format_args!("FAULT at {step}: {fault}"));
        let end = self.now + fault.lasts;
        self.faults.latest_end = self.faults.latest_end.max(end);
        self.faults.all[index].1 = State::Active(node);
        self.queue.add(end, Happening::Heal(index));
        let client = self.client_place();
        match fault.kind {
            FaultKind::Crash => self.crash(node),
            FaultKind::Stop => self.places[node].stopped += 1,
            FaultKind::ClientStop => self.places[client].stopped += 1,
            FaultKind::Slow => self.places[node].slower = (fault.factor, end),
            FaultKind::Isolate | FaultKind::OneWay | FaultKind::Cut => {
                self.block(&fault, node, true);
            }
            FaultKind::Delay => self.network.slow_down(node, fault.factor),
            FaultKind::Loss => self.network.lose(node, fault.factor),
            FaultKind::Late => self.make_late(&fault, node, true),
            FaultKind::Leave => {
                let owner = self.owner(node);
                self.tell_node(node, NodeEvent::Leave);
                self.queue.add(self.now + EXIT, Happening::Exit(owner));
            }
            FaultKind::ClientCrash => self.crash_client(),
            FaultKind::Interrupt => self.tell_client(ClientEvent::Interrupted),
            FaultKind::DiskError => self.disk.fail_soon(fault.factor),
            FaultKind::DiskFull => self.disk.files.limit(fault.factor * 100),
            FaultKind::PowerLoss => self.lose_power(),
        }
        self.update_silence();
    }

    /// A fault ends.
    pub(super) fn heal(&mut self, index: usize) {
        let State::Active(node) = self.faults.all[index].1 else {
            return;
        };
        self.faults.all[index].1 = State::Over;
        let fault = self.faults.all[index].0.clone();
        self.trace.line(self.now, format_args!("END of {fault}"));
        let client = self.client_place();
        match fault.kind {
            // Every other node that has crashed is started again.
            FaultKind::Crash if fault.factor.is_multiple_of(2) => self.start(node),
            FaultKind::Stop => self.go_on(node),
            FaultKind::ClientStop => self.go_on(client),
            FaultKind::Isolate | FaultKind::OneWay | FaultKind::Cut => {
                self.block(&fault, node, false);
                self.send_held();
            }
            FaultKind::Delay => self.network.slow_down(node, 1),
            FaultKind::Loss => self.network.lose(node, 0),
            FaultKind::Late => self.make_late(&fault, node, false),
            FaultKind::DiskFull => self.disk.files.repair(),
            FaultKind::PowerLoss => {
                for host in 0..self.nodes.len() {
                    self.start(host);
                }
            }
            FaultKind::Crash
            | FaultKind::Slow
            | FaultKind::Leave
            | FaultKind::ClientCrash
            | FaultKind::Interrupt
            | FaultKind::DiskError => {}
        }
        self.update_silence();
    }

    /// Blocks the paths that a fault blocks, or ends that.
    fn block(&mut self, fault: &Fault, node: usize, is_blocked: bool) {
        let others: Vec<usize> = match fault.kind {
            FaultKind::Cut => vec![self.other_end(fault, node)],
            _ => (0..self.places.len())
                .filter(|place| *place != node)
                .collect(),
        };
        for other in others {
            if fault.kind == FaultKind::Cut && fault.factor == Fault::ONE_WAY {
                self.network.block(other, node, is_blocked);
                continue;
            }
            self.network.block(node, other, is_blocked);
            if fault.kind != FaultKind::OneWay {
                self.network.block(other, node, is_blocked);
            }
        }
    }

    /// Makes the messages late that a fault makes late, or ends that.
    fn make_late(&mut self, fault: &Fault, node: usize, is_late: bool) {
        let other = self.other_end(fault, node);
        let time = fault.factor * MILLISECOND;
        self.network.make_late(node, other, time, is_late);
        if fault.factor.is_multiple_of(2) {
            self.network.make_late(other, node, time, is_late);
        }
    }

    /// The other end of the path that a fault concerns, which hits `node`.
    fn other_end(&self, fault: &Fault, node: usize) -> usize {
        if fault.other == node {
            self.client_place()
        } else {
            fault.other
        }
    }

    /// Sends what has waited for paths that are open now.
    fn send_held(&mut self) {
        for connection in 0..self.connections.len() {
            for end in 0..2 {
                let (_, own) = self.end((connection, end));
                for (number, packet) in std::mem::take(&mut own.held) {
                    self.transmit((connection, end), number, packet);
                }
            }
        }
    }

    /// A process runs again that was stopped.
    fn go_on(&mut self, place: usize) {
        let stopped = &mut self.places[place].stopped;
        *stopped = stopped.saturating_sub(1);
        if 0 < *stopped {
            return;
        }
        // It looks at its clock first, or at what has arrived.
        let looks_at_clock = self.random.percent(50);
        let postponed = std::mem::take(&mut self.places[place].postponed);
        let (silences, others): (Vec<_>, Vec<_>) = postponed
            .into_iter()
            .partition(|happening| matches!(happening, Happening::Silent(..)));
        for happening in others {
            self.queue.add(self.now, happening);
        }
        for happening in silences {
            match happening {
                Happening::Silent(connection, end, since) if looks_at_clock => {
                    self.silent((connection, end), since);
                }
                // What has arrived is read before.
                silence => self.queue.add(self.now, silence),
            }
        }
    }

    /// A node dies without a message.
    pub(super) fn crash(&mut self, place: usize) {
        self.disk.interrupt(Some(place));
        self.nodes[place] = None;
        self.forget(place);
    }

    /// All nodes die, and the disk loses what has not reached it.
    fn lose_power(&mut self) {
        self.disk.lose_power();
        for place in 0..self.nodes.len() {
            self.nodes[place] = None;
            self.forget(place);
        }
    }

    fn crash_client(&mut self) {
        self.client = None;
        self.forget(self.client_place());
    }

    fn forget(&mut self, place: usize) {
        self.places[place].incarnation += 1;
        self.places[place].postponed.clear();
        for connection in &mut self.connections {
            for end in &mut connection.ends {
                if end.place == place {
                    (end.is_open, end.is_closing) = (false, false);
                    end.held.clear();
                }
            }
        }
        self.update_silence();
    }
}

/// A millisecond in nanoseconds.
const MILLISECOND: u64 = 1_000_000;
/// The time from the signal until a node ends, in nanoseconds.
const EXIT: u64 = 200_000_000;

/// The faults of a scenario.
pub(super) struct Faults {
    all: Vec<(Fault, State)>,
    /// Faults that have happened, each with the step in which it hit a node.
    pub(super) hits: Vec<(FaultKind, Step)>,
    /// When the last of those that have happened ends.
    latest_end: u64,
}

/// What has become of a fault.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It waits; how often a node has entered the step that it is aimed at.
    Waiting(u64),
    /// It has happened at this node, and lasts.
    Active(usize),
    Over,
}

impl Faults {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let all = scenario.faults.iter().cloned();
        Self {
            all: all.map(|fault| (fault, State::Waiting(0))).collect(),
            hits: Vec::new(),
            latest_end: 0,
        }
    }

    /// Whether a fault lasts.
    pub(super) fn are_active(&self) -> bool {
        let mut states = self.all.iter().map(|(_, state)| state);
        states.any(|state| matches!(state, State::Active(_)))
    }

    /// Whether a fault has happened for which a job may fail. Several together may, even if none alone does.
    pub(super) fn were_harmful(&self) -> bool {
        let happened = self
            .all
            .iter()
            .filter(|(_, state)| !matches!(state, State::Waiting(_)));
        let interruptions = happened
            .clone()
            .filter(|(fault, _)| {
                !matches!(
                    fault.kind,
                    FaultKind::Slow
                        | FaultKind::Delay
                        | FaultKind::Loss
                        | FaultKind::Late
                        | FaultKind::DiskError
                        | FaultKind::DiskFull
                )
            })
            .count();
        1 < interruptions || happened.into_iter().any(|(fault, _)| !fault.is_harmless())
    }

    /// When the last of the faults that have happened ends.
    pub(super) const fn latest_end(&self) -> u64 {
        self.latest_end
    }
}
