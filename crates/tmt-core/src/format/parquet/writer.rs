//! Writes the rows of a trace to a Parquet file.

use std::io::{self, Write};
use std::marker::PhantomData;

use super::columns::ColumnFile;
use crate::format::columnar::{Collected, Row, batches, fields};
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
    columns: Vec<Collected>,
    rows: PhantomData<R>,
}

impl<W: Write + Send, R: Row + Copy> Writer<W, R> {
    /// A file on `out` with the columns of `R` and the head, if there is one.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn new(out: W, metadata: &Metadata) -> io::Result<Self> {
        Ok(Self {
            file: ColumnFile::new(out, "trace", fields::<R>(), metadata, ROW_GROUP)?,
            columns: Collected::columns::<R>(BATCH),
            rows: PhantomData,
        })
    }

    /// Writes the next rows, in order.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn rows(&mut self, rows: &[R]) -> io::Result<()> {
        for column in &mut self.columns {
            column.append(rows);
        }
        let full = self.columns.iter_mut().map(Collected::take);
        let mut full = batches(full.collect()).into_iter();
        full.try_for_each(|columns| self.file.batch(columns))
    }

    /// Writes the remaining rows, the end line if there is one, and the footer, and returns the output.
    ///
    /// A file without a footer cannot be read.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn finish(mut self, end: Option<&EndLine>) -> io::Result<W> {
        let rest = self.columns.iter_mut().map(Collected::take_all);
        let mut rest = batches(rest.collect()).into_iter();
        rest.try_for_each(|columns| self.file.batch(columns))?;
        self.file.finish(end.map(EndLine::to_string))
    }
}
