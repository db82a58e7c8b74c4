//! The terms of a potential of migration.

use migbsp::Potential;
use serde::Serialize;

/// The potential of a process for a Set, term by term: equation `PM` of `docs/model.md`; times in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Terms {
    /// `P_comp(i)`.
    pub(super) pattern_computation: f64,
    /// `CTP(i)`.
    pub(super) prediction_computation: f64,
    /// `ISet(j)`.
    pub(super) set_index: f64,
    /// `Comp(i, j)`.
    pub(super) computation: f64,
    /// `P_comm(i, j)`.
    pub(super) pattern_communication: f64,
    /// `BTP(i, j)`.
    pub(super) prediction_communication: f64,
    /// `Comm(i, j)`.
    pub(super) communication: f64,
    /// `Mem(i, j)`.
    pub(super) migration: f64,
    /// `PM(i, j)`.
    pub(super) potential: f64,
}

impl Terms {
    /// The terms of `potential`.
    pub(super) fn new(potential: &Potential) -> Self {
        Self {
            pattern_computation: potential.pattern_computation,
            prediction_computation: potential.prediction_computation.get(),
            set_index: potential.set_index,
            computation: potential.computation.get(),
            pattern_communication: potential.pattern_communication,
            prediction_communication: potential.prediction_communication.get(),
            communication: potential.communication.get(),
            migration: potential.migration.get(),
            potential: potential.total().get(),
        }
    }
}
