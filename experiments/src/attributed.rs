//! Results as programs read them, JSON or CSV, with what made them.
//!
//! A command computes a report, a struct without a head. Here it is written after its schema and the provenance:
//! program, build, digest of the configuration, policy, overrides, seed. `docs/schemas` describes all JSON; a test
//! validates what commands write, and a key that no schema has fails. Reports have names of hosts, Sets and processes.
//! Events of a record have indices, and their first line has the names.

use std::io::{self, Write};

use serde::Serialize;
use settings::tree_of;

use crate::failure::Failure;
use crate::provenance::Provenance;

/// A result with a form that programs rely on. `docs/schemas` describes it.
pub trait Published: Serialize {
    /// Name and version of the form, as `migbsp.simulate/1`.
    const SCHEMA: &'static str;
}

/// A result as one JSON object: its schema, what made it, then its own fields.
#[derive(Debug, Serialize)]
pub struct Attributed<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    provenance: &'a Provenance,
    #[serde(flatten)]
    result: &'a T,
}

impl<'a, T: Published> Attributed<'a, T> {
    /// `result`, made by `provenance`.
    pub const fn new(provenance: &'a Provenance, result: &'a T) -> Self {
        Self {
            schema: T::SCHEMA,
            provenance,
            result,
        }
    }
}

/// A result as CSV: comments that say what made it, then rows under a header.
///
/// A comment is a line `# key: value`, its value JSON. A row whose first field begins with `#` is quoted.
#[derive(Debug)]
pub struct CsvTable<W: Write = Vec<u8>> {
    writer: csv::Writer<W>,
}

/// The comments of a table.
#[derive(Serialize)]
struct Head<'a> {
    schema: &'static str,
    #[serde(flatten)]
    provenance: &'a Provenance,
}

impl CsvTable {
    /// An empty table of the form `schema`; the fields of the first row make its header.
    #[must_use]
    pub fn new(schema: &'static str, provenance: &Provenance) -> Self {
        Self::begun(schema, provenance, true)
    }

    /// An empty table of the form `schema` under `header`.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn with_header<'a>(
        schema: &'static str,
        provenance: &Provenance,
        header: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Failure> {
        let mut table = Self::begun(schema, provenance, false);
        table.writer.write_record(header).map_err(Failure::run)?;
        Ok(table)
    }

    fn begun(schema: &'static str, provenance: &Provenance, has_headers: bool) -> Self {
        let comments = comments(schema, provenance).into_bytes();
        Self {
            writer: writer(has_headers, comments),
        }
    }

    /// The text of the table.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn text(self) -> Result<String, Failure> {
        let bytes = self.writer.into_inner().map_err(Failure::run)?;
        String::from_utf8(bytes).map_err(Failure::run)
    }
}

impl<W: Write> CsvTable<W> {
    /// A table of the form `schema` under `header`, written to `output` row by row.
    ///
    /// # Errors
    ///
    /// If `output` refuses.
    pub fn streamed<'a>(
        schema: &'static str,
        provenance: &Provenance,
        header: impl IntoIterator<Item = &'a str>,
        mut output: W,
    ) -> io::Result<Self> {
        output.write_all(comments(schema, provenance).as_bytes())?;
        let mut writer = writer(false, output);
        writer.write_record(header)?;
        Ok(Self { writer })
    }

    /// Appends a row.
    ///
    /// # Errors
    ///
    /// If it is no row of this table, or its output refuses.
    pub fn push(&mut self, row: impl Serialize) -> Result<(), Failure> {
        self.writer.serialize(row).map_err(Failure::run)
    }

    /// Hands all rows to the output.
    ///
    /// # Errors
    ///
    /// If the output refuses.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn writer<W: Write>(has_headers: bool, output: W) -> csv::Writer<W> {
    csv::WriterBuilder::new()
        .has_headers(has_headers)
        .comment(Some(b'#'))
        .from_writer(output)
}

/// What made a table, a comment for each key.
fn comments(schema: &'static str, provenance: &Provenance) -> String {
    let head = tree_of(&Head { schema, provenance });
    let entries = head.entries().iter();
    entries
        .map(|(key, value)| {
            let value = serde_json::to_string(value).expect("a provenance is plain data");
            format!("# {key}: {value}\n")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    #[derive(Serialize)]
    struct Answer {
        name: &'static str,
        number: f64,
    }

    impl Published for Answer {
        const SCHEMA: &'static str = "test.answer/1";
    }

    fn provenance() -> Provenance {
        let registry = Registry::new().named("life", "7.1.2");
        let overrides = settings::assignments(&["run.note=a\n\"b\"".to_owned()]).unwrap();
        let overrides = settings::merge(&overrides);
        let provenance = Provenance::of_program(&registry).unwrap().with_seed(3);
        provenance.with_overrides(settings::overrides(&overrides))
    }

    #[test]
    fn json_begins_with_the_schema_and_what_made_it() {
        let (name, number) = ("a", 0.1);
        let text = serde_json::to_string(&Attributed::new(&provenance(), &Answer { name, number }));
        let text = text.unwrap();
        let begin = r#"{"schema":"test.answer/1","version":"life 7.1.2","build":{"program":"life","version":"7.1.2","#;
        assert!(text.starts_with(begin), "{text}");
        let end = r#""seed":3,"name":"a","number":0.1}"#;
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn csv_has_it_in_comments_which_rows_are_not_taken_for() {
        let provenance = provenance();
        let mut table = CsvTable::new(Answer::SCHEMA, &provenance);
        for name in ["#1", "b"] {
            table.push(Answer { name, number: 2.0 }).unwrap();
        }
        let text = table.text().unwrap();
        let (comments, rows): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with("# "));
        assert_eq!(comments[0], "# schema: \"test.answer/1\"");
        assert_eq!(comments[1], "# version: \"life 7.1.2\"");
        let sha256 = provenance.build().sha256();
        let build =
            format!(r#"# build: {{"program":"life","version":"7.1.2","sha256":"{sha256}"}}"#);
        assert_eq!(comments[2], build);
        let overrides = r#"# overrides: [{"key":"run.note","value":"a\n\"b\"","from":"--set"}]"#;
        assert_eq!(comments[3..], [overrides, "# seed: 3"]);
        assert_eq!(rows, ["name,number", "\"#1\",2.0", "b,2.0"]);
        let mut reader = csv::ReaderBuilder::new();
        let mut reader = reader.comment(Some(b'#')).from_reader(text.as_bytes());
        let first: Vec<String> = reader
            .records()
            .map(|row| row.unwrap()[0].to_owned())
            .collect();
        assert_eq!(first, ["#1", "b"]);
    }

    #[test]
    fn a_table_without_rows_has_a_header() {
        let table = CsvTable::with_header(Answer::SCHEMA, &provenance(), ["name", "number"]);
        let text = table.unwrap().text().unwrap();
        assert_eq!(text.lines().last(), Some("name,number"));
    }
}
