//! The rescheduling call, as one Manager takes part in it.
//!
//! Measure the hosts, exchange capacities, evaluate potentials, exchange the list, negotiate in its order, exchange
//! the decisions, move, continue. Where plans name processors, the first Manager plans and sends the plan to the
//! others, in place of the negotiation. Every step begins when all agents that it waits for have answered; messages
//! may arrive in any order.
//!
//! A message is checked against the state of the call before it changes it. `message_check` has checked the agents that
//! it names.

mod link_probes;
mod moving;
mod negotiation;
mod outcome;
mod planning;
mod probing;
pub(super) mod state;

use bsp::SetId;
use bsp::units::Instant;
use migbsp::{Digest, SetView};
use protocol::{
    Address, AgentMessage, CallMessage, Capacity, Evaluate, Measure, Report, SetReport, StartCall,
};

use super::SetManager;
use crate::check::check;
use crate::record;
use crate::remaining::most;
use crate::setup::{Rules, Shape};
use crate::world::{Cost, World};
use state::Call;

impl SetManager {
    /// Begins a call after the present superstep, at all Managers; this one knows of it since `began`.
    pub(super) fn hold_call(&mut self, rules: &Rules, began: Instant, world: &mut dyn World) {
        self.announce_call(rules, world);
        self.begin_call(rules, began, world);
    }

    /// Tells the other Managers that a call follows, or hosts join, if they do not find out themselves.
    pub(super) fn announce_call(&self, rules: &Rules, world: &mut dyn World) {
        if rules.barrier.shape != Shape::Hierarchical {
            let order = AgentMessage::StartCall(StartCall {
                superstep: self.superstep,
            });
            self.send_to_managers(rules, &order, Cost::Encoded, world);
        }
    }

    /// Begins a call. `began` is the time at which this Manager knew that all processes had arrived, or received the
    /// order to hold the call.
    pub(super) fn begin_call(&mut self, rules: &Rules, began: Instant, world: &mut dyn World) {
        assert!(self.call.is_none(), "one call at a time");
        self.call = Some(Call::new(self.superstep, began));
        let measure = AgentMessage::Measure(Measure {
            superstep: self.superstep,
        });
        for host in &self.hosts {
            let node = Address::Node(*host);
            world.send(
                Address::SetManager(self.set),
                node,
                measure.clone(),
                Cost::Encoded,
            );
        }
        self.retry_early(rules, world);
    }

    /// Handles a message of a call.
    pub(super) fn handle_call_message(
        &mut self,
        rules: &Rules,
        from: Address,
        message: AgentMessage,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let superstep = match &message {
            AgentMessage::Call(message) => message.superstep(),
            _ => self.superstep,
        };
        let Some(call) = self
            .call
            .as_mut()
            .filter(|call| call.superstep == superstep)
        else {
            check(self.superstep <= superstep, || {
                format!("a message of the call after superstep {superstep}, which is over")
            })?;
            return self.keep_early(rules, from, message);
        };
        match message {
            AgentMessage::Call(CallMessage::Measured(measured)) => {
                let host = measured.host;
                let is_new = call.measured.iter().all(|other| other.host != host);
                check(is_new, || format!("{host} is measured twice"))?;
                call.measured.push(measured);
                if call.measured.len() == self.hosts.len() {
                    self.send_capacity(rules, world)?;
                }
                Ok(())
            }
            AgentMessage::Call(CallMessage::Capacity(capacity)) => {
                self.handle_capacity(rules, *capacity, world)
            }
            AgentMessage::Call(CallMessage::ReportsBefore(reports)) => {
                let view = &self.placement_view;
                call.keep(*reports, |rank| view.of(rank))
            }
            AgentMessage::Call(CallMessage::Reports(reports)) => {
                let host = reports.host;
                check(call.reports_missing.remove(&host), || {
                    format!("unexpected reports of {host}")
                })?;
                let view = &self.placement_view;
                call.keep(*reports, |rank| view.of(rank))?;
                if call.reports_missing.is_empty() {
                    self.send_set_report(rules, world)?;
                }
                Ok(())
            }
            AgentMessage::Call(CallMessage::SetReport(set_report)) => {
                self.handle_set_report(rules, *set_report, world)
            }
            AgentMessage::Call(CallMessage::Ask(ask)) => {
                let rank = ask.request.rank;
                let is_new = call.asks.insert(rank, *ask).is_none();
                check(is_new, || format!("a second request for {rank}"))?;
                self.negotiate(rules, world)
            }
            AgentMessage::Call(CallMessage::Answered(answered)) => {
                self.handle_answer(rules, from, &answered, world)
            }
            AgentMessage::Call(CallMessage::Decided(decided)) => {
                self.handle_decided(rules, *decided, world)
            }
            AgentMessage::Call(CallMessage::Planned(planned)) => {
                self.handle_planned(rules, *planned, world)
            }
            AgentMessage::Call(CallMessage::LinkProbed(probed)) => {
                self.handle_probed(rules, probed, world)
            }
            AgentMessage::Installed(installed) => {
                self.handle_installed(rules, from, installed, world)
            }
            _ => Err("a message that Managers do not receive".to_owned()),
        }
    }

    /// Sends the capacity of this Set, once all hosts have answered.
    fn send_capacity(&mut self, rules: &Rules, world: &mut dyn World) -> Result<(), String> {
        let call = self.call.as_mut().expect("a call is being held");
        call.measured.sort_by_key(|measured| measured.host);
        let capacity = Capacity {
            superstep: call.superstep,
            set: self.set,
            capacity: migbsp::capacity(&call.processors(|measured| measured.load)),
            processes: self.placement_view.processes(),
            processors: call
                .measured
                .iter()
                .fold(0, |sum, measured| measured.cores.saturating_add(sum)),
            learned: self.learned_cost.coefficients(),
        };
        self.send_to_managers(
            rules,
            &AgentMessage::Call(CallMessage::Capacity(Box::new(capacity.clone()))),
            Cost::Encoded,
            world,
        );
        self.handle_capacity(rules, capacity, world)
    }

    fn handle_capacity(
        &mut self,
        rules: &Rules,
        capacity: Capacity,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let call = self.call.as_mut().expect("a call is being held");
        let set = capacity.set;
        let learned = self.learned_cost.coefficients();
        check(capacity.learned == learned, || {
            format!("{set} has learned another cost of moves")
        })?;
        let is_new = call.capacities.insert(set, capacity).is_none();
        check(is_new, || format!("a second capacity of {set}"))?;
        if call.capacities.len() < rules.managers.len() {
            return Ok(());
        }
        let sets = call.capacities.keys();
        call.rates = sets
            .map(|set| world.transfer_rate(self.set, *set))
            .collect();
        let view = |(capacity, rate): (&Capacity, &f64)| SetView {
            capacity: capacity.capacity,
            processes: capacity.processes,
            processors: capacity.processors,
            transfer_rate: *rate,
        };
        let sets = call.capacities.values().zip(&call.rates).map(view);
        let sets = sets.collect();
        let order = Evaluate {
            superstep: call.superstep,
            sets,
            learned,
        };
        let nodes = self.placement_view.hosts();
        call.reports_missing = nodes.collect();
        let is_empty = call.reports_missing.is_empty();
        for host in &call.reports_missing {
            let message = AgentMessage::Evaluate(Box::new(order.clone()));
            let own = Address::SetManager(self.set);
            world.send(own, Address::Node(*host), message, Cost::Encoded);
        }
        if is_empty {
            return self.send_set_report(rules, world);
        }
        Ok(())
    }

    /// Sends the report of this Set, once all its processes have reported.
    fn send_set_report(&mut self, rules: &Rules, world: &mut dyn World) -> Result<(), String> {
        let Some(scheduler) = &rules.scheduler else {
            unreachable!("calls have a scheduler")
        };
        let when = self.when.as_ref().expect("there is a scheduler");
        let call = self.call.as_ref().expect("a call is being held");
        let reports: Vec<&Report> = call.reports.values().collect();
        let more = call.more();
        let paths = scheduler.plans().then(|| {
            let sets = call.capacities.keys();
            sets.map(|set| world.path(self.set, *set)).collect()
        });
        world.record(record::Event::Evaluated(record::Evaluated {
            superstep: call.superstep + 1,
            set: self.set,
            transfer_rates: call.rates.clone(),
            hosts: record::Hosts::of(&call.measured),
            paths: paths.unwrap_or_default(),
            links: more.links,
            external: more.external,
            barrier: scheduler.plans().then(|| self.barrier_time(rules, world)),
            processes: reports
                .iter()
                .map(|report| record::Evaluation::of(report))
                .collect(),
        }));
        let times: Vec<_> = reports.iter().map(|report| &report.times[..]).collect();
        let schedule = when.schedule();
        let mut set_report = SetReport {
            superstep: call.superstep,
            set: self.set,
            interval: schedule.interval,
            tolerance: schedule.tolerance,
            entries: reports.iter().map(|report| report.entry).collect(),
            digests: Digest::of_supersteps(&times),
            barrier_busy: std::mem::take(&mut self.barrier_busy),
            inventory: None,
            remaining: scheduler.asked(|| most(reports.iter().map(|report| report.remaining))),
        };
        for set in (0..rules.managers.len()).map(SetId::from_index) {
            let wants_inventory = set == rules.first && scheduler.plans();
            set_report.inventory = wants_inventory.then(|| self.inventory(rules, call, world));
            if set != self.set {
                let message =
                    AgentMessage::Call(CallMessage::SetReport(Box::new(set_report.clone())));
                self.send(set, message, Cost::Encoded, world);
            }
        }
        let is_first = self.set == rules.first && scheduler.plans();
        set_report.inventory = is_first.then(|| self.inventory(rules, call, world));
        self.handle_set_report(rules, set_report, world)
    }

    fn handle_set_report(
        &mut self,
        rules: &Rules,
        set_report: SetReport,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let schedule = self.when.as_ref().expect("there is a scheduler").schedule();
        let set = set_report.set;
        let tolerance = set_report.tolerance.map(f64::to_bits);
        check(
            set_report.interval == schedule.interval
                && tolerance == schedule.tolerance.map(f64::to_bits),
            || format!("{set} has another interval or tolerance"),
        )?;
        let scheduler = rules.scheduler.as_ref().expect("calls have a scheduler");
        let wants_inventory = self.set == rules.first && scheduler.plans();
        check(set_report.inventory.is_some() == wants_inventory, || {
            format!("the inventory of {set} is missing or unexpected")
        })?;
        for entry in &set_report.entries {
            let rank = entry.rank;
            check(
                rules.sets[self.placement_view.of(rank).index()] == set,
                || format!("{set} reports {rank}, which is in another Set"),
            )?;
        }
        let call = self.call.as_mut().expect("a call is being held");
        let is_new = call.set_reports.insert(set, set_report).is_none();
        check(is_new, || format!("a second report of {set}"))?;
        if call.set_reports.len() < rules.managers.len() {
            return Ok(());
        }
        let set_reports = call.set_reports.values();
        call.supersteps = Digest::merge(
            set_reports
                .clone()
                .map(|set_report| &set_report.digests[..]),
        );
        let entries = set_reports
            .clone()
            .flat_map(|set_report| set_report.entries.iter().copied());
        call.list = migbsp::merge(&scheduler.model, entries.collect());
        call.remaining = scheduler.asked(|| most(set_reports.map(|report| report.remaining)));
        self.end = call
            .remaining
            .map(|left| (call.superstep + 1).saturating_add(left));
        if !scheduler.plans() {
            return self.begin_negotiation(rules, world);
        }
        if self.set == rules.first {
            self.plan(world);
            return Ok(());
        }
        self.follow_plan(rules, world)
    }
}
