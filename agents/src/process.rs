//! The agent of one process.

use bsp::units::{Instant, Instructions, Seconds};
use bsp::{HostId, Rank};
use migbsp::Observation;
use protocol::{Address, Arrived, Evaluate, Installed, Message, Migrate, Report, Start};
use serde::{Deserialize, Serialize};

use crate::setup::{Payment, Rules, Shape};
use crate::world::{Cost, Event, Exchange, Moved, World};

/// What a process's agent knows: where it is in the superstep, and the history that its potential of
/// migration comes from.
///
/// Told what happened by [`Process::on`]; encoded as it is when the process moves.
#[derive(Debug, Serialize, Deserialize)]
pub struct Process {
    rank: Rank,
    host: HostId,
    superstep: u64,
    /// When it arrived at the last barrier.
    arrived: Instant,
    /// What it pays at the start of its next superstep.
    owes: Seconds,
    work: Instructions,
    computation: Seconds,
    halted: bool,
    history: Option<Box<migbsp::Process>>,
}

impl Process {
    /// The agent of process `rank`, which starts on `host`.
    #[must_use]
    pub fn new(rules: &Rules, rank: Rank, host: HostId) -> Self {
        let history = rules
            .scheduler
            .as_ref()
            .map(|scheduler| Box::new(migbsp::Process::new(scheduler.model.parameters().interval)));
        Self {
            rank,
            host,
            superstep: 0,
            arrived: Instant::START,
            owes: Seconds::ZERO,
            work: Instructions::ZERO,
            computation: Seconds::ZERO,
            halted: false,
            history,
        }
    }

    /// Something happened to the process.
    ///
    /// # Panics
    ///
    /// If it is something that does not happen to processes.
    pub fn on(&mut self, rules: &Rules, event: Event, world: &mut dyn World) {
        match event {
            Event::Message {
                message: Message::Start(start),
                ..
            } => self.start(start, world),
            Event::Computed { work, time, halted } => {
                self.work = work;
                self.computation = time;
                self.halted = halted;
                world.exchange(self.rank);
            }
            Event::Exchanged(exchange) => self.arrive(rules, &exchange, world),
            Event::Message {
                message: Message::Finish,
                ..
            } => world.finished(self.rank),
            Event::Message {
                message: Message::Evaluate(order),
                ..
            } => {
                self.evaluate(rules, &order, world);
            }
            Event::Message {
                message: Message::Migrate(order),
                ..
            } => {
                self.depart(rules, order, world);
            }
            Event::Moved(moved) => self.settle(rules, &moved, world),
            other @ (Event::Message { .. } | Event::Woken | Event::Flushed) => {
                unreachable!("{} was told {other:?}", self.rank)
            }
        }
    }

    fn start(&mut self, start: Start, world: &mut dyn World) {
        if let Some(history) = &mut self.history {
            match start.interval {
                Some(interval) => history.restart(interval),
                None if start.superstep == 0 => {}
                None => history.waited(world.now() - self.arrived),
            }
        }
        self.superstep = start.superstep;
        world.run(self.rank, start.superstep, std::mem::take(&mut self.owes));
    }

    fn arrive(&mut self, rules: &Rules, exchange: &Exchange, world: &mut dyn World) {
        self.arrived = world.now();
        if let (Some(history), Some(scheduler)) = (&mut self.history, &rules.scheduler) {
            history.observe(
                &scheduler.model,
                Observation {
                    instructions: self.work,
                    computation_time: self.computation,
                    receptions: &exchange.receptions,
                    reception_longest: exchange.longest,
                },
            );
        }
        let own = Address::Process(self.rank);
        if self.halted {
            world.send(
                own,
                Address::Node(self.host),
                Message::Halted(self.rank),
                Cost::Free,
            );
        }
        let arrived = Arrived {
            superstep: self.superstep,
            processes: 1,
            halted: u32::from(self.halted),
            sent: exchange.sent.into(),
            received: exchange.received.into(),
            slowest: (self.computation, self.rank),
        };
        let first = Address::SetManager(rules.first);
        let (to, cost) = match rules.barrier.shape {
            Shape::Hierarchical => (Address::Node(self.host), Cost::Free),
            Shape::Ideal => (first, Cost::Free),
            Shape::Central if self.rank == Rank(0) && self.host == rules.first_host() => {
                (first, Cost::Free)
            }
            Shape::Central => (first, Cost::Network(rules.barrier.message)),
        };
        world.send(own, to, Message::Arrived(arrived), cost);
    }

    fn evaluate(&self, rules: &Rules, order: &Evaluate, world: &mut dyn World) {
        let scheduler = rules.scheduler.as_ref().expect("only a scheduler asks");
        let history = self
            .history
            .as_deref()
            .expect("kept whenever there is a scheduler");
        let own = rules.sets[self.host.index()];
        let image = world.image(self.rank);
        let situation = migbsp::Situation {
            own,
            image,
            sets: &order.sets,
        };
        let evaluation = history.evaluate(&scheduler.model, &situation);
        let entry = evaluation.entry(&scheduler.model, self.rank, history);
        let report = Report {
            superstep: order.superstep,
            rank: self.rank,
            host: self.host,
            bytes: history.bytes_last_from(entry.target),
            evaluation,
            entry,
            instructions: history.instructions_last(),
            instructions_resident: history.instructions_resident(),
            times: history.times().to_vec(),
        };
        let message = Message::Reported(Box::new(report));
        world.send(
            Address::Process(self.rank),
            Address::Node(self.host),
            message,
            Cost::Free,
        );
    }

    fn depart(&mut self, rules: &Rules, order: Migrate, world: &mut dyn World) {
        let payment = rules.scheduler.as_ref().map(|scheduler| scheduler.payment);
        if payment == Some(Payment::Migrant) {
            self.owes = order.owes;
        }
        let agent = rmp_serde::to_vec(self).expect("plain numbers always encode");
        world.depart(order, agent);
    }

    /// Lives on a new host, as the very process that left the old one.
    fn settle(&mut self, rules: &Rules, moved: &Moved, world: &mut dyn World) {
        let rank = self.rank;
        *self = rmp_serde::from_slice(&moved.agent).expect("encoded by `depart`");
        assert_eq!(self.rank, rank, "a state went to the wrong agent");
        self.host = moved.host;
        let manager = Address::SetManager(rules.sets[moved.host.index()]);
        let installed = Installed {
            rank,
            host: moved.host,
            epoch: moved.epoch,
        };
        world.send(
            Address::Node(moved.host),
            manager,
            Message::Installed(installed),
            Cost::Encoded,
        );
    }
}
