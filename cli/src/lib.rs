//! The `migbsp` command as a library.
//!
//! A user's `main` passes its registry of workloads and rules of policies to [`run`], and has every
//! command: `docs/custom-programs.md` is a guide. A command is a file in `commands` (or `cert`, `live`)
//! with its arguments, its help and what it prints; what it computes is in other crates.

mod arguments;
mod bar;
mod cert;
mod command;
mod commands;
mod dashboard;
mod environment;
mod exit;
mod failure;
mod file;
mod live;
mod log;
mod misuse;
mod output;
mod outputs_place;
mod own_name;
mod progress;
mod signals;
mod topics;

pub use command::run;
