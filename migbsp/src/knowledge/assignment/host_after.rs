//! What a host takes after a change of places.

/// A host whose processes have changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostAfter {
    pub(super) host: usize,
    /// Seconds from the start of the superstep until all of its processes have computed.
    pub(super) end: f64,
    /// Seconds until all of them have arrived at the barrier.
    pub(super) time: f64,
}
