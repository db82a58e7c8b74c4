//! The planner or the model that decides again, with its state from call to call.

use std::collections::{BTreeMap, BTreeSet};

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank, Round};
use migbsp::{
    CallMove, CallOutcome, CallStart, Decision, Digest, Entry, Planner, Selection, Spacing, When,
};
use protocol::Considered;
use record::{Call, Migration, Moved};

use super::evaluation::Found;
use super::negotiation::Negotiation;
use super::observations::Observations;
use crate::learned_cost::LearnedCost;
use crate::remaining::{can_pay, most};
use crate::script;
use crate::setup::Scheduler;

/// All Managers as one.
#[derive(Debug)]
pub(super) struct Deciding {
    pub(super) scheduler: Scheduler,
    pub(super) when: Box<dyn When>,
    planner: Option<Planner>,
    /// What is known of the cost of moves.
    pub(super) learned_cost: LearnedCost,
    /// The superstep with which the run ends at the latest, if a call has found out.
    end: Option<u64>,
    /// The hosts to which a process has migrated.
    occupied: BTreeSet<HostId>,
    /// The superstep with which the run began.
    first: u64,
}

/// The end of a superstep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Barrier {
    /// The number of complete supersteps.
    pub(super) completed: u64,
    /// When the last of them was.
    pub(super) at: Instant,
}

/// What was decided in a call.
#[derive(Debug, Default)]
pub(super) struct Decided {
    list: Vec<Entry>,
    selection: Selection,
    considered: Vec<Considered>,
    decision: Option<Decision>,
    /// The most supersteps that are left, if all programs know.
    remaining: Option<u64>,
}

impl Deciding {
    /// As a run begins with superstep `first`.
    pub(super) fn new(scheduler: Scheduler, first: u64) -> Self {
        Self {
            when: scheduler.policy.when(&scheduler.model, &scheduler.planning),
            planner: scheduler.planner(),
            learned_cost: LearnedCost::new(&scheduler),
            end: None,
            occupied: BTreeSet::new(),
            first,
            scheduler,
        }
    }

    /// Whether a call follows the first `completed` supersteps, of which `round` belong together.
    pub(super) fn is_due(&self, completed: u64, round: Round) -> bool {
        let is_due = round.ends_with(completed - 1) && self.when.is_due(completed - self.first);
        self.scheduler.is_scripted(completed) || is_due && can_pay(completed, self.end)
    }

    /// Decides a call at `barrier`, in which this was observed and `found`. What probes of links found is taken from the
    /// record.
    pub(super) fn decide(
        &mut self,
        barrier: Barrier,
        observations: &Observations,
        (recorded, found): (&Call, Vec<Found>),
    ) -> Decided {
        let model = &self.scheduler.model;
        let remaining = self.scheduler.asked(|| most(observations.remaining()));
        self.end = remaining.map(|left| barrier.completed.saturating_add(left));
        let list = migbsp::merge(model, found.iter().map(|found| found.entry).collect());
        if let Some(planner) = &mut self.planner {
            let inventories = observations.inventories();
            let cost = self.learned_cost.moves();
            let start = CallStart {
                completed: barrier.completed,
                remaining,
                began: barrier.at,
            };
            let decision = planner.decide(start, inventories, cost);
            let decision = if recorded.probed.is_empty() {
                decision
            } else {
                planner.confirm(decision, &self.learned_cost.confirmed(&recorded.probed))
            };
            return Decided {
                list,
                remaining,
                decision: Some(decision),
                ..Decided::default()
            };
        }
        let orders = self.scheduler.script.as_ref();
        let orders = orders.map(|script| script.orders(barrier.completed));
        let selection = match orders {
            Some(orders) => script::candidates(
                orders,
                &list,
                |host| observations.set(host),
                |rank| observations.evaluation(rank).host,
            ),
            None => migbsp::select(model, &list),
        };
        let negotiation = Negotiation {
            observations,
            evaluations: found
                .into_iter()
                .map(|found| (found.entry.rank, found.evaluation))
                .collect(),
            places: orders.map(script::places),
            learns: self.scheduler.learns(),
        };
        let mut considered = negotiation.settle(&self.occupied, &selection.candidates);
        let is_scripted = orders.is_some();
        let cost = &self.learned_cost;
        cost.price_by_moves(&mut considered, is_scripted);
        cost.price_by_probes(&mut considered, &recorded.probed, is_scripted);
        Decided {
            list,
            selection,
            considered,
            decision: None,
            remaining,
        }
    }

    /// The call at `barrier`, in which this was observed, is over: how the record of it should read. Only what it and its
    /// moves (`moved`) took, and how its supersteps went, is taken from the record.
    pub(super) fn conclude(
        &mut self,
        barrier: Barrier,
        observations: &Observations,
        (recorded, moved): (&Call, &[Moved]),
        decided: Decided,
    ) -> Call {
        let migrations = decided.migrations(self.scheduler.moves);
        let learned = self.learned_cost.coefficients();
        let measured = measured(&migrations, moved, observations);
        self.learned_cost.observe(&measured);
        if let Some(planner) = &mut self.planner {
            planner.conclude(recorded.cost, !migrations.is_empty());
        }
        self.occupied.extend(migrations.iter().map(|step| step.to));
        let judged = recorded.judged.iter();
        let supersteps: Vec<Digest> = judged.clone().map(|judged| judged.digest).collect();
        let barrier_busy: Vec<Seconds> = judged.map(|judged| judged.barrier_busy).collect();
        let decision = decided.decision.as_ref();
        self.when.conclude(&CallOutcome {
            completed: barrier.completed - self.first,
            supersteps: &supersteps,
            barrier_busy: &barrier_busy,
            migrations: migrations.len(),
            spacing: decision.map_or_else(Spacing::default, |decision| decision.spacing),
        });
        let schedule = self.when.schedule();
        Call {
            superstep: barrier.completed,
            at: barrier.at,
            cost: recorded.cost,
            interval: schedule.interval,
            tolerance: schedule.tolerance,
            balanced: schedule.balanced,
            judged: recorded.judged.clone(),
            threshold: decided.selection.threshold,
            list: decided.list,
            passed_over: decided.selection.passed_over,
            considered: decided.considered,
            assessment: decided.decision.map(|decision| decision.assessment),
            remaining: decided.remaining,
            learned,
            probed: recorded.probed.clone(),
            migrations,
        }
    }
}

impl Decided {
    /// The number of candidates, or of planned moves.
    pub(super) fn candidates(&self) -> usize {
        let planned = self.decision.as_ref();
        self.considered.len() + planned.map_or(0, |decision| decision.moves.len())
    }

    /// The migrations, unless moving is switched off.
    fn migrations(&self, moves: bool) -> Vec<Migration> {
        if !moves {
            return Vec::new();
        }
        let planned = self.decision.iter().flat_map(|decision| &decision.moves);
        let negotiated = self.considered.iter().filter_map(Migration::negotiated);
        negotiated.chain(planned.map(Migration::planned)).collect()
    }
}

/// The `migrations` of a call in rank order, with what they took as `moved` says; none where the cost of moves is not
/// learned.
fn measured(
    migrations: &[Migration],
    moved: &[Moved],
    observations: &Observations,
) -> Vec<CallMove> {
    let migrations = migrations.iter();
    let predicted: BTreeMap<Rank, &Migration> = migrations
        .map(|migration| (migration.rank, migration))
        .collect();
    let place = |host: HostId| (host, observations.set(host));
    let measured = moved.iter().filter_map(|moved| {
        let migration = predicted.get(&moved.rank)?;
        Some(CallMove {
            measured: moved.measured(),
            per_byte: migration.per_byte?,
            from: place(migration.from),
            to: place(migration.to),
        })
    });
    measured.collect()
}
