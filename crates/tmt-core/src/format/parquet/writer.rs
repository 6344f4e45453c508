//! Writes the rows of a trace to a Parquet file.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};

use super::columns::ColumnFile;
use crate::format::columnar::{Row, fields};
use crate::types::{EndLine, Metadata};

/// Rows per row group; the last one may have fewer.
pub const ROW_GROUP: usize = 1 << 20;

/// Rows encoded at a time.
const BATCH: usize = 1 << 15;

/// Writes a Parquet file row group by row group, in the memory of one.
///
/// Delays have no dictionary: for measured delays it costs time and saves little. The bytes depend only on head, rows
/// and end line, not on how the rows are split into calls.
pub struct Writer<W: Write + Send, R: Row> {
    file: ColumnFile<W>,
    /// Rows that have not been encoded yet.
    rows: Vec<R>,
}

impl<W: Write + Send, R: Row + Copy> Writer<W, R> {
    /// A file on `out` with the columns of `R` and the head, if there is one.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn new(out: W, metadata: &Metadata) -> io::Result<Self> {
        Ok(Self {
            file: ColumnFile::new(out, "trace", fields::<R>(), metadata, ROW_GROUP)?,
            rows: Vec::with_capacity(BATCH),
        })
    }

    /// Writes the next rows, in order.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn rows(&mut self, mut rows: &[R]) -> io::Result<()> {
        while !rows.is_empty() {
            let (now, later) = rows.split_at((BATCH - self.rows.len()).min(rows.len()));
            rows = later;
            self.rows.extend_from_slice(now);
            if self.rows.len() == BATCH {
                self.encode()?;
            }
        }
        Ok(())
    }

    fn encode(&mut self) -> io::Result<()> {
        let times = self.rows.iter().map(|row| row.tx_time().as_nanos());
        let delays = self.rows.iter().map(|row| {
            let delay = row.decode_delay();
            (!delay.is_zero()).then_some(delay.as_nanos().cast_signed())
        });
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(times.map(u64::cast_signed))),
            Arc::new(delays.collect::<Int64Array>()),
        ];
        if R::HAS_ATTEMPTS {
            let attempts = self.rows.iter().map(|row| row.attempts().into());
            columns.push(Arc::new(Int64Array::from_iter_values(attempts)));
        }
        self.rows.clear();
        self.file.batch(columns)
    }

    /// Writes the remaining rows, the end line if there is one, and the footer, and returns the output.
    ///
    /// A file without a footer cannot be read.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn finish(mut self, end: Option<&EndLine>) -> io::Result<W> {
        self.encode()?;
        self.file.finish(end.map(EndLine::to_string))
    }
}
