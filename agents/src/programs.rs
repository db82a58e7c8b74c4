//! Programs whose type is erased, once for both worlds.

mod erased;
mod hosted;
mod simulated;

pub(crate) use erased::States;
pub use erased::{Outputs, ProgramType, Programs};
pub(crate) use hosted::{Content, Executed, HostedProgram, Incoming, Turn};
pub(crate) use simulated::{SimulatedPrograms, SuperstepPlan};
