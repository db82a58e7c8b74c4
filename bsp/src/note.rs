//! Notes: numbers that a program reports of a superstep, for people.
//!
//! A process notes a value under a name ([`Superstep::note`](crate::Superstep::note)); the record of the run has, for each
//! superstep and name, what all processes noted. Notes travel with the arrivals of processes at the barrier, as contributions to
//! reductions do ([`crate::reduction`]), and so depend on no placement, barrier or order of arrival. Nothing is decided by
//! them, and no process has them.

use std::borrow::Cow;
use std::collections::{BTreeMap, btree_map};
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeTuple, Serializer};

use crate::array::Array;
use crate::name;
use crate::reduction::REDUCTION_NAME_MAX;

/// The values that were noted under one name in a superstep.
///
/// Notes are equal if their numbers are, to the last bit; what is not a number equals itself.
///
/// In JSON a note of one value is this value, and others are objects with the fields of this type. JSON has no numbers for
/// infinities and for what is not a number: they are the texts `Infinity`, `-Infinity` and `NaN`.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    feature = "schemas",
    derive(schemars::JsonSchema),
    schemars(with = "ShownNote")
)]
pub struct Note {
    /// The number of values, at least 1. A process may note several.
    pub count: u64,
    /// Their sum: the exact one, rounded once.
    pub sum: f64,
    /// The least of them; not a number if any of them is not.
    pub min: f64,
    /// The greatest of them; not a number if any of them is not.
    pub max: f64,
}

/// The notes of a superstep, by name.
///
/// Invariant: a name has from 1 to [`REDUCTION_NAME_MAX`] bytes, and no control characters; each note has a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Notes(BTreeMap<Cow<'static, str>, Note>);

impl Note {
    /// The mean of the values.
    #[must_use]
    #[expect(clippy::as_conversions, reason = "a count of values is far below 2^53")]
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// The values of both. The sum is that of both sums, and rounded.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let is_number = !self.min.is_nan() && !other.min.is_nan();
        let or_nan = |number: f64| if is_number { number } else { f64::NAN };
        Self {
            count: self.count.saturating_add(other.count),
            sum: self.sum + other.sum,
            min: or_nan(self.min.min(other.min)),
            max: or_nan(self.max.max(other.max)),
        }
    }

    /// A note of one value.
    #[must_use]
    pub fn of(value: f64) -> Self {
        Self {
            count: 1,
            // The sum of −0 alone is 0.
            sum: value + 0.0,
            min: value,
            max: value,
        }
    }

    fn bits(&self) -> (u64, [u64; 3]) {
        (self.count, [self.sum, self.min, self.max].map(f64::to_bits))
    }
}

impl PartialEq for Note {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}

impl Eq for Note {}

impl Notes {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The note of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Note> {
        self.0.get(name)
    }

    /// All notes, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Note)> {
        self.0.iter().map(|(name, note)| (&**name, note))
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|name| &**name)
    }

    /// The first notes, `most` of them.
    #[must_use]
    pub fn first(&self, most: usize) -> Self {
        let all = self.0.iter().take(most);
        Self(all.map(|(name, note)| (name.clone(), *note)).collect())
    }

    /// Adds a note, whose name has been checked.
    pub(crate) fn insert(&mut self, name: Cow<'static, str>, note: Note) {
        self.0.insert(name, note);
    }
}

/// Checks the name of a note.
///
/// # Errors
///
/// If it is empty, too long, or has control characters.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || REDUCTION_NAME_MAX < name.len() {
        return Err(format!(
            "the name of a note has from 1 to {REDUCTION_NAME_MAX} bytes, not {}",
            name.len()
        ));
    }
    name::check_name(name).map_err(|error| format!("the name of a note: {error}"))
}

impl Serialize for Notes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_map(&self.0);
        }
        serializer.collect_seq(&self.0)
    }
}

impl<'de> Deserialize<'de> for Notes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_map(NotesVisitor)
        } else {
            deserializer.deserialize_seq(NotesVisitor)
        }
    }
}

struct NotesVisitor;

impl NotesVisitor {
    fn add<E: de::Error>(notes: &mut Notes, (name, note): (String, Note)) -> Result<(), E> {
        check_name(&name).map_err(E::custom)?;
        match notes.0.entry(name.into()) {
            btree_map::Entry::Vacant(place) => {
                place.insert(note);
                Ok(())
            }
            btree_map::Entry::Occupied(place) => Err(E::custom(format_args!(
                "two notes have the name `{}`",
                place.key()
            ))),
        }
    }
}

impl<'de> Visitor<'de> for NotesVisitor {
    type Value = Notes;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("notes by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Notes, A::Error> {
        let mut notes = Notes::default();
        while let Some(entry) = map.next_entry()? {
            Self::add(&mut notes, entry)?;
        }
        Ok(notes)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Notes, A::Error> {
        let mut notes = Notes::default();
        while let Some(entry) = list.next_element()? {
            Self::add(&mut notes, entry)?;
        }
        Ok(notes)
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            // As bytes, in which numbers may be anything.
            let mut pair = serializer.serialize_tuple(2)?;
            pair.serialize_element(&self.count)?;
            pair.serialize_element(&Array::from(vec![self.sum, self.min, self.max]))?;
            return pair.end();
        }
        let shown = match self.count {
            1 => ShownNote::Value(Shown(self.min)),
            count => ShownNote::Values {
                count,
                sum: Shown(self.sum),
                min: Shown(self.min),
                max: Shown(self.max),
            },
        };
        shown.serialize(serializer)
    }
}

/// A note in a text: its value if one was noted, or else what is known of all values.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum ShownNote {
    Value(Shown),
    Values {
        /// Number of values.
        #[cfg_attr(feature = "schemas", schemars(range(min = 2)))]
        count: u64,
        /// Their sum.
        sum: Shown,
        /// The least of them; `NaN` if any of them is.
        min: Shown,
        /// The greatest of them; `NaN` if any of them is.
        max: Shown,
    },
}

impl<'de> Deserialize<'de> for Note {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_any(NoteVisitor);
        }
        let (count, numbers) = <(u64, Array<f64>)>::deserialize(deserializer)?;
        match (count, &numbers[..]) {
            (1.., &[sum, min, max]) => Ok(Self {
                count,
                sum,
                min,
                max,
            }),
            _ => Err(de::Error::custom(
                "expected a note: a number of values and three numbers",
            )),
        }
    }
}

/// A note in a text: its one value, or its numbers by name.
struct NoteVisitor;

impl<'de> Visitor<'de> for NoteVisitor {
    type Value = Note;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a note: a number, `Infinity`, `-Infinity`, `NaN`, or an object with `count`, `sum`, `min` and `max`")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Note, E> {
        Ok(Note::of(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Note, E> {
        ShownVisitor
            .visit_u64(value)
            .map(|Shown(value)| Note::of(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Note, E> {
        ShownVisitor
            .visit_i64(value)
            .map(|Shown(value)| Note::of(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Note, E> {
        ShownVisitor
            .visit_str(value)
            .map(|Shown(value)| Note::of(value))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Note, A::Error> {
        let (mut count, mut numbers) = (None, [None; 3]);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "count" => count = Some(map.next_value()?),
                "sum" => numbers[0] = Some(map.next_value::<Shown>()?.0),
                "min" => numbers[1] = Some(map.next_value::<Shown>()?.0),
                "max" => numbers[2] = Some(map.next_value::<Shown>()?.0),
                _ => {
                    let _ignored: de::IgnoredAny = map.next_value()?;
                }
            }
        }
        let (Some(count @ 1..), [Some(sum), Some(min), Some(max)]) = (count, numbers) else {
            return Err(de::Error::custom(
                "expected a note with `count`, which is at least 1, `sum`, `min` and `max`",
            ));
        };
        Ok(Note {
            count,
            sum,
            min,
            max,
        })
    }
}

/// A number in a text, which may have no digits.
struct Shown(f64);

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            number if number.is_finite() => serializer.serialize_f64(number),
            f64::INFINITY => serializer.serialize_str(INFINITY),
            f64::NEG_INFINITY => serializer.serialize_str(NEG_INFINITY),
            _ => serializer.serialize_str(NAN),
        }
    }
}

#[cfg(feature = "schemas")]
impl schemars::JsonSchema for Shown {
    fn schema_name() -> Cow<'static, str> {
        "Shown".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number; JSON has none for infinities and for what is not a number.",
            "anyOf": [{ "type": "number" }, { "enum": [INFINITY, NEG_INFINITY, NAN] }],
        })
    }
}

impl<'de> Deserialize<'de> for Shown {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShownVisitor)
    }
}

struct ShownVisitor;

impl Visitor<'_> for ShownVisitor {
    type Value = Shown;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number, `Infinity`, `-Infinity` or `NaN`")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Shown, E> {
        Ok(Shown(value))
    }

    #[expect(
        clippy::as_conversions,
        reason = "another program may write 1 for 1.0; rounds from 2^53 on"
    )]
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Shown, E> {
        Ok(Shown(value as f64))
    }

    #[expect(
        clippy::as_conversions,
        reason = "another program may write 1 for 1.0; rounds from 2^53 on"
    )]
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Shown, E> {
        Ok(Shown(value as f64))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Shown, E> {
        match value {
            INFINITY => Ok(Shown(f64::INFINITY)),
            NEG_INFINITY => Ok(Shown(f64::NEG_INFINITY)),
            NAN => Ok(Shown(f64::NAN)),
            other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
        }
    }
}

const INFINITY: &str = "Infinity";
const NEG_INFINITY: &str = "-Infinity";
const NAN: &str = "NaN";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_of_one_value_is_the_value_and_others_are_objects() {
        let note = |count, [sum, min, max]: [f64; 3]| Note {
            count,
            sum,
            min,
            max,
        };
        for (note, json) in [
            (Note::of(0.5), "0.5"),
            (Note::of(-0.0), "-0.0"),
            (Note::of(f64::NEG_INFINITY), r#""-Infinity""#),
            (Note::of(f64::NAN), r#""NaN""#),
            (Note::of(1e300), "1e+300"),
            (
                note(8, [2.0, 0.125, 0.5]),
                r#"{"count":8,"sum":2.0,"min":0.125,"max":0.5}"#,
            ),
            (
                note(2, [f64::INFINITY, 1.0, f64::INFINITY]),
                r#"{"count":2,"sum":"Infinity","min":1.0,"max":"Infinity"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&note).unwrap(), json);
            assert_eq!(serde_json::from_str::<Note>(json).unwrap(), note, "{json}");
        }
        assert_eq!(serde_json::from_str::<Note>("3").unwrap(), Note::of(3.0));
        assert_eq!(serde_json::from_str::<Note>("-3").unwrap(), Note::of(-3.0));
    }

    #[test]
    fn what_no_note_is_is_refused() {
        for (json, problem) in [
            (r#""inf""#, "expected a number, `Infinity`"),
            ("null", "expected a note"),
            (
                r#"{"count":0,"sum":0,"min":0,"max":0}"#,
                "`count`, which is at least 1",
            ),
            (r#"{"count":2,"sum":0,"min":0}"#, "`sum`, `min` and `max`"),
        ] {
            let error = serde_json::from_str::<Note>(json).unwrap_err().to_string();
            assert!(error.contains(problem), "{json}: {error}");
        }
        let long = "x".repeat(REDUCTION_NAME_MAX + 1);
        for (json, problem) in [
            (r#"{"":1}"#.to_owned(), "from 1 to 64 bytes, not 0"),
            (format!(r#"{{"{long}":1}}"#), "from 1 to 64 bytes, not 65"),
            (r#"{"\u001b[2J":1}"#.to_owned(), "control characters"),
            (r#"{"x":1,"x":2}"#.to_owned(), "two notes have the name `x`"),
        ] {
            let error = serde_json::from_str::<Notes>(&json)
                .unwrap_err()
                .to_string();
            assert!(error.contains(problem), "{json}: {error}");
        }
        let encoded = rmp_serde::to_vec(&[("x", (0, Array::from(vec![1.0_f64; 3])))]).unwrap();
        assert!(
            rmp_serde::from_slice::<Notes>(&encoded).is_err(),
            "a note without a value"
        );
    }
}
