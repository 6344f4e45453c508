//! Reads a trace in a binary format batch by batch; shared by Arrow and Parquet.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::append::{self, append};
use super::layout::Layout;
use crate::types::{EndLine, Error, ErrorKind, Metadata, Result, Slot, Time};

/// Result of [`Source::next_batch`].
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// A batch of one or more rows.
    Batch(Batch),
    /// The end of a complete input.
    End,
    /// The end of an input that is cut between two batches: an Arrow stream without its end-of-stream marker, or a
    /// head without an end line. All rows so far are valid.
    Cut,
}

/// A batch of undecoded rows, which any thread can convert to slots.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    records: RecordBatch,
    layout: Arc<Layout>,
    /// Timestamp of the first row of the trace, in the unit of its column; 0 if times are no timestamps.
    zero: i64,
    /// Times of the first and last row, if [`Batch::check`] has accepted all rows.
    checked: Option<(Time, Time)>,
}

impl Batch {
    /// Number of rows, at least 1.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.records.num_rows() as u64
    }

    /// Appends its rows to `slots`, and to `attempts` if that column exists and is read. Returns the number of rows
    /// without a delay, as [`TraceReader::missing_delays`](crate::format::TraceReader::missing_delays) counts them.
    ///
    /// The caller must check that the first time is not earlier than the last one of the batch before.
    ///
    /// # Errors
    /// The first invalid row, numbered from 1 within the batch. The rows before it were appended.
    pub fn append(&self, slots: &mut Vec<Slot>, attempts: &mut Vec<u32>) -> Result<u64> {
        append(&self.records, &self.layout, self.zero, slots, attempts)
    }

    /// Checks all rows, so that they can be converted without another check if all are valid and of the common types.
    pub(crate) fn check(&mut self) {
        self.checked = append::check(&self.records, &self.layout, self.zero);
    }

    /// The times of the first and last row, if all rows have been checked.
    pub(crate) fn checked(&self) -> Option<(Time, Time)> {
        self.checked
    }

    /// Passes the slots of the rows `range` to `take`, in order and a few at a time. All rows have been checked.
    pub(crate) fn each(&self, range: Range<usize>, take: &mut dyn FnMut(&[Slot])) {
        append::each(&self.records, &self.layout, range, take);
    }
}

/// Next item of the input of a format.
pub(crate) enum Item {
    /// Zero or more rows, and the end line if it is stored with them.
    Rows(RecordBatch, Option<EndLine>),
    /// The end of a complete input.
    End,
    /// The end of a cut input.
    Cut,
}

/// Reader of a trace in a binary format.
pub struct Source<'a> {
    /// Name of the format in error messages.
    pub(crate) format: &'static str,
    /// Whether an input with a head ends with an end line. A table in memory is whole without one.
    pub(crate) has_end_line: bool,
    pub(crate) metadata: Metadata,
    pub(crate) end: Option<EndLine>,
    pub(crate) layout: Arc<Layout>,
    /// Timestamp of the first row, once it has been read.
    pub(crate) zero: Option<i64>,
    pub(crate) rows: u64,
    /// Returns the next item; not called after the end.
    pub(crate) items: Box<dyn FnMut() -> Result<Item> + Send + 'a>,
}

impl Source<'_> {
    /// The head; empty if absent.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The columns that are read.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The end line; final once [`Source::next_batch`] has returned [`Next::End`].
    #[must_use]
    pub fn end(&self) -> Option<EndLine> {
        self.end
    }

    /// Number of rows in the batches returned so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Reads the next batch that has rows.
    ///
    /// # Errors
    /// Damage, an input that ends within a batch, rows after the end line, a number of rows that differs from the end
    /// line, or an I/O error. The batches returned before are valid.
    pub fn next_batch(&mut self) -> Result<Next> {
        loop {
            match (self.items)().map_err(|error| error.offset_rows(self.rows))? {
                Item::Rows(records, end) => {
                    self.end = end.or(self.end);
                    self.rows += records.num_rows() as u64;
                    if records.num_rows() > 0 {
                        let layout = Arc::clone(&self.layout);
                        let first = || append::first_timestamp(&records, &layout);
                        let zero = *self.zero.get_or_insert_with(first);
                        return Ok(Next::Batch(Batch {
                            records,
                            layout,
                            zero,
                            checked: None,
                        }));
                    }
                }
                Item::Cut => return Ok(Next::Cut),
                Item::End => {
                    return match self.end {
                        Some(EndLine { rows: stated, .. }) if stated != self.rows => {
                            let read = self.rows;
                            Err(Error::new(ErrorKind::RowCount { stated, read }))
                        }
                        None if self.has_end_line && self.metadata.is_head() => Ok(Next::Cut),
                        _ => Ok(Next::End),
                    };
                }
            }
        }
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(self.format).finish_non_exhaustive()
    }
}

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is decoding with a library whose panics are caught and reported as errors.
///
/// For panic hooks, which run before the panic is caught and should then print nothing.
#[must_use]
pub fn panics_are_contained() -> bool {
    CONTAINED.get()
}

/// Runs `work`, which may panic inside a library if the bytes are damaged; returns `refusal` in that case.
///
/// Some decoders trust the headers that they read.
pub(crate) fn catch_panics<T>(
    refusal: impl FnOnce() -> Error,
    work: impl FnOnce() -> T,
) -> Result<T> {
    CONTAINED.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(false);
    done.map_err(|_| refusal())
}
