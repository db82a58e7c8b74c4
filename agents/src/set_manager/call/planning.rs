//! Plans that name processors: the first Manager makes them, all carry them out.

use migbsp::Inventory;
use protocol::{AgentMessage, CallMessage, Planned};

use super::outcome::ordered;
use super::state::Call;
use crate::check::check;
use crate::deliberation::{Deliberated, Deliberation};
use crate::set_manager::SetManager;
use crate::setup::{Collection, Rules, Shape};
use crate::world::{Cost, World};

impl SetManager {
    /// The inventory of this Set, for the plan.
    pub(super) fn inventory(&self, rules: &Rules, call: &Call, world: &dyn World) -> Inventory {
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
            barrier_delay: self.barrier_delay(rules, world),
        }
    }

    /// Seconds by which a superstep is longer for each process of this Set: the first Manager takes the
    /// messages of a central barrier by rank, and waits for each of them.
    pub(super) fn barrier_delay(&self, rules: &Rules, world: &dyn World) -> f64 {
        let barrier = &rules.barrier;
        if barrier.shape != Shape::Central || barrier.collection != Collection::ByRank {
            return 0.0;
        }
        (world.latency(self.set, rules.first) + world.latency(rules.first, self.set)).get()
    }

    /// Asks for a plan made from the inventories of all Sets.
    pub(super) fn plan(&mut self, rules: &Rules, world: &mut dyn World) {
        let scheduler = rules.scheduler.as_ref().expect("calls have a scheduler");
        let call = self.call.as_mut().expect("a call is being held");
        let set_reports = call.set_reports.values_mut();
        let inventories = set_reports.filter_map(|set_report| set_report.inventory.take());
        let deliberation = Deliberation {
            planner: self.planner.take().expect("the first Manager plans"),
            completed: call.superstep + 1,
            began: call.began,
            sets: inventories.collect(),
            cost: scheduler.model.parameters().migration,
        };
        world.deliberate(self.set, deliberation);
    }

    /// Sends a complete plan to all Managers.
    pub(in crate::set_manager) fn handle_plan(
        &mut self,
        rules: &Rules,
        deliberated: Deliberated,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let Deliberated { planner, decision } = deliberated;
        self.planner = Some(planner);
        let call = self.call.as_mut().expect("a call is being held");
        call.assessment = Some(decision.assessment);
        let planned = Planned {
            superstep: call.superstep,
            moves: decision.moves,
            spacing: decision.spacing,
        };
        let message = AgentMessage::Call(CallMessage::Planned(Box::new(planned.clone())));
        self.send_to_managers(rules, &message, Cost::Encoded, world);
        self.handle_planned(rules, planned, world)
    }

    pub(super) fn handle_planned(
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
    pub(super) fn follow_plan(
        &mut self,
        rules: &Rules,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let call = self.call.as_ref().expect("a call is being held");
        let Some(planned) = &call.planned else {
            return Ok(());
        };
        if call.set_reports.len() < rules.managers.len() {
            return Ok(());
        }
        let moves = ordered(rules, &planned.moves, self.epoch + 1);
        self.carry_out(rules, moves, world)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_world::TestWorld;

    use super::*;

    #[test]
    fn who_is_waited_for_one_by_one_makes_supersteps_longer() {
        let all = [
            (Shape::Central, Collection::ByRank, 2e-3),
            (Shape::Central, Collection::AsTheyCome, 0.0),
            (Shape::Hierarchical, Collection::ByRank, 0.0),
            (Shape::Ideal, Collection::ByRank, 0.0),
        ];
        for (shape, collection, far) in all {
            let test_world = TestWorld::new(shape, collection, &[0, 3], &[1, 1], None);
            let managers = test_world.agents().managers;
            let barrier_delay =
                |set: usize| managers[set].barrier_delay(&test_world.rules, &test_world);
            assert!(barrier_delay(0).abs() < 1e-12, "{shape:?}");
            assert!((barrier_delay(1) - far).abs() < 1e-12, "{shape:?}");
        }
    }
}
