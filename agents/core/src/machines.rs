//! The state machines of nodes and clients on real hosts: all that is decided there.
//!
//! A machine receives events (`handle`), returns actions (`poll`), and says when its next tick is due
//! (`next_timeout`). It has no threads, sockets, files or clocks. [`crate::hosts`] is the shell that has them.

pub(crate) mod builds;
pub(crate) mod checkpoints;
pub(crate) mod client;
mod exchanges;
pub(crate) mod failure;
mod felt_load;
pub(crate) mod host_meter;
pub(crate) mod initial_state;
pub(crate) mod input_memory;
mod job_progress;
mod journal;
mod links;
pub(crate) mod members;
pub(crate) mod migration;
pub(crate) mod node;
mod one_way_delay;
pub(crate) mod prepared;
mod processors;
mod rates;
pub(crate) mod residents;
mod resumption;
pub(crate) mod routes;
mod sharing;
pub(crate) mod task;
pub(crate) mod time;
pub(crate) mod world;
