//! The start of the next superstep, as a Manager sends it.

use bsp::Rank;
use protocol::{Address, AgentMessage, Start};

use super::SetManager;
use crate::setup::{Collection, Rules, Shape};
use crate::world::{Cost, World};

impl SetManager {
    /// The start of the next superstep, after a call with the length of the next interval.
    pub(super) fn next_start(&mut self, interval: Option<u32>) -> Start {
        Start {
            superstep: self.superstep + 1,
            interval,
            checkpoint: std::mem::take(&mut self.is_checkpoint_due),
        }
    }

    /// Starts the next superstep with `start`.
    pub(super) fn release(&mut self, rules: &Rules, start: Start, world: &mut dyn World) {
        self.superstep = start.superstep;
        self.started = world.now();
        if start.checkpoint {
            world.begin_checkpoint(start.superstep);
        }
        if self.set == rules.first
            && rules.has_one_end()
            && !self.barrier.is_over()
            && world.repeats(start)
        {
            return;
        }
        self.pass_down(rules, start, world);
        if self.barrier.is_over() {
            world.barrier_ended(self.set);
        }
        if !self.is_home && self.set == rules.first {
            self.listen(rules, start.superstep, None, world);
        }
        self.retry_early(rules, world);
    }

    /// Waits for the messages of a central barrier: for all, or for the next after `last`.
    pub(super) fn listen(
        &self,
        rules: &Rules,
        superstep: u64,
        last: Option<Rank>,
        world: &mut dyn World,
    ) {
        match rules.barrier.collection {
            Collection::AsTheyCome => world.listen(superstep, None),
            Collection::ByRank => {
                if let Some(next) = self.barrier.next_living(last) {
                    world.listen(superstep, Some(next));
                }
            }
        }
    }

    /// Sends `start` down the tree of the barrier; halted processes receive the end instead.
    fn pass_down(&mut self, rules: &Rules, start: Start, world: &mut dyn World) {
        let own = Address::SetManager(self.set);
        let network = match rules.barrier.shape {
            Shape::Ideal => Cost::Free,
            Shape::Central | Shape::Hierarchical => Cost::Network(rules.barrier.message),
        };
        let is_central = rules.barrier.shape == Shape::Central;
        let mut waits = false;
        self.barrier.release(|to, halted| {
            let message = if halted {
                AgentMessage::Finish
            } else {
                AgentMessage::Start(start)
            };
            if to == Address::Process(Rank(0)) && self.is_home {
                self.is_home = !halted;
                if is_central {
                    self.last = Some(message);
                    waits = true;
                    return;
                }
            }
            let is_here = to == Address::Node(rules.managers[self.set.index()]);
            world.send(own, to, message, if is_here { Cost::Free } else { network });
        });
        // Once per message: a first process that has halted may still wait for its last one when the next superstep of
        // the others is over.
        if waits {
            world.flush(self.set);
        }
    }
}
