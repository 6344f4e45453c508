//! Columns of any kind to a Parquet file: what traces and tables share.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel,
};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::{ColumnPath, Type, TypePtr};
use bytes::Bytes;

use super::unwritten;
use crate::format::columnar::cell::{Cell, Column, Kind};
use crate::format::columnar::head;
use crate::types::Metadata;

/// Level of zstd inside the pages: what the encodings leave gains nothing from a higher one.
const ZSTD: i32 = 1;

/// The values of one column that wait to be written.
pub(super) enum Values {
    Whole(Vec<i64>),
    Small(Vec<i32>),
    Real(Vec<f64>),
    Words(Vec<ByteArray>),
}

/// A column in the making: its values, and 1 or 0 for each row that has one or has none.
struct Waiting {
    values: Values,
    levels: Option<Vec<i16>>,
}

/// A file that is written row group by row group, in the memory of one.
///
/// Whole numbers are delta-encoded, small ones and words by a dictionary, doubles byte by byte; pages are
/// compressed with zstd. The bytes depend on columns, head, rows and end line alone.
pub(crate) struct ColumnFile<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Waiting>,
    /// Rows that wait, and those of a whole row group.
    rows: usize,
    row_group: usize,
}

impl<W: Write + Send> ColumnFile<W> {
    /// A file on `out` with these columns and the head, if there is one; `row_group` rows are written at a
    /// time, and `name` is what the schema is called.
    ///
    /// # Errors
    /// What the system says while writing, here and in all that follows.
    pub(crate) fn new(
        out: W,
        name: &str,
        columns: &[Column],
        metadata: &Metadata,
        row_group: usize,
    ) -> io::Result<Self> {
        let file = schema(name, columns)
            .and_then(|schema| {
                let properties = properties(columns, metadata, row_group)?;
                SerializedFileWriter::new(out, schema, Arc::new(properties))
            })
            .map_err(unwritten)?;
        let waiting = columns.iter().map(|column| Waiting {
            values: match column.kind {
                Kind::Time | Kind::Count => Values::Whole(Vec::new()),
                Kind::Small => Values::Small(Vec::new()),
                Kind::Real => Values::Real(Vec::new()),
                Kind::Word => Values::Words(Vec::new()),
            },
            levels: column.optional.then(Vec::new),
        });
        Ok(Self {
            file,
            columns: waiting.collect(),
            rows: 0,
            row_group,
        })
    }

    /// Takes a row, whose cells are of their columns' kinds.
    pub(crate) fn row(&mut self, cells: &[Cell]) -> io::Result<()> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            if let Some(levels) = &mut column.levels {
                levels.push(i16::from(*cell != Cell::None));
            }
            match (&mut column.values, *cell) {
                (Values::Whole(values), Cell::Time(value) | Cell::Count(value)) => {
                    values.push(value.cast_signed());
                }
                (Values::Small(values), Cell::Count(value)) => {
                    values.push(u32::try_from(value).unwrap_or(u32::MAX).cast_signed());
                }
                (Values::Real(values), Cell::Real(value)) => values.push(value),
                (Values::Words(values), Cell::Word(word)) => {
                    values.push(Bytes::from_static(word.as_bytes()).into());
                }
                _ => {}
            }
        }
        self.filled(1)
    }

    /// Rows that fit into the row group that waits.
    pub(super) fn room(&self) -> usize {
        self.row_group - self.rows
    }

    /// The values of each column, for whoever appends many at a time and then says how many by [`Self::filled`].
    pub(super) fn values(&mut self) -> impl Iterator<Item = &mut Values> {
        self.columns.iter_mut().map(|column| &mut column.values)
    }

    /// Says that every column has got so many rows more, at most as many as there was room for.
    pub(super) fn filled(&mut self, rows: usize) -> io::Result<()> {
        self.rows += rows;
        if self.rows < self.row_group {
            return Ok(());
        }
        self.write_group().map_err(unwritten)
    }

    /// Writes what is left, the end line, if there is one, and the footer, without which it is no file.
    pub(crate) fn finish(mut self, end: Option<String>) -> io::Result<W> {
        if self.rows > 0 {
            self.write_group().map_err(unwritten)?;
        }
        if let Some(end) = end {
            let pair = KeyValue::new(head::END.to_owned(), end);
            self.file.append_key_value_metadata(pair);
        }
        self.file.into_inner().map_err(unwritten)
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for Waiting { values, levels } in &mut self.columns {
            let present = levels.as_deref();
            match values {
                Values::Whole(values) => write::<Int64Type, W>(&mut group, values, present)?,
                Values::Small(values) => write::<Int32Type, W>(&mut group, values, present)?,
                Values::Real(values) => write::<DoubleType, W>(&mut group, values, present)?,
                Values::Words(values) => write::<ByteArrayType, W>(&mut group, values, present)?,
            }
            levels.iter_mut().for_each(Vec::clear);
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

/// Writes the next column and empties it.
fn write<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &mut Vec<T::T>,
    levels: Option<&[i16]>,
) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, levels, None)?;
        column.close()?;
    }
    values.clear();
    Ok(())
}

fn schema(name: &str, columns: &[Column]) -> Result<TypePtr> {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.kind {
            Kind::Time => (Physical::INT64, None),
            Kind::Count => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Kind::Small => (Physical::INT32, Some(LogicalType::integer(32, false))),
            Kind::Real => (Physical::DOUBLE, None),
            Kind::Word => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = if column.optional {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        Type::primitive_type_builder(column.name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    });
    let schema = Type::group_type_builder(name).with_fields(fields.collect::<Result<_>>()?);
    Ok(Arc::new(schema.build()?))
}

fn properties(
    columns: &[Column],
    metadata: &Metadata,
    row_group: usize,
) -> Result<WriterProperties> {
    let pairs = head::pairs(metadata).into_iter();
    let pairs: Vec<_> = pairs
        .map(|(key, value)| KeyValue::new(key, value))
        .collect();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD)?))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(row_group))
        .set_key_value_metadata((!pairs.is_empty()).then_some(pairs));
    for column in columns {
        let path = ColumnPath::from(column.name);
        let encoding = match column.kind {
            Kind::Time | Kind::Count | Kind::Small => Encoding::DELTA_BINARY_PACKED,
            Kind::Real => Encoding::BYTE_STREAM_SPLIT,
            Kind::Word => Encoding::PLAIN,
        };
        let few = matches!(column.kind, Kind::Small | Kind::Word);
        properties = properties
            .set_column_encoding(path.clone(), encoding)
            .set_column_dictionary_enabled(path, few);
    }
    Ok(properties.build())
}
