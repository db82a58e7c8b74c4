//! Supersteps that belong together.

use serde::{Deserialize, Serialize};

/// Supersteps that belong together: every `length` of them form a round.
///
/// Processes are rescheduled between rounds, because what they compute in one superstep of a round says little about the
/// next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// The number of supersteps of a round, at least 1.
    pub length: u64,
    /// The index of a superstep that ends a round.
    pub last: u64,
}

impl Round {
    /// Each superstep is a round of its own.
    pub const SUPERSTEP: Self = Self { length: 1, last: 0 };

    /// Whether a round ends with superstep `index`.
    #[must_use]
    pub fn ends_with(self, index: u64) -> bool {
        let length = self.length.max(1);
        index % length == self.last % length
    }

    /// Whether each superstep is a round.
    #[must_use]
    pub fn is_superstep(&self) -> bool {
        self.length <= 1
    }
}

impl Default for Round {
    fn default() -> Self {
        Self::SUPERSTEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_end_every_few_supersteps() {
        let ends = |round: Round| {
            (0..8)
                .filter(|index| round.ends_with(*index))
                .collect::<Vec<_>>()
        };
        assert_eq!(ends(Round { length: 3, last: 2 }), [2, 5]);
        assert_eq!(ends(Round { length: 3, last: 7 }), [1, 4, 7]);
        assert_eq!(ends(Round::SUPERSTEP).len(), 8);
        assert_eq!(ends(Round { length: 0, last: 5 }).len(), 8);
    }
}
