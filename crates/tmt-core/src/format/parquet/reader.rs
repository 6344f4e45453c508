//! Rows from a Parquet file.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::reader::{ChunkReader, Length};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use bytes::Bytes;

use super::{FORMAT, corrupt, dictionary, error};
use crate::format::columnar::{
    self, Column, CountValues, Counts, Next, Number, Options, Places, Times, Type, head,
};
use crate::types::{EndLine, Error, ErrorKind, Metadata, Result, Slot};

/// Rows decoded at a time.
const BATCH: usize = 1 << 15;

/// What stands at both ends of a file.
const MAGIC: &[u8; 4] = b"PAR1";

/// Bytes of the smallest file: the magic, an empty footer's length, the magic.
const SMALLEST: u64 = 12;

/// A Parquet file that is read batch by batch, in the memory of a few pages.
pub struct Reader {
    batches: ParquetRecordBatchReader,
    metadata: Metadata,
    end: Option<EndLine>,
    /// Where the contract's columns stand among those that are read.
    places: Places,
    rows: u64,
    /// Time of the last row.
    previous: u64,
}

impl Reader {
    /// Opens `input` and reads its footer.
    ///
    /// # Errors
    /// A file that is cut or damaged; no columns of the contract, or with other types; what the system says.
    pub fn new<T: ChunkReader + 'static>(input: T, options: Options) -> Result<Self> {
        check_ends(&input)?;
        let input = Bounded(Arc::new(input));
        let footer = contained(|| ArrowReaderMetadata::load(&input, ArrowReaderOptions::new()))?
            .map_err(error)?;
        check_footer(footer.metadata())?;
        let fields = footer.schema().fields().iter();
        let columns = fields.map(|field| (field.name().clone(), column_type(field.data_type())));
        let mut places = Places::find(columns.collect(), options)?;
        let pairs = footer.metadata().file_metadata().key_value_metadata();
        let (metadata, end) = head::read(
            pairs
                .into_iter()
                .flatten()
                .map(|pair| (pair.key.as_str(), pair.value.as_deref().unwrap_or_default())),
        )?;
        let mut wanted = vec![places.tx_time.0, places.decode_delay.0];
        wanted.extend(places.attempts);
        let pages = Arc::new(Bounded(Arc::clone(&input.0)));
        contained(|| dictionary::check(&pages, footer.metadata(), &wanted))??;
        let mask = ProjectionMask::roots(footer.parquet_schema(), wanted.iter().copied());
        // Columns are handed over in the file's order, whatever the order in which they were asked for.
        wanted.sort_unstable();
        let among = |at: usize| wanted.partition_point(|&other| other < at);
        places.tx_time.0 = among(places.tx_time.0);
        places.decode_delay.0 = among(places.decode_delay.0);
        places.attempts = places.attempts.map(among);
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(input, footer)
            .with_projection(mask)
            .with_batch_size(BATCH);
        Ok(Self {
            batches: contained(|| builder.build())?.map_err(error)?,
            metadata,
            end,
            places,
            rows: 0,
            previous: 0,
        })
    }

    /// The head; empty where there is none.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The end line.
    #[must_use]
    pub fn end(&self) -> Option<EndLine> {
        self.end
    }

    /// Rows read so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends some further rows to `slots`, and to `attempts` where that column is there and wanted.
    ///
    /// # Errors
    /// Damage; the first row that cannot be, with its number in the file: the rows in front of it were
    /// appended; another number of rows than the end line tells.
    pub fn append(&mut self, slots: &mut Vec<Slot>, attempts: &mut Vec<u32>) -> Result<Next> {
        loop {
            match contained(|| self.batches.next())? {
                None => return self.finish(),
                Some(Err(error)) => return Err(corrupt(error.to_string())),
                Some(Ok(batch)) if batch.num_rows() == 0 => {}
                Some(Ok(batch)) => {
                    self.take(&batch, slots, attempts)
                        .map_err(|error| error.behind_rows(self.rows))?;
                    self.rows += batch.num_rows() as u64;
                    self.previous = slots.last().map_or(0, |slot| slot.tx_time().as_nanos());
                    return Ok(Next::Batch);
                }
            }
        }
    }

    fn take(
        &self,
        batch: &RecordBatch,
        slots: &mut Vec<Slot>,
        attempts: &mut Vec<u32>,
    ) -> Result<()> {
        let tx_time = times(batch, self.places.tx_time)?;
        let delay = times(batch, self.places.decode_delay)?;
        let counts = self
            .places
            .attempts
            .map(|at| counts(batch, at))
            .transpose()?;
        let rows = batch.num_rows();
        columnar::append(
            [&tx_time, &delay],
            counts.as_ref(),
            rows,
            self.previous,
            slots,
            attempts,
        )
    }

    fn finish(&self) -> Result<Next> {
        match self.end {
            Some(end) if end.rows != self.rows => Err(Error::new(ErrorKind::RowCount {
                told: end.rows,
                read: self.rows,
            })),
            None if self.metadata.is_head() => Ok(Next::Cut),
            _ => Ok(Next::End),
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is at work in which a panic is caught and becomes a refusal.
///
/// For panic hooks, which are asked first and have nothing to say then.
#[must_use]
pub fn panics_are_contained() -> bool {
    CONTAINED.get()
}

/// Does what may panic in the crate on pages that are damaged: a refusal then, and nothing further.
///
/// Some of its decoders take a page's header at its word; which of them do is not ours to know.
pub(super) fn contained<T>(work: impl FnOnce() -> T) -> Result<T> {
    CONTAINED.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(false);
    done.map_err(|_| corrupt("pages that cannot be decoded"))
}

fn column_type(found: &DataType) -> Type {
    match found {
        DataType::Int64 => Type::Int64,
        DataType::Float64 => Type::Float64,
        DataType::UInt32 => Type::Uint32,
        other => Type::Other(other.to_string().to_lowercase()),
    }
}

/// A column of the batch; the schema has said what it is.
fn array(batch: &RecordBatch, at: usize) -> Result<&ArrayRef> {
    batch
        .columns()
        .get(at)
        .ok_or_else(|| corrupt("a batch with fewer columns than the schema"))
}

fn other_type() -> Error {
    corrupt("a column of another type than the schema tells")
}

fn times(batch: &RecordBatch, (at, number): (usize, Number)) -> Result<Column<'_>> {
    let array = array(batch, at)?;
    let times = match number {
        Number::Integer => array
            .as_primitive_opt::<Int64Type>()
            .map(|array| Times::Integers(array.values())),
        Number::Double(_) => array
            .as_primitive_opt::<Float64Type>()
            .map(|array| Times::Doubles(array.values())),
    };
    Ok(Column {
        times: times.ok_or_else(other_type)?,
        number,
        null: first_null(array),
    })
}

fn counts(batch: &RecordBatch, at: usize) -> Result<Counts<'_>> {
    let array = array(batch, at)?;
    let values = array
        .as_primitive_opt::<UInt32Type>()
        .ok_or_else(other_type)?;
    Ok(Counts {
        values: CountValues::Integers(values.values()),
        null: first_null(array),
    })
}

fn first_null(array: &ArrayRef) -> Option<usize> {
    if array.null_count() == 0 {
        return None;
    }
    (0..array.len()).find(|&row| array.is_null(row))
}

/// Refuses a file that does not begin and end as one.
pub(super) fn check_ends<T: ChunkReader>(input: &T) -> Result<()> {
    let length = input.len();
    let mut last = Bytes::new();
    if length >= SMALLEST {
        let first = input.get_bytes(0, MAGIC.len()).map_err(error)?;
        if first.as_ref() != MAGIC {
            return Err(corrupt("no PAR1 in front"));
        }
        last = input
            .get_bytes(length - MAGIC.len() as u64, MAGIC.len())
            .map_err(error)?;
    }
    if last.as_ref() == b"PARE" {
        return Err(Error::new(ErrorKind::Format {
            found: "an encrypted Parquet footer".to_owned(),
            expected: "one that can be read".to_owned(),
        }));
    }
    if last.as_ref() != MAGIC {
        let format = FORMAT;
        return Err(Error::new(ErrorKind::CutStream { format, rows: 0 }));
    }
    Ok(())
}

/// Refuses numbers in the footer that the crate takes for right without looking.
pub(super) fn check_footer(metadata: &ParquetMetaData) -> Result<()> {
    let mut rows = 0i64;
    for group in metadata.row_groups() {
        rows = Some(group.num_rows())
            .filter(|&rows| rows >= 0)
            .and_then(|more| rows.checked_add(more))
            .ok_or_else(|| corrupt("an impossible number of rows"))?;
        for column in group.columns() {
            let from = column
                .dictionary_page_offset()
                .unwrap_or(column.data_page_offset());
            let length = column.compressed_size();
            let is_range = from >= 0 && length >= 0 && from.checked_add(length).is_some();
            if !is_range || column.data_page_offset() < 0 || column.num_values() < 0 {
                return Err(corrupt("a column at an impossible place"));
            }
        }
    }
    Ok(())
}

/// An input that is never asked for what it has not.
///
/// Reading a range sets memory aside for it first, and its length may be what a footer claims.
pub(super) struct Bounded<T>(pub(super) Arc<T>);

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
