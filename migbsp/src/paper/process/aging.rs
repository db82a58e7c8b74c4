//! Predictions and patterns that follow measurements, equations `AGE`, `P-COMP` and `P-COMM` of `docs/model.md`.

/// How the superstep being observed enters predictions and patterns.
#[derive(Clone, Copy)]
pub(super) struct Aging {
    /// Weight of what was predicted before; the new measurement has the rest.
    pub(super) old: f64,
    /// What a pattern gains or loses.
    pub(super) step: f64,
    /// Whether patterns begin again at 1.
    pub(super) afresh: bool,
}

impl Aging {
    /// Equation `AGE`: half the old prediction and half the measurement, or the measurement alone in
    /// the first superstep after a call.
    pub(super) fn aged(self, predicted: f64, measured: f64) -> f64 {
        self.old * predicted + (1.0 - self.old) * measured
    }

    pub(super) fn pattern(self, pattern: f64, regular: bool) -> f64 {
        let before = if self.afresh { 1.0 } else { pattern };
        if regular {
            (before + self.step).min(1.0)
        } else {
            (before - self.step).max(0.0)
        }
    }
}

/// Whether `predicted` is within `variation` of `actual`, bounds included.
pub(super) fn is_close(predicted: f64, actual: f64, variation: f64) -> bool {
    let margin = actual * (variation + SLACK);
    actual - margin <= predicted && predicted <= actual + margin
}

/// Relative rounding that the bounds of a regular superstep forgive.
const SLACK: f64 = 1e-12;
