//! The coefficients of the cost of a move.

use bsp::units::{Bytes, Seconds};
use serde::{Deserialize, Serialize};

use crate::bounded::{non_negative, seconds};

/// The coefficients of `C = α0 + f · max(1 / r, α1 / b)`, the cost of moving a state of `f` bytes at a bandwidth of `b`.
///
/// Equation `COST` of `docs/model.md` (Du, Sun and Wu 2007, 3-3; the maximum is ours). It has the form of `MEM`, with
/// `Mig = α0` and `T = max(1 / r, α1 / b)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostCoefficients {
    /// What a move takes whatever its size is, `α0`.
    pub startup: Seconds,
    /// How many times as long as at the predicted bandwidth the bytes of a move take, `α1`.
    pub overlap: f64,
    /// Seconds of packing and unpacking per byte, `1 / r`.
    pub processing: f64,
}

impl CostCoefficients {
    /// Whether these can be the coefficients of moves: no number is negative or infinite.
    #[must_use]
    pub fn are_sound(&self) -> bool {
        let all = [self.startup.get(), self.overlap, self.processing];
        all.iter().all(|value| (0.0..f64::INFINITY).contains(value))
    }

    /// Seconds per byte of a move at a bandwidth that takes `per_byte` seconds for a byte: `T(i, j)` of equation `MEM`.
    #[must_use]
    pub fn transfer_rate(&self, per_byte: f64) -> f64 {
        self.processing.max(self.overlap * non_negative(per_byte))
    }

    /// Predicted time of moving `bytes` at a bandwidth that takes `per_byte` seconds for a byte.
    #[must_use]
    pub fn predict(&self, bytes: Bytes, per_byte: f64) -> Seconds {
        seconds(self.startup.get() + bytes.as_f64() * self.transfer_rate(per_byte))
    }
}

impl Default for CostCoefficients {
    /// Bytes take what they take at the predicted bandwidth, and nothing is added.
    fn default() -> Self {
        Self {
            startup: Seconds::ZERO,
            overlap: 1.0,
            processing: 0.0,
        }
    }
}
