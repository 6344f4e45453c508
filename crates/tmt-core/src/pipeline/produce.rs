//! Writes rows that are generated instead of read.

use std::io::Write;

use rayon::prelude::*;

use super::StageError;
use crate::channel::synth::ConstantRate;
use crate::format::TraceWriter;
use crate::types::{Result, Slot};

/// Calls `fill` with an empty vector and writes the slots that it appends, until it appends none.
///
/// The next slots are generated while the last ones are written.
///
/// # Errors
/// The first error of `fill`, after the slots before it have been written; or an I/O error of the output.
pub fn produce<W: Write + Send>(
    writer: &mut TraceWriter<Slot, W>,
    mut fill: impl FnMut(&mut Vec<Slot>) -> Result<()> + Send,
) -> Result<(), StageError> {
    let (mut ready, mut next) = (Vec::new(), Vec::new());
    let (mut filled, mut ended) = (Ok(()), false);
    loop {
        rayon::scope(|scope| {
            writer.spawn([&ready[..]], scope);
            if !ended {
                scope.spawn(|_| {
                    next.clear();
                    filled = fill(&mut next);
                });
            }
        });
        writer
            .advance()
            .map_err(|error| StageError::Output(0, error))?;
        if ended {
            return filled.map_err(StageError::from);
        }
        std::mem::swap(&mut ready, &mut next);
        ended = filled.is_err() || ready.is_empty();
    }
}

/// Slots per piece of [`synthesise`].
const PIECE: usize = 1 << 13;

/// Pieces generated per round.
const PIECES: usize = 8;

/// Writes all slots of a link of constant rate, as `tmt synth` does (docs/trace-format.md, Sec. 11). Calls `made` with
/// the number of slots of each batch.
///
/// # Errors
/// I/O errors of the output.
pub fn synthesise<W: Write + Send>(
    link: &ConstantRate,
    writer: &mut TraceWriter<Slot, W>,
    made: impl Fn(u64) + Sync,
) -> Result<(), StageError> {
    let slots = link.slots();
    let mut begun = 0;
    produce(writer, |batch| {
        batch.par_extend((0..PIECES).into_par_iter().flat_map_iter(|at| {
            let from = slots.min(begun + (at * PIECE) as u64);
            let length = usize::try_from(slots - from).map_or(PIECE, |left| left.min(PIECE));
            let mut piece = Vec::with_capacity(length);
            link.piece(from, length, &mut piece);
            piece
        }));
        made(batch.len() as u64);
        begun += (PIECE * PIECES) as u64;
        Ok(())
    })
}
