//! The methods by name.

use std::fmt;
use std::str::FromStr;

use model::rebalance::search::{Annealing, Course, Draws, Incumbent, Meter, best, refine, tabu};
use model::rebalance::{Budget, Problem, SearchResult, Solution, Variant};

use crate::mparv::Partition;

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
    /// Greedy refinement (`RefineLB` of Charm++).
    Refine,
    /// Simulated annealing from IMLP's best.
    Hyb,
    /// The best there is here.
    Best,
}

/// A name that no method has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid algorithm `{found}`: must be one of imlp, islp, mlp, tabu, mparv, refine, hyb, best"
)]
pub struct UnknownMethod {
    /// The name.
    pub found: String,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Imlp,
        Self::Islp,
        Self::Mlp,
        Self::Tabu,
        Self::Mparv,
        Self::Refine,
        Self::Hyb,
        Self::Best,
    ];

    /// The cheapest assignment it finds in `problem` whose level is at most `target`; if it finds none, the
    /// one with the lowest level. The assignment that searches begin with, if that meets the target and costs nothing.
    #[must_use]
    pub fn solve(self, problem: &Problem, target: f64, budget: Budget<'_>, seed: u64) -> Solution {
        self.search(problem, target, budget, seed).solution
    }

    /// [`Method::solve`], and how much was looked at.
    #[must_use]
    pub fn search(
        self,
        problem: &Problem,
        target: f64,
        budget: Budget<'_>,
        seed: u64,
    ) -> SearchResult {
        SearchResult::of(problem, target, budget, |incumbent, meter| {
            self.improve(problem, seed, incumbent, meter);
        })
    }

    fn improve(
        self,
        problem: &Problem,
        seed: u64,
        incumbent: &mut Incumbent,
        meter: &mut Meter<'_>,
    ) {
        match self {
            Self::Imlp => Variant::IMLP.improve(problem, incumbent, meter),
            Self::Islp => Variant::ISLP.improve(problem, incumbent, meter),
            Self::Mlp => Variant::MLP.improve(problem, incumbent, meter),
            Self::Tabu => tabu(problem, seed, incumbent, meter),
            Self::Mparv => Partition::default().improve(problem, incumbent, meter),
            Self::Refine => refine(problem, incumbent, meter),
            Self::Hyb => hyb(problem, seed, incumbent, meter),
            Self::Best => best(problem, seed, incumbent, meter),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Imlp => "imlp",
            Self::Islp => "islp",
            Self::Mlp => "mlp",
            Self::Tabu => "tabu",
            Self::Mparv => "mparv",
            Self::Refine => "refine",
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
                found: text.to_owned(),
            })
    }
}

/// Spends a part of the budget on IMLP and anneals its best with the rest: by moves, exchanges and
/// ejections of one process by another.
fn hyb(problem: &Problem, seed: u64, incumbent: &mut Incumbent, meter: &mut Meter<'_>) {
    meter.limit(IMLP);
    Variant::IMLP.improve(problem, incumbent, meter);
    meter.limit(100);
    let course = Course {
        hops: 2,
        sharings: 0,
        returns: 256,
        hot: 0.5,
    };
    let draws = Draws::new(seed, b"annealing after IMLP ...");
    let start = incumbent.assignment().to_vec();
    Annealing::new(problem, incumbent.target(), &start, draws, course).run(incumbent, meter);
}

/// Per cent of the budget.
const IMLP: u8 = 15;
