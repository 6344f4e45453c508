//! Where the rows of a pipeline go.

use std::io;

use rayon::Scope;

use crate::types::EndLine;

/// Takes rows in rounds: a file that is written, or a table in memory.
///
/// A round spawns its tasks in a scope, and advances when they have ended.
pub trait Sink<T>: Send {
    /// Result of all rows.
    type Output;

    /// Spawns the tasks that take `rows`, the next ones in order.
    fn spawn<'s>(&'s mut self, rows: &'s [T], scope: &Scope<'s>);

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
