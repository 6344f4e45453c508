//! Where the rows of a pipeline go.

use std::io;

use rayon::Scope;

use crate::types::EndLine;

/// Takes rows on the thread that makes them, while they are in its cache.
pub trait Take<T>: Send {
    /// Takes `rows`, the next ones in order.
    fn take(&mut self, rows: &[T]);
}

/// Takes rows in rounds: a file that is written, or a table in memory.
///
/// A round spawns its tasks in a scope, and advances when they have ended.
pub trait Sink<T>: Send {
    /// Result of all rows.
    type Output;

    /// Spawns the tasks that take `rows`, the next ones in order.
    ///
    /// A sink that takes rows best as they are made returns what takes those that follow, during this round. `rows` are then few.
    fn spawn<'s>(
        &'s mut self,
        rows: &'s [T],
        scope: &Scope<'s>,
    ) -> Option<&'s mut (dyn Take<T> + 's)>;

    /// Ends a round whose tasks have ended.
    ///
    /// # Errors
    /// I/O errors of the output.
    fn advance(&mut self) -> io::Result<()>;

    /// Takes the rows that are left and ends with `end`.
    ///
    /// # Errors
    /// I/O errors of the output.
    fn finish(self, end: &EndLine) -> io::Result<Self::Output>;

    /// Takes the rows that are left without an end, because the input is faulty after them.
    ///
    /// # Errors
    /// I/O errors of the output.
    fn abandon(self) -> io::Result<()>;
}
