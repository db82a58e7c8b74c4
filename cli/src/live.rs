//! Runs on real hosts: `migbsp node`, `run`, `compare --live`, `status`, `up`.

pub(crate) mod attach;
pub(crate) mod bench;
mod cluster;
pub(crate) mod compare;
mod help;
pub(crate) mod links;
mod local_nodes;
pub(crate) mod node;
mod play;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod up;

pub(crate) use cluster::ClusterArguments;
