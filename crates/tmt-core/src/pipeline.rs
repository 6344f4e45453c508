//! Runs reading, processing and writing of traces in parallel, in rounds. The output does not depend on the number of
//! threads.
//!
//! A batch is read in one round, parsed in the next, then passed through the schemes, then formatted, then written. In
//! every round all stages run at the same time, each on its own batch. When all tasks of a round have ended, one
//! thread passes the batches on, in order. So the result does not depend on scheduling, memory is limited to a few
//! batches, buffers are reused, and an error keeps its place between the rows. Where that keeps rows in the caches, some of these
//! steps run together (docs/design.md, "Pipeline").

mod apply;
mod compare;
mod inject;
mod lint;
mod produce;
mod slice;
mod tally;

pub use apply::{Apply, Lane, LaneResult};
pub use compare::{Compared, FirstDifference, Side, compare};
pub use inject::{Inject, Injected};
pub use lint::{
    CHECKS, Check, Facts, LineEnds, LineEndsSeen, Lint, Linted, Skew, SkewEstimate, finding_of,
};
pub use produce::{Erased, Written, produce, synthesise, synthesise_adapted};
pub use slice::{
    Difference, Join, Merged, Movable, Move, Selection, Slice, Sliced, differences, joined, merge,
    share_of_rate, slot_spacing,
};
pub use tally::collect;

use rayon::Scope;

use crate::format::{Rows, TraceReader};
use crate::types::{Error, Result};

/// Processing stage for the rows of a trace.
pub trait Stage: Send {
    /// Spawns the tasks of a round: on `batch`, the next rows in order, which it may change or take, as nothing reads them after
    /// it, and on the results of earlier rounds.
    fn spawn<'s>(&'s mut self, batch: &'s mut [Rows], scope: &Scope<'s>);

    /// Passes the results of the tasks on to the next round.
    ///
    /// # Errors
    /// The first row that cannot be processed, or an I/O error of an output.
    fn advance(&mut self) -> Result<(), StageError>;

    /// Runs a round without input, to process the results of earlier rounds.
    ///
    /// # Errors
    /// As [`Stage::advance`].
    fn idle(&mut self) -> Result<(), StageError> {
        rayon::scope(|scope| self.spawn(&mut [], scope));
        self.advance()
    }
}

/// Why a pipeline stopped.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The input is invalid or cannot be read.
    #[error(transparent)]
    Input(#[from] Error),
    /// An output cannot be written: its index and the I/O error.
    #[error("{1}")]
    Output(usize, std::io::Error),
}

/// Passes all rows of `reader` through `stage`, on the threads of the current rayon pool.
///
/// When an error is returned, all rows before it have passed through the stage.
///
/// # Errors
/// The first error of the input or of an output.
pub fn drive(reader: &mut TraceReader<'_>, stage: &mut impl Stage) -> Result<(), StageError> {
    loop {
        rayon::scope(|scope| reader.round(scope, |batch, scope| stage.spawn(batch, scope)));
        stage.advance()?;
        if !reader.advance()? {
            return Ok(());
        }
    }
}
