//! Parameters that all workloads have, and their errors.

use std::fmt;

use bsp::farm::{DealingError, FarmError};
use bsp::units::{Bytes, Instructions};
use bsp::{Rank, numbers};

use crate::cyclic::Error as CyclicError;

/// Parameters that all workloads have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    /// How many processes there are; at least one.
    pub processes: u32,
    /// Number of supersteps, at least one. A program that ends by itself executes at most this many, and
    /// as many as it needs if this is `None`.
    pub supersteps: Option<u64>,
    /// Seed of the workload's random numbers, if it draws any.
    pub seed: u64,
}

/// Why a workload cannot be built. Keys are relative to the workload's own section, except for those of
/// [`Common`].
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// A count that has to be at least one.
    Zero {
        /// The count's name.
        key: &'static str,
    },
    /// No number of supersteps for a program that does not end by itself.
    Endless,
    /// A number of supersteps for a program that determines its own length.
    EndsByItself {
        /// The number found.
        supersteps: u64,
    },
    /// A list without an element that rank 0 could take.
    Empty {
        /// The list's name.
        key: &'static str,
    },
    /// A number that means nothing, or more than can be counted.
    OutOfRange {
        /// The number's name, with its position if it is in a list.
        key: String,
        /// The number found.
        value: f64,
        /// What is expected instead.
        expected: &'static str,
    },
    /// Instructions that fit by themselves and no longer when the load changes.
    Peak {
        /// The number's name, with its position in its list.
        key: String,
        /// The number found.
        value: f64,
        /// The greatest value in the run.
        peak: f64,
    },
    /// An interval that ends before it begins.
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
    /// Shifts that a pattern leaves no meaning.
    ShiftsBesidePattern {
        /// Name of the parameter.
        key: &'static str,
    },
    /// A grid that has not one place for each process.
    Grid {
        /// The numbers of processes along each dimension.
        dimensions: Vec<u32>,
        /// The number of processes.
        processes: u32,
    },
    /// A matrix that cannot be dealt out to the processes.
    Cyclic(CyclicError),
    /// Factors that have no product.
    Unfit {
        /// Columns of the left one.
        columns: usize,
        /// Rows of the right one.
        rows: usize,
    },
    /// A rule that deals no tasks.
    Dealing(DealingError),
    /// No farm.
    Farm(FarmError),
    /// Less than the program needs.
    TooSmall {
        /// The number's name.
        key: &'static str,
        /// The number found.
        value: u64,
        /// The least valid number.
        least: u64,
        /// What it is needed for.
        reason: &'static str,
    },
    /// More than there can be.
    MoreThan {
        /// The number's name, with its position if it is in a list.
        key: &'static str,
        /// The number found.
        value: u64,
        /// Name of the number that bounds it.
        of: &'static str,
        /// That number.
        most: u64,
    },
    /// The machine has not enough memory for the cells.
    TooManyCells {
        /// Columns.
        width: u32,
        /// Cells of a column.
        height: u32,
    },
    /// The machine has not enough memory for the data.
    Memory {
        /// What it is needed for.
        what: String,
        /// How much that is, rounded up.
        megabytes: u128,
        /// What takes less.
        instead: &'static str,
    },
    /// The machine has not enough memory for the states.
    TooManyProcesses {
        /// The number of processes.
        processes: u32,
    },
}

/// Why a parameter of a workload cannot be used.
///
/// # Examples
///
/// ```
/// use workloads::ParameterError;
///
/// let error = ParameterError::invalid("size", 4, "must be at least 5").or_else("leave it out");
/// assert_eq!(error.to_string(), "invalid value `4` for `size`: must be at least 5; leave it out");
/// let error = ParameterError::new("size", "the plate has no rows");
/// assert_eq!(error.to_string(), "`size`: the plate has no rows");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ParameterError {
    /// Its key, relative to the workload's own section, with positions in lists (`bytes[1]`); empty: no single key is at
    /// fault. `processes` and `supersteps` are those of `[application]`.
    pub key: String,
    /// The value that breaks the rule, if one does.
    pub found: Option<String>,
    /// The rule (`must be at least 1`), or else what is wrong.
    pub problem: String,
    /// What would do, if the rule does not say it.
    pub remedy: Option<String>,
}

impl ParameterError {
    /// Something is wrong with the parameter `key`; empty: with several.
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            found: None,
            problem: problem.into(),
            remedy: None,
        }
    }

    /// The value `found` of `key` does not keep `rule`, as in "must be at least 1".
    pub fn invalid(
        key: impl Into<String>,
        found: impl fmt::Display,
        rule: impl Into<String>,
    ) -> Self {
        Self {
            found: Some(found.to_string()),
            ..Self::new(key, rule)
        }
    }

    /// The same, with what would do.
    #[must_use]
    pub fn or_else(self, remedy: impl Into<String>) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..self
        }
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            found,
            problem,
            remedy,
        } = self;
        match found {
            Some(found) => write!(formatter, "invalid value `{found}` for `{key}`: {problem}")?,
            None if key.is_empty() => formatter.write_str(problem)?,
            None => write!(formatter, "`{key}`: {problem}")?,
        }
        match remedy {
            Some(remedy) => write!(formatter, "; {remedy}"),
            None => Ok(()),
        }
    }
}

impl From<Error> for ParameterError {
    fn from(error: Error) -> Self {
        const ONE: &str = "must be at least 1";
        match error {
            Error::Zero { key } => Self::invalid(key, 0, ONE),
            Error::Endless => {
                Self::new("supersteps", "not set: the program does not end by itself")
            }
            Error::EndsByItself { supersteps } => {
                let problem = "the program ends by itself; remove it";
                Self::invalid("supersteps", supersteps, problem)
            }
            Error::Empty { key } => Self::invalid(key, "[]", "must have at least one number"),
            Error::OutOfRange {
                key,
                value,
                expected,
            } => Self::invalid(key, format!("{value:?}"), format!("must be {expected}")),
            Error::Peak { key, value, peak } => {
                let rule = format!("grows to {peak:?} with `dynamics`, must be at most 2^63");
                Self::invalid(key, format!("{value:?}"), rule)
                    .or_else("choose a smaller `dynamics.factor` or fewer instructions")
            }
            Error::EndsBeforeStart {
                key,
                value,
                start_key,
                start,
            } => {
                let rule = format!("must be greater than `{start_key}`, which is {start}");
                Self::invalid(key, value, rule)
            }
            Error::ShiftsBesidePattern { key } => {
                Self::new(key, "has no meaning beside `pattern`").or_else("remove one of them")
            }
            Error::Grid {
                dimensions,
                processes,
            } => {
                let rule = format!("their product must be `processes`, which is {processes}");
                Self::invalid("pattern.dimensions", format!("{dimensions:?}"), rule)
            }
            Error::Cyclic(CyclicError::Zero { key }) => Self::invalid(key, 0, ONE),
            Error::Cyclic(error @ CyclicError::Places { .. }) => {
                Self::new("rows", error.to_string())
            }
            Error::Unfit { columns, rows } => {
                let problem = format!("has {columns} columns, and `b` has {rows} rows");
                Self::new("a", problem).or_else("they have to be equal")
            }
            Error::Dealing(error) | Error::Farm(FarmError::Dealing(error)) => error.into(),
            Error::Farm(error) => error.into(),
            Error::TooSmall {
                key,
                value,
                least,
                reason,
            } => Self::invalid(key, value, format!("must be at least {least}, {reason}")),
            Error::MoreThan {
                key,
                value,
                of,
                most,
            } => Self::invalid(
                key,
                value,
                format!("must be at most `{of}`, which is {most}"),
            ),
            Error::TooManyCells { width, height } => {
                let problem = format!("not enough memory for {width} x {height} cells");
                Self::new("width", problem).or_else("choose a smaller `width` or `height`")
            }
            Error::Memory {
                what,
                megabytes,
                instead,
            } => {
                let problem = format!("not enough memory for {what}, {megabytes} MB");
                // The key that it names, which may not be set.
                let key = instead.split('`').nth(1).unwrap_or_default();
                Self::new(key, problem).or_else(format!("choose {instead}"))
            }
            Error::TooManyProcesses { processes } => {
                let problem = format!("not enough memory for the states of {processes} processes");
                Self::new("processes", problem).or_else("choose fewer")
            }
        }
    }
}

impl From<DealingError> for ParameterError {
    fn from(error: DealingError) -> Self {
        let key = |name: &str| format!("dealing.{name}");
        match error {
            DealingError::Zero(name) => Self::invalid(key(name), 0, "must be at least 1"),
            DealingError::Threshold { name, value } => {
                let rule = "must be a number from 0.001 to 1000";
                Self::invalid(key(name), format!("{value:?}"), rule)
            }
            DealingError::Thresholds { min, max } => {
                let rule = format!("must be at most `dealing.threshold_max`, which is {max:?}");
                Self::invalid(key("threshold_min"), format!("{min:?}"), rule)
            }
        }
    }
}

impl From<FarmError> for ParameterError {
    fn from(error: FarmError) -> Self {
        match error {
            FarmError::NoWorker(_) => Self::new("processes", error.to_string()),
            FarmError::Dealing(error) => error.into(),
            FarmError::Shared(_) => Self::new("", error.to_string()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        ParameterError::from(self.clone()).fmt(formatter)
    }
}

impl std::error::Error for Error {}

impl From<CyclicError> for Error {
    fn from(error: CyclicError) -> Self {
        Self::Cyclic(error)
    }
}

impl From<DealingError> for Error {
    fn from(error: DealingError) -> Self {
        Self::Dealing(error)
    }
}

impl From<FarmError> for Error {
    fn from(error: FarmError) -> Self {
        Self::Farm(error)
    }
}

impl Common {
    /// How many supersteps, for a program that does not end by itself.
    ///
    /// # Errors
    ///
    /// [`Error::Endless`] if it is missing, [`Error::Zero`].
    pub fn required_supersteps(self) -> Result<u64, Error> {
        let supersteps = self.supersteps.ok_or(Error::Endless)?;
        at_least_one("supersteps", supersteps)?;
        Ok(supersteps)
    }

    /// Checks that no number of supersteps is given to a program that ends by itself.
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

    /// Checks that there is a process, and a superstep.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`].
    pub(crate) fn check(self) -> Result<(), Error> {
        at_least_one("processes", u64::from(self.processes))?;
        at_least_one("supersteps", self.supersteps.unwrap_or(1))
    }

    /// All processes, in rank order, each of which `process` builds.
    ///
    /// # Errors
    ///
    /// The first error of `process`; [`Error::Zero`] and [`Error::TooManyProcesses`].
    pub fn build<P, E: From<Error>>(
        self,
        process: impl Fn(Rank) -> Result<P, E>,
    ) -> Result<Vec<P>, E> {
        self.check()?;
        let processes = self.processes;
        let mut states = Vec::new();
        usize::try_from(processes)
            .ok()
            .and_then(|count| states.try_reserve_exact(count).ok())
            .ok_or(Error::TooManyProcesses { processes })?;
        for rank in (0..processes).map(Rank) {
            states.push(process(rank)?);
        }
        Ok(states)
    }

    /// The part of `rank` of `total`, divided equally, with the remainder on the lowest ranks.
    pub(crate) fn share(self, total: u64, rank: Rank) -> u64 {
        let processes = u64::from(self.processes);
        total / processes + u64::from(u64::from(rank.0) < total % processes)
    }

    /// The sum of the parts of all ranks below `rank`.
    pub(crate) fn share_start(self, total: u64, rank: Rank) -> u64 {
        let (processes, rank) = (u64::from(self.processes), u64::from(rank.0));
        total / processes * rank + rank.min(total % processes)
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

/// Reads every element of a list, which must not be empty, by `read`, given the element's name.
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

/// Checks that a count is at least one.
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

/// Checks that a count is at least `least`, which `reason` explains.
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
pub(crate) const fn whole(value: f64) -> u64 {
    numbers::whole(value.round())
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

/// A key that is known and means nothing beside this kind.
#[derive(Debug, thiserror::Error)]
#[error("`kind = \"{kind}\"` takes no `{key}`; it takes {}", listed(.known))]
pub(crate) struct MisplacedKey {
    /// The kind of the table.
    pub(crate) kind: &'static str,
    /// The key that was written.
    pub(crate) key: &'static str,
    /// The keys of this kind.
    pub(crate) known: &'static [&'static str],
}

impl MisplacedKey {
    /// Nothing, if all keys that are written, those with `true`, are among those that `kind` takes.
    pub(crate) fn check(
        kind: &'static str,
        known: &'static [&'static str],
        keys: &[(&'static str, bool)],
    ) -> Result<(), Self> {
        let is_misplaced =
            |(key, is_written): &&(&'static str, bool)| *is_written && !known.contains(key);
        match keys.iter().find(is_misplaced) {
            None => Ok(()),
            Some(&(key, _)) => Err(Self { kind, key, known }),
        }
    }
}

fn listed(known: &[&str]) -> String {
    if known.is_empty() {
        "no other keys".to_owned()
    } else {
        known.join(", ")
    }
}

/// The `count` items of `items`; `None` if there is no memory for them.
pub(crate) fn collected<T>(count: usize, items: impl IntoIterator<Item = T>) -> Option<Vec<T>> {
    let mut collected = Vec::new();
    collected.try_reserve_exact(count).ok()?;
    collected.extend(items.into_iter().take(count));
    Some(collected)
}

/// Bytes in whole MB, rounded up, for messages.
pub(crate) fn megabytes(bytes: u128) -> u128 {
    bytes.div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_outside_0_to_2_63_are_refused() {
        for value in [-1.0, -1e-9, f64::NAN, f64::INFINITY, 1e19] {
            let message = bytes("memory", value).unwrap_err().to_string();
            assert_eq!(
                message,
                format!("invalid value `{value:?}` for `memory`: must be a number from 0 to 2^63")
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
    fn errors_name_the_position_in_a_list() {
        let message = list("bytes", &[1.0, -5.0], bytes).unwrap_err().to_string();
        assert_eq!(
            message,
            "invalid value `-5.0` for `bytes[1]`: must be a number from 0 to 2^63"
        );
        let message = list("bytes", &[], bytes).unwrap_err().to_string();
        assert_eq!(
            message,
            "invalid value `[]` for `bytes`: must have at least one number"
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
            let starts = (0..processes).map(|r| common.share_start(1_000_003, Rank(r)));
            let sums = shares.iter().scan(0, |sum, share| {
                *sum += share;
                Some(*sum - share)
            });
            assert!(starts.eq(sums));
            assert!(shares[0] - shares[shares.len() - 1] <= 1);
        }
    }

    #[test]
    fn zero_processes_or_supersteps_are_refused() {
        let build = |processes, supersteps: u64| {
            Common {
                processes,
                supersteps: Some(supersteps),
                seed: 0,
            }
            .build(Ok::<Rank, Error>)
        };
        assert_eq!(build(0, 1), Err(Error::Zero { key: "processes" }));
        assert_eq!(build(1, 0), Err(Error::Zero { key: "supersteps" }));
        assert_eq!(build(2, 1), Ok(vec![Rank(0), Rank(1)]));
    }

    #[test]
    fn endless_programs_require_a_number_of_supersteps() {
        let common = |supersteps| Common {
            processes: 1,
            supersteps,
            seed: 0,
        };
        assert_eq!(common(Some(7)).required_supersteps(), Ok(7));
        assert_eq!(common(None).required_supersteps(), Err(Error::Endless));
        let zero = Error::Zero { key: "supersteps" };
        assert_eq!(common(Some(0)).required_supersteps(), Err(zero));
        assert_eq!(common(None).build(Ok::<Rank, Error>), Ok(vec![Rank(0)]));
    }

    #[test]
    fn failed_allocations_collect_nothing() {
        assert_eq!(collected(2, [7, 8, 9]), Some(vec![7, 8]));
        assert_eq!(collected(usize::MAX, 0_u64..), None);
        assert_eq!(collected(1 << 58, 0_u8..), None);
        assert_eq!(megabytes(1), 1);
        assert_eq!(megabytes(1 << 70), 1_180_591_620_717_412);
    }
}
