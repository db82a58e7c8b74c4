//! The threads, streams and files of checkpoints.

pub(super) mod allowed;
pub(super) mod copies;
pub(super) mod encoder;
pub(super) mod folder;
