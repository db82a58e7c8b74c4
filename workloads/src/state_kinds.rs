//! Programs whose states differ in kind, for measurements of what moving a process costs.
//!
//! Du, Sun and Wu (2007) measured migrations of four programs. These are their counterparts: `linpack` has one large
//! array, `bitonic` a tree of many small nodes, `gzip` a small state whatever the length of its input, and `xlintims` a
//! state whose size changes. Each solves problem after problem, drawn from the seed, in supersteps of about equal work,
//! checks every result, and can be moved between any two supersteps. Processes do not exchange messages.

mod bitonic;
mod dense;
mod gzip;

use bsp::numbers::length;
use bsp::units::{Bytes, Instructions};
use bsp::{BoxError, MemorySize, Program, Rank, Step, Superstep};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::draws::{generator, unit};
use crate::parameters::{Common, Error, instructions, within};
use bitonic::Bitonic;
use dense::{Linpack, Xlintims};
use gzip::Gzip;

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
    common.build(builder(parameters, common)?)
}

/// What builds each process, given its rank: [`processes`] without the states.
///
/// # Errors
///
/// As [`processes`].
pub fn builder(
    parameters: &Parameters,
    common: Common,
) -> Result<impl Fn(Rank) -> Result<StateKinds, Error>, Error> {
    let supersteps = common.required_supersteps()?;
    let (range, budget) = checked(parameters)?;
    common.check()?;
    let kind = parameters.kind;
    Ok(move |rank: Rank| {
        let round = Round {
            seed: common.seed,
            rank: rank.0,
            number: 0,
        };
        let problem = Problem::new(kind, round, range).ok_or_else(|| Error::Memory {
            what: "the states".to_owned(),
            megabytes: crate::parameters::megabytes(u128::from(crate::parameters::whole(range[1]))),
            instead: "a smaller `state`",
        })?;
        Ok(StateKinds {
            supersteps,
            range,
            budget,
            round,
            problem,
            solved: Solved {
                problems: 0,
                digest: BASIS,
            },
        })
    })
}

impl Program for StateKinds {
    type Message = ();
    type Output = Solved;

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<Solved>, BoxError> {
        let mut spent = 0;
        while spent < self.budget {
            spent += self.advance(self.budget - spent)?.max(1);
        }
        ctx.charge(Instructions(spent));
        if ctx.index() + 1 == self.supersteps {
            self.solved.add(self.problem.state());
            return Ok(Step::Halt(self.solved));
        }
        Ok(Step::Continue)
    }

    fn memory(&self) -> Option<MemorySize> {
        let bytes = length(self.problem.encoded());
        Some(Bytes(bytes + BYTES_BESIDE).into())
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        Some(self.supersteps.saturating_sub(completed))
    }

    bsp::fork_by_clone!();
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

/// Which program runs, how large its state is, and how much it computes in a superstep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The program.
    pub kind: Kind,
    /// The least and the most bytes of a round's data, from which they are drawn for every round. Their logarithm is
    /// uniform.
    pub state: [f64; 2],
    /// Instructions of a superstep, about.
    pub instructions: f64,
}

/// A program, by the kind of its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Solves dense systems of linear equations: one large array.
    #[default]
    Linpack,
    /// Sorts keys in a binary tree: many small nodes.
    Bitonic,
    /// Compresses text: a small state, whatever the length of the text.
    Gzip,
    /// Factors six matrices, one after the other: a size that changes.
    Xlintims,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            kind: Kind::default(),
            state: [4e5, 4e6],
            instructions: 2e7,
        }
    }
}

/// The range of the bytes of a round's data, and the instructions of a superstep.
///
/// # Errors
///
/// If a number is none, too small or too large, or if the range ends before it begins.
fn checked(parameters: &Parameters) -> Result<([f64; 2], u64), Error> {
    let expected = "a number from 1 kB to 64 GB";
    let [least, most] = parameters.state;
    within(("state[0]", least), BYTES.0, BYTES.1, expected)?;
    within(
        ("state[1]", most),
        least,
        BYTES.1,
        "a number from the first one to 64 GB",
    )?;
    let budget = instructions("instructions", parameters.instructions)?;
    Ok(([least, most], budget.0.max(1)))
}

/// Bytes of a round's data.
const BYTES: (f64, f64) = (1e3, 64e9);

/// A round of a process: what it computes with is drawn from these numbers alone, so that it can be drawn again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Round {
    seed: u64,
    rank: u32,
    number: u64,
}

impl Round {
    /// The random numbers of this round; `part` distinguishes the streams of a round.
    fn numbers(self, part: u8) -> ChaCha8Rng {
        let mut purpose = *b"state kinds, round      ";
        purpose[18..22].copy_from_slice(&self.rank.to_le_bytes());
        purpose[23] = part;
        // The low half distinguishes rounds, the high half is the seed's.
        let low = u32::try_from(self.number & u64::from(u32::MAX)).expect("32 bits");
        generator(self.seed ^ (self.number >> 32), &purpose, low)
    }

    /// The next round.
    const fn next(self) -> Self {
        Self {
            number: self.number + 1,
            ..self
        }
    }

    /// A number of bytes from `least` to `most`, whose logarithm is uniform.
    fn bytes(self, [least, most]: [f64; 2]) -> f64 {
        let mut power = most / least;
        let mut bytes = least;
        let bits = self.numbers(SIZE).next_u32();
        // `least · (most / least)^u` for a binary fraction `u`: square roots are the same on every machine.
        for bit in 0..BITS {
            power = power.sqrt();
            if bits >> bit & 1 == 1 {
                bytes *= power;
            }
        }
        bytes.min(most)
    }
}

/// A drawn number from -1 up to 1.
fn signed(numbers: &mut ChaCha8Rng) -> f64 {
    2.0 * unit(numbers.next_u64()) - 1.0
}

/// The stream of the size of a round.
const SIZE: u8 = b's';

/// Binary digits of the drawn exponent.
const BITS: u32 = 20;

#[cfg(test)]
mod tests {
    mod state_kinds;

    use super::*;

    #[test]
    fn sizes_are_in_their_range_and_evenly_spread_by_magnitude() {
        let size = |number| {
            let round = Round {
                seed: 3,
                rank: 1,
                number,
            };
            round.bytes([1e3, 1e6])
        };
        let sizes: Vec<f64> = (0..3000).map(size).collect();
        assert!(sizes.iter().all(|size| (1e3..=1e6).contains(size)));
        for decade in [1e3, 1e4, 1e5] {
            let within = sizes
                .iter()
                .filter(|size| (decade..10.0 * decade).contains(*size));
            let within = within.count();
            assert!((900..1100).contains(&within), "{within}");
        }
    }

    #[test]
    fn rounds_and_parts_have_numbers_of_their_own() {
        let round = Round {
            seed: 3,
            rank: 1,
            number: 7,
        };
        let first = |round: Round, part| round.numbers(part).next_u64();
        assert_eq!(first(round, 0), first(round, 0));
        assert_ne!(first(round, 0), first(round, 1));
        assert_ne!(first(round, 0), first(round.next(), 0));
        assert_ne!(first(round, 0), first(Round { rank: 2, ..round }, 0));
    }
}
