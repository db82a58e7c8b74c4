//! Supersteps that threads execute.

use agents::{Executed, HostedProgram, RunError, Turn};
use bsp::Rank;
use bsp::units::{Instructions, Seconds};

use super::checkpoints::Saving;

/// A superstep to be executed.
#[derive(Debug)]
pub struct Task {
    /// The program of the process.
    pub program: Box<dyn HostedProgram>,
    /// What it is given.
    pub turn: Turn,
    /// What the process pays first.
    pub delay: Seconds,
    /// What is saved before it is executed.
    pub saving: Option<Box<Saving>>,
}

/// A superstep that has been executed.
#[derive(Debug)]
pub struct Done {
    /// The process.
    pub rank: Rank,
    /// Its program.
    pub program: Box<dyn HostedProgram>,
    /// The messages that it sent and its output, or the error that ends the run.
    pub result: Result<Executed, RunError>,
    /// What a processor did for it.
    pub work: Instructions,
    /// The time for which it had a processor.
    pub held: Seconds,
    /// What of that the process paid first, without computing.
    pub delay: Seconds,
}
