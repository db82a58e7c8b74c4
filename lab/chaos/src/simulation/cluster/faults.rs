//! Faults happen and end.

use std::collections::BTreeSet;

use bsp::HostId;
use machines::client::ClientEvent;
use machines::node::{Leave, NodeEvent};
use machines::{members, quorum};
use protocol::Step;

use crate::simulation::cluster::leader::CLIENT;
use crate::simulation::cluster::node::NodeProcess;
use crate::simulation::cluster::{Cluster, Happening, Owner};
use crate::simulation::fault::{Fault, FaultKind, HARMLESS, Partition, SECOND, When};
use crate::simulation::scenario::Scenario;

impl Cluster<'_> {
    /// Has the faults happen that are due.
    pub(super) fn inject(&mut self) {
        for index in 0..self.faults.all.len() {
            let (fault, state) = &self.faults.all[index];
            let State::Waiting(count) = *state else {
                continue;
            };
            if fault.kind.is_of_follower() {
                continue;
            }
            let node = match fault.when {
                When::Event(number) => (number <= self.trace.events).then_some(fault.node),
                When::Step(step, wanted) => {
                    let at = self.node_at(step);
                    let count = count + u64::from(at.is_some());
                    self.faults.all[index].1 = State::Waiting(count);
                    at.filter(|_| wanted <= count)
                }
                // They are happenings of their own.
                When::Later(_) | When::Led(_) | When::Over(_) => None,
            };
            if let Some(node) = node {
                self.hit(index, node);
            }
        }
    }

    /// The faults that follow the first one have their dates, once that happens.
    fn schedule_followers(&mut self) {
        if !self.faults.hits.is_empty() {
            return;
        }
        for (index, (fault, _)) in self.faults.all.iter().enumerate() {
            if let When::Later(time) = fault.when {
                self.queue.add(self.now + time, Happening::Follow(index));
            }
        }
    }

    /// The faults that hit the first node that leads the job have their dates, once the nodes of its first view begin.
    pub(super) fn schedule_led(&mut self) {
        if std::mem::replace(&mut self.faults.is_led, true) {
            return;
        }
        for (index, (fault, _)) in self.faults.all.iter().enumerate() {
            if let When::Led(time) = fault.when
                && !fault.kind.is_of_follower()
            {
                self.queue.add(self.now + time, Happening::Follow(index));
            }
        }
    }

    /// A fault happens that follows another one, or that a node leads the job: then it hits the node that does.
    pub(super) fn follow(&mut self, index: usize) {
        let (fault, state) = &self.faults.all[index];
        let node = match fault.when {
            When::Led(_) => self.leading_place().unwrap_or(fault.node),
            _ => fault.node,
        };
        if matches!(state, State::Waiting(_)) && !self.is_over() {
            self.hit(index, node);
        }
    }

    /// A node that has been told to end does, unless its job still needs it: until a date.
    pub(super) fn exit(&mut self, owner: Owner, until: Option<u64>) {
        let Some(node) = &self.nodes[owner.place] else {
            return;
        };
        if !self.is_alive(owner) {
            return;
        }
        let until = match until {
            Some(_) if node.machine.is_idle() => None,
            Some(until) if self.now < until => Some(until),
            Some(_) => {
                self.tell_node(owner.place, NodeEvent::Leave(Leave::AtOnce));
                None
            }
            None => return self.crash(owner.place),
        };
        self.queue
            .add(self.now + EXIT, Happening::Exit(owner, until));
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
        self.schedule_followers();
        self.note_fault(&fault, node);
        self.faults.hits.push((fault.kind, step));
        self.trace
            .line(self.now, format_args!("FAULT at {step}: {fault}"));
        let end = self.now + fault.lasts;
        self.faults.latest_end = self.faults.latest_end.max(end);
        let lasts = match fault.kind {
            FaultKind::Crash | FaultKind::QuickRestart | FaultKind::PowerLoss => 0,
            _ => fault.lasts,
        };
        self.faults.latest = self.faults.latest.max(self.now + lasts);
        self.faults.all[index].1 = State::Active(node);
        self.queue.add(end, Happening::Heal(index));
        let client = self.client_place();
        match fault.kind {
            FaultKind::Crash | FaultKind::QuickRestart => self.crash(node),
            FaultKind::Stop => self.places[node].stopped += 1,
            FaultKind::ClientStop => self.places[client].stopped += 1,
            FaultKind::Slow => self.places[node].slower = (fault.factor, end),
            FaultKind::Isolate | FaultKind::OneWay | FaultKind::Cut => {
                self.block(&fault, node, true);
            }
            FaultKind::Partition => self.divide(Partition::of(fault.factor), true),
            FaultKind::Delay => self.network.slow_down(node, fault.factor),
            FaultKind::Loss => self.network.lose(node, fault.factor),
            FaultKind::Late => self.make_late(&fault, node, true),
            FaultKind::Leave => {
                let owner = self.owner(node);
                self.tell_node(node, NodeEvent::Leave(Leave::WhenHeld));
                let exit = Happening::Exit(owner, Some(self.now + DRAINING));
                self.queue.add(self.now + EXIT, exit);
            }
            FaultKind::ClientCrash => self.crash_client(),
            FaultKind::Interrupt => self.tell_leader(CLIENT, ClientEvent::Interrupted),
            FaultKind::DiskError => self.disk.fail_soon(fault.factor),
            FaultKind::DiskFull => self.disk.files.limit(fault.factor * 100),
            FaultKind::PowerLoss => self.lose_power(),
            FaultKind::LateOutputs => {
                self.network
                    .make_outputs_late(node, fault.factor * MILLISECOND);
            }
            // They happen to others (`followers`).
            FaultKind::Attach
            | FaultKind::AttachOther
            | FaultKind::FollowerCrash
            | FaultKind::FollowerCut => {}
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
            FaultKind::QuickRestart => self.start(node),
            FaultKind::Stop => self.go_on(node),
            FaultKind::ClientStop => self.go_on(client),
            FaultKind::Isolate | FaultKind::OneWay | FaultKind::Cut => {
                self.block(&fault, node, false);
                self.send_held(false);
            }
            FaultKind::Partition => {
                self.divide(Partition::of(fault.factor), false);
                self.send_held(false);
            }
            FaultKind::Delay => self.network.slow_down(node, 1),
            FaultKind::Loss => self.network.lose(node, 0),
            FaultKind::Late => self.make_late(&fault, node, false),
            FaultKind::LateOutputs => self.network.make_outputs_late(node, 0),
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
            | FaultKind::DiskError
            | FaultKind::Attach
            | FaultKind::AttachOther
            | FaultKind::FollowerCrash
            | FaultKind::FollowerCut => {}
        }
        self.update_silence();
    }

    /// Whether the job may fail because of the faults so far.
    ///
    /// No job has to survive that its user interrupts it, or what happens before it has begun on all nodes. One without views may end as soon as a
    /// node or the client may be lost. One with views has to be completed if, whenever another node or the client may be lost,
    ///
    /// * those that cannot be lost are more than half of all nodes, or half of them, and the client leads the job, and
    /// * one of them may manage a Set, and lead the job if the client may be lost, and
    /// * they have the pieces of all processes of a checkpoint, or the job can begin anew: it did, and has no checkpoint folder, and
    /// * there are at most three that may be lost, the client being one: each view loses at least one of them, and three in a row may
    ///   begin with the same checkpoint.
    ///
    /// | fault | may be lost |
    /// |---|---|
    /// | `crash`, `restart-quick`, `leave` | the node |
    /// | `power-loss` | all nodes |
    /// | `stop`, `isolate`, `one-way` | the node, if it lasts longer than 1.5 s or is not the only interruption |
    /// | `cut` | either of both ends, under the same condition |
    /// | `partition` | the group from which the client is cut off; if that is the greater one, the other group and the client; all nodes if the client reaches both groups, or hears both |
    /// | `delay` | the node, if another one may be lost: it may answer too late |
    /// | `client-crash`, or that the client leaves | the client |
    /// | `client-stop` | the client, if it lasts longer than 3 s; shorter, any node |
    ///
    /// Of two nodes of which one misses the other, either may be left out. So after an interruption that ends while it is noticed,
    /// between 1.5 s and 3 s, or several of which one is shorter, any node may be lost. If the client may be, a node that leads waits
    /// 4 s longer for the others.
    pub(super) const fn may_fail(&self) -> bool {
        self.faults.may_fail
    }

    /// Notes what may be lost because of a fault that hits `node` now.
    fn note_fault(&mut self, fault: &Fault, node: usize) {
        let client = self.client_place();
        let all = 0..self.nodes.len();
        let (lost, may_end): (Vec<usize>, bool) = match fault.kind {
            FaultKind::Slow
            | FaultKind::Loss
            | FaultKind::Late
            | FaultKind::LateOutputs
            | FaultKind::DiskError
            | FaultKind::DiskFull
            | FaultKind::Attach
            | FaultKind::AttachOther
            | FaultKind::FollowerCrash
            | FaultKind::FollowerCut => return,
            FaultKind::Delay => {
                self.faults.delayed.insert(node);
                return self.judge();
            }
            FaultKind::Crash
            | FaultKind::QuickRestart
            | FaultKind::Leave
            | FaultKind::Stop
            | FaultKind::Isolate
            | FaultKind::OneWay => (vec![node], false),
            FaultKind::Cut => match self.other_end(fault, node) {
                other if other == client => (vec![node], false),
                other => (vec![node, other], false),
            },
            FaultKind::Partition => {
                let partition = Partition::of(fault.factor);
                let first = all
                    .clone()
                    .filter(|node| partition.has_first(*node))
                    .count();
                let is_first_greater = self.nodes.len() < 2 * first;
                let is_second_greater = 2 * first < self.nodes.len();
                let (first_goes_on, by_node) = match partition.client {
                    // The client hears what nodes say that hear neither it nor the others.
                    [true, false] => (is_first_greater, is_first_greater),
                    [false, true] => (!is_second_greater, is_second_greater),
                    _ => (false, false),
                };
                let is_all = partition.client == [false, false]
                    || (partition.is_one_way && (by_node || partition.client[1]));
                self.faults.loses_client |= by_node && !is_all;
                let may_be = |node: &usize| is_all || partition.has_first(*node) != first_goes_on;
                (all.filter(may_be).collect(), false)
            }
            FaultKind::PowerLoss => (all.collect(), false),
            FaultKind::ClientCrash => {
                self.faults.loses_client = true;
                (Vec::new(), false)
            }
            FaultKind::ClientStop if 2 * HARMLESS <= fault.lasts => {
                self.faults.loses_client = true;
                (Vec::new(), false)
            }
            FaultKind::ClientStop if fault.is_harmless() => (Vec::new(), false),
            FaultKind::ClientStop => (all.collect(), false),
            FaultKind::Interrupt => (Vec::new(), true),
        };
        let is_passing = matches!(
            fault.kind,
            FaultKind::Stop | FaultKind::Isolate | FaultKind::OneWay | FaultKind::Partition
        );
        let is_short = is_passing && fault.is_harmless();
        let waits = [Step::Gather, Step::Probe, Step::Ready];
        let has_begun = !self.executed.is_empty()
            && (1 < self.views || self.steps().all(|step| !waits.contains(&step)));
        let faults = &mut self.faults;
        let is_one_of_several = is_passing && faults.has_passing;
        faults.has_passing |= is_passing;
        faults.has_short |= is_short;
        let ends_while_noticed = is_passing && !is_short && fault.lasts < 2 * HARMLESS;
        let ends_while_waited_for = is_passing && fault.lasts < 2 * HARMLESS + WAITED_FOR;
        faults.has_waited_for |= ends_while_waited_for && !is_short;
        let lost = if ends_while_noticed || (is_one_of_several && faults.has_short) {
            (0..self.nodes.len()).collect()
        } else {
            lost
        };
        faults.is_noticed |= faults.has_interruption || !fault.is_harmless();
        faults.has_interruption = true;
        faults.may_be_lost.extend(lost);
        faults.interrupts |= may_end;
        faults.is_early |= !has_begun;
        self.judge();
    }

    /// Decides whether the job may fail because of what may be lost.
    fn judge(&mut self) {
        let faults = &self.faults;
        if !faults.is_noticed && !faults.loses_client {
            return;
        }
        let request = &self.scenario.request;
        let lost = faults.lost();
        let all = 0..self.nodes.len();
        let left: BTreeSet<usize> = all.filter(|place| !lost.contains(place)).collect();
        let managers = members::rules(&request.setup).managers;
        let may_manage = |place: &usize| {
            let host = HostId::from_index(*place);
            managers.contains(&host) || self.scenario.managing.contains(&host)
        };
        let loses_client = faults.loses_client;
        let has_quorum = quorum(left.len(), self.nodes.len(), !loses_client);
        let may_lead = left.iter().any(|place| self.may_lead(*place));
        let can_go_on = request.checkpoint.is_none() || self.have_checkpoint(&left);
        let must_go_on = request.view.is_some()
            && !faults.is_early
            && !faults.interrupts
            && has_quorum
            && left.iter().any(may_manage)
            && (may_lead || !loses_client)
            && can_go_on
            && lost.len() + usize::from(loses_client) <= 3;
        self.faults.may_fail |= !must_go_on;
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

    /// Blocks the paths between the groups of a partition, or ends that.
    fn divide(&mut self, partition: Partition, is_blocked: bool) {
        let client = self.client_place();
        let nodes = 0..self.nodes.len();
        let (first, second): (Vec<usize>, Vec<usize>) =
            nodes.partition(|node| partition.has_first(*node));
        let [cut_off_first, cut_off_second] = partition.client;
        let with_client = |group: &[usize], is_in: bool| {
            let client = is_in.then_some(client);
            group.iter().copied().chain(client).collect::<Vec<usize>>()
        };
        // The client is on the side of the group from which it is not cut off.
        let (first, second) = (
            with_client(&first, cut_off_second),
            with_client(&second, cut_off_first),
        );
        for one in &first {
            for other in &second {
                self.network.block(*one, *other, is_blocked);
                if !partition.is_one_way {
                    self.network.block(*other, *one, is_blocked);
                }
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

    /// Sends what has waited for paths that are open now, of clients that attach or of all.
    pub(super) fn send_held(&mut self, followers_alone: bool) {
        for connection in self.connections.numbers(followers_alone) {
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
        self.forget(self.client_place());
    }

    fn forget(&mut self, place: usize) {
        self.leaders.retain(|_, leader| leader.owner.place != place);
        self.places[place].incarnation += 1;
        self.places[place].postponed.clear();
        for connection in self.connections.iter_mut() {
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
/// How long it waits until its job can go on without it.
const DRAINING: u64 = 10 * SECOND;
/// How long a node that leads waits for the answers of the others, in nanoseconds.
const WAITED_FOR: u64 = 4 * SECOND;

/// The faults of a scenario.
pub(super) struct Faults {
    all: Vec<(Fault, State)>,
    /// Faults that have happened, each with the step in which it hit a node.
    pub(super) hits: Vec<(FaultKind, Step)>,
    /// When the last of those that have happened ends.
    latest_end: u64,
    /// When the last of them ends to delay others.
    latest: u64,
    /// Whether something has been interrupted, or a node or the client has ended.
    has_interruption: bool,
    /// Whether that may have been noticed: several together may, even if none alone does.
    is_noticed: bool,
    /// Whether a node has not run or was not reached for some time, and whether such a time was short.
    has_passing: bool,
    has_short: bool,
    /// Whether it happened before the job had begun on all nodes.
    is_early: bool,
    /// Whether the user has interrupted the job.
    interrupts: bool,
    /// Whether the client may be lost.
    loses_client: bool,
    /// Whether an interruption may end while a node that leads waits for the answers of the others.
    has_waited_for: bool,
    /// Whether a view that a node leads has begun.
    is_led: bool,
    /// The number of nodes.
    nodes: usize,
    /// The nodes that may be lost then.
    may_be_lost: BTreeSet<usize>,
    /// The nodes that may answer late.
    delayed: BTreeSet<usize>,
    may_fail: bool,
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
            latest: 0,
            has_interruption: false,
            is_noticed: false,
            has_passing: false,
            has_short: false,
            is_early: false,
            interrupts: false,
            loses_client: scenario.request.is_left,
            has_waited_for: false,
            is_led: false,
            nodes: scenario.request.members.len(),
            may_be_lost: BTreeSet::new(),
            delayed: BTreeSet::new(),
            may_fail: false,
        }
    }

    /// Whether a fault lasts.
    pub(super) fn are_active(&self) -> bool {
        let mut states = self.all.iter().map(|(_, state)| state);
        states.any(|state| matches!(state, State::Active(_)))
    }

    /// Whether a node may be lost because of the faults so far.
    pub(super) fn may_lose(&self, place: usize) -> bool {
        self.lost().contains(&place)
    }

    /// The nodes that may be lost because of the faults so far. A delayed one may be if any other one or the client is.
    fn lost(&self) -> BTreeSet<usize> {
        let mut lost = BTreeSet::new();
        if self.is_noticed {
            lost.extend(&self.may_be_lost);
        }
        if self.is_noticed || self.loses_client {
            lost.extend(&self.delayed);
        }
        if self.loses_client && self.has_waited_for {
            lost.extend(0..self.nodes);
        }
        lost
    }

    /// When the last of the faults that have happened ends to delay others: a crash does at once.
    pub(super) const fn latest(&self) -> u64 {
        self.latest
    }

    /// Whether a connection or a process may have ended because of the faults so far.
    pub(super) const fn are_noticed(&self) -> bool {
        self.is_noticed
    }

    /// When the last of the faults that have happened ends.
    pub(super) const fn latest_end(&self) -> u64 {
        self.latest_end
    }
}
