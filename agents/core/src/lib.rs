//! Processes, nodes and Set Managers as actors: what decides, the same in every world.
//!
//! Three state machines decide ([`Process`], [`Node`], [`SetManager`]), and three actors are their shells. A [`World`]
//! is their interface to the outside: the crate `simulated` has one under a simulated clock, `machines` and `hosts` have
//! one on real machines. What they do for the same events is the same in both.
//!
//! In reading order: `setup` (what a run is told, and the [`Rules`] that all agents share), `barrier`, `world`, `process`,
//! `node`, `set_manager`, `actors`; `programs` and `process_state` (programs whose type is erased, and the one encoding of
//! a process), `checkpointing`, and [`replay`], which decides calls of a record again.

mod actors;
mod barrier;
mod checkpointing;
mod chunks;
mod learned_cost;
mod message_check;
pub mod mutant;
mod node;
mod outcome;
mod placement;
mod process;
pub mod process_state;
mod programs;
mod prospect;
pub mod replay;
mod set_manager;
mod setup;
#[cfg(test)]
mod test_world;
mod world;

pub use actors::{AgentContext, Deliver, NodeAgent, ProcessAgent, SetManagerAgent};
pub use barrier::{Barrier, BarrierTree, Collection, Shape};
pub use checkpointing::{
    CheckpointCosts, CheckpointInterval, CheckpointSchedule, Checkpointing, buddies,
    optimal_interval,
};
pub use chunks::{ChunkReader, ChunkSink, ChunkSource, ChunkWriter};
pub use message_check::{RunShape, check};
pub use node::Node;
pub use outcome::{Outcome, Outputs, OutputsOnNodes, RunError, Transferred, Transfers};
pub use placement::{
    PlacementError, PlacementOptions, PlacementOrder, placement, resumed_placement,
};
pub use process::{Process, arrival};
pub use programs::{
    Content, DecodeOutputs, Executed, HostedProgram, Incoming, ProgramType, Programs, RepeatedPlan,
    SimulatedPrograms, States, SuperstepPlan, Turn, check_encoding, check_fork, decode, hosted,
};
pub use prospect::{Prospect, UNKNOWN_PROGRESS};
pub use set_manager::SetManager;
pub use setup::{
    AwaitedHosts, Elasticity, JoinTime, Joining, LinkProbing, Payment, PlanningTime, PooledHost,
    Preparation, Relocation, Resumed, Rules, Scheduler, Script, Setup, TransferStart, WindowRule,
    most,
};
pub use world::{
    Cost, Deliberated, Deliberation, Delivery, Event, Exchange, Executor, HostProbe, LinkProber,
    Mail, Membership, Moved, World,
};
