//! The agent that manages one Set.
//!
//! # Hosts that join between two supersteps, as one Manager takes part in it
//!
//! The world says which hosts join (`Membership::joining`), the same to all Managers. The processes that waited for these hosts
//! move to them as in a call. A call may follow.

mod call;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bsp::units::{Bytes, Instant, Seconds};
use bsp::{HostId, Notes, Rank, Reductions, SetId, reference};
use call::Call;
use model::{Elapsed, Planner, When};
use protocol::{Address, AgentMessage, Arrived, Installed, Migrate, Start, StartCall};

use crate::barrier::Arrivals;
use crate::learned_cost::LearnedCost;
use crate::message_check::check;
use crate::mutant::{self, Mutant};
use crate::outcome::RunError;
use crate::setup::{Joining, Relocation, Rules, can_pay};
use crate::world::{Cost, Event, Mail, World};

/// The state of a Set Manager: the host of every process, the arrivals at the barrier, and the rescheduling call in
/// progress.
///
/// [`SetManager::handle`] handles its events. All Managers compute the same interval, tolerance and list of potentials
/// from the same exchanged data, and check it. A message that contradicts the state of a Manager ends the run: other
/// machines may send anything.
#[derive(Debug)]
pub struct SetManager {
    set: SetId,
    /// The hosts of this Set.
    hosts: Vec<HostId>,
    /// The host of every process.
    placement: PlacementView,
    /// What calls need, in a run with a scheduler.
    scheduling: Option<Scheduling>,
    /// Who is waited for at the end of the superstep.
    arrivals: Arrivals,
    /// The superstep being executed, from 0, and when it was started.
    superstep: u64,
    started: Instant,
    /// How long the superstep before took.
    took: Seconds,
    /// Messages that were sent in the last superstep and count as received in this one.
    unreceived: u64,
    /// Whether the state in which the next superstep starts belongs to a checkpoint.
    is_checkpoint_due: bool,
    /// What the last superstep has reduced, for the next one.
    reduced: Option<Arc<Reductions>>,
    call: Option<Call>,
    /// The hosts that are joining.
    admission: Option<Admission>,
    /// The last superstep after which hosts joined.
    joined_after: Option<u64>,
    /// Messages of a call that has not begun here, in the order of arrival.
    early: Vec<(Address, AgentMessage)>,
    /// The start of the next superstep, until the call has lasted long enough.
    held: Option<Start>,
    /// The message for the first process on the first Manager's host, sent after those to all others: this process is the
    /// master of a central barrier, and starts when its own messages have arrived.
    last: Option<AgentMessage>,
    /// Whether a message was refused: the run is over, and later events are ignored.
    has_refused: bool,
}

/// What a Manager knows for calls.
#[derive(Debug)]
struct Scheduling {
    when: Box<dyn When>,
    /// The planner of the first Manager, where plans name processors; absent while a plan is made.
    planner: Option<Planner>,
    /// The superstep with which the run ends at the latest, if a call has found out.
    end: Option<u64>,
    /// What is known of the cost of moves.
    learned_cost: LearnedCost,
    /// Overhead of the first Manager's host at the end of the last superstep.
    busy: Seconds,
    /// The time for which the barrier kept it busy in each superstep since the last call.
    barrier_busy: Vec<Seconds>,
}

/// Moves between two supersteps: those of a call, or those to hosts that join.
#[derive(Debug, Default)]
struct Moves {
    /// All of them, once they are known here.
    orders: Option<Vec<Migrate>>,
    /// The processes that have been installed.
    installed: BTreeMap<Rank, Installed>,
}

impl Moves {
    /// Whether processes move, as far as is known.
    fn is_any(&self) -> bool {
        self.orders
            .as_ref()
            .is_some_and(|orders| !orders.is_empty())
    }

    /// Whether all moves are known, and all processes that move are installed.
    ///
    /// # Errors
    ///
    /// If a process is installed elsewhere than ordered.
    fn are_complete(&self) -> Result<bool, String> {
        let Some(orders) = &self.orders else {
            return Ok(false);
        };
        let needed = if mutant::is(Mutant::CommitEarly) {
            orders.len().min(1)
        } else {
            orders.len()
        };
        if self.installed.len() < needed {
            return Ok(false);
        }
        for Migrate { rank, to, .. } in orders {
            let installed = self.installed.get(rank);
            check(
                installed.is_some_and(|installed| installed.host == *to),
                || format!("{rank} is not installed on {to}"),
            )?;
        }
        check(self.installed.len() == orders.len(), || {
            "processes are installed that do not move".to_owned()
        })?;
        Ok(true)
    }
}

impl SetManager {
    /// The Manager of `set`, whose hosts are `hosts`.
    #[must_use]
    pub fn new(rules: &Rules, set: SetId, hosts: Vec<HostId>) -> Self {
        let scheduling = rules.scheduler.as_ref().map(|scheduler| Scheduling {
            when: scheduler.policy.when(&scheduler.model, &scheduler.planning),
            planner: (set == rules.first).then(|| scheduler.planner()).flatten(),
            end: None,
            learned_cost: LearnedCost::new(scheduler),
            busy: Seconds::ZERO,
            barrier_busy: Vec::new(),
        });
        Self {
            set,
            placement: PlacementView::new(rules, set, &hosts),
            arrivals: Arrivals::new(rules, set),
            hosts,
            scheduling,
            superstep: rules.first_superstep(),
            started: Instant::START,
            took: Seconds::ZERO,
            unreceived: 0,
            is_checkpoint_due: false,
            reduced: None,
            call: None,
            admission: None,
            joined_after: None,
            early: Vec::new(),
            held: None,
            last: None,
            has_refused: false,
        }
    }

    /// Handles an event of the Set or of a call.
    ///
    /// # Panics
    ///
    /// If the event is one of processes.
    pub fn handle(&mut self, rules: &Rules, event: Event, world: &mut dyn World) {
        if self.has_refused {
            return;
        }
        match event {
            Event::Message { from, message } => {
                let handled = self.handle_message(rules, from, message, world);
                self.refuse(from, handled, world);
            }
            Event::Woken => match self.held.take() {
                Some(start) => self.release(rules, &start, world),
                None => {
                    let admitted = self.admit(rules, world);
                    self.refuse(Address::SetManager(self.set), admitted, world);
                }
            },
            Event::Flushed => {
                let message = self.last.take().expect("flushed for the first process");
                let own = Address::SetManager(self.set);
                world.send(own, Address::Process(Rank(0)), message, Cost::Free);
            }
            Event::Deliberated(deliberated) => {
                let handled = self.handle_plan(rules, *deliberated, world);
                self.refuse(Address::SetManager(self.set), handled, world);
            }
            Event::Computed { .. }
            | Event::Exchanged(_)
            | Event::Moved(_)
            | Event::LinkProbed { .. } => {
                unreachable!("the Manager of {} cannot handle {event:?}", self.set)
            }
        }
    }

    /// Ends the run if an event of `from` was handled with a problem.
    fn refuse(&mut self, from: Address, handled: Result<(), String>, world: &mut dyn Mail) {
        if let Err(problem) = handled {
            self.has_refused = true;
            world.refuse(from, problem);
        }
    }

    /// Handles a message of another agent.
    fn handle_message(
        &mut self,
        rules: &Rules,
        from: Address,
        message: AgentMessage,
        world: &mut dyn World,
    ) -> Result<(), String> {
        match message {
            AgentMessage::Arrived(arrived) => self.handle_arrived(rules, from, arrived, world),
            AgentMessage::StartCall(order) => self.handle_start_call(rules, from, order, world),
            AgentMessage::Installed(installed) if self.admission.is_some() => {
                self.handle_installed(rules, from, installed, world)
            }
            message => self.handle_call_message(rules, from, message, world),
        }
    }

    fn handle_start_call(
        &mut self,
        rules: &Rules,
        from: Address,
        order: StartCall,
        world: &mut dyn World,
    ) -> Result<(), String> {
        check(self.superstep <= order.superstep, || {
            "a call after a superstep that is over".to_owned()
        })?;
        if self.call.is_some() || self.admission.is_some() {
            return self.keep_early(rules, from, AgentMessage::StartCall(order));
        }
        self.superstep = order.superstep;
        if self.joined_after != Some(order.superstep)
            && let Some(joining) = world.joining(order.superstep + 1)
        {
            return self.begin_joining(rules, joining, false, world);
        }
        let began = world.now();
        self.begin_call(rules, began, world);
        Ok(())
    }

    /// Handles the arrival of processes at the barrier. When all have arrived, the superstep ends.
    fn handle_arrived(
        &mut self,
        rules: &Rules,
        from: Address,
        arrived: Arrived,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let superstep = arrived.superstep;
        check(self.superstep <= superstep, || {
            format!("an arrival in superstep {superstep}, which is over")
        })?;
        if self.superstep < superstep {
            // Another Manager was released first, and its Set was faster.
            return self.keep_early(rules, from, AgentMessage::Arrived(arrived));
        }
        let is_first = from == Address::Process(Rank(0));
        let is_started = self.held.is_none() && !(is_first && self.last.is_some());
        check(self.call.is_none() && is_started, || {
            format!("an arrival in superstep {superstep}, which has not started")
        })?;
        self.arrivals.check(rules, from, &arrived)?;
        let is_of_another =
            from != Address::SetManager(self.set) && matches!(from, Address::SetManager(_));
        let arrived = if rules.barrier.ends_in_each_set() && !is_of_another {
            // What the last superstep took in this Set, which ends supersteps by itself.
            Arrived {
                took: self.took,
                ..arrived
            }
        } else {
            arrived
        };
        if let Some(mut own_set) = self.arrivals.arrive(from, arrived) {
            if self.set == self.arrivals.deciding(rules.first) {
                self.is_checkpoint_due = world.is_checkpoint_due(superstep + 1);
                own_set.checkpoint = self.is_checkpoint_due;
            }
            let cost = rules.barrier.network();
            let cost = cost.and(own_set.reductions.charged_len());
            self.send_to_managers(rules, &AgentMessage::Arrived(own_set), cost, world);
        }
        match self.arrivals.complete() {
            Some(all) => self.end_superstep(rules, all, world),
            None => Ok(()),
        }
    }

    /// Ends the superstep: all processes have arrived.
    fn end_superstep(
        &mut self,
        rules: &Rules,
        mut all: Arrived,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let reductions = std::mem::take(&mut all.reductions);
        if let Err(problem) = self.check_received(&all) {
            // The counts come from all members: none of those that pass them on is at fault by itself.
            self.has_refused = true;
            world.fail(RunError::Peer(problem));
            return Ok(());
        }
        let mut notes = Notes::default();
        if !reductions.is_empty() {
            match reference::conclude(reductions, self.superstep) {
                Ok(concluded) => {
                    notes = concluded.notes;
                    let reduced = concluded.reduced;
                    self.reduced = (!reduced.is_empty()).then(|| Arc::new(reduced));
                }
                Err(error) => {
                    self.has_refused = true;
                    world.fail(error.into());
                    return Ok(());
                }
            }
        }
        self.is_checkpoint_due |= all.checkpoint;
        let ended = world.now();
        self.took = (ended - self.started).max(Seconds::ZERO);
        let in_each_set = rules.barrier.ends_in_each_set();
        // All Managers decide from the same number.
        let took = if in_each_set { all.took } else { self.took };
        let is_first = self.set == rules.first;
        if is_first {
            if !in_each_set && !self.arrivals.is_over() {
                self.is_checkpoint_due = world.is_checkpoint_due(self.superstep + 1);
            }
            world.record(record::Event::Superstep(record::Superstep {
                index: self.superstep,
                started: self.started,
                ended,
                slowest: all.slowest.1,
                computation: all.slowest.0,
                mean: self.scheduling.is_some().then(|| all.mean()),
                took: in_each_set.then_some(took),
                messages: all.sent,
                notes,
            }));
            if let Some(scheduling) = &mut self.scheduling {
                let busy = world.overhead_busy(rules.first_host());
                let before = std::mem::replace(&mut scheduling.busy, busy);
                scheduling.barrier_busy.push(busy - before);
            }
        }
        let is_due = self.calls(rules, &all, took) && !self.arrivals.is_over();
        if !self.arrivals.is_over()
            && let Some(joining) = world.joining(self.superstep + 1)
        {
            self.announce_call(rules, world);
            return self.begin_joining(rules, joining, is_due, world);
        }
        if is_due {
            self.hold_call(rules, ended, world);
        } else {
            let start = self.next_start(None);
            self.release(rules, &start, world);
        }
        Ok(())
    }

    /// Checks that every message is received in its superstep or, if it arrived where no process expected it, in the
    /// next one.
    fn check_received(&mut self, all: &Arrived) -> Result<(), String> {
        let sent = self.unreceived.saturating_add(all.sent);
        let left = sent.checked_sub(all.received);
        let left = left.filter(|left| *left <= all.sent).ok_or_else(|| {
            let (superstep, received) = (self.superstep, all.received);
            format!(
                "superstep {superstep}: {received} of {sent} messages were received, by the counts of all nodes; one of them"
            )
        })?;
        self.unreceived = left;
        Ok(())
    }

    /// Whether a call follows the superstep that `all` sums up; it or the one before took `took`.
    fn calls(&mut self, rules: &Rules, all: &Arrived, took: Seconds) -> bool {
        let Some(scheduling) = &mut self.scheduling else {
            return false;
        };
        let completed = self.superstep + 1;
        let of_run = completed - rules.first_superstep();
        scheduling.when.observe(&Elapsed {
            completed: of_run,
            slowest: all.slowest.0,
            mean: all.mean(),
            took,
        });
        let scheduler = rules.scheduler.as_ref().expect(SCHEDULED);
        let is_due = rules.round.ends_with(self.superstep) && scheduling.when.is_due(of_run);
        scheduler.is_scripted(completed) || is_due && can_pay(completed, scheduling.end)
    }

    /// The start of the next superstep, after a call with the length of the next interval.
    fn next_start(&mut self, interval: Option<u32>) -> Start {
        Start {
            superstep: self.superstep + 1,
            interval,
            checkpoint: std::mem::take(&mut self.is_checkpoint_due),
            reduced: self.reduced.take(),
        }
    }

    /// Starts the next superstep with `start`.
    fn release(&mut self, rules: &Rules, start: &Start, world: &mut dyn World) {
        self.superstep = start.superstep;
        self.started = world.now();
        if world.released(self.set, start, self.arrivals.is_over()) {
            self.pass_down(rules, start, world);
        }
        self.retry_early(rules, world);
    }

    /// Sends `start` down the tree of the barrier; halted processes receive the end instead.
    fn pass_down(&mut self, rules: &Rules, start: &Start, world: &mut dyn Mail) {
        let own = Address::SetManager(self.set);
        let node = Address::Node(rules.managers[self.set.index()]);
        let reduced = start.reduced.as_ref();
        let reduced = reduced.map_or(Bytes::ZERO, |reduced| reduced.charged_len());
        let mut waits = false;
        self.arrivals.release(|to, halted| {
            let message = if halted {
                AgentMessage::Finish
            } else {
                AgentMessage::Start(start.clone())
            };
            let is_master = to == Address::Process(Rank(0)) && self.placement.has_master;
            if is_master {
                self.placement.has_master = !halted;
                if rules.barrier.has_master() {
                    self.last = Some(message);
                    waits = true;
                    return;
                }
            }
            let cost = rules.barrier.cost(to, || is_master || to == node);
            let cost = if halted { cost } else { cost.and(reduced) };
            world.send(own, to, message, cost);
        });
        // Once per message: a first process that has halted may still wait for its last one when the next superstep of
        // the others is over.
        if waits {
            world.flush(self.set);
        }
    }

    /// Orders the moves of processes of this Set.
    fn order(&self, rules: &Rules, moves: &[Migrate], world: &mut dyn Mail) {
        let own = Address::SetManager(self.set);
        let of_own = |order: &&Migrate| rules.sets[order.from.index()] == self.set;
        for order in moves.iter().filter(of_own) {
            let node = Address::Node(order.from);
            world.send(own, node, AgentMessage::Migrate(*order), Cost::Encoded);
        }
    }

    /// Orders these moves, once all Managers know them.
    fn carry_out(
        &mut self,
        rules: &Rules,
        orders: Vec<Migrate>,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let mut moving = BTreeSet::new();
        for Migrate { rank, from, to, .. } in &orders {
            let is_possible = from != to
                && moving.insert(*rank)
                && self.placement.of(*rank) == *from
                && self.arrivals.can_move(rules, *from);
            check(is_possible, || {
                format!("{rank} cannot move from {from} to {to}")
            })?;
        }
        self.order(rules, &orders, world);
        self.moves().orders = Some(orders);
        Ok(())
    }

    /// The moves in progress.
    fn moves(&mut self) -> &mut Moves {
        match (&mut self.admission, &mut self.call) {
            (Some(admission), _) => &mut admission.moves,
            (None, call) => &mut call.as_mut().expect("a call is being held").moves,
        }
    }

    /// Handles the installation of a process on its new host, of which the Manager there informs the others.
    fn handle_installed(
        &mut self,
        rules: &Rules,
        from: Address,
        installed: Installed,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let Installed {
            rank, host, epoch, ..
        } = installed;
        check(epoch == self.placement.epoch + 1, || {
            format!("{rank} is installed in placement {epoch}, which is not the next one")
        })?;
        let is_new = self.moves().installed.insert(rank, installed).is_none();
        check(is_new, || format!("{rank} is installed twice"))?;
        if rules.sets[host.index()] == self.set && matches!(from, Address::Node(_)) {
            let message = AgentMessage::Installed(installed);
            self.send_to_managers(rules, &message, Cost::Encoded, world);
        }
        if self.admission.is_some() {
            self.conclude_joining(rules, world)
        } else {
            self.conclude_call(rules, world)
        }
    }

    /// All processes that move are installed: the next placement is that of all Managers.
    fn commit_moves(&mut self, rules: &Rules, orders: &[Migrate], world: &mut dyn World) {
        for order in orders {
            self.placement.apply(rules, order);
            self.arrivals.moved(rules, order);
        }
        if !orders.is_empty() {
            self.placement.epoch += 1;
            world.commit(self.set, self.placement.epoch, orders);
        }
    }

    /// Keeps a message that arrived early.
    fn keep_early(
        &mut self,
        rules: &Rules,
        from: Address,
        message: AgentMessage,
    ) -> Result<(), String> {
        // An agent sends a few messages of each superstep and each call, and none is more than one superstep ahead.
        let agents = rules.placement.len() + rules.sets.len() + rules.managers.len();
        check(self.early.len() < EARLY_PER_AGENT * agents, || {
            "too many early messages".to_owned()
        })?;
        self.early.push((from, message));
        Ok(())
    }

    /// Handles the messages that arrived early.
    fn retry_early(&mut self, rules: &Rules, world: &mut dyn World) {
        for (from, message) in std::mem::take(&mut self.early) {
            self.handle(rules, Event::Message { from, message }, world);
        }
    }

    /// Sends a message to all other Managers.
    fn send_to_managers(
        &self,
        rules: &Rules,
        message: &AgentMessage,
        cost: Cost,
        world: &mut dyn Mail,
    ) {
        let all = (0..rules.managers.len()).map(SetId::from_index);
        for set in all.filter(|set| *set != self.set) {
            self.send(set, message.clone(), cost, world);
        }
    }

    /// Sends a message to another Manager.
    fn send(&self, to: SetId, message: AgentMessage, cost: Cost, world: &mut dyn Mail) {
        world.send(
            Address::SetManager(self.set),
            Address::SetManager(to),
            message,
            cost,
        );
    }
}

/// Early messages that a Manager keeps for each agent of the run.
const EARLY_PER_AGENT: usize = 8;

/// The hosts that are joining, as one Manager sees it.
#[derive(Debug)]
struct Admission {
    joining: Joining,
    /// Whether a call follows.
    is_due: bool,
    moves: Moves,
}

impl SetManager {
    /// Hosts join after the present superstep. `is_due`: whether a call follows.
    fn begin_joining(
        &mut self,
        rules: &Rules,
        joining: Joining,
        is_due: bool,
        world: &mut dyn World,
    ) -> Result<(), String> {
        self.joined_after = Some(self.superstep);
        let wait = joining.wait;
        self.admission = Some(Admission {
            joining,
            is_due,
            moves: Moves::default(),
        });
        if Seconds::ZERO < wait {
            world.wake(Address::SetManager(self.set), wait);
            self.retry_early(rules, world);
            return Ok(());
        }
        self.admit(rules, world)
    }

    /// The hosts that join are prepared: their processes move.
    fn admit(&mut self, rules: &Rules, world: &mut dyn World) -> Result<(), String> {
        let admission = self.admission.as_mut().expect("hosts join");
        let own = |host: &&HostId| rules.sets[host.index()] == self.set;
        self.hosts
            .extend(admission.joining.hosts.iter().filter(own));
        self.hosts.sort();
        let epoch = self.placement.epoch + 1;
        let order = |moved: &Relocation| Migrate {
            rank: moved.rank,
            from: moved.from,
            to: moved.to,
            epoch,
            deferred_cost: Seconds::ZERO,
        };
        let orders: Vec<Migrate> = admission.joining.moves.iter().map(order).collect();
        self.carry_out(rules, orders, world)?;
        self.retry_early(rules, world);
        self.conclude_joining(rules, world)
    }

    /// Continues when all processes that move have been installed on the hosts that have joined.
    fn conclude_joining(&mut self, rules: &Rules, world: &mut dyn World) -> Result<(), String> {
        let Some(admission) = self.admission.take() else {
            return Ok(());
        };
        if !admission.moves.are_complete()? {
            self.admission = Some(admission);
            return Ok(());
        }
        let Admission {
            joining,
            is_due,
            moves,
        } = admission;
        self.commit_moves(rules, &moves.orders.unwrap_or_default(), world);
        let ended = world.now();
        if self.set == rules.first {
            for record in joining.records {
                world.record(record::Event::Join(record::Join { ended, ..record }));
            }
        }
        if is_due {
            self.hold_call(rules, ended, world);
        } else if rules.barrier.root(self.set) == self.set {
            let start = self.next_start(None);
            self.release(rules, &start, world);
        }
        // Managers that do not end supersteps wait for the next call.
        self.retry_early(rules, world);
        Ok(())
    }
}

/// Where every process lives, those that have halted included, as one Manager keeps it: the placement
/// that all Managers share, and what has changed since.
#[derive(Debug)]
struct PlacementView {
    own: SetId,
    /// Where processes started, by rank.
    start: Arc<[HostId]>,
    /// The hosts of the processes that have moved.
    moved: BTreeMap<Rank, HostId>,
    /// The number of processes on each host of the own Set; none of these is zero.
    here: BTreeMap<HostId, u32>,
    /// The number of changes.
    epoch: u64,
    /// Whether the first process has not halted and runs on the host of the first Manager.
    has_master: bool,
    /// The hosts of the own Set to which a process has migrated in a call.
    occupied: BTreeSet<HostId>,
}

impl PlacementView {
    /// The placement at the start, as the Manager of `own` sees it, whose hosts are `hosts`.
    fn new(rules: &Rules, own: SetId, hosts: &[HostId]) -> Self {
        let residents = |host: &HostId| (*host, rules.on_host[host.index()]);
        Self {
            own,
            start: Arc::clone(&rules.placement),
            moved: BTreeMap::new(),
            here: hosts
                .iter()
                .map(residents)
                .filter(|(_, count)| 0 < *count)
                .collect(),
            epoch: 0,
            has_master: rules.running().next() == Some((Rank(0), rules.first_host())),
            occupied: BTreeSet::new(),
        }
    }

    /// A process moves.
    ///
    /// # Panics
    ///
    /// If it runs on another host than `order.from`.
    fn apply(&mut self, rules: &Rules, order: &Migrate) {
        assert_eq!(self.of(order.rank), order.from, "{} moves", order.rank);
        if order.to == self.start[order.rank.index()] {
            self.moved.remove(&order.rank);
        } else {
            self.moved.insert(order.rank, order.to);
        }
        if rules.sets[order.from.index()] == self.own {
            let count = self.here.get_mut(&order.from);
            let count = count.expect("a process lived there");
            *count -= 1;
            if *count == 0 {
                self.here.remove(&order.from);
            }
        }
        if rules.sets[order.to.index()] == self.own {
            *self.here.entry(order.to).or_default() += 1;
        }
        if order.rank == Rank(0) {
            self.has_master = order.to == rules.first_host();
        }
    }

    /// The host of a process.
    fn of(&self, rank: Rank) -> HostId {
        match self.moved.get(&rank) {
            Some(host) => *host,
            None => self.start[rank.index()],
        }
    }

    /// The hosts of the own Set on which processes run, in order.
    fn hosts(&self) -> impl ExactSizeIterator<Item = HostId> + '_ {
        self.here.keys().copied()
    }

    /// The number of processes in the own Set.
    fn processes(&self) -> u32 {
        self.here.values().sum()
    }
}

/// Why there is a scheduler.
const SCHEDULED: &str = "calls have a scheduler";

#[cfg(test)]
mod tests;
