//! The state machines of nodes and clients on real hosts: all that is decided there.
//!
//! A machine is told what has happened (`handle`), says what is to be done (`poll`), and when it wants to be told the
//! time (`next_timeout`). It has no threads, sockets, files or clocks. [`crate::hosts`] is the shell that has them.

pub(crate) mod builds;
pub(crate) mod client;
mod exchanges;
pub(crate) mod failure;
mod felt_load;
pub(crate) mod host_meter;
pub(crate) mod input_memory;
mod journal;
mod links;
pub(crate) mod members;
pub(crate) mod migration;
pub(crate) mod node;
mod one_way_delay;
pub(crate) mod prepared;
mod rates;
pub(crate) mod residents;
pub(crate) mod routes;
mod sharing;
pub(crate) mod step;
pub(crate) mod task;
pub(crate) mod time;
pub(crate) mod world;
