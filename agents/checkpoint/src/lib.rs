//! Checkpoints: the states of all processes between two supersteps.
//!
//! A checkpoint has a [`Piece`] of each process: its program, its agent and its inbox between two supersteps, or the
//! output of a halted one, in chunks of 64 KiB with checksums. Chunks that have not changed since the checkpoint before
//! are shared with it in memory. Nodes have pieces in memory ([`Generations`]), their own and those of another node,
//! whose buddy they are, and send each other what changed ([`Delta`]). A [`Store`] has them on disk. It reaches all
//! files through `Files`, so tests have each operation of a simulated disk fail (`SimulatedFiles`).
//! [`CheckpointSchedule`](agents::CheckpointSchedule) says when the next checkpoint is due. Whatever is read from a
//! disk or a peer is checked, takes no more memory than its length warrants, and is never taken for what was not
//! written.
//!
//! In reading order: `piece` (also what a job is resumed with), `delta`, `generations` (memory), `store` (disk).

mod delta;
mod generations;
mod piece;
mod store;

pub use delta::{Delta, DeltaError, FoundBase};
pub use generations::{Generations, KeptPiece, PieceError};
pub use piece::{Chunk, Condition, Content, ContentWriter, Generation, Piece, PieceHead};
pub use store::{
    BeginError, CheckError, Checkpoint, CompleteError, Damage, DiskFault, DiskFiles, Entry, Files,
    JobDescription, Latest, NoCheckpoint, Part, Problem, SavedStates, SimulatedFiles, Store,
    SubmittedJob, WriteError, WrittenPieces,
};
