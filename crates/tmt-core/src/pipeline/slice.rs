//! Cuts and moves the rows of traces, and puts traces one after another (docs/trace-format.md, Sec. 13).

mod heads;
mod merge;
mod selection;

pub use heads::{Difference, Join, differences, joined, share_of_rate};
pub use merge::{Merged, merge};
pub use selection::{Move, Selection};

use std::io::Write;

use rayon::Scope;

use self::selection::Delta;
use super::{Stage, StageError, drive};
use crate::format::pool::Pool;
use crate::format::{Row, Rows, TraceReader, TraceWriter};
use crate::types::{EndLine, Error, ErrorKind, Fate, Lldu, Metadata, Position, Slot, Span, Time};

/// A row of a trace that can be read and moved in time: a [`Slot`] of a PHY trace or an [`Lldu`] of a timeline.
pub trait Movable: Row {
    /// Row `index` of a batch.
    fn of(rows: &Rows, index: usize) -> Self;

    /// The row at another time; `None` if its arrival is then above 2^63 − 1 ns.
    fn at(self, tx_time: Time) -> Option<Self>;
}

impl Movable for Slot {
    fn of(rows: &Rows, index: usize) -> Self {
        rows.slots[index]
    }

    fn at(self, tx_time: Time) -> Option<Self> {
        Self::new(tx_time, self.decode_delay())
    }
}

impl Movable for Lldu {
    fn of(rows: &Rows, index: usize) -> Self {
        let slot = rows.slots[index];
        Self {
            tx_time: slot.tx_time(),
            decode_delay: slot.decode_delay(),
            attempts: rows.attempts.get(index).copied().unwrap_or(1),
            // Files do not tell a censored LLDU from a lost one; the end line does.
            fate: if slot.is_erased() {
                Fate::Lost
            } else {
                Fate::Delivered
            },
        }
    }

    fn at(self, tx_time: Time) -> Option<Self> {
        tx_time.checked_add(self.decode_delay)?;
        Some(Self { tx_time, ..self })
    }
}

/// The rows that are kept of a batch, moved.
struct Piece<T> {
    rows: Vec<T>,
    failed: Option<Error>,
}

impl<T> Default for Piece<T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            failed: None,
        }
    }
}

/// Writes the kept rows of one trace, or of several one after another, as `tmt slice` does.
///
/// Nothing is written before the first row that is kept.
///
/// ```
/// use tmt_core::format::{Form, Options, TraceReader, TraceWriter};
/// use tmt_core::pipeline::{Move, Selection, Slice};
/// use tmt_core::types::Metadata;
/// use tmt_core::{Slot, Time};
///
/// let text = "tx_time,decode_delay\n0.0,0.1\n0.1,0\n0.2,0.1\n0.3,0.1\n";
/// let mut trace = TraceReader::new(text.as_bytes(), Options::default())?;
/// let writer = TraceWriter::<Slot, _>::new(Vec::new(), Form::default(), &Metadata::new())?;
/// let mut slice = Slice::new(writer);
/// let odd = Selection { every: 2, offset: 1, ..Selection::default() };
/// slice.pass(&mut trace, odd, Move::FirstAt(Time::ZERO))?;
/// let sliced = slice.finish()?.ok_or("no row was kept")?;
/// let text = String::from_utf8(sliced.output)?;
/// assert_eq!(text, "tx_time,decode_delay\n0.000000000,0\n0.200000000,0.100000000\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Slice<T: Movable, W: Write + Send> {
    writer: TraceWriter<T, W>,
    /// Whether the writer was given rows.
    begun: bool,
    moved: Pool<Piece<T>>,
    ready: Pool<Piece<T>>,
    /// Rows that were written or are on their way.
    kept: u64,
    /// Slots behind the rows of a timeline.
    slots: u64,
    /// Transmission time of the last kept row.
    last: Option<Time>,
    /// Until when the rows are usable, where an end line says less than the last row.
    usable_until: Option<Time>,
    pass: Pass,
}

/// The trace that is being passed.
#[derive(Default)]
struct Pass {
    selection: Selection,
    to: Move,
    /// By how much rows are moved; known from the first kept row on.
    delta: Option<Delta>,
    rows: u64,
    last: Time,
}

/// Result of [`Slice::finish`].
#[derive(Debug)]
pub struct Sliced<W> {
    /// The output, completely written but not closed.
    pub output: W,
    /// Rows that were kept.
    pub rows: u64,
    /// Transmission time of the last kept row.
    pub last: Time,
}

impl<T: Movable, W: Write + Send> Slice<T, W> {
    /// A slice that `writer` gets.
    #[must_use]
    pub fn new(writer: TraceWriter<T, W>) -> Self {
        Self {
            writer,
            begun: false,
            moved: Pool::default(),
            ready: Pool::default(),
            kept: 0,
            slots: 0,
            last: None,
            usable_until: None,
            pass: Pass::default(),
        }
    }

    /// Appends the rows of a trace that `selection` keeps, moved as `to` says, on the threads of the current rayon pool.
    ///
    /// # Errors
    /// The first row that is invalid, would be moved below 0 or beyond 2^63 − 1 ns, or precedes the rows of an earlier
    /// trace; the rows before it have been written. Or an I/O error of the output.
    pub fn pass(
        &mut self,
        reader: &mut TraceReader<'_>,
        selection: Selection,
        to: Move,
    ) -> Result<(), StageError> {
        self.pass = Pass {
            selection,
            to,
            ..Pass::default()
        };
        let before = self.kept;
        drive(reader, self)?;
        let end = reader.end().and_then(|end| end.end_line);
        let kept = self.kept - before;
        self.slots += end
            .filter(|_| T::HAS_ATTEMPTS)
            .map_or(kept, |end| end.slots);
        let usable = end.map(|end| end.usable_until);
        if let (Some(usable), Some(delta)) = (usable, self.pass.delta)
            && usable < self.pass.last
        {
            let usable = delta.clamped(usable);
            self.usable_until = Some(self.usable_until.map_or(usable, |least| least.min(usable)));
        }
        Ok(())
    }

    /// Rows of the last trace that was passed, and the transmission time of its last one.
    #[must_use]
    pub fn read(&self) -> (u64, Time) {
        (self.pass.rows, self.pass.last)
    }

    /// Writes what remains, and the end line if there is a head. `None` if no row was kept: nothing has been written.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn finish(mut self) -> Result<Option<Sliced<W>>, StageError> {
        self.idle()?;
        let Some(last) = self.last else {
            return Ok(None);
        };
        let end = EndLine {
            rows: self.kept,
            slots: self.slots,
            usable_until: self.usable_until.map_or(last, |usable| usable.min(last)),
        };
        let output = self.writer.finish(&end);
        Ok(Some(Sliced {
            output: output.map_err(|error| StageError::Output(0, error))?,
            rows: self.kept,
            last,
        }))
    }

    /// Writes the rows before an error of the input, without an end line.
    pub fn abandon(mut self) {
        // The error of the input is reported, even if writing the rows before it fails.
        let _ = self.idle();
        if self.begun {
            let _ = self.writer.abandon();
        }
    }
}

impl<T: Movable, W: Write + Send> Stage for Slice<T, W> {
    fn spawn<'s>(&'s mut self, batch: &'s mut [Rows], scope: &Scope<'s>) {
        let batch: &[Rows] = batch;
        let ready = self.ready.used();
        self.begun |= ready.iter().any(|piece| !piece.rows.is_empty());
        if self.begun {
            let ready = ready.iter().map(|piece| piece.rows.as_slice());
            self.writer.spawn(ready, scope);
        }
        let pass = &mut self.pass;
        for (rows, piece) in batch.iter().zip(self.moved.resize(batch.len())) {
            piece.rows.clear();
            piece.failed = None;
            let kept = pass.selection.kept(pass.rows, &rows.slots);
            pass.rows += rows.slots.len() as u64;
            if let Some(last) = rows.slots.last() {
                pass.last = last.tx_time();
            }
            let Some(first) = kept.clone().next() else {
                continue;
            };
            let time = rows.slots[first].tx_time();
            let last = self.last;
            let (to, found) = (pass.to, &mut pass.delta);
            let delta = *found.get_or_insert_with(|| to.delta(time, last));
            let earliest = last.unwrap_or(Time::ZERO);
            scope.spawn(move |_| piece.fill(rows, kept, delta, earliest));
        }
    }

    fn advance(&mut self) -> Result<(), StageError> {
        if self.begun {
            let written = self.writer.advance();
            written.map_err(|error| StageError::Output(0, error))?;
        }
        let mut failed = None;
        for (index, piece) in self.moved.used_mut().iter_mut().enumerate() {
            self.kept += piece.rows.len() as u64;
            self.last = piece
                .rows
                .last()
                .map_or(self.last, |row| Some(row.tx_time()));
            if let Some(error) = piece.failed.take() {
                failed = Some((index, error));
                break;
            }
        }
        if let Some((index, _)) = &failed {
            self.moved.resize(index + 1);
        }
        std::mem::swap(&mut self.ready, &mut self.moved);
        self.moved.resize(0);
        failed.map_or(Ok(()), |(_, error)| Err(StageError::Input(error)))
    }
}

impl<T: Movable> Piece<T> {
    /// Takes the rows `kept`, moved by `delta`, up to the first one that cannot be moved.
    fn fill(
        &mut self,
        rows: &Rows,
        kept: impl Iterator<Item = usize>,
        delta: Delta,
        earliest: Time,
    ) {
        for index in kept {
            let row = T::of(rows, index);
            match moved(row, delta, earliest) {
                Ok(row) => self.rows.push(row),
                Err(kind) => {
                    let position = Position {
                        line: rows.line(index),
                        column: 0,
                        row: rows.number(index),
                    };
                    self.failed = Some(Error::at(kind, position));
                    return;
                }
            }
        }
    }
}

/// `row` moved by `delta`, to `earliest` or later.
fn moved<T: Movable>(row: T, delta: Delta, earliest: Time) -> Result<T, ErrorKind> {
    let found = row.tx_time();
    let time = delta.applied(found).map_err(|by| match by {
        Some(by) => ErrorKind::BeforeZero { found, by },
        None => TOO_LATE,
    })?;
    if time < earliest {
        let previous = earliest;
        return Err(ErrorKind::OutOfOrder {
            previous,
            found: time,
        });
    }
    row.at(time).ok_or(TOO_LATE)
}

/// A row that would arrive after the largest time.
const TOO_LATE: ErrorKind = ErrorKind::SumTooLarge {
    sum: "tx_time + shift + decode_delay",
};

/// Time between the starts of two slots that follow each other, by `rate_bps` and `lldu_bytes` of a head: rounded to
/// whole ns. `None` if the head lacks one of them.
#[must_use]
pub fn slot_spacing(head: &Metadata) -> Option<Span> {
    let (rate, lldu) = head.rate().zip(head.lldu_bytes())?;
    let time = rate.time_of_bit(8 * u128::from(lldu.0))?;
    Some(time.since(Time::ZERO))
}
