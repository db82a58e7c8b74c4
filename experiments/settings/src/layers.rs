//! The layers of a configuration, each a source of the crate `config`: defaults < file < environment < `--set`; and the
//! configuration in effect, as text.
//!
//! `config` decides which layer sets a value: the last that has the key. A layer is made as a tree of `config` by what
//! reads it (a TOML document, a variable, an argument), every value with its origin, and [`merge`] turns the tree that
//! `config` has built into a [`Node`], once. Nothing is turned back.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use config::{Config, ConfigError, Map, Source, ValueKind};
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::decode::{Fault, join};
use crate::files::{name_of, nearest_file, read_bytes, text};
use crate::tree::{Node, Value};

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
        Ok(Layer(nested(&keys, value(text, ASSIGNED))))
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
        Ok(Layer(nested(&keys, value(&text, &origin))))
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Override {
    /// Its key, `section.key`.
    pub key: String,
    /// As it was written, units included.
    pub value: Node,
    /// `--set`, or `environment MIGBSP__SECTION__KEY`.
    #[cfg_attr(
        feature = "schemas",
        schemars(pattern("^(--set|environment MIGBSP__.+)$"))
    )]
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
        let key = join(path, key);
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

/// Why a file is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("{path}: cannot be read: {source}{help}")]
    Unreadable {
        /// Which file.
        path: String,
        /// Why.
        source: io::Error,
        /// The file that may be meant, on a line of its own; empty: no name is near enough.
        help: String,
    },
    /// It is not text.
    #[error("{path}: is not UTF-8 text (byte {byte} is not)")]
    NotText {
        /// Which file.
        path: String,
        /// The first invalid byte.
        byte: usize,
    },
    /// It is not TOML.
    #[error("{problem}\n  --> {place}{excerpt}")]
    NotToml {
        /// `file:line:column`.
        place: String,
        /// The parser's message.
        problem: String,
        /// The line with a mark below it, on lines of their own.
        excerpt: String,
    },
}

/// The text of the file at `path`.
///
/// # Errors
///
/// If it cannot be read or is not text.
pub fn read(path: &Path) -> Result<String, FileError> {
    let name = name_of(path);
    let bytes = read_bytes(path).map_err(|source| FileError::Unreadable {
        path: name.clone(),
        help: nearest_file(path)
            .filter(|_| source.kind() == io::ErrorKind::NotFound)
            .map_or_else(String::new, |nearest| {
                format!("\n  help: did you mean `{}`?", nearest.display())
            }),
        source,
    })?;
    text(bytes).map_err(|error| FileError::NotText {
        path: name,
        byte: error.utf8_error().valid_up_to() + 1,
    })
}

/// The values of a TOML document, which error messages call `name`; each is written at its line.
///
/// # Errors
///
/// If the text is not TOML.
pub fn parse(text: &str, name: &str) -> Result<Layer, FileError> {
    let lines = Lines::new(text);
    let origin = |at: usize| format!("{name}:{}", lines.place(at).0);
    document(text, &origin).map(Layer).map_err(|(at, problem)| {
        let (line, column) = lines.place(at);
        FileError::NotToml {
            place: format!("{name}:{line}:{column}"),
            problem,
            excerpt: lines.excerpt(line, column),
        }
    })
}

/// `text` as TOML would read it, or as a bare string if TOML would not; it is written at `origin`.
fn value(text: &str, origin: &str) -> config::Value {
    let text = text.trim();
    let read = document(&format!("value = {text}\n"), &|_| origin.to_owned());
    let mut entries = read
        .ok()
        .and_then(|read| read.into_table().ok())
        .unwrap_or_default();
    // A line break could add a second value.
    let single = if entries.len() == 1 {
        entries.remove("value")
    } else {
        None
    };
    single.unwrap_or_else(|| config::Value::new(Some(&origin.to_owned()), text))
}

/// Where a document is not what a configuration can be, as a byte, and why.
type Misfit = (usize, String);

/// The document `text`; `origin` is the place of a byte.
fn document(text: &str, origin: &impl Fn(usize) -> String) -> Result<config::Value, Misfit> {
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (at, error.message().trim_end().replace('\n', ", "))
    })?;
    Ok(config::Value::new(None, table(document.get_ref(), origin)?))
}

fn table(table: &DeTable<'_>, origin: &impl Fn(usize) -> String) -> Result<ValueKind, Misfit> {
    // The table is sorted by name; the first misfit is that of the file.
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let entries = entries.into_iter().map(|(key, value)| {
        // The place of a value that spans lines is its key.
        let place = origin(key.span().start);
        let value = config::Value::new(Some(&place), convert(value, origin)?);
        Ok((key.get_ref().to_string(), value))
    });
    Ok(ValueKind::Table(entries.collect::<Result<_, _>>()?))
}

fn convert(
    value: &Spanned<DeValue<'_>>,
    origin: &impl Fn(usize) -> String,
) -> Result<ValueKind, Misfit> {
    let at = value.span().start;
    Ok(match value.get_ref() {
        DeValue::String(text) => ValueKind::String(text.to_string()),
        DeValue::Boolean(value) => ValueKind::Boolean(*value),
        DeValue::Integer(value) => i128::from_str_radix(value.as_str(), value.radix())
            .map(ValueKind::I128)
            .map_err(|_| (at, format!("the number {value} is too large")))?,
        DeValue::Float(value) => {
            let number: f64 = value
                .as_str()
                .parse()
                .map_err(|_| (at, format!("{value} is not a number")))?;
            let infinite = number.is_infinite() && !value.as_str().contains("inf");
            if infinite {
                return Err((at, format!("the number {value} is too large")));
            }
            ValueKind::Float(number)
        }
        DeValue::Datetime(date) => ValueKind::String(date.to_string()),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| {
                let place = origin(item.span().start);
                Ok(config::Value::new(Some(&place), convert(item, origin)?))
            });
            ValueKind::Array(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(inner) => table(inner, origin)?,
    })
}

/// Where lines begin.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(breaks).collect(),
        }
    }

    /// Line and column of a byte, from one.
    fn place(&self, at: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts[line - 1];
        let column = self
            .text
            .get(start..at)
            .map_or(0, |text| text.chars().count());
        (line, column + 1)
    }

    fn excerpt(&self, line: usize, column: usize) -> String {
        let Some(text) = self.text.lines().nth(line - 1) else {
            return String::new();
        };
        // A long line is cut around the place.
        let skipped = column.saturating_sub(SHOWN / 2);
        let skipped = if text.chars().count() <= SHOWN {
            0
        } else {
            skipped
        };
        let shown: String = text.chars().skip(skipped).take(SHOWN).collect();
        let margin = " ".repeat(line.to_string().len());
        let before = " ".repeat(column - 1 - skipped);
        format!("\n  {line} | {shown}\n  {margin} | {before}^")
    }
}

/// Characters of a line that an excerpt shows.
const SHOWN: usize = 100;

/// `value` as a tree, its fields in the order they were declared.
///
/// # Panics
///
/// If the value has no form in JSON, such as a map whose keys are not strings.
pub fn tree_of<T: Serialize>(value: &T) -> Node {
    let text = serde_json::to_string(value).expect("a section of a configuration is plain data");
    serde_json::from_str(&text).expect("what was just written reads back")
}

/// `node` as JSON without spaces, the entries of every section by key: equal values have equal texts.
///
/// # Panics
///
/// Never: every value has a form in JSON.
pub fn canonical(node: &Node) -> String {
    serde_json::to_string(&sorted(node)).expect("a configuration is plain data")
}

/// `node` with the entries of every section by key.
fn sorted(node: &Node) -> Node {
    let value = match &node.value {
        Value::Table(entries) => {
            let entries = entries.iter();
            let mut entries: Vec<(String, Node)> = entries
                .map(|(key, node)| (key.clone(), sorted(node)))
                .collect();
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Table(entries)
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    };
    Node {
        value,
        origin: None,
    }
}

/// `effective` as TOML; each value is followed by its origin in `written`.
pub fn print(effective: &Node, written: &Node) -> String {
    let mut text = String::new();
    print_table(effective, Some(written), "", &mut text);
    text
}

fn print_table(table: &Node, written: Option<&Node>, path: &str, text: &mut String) {
    let is_table = |node: &Node| matches!(node.value, Value::Table(_));
    let (tables, values): (Vec<_>, Vec<_>) =
        table.entries().iter().partition(|(_, node)| is_table(node));
    if !path.is_empty() && (!values.is_empty() || tables.is_empty()) {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}[{path}]\n"));
    }
    let lines: Vec<(String, &str)> = values
        .iter()
        .map(|(key, node)| {
            let from = written.and_then(|written| written.get(key));
            let line = match node.value {
                Value::Nil => format!("# {key} is not set"),
                _ => format!("{} = {node}", key_text(key)),
            };
            (line, from.and_then(Node::place).unwrap_or("default"))
        })
        .collect();
    let width = lines
        .iter()
        .map(|(line, _)| line.chars().count())
        .filter(|width| *width <= 60);
    let width = width.max().unwrap_or(0);
    for (line, origin) in lines {
        text.push_str(&format!("{line:width$}  # {origin}\n"));
    }
    for (key, node) in tables {
        let inner = join(path, &key_text(key));
        print_table(
            node,
            written.and_then(|written| written.get(key)),
            &inner,
            text,
        );
    }
}

/// The key as TOML writes it: bare if it may be.
fn key_text(key: &str) -> String {
    let bare = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    if !key.is_empty() && key.chars().all(bare) {
        key.to_owned()
    } else {
        Value::Text(key.to_owned()).to_string()
    }
}

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

    #[test]
    fn values_have_their_line() {
        let file = parse("[run]\n# a comment\nseed = 0x10\n", "a.toml").unwrap();
        let node = merge(&[file]);
        let seed = node.find("run.seed").unwrap();
        assert_eq!(seed.value, Value::Integer(16));
        assert_eq!(seed.origin.as_deref(), Some("a.toml:3"));
        assert_eq!(node.get("run").unwrap().place(), Some("a.toml:1"));
    }

    #[test]
    fn invalid_toml_is_shown_with_an_excerpt() {
        let check = |text: &str, message: &str| {
            assert_eq!(parse(text, "a.toml").unwrap_err().to_string(), message);
        };
        check(
            "[run]\nseed = \n",
            "string values must be quoted, expected literal string\n  --> a.toml:2:8\n  2 | seed = \n    |        ^",
        );
        check(
            "seed = 1e999",
            "the number 1e999 is too large\n  --> a.toml:1:8\n  1 | seed = 1e999\n    |        ^",
        );
        check(
            "a = 1\na = 2\n",
            "duplicate key\n  --> a.toml:2:1\n  2 | a = 2\n    | ^",
        );
        let long = parse(&format!("a = [{}x]", "1, ".repeat(200)), "a.toml").unwrap_err();
        let long = long.to_string();
        let lines: Vec<&str> = long.lines().collect();
        let mark = lines[3].find('^').unwrap();
        assert_eq!(&lines[2][mark..], "x]");
    }

    #[test]
    fn equal_values_have_one_canonical_text() {
        let read = |text: &str| serde_json::from_str::<Node>(text).unwrap();
        let node = read(r#"{"z": 1, "a": [{"y": 1e8, "x": null}, 2], "m": {"k": "a b"}}"#);
        let other = read(r#"{"m": {"k": "a b"}, "a": [{"x": null, "y": 100000000.0}, 2], "z": 1}"#);
        let text = r#"{"a":[{"x":null,"y":100000000.0},2],"m":{"k":"a b"},"z":1}"#;
        assert_eq!(canonical(&node), text);
        assert_eq!(canonical(&other), text);
    }

    #[test]
    fn each_value_says_where_it_came_from() {
        let effective: Node =
            serde_json::from_str(r#"{"run": {"seed": 2, "limit": null, "in": {"x": 0.5}}}"#)
                .unwrap();
        let written = parse("\n[run]\nseed = 2\n", "a.toml").unwrap();
        let written = merge(&[written]);
        assert_eq!(
            print(&effective, &written),
            "[run]\n\
             seed = 2            # a.toml:3\n\
             # limit is not set  # default\n\
             \n\
             [run.in]\n\
             x = 0.5  # default\n"
        );
    }
}
