//! Erases slots of a trace: the erasures are drawn piece by piece in parallel and composed in order.

use std::io::Write;

use rayon::Scope;

use super::{Stage, StageError, drive};
use crate::channel::{ChainState, Channel, ChannelSpec, ErasurePiece, Erasures};
use crate::format::pool::Pool;
use crate::format::{Rows, TraceReader, TraceWriter};
use crate::types::{EndLine, Slot, Time};

/// A piece of the trace between drawing and writing.
#[derive(Default)]
struct Piece {
    slots: Vec<Slot>,
    drawn: Option<ErasurePiece>,
    resolved: Option<Erasures>,
    erased: u64,
}

/// Applies an erasure process to a trace, as `tmt inject` does (docs/trace-format.md, Sec. 11).
pub struct Inject<W: Write + Send> {
    spec: ChannelSpec,
    seed: u64,
    writer: TraceWriter<Slot, W>,
    /// State of the channel after the last resolved piece.
    chain: ChainState,
    drawn: Pool<Piece>,
    marked: Pool<Piece>,
    ready: Pool<Piece>,
    slots: u64,
    erased: u64,
    last: Time,
}

/// Result of [`Inject::run`].
pub struct Injected<W> {
    /// The output, completely written but not closed.
    pub output: W,
    /// Number of slots of the trace.
    pub slots: u64,
    /// Number of erased slots, including those that were erased in the input.
    pub erased: u64,
}

impl<W: Write + Send> Inject<W> {
    /// Applies the erasures of `spec` with `seed`; `writer` gets the resulting trace.
    #[must_use]
    pub fn new(spec: ChannelSpec, seed: u64, writer: TraceWriter<Slot, W>) -> Self {
        Self {
            spec,
            seed,
            writer,
            chain: ChainState::default(),
            drawn: Pool::default(),
            marked: Pool::default(),
            ready: Pool::default(),
            slots: 0,
            erased: 0,
            last: Time::ZERO,
        }
    }

    /// Passes a trace through the channel, on the threads of the current rayon pool.
    ///
    /// # Errors
    /// The first invalid row, after the rows before it have been written; or an I/O error of the output.
    pub fn run(mut self, reader: &mut TraceReader<'_>) -> Result<Injected<W>, StageError> {
        let driven = match drive(reader, &mut self) {
            Err(error @ StageError::Output(..)) => return Err(error),
            driven => driven,
        };
        // Two more rounds: mark what is drawn, then format what is marked.
        let drained = self.idle().and(self.idle());
        if let Err(error) = driven {
            // The error of the input is reported, even if writing the rows before it fails.
            let _ = self.writer.abandon();
            return Err(error);
        }
        drained?;
        let input_end = reader.end().and_then(|end| end.end_line);
        let end = EndLine {
            rows: self.slots,
            slots: self.slots,
            usable_until: input_end
                .map_or(self.last, |input_end| input_end.usable_until.min(self.last)),
        };
        let output = self.writer.finish(&end);
        Ok(Injected {
            output: output.map_err(|error| StageError::Output(0, error))?,
            slots: self.slots,
            erased: self.erased,
        })
    }
}

impl<W: Write + Send> Stage for Inject<W> {
    fn spawn<'s>(&'s mut self, batch: &'s [Rows], scope: &Scope<'s>) {
        let ready = self.ready.used().iter();
        let ready = ready.map(|piece| piece.slots.as_slice());
        self.writer.spawn(ready, scope);
        for piece in self.marked.used_mut() {
            scope.spawn(move |_| {
                if let Some(erasures) = piece.resolved.take() {
                    piece.erased = erasures.apply(&mut piece.slots);
                }
            });
        }
        for (rows, piece) in batch.iter().zip(self.drawn.resize(batch.len())) {
            let (spec, seed, from) = (self.spec, self.seed, self.slots);
            self.slots += rows.slots.len() as u64;
            if let Some(last) = rows.slots.last() {
                self.last = last.tx_time();
            }
            scope.spawn(move |_| {
                piece.slots.clone_from(&rows.slots);
                piece.drawn = Some(Channel::piece(spec, seed, from, rows.slots.len()));
            });
        }
    }

    fn advance(&mut self) -> Result<(), StageError> {
        let written = self.writer.advance();
        written.map_err(|error| StageError::Output(0, error))?;
        for piece in self.drawn.used_mut() {
            let drawn = piece.drawn.take();
            piece.resolved = drawn.map(|drawn| drawn.resolve(&mut self.chain));
        }
        for piece in self.marked.used_mut() {
            self.erased += std::mem::take(&mut piece.erased);
        }
        // drawn → marked → ready → drawn
        std::mem::swap(&mut self.ready, &mut self.marked);
        std::mem::swap(&mut self.marked, &mut self.drawn);
        self.drawn.resize(0);
        Ok(())
    }
}
