//! Moves of processes between two supersteps, in calls and when hosts join.

use bsp::Rank;
use protocol::{Address, AgentMessage, Installed, Migrate};

use super::SetManager;
use crate::check::check;
use crate::setup::Rules;
use crate::world::{Cost, World};

impl SetManager {
    /// Orders the moves of processes of this Set.
    pub(super) fn order(&self, rules: &Rules, moves: &[Migrate], world: &mut dyn World) {
        let own = Address::SetManager(self.set);
        let of_own = |order: &&Migrate| rules.sets[order.from.index()] == self.set;
        for order in moves.iter().filter(of_own) {
            let node = Address::Node(order.from);
            world.send(own, node, AgentMessage::Migrate(*order), Cost::Encoded);
        }
    }

    /// Checks that a process is installed in the next placement.
    pub(super) fn check_next(&self, installed: Installed) -> Result<(), String> {
        let Installed { rank, epoch, .. } = installed;
        check(epoch == self.epoch + 1, || {
            format!("{rank} is installed in placement {epoch}, which is not the next one")
        })
    }

    /// Passes on to the other Managers that a process is installed on a host of this Set, as its node reports.
    pub(super) fn pass_on(
        &self,
        rules: &Rules,
        from: Address,
        installed: Installed,
        world: &mut dyn World,
    ) {
        if rules.sets[installed.host.index()] == self.set && matches!(from, Address::Node(_)) {
            let message = AgentMessage::Installed(installed);
            self.send_to_managers(rules, &message, Cost::Encoded, world);
        }
    }

    /// Notes the new host of a process.
    pub(super) fn note_move(&mut self, rules: &Rules, order: &Migrate) {
        self.placement_view.apply(rules, order);
        if order.rank == Rank(0) {
            self.is_home = order.to == rules.first_host();
        }
        self.barrier.moved(rules, self.set, (order.from, order.to));
    }
}
