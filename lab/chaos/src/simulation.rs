//! Fault simulation: nodes and a client in one thread, under a clock of its own, with faults that follow from a seed.
//!
//! The machines of nodes and clients (`agents/machines`), the agents, the encoding of messages, and the checks of what
//! peers send are those of real hosts. Sockets, threads and clocks are simulated.
//!
//! There is one queue of events, time in integer nanoseconds, and random numbers by purpose. The simulation has what a
//! shell has: connections with ordered streams, processors, disks, and times of plans and states. Agents handle events
//! without mailboxes. Faults come from the seed. Some seeds are aimed at messages that overtake each other
//! (`overtaking`); of the others, those that are even have a fault aimed at a step of the protocol (`protocol::Step`).
//! What is checked is written at the head of `lab/docs/chaos.md`. The disk is the simulated one of the checkpoint store,
//! and a second simulation resumes from it.
//!
//! The world of `simulated` is not used for this: it executes programs ahead of time, and has one view of everything.
//!
//! `agents::mutant` names deliberate defects, which simulations have to find. In builds without `--cfg mutant` the
//! question whether a defect is switched on is the constant `false`.

mod cluster;
mod fault;
mod overtaking;
mod program;
mod random;
mod run;
mod scenario;
#[cfg(test)]
mod tests;

pub(crate) use fault::FaultKind;
pub(crate) use run::{SeedOptions, SeedRun, faults_of, shrink, simulate_seed};
