//! Rows of a table to a Parquet file.

use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel,
};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::{ColumnPath, Type, TypePtr};
use bytes::Bytes;

use super::error;
use crate::format::columnar::head;
use crate::format::table::{Cell, Column, Kind};
use crate::types::{Metadata, Result};

/// Rows of a row group, all but the last: some 10 MB before they are encoded.
const ROW_GROUP: usize = 1 << 16;

/// Level of zstd inside the pages.
const ZSTD: i32 = 1;

/// The values of one column that wait to be written.
enum Values {
    Whole(Vec<i64>),
    Real(Vec<f64>),
    Words(Vec<ByteArray>),
}

/// A column in the making: its values, and 1 or 0 for each row that has one or has none.
struct Waiting {
    values: Values,
    levels: Vec<i16>,
    optional: bool,
}

/// A table that is written row group by row group, in the memory of one.
pub(crate) struct TableFile<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Waiting>,
    rows: usize,
}

impl<W: Write + Send> TableFile<W> {
    /// A file on `out` with these columns and the head, if there is one.
    pub(crate) fn new(out: W, columns: &[Column], metadata: &Metadata) -> Result<Self> {
        let pairs: Vec<_> = head::pairs(metadata)
            .into_iter()
            .map(|(key, value)| KeyValue::new(key, value))
            .collect();
        let file = schema(columns)
            .and_then(|schema| {
                SerializedFileWriter::new(out, schema, Arc::new(properties(columns, pairs)?))
            })
            .map_err(error)?;
        let waiting = columns.iter().map(|column| Waiting {
            values: match column.kind {
                Kind::Time | Kind::Count => Values::Whole(Vec::new()),
                Kind::Real => Values::Real(Vec::new()),
                Kind::Word => Values::Words(Vec::new()),
            },
            levels: Vec::new(),
            optional: column.optional,
        });
        Ok(Self {
            file,
            columns: waiting.collect(),
            rows: 0,
        })
    }

    /// Takes a row, whose cells are of their columns' kinds.
    pub(crate) fn row(&mut self, cells: &[Cell]) -> Result<()> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.levels.push(i16::from(*cell != Cell::None));
            match (&mut column.values, *cell) {
                (Values::Whole(values), Cell::Time(value) | Cell::Count(value)) => {
                    values.push(value.cast_signed());
                }
                (Values::Real(values), Cell::Real(value)) => values.push(value),
                (Values::Words(values), Cell::Word(word)) => {
                    values.push(Bytes::from_static(word.as_bytes()).into());
                }
                _ => {}
            }
        }
        self.rows += 1;
        if self.rows == ROW_GROUP {
            self.row_group().map_err(error)?;
        }
        Ok(())
    }

    /// Writes what is left, the end line and the footer, without which it is no file.
    pub(crate) fn finish(mut self, end: &str) -> Result<W> {
        if self.rows > 0 {
            self.row_group().map_err(error)?;
        }
        let pair = KeyValue::new(head::END.to_owned(), end.to_owned());
        self.file.append_key_value_metadata(pair);
        self.file.into_inner().map_err(error)
    }

    fn row_group(&mut self) -> std::result::Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let levels = column.optional.then_some(&column.levels[..]);
            match &mut column.values {
                Values::Whole(values) => write::<Int64Type, W>(&mut group, values, levels)?,
                Values::Real(values) => write::<DoubleType, W>(&mut group, values, levels)?,
                Values::Words(values) => write::<ByteArrayType, W>(&mut group, values, levels)?,
            }
            column.levels.clear();
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
) -> std::result::Result<(), ParquetError> {
    let missing = || ParquetError::General("fewer columns than the schema".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, levels, None)?;
    values.clear();
    column.close()
}

fn schema(columns: &[Column]) -> std::result::Result<TypePtr, ParquetError> {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.kind {
            Kind::Time => (Physical::INT64, None),
            Kind::Count => (Physical::INT64, Some(LogicalType::integer(64, false))),
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
    let fields = fields.collect::<std::result::Result<_, _>>()?;
    let schema = Type::group_type_builder("table").with_fields(fields);
    Ok(Arc::new(schema.build()?))
}

fn properties(
    columns: &[Column],
    pairs: Vec<KeyValue>,
) -> std::result::Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD)?))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_key_value_metadata((!pairs.is_empty()).then_some(pairs));
    for column in columns {
        let path = ColumnPath::from(column.name);
        properties = match column.kind {
            Kind::Time | Kind::Count => {
                properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
            }
            Kind::Real => properties.set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT),
            Kind::Word => properties.set_column_dictionary_enabled(path, true),
        };
    }
    Ok(properties.build())
}
