//! Processes that move between hosts.

pub(in crate::hosts) mod arrival;
pub(in crate::hosts) mod arrived_process;
pub(in crate::hosts) mod departure;
mod image;
mod packing;
pub(in crate::hosts) mod transfer;
