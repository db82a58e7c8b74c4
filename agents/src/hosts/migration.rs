//! Processes that move between nodes.

pub(super) mod arrival;
pub(super) mod chunk_channel;
pub(super) mod departure;
mod packing_clock;
