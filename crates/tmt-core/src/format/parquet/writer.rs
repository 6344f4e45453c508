//! Rows to a Parquet file.

use std::io::{self, Write};
use std::marker::PhantomData;

use super::columns::{ColumnFile, Values};
use crate::format::columnar::{Row, columns};
use crate::types::{EndLine, Metadata};

/// Rows of a row group, all but the last: 20 MB at most before they are encoded.
pub const ROW_GROUP: usize = 1 << 20;

/// A Parquet file that is written row group by row group, in the memory of one.
///
/// (A dictionary of measured delays costs more time than it saves bytes.) The bytes depend on head, rows
/// and end line alone, not on the blocks in which the rows come.
pub struct Writer<W: Write + Send, R: Row> {
    file: ColumnFile<W>,
    form: PhantomData<fn(R)>,
}

impl<W: Write + Send, R: Row> Writer<W, R> {
    /// A file on `out` with the columns of `R` and the head, if there is one.
    ///
    /// # Errors
    /// What the system says while writing.
    pub fn new(out: W, metadata: &Metadata) -> io::Result<Self> {
        Ok(Self {
            file: ColumnFile::new(out, "trace", columns::<R>(), metadata, ROW_GROUP)?,
            form: PhantomData,
        })
    }

    /// Takes the next rows.
    ///
    /// # Errors
    /// What the system says while writing.
    pub fn rows(&mut self, mut rows: &[R]) -> io::Result<()> {
        while !rows.is_empty() {
            let (now, later) = rows.split_at(self.file.room().min(rows.len()));
            rows = later;
            for (column, values) in self.file.values().enumerate() {
                match values {
                    Values::Whole(values) if column == 0 => {
                        let times = now.iter().map(|row| row.tx_time().as_nanos());
                        values.extend(times.map(u64::cast_signed));
                    }
                    Values::Whole(values) => {
                        let delays = now.iter().map(|row| row.decode_delay().as_nanos());
                        values.extend(delays.map(u64::cast_signed));
                    }
                    Values::Small(values) => {
                        values.extend(now.iter().map(|row| row.attempts().cast_signed()));
                    }
                    Values::Real(_) | Values::Words(_) => {}
                }
            }
            self.file.filled(now.len())?;
        }
        Ok(())
    }

    /// Writes what is left, the end line, if there is one, and the footer, without which it is no file.
    ///
    /// # Errors
    /// What the system says while writing.
    pub fn finish(self, end: Option<&EndLine>) -> io::Result<W> {
        self.file.finish(end.map(EndLine::to_string))
    }
}
