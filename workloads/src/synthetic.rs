//! A synthetic load: how much each rank computes and where it sends, steady or changing.
//!
//! Lists are given by rank: rank `r` takes the element at `r` modulo the list's length. In every
//! superstep, the last one included, each process sends its bytes to its rank plus each shift, where
//! that exists; with `ring`, modulo the number of processes. A shift of 0, or one that leads around
//! the ring, sends to the process itself; a shift that is listed twice sends twice. A [`Pattern`] takes
//! the place of shifts.

mod dynamics;
mod pattern;
mod variation;

use bsp::units::{Bytes, Instructions};
use bsp::{BoxError, MemorySize, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};

use crate::parameters::{Common, Error, bytes, list};
use crate::synthetic::variation::{Variation, places};
use crate::tally::Tally;

pub use dynamics::{Change, Choice, Dynamics};
pub use pattern::Pattern;

/// How much each rank computes, sends and holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Instructions of a superstep, by rank.
    pub instructions: Vec<f64>,
    /// Bytes of a message, by the sender's rank.
    pub bytes: Vec<f64>,
    /// The receivers of a process: their ranks relative to its own.
    pub shifts: Vec<i64>,
    /// Whether ranks are counted modulo the number of processes when shifted.
    pub ring: bool,
    /// The partners of each process; by default shifts say which.
    #[serde(skip_serializing_if = "Pattern::is_shifts")]
    pub pattern: Pattern,
    /// Bytes that a process occupies.
    pub memory: f64,
    /// How the instructions change while the program runs.
    pub dynamics: Dynamics,
}

impl Default for Parameters {
    /// A chain of equal processes, about as heavy as the papers' Lattice Boltzmann on 100 processes.
    fn default() -> Self {
        Self {
            instructions: vec![1e8],
            bytes: vec![1e5],
            shifts: vec![1],
            ring: false,
            pattern: Pattern::default(),
            memory: 900e3,
            dynamics: Dynamics::default(),
        }
    }
}

/// One process of a synthetic load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Synthetic {
    supersteps: u64,
    work: Instructions,
    bytes: Bytes,
    memory: Bytes,
    receivers: Box<[Rank]>,
    /// How `work` changes; `None` if it does not.
    variation: Option<Box<Variation>>,
    tally: Tally,
}

/// One process for each rank.
///
/// # Errors
///
/// If there is no process or no superstep, if a list by rank is empty, if a number is negative, no
/// number, or too large, if the load grows beyond 2⁶³ instructions, or if the pattern does not fit the
/// number of processes or has shifts beside it.
///
/// # Examples
///
/// ```
/// use bsp::units::{Bytes, Instructions};
/// use bsp::reference;
/// use workloads::{Common, synthetic};
///
/// let parameters = synthetic::Parameters {
///     instructions: vec![1e6, 2e6],
///     shifts: vec![-1, 1],
///     ring: true,
///     ..synthetic::Parameters::default()
/// };
/// let common = Common { processes: 4, supersteps: Some(3), seed: 0 };
/// let processes = synthetic::processes(&parameters, common)?;
/// let run = reference::run(processes, reference::Limit::default()).expect("the program halts");
/// assert_eq!(run.outputs[1].work, Instructions(3 * 2_000_000));
/// assert_eq!(run.outputs[1].received, Bytes(2 * 2 * 100_000));
/// # Ok::<(), workloads::Error>(())
/// ```
pub fn processes(parameters: &Parameters, common: Common) -> Result<Vec<Synthetic>, Error> {
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
) -> Result<impl Fn(Rank) -> Result<Synthetic, Error>, Error> {
    let supersteps = common.required_supersteps()?;
    let works = list("instructions", &parameters.instructions, |key, value| {
        parameters.dynamics.check_peak(key, value)
    })?;
    let sizes = list("bytes", &parameters.bytes, bytes)?;
    let memory = bytes("memory", parameters.memory)?;
    parameters.dynamics.check()?;
    let places = places(&parameters.dynamics, common);
    parameters.check_shifts()?;
    let partners = parameters.pattern.partners(common.processes)?;
    common.check()?;
    Ok(move |rank: Rank| {
        let work = works[rank.index() % works.len()];
        let place = places
            .as_ref()
            .map_or(rank.0, |places| places[rank.index()]);
        Ok(Synthetic {
            supersteps,
            work,
            bytes: sizes[rank.index() % sizes.len()],
            memory,
            receivers: match &partners {
                None => receivers(parameters, rank, common.processes),
                Some(partners) => partners[rank.index()].clone(),
            },
            variation: Variation::new(&parameters.dynamics, work, (rank, place), common)
                .map(Box::new),
            tally: Tally::default(),
        })
    })
}

impl Program for Synthetic {
    type Message = ();
    type Output = Tally;

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<Tally>, BoxError> {
        let work = match &mut self.variation {
            None => self.work,
            Some(variation) => variation.work(self.work, ctx.index()),
        };
        self.tally.superstep(ctx, work);
        for &receiver in &self.receivers {
            ctx.send_sized(receiver, self.bytes);
        }
        Ok(self.tally.step(self.supersteps))
    }

    fn memory(&self) -> Option<MemorySize> {
        Some(self.memory.into())
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        Some(self.supersteps.saturating_sub(completed))
    }

    bsp::fork_by_clone!();
}

impl Parameters {
    /// That nothing is said of shifts where a pattern takes their place.
    ///
    /// # Errors
    ///
    /// [`Error::ShiftsBesidePattern`].
    fn check_shifts(&self) -> Result<(), Error> {
        let Self { shifts, ring, .. } = Self::default();
        match self.pattern {
            Pattern::Shifts => Ok(()),
            _ if self.shifts != shifts => Err(Error::ShiftsBesidePattern { key: "shifts" }),
            _ if self.ring != ring => Err(Error::ShiftsBesidePattern { key: "ring" }),
            _ => Ok(()),
        }
    }
}

/// The receivers of `rank`, in the order of the shifts.
fn receivers(parameters: &Parameters, rank: Rank, size: u32) -> Box<[Rank]> {
    let receiver = |shift: &i64| {
        let shifted = if parameters.ring {
            (i64::from(rank.0) + shift.rem_euclid(i64::from(size))) % i64::from(size)
        } else {
            i64::from(rank.0).checked_add(*shift)?
        };
        u32::try_from(shifted)
            .ok()
            .filter(|&receiver| receiver < size)
            .map(Rank)
    };
    parameters.shifts.iter().filter_map(receiver).collect()
}

#[cfg(test)]
mod tests;
