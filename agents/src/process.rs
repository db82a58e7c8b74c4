//! The agent of one process.

use bsp::units::{Instant, Instructions, Seconds};
use bsp::{HostId, Rank};
use migbsp::Observation;
use protocol::{Address, AgentMessage, Arrived, Evaluate, Installed, Migrate, Report, Start};
use serde::{Deserialize, Serialize};

use crate::record;
use crate::setup::{Payment, Rules, Shape};
use crate::world::{Cost, Event, Exchange, Moved, World};

/// What a process's agent knows: where it is in the superstep, and the history that its potential of
/// migration comes from.
///
/// Told what happened by [`Process::handle`]; encoded as it is when the process moves.
#[derive(Debug, Serialize, Deserialize)]
pub struct Process {
    rank: Rank,
    host: HostId,
    superstep: u64,
    /// When it arrived at the last barrier.
    arrived: Instant,
    /// What it pays at the start of its next superstep.
    deferred_cost: Seconds,
    work: Instructions,
    computation: Seconds,
    halted: bool,
    history: Option<Box<migbsp::Process>>,
}

impl Process {
    /// The agent of process `rank`, which starts on `host`.
    #[must_use]
    pub fn new(rules: &Rules, rank: Rank, host: HostId) -> Self {
        let history = rules.scheduler.as_ref().map(|scheduler| {
            let interval = scheduler.model.parameters().interval;
            Box::new(migbsp::Process::new(scheduler.policy.memory(), interval))
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
        }
    }

    /// Something happened to the process.
    ///
    /// # Panics
    ///
    /// If it is something that does not happen to processes.
    pub fn handle(&mut self, rules: &Rules, event: Event, world: &mut dyn World) {
        match event {
            Event::Message {
                message: AgentMessage::Start(start),
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
                message: AgentMessage::Finish,
                ..
            } => world.finished(self.rank),
            Event::Message {
                message: AgentMessage::Evaluate(order),
                ..
            } => {
                self.evaluate(rules, &order, world);
            }
            Event::Message {
                message: AgentMessage::Migrate(order),
                ..
            } => {
                self.depart(rules, order, world);
            }
            Event::Moved(moved) => self.settle(rules, &moved, world),
            other @ (Event::Message { .. }
            | Event::Woken
            | Event::Flushed
            | Event::Deliberated(_)) => {
                unreachable!("{} cannot handle {other:?}", self.rank)
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
        world.run(
            self.rank,
            start.superstep,
            std::mem::take(&mut self.deferred_cost),
        );
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
                AgentMessage::Halted(self.rank),
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
            computation: nanoseconds(self.computation),
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
        world.send(own, to, AgentMessage::Arrived(arrived), cost);
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
            load: history.load(self.rank, self.host, image),
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
        }));
        let message = AgentMessage::Reported(Box::new(report));
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
            self.deferred_cost = order.deferred_cost;
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
            AgentMessage::Installed(installed),
            Cost::Encoded,
        );
    }
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
mod tests {
    use bsp::SetId;
    use migbsp::Reception;

    use super::*;
    use crate::setup::{Collection, Scheduler};
    use crate::test_world::{Act, TestWorld, scheduler};

    /// Process 1 of two on host 0, and its [`TestWorld`].
    fn process(shape: Shape, scheduler: Option<Scheduler>) -> (TestWorld, Process) {
        let test_world = TestWorld::new(shape, Collection::AsTheyCome, &[0, 0], &[9; 2], scheduler);
        let process = Process::new(&test_world.rules, Rank(1), HostId(0));
        (test_world, process)
    }

    fn tell(test_world: &mut TestWorld, process: &mut Process, event: Event) {
        let (same, _) = self::process(
            test_world.rules.barrier.shape,
            test_world.rules.scheduler.clone(),
        );
        process.handle(&same.rules, event, test_world);
    }

    fn message(message: AgentMessage) -> Event {
        let from = Address::SetManager(SetId(0));
        Event::Message { from, message }
    }

    fn start(superstep: u64) -> Event {
        let interval = None;
        message(AgentMessage::Start(Start {
            superstep,
            interval,
        }))
    }

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    /// One superstep in which the process computes for two seconds and receives from both Sets.
    fn superstep(test_world: &mut TestWorld, process: &mut Process, index: u64, halted: bool) {
        tell(test_world, process, start(index));
        let computed = Event::Computed {
            work: Instructions(2_000_000_000),
            time: seconds(2.0),
            halted,
        };
        tell(test_world, process, computed);
        let reception = |set| Reception {
            set: SetId(set),
            bytes: bsp::units::Bytes(100),
            time: seconds(0.25),
        };
        let exchange = Exchange {
            sent: 3,
            received: 2,
            longest: seconds(0.25),
            receptions: [reception(0), reception(1)].into_iter().collect(),
        };
        tell(test_world, process, Event::Exchanged(exchange));
    }

    #[test]
    fn a_superstep_ends_at_whoever_the_barrier_s_shape_says() {
        let arrived = |halted| {
            AgentMessage::Arrived(Arrived {
                superstep: 0,
                processes: 1,
                halted,
                sent: 3,
                received: 2,
                slowest: (seconds(2.0), Rank(1)),
                computation: 2_000_000_000,
            })
        };
        let manager = Address::SetManager(SetId(0));
        let node = Address::Node(HostId(0));
        let own = Address::Process(Rank(1));
        let cases = [
            (Shape::Central, manager, Cost::Network(bsp::units::Bytes(8))),
            (Shape::Hierarchical, node, Cost::Free),
            (Shape::Ideal, manager, Cost::Free),
        ];
        for (shape, to, cost) in cases {
            let (mut test_world, mut process) = process(shape, None);
            superstep(&mut test_world, &mut process, 0, false);
            let acts = [Act::Run(Rank(1), 0, Seconds::ZERO), Act::Exchange(Rank(1))];
            assert_eq!(test_world.acts, acts);
            assert_eq!(test_world.sent, [(own, to, arrived(0), cost)], "{shape:?}");

            let (mut test_world, mut process) = self::process(shape, None);
            superstep(&mut test_world, &mut process, 0, true);
            let halted = (own, node, AgentMessage::Halted(Rank(1)), Cost::Free);
            assert_eq!(test_world.sent, [halted, (own, to, arrived(1), cost)]);
            tell(&mut test_world, &mut process, message(AgentMessage::Finish));
            assert_eq!(test_world.finished, [Rank(1)]);
        }
    }

    #[test]
    fn a_process_that_moves_is_the_one_that_left_and_pays_what_it_owes_once() {
        for payment in [Payment::Transfer, Payment::Migrant] {
            let scheduler = Scheduler {
                payment,
                ..scheduler(|_| {})
            };
            let (mut test_world, mut process) = process(Shape::Central, Some(scheduler.clone()));
            for index in 0..3 {
                superstep(&mut test_world, &mut process, index, false);
            }
            let order = Migrate {
                rank: Rank(1),
                from: HostId(0),
                to: HostId(4),
                epoch: 7,
                deferred_cost: seconds(0.5),
            };
            tell(
                &mut test_world,
                &mut process,
                message(AgentMessage::Migrate(order)),
            );
            let Some(Act::Depart(departed, agent)) = test_world.acts.last().cloned() else {
                panic!("no process departed")
            };
            assert_eq!(departed, order);
            let mut moved = Process::new(&test_world.rules, Rank(1), HostId(0));
            let arrival = Moved {
                agent: agent.into(),
                host: HostId(4),
                epoch: 7,
            };
            tell(&mut test_world, &mut moved, Event::Moved(Box::new(arrival)));
            process.host = HostId(4);
            assert_eq!(format!("{moved:?}"), format!("{process:?}"));
            let installed = AgentMessage::Installed(Installed {
                rank: Rank(1),
                host: HostId(4),
                epoch: 7,
            });
            let (from, to, sent, _) = test_world.sent.last().unwrap();
            assert_eq!(
                (*from, *to),
                (Address::Node(HostId(4)), Address::SetManager(SetId(1)))
            );
            assert_eq!(*sent, installed);

            test_world.acts.clear();
            tell(&mut test_world, &mut moved, start(3));
            tell(&mut test_world, &mut moved, start(4));
            let owed = match payment {
                Payment::Transfer => Seconds::ZERO,
                Payment::Migrant => seconds(0.5),
            };
            let acts = [
                Act::Run(Rank(1), 3, owed),
                Act::Run(Rank(1), 4, Seconds::ZERO),
            ];
            assert_eq!(test_world.acts, acts, "{payment:?}");
        }
    }

    #[test]
    fn an_evaluation_is_reported_to_the_node_with_what_a_negotiation_needs() {
        let (mut test_world, mut process) = process(Shape::Central, Some(scheduler(|_| {})));
        superstep(&mut test_world, &mut process, 0, false);
        test_world.sent.clear();
        let view = |capacity| migbsp::SetView {
            capacity,
            processes: 2,
            processors: 2,
            transfer_rate: 1e-8,
        };
        let order = Evaluate {
            superstep: 0,
            sets: vec![view(1e9), view(2e9), view(1e9)],
        };
        tell(
            &mut test_world,
            &mut process,
            message(AgentMessage::Evaluate(Box::new(order))),
        );
        let [(_, to, AgentMessage::Reported(report), Cost::Free)] = &test_world.sent[..] else {
            panic!("one report: {:?}", test_world.sent)
        };
        assert_eq!(*to, Address::Node(HostId(0)));
        assert_eq!(
            (report.rank, report.host, report.superstep),
            (Rank(1), HostId(0), 0)
        );
        assert_eq!(report.evaluation.potentials.len(), 3);
        assert_eq!(report.entry.target, SetId(1), "the fast Set");
        assert_eq!(report.bytes, bsp::units::Bytes(100), "from there");
        assert_eq!(report.instructions, Instructions(2_000_000_000));
        assert_eq!(report.times.len(), 1);
    }
}
