//! Reductions: values of all processes, combined at the barrier.
//!
//! A process contributes in one superstep ([`Superstep::reduce`](crate::Superstep::reduce)), and every process has the combined
//! value in the next ([`Superstep::reduced`](crate::Superstep::reduced)). Contributions travel with the arrivals of processes at
//! the barrier, and are combined where arrivals meet; the result returns with the start of the next superstep. So a reduction
//! costs no superstep and no message of its own.
//!
//! The result does not depend on where processes are, on the shape of the barrier, or on the order of arrival. Minima, maxima,
//! `and`, `or` and sums of integers are associative. Sums of `f64` are exact and rounded once: a sum in progress is several
//! `f64` that are added without error (Knuth's `TwoSum`, as in Shewchuk's expansions: "Adaptive precision floating-point
//! arithmetic and fast robust geometric predicates", 1997), and its value is rounded by a superaccumulator as in Neal: "Fast
//! exact summation using small and large superaccumulators", 2015. (The crate `xsum` 0.1.6 has one, and rounds some negative
//! numbers wrongly.)

use std::borrow::Cow;
use std::cmp::Ordering;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

use crate::array::{self, Array, Number};
use crate::ids::Rank;
use crate::note::{self, Note, Notes};
use crate::numbers::{length, position};
use crate::program::Payload;
use crate::units;

/// The sum of the values of all processes: of vectors, element by element.
///
/// That of `f64` is the exact sum, rounded once. It is infinite if it is too large, and not a number as the sum of numbers in any
/// order would be. That of integers must fit its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum<T>(pub T);

/// The least of the values of all processes: of vectors, element by element. It is not a number if any of them is not; −0 is
/// less than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Min<T>(pub T);

/// The greatest of the values of all processes: of vectors, element by element. It is not a number if any of them is not; −0
/// is less than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Max<T>(pub T);

/// Whether a condition holds in all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct And(pub bool);

/// Whether a condition holds in any process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Or(pub bool);

/// How values are combined: [`Sum`], [`Min`] and [`Max`] of `f64`, `i64` and `u64`, of vectors and of [`Array`]s of them, and
/// [`And`] and [`Or`].
pub trait Reduction: Sized {
    /// The combined value.
    type Value;

    /// The contribution of one process.
    #[doc(hidden)]
    fn contribute(self) -> Partial;

    /// The combined value.
    #[doc(hidden)]
    fn value(combined: &Partial) -> Result<Self::Value, Mismatch>;
}

/// The bytes that the reductions and notes of one superstep may take together: 8 for each number, 32 and its name for each note,
/// and all gathered values. What takes more is sent in messages.
pub const REDUCTIONS_MAX: u64 = 4 << 20;

/// The longest name of a reduction or of a note, in bytes.
pub const REDUCTION_NAME_MAX: usize = 64;

/// The reductions and notes of a superstep: contributions of one process, or of several together, or their results.
///
/// Messages and events that mostly have none carry them, so they are one word, and if there are none, nothing is to be dropped.
///
/// Invariant: they ascend by name; of a reduction and a note of one name, the reduction comes first. If there are none, there
/// is no list of them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Vec<Entry>")]
pub struct Reductions(Option<Box<Entries>>);

/// Mostly one.
type Entries = SmallVec<[Entry; 1]>;

/// A reduction or a note, with its name.
type Entry = (Cow<'static, str>, Partial);

impl From<Vec<Entry>> for Reductions {
    fn from(entries: Vec<Entry>) -> Self {
        Self((!entries.is_empty()).then(|| Box::new(entries.into())))
    }
}

impl Serialize for Reductions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries().serialize(serializer)
    }
}

/// What all processes have contributed in a superstep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Concluded {
    /// The results of reductions, which processes have in the next superstep.
    pub reduced: Reductions,
    /// The notes, which the record has.
    pub notes: Notes,
}

/// By what a simulated network charges for contributions: names, and the length of what has been contributed to each. It does
/// not depend on the values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline(Box<[Outlined]>);

/// A reduction or a note in an outline.
#[derive(Clone, Debug, PartialEq)]
struct Outlined {
    name: Cow<'static, str>,
    is_note: bool,
    charged: u64,
}

/// A reduction of some processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[doc(hidden)]
pub enum Partial {
    /// Of `f64`.
    Sum(FloatSums),
    /// Of `i64`.
    SumSigned(Many<i128>),
    /// Of `u64`.
    SumUnsigned(Many<i128>),
    /// Of `f64`.
    Min(Many<f64>),
    /// Of `i64`.
    MinSigned(Many<i64>),
    /// Of `u64`.
    MinUnsigned(Many<u64>),
    /// Of `f64`.
    Max(Many<f64>),
    /// Of `i64`.
    MaxSigned(Many<i64>),
    /// Of `u64`.
    MaxUnsigned(Many<u64>),
    And(bool),
    Or(bool),
    /// Encoded values; in rank order once all processes have contributed.
    Gather(Vec<(Rank, Bytes)>),
    Note(Box<NotePartial>),
    /// Processes disagree about what is reduced: two of the descriptions, the least and the greatest.
    Conflict(Cow<'static, str>, Cow<'static, str>),
    /// There is more than [`REDUCTIONS_MAX`].
    TooLong,
}

/// The values that some processes noted under one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[doc(hidden)]
pub struct NotePartial {
    /// The number of values, at least 1.
    count: u64,
    /// Their sum.
    sum: FloatSums,
    /// The least of them.
    min: Many<f64>,
    /// The greatest of them.
    max: Many<f64>,
}

/// A combined value, whatever was reduced ([`Superstep::all_reduced`](crate::Superstep::all_reduced)).
#[derive(Clone, Debug, PartialEq)]
pub enum Reduced<'a> {
    /// Sums, minima or maxima of `f64`.
    Floats(Extent, Cow<'a, [f64]>),
    /// Of `i64`.
    Signed(Extent, Cow<'a, [i64]>),
    /// Of `u64`.
    Unsigned(Extent, Cow<'a, [u64]>),
    /// Whether a condition holds in all processes.
    And(bool),
    /// Whether a condition holds in any process.
    Or(bool),
    /// Encoded values, in rank order.
    Gathered(&'a [(Rank, Bytes)]),
    /// A sum that its type does not hold.
    Overflow(i128),
}

/// How numbers are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// By [`Sum`].
    Sum,
    /// By [`Min`].
    Min,
    /// By [`Max`].
    Max,
}

/// Why a process has no combined value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReductionError {
    /// No process has contributed.
    #[error("no process reduced `{0}` in the superstep before")]
    Absent(String),
    /// It was reduced otherwise.
    #[error("`{name}` was reduced as {found}, not as {asked}")]
    Other {
        /// Its name.
        name: String,
        /// What was reduced.
        found: String,
        /// What is asked for.
        asked: String,
    },
    /// The sum is too large for its type.
    #[error("the sum `{name}` is {sum}, which does not fit its type: reduce it as a sum of `f64`")]
    Overflow {
        /// Its name.
        name: String,
        /// The sum.
        sum: i128,
    },
    /// A gathered value is not of the type that is asked for.
    #[error("the value `{name}` of {rank} cannot be decoded: {message}")]
    Decoding {
        /// Its name.
        name: String,
        /// Its process.
        rank: Rank,
        /// The decoder's message.
        message: String,
    },
}

/// Why a combined value is not what is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Mismatch {
    /// It is another reduction than this.
    Kind(&'static str),
    /// The sum is too large.
    Overflow(i128),
}

impl Mismatch {
    /// A sum that is too large, as a result.
    fn overflow<'a>(self) -> Option<Reduced<'a>> {
        match self {
            Self::Overflow(sum) => Some(Reduced::Overflow(sum)),
            Self::Kind(_) => None,
        }
    }
}

/// Numbers of one type: one of them, or a vector.
pub trait Numbers: Sized {
    /// The type.
    type Element: Element;

    #[doc(hidden)]
    fn many(self) -> Many<Self::Element>;

    #[doc(hidden)]
    fn of(numbers: &[Self::Element]) -> Option<Self>;
}

/// The types of numbers that are reduced.
#[doc(hidden)]
pub trait Element: Number {
    const SUM: &'static str;
    const MIN: &'static str;
    const MAX: &'static str;

    fn sum(numbers: Many<Self>) -> Partial;

    fn sum_of(partial: &Partial) -> Result<SmallVec<[Self; 1]>, Mismatch>;

    fn min(numbers: Many<Self>) -> Partial;

    fn min_of(partial: &Partial) -> Option<&[Self]>;

    fn max(numbers: Many<Self>) -> Partial;

    fn max_of(partial: &Partial) -> Option<&[Self]>;
}

impl<T: Element> Numbers for Vec<T> {
    type Element = T;

    fn many(self) -> Many<T> {
        Many(self.into())
    }

    fn of(numbers: &[T]) -> Option<Self> {
        Some(numbers.to_vec())
    }
}

impl<T: Element> Numbers for Array<T> {
    type Element = T;

    fn many(self) -> Many<T> {
        Many(self.into_vec().into())
    }

    fn of(numbers: &[T]) -> Option<Self> {
        Some(numbers.into())
    }
}

/// Implements [`Element`] and [`Numbers`] for a type.
macro_rules! element {
    ($number:ident, $sum:literal, $min:literal, $max:literal, $min_of:ident, $max_of:ident, {$($sums:tt)*}) => {
        impl Element for $number {
            const SUM: &'static str = $sum;
            const MIN: &'static str = $min;
            const MAX: &'static str = $max;

            $($sums)*

            fn min(numbers: Many<Self>) -> Partial {
                Partial::$min_of(numbers)
            }

            fn min_of(partial: &Partial) -> Option<&[Self]> {
                let Partial::$min_of(numbers) = partial else {
                    return None;
                };
                Some(numbers)
            }

            fn max(numbers: Many<Self>) -> Partial {
                Partial::$max_of(numbers)
            }

            fn max_of(partial: &Partial) -> Option<&[Self]> {
                let Partial::$max_of(numbers) = partial else {
                    return None;
                };
                Some(numbers)
            }
        }

        impl Numbers for $number {
            type Element = Self;

            fn many(self) -> Many<Self> {
                Many(SmallVec::from_buf([self]))
            }

            fn of(numbers: &[Self]) -> Option<Self> {
                match numbers {
                    [number] => Some(*number),
                    _ => None,
                }
            }
        }
    };
}

/// The sums of integers of a type.
macro_rules! integer {
    ($integer:ident, $sum:literal, $min:literal, $max:literal, $sum_of:ident, $min_of:ident, $max_of:ident) => {
        element!($integer, $sum, $min, $max, $min_of, $max_of, {
            fn sum(numbers: Many<Self>) -> Partial {
                Partial::$sum_of(numbers.iter().map(|number| i128::from(*number)).collect())
            }

            fn sum_of(partial: &Partial) -> Result<SmallVec<[Self; 1]>, Mismatch> {
                let Partial::$sum_of(sums) = partial else {
                    return Err(Mismatch::Kind(Self::SUM));
                };
                let fits = |sum: &i128| Self::try_from(*sum).map_err(|_| Mismatch::Overflow(*sum));
                sums.iter().map(fits).collect()
            }
        });
    };
}

element!(
    f64,
    "the sum of `f64`",
    "the minimum of `f64`",
    "the maximum of `f64`",
    Min,
    Max,
    {
        fn sum(numbers: Many<Self>) -> Partial {
            Partial::Sum(FloatSums::new(numbers))
        }

        fn sum_of(partial: &Partial) -> Result<SmallVec<[Self; 1]>, Mismatch> {
            let Partial::Sum(sums) = partial else {
                return Err(Mismatch::Kind(Self::SUM));
            };
            Ok(SmallVec::from_slice(&sums.planes))
        }
    }
);
integer!(
    i64,
    "the sum of `i64`",
    "the minimum of `i64`",
    "the maximum of `i64`",
    SumSigned,
    MinSigned,
    MaxSigned
);
integer!(
    u64,
    "the sum of `u64`",
    "the minimum of `u64`",
    "the maximum of `u64`",
    SumUnsigned,
    MinUnsigned,
    MaxUnsigned
);

impl<T: Numbers> Reduction for Sum<T> {
    type Value = T;

    fn contribute(self) -> Partial {
        T::Element::sum(self.0.many())
    }

    fn value(combined: &Partial) -> Result<T, Mismatch> {
        let sums = T::Element::sum_of(combined)?;
        T::of(&sums).ok_or(Mismatch::Kind(T::Element::SUM))
    }
}

impl<T: Numbers> Reduction for Min<T> {
    type Value = T;

    fn contribute(self) -> Partial {
        T::Element::min(self.0.many())
    }

    fn value(combined: &Partial) -> Result<T, Mismatch> {
        let least = T::Element::min_of(combined).and_then(T::of);
        least.ok_or(Mismatch::Kind(T::Element::MIN))
    }
}

impl<T: Numbers> Reduction for Max<T> {
    type Value = T;

    fn contribute(self) -> Partial {
        T::Element::max(self.0.many())
    }

    fn value(combined: &Partial) -> Result<T, Mismatch> {
        let greatest = T::Element::max_of(combined).and_then(T::of);
        greatest.ok_or(Mismatch::Kind(T::Element::MAX))
    }
}

impl Reduction for And {
    type Value = bool;

    fn contribute(self) -> Partial {
        Partial::And(self.0)
    }

    fn value(combined: &Partial) -> Result<bool, Mismatch> {
        let Partial::And(holds) = combined else {
            return Err(Mismatch::Kind("`and`"));
        };
        Ok(*holds)
    }
}

impl Reduction for Or {
    type Value = bool;

    fn contribute(self) -> Partial {
        Partial::Or(self.0)
    }

    fn value(combined: &Partial) -> Result<bool, Mismatch> {
        let Partial::Or(holds) = combined else {
            return Err(Mismatch::Kind("`or`"));
        };
        Ok(*holds)
    }
}

impl Reductions {
    /// The contribution of one process to the reduction `name`.
    #[must_use]
    pub fn of(name: &'static str, contribution: impl Reduction) -> Self {
        Self::from(vec![(name.into(), contribution.contribute())])
    }

    /// The note of one process under `name`.
    ///
    /// # Panics
    ///
    /// If the name is none of a note.
    #[must_use]
    pub fn noted(name: impl Into<Cow<'static, str>>, value: impl Into<f64>) -> Self {
        let mut noted = Self::default();
        noted.note(name.into(), value.into());
        noted
    }

    /// Adds a note of a process.
    ///
    /// # Panics
    ///
    /// If the name is none of a note.
    pub(crate) fn note(&mut self, name: Cow<'static, str>, value: f64) {
        if let Err(problem) = note::check_name(&name) {
            panic!("{problem}");
        }
        self.add(name, Partial::note(value));
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn entries(&self) -> &[Entry] {
        self.0.as_deref().map_or(&[], SmallVec::as_slice)
    }

    /// Adds the contribution of a process.
    pub(crate) fn add(&mut self, name: Cow<'static, str>, partial: Partial) {
        let place = self.place(&name, partial.is_note());
        let entries = self.0.get_or_insert_default();
        match place {
            Ok(place) => entries[place].1.combine(partial),
            Err(place) => {
                // Most processes contribute to one or two: no room is kept for more.
                entries.reserve_exact(1);
                entries.insert(place, (name, partial));
            }
        }
    }

    /// Where a reduction or a note is, or would be.
    fn place(&self, name: &str, is_note: bool) -> Result<usize, usize> {
        self.entries()
            .binary_search_by(|entry| key(entry).cmp(&(name, is_note)))
    }

    /// Combines these reductions with those of other processes.
    #[inline]
    pub fn combine(&mut self, others: Self) {
        match others.0 {
            Some(others) if self.is_empty() => self.0 = Some(others),
            Some(others) => self.combine_entries(*others),
            None => {}
        }
    }

    fn combine_entries(&mut self, others: Entries) {
        for (place, (name, partial)) in others.into_iter().enumerate() {
            // Processes mostly contribute to the same reductions.
            match self.0.as_mut().and_then(|own| own.get_mut(place)) {
                Some(own) if key(own) == (&*name, partial.is_note()) => own.1.combine(partial),
                _ => self.add(name, partial),
            }
        }
    }

    /// The results, once all processes have contributed.
    ///
    /// # Errors
    ///
    /// If processes disagree about what is reduced, or there is too much of it.
    pub(crate) fn conclude(self) -> Result<Concluded, String> {
        let entries = self.entries().iter();
        let too_long = REDUCTIONS_MAX < entries.map(bytes).fold(0, u64::saturating_add);
        let (mut reduced, mut notes) = (Vec::new(), Notes::default());
        for (name, mut partial) in self.0.into_iter().flat_map(|entries| *entries) {
            if let Partial::Conflict(one, other) = partial {
                return Err(format!(
                    "`{name}` was reduced as {one} by some processes, and as {other} by others"
                ));
            }
            partial.conclude();
            if let Partial::Note(note) = partial {
                notes.insert(name, note.concluded());
            } else {
                reduced.push((name, partial));
            }
        }
        if !too_long {
            let reduced = reduced.into();
            return Ok(Concluded { reduced, notes });
        }
        let reductions = reduced.iter().map(|(name, _)| &**name);
        let names: Vec<&str> = reductions.chain(notes.names()).collect();
        let more = names.len().saturating_sub(NAMED_MAX);
        let mut named = names[..names.len() - more].join("`, `");
        if 0 < more {
            named = format!("{named}` and {more} more, as `{}", names[names.len() - 1]);
        }
        Err(format!(
            "the reductions and notes of a superstep may take {REDUCTIONS_MAX} B together, 8 for each number, {NOTE_BYTES} and its \
             name for each note, and all gathered values: send what takes more in messages (here `{named}`)"
        ))
    }

    /// The combined value of the reduction `name`.
    pub(crate) fn value<R: Reduction>(&self, name: &str) -> Result<R::Value, ReductionError> {
        let partial = self.get(name)?;
        R::value(partial).map_err(|mismatch| match mismatch {
            Mismatch::Kind(asked) => other(name, partial, asked),
            Mismatch::Overflow(sum) => ReductionError::Overflow {
                name: name.to_owned(),
                sum,
            },
        })
    }

    /// The values that were gathered as `name`.
    pub(crate) fn gathered<T: Payload>(
        &self,
        name: &str,
    ) -> Result<Vec<(Rank, T)>, ReductionError> {
        let partial = self.get(name)?;
        let Partial::Gather(values) = partial else {
            return Err(other(name, partial, "gathered values"));
        };
        let decoded = values.iter().map(|(rank, encoded)| {
            let value = rmp_serde::from_slice(encoded);
            let value = value.map_err(|error| ReductionError::Decoding {
                name: name.to_owned(),
                rank: *rank,
                message: error.to_string(),
            });
            Ok((*rank, value?))
        });
        decoded.collect()
    }

    fn get(&self, name: &str) -> Result<&Partial, ReductionError> {
        let place = self.place(name, false);
        let place = place.map_err(|_| ReductionError::Absent(name.to_owned()))?;
        Ok(&self.entries()[place].1)
    }

    /// The results, by name.
    pub(crate) fn results(&self) -> impl Iterator<Item = (&str, Reduced<'_>)> {
        let results = self.entries().iter();
        results.filter_map(|(name, partial)| Some((&**name, partial.result()?)))
    }

    /// The length by which a simulated network charges for them; zero if there are none. It is that of their names and numbers, and
    /// does not depend on the values: of a sum in progress, one number counts.
    #[must_use]
    #[inline]
    pub fn charged_len(&self) -> units::Bytes {
        let lengths = self.entries().iter();
        units::Bytes(lengths.map(charged).fold(0, u64::saturating_add))
    }

    /// By what a simulated network charges for them.
    #[must_use]
    pub fn outline(&self) -> Outline {
        let outlined = |entry: &Entry| Outlined {
            name: entry.0.clone(),
            is_note: entry.1.is_note(),
            charged: charged(entry),
        };
        Outline(self.entries().iter().map(outlined).collect())
    }

    /// Checks reductions of `processes` processes that another machine sent.
    ///
    /// # Errors
    ///
    /// If no processes can have contributed them.
    pub fn check(&self, processes: u32) -> Result<(), String> {
        let entries = self.entries();
        let is_ordered = entries.windows(2).all(|pair| key(&pair[0]) < key(&pair[1]));
        let has_names = entries.iter().all(|(name, partial)| {
            name.len() <= REDUCTION_NAME_MAX
                && (!partial.is_note() || note::check_name(name).is_ok())
        });
        let is_sound = |partial: &Partial| partial.is_sound(processes);
        if is_ordered && has_names && entries.iter().all(|(_, partial)| is_sound(partial)) {
            Ok(())
        } else {
            Err(format!("reductions that {processes} processes cannot have"))
        }
    }
}

impl Outline {
    /// Whether `reductions` are charged for as those of which it is the outline are, and alone as well as combined with others.
    #[must_use]
    pub fn is_of(&self, reductions: &Reductions) -> bool {
        let entries = reductions.entries();
        let mut pairs = entries.iter().zip(&self.0);
        self.0.len() == entries.len()
            && pairs.all(|(entry, own)| {
                key(entry) == (&*own.name, own.is_note) && charged(entry) == own.charged
            })
    }

    /// The number of its names.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no names.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// By what the reductions and notes of a superstep ascend.
fn key((name, partial): &Entry) -> (&str, bool) {
    (name, partial.is_note())
}

/// The bytes that a reduction or a note counts for.
fn bytes((name, partial): &Entry) -> u64 {
    let of_name = if partial.is_note() {
        length(name.len())
    } else {
        0
    };
    of_name + partial.bytes()
}

/// What a simulated network charges for a reduction or a note.
fn charged((name, partial): &Entry) -> u64 {
    if matches!(partial, Partial::TooLong) {
        // It ends the run.
        return 0;
    }
    length(name.len()) + partial.bytes()
}

/// The bytes that a note counts for: four numbers.
const NOTE_BYTES: u64 = 32;

/// The most names in an error.
const NAMED_MAX: usize = 20;

fn other(name: &str, found: &Partial, asked: &str) -> ReductionError {
    ReductionError::Other {
        name: name.to_owned(),
        found: found.kind().into_owned(),
        asked: asked.to_owned(),
    }
}

impl Partial {
    /// The combined value, once all processes have contributed; `None` for what processes do not have.
    fn result(&self) -> Option<Reduced<'_>> {
        Some(match self {
            Self::Sum(sums) => Reduced::Floats(Extent::Sum, Cow::Borrowed(&sums.planes)),
            Self::Min(numbers) => Reduced::Floats(Extent::Min, Cow::Borrowed(numbers)),
            Self::Max(numbers) => Reduced::Floats(Extent::Max, Cow::Borrowed(numbers)),
            Self::SumSigned(_) => match i64::sum_of(self) {
                Ok(sums) => Reduced::Signed(Extent::Sum, Cow::Owned(sums.to_vec())),
                Err(mismatch) => mismatch.overflow()?,
            },
            Self::SumUnsigned(_) => match u64::sum_of(self) {
                Ok(sums) => Reduced::Unsigned(Extent::Sum, Cow::Owned(sums.to_vec())),
                Err(mismatch) => mismatch.overflow()?,
            },
            Self::MinSigned(numbers) => Reduced::Signed(Extent::Min, Cow::Borrowed(numbers)),
            Self::MaxSigned(numbers) => Reduced::Signed(Extent::Max, Cow::Borrowed(numbers)),
            Self::MinUnsigned(numbers) => Reduced::Unsigned(Extent::Min, Cow::Borrowed(numbers)),
            Self::MaxUnsigned(numbers) => Reduced::Unsigned(Extent::Max, Cow::Borrowed(numbers)),
            Self::And(holds) => Reduced::And(*holds),
            Self::Or(holds) => Reduced::Or(*holds),
            Self::Gather(values) => Reduced::Gathered(values),
            Self::Note(_) | Self::Conflict(..) | Self::TooLong => return None,
        })
    }

    /// A gathered value.
    pub(crate) fn gather(
        rank: Rank,
        value: &impl Serialize,
    ) -> Result<Self, rmp_serde::encode::Error> {
        Ok(Self::Gather(vec![(rank, rmp_serde::to_vec(value)?.into())]))
    }

    /// A value that is noted.
    fn note(value: f64) -> Self {
        Self::Note(Box::new(NotePartial {
            count: 1,
            sum: FloatSums::new(value.many()),
            min: value.many(),
            max: value.many(),
        }))
    }

    const fn is_note(&self) -> bool {
        matches!(self, Self::Note(_))
    }

    /// Combines it with that of other processes.
    fn combine(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Sum(own), Self::Sum(other)) if own.len == other.len => own.add(&other),
            (Self::SumSigned(own), Self::SumSigned(other))
            | (Self::SumUnsigned(own), Self::SumUnsigned(other))
                if own.len() == other.len() =>
            {
                own.zip(&other, |own, other| own.saturating_add(other));
            }
            (Self::Min(own), Self::Min(other)) if own.len() == other.len() => {
                own.zip(&other, |own, other| extreme(own, other, Ordering::Less));
            }
            (Self::Max(own), Self::Max(other)) if own.len() == other.len() => {
                own.zip(&other, |own, other| extreme(own, other, Ordering::Greater));
            }
            (Self::MinSigned(own), Self::MinSigned(other)) if own.len() == other.len() => {
                own.zip(&other, Ord::min);
            }
            (Self::MaxSigned(own), Self::MaxSigned(other)) if own.len() == other.len() => {
                own.zip(&other, Ord::max);
            }
            (Self::MinUnsigned(own), Self::MinUnsigned(other)) if own.len() == other.len() => {
                own.zip(&other, Ord::min);
            }
            (Self::MaxUnsigned(own), Self::MaxUnsigned(other)) if own.len() == other.len() => {
                own.zip(&other, Ord::max);
            }
            (Self::Note(own), Self::Note(other)) => own.combine(&other),
            (Self::And(own), Self::And(other)) => *own &= other,
            (Self::Or(own), Self::Or(other)) => *own |= other,
            (Self::Gather(own), Self::Gather(other)) => {
                let before = own.len();
                own.extend(other);
                // All are counted in the end: here whenever their number has doubled, so that it costs little.
                if before.ilog2() < own.len().ilog2() && REDUCTIONS_MAX < self.bytes() {
                    *self = Self::TooLong;
                }
            }
            (Self::TooLong, Self::TooLong | Self::Gather(_)) => {}
            (Self::Gather(_), Self::TooLong) => *self = Self::TooLong,
            (_, other) => {
                let kinds = [self.kinds(), other.kinds()].into_iter().flatten();
                let least = kinds.clone().min().expect("two kinds");
                *self = Self::Conflict(least, kinds.max().expect("two kinds"));
            }
        }
    }

    /// What is reduced; of a conflict, both.
    fn kinds(&self) -> [Cow<'static, str>; 2] {
        if let Self::Conflict(one, other) = self {
            [one.clone(), other.clone()]
        } else {
            [self.kind(), self.kind()]
        }
    }

    /// What is reduced.
    fn kind(&self) -> Cow<'static, str> {
        let (name, count) = match self {
            Self::Sum(sums) => (
                "the sum of `f64`",
                usize::try_from(sums.len).unwrap_or(usize::MAX),
            ),
            Self::SumSigned(numbers) => ("the sum of `i64`", numbers.len()),
            Self::SumUnsigned(numbers) => ("the sum of `u64`", numbers.len()),
            Self::Min(numbers) => ("the minimum of `f64`", numbers.len()),
            Self::MinSigned(numbers) => ("the minimum of `i64`", numbers.len()),
            Self::MinUnsigned(numbers) => ("the minimum of `u64`", numbers.len()),
            Self::Max(numbers) => ("the maximum of `f64`", numbers.len()),
            Self::MaxSigned(numbers) => ("the maximum of `i64`", numbers.len()),
            Self::MaxUnsigned(numbers) => ("the maximum of `u64`", numbers.len()),
            Self::And(_) => ("`and`", 1),
            Self::Or(_) => ("`or`", 1),
            Self::Gather(_) | Self::TooLong => ("gathered values", 1),
            Self::Note(_) => ("a note", 1),
            Self::Conflict(one, _) => return one.clone(),
        };
        match count {
            1 => name.into(),
            _ => format!("{name}, {count} of them").into(),
        }
    }

    /// Rounds sums, and orders gathered values by rank. What is not a number has one encoding.
    fn conclude(&mut self) {
        if let Self::Gather(values) = self {
            // Stable: the values of one process keep their order.
            values.sort_by_key(|(rank, _)| *rank);
        }
        if let Self::Sum(sums) = self {
            sums.round();
        }
        let (Self::Sum(FloatSums {
            planes: numbers, ..
        })
        | Self::Min(numbers)
        | Self::Max(numbers)) = self
        else {
            return;
        };
        for number in numbers.0.iter_mut().filter(|number| number.is_nan()) {
            *number = f64::NAN;
        }
    }

    /// The bytes that it counts for.
    fn bytes(&self) -> u64 {
        match self {
            Self::Sum(sums) => 8 * u64::from(sums.len),
            Self::SumSigned(numbers) | Self::SumUnsigned(numbers) => 8 * length(numbers.len()),
            Self::Min(numbers) | Self::Max(numbers) => 8 * length(numbers.len()),
            Self::MinSigned(numbers) | Self::MaxSigned(numbers) => 8 * length(numbers.len()),
            Self::MinUnsigned(numbers) | Self::MaxUnsigned(numbers) => 8 * length(numbers.len()),
            Self::And(_) | Self::Or(_) | Self::Conflict(..) => 1,
            Self::Note(_) => NOTE_BYTES,
            Self::Gather(values) => values.iter().map(|(_, value)| length(value.len())).sum(),
            Self::TooLong => u64::MAX >> 1,
        }
    }

    /// Whether `processes` processes may have contributed it.
    fn is_sound(&self, processes: u32) -> bool {
        match self {
            Self::Sum(sums) => sums.is_sound(processes),
            Self::Gather(values) => !values.is_empty() && self.bytes() <= 2 * REDUCTIONS_MAX,
            Self::Note(note) => note.is_sound(),
            Self::Conflict(one, other) => one.len() <= KIND_MAX && other.len() <= KIND_MAX,
            Self::SumSigned(_)
            | Self::SumUnsigned(_)
            | Self::Min(_)
            | Self::MinSigned(_)
            | Self::MinUnsigned(_)
            | Self::Max(_)
            | Self::MaxSigned(_)
            | Self::MaxUnsigned(_)
            | Self::And(_)
            | Self::Or(_)
            | Self::TooLong => true,
        }
    }
}

impl NotePartial {
    /// Combines it with the values of other processes.
    fn combine(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum.add(&other.sum);
        self.min
            .zip(&other.min, |own, other| extreme(own, other, Ordering::Less));
        self.max.zip(&other.max, |own, other| {
            extreme(own, other, Ordering::Greater)
        });
    }

    /// The note, once all processes have noted their values.
    fn concluded(mut self) -> Note {
        self.sum.round();
        let number = |numbers: &[f64]| match numbers[0] {
            number if number.is_nan() => f64::NAN,
            number => number,
        };
        Note {
            count: self.count,
            sum: number(&self.sum.planes),
            min: number(&self.min),
            max: number(&self.max),
        }
    }

    /// Whether processes may have noted it.
    fn is_sound(&self) -> bool {
        let numbers = length(self.sum.planes.len());
        let has_sum = self.sum.len == 1 && 0 < numbers && numbers <= self.count;
        has_sum && self.min.len() == 1 && self.max.len() == 1
    }
}

/// The longest description of a reduction, in bytes.
const KIND_MAX: usize = 64;

/// The one of two numbers that is `on` this side of the other; not a number if one of them is not.
fn extreme(one: f64, other: f64, on: Ordering) -> f64 {
    if one.is_nan() || other.is_nan() {
        f64::NAN
    } else if one.total_cmp(&other) == on {
        one
    } else {
        other
    }
}

/// Sums in progress, one for each element of a vector.
///
/// Each is the exact sum of one number of each plane. The first plane is near the sums, the others have what rounding would have
/// lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[doc(hidden)]
pub struct FloatSums {
    /// The number of sums.
    len: u32,
    /// The planes, one after the other.
    planes: Many<f64>,
}

impl FloatSums {
    fn new(numbers: Many<f64>) -> Self {
        Self {
            len: u32::try_from(numbers.len()).expect("a contribution has fewer than 2^32 numbers"),
            planes: numbers,
        }
    }

    /// The number of sums.
    fn width(&self) -> usize {
        usize::try_from(self.len).expect("the numbers are here")
    }

    /// Adds the sums of other processes.
    fn add(&mut self, other: &Self) {
        let width = self.width();
        if width == 0 {
            return;
        }
        if let ([own], [other]) = (&mut self.planes[..], &other.planes[..]) {
            let (total, lost) = two_sum(*own, *other);
            if lost == 0.0 {
                *own = total;
                return;
            }
        }
        let mut rest: SmallVec<[f64; 1]> = SmallVec::new();
        for plane in other.planes.chunks_exact(width) {
            rest.clear();
            rest.extend_from_slice(plane);
            for own in self.planes.chunks_exact_mut(width) {
                add_without_error(own, &mut rest);
            }
            if rest.iter().any(|rest| *rest != 0.0) {
                self.planes.0.extend_from_slice(&rest);
            }
        }
    }

    /// Leaves one plane, that of the rounded sums.
    fn round(&mut self) {
        let width = self.width();
        if width == 0 {
            return;
        }
        let planes = self.planes.len() / width;
        for element in 0..width {
            let plane = |plane: usize| self.planes[plane * width + element];
            let is_long = (2..planes).any(|number| plane(number) != 0.0);
            // One addition of two numbers is exact but for its rounding. It also turns −0 into 0.
            let sum = if is_long {
                rounded_sum((0..planes).map(plane))
            } else {
                plane(0) + if planes < 2 { 0.0 } else { plane(1) }
            };
            self.planes.0[element] = sum;
        }
        self.planes.0.truncate(width);
    }

    fn is_sound(&self, processes: u32) -> bool {
        let (width, numbers) = (u64::from(self.len), length(self.planes.len()));
        let planes = numbers.checked_div(width).unwrap_or(0);
        numbers == planes * width
            && planes <= u64::from(processes.max(TERMS_MAX))
            && (0 < planes || width == 0)
    }
}

/// The most terms of a sum in progress of a few processes: each of them may contribute several values, and terms of 53 bits add up
/// to the 2129 bits that a sum may have.
const TERMS_MAX: u32 = 64;

/// Adds each of `rest` to the sum beside it, and leaves there what the sum has lost by rounding.
fn add_without_error(sums: &mut [f64], rest: &mut [f64]) {
    let mut are_finite = true;
    for (sum, rest) in sums.iter_mut().zip(rest.iter_mut()) {
        let (total, lost) = two_sum(*sum, *rest);
        are_finite &= lost.is_finite();
        // Whether these are the numbers that are to stay shows at the end; until then, nothing is lost.
        if lost.is_finite() {
            (*sum, *rest) = (total, lost);
        }
    }
    if are_finite {
        return;
    }
    for (sum, rest) in sums.iter_mut().zip(rest) {
        match (sum.is_finite(), rest.is_finite()) {
            // The sum of both is too large for a number; it may not be with others.
            (true, true) | (false, true) => {}
            (true, false) => std::mem::swap(sum, rest),
            (false, false) => {
                *sum += *rest;
                *rest = 0.0;
            }
        }
    }
}

/// The rounded sum of two numbers, and what rounding has lost (Knuth). The latter is not finite if the former is not.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// The sum of numbers, rounded once.
fn rounded_sum(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let special = numbers.clone().filter(|number| !number.is_finite());
    if let Some(special) = special.reduce(|sum, number| sum + number) {
        return special;
    }
    let mut exact = Superaccumulator([0; LIMBS]);
    numbers.for_each(|number| exact.add(number));
    exact.rounded()
}

/// A sum of fewer than 2³¹ finite numbers: digits to the base 2³², the lowest first, which may be negative or too large. The unit is
/// 2⁻¹⁰⁷⁴, of which all numbers are multiples.
struct Superaccumulator([i64; LIMBS]);

/// The greatest number has 2098 bits above 2⁻¹⁰⁷⁴, and 2³¹ of them 2129.
const LIMBS: usize = 67;

impl Superaccumulator {
    fn add(&mut self, number: f64) {
        let bits = number.to_bits();
        let (exponent, fraction) = ((bits >> 52) & 0x7ff, bits & (HIDDEN_BIT - 1));
        let (place, digits) = match exponent {
            0 => (0, fraction),
            _ => (exponent - 1, fraction | HIDDEN_BIT),
        };
        let mut rest = u128::from(digits) << (place % 32);
        let first = position(place / 32);
        for limb in &mut self.0[first..first + 3] {
            let part = i64::from(low(rest));
            *limb += if number.is_sign_negative() {
                -part
            } else {
                part
            };
            rest >>= 32;
        }
    }

    fn rounded(mut self) -> f64 {
        let is_negative = self.carry() < 0;
        if is_negative {
            self.0.iter_mut().for_each(|limb| *limb = -*limb);
            self.carry();
        }
        let Some(top) = self.0.iter().rposition(|limb| *limb != 0) else {
            return 0.0;
        };
        let length = 32 * length(top) + u64::from(64 - self.0[top].leading_zeros());
        let beyond = length.saturating_sub(53);
        let digits = self.digits_from(beyond);
        let is_half = 0 < beyond && self.digits_from(beyond - 1) & 1 == 1;
        let is_more = 0 < beyond && self.is_any_below(beyond - 1);
        let digits = digits + u64::from(is_half && (is_more || digits & 1 == 1));
        // The bits of a number count up over the limits of its exponent, also to infinity.
        let bits = match beyond {
            0 => digits,
            _ => ((beyond + 1) << 52) + (digits - HIDDEN_BIT),
        };
        let size = f64::from_bits(bits.min(f64::INFINITY.to_bits()));
        if is_negative { -size } else { size }
    }

    /// Has each digit be between 0 and 2³² - 1; returns what is left above them: 0, or -1 if the sum is negative.
    fn carry(&mut self) -> i64 {
        let mut carry = 0;
        for limb in &mut self.0 {
            let sum = *limb + carry;
            *limb = sum & 0xffff_ffff;
            carry = sum >> 32;
        }
        carry
    }

    /// The lowest 64 bits from bit `from` on.
    fn digits_from(&self, from: u64) -> u64 {
        let first = position(from / 32);
        let limbs = self.0[first..].iter().take(3).rev();
        let digits = limbs.fold(0_u128, |digits, limb| {
            (digits << 32) | u128::from(limb.unsigned_abs())
        });
        let digits = digits >> (from % 32);
        u64::from(low(digits)) | (u64::from(low(digits >> 32)) << 32)
    }

    /// Whether a bit below `end` is 1.
    fn is_any_below(&self, end: u64) -> bool {
        let whole = position(end / 32);
        let part = self.0[whole] & ((1 << (end % 32)) - 1);
        part != 0 || self.0[..whole].iter().any(|limb| *limb != 0)
    }
}

/// The bit of a number's digits that its encoding omits.
const HIDDEN_BIT: u64 = 1 << 52;

/// The lowest 32 bits.
fn low(digits: u128) -> u32 {
    u32::try_from(digits & 0xffff_ffff).expect("32 bits")
}

/// Numbers that are encoded as bytes: mostly one. They are equal to the last bit; what is not a number equals itself.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Many<T>(SmallVec<[T; 1]>);

impl<T: Number> PartialEq for Many<T> {
    fn eq(&self, other: &Self) -> bool {
        bytemuck::cast_slice::<T, u8>(&self.0) == bytemuck::cast_slice::<T, u8>(&other.0)
    }
}

impl<T: Copy> Many<T> {
    /// Replaces each number by the combination with that of `others`.
    fn zip(&mut self, others: &Self, combine: impl Fn(T, T) -> T) {
        for (own, other) in self.0.iter_mut().zip(&others.0) {
            *own = combine(*own, *other);
        }
    }
}

impl<T> std::ops::Deref for Many<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> std::ops::DerefMut for Many<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> FromIterator<T> for Many<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Self {
        Self(numbers.into_iter().collect())
    }
}

impl<T: Number> Serialize for Many<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        array::serialize(&self.0, serializer)
    }
}

impl<'de, T: Number> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        array::deserialize(deserializer).map(|numbers| Self(numbers.into()))
    }
}

#[cfg(test)]
mod tests;
