//! JSON objects that keep the texts of their values, so that a copy is the same in all that is not changed.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// An object: its entries in the order of the text, each value as its text.
#[derive(Clone, Debug)]
pub(super) struct Object<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'a> Object<'a> {
    /// The value of `key`, the last one if there are several, as other readers have it; `None` as well if it is null.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        let entry = self.0.iter().rev().find(|(name, _)| name == key);
        entry
            .map(|(_, value)| *value)
            .filter(|value| value.get() != "null")
    }

    /// The object as text, with other values where `change` returns one for a key.
    pub(super) fn text(&self, change: impl Fn(&str, &'a RawValue) -> Option<String>) -> String {
        let entries = self.0.iter().map(|(key, value)| {
            let value = change(key, value).unwrap_or_else(|| value.get().to_owned());
            format!("{}:{value}", quoted(key))
        });
        format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Object<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Object(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// `text` as a string of JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_written_anew() {
        let text = r#"{"b":1.50e+3, "a" : [ 1, 2.0 ],"u\u0041":18446744073709551616,"b":null}"#;
        let object: Object<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(
            object.text(|_, _| None),
            r#"{"b":1.50e+3,"a":[ 1, 2.0 ],"uA":18446744073709551616,"b":null}"#
        );
        let changed = object.text(|key, _| (key == "a").then(|| "0".to_owned()));
        assert_eq!(
            changed,
            r#"{"b":1.50e+3,"a":0,"uA":18446744073709551616,"b":null}"#
        );
        assert!(object.get("b").is_none());
        assert!(object.get("c").is_none());
        assert_eq!(object.get("a").unwrap().get(), "[ 1, 2.0 ]");
    }
}
