//! The table of a sweep: a row per run, with a column per parameter.

use std::borrow::Cow;

use experiments::{Failure, Provenance, Published};
use settings::{Node, Value};

use crate::refused::refused;
use crate::sweep::parameter::{Parameter, cell};
use crate::sweep::report::{Report, Row};
#[cfg(feature = "parquet")]
use crate::table::ParquetSink;
use crate::table::{Cell, CsvSink, Form, Kind, TableSink};

impl Report {
    /// The table as CSV: the values of parameters are texts.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut output = Vec::new();
        let form = self.form(|_| Kind::Text);
        let mut sink = CsvSink::new(&form, provenance, &mut output)?;
        self.push_rows(&form, &mut sink)?;
        sink.finish()?;
        String::from_utf8(output).map_err(refused)
    }

    /// The table as Parquet. A parameter is a column of integers or of numbers if all its values are such.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    #[cfg(feature = "parquet")]
    pub fn parquet(&self, provenance: &Provenance) -> Result<Vec<u8>, Failure> {
        let mut output = Vec::new();
        let form = self.form(kind);
        let mut sink = ParquetSink::new(&form, provenance, &mut output)?;
        self.push_rows(&form, &mut sink)?;
        sink.finish()?;
        Ok(output)
    }

    /// The table without its rows, with the types of parameters that `kind` says.
    fn form(&self, kind: impl Fn(&Parameter) -> Kind) -> Form<'_> {
        let parameters = self.parameters.iter();
        let parameters = parameters.map(|parameter| (parameter.key(), kind(parameter)));
        let columns = [("experiment", Kind::Text)].into_iter().chain(parameters);
        Form {
            name: "runs",
            schema: Self::SCHEMA,
            columns: columns.chain(COLUMNS).collect(),
        }
    }

    fn push_rows(&self, form: &Form<'_>, sink: &mut dyn TableSink) -> Result<(), Failure> {
        let kinds: Vec<Kind> = form.columns[1..].iter().map(|(_, kind)| *kind).collect();
        self.runs.iter().try_for_each(|row| {
            let values = row.values.iter().zip(&kinds);
            let values = values.map(|(value, kind)| parameter_cell(value, *kind));
            let mut cells = vec![text(&row.experiment)];
            cells.extend(values);
            cells.extend(self.run_cells(row));
            sink.push(&cells)
        })
    }

    /// The cells of [`COLUMNS`].
    fn run_cells<'a>(&'a self, row: &'a Row) -> [Cell<'a>; COLUMNS.len()] {
        let real = |value: Option<f64>| value.map_or(Cell::Missing, Cell::Real);
        let count = |value: Option<u64>| value.map_or(Cell::Missing, Cell::Integer);
        [
            text(&row.policy),
            Cell::Integer(row.seed),
            real(row.seconds),
            count(row.supersteps),
            count(row.calls.map(|calls| calls as u64)),
            count(row.migrations.map(|migrations| migrations as u64)),
            count(row.moved_bytes),
            real(row.call_seconds),
            real(row.gain),
            real(row.attainable_seconds),
            real(row.imbalance_seconds),
            row.error.as_deref().map_or(Cell::Missing, text),
            text(&self.made_by[0]),
            text(&self.made_by[1]),
            text(&row.configuration_sha256),
            text(&row.run_sha256),
        ]
    }
}

/// The columns after those of the parameters.
const COLUMNS: [(&str, Kind); 16] = [
    ("policy", Kind::Text),
    ("seed", Kind::Integer),
    ("seconds", Kind::Real),
    ("supersteps", Kind::Integer),
    ("calls", Kind::Integer),
    ("migrations", Kind::Integer),
    ("moved_bytes", Kind::Integer),
    ("call_seconds", Kind::Real),
    ("gain", Kind::Real),
    ("attainable_seconds", Kind::Real),
    ("imbalance_seconds", Kind::Real),
    ("error", Kind::Text),
    ("version", Kind::Text),
    ("build_sha256", Kind::Text),
    ("configuration_sha256", Kind::Text),
    ("run_sha256", Kind::Text),
];

/// The type that all values of a parameter have.
fn kind(parameter: &Parameter) -> Kind {
    let is_whole = |value: &Node| match value.value {
        Value::Integer(number) => (0..=i128::from(i64::MAX)).contains(&number),
        _ => false,
    };
    if parameter.values().iter().all(is_whole) {
        Kind::Integer
    } else if parameter.numbers().is_some() {
        Kind::Real
    } else {
        Kind::Text
    }
}

fn parameter_cell(value: &Node, kind: Kind) -> Cell<'_> {
    match (kind, &value.value) {
        (Kind::Integer, Value::Integer(number)) => {
            u64::try_from(*number).map_or(Cell::Missing, Cell::Integer)
        }
        (Kind::Real, Value::Integer(number)) => Cell::Real(*number as f64),
        (Kind::Real, Value::Float(number)) => Cell::Real(*number),
        _ => Cell::Text(Cow::Owned(cell(value))),
    }
}

fn text(text: &str) -> Cell<'_> {
    Cell::Text(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::fail;
    use crate::sweep::swept::tests::swept;
    use experiments::Registry;

    #[test]
    fn a_table_has_a_row_per_run_and_a_column_per_parameter() {
        let set = ["a.x=1,\"u, v\"", "a.y=7"];
        let mut swept = swept(
            &set,
            &[&[&[10.0, 20.0], &[9.0, 15.0]], &[&[0.0, 4.0], &[0.0, 5.0]]],
        );
        fail(&mut swept.results, 0, 1, 0);
        let provenance = Provenance::of_program(&Registry::new()).unwrap();
        let csv = Report::new(&swept).csv(&provenance).unwrap();
        let lines: Vec<&str> = csv.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            lines[0],
            "experiment,a.x,a.y,policy,seed,seconds,supersteps,calls,migrations,moved_bytes,call_seconds,gain,attainable_seconds,imbalance_seconds,error,version,build_sha256,configuration_sha256,run_sha256"
        );
        assert_eq!(lines.len(), 1 + 8);
        assert_eq!(
            lines[3],
            "a.toml,1,7,adaptive,1,,,,,,,,,,out of road,migbsp 0.1.0,cd34,ab12,ef56"
        );
        assert_eq!(
            lines[4],
            "a.toml,1,7,adaptive,2,15.0,10,2,1,1000000,0.1,0.25,0.5,1.0,,migbsp 0.1.0,cd34,ab12,ef56"
        );
        assert!(
            lines[5].starts_with("a.toml,\"u, v\",7,none,1,0.0,"),
            "{}",
            lines[5]
        );
        assert!(lines[7].contains(",0.1,0.0,0.5,"), "{}", lines[7]);
    }

    #[test]
    fn parameters_have_the_type_of_all_their_values() {
        let kind_of = |text: &str| kind(&text.parse().unwrap());
        assert_eq!(kind_of("a.x=1,2"), Kind::Integer);
        assert_eq!(kind_of("a.x=1,0.5"), Kind::Real);
        assert_eq!(kind_of("a.x=-1,2"), Kind::Real);
        assert_eq!(kind_of("a.x=1,1 s"), Kind::Text);
        assert_eq!(kind_of("a.x=true,false"), Kind::Text);
    }
}
