//! Fault simulations (`simulation`), campaigns of them, and the command `chaos`.

mod campaign;
mod command;
#[cfg(feature = "schemas")]
pub mod schemas;
mod simulation;

pub use command::command;
