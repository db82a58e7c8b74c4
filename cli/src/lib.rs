//! The commands of programs, as a library.
//!
//! A program is a registry of workloads and rules of policies with a set of [`Commands`], which its `main` composes:
//! `docs/guide/custom-programs.md` is a guide. A command is a file in `commands` (or `cert`, `live`, or another crate) with its
//! arguments, its help and what it prints; what it computes is in other crates.

mod cert;
mod command;
mod commands;
mod dashboard;
mod failure;
pub mod file;
mod live;
mod log;
mod misuse;
pub mod output;
mod progress;
#[cfg(feature = "schemas")]
pub mod schemas;
mod signals;
mod topics;

pub use command::{Command, Context, JobsArguments};
pub use commands::Commands;
pub use failure::CommandFailure;
pub use progress::RunBar;
