//! The agent of one host.

use std::collections::VecDeque;
use std::sync::Arc;

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank, SetId};
use model::{ExternalLoad, Measurements};
use protocol::{Address, AgentMessage, Arrived, Evaluate, Measure, Measured, Report, Reports};

use crate::message_check::check;
use crate::setup::{Rules, Scheduler};
use crate::world::{Cost, Event, Mail, World};

/// The state of the agent of a host: the processes that run there, and their arrivals and reports.
///
/// [`Node::handle`] handles its events. A message that contradicts the state ends the run: other machines may send
/// anything.
#[derive(Debug)]
pub struct Node {
    host: HostId,
    set: SetId,
    /// The processes here that have not halted, in rank order: one on most hosts, and a set takes more memory.
    residents: VecDeque<Rank>,
    /// The processes here that halted in the superstep that is ending.
    leaving: Vec<Rank>,
    /// The processes here that have arrived at the barrier, together.
    arrived: Option<Arrived>,
    /// The reports of the processes here, in a call.
    reports: Vec<Report>,
    /// The number of reports that are missing.
    reports_missing: usize,
    /// When the host was last measured.
    measured: Option<Instant>,
}

impl Node {
    /// The agent of `host`, on which `residents` start, in rank order.
    #[must_use]
    pub fn new(rules: &Rules, host: HostId, residents: impl IntoIterator<Item = Rank>) -> Self {
        let set = rules.sets[host.index()];
        Self {
            host,
            set,
            residents: residents.into_iter().collect(),
            leaving: Vec::new(),
            arrived: None,
            reports: Vec::new(),
            reports_missing: 0,
            measured: None,
        }
    }

    /// Handles an event of the host or of its processes.
    ///
    /// # Panics
    ///
    /// If the event is neither a message nor the result of a probe.
    pub fn handle(&mut self, rules: &Rules, event: Event, world: &mut dyn World) {
        let (from, message) = match event {
            Event::Message { from, message } => (from, message),
            Event::LinkProbed { by, probed } => {
                let message = AgentMessage::LinkProbed(probed);
                return world.send(Address::Node(self.host), by, message, Cost::Encoded);
            }
            event => unreachable!("{} cannot handle {event:?}", self.host),
        };
        if let Err(problem) = self.handle_message(rules, from, message, world) {
            world.refuse(from, problem);
        }
    }

    fn handle_message(
        &mut self,
        rules: &Rules,
        from: Address,
        message: AgentMessage,
        world: &mut dyn World,
    ) -> Result<(), String> {
        match message {
            AgentMessage::Arrived(arrived) => self.collect(rules, arrived, world)?,
            AgentMessage::Halted(rank) => {
                self.remove(rank)?;
                if rules.barrier.has_nodes() {
                    self.leaving.push(rank);
                }
            }
            AgentMessage::Start(_) | AgentMessage::Finish => self.pass_down(&message, world),
            AgentMessage::Measure(order) => self.measure(rules, &order, world),
            AgentMessage::Evaluate(order) => {
                self.check_reported()?;
                self.evaluate(&order, world);
            }
            AgentMessage::Reported(report) => self.handle_report(*report, world)?,
            AgentMessage::ProbeLink(order) => {
                self.check_reported()?;
                let prober = world.link_prober();
                let prober = prober.ok_or("an order to probe a link, which is not done here")?;
                prober.probe(order, from);
            }
            AgentMessage::Migrate(order) => {
                self.check_reported()?;
                self.remove(order.rank)?;
                self.send(Address::Process(order.rank), message, world);
            }
            AgentMessage::State(state) => {
                let rank = state.rank;
                let place = self.residents.binary_search(&rank);
                let place = place
                    .err()
                    .ok_or_else(|| format!("a state of {rank}, which runs on {}", self.host))?;
                self.residents.insert(place, rank);
                world.install(self.host, from, *state);
            }
            _ => return Err("a message that nodes do not receive".to_owned()),
        }
        Ok(())
    }

    /// Measures its host, and reports that.
    fn measure(&mut self, rules: &Rules, order: &Measure, world: &mut dyn World) {
        let (speed, cores) = world.processors(self.host);
        let window = rules
            .scheduler
            .as_ref()
            .map_or(Seconds::ZERO, |s| s.load_window);
        let load = world.load(self.host, window);
        let plans = rules.scheduler.as_ref().filter(|s| s.plans());
        let load_recent = plans.map_or(0.0, |s| {
            world.effective_load(self.host, s.planning.load_window)
        });
        let external = plans.and_then(|s| self.external_load(s, world));
        let learns = rules.scheduler.as_ref().is_some_and(Scheduler::learns);
        let measured = Measured {
            superstep: order.superstep,
            host: self.host,
            speed,
            cores,
            load,
            load_recent,
            more: Measurements {
                links: if learns {
                    world.links(self.host)
                } else {
                    Vec::new()
                },
                external: external.into_iter().collect(),
            },
        };
        self.report(AgentMessage::Measured(measured), Cost::Encoded, world);
    }

    /// The external load of the host over longer times, if it has any that the policy uses.
    fn external_load(
        &mut self,
        scheduler: &Scheduler,
        world: &mut dyn World,
    ) -> Option<ExternalLoad> {
        let now = world.now();
        let before = self.measured.replace(now);
        let window = (now - Instant::START).min(scheduler.planning.owner_window);
        let (ages, periods) = (world.ages(self.host), world.busy_periods(self.host, window));
        let has_jobs = 0 < periods || !ages.is_empty();
        if !has_jobs && !scheduler.policy.needs_utilisation() {
            return None;
        }
        let arrivals = if Seconds::ZERO < window {
            periods as f64 / window.get()
        } else {
            0.0
        };
        let passed = now - before.unwrap_or(Instant::START);
        let load = ExternalLoad {
            host: self.host,
            utilisation: world.load(self.host, scheduler.planning.owner_window),
            since: world.unavailable(self.host, passed),
            arrivals,
            present: world.unavailable(self.host, Seconds::ZERO),
            ages,
        };
        load.is_any().then_some(load)
    }

    /// Checks that no process here is to report.
    fn check_reported(&self) -> Result<(), String> {
        check(self.reports_missing == 0, || {
            format!("an order during the evaluation on {}", self.host)
        })
    }

    /// Removes a process that halts or leaves.
    fn remove(&mut self, rank: Rank) -> Result<(), String> {
        let place = self.residents.binary_search(&rank);
        let place = place.map_err(|_| format!("{rank} does not run on {}", self.host))?;
        self.residents.remove(place);
        Ok(())
    }

    /// Adds the arrival of a process. When all have arrived, their Manager receives the sum.
    fn collect(
        &mut self,
        rules: &Rules,
        arrived: Arrived,
        world: &mut dyn Mail,
    ) -> Result<(), String> {
        let others = self.arrived.as_ref();
        let is_possible = rules.barrier.has_nodes()
            && others.is_none_or(|others| others.superstep == arrived.superstep);
        check(is_possible, || {
            format!(
                "an arrival in superstep {} before others",
                arrived.superstep
            )
        })?;
        arrived.add_to(&mut self.arrived);
        let residents = self.residents.len();
        let is_complete = |together: &mut Arrived| {
            // Processes that halted in this superstep are not residents, but have arrived.
            let expected = residents + usize::try_from(together.halted).expect("fits");
            expected <= usize::try_from(together.processes).expect("fits")
        };
        if let Some(together) = self.arrived.take_if(is_complete) {
            let (own, root) = (Address::Node(self.host), rules.barrier.root(self.set));
            let is_local = || rules.managers[root.index()] == self.host;
            let cost = rules.barrier.cost(own, is_local);
            let cost = cost.and(together.reductions.charged_len());
            let message = AgentMessage::Arrived(together);
            world.send(own, Address::SetManager(root), message, cost);
        }
        Ok(())
    }

    /// Ends the processes that halted, and passes `message` to the others.
    fn pass_down(&mut self, message: &AgentMessage, world: &mut dyn Mail) {
        for rank in std::mem::take(&mut self.leaving) {
            self.send(Address::Process(rank), AgentMessage::Finish, world);
        }
        for rank in &self.residents {
            self.send(Address::Process(*rank), message.clone(), world);
        }
    }

    fn evaluate(&mut self, order: &Arc<Evaluate>, world: &mut dyn Mail) {
        self.reports_missing = self.residents.len();
        self.reports = Vec::with_capacity(self.residents.len());
        if self.residents.is_empty() {
            self.send_reports(order.superstep, world);
        }
        for rank in &self.residents {
            let order = AgentMessage::Evaluate(Arc::clone(order));
            self.send(Address::Process(*rank), order, world);
        }
    }

    fn handle_report(&mut self, report: Report, world: &mut dyn Mail) -> Result<(), String> {
        let missing = self.reports_missing.checked_sub(1);
        self.reports_missing =
            missing.ok_or_else(|| format!("an unexpected report of {}", report.rank))?;
        let superstep = report.superstep;
        self.reports.push(report);
        if self.reports_missing == 0 {
            self.send_reports(superstep, world);
        }
        Ok(())
    }

    fn send_reports(&mut self, superstep: u64, world: &mut dyn Mail) {
        let mut rest = std::mem::take(&mut self.reports);
        rest.sort_by_key(|report| report.rank);
        let host = self.host;
        let reports = |reports| {
            Box::new(Reports {
                superstep,
                host,
                reports,
            })
        };
        while let Some(number) = first_part(&rest) {
            let behind = rest.split_off(number);
            let before = AgentMessage::ReportsBefore(reports(rest));
            self.report(before, Cost::Encoded, world);
            rest = behind;
        }
        self.report(AgentMessage::Reports(reports(rest)), Cost::Encoded, world);
    }

    /// Sends a message to the Manager of this host's Set.
    fn report(&self, message: AgentMessage, cost: Cost, world: &mut dyn Mail) {
        world.send(
            Address::Node(self.host),
            Address::SetManager(self.set),
            message,
            cost,
        );
    }

    /// Sends a message to a process on this host.
    fn send(&self, to: Address, message: AgentMessage, world: &mut dyn Mail) {
        world.send(Address::Node(self.host), to, message, Cost::Free);
    }
}

/// How many of `reports` are sent before the others, if all of them are too long for one message.
fn first_part(reports: &[Report]) -> Option<usize> {
    let mut times = 0;
    reports.iter().enumerate().position(|(index, report)| {
        times += report.times.len();
        TIMES_MAX < times && 0 < index
    })
}

/// Times of processes that are reported together, of some 30 bytes each: the length of frames is limited, and that of
/// intervals between calls is not.
const TIMES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests;
