//! The state machines of nodes and clients on real hosts: all that is decided there.
//!
//! A machine receives events (`handle`), returns actions (`poll`), and says when its next tick is due
//! (`next_timeout`). It has no threads, sockets, files or clocks: the crate `hosts` is the shell that has them, and fault
//! simulations are another one. What both need of a machine is public.
//!
//! In reading order: [`node`] (a node, its events and actions, and the jobs on it), `world` (the [`World`](agents::World) of
//! the agents of a job on one host), `exchanges` (the messages of programs), `checkpoints`, [`client`].

mod builds;
mod checkpoints;
pub mod client;
mod exchanges;
mod failure;
mod felt_load;
mod host_meter;
mod initial_state;
mod input_memory;
mod job_progress;
mod journal;
mod links;
pub mod members;
mod migration;
pub mod node;
mod one_way_delay;
mod prepared;
mod processors;
mod rates;
mod residents;
mod resumption;
mod routes;
mod sharing;
mod task;
pub mod time;
mod world;

pub use builds::Builds;
pub use checkpoints::{SavedPiece, Saving};
pub use failure::JobError;
pub use host_meter::{Execution, HostMeter};
pub use initial_state::{InitialState, InitialStateDecoder};
pub use input_memory::InputMemory;
pub use migration::{ArrivedProcess, Transfer};
pub use prepared::Prepared;
pub use residents::Residents;
pub use routes::Routes;
pub use task::{Done, Task};
