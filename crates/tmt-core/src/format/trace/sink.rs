//! Where the rows of a pipeline go.

use std::io;

use rayon::Scope;

use crate::types::EndLine;

/// Takes rows on the thread that makes them, while they are in its cache.
pub trait Take<T>: Send {
    /// Takes `rows`, the next ones in order.
    fn take(&mut self, rows: &[T]);
}

/// A round of a [`Sink`].
pub struct Round<'s, T> {
    /// Takes further rows during this round; `None` if the sink takes rows only at its start.
    pub taking: Option<&'s mut (dyn Take<T> + 's)>,
    /// Spawns the tasks of the round. To be called once.
    pub tasks: Box<dyn FnOnce(&Scope<'s>) + Send + 's>,
}

/// Takes rows in rounds: a file that is written, or a table in memory.
///
/// A round spawns its tasks in a scope, and advances when they have ended.
pub trait Sink<T>: Send {
    /// Result of all rows.
    type Output;

    /// Begins a round with `rows`, the next ones in order. Its tasks take them, or this call if more can follow
    /// ([`Round::taking`]).
    fn round<'s>(&'s mut self, rows: &'s [T]) -> Round<'s, T>;

    /// Begins a round with `rows`, the next ones in order, and spawns its tasks.
    fn spawn<'s>(&'s mut self, rows: &'s [T], scope: &Scope<'s>) {
        (self.round(rows).tasks)(scope);
    }

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
