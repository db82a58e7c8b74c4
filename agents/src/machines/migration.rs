//! Processes that move between nodes.

pub(crate) mod arrived_process;
pub(crate) mod departing_process;
pub(crate) mod image;
pub(crate) mod packing;
pub(crate) mod transfer;
