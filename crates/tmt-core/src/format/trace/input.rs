//! What a reader asks of an input, whatever its format is.

use rayon::Scope;

use crate::format::batch::{Rows, TraceEnd};
use crate::format::pool::Pool;
use crate::types::{Metadata, Result};

/// A trace of some format, fetched and parsed in rounds.
pub(super) trait Input: Send {
    /// The head; empty where there is none.
    fn metadata(&self) -> &Metadata;

    /// Starts a round's tasks: what the round before fetched is parsed into `pieces`, and more is fetched.
    fn spawn<'s>(&'s mut self, pieces: &'s mut Pool<Rows>, scope: &Scope<'s>);

    /// Gives the rows of the next piece their place in the input.
    ///
    /// # Errors
    /// The first row that cannot be; those in front of it stay in `rows` and count.
    fn commit(&mut self, rows: &mut Rows) -> Result<()>;

    /// Ends a round whose pieces were absorbed; the tail where they were the last, with rows that came
    /// with the end in `last`.
    ///
    /// # Errors
    /// What is wrong behind the pieces.
    fn advance(&mut self, last: &mut Rows) -> Result<Option<TraceEnd>>;
}
