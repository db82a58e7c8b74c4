//! Runs on real hosts: `migbsp node`, `run`, `compare --live`, `status`, `up`.

mod bench;
mod between;
mod checkpoints;
mod cluster_members;
mod compare;
mod help;
mod identity;
mod job_runner;
mod kills;
mod local_nodes;
mod node;
mod node_end;
mod play;
mod run;
mod run_job;
mod run_observers;
mod set_links;
mod status;
mod up;
mod up_folder;

pub(crate) use bench::{BenchArguments, command as bench};
pub(crate) use cluster_members::ClusterArguments;
pub(crate) use compare::command as compare;
pub(crate) use help::{NODE_ABOUT, NODE_HELP, RUN_ABOUT, RUN_HELP, STATUS_HELP, UP_ABOUT, UP_HELP};
pub(crate) use node::{NodeArguments, command as node};
pub(crate) use run::{RunArguments, command as run};
pub(crate) use status::{StatusArguments, command as status};
pub(crate) use up::{UpArguments, command as up};
