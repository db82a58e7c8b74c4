//! Supersteps that threads execute.

use bsp::Rank;
use bsp::units::{Instructions, Seconds};

use super::checkpoints::Saving;
use crate::error::RunError;
use crate::programs::{Executed, HostedProgram, Turn};

/// A superstep to be executed.
pub(crate) struct Task {
    pub(crate) program: Box<dyn HostedProgram>,
    pub(crate) turn: Turn,
    /// What the process pays first.
    pub(crate) delay: Seconds,
    /// What is saved before it is executed.
    pub(crate) saving: Option<Box<Saving>>,
}

/// A superstep that has been executed.
pub(crate) struct Done {
    pub(crate) rank: Rank,
    pub(crate) program: Box<dyn HostedProgram>,
    pub(crate) result: Result<Executed, RunError>,
    /// What a processor did for it.
    pub(crate) work: Instructions,
    /// The time for which it had a processor.
    pub(crate) held: Seconds,
    /// What of that the process paid first, without computing.
    pub(crate) delay: Seconds,
}
