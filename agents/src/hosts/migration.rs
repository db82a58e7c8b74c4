//! Processes in transfer between hosts.

pub(in crate::hosts) mod image;
