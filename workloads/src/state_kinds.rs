//! Programs whose states differ in kind, for measurements of what moving a process costs.
//!
//! Du, Sun and Wu (2007) measured migrations of four programs. These are their counterparts: `linpack` has one large
//! array, `bitonic` a tree of many small nodes, `gzip` a small state whatever the length of its input, and `xlintims` a
//! state whose size changes. Each solves problem after problem, drawn from the seed, in supersteps of about equal work,
//! checks every result, and can be moved between any two supersteps. Processes do not exchange messages.

mod bitonic;
mod dense;
mod gzip;
mod linpack;
mod parameters;
mod rounds;
mod xlintims;

use bsp::numbers::length;
use bsp::units::{Bytes, Instructions};
use bsp::{MemorySize, Program, Step, Superstep};
use serde::{Deserialize, Serialize};

use self::bitonic::Bitonic;
use self::gzip::Gzip;
use self::linpack::Linpack;
use self::parameters::checked;
use self::rounds::Round;
use self::xlintims::Xlintims;
use crate::parameters::{Common, Error};

pub use self::parameters::{Kind, Parameters};

/// One process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateKinds {
    supersteps: u64,
    range: [f64; 2],
    /// Operations of a superstep.
    budget: u64,
    round: Round,
    problem: Problem,
    solved: Solved,
}

/// The results of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solved {
    /// Problems that were solved, and whose results were found right.
    pub problems: u64,
    /// Fingerprint of all results, in their order, and of the problem that was not solved in the end.
    pub digest: u64,
}

impl Solved {
    fn add(&mut self, numbers: Vec<u64>) {
        for number in numbers {
            self.digest = (self.digest ^ number).wrapping_mul(PRIME);
        }
    }
}

/// The problem of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Problem {
    Linpack(Linpack),
    Bitonic(Bitonic),
    Gzip(Box<Gzip>),
    Xlintims(Xlintims),
}

/// One process for each rank, each with problems of its own.
///
/// # Errors
///
/// If there is no process or no superstep, if a number is out of its range, or if there is no memory for the first
/// problems.
///
/// # Examples
///
/// ```
/// use bsp::reference;
/// use workloads::{Common, state_kinds};
///
/// let parameters = state_kinds::Parameters {
///     kind: state_kinds::Kind::Bitonic,
///     state: [1e3, 4e3],
///     instructions: 1e5,
/// };
/// let common = Common { processes: 2, supersteps: Some(20), seed: 7 };
/// let processes = state_kinds::processes(&parameters, common)?;
/// let run = reference::run(processes, reference::Limit::default()).expect("the program halts");
/// assert!(run.outputs.iter().all(|solved| 0 < solved.problems));
/// # Ok::<(), workloads::Error>(())
/// ```
pub fn processes(parameters: &Parameters, common: Common) -> Result<Vec<StateKinds>, Error> {
    let supersteps = common.required_supersteps()?;
    let (range, budget) = checked(parameters)?;
    let processes = common.build(|rank| {
        let round = Round {
            seed: common.seed,
            rank: rank.0,
            number: 0,
        };
        Some(StateKinds {
            supersteps,
            range,
            budget,
            round,
            problem: Problem::new(parameters.kind, round, range)?,
            solved: Solved {
                problems: 0,
                digest: BASIS,
            },
        })
    })?;
    let all: Option<Vec<StateKinds>> = processes.into_iter().collect();
    all.ok_or_else(|| Error::Memory {
        what: "the states".to_owned(),
        megabytes: crate::memory::megabytes(u128::from(crate::parameters::whole(range[1]))),
        instead: "a smaller `state`",
    })
}

impl Program for StateKinds {
    type Message = ();
    type Output = Solved;

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Step<Solved> {
        let (mut spent, mut failed) = (0, None);
        while spent < self.budget && failed.is_none() {
            match self.advance(self.budget - spent) {
                Ok(operations) => spent += operations.max(1),
                Err(problem) => failed = Some(problem),
            }
        }
        if let Some(problem) = failed {
            ctx.fail(problem);
        }
        ctx.charge(Instructions(spent));
        if ctx.index() + 1 == self.supersteps {
            self.solved.add(self.problem.state());
            return Step::Halt(self.solved);
        }
        Step::Continue
    }

    fn memory(&self) -> Option<MemorySize> {
        let bytes = length(self.problem.encoded());
        Some(Bytes(bytes + BYTES_BESIDE).into())
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        Some(self.supersteps.saturating_sub(completed))
    }

    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl StateKinds {
    /// Goes on with the problem, with about `budget` operations; if it is solved, checks the result and draws the next
    /// one. Returns how many operations it took.
    fn advance(&mut self, budget: u64) -> Result<u64, String> {
        let spent = match &mut self.problem {
            Problem::Linpack(linpack) => linpack.advance(budget),
            Problem::Bitonic(bitonic) => bitonic.advance(budget),
            Problem::Gzip(gzip) => gzip.advance(budget, &mut |_| {}),
            Problem::Xlintims(xlintims) => xlintims.advance(self.round, budget)?,
        };
        let result = match &self.problem {
            Problem::Linpack(linpack) if linpack.is_over() => linpack.result(self.round)?,
            Problem::Bitonic(bitonic) if bitonic.is_over() => vec![bitonic.result()?],
            Problem::Gzip(gzip) if gzip.is_over() => gzip.result(self.round, self.range)?,
            Problem::Xlintims(xlintims) if xlintims.is_over() => xlintims.result(),
            _ => return Ok(spent),
        };
        self.solved.add(result);
        self.solved.problems += 1;
        self.round = self.round.next();
        let next = Problem::new(self.problem.kind(), self.round, self.range);
        self.problem = next.ok_or("not enough memory for the next problem")?;
        Ok(spent)
    }
}

impl Problem {
    fn new(kind: Kind, round: Round, range: [f64; 2]) -> Option<Self> {
        Some(match kind {
            Kind::Linpack => Self::Linpack(Linpack::new(round, range)?),
            Kind::Bitonic => Self::Bitonic(Bitonic::new(round, range)),
            Kind::Gzip => Self::Gzip(Box::new(Gzip::new(round, range))),
            Kind::Xlintims => Self::Xlintims(Xlintims::new(round, range)?),
        })
    }

    const fn kind(&self) -> Kind {
        match self {
            Self::Linpack(_) => Kind::Linpack,
            Self::Bitonic(_) => Kind::Bitonic,
            Self::Gzip(_) => Kind::Gzip,
            Self::Xlintims(_) => Kind::Xlintims,
        }
    }

    /// The state, as numbers to be compared.
    fn state(&self) -> Vec<u64> {
        match self {
            Self::Linpack(linpack) => linpack.state(),
            Self::Bitonic(bitonic) => bitonic.state(),
            Self::Gzip(gzip) => gzip.state(),
            Self::Xlintims(xlintims) => xlintims.state(),
        }
    }

    /// The most bytes of its encoding.
    fn encoded(&self) -> usize {
        match self {
            Self::Linpack(linpack) => linpack.encoded(),
            Self::Bitonic(bitonic) => bitonic.encoded(),
            Self::Gzip(gzip) => gzip.encoded(),
            Self::Xlintims(xlintims) => xlintims.encoded(),
        }
    }
}

/// Bytes of a process beside its problem.
const BYTES_BESIDE: u64 = 128;

/// Basis and prime of the 64-bit FNV hash.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

#[cfg(test)]
mod tests;
