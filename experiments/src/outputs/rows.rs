//! Outputs as CSV: a row for each process.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bsp::Rank;

use super::value::Value;

/// The columns for the values at one place of all outputs.
#[derive(Debug, Default)]
struct Columns {
    /// Whether some output has a value without parts there.
    has_value: bool,
    /// The parts, in the order in which they were met first.
    parts: Vec<(String, Self)>,
    /// Where each of them is.
    places: BTreeMap<String, usize>,
}

/// The table of `outputs`: a row for each process, under a header.
///
/// A column is named after the way to its value: names of fields and positions in lists, from 0, joined by points.
/// An output that is a single number or text is in the column `value`. What an output does not have is empty.
///
/// # Errors
///
/// Never: rows are plain data.
pub(super) fn csv(outputs: &[Value]) -> Result<Vec<u8>, String> {
    let mut columns = Columns::default();
    for output in outputs {
        columns.add(output);
    }
    let mut names = vec!["process".to_owned()];
    columns.names("", &mut names);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer
        .write_record(&names)
        .map_err(|error| error.to_string())?;
    for (index, output) in outputs.iter().enumerate() {
        let mut row = vec![Rank::from_index(index).to_string()];
        columns.cells(Some(output), &mut row);
        writer
            .write_record(&row)
            .map_err(|error| error.to_string())?;
    }
    writer.into_inner().map_err(|error| error.to_string())
}

impl Columns {
    /// Makes room for `value`.
    fn add(&mut self, value: &Value) {
        match value {
            Value::Nothing => {}
            Value::List(items) => {
                for (position, item) in items.iter().enumerate() {
                    self.part(&position.to_string(), position).add(item);
                }
            }
            Value::Record(fields) => {
                for (position, (name, field)) in fields.iter().enumerate() {
                    self.part(name, position).add(field);
                }
            }
            _ => self.has_value = true,
        }
    }

    /// The columns of the part `name`, which is probably at `position`.
    fn part(&mut self, name: &str, position: usize) -> &mut Self {
        let is_there = |(known, _): &(String, Self)| known == name;
        let place = if self.parts.get(position).is_some_and(is_there) {
            position
        } else if let Some(place) = self.places.get(name) {
            *place
        } else {
            self.places.insert(name.to_owned(), self.parts.len());
            self.parts.push((name.to_owned(), Self::default()));
            self.parts.len() - 1
        };
        &mut self.parts[place].1
    }

    /// Appends the names of the columns, below `way`.
    fn names(&self, way: &str, names: &mut Vec<String>) {
        if self.has_value {
            names.push(if way.is_empty() { "value" } else { way }.to_owned());
        }
        for (name, part) in &self.parts {
            let way = match way {
                "" => name.clone(),
                way => format!("{way}.{name}"),
            };
            part.names(&way, names);
        }
    }

    /// Appends the cells of `value` to a row.
    fn cells(&self, value: Option<&Value>, row: &mut Vec<String>) {
        if self.has_value {
            row.push(value.and_then(Value::text).unwrap_or_default());
        }
        let parts: BTreeMap<Cow<'_, str>, &Value> = match value {
            Some(Value::List(items)) => {
                let items = items.iter().enumerate();
                let named = items.map(|(position, item)| (position.to_string().into(), item));
                named.collect()
            }
            Some(Value::Record(fields)) => {
                let fields = fields.iter();
                fields.map(|(name, field)| (name.into(), field)).collect()
            }
            _ => BTreeMap::new(),
        };
        for (name, columns) in &self.parts {
            columns.cells(parts.get(name.as_str()).copied(), row);
        }
    }
}
