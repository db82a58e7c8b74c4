//! The methods by name.

use std::fmt;
use std::str::FromStr;

use crate::rebalance::{Budget, Problem, Solution};

/// How to look for an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Iterated multi-level local search with penalties (Chen, Wang, Lau).
    Imlp,
    /// The same with one level.
    Islp,
    /// The first iteration alone.
    Mlp,
    /// Tabu search with the same steps.
    Tabu,
    /// M-PARTITION (Aggarwal, Motwani, Zhu) with falling levels.
    Mparv,
    /// Simulated annealing from IMLP's best.
    Hyb,
    /// The best there is here.
    Best,
}

/// A name that no method has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("met {met:?}, expected one of imlp, islp, mlp, tabu, mparv, hyb, best")]
pub struct UnknownMethod {
    /// The name.
    pub met: String,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Imlp,
        Self::Islp,
        Self::Mlp,
        Self::Tabu,
        Self::Mparv,
        Self::Hyb,
        Self::Best,
    ];

    /// The cheapest assignment it finds in `problem` whose level is at most `target`; if it finds none, the
    /// one with the lowest level.
    #[must_use]
    pub fn solve(
        self,
        problem: &Problem,
        target: f64,
        _budget: Budget<'_>,
        _seed: u64,
    ) -> Solution {
        // Replaced as the methods land.
        Solution::of(problem, target, problem.homes())
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Imlp => "imlp",
            Self::Islp => "islp",
            Self::Mlp => "mlp",
            Self::Tabu => "tabu",
            Self::Mparv => "mparv",
            Self::Hyb => "hyb",
            Self::Best => "best",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|method| method.name() == text)
            .ok_or_else(|| UnknownMethod {
                met: text.to_owned(),
            })
    }
}
