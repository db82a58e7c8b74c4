//! Tables as Parquet.

use std::io::Write;
use std::sync::Arc;

use experiments::{Failure, Provenance};
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::refused::refused;
use crate::table::{Cell, Form, Kind, TableSink};

/// A table with the types of its columns. The metadata of the file say what made it, under `migbsp`.
pub(crate) struct ParquetSink<'a> {
    writer: SerializedFileWriter<&'a mut (dyn Write + Send)>,
    columns: Vec<Column>,
    /// The number of rows that are not in the file yet.
    rows: usize,
}

/// The values of a column that are not in the file yet, and by row whether there is one.
struct Column {
    values: Values,
    present: Vec<i16>,
}

enum Values {
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    Texts(Vec<ByteArray>),
}

impl<'a> ParquetSink<'a> {
    /// Begins a table.
    ///
    /// # Errors
    ///
    /// If `output` refuses.
    pub(crate) fn new(
        form: &Form<'_>,
        provenance: &Provenance,
        output: &'a mut (dyn Write + Send),
    ) -> Result<Self, Failure> {
        let made_by = serde_json::to_string(provenance).map_err(Failure::run)?;
        let metadata = [("migbsp", made_by), ("schema", form.schema.to_owned())];
        let metadata = metadata.map(|(key, value)| KeyValue::new(key.to_owned(), value));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("migbsp ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(metadata.into()))
            .build();
        let schema = schema(form).map_err(refused)?;
        let writer = SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties));
        let columns = form.columns.iter();
        Ok(Self {
            writer: writer.map_err(refused)?,
            columns: columns.map(|(_, kind)| Column::new(*kind)).collect(),
            rows: 0,
        })
    }

    /// Completes the table.
    ///
    /// # Errors
    ///
    /// If the output refuses.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush().map_err(refused)?;
        self.writer.close().map(drop).map_err(refused)
    }

    /// Writes the rows that are not in the file yet.
    fn flush(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut place) = group.next_column()? else {
                return Err(ParquetError::General("a column too many".to_owned()));
            };
            column.write(place.untyped())?;
            place.close()?;
        }
        group.close().map(drop)
    }
}

impl TableSink for ParquetSink<'_> {
    fn push(&mut self, row: &[Cell<'_>]) -> Result<(), Failure> {
        for (column, cell) in self.columns.iter_mut().zip(row) {
            column.push(cell);
        }
        self.rows += 1;
        if self.rows == GROUP {
            self.flush().map_err(refused)?;
        }
        Ok(())
    }
}

impl Column {
    fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Integer => Values::Integers(Vec::new()),
            Kind::Real => Values::Reals(Vec::new()),
            Kind::Text => Values::Texts(Vec::new()),
        };
        Self {
            values,
            present: Vec::new(),
        }
    }

    fn push(&mut self, cell: &Cell<'_>) {
        self.present.push(i16::from(*cell != Cell::Missing));
        match (&mut self.values, cell) {
            (_, Cell::Missing) => {}
            (Values::Integers(values), Cell::Integer(number)) => {
                values.push(number.cast_signed());
            }
            (Values::Reals(values), Cell::Real(number)) => values.push(*number),
            (Values::Texts(values), Cell::Text(text)) => values.push(ByteArray::from(&**text)),
            (_, cell) => unreachable!("{cell:?} is not of the type of its column"),
        }
    }

    fn write(&mut self, place: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        let present = std::mem::take(&mut self.present);
        let present = Some(&present[..]);
        let written = match (&mut self.values, place) {
            (Values::Integers(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(&std::mem::take(values), present, None)
            }
            (Values::Reals(values), ColumnWriter::DoubleColumnWriter(writer)) => {
                writer.write_batch(&std::mem::take(values), present, None)
            }
            (Values::Texts(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(&std::mem::take(values), present, None)
            }
            _ => return Err(ParquetError::General("a column of another type".to_owned())),
        };
        written.map(drop)
    }
}

fn schema(form: &Form<'_>) -> Result<Type, ParquetError> {
    let fields = form.columns.iter().map(|(name, kind)| {
        let (physical, logical) = match kind {
            Kind::Integer => (PhysicalType::INT64, None),
            Kind::Real => (PhysicalType::DOUBLE, None),
            Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(form.name)
        .with_fields(fields)
        .build()
}

/// Rows of a group: what is kept in memory.
const GROUP: usize = 1 << 18;
