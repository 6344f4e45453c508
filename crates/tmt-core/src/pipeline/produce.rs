//! Rows that are made instead of read.

use std::io::Write;

use rayon::prelude::*;

use super::StageError;
use crate::channel::synth::ConstantRate;
use crate::format::TraceWriter;
use crate::types::{Result, Slot};

/// Writes what `fill` puts into an empty vector, call after call, until it puts nothing there.
///
/// While rows are written, the next ones are made.
///
/// # Errors
/// The first error of `fill`, behind the rows in front of it, or what the system says about the output.
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

/// Slots of a constant rate made in one piece.
const PIECE: usize = 1 << 13;

/// Pieces made in a round.
const PIECES: usize = 8;

/// Writes all slots of `link`.
///
/// # Errors
/// What the system says about the output.
pub fn synthesise<W: Write + Send>(
    link: &ConstantRate,
    writer: &mut TraceWriter<Slot, W>,
) -> Result<(), StageError> {
    let slots = link.slots();
    let mut made = 0;
    produce(writer, |batch| {
        batch.par_extend((0..PIECES).into_par_iter().flat_map_iter(|at| {
            let from = slots.min(made + (at * PIECE) as u64);
            let length = usize::try_from(slots - from).map_or(PIECE, |left| left.min(PIECE));
            let mut piece = Vec::with_capacity(length);
            link.piece(from, length, &mut piece);
            piece
        }));
        made += (PIECE * PIECES) as u64;
        Ok(())
    })
}
