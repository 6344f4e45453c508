//! Opens a Parquet file and reads batches from it, without trusting any claim of its bytes.

use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::reader::{ChunkReader, Length};
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use bytes::Bytes;

use super::{FORMAT, corrupt, dictionary, error};
use crate::format::columnar;
use crate::types::{Error, ErrorKind, Result};

/// Magic bytes at the start and at the end of a file.
const MAGIC: &[u8; 4] = b"PAR1";

/// Size of the smallest file, bytes: magic, length of an empty footer, magic.
const SMALLEST: u64 = 12;

/// A file whose footer has been read.
pub(super) struct Opened<T> {
    input: Bounded<T>,
    footer: ArrowReaderMetadata,
}

impl<T: ChunkReader + 'static> Opened<T> {
    /// Reads the footer of `input`.
    ///
    /// # Errors
    /// A cut or damaged file, or an I/O error.
    pub(super) fn new(input: T) -> Result<Self> {
        check_ends(&input)?;
        let input = Bounded(Arc::new(input));
        let footer = catch_panics(|| ArrowReaderMetadata::load(&input, ArrowReaderOptions::new()))?
            .map_err(error)?;
        check_footer(footer.metadata())?;
        Ok(Self { input, footer })
    }

    pub(super) fn schema(&self) -> &Schema {
        self.footer.schema()
    }

    /// The key-value pairs of the footer.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.footer.metadata().file_metadata().key_value_metadata();
        let pairs = pairs.into_iter().flatten();
        pairs.map(|pair| (pair.key.as_str(), pair.value.as_deref().unwrap_or_default()))
    }

    /// Batches of these columns, in the order of the schema, of at most `rows` rows each.
    ///
    /// # Errors
    /// A dictionary that claims more values than it contains, or a footer that does not match its schema.
    pub(super) fn batches(self, columns: &[usize], rows: usize) -> Result<Batches> {
        let Self { input, footer } = self;
        let pages = Arc::new(Bounded(Arc::clone(&input.0)));
        catch_panics(|| dictionary::check(&pages, footer.metadata(), columns))??;
        let mask = ProjectionMask::roots(footer.parquet_schema(), columns.iter().copied());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(input, footer)
            .with_projection(mask)
            .with_batch_size(rows);
        catch_panics(|| builder.build())?
            .map(Batches)
            .map_err(error)
    }
}

/// Iterator over decoded batches.
pub(super) struct Batches(ParquetRecordBatchReader);

impl Batches {
    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// The file is damaged.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let next = catch_panics(|| self.0.next())?;
        next.transpose().map_err(|error| corrupt(error.to_string()))
    }
}

/// Runs `work`, in which the `parquet` crate may panic on damaged pages.
fn catch_panics<T>(work: impl FnOnce() -> T) -> Result<T> {
    columnar::catch_panics(|| corrupt("pages that cannot be decoded"), work)
}

/// Checks the magic bytes at both ends of a file.
fn check_ends<T: ChunkReader>(input: &T) -> Result<()> {
    let length = input.len();
    let mut last = Bytes::new();
    if length >= SMALLEST {
        let first = input.get_bytes(0, MAGIC.len()).map_err(error)?;
        if first.as_ref() != MAGIC {
            return Err(corrupt("no PAR1 at the start"));
        }
        last = input
            .get_bytes(length - MAGIC.len() as u64, MAGIC.len())
            .map_err(error)?;
    }
    if last.as_ref() == b"PARE" {
        return Err(Error::new(ErrorKind::format(
            "an encrypted Parquet footer",
            "an unencrypted one",
        )));
    }
    if last.as_ref() != MAGIC {
        let format = FORMAT;
        return Err(Error::new(ErrorKind::CutStream { format, rows: 0 }));
    }
    Ok(())
}

/// Refuses numbers in the footer that the crate does not check.
fn check_footer(metadata: &ParquetMetaData) -> Result<()> {
    let mut rows = 0i64;
    for group in metadata.row_groups() {
        rows = Some(group.num_rows())
            .filter(|&rows| rows >= 0)
            .and_then(|more| rows.checked_add(more))
            .ok_or_else(|| corrupt("an invalid number of rows"))?;
        for column in group.columns() {
            let from = column
                .dictionary_page_offset()
                .unwrap_or(column.data_page_offset());
            let length = column.compressed_size();
            let is_range = from >= 0 && length >= 0 && from.checked_add(length).is_some();
            if !is_range || column.data_page_offset() < 0 || column.num_values() < 0 {
                return Err(corrupt("a column chunk with an invalid offset or length"));
            }
        }
    }
    Ok(())
}

/// An input that refuses ranges outside the file.
///
/// Reading a range allocates its length first, which may come from a damaged footer.
struct Bounded<T>(Arc<T>);

impl<T: ChunkReader> Length for Bounded<T> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<T: ChunkReader> ChunkReader for Bounded<T> {
    type T = T::T;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        if start > self.len() {
            return Err(outside());
        }
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        match start.checked_add(length as u64) {
            Some(end) if end <= self.len() => self.0.get_bytes(start, length),
            _ => Err(outside()),
        }
    }
}

fn outside() -> ParquetError {
    ParquetError::EOF("a page outside the file".to_owned())
}
