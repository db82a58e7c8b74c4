use crate::identity::{Name, Role};
use crate::transport::JobId;
use crate::{Address, DecodeError};

/// Why a frame or a state was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// It belongs to another job.
    #[error("it belongs to {}, {}", JobId::shown(*met), awaited(*expected))]
    Job {
        /// The job it names.
        met: Option<JobId>,
        /// The job of the connection, if both ends are still at it.
        expected: Option<JobId>,
    },
    /// It belongs to an epoch gone by.
    #[error("it belongs to epoch {met}, expected {oldest} or later")]
    Epoch {
        /// The epoch it names.
        met: u64,
        /// The oldest epoch that counts.
        oldest: u64,
    },
    /// It has been here before, or others are missing before it.
    #[error("it is number {met}, expected {expected}")]
    Sequence {
        /// The number it has.
        met: u64,
        /// The number that comes next.
        expected: u64,
    },
    /// Its sender may not send it.
    #[error("a {role} may not send {message} as {from:?}{}", hint(*role))]
    Rights {
        /// The sender's role.
        role: Role,
        /// The agent it claims to speak for.
        from: Address,
        /// The message.
        message: &'static str,
    },
    /// It has no place on its connection: agents speak where a job is, clients and nodes where none is.
    #[error("{message} has no place on a connection {} a job", if *has_job { "of" } else { "without" })]
    Place {
        /// The message.
        message: &'static str,
        /// Whether the connection belongs to a job.
        has_job: bool,
    },
    /// It comes from an agent of somebody else.
    #[error("{name} does not speak for {from:?}")]
    Voice {
        /// What the sender is called.
        name: Name,
        /// The agent it claims to speak for.
        from: Address,
    },
    /// It is no message.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A stream that begins as none of ours does.
    #[error("a stream of kind {met:02x?}, expected {expected:02x?}")]
    Opening {
        /// Its first bytes.
        met: [u8; 4],
        /// What was expected.
        expected: [u8; 4],
    },
    /// It ends too soon.
    #[error("it ends after {met} bytes of {what}, expected {expected}")]
    Ended {
        /// In the middle of what.
        what: &'static str,
        /// Bytes that came.
        met: u64,
        /// Bytes that were announced.
        expected: u64,
    },
    /// More comes after its end.
    #[error("more bytes behind it, expected its end")]
    Trailing,
    /// A chunk of a wrong length.
    #[error("a chunk of {met} bytes at byte {at} of the state, expected {expected}")]
    Chunk {
        /// Where it begins.
        at: u64,
        /// Its length.
        met: u32,
        /// The length it should have.
        expected: u32,
    },
    /// A chunk that is not what was sent.
    #[error(
        "the chunk at byte {at} of the state has checksum {met:08x}, expected {expected:08x}: send it again"
    )]
    Corrupted {
        /// Where it begins.
        at: u64,
        /// Its checksum.
        met: u32,
        /// The checksum sent with it.
        expected: u32,
    },
    /// A state that memory does not hold.
    #[error("no memory for a state of {bytes} bytes")]
    Memory {
        /// Its length.
        bytes: u64,
    },
}

impl Refusal {
    /// `what` is over after `met` bytes of `expected`.
    pub(super) fn ended(what: &'static str, met: usize, expected: usize) -> Self {
        let count = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
        Self::Ended {
            what,
            met: count(met),
            expected: count(expected),
        }
    }
}

fn awaited(job: Option<JobId>) -> String {
    job.map_or_else(
        || "and no job runs between the two".to_owned(),
        |job| format!("expected {job}"),
    )
}

fn hint(role: Role) -> &'static str {
    match role {
        Role::Node => ": only set-managers give orders",
        Role::SetManager => "",
        Role::Client => ": clients speak for no agent",
    }
}
