//! Messages of nodes about checkpoints.

use bsp::Rank;
use bsp::units::Seconds;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Between nodes, about the checkpoint before a superstep.
///
/// The node of the first Manager collects what the others have saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CheckpointMessage {
    /// To a node: save the outputs of the processes that have halted there, if none starts a superstep there.
    Save,
    /// To a buddy: what has changed of the pieces of the sender's processes. It travels as a state does.
    Pieces(Pieces),
    /// The buddy has all pieces of the receiver.
    Copied,
    /// To the node of the first Manager: the pieces of the sender's processes are saved.
    Saved(Box<Saved>),
    /// To all nodes: the checkpoint is complete. Its cost so far, as the interval counts it.
    Complete(Seconds),
}

/// What has changed of pieces. The payload is the encoded deltas, each after its length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pieces {
    /// The number of processes.
    pub count: u32,
    /// For each process, the length of its encoded delta as 8 bytes, little-endian, and the delta.
    #[serde(skip)]
    pub payload: Bytes,
}

/// What a node has saved for a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// Its processes.
    pub ranks: Vec<Rank>,
    /// The longest time for which one of them stood still.
    pub stall: Seconds,
    /// The processor time of encoding while processes computed, per processor.
    pub encoding: Seconds,
    /// The bytes of the pieces.
    pub bytes: u64,
    /// The bytes that went to the buddy.
    pub sent: u64,
    /// If checkpoints are written to disk: the file with the pieces, or why there is none.
    pub file: Option<Result<PiecesFile, String>>,
}

/// A file with the pieces of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PiecesFile {
    /// Its length in bytes.
    pub length: u64,
    /// Its SHA-256.
    pub sha256: [u8; 32],
}
