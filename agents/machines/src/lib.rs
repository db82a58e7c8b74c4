//! The state machines of nodes and clients on real hosts: all that is decided there.
//!
//! A machine receives events (`handle`), returns actions (`poll`), and says when its next tick is due
//! (`next_timeout`). It has no threads, sockets, files or clocks: the crate `hosts` is the shell that has them, and fault
//! simulations are another one. What both need of a machine is public.
//!
//! In reading order: [`node`] (a node, its events and actions, and the jobs on it), `world` (the [`World`](agents::World) of
//! the agents of a job on one host), `exchanges` (the messages of programs), `checkpoints`, [`client`], [`views`]; and for clients that
//! attach to a job: [`ledger`] (what its leader tells them), [`finder`] (which node that is), [`follower`].
//!
//! **A job.** A client connects to every node without a job, and submits to all. Each node builds the processes that start
//! there, or receives their states from the client if the job resumes another one. Nodes connect to each other under the number of the job and report that they are ready; then all
//! begin. Nodes and client make the same setup from the same text. The first node of each Set has its Manager, because
//! its certificate says so. Events of the record flow to the client, which orders them.
//!
//! **Builds.** The handshake of every connection names the sender's build. Builds are compared when a job begins, by
//! the client for all nodes and by each node for its client and its peers, so that nodes of any build can be asked for
//! their status.
//!
//! **Messages of different senders overtake each other.** Frames of one sender arrive in its order; nothing else does.
//! So a check of a peer may use what the same peer has said before, and what this node knew when it last passed a
//! barrier, because no process passes the next one without it. A message says to which placement, superstep or
//! checkpoint it belongs. One that is ahead of what this node has heard from others is kept; the number of kept
//! messages is bounded. One that is behind although its sender is honest has no effect.
//!
//! | message | what a third party may not have said yet | then |
//! |---|---|---|
//! | state of a process | the placement before its own (`HostWorld::handle_process`): where the process comes from | waits for the placement; one for each process |
//! | batch | the last placement (`exchanges`): where senders and receivers live | is kept and checked when the superstep begins |
//! | acknowledgement of a halt | whether processes that have left are placed elsewhere | is sent after the placement |
//! | arrival, start of a call, message of a call (`keep_early`) | the end of the superstep or call before | is kept until then |
//! | order to save outputs | whether a process here starts the superstep (`checkpoints`) | waits for a start; has no effect if the checkpoint is complete |
//! | pieces, or any word of a checkpoint | that those before are complete | says so itself (`catch_up`) |
//! | delta of a piece | that a checkpoint is complete which the process spent elsewhere | is none: a process that has been away is copied whole |
//! | first messages of a job | that the client has begun | are not read until then |
//! | submission | that the client of the job before has closed | waits 3 s, if that job has ended here or is the same client's |
//! | events of the record | those of other nodes that a call was decided from (`journal`) | wait for them |
//!
//! What remains is refused. Placements and starts come from one Manager on one stream, so a later one cannot arrive
//! first. Acknowledgements, answers, probes and reports follow what this node has sent itself.

mod checkpoints;
pub mod client;
mod exchanges;
pub mod finder;
pub mod follower;
mod host_meter;
mod initial_states;
mod input_memory;
mod job_error;
mod journal;
pub mod ledger;
mod links;
pub mod members;
mod migration;
pub mod node;
pub mod quorum;
mod resumption;
pub mod views;

use std::time::{Duration, Instant};

use bsp::units::Seconds;

pub use checkpoints::{SavedPiece, Saving};
pub use host_meter::{Execution, HostMeter};
pub use initial_states::{
    InitialState, InitialStateBuilder, InitialStateDecoder, ProgramBuilder, TakeProcess,
};
pub use input_memory::InputMemory;
pub use job_error::{JobError, Loss};
pub use members::{Builds, Routes};
pub use migration::{ArrivedProcess, Transfer};
pub use node::{Done, Prepared, Residents, Task};
pub use quorum::quorum;

/// `duration` in seconds.
#[expect(clippy::missing_panics_doc, reason = "a duration is finite")]
pub fn seconds(duration: Duration) -> Seconds {
    Seconds::new(duration.as_secs_f64()).expect("a duration is finite")
}

/// `time` as a duration, the longest one if it is longer.
pub fn duration(time: Seconds) -> Duration {
    Duration::try_from_secs_f64(time.get()).unwrap_or(Duration::MAX)
}

/// The time from `since` until `now`.
pub fn between(since: Instant, now: Instant) -> Seconds {
    seconds(now.saturating_duration_since(since))
}
