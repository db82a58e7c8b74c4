//! Why there is no such problem.

/// Why there is no such problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// Nothing to compute on.
    #[error("no machine: must be at least one")]
    NoMachine,
    /// Nothing to move.
    #[error("no process: must be at least one")]
    NoProcess,
    /// A capacity that is none.
    #[error("machine {machine} has capacity {met}: must be a number from 1e-50 to 1e50")]
    Capacity {
        /// Which machine.
        machine: usize,
        /// What it has.
        met: f64,
    },
    /// A group without costs of moves.
    #[error("machine {machine} is in group {met}: must be one of 0..{groups}")]
    Group {
        /// Which machine.
        machine: usize,
        /// Where it is said to be.
        met: usize,
        /// How many there are.
        groups: usize,
    },
    /// A workload or a size that is none.
    #[error("process {process} has {what} {met}: must be 0 or a number from 1e-50 to 1e50")]
    Amount {
        /// Which process.
        process: usize,
        /// Its workload or its size.
        what: &'static str,
        /// What it is.
        met: f64,
    },
    /// A home that does not exist.
    #[error("process {process} is on machine {met}: must be one of 0..{machines}")]
    Home {
        /// Which process.
        process: usize,
        /// Where it is said to be.
        met: usize,
        /// How many there are.
        machines: usize,
    },
    /// Ways that are no square of numbers.
    #[error(
        "costs of moves from group {from}: must be one to each of {groups} groups, 0 or from 1e-50 to 1e50"
    )]
    MoveCost {
        /// From where.
        from: usize,
        /// How many groups there are.
        groups: usize,
    },
    /// A list that has not one item for each.
    #[error("{met} {what}: must be {expected}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        met: usize,
        /// How many there must be.
        expected: usize,
    },
    /// A process uses a block that does not exist.
    #[error("process {process} uses block {met}: must be one of 0..{blocks}")]
    Block {
        /// Which process.
        process: usize,
        /// The block.
        met: usize,
        /// How many there are.
        blocks: usize,
    },
    /// A machine cannot hold the processes that may not leave it.
    #[error(
        "the processes of machine {machine} that may not move occupy {occupied} bytes: must be at most {limit}"
    )]
    MemoryOfPinned {
        /// Which machine.
        machine: usize,
        /// What they occupy.
        occupied: u64,
        /// What the machine may hold.
        limit: u64,
    },
    /// No machine can hold a process.
    #[error(
        "process {process} occupies {occupied} bytes with its blocks: must be at most {limit}, the most that a \
         machine may hold"
    )]
    MemoryOfProcess {
        /// Which process.
        process: usize,
        /// What it occupies.
        occupied: u64,
        /// The highest limit.
        limit: u64,
    },
    /// All machines together cannot hold all processes.
    #[error(
        "all processes occupy {occupied} bytes without their blocks: must be at most {limit}, what all machines \
         may hold"
    )]
    MemoryOfAll {
        /// What they occupy.
        occupied: u128,
        /// The sum of all limits.
        limit: u128,
    },
    /// A machine cannot hold the processes that are on it, and no other place for them was found.
    #[error(
        "the processes of machine {machine} occupy {occupied} bytes before any move: must be at most {limit}, \
         or there must be moves that bring all machines within their memory, and none were found"
    )]
    MemoryExceeded {
        /// Which machine.
        machine: usize,
        /// What they occupy.
        occupied: u64,
        /// What the machine may hold.
        limit: u64,
    },
    /// An edge of a process that does not exist.
    #[error("edge {edge} is of process {met}: must be one of 0..{processes}")]
    Edge {
        /// Which edge.
        edge: usize,
        /// The process.
        met: usize,
        /// How many there are.
        processes: usize,
    },
    /// Bytes or a weight that are none.
    #[error("{what} of {met}: must be 0 or a number from 1e-50 to 1e50")]
    Bytes {
        /// What it is.
        what: &'static str,
        /// Its value.
        met: f64,
    },
}
