//! Opens a Parquet file and reads batches from it, without trusting any claim of its bytes.

use std::io::{self, Read};
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

use super::{FORMAT, claims, corrupt, error, pages};
use crate::format::columnar;
use crate::types::{Error, ErrorKind, Result};

/// Magic bytes at the start and at the end of a file.
pub(super) const MAGIC: &[u8; 4] = b"PAR1";

/// Size of the smallest file, bytes: magic, length of an empty footer, magic.
const SMALLEST: u64 = 12;

/// Size of the length of the footer and of the magic after it, bytes.
const TAIL: usize = 8;

/// Number of elements that lists in the header of a page may have; the format has none.
const HEADER_ELEMENTS: u64 = 1000;

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
        check_footer_claims(&input)?;
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
    /// Pages that claim more than they contain or other rows than the footer, or a footer that does not match its schema.
    pub(super) fn batches(self, columns: &[usize], rows: usize) -> Result<Batches> {
        let Self { input, footer } = self;
        let checked = Arc::new(Pages(Bounded(Arc::clone(&input.0))));
        catch_panics(|| pages::check(&checked, footer.metadata(), columns))??;
        let groups = footer.metadata().row_groups().iter();
        let stated = groups.map(|group| group.num_rows().cast_unsigned()).sum();
        let mask = ProjectionMask::roots(footer.parquet_schema(), columns.iter().copied());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(Pages(input), footer)
            .with_projection(mask)
            .with_batch_size(rows);
        let reader = catch_panics(|| builder.build())?.map_err(error)?;
        let read = 0;
        Ok(Batches {
            reader,
            stated,
            read,
        })
    }
}

/// Iterator over decoded batches.
pub(super) struct Batches {
    reader: ParquetRecordBatchReader,
    /// Number of rows by the footer.
    stated: u64,
    read: u64,
}

impl Batches {
    /// The number of rows that the footer states.
    pub(super) fn stated(&self) -> u64 {
        self.stated
    }

    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// The file is damaged, or has not the rows that its footer states.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let next = catch_panics(|| self.reader.next())?.transpose();
        let next = next.map_err(|error| corrupt(error.to_string()))?;
        let (stated, rows) = (self.stated, next.as_ref().map(RecordBatch::num_rows));
        self.read += rows.unwrap_or(0) as u64;
        let is_right = if rows.is_some() {
            self.read <= stated
        } else {
            self.read == stated
        };
        if !is_right {
            let read = self.read;
            // The crate ends a column with its last page, regardless of the footer.
            return Err(corrupt(format!(
                "pages with {read} rows, although the footer states {stated}"
            )));
        }
        Ok(next)
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

/// Checks what lists in the footer claim: an element takes at least one byte.
fn check_footer_claims<T: ChunkReader>(input: &Bounded<T>) -> Result<()> {
    let tail = input.len() - TAIL as u64;
    let length = input.get_bytes(tail, TAIL - MAGIC.len()).map_err(error)?;
    let length = length
        .iter()
        .rev()
        .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    let start = tail.checked_sub(length);
    let start = start.ok_or_else(|| corrupt("a footer longer than the file"))?;
    let bytes = usize::try_from(length).map_err(|_| corrupt("a footer longer than memory"))?;
    let footer = input.get_bytes(start, bytes).map_err(error)?;
    claims::check_struct(&footer[..], length)
        .map_err(|error| corrupt(format!("a footer with {}", of_claims(&error))))
}

/// The message of [`claims`], which is not an error of the operating system.
fn of_claims(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "fields after its end".to_owned(),
        _ => error.to_string(),
    }
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
    let stated = metadata.file_metadata().num_rows();
    if stated != rows {
        return Err(corrupt(format!(
            "row groups of {rows} rows, although the footer states {stated}"
        )));
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

/// An input of pages, whose headers are checked before the crate parses them.
struct Pages<T>(Bounded<T>);

impl<T: ChunkReader> Length for Pages<T> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<T: ChunkReader> ChunkReader for Pages<T> {
    type T = Header<T>;

    fn get_read(&self, start: u64) -> ParquetResult<Header<T>> {
        let input = Bounded(Arc::clone(&self.0.0));
        let reader = None;
        Ok(Header {
            input,
            start,
            reader,
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// The header of a page. It is checked when it is read: for a header that it knows already, the crate asks for a reader
/// after it and reads nothing.
struct Header<T: ChunkReader> {
    input: Bounded<T>,
    start: u64,
    reader: Option<T::T>,
}

impl<T: ChunkReader> Read for Header<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let open = || self.input.get_read(self.start).map_err(io::Error::other);
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => {
                claims::check_struct(open()?, HEADER_ELEMENTS).map_err(|error| {
                    io::Error::other(format!("a page header with {}", of_claims(&error)))
                })?;
                none.insert(open()?)
            }
        };
        let read = reader.read(buffer)?;
        // The crate takes the end of the file for skipped bytes.
        if read == 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(read)
    }
}
