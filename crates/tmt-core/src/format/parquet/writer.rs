//! Rows to a Parquet file.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, UInt32Array};

use super::columns::ColumnFile;
use crate::format::columnar::{Row, fields};
use crate::types::{EndLine, Metadata};

/// Rows of a row group, all but the last.
pub const ROW_GROUP: usize = 1 << 20;

/// Rows encoded at a time.
const BATCH: usize = 1 << 15;

/// A Parquet file that is written row group by row group, in the memory of one.
///
/// (A dictionary of measured delays costs more time than it saves bytes.) The bytes depend on head, rows
/// and end line alone, not on the blocks in which the rows come.
pub struct Writer<W: Write + Send, R: Row> {
    file: ColumnFile<W>,
    /// Rows that wait to be encoded.
    rows: Vec<R>,
}

impl<W: Write + Send, R: Row + Copy> Writer<W, R> {
    /// A file on `out` with the columns of `R` and the head, if there is one.
    ///
    /// # Errors
    /// What the system says while writing.
    pub fn new(out: W, metadata: &Metadata) -> io::Result<Self> {
        Ok(Self {
            file: ColumnFile::new(out, "trace", fields::<R>(), metadata, ROW_GROUP)?,
            rows: Vec::with_capacity(BATCH),
        })
    }

    /// Takes the next rows.
    ///
    /// # Errors
    /// What the system says while writing.
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
        let delays = self.rows.iter().map(|row| row.decode_delay().as_nanos());
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(times.map(u64::cast_signed))),
            Arc::new(Int64Array::from_iter_values(delays.map(u64::cast_signed))),
        ];
        if R::HAS_ATTEMPTS {
            let attempts = UInt32Array::from_iter_values(self.rows.iter().map(Row::attempts));
            columns.push(Arc::new(attempts));
        }
        self.rows.clear();
        self.file.batch(columns)
    }

    /// Writes what is left, the end line, if there is one, and the footer, without which it is no file.
    ///
    /// # Errors
    /// What the system says while writing.
    pub fn finish(mut self, end: Option<&EndLine>) -> io::Result<W> {
        self.encode()?;
        self.file.finish(end.map(EndLine::to_string))
    }
}
