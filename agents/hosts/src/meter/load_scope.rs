//! Which processes of the operating system are no external load.

/// The processes of the operating system whose computation does not count as external load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadScope {
    /// This process of the operating system.
    Process,
    /// All processes with the same parent: the nodes of a trial on one machine.
    Siblings,
}
