//! The course of a checkpoint in the simulated world.

use agents::buddies;
use bsp::units::{Bytes, Seconds};
use bsp::{HostId, Rank};

use super::{ActivityKind, SimulatedWorld, pack};
use crate::checkpoints::Encoded;
use crate::pool::Pool;

impl SimulatedWorld {
    /// The state of `rank` in which it is about to start `superstep` is saved: it stalls.
    pub(super) fn save(&mut self, rank: Rank, superstep: u64, agent: &[u8]) {
        let Some(checkpoints) = &mut self.checkpoints else {
            return;
        };
        let (now, host) = (self.engine.now(), self.hosts[rank.index()]);
        if !checkpoints.has_begun(superstep) {
            let absent = self.pool.as_ref().map(Pool::absent).unwrap_or_default();
            let buddies = buddies(&self.rules.sets, &absent);
            let states = self.supersteps.states();
            checkpoints.begin((superstep, now), states, &self.hosts, &buddies);
        }
        let agent = u64::try_from(agent.len()).expect("a length fits 64 bits");
        let work = checkpoints.stall((rank, host), Bytes(agent), now, &self.platform);
        let stall = pack(ActivityKind::Stall, rank.0);
        self.engine.compute(host, work, stall);
    }

    /// Whether `rank` stalls. It waits for `delay` afterwards, and then computes.
    pub(super) fn waits_for_checkpoint(&mut self, rank: Rank, delay: Seconds) -> bool {
        let checkpoints = self.checkpoints.as_mut();
        checkpoints.is_some_and(|checkpoints| checkpoints.delay(rank, delay))
    }

    /// `rank` computes its superstep, `delay` from now.
    pub(super) fn compute_after(&mut self, rank: Rank, delay: Seconds) {
        if delay == Seconds::ZERO {
            self.compute(rank);
        } else {
            self.engine.wake(delay, pack(ActivityKind::Delay, rank.0));
        }
    }

    /// An activity of the checkpoint has ended, of the process or the host with this index.
    pub(super) fn continue_checkpoint(&mut self, kind: ActivityKind, index: u32) {
        let checkpoints = self
            .checkpoints
            .as_mut()
            .expect("a checkpoint is under way");
        let now = self.engine.now();
        let encoded = match kind {
            ActivityKind::Stall => {
                let (rank, host) = (Rank(index), self.hosts[Rank(index).index()]);
                let (delay, work) = checkpoints.resume((rank, host), now, &self.platform);
                let encoded = match work {
                    Some(work) => {
                        // A process may move while its state is encoded: the host counts.
                        let encoding = pack(ActivityKind::Encoding, host.0);
                        self.engine.compute(host, work, encoding);
                        Encoded::Nothing
                    }
                    None => checkpoints.encoded(host, now, &self.platform),
                };
                self.compute_after(rank, delay);
                encoded
            }
            ActivityKind::Encoding => checkpoints.encoded(HostId(index), now, &self.platform),
            _ => checkpoints.saved(now, &self.platform),
        };
        match encoded {
            Encoded::Nothing => {}
            Encoded::Send(from, to, bytes) => {
                self.transfer(from, to, bytes, pack(ActivityKind::Copy, from.0));
            }
            Encoded::Complete(checkpoint) => {
                self.recorded.add(record::Event::Checkpoint(checkpoint));
            }
        }
    }
}
