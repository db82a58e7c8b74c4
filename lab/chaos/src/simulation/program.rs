//! The program that runs in fault simulations.

use bsp::numbers::length;
use bsp::units::{Bytes, Instructions};
use bsp::{BoxError, Program, Rank, Step, Sum, Superstep};
use serde::{Deserialize, Serialize};

/// A process that sends numbers to others and adds up all it receives, in order, so that a message that is lost, doubled,
/// late or from elsewhere changes its output.
///
/// What it sends follows from the seed, its rank and the superstep. There are stretches in which few processes send.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Mixer {
    pub(super) seed: u64,
    /// The last superstep of each process, by rank: no message is sent to one that has halted.
    pub(super) lasts: Vec<u64>,
    /// Makes the state longer.
    pub(super) ballast: Vec<u64>,
    pub(super) digest: u64,
    /// The least bytes of a message.
    pub(super) message: usize,
}

impl Mixer {
    fn mix(&mut self, value: u64) {
        self.digest = mixed(self.digest ^ value);
    }
}

impl Program for Mixer {
    type Message = (u64, Vec<u8>);
    type Output = u64;

    fn superstep(&mut self, ctx: &mut Superstep<'_, Self::Message>) -> Result<Step<u64>, BoxError> {
        let (own, now) = (ctx.rank(), ctx.index());
        for (from, (value, bytes)) in ctx.receive() {
            self.mix(u64::from(from.0));
            self.mix(value);
            self.mix(length(bytes.len()));
        }
        let sized: Vec<(Rank, Bytes)> = ctx.receive_sized().to_vec();
        for (from, bytes) in sized {
            self.mix(u64::from(from.0) << 32 | bytes.0);
        }
        if let Ok(sum) = ctx.reduced::<Sum<f64>>("sum") {
            self.mix(sum.to_bits());
        }
        if !self.digest.is_multiple_of(3) {
            let number = f64::from_bits(self.digest);
            ctx.reduce("sum", Sum(if number.is_finite() { number } else { 0.1 }));
        }
        if let Some(place) = usize::try_from(now)
            .ok()
            .filter(|at| *at < self.ballast.len())
        {
            self.ballast[place] = self.digest;
        }
        let mut random = mixed(self.seed ^ (u64::from(own.0) << 40) ^ now);
        ctx.charge(Instructions(1_000 + random % 100_000));
        if random.is_multiple_of(11) && self.lasts.iter().all(|last| now < *last) {
            ctx.broadcast(&(random, vec![8; self.message]))?;
        }
        let is_quiet = (now / 12) % 2 == 1 && !random.is_multiple_of(7);
        let sends = if is_quiet { 0 } else { random % 4 };
        for _ in 0..sends {
            random = mixed(random);
            let to = random % u64::from(ctx.size());
            let place = usize::try_from(to).expect("ranks fit");
            if self.lasts[place] <= now {
                continue;
            }
            let to = Rank::from_index(place);
            if random.is_multiple_of(5) {
                ctx.send_sized(to, Bytes(random % 5000));
            } else {
                let length = usize::try_from(random >> 32).expect("32 bits fit") % 40;
                ctx.send(to, (random ^ self.digest, vec![7; self.message + length]));
            }
        }
        if self.lasts[own.index()] <= now {
            for value in std::mem::take(&mut self.ballast) {
                self.mix(value);
            }
            return Ok(Step::Halt(self.digest));
        }
        Ok(Step::Continue)
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        let last = self.lasts.iter().max().copied().unwrap_or_default();
        Some((last + 1).saturating_sub(completed))
    }
}

/// A number that depends on all bits of `value`.
fn mixed(value: u64) -> u64 {
    let mut value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_obeys_the_laws_of_programs() {
        let processes = || {
            let process = |rank: u64| Mixer {
                seed: 7,
                lasts: vec![30, 31, 40, 29],
                ballast: vec![rank; 20],
                digest: 0,
                message: 0,
            };
            (0..4).map(process).collect::<Vec<_>>()
        };
        let run = bsp::reference::run(processes(), bsp::reference::Limit(100)).unwrap();
        assert_eq!(run.supersteps, 41);
        let mut outputs = run.outputs;
        outputs.dedup();
        assert_eq!(outputs.len(), 4, "outputs depend on the rank");
    }
}
