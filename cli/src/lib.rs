//! The `migbsp` command as a library.
//!
//! A user's program implements [`bsp::Program`] and [`Workload`], and its `main` passes a
//! [`Registry`] to [`run`]: it then has every command, with the shipped workloads
//! ([`Registry::shipped`]) or without ([`Registry::new`]). `docs/custom-programs.md` is a guide.
//! Reading order: [`Workload`]; the commands; the layers of the configuration; `simulate`; `compare`.

mod bar;
mod cert;
mod command;
mod commands;
mod exit;
mod file;
mod live;
mod output;
mod progress;
mod rebalance;
mod reproduce;

pub use command::run;
