//! Problems drawn by lot whose processes exchange bytes.

use std::fmt;
use std::str::FromStr;

use bsp::numbers::{length, real};
use model::rebalance::search::Draws;
use model::rebalance::{Machine, MoveCost, Problem, Resident};

use crate::UnknownGroup;

/// A group of problems whose processes exchange so much that, before any move, it is a third of all time.
///
/// Written as its pattern, `X1` or `X2`, a comma and its size: 1 to 3 for 4, 16 and 64 machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exchanging {
    pattern: ExchangePattern,
    /// Machines along an edge of a square.
    side: usize,
}

/// Which processes exchange bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExchangePattern {
    /// Neighbours in a square grid of processes, of which each machine has a square. Processes in one corner of the grid
    /// have more to compute.
    Stencil,
    /// Pairs drawn by lot, three for each process in the mean, with bytes that differ in their order of magnitude.
    Random,
}

impl Exchanging {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let patterns = [ExchangePattern::Stencil, ExchangePattern::Random];
        patterns
            .into_iter()
            .flat_map(|pattern| SIDES.map(|side| Self { pattern, side }))
    }

    /// How many machines there are.
    #[must_use]
    pub const fn machines(self) -> usize {
        self.side * self.side
    }

    /// The problem with that seed: the same everywhere.
    ///
    /// Machines are equal and in one cluster, with 25 processes on each; every move costs 1.
    ///
    /// # Panics
    ///
    /// Never: what is drawn is a problem.
    #[must_use]
    pub fn draw(self, seed: u64) -> Problem {
        let mut draws = Draws::new(seed, b"exchanging: group, seed ");
        let side = self.side * PROCESSES_SIDE;
        let processes = side * side;
        let initial = |process: usize| {
            let (row, column) = (process / side, process % side);
            row / PROCESSES_SIDE * self.side + column / PROCESSES_SIDE
        };
        let heaviness = |process: usize| {
            let [row, column, all] =
                [process / side, process % side, processes].map(|it| real(length(it)));
            let distance = (row * row + column * column) / all;
            match self.pattern {
                ExchangePattern::Stencil => 1.0 + 4.0 / (1.0 + 8.0 * distance),
                ExchangePattern::Random => 1.0,
            }
        };
        let residents: Vec<Resident> = (0..processes)
            .map(|process| Resident {
                workload: heaviness(process) * draws.between(0.5, 1.5),
                size: 1.0,
                initial_machine: initial(process),
            })
            .collect();
        let edges = match self.pattern {
            ExchangePattern::Stencil => stencil(side),
            ExchangePattern::Random => random(processes, &mut draws),
        };
        let machine = Machine {
            capacity: 1.0,
            group: 0,
        };
        let move_cost = MoveCost {
            fixed: 1.0,
            per_size: 0.0,
        };
        let work: f64 = residents.iter().map(|resident| resident.workload).sum();
        let crossing = edges
            .iter()
            .filter(|(one, other, _)| initial(*one) != initial(*other));
        let exchanged: f64 = crossing.map(|(_, _, bytes)| 2.0 * bytes).sum();
        Problem::new(
            vec![machine; self.side * self.side],
            residents,
            vec![vec![move_cost]],
        )
        .and_then(|problem| problem.with_communication(&edges, 0.5 * work / exchanged))
        .expect("what is drawn is a problem")
    }
}

/// Right and lower neighbours in a square.
fn stencil(side: usize) -> Vec<(usize, usize, f64)> {
    let mut edges = Vec::new();
    for row in 0..side {
        for column in 0..side {
            let process = row * side + column;
            if column + 1 < side {
                edges.push((process, process + 1, 1.0));
            }
            if row + 1 < side {
                edges.push((process, process + side, 1.0));
            }
        }
    }
    edges
}

/// Three pairs for two processes.
fn random(processes: usize, draws: &mut Draws) -> Vec<(usize, usize, f64)> {
    (0..processes * 3 / 2)
        .map(|_| {
            let (one, other) = (draws.below(processes), draws.below(processes));
            (one, other, BYTES[draws.below(BYTES.len())])
        })
        .collect()
}

impl fmt::Display for Exchanging {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = match self.pattern {
            ExchangePattern::Stencil => "X1",
            ExchangePattern::Random => "X2",
        };
        let size = SIDES.iter().filter(|side| **side <= self.side).count();
        formatter.pad(&format!("{pattern},{size}"))
    }
}

impl FromStr for Exchanging {
    type Err = UnknownGroup;

    fn from_str(text: &str) -> Result<Self, UnknownGroup> {
        Self::all()
            .find(|group| group.to_string() == text)
            .ok_or_else(|| UnknownGroup {
                found: text.to_owned(),
                expected: "from X1,1 to X2,3",
            })
    }
}

/// Machines along an edge of the square, by size.
const SIDES: [usize; 3] = [2, 4, 8];

/// What a random pair exchanges.
const BYTES: [f64; 7] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];

/// Processes along an edge of the square that a machine has.
const PROCESSES_SIDE: usize = 5;
