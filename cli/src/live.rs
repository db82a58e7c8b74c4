//! Runs on real hosts: `migbsp node`, `run`, `compare --live`, `status`, `up`.

pub(crate) mod attach;
pub(crate) mod batch;
pub(crate) mod bench;
pub(crate) mod check;
mod cluster;
pub(crate) mod compare;
mod help;
mod launch;
pub(crate) mod links;
mod local_nodes;
pub(crate) mod node;
mod play;
pub(crate) mod run;
mod service;
pub(crate) mod status;
pub(crate) mod up;

pub(crate) use cluster::ClusterArguments;
