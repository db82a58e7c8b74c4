//! The comparison of a record with the decisions that are computed from it.

use record::Run;
use serde::Serialize;
use serde_json::Value;

/// A value that the record has otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Which, in the words of the record: `p3 potentials ice computation`.
    pub what: String,
    /// The value in the record, to the last digit.
    pub recorded: String,
    /// The recomputed value.
    pub recomputed: String,
}

/// How a run calls its Sets and hosts.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) sets: Vec<String>,
    pub(super) hosts: Vec<String>,
}

/// Values being compared, and what was found to differ.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    names: &'a Names,
    differences: Vec<Difference>,
}

impl Names {
    pub(super) fn new(run: &Run) -> Self {
        Self {
            sets: run.sets.clone(),
            hosts: run.hosts.clone(),
        }
    }

    /// What the field `key` holds, as people call it.
    fn shown(&self, key: &str, value: &Value) -> String {
        let named = |names: &[String]| {
            let index = usize::try_from(value.as_u64()?).ok()?;
            names.get(index).cloned()
        };
        let name = match key {
            "set" | "own" | "target" => named(&self.sets),
            "host" | "from" | "to" | "runner_up" => named(&self.hosts),
            "rank" => value.as_u64().map(|rank| format!("p{}", rank + 1)),
            _ => None,
        };
        match value {
            Value::Null => "nothing".to_owned(),
            Value::String(text) => text.clone(),
            other => name.unwrap_or_else(|| other.to_string()),
        }
    }
}

impl<'a> Comparison<'a> {
    pub(super) fn new(names: &'a Names) -> Self {
        Self {
            names,
            differences: Vec::new(),
        }
    }

    /// Compares what is `recorded` with what is `recomputed`, field by field.
    pub(super) fn compare<T: Serialize + PartialEq>(
        &mut self,
        what: &str,
        recorded: &T,
        recomputed: &T,
    ) {
        if recorded != recomputed {
            let value = |of: &T| serde_json::to_value(of).expect("a record is plain data");
            self.walk(what, "", &value(recorded), &value(recomputed));
        }
    }

    pub(super) fn differences(self) -> Vec<Difference> {
        self.differences
    }

    /// `key` is the last name on the way to these values.
    fn walk(&mut self, path: &str, key: &str, recorded: &Value, recomputed: &Value) {
        match (recorded, recomputed) {
            _ if recorded == recomputed => {}
            (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
                for (key, (one, other)) in one.keys().zip(one.values().zip(other.values())) {
                    self.walk(&join(path, key), key, one, other);
                }
            }
            (Value::Array(one), Value::Array(other)) => {
                if one.len() != other.len() {
                    let number = join(path, "number");
                    self.differ(&number, "", &one.len().into(), &other.len().into());
                }
                for (index, (one, other)) in one.iter().zip(other).enumerate() {
                    let part = match one.get("set") {
                        Some(set) => self.names.shown("set", set),
                        None => format!("#{}", index + 1),
                    };
                    let key = if index == 0 { key } else { "" };
                    self.walk(&join(path, &part), key, one, other);
                }
            }
            _ => self.differ(path, key, recorded, recomputed),
        }
    }

    fn differ(&mut self, what: &str, key: &str, recorded: &Value, recomputed: &Value) {
        self.differences.push(Difference {
            what: what.to_owned(),
            recorded: self.names.shown(key, recorded),
            recomputed: self.names.shown(key, recomputed),
        });
    }
}

fn join(path: &str, part: &str) -> String {
    if path.is_empty() {
        part.to_owned()
    } else {
        format!("{path} {part}")
    }
}
