//! Rebalancing algorithms that are compared with those of plans, problems drawn by lot, and lower bounds.
//!
//! [`model::rebalance`] has the [`Problem`](model::rebalance::Problem), and the searches that plans use when they run:
//! IMLP and `best`. Here are the [`Method`]s that they are compared with, [`Group`]s of problems, the lower [`bound()`] of
//! what meeting a target costs, and the [`lowest()`] level that a search reaches. Sources: Chen, Wang and Lau 2008 and, for
//! what goes beyond them, each file.

mod bound;
mod exchanging;
mod groups;
mod lowest;
mod method;
mod mparv;

pub use bound::{bound, bound_while};
pub use exchanging::{ExchangePattern, Exchanging};
pub use groups::{Family, Group, Spread, UnknownGroup, Workloads};
pub use lowest::lowest;
pub use method::{Method, UnknownMethod};
pub use mparv::{Opt, Partition};
