//! Configuration as a tree of values that remember where they were written.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use crate::decode::{Fault, join};

/// A value and the place it was written at.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value itself.
    pub value: Value,
    /// `conf/lbm.toml:12`, `environment MIGBSP__RUN__SEED`, `--set`; `None`: built in.
    pub origin: Option<String>,
}

/// A value of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not set.
    Nil,
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number, whatever its size.
    Integer(i128),
    /// A number with a fraction or an exponent; may be `nan` or infinite.
    Float(f64),
    /// A string.
    Text(String),
    /// `[a, b, c]`.
    Array(Vec<Node>),
    /// A section, in the order it is to be shown.
    Table(Vec<(String, Node)>),
}

impl Node {
    /// A value written at `origin`.
    pub fn new(value: Value, origin: &str) -> Self {
        Self {
            value,
            origin: Some(origin.to_owned()),
        }
    }

    /// A section that is written nowhere.
    pub const fn table(entries: Vec<(String, Self)>) -> Self {
        Self {
            value: Value::Table(entries),
            origin: None,
        }
    }

    /// A section without entries.
    pub const fn empty_table() -> Self {
        Self::table(Vec::new())
    }

    /// The entry `key`, if this is a section that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries()
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
    }

    /// The value at a path of keys separated by dots.
    pub fn find(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |node, key| node.get(key))
    }

    /// The entries of a section; nothing for any other value.
    pub fn entries(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The fault of this section, which is at `path`, whose value `found` of `key` does not keep `rule`.
    pub fn invalid(
        &self,
        path: &str,
        key: &str,
        found: impl fmt::Display,
        rule: impl fmt::Display,
    ) -> Fault {
        let place = self.find(key).and_then(Self::place);
        Fault::invalid(place, &join(path, key), found, rule)
    }

    /// Its place, or that of the first value inside that has one.
    pub fn place(&self) -> Option<&str> {
        let inside = || match &self.value {
            Value::Table(entries) => entries.iter().find_map(|(_, node)| node.place()),
            Value::Array(items) => items.iter().find_map(Self::place),
            _ => None,
        };
        self.origin.as_deref().or_else(inside)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(formatter)
    }
}

/// As TOML writes it.
impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => formatter.write_str("nothing"),
            Self::Boolean(value) => value.fmt(formatter),
            Self::Integer(value) => value.fmt(formatter),
            // The debug form keeps a point or an exponent, so that a float stays a float.
            Self::Float(value) if value.is_finite() => fmt::Debug::fmt(value, formatter),
            Self::Float(value) if value.is_nan() => formatter.write_str("nan"),
            Self::Float(value) => write!(
                formatter,
                "{}inf",
                if value.is_sign_negative() { "-" } else { "" }
            ),
            Self::Text(text) => formatter.write_str(&quoted(text)),
            Self::Array(items) => {
                formatter.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(formatter, "{}{item}", if index == 0 { "" } else { ", " })?;
                }
                formatter.write_str("]")
            }
            Self::Table(entries) => {
                formatter.write_str("{")?;
                for (index, (key, node)) in entries.iter().enumerate() {
                    let comma = if index == 0 { " " } else { ", " };
                    write!(formatter, "{comma}{key} = {node}")?;
                }
                formatter.write_str(" }")
            }
        }
    }
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            control if control.is_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(control)));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Keeps the order of the entries, which is that of the fields when a structure was written.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = deserializer.deserialize_any(ValueVisitor)?;
        Ok(Self {
            value,
            origin: None,
        })
    }
}

/// Any value: it is the user's.
#[cfg(feature = "schemas")]
impl schemars::JsonSchema for Node {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Node".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({})
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Nil => serializer.serialize_unit(),
            Value::Boolean(value) => serializer.serialize_bool(*value),
            Value::Integer(value) => serializer.serialize_i128(*value),
            Value::Float(value) => serializer.serialize_f64(*value),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Array(items) => serializer.collect_seq(items),
            Value::Table(entries) => {
                serializer.collect_map(entries.iter().map(|(key, node)| (key, node)))
            }
        }
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value of a configuration")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(i128::from(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(i128::from(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Table(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_the_order_they_were_written_in() {
        let node: Node = serde_json::from_str(r#"{"z": 1, "a": [1.5, null], "m": {}}"#).unwrap();
        assert_eq!(node.to_string(), "{ z = 1, a = [1.5, nothing], m = { } }");
        assert_eq!(
            node.find("z").map(ToString::to_string).as_deref(),
            Some("1")
        );
        assert_eq!(node.find("z.y"), None);
    }

    #[test]
    fn values_read_back_as_toml() {
        assert_eq!(Value::Float(1e8).to_string(), "100000000.0");
        assert_eq!(Value::Float(2.1e-7).to_string(), "2.1e-7");
        assert_eq!(
            Value::Text("a\"b\u{1}".to_owned()).to_string(),
            "\"a\\\"b\\u0001\""
        );
    }
}
