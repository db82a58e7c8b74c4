//! A program whose output depends on every message it receives, and that halts at a rank's own time.

use bsp::units::{Bytes, Instructions};
use bsp::{BoxError, Program, Rank, Step, Superstep};
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
        ctx.charge(Instructions(self.work));
        if ctx.index() == self.halts {
            return Ok(Step::Halt((self.digest, std::mem::take(&mut self.ballast))));
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
