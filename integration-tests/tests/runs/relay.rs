//! A program whose output depends on every message it receives, and that halts at a rank's own time.

use bsp::units::{Bytes, Instructions};
use bsp::{BoxError, Max, Program, Rank, Step, Sum, Superstep};
use serde::{Deserialize, Serialize};

/// Sends digests of all it knows to a few others, until its time has come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Relay {
    /// Halts in this superstep.
    pub(crate) halts: u64,
    /// The earliest halt of all, after which no process sends values.
    pub(crate) first_halt: u64,
    /// Distances of those it sends to.
    pub(crate) shifts: Vec<u32>,
    pub(crate) work: u64,
    /// A digest of everything received, in order.
    pub(crate) digest: u64,
    /// Whether it sends to all others now and then.
    pub(crate) broadcasts: bool,
    /// State that a migration has to carry.
    pub(crate) ballast: Vec<u8>,
}

impl Relay {
    fn take_in(&mut self, value: u64) {
        self.digest = (self.digest ^ value)
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(17);
        let length = self.ballast.len().max(1);
        let place = usize::try_from(self.digest).unwrap() % length;
        if let Some(byte) = self.ballast.get_mut(place) {
            *byte = byte.wrapping_add(1);
        }
    }
}

impl Relay {
    /// Takes in what the superstep before has reduced.
    fn take_in_reductions(&mut self, ctx: &Superstep<'_, (u64, String)>) {
        if let Ok(sum) = ctx.reduced::<Sum<f64>>("sum") {
            self.take_in(sum.to_bits());
        }
        if let Ok(most) = ctx.reduced::<Max<Vec<u64>>>("most") {
            most.into_iter().for_each(|most| self.take_in(most));
        }
        for (rank, text) in ctx.gathered::<String>("texts").unwrap_or_default() {
            self.take_in(u64::from(rank.0) << 32 | text.len() as u64);
        }
    }

    /// Contributes to some reductions: which, and how much, depends on what has been received.
    fn contribute(&self, ctx: &mut Superstep<'_, (u64, String)>) {
        if !self.digest.is_multiple_of(3) {
            // Numbers of all sizes and both signs.
            let number = f64::from_bits(self.digest);
            ctx.reduce("sum", Sum(if number.is_finite() { number } else { 0.1 }));
        }
        if self.digest.is_multiple_of(2) {
            ctx.reduce("most", Max(vec![self.digest, self.work]));
        }
        if self.digest.is_multiple_of(5) {
            let text = "y".repeat(usize::try_from(self.digest % 70).unwrap());
            ctx.gather("texts", &text).unwrap();
        }
    }
}

impl Program for Relay {
    type Message = (u64, String);
    type Output = (u64, Vec<u8>);

    fn superstep(
        &mut self,
        ctx: &mut Superstep<'_, (u64, String)>,
    ) -> Result<Step<(u64, Vec<u8>)>, BoxError> {
        for (from, (digest, text)) in ctx.receive() {
            self.take_in(u64::from(from.0));
            self.take_in(digest);
            self.take_in(text.len() as u64);
        }
        for (from, bytes) in ctx.receive_sized().to_vec() {
            self.take_in(u64::from(from.0) ^ bytes.0);
        }
        self.take_in_reductions(ctx);
        self.contribute(ctx);
        ctx.charge(Instructions(self.work));
        if ctx.index() == self.halts {
            return Ok(Step::Halt((self.digest, std::mem::take(&mut self.ballast))));
        }
        if self.broadcasts && self.digest.is_multiple_of(7) && ctx.index() < self.first_halt {
            ctx.broadcast(&(self.digest, "to all".to_owned()))?;
        }
        for shift in &self.shifts {
            let to = Rank((ctx.rank().0 + shift) % ctx.size());
            if ctx.index() < self.first_halt {
                ctx.send(
                    to,
                    (
                        self.digest,
                        "x".repeat(usize::try_from(self.digest % 40).unwrap()),
                    ),
                );
                ctx.send_sized(to, Bytes(self.digest % 5000));
            }
        }
        Ok(Step::Continue)
    }
}
