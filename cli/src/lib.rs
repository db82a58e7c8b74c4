//! The `migbsp` command as a library.
//!
//! A program of one's own implements [`bsp::Program`] and [`Workload`], and its `main` hands a
//! [`Registry`] to [`run`]: it then has every command, with the shipped workloads
//! ([`Registry::shipped`]) or without ([`Registry::new`]). `docs/custom-programs.md` is a guide.
//! Reading order: [`Workload`]; the commands; the layers of the configuration; `simulate`; `compare`.

mod bar;
mod cert;
mod chart;
mod command;
mod commands;
mod compare;
mod exit;
mod explain;
mod file;
mod live;
mod output;
mod platform;
mod rebalance;
mod reproduce;
mod simulate;
mod text;
mod verify;

pub use command::run;
