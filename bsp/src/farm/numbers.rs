//! Numbers of tasks as measures, and back.

/// A number of tasks, to divide by.
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "numbers of tasks that are dealt together are far below 2⁵³; a larger one is rounded"
)]
pub(super) const fn count(number: u64) -> f64 {
    number as f64
}

/// The whole tasks in an amount; what is not a number counts as none.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "amounts are not negative, and the conversion saturates"
)]
pub(super) const fn whole(amount: f64) -> u64 {
    amount as u64
}

/// A length as a number of tasks or workers.
pub(super) fn number(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
