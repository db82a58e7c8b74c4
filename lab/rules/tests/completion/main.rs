//! Completion times, against what computes them otherwise.
//!
//! | file | law |
//! |---|---|
//! | `simulated` | mean, variance and busy start are those of a simulated queue |
//! | `exact` | the fitted distributions are near the exact ones, and so is the last of several tasks |

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod exact;
mod law;
mod measured;
mod queue;
mod simulated;
