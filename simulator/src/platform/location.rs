//! Where hosts, routers and zones lie.

/// Where a point or zone lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Location {
    /// The zone around it.
    pub(super) zone: u32,
    /// Its number in that zone.
    pub(super) local: u32,
}
