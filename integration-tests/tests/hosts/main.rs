//! Laws of runs on real hosts: node processes with their own sockets, here as threads of one process.
//!
//! | file | law |
//! |---|---|
//! | `kernels` | wherever and whenever processes migrate, outputs equal the reference runner's |
//! | `busy` | programs that keep all processors busy for seconds cost a node no connection |
//! | `failures` | whatever goes wrong ends the run with a message, and the cluster is free again |

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod busy;
mod cluster;
mod failures;
mod kernels;
