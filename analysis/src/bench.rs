//! What a cluster is capable of, from the events of jobs.

pub mod migration;
pub mod superstep;
