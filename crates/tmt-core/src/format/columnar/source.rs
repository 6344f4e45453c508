//! A trace in a binary format, read batch by batch: what Arrow and Parquet share.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;

use super::append::append;
use crate::format::unit::Unit;
use crate::types::{EndLine, Error, ErrorKind, Metadata, Result, Slot};

/// How the columns are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The unit of columns of doubles, where one was given. Whole numbers are nanoseconds, always.
    pub unit: Option<Unit>,
    /// Whether the column `attempts` is read where there is one.
    pub attempts: bool,
}

/// What the next step through a binary format brought.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Rows.
    Batch(Batch),
    /// The end of an input that is whole.
    End,
    /// The end of an input that is cut between two batches: an Arrow stream without its end-of-stream
    /// marker, or a head without an end line. The rows that came are whole.
    Cut,
}

/// Some rows, of which any thread can make slots.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    records: RecordBatch,
    unit: Option<Unit>,
}

impl Batch {
    /// Rows in it, one or more.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.records.num_rows() as u64
    }

    /// Appends its rows to `slots`, and to `attempts` where that column is there and wanted.
    ///
    /// # Errors
    /// The first row that cannot be, counted from 1 at the batch's first. The rows in front of it were
    /// appended. That no time goes back behind the batch before is the caller's to check.
    pub fn append(&self, slots: &mut Vec<Slot>, attempts: &mut Vec<u32>) -> Result<()> {
        append(&self.records, self.unit, slots, attempts)
    }
}

/// What a format finds next in its input.
pub(crate) enum Item {
    /// Rows, or none; and the end line, where it came along.
    Rows(RecordBatch, Option<EndLine>),
    /// The end of a whole input.
    End,
    /// The end of one that is cut.
    Cut,
}

/// A trace in a binary format.
pub struct Source<'a> {
    /// The format's name in errors.
    pub(crate) format: &'static str,
    pub(crate) metadata: Metadata,
    pub(crate) end: Option<EndLine>,
    pub(crate) unit: Option<Unit>,
    pub(crate) rows: u64,
    /// Finds what is next; not called any more behind the end.
    pub(crate) items: Box<dyn FnMut() -> Result<Item> + Send + 'a>,
}

impl Source<'_> {
    /// The head; empty where there is none.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The end line; whole only once [`Source::next_batch`] has said [`Next::End`].
    #[must_use]
    pub fn end(&self) -> Option<EndLine> {
        self.end
    }

    /// Rows of the batches handed out so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The next batch that has rows.
    ///
    /// # Errors
    /// Damage, an input that ends within a batch; rows behind the end line, or another number of rows than
    /// it tells; what the system says. The batches handed out before are whole.
    pub fn next_batch(&mut self) -> Result<Next> {
        loop {
            match (self.items)().map_err(|error| error.behind_rows(self.rows))? {
                Item::Rows(records, end) => {
                    self.end = end.or(self.end);
                    self.rows += records.num_rows() as u64;
                    if records.num_rows() > 0 {
                        let unit = self.unit;
                        return Ok(Next::Batch(Batch { records, unit }));
                    }
                }
                Item::Cut => return Ok(Next::Cut),
                Item::End => {
                    return match self.end {
                        Some(EndLine { rows: declared, .. }) if declared != self.rows => {
                            let read = self.rows;
                            Err(Error::new(ErrorKind::RowCount {
                                told: declared,
                                read,
                            }))
                        }
                        None if self.metadata.is_head() => Ok(Next::Cut),
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

/// Whether this thread is at work in which a panic is caught and becomes a refusal.
///
/// For panic hooks, which are asked first and have nothing to say then.
#[must_use]
pub fn panics_are_contained() -> bool {
    CONTAINED.get()
}

/// Does what may panic in a crate on bytes that are damaged: a refusal in these words then, and nothing further.
///
/// Some decoders take a header at its word; which of them do is not ours to know.
pub(crate) fn catch_panics<T>(
    refusal: impl FnOnce() -> Error,
    work: impl FnOnce() -> T,
) -> Result<T> {
    CONTAINED.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(false);
    done.map_err(|_| refusal())
}
