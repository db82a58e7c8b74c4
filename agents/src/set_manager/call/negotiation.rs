//! The candidates of a call, and the requests and answers about them.

use bsp::SetId;
use migbsp::{Answer, ProbedLink, Processors, Request};
use protocol::{Address, AgentMessage, Answered, Ask, CallMessage, Considered, Decided, Report};

use super::link_probes::LinkProbes;
use super::outcome::negotiated;
use super::state::Negotiation;
use crate::check::check;
use crate::repricing;
use crate::script;
use crate::set_manager::SetManager;
use crate::setup::Rules;
use crate::world::{Cost, World};

impl SetManager {
    /// Selects the candidates, and prepares the negotiation about them.
    pub(super) fn begin_negotiation(
        &mut self,
        rules: &Rules,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let model = &rules
            .scheduler
            .as_ref()
            .expect("calls have a scheduler")
            .model;
        let call = self.call.as_mut().expect("a call is being held");
        let orders = rules.orders(call.superstep + 1);
        let selection = match orders {
            Some(orders) => script::candidates(
                orders,
                &call.list,
                |host| rules.sets[host.index()],
                |rank| self.placement_view.of(rank),
            ),
            None => migbsp::select(model, &call.list),
        };
        let mut processors = call.processors(|measured| measured.load);
        for report in call.reports.values() {
            let resident = (report.rank, report.instructions_resident);
            let host = processors.binary_search_by_key(&report.host, |processor| processor.host);
            processors[host.expect("a host of this Set")]
                .residents
                .push(resident);
        }
        let rate = call.rates[self.set.index()];
        let processors = Processors::new(rate, processors, &self.occupied);
        call.negotiation = Some(Negotiation {
            selection,
            processors,
            script: orders.map(script::places),
            settled: 0,
            asked: None,
            considered: Vec::new(),
        });
        self.negotiate(rules, world)
    }

    /// Decides about candidates as far as this Manager can without the answer of another.
    pub(super) fn negotiate(&mut self, rules: &Rules, world: &mut dyn World) -> Result<(), String> {
        let learns = self.learned_cost.coefficients().is_some();
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
                let report = call.reports.get(&candidate.rank);
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
                    let message = AgentMessage::Call(CallMessage::Ask(Box::new(ask)));
                    self.send(candidate.target, message, Cost::Encoded, world);
                    return Ok(());
                }
                let host = report.host;
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
                let message = AgentMessage::Call(CallMessage::Answered(Box::new(answered)));
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
        self.learned_cost
            .price_by_moves(&mut negotiation.considered, is_scripted);
        let moves = rules.scheduler.as_ref().is_some_and(|s| s.moves);
        let probes = if moves && world.probes_links() {
            repricing::probes(&negotiation.considered, &self.learned_cost.moves())
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
    pub(super) fn send_decisions(
        &mut self,
        rules: &Rules,
        probed: Vec<ProbedLink>,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let call = self.call.as_mut().expect("a call is being held");
        let negotiation = call.negotiation.as_mut().expect("candidates are settled");
        let is_scripted = negotiation.script.is_some();
        let mut considered = std::mem::take(&mut negotiation.considered);
        self.learned_cost
            .price_by_probes(&mut considered, &probed, is_scripted);
        let decided = Decided {
            superstep: call.superstep,
            set: self.set,
            considered,
            probed,
        };
        self.send_to_managers(
            rules,
            &AgentMessage::Call(CallMessage::Decided(Box::new(decided.clone()))),
            Cost::Encoded,
            world,
        );
        self.handle_decided(rules, decided, world)
    }

    pub(super) fn handle_answer(
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
            host: call.reports[&rank].host,
            request,
            answer: answered.answer,
        });
        negotiation.settled += 1;
        self.negotiate(rules, world)
    }

    /// Handles the decisions of one Manager. When all have decided, the moves are carried out.
    pub(super) fn handle_decided(
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
        let moves = negotiated(rules, call, self.epoch + 1)?;
        self.carry_out(rules, moves, world)
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

fn unreported(rank: bsp::Rank) -> String {
    format!("{rank} is a candidate, but has not reported")
}

/// What the Manager of a candidate asks for; a byte takes `rate` seconds to the target Set, and `learns` tells whether the
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
