//! The rescheduling call, as one Manager takes part in it.
//!
//! Measure the hosts, exchange capacities, evaluate potentials, exchange the list, negotiate in its order, exchange
//! the decisions, move, continue. Where plans name processors, the first Manager plans and sends the plan to the
//! others, in place of the negotiation. Every step begins when all agents that it waits for have answered; messages
//! may arrive in any order.
//!
//! Where links can be probed, the Manager that has decided probes the links of moves that are predicted to take long, one
//! after the other: these are priced by a bandwidth that was measured some time ago. It prices them again, and drops those
//! that do not pay any more.
//!
//! A message is checked against the state of the call before it changes it. `message_check` has checked the agents that
//! it names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank, SetId};
use model::{
    Answer, BarrierTime, CallMove, CallOutcome, CallSchedule, CallStart, CostCoefficients,
    Decision, Digest, Entry, Inventory, LinkProbe, Load, Measurements, PlanAssessment, PlannedMove,
    ProbedLink, Processor, Processors, Request, Selection, SetView, Spacing,
};
use protocol::{
    Address, AgentMessage, Answered, Ask, Capacity, Considered, Decided, Evaluate, LinkProbed,
    Measure, Measured, Migrate, Planned, ProbeLink, Report, Reports, SetReport, StartCall,
};

use crate::message_check::check;
use crate::set_manager::{Moves, SCHEDULED, SetManager};
use crate::setup::{
    Payment, Rules, Scheduler, WindowRule, most, scripted_candidates, scripted_places,
};
use crate::world::{Cost, Deliberated, Deliberation, Executor, HostProbe, Mail, World};

/// The state of a call at one Manager.
#[derive(Debug)]
pub(super) struct Call {
    superstep: u64,
    /// When this Manager knew that there is a call.
    began: Instant,
    /// The hosts of the own Set that have answered.
    measured: Vec<Measured>,
    capacities: BTreeMap<SetId, Capacity>,
    /// Seconds per byte from this Set to every Set, as they were when all capacities were known.
    rates: Vec<f64>,
    /// The hosts of the own Set whose reports are missing.
    reports_missing: BTreeSet<HostId>,
    /// The evaluations of the own Set's processes; none any more where plans name processors and the Set has reported.
    reports: HostReports,
    set_reports: BTreeMap<SetId, SetReport>,
    /// The duration of each superstep since the last call, once all Sets have reported.
    supersteps: Vec<Digest>,
    /// The most supersteps that are left, once all Sets have reported, if all programs know.
    remaining: Option<u64>,
    /// The list of potentials, highest first, once all Sets have reported.
    list: Vec<Entry>,
    negotiation: Option<Negotiation>,
    /// Requests of other Managers that are not answered yet.
    asks: BTreeMap<Rank, Ask>,
    decided: BTreeMap<SetId, Decided>,
    /// The plan of the first Manager, and its assessment if this is the first Manager.
    planned: Option<Planned>,
    assessment: Option<PlanAssessment>,
    /// The links that are being probed.
    probes: Option<LinkProbes>,
    /// The plan whose links are being probed.
    decision: Option<Decision>,
    /// The links that were probed for the plan, if this is the first Manager.
    probed: Vec<ProbedLink>,
    pub(super) moves: Moves,
}

/// The evaluations of processes, by host and rank.
#[derive(Debug, Default)]
struct HostReports(BTreeMap<HostId, Vec<Report>>);

/// The part in which candidates are settled, one after the other in the order of the list.
#[derive(Debug)]
struct Negotiation {
    selection: Selection,
    /// The processors of the own Set.
    processors: Processors,
    /// The new hosts of the script, if there is one.
    script: Option<BTreeMap<Rank, HostId>>,
    /// The number of candidates that are settled for this Manager.
    settled: usize,
    /// The request that an answer is expected to.
    asked: Option<Request>,
    considered: Vec<Considered>,
}

/// The probes of a call.
#[derive(Debug, Default)]
struct LinkProbes {
    /// The links to be probed, the next one last.
    waiting: Vec<LinkProbe>,
    /// The one that is being probed, by its hosts.
    asked: Option<(HostId, HostId)>,
    /// What was found, in the order of the probes.
    probed: Vec<ProbedLink>,
}

impl SetManager {
    /// Begins a call after the present superstep, at all Managers; this one knows of it since `began`.
    pub(super) fn hold_call(&mut self, rules: &Rules, began: Instant, world: &mut dyn World) {
        self.announce_call(rules, world);
        self.begin_call(rules, began, world);
    }

    /// Tells the other Managers that a call follows, or hosts join, if they do not find out themselves.
    pub(super) fn announce_call(&self, rules: &Rules, world: &mut dyn Mail) {
        if !rules.barrier.ends_in_each_set() {
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
        let superstep = message.superstep().unwrap_or(self.superstep);
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
            AgentMessage::Measured(measured) => {
                let host = measured.host;
                let is_new = call.measured.iter().all(|other| other.host != host);
                check(is_new, || format!("{host} is measured twice"))?;
                call.measured.push(measured);
                if call.measured.len() == self.hosts.len() {
                    self.send_capacity(rules, world)?;
                }
                Ok(())
            }
            AgentMessage::Capacity(capacity) => self.handle_capacity(rules, *capacity, world),
            AgentMessage::ReportsBefore(reports) => {
                let view = &self.placement;
                call.reports.add(*reports, |rank| view.of(rank))
            }
            AgentMessage::Reports(reports) => {
                let host = reports.host;
                check(call.reports_missing.remove(&host), || {
                    format!("unexpected reports of {host}")
                })?;
                let view = &self.placement;
                call.reports.add(*reports, |rank| view.of(rank))?;
                if call.reports_missing.is_empty() {
                    self.send_set_report(rules, world)?;
                }
                Ok(())
            }
            AgentMessage::SetReport(set_report) => {
                self.handle_set_report(rules, *set_report, world)
            }
            AgentMessage::Ask(ask) => {
                let rank = ask.request.rank;
                let is_new = call.asks.insert(rank, *ask).is_none();
                check(is_new, || format!("a second request for {rank}"))?;
                self.negotiate(rules, world)
            }
            AgentMessage::Answered(answered) => self.handle_answer(rules, from, &answered, world),
            AgentMessage::Decided(decided) => self.handle_decided(rules, *decided, world),
            AgentMessage::Planned(planned) => self.handle_planned(rules, *planned, world),
            AgentMessage::LinkProbed(probed) => self.handle_probed(rules, probed, world),
            AgentMessage::Installed(installed) => {
                self.handle_installed(rules, from, installed, world)
            }
            _ => Err("a message that Managers do not receive".to_owned()),
        }
    }

    /// Sends the capacity of this Set, once all hosts have answered.
    fn send_capacity(&mut self, rules: &Rules, world: &mut dyn World) -> Result<(), String> {
        let scheduling = self.scheduling.as_ref().expect(SCHEDULED);
        let call = self.call.as_mut().expect("a call is being held");
        call.measured.sort_by_key(|measured| measured.host);
        let capacity = Capacity {
            superstep: call.superstep,
            set: self.set,
            capacity: model::capacity(&call.processors(|measured| measured.load)),
            processes: self.placement.processes(),
            processors: call
                .measured
                .iter()
                .fold(0, |sum, measured| measured.cores.saturating_add(sum)),
            learned: scheduling.learned_cost.coefficients(),
        };
        self.send_to_managers(
            rules,
            &AgentMessage::Capacity(Box::new(capacity.clone())),
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
        let scheduling = self.scheduling.as_ref().expect(SCHEDULED);
        let learned = scheduling.learned_cost.coefficients();
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
        let order = Arc::new(Evaluate {
            superstep: call.superstep,
            sets,
            learned,
        });
        let nodes = self.placement.hosts();
        call.reports_missing = nodes.collect();
        let is_empty = call.reports_missing.is_empty();
        for host in &call.reports_missing {
            let message = AgentMessage::Evaluate(Arc::clone(&order));
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
        let scheduler = rules.scheduler.as_ref().expect(SCHEDULED);
        let scheduling = self.scheduling.as_mut().expect(SCHEDULED);
        let schedule = scheduling.when.schedule();
        let barrier_busy = std::mem::take(&mut scheduling.barrier_busy);
        let call = self.call.as_ref().expect("a call is being held");
        let reports = call.reports.by_rank();
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
        let mut set_report = SetReport {
            superstep: call.superstep,
            set: self.set,
            interval: schedule.interval,
            tolerance: schedule.tolerance,
            entries: reports.iter().map(|report| report.entry).collect(),
            digests: Digest::of_supersteps(reports.iter().map(|report| &report.times)),
            barrier_busy,
            inventory: None,
            remaining: scheduler.asked(|| most(reports.iter().map(|report| report.remaining))),
        };
        let mut inventory = scheduler.plans().then(|| self.inventory(rules, world));
        let all = (0..rules.managers.len()).map(SetId::from_index);
        for set in all.filter(|set| *set != self.set) {
            let message = SetReport {
                inventory: inventory.take_if(|_| set == rules.first),
                ..set_report.clone()
            };
            let message = AgentMessage::SetReport(Box::new(message));
            self.send(set, message, Cost::Encoded, world);
        }
        set_report.inventory = inventory;
        self.handle_set_report(rules, set_report, world)
    }

    fn handle_set_report(
        &mut self,
        rules: &Rules,
        set_report: SetReport,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let schedule = self.scheduling.as_ref().expect(SCHEDULED).when.schedule();
        let set = set_report.set;
        let tolerance = set_report.tolerance.map(f64::to_bits);
        check(
            set_report.interval == schedule.interval
                && tolerance == schedule.tolerance.map(f64::to_bits),
            || format!("{set} has another interval or tolerance"),
        )?;
        let scheduler = rules.scheduler.as_ref().expect(SCHEDULED);
        let wants_inventory = self.set == rules.first && scheduler.plans();
        check(set_report.inventory.is_some() == wants_inventory, || {
            format!("the inventory of {set} is missing or unexpected")
        })?;
        for entry in set_report.entries.iter() {
            let rank = entry.rank;
            check(rules.sets[self.placement.of(rank).index()] == set, || {
                format!("{set} reports {rank}, which is in another Set")
            })?;
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
        call.remaining = scheduler.asked(|| most(set_reports.map(|report| report.remaining)));
        let end = call
            .remaining
            .map(|left| (call.superstep + 1).saturating_add(left));
        self.scheduling.as_mut().expect(SCHEDULED).end = end;
        let entries = call.take_entries();
        // Where plans name processors, the list is recorded, and has no other use.
        if !scheduler.plans() || self.set == rules.first {
            call.list = model::merge(&scheduler.model, entries.concat());
        }
        drop(entries);
        if !scheduler.plans() {
            return self.begin_negotiation(rules, world);
        }
        if self.set == rules.first {
            self.plan(world);
            return Ok(());
        }
        self.follow_plan(rules, world)
    }

    /// The inventory of this Set, for the plan, which needs nothing else of its processes' reports.
    fn inventory(&mut self, rules: &Rules, world: &dyn HostProbe) -> Inventory {
        let call = self.call.as_mut().expect("a call is being held");
        let loads = std::mem::take(&mut call.reports).into_loads();
        let call = self.call.as_ref().expect("a call is being held");
        let sets = call.capacities.keys();
        Inventory {
            processors: call.processors(|measured| measured.load_recent),
            loads,
            rates: call.rates.clone(),
            paths: sets.map(|set| world.path(self.set, *set)).collect(),
            barrier: self.barrier_time(rules, world),
            measured: call.more(),
        }
    }

    /// What the barrier adds for the processes of this Set.
    fn barrier_time(&self, rules: &Rules, world: &dyn HostProbe) -> BarrierTime {
        let latency = |from, to| world.path(from, to).latency.get();
        let (release, arrival) = (
            latency(rules.first, self.set),
            latency(self.set, rules.first),
        );
        rules.barrier.time(release, arrival)
    }

    /// Asks for a plan made from the inventories of all Sets.
    fn plan(&mut self, world: &mut dyn Executor) {
        let call = self.call.as_mut().expect("a call is being held");
        let set_reports = call.set_reports.values_mut();
        let inventories = set_reports.filter_map(|set_report| set_report.inventory.take());
        let scheduling = self.scheduling.as_mut().expect(SCHEDULED);
        let deliberation = Deliberation {
            planner: scheduling.planner.take().expect("the first Manager plans"),
            start: CallStart {
                completed: call.superstep + 1,
                remaining: call.remaining,
                began: call.began,
            },
            sets: inventories.collect(),
            cost: scheduling.learned_cost.moves(),
        };
        world.deliberate(self.set, deliberation);
    }

    /// Handles a complete plan: it is sent to all Managers, once the links of large moves are probed.
    pub(super) fn handle_plan(
        &mut self,
        rules: &Rules,
        deliberated: Deliberated,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let Deliberated { planner, decision } = deliberated;
        let moves = rules.scheduler.as_ref().is_some_and(|s| s.moves);
        let probes = if moves && world.link_prober().is_some() {
            planner.probes(&decision)
        } else {
            Vec::new()
        };
        self.scheduling.as_mut().expect(SCHEDULED).planner = Some(planner);
        if probes.is_empty() {
            return self.send_plan(rules, decision, world);
        }
        let call = self.call.as_mut().expect("a call is being held");
        call.decision = Some(decision);
        let all_probed = self.probe_next(LinkProbes::new(probes), world);
        assert!(all_probed.is_none(), "there are links to probe");
        Ok(())
    }

    /// Sends a plan to all Managers.
    fn send_plan(
        &mut self,
        rules: &Rules,
        decision: Decision,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let call = self.call.as_mut().expect("a call is being held");
        call.assessment = Some(decision.assessment);
        let planned = Planned {
            superstep: call.superstep,
            moves: decision.moves,
            spacing: decision.spacing,
        };
        let message = AgentMessage::Planned(Box::new(planned.clone()));
        self.send_to_managers(rules, &message, Cost::Encoded, world);
        self.handle_planned(rules, planned, world)
    }

    fn handle_planned(
        &mut self,
        rules: &Rules,
        planned: Planned,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let call = self.call.as_mut().expect("a call is being held");
        check(call.planned.is_none(), || "a second plan".to_owned())?;
        call.planned = Some(planned);
        self.follow_plan(rules, world)
    }

    /// Carries out the plan, once it is known here and all Managers have reported.
    fn follow_plan(&mut self, rules: &Rules, world: &mut dyn World) -> Result<(), String> {
        let call = self.call.as_ref().expect("a call is being held");
        let Some(planned) = &call.planned else {
            return Ok(());
        };
        if call.set_reports.len() < rules.managers.len() {
            return Ok(());
        }
        let moves = ordered(rules, &planned.moves, self.placement.epoch + 1);
        self.carry_out(rules, moves, world)?;
        self.conclude_call(rules, world)
    }

    /// Selects the candidates, and prepares the negotiation about them.
    fn begin_negotiation(&mut self, rules: &Rules, world: &mut dyn World) -> Result<(), String> {
        let model = &rules.scheduler.as_ref().expect(SCHEDULED).model;
        let call = self.call.as_mut().expect("a call is being held");
        let orders = rules.orders(call.superstep + 1);
        let mut selection = match orders {
            Some(orders) => scripted_candidates(
                orders,
                &call.list,
                |host| rules.sets[host.index()],
                |rank| self.placement.of(rank),
            ),
            None => model::select(model, &call.list),
        };
        if self.set != rules.first {
            // The first Manager records the call.
            call.list = Vec::new();
            selection.passed_over = Vec::new();
        }
        let mut processors = call.processors(|measured| measured.load);
        for report in call.reports.all() {
            let resident = (report.rank, report.instructions_resident);
            let host = processors.binary_search_by_key(&report.host, |processor| processor.host);
            processors[host.expect("a host of this Set")]
                .residents
                .push(resident);
        }
        let rate = call.rates[self.set.index()];
        let processors = Processors::new(rate, processors, &self.placement.occupied);
        call.negotiation = Some(Negotiation {
            selection,
            processors,
            script: orders.map(scripted_places),
            settled: 0,
            asked: None,
            considered: Vec::new(),
        });
        self.negotiate(rules, world)
    }

    /// Decides about candidates as far as this Manager can without the answer of another.
    fn negotiate(&mut self, rules: &Rules, world: &mut dyn World) -> Result<(), String> {
        let scheduling = self.scheduling.as_ref();
        let learns = scheduling.is_some_and(|it| it.learned_cost.coefficients().is_some());
        let Some(call) = &mut self.call else {
            return Ok(());
        };
        let Some(negotiation) = &mut call.negotiation else {
            return Ok(());
        };
        if negotiation.asked.is_some() || call.decided.contains_key(&self.set) {
            return Ok(());
        }
        while let Some(candidate) = negotiation.selection.candidates.get(negotiation.settled) {
            let candidate = *candidate;
            if candidate.own == self.set {
                let host = self.placement.of(candidate.rank);
                let report = call.reports.of(candidate.rank, host);
                let report = report.ok_or_else(|| unreported(candidate.rank))?;
                let rate = call.rates[candidate.target.index()];
                let request = request(negotiation, report, candidate.target, (rate, learns));
                if candidate.target != self.set {
                    negotiation.asked = Some(request);
                    let ask = Ask {
                        superstep: call.superstep,
                        from: self.set,
                        request,
                    };
                    let message = AgentMessage::Ask(Box::new(ask));
                    self.send(candidate.target, message, Cost::Encoded, world);
                    return Ok(());
                }
                let answer = negotiation.answer(&request);
                negotiation.considered.push(Considered {
                    entry: candidate,
                    host,
                    request,
                    answer,
                });
            } else if candidate.target == self.set {
                let Some(ask) = call.asks.remove(&candidate.rank) else {
                    return Ok(());
                };
                check(ask.from == candidate.own, || {
                    format!("a request for {}, which is in another Set", candidate.rank)
                })?;
                let answer = negotiation.answer(&ask.request);
                let answered = Answered {
                    superstep: call.superstep,
                    rank: ask.request.rank,
                    answer,
                };
                let own = Address::SetManager(self.set);
                let message = AgentMessage::Answered(Box::new(answered));
                world.send(own, Address::SetManager(ask.from), message, Cost::Encoded);
            }
            negotiation.settled += 1;
        }
        self.price_agreed(rules, world)
    }

    /// Prices the moves that were agreed on by their links, of which those of long moves are probed before.
    fn price_agreed(&mut self, rules: &Rules, world: &mut dyn World) -> Result<(), String> {
        let call = self.call.as_mut().expect("a call is being held");
        let Some(negotiation) = call.negotiation.as_mut().filter(|_| call.probes.is_none()) else {
            return Ok(());
        };
        let is_scripted = negotiation.script.is_some();
        let learned_cost = &self.scheduling.as_ref().expect(SCHEDULED).learned_cost;
        learned_cost.price_by_moves(&mut negotiation.considered, is_scripted);
        let moves = rules.scheduler.as_ref().is_some_and(|s| s.moves);
        let probes = if moves && world.link_prober().is_some() {
            learned_cost.probes(&negotiation.considered)
        } else {
            Vec::new()
        };
        match self.probe_next(LinkProbes::new(probes), world) {
            Some(probes) => self.send_decisions(rules, probes.probed, world),
            None => Ok(()),
        }
    }

    /// Sends the decisions about the candidates of this Set to all Managers, with moves priced by the links that have been
    /// `probed`.
    fn send_decisions(
        &mut self,
        rules: &Rules,
        probed: Vec<ProbedLink>,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let call = self.call.as_mut().expect("a call is being held");
        let negotiation = call.negotiation.as_mut().expect("candidates are settled");
        let is_scripted = negotiation.script.is_some();
        let mut considered = std::mem::take(&mut negotiation.considered);
        let learned_cost = &self.scheduling.as_ref().expect(SCHEDULED).learned_cost;
        learned_cost.price_by_probes(&mut considered, &probed, is_scripted);
        let decided = Decided {
            superstep: call.superstep,
            set: self.set,
            considered,
            probed,
        };
        self.send_to_managers(
            rules,
            &AgentMessage::Decided(Box::new(decided.clone())),
            Cost::Encoded,
            world,
        );
        self.handle_decided(rules, decided, world)
    }

    fn handle_answer(
        &mut self,
        rules: &Rules,
        from: Address,
        answered: &Answered,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let call = self.call.as_mut().expect("a call is being held");
        let rank = answered.rank;
        let unexpected = || format!("an answer about {rank}, which was not asked for");
        let negotiation = call.negotiation.as_mut().ok_or_else(unexpected)?;
        let asked = negotiation.asked.take_if(|asked| asked.rank == rank);
        let request = asked.ok_or_else(unexpected)?;
        let entry = negotiation.selection.candidates[negotiation.settled];
        check(from == Address::SetManager(entry.target), unexpected)?;
        check_place(rules, &answered.answer, entry.target)?;
        if matches!(answered.answer, Answer::Offer { .. }) {
            negotiation.processors.depart(request.rank);
        }
        negotiation.considered.push(Considered {
            entry,
            host: self.placement.of(rank),
            request,
            answer: answered.answer,
        });
        negotiation.settled += 1;
        self.negotiate(rules, world)
    }

    /// Handles the decisions of one Manager. When all have decided, the moves are carried out.
    fn handle_decided(
        &mut self,
        rules: &Rules,
        decided: Decided,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let call = self.call.as_mut().expect("a call is being held");
        let set = decided.set;
        for considered in &decided.considered {
            check_place(rules, &considered.answer, considered.entry.target)?;
        }
        let is_new = call.decided.insert(set, decided).is_none();
        check(is_new, || format!("a second decision of {set}"))?;
        if call.decided.len() < rules.managers.len() {
            return Ok(());
        }
        let moves = negotiated(rules, call, self.placement.epoch + 1)?;
        self.carry_out(rules, moves, world)?;
        self.conclude_call(rules, world)
    }

    /// Probes the next link of `probes`. Returns them if all links are probed.
    fn probe_next(&mut self, mut probes: LinkProbes, world: &mut dyn Mail) -> Option<LinkProbes> {
        let call = self.call.as_mut().expect("a call is being held");
        let Some(probe) = probes.waiting.pop() else {
            return Some(probes);
        };
        probes.asked = Some((probe.from, probe.to));
        call.probes = Some(probes);
        let order = ProbeLink {
            superstep: call.superstep,
            probe,
        };
        let (own, node) = (Address::SetManager(self.set), Address::Node(probe.from));
        world.send(own, node, AgentMessage::ProbeLink(order), Cost::Encoded);
        None
    }

    /// Handles what a node has found. When all links are probed, the moves are priced again.
    fn handle_probed(
        &mut self,
        rules: &Rules,
        probed: LinkProbed,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let call = self.call.as_mut().expect("a call is being held");
        let link = probed.link;
        let is_asked = |probes: &mut LinkProbes| probes.asked == Some((link.from, link.to));
        let probes = call.probes.take_if(is_asked);
        check(probes.is_some(), || {
            format!(
                "a probe of the link from {} to {}, which was not asked for",
                link.from, link.to
            )
        })?;
        let mut probes = probes.unwrap_or_default();
        probes.asked = None;
        probes.probed.push(link);
        let Some(probes) = self.probe_next(probes, world) else {
            return Ok(());
        };
        let call = self.call.as_mut().expect("a call is being held");
        match call.decision.take() {
            Some(decision) => {
                call.probed.clone_from(&probes.probed);
                let scheduling = self.scheduling.as_mut().expect(SCHEDULED);
                let links = scheduling.learned_cost.confirmed(&probes.probed);
                let planner = scheduling
                    .planner
                    .as_mut()
                    .expect("the first Manager plans");
                let decision = planner.confirm(decision, &links);
                self.send_plan(rules, decision, world)
            }
            None => self.send_decisions(rules, probes.probed, world),
        }
    }

    /// Ends the call when all processes that move have been installed on their new hosts.
    pub(super) fn conclude_call(
        &mut self,
        rules: &Rules,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let call = self.call.as_ref().expect("a call is being held");
        if !call.moves.are_complete()? {
            return Ok(());
        }
        let call = self.call.take().expect("looked at above");
        let orders = call.moves.orders.as_deref().unwrap_or_default();
        self.commit_moves(rules, orders, world);
        let here = orders.iter().map(|order| order.to);
        let here = here.filter(|to| rules.sets[to.index()] == self.set);
        self.placement.occupied.extend(here);
        let hold = hold(rules, &call, self.started, world.now());
        let took = world.now() + hold - call.began;
        let scheduling = self.scheduling.as_mut().expect(SCHEDULED);
        let learned = scheduling.learned_cost.coefficients();
        let measured = call.measured_moves(&rules.sets);
        scheduling.learned_cost.observe(&measured);
        if let Some(planner) = &mut scheduling.planner {
            planner.conclude(took, !orders.is_empty());
        }
        let planned = call.planned.as_ref();
        scheduling.when.conclude(&CallOutcome {
            completed: call.superstep + 1 - rules.first_superstep(),
            supersteps: &call.supersteps,
            barrier_busy: &call.set_reports[&rules.first].barrier_busy,
            migrations: orders.len(),
            spacing: planned.map_or_else(Spacing::default, |planned| planned.spacing),
        });
        let schedule = scheduling.when.schedule();
        if self.set == rules.first {
            world.record(record::Event::Call(Box::new(describe(
                rules, call, learned, schedule, took,
            ))));
        }
        let scheduler = rules.scheduler.as_ref().expect(SCHEDULED);
        let initial = scheduler.model.parameters().interval;
        let start = self.next_start(Some(schedule.interval.unwrap_or(initial)));
        if hold == Seconds::ZERO {
            self.release(rules, &start, world);
        } else {
            self.held = Some(start);
            world.wake(Address::SetManager(self.set), hold);
        }
        Ok(())
    }
}

impl Call {
    fn new(superstep: u64, began: Instant) -> Self {
        Self {
            superstep,
            began,
            measured: Vec::new(),
            capacities: BTreeMap::new(),
            rates: Vec::new(),
            reports_missing: BTreeSet::new(),
            reports: HostReports::default(),
            set_reports: BTreeMap::new(),
            supersteps: Vec::new(),
            remaining: None,
            list: Vec::new(),
            negotiation: None,
            asks: BTreeMap::new(),
            decided: BTreeMap::new(),
            planned: None,
            assessment: None,
            probes: None,
            decision: None,
            probed: Vec::new(),
            moves: Moves::default(),
        }
    }

    /// The hosts of the own Set with the load that `load` reads, without their residents.
    fn processors(&self, load: impl Fn(&Measured) -> f64) -> Vec<Processor> {
        let processor = |measured: &Measured| Processor {
            host: measured.host,
            speed: measured.speed,
            cores: measured.cores,
            load: load(measured),
            residents: Vec::new(),
        };
        self.measured.iter().map(processor).collect()
    }

    /// What else the hosts of the own Set have measured.
    fn more(&self) -> Measurements {
        let measured = self.measured.iter().map(|measured| &measured.more);
        Measurements {
            links: measured
                .clone()
                .flat_map(|more| &more.links)
                .copied()
                .collect(),
            external: measured.flat_map(|more| &more.external).cloned().collect(),
        }
    }

    /// The moves of this call in rank order, where the cost of moves is learned; `sets` has the Set of each host.
    fn measured_moves(&self, sets: &[SetId]) -> Vec<CallMove> {
        let planned = self.planned.iter().flat_map(|planned| &planned.moves);
        let planned = planned.map(|planned| (planned.step.rank, planned.per_byte));
        let decided = self
            .decided
            .values()
            .flat_map(|decided| &decided.considered);
        let decided =
            decided.map(|considered| (considered.entry.rank, considered.request.per_byte));
        let predicted: BTreeMap<Rank, Option<f64>> = planned.chain(decided).collect();
        let mut moves: Vec<&Migrate> = self.moves.orders.iter().flatten().collect();
        moves.sort_by_key(|order| order.rank);
        let place = |host: HostId| (host, sets[host.index()]);
        let measured = moves.into_iter().filter_map(|order| {
            Some(CallMove {
                measured: self.moves.installed.get(&order.rank)?.measured?,
                per_byte: predicted.get(&order.rank).copied().flatten()?,
                from: place(order.from),
                to: place(order.to),
            })
        });
        measured.collect()
    }

    /// Removes the rows of the list of potentials from the reports of all Sets.
    fn take_entries(&mut self) -> Vec<Arc<[Entry]>> {
        let set_reports = self.set_reports.values_mut();
        let entries = set_reports.map(|set_report| std::mem::take(&mut set_report.entries));
        entries.collect()
    }
}

impl HostReports {
    /// Adds the evaluations of processes of a host; `host_of` is the host of a process.
    fn add(&mut self, reports: Reports, host_of: impl Fn(Rank) -> HostId) -> Result<(), String> {
        let Reports {
            host, mut reports, ..
        } = reports;
        for Report { rank, .. } in &reports {
            check(host_of(*rank) == host, || {
                format!("{host} reports {rank}, which does not run there")
            })?;
        }
        let all = self.0.entry(host).or_default();
        if all.is_empty() {
            *all = reports;
        } else {
            all.append(&mut reports);
        }
        all.sort_by_key(|report| report.rank);
        all.windows(2).try_for_each(|pair| {
            let rank = pair[1].rank;
            check(pair[0].rank < rank, || format!("a second report of {rank}"))
        })
    }

    /// All of them, by host.
    fn all(&self) -> impl Iterator<Item = &Report> {
        self.0.values().flatten()
    }

    /// All of them, in rank order.
    fn by_rank(&self) -> Vec<&Report> {
        let mut reports: Vec<&Report> = self.all().collect();
        reports.sort_by_key(|report| report.rank);
        reports
    }

    /// The evaluation of the process `rank`, which runs on `host`.
    fn of(&self, rank: Rank, host: HostId) -> Option<&Report> {
        let reports = self.0.get(&host)?;
        let place = reports.binary_search_by_key(&rank, |report| report.rank);
        place.ok().map(|place| &reports[place])
    }

    /// The loads of the processes, in rank order.
    fn into_loads(self) -> Vec<Load> {
        let mut loads = Vec::with_capacity(self.0.values().map(Vec::len).sum());
        let reports = self.0.into_values().flatten();
        loads.extend(reports.filter_map(|report| report.load).map(|load| *load));
        loads.sort_by_key(|load| load.rank);
        loads
    }
}

impl Negotiation {
    /// The answer about a candidate for the own Set: that of the script, if there is one.
    fn answer(&mut self, request: &Request) -> Answer {
        match &self.script {
            Some(script) => self.processors.place(request, script[&request.rank]),
            None => self.processors.answer(request),
        }
    }
}

impl LinkProbes {
    /// These probes, one after the other.
    fn new(mut probes: Vec<LinkProbe>) -> Self {
        probes.reverse();
        Self {
            waiting: probes,
            ..Self::default()
        }
    }
}

/// Checks that a host that is offered is in the target Set.
fn check_place(rules: &Rules, answer: &Answer, target: SetId) -> Result<(), String> {
    match answer {
        Answer::Offer { host, .. } => check(rules.sets[host.index()] == target, || {
            format!("{host} is offered, which is not in {target}")
        }),
        Answer::Refuse(_) => Ok(()),
    }
}

fn unreported(rank: Rank) -> String {
    format!("{rank} is a candidate, but has not reported")
}

/// What the Manager of a candidate asks for; a byte takes `rate` seconds to the target Set, and `learns`: whether the
/// cost of moves is learned.
fn request(
    negotiation: &Negotiation,
    report: &Report,
    target: SetId,
    (rate, learns): (f64, bool),
) -> Request {
    let t2 = negotiation.processors.stay(report.rank, report.bytes, rate);
    Request {
        rank: report.rank,
        instructions: report.instructions,
        bytes: report.bytes,
        migration: report.evaluation.cost(target),
        t2: t2.expect("a candidate lives in its own Set"),
        per_byte: learns.then_some(rate),
    }
}

/// The moves that were agreed on, in the order of the list; none if moving is switched off.
///
/// # Errors
///
/// If the Managers have not decided about the candidates of their Sets, in the order of the list.
fn negotiated(rules: &Rules, call: &Call, epoch: u64) -> Result<Vec<Migrate>, String> {
    check_decisions(call)?;
    let order = |considered: &Considered| match considered.answer {
        Answer::Offer { host, .. } => Some(Migrate {
            rank: considered.entry.rank,
            from: considered.host,
            to: host,
            epoch,
            deferred_cost: considered.request.migration,
        }),
        Answer::Refuse(_) => None,
    };
    Ok(paid(rules, in_order(call).filter_map(order)))
}

/// Checks that every Manager has decided about the candidates of its Set, in the order of the list.
fn check_decisions(call: &Call) -> Result<(), String> {
    let candidates = call.negotiation.iter();
    let candidates = candidates.flat_map(|negotiation| &negotiation.selection.candidates);
    let mut expected: BTreeMap<SetId, Vec<Rank>> = BTreeMap::new();
    for candidate in candidates {
        let ranks = expected.entry(candidate.own).or_default();
        ranks.push(candidate.rank);
    }
    for (set, decided) in &call.decided {
        let ranks = decided.considered.iter().map(|other| other.entry.rank);
        let expected = expected.remove(set).unwrap_or_default();
        check(ranks.eq(expected), || {
            format!("{set} has not decided about its candidates")
        })?;
    }
    Ok(())
}

/// The moves of a plan, in its order; none if moving is switched off.
fn ordered(rules: &Rules, moves: &[PlannedMove], epoch: u64) -> Vec<Migrate> {
    let order = |planned: &PlannedMove| Migrate {
        rank: planned.step.rank,
        from: planned.step.from,
        to: planned.step.to,
        epoch,
        deferred_cost: planned.cost,
    };
    paid(rules, moves.iter().map(order))
}

/// Orders that are carried out, with the deferred cost of the migrant if it pays.
fn paid(rules: &Rules, orders: impl Iterator<Item = Migrate>) -> Vec<Migrate> {
    let Some(Scheduler {
        moves: true,
        payment,
        ..
    }) = &rules.scheduler
    else {
        return Vec::new();
    };
    let pays = |order: Migrate| match payment {
        Payment::Migrant => order,
        Payment::Transfer => Migrate {
            deferred_cost: Seconds::ZERO,
            ..order
        },
    };
    orders.map(pays).collect()
}

/// The decisions about all candidates, in the order of the list; empty where plans name processors.
fn in_order(call: &Call) -> impl Iterator<Item = &Considered> {
    let negotiation = call.negotiation.iter();
    let mut considered: BTreeMap<_, _> = call
        .decided
        .values()
        .map(|decided| (decided.set, decided.considered.iter()))
        .collect();
    negotiation
        .flat_map(|negotiation| &negotiation.selection.candidates)
        .map(move |candidate| {
            let own = considered.get_mut(&candidate.own).and_then(Iterator::next);
            let own = own.expect("every candidate is considered by the Manager of its Set");
            assert_eq!(own.entry.rank, candidate.rank, "in the order of the list");
            own
        })
}

/// The time by which a superstep with this call must be longer.
fn hold(rules: &Rules, call: &Call, started: Instant, now: Instant) -> Seconds {
    let Some(scheduler) = &rules.scheduler else {
        return Seconds::ZERO;
    };
    let migrated = call.moves.is_any();
    let from = match scheduler.window_after_migration {
        WindowRule::Added if migrated => call.began,
        WindowRule::Added | WindowRule::AtLeast => started,
    };
    (scheduler.window - (now - from)).max(Seconds::ZERO)
}

/// The record of a call that took `took`, with what had been `learned` of the cost of moves before it; `schedule` is the
/// schedule of later calls.
fn describe(
    rules: &Rules,
    call: Call,
    learned: Option<CostCoefficients>,
    schedule: CallSchedule,
    took: Seconds,
) -> record::Call {
    let considered: Vec<Considered> = in_order(&call).cloned().collect();
    let migrated = call.moves.is_any();
    let moves = call.planned.iter().flat_map(|planned| &planned.moves);
    let migrations = if migrated {
        considered
            .iter()
            .filter_map(record::Migration::negotiated)
            .chain(moves.map(record::Migration::planned))
            .collect()
    } else {
        Vec::new()
    };
    let decided = call.decided.values();
    let probed = decided.flat_map(|decided| &decided.probed).copied();
    let probed = call.probed.iter().copied().chain(probed).collect();
    let barrier_busy = call.set_reports[&rules.first].barrier_busy.iter();
    let checked = call.supersteps.iter().zip(barrier_busy);
    let checked = checked.map(|(digest, barrier_busy)| record::BalanceCheck {
        digest: *digest,
        barrier_busy: *barrier_busy,
    });
    let checked = checked.collect();
    let selection = call.negotiation.map(|negotiation| negotiation.selection);
    let selection = selection.unwrap_or_default();
    record::Call {
        superstep: call.superstep + 1,
        at: call.began,
        cost: took,
        interval: schedule.interval,
        tolerance: schedule.tolerance,
        balanced: schedule.balanced,
        judged: checked,
        threshold: selection.threshold,
        list: call.list,
        passed_over: selection.passed_over,
        considered,
        assessment: call.assessment,
        remaining: call.remaining,
        learned,
        probed,
        migrations,
    }
}

#[cfg(test)]
mod tests {
    use crate::barrier::{Collection, Shape};
    use crate::test_world::TestWorld;

    use super::*;

    #[test]
    fn a_set_far_from_the_first_manager_starts_later_and_is_waited_for() {
        let central = BarrierTime::Central {
            release: 1e-3,
            arrival: 1e-3,
        };
        let all = [
            (
                Shape::Central,
                Collection::ByRank,
                BarrierTime::ByRank { process: 2e-3 },
            ),
            (Shape::Central, Collection::AsTheyCome, central),
            (
                Shape::Hierarchical,
                Collection::ByRank,
                BarrierTime::Hierarchical,
            ),
            (Shape::Ideal, Collection::ByRank, BarrierTime::Ideal),
        ];
        for (shape, collection, far) in all {
            let test_world = TestWorld::new(shape, collection, &[0, 3], &[1, 1], None);
            let managers = test_world.agents().managers;
            let time = |set: usize| managers[set].barrier_time(&test_world.rules, &test_world);
            assert_eq!(time(1), far, "{shape:?}");
        }
    }
}
