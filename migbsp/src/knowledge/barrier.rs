//! What the barrier adds to a superstep.

use serde::{Deserialize, Serialize};

use crate::bounded::non_negative;

/// What the barrier adds to a superstep for the processes of one Set, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BarrierTime {
    /// Nothing.
    #[default]
    Ideal,
    /// The first Manager releases all processes and waits for all.
    Central {
        /// From the first Manager to a process.
        release: f64,
        /// From a process to the first Manager.
        arrival: f64,
    },
    /// The first Manager handles processes one after the other.
    ByRank {
        /// What each process adds to every superstep.
        process: f64,
    },
    /// Managers of Sets with processes wait for each other.
    Hierarchical,
}

impl BarrierTime {
    /// What every process of the Set adds to the length of a superstep.
    pub(crate) fn process(self) -> f64 {
        match self {
            Self::ByRank { process } => non_negative(process),
            Self::Ideal | Self::Central { .. } | Self::Hierarchical => 0.0,
        }
    }

    /// How much later than on the first Manager's host a superstep starts.
    pub(crate) fn release(self) -> f64 {
        match self {
            Self::Central { release, .. } => non_negative(release),
            Self::Ideal | Self::ByRank { .. } | Self::Hierarchical => 0.0,
        }
    }

    /// How long the first Manager waits for a process that has completed its superstep.
    pub(crate) fn arrival(self) -> f64 {
        match self {
            Self::Central { arrival, .. } => non_negative(arrival),
            Self::Ideal | Self::ByRank { .. } | Self::Hierarchical => 0.0,
        }
    }
}
