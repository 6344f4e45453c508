//! Columns of any kind to a Parquet file: what traces and tables share.

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

use super::write_error;
use crate::format::columnar::head;
use crate::types::Metadata;

/// Level of zstd inside the pages: what the encodings leave gains nothing from a higher one.
const ZSTD: i32 = 1;

/// A file that is written row group by row group, in the memory of one.
///
/// Whole numbers are delta-encoded, small ones and words by a dictionary, doubles byte by byte; pages are
/// compressed with zstd. The bytes depend on columns, head, rows and end line alone where all batches but the
/// last have the same number of rows.
pub(crate) struct ColumnFile<W: Write + Send> {
    file: ArrowWriter<W>,
    schema: SchemaRef,
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
            ArrowWriter::try_new_with_options(out, Arc::clone(&schema), options)
        });
        let file = file.map_err(write_error)?;
        Ok(Self { file, schema })
    }

    /// Takes the next rows, column by column.
    pub(crate) fn batch(&mut self, columns: Vec<ArrayRef>) -> io::Result<()> {
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(Into::into)
            .and_then(|batch| self.file.write(&batch))
            .map_err(write_error)
    }

    /// Writes what is left, the end line, if there is one, and the footer, without which it is no file.
    pub(crate) fn finish(mut self, end: Option<String>) -> io::Result<W> {
        if let Some(end) = end {
            let pair = KeyValue::new(head::END.to_owned(), end);
            self.file.append_key_value_metadata(pair);
        }
        self.file.into_inner().map_err(write_error)
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
            DataType::Utf8 => Encoding::PLAIN,
            _ => Encoding::DELTA_BINARY_PACKED,
        };
        let few = matches!(field.data_type(), DataType::UInt32 | DataType::Utf8);
        properties = properties
            .set_column_encoding(path.clone(), encoding)
            .set_column_dictionary_enabled(path, few);
    }
    Ok(properties.build())
}
