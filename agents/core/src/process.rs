//! The agent of one process.

use std::sync::Arc;

use bsp::units::{Instant, Instructions, Seconds};
use bsp::{HostId, Rank, Reductions};
use model::{Observation, ProcessHistory};
use protocol::{
    Address, AgentMessage, Arrived, Evaluate, Installed, Migrate, Report, Start, decode_value,
};
use serde::{Deserialize, Serialize};

use crate::message_check::check;
use crate::setup::{Payment, Rules, Scheduler};
use crate::world::{Cost, Event, Exchange, Executor, Mail, Moved, World};

/// The state of a process's agent: its place in the superstep, and the history from which its potentials of migration are
/// computed.
///
/// [`Process::handle`] handles its events. The agent is encoded with all its fields when the process moves. A message that
/// contradicts the state ends the run: other machines may send anything.
#[derive(Debug, Serialize, Deserialize)]
pub struct Process {
    rank: Rank,
    host: HostId,
    superstep: u64,
    /// The time of its arrival at the last barrier.
    arrived: Instant,
    /// The cost that it pays at the start of its next superstep.
    deferred_cost: Seconds,
    work: Instructions,
    computation: Seconds,
    halted: bool,
    history: Option<Box<ProcessHistory>>,
    /// What the superstep before has reduced, in a checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reduced: Option<Arc<Reductions>>,
    /// Its contributions to reductions in the superstep that it executes.
    #[serde(skip)]
    reductions: Reductions,
    /// Whether it executes a superstep or exchanges its messages; a process that moves does neither.
    #[serde(skip)]
    is_active: bool,
    /// When it had computed the superstep that it executes.
    #[serde(skip)]
    computed: Instant,
}

impl Process {
    /// The agent of process `rank`, which starts on `host`.
    #[must_use]
    pub fn new(rules: &Rules, rank: Rank, host: HostId) -> Self {
        let history = rules.scheduler.as_ref().map(|scheduler| {
            let interval = scheduler.model.parameters().interval;
            Box::new(ProcessHistory::new(scheduler.policy.memory(), interval))
        });
        Self {
            rank,
            host,
            superstep: 0,
            arrived: Instant::START,
            deferred_cost: Seconds::ZERO,
            work: Instructions::ZERO,
            computation: Seconds::ZERO,
            halted: false,
            history,
            reduced: None,
            reductions: Reductions::default(),
            is_active: false,
            computed: Instant::START,
        }
    }

    /// The agent of process `rank` on `host`, continued from a checkpoint in which it was encoded as `agent`. Its history
    /// begins anew: Sets may mean other hosts, and what it measured it measured elsewhere.
    ///
    /// # Errors
    ///
    /// If `agent` is not the agent of this process between the superstep with which the run begins and the one before.
    pub fn resume(
        rules: &Rules,
        (rank, host): (Rank, HostId),
        agent: &[u8],
    ) -> Result<Self, String> {
        let invalid = |problem: &dyn std::fmt::Display| format!("the agent of {rank}: {problem}");
        let saved: Self = decode_value(agent).map_err(|error| invalid(&error))?;
        let is_sound = saved.rank == rank
            && !saved.halted
            && saved.superstep.checked_add(1) == Some(rules.first_superstep())
            && Seconds::ZERO <= saved.computation;
        check(is_sound, || {
            invalid(&"it is that of another process or checkpoint")
        })?;
        Ok(Self {
            superstep: saved.superstep,
            work: saved.work,
            computation: saved.computation,
            reduced: saved.reduced,
            ..Self::new(rules, rank, host)
        })
    }

    /// Handles an event of the process.
    ///
    /// # Panics
    ///
    /// If the event is one of Managers.
    pub fn handle(&mut self, rules: &Rules, event: Event, world: &mut dyn World) {
        match event {
            Event::Message { from, message } => {
                if let Err(problem) = self.handle_message(rules, message, world) {
                    world.refuse(from, problem);
                }
            }
            Event::Computed {
                work,
                time,
                halted,
                reductions,
            } => {
                self.reductions = reductions;
                self.work = work;
                self.computation = time;
                self.halted = halted;
                self.computed = world.now();
                world.exchange(self.rank);
            }
            Event::Exchanged(exchange) => self.arrive(rules, &exchange, world),
            Event::Moved(moved) => {
                if let Err(problem) = self.settle(rules, &moved, world) {
                    world.refuse(moved.from, problem);
                }
            }
            Event::Woken | Event::Flushed | Event::LinkProbed { .. } | Event::Deliberated(_) => {
                unreachable!("{} cannot handle {event:?}", self.rank)
            }
        }
    }

    fn handle_message(
        &mut self,
        rules: &Rules,
        message: AgentMessage,
        world: &mut dyn World,
    ) -> Result<(), String> {
        check(!self.is_active, || {
            format!("a message for {} in the middle of a superstep", self.rank)
        })?;
        match message {
            AgentMessage::Start(start) => {
                let superstep = start.superstep;
                check(!self.halted && self.superstep <= superstep, || {
                    format!("{} cannot start superstep {superstep}", self.rank)
                })?;
                self.start(rules, start, world);
            }
            AgentMessage::Finish => {
                check(self.halted, || format!("{} has not halted", self.rank))?;
                world.finished(self.rank);
            }
            AgentMessage::Evaluate(order) => self.evaluate(rules, &order, world)?,
            AgentMessage::Migrate(order) => self.depart(rules, order, world),
            _ => return Err("a message that processes do not receive".to_owned()),
        }
        Ok(())
    }

    fn start(&mut self, rules: &Rules, start: Start, world: &mut dyn World) {
        // A run that continues a checkpoint begins with what that has reduced.
        if start.reduced.is_some() {
            self.reduced = start.reduced;
        }
        if start.checkpoint {
            world.checkpoint(self.rank, start.superstep, self.encoded());
        }
        if let Some(history) = &mut self.history {
            match start.interval {
                Some(interval) => history.restart(interval),
                None if start.superstep == rules.first_superstep() => {}
                None => history.waited(world.now() - self.arrived),
            }
        }
        self.superstep = start.superstep;
        self.is_active = true;
        let delay = std::mem::take(&mut self.deferred_cost);
        let reduced = self.reduced.take();
        world.run(self.rank, start.superstep, self.computation, delay, reduced);
    }

    fn arrive(&mut self, rules: &Rules, exchange: &Exchange, world: &mut dyn Mail) {
        self.arrived = world.now();
        self.is_active = false;
        if rules.traced {
            world.record(record::Event::Traced(self.traced(exchange)));
        }
        self.observe(rules, exchange);
        let own = Address::Process(self.rank);
        if self.halted {
            world.send(
                own,
                Address::Node(self.host),
                AgentMessage::Halted(self.rank),
                Cost::Free,
            );
        }
        let arrived = arrival(
            self.superstep,
            (self.rank, self.halted),
            self.computation,
            (exchange.sent, exchange.received),
            std::mem::take(&mut self.reductions),
        );
        let (barrier, set) = (&rules.barrier, rules.sets[self.host.index()]);
        let to = barrier.parent(self.host, set);
        let cost = barrier.cost(own, || {
            barrier.has_nodes() || self.host == rules.managers[barrier.root(set).index()]
        });
        let cost = cost.and(arrived.reductions.charged_len());
        world.send(own, to, AgentMessage::Arrived(arrived), cost);
    }

    /// Adds the superstep in which it exchanged `exchange` to its history, if it has one.
    fn observe(&mut self, rules: &Rules, exchange: &Exchange) {
        if let (Some(history), Some(scheduler)) = (&mut self.history, &rules.scheduler) {
            history.observe(
                &scheduler.model,
                Observation {
                    instructions: self.work,
                    computation_time: self.computation,
                    receptions: &exchange.receptions,
                    incoming: &exchange.incoming,
                    reception_longest: exchange.longest,
                },
            );
        }
    }

    fn evaluate(
        &self,
        rules: &Rules,
        order: &Evaluate,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let scheduler = rules.scheduler.as_ref();
        let scheduled = scheduler.zip(self.history.as_deref());
        let (scheduler, history) = scheduled.ok_or("an evaluation without a scheduler")?;
        let own = rules.sets[self.host.index()];
        let image = world.memory(self.rank);
        let situation = model::Situation {
            own,
            image,
            sets: &order.sets,
            learned: order.learned,
        };
        let evaluation = history.evaluate(&scheduler.model, &situation);
        let entry = evaluation.entry(self.rank, history);
        let report = Report {
            superstep: order.superstep,
            rank: self.rank,
            host: self.host,
            bytes: history.bytes_last_from(entry.target),
            evaluation,
            entry,
            instructions: history.instructions_last(),
            instructions_resident: history.instructions_resident(),
            times: history.times(),
            load: history.load(self.rank, self.host, image).map(Box::new),
            remaining: scheduler.asked(|| world.remaining(self.rank, order.superstep + 1)),
        };
        let load = report.load.as_ref();
        world.record(record::Event::Observed(record::Observed {
            superstep: order.superstep + 1,
            rank: self.rank,
            image,
            resident: report.instructions_resident,
            forecast: load.map(|load| load.instructions),
            finished: load.and_then(|load| load.finished),
            received: load.map_or_else(Vec::new, |load| load.received.clone()),
            edges: load.map_or_else(Vec::new, |load| load.edges.clone()),
            noise: load.map_or(0.0, |load| load.noise),
            remaining: report.remaining,
        }));
        let message = AgentMessage::Reported(Box::new(report));
        world.send(
            Address::Process(self.rank),
            Address::Node(self.host),
            message,
            Cost::Free,
        );
        Ok(())
    }

    fn depart(&mut self, rules: &Rules, order: Migrate, world: &mut dyn Executor) {
        let payment = rules.scheduler.as_ref().map(|scheduler| scheduler.payment);
        if payment == Some(Payment::Migrant) {
            self.deferred_cost = order.deferred_cost;
        }
        world.depart(order, self.encoded());
    }

    /// What it did in the superstep in which it just arrived.
    fn traced(&self, exchange: &Exchange) -> record::Traced {
        record::Traced {
            superstep: self.superstep,
            rank: self.rank,
            host: self.host,
            started: earlier(self.computed, self.computation),
            computation: self.computation,
            exchange: self.arrived - self.computed,
            sent: exchange.bytes_sent,
            received: exchange.bytes_received,
            halted: self.halted,
        }
    }

    /// The agent with all its fields.
    fn encoded(&self) -> Vec<u8> {
        rmp_serde::to_vec(self).expect("plain numbers always encode")
    }

    /// Continues on a new host with the state of the agent on the old one.
    fn settle(&mut self, rules: &Rules, moved: &Moved, world: &mut dyn Mail) -> Result<(), String> {
        let rank = self.rank;
        let invalid = |problem: &dyn std::fmt::Display| format!("the agent of {rank}: {problem}");
        let agent: Self = decode_value(&moved.agent).map_err(|error| invalid(&error))?;
        let is_sound = agent.rank == rank
            && !agent.halted
            && agent.history.is_some() == rules.scheduler.is_some();
        check(is_sound, || invalid(&"it is that of another process"))?;
        *self = agent;
        self.host = moved.host;
        let manager = Address::SetManager(rules.sets[moved.host.index()]);
        let scheduler = rules.scheduler.as_ref();
        let installed = Installed {
            rank,
            host: moved.host,
            epoch: moved.epoch,
            measured: scheduler
                .is_some_and(Scheduler::learns)
                .then_some(moved.measured),
        };
        world.send(
            Address::Node(moved.host),
            manager,
            AgentMessage::Installed(installed),
            Cost::Encoded,
        );
        Ok(())
    }
}

/// The arrival of a process at the end of a superstep, with the number of messages that it sent and received. It may
/// have halted.
pub fn arrival(
    superstep: u64,
    (rank, halted): (Rank, bool),
    computation: Seconds,
    (sent, received): (u32, u32),
    reductions: Reductions,
) -> Arrived {
    Arrived {
        superstep,
        processes: 1,
        halted: u32::from(halted),
        sent: sent.into(),
        received: received.into(),
        slowest: (computation, rank),
        computation: nanoseconds(computation),
        took: Seconds::ZERO,
        checkpoint: false,
        reductions,
    }
}

/// The instant `time` before another, or the start of the run if that would be before it: measured times are longer by
/// what clocks differ.
fn earlier(instant: Instant, time: Seconds) -> Instant {
    let since_start = instant - Instant::START - time;
    Instant::new(since_start.max(Seconds::ZERO).get()).expect("a time between zero and an instant")
}

/// Whole nanoseconds: sums of them do not depend on their order.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a computation takes no negative time, and the conversion saturates"
)]
fn nanoseconds(time: Seconds) -> u64 {
    (time.get() * 1e9) as u64
}

#[cfg(test)]
mod tests;
