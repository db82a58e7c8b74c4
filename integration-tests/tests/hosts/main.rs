//! Laws of runs on real hosts: node processes with their own sockets, here as threads of one process.
//!
//! | file | law |
//! |---|---|
//! | `hostile` | members that send any message at any time end their own jobs at worst |
//! | `kernels` | wherever and whenever processes migrate, outputs equal the reference runner's |
//! | `busy` | programs that keep all processors busy for seconds cost a node no connection |
//! | `builds` | other builds are refused where they are not allowed, and named |
//! | `late_paths` | messages of one node that come later than those of others end no job |
//! | `endless` | a superstep that never ends can be ended, and its node says why it refuses jobs |
//! | `resuming` | a job resumed from a checkpoint on any hosts ends with the outputs of the reference runner |
//! | `notes` | notes of a program are those of the reference runner |
//! | `snapshots` | what processes write on nodes is what they write in the reference runner, and is listed once |
//! | `failures` | whatever goes wrong ends the run with a message, and the cluster is free again |

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod builds;
mod busy;
mod cluster;
mod endless;
mod failures;
#[path = "../runs/gradients.rs"]
mod gradients;
mod hostile;
mod kernels;
mod late_paths;
mod notes;
mod resuming;
mod snapshots;
