//! Supersteps of h-relations: every process sends and receives the same number of words.
//!
//! What a superstep takes as a function of h gives g and l of a machine, and what its floating-point operations take
//! gives r, as in the program `bspbench` of Bisseling ("Parallel Scientific Computation"). The words of a process are
//! dealt to the other processes in turn; a process alone sends them to itself. Receivers check that all words have
//! arrived as they were sent.

use std::hint::black_box;

use bsp::numbers::length;
use bsp::units::Instructions;
use bsp::{Array, BoxError, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};

use crate::parameters::{Common, Error, instructions, list, whole, within};

pub use crate::h_relation::FLOPS as FLOPS_OF_A_PASS;

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
) -> Result<impl Fn(Rank) -> Result<HRelation, Error>, Error> {
    let supersteps = common.required_supersteps()?;
    let (words, passes) = checked(parameters)?;
    common.check()?;
    Ok(move |_| {
        Ok(HRelation {
            supersteps,
            words: words.clone(),
            passes: passes.clone(),
            exchanged: Exchanged::default(),
        })
    })
}

impl Program for HRelation {
    type Message = Words;
    type Output = Exchanged;

    fn superstep(&mut self, ctx: &mut Superstep<'_, Words>) -> Result<Step<Exchanged>, BoxError> {
        let (own, processes, index) = (ctx.rank().0, ctx.size(), ctx.index());
        if let Some(previous) = index.checked_sub(1) {
            let h = in_turn(&self.words, previous);
            let received: Vec<_> = ctx.receive().collect();
            self.exchanged.received += check_words(h, [own, processes], previous, &received)?;
        }
        let passes = in_turn(&self.passes, index);
        if 0 < passes {
            self.exchanged.sum += Daxpy::new().sum_after(passes);
        }
        ctx.charge(Instructions(passes * FLOPS_OF_A_PASS));
        if index + 1 == self.supersteps {
            return Ok(Step::Halt(self.exchanged));
        }
        let h = in_turn(&self.words, index);
        for (to, count) in dealt(h, [own, processes]) {
            ctx.send(to, Words::new(count, own, index));
        }
        self.exchanged.sent += h;
        Ok(Step::Continue)
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        Some(self.supersteps.saturating_sub(completed))
    }

    bsp::fork_by_clone!();
}

/// The element of a list that superstep `index` takes.
fn in_turn(list: &[u64], index: u64) -> u64 {
    let count = length(list.len());
    list[usize::try_from(index % count).expect("an index of a list")]
}

/// How many words every superstep exchanges, and how much it computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// h: words of 8 bytes that every process sends and receives in a superstep. Superstep i takes element i modulo
    /// length; the last superstep sends none.
    pub words: Vec<f64>,
    /// Floating-point operations of a process in a superstep, taken in the same way; rounded up to whole passes of
    /// [`FLOPS_OF_A_PASS`].
    pub flops: Vec<f64>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            words: vec![0.0, 1024.0],
            flops: vec![0.0],
        }
    }
}

/// The words, and the passes of the vectors, of the supersteps in turn.
///
/// # Errors
///
/// If a list is empty, or a number is none or out of its range.
fn checked(parameters: &Parameters) -> Result<(Vec<u64>, Vec<u64>), Error> {
    let words = list("words", &parameters.words, |key, value| {
        let expected = "a number from 0 to 4194304";
        within((&key, value), 0.0, f64::from(WORDS_MAX), expected).map(whole)
    })?;
    let passes = list("flops", &parameters.flops, |key, value| {
        let passes = instructions(key, value)?.0.div_ceil(FLOPS);
        Ok(passes)
    })?;
    Ok((words, passes))
}

/// The most words that a process sends in a superstep: 32 MiB, half of the longest message between hosts.
pub const WORDS_MAX: u32 = 1 << 22;

/// The words that a process sends another one in a superstep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Words {
    words: Array<f64>,
}

impl Words {
    /// `count` words in which sender, superstep and position are encoded.
    fn new(count: u64, sender: u32, superstep: u64) -> Self {
        let first = first(sender, superstep);
        let words = (0..count).map(|index| f64::from_bits(first + index));
        Self {
            words: words.collect(),
        }
    }

    /// Whether these are [`Words::new`] of the same arguments, as far as their number and their sum say.
    fn is(&self, count: u64, sender: u32, superstep: u64) -> bool {
        let bits = self.words.iter().map(|word| word.to_bits());
        let sum = bits.fold(0, u64::wrapping_add);
        // The sum of 0..count.
        let order = count * count.saturating_sub(1) / 2;
        let expected = first(sender, superstep)
            .wrapping_mul(count)
            .wrapping_add(order);
        u64::try_from(self.words.len()) == Ok(count) && sum == expected
    }
}

/// The bits of the first word: a number from 1 to 2.
fn first(sender: u32, superstep: u64) -> u64 {
    let tag = u64::from(sender)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(superstep.wrapping_mul(0xd1b5_4a32_d192_ed03));
    // 26 bits of the tag, above 24 for the order.
    ONE | (tag >> 38 << 24)
}

/// The receivers of the `h` words of process `own` of `processes`, and how many each of them gets. Word k goes to the
/// process k modulo (`processes` − 1) ranks after the next one.
fn dealt(h: u64, [own, processes]: [u32; 2]) -> impl Iterator<Item = (Rank, u64)> + use<> {
    let others = u64::from(processes - 1).max(1);
    // Of a process alone, the next one is itself.
    let receivers = (0..others.min(h)).map(move |turn| {
        let to = (u64::from(own) + 1 + turn) % u64::from(processes);
        let count = h / others + u64::from(turn < h % others);
        (u32::try_from(to).expect("a remainder of 32 bits"), count)
    });
    receivers.map(|(to, count)| (Rank(to), count))
}

/// Checks what process `own` of `processes` has received of superstep `superstep`, in which all sent `h` words.
/// Returns the number of words.
///
/// # Errors
///
/// If messages are missing or words are not as they were sent.
fn check_words(
    h: u64,
    [own, processes]: [u32; 2],
    superstep: u64,
    received: &[(Rank, Words)],
) -> Result<u64, String> {
    let mut senders = received.iter();
    for sender in 0..processes {
        let Some(count) = sent(h, [sender, own], processes) else {
            continue;
        };
        let problem = match senders.next() {
            Some((from, words)) if from.0 == sender && words.is(count, sender, superstep) => {
                continue;
            }
            Some((from, words)) => format!("{} from {from} are there", words.words.len()),
            None => "none are there".to_owned(),
        };
        let sender = Rank(sender);
        return Err(format!(
            "the {count} words that {sender} sent in superstep {superstep} did not arrive as they were: {problem}"
        ));
    }
    match senders.next() {
        None => Ok(h),
        Some((from, _)) => Err(format!(
            "words of {from} arrived that it did not send in superstep {superstep}"
        )),
    }
}

/// How many of the `h` words of `from` go to `to`, if any.
fn sent(h: u64, [from, to]: [u32; 2], processes: u32) -> Option<u64> {
    let others = u64::from(processes - 1).max(1);
    let turn = (u64::from(to) + u64::from(processes) - u64::from(from) + u64::from(processes) - 1)
        % u64::from(processes);
    let count = h / others + u64::from(turn < h % others);
    (turn < others && 0 < count).then_some(count)
}

/// The bits of 1.0.
const ONE: u64 = 0x3ff0_0000_0000_0000;

/// `y := y + αx` and `z := z − βx`, over and over, as in `bspbench`.
struct Daxpy {
    x: [f64; LENGTH],
    y: [f64; LENGTH],
    z: [f64; LENGTH],
}

impl Daxpy {
    /// All three vectors are 0, 1, 2, …
    fn new() -> Self {
        let mut x = [0.0; LENGTH];
        for (index, element) in (0_u32..).zip(&mut x) {
            *element = f64::from(index);
        }
        Self { x, y: x, z: x }
    }

    /// The sum of all elements of `y` and `z` after this number of passes.
    fn sum_after(mut self, passes: u64) -> f64 {
        for _ in 0..passes {
            // Every pass reads and writes memory, as a program does.
            let Self { x, y, z } = black_box(&mut self);
            for (y, x) in y.iter_mut().zip(x.iter()) {
                *y += ALPHA * x;
            }
            for (z, x) in z.iter_mut().zip(x.iter()) {
                *z -= BETA * x;
            }
        }
        self.y.iter().chain(&self.z).sum()
    }
}

/// Elements of a vector: all three fit the first cache of a processor.
const LENGTH: usize = 1024;

/// Floating-point operations of a pass: a multiplication and an addition for each element of `y` and of `z`.
pub const FLOPS: u64 = 4096;

const ALPHA: f64 = 1.0 / 3.0;
const BETA: f64 = 4.0 / 9.0;

#[cfg(test)]
mod tests {
    mod h_relation;

    use super::*;

    #[test]
    fn passes_add_up() {
        // Elements are i·(1 + n·α) and i·(1 − n·β).
        let indices = 1023.0 * 1024.0 / 2.0;
        for passes in [0_u32, 1, 7, 100] {
            let expected = indices * (2.0 + f64::from(passes) * (ALPHA - BETA));
            let sum = Daxpy::new().sum_after(passes.into());
            assert!(
                (sum - expected).abs() < 1e-9 * indices,
                "{sum}, not {expected}"
            );
        }
    }

    #[test]
    fn a_pass_has_four_operations_for_each_index() {
        assert_eq!(u64::try_from(4 * LENGTH), Ok(FLOPS));
    }
}
