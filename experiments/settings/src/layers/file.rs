//! The file layer: TOML, every value with its line.

use std::io;
use std::path::Path;

use config::ValueKind;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::files::{name_of, nearest_file, read_bytes, text};
use crate::layers::Layer;

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
pub(super) fn value(text: &str, origin: &str) -> config::Value {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::merge;
    use crate::tree::Value;

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
}
