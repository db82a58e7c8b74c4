//! The agent of one host.

use std::collections::BTreeSet;

use bsp::units::Seconds;
use bsp::{HostId, Rank, SetId};
use protocol::{
    Address, AgentMessage, Arrived, CallMessage, Evaluate, Measured, ProcessImage, Report, Reports,
};

use crate::setup::{Rules, Shape};
use crate::world::{Cost, Event, World};

/// What a host's agent knows: the processes that live on it and what they told it.
///
/// Told what happened by [`Node::handle`].
#[derive(Debug)]
pub struct Node {
    host: HostId,
    set: SetId,
    /// The processes here that have not halted.
    residents: BTreeSet<Rank>,
    /// The processes here that halted in the superstep that is ending.
    leaving: Vec<Rank>,
    /// The processes here that have arrived at the barrier, together.
    arrived: Option<Arrived>,
    /// What the processes here found, for the call being held.
    reports: Vec<Report>,
    /// How many reports are still to come.
    reports_missing: usize,
}

impl Node {
    /// The agent of `host`, on which `residents` start.
    #[must_use]
    pub fn new(rules: &Rules, host: HostId, residents: BTreeSet<Rank>) -> Self {
        let set = rules.sets[host.index()];
        Self {
            host,
            set,
            residents,
            leaving: Vec::new(),
            arrived: None,
            reports: Vec::new(),
            reports_missing: 0,
        }
    }

    /// Something happened to the host or its processes.
    ///
    /// # Panics
    ///
    /// If it is something that does not happen to hosts.
    pub fn handle(&mut self, rules: &Rules, event: Event, world: &mut dyn World) {
        let Event::Message { message, .. } = event else {
            unreachable!("{} cannot handle {event:?}", self.host)
        };
        match message {
            AgentMessage::Arrived(arrived) => self.collect(rules, arrived, world),
            AgentMessage::Halted(rank) => {
                assert!(
                    self.residents.remove(&rank),
                    "{rank} does not live on {}",
                    self.host
                );
                if rules.barrier.shape == Shape::Hierarchical {
                    self.leaving.push(rank);
                }
            }
            AgentMessage::Start(_) | AgentMessage::Finish => self.pass_down(&message, world),
            AgentMessage::Measure(order) => {
                let (speed, cores) = world.processors(self.host);
                let window = rules
                    .scheduler
                    .as_ref()
                    .map_or(Seconds::ZERO, |s| s.load_window);
                let load = world.load(self.host, window);
                let recent = rules.scheduler.as_ref().filter(|s| s.plans());
                let load_recent =
                    recent.map_or(0.0, |s| world.load(self.host, s.planning.load_window));
                let measured = Measured {
                    superstep: order.superstep,
                    host: self.host,
                    speed,
                    cores,
                    load,
                    load_recent,
                };
                self.report(
                    AgentMessage::Call(CallMessage::Measured(measured)),
                    Cost::Encoded,
                    world,
                );
            }
            AgentMessage::Evaluate(order) => self.evaluate(&order, world),
            AgentMessage::Reported(report) => self.handle_report(*report, world),
            AgentMessage::Migrate(order) => {
                assert!(
                    self.residents.remove(&order.rank),
                    "{} lives elsewhere",
                    order.rank
                );
                self.send(Address::Process(order.rank), message, world);
            }
            AgentMessage::ProcessImage(state) => self.install(*state, world),
            AgentMessage::StartCall(_) | AgentMessage::Call(_) | AgentMessage::Installed(_) => {
                unreachable!("{} received {message:?}", self.host)
            }
        }
    }

    /// One process has arrived; when all have, their Manager hears of it.
    fn collect(&mut self, rules: &Rules, arrived: Arrived, world: &mut dyn World) {
        assert_eq!(
            rules.barrier.shape,
            Shape::Hierarchical,
            "only then do nodes collect"
        );
        let together = match self.arrived.take() {
            None => arrived,
            Some(others) => others.and(arrived),
        };
        // Those that halted in this superstep are no residents any more, but they have arrived.
        let expected = self.residents.len() + usize::try_from(together.halted).expect("fits");
        if usize::try_from(together.processes).expect("fits") < expected {
            self.arrived = Some(together);
        } else {
            let is_local = rules.managers[self.set.index()] == self.host;
            let cost = if is_local {
                Cost::Free
            } else {
                Cost::Network(rules.barrier.message)
            };
            self.report(AgentMessage::Arrived(together), cost, world);
        }
    }

    /// Those that halted are done; the others go on.
    fn pass_down(&mut self, message: &AgentMessage, world: &mut dyn World) {
        for rank in std::mem::take(&mut self.leaving) {
            self.send(Address::Process(rank), AgentMessage::Finish, world);
        }
        for rank in &self.residents {
            self.send(Address::Process(*rank), message.clone(), world);
        }
    }

    fn evaluate(&mut self, order: &Evaluate, world: &mut dyn World) {
        self.reports_missing = self.residents.len();
        if self.residents.is_empty() {
            self.send_reports(order.superstep, world);
        }
        for rank in &self.residents {
            let order = AgentMessage::Evaluate(Box::new(order.clone()));
            self.send(Address::Process(*rank), order, world);
        }
    }

    fn handle_report(&mut self, report: Report, world: &mut dyn World) {
        self.reports_missing -= 1;
        let superstep = report.superstep;
        self.reports.push(report);
        if self.reports_missing == 0 {
            self.send_reports(superstep, world);
        }
    }

    fn send_reports(&mut self, superstep: u64, world: &mut dyn World) {
        let mut all = std::mem::take(&mut self.reports);
        all.sort_by_key(|report| report.rank);
        let host = self.host;
        let reports = |reports| {
            Box::new(Reports {
                superstep,
                host,
                reports,
            })
        };
        let (mut some, mut times) = (Vec::new(), 0);
        for report in all {
            times += report.times.len();
            if TIMES_MAX < times && !some.is_empty() {
                times = report.times.len();
                let before = AgentMessage::Call(CallMessage::ReportsBefore(reports(
                    std::mem::take(&mut some),
                )));
                self.report(before, Cost::Encoded, world);
            }
            some.push(report);
        }
        self.report(
            AgentMessage::Call(CallMessage::Reports(reports(some))),
            Cost::Encoded,
            world,
        );
    }

    fn install(&mut self, state: ProcessImage, world: &mut dyn World) {
        assert!(
            self.residents.insert(state.rank),
            "{} lives here already",
            state.rank
        );
        world.install(self.host, state);
    }

    /// To the Manager of this host's Set.
    fn report(&self, message: AgentMessage, cost: Cost, world: &mut dyn World) {
        world.send(
            Address::Node(self.host),
            Address::SetManager(self.set),
            message,
            cost,
        );
    }

    /// To a process on this host.
    fn send(&self, to: Address, message: AgentMessage, world: &mut dyn World) {
        world.send(Address::Node(self.host), to, message, Cost::Free);
    }
}

/// Times of processes that are reported together, which are some 30 bytes each: frames have a longest length, and
/// intervals between calls have none.
const TIMES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use bsp::units::Instructions;
    use protocol::{Measure, Migrate, Start};

    use super::*;
    use crate::setup::Collection;
    use crate::test_world::{Act, TestWorld};

    const HOST: HostId = HostId(1);

    /// Two processes on host 1, whose Manager sits on host 0.
    fn node(shape: Shape) -> (TestWorld, Node) {
        let world = TestWorld::new(shape, Collection::AsTheyCome, &[0, 1, 1], &[9; 3], None);
        let node = Node::new(&world.rules, HOST, BTreeSet::from([Rank(1), Rank(2)]));
        (world, node)
    }

    fn tell(
        world: &mut TestWorld,
        node: &mut Node,
        message: AgentMessage,
    ) -> Vec<(Address, AgentMessage)> {
        let (rules, _) = self::node(world.rules.barrier.shape);
        let from = Address::SetManager(SetId(0));
        world.sent.clear();
        node.handle(&rules.rules, Event::Message { from, message }, world);
        let sent = world.sent.iter();
        sent.map(|(_, to, message, _)| (*to, message.clone()))
            .collect()
    }

    fn arrived(rank: u32, halted: u32) -> AgentMessage {
        AgentMessage::Arrived(Arrived {
            superstep: 4,
            processes: 1,
            halted,
            sent: 2,
            received: 1,
            slowest: (Seconds::new(f64::from(rank)).unwrap(), Rank(rank)),
            computation: u64::from(rank),
        })
    }

    const START: AgentMessage = AgentMessage::Start(Start {
        superstep: 5,
        interval: None,
    });

    #[test]
    fn those_who_arrive_are_reported_together_and_told_apart() {
        let (mut world, mut node) = node(Shape::Hierarchical);
        assert_eq!(tell(&mut world, &mut node, arrived(2, 0)), []);
        assert_eq!(
            tell(&mut world, &mut node, AgentMessage::Halted(Rank(1))),
            []
        );
        let together = AgentMessage::Arrived(Arrived {
            superstep: 4,
            processes: 2,
            halted: 1,
            sent: 4,
            received: 2,
            slowest: (Seconds::new(2.0).unwrap(), Rank(2)),
            computation: 3,
        });
        let manager = Address::SetManager(SetId(0));
        assert_eq!(
            tell(&mut world, &mut node, arrived(1, 1)),
            [(manager, together)]
        );
        let expected = [
            (Address::Process(Rank(1)), AgentMessage::Finish),
            (Address::Process(Rank(2)), START),
        ];
        assert_eq!(tell(&mut world, &mut node, START), expected);
        // Only one is waited for now.
        assert_eq!(tell(&mut world, &mut node, arrived(2, 0)).len(), 1);
    }

    fn report(rank: u32) -> Report {
        let entry = migbsp::Entry {
            rank: Rank(rank),
            own: SetId(0),
            target: SetId(0),
            potential: Seconds::ZERO,
            receive_time: Seconds::ZERO,
        };
        Report {
            superstep: 4,
            rank: Rank(rank),
            host: HOST,
            evaluation: migbsp::Evaluation {
                own: SetId(0),
                potentials: Vec::new(),
            },
            entry,
            instructions: Instructions::ZERO,
            instructions_resident: Instructions::ZERO,
            bytes: bsp::units::Bytes::ZERO,
            times: Vec::new(),
            load: None,
        }
    }

    #[test]
    fn a_report_waits_for_all_residents_and_is_in_rank_order() {
        let (mut world, mut node) = node(Shape::Central);
        let order = Evaluate {
            superstep: 4,
            sets: Vec::new(),
        };
        let evaluate = AgentMessage::Evaluate(Box::new(order));
        assert_eq!(tell(&mut world, &mut node, evaluate.clone()).len(), 2);
        let reported = |rank| AgentMessage::Reported(Box::new(report(rank)));
        assert_eq!(tell(&mut world, &mut node, reported(2)), []);
        let expected = |ranks: &[u32]| {
            let reports = Reports {
                superstep: 4,
                host: HOST,
                reports: ranks.iter().copied().map(report).collect(),
            };
            [(
                Address::SetManager(SetId(0)),
                AgentMessage::Call(CallMessage::Reports(Box::new(reports))),
            )]
        };
        assert_eq!(tell(&mut world, &mut node, reported(1)), expected(&[1, 2]));
        // What would be too long for one message comes in several.
        let measured = migbsp::ProcessTimes::new(None, Seconds::ZERO, None);
        let long = |rank| Report {
            times: vec![measured; TIMES_MAX / 2 + 1],
            ..report(rank)
        };
        let reports = |rank| {
            Box::new(Reports {
                superstep: 4,
                host: HOST,
                reports: vec![long(rank)],
            })
        };
        tell(&mut world, &mut node, evaluate.clone());
        let reported = |rank| AgentMessage::Reported(Box::new(long(rank)));
        assert_eq!(tell(&mut world, &mut node, reported(2)), []);
        let manager = Address::SetManager(SetId(0));
        let both = [
            (
                manager,
                AgentMessage::Call(CallMessage::ReportsBefore(reports(1))),
            ),
            (
                manager,
                AgentMessage::Call(CallMessage::Reports(reports(2))),
            ),
        ];
        assert_eq!(tell(&mut world, &mut node, reported(1)), both);
        // Halted processes are not asked; without processes the report is empty.
        tell(&mut world, &mut node, AgentMessage::Halted(Rank(1)));
        tell(&mut world, &mut node, AgentMessage::Halted(Rank(2)));
        assert_eq!(tell(&mut world, &mut node, evaluate), expected(&[]));
    }

    #[test]
    fn a_process_leaves_before_its_state_and_lives_where_that_comes_to() {
        let (mut world, mut node) = node(Shape::Hierarchical);
        let order = Migrate {
            rank: Rank(1),
            from: HOST,
            to: HostId(2),
            epoch: 1,
            deferred_cost: Seconds::ZERO,
        };
        let sent = tell(&mut world, &mut node, AgentMessage::Migrate(order));
        assert_eq!(
            sent,
            [(Address::Process(Rank(1)), AgentMessage::Migrate(order))]
        );
        assert_eq!(tell(&mut world, &mut node, START).len(), 1);
        let state = ProcessImage {
            rank: Rank(0),
            epoch: 1,
            agent: 0,
            declared: None,
            payload: bytes::Bytes::new(),
        };
        tell(
            &mut world,
            &mut node,
            AgentMessage::ProcessImage(Box::new(state)),
        );
        assert_eq!(world.acts, [Act::Install(HOST, Rank(0))]);
        assert_eq!(tell(&mut world, &mut node, START).len(), 2);
    }

    #[test]
    fn a_host_is_measured() {
        let (mut world, mut node) = node(Shape::Ideal);
        let sent = tell(
            &mut world,
            &mut node,
            AgentMessage::Measure(Measure { superstep: 4 }),
        );
        let measured = AgentMessage::Call(CallMessage::Measured(Measured {
            superstep: 4,
            host: HOST,
            speed: bsp::units::InstructionsPerSecond::new(1e9).unwrap(),
            cores: 1,
            load: 0.0,
            load_recent: 0.0,
        }));
        assert_eq!(sent, [(Address::SetManager(SetId(0)), measured)]);
    }
}
