//! Blocks that change until each worker's time is between two thresholds.

use serde::{Deserialize, Serialize};

use super::dealing_error::DealingError;
use crate::numbers::{real, whole};

/// Block-cyclic distribution with a block of its own for each worker (Santana and Souza, equations 1 to 5).
///
/// Equations `DEAL-1` to `DEAL-5` of `docs/model.md`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockCyclic {
    /// Tasks of each worker in its first interaction, at least 1.
    pub block: u64,
    /// A worker that takes less than this part of the reference time gets more tasks; from 0.001 to 1000.
    pub threshold_min: f64,
    /// One that takes more than this part of it gets fewer; at least the other threshold.
    pub threshold_max: f64,
    /// The reference time.
    pub reference: Reference,
}

/// The time that thresholds are parts of. The paper has both readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reference {
    /// The longest time of a worker in the first interaction.
    #[default]
    First,
    /// The longest time in the last interaction. No worker can take longer, so an upper threshold of 1 or more does nothing.
    Last,
}

impl Default for BlockCyclic {
    fn default() -> Self {
        Self {
            block: 8,
            threshold_min: 0.99,
            threshold_max: 1.01,
            reference: Reference::First,
        }
    }
}

impl BlockCyclic {
    /// The block of a worker that executed `block` tasks in `took` seconds; equations 3 to 5.
    pub(super) fn next(&self, block: u64, took: f64, reference: f64) -> u64 {
        let target = if took < self.threshold_min * reference {
            self.threshold_min * reference
        } else if self.threshold_max * reference < took {
            self.threshold_max * reference
        } else {
            return block;
        };
        whole(target / took * real(block)).max(1)
    }

    pub(super) fn check_thresholds(&self) -> Result<(), DealingError> {
        let (min, max) = (self.threshold_min, self.threshold_max);
        for (name, value) in [("threshold_min", min), ("threshold_max", max)] {
            if !(THRESHOLD_MIN..=THRESHOLD_MAX).contains(&value) {
                return Err(DealingError::Threshold { name, value });
            }
        }
        if max < min {
            return Err(DealingError::Thresholds { min, max });
        }
        Ok(())
    }
}

/// Bounds of thresholds.
const THRESHOLD_MIN: f64 = 1e-3;
const THRESHOLD_MAX: f64 = 1e3;
