//! What each process records in addition to patterns and predictions.

/// What each process records in addition to patterns and predictions; [`Policy::memory`](crate::Policy::memory) says what a
/// policy needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The times of every superstep since the last call.
    pub times: bool,
    /// Predictions of its load, and how often they were wrong.
    pub forecast: bool,
}
