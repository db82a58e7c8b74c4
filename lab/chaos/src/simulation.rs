//! Fault simulation: nodes and a client in one thread, under a clock of its own, with faults that follow from a seed.
//!
//! The machines of nodes and clients (`agents/machines`), the agents, the encoding of messages, and the checks of what
//! peers send are those of real hosts. Sockets, threads and clocks are simulated.

mod agents;
mod checkpoints;
mod cluster;
mod connection;
mod disk;
mod fault;
mod happening;
mod network;
mod node_process;
mod overtaking;
mod program;
mod random;
mod resumption;
mod run;
mod scenario;
#[cfg(test)]
mod tests;
mod trace;

pub(crate) use run::{SeedOptions, SeedRun, faults_of, kinds_and_steps, shrink, simulate_seed};
