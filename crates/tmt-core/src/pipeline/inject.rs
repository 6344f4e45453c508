//! Erases slots of a trace, piece by piece in parallel. Processes of two states are drawn for both states before a piece and
//! then resolved in order; all others erase any piece without the pieces before it.

use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::Scope;

use super::{Stage, StageError, drive};
use crate::channel::{ChainState, Channel, Erasing, ErasurePiece, Erasures, SlotChannel, Use};
use crate::format::pool::Pool;
use crate::format::{Make, Rows, TraceReader, TraceWriter};
use crate::types::{EndLine, Slot, Span, Time};

/// A piece of the trace between drawing and writing.
#[derive(Default)]
struct Piece {
    rows: Rows,
    drawn: Option<ErasurePiece>,
    /// Erasures of the slots; `None` if they are erased already.
    resolved: Option<Erasures>,
    /// Number of slots that are erased, as far as they have been made.
    erased: AtomicU64,
}

/// Slots that are erased at a time.
const AT_ONCE: usize = 512;

impl Make<Slot> for Piece {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn make(&self, range: Range<usize>, take: &mut dyn FnMut(&[Slot])) {
        let mut marked = Vec::with_capacity(range.len().min(AT_ONCE));
        let (mut from, mut erased) = (range.start, 0);
        self.rows.each(range, &mut |slots| {
            for mut slots in slots.chunks(AT_ONCE) {
                if let Some(erasures) = &self.resolved {
                    marked.clear();
                    marked.extend_from_slice(slots);
                    erasures.mark(from, &mut marked);
                    from += slots.len();
                    slots = &marked;
                }
                let count = |slot: &Slot| u64::from(slot.is_erased());
                erased += slots.iter().map(count).sum::<u64>();
                take(slots);
            }
        });
        self.erased.fetch_add(erased, Ordering::Relaxed);
    }
}

/// Applies an erasure process to a trace, as `tmt inject` does (docs/trace-format.md, Sec. 11).
pub struct Inject<W: Write + Send> {
    process: SlotChannel,
    seed: u64,
    on_air: Span,
    writer: TraceWriter<Slot, W>,
    /// The process for each piece of a round, unless it is resolved in order.
    running: Vec<Box<dyn Erasing>>,
    /// State of the channel after the last resolved piece.
    chain: ChainState,
    drawn: Pool<Piece>,
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
    /// Applies the erasures of `process` with `seed` to slots that are on air for `on_air` each, which matters to processes
    /// in time; `writer` gets the resulting trace.
    #[must_use]
    pub fn new(
        process: SlotChannel,
        seed: u64,
        on_air: Span,
        writer: TraceWriter<Slot, W>,
    ) -> Self {
        Self {
            process,
            seed,
            on_air,
            writer,
            running: Vec::new(),
            chain: ChainState::default(),
            drawn: Pool::default(),
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
        reader.keep_columns();
        let driven = match drive(reader, &mut self) {
            Err(error @ StageError::Output(..)) => return Err(error),
            driven => driven,
        };
        // One more round, to format the slots whose erasures are drawn.
        let drained = self.idle();
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
    fn spawn<'s>(&'s mut self, batch: &'s mut [Rows], scope: &Scope<'s>) {
        let ready = self.ready.used().iter();
        let ready = ready.map(|piece| piece as &dyn Make<Slot>);
        self.writer.spawn(ready, scope);
        let (process, seed, on_air) = (&self.process, self.seed, self.on_air);
        if let SlotChannel::Timed(_) = process {
            let more = batch.len().saturating_sub(self.running.len());
            let begin = || process.begin(seed, Use::Forward);
            self.running
                .extend(std::iter::repeat_with(begin).take(more));
        }
        let mut running = self.running.iter_mut();
        let drawn = self.drawn.resize(batch.len());
        for (rows, piece) in batch.iter_mut().zip(drawn) {
            // The reader gets the memory of rows that have been written for its next ones.
            std::mem::swap(&mut piece.rows, rows);
            let (from, len) = (self.slots, piece.rows.len());
            self.slots += len as u64;
            if let Some((_, last)) = piece.rows.times() {
                self.last = last;
            }
            let running = running.next();
            scope.spawn(move |_| {
                match (process, running) {
                    (SlotChannel::Steps(spec), _) => {
                        piece.drawn = Some(Channel::piece(*spec, seed, from, len));
                    }
                    (SlotChannel::Timed(_), Some(running)) => {
                        piece.rows.convert();
                        running.erase(from, on_air, &mut piece.rows.slots);
                    }
                    // There is a running process for each piece.
                    (SlotChannel::Timed(_), None) => {}
                }
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
        for piece in self.ready.used_mut() {
            self.erased += std::mem::take(piece.erased.get_mut());
        }
        std::mem::swap(&mut self.ready, &mut self.drawn);
        self.drawn.resize(0);
        Ok(())
    }
}
