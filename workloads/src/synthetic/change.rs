//! How a load changes, and which ranks it happens to.

use serde::{Deserialize, Serialize};

/// Which ranks a [`Change`] happens to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// The lowest; a hotspot begins at rank 0.
    #[default]
    First,
    /// Drawn from the run's seed, each as probable as any other; so is the rank where a hotspot begins.
    Drawn,
}

/// What changes, and when.
///
/// A `share` is a part of the ranks, from 0 to 1: `share` · processes of them, rounded, and one at
/// least if the share is above zero. [`Choice`] says which. A `factor` multiplies their instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Change {
    /// Nothing, ever.
    #[default]
    Steady,
    /// A share of the ranks gets slowly heavier, or lighter.
    Drift {
        /// Who; by default half of the ranks.
        share: f64,
        /// What is reached in the end; by default 2.
        factor: f64,
        /// The last superstep without change; by default 0. From here the factor grows linearly.
        start: u64,
        /// The first superstep with the whole factor, which then stays; by default the run's last.
        end: Option<u64>,
    },
    /// A share of the ranks changes from one superstep to the next.
    Jump {
        /// Who; by default half of the ranks.
        share: f64,
        /// By how much; by default 2.
        factor: f64,
        /// The first superstep with the factor; by default 100.
        start: u64,
        /// After so many supersteps the factor goes, after as many it comes back, and so on; by
        /// default it stays.
        every: Option<u64>,
    },
    /// A window of consecutive ranks is heavier, and wanders over all of them, around the end.
    Hotspot {
        /// Width of the window; by default a tenth of the ranks.
        share: f64,
        /// By how much; by default 2.
        factor: f64,
        /// By how many ranks it moves at a time; by default 1.
        step: u64,
        /// After how many supersteps it moves; by default 10.
        every: u64,
    },
}
