//! Why numbers are no rule.

/// Why numbers are no rule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DealingError {
    /// Workers would get no tasks.
    #[error("invalid value `0` for `{0}`: must be at least 1")]
    Zero(&'static str),
    /// A number that is no threshold.
    #[error("invalid value `{value:?}` for `{name}`: must be a number from 0.001 to 1000")]
    Threshold {
        /// Its key.
        name: &'static str,
        /// What was given.
        value: f64,
    },
    /// Thresholds in the wrong order.
    #[error(
        "invalid value `{min:?}` for `threshold_min`: must be at most `threshold_max`, which is {max:?}"
    )]
    Thresholds {
        /// The lower one.
        min: f64,
        /// The upper one.
        max: f64,
    },
}
