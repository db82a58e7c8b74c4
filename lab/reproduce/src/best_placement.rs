//! The best placement of a steady experiment that a long search finds, and the file that keeps it.
//!
//! The search has the simulator as its objective: a placement is as good as the supersteps of a short simulation of it
//! are fast. What it finds is a bound in practice: makespan / (seconds of a superstep · supersteps) is how far a policy
//! is from it.

mod beginnings;
mod graph;
mod moves;
mod search;
mod steadiness;
mod trial;

pub use search::{Found, Search, search};
