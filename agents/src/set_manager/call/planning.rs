//! Plans that name processors: the first Manager makes them, all carry them out.

use migbsp::{BarrierTime, CallStart, Decision, Inventory};
use protocol::{AgentMessage, Planned};

use super::outcome::ordered;
use super::probing::LinkProbes;
use super::state::Call;
use crate::check::check;
use crate::deliberation::{Deliberated, Deliberation};
use crate::set_manager::SetManager;
use crate::setup::Rules;
use crate::world::{Cost, Executor, HostProbe, World};

impl SetManager {
    /// The inventory of this Set, for the plan.
    pub(super) fn inventory(&self, rules: &Rules, call: &Call, world: &dyn HostProbe) -> Inventory {
        let sets = call.capacities.keys();
        Inventory {
            processors: call.processors(|measured| measured.load_recent),
            loads: call
                .reports
                .values()
                .filter_map(|report| report.load.as_deref().cloned())
                .collect(),
            rates: call.rates.clone(),
            paths: sets.map(|set| world.path(self.set, *set)).collect(),
            barrier: self.barrier_time(rules, world),
            measured: call.more(),
        }
    }

    /// What the barrier adds for the processes of this Set.
    pub(super) fn barrier_time(&self, rules: &Rules, world: &dyn HostProbe) -> BarrierTime {
        let latency = |from, to| world.path(from, to).latency.get();
        let (release, arrival) = (
            latency(rules.first, self.set),
            latency(self.set, rules.first),
        );
        rules.barrier.time(release, arrival)
    }

    /// Asks for a plan made from the inventories of all Sets.
    pub(super) fn plan(&mut self, world: &mut dyn Executor) {
        let call = self.call.as_mut().expect("a call is being held");
        let set_reports = call.set_reports.values_mut();
        let inventories = set_reports.filter_map(|set_report| set_report.inventory.take());
        let deliberation = Deliberation {
            planner: self.planner.take().expect("the first Manager plans"),
            start: CallStart {
                completed: call.superstep + 1,
                remaining: call.remaining,
                began: call.began,
            },
            sets: inventories.collect(),
            cost: self.learned_cost.moves(),
        };
        world.deliberate(self.set, deliberation);
    }

    /// Handles a complete plan: it is sent to all Managers, once the links of large moves are probed.
    pub(in crate::set_manager) fn handle_plan(
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
        self.planner = Some(planner);
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
    pub(super) fn send_plan(
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
