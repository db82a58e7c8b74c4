//! Levels: the work of a machine by its capacity.

use crate::rebalance::instance::RATE;

/// The level that `text` gives.
///
/// # Errors
///
/// If `text` is no level.
pub fn read_level(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    number.filter(|number| RATE.holds(*number)).ok_or_else(|| {
        format!(
            "not `{text}`: must be a level, workload by capacity, {}",
            RATE.expected()
        )
    })
}
