//! Passes rows in order to one consumer, without output.

use rayon::Scope;

use super::{Stage, StageError, drive};
use crate::format::{Rows, TraceReader};

/// The stage that passes rows to a closure.
struct Collect<F>(F);

impl<F: FnMut(&Rows) + Send> Stage for Collect<F> {
    fn spawn<'s>(&'s mut self, batch: &'s mut [Rows], scope: &Scope<'s>) {
        scope.spawn(|_| batch.iter().for_each(&mut self.0));
    }

    fn advance(&mut self) -> Result<(), StageError> {
        Ok(())
    }
}

/// Passes all rows of `reader` to `take`, in order, while the next ones are read and parsed.
///
/// # Errors
/// The first invalid row, after the rows before it have been passed on.
pub fn collect(reader: &mut TraceReader<'_>, take: impl FnMut(&Rows) + Send) -> crate::Result<()> {
    match drive(reader, &mut Collect(take)) {
        Err(StageError::Output(_, error)) => Err(error.into()),
        Err(StageError::Input(error)) => Err(error),
        Ok(()) => Ok(()),
    }
}
