//! The layers of a configuration, each a source of the crate `config`: defaults < file < environment < `--set`.
//!
//! `config` decides which layer sets a value: the last that has the key. A layer is made as a tree of `config` by what
//! reads it (a TOML document, a variable, an argument), every value with its origin, and [`merge`] turns the tree that
//! `config` has built into a [`Node`], once. Nothing is turned back.

mod file;

use std::ffi::OsString;

use config::{Config, ConfigError, Map, Source, ValueKind};
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::tree::{Node, Value};

pub use file::{FileError, parse, read};

/// One layer of a configuration.
///
/// Invariant: it is a table.
#[derive(Clone, Debug)]
pub struct Layer(config::Value);

impl Layer {
    /// The section `name` with plain values, each written at its origin.
    pub fn section(name: &str, entries: impl IntoIterator<Item = (String, Value, String)>) -> Self {
        let entries = entries.into_iter().map(|(key, value, origin)| {
            let kind = match value {
                Value::Boolean(value) => ValueKind::Boolean(value),
                Value::Integer(value) => ValueKind::I128(value),
                Value::Float(value) => ValueKind::Float(value),
                Value::Text(text) => ValueKind::String(text),
                Value::Nil | Value::Array(_) | Value::Table(_) => ValueKind::Nil,
            };
            (key, config::Value::new(Some(&origin), kind))
        });
        let entries: Map<String, config::Value> = entries.collect();
        if entries.is_empty() {
            return Self(config::Value::new(
                None,
                Map::<String, config::Value>::new(),
            ));
        }
        Self(nested(&[name], config::Value::new(None, entries)))
    }
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, config::Value>, ConfigError> {
        self.0.clone().into_table()
    }
}

/// All layers as one tree, the keys of every section in the order of their names; the last layer that has a key sets its
/// value.
///
/// # Panics
///
/// Never: these sources do not fail.
pub fn merge(layers: &[Layer]) -> Node {
    let mut builder = Config::builder();
    for layer in layers {
        builder = builder.add_source(layer.clone());
    }
    let merged = builder.build().expect("tables in memory do not fail");
    let layers: Vec<&config::Value> = layers.iter().map(|layer| &layer.0).collect();
    node(&merged.cache, &layers)
}

/// `merged` as it is in `layers`, where sections have places, which merging takes from them.
fn node(merged: &config::Value, layers: &[&config::Value]) -> Node {
    let mut origin = merged.origin().map(str::to_owned);
    let value = match &merged.kind {
        ValueKind::Nil => Value::Nil,
        ValueKind::Boolean(value) => Value::Boolean(*value),
        ValueKind::I64(value) => Value::Integer(i128::from(*value)),
        ValueKind::I128(value) => Value::Integer(*value),
        ValueKind::U64(value) => Value::Integer(i128::from(*value)),
        ValueKind::U128(value) => i128::try_from(*value).map_or(Value::Nil, Value::Integer),
        ValueKind::Float(value) => Value::Float(*value),
        ValueKind::String(text) => Value::Text(text.clone()),
        ValueKind::Array(items) => Value::Array(items.iter().map(|item| node(item, &[])).collect()),
        ValueKind::Table(entries) => {
            let place = layers.iter().rev().find_map(|layer| layer.origin());
            origin = origin.or_else(|| place.map(str::to_owned));
            let entries = entries.iter().map(|(key, value)| {
                let inside = layers.iter().filter_map(|layer| match &layer.kind {
                    ValueKind::Table(entries) => entries.get(key),
                    _ => None,
                });
                (key.clone(), node(value, &inside.collect::<Vec<_>>()))
            });
            let mut entries: Vec<(String, Node)> = entries.collect();
            // The map is unordered.
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Table(entries)
        }
    };
    Node { value, origin }
}

/// `value` inside the sections named by `keys`, outermost first, each at the place of the value.
fn nested(keys: &[&str], value: config::Value) -> config::Value {
    let origin = value.origin().map(str::to_owned);
    keys.iter().rev().fold(value, |inner, key| {
        let section = Map::from([((*key).to_owned(), inner)]);
        config::Value::new(origin.as_ref(), section)
    })
}

/// The values of all `--set` arguments, `section.key=value`, a layer for each.
///
/// # Errors
///
/// If one of them is not `section.key=value`.
pub fn assignments(arguments: &[String]) -> Result<Vec<Layer>, Fault> {
    let assignment = |argument: &String| {
        let malformed = || {
            let rule = "must be section.key=value, such as scheduler.interval=8";
            Fault::invalid(Some(ASSIGNED), "", argument, rule)
        };
        let (path, text) = argument.split_once('=').ok_or_else(malformed)?;
        let keys: Vec<&str> = path.trim().split('.').map(str::trim).collect();
        if keys.len() < 2 || keys.iter().any(|key| key.is_empty()) {
            return Err(malformed());
        }
        Ok(Layer(nested(&keys, file::value(text, ASSIGNED))))
    };
    arguments.iter().map(assignment).collect()
}

/// The values of all `MIGBSP__SECTION__KEY` variables among `variables`, a layer for each.
///
/// Names of variables have no `-` in most shells: in the path of one of the `sections`, such as `a.b-c`, `_` stands for
/// it, unless another of them is called so.
///
/// # Errors
///
/// If a name or a value is not text, or a name has an empty part.
pub fn environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    sections: &[String],
) -> Result<Vec<Layer>, Fault> {
    let mut ours = Vec::new();
    for (name, text) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        let origin = format!("{VARIABLE}{name}");
        let text = text
            .into_string()
            .map_err(|_| Fault::new(Some(&origin), "", "the value is not UTF-8 text"))?;
        ours.push((name[PREFIX.len()..].to_lowercase(), text, origin));
    }
    // Variables are unordered; sorting decides which one wins if two differ in case only.
    ours.sort();
    let variable = |(name, text, origin): (String, String, String)| {
        let path = name.replace("__", ".");
        let path = hyphenated(&path, sections);
        let keys: Vec<&str> = path.split('.').collect();
        if keys.len() < 2 || keys.iter().any(|key| key.is_empty()) {
            let problem = "must be MIGBSP__SECTION__KEY, such as MIGBSP__SCHEDULER__INTERVAL=8";
            let problem = format!("invalid variable: {problem}");
            return Err(Fault::new(Some(&origin), "", problem));
        }
        Ok(Layer(nested(&keys, file::value(&text, &origin))))
    };
    ours.into_iter().map(variable).collect()
}

/// `path` with the hyphens of the one of `sections` that it leads into.
fn hyphenated(path: &str, sections: &[String]) -> String {
    let inside = |section: &str| {
        let rest = path.strip_prefix(section)?;
        (rest.is_empty() || rest.starts_with('.')).then_some(rest)
    };
    if sections.iter().any(|section| inside(section).is_some()) {
        return path.to_owned();
    }
    let meant = sections.iter().find_map(|section| {
        let rest = inside(&section.replace('-', "_"))?;
        Some(format!("{section}{rest}"))
    });
    meant.unwrap_or_else(|| path.to_owned())
}

/// A value that the environment or the command line has set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Override {
    /// Its key, `section.key`.
    pub key: String,
    /// As it was written, units included.
    pub value: Node,
    /// `--set`, or `environment MIGBSP__SECTION__KEY`.
    pub from: String,
}

/// The overrides among the merged layers `written`, by key.
#[must_use]
pub fn overrides(written: &Node) -> Vec<Override> {
    let mut found = Vec::new();
    gather(written, "", &mut found);
    found.sort_by(|left, right| left.key.cmp(&right.key));
    found
}

fn gather(table: &Node, path: &str, found: &mut Vec<Override>) {
    for (key, node) in table.entries() {
        let key = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        if matches!(node.value, Value::Table(_)) {
            gather(node, &key, found);
            continue;
        }
        let origin = node.origin.as_deref();
        let is_override = |origin: &&str| *origin == ASSIGNED || origin.starts_with(VARIABLE);
        if let Some(from) = origin.filter(is_override) {
            found.push(Override {
                key,
                value: node.clone(),
                from: from.to_owned(),
            });
        }
    }
}

/// The origin of every value of an argument.
const ASSIGNED: &str = "--set";

/// The beginning of the origin of every value of a variable, before its name.
const VARIABLE: &str = "environment ";

const PREFIX: &str = "MIGBSP__";

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(arguments: &[&str]) -> Node {
        let arguments: Vec<String> = arguments.iter().map(|one| (*one).to_owned()).collect();
        merge(&assignments(&arguments).unwrap())
    }

    #[test]
    fn the_later_layer_wins_key_by_key_and_keeps_its_place() {
        let file = parse("[run]\nseed = 1\nlimit = 5\n", "a.toml").unwrap();
        let variables = [("MIGBSP__RUN__SEED".into(), "2".into())];
        let environment = environment(variables, &[]).unwrap();
        let set = assignments(&["run.seed=3".to_owned()]).unwrap();
        let mut layers = vec![file];
        layers.extend(environment);
        let merged = merge(&layers);
        let seed = merged.find("run.seed").unwrap();
        assert_eq!(seed.value, Value::Integer(2));
        assert_eq!(
            seed.origin.as_deref(),
            Some("environment MIGBSP__RUN__SEED")
        );
        layers.extend(set);
        let merged = merge(&layers);
        let seed = merged.find("run.seed").unwrap();
        assert_eq!(
            (&seed.value, seed.origin.as_deref()),
            (&Value::Integer(3), Some("--set"))
        );
        let limit = merged.find("run.limit").unwrap();
        assert_eq!(limit.origin.as_deref(), Some("a.toml:3"));
        let run = merged.get("run").unwrap();
        assert_eq!(run.place(), Some("--set"));
    }

    #[test]
    fn values_are_toml_or_bare_strings() {
        let shown = |argument: &str| assigned(&[argument]).find("a.b").unwrap().to_string();
        assert_eq!(shown("a.b=4"), "4");
        assert_eq!(shown("a.b=iii"), "\"iii\"");
        assert_eq!(shown("a.b=900 kB"), "\"900 kB\"");
        assert_eq!(shown("a.b=[1e8, 2]"), "[100000000.0, 2]");
        assert_eq!(shown("a.b=x=y"), "\"x=y\"");
        assert_eq!(shown("a.b="), "\"\"");
        assert_eq!(shown("a.b={ c = 1 }"), "{ c = 1 }");
    }

    #[test]
    fn the_last_assignment_to_a_key_wins() {
        let node = assigned(&["a.b=1", "a.b=2"]);
        assert_eq!(node.find("a.b").unwrap().value, Value::Integer(2));
    }

    #[test]
    fn a_malformed_assignment_is_refused() {
        for argument in ["interval", "interval=4", ".a=1", "a.=1", "=1"] {
            let fault = assignments(&[argument.to_owned()]).unwrap_err();
            assert!(
                fault.to_string().contains("must be section.key=value"),
                "{fault}"
            );
        }
    }

    #[test]
    fn variables_reach_nested_keys() {
        let variables = [
            (
                "MIGBSP__SCHEDULER__MIGRATION__DATA_RATE".into(),
                "2e-7".into(),
            ),
            ("PATH".into(), "/bin".into()),
        ];
        let node = merge(&environment(variables, &[]).unwrap());
        let rate = node.find("scheduler.migration.data_rate").unwrap();
        assert_eq!(rate.value, Value::Float(2e-7));
        assert_eq!(node.entries().len(), 1);
    }

    #[test]
    fn a_variable_without_a_key_is_named() {
        let fault = environment([("MIGBSP__RUN".into(), "1".into())], &[]).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "invalid variable: must be MIGBSP__SECTION__KEY, such as MIGBSP__SCHEDULER__INTERVAL=8\n  --> environment MIGBSP__RUN"
        );
        assert!(environment([("MIGBSP__RUN__".into(), "1".into())], &[]).is_err());
    }

    #[test]
    fn underscores_stand_for_hyphens_in_names_of_sections() {
        let read = |name: &str, known: &[&str]| {
            let known: Vec<String> = known
                .iter()
                .map(|name| format!("application.{name}"))
                .collect();
            let variables = [(name.into(), "1".into())];
            merge(&environment(variables, &known).unwrap()).to_string()
        };
        let (plain, hyphen) = (
            "MIGBSP__APPLICATION__LU_KERNEL__MY_KEY",
            "MIGBSP__APPLICATION__LU-KERNEL__MY_KEY",
        );
        let meant = "{ application = { lu-kernel = { my_key = 1 } } }";
        let known = ["lu", "lu-kernel"];
        assert_eq!(read(plain, &known), meant);
        assert_eq!(read(hyphen, &known), meant);
        let own = ["lu-kernel", "lu_kernel"];
        assert_eq!(read(plain, &own), meant.replace('-', "_"));
        assert_eq!(
            read("MIGBSP__RUN__LU_KERNEL", &known),
            "{ run = { lu_kernel = 1 } }"
        );
    }

    #[test]
    fn values_that_replace_those_of_the_file_are_overrides() {
        let file = parse("[run]\nseed = 1\nlimit = 5\n", "a.toml").unwrap();
        let variables = [
            ("MIGBSP__RUN__SEED".into(), "2".into()),
            ("MIGBSP__RUN__DEPTH".into(), "7".into()),
        ];
        let set = ["run.seed=3", "a.b.c=[1, 2]", "a.rate=900 kB"].map(str::to_owned);
        let mut layers = vec![file];
        layers.extend(environment(variables, &[]).unwrap());
        layers.extend(assignments(&set).unwrap());
        let found = overrides(&merge(&layers));
        let shown: Vec<String> = found
            .iter()
            .map(|one| format!("{} = {} from {}", one.key, one.value, one.from))
            .collect();
        assert_eq!(
            shown,
            [
                "a.b.c = [1, 2] from --set",
                "a.rate = \"900 kB\" from --set",
                "run.depth = 7 from environment MIGBSP__RUN__DEPTH",
                "run.seed = 3 from --set",
            ]
        );
    }
}
