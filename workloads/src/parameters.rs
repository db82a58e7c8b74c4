//! What every workload is told, and what it does not accept.

use bsp::Rank;
use bsp::units::{Bytes, Instructions};

use crate::lu::CyclicError;

/// What every workload is told, whatever its own parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    /// How many processes there are; at least one.
    pub processes: u32,
    /// How many supersteps each of them executes, at least one. A program that ends by itself
    /// executes at most so many, and as many as it needs if there is no such number.
    pub supersteps: Option<u64>,
    /// Where the workload's random numbers come from, if it draws any.
    pub seed: u64,
}

/// Why parameters do not make a program. Keys are relative to the workload's own section, those of
/// [`Common`] excepted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A count that has to be at least one.
    #[error("`{key}` is 0, expected at least 1")]
    Zero {
        /// The count's name.
        key: &'static str,
    },
    /// No number of supersteps for a program that would go on for ever.
    #[error("`supersteps` is missing, and the program does not end by itself")]
    Endless,
    /// A number of supersteps for a program whose part is worth nothing.
    #[error("`supersteps` is {supersteps}, but the program ends by itself; leave it out")]
    EndsByItself {
        /// How many there should have been.
        supersteps: u64,
    },
    /// A list without an element that rank 0 could take.
    #[error("`{key}` is an empty list, expected at least one number")]
    Empty {
        /// The list's name.
        key: &'static str,
    },
    /// A number that means nothing, or more than can be counted.
    #[error("`{key}` is {value:?}, expected {expected}")]
    OutOfRange {
        /// The number's name, with its position if it is in a list.
        key: String,
        /// The number met.
        value: f64,
        /// What would do.
        expected: &'static str,
    },
    /// Instructions that fit by themselves and no longer when the load changes.
    #[error(
        "`{key}` is {value:?} and grows to {peak:?} with `dynamics`, expected at most 2^63; \
         a smaller `dynamics.factor` or fewer instructions would do"
    )]
    Peak {
        /// The number's name, with its position in its list.
        key: String,
        /// The number met.
        value: f64,
        /// What becomes of it at worst.
        peak: f64,
    },
    /// An interval that ends before it begins.
    #[error("`{key}` is {value}, expected more than `{start_key}`, which is {start}")]
    EndsBeforeStart {
        /// Name of the end.
        key: &'static str,
        /// The end, a superstep.
        value: u64,
        /// Name of the beginning.
        start_key: &'static str,
        /// The beginning, a superstep.
        start: u64,
    },
    /// A matrix that cannot be dealt out to the processes.
    #[error(transparent)]
    Cyclic(#[from] CyclicError),
    /// Less than the program needs.
    #[error("`{key}` is {value}, expected at least {least}: {reason}")]
    TooSmall {
        /// The number's name.
        key: &'static str,
        /// The number met.
        value: u64,
        /// The least number that would do.
        least: u64,
        /// What it is needed for.
        reason: &'static str,
    },
    /// More than there can be.
    #[error("`{key}` is {value}, expected at most `{of}`, which is {most}")]
    MoreThan {
        /// The number's name, with its position if it is in a list.
        key: &'static str,
        /// The number met.
        value: u64,
        /// Name of the number that bounds it.
        of: &'static str,
        /// That number.
        most: u64,
    },
    /// The machine has not enough memory for the cells.
    #[error(
        "`width` is {width} and `height` is {height}, and memory for so many cells cannot be had"
    )]
    TooManyCells {
        /// Columns.
        width: u32,
        /// Cells of a column.
        height: u32,
    },
    /// The machine has not enough memory for what is computed on.
    #[error("memory for {what}, {megabytes} MB, cannot be had; {instead} would do")]
    Memory {
        /// What it is needed for.
        what: String,
        /// How much that is, rounded up.
        megabytes: u128,
        /// What takes less.
        instead: &'static str,
    },
    /// The machine has not enough memory for the states.
    #[error("`processes` is {processes}, and memory for their states cannot be had")]
    TooManyProcesses {
        /// How many there should have been.
        processes: u32,
    },
}

impl Common {
    /// How many supersteps, for a program that does not end by itself.
    ///
    /// # Errors
    ///
    /// [`Error::Endless`] if nobody said, [`Error::Zero`].
    pub fn required_supersteps(self) -> Result<u64, Error> {
        let supersteps = self.supersteps.ok_or(Error::Endless)?;
        at_least_one("supersteps", supersteps)?;
        Ok(supersteps)
    }

    /// Nothing, if no number of supersteps is given to a program that ends by itself.
    ///
    /// # Errors
    ///
    /// [`Error::EndsByItself`].
    pub(crate) fn refuse_supersteps(self) -> Result<(), Error> {
        match self.supersteps {
            None => Ok(()),
            Some(supersteps) => Err(Error::EndsByItself { supersteps }),
        }
    }

    /// One state for each rank, in rank order.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] and [`Error::TooManyProcesses`].
    pub(crate) fn build<P>(self, process: impl FnMut(Rank) -> P) -> Result<Vec<P>, Error> {
        let processes = self.processes;
        at_least_one("processes", u64::from(processes))?;
        at_least_one("supersteps", self.supersteps.unwrap_or(1))?;
        let mut states = Vec::new();
        usize::try_from(processes)
            .ok()
            .and_then(|count| states.try_reserve_exact(count).ok())
            .ok_or(Error::TooManyProcesses { processes })?;
        states.extend((0..processes).map(Rank).map(process));
        Ok(states)
    }

    /// What `rank` gets of `total` when all get the same, the remainder going to the lowest ranks.
    pub(crate) fn share(self, total: u64, rank: Rank) -> u64 {
        let processes = u64::from(self.processes);
        total / processes + u64::from(u64::from(rank.0) < total % processes)
    }
}

/// An amount of computation out of a parameter, rounded to whole instructions.
///
/// # Errors
///
/// [`Error::OutOfRange`].
pub(crate) fn instructions(key: impl Into<String>, value: f64) -> Result<Instructions, Error> {
    counted(key, value).map(Instructions)
}

/// An amount of data out of a parameter, rounded to whole bytes.
///
/// # Errors
///
/// [`Error::OutOfRange`].
pub(crate) fn bytes(key: impl Into<String>, value: f64) -> Result<Bytes, Error> {
    counted(key, value).map(Bytes)
}

/// Every element of a list that may not be empty, by `read`, which is told the element's name.
///
/// # Errors
///
/// [`Error::Empty`], and the first error of `read`.
pub(crate) fn list<T>(
    key: &'static str,
    values: &[f64],
    read: impl Fn(String, f64) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    if values.is_empty() {
        return Err(Error::Empty { key });
    }
    let elements = values.iter().enumerate();
    elements
        .map(|(index, &value)| read(format!("{key}[{index}]"), value))
        .collect()
}

/// `value`, if it lies in a range that `expected` describes.
///
/// # Errors
///
/// [`Error::OutOfRange`]; NaN lies in no range.
pub(crate) fn within(
    (key, value): (&str, f64),
    least: f64,
    greatest: f64,
    expected: &'static str,
) -> Result<f64, Error> {
    if (least..=greatest).contains(&value) {
        Ok(value)
    } else {
        let key = key.to_owned();
        Err(Error::OutOfRange {
            key,
            value,
            expected,
        })
    }
}

/// Nothing, if there is at least one.
///
/// # Errors
///
/// [`Error::Zero`].
pub(crate) const fn at_least_one(key: &'static str, count: u64) -> Result<(), Error> {
    if count == 0 {
        Err(Error::Zero { key })
    } else {
        Ok(())
    }
}

/// Nothing, if there are as many as `reason` asks for.
///
/// # Errors
///
/// [`Error::TooSmall`].
pub(crate) fn at_least(
    (key, value): (&'static str, u32),
    least: u32,
    reason: &'static str,
) -> Result<(), Error> {
    if value < least {
        return Err(Error::TooSmall {
            key,
            value: value.into(),
            least: least.into(),
            reason,
        });
    }
    Ok(())
}

/// `value` as a whole number, halves away from zero; what is below zero or not a number gives zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded before, and the conversion saturates"
)]
pub(crate) const fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// Amounts above this are mistakes, and sums of them would not fit.
pub(crate) const AMOUNT_MAX: f64 = 9_223_372_036_854_775_808.0;

fn counted(key: impl Into<String>, value: f64) -> Result<u64, Error> {
    within(
        (&key.into(), value),
        0.0,
        AMOUNT_MAX,
        "a number from 0 to 2^63",
    )
    .map(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_amounts_that_can_be_counted_are_read() {
        for value in [-1.0, -1e-9, f64::NAN, f64::INFINITY, 1e19] {
            let message = bytes("memory", value).unwrap_err().to_string();
            assert_eq!(
                message,
                format!("`memory` is {value:?}, expected a number from 0 to 2^63")
            );
        }
        assert_eq!(bytes("memory", 900e3), Ok(Bytes(900_000)));
        assert_eq!(bytes("memory", -0.0), Ok(Bytes::ZERO));
        assert_eq!(instructions("instructions", 2.5), Ok(Instructions(3)));
        assert_eq!(
            instructions("instructions", AMOUNT_MAX),
            Ok(Instructions(1 << 63))
        );
    }

    #[test]
    fn an_element_of_a_list_is_named_by_its_position() {
        let message = list("bytes", &[1.0, -5.0], bytes).unwrap_err().to_string();
        assert_eq!(
            message,
            "`bytes[1]` is -5.0, expected a number from 0 to 2^63"
        );
        let message = list("bytes", &[], bytes).unwrap_err().to_string();
        assert_eq!(
            message,
            "`bytes` is an empty list, expected at least one number"
        );
    }

    #[test]
    fn shares_differ_by_one_at_most_and_add_up() {
        for processes in [1, 3, 7, 10, 200] {
            let common = Common {
                processes,
                supersteps: Some(1),
                seed: 0,
            };
            let shares: Vec<u64> = (0..processes)
                .map(|r| common.share(1_000_003, Rank(r)))
                .collect();
            assert_eq!(shares.iter().sum::<u64>(), 1_000_003);
            assert!(shares[0] - shares[shares.len() - 1] <= 1);
        }
    }

    #[test]
    fn nothing_runs_without_processes_or_supersteps() {
        let build = |processes, supersteps: u64| {
            Common {
                processes,
                supersteps: Some(supersteps),
                seed: 0,
            }
            .build(|rank| rank)
        };
        assert_eq!(build(0, 1), Err(Error::Zero { key: "processes" }));
        assert_eq!(build(1, 0), Err(Error::Zero { key: "supersteps" }));
        assert_eq!(build(2, 1), Ok(vec![Rank(0), Rank(1)]));
    }

    #[test]
    fn a_program_without_an_end_has_to_be_told_its_supersteps() {
        let common = |supersteps| Common {
            processes: 1,
            supersteps,
            seed: 0,
        };
        assert_eq!(common(Some(7)).required_supersteps(), Ok(7));
        assert_eq!(common(None).required_supersteps(), Err(Error::Endless));
        let zero = Error::Zero { key: "supersteps" };
        assert_eq!(common(Some(0)).required_supersteps(), Err(zero));
        assert_eq!(common(None).build(|rank| rank), Ok(vec![Rank(0)]));
    }
}
