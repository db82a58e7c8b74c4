//! What a process is expected to win by moving to a Set.

use bsp::SetId;
use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

/// What process `i` is expected to win in Set `j`, with everything that went into it.
///
/// `PM(i, j) = Comp(i, j) + Comm(i, j) − Mem(i, j)`
///
/// Implements equations `COMP`, `COMM`, `MEM` and `PM` of `docs/model.md`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Potential {
    /// `j`.
    pub set: SetId,
    /// `P_comp(i)`, in `[0, 1]`.
    pub pattern_computation: f64,
    /// `CTP(i)`.
    pub prediction_computation: Seconds,
    /// `ISet(j)`.
    pub set_index: f64,
    /// `Comp(i, j)`, the product of the three above.
    pub computation: Seconds,
    /// `P_comm(i, j)`, in `[0, 1]`.
    pub pattern_communication: f64,
    /// `BTP(i, j)`.
    pub prediction_communication: Seconds,
    /// `Comm(i, j)`, the product of the two above.
    pub communication: Seconds,
    /// `Mem(i, j)`.
    pub migration: Seconds,
}

impl Potential {
    /// `PM(i, j)`.
    #[must_use]
    pub fn total(&self) -> Seconds {
        self.computation + self.communication - self.migration
    }
}
