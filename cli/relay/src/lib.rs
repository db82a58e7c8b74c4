//! The link between the Sets of a local cluster: its rate, its latency, and the level of the rate that is available.
//!
//! A [`Link`] is a state machine: datagrams are offered to it and leave it later, or are dropped. A [`Relay`] has a
//! link for each ordered pair of Sets and the sockets that nodes of other Sets send to. [`Controls`] change the links
//! while the relay runs, by hand or by a [`LevelSchedule`].
//!
//! Links are limited in user space. `up --between` binds the sockets of the relay before it starts the nodes, and gives
//! each node the addresses that replace those of the nodes of other Sets in a client's list. The time of a link does
//! not depend on when it is polled, so its rate is exact on a busy machine.

mod link;
mod relay;
mod schedule;
mod timer;

pub use link::{Counters, Level, Link, LinkSettings};
pub use relay::{Controls, NoSuchLink, Relay, RelayError, WIRE_OVERHEAD};
pub use schedule::{Change, LevelSchedule, read_levels};
