//! A process of an instance.

/// A process, where it is before any move.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Its name, if it has one; results show its position otherwise.
    pub name: Option<String>,
    /// Its workload.
    pub workload: f64,
    /// MB that a move transfers.
    pub size: f64,
    /// The position of its machine.
    pub machine: usize,
    /// Whether it may move.
    pub movable: bool,
    /// MB that it occupies on its machine, in addition to its blocks.
    pub memory: f64,
    /// The positions of the blocks that it uses: a machine holds each block once for all its processes.
    pub blocks: Vec<usize>,
}

impl Process {
    /// A process that may move, and occupies no memory.
    pub const fn new(workload: f64, size: f64, machine: usize) -> Self {
        Self {
            name: None,
            workload,
            size,
            machine,
            movable: true,
            memory: 0.0,
            blocks: Vec::new(),
        }
    }

    /// Whether workload, size and machine say all about it.
    pub(super) fn is_plain(&self) -> bool {
        *self == Self::new(self.workload, self.size, self.machine)
    }
}
