//! The agent that manages one Set.

mod barrier;
mod call;
mod placement_view;

use std::collections::BTreeSet;

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank, SetId};
use migbsp::{Elapsed, Planner, When};
use protocol::{Address, AgentMessage, Arrived, Start, StartCall};

use crate::record;
use crate::setup::{Collection, Rules, Scheduler, Shape};
use crate::world::{Cost, Event, World};
use barrier::Barrier;
use call::state::Call;
use placement_view::PlacementView;

/// The state of a Set Manager: the host of every process, the arrivals at the barrier, and the rescheduling call in
/// progress.
///
/// Told what happened by [`SetManager::handle`]. All Managers compute the same interval, tolerance and
/// list of potentials from the same exchanged data, and assert it.
#[derive(Debug)]
pub struct SetManager {
    set: SetId,
    /// The hosts of this Set.
    hosts: Vec<HostId>,
    /// Where every process lives.
    placement_view: PlacementView,
    /// How often the placement has changed.
    epoch: u64,
    /// Whether the first process has not halted and lives beside the first Manager.
    is_home: bool,
    /// Hosts of this Set that have taken a migrant in this run.
    has_migrant: BTreeSet<HostId>,
    when: Option<Box<dyn When>>,
    /// The planner of the first Manager, where plans name processors; absent while a plan is made.
    planner: Option<Planner>,
    barrier: Barrier,
    /// The superstep being executed, from 0, and when it was started.
    superstep: u64,
    started: Instant,
    /// Messages that were sent in the last superstep and count as received in this one.
    unreceived: u64,
    /// Overhead of the first Manager's host at the end of the last superstep.
    busy: Seconds,
    /// How long the barrier kept it busy in each superstep since the last call, for a scheduler.
    barrier_busy: Vec<Seconds>,
    call: Option<Call>,
    /// Messages of a call that has not begun here, in the order they came.
    early: Vec<(Address, AgentMessage)>,
    /// What the next superstep starts with, once the time has come.
    held: Option<Start>,
    /// The message for the first process on the first Manager's host, sent after those to all others: this process is the
    /// master of a central barrier, and starts when its own messages have arrived.
    last: Option<AgentMessage>,
}

impl SetManager {
    /// The Manager of `set`, whose hosts are `hosts`.
    #[must_use]
    pub fn new(rules: &Rules, set: SetId, hosts: Vec<HostId>) -> Self {
        let scheduler = rules.scheduler.as_ref();
        Self {
            set,
            is_home: rules.placement.first() == Some(&rules.first_host()),
            placement_view: PlacementView::new(rules, set, &hosts),
            barrier: Barrier::new(rules, set, &hosts),
            hosts,
            epoch: 0,
            has_migrant: BTreeSet::new(),
            when: scheduler
                .map(|scheduler| scheduler.policy.when(&scheduler.model, &scheduler.planning)),
            planner: scheduler
                .filter(|_| set == rules.first)
                .and_then(Scheduler::planner),
            superstep: 0,
            started: Instant::START,
            unreceived: 0,
            busy: Seconds::ZERO,
            barrier_busy: Vec::new(),
            call: None,
            early: Vec::new(),
            held: None,
            last: None,
        }
    }

    /// Something happened to the Set or in a call.
    ///
    /// # Panics
    ///
    /// If it is something that does not happen to Managers.
    pub fn handle(&mut self, rules: &Rules, event: Event, world: &mut dyn World) {
        match event {
            Event::Message {
                from,
                message: AgentMessage::Arrived(arrived),
            } => {
                self.handle_arrived(rules, from, arrived, world);
            }
            Event::Message {
                from,
                message: AgentMessage::StartCall(confer),
            } => {
                assert!(self.superstep <= confer.superstep, "a call about the past");
                if self.call.is_some() {
                    self.early.push((from, AgentMessage::StartCall(confer)));
                } else {
                    self.superstep = confer.superstep;
                    let began = world.now();
                    self.begin_call(rules, began, world);
                }
            }
            Event::Message { from, message } => {
                self.handle_call_message(rules, from, message, world);
            }
            Event::Woken => {
                let start = self.held.take().expect("woken to release what is held");
                self.release(rules, start, world);
            }
            Event::Flushed => {
                let message = self.last.take().expect("flushed to tell the first process");
                let own = Address::SetManager(self.set);
                world.send(own, Address::Process(Rank(0)), message, Cost::Free);
            }
            Event::Deliberated(deliberated) => self.handle_plan(rules, *deliberated, world),
            Event::Computed { .. } | Event::Exchanged(_) | Event::Moved(_) => {
                unreachable!("the Manager of {} cannot handle {event:?}", self.set)
            }
        }
    }

    /// Processes have arrived; when all have, the superstep is over.
    fn handle_arrived(
        &mut self,
        rules: &Rules,
        from: Address,
        arrived: Arrived,
        world: &mut dyn World,
    ) {
        assert!(
            self.superstep <= arrived.superstep,
            "an arrival from the past"
        );
        if self.superstep < arrived.superstep {
            // Another Manager was released first and its Set was quick.
            self.early.push((from, AgentMessage::Arrived(arrived)));
            return;
        }
        let is_first = from == Address::Process(Rank(0));
        let by_rank = rules.barrier.collection == Collection::ByRank;
        if rules.barrier.shape == Shape::Central && (is_first || by_rank) {
            // The first process waits for the others once it has computed, sent and received.
            self.listen(rules, arrived.superstep, Some(arrived.slowest.1), world);
        }
        if let Some(own_set) = self.barrier.arrive(rules, self.set, from, arrived) {
            let cost = Cost::Network(rules.barrier.message);
            self.send_to_managers(rules, &AgentMessage::Arrived(own_set), cost, world);
        }
        if let Some(all) = self.barrier.complete() {
            self.end_superstep(rules, all, world);
        }
    }

    /// Ends the superstep: all processes have arrived.
    fn end_superstep(&mut self, rules: &Rules, all: Arrived, world: &mut dyn World) {
        self.check_received(&all);
        let ended = world.now();
        let is_first = self.set == rules.first;
        if is_first {
            world.record(record::Event::Superstep(record::Superstep {
                index: self.superstep,
                started: self.started,
                ended,
                slowest: all.slowest.1,
                computation: all.slowest.0,
                mean: self.when.is_some().then(|| all.mean()),
                messages: all.sent,
            }));
            if self.when.is_some() {
                let busy = world.overhead_busy(rules.first_host());
                self.barrier_busy
                    .push(busy - std::mem::replace(&mut self.busy, busy));
            }
        }
        if self.calls(rules, &all) && !self.barrier.is_over() {
            if rules.barrier.shape != Shape::Hierarchical {
                let confer = AgentMessage::StartCall(StartCall {
                    superstep: self.superstep,
                });
                self.send_to_managers(rules, &confer, Cost::Encoded, world);
            }
            self.begin_call(rules, ended, world);
        } else {
            let start = Start {
                superstep: self.superstep + 1,
                interval: None,
            };
            self.release(rules, start, world);
        }
    }

    /// Every message is received in its superstep or, if it arrived where no process expected it, in the next one.
    fn check_received(&mut self, all: &Arrived) {
        let (index, sent) = (self.superstep, self.unreceived + all.sent);
        let left = sent.checked_sub(all.received);
        let left = left.unwrap_or_else(|| panic!("superstep {index}: {all:?}, of {sent} sent"));
        assert!(
            left <= all.sent,
            "superstep {index}: messages were lost: {all:?}, of {sent} sent"
        );
        self.unreceived = left;
    }

    /// Whether a call follows the superstep that `all` sums up.
    fn calls(&mut self, rules: &Rules, all: &Arrived) -> bool {
        let Some(when) = &mut self.when else {
            return false;
        };
        when.observe(&Elapsed {
            completed: self.superstep + 1,
            slowest: all.slowest.0,
            mean: all.mean(),
        });
        let completed = self.superstep + 1;
        let scheduler = rules.scheduler.as_ref().expect("calls have a scheduler");
        scheduler.is_scripted(completed) || when.is_due(completed)
    }

    /// Starts the next superstep with `start`.
    fn release(&mut self, rules: &Rules, start: Start, world: &mut dyn World) {
        self.superstep = start.superstep;
        self.started = world.now();
        self.pass_down(rules, start, world);
        if !self.is_home && self.set == rules.first {
            self.listen(rules, start.superstep, None, world);
        }
        self.retry_early(rules, world);
    }

    /// Waits for the messages of a central barrier: for all, or for the next after `last`.
    fn listen(&self, rules: &Rules, superstep: u64, last: Option<Rank>, world: &mut dyn World) {
        match rules.barrier.collection {
            Collection::AsTheyCome => world.listen(superstep, None),
            Collection::ByRank => {
                if let Some(next) = self.barrier.next_living(last) {
                    world.listen(superstep, Some(next));
                }
            }
        }
    }

    /// Sends `start` down the tree of the barrier; halted processes receive the end instead.
    fn pass_down(&mut self, rules: &Rules, start: Start, world: &mut dyn World) {
        let own = Address::SetManager(self.set);
        let network = match rules.barrier.shape {
            Shape::Ideal => Cost::Free,
            Shape::Central | Shape::Hierarchical => Cost::Network(rules.barrier.message),
        };
        let is_central = rules.barrier.shape == Shape::Central;
        let mut waits = false;
        self.barrier.release(|to, halted| {
            let message = if halted {
                AgentMessage::Finish
            } else {
                AgentMessage::Start(start)
            };
            if to == Address::Process(Rank(0)) && self.is_home {
                self.is_home = !halted;
                if is_central {
                    self.last = Some(message);
                    waits = true;
                    return;
                }
            }
            let is_here = to == Address::Node(rules.managers[self.set.index()]);
            world.send(own, to, message, if is_here { Cost::Free } else { network });
        });
        // Asked once per message: a first process that has halted may still wait for its last one when
        // the others' next superstep is over.
        if waits {
            world.flush(self.set);
        }
    }

    /// Handles again what had come too early.
    fn retry_early(&mut self, rules: &Rules, world: &mut dyn World) {
        for (from, message) in std::mem::take(&mut self.early) {
            self.handle(rules, Event::Message { from, message }, world);
        }
    }

    /// To all other Managers.
    fn send_to_managers(
        &self,
        rules: &Rules,
        message: &AgentMessage,
        cost: Cost,
        world: &mut dyn World,
    ) {
        let all = (0..rules.managers.len()).map(SetId::from_index);
        for set in all.filter(|set| *set != self.set) {
            self.send(set, message.clone(), cost, world);
        }
    }

    /// To another Manager.
    fn send(&self, to: SetId, message: AgentMessage, cost: Cost, world: &mut dyn World) {
        world.send(
            Address::SetManager(self.set),
            Address::SetManager(to),
            message,
            cost,
        );
    }
}

#[cfg(test)]
mod tests;
