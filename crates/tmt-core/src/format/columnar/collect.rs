//! The columns of rows that are written, while they grow (docs/trace-format.md, Sec. 6): int64, and a null for a delay of
//! zero.

use arrow_array::Int64Array;
use arrow_buffer::{BooleanBuffer, NullBuffer};

use super::Row;
use crate::format::columns::{ATTEMPTS, DECODE_DELAY, TX_TIME};

/// One column of rows, in arrays of equal length.
pub(crate) struct Collected {
    /// Which column of a trace.
    column: usize,
    /// Rows of an array; the last one may have fewer.
    length: usize,
    open: Vec<i64>,
    full: Vec<Int64Array>,
}

impl Collected {
    /// The empty columns of rows of type `R`, in arrays of `length` rows.
    pub(crate) fn columns<R: Row>(length: usize) -> Vec<Self> {
        let columns = [TX_TIME, DECODE_DELAY, ATTEMPTS].into_iter();
        let columns = columns.take(if R::HAS_ATTEMPTS { 3 } else { 2 });
        columns
            .map(|column| Self {
                column,
                length,
                open: Vec::new(),
                full: Vec::new(),
            })
            .collect()
    }

    /// Appends the values of `rows`.
    pub(crate) fn append<R: Row>(&mut self, mut rows: &[R]) {
        while !rows.is_empty() {
            let (now, later) = rows.split_at((self.length - self.open.len()).min(rows.len()));
            rows = later;
            match self.column {
                TX_TIME => self.extend(now, |row| row.tx_time().as_nanos().cast_signed()),
                DECODE_DELAY => self.extend(now, |row| row.decode_delay().as_nanos().cast_signed()),
                _ => self.extend(now, |row| row.attempts().into()),
            }
            if self.open.len() == self.length {
                self.close();
                self.open.reserve_exact(self.length);
            }
        }
    }

    fn extend<R>(&mut self, rows: &[R], value: impl Fn(&R) -> i64) {
        self.open.extend(rows.iter().map(value));
    }

    /// Ends the array that is open.
    fn close(&mut self) {
        let mut values = std::mem::take(&mut self.open);
        values.shrink_to_fit();
        let zeros = self.column == DECODE_DELAY && values.contains(&0);
        let nulls =
            zeros.then(|| BooleanBuffer::collect_bool(values.len(), |row| values[row] != 0));
        let nulls = nulls.map(NullBuffer::new);
        self.full.push(Int64Array::new(values.into(), nulls));
    }

    /// Takes the arrays that are full.
    pub(crate) fn take(&mut self) -> Vec<Int64Array> {
        std::mem::take(&mut self.full)
    }

    /// Takes all arrays; the last may be shorter.
    pub(crate) fn take_all(&mut self) -> Vec<Int64Array> {
        if !self.open.is_empty() {
            self.close();
        }
        self.take()
    }
}

/// The arrays of all columns, batch by batch.
pub(crate) fn batches(columns: Vec<Vec<Int64Array>>) -> Vec<Vec<arrow_array::ArrayRef>> {
    let count = columns.first().map_or(0, Vec::len);
    let mut batches = vec![Vec::with_capacity(columns.len()); count];
    for column in columns {
        for (batch, array) in batches.iter_mut().zip(column) {
            batch.push(std::sync::Arc::new(array) as _);
        }
    }
    batches
}
