//! Fault simulations (`simulation`), campaigns of them, and the command `chaos`.

mod campaign;
mod command;
mod simulation;

pub use command::command;
