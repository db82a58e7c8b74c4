//! A test kit: holds a program to the laws of [`Program`].
//!
//! [`check`] belongs in a test of every program. It runs the processes several times side by side,
//! superstep by superstep: as [`reference::run`](crate::reference::run) does; with every process
//! moved before every superstep, which is to say encoded and decoded, and its messages and its output
//! with it; and again without moving, to see whether it is the same each time. States, charges,
//! messages, outputs and snapshots have to be the same in all of them, byte for byte in their encoding, and no
//! process may declare less memory than its encoded state takes, or execute more supersteps than it said were left. A
//! fork ([`Program::fork`]) has to be encoded as its process is, and still be after the next superstep of the process.
//! Then it runs them with times that are drawn at random ([`Superstep::elapsed`](crate::Superstep::elapsed)), and with
//! processes on standby that leave it at random ([`Superstep::is_standby`](crate::Superstep::is_standby)): the outputs
//! have to be the same.
//!
//! # Examples
//!
//! ```
//! use bsp::{BoxError, Program, Step, Superstep, testing};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Countdown { left: u64 }
//!
//! impl Program for Countdown {
//!     type Message = u64;
//!     type Output = u64;
//!
//!     fn superstep(&mut self, ctx: &mut Superstep<'_, u64>) -> Result<Step<u64>, BoxError> {
//!         let heard: u64 = ctx.receive().map(|(_, left)| left).sum();
//!         if self.left == 0 { return Ok(Step::Halt(heard)) }
//!         if let Some(right) = ctx.right() {
//!             ctx.send(right, self.left);
//!         }
//!         self.left -= 1;
//!         Ok(Step::Continue)
//!     }
//! }
//!
//! let checked = testing::check(|| vec![Countdown { left: 5 }, Countdown { left: 5 }]);
//! assert_eq!(checked.run.outputs, [0, 1]);
//! assert_eq!(checked.moves, 12);
//! ```

mod error;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ids::Rank;
use crate::numbers::length;
use crate::program::{MemorySize, Program};
use crate::reference::{Computation, Limit, Run};
use crate::superstep::Inbox;
use crate::units::{Bytes, Seconds};

pub use error::{Error, Subject, Trial};

/// The result of checking a program that keeps the laws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked<Output> {
    /// Its results, those of the reference runner.
    pub run: Run<Output>,
    /// How often a process was moved.
    pub moves: u64,
    /// The length of the longest encoded state: the most that a move carried.
    pub state_max: Bytes,
}

/// Checks the processes that `build` gives, as [`verify`] does.
///
/// # Panics
///
/// With the text of the [`Error`], if they break a law.
#[track_caller]
pub fn check<P: Program>(build: impl Fn() -> Vec<P>) -> Checked<P::Output> {
    match verify(build, Limit::default()) {
        Ok(checked) => checked,
        Err(error) => panic!("{error}"),
    }
}

/// Checks the processes that `build` gives; it is called several times, and has to give the same each
/// time.
///
/// # Errors
///
/// The first law that is broken: by whom, and in which superstep.
///
/// # Panics
///
/// If there are 2³² processes or more.
pub fn verify<P: Program>(
    build: impl Fn() -> Vec<P>,
    limit: Limit,
) -> Result<Checked<P::Output>, Error> {
    let start = || Computation::new(build(), limit);
    let mut plain = start();
    let mut trials = TRIALS.map(|trial| (trial, start()));
    let (mut moves, mut state_max) = (0, Bytes::ZERO);
    let mut ends = vec![u64::MAX; plain.processes.len()];
    for superstep in 0.. {
        for (trial, computation) in &mut trials {
            if *trial == Trial::Moved {
                moves += move_all(computation, superstep)?;
            }
            if let Some(rank) = differing_state(&plain, computation, superstep)? {
                return Err(Error::differs(rank, Subject::State, superstep, *trial));
            }
        }
        state_max = state_max.max(check_memory(&plain, superstep)?);
        check_remaining(&plain, superstep, &mut ends)?;
        if !plain.is_running() {
            break;
        }
        let forks = Fork::all(&plain, superstep)?;
        plain.superstep()?;
        for fork in forks {
            fork.check(superstep)?;
        }
        for (trial, computation) in &mut trials {
            let trial = *trial;
            let result = computation.superstep();
            result.map_err(|source| Error::Run { trial, source })?;
            if trial == Trial::Moved {
                carry(computation, superstep)?;
            }
            compare(&plain, computation, superstep, trial)?;
        }
    }
    for seed in 0..CLOCKS {
        check_clock(start(), Clock::new(seed), &plain)?;
    }
    Ok(Checked {
        run: plain.finish(),
        moves,
        state_max,
    })
}

/// Checks that `computation` has the outputs of `plain`, which is complete, if its processes computed for the times of
/// `clock`, and those that it puts on standby were there.
fn check_clock<P: Program>(
    mut computation: Computation<P>,
    mut clock: Clock,
    plain: &Computation<P>,
) -> Result<(), Error> {
    let trial = Trial::Clock;
    let mut superstep = 0;
    let mut ends = vec![u64::MAX; computation.processes.len()];
    clock.put_on_standby(&mut computation);
    while computation.is_running() {
        check_remaining(&computation, superstep, &mut ends)?;
        let result = computation.superstep();
        result.map_err(|source| Error::Run { trial, source })?;
        clock.draw(&mut computation.elapsed);
        clock.join(&mut computation.standby);
        superstep += 1;
    }
    let last = superstep.saturating_sub(1);
    match differing_output(plain, &computation, last)? {
        Some(rank) => Err(Error::differs(rank, Subject::Output, last, trial)),
        None => Ok(()),
    }
}

/// Moves every process that has not halted, and returns how many those are.
fn move_all<P: Program>(computation: &mut Computation<P>, superstep: u64) -> Result<u64, Error> {
    let mut moves = 0;
    let processes = computation.processes.iter_mut().zip(&computation.outputs);
    for (index, (process, output)) in processes.enumerate() {
        if output.is_none() {
            let rank = Rank::from_index(index);
            *process = recode(process, rank, Subject::State, superstep)?;
            moves += 1;
        }
    }
    Ok(moves)
}

/// Encodes and decodes the messages and outputs of `superstep`.
fn carry<P: Program>(computation: &mut Computation<P>, superstep: u64) -> Result<(), Error> {
    for inbox in &mut computation.inboxes {
        for (from, message) in &mut inbox.messages {
            *message = recode(message, *from, Subject::Message, superstep)?;
        }
    }
    for (index, output) in computation.outputs.iter_mut().enumerate() {
        if let Some(output) = output {
            *output = recode(output, Rank::from_index(index), Subject::Output, superstep)?;
        }
    }
    Ok(())
}

/// Compares what `superstep` did in two computations.
fn compare<P: Program>(
    plain: &Computation<P>,
    other: &Computation<P>,
    superstep: u64,
    trial: Trial,
) -> Result<(), Error> {
    let differing_charge = plain
        .charged
        .iter()
        .zip(&other.charged)
        .position(|(one, other)| one != other)
        .map(Rank::from_index);
    for (found, subject) in [
        (differing_charge, Subject::Charge),
        (differing_sender(plain, other, superstep)?, Subject::Message),
        (differing_output(plain, other, superstep)?, Subject::Output),
        (
            differing_snapshot(plain, other, superstep),
            Subject::Snapshot,
        ),
    ] {
        if let Some(rank) = found {
            return Err(Error::differs(rank, subject, superstep, trial));
        }
    }
    Ok(())
}

/// The length of the longest encoded state, if no process declares less memory than its state takes.
fn check_memory<P: Program>(computation: &Computation<P>, superstep: u64) -> Result<Bytes, Error> {
    let mut longest = Bytes::ZERO;
    for (rank, process) in computation.running() {
        let state = encode(process, rank, Subject::State, superstep)?;
        let encoded = Bytes(length(state.len()));
        let declared = process.memory().map_or(encoded, MemorySize::total);
        if declared < encoded {
            return Err(Error::Memory {
                rank,
                superstep,
                declared,
                encoded,
            });
        }
        longest = longest.max(encoded);
    }
    Ok(longest)
}

/// Checks that no process that is still running said that it would have halted by `superstep`. `ends` holds the earliest
/// end that each has named.
fn check_remaining<P: Program>(
    computation: &Computation<P>,
    superstep: u64,
    ends: &mut [u64],
) -> Result<(), Error> {
    for (rank, process) in computation.running() {
        let end = &mut ends[rank.index()];
        let remaining = process.remaining(superstep).unwrap_or(u64::MAX);
        *end = superstep.saturating_add(remaining).min(*end);
        if *end <= superstep {
            return Err(Error::Remaining { rank, superstep });
        }
    }
    Ok(())
}

/// What is set beside the plain run. Once again could be the same by chance; and what differs by
/// itself is not blamed on moving.
const TRIALS: [Trial; 3] = [Trial::Repeated, Trial::Repeated, Trial::Moved];

/// How often times are drawn.
const CLOCKS: u64 = 3;

/// The lowest rank whose state differs, or that only one of them has.
fn differing_state<P: Program>(
    one: &Computation<P>,
    other: &Computation<P>,
    superstep: u64,
) -> Result<Option<Rank>, Error> {
    let states = |computation: &Computation<P>, index: usize| {
        let rank = Rank::from_index(index);
        let process = computation.processes.get(index);
        encode(&process, rank, Subject::State, superstep)
    };
    for index in 0..one.processes.len().max(other.processes.len()) {
        if states(one, index)? != states(other, index)? {
            return Ok(Some(Rank::from_index(index)));
        }
    }
    Ok(None)
}

/// The lowest rank whose output differs, or that only one of them has.
fn differing_output<P: Program>(
    one: &Computation<P>,
    other: &Computation<P>,
    superstep: u64,
) -> Result<Option<Rank>, Error> {
    for (index, (one, other)) in one.outputs.iter().zip(&other.outputs).enumerate() {
        let rank = Rank::from_index(index);
        let [one, other] =
            [one, other].map(|output| encode(output, rank, Subject::Output, superstep));
        if one? != other? {
            return Ok(Some(rank));
        }
    }
    Ok(None)
}

/// The process with the first snapshot of `superstep` that differs.
fn differing_snapshot<P: Program>(
    one: &Computation<P>,
    other: &Computation<P>,
    superstep: u64,
) -> Option<Rank> {
    let taken = |computation: &'_ Computation<P>| {
        let before = computation
            .snapshots
            .partition_point(|snapshot| snapshot.superstep < superstep);
        before..computation.snapshots.len()
    };
    let (one, other) = (&one.snapshots[taken(one)], &other.snapshots[taken(other)]);
    first_difference(one, other).map(|snapshot| snapshot.rank)
}

/// The sender of the first message that differs, by the rank of its receiver.
fn differing_sender<P: Program>(
    one: &Computation<P>,
    other: &Computation<P>,
    superstep: u64,
) -> Result<Option<Rank>, Error> {
    for (one, other) in one.inboxes.iter().zip(&other.inboxes) {
        let sized = first_difference(&one.sized, &other.sized);
        if let Some((rank, _)) = sized {
            return Ok(Some(*rank));
        }
        let [one, other] = [one, other].map(|inbox| encoded::<P>(inbox, superstep));
        if let Some((rank, _)) = first_difference(&one?, &other?) {
            return Ok(Some(*rank));
        }
    }
    Ok(None)
}

fn encoded<P: Program>(
    inbox: &Inbox<P::Message>,
    superstep: u64,
) -> Result<Vec<(Rank, Vec<u8>)>, Error> {
    let messages = inbox.messages.iter();
    messages
        .map(|(from, message)| Ok((*from, encode(message, *from, Subject::Message, superstep)?)))
        .collect()
}

/// The first element that is not the same in both, in the list that has it.
fn first_difference<'a, T: PartialEq>(one: &'a [T], other: &'a [T]) -> Option<&'a T> {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    one.get(same).or_else(|| other.get(same))
}

/// A fork of a process, and the encoding of the process when it was taken.
#[derive(Debug)]
struct Fork<P> {
    rank: Rank,
    program: P,
    encoding: Vec<u8>,
}

impl<P: Program> Fork<P> {
    /// Forks every process that has not halted, and can be forked.
    ///
    /// # Errors
    ///
    /// [`Error::Fork`], if a fork is encoded otherwise than its process.
    fn all(computation: &Computation<P>, superstep: u64) -> Result<Vec<Self>, Error> {
        let mut forks = Vec::new();
        for (rank, process) in computation.running() {
            if let Some(program) = process.fork() {
                let encoding = encode(process, rank, Subject::State, superstep)?;
                let fork = Self {
                    rank,
                    program,
                    encoding,
                };
                if !fork.is_equal(superstep)? {
                    return Err(Error::Fork { rank, superstep });
                }
                forks.push(fork);
            }
        }
        Ok(forks)
    }

    /// Checks that the process has not changed its fork in `superstep`.
    ///
    /// # Errors
    ///
    /// [`Error::SharedFork`].
    fn check(&self, superstep: u64) -> Result<(), Error> {
        if self.is_equal(superstep)? {
            return Ok(());
        }
        let rank = self.rank;
        Err(Error::SharedFork { rank, superstep })
    }

    fn is_equal(&self, superstep: u64) -> Result<bool, Error> {
        let encoding = encode(&self.program, self.rank, Subject::State, superstep)?;
        Ok(encoding == self.encoding)
    }
}

/// Draws how long processes computed, and how long they are on standby.
#[derive(Debug)]
struct Clock(ChaCha8Rng);

impl Clock {
    /// The same times for the same `seed`.
    fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Puts each process on standby with a probability of a half.
    fn put_on_standby<P: Program>(&mut self, computation: &mut Computation<P>) {
        let ranks = (0..computation.processes.len()).map(Rank::from_index);
        computation.standby = ranks.filter(|_| self.0.next_u32() & 1 == 0).collect();
    }

    /// Each process on standby leaves it with a probability of an eighth.
    fn join(&mut self, standby: &mut Vec<Rank>) {
        standby.retain(|_| !self.0.next_u32().is_multiple_of(8));
    }

    /// Replaces `elapsed`, each by zero or by a power of two between 2⁻³² s and 2³² s.
    fn draw(&mut self, elapsed: &mut [Seconds]) {
        for elapsed in elapsed {
            let drawn = self.0.next_u32();
            let exponent = i32::try_from(drawn % 65).expect("below 65") - 32;
            let time = if drawn < ZERO {
                0.0
            } else {
                2.0_f64.powi(exponent)
            };
            *elapsed = Seconds::new(time).expect("finite");
        }
    }
}

/// Of 2³², how many times are zero.
const ZERO: u32 = u32::MAX / 8;

/// `value` as it is sent.
///
/// # Errors
///
/// [`Error::Encoding`].
fn encode(
    value: &impl Serialize,
    rank: Rank,
    subject: Subject,
    superstep: u64,
) -> Result<Vec<u8>, Error> {
    rmp_serde::to_vec(value).map_err(|error| Error::Encoding {
        rank,
        subject,
        superstep,
        message: error.to_string(),
    })
}

/// `value` as it arrives.
///
/// # Errors
///
/// [`Error::Encoding`] and [`Error::Decoding`]; [`Error::RoundTrip`] if what arrives is encoded
/// otherwise.
fn recode<T: Serialize + DeserializeOwned>(
    value: &T,
    rank: Rank,
    subject: Subject,
    superstep: u64,
) -> Result<T, Error> {
    let sent = encode(value, rank, subject, superstep)?;
    let arrived = rmp_serde::from_slice(&sent).map_err(|error| Error::Decoding {
        rank,
        subject,
        superstep,
        message: error.to_string(),
    })?;
    if encode(&arrived, rank, subject, superstep)? == sent {
        Ok(arrived)
    } else {
        Err(Error::RoundTrip {
            rank,
            subject,
            superstep,
        })
    }
}

#[cfg(test)]
mod tests;
