//! Writes columns of any type to a Parquet file; shared by traces and tables.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_writer::ArrowWriterOptions;
use ::parquet::basic::{Compression, Encoding, ZstdLevel};
use ::parquet::errors::Result;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::schema::types::ColumnPath;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::open::MAGIC;
use super::write_error;
use crate::format::columnar::head;
use crate::format::columns::{ATTEMPTS, NAMES};
use crate::types::Metadata;

/// Level of zstd inside the pages; after the encodings, higher levels gain nothing.
const ZSTD: i32 = 1;

/// Writes a file row group by row group, in the memory of one.
///
/// Encodings: DELTA_BINARY_PACKED for integers, a dictionary for `attempts` and strings, BYTE_STREAM_SPLIT for doubles;
/// pages are compressed with zstd. If all batches but the last have the same number of rows, the bytes depend only on
/// columns, head, rows and end line.
pub(crate) struct ColumnFile<W: Write + Send> {
    file: ArrowWriter<AfterMagic<W>>,
    schema: SchemaRef,
}

impl<W: Write + Send> ColumnFile<W> {
    /// A file on `out` with these columns, a schema called `name`, and the head if there is one. Row groups have
    /// `row_group` rows.
    ///
    /// # Errors
    /// I/O errors of the output, here and in the other methods.
    pub(crate) fn new(
        out: W,
        name: &str,
        fields: Vec<Field>,
        metadata: &Metadata,
        row_group: usize,
    ) -> io::Result<Self> {
        let schema = Arc::new(Schema::new(fields));
        let file = properties(&schema, metadata, row_group).and_then(|properties| {
            let options = ArrowWriterOptions::new()
                .with_properties(properties)
                .with_schema_root(name.to_owned())
                .with_skip_arrow_metadata(true);
            let out = AfterMagic {
                out,
                held: Some(Vec::new()),
            };
            ArrowWriter::try_new_with_options(out, Arc::clone(&schema), options)
        });
        let file = file.map_err(write_error)?;
        Ok(Self { file, schema })
    }

    /// Writes the next rows, given as columns.
    pub(crate) fn batch(&mut self, columns: Vec<ArrayRef>) -> io::Result<()> {
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(Into::into)
            .and_then(|batch| self.file.write(&batch))
            .map_err(write_error)
    }

    /// Writes the remaining rows, the end line if there is one, and the footer.
    pub(crate) fn finish(mut self, end: Option<String>) -> io::Result<W> {
        if let Some(end) = end {
            let pair = KeyValue::new(head::END.to_owned(), end);
            self.file.append_key_value_metadata(pair);
        }
        let out = self.file.into_inner().map_err(write_error)?;
        Ok(out.out)
    }
}

/// An output whose magic number waits for what follows it: a file that is given up before its first row leaves nothing
/// behind, in a pipe neither.
struct AfterMagic<W> {
    out: W,
    /// The magic number, until something follows it.
    held: Option<Vec<u8>>,
}

impl<W: Write> Write for AfterMagic<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(held) = &mut self.held {
            if held.len() + bytes.len() <= MAGIC.len() {
                held.extend_from_slice(bytes);
                return Ok(bytes.len());
            }
            self.out.write_all(held)?;
            self.held = None;
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn properties(schema: &Schema, metadata: &Metadata, row_group: usize) -> Result<WriterProperties> {
    let pairs = head::pairs(metadata).into_iter();
    let pairs: Vec<_> = pairs
        .map(|(key, value)| KeyValue::new(key, value))
        .collect();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(row_group))
        .set_key_value_metadata((!pairs.is_empty()).then_some(pairs));
    for field in schema.fields() {
        let path = ColumnPath::from(field.name().as_str());
        let encoding = match field.data_type() {
            DataType::Float64 => Encoding::BYTE_STREAM_SPLIT,
            DataType::Utf8 | DataType::Boolean => Encoding::PLAIN,
            _ => Encoding::DELTA_BINARY_PACKED,
        };
        let few = *field.data_type() == DataType::Utf8 || field.name() == NAMES[ATTEMPTS];
        properties = properties
            .set_column_encoding(path.clone(), encoding)
            .set_column_dictionary_enabled(path, few);
    }
    Ok(properties.build())
}
