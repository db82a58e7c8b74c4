//! Bulk-synchronous programs in any language.
//!
//! A program is a command. Its *executors* are processes of the operating system that speak a small binary protocol
//! (`docs/reference/program-protocol.md`), and each of them executes the supersteps of one or more processes. [`External`] is such a process as a
//! [`Program`](bsp::Program): simulated, checked, moved and saved as a program in Rust is.
//!
//! | to | use |
//! |---|---|
//! | say how executors are started | [`Recipe`] |
//! | start them | [`Executors::of`] |
//! | have a process | [`External::new`] |
//! | execute a program once, and simulate what it did many times | [`ProgramTrace`] |
//! | simulate an MPI program of which SimGrid has a trace | [`ProgramTrace::of_simgrid`] |
//! | have them end with this process of the operating system, and be limited | [`launch_through`], [`launch`] |
//!
//! States are decoded where only their bytes are known ([`Deserialize`](serde::Deserialize)), so the executors of a program are found by
//! a mark in its states: [`Executors::of`] has to be called before a state arrives, and its result kept until the job is over.

mod allowed;
mod data;
mod executor;
mod executors;
mod frame;
mod launch;
mod program;
mod simgrid;
mod step;
mod trace;

pub use allowed::{Allowed, Listed, allow, allowed};
pub use data::{Array, Blob, Output, Value, ValueError};
pub use executor::{About, ExecutorError, Welcome};
pub use executors::{Executors, Guard, Recipe, Verdict, World};
pub use launch::{LAUNCH, launch, launch_through};
pub use program::External;
pub use simgrid::{SimgridError, SimgridFault, SimgridPlace};
pub use trace::ProgramTrace;
