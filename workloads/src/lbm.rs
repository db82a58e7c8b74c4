//! The Lattice Boltzmann method on vertical strips, as the papers model it.
//!
//! The grid is cut into one strip a process. A superstep relaxes the strip's cells and passes its
//! right boundary column on, down a chain: the first process receives nothing, the last one sends
//! nothing. All supersteps are alike, the last one included.

pub mod kernel;

use bsp::units::{Bytes, Instructions};
use bsp::{BoxError, MemorySize, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};

use crate::parameters::{Common, Error, bytes, instructions};
use crate::tally::Tally;

/// How much there is to compute, to hold and to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Instructions of one superstep, all processes together.
    pub instructions: f64,
    /// Bytes of the grid, all processes together.
    pub memory: f64,
    /// Bytes that every process occupies in addition to its strip.
    pub fixed_memory: f64,
    /// Bytes of one boundary column.
    pub boundary: f64,
}

impl Default for Parameters {
    /// The papers' grid: 10¹⁰ instructions, 10 MB and 500 kB a process, 100 kB to the right.
    fn default() -> Self {
        Self {
            instructions: 1e10,
            memory: 10e6,
            fixed_memory: 500e3,
            boundary: 100e3,
        }
    }
}

/// One strip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lbm {
    supersteps: u64,
    work: Instructions,
    boundary: Bytes,
    image: MemorySize,
    tally: Tally,
}

/// One strip for each rank, as equal as whole instructions and bytes allow.
///
/// # Errors
///
/// If there is no process or no superstep, or if a parameter is negative, no number, or above 2⁶³.
///
/// # Examples
///
/// ```
/// use bsp::units::Instructions;
/// use bsp::reference;
/// use workloads::{Common, lbm};
///
/// let common = Common { processes: 25, supersteps: Some(10), seed: 0 };
/// let strips = lbm::processes(&lbm::Parameters::default(), common)?;
/// let run = reference::run(strips, reference::Limit::default()).expect("the program halts");
/// assert_eq!(run.supersteps, 10);
/// assert_eq!(run.work, Instructions(100_000_000_000));
/// # Ok::<(), workloads::Error>(())
/// ```
pub fn processes(parameters: &Parameters, common: Common) -> Result<Vec<Lbm>, Error> {
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
) -> Result<impl Fn(Rank) -> Result<Lbm, Error>, Error> {
    let supersteps = common.required_supersteps()?;
    let work = instructions("instructions", parameters.instructions)?;
    let data = bytes("memory", parameters.memory)?;
    let fixed = bytes("fixed_memory", parameters.fixed_memory)?;
    let boundary = bytes("boundary", parameters.boundary)?;
    common.check()?;
    Ok(move |rank| {
        Ok(Lbm {
            supersteps,
            work: Instructions(common.share(work.0, rank)),
            boundary,
            image: MemorySize {
                data: Bytes(common.share(data.0, rank)),
                fixed,
            },
            tally: Tally::default(),
        })
    })
}

impl Program for Lbm {
    type Message = ();
    type Output = Tally;

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<Tally>, BoxError> {
        self.tally.superstep(ctx, self.work);
        if let Some(right) = ctx.right() {
            ctx.send_sized(right, self.boundary);
        }
        Ok(self.tally.step(self.supersteps))
    }

    fn memory(&self) -> Option<MemorySize> {
        Some(self.image)
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        Some(self.supersteps.saturating_sub(completed))
    }

    bsp::fork_by_clone!();
}

#[cfg(test)]
mod tests {
    use bsp::reference;

    use super::*;

    fn common(processes: u32, supersteps: u64) -> Common {
        Common {
            processes,
            supersteps: Some(supersteps),
            seed: 0,
        }
    }

    #[test]
    fn the_defaults_are_the_papers() {
        for (size, work, data) in [
            (10, 1_000_000_000, 1_000_000),
            (25, 400_000_000, 400_000),
            (50, 200_000_000, 200_000),
            (100, 100_000_000, 100_000),
            (200, 50_000_000, 50_000),
        ] {
            let strips = processes(&Parameters::default(), common(size, 1)).unwrap();
            assert_eq!(strips.len(), usize::try_from(size).unwrap());
            for strip in strips {
                assert_eq!(strip.work, Instructions(work));
                assert_eq!(strip.boundary, Bytes(100_000));
                let fixed = Bytes(500_000);
                let data = Bytes(data);
                assert_eq!(strip.memory(), Some(MemorySize { data, fixed }));
            }
        }
    }

    #[test]
    fn uneven_matrices_are_distributed_completely() {
        let strips = processes(&Parameters::default(), common(7, 1)).unwrap();
        let work: Instructions = strips.iter().map(|strip| strip.work).sum();
        let data: Bytes = strips.iter().map(|strip| strip.image.data).sum();
        assert_eq!(
            (work, data),
            (Instructions(10_000_000_000), Bytes(10_000_000))
        );
    }

    #[test]
    fn every_process_but_the_first_receives_in_every_superstep_but_the_first() {
        let strips = processes(&Parameters::default(), common(4, 6)).unwrap();
        let run = reference::run(strips, reference::Limit::default()).unwrap();
        assert_eq!(run.supersteps, 6);
        assert_eq!(run.work, Instructions(60_000_000_000));
        assert_eq!(run.outputs[0].digest, Tally::default().digest);
        for (rank, tally) in run.outputs.iter().enumerate() {
            let messages = if rank == 0 { 0 } else { 5 };
            let expected = Tally {
                supersteps: 6,
                work: Instructions(15_000_000_000),
                received: Bytes(messages * 100_000),
                messages,
                digest: tally.digest,
            };
            assert_eq!(*tally, expected);
        }
        assert_ne!(run.outputs[1].digest, run.outputs[2].digest);
    }

    #[test]
    fn errors_name_the_parameter() {
        let check = |parameters: &str, expected: &str| {
            let parameters: Parameters = toml::from_str(parameters).unwrap();
            let error = processes(&parameters, common(2, 2)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        check(
            "instructions = -1",
            "invalid value `-1.0` for `instructions`: must be a number from 0 to 2^63",
        );
        check(
            "memory = nan",
            "invalid value `NaN` for `memory`: must be a number from 0 to 2^63",
        );
        check(
            "fixed_memory = inf",
            "invalid value `inf` for `fixed_memory`: must be a number from 0 to 2^63",
        );
        check(
            "boundary = 1e300",
            "invalid value `1e300` for `boundary`: must be a number from 0 to 2^63",
        );
        assert!(toml::from_str::<Parameters>("boundry = 1").is_err());
    }

    #[test]
    fn a_million_processes_fit() {
        assert!(size_of::<Lbm>() <= 104, "{} bytes", size_of::<Lbm>());
    }
}
