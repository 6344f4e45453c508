//! Interface between the reader and the formats.

use rayon::Scope;

use crate::format::batch::{Rows, TraceEnd};
use crate::format::pool::Pool;
use crate::types::{Metadata, Result};

/// How the columns of a table are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading<'a> {
    /// Names of the columns that are not read.
    pub(super) ignored: &'a [String],
    /// Whether no column of delays is read.
    pub(super) has_no_delays: bool,
    /// Whether times are timestamps, which count from the first row.
    pub(super) starts_at_first_row: bool,
}

/// A trace of some format, fetched and parsed in rounds.
pub(super) trait Input: Send {
    /// The head; empty if absent.
    fn metadata(&self) -> &Metadata;

    /// How the columns are read.
    fn reading(&self) -> Reading<'_>;

    /// Allows rows that are kept in columns from now on, for a format that has columns.
    fn keep_columns(&mut self) {}

    /// Spawns the tasks of a round: parses into `pieces` what the last round fetched, and fetches more.
    fn spawn<'s>(&'s mut self, pieces: &'s mut Pool<Rows>, scope: &Scope<'s>);

    /// Checks the order of the next piece and numbers its rows.
    ///
    /// # Errors
    /// The first invalid row. The rows before it stay in `rows` and count.
    fn commit(&mut self, rows: &mut Rows) -> Result<()>;

    /// Ends a round whose pieces have been committed. If they were the last, returns the end of the trace, and puts
    /// rows that came with it into `last`.
    ///
    /// # Errors
    /// An error after the pieces.
    fn advance(&mut self, last: &mut Rows) -> Result<Option<TraceEnd>>;
}
