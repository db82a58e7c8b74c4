//! The `migbsp` command as a library.
//!
//! A user's program implements [`bsp::Program`] and [`Workload`], and its `main` passes a
//! [`Registry`] to [`run`]: it then has every command, with the shipped workloads
//! ([`Registry::shipped`]) or without ([`Registry::new`]). `docs/custom-programs.md` is a guide.
//! Reading order: [`Workload`]; the commands; the layers of the configuration; `simulate`; `compare`.

mod bar;
mod batch;
mod cert;
mod chart;
mod cluster;
mod command;
mod compare;
mod configuration;
mod explain;
mod failure;
mod file;
mod live;
mod named;
mod output;
mod platform;
mod rebalance;
mod record;
mod registry;
mod reproduce;
mod shipped;
mod simulate;
mod tree;
mod verify;
mod workload;

pub use command::run;
pub use configuration::{Files, Unit};
pub use registry::Registry;
pub use workload::{Common, Rejection, Supersteps, Unbuilt, Workload};
