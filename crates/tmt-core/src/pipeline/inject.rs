//! Erasures put into a trace: drawn piece by piece on any thread, composed in order.

use std::io::Write;

use rayon::Scope;

use super::{Stage, StageError, drive};
use crate::channel::{Chain, Channel, ChannelSpec, ErasurePiece, Erasures};
use crate::format::pool::Pool;
use crate::format::{Rows, TraceReader, TraceWriter};
use crate::types::{EndLine, Slot, Time};

/// Slots on their way from drawing to writing.
#[derive(Default)]
struct Piece {
    slots: Vec<Slot>,
    drawn: Option<ErasurePiece>,
    resolved: Option<Erasures>,
    erased: u64,
}

/// A channel that is put over a trace.
pub struct Inject<W: Write + Send> {
    spec: ChannelSpec,
    seed: u64,
    writer: TraceWriter<Slot, W>,
    /// The state behind the last piece that was resolved.
    chain: Chain,
    drawn: Pool<Piece>,
    marked: Pool<Piece>,
    ready: Pool<Piece>,
    slots: u64,
    erased: u64,
    last: Time,
}

/// What came of it.
pub struct Injected<W> {
    /// The output, all written and yet to be closed.
    pub output: W,
    /// Slots of the trace.
    pub slots: u64,
    /// Slots erased, those that were before too.
    pub erased: u64,
}

impl<W: Write + Send> Inject<W> {
    /// The erasures of `spec` under `seed`, the trace with them going to `writer`.
    #[must_use]
    pub fn new(spec: ChannelSpec, seed: u64, writer: TraceWriter<Slot, W>) -> Self {
        Self {
            spec,
            seed,
            writer,
            chain: Chain::default(),
            drawn: Pool::default(),
            marked: Pool::default(),
            ready: Pool::default(),
            slots: 0,
            erased: 0,
            last: Time::ZERO,
        }
    }

    /// Runs a trace through the channel, on the threads of the current rayon pool.
    ///
    /// # Errors
    /// The first row that cannot be read, behind the rows in front of it; what the system says about the
    /// output.
    pub fn run(mut self, reader: &mut TraceReader<'_>) -> Result<Injected<W>, StageError> {
        let driven = match drive(reader, &mut self) {
            Err(error @ StageError::Output(..)) => return Err(error),
            driven => driven,
        };
        // What is drawn is marked, and what is marked is formatted.
        let drained = self.idle().and(self.idle());
        if let Err(error) = driven {
            // What is wrong with the input is told, whatever becomes of the rows in front of it.
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
