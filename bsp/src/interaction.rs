//! An interaction of a task farm.

use serde::{Deserialize, Serialize};

use crate::units::Seconds;

/// A complete interaction of a task farm: what each worker was dealt, and how long it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interaction {
    /// The interaction, from 0.
    pub number: u64,
    /// The superstep in which its tasks were dealt; they were executed in the next one.
    pub superstep: u64,
    /// Tasks that had not been dealt before it.
    pub left: u64,
    /// Tasks dealt, by worker: worker 0 is process 1.
    pub dealt: Vec<u64>,
    /// How long workers executed them, by worker; zero without tasks.
    pub took: Vec<Seconds>,
}
