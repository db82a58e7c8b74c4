//! Processes, nodes and Set Managers as actors, and the worlds they live in.
//!
//! Three state machines decide ([`Process`], [`Node`], [`SetManager`]), and three actors are their shells. A [`World`]
//! is their interface to the outside. [`simulate`] runs them under a simulated clock, [`hosts`] on real machines. The
//! record of a run is a sequence of [`record::Event`]s.

mod actors;
mod attainable;
mod barrier;
mod buddy;
pub mod chaos;
mod check;
pub mod checkpoint;
mod checkpointing;
mod chunks;
mod deliberation;
mod elasticity;
mod encoding;
mod error;
pub mod hosts;
mod learned_cost;
mod machines;
mod message_check;
pub mod mutant;
mod node;
mod outcome;
mod placement;
mod process;
mod process_state;
mod programs;
mod remaining;
pub mod replay;
mod repricing;
mod resumed;
mod resumed_placement;
mod run_shape;
mod script;
mod set_manager;
mod setup;
mod simulated;
#[cfg(test)]
mod test_world;
mod world;

pub use actors::{Deliver, NodeAgent, ProcessAgent, SetManagerAgent};
pub use barrier::{Barrier, BarrierTree, Collection, Shape};
pub use buddy::buddies;
pub use checkpointing::{
    CheckpointCosts, CheckpointInterval, CheckpointSchedule, Checkpointing, optimal_interval,
};
pub use deliberation::{Deliberated, Deliberation};
pub use elasticity::{Elasticity, JoinTime, Joining, PooledHost, Preparation, Relocation};
pub use error::RunError;
pub use node::Node;
pub use outcome::{Outcome, Transferred, Transfers};
pub use placement::{PlacementError, PlacementOptions, PlacementOrder, placement};
pub use process::Process;
pub use programs::{Outputs, ProgramType, Programs};
pub use resumed::Resumed;
pub use resumed_placement::resumed_placement;
pub use script::Script;
pub use set_manager::SetManager;
pub use setup::{LinkProbing, Payment, Rules, Scheduler, Setup, TransferStart, WindowRule};
pub use simulated::{simulate, simulate_in_mailboxes};
pub use world::{
    Cost, Delivery, Event, Exchange, Executor, HostProbe, LinkProber, Mail, Membership, Moved,
    World,
};
