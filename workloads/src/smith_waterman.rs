//! The Smith-Waterman algorithm on one column a process, as the papers model it.
//!
//! An n × n matrix is computed along its antidiagonals, one a superstep: column y, which is process
//! y's, has a cell on those from y to y + n - 1. A process without a cell computes nothing and only
//! takes part in the barrier. A cell's value goes to the right; every superstep computes more than the one before.

pub mod kernel;

use bsp::units::{Bytes, Instructions};
use bsp::{BoxError, MemorySize, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};

use crate::parameters::{AMOUNT_MAX, Common, Error, bytes, instructions, whole, within};
use crate::tally::Tally;

/// How much there is to compute, to hold and to send. The order of the matrix is the number of
/// processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Instructions of one cell on the first antidiagonal.
    pub instructions_first: f64,
    /// Instructions of one cell on the last antidiagonal; between the two they grow linearly.
    pub instructions_last: f64,
    /// What both are multiplied with.
    pub multiplier: f64,
    /// Bytes that the cells of one row send, all together: a cell sends the nth part.
    pub bytes: f64,
    /// Bytes of the matrix, all processes together.
    pub memory: f64,
    /// Bytes that every process occupies in addition to its column.
    pub fixed_memory: f64,
}

impl Default for Parameters {
    /// The papers' matrix: 10⁶ instructions a cell first and 10⁹ last, 500 kB a cell and 1.2 MB a process
    /// where there are ten. Their times are those of twice the instructions they state.
    fn default() -> Self {
        Self {
            instructions_first: 1e6,
            instructions_last: 1e9,
            multiplier: 2.0,
            bytes: 5e6,
            memory: 5e6,
            fixed_memory: 700e3,
        }
    }
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SmithWaterman {
    supersteps: u64,
    /// Instructions of a cell on the first antidiagonal.
    first: f64,
    /// By how much a cell's instructions differ from those of one on the antidiagonal before.
    step: f64,
    cell: Bytes,
    image: MemorySize,
    tally: Tally,
}

/// One column for each rank: a matrix of as many columns and rows as there are processes, computed to
/// the end or for the supersteps given, whichever comes first.
///
/// # Errors
///
/// If there is no process or no superstep, or if a parameter is negative, no number, or above 2⁶³; a
/// cell's instructions are measured after multiplying.
///
/// # Examples
///
/// ```
/// use bsp::units::Instructions;
/// use bsp::reference;
/// use workloads::{Common, smith_waterman};
///
/// let common = Common { processes: 10, supersteps: None, seed: 0 };
/// let columns = smith_waterman::processes(&smith_waterman::Parameters::default(), common)?;
/// let run = reference::run(columns, reference::Limit::default()).expect("the program halts");
/// assert_eq!(run.supersteps, 19);
/// assert_eq!(run.outputs[9].messages, 10);
/// # Ok::<(), workloads::Error>(())
/// ```
pub fn processes(parameters: &Parameters, common: Common) -> Result<Vec<SmithWaterman>, Error> {
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
) -> Result<impl Fn(Rank) -> Result<SmithWaterman, Error>, Error> {
    let order = u64::from(common.processes);
    let antidiagonals = (2 * order).saturating_sub(1);
    let first = cell_work(
        "instructions_first",
        parameters.instructions_first,
        parameters,
    )?;
    let last = cell_work(
        "instructions_last",
        parameters.instructions_last,
        parameters,
    )?;
    let steps = antidiagonals.saturating_sub(1).max(1);
    let sent = bytes("bytes", parameters.bytes)?;
    let data = bytes("memory", parameters.memory)?;
    let fixed = bytes("fixed_memory", parameters.fixed_memory)?;
    common.check()?;
    Ok(move |rank| {
        Ok(SmithWaterman {
            supersteps: common
                .supersteps
                .map_or(antidiagonals, |most| most.min(antidiagonals)),
            first,
            step: (last - first) / steps as f64,
            cell: Bytes(sent.0 / order),
            image: MemorySize {
                data: Bytes(common.share(data.0, rank)),
                fixed,
            },
            tally: Tally::default(),
        })
    })
}

impl SmithWaterman {
    /// What column `rank` of `size` has to compute on an antidiagonal, if it has a cell there.
    fn work(&self, rank: Rank, size: u32, antidiagonal: u64) -> Option<Instructions> {
        let row = antidiagonal.checked_sub(u64::from(rank.0))?;
        (row < u64::from(size))
            .then(|| Instructions(whole(self.first + antidiagonal as f64 * self.step)))
    }
}

impl Program for SmithWaterman {
    type Message = ();
    type Output = Tally;

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<Tally>, BoxError> {
        let work = self.work(ctx.rank(), ctx.size(), ctx.index());
        self.tally
            .superstep(ctx, work.unwrap_or(Instructions::ZERO));
        if work.is_some()
            && let Some(right) = ctx.right()
        {
            ctx.send_sized(right, self.cell);
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

/// Instructions of a cell after multiplying.
fn cell_work(key: &'static str, value: f64, parameters: &Parameters) -> Result<f64, Error> {
    instructions(key, value)?;
    let expected = "a number of at least 0";
    let multiplier = within(
        ("multiplier", parameters.multiplier),
        0.0,
        f64::MAX,
        expected,
    )?;
    let most = "at most 2^63 after multiplying with `multiplier`";
    within((key, value * multiplier), 0.0, AMOUNT_MAX, most)
}

#[cfg(test)]
mod tests {
    use bsp::reference;

    use super::*;

    fn common(processes: u32, supersteps: Option<u64>) -> Common {
        Common {
            processes,
            supersteps,
            seed: 0,
        }
    }

    /// The model with the instructions that the papers state.
    fn stated() -> Parameters {
        Parameters {
            multiplier: 1.0,
            ..Parameters::default()
        }
    }

    #[test]
    fn the_defaults_are_the_papers() {
        for (order, cell, data) in [
            (10, 500_000, 500_000),
            (25, 200_000, 200_000),
            (50, 100_000, 100_000),
            (100, 50_000, 50_000),
            (200, 25_000, 25_000),
        ] {
            for column in processes(&stated(), common(order, None)).unwrap() {
                assert_eq!(column.supersteps, 2 * u64::from(order) - 1);
                assert_eq!(column.cell, Bytes(cell));
                let (data, fixed) = (Bytes(data), Bytes(700_000));
                assert_eq!(column.memory(), Some(MemorySize { data, fixed }));
            }
        }
        // The second superstep of the first process, which the papers state.
        let columns = processes(&stated(), common(10, None)).unwrap();
        let work = |antidiagonal| columns[0].work(Rank(0), 10, antidiagonal);
        assert_eq!(work(0), Some(Instructions(1_000_000)));
        assert_eq!(work(1), Some(Instructions(56_500_000)));
        let last = columns[9].work(Rank(9), 10, 18);
        assert_eq!(last, Some(Instructions(1_000_000_000)));
    }

    #[test]
    fn a_column_computes_on_as_many_antidiagonals_as_there_are_rows() {
        let columns = processes(&stated(), common(4, None)).unwrap();
        for (rank, column) in (0..4).map(Rank).zip(&columns) {
            let active: Vec<u64> = (0..9)
                .filter(|antidiagonal| column.work(rank, 4, *antidiagonal).is_some())
                .collect();
            let first = u64::from(rank.0);
            assert_eq!(active, (first..first + 4).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_cell_is_received_by_the_column_to_its_right() {
        let columns = processes(&Parameters::default(), common(4, None)).unwrap();
        let run = reference::run(columns, reference::Limit::default()).unwrap();
        assert_eq!(run.supersteps, 7);
        for (rank, tally) in run.outputs.iter().enumerate() {
            let messages = if rank == 0 { 0 } else { 4 };
            assert_eq!(tally.messages, messages);
            assert_eq!(tally.received, Bytes(messages * 1_250_000));
        }
        // Antidiagonals of 1, 2, 3, 4, 3, 2, 1 cells, from 2·10⁶ to 2·10⁹ instructions each: 16 cells of
        // 1.001·10⁹ on average.
        assert_eq!(run.work, Instructions(16 * 1_001_000_000));
    }

    #[test]
    fn supersteps_can_be_fewer_but_not_more() {
        for (wanted, expected) in [(Some(3), 3), (Some(7), 7), (Some(100), 7), (None, 7)] {
            let columns = processes(&stated(), common(4, wanted)).unwrap();
            let run = reference::run(columns, reference::Limit::default()).unwrap();
            assert_eq!(run.supersteps, expected, "{wanted:?}");
        }
    }

    #[test]
    fn a_single_cell_is_a_matrix() {
        let columns = processes(&stated(), common(1, None)).unwrap();
        let run = reference::run(columns, reference::Limit::default()).unwrap();
        assert_eq!((run.supersteps, run.work), (1, Instructions(1_000_000)));
    }

    #[test]
    fn errors_name_the_parameter() {
        let check = |parameters: &str, expected: &str| {
            let parameters: Parameters = toml::from_str(parameters).unwrap();
            let error = processes(&parameters, common(2, None)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        check(
            "instructions_first = -1",
            "invalid value `-1.0` for `instructions_first`: must be a number from 0 to 2^63",
        );
        check(
            "multiplier = nan",
            "invalid value `NaN` for `multiplier`: must be a number of at least 0",
        );
        check(
            "multiplier = 1e10",
            "invalid value `1e19` for `instructions_last`: must be at most 2^63 after multiplying with `multiplier`",
        );
        check(
            "bytes = -5",
            "invalid value `-5.0` for `bytes`: must be a number from 0 to 2^63",
        );
        let result = processes(&Parameters::default(), common(0, None));
        assert_eq!(result, Err(Error::Zero { key: "processes" }));
        assert!(toml::from_str::<Parameters>("traffic = 1").is_err());
    }

    #[test]
    fn a_million_processes_fit() {
        let size = size_of::<SmithWaterman>();
        assert!(size <= 104, "{size} bytes");
    }
}
