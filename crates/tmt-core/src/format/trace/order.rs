//! What counts across the batches of a binary trace: order, number of rows, the end.

use crate::format::batch::{Rows, Tail};
use crate::types::{EndLine, Error, ErrorKind, Metadata, Position, Result, Time};

/// Where a binary trace has come to.
pub(super) struct Order {
    metadata: Metadata,
    rows: u64,
    previous: Time,
}

impl Order {
    pub(super) fn new(metadata: Metadata) -> Self {
        Self {
            metadata,
            rows: 0,
            previous: Time::ZERO,
        }
    }

    pub(super) fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Takes the next batch.
    ///
    /// # Errors
    /// The first row that cannot be; those in front of it stay in `rows` and count.
    pub(super) fn absorb(&mut self, rows: &mut Rows) -> Result<()> {
        rows.stand_behind(self.rows);
        if let Some(first) = rows.slots.first()
            && first.tx_time() < self.previous
        {
            let kind = ErrorKind::OutOfOrder {
                previous: self.previous,
                found: first.tx_time(),
            };
            rows.truncate(0);
            return Err(Error::at(kind, Position::of_row(self.rows + 1)));
        }
        let before = self.rows;
        if let Some(last) = rows.slots.last() {
            self.previous = last.tx_time();
            self.rows += rows.slots.len() as u64;
        }
        match rows.take_fault() {
            Some(error) => Err(error.behind_rows(before)),
            None => Ok(()),
        }
    }

    /// The end of a whole trace, or of one whose cut is allowed.
    ///
    /// # Errors
    /// No row at all.
    pub(super) fn finish(&self, end: Option<EndLine>, cut: bool) -> Result<Tail> {
        if self.rows == 0 {
            return Err(Error::new(ErrorKind::EmptyTrace));
        }
        Ok(Tail {
            rows: self.rows,
            end,
            cut,
        })
    }

    /// The end of a trace behind which something is wrong.
    ///
    /// # Errors
    /// `error`, unless the trace is only cut and that is allowed.
    pub(super) fn fail(&self, error: Error, allow_cut: bool) -> Result<Tail> {
        match error.kind() {
            ErrorKind::CutStream { .. } if allow_cut => self.finish(None, true),
            _ => Err(error),
        }
    }
}
