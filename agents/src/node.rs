//! The agent of one host.

use std::collections::BTreeSet;

use bsp::units::Seconds;
use bsp::{HostId, Rank, SetId};
use protocol::{Address, Arrived, Evaluate, Measured, Message, Report, Reports, State};

use crate::setup::{Rules, Shape};
use crate::world::{Cost, Event, World};

/// What a host's agent knows: the processes that live on it and what they told it.
///
/// Told what happened by [`Node::on`].
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
    pub fn on(&mut self, rules: &Rules, event: Event, world: &mut dyn World) {
        let Event::Message { message, .. } = event else {
            unreachable!("{} was told {event:?}", self.host)
        };
        match message {
            Message::Arrived(arrived) => self.collect(rules, arrived, world),
            Message::Halted(rank) => {
                assert!(
                    self.residents.remove(&rank),
                    "{rank} does not live on {}",
                    self.host
                );
                if rules.barrier.shape == Shape::Hierarchical {
                    self.leaving.push(rank);
                }
            }
            Message::Start(_) | Message::Finish => self.pass_down(&message, world),
            Message::Measure(order) => {
                let (speed, cores) = world.processors(self.host);
                let window = rules
                    .scheduler
                    .as_ref()
                    .map_or(Seconds::ZERO, |s| s.load_window);
                let load = world.load(self.host, window);
                let measured = Measured {
                    superstep: order.superstep,
                    host: self.host,
                    speed,
                    cores,
                    load,
                };
                self.report(Message::Measured(measured), Cost::Encoded, world);
            }
            Message::Evaluate(order) => self.evaluate(&order, world),
            Message::Reported(report) => {
                self.reports_missing -= 1;
                let superstep = report.superstep;
                self.reports.push(*report);
                if self.reports_missing == 0 {
                    self.send_reports(superstep, world);
                }
            }
            Message::Migrate(order) => {
                assert!(
                    self.residents.remove(&order.rank),
                    "{} lives elsewhere",
                    order.rank
                );
                self.send(Address::Process(order.rank), message, world);
            }
            Message::State(state) => self.install(*state, world),
            Message::Confer(_)
            | Message::Measured(_)
            | Message::Capacity(_)
            | Message::Reports(_)
            | Message::Standing(_)
            | Message::Ask(_)
            | Message::Answered(_)
            | Message::Decided(_)
            | Message::Installed(_) => unreachable!("{} was told {message:?}", self.host),
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
            self.report(Message::Arrived(together), cost, world);
        }
    }

    /// Those that halted are done; the others go on.
    fn pass_down(&mut self, message: &Message, world: &mut dyn World) {
        for rank in std::mem::take(&mut self.leaving) {
            self.send(Address::Process(rank), Message::Finish, world);
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
            let order = Message::Evaluate(Box::new(order.clone()));
            self.send(Address::Process(*rank), order, world);
        }
    }

    fn send_reports(&mut self, superstep: u64, world: &mut dyn World) {
        let mut reports = std::mem::take(&mut self.reports);
        reports.sort_by_key(|report| report.rank);
        let reports = Reports {
            superstep,
            host: self.host,
            reports,
        };
        self.report(Message::Reports(Box::new(reports)), Cost::Encoded, world);
    }

    fn install(&mut self, state: State, world: &mut dyn World) {
        assert!(
            self.residents.insert(state.rank),
            "{} lives here already",
            state.rank
        );
        world.install(self.host, state);
    }

    /// To the Manager of this host's Set.
    fn report(&self, message: Message, cost: Cost, world: &mut dyn World) {
        world.send(
            Address::Node(self.host),
            Address::SetManager(self.set),
            message,
            cost,
        );
    }

    /// To a process on this host.
    fn send(&self, to: Address, message: Message, world: &mut dyn World) {
        world.send(Address::Node(self.host), to, message, Cost::Free);
    }
}
