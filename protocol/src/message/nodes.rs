//! Messages between nodes: they carry programs' messages and keep the placement, and no agent sees them.

use bsp::units::Seconds;
use bsp::{HostId, Rank};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A message between nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum NodeMessage {
    /// Messages of the sender's processes to the receiver's.
    Batch(Box<Batch>),
    /// Acknowledges the batch of this superstep, which the receiver did not expect, or which announces halted
    /// processes.
    BatchAcknowledged(u64),
    /// A new placement.
    Placed(Box<Placed>),
    /// A message to be sent back, to measure the round trip.
    Probe(Probe),
    /// About the checkpoint before this superstep.
    Checkpoint(u64, CheckpointMessage),
}

/// The messages of one node's processes to those of another in a superstep, or a part of them. The payload is the
/// bytes of the messages, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// The superstep in which it was sent, from 0.
    pub superstep: u64,
    /// The time of sending, on the sender's clock.
    pub sent: Seconds,
    /// Whether it is the last of this sender's to this receiver in this superstep.
    pub is_last: bool,
    /// In the last batch: whether the receiver is to expect one in the sender's next superstep, too.
    pub is_followed: bool,
    /// In the last batch: the processes of the sender that halted in this superstep.
    pub halted: Vec<Rank>,
    /// The messages, those of a process in the order sent.
    pub messages: Vec<MessageHeader>,
    /// Their bytes.
    #[serde(skip)]
    pub payload: Bytes,
}

/// A message of a batch, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageHeader {
    /// The sender.
    pub from: Rank,
    /// The receiver.
    pub to: Rank,
    /// Its length.
    pub bytes: u64,
    /// Whether it only has a length, and its bytes have no meaning.
    pub is_sized: bool,
}

/// The hosts of processes from an epoch on; processes that are not listed stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// The epoch of the placement.
    pub epoch: u64,
    /// The processes that moved, and their hosts.
    pub moves: Vec<(Rank, HostId)>,
}

/// A message to be sent back, to measure the round trip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Its number among the sender's probes, from 0.
    pub number: u32,
    /// Whether it is on its way back, without a payload.
    pub is_back: bool,
    /// Bytes without meaning.
    #[serde(skip)]
    pub payload: Bytes,
}

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
