//! Work in rounds, on all cores, with the same bytes at any number of them.
//!
//! What is read in one round is parsed in the next, walked in the one after that, then formatted,
//! then written; in every round all of these stages run at the same time, each on a batch of its own.
//! A round ends when all of its tasks have; then batches are handed on, in order, by one thread. So
//! nothing depends on who did what when, memory is a few batches, buffers go round with them, and an
//! error travels in its place between the rows.

mod apply;
mod inject;
mod produce;
mod tally;

pub use apply::{Apply, Lane, LaneResult};
pub use inject::{Inject, Injected};
pub use produce::{produce, synthesise};
pub use tally::collect;

use rayon::Scope;

use crate::format::{Rows, TraceReader};
use crate::types::{Error, Result};

/// What is done with the rows of a trace.
pub trait Stage: Send {
    /// Starts this round's tasks: on `batch`, the next rows in order, and on what earlier rounds left.
    fn spawn<'s>(&'s mut self, batch: &'s [Rows], scope: &Scope<'s>);

    /// Hands on what the round's tasks made.
    ///
    /// # Errors
    /// The first row that cannot be taken, or what the system says about an output.
    fn advance(&mut self) -> Result<(), StageError>;

    /// A round without input, to move on what earlier rounds left.
    ///
    /// # Errors
    /// As [`Stage::advance`].
    fn idle(&mut self) -> Result<(), StageError> {
        rayon::scope(|scope| self.spawn(&[], scope));
        self.advance()
    }
}

/// Why a pipeline stopped.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Something is wrong with the input.
    #[error(transparent)]
    Input(#[from] Error),
    /// An output cannot be written: which one, and the system's words.
    #[error("{1}")]
    Output(usize, std::io::Error),
}

/// Runs all rows of `reader` through `stage`, on the threads of the current rayon pool.
///
/// Rows in front of a faulty one have all been through the stage when its error is returned.
///
/// # Errors
/// The first thing wrong with the input or an output.
pub fn drive(reader: &mut TraceReader<'_>, stage: &mut impl Stage) -> Result<(), StageError> {
    loop {
        rayon::scope(|scope| reader.round(scope, |batch, scope| stage.spawn(batch, scope)));
        stage.advance()?;
        if !reader.advance()? {
            return Ok(());
        }
    }
}
