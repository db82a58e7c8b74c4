//! Plans that name processors: the first Manager makes them, all carry them out.

use migbsp::Inventory;
use protocol::{Message, Planned};

use super::Call;
use super::outcome::ordered;
use crate::set_manager::SetManager;
use crate::setup::Rules;
use crate::world::{Cost, World};

impl SetManager {
    /// What there is to plan with in this Set.
    pub(super) fn inventory(&self, call: &Call, world: &dyn World) -> Inventory {
        let sets = call.capacities.keys();
        Inventory {
            processors: call.processors(|measured| measured.load_recent),
            loads: call
                .reports
                .values()
                .filter_map(|report| report.load.clone())
                .collect(),
            rates: sets
                .map(|set| world.transfer_rate(self.set, *set))
                .collect(),
        }
    }

    /// Plans with what all Managers told, and tells them.
    pub(super) fn plan(&mut self, rules: &Rules, world: &mut dyn World) {
        let scheduler = rules.scheduler.as_ref().expect("nobody else calls");
        let call = self.call.as_mut().expect("a call is being held");
        let standings = call.standings.values_mut();
        let inventories = standings.filter_map(|standing| standing.inventory.take());
        let planner = self.planner.as_mut().expect("the first Manager plans");
        let decision = planner.decide(
            call.superstep + 1,
            call.began,
            inventories.collect(),
            scheduler.model.parameters().migration,
        );
        call.weighed = Some(decision.weighed);
        let planned = Planned {
            superstep: call.superstep,
            moves: decision.moves,
            cost: decision.cost,
            pause: decision.pause,
            again: decision.again,
        };
        let message = Message::Planned(Box::new(planned.clone()));
        self.tell_managers(rules, &message, Cost::Encoded, world);
        self.take_planned(rules, planned, world);
    }

    pub(super) fn take_planned(&mut self, rules: &Rules, planned: Planned, world: &mut dyn World) {
        let call = self.call.as_mut().expect("a call is being held");
        call.planned = Some(planned);
        self.follow_plan(rules, world);
    }

    /// Carries out what was planned, once that is known here and all Managers have been heard.
    pub(super) fn follow_plan(&mut self, rules: &Rules, world: &mut dyn World) {
        let call = self.call.as_ref().expect("a call is being held");
        let Some(planned) = &call.planned else { return };
        if call.standings.len() == rules.managers.len() {
            let moves = ordered(rules, &planned.moves, self.epoch + 1);
            self.carry_out(rules, moves, world);
        }
    }
}
