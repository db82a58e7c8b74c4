//! The table of a sweep: a row per run, with a column per parameter.

use std::borrow::Cow;

use experiments::{CsvTable, Failure, Provenance, Published};

use crate::export::Cell;
use crate::sweep::parameter::{Parameter, cell};
use crate::sweep::report::{Report, Row};

impl Report {
    /// The table as CSV: the values of parameters are texts.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let parameters = self.parameters.iter().map(Parameter::key);
        let header = ["experiment"].into_iter().chain(parameters).chain(COLUMNS);
        let mut table = CsvTable::with_header(Self::SCHEMA, provenance, header)?;
        for row in &self.runs {
            let values = row.values.iter().map(cell);
            let values = values.map(|value| Cell::Text(Cow::Owned(value)));
            let mut cells = vec![text(&row.experiment)];
            cells.extend(values);
            cells.extend(self.run_cells(row));
            table.push(&cells)?;
        }
        table.text()
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
const COLUMNS: [&str; 16] = [
    "policy",
    "seed",
    "seconds",
    "supersteps",
    "calls",
    "migrations",
    "moved_bytes",
    "call_seconds",
    "gain",
    "attainable_seconds",
    "imbalance_seconds",
    "error",
    "version",
    "build_sha256",
    "configuration_sha256",
    "run_sha256",
];

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
}
