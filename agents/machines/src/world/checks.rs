//! Checks of messages against the state of this host.

use std::sync::Arc;

use agents::{Event, Mail, MessageCheck, RunShape, check};
use bsp::{HostId, Rank};
use protocol::{Address, AgentMessage};

use super::HostWorld;

impl HostWorld {
    /// Checks that the processes that `moves` places here or elsewhere have arrived or left.
    pub(super) fn check_residents(&self, moves: &[(Rank, HostId)]) -> Result<(), String> {
        moves.iter().try_for_each(|(rank, to)| {
            let is_here = self.computation.contains(*rank);
            let was_here = self.exchanges.host_of(*rank) == Some(self.own);
            let is_consistent = if *to == self.own {
                is_here
            } else {
                !was_here || !is_here
            };
            check(is_consistent, || {
                format!("a placement of {rank} on {to}, where it has not moved")
            })
        })
    }

    /// Delivers a message of an agent on `host`, if its sender runs there.
    pub(super) fn deliver_from(
        &mut self,
        host: HostId,
        (from, to): (Address, Address),
        message: AgentMessage,
    ) {
        let rules = Arc::clone(&self.rules);
        let message_check = MessageCheck(RunShape {
            rules: &rules,
            superstep_limit: self.superstep_limit,
        });
        let checked = message_check.check((from, to), &message);
        let checked = checked.and_then(|()| {
            check(self.host_of(from) == Some(host), || {
                format!("a message of {from:?}, which does not run there")
            })?;
            check(self.host_of(to) == Some(self.own), || {
                format!("a message to {to:?}, which does not run here")
            })
        });
        match checked {
            Ok(()) => {
                self.step = message.step();
                self.deliver(to, Event::Message { from, message });
            }
            Err(problem) => self.refuse(Address::Node(host), problem),
        }
    }
}
