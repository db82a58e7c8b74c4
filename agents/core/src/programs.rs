//! Programs whose type is erased, once for both worlds.

mod erased;
mod fork_check;
mod hosted;
mod outputs;
mod simulated;
mod superstep_plan;

pub use erased::{DecodeOutputs, ProgramType, Programs, States};
pub use fork_check::check_fork;
pub use hosted::{Content, Executed, HostedProgram, Incoming, Turn};
pub use outputs::Outputs;
pub use simulated::SimulatedPrograms;
pub use superstep_plan::{RepeatedPlan, SuperstepPlan};
