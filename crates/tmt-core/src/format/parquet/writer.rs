//! Rows to a Parquet file.

use std::fmt;
use std::io::Write;
use std::marker::PhantomData;
use std::sync::Arc;

use ::parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel,
};
use ::parquet::data_type::{DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::{ColumnPath, Type, TypePtr};

use super::error;
use crate::format::columnar::{NAMES, Row, head};
use crate::types::{EndLine, Metadata, Result};

/// Rows of a row group, all but the last: 20 MB at most before they are encoded.
pub const ROW_GROUP: usize = 1 << 20;

/// Level of zstd inside the pages: what the encodings leave gains nothing from a higher one.
const ZSTD: i32 = 1;

/// A Parquet file that is written row group by row group, in the memory of one.
///
/// Times and delays are delta-encoded, attempts by a dictionary; pages are compressed with zstd. (A
/// dictionary of measured delays costs more time than it saves bytes.) The bytes depend on head, rows and end line alone, not on the blocks in
/// which the rows come.
pub struct Writer<W: Write + Send, R: Row> {
    file: SerializedFileWriter<W>,
    tx_time: Vec<i64>,
    decode_delay: Vec<i64>,
    attempts: Vec<i32>,
    form: PhantomData<fn(R)>,
}

impl<W: Write + Send, R: Row> Writer<W, R> {
    /// A file on `out` with the columns of `R` and the head, if there is one.
    ///
    /// # Errors
    /// What the system says while writing.
    pub fn new(out: W, metadata: &Metadata) -> Result<Self> {
        let pairs: Vec<_> = head::pairs(metadata)
            .into_iter()
            .map(|(key, value)| KeyValue::new(key, value))
            .collect();
        let properties = properties(pairs).map_err(error)?;
        let file = schema::<R>()
            .and_then(|schema| SerializedFileWriter::new(out, schema, Arc::new(properties)))
            .map_err(error)?;
        Ok(Self {
            file,
            tx_time: Vec::new(),
            decode_delay: Vec::new(),
            attempts: Vec::new(),
            form: PhantomData,
        })
    }

    /// Takes the next rows.
    ///
    /// # Errors
    /// What the system says while writing.
    pub fn rows(&mut self, mut rows: &[R]) -> Result<()> {
        while !rows.is_empty() {
            let room = ROW_GROUP - self.tx_time.len();
            let (now, later) = rows.split_at(room.min(rows.len()));
            rows = later;
            let times = now.iter().map(|row| row.tx_time().as_nanos());
            self.tx_time.extend(times.map(u64::cast_signed));
            let delays = now.iter().map(|row| row.decode_delay().as_nanos());
            self.decode_delay.extend(delays.map(u64::cast_signed));
            if R::HAS_ATTEMPTS {
                let attempts = now.iter().map(Row::attempts);
                self.attempts.extend(attempts.map(u32::cast_signed));
            }
            if self.tx_time.len() == ROW_GROUP {
                self.row_group().map_err(error)?;
            }
        }
        Ok(())
    }

    /// Writes what is left, the end line, if there is one, and the footer, without which it is no file.
    ///
    /// # Errors
    /// What the system says while writing.
    pub fn finish(mut self, end: Option<&EndLine>) -> Result<W> {
        if !self.tx_time.is_empty() {
            self.row_group().map_err(error)?;
        }
        if let Some(end) = end {
            let pair = KeyValue::new(head::END.to_owned(), end.to_string());
            self.file.append_key_value_metadata(pair);
        }
        self.file.into_inner().map_err(error)
    }

    fn row_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        column::<Int64Type, W>(&mut group, &self.tx_time)?;
        column::<Int64Type, W>(&mut group, &self.decode_delay)?;
        if R::HAS_ATTEMPTS {
            column::<Int32Type, W>(&mut group, &self.attempts)?;
        }
        group.close()?;
        self.tx_time.clear();
        self.decode_delay.clear();
        self.attempts.clear();
        Ok(())
    }
}

impl<W: Write + Send, R: Row> fmt::Debug for Writer<W, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("waiting", &self.tx_time.len())
            .finish_non_exhaustive()
    }
}

fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("fewer columns than the schema".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

fn schema<R: Row>() -> Result<TypePtr, ParquetError> {
    let required = |name, physical| {
        Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED)
    };
    let mut fields = vec![
        required(NAMES[0], Physical::INT64).build()?,
        required(NAMES[1], Physical::INT64).build()?,
    ];
    if R::HAS_ATTEMPTS {
        let attempts = required(NAMES[2], Physical::INT32)
            .with_logical_type(Some(LogicalType::integer(32, false)));
        fields.push(attempts.build()?);
    }
    let fields = fields.into_iter().map(Arc::new).collect();
    let schema = Type::group_type_builder("trace").with_fields(fields);
    Ok(Arc::new(schema.build()?))
}

fn properties(pairs: Vec<KeyValue>) -> Result<WriterProperties, ParquetError> {
    let column = |name: &str| ColumnPath::from(name);
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD)?))
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_dictionary_enabled(false)
        .set_column_dictionary_enabled(column(NAMES[2]), true)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_key_value_metadata((!pairs.is_empty()).then_some(pairs))
        .build())
}
