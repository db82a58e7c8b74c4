//! Hosts that join between two supersteps, as one Manager takes part in it.
//!
//! The world says which hosts join (`Membership::joining`), the same to all Managers. The processes that waited for these hosts
//! move to them as in a call. A call may follow.

use std::collections::BTreeMap;

use bsp::Rank;
use bsp::units::Seconds;
use protocol::{Address, Installed, Migrate};

use super::SetManager;
use crate::check::check;
use crate::elasticity::{Joining, Relocation};
use crate::setup::Rules;
use crate::world::World;

/// The hosts that are joining, as one Manager sees it.
#[derive(Debug)]
pub(super) struct Admission {
    joining: Joining,
    /// Whether a call follows.
    is_due: bool,
    /// The moves, once they are ordered.
    orders: Option<Vec<Migrate>>,
    /// The processes that have been installed.
    installed: BTreeMap<Rank, Installed>,
}

impl SetManager {
    /// Hosts join after the present superstep. `is_due` tells whether a call follows.
    pub(super) fn begin_joining(
        &mut self,
        rules: &Rules,
        joining: Joining,
        is_due: bool,
        world: &mut dyn World,
    ) -> Result<(), String> {
        self.joined_after = Some(self.superstep);
        let wait = joining.wait;
        self.admission = Some(Admission {
            joining,
            is_due,
            orders: None,
            installed: BTreeMap::new(),
        });
        if Seconds::ZERO < wait {
            world.wake(Address::SetManager(self.set), wait);
            self.retry_early(rules, world);
            return Ok(());
        }
        self.admit(rules, world)
    }

    /// The hosts that join are prepared: their processes move.
    pub(super) fn admit(&mut self, rules: &Rules, world: &mut dyn World) -> Result<(), String> {
        let admission = self.admission.as_mut().expect("hosts join");
        let own = |host: &&bsp::HostId| rules.sets[host.index()] == self.set;
        self.hosts
            .extend(admission.joining.hosts.iter().filter(own));
        self.hosts.sort();
        let epoch = self.epoch + 1;
        let order = |moved: &Relocation| Migrate {
            rank: moved.rank,
            from: moved.from,
            to: moved.to,
            epoch,
            deferred_cost: Seconds::ZERO,
        };
        let orders: Vec<Migrate> = admission.joining.moves.iter().map(order).collect();
        self.order(rules, &orders, world);
        let admission = self.admission.as_mut().expect("hosts join");
        admission.orders = Some(orders);
        self.retry_early(rules, world);
        self.conclude_joining(rules, world)
    }

    /// Handles the installation of a process on a host that has joined.
    pub(super) fn handle_relocated(
        &mut self,
        rules: &Rules,
        from: Address,
        installed: Installed,
        world: &mut dyn World,
    ) -> Result<(), String> {
        let rank = installed.rank;
        self.check_next(installed)?;
        let admission = self.admission.as_mut().expect("hosts join");
        let is_new = admission.installed.insert(rank, installed).is_none();
        check(is_new, || format!("{rank} is installed twice"))?;
        self.pass_on(rules, from, installed, world);
        self.conclude_joining(rules, world)
    }

    /// Continues when all processes that move have been installed on the hosts that have joined.
    fn conclude_joining(&mut self, rules: &Rules, world: &mut dyn World) -> Result<(), String> {
        let is_complete = |admission: &mut Admission| {
            let orders = admission.orders.as_ref();
            orders.is_some_and(|orders| orders.len() == admission.installed.len())
        };
        let Some(admission) = self.admission.take_if(is_complete) else {
            return Ok(());
        };
        let Admission {
            joining,
            is_due,
            orders,
            installed,
        } = admission;
        let orders = orders.expect("they are complete");
        for Migrate { rank, to, .. } in &orders {
            let host = installed.get(rank).map(|installed| installed.host);
            check(host == Some(*to), || {
                format!("{rank} is not installed on {to}")
            })?;
        }
        for order in &orders {
            self.note_move(rules, order);
        }
        if !orders.is_empty() {
            self.epoch += 1;
            world.commit(self.set, self.epoch, &orders);
        }
        let ended = world.now();
        if self.set == rules.first {
            for record in joining.records {
                world.record(record::Event::Join(record::Join { ended, ..record }));
            }
        }
        if is_due {
            self.hold_call(rules, ended, world);
        } else if rules.barrier.root(self.set) == self.set {
            let start = self.next_start(None);
            self.release(rules, start, world);
        }
        // Managers that do not end supersteps wait for the next call.
        self.retry_early(rules, world);
        Ok(())
    }
}
