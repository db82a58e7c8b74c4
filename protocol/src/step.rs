//! Where a node is in the protocol of a job.

use std::fmt;

/// Where a node is in the protocol of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// No job runs.
    Idle,
    /// Nodes connect, and states arrive.
    Gather,
    /// Rates between Sets are probed.
    Probe,
    /// The node is ready, and waits for all others.
    Ready,
    /// Programs execute a superstep.
    Compute,
    /// Processes are encoded for a checkpoint, while others compute.
    Save,
    /// The pieces of a checkpoint are on their way to the buddy.
    Copy,
    /// The pieces of a checkpoint are written to the disk.
    Write,
    /// The node of the first Manager waits for the pieces of others, or completes a checkpoint on the disk.
    Collect,
    /// Batches of other nodes have not arrived.
    Exchange,
    /// Batches have not been acknowledged.
    Acknowledge,
    /// Processes arrive at the barrier.
    Barrier,
    /// A call measures hosts.
    Measure,
    /// Processes evaluate where they would gain, and report it.
    Evaluate,
    /// Managers settle candidates.
    Negotiate,
    /// The first Manager plans.
    Plan,
    /// Links of long moves are probed.
    ProbeLink,
    /// Processes leave.
    Depart,
    /// Images arrive.
    Transfer,
    /// Processes are installed.
    Install,
    /// The placement is committed.
    Commit,
    /// Processes finish.
    Finish,
    /// The node has ended, and the client has not.
    End,
}

impl Step {
    /// All of them, in the order of a job.
    pub const ALL: [Self; 23] = [
        Self::Idle,
        Self::Gather,
        Self::Probe,
        Self::Ready,
        Self::Compute,
        Self::Save,
        Self::Copy,
        Self::Write,
        Self::Collect,
        Self::Exchange,
        Self::Acknowledge,
        Self::Barrier,
        Self::Measure,
        Self::Evaluate,
        Self::Negotiate,
        Self::Plan,
        Self::ProbeLink,
        Self::Depart,
        Self::Transfer,
        Self::Install,
        Self::Commit,
        Self::Finish,
        Self::End,
    ];
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Idle => "idle",
            Self::Gather => "gather",
            Self::Probe => "probe",
            Self::Ready => "ready",
            Self::Compute => "compute",
            Self::Save => "save",
            Self::Copy => "copy",
            Self::Write => "write",
            Self::Collect => "collect",
            Self::Exchange => "exchange",
            Self::Acknowledge => "acknowledge",
            Self::Barrier => "barrier",
            Self::Measure => "measure",
            Self::Evaluate => "evaluate",
            Self::Negotiate => "negotiate",
            Self::Plan => "plan",
            Self::ProbeLink => "probe-link",
            Self::Depart => "depart",
            Self::Transfer => "transfer",
            Self::Install => "install",
            Self::Commit => "commit",
            Self::Finish => "finish",
            Self::End => "end",
        })
    }
}
