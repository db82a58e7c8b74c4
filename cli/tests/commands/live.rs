//! `node`, `run`, `status` and `up`: node processes on loopback, and whatever can go wrong with them.
//!
//! | file | law |
//! |---|---|
//! | `up` | a cluster of one command computes what a simulation does, and leaves no process behind |
//! | `clocks` | clocks that differ by an hour make no difference |
//! | `daemons` | nodes do one job after the other, and leave in order |
//! | `failures` | whatever goes wrong ends in a message and an exit code within seconds, and nodes are free again |
//! | `inputs` | what is wrong with what is given is named |

mod clocks;
mod cluster;
mod daemons;
mod failures;
mod inputs;
pub(crate) mod under_way;
mod up;
