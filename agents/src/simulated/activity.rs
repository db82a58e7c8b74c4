//! What an activity of the simulator stands for, packed into its number.

use simulator::Activity;

/// What an activity of the simulator stands for.
#[derive(Clone, Copy)]
pub(super) enum ActivityKind {
    /// The computation of a process.
    Computation = 0,
    /// A message between programs.
    Flight = 1,
    /// A message between agents.
    Transfer = 2,
    /// The deferred cost of a process.
    Delay = 3,
    /// The pause of a Manager.
    WakeManager = 4,
    /// The stall of a process in a checkpoint.
    Stall = 5,
    /// The encoding of the state of a process on a host, in a checkpoint.
    Encoding = 6,
    /// The states of a host on the way to its buddy.
    Copy = 7,
}

/// The activity of `kind` with the number `index` among those of its kind.
pub(super) fn pack(kind: ActivityKind, index: u32) -> Activity {
    Activity(((kind as u64) << INDEX_BITS) | u64::from(index))
}

/// The kind of an activity, and its number among those of its kind.
pub(super) fn unpack(activity: Activity) -> (ActivityKind, u32) {
    let index = u32::try_from(activity.0 & u64::from(u32::MAX)).expect("32 bits are left");
    let kind = match activity.0 >> INDEX_BITS {
        0 => ActivityKind::Computation,
        1 => ActivityKind::Flight,
        2 => ActivityKind::Transfer,
        3 => ActivityKind::Delay,
        4 => ActivityKind::WakeManager,
        5 => ActivityKind::Stall,
        6 => ActivityKind::Encoding,
        7 => ActivityKind::Copy,
        other => unreachable!("no activity is of kind {other}"),
    };
    (kind, index)
}

const INDEX_BITS: u32 = 32;
