//! Typed values out of a tree, with errors that name key, place, invalid value and rule.

use std::fmt::{self, Display};

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, EnumAccess, Error, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::{Deserializer, forward_to_deserialize_any};

use crate::quantity::Unit;
use crate::tree::{Node, Value};

/// The value of `node`, which is found at `path`.
///
/// # Errors
///
/// The first invalid key or value in it.
pub fn decode<T: DeserializeOwned>(
    node: &Node,
    path: &str,
    units: fn(&str) -> Unit,
) -> Result<T, Fault> {
    let reader = Reader {
        node,
        path: path.to_owned(),
        unit: units(last_key(path)),
        units,
    };
    T::deserialize(&reader).map_err(|error| error.at(reader.node, &reader.path))
}

/// The part of the section `node` whose keys `T` has: several values may share a section.
///
/// # Errors
///
/// The first invalid value of this part.
pub fn decode_part<T: DeserializeOwned>(
    node: &Node,
    path: &str,
    units: fn(&str) -> Unit,
) -> Result<T, Fault> {
    if !matches!(node.value, Value::Table(_)) {
        return decode(node, path, units);
    }
    let keys = keys_of::<T>();
    let entries = node.entries().iter();
    let part = entries.filter(|(key, _)| keys.contains(&key.as_str()));
    let part = Node {
        value: Value::Table(part.cloned().collect()),
        origin: node.origin.clone(),
    };
    decode(&part, path, units)
}

/// The keys of a section that `T` is read from: the names of its fields.
pub fn keys_of<T: DeserializeOwned>() -> &'static [&'static str] {
    match T::deserialize(Fields) {
        Err(DecodeError::UnknownKey(keys)) => keys,
        _ => &[],
    }
}

/// Checks that the section `node` at `path` has no keys but `known` ones.
///
/// # Errors
///
/// The first key that is none of them.
pub fn refuse_unknown(node: &Node, path: &str, known: &[&str]) -> Result<(), Fault> {
    let mut entries = node.entries().iter();
    match entries.find(|(key, _)| !known.contains(&key.as_str())) {
        Some((key, node)) => Err(Fault::unknown_key(node.place(), &join(path, key), known)),
        None => Ok(()),
    }
}

/// Answers with the names of the fields that are asked for.
struct Fields;

impl<'de> Deserializer<'de> for Fields {
    type Error = DecodeError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, DecodeError> {
        Err(DecodeError::UnknownKey(fields))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, DecodeError> {
        Err(DecodeError::Problem("not a section".to_owned()))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// A place in the tree.
struct Reader<'a> {
    node: &'a Node,
    path: String,
    unit: Unit,
    units: fn(&str) -> Unit,
}

impl<'a> Reader<'a> {
    fn child(&self, key: &str, node: &'a Node) -> Self {
        Self {
            node,
            path: join(&self.path, key),
            unit: (self.units)(key),
            units: self.units,
        }
    }

    fn item(&self, index: usize, node: &'a Node) -> Self {
        Self {
            node,
            path: format!("{}[{index}]", self.path),
            unit: self.unit,
            units: self.units,
        }
    }

    fn mismatch(&self, expected: &str) -> DecodeError {
        let rule = format!("must be {expected}");
        Fault::invalid(self.node.place(), &self.path, self.node, rule).into()
    }

    fn number(&self) -> Result<f64, DecodeError> {
        let number = match &self.node.value {
            Value::Float(number) => *number,
            Value::Integer(number) => {
                #[expect(clippy::as_conversions, reason = "rounds as any decimal text would")]
                let number = *number as f64;
                number
            }
            Value::Text(text) => self.unit.read(text).map_err(DecodeError::Problem)?,
            _ => return Err(self.mismatch(self.expected_number())),
        };
        if !number.is_finite() {
            return Err(self.mismatch("a finite number"));
        }
        let bounded = self.unit.bounded(number);
        bounded
            .map_err(|rule| Fault::invalid(self.node.place(), &self.path, self.node, rule).into())
    }

    const fn expected_number(&self) -> &'static str {
        match self.unit {
            Unit::None => "a number",
            unit => unit.expected(),
        }
    }

    /// A whole number, however it is written: `900000`, `900e3`, `"900 kB"`.
    fn whole(&self, least: i128, greatest: i128) -> Result<i128, DecodeError> {
        let expected = || format!("a whole number from {least} to {greatest}");
        let whole = match &self.node.value {
            Value::Integer(whole) => {
                self.number()?;
                *whole
            }
            Value::Float(_) | Value::Text(_) => {
                let plain = self.unit == Unit::None;
                let number = self.number().map_err(|error| {
                    if plain {
                        self.mismatch(&expected())
                    } else {
                        error
                    }
                })?;
                if number.fract() != 0.0 || 2_f64.powi(100) < number.abs() {
                    return Err(self.mismatch(&expected()));
                }
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::as_conversions,
                    reason = "whole and in range, as checked just above"
                )]
                let whole = number as i128;
                whole
            }
            _ => return Err(self.mismatch(&expected())),
        };
        if (least..=greatest).contains(&whole) {
            Ok(whole)
        } else {
            Err(self.mismatch(&expected()))
        }
    }
}

macro_rules! whole_numbers {
    ($($method:ident $visit:ident $number:ty),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            let whole = self.whole(i128::from(<$number>::MIN), i128::from(<$number>::MAX))?;
            let number = <$number>::try_from(whole).expect("the range has been checked");
            visitor.$visit(number)
        }
    )*};
}

impl<'de> Deserializer<'de> for &Reader<'_> {
    type Error = DecodeError;

    whole_numbers!(
        deserialize_i8 visit_i8 i8,
        deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64
    );

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_f64(self.number()?)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.node.value {
            Value::Boolean(value) => visitor.visit_bool(value),
            _ => Err(self.mismatch("true or false")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Text(text) => visitor.visit_str(text),
            _ => Err(self.mismatch("a string")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.node.value {
            Value::Nil => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Array(items) => {
                let mut read = Items {
                    reader: self,
                    items,
                    next: 0,
                };
                let value = visitor.visit_seq(&mut read)?;
                let (found, expected) = (items.len(), read.next);
                if expected < found {
                    return Err(
                        self.mismatch(&format!("a list of {expected} elements, not {found}"))
                    );
                }
                Ok(value)
            }
            _ => Err(self.mismatch("a list, such as [1, 2]")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Table(entries) => visitor.visit_map(Entries {
                reader: self,
                entries,
                next: 0,
            }),
            _ => Err(self.mismatch("a section")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Text(text) => visitor.visit_enum(Variant {
                name: text,
                content: None,
            }),
            Value::Table(entries) if entries.len() == 1 => {
                let (name, node) = &entries[0];
                let content = Some(self.child(name, node));
                visitor.visit_enum(Variant { name, content })
            }
            _ => Err(self.mismatch(&format!("one of {}", list(variants)))),
        }
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Nil => visitor.visit_unit(),
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Integer(whole) => match i64::try_from(*whole) {
                Ok(whole) => visitor.visit_i64(whole),
                Err(_) => visitor.visit_u64(
                    u64::try_from(*whole).map_err(|_| self.mismatch("a smaller number"))?,
                ),
            },
            Value::Float(_) => visitor.visit_f64(self.number()?),
            // Inside a tagged enum the expected type is unknown; the key implies it.
            Value::Text(text) => match self.unit {
                Unit::None => visitor.visit_str(text),
                unit => visitor.visit_f64(unit.read(text).map_err(DecodeError::Problem)?),
            },
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Table(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}

struct Items<'r, 'a> {
    reader: &'r Reader<'a>,
    items: &'a [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some(node) = self.items.get(self.next) else {
            return Ok(None);
        };
        let reader = self.reader.item(self.next, node);
        self.next += 1;
        let value = seed
            .deserialize(&reader)
            .map_err(|error| error.at(reader.node, &reader.path))?;
        Ok(Some(value))
    }
}

struct Entries<'r, 'a> {
    reader: &'r Reader<'a>,
    entries: &'a [(String, Node)],
    next: usize,
}

impl<'de> MapAccess<'de> for Entries<'_, '_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DecodeError> {
        let Some((key, node)) = self.entries.get(self.next) else {
            return Ok(None);
        };
        let name: StrDeserializer<'_, DecodeError> = key.as_str().into_deserializer();
        let key = seed.deserialize(name).map_err(|error| {
            let reader = self.reader.child(key, node);
            error.at(reader.node, &reader.path)
        })?;
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DecodeError> {
        let (key, node) = &self.entries[self.next];
        self.next += 1;
        let reader = self.reader.child(key, node);
        Ok(seed
            .deserialize(&reader)
            .map_err(|error| error.at(reader.node, &reader.path))?)
    }
}

struct Variant<'a> {
    name: &'a str,
    content: Option<Reader<'a>>,
}

impl<'de, 'a> EnumAccess<'de> for Variant<'a> {
    type Error = DecodeError;
    type Variant = Content<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Content<'a>), DecodeError> {
        let name: StrDeserializer<'_, DecodeError> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, Content(self.content)))
    }
}

struct Content<'a>(Option<Reader<'a>>);

impl Content<'_> {
    fn reader(&self) -> Result<&Reader<'_>, DecodeError> {
        let missing = || DecodeError::Problem("expected a section with one entry".to_owned());
        self.0.as_ref().ok_or_else(missing)
    }
}

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        match self.0 {
            None => Ok(()),
            Some(reader) => Err(reader
                .mismatch("the name alone, as a string")
                .at(reader.node, &reader.path)
                .into()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DecodeError> {
        let reader = self.reader()?;
        Ok(seed
            .deserialize(reader)
            .map_err(|error| error.at(reader.node, &reader.path))?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, DecodeError> {
        let reader = self.reader()?;
        Ok(reader
            .deserialize_seq(visitor)
            .map_err(|error| error.at(reader.node, &reader.path))?)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let reader = self.reader()?;
        Ok(reader
            .deserialize_map(visitor)
            .map_err(|error| error.at(reader.node, &reader.path))?)
    }
}

fn last_key(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// An error on its way up to the node that it belongs to.
#[derive(Debug, thiserror::Error)]
enum DecodeError {
    /// What is wrong with a value, whose place is not known yet.
    #[error("{0}")]
    Problem(String),
    /// A name that is none of the keys of a section.
    #[error("unknown key")]
    UnknownKey(&'static [&'static str]),
    /// A key that has to be set.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// An error whose place is known.
    #[error(transparent)]
    Located(#[from] Fault),
}

impl DecodeError {
    /// Located at `node`, which is found at `path`, unless it already is somewhere deeper.
    fn at(self, node: &Node, path: &str) -> Fault {
        let place = node.place();
        match self {
            Self::Problem(problem) if matches!(node.value, Value::Table(_)) => {
                Fault::new(place, path, problem)
            }
            Self::Problem(rule) => Fault::invalid(place, path, node, rule),
            Self::UnknownKey(known) => Fault::unknown_key(place, path, known),
            Self::Missing(key) => Fault::missing(place, &join(path, key)),
            Self::Located(fault) => fault,
        }
    }
}

impl Error for DecodeError {
    fn custom<T: Display>(problem: T) -> Self {
        Self::Problem(problem.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::Problem(format!("must be {expected}"))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::Problem(format!("must be {expected}"))
    }

    fn unknown_variant(found: &str, known: &'static [&'static str]) -> Self {
        let hint = nearest(found, known).map_or_else(String::new, |nearest| {
            format!("; did you mean \"{nearest}\"?")
        });
        Self::Problem(format!("must be one of {}{hint}", list(known)))
    }

    fn unknown_field(_: &str, known: &'static [&'static str]) -> Self {
        Self::UnknownKey(known)
    }

    fn missing_field(key: &'static str) -> Self {
        Self::Missing(key)
    }
}

/// The path of `key` in the section at `path`, which is empty for the whole configuration.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// An invalid key or value.
///
/// Its text is that of a compiler's message: what is wrong on the first line, then `-->` and the place, then `help:`
/// and one thing to try.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Fault {
    /// Where the value was written; `None`: nowhere, as for a missing key.
    pub origin: Option<String>,
    /// The error, which names the key.
    pub message: String,
    /// One thing to try.
    pub help: Option<String>,
    /// The key, if it does not exist.
    pub unknown: Option<String>,
}

impl Fault {
    /// A fault at `key`; empty: at no key. A suggestion that ends `problem` becomes the help.
    pub fn new(origin: Option<&str>, key: &str, problem: impl Display) -> Self {
        if key.is_empty() {
            Self::plain(origin, problem.to_string())
        } else {
            Self::plain(origin, format!("`{key}`: {problem}"))
        }
    }

    /// The value `found` of `key` does not keep `rule`, as in "must be at least 1".
    pub fn invalid(
        origin: Option<&str>,
        key: &str,
        found: impl Display,
        rule: impl Display,
    ) -> Self {
        let of_key = match key {
            "" => String::new(),
            key => format!(" for `{key}`"),
        };
        Self::plain(origin, format!("invalid value `{found}`{of_key}: {rule}"))
    }

    /// A key that has to be set.
    pub fn missing(origin: Option<&str>, key: &str) -> Self {
        Self::plain(origin, format!("missing key `{key}`"))
    }

    fn plain(origin: Option<&str>, message: String) -> Self {
        let (message, help) = match message.split_once(SUGGESTION) {
            Some((message, name)) => (message.to_owned(), Some(format!("did you mean {name}"))),
            None => (message, None),
        };
        Self {
            origin: origin.map(str::to_owned),
            message,
            help,
            unknown: None,
        }
    }

    /// A key that does not exist, with the nearest that does.
    pub fn unknown_key(origin: Option<&str>, key: &str, known: &[&str]) -> Self {
        let name = key.rsplit('.').next().unwrap_or(key);
        let problem = if known.is_empty() {
            format!("unknown key `{key}`: this section has no keys")
        } else if let Some(nearest) = nearest(name, known) {
            format!("unknown key `{key}`; did you mean `{nearest}`?")
        } else {
            format!("unknown key `{key}`: expected one of {}", list(known))
        };
        Self {
            unknown: Some(key.to_owned()),
            ..Self::plain(origin, problem)
        }
    }

    /// Whether the value is from the command line or the environment, not from a file.
    pub fn is_usage(&self) -> bool {
        self.origin
            .as_deref()
            .is_some_and(|origin| origin.starts_with("--set") || origin.starts_with("environment "))
    }
}

impl Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        if let Some(origin) = &self.origin {
            write!(formatter, "\n  --> {origin}")?;
        }
        if let Some(help) = &self.help {
            write!(formatter, "\n  help: {help}")?;
        }
        Ok(())
    }
}

/// The separator before a suggestion at the end of a message.
const SUGGESTION: &str = "; did you mean ";

/// The known name nearest to `name`, if one is near enough.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let allowed = (name.chars().count() / 3).max(1);
    let by_distance = known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(&name, known), *known))
        .min()
        .filter(|(distance, _)| *distance <= allowed)
        .map(|(_, known)| known);
    // `rate` for `data_rate`, `superstep` for `superstep_limit`: only if there is one such key.
    by_distance.or_else(|| {
        let mut containing = known.iter().filter(|known| {
            2 < name.len() && (known.contains(name.as_str()) || name.contains(**known))
        });
        containing
            .next()
            .filter(|_| containing.next().is_none())
            .copied()
    })
}

/// Names in backquotes, separated by commas.
pub fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::{merge, parse};

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Load {
        window: f64,
        kind: String,
        #[serde(skip)]
        seed: u64,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Limit {
        limit: Option<u32>,
    }

    fn unit(key: &str) -> Unit {
        match key {
            "window" => Unit::Seconds,
            _ => Unit::None,
        }
    }

    #[test]
    fn several_values_share_a_section() {
        let file = parse("[a]\nlimit = 3\nwindow = \"5 ms\"\n", "a.toml").unwrap();
        let merged = merge(&[file]);
        let section = merged.get("a").unwrap();
        let load: Load = decode_part(section, "a", unit).unwrap();
        assert_eq!(
            load,
            Load {
                window: 5e-3,
                ..Load::default()
            }
        );
        let limit: Limit = decode_part(section, "a", unit).unwrap();
        assert_eq!(limit.limit, Some(3));
        assert_eq!(keys_of::<Load>(), ["window", "kind"]);
        let known = [keys_of::<Load>(), keys_of::<Limit>()].concat();
        assert_eq!(refuse_unknown(section, "a", &known), Ok(()));
        let fault = refuse_unknown(section, "a", keys_of::<Load>()).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "unknown key `a.limit`: expected one of `window`, `kind`\n  --> a.toml:2"
        );
    }

    #[test]
    fn what_is_no_section_is_refused() {
        let merged = merge(&[parse("a = 3\n", "a.toml").unwrap()]);
        let fault = decode_part::<Load>(merged.get("a").unwrap(), "a", unit).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "invalid value `3` for `a`: must be a section\n  --> a.toml:1"
        );
    }

    #[test]
    fn a_mistyped_key_suggests_the_nearest_known_key() {
        let known = ["interval", "tolerance", "heuristic", "data_rate", "x"];
        assert_eq!(nearest("intervall", &known), Some("interval"));
        assert_eq!(nearest("Tolerence", &known), Some("tolerance"));
        assert_eq!(nearest("rate", &known), Some("data_rate"));
        assert_eq!(nearest("gravity", &known), None);
    }

    #[test]
    fn a_fault_shows_message_place_and_help() {
        let fault = Fault::unknown_key(Some("a.toml:3"), "run.sed", &["seed", "superstep_limit"]);
        assert_eq!(
            fault.to_string(),
            "unknown key `run.sed`\n  --> a.toml:3\n  help: did you mean `seed`?"
        );
        let fault = Fault::unknown_key(Some("--set"), "run.gravity", &["seed"]);
        assert_eq!(
            fault.to_string(),
            "unknown key `run.gravity`: expected one of `seed`\n  --> --set"
        );
        assert!(fault.is_usage());
    }
}
