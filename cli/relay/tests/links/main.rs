//! Links between sockets of this machine.
//!
//! | file | law |
//! |---|---|
//! | `sockets` | a relay keeps rate, level, latency and the bound of its queue, and forwards between its nodes alone |
//! | `tbf` | it has the throughput of Linux's `tbf` at the same rate |

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod flood;
mod sockets;
mod tbf;
