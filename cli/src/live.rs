//! Runs on real hosts: `migbsp node`, `run`, `compare --live`, `status`, `up`.

pub(crate) mod bench;
mod between;
mod checkpoints;
mod cluster_members;
pub(crate) mod compare;
mod help;
mod identity;
mod job_runner;
mod kills;
mod local_nodes;
pub(crate) mod node;
mod node_end;
mod play;
pub(crate) mod run;
mod run_job;
mod run_observers;
mod set_links;
pub(crate) mod status;
pub(crate) mod up;
mod up_folder;

pub(crate) use cluster_members::ClusterArguments;
