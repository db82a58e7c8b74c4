//! The coefficients of the cost of a move.

use bsp::units::{Bytes, Seconds};
use serde::{Deserialize, Serialize};

use crate::bounded::non_negative;

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
    /// Seconds per byte that moves took whatever bandwidth was predicted for them, if that has predicted better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyRate>,
}

/// Seconds per byte of moves whose predicted bandwidth was in a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyRate {
    /// Seconds per byte.
    pub per_byte: f64,
    /// The least and the most seconds per byte that had been predicted for these moves.
    pub range: (f64, f64),
}

impl CostCoefficients {
    /// Whether these can be the coefficients of moves: no number is negative or infinite.
    #[must_use]
    pub fn are_sound(&self) -> bool {
        let steady = self
            .steady
            .map(|steady| [steady.per_byte, steady.range.0, steady.range.1]);
        let all = [self.startup.get(), self.overlap, self.processing];
        let mut all = all.into_iter().chain(steady.into_iter().flatten());
        all.all(|value| (0.0..f64::INFINITY).contains(&value))
    }

    /// Seconds per byte of a move at a bandwidth that takes `per_byte` seconds for a byte: `T(i, j)` of equation `MEM`.
    #[must_use]
    pub fn transfer_rate(&self, per_byte: f64) -> f64 {
        let per_byte = non_negative(per_byte);
        let computed = self.processing.max(self.overlap * per_byte);
        match self.steady {
            None => computed,
            // Other links may take other times.
            Some(steady) if per_byte < steady.range.0 => computed.min(steady.per_byte),
            Some(steady) if steady.range.1 < per_byte => computed.max(steady.per_byte),
            Some(steady) => steady.per_byte,
        }
    }

    /// Predicted time of moving `bytes` at a bandwidth that takes `per_byte` seconds for a byte.
    #[must_use]
    pub fn predict(&self, bytes: Bytes, per_byte: f64) -> Seconds {
        Seconds::bounded(self.startup.get() + bytes.as_f64() * self.transfer_rate(per_byte))
    }
}

impl Default for CostCoefficients {
    /// Bytes take what they take at the predicted bandwidth, and nothing is added.
    fn default() -> Self {
        Self {
            startup: Seconds::ZERO,
            overlap: 1.0,
            processing: 0.0,
            steady: None,
        }
    }
}
