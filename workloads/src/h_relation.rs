//! Supersteps of h-relations: every process sends and receives the same number of words.
//!
//! What a superstep takes as a function of h gives g and l of a machine, and what its floating-point operations take
//! gives r, as in the program `bspbench` of Bisseling ("Parallel Scientific Computation"). The words of a process are
//! dealt to the other processes in turn; a process alone sends them to itself. Receivers check that all words have
//! arrived as they were sent.

mod daxpy;
mod parameters;
mod words;

use bsp::numbers::length;
use bsp::units::Instructions;
use bsp::{Program, Step, Superstep};
use serde::{Deserialize, Serialize};

use self::daxpy::Daxpy;
use self::parameters::checked;
use crate::parameters::{Common, Error};

pub use self::daxpy::FLOPS as FLOPS_OF_A_PASS;
pub use self::parameters::{Parameters, WORDS_MAX};
pub use self::words::Words;

/// One process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HRelation {
    supersteps: u64,
    /// Words of the supersteps, in turn.
    words: Vec<u64>,
    /// Passes of the vectors, in turn.
    passes: Vec<u64>,
    exchanged: Exchanged,
}

/// What a process has sent, received and computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exchanged {
    /// Words that were sent.
    pub sent: u64,
    /// Words that were received, and found as they were sent.
    pub received: u64,
    /// The sum of all vectors that were computed.
    pub sum: f64,
}

/// One process for each rank.
///
/// # Errors
///
/// If there is no process or no superstep, or if a list is empty or has a number that is out of its range.
///
/// # Examples
///
/// ```
/// use bsp::reference;
/// use workloads::{Common, h_relation};
///
/// let parameters = h_relation::Parameters { words: vec![5.0, 0.0], flops: vec![0.0] };
/// let common = Common { processes: 3, supersteps: Some(4), seed: 1 };
/// let processes = h_relation::processes(&parameters, common)?;
/// let run = reference::run(processes, reference::Limit::default()).expect("the program halts");
/// assert!(run.outputs.iter().all(|process| (process.sent, process.received) == (10, 10)));
/// # Ok::<(), workloads::Error>(())
/// ```
pub fn processes(parameters: &Parameters, common: Common) -> Result<Vec<HRelation>, Error> {
    let supersteps = common.required_supersteps()?;
    let (words, passes) = checked(parameters)?;
    common.build(|_| HRelation {
        supersteps,
        words: words.clone(),
        passes: passes.clone(),
        exchanged: Exchanged::default(),
    })
}

impl Program for HRelation {
    type Message = Words;
    type Output = Exchanged;

    fn superstep(&mut self, ctx: &mut Superstep<'_, Words>) -> Step<Exchanged> {
        let (own, processes, index) = (ctx.rank().0, ctx.size(), ctx.index());
        if let Some(previous) = index.checked_sub(1) {
            let h = in_turn(&self.words, previous);
            let received: Vec<_> = ctx.receive().collect();
            match words::check(h, [own, processes], previous, &received) {
                Ok(words) => self.exchanged.received += words,
                Err(problem) => ctx.fail(problem),
            }
        }
        let passes = in_turn(&self.passes, index);
        if 0 < passes {
            self.exchanged.sum += Daxpy::new().sum_after(passes);
        }
        ctx.charge(Instructions(passes * FLOPS_OF_A_PASS));
        if index + 1 == self.supersteps {
            return Step::Halt(self.exchanged);
        }
        let h = in_turn(&self.words, index);
        for (to, count) in words::dealt(h, [own, processes]) {
            ctx.send(to, Words::new(count, own, index));
        }
        self.exchanged.sent += h;
        Step::Continue
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        Some(self.supersteps.saturating_sub(completed))
    }

    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// The element of a list that superstep `index` takes.
fn in_turn(list: &[u64], index: u64) -> u64 {
    let count = length(list.len());
    list[usize::try_from(index % count).expect("an index of a list")]
}

#[cfg(test)]
mod tests;
