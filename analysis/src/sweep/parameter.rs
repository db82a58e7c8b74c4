//! `--set KEY=VALUES`: a key, and the values that it takes one after another.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use settings::{Node, Value, assignments, merge, tree_of};

use crate::sweep::{list, range};

/// A key with its values.
///
/// Invariant: at least one value, no duplicates; the key is `section.key`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    key: String,
    values: Vec<Node>,
}

impl Parameter {
    /// The key, `section.key`.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The values, in the order they were written.
    pub fn values(&self) -> &[Node] {
        &self.values
    }

    /// Whether it has several values.
    pub fn varies(&self) -> bool {
        1 < self.values.len()
    }

    /// The value at `place` as a number, if all are.
    pub(super) fn numbers(&self) -> Option<Vec<f64>> {
        self.values
            .iter()
            .map(|value| number(&value.value))
            .collect()
    }

    /// The assignment of the value at `place`: `section.key=value`, the value as TOML.
    pub(super) fn assignment(&self, place: usize) -> String {
        format!("{}={}", self.key, self.values[place])
    }

    /// All values in a line, as `--set` takes them.
    pub(super) fn list(&self) -> String {
        let values: Vec<String> = self.values.iter().map(shown).collect();
        values.join(", ")
    }
}

impl FromStr for Parameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = "must be SECTION.KEY=VALUES, such as scheduler.interval=2,4,8";
        let (path, list) = text.split_once('=').ok_or(malformed)?;
        let keys: Vec<&str> = path.split('.').map(str::trim).collect();
        if keys.len() < 2 || keys.iter().any(|key| key.is_empty()) {
            return Err(malformed.to_owned());
        }
        let key = keys.join(".");
        if list.trim().is_empty() {
            return Err(format!(
                "`{key}` has no value: write values as in 2,4,8, or a range as in 2..8:2; an empty text is \"\""
            ));
        }
        let mut values: Vec<Node> = Vec::new();
        for (place, item) in list::items(list)?.into_iter().enumerate() {
            if item.is_empty() {
                let place = place + 1;
                return Err(format!(
                    "value {place} of `{key}` is empty: a comma separates values; an empty text is \"\""
                ));
            }
            match range::numbers(item)? {
                Some(numbers) => values.extend(numbers),
                None => values.push(value(&key, item)?),
            }
        }
        if let Some((first, second)) = twice(&values) {
            let (text, first, second) = (shown(&values[second]), first + 1, second + 1);
            return Err(format!(
                "`{key}` has the value {text} twice, as value {first} and as value {second}"
            ));
        }
        Ok(Self { key, values })
    }
}

/// The value that `text` is, without the place it was written at.
fn value(key: &str, text: &str) -> Result<Node, String> {
    let layers = assignments(&[format!("{key}={text}")]).map_err(|fault| fault.message)?;
    let merged = merge(&layers);
    let node = merged.find(key).ok_or("must be SECTION.KEY=VALUES")?;
    match node.value {
        // JSON, in which a sweep is kept, has no such numbers.
        Value::Float(number) if !number.is_finite() => {
            Err(format!("`{text}` for `{key}` must be a finite number"))
        }
        _ => Ok(tree_of(node)),
    }
}

/// The places of two values that are equal; 8 and 8.0 are.
fn twice(values: &[Node]) -> Option<(usize, usize)> {
    // Numbers by their bits, all else as TOML.
    let text = |node: &Node| match number(&node.value) {
        Some(number) => format!("{:x}", (number + 0.0).to_bits()),
        None => node.to_string(),
    };
    let mut known = BTreeMap::new();
    let mut numbered = values.iter().enumerate();
    numbered.find_map(|(place, value)| known.insert(text(value), place).map(|first| (first, place)))
}

/// The value as a number, if it is one that is written without a unit.
fn number(value: &Value) -> Option<f64> {
    match value {
        // An integer above 2^53 has its neighbour's place on an axis.
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// A value for people: a text without quotes if it is plain, everything else as TOML.
pub(super) fn shown(node: &Node) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "-_.:/+%".contains(character);
    match &node.value {
        Value::Text(text) if !text.is_empty() && text.chars().all(is_plain) => text.clone(),
        _ => node.to_string(),
    }
}

/// A value as a cell of a table: a text without quotes, everything else as TOML.
pub(super) fn cell(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => text.clone(),
        _ => node.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(text: &str) -> Parameter {
        text.parse().unwrap()
    }

    #[track_caller]
    fn fault(text: &str) -> String {
        text.parse::<Parameter>().unwrap_err()
    }

    #[test]
    fn values_are_lists_and_ranges() {
        let check = |text: &str, key: &str, list: &str| {
            let parameter = parameter(text);
            assert_eq!((parameter.key(), &*parameter.list()), (key, list));
        };
        check("a.b=2,4,8", "a.b", "2, 4, 8");
        check(" a . b = 16..64:16 ", "a.b", "16, 32, 48, 64");
        check("a.b=1..3,10,0.5", "a.b", "1, 2, 3, 10, 0.5");
        check("a.b=1 s,10 s", "a.b", "\"1 s\", \"10 s\"");
        check("a.b=[1, 2],[3]", "a.b", "[1, 2], [3]");
        check("a.b=\"x,y\",z", "a.b", "\"x,y\", z");
        check("a.b=\"\"", "a.b", "\"\"");
        check("a.b.c={ x = 1, y = 2 }", "a.b.c", "{ x = 1, y = 2 }");
        check("a.b=true,false", "a.b", "true, false");
    }

    #[test]
    fn an_assignment_reads_back_as_the_value() {
        for text in [
            "a.b=1 s",
            "a.b=[1e8, 2]",
            "a.b=\"x,y\"",
            "a.b=0.1",
            "a.b={ x = 1 }",
        ] {
            let first = parameter(text);
            let again = value("a.b", first.assignment(0).strip_prefix("a.b=").unwrap());
            assert_eq!(again.unwrap(), first.values()[0], "{text}");
            let json = serde_json::to_string(&first).unwrap();
            assert_eq!(serde_json::from_str::<Parameter>(&json).unwrap(), first);
        }
    }

    #[test]
    fn numbers_have_a_place_on_an_axis() {
        assert_eq!(parameter("a.b=1,0.5").numbers().unwrap(), [1.0, 0.5]);
        assert_eq!(parameter("a.b=1,1 s").numbers(), None);
    }

    #[test]
    fn malformed_parameters_are_refused() {
        for text in ["interval", "interval=4", ".a=1", "a.=1", "=1", ""] {
            assert!(
                fault(text).starts_with("must be SECTION.KEY=VALUES"),
                "{text}"
            );
        }
        assert!(fault("a.b=").contains("`a.b` has no value"));
        assert!(fault("a.b=1,,2").contains("value 2 of `a.b` is empty"));
        assert!(fault("a.b=1,").contains("value 2 of `a.b` is empty"));
        let twice = "`a.b` has the value 8.0 twice, as value 1 and as value 3";
        assert_eq!(fault("a.b=8,4,8.0"), twice);
        assert!(fault("a.b=1..3,2").contains("has the value 2 twice"));
        assert!(fault("a.b=x,x").contains("has the value x twice"));
        assert!(fault("a.b=[1").contains("is not closed"));
        assert!(fault("a.b=3..1").contains("runs backwards"));
        assert!(fault("a.b=nan").contains("must be a finite number"));
    }
}
