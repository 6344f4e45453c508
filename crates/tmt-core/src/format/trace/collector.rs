//! Collects a trace or timeline as a table in memory.

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use super::sink::{Round, Sink};
use super::writer::Row;
use crate::format::columnar::{Collected, batches, fields, head};
use crate::types::{EndLine, Metadata};

/// Rows of a batch; the last one has fewer.
const BATCH: usize = 1 << 18;

/// A trace or timeline in memory, as Arrow has it (docs/trace-format.md, Sec. 6).
#[derive(Debug, Clone)]
pub struct Batches {
    /// The columns, without metadata.
    pub schema: SchemaRef,
    /// The head as pairs of the schema's metadata, in their order; the last one is the end line. Empty without a head.
    pub metadata: Vec<(String, String)>,
    /// The rows.
    pub batches: Vec<RecordBatch>,
}

/// Collects rows as Arrow batches, each column on any thread.
///
/// ```
/// use tmt_core::format::{Sink as _, TraceCollector};
/// use tmt_core::types::{EndLine, Metadata};
/// use tmt_core::{Slot, Time};
///
/// let mut collector = TraceCollector::new(&Metadata::new());
/// let slots = [Slot::erased(Time::ZERO); 3];
/// rayon::scope(|scope| collector.spawn(&slots, scope));
/// let end = EndLine { rows: 3, slots: 3, usable_until: Time::ZERO };
/// let table = collector.finish(&end)?;
/// assert_eq!((table.batches[0].num_rows(), table.batches[0].column(1).null_count()), (3, 3));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct TraceCollector<T: Row> {
    metadata: Vec<(String, String)>,
    columns: Vec<Collected>,
    rows: PhantomData<T>,
}

impl<T: Row> TraceCollector<T> {
    /// Starts with `head`, if it has a key `tool`.
    #[must_use]
    pub fn new(head: &Metadata) -> Self {
        Self {
            metadata: head::pairs(head),
            columns: Collected::columns::<T>(BATCH),
            rows: PhantomData,
        }
    }

    /// The rows that were collected, and the end line if they have one.
    ///
    /// # Errors
    /// None that rows can cause: the columns have equal lengths.
    pub fn into_batches(mut self, end: Option<&EndLine>) -> io::Result<Batches> {
        if let Some(end) = end.filter(|_| !self.metadata.is_empty()) {
            self.metadata.push((head::END.to_owned(), end.to_string()));
        }
        let schema = Arc::new(Schema::new(fields::<T>()));
        let columns = self.columns.iter_mut().map(Collected::take_all);
        let batch = |columns| RecordBatch::try_new(Arc::clone(&schema), columns);
        let batches: Result<_, _> = batches(columns.collect()).into_iter().map(batch).collect();
        Ok(Batches {
            batches: batches.map_err(io::Error::other)?,
            schema,
            metadata: self.metadata,
        })
    }
}

impl<T: Row> Sink<T> for TraceCollector<T> {
    type Output = Batches;

    fn round<'s>(&'s mut self, rows: &'s [T]) -> Round<'s, T> {
        let columns = &mut self.columns;
        Round {
            taking: None,
            tasks: Box::new(move |scope| {
                for column in columns {
                    scope.spawn(move |_| column.append(rows));
                }
            }),
        }
    }

    fn advance(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn finish(self, end: &EndLine) -> io::Result<Batches> {
        self.into_batches(Some(end))
    }

    fn abandon(self) -> io::Result<()> {
        Ok(())
    }
}
