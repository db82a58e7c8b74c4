//! Programs whose type is erased, once for both worlds.

mod erased;
mod fork_check;
mod hosted;
mod outputs;
mod simulated;
mod superstep_plan;

pub(crate) use erased::{DecodeOutputs, States};
pub use erased::{ProgramType, Programs};
pub(crate) use fork_check::check_fork;
pub(crate) use hosted::{Content, Executed, HostedProgram, Incoming, Turn};
pub use outputs::Outputs;
pub(crate) use simulated::SimulatedPrograms;
pub(crate) use superstep_plan::{RepeatedPlan, SuperstepPlan, index};
