//! Declared routes inside one zone.

/// A declared way between two things that lie directly in one zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    /// First link, in [`Routes::links`].
    pub(super) first: u32,
    pub(super) count: u32,
    /// Points at the ends; [`NO_POINT`] if the ends are points themselves.
    pub(super) gateway_from: u32,
    pub(super) gateway_to: u32,
}

/// The gateway of what needs none.
pub(super) const NO_POINT: u32 = u32::MAX;
