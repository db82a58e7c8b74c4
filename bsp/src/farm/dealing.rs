//! The rules by which tasks are dealt.

use serde::{Deserialize, Serialize};

use super::block_cyclic::BlockCyclic;
use super::dealing_error::DealingError;
use super::weighted::Weighted;

/// A rule by which the tasks of each interaction are dealt to workers.
///
/// Equations `DEAL-1` to `DEAL-9` of `docs/model.md`; `P` is the number of workers and `R` that of the tasks that are left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Dealing {
    /// Shares in proportion to the measured rates of the workers.
    Weighted(Weighted),
    /// Blocks that change until each worker's time is between two thresholds (Santana and Souza).
    BlockCyclic(BlockCyclic),
    /// `R / P` tasks each, in one interaction.
    Static,
    /// The same number of tasks each, in every interaction.
    SelfScheduling {
        /// That number, at least 1.
        chunk: u64,
    },
    /// `⌈R / P⌉` tasks, worker after worker (Polychronopoulos and Kuck 1987).
    Guided {
        /// The least number of tasks for a worker, at least 1.
        least: u64,
    },
    /// `⌈R / (2 P)⌉` tasks each, for all workers of an interaction alike (Hummel, Schonberg and Flynn 1992).
    Factoring {
        /// The least number of tasks for a worker, at least 1.
        least: u64,
    },
}

impl Default for Dealing {
    fn default() -> Self {
        Self::Weighted(Weighted::default())
    }
}

impl Dealing {
    /// Checks the numbers of the rule.
    ///
    /// # Errors
    ///
    /// Any [`DealingError`].
    pub fn check(&self) -> Result<(), DealingError> {
        let positive = |name: &'static str, number: u64| match number {
            0 => Err(DealingError::Zero(name)),
            _ => Ok(()),
        };
        match self {
            Self::Weighted(weighted) => {
                positive("fraction", weighted.fraction)?;
                positive("least", weighted.least)
            }
            Self::BlockCyclic(rule) => {
                positive("block", rule.block)?;
                rule.check_thresholds()
            }
            Self::Static => Ok(()),
            Self::SelfScheduling { chunk } => positive("chunk", *chunk),
            Self::Guided { least } | Self::Factoring { least } => positive("least", *least),
        }
    }
}
