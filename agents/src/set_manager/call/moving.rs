//! The moves of a call, until all processes that move have been installed.

use std::collections::BTreeSet;

use bsp::units::Seconds;
use migbsp::{CallOutcome, Spacing};
use protocol::{Address, Installed, Migrate};

use super::outcome::{describe, hold};
use crate::check::check;
use crate::mutant::{self, Mutant};
use crate::record;
use crate::set_manager::SetManager;
use crate::setup::Rules;
use crate::world::World;

impl SetManager {
    pub(super) fn handle_installed(
        &mut self,
        rules: &Rules,
        from: Address,
        installed: Installed,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let rank = installed.rank;
        self.check_next(installed)?;
        let call = self.call.as_mut().expect("a call is being held");
        let is_new = call.installed.insert(rank, installed).is_none();
        check(is_new, || format!("{rank} is installed twice"))?;
        self.pass_on(rules, from, installed, world);
        self.conclude_if_settled(rules, world)
    }

    /// Orders the moves of processes of this Set, once all Managers know all moves.
    pub(super) fn carry_out(
        &mut self,
        rules: &Rules,
        moves: Vec<Migrate>,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let mut moving = BTreeSet::new();
        for order in &moves {
            let Migrate { rank, from, to, .. } = *order;
            let is_possible = from != to
                && moving.insert(rank)
                && self.placement_view.of(rank) == from
                && self.barrier.can_move(rules, self.set, from);
            check(is_possible, || {
                format!("{rank} cannot move from {from} to {to}")
            })?;
        }
        self.order(rules, &moves, world);
        let call = self.call.as_mut().expect("a call is being held");
        call.moves = Some(moves);
        self.conclude_if_settled(rules, world)
    }

    /// Ends the call when all processes that move have been installed on their new hosts.
    fn conclude_if_settled(&mut self, rules: &Rules, world: &mut dyn World) -> Result<(), String> {
        let call = self.call.as_ref().expect("a call is being held");
        let Some(moves) = &call.moves else {
            return Ok(());
        };
        let needed = if mutant::is(Mutant::CommitEarly) {
            moves.len().min(1)
        } else {
            moves.len()
        };
        if call.installed.len() < needed {
            return Ok(());
        }
        for order in moves {
            let (rank, to) = (order.rank, order.to);
            let installed = call.installed.get(&rank);
            check(
                installed.is_some_and(|installed| installed.host == to),
                || format!("{rank} is not installed on {to}"),
            )?;
        }
        check(call.installed.len() == moves.len(), || {
            "processes are installed that do not move".to_owned()
        })?;
        let call = self.call.take().expect("looked at above");
        let moves = call.moves.as_deref().expect("looked at above");
        self.place(rules, moves);
        if !moves.is_empty() {
            self.epoch += 1;
            world.commit(self.set, self.epoch, moves);
        }
        let learned = self.learned_cost.coefficients();
        self.learned_cost.observe(&call.measured_moves(&rules.sets));
        let hold = hold(rules, &call, self.started, world.now());
        let took = world.now() + hold - call.began;
        if let Some(planner) = &mut self.planner {
            planner.conclude(took, !moves.is_empty());
        }
        let planned = call.planned.as_ref();
        let when = self.when.as_mut().expect("there is a scheduler");
        when.conclude(&CallOutcome {
            completed: call.superstep + 1 - rules.first_superstep(),
            supersteps: &call.supersteps,
            barrier_busy: &call.set_reports[&rules.first].barrier_busy,
            migrations: moves.len(),
            spacing: planned.map_or_else(Spacing::default, |planned| planned.spacing),
        });
        let schedule = when.schedule();
        if self.set == rules.first {
            world.record(record::Event::Call(Box::new(describe(
                rules, call, learned, schedule, took,
            ))));
        }
        let scheduler = rules.scheduler.as_ref().expect("calls have a scheduler");
        let initial = scheduler.model.parameters().interval;
        let start = self.next_start(Some(schedule.interval.unwrap_or(initial)));
        if hold == Seconds::ZERO {
            self.release(rules, start, world);
        } else {
            self.held = Some(start);
            world.wake(Address::SetManager(self.set), hold);
        }
        Ok(())
    }

    /// Notes the new hosts of processes that have migrated.
    fn place(&mut self, rules: &Rules, moves: &[Migrate]) {
        for order in moves {
            self.note_move(rules, order);
            if rules.sets[order.to.index()] == self.set {
                self.occupied.insert(order.to);
            }
        }
    }
}
