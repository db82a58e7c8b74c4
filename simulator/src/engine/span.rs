//! What has passed between two moments at which nothing was under way.

use bsp::units::Seconds;

/// What has passed between two moments at which nothing was under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// How long it was.
    pub length: Seconds,
    /// The number of changes of the platform before; `None` if hosts or links changed in it.
    pub(super) changes: Option<u64>,
    /// By host, for how many seconds it processed messages, up to the highest that has processed any.
    pub(super) busy: Vec<f64>,
}
