//! A batch of rows of any format, with what else its piece of the input contained.
//!
//! A piece is parsed without knowledge of the input before it. Its lines and rows count from its own start until
//! the piece is committed, in order, which gives them their numbers in the input.

use std::iter::repeat;
use std::ops::Range;

use crate::format::columnar::Batch;
use crate::format::columns::Spacing;
use crate::types::{EndLine, Error, ErrorKind, Fate, Lldu, Position, Slot, Span, Time};

/// A batch of rows. Its memory is reused for the next batch.
#[derive(Debug, Default)]
pub struct Rows {
    /// The slots, in the order of the input; a stage of this crate may have them in columns instead.
    pub slots: Vec<Slot>,
    /// Rows that are converted when they are used, instead of those in `slots`, for stages that ask for it
    /// ([`TraceReader::keep_columns`](crate::format::TraceReader::keep_columns)). All of them are valid.
    columns: Option<Batch>,
    /// Attempts of the LLDU of each slot; empty if the trace has no such column or it was not read.
    pub attempts: Vec<u32>,
    /// Rows without a delay, which count as erased although the table does not say so.
    pub(crate) missing: u64,
    /// (index, line) of the first row, and of each row whose line does not follow that of the row before.
    lines: Vec<(usize, u64)>,
    /// Rows of the input before the first row of this batch.
    before: u64,
    /// The piece that was parsed but not committed yet.
    piece: Option<Piece>,
    /// Error in the row after these, in a batch of a binary format; counts rows from the start of the batch.
    fault: Option<Error>,
}

/// End of a trace: what followed the last row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceEnd {
    /// Number of rows that were read before the end.
    pub rows: u64,
    /// The end line, if the trace has one.
    pub end_line: Option<EndLine>,
    /// Whether the trace was cut and the options allowed it.
    pub cut: bool,
}

impl TraceEnd {
    /// Fate of an LLDU that was read (docs/trace-format.md, Sec. 5).
    ///
    /// A file stores a delay of zero for every LLDU that was not delivered. If the LLDU was sent before
    /// `usable_until` of the end line, it was lost; otherwise it is censored. Without an end line it was lost.
    #[must_use]
    pub fn fate(&self, tx_time: Time, decode_delay: Span) -> Fate {
        if !decode_delay.is_zero() {
            return Fate::Delivered;
        }
        match self.end_line {
            Some(end) if tx_time >= end.usable_until => Fate::Censored,
            _ => Fate::Lost,
        }
    }

    /// Sets the fate of LLDUs from [`Rows::lldus`], which is known only at the end of the trace.
    pub fn settle(&self, lldus: &mut [Lldu]) {
        for lldu in lldus {
            lldu.fate = self.fate(lldu.tx_time, lldu.decode_delay);
        }
    }
}

/// A piece of a text, apart from its rows. Lines count from 0 at its first line.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    /// Rows of the batch before the piece.
    pub(crate) start: usize,
    /// Entries of `Rows::lines` before the piece.
    first_entry: usize,
    /// Lines that are not rows.
    others: u64,
    /// Time of the first row, even if the rest of that row is faulty.
    pub(crate) first: Option<FirstTime>,
    /// The first end line.
    pub(crate) end: Option<EndComment>,
    /// Why the line after the last accepted one was refused.
    pub(crate) error: Option<LineError>,
}

/// Time of the first row of a piece, to be compared with the last row before the piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstTime {
    pub(crate) tx_time: Time,
    pub(crate) line: u64,
    pub(crate) column: u64,
}

/// A complete end line.
#[derive(Debug)]
pub(crate) struct EndComment {
    pub(crate) end: EndLine,
    /// Its text, as shown in error messages.
    pub(crate) found: String,
    pub(crate) line: u64,
}

/// Error in a line.
#[derive(Debug)]
pub(crate) enum LineError {
    /// A faulty data row, with the column of the error (from 1).
    Row(ErrorKind, u64),
    /// A line longer than the limit.
    TooLong,
    /// An end line that cannot be read.
    BadEnd(String),
    /// A second end line.
    SecondEnd(String),
}

impl Rows {
    /// Removes the rows and keeps the memory.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.columns = None;
        self.attempts.clear();
        self.missing = 0;
        self.lines.clear();
        self.before = 0;
        self.piece = None;
        self.fault = None;
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        let kept = self.columns.as_ref().map(Batch::rows);
        kept.map_or(self.slots.len(), |rows| {
            usize::try_from(rows).unwrap_or(usize::MAX)
        })
    }

    /// Times of the first and the last row; `None` without rows.
    pub(crate) fn times(&self) -> Option<(Time, Time)> {
        let kept = self.columns.as_ref().and_then(Batch::checked);
        kept.or_else(|| {
            let (first, last) = (self.slots.first()?, self.slots.last()?);
            Some((first.tx_time(), last.tx_time()))
        })
    }

    /// Passes the slots of the rows `range` to `take`, in order and in runs of any length.
    pub(crate) fn each(&self, range: Range<usize>, take: &mut dyn FnMut(&[Slot])) {
        match &self.columns {
            Some(batch) => batch.each(range, take),
            None => take(&self.slots[range]),
        }
    }

    /// Puts the rows into [`Self::slots`] if they are kept in columns.
    pub(crate) fn convert(&mut self) {
        if let Some(batch) = self.columns.take() {
            let rows = usize::try_from(batch.rows()).unwrap_or(usize::MAX);
            batch.each(0..rows, &mut |slots| self.slots.extend_from_slice(slots));
        }
    }

    /// The rows as LLDUs; a slot of a PHY trace is an LLDU with one attempt.
    ///
    /// Whether an undelivered LLDU was lost or censored is known only after the last row. Until
    /// [`TraceEnd::settle`] all of them are [`Fate::Lost`].
    pub fn lldus(&self) -> impl Iterator<Item = Lldu> {
        let attempts = self.attempts.iter().copied().chain(repeat(1));
        self.slots
            .iter()
            .zip(attempts)
            .map(|(slot, attempts)| Lldu {
                tx_time: slot.tx_time(),
                decode_delay: slot.decode_delay(),
                attempts,
                fate: if slot.is_erased() {
                    Fate::Lost
                } else {
                    Fate::Delivered
                },
            })
    }

    /// Number of row `index` of this batch in the input, from 1. Valid once the batch has been committed.
    #[must_use]
    pub fn number(&self, index: usize) -> u64 {
        self.before + index as u64 + 1
    }

    /// Sets the number of rows of the input before this batch.
    pub(crate) fn set_rows_before(&mut self, rows: u64) {
        self.before = rows;
    }

    /// Keeps the rows of `batch` in its columns, if all of them have been checked; returns whether it does. The rows are empty.
    pub(crate) fn keep(&mut self, batch: &Batch) -> bool {
        self.columns = batch.checked().map(|_| batch.clone());
        self.columns.is_some()
    }

    /// Fills an empty batch with rows of a binary format. An error is kept until the batch is committed.
    pub(crate) fn fill(&mut self, batch: &Batch) {
        let appended = batch.append(&mut self.slots, &mut self.attempts);
        match appended {
            Ok(missing) => self.missing += missing,
            Err(error) => self.fault = Some(error),
        }
    }

    /// Sets the times of all rows, which the table does not have. The batch has been committed.
    ///
    /// # Errors
    /// A time or an arrival above 2^63 − 1 ns; the rows from that one on are dropped.
    pub(crate) fn space(&mut self, spacing: Spacing) -> Result<(), Error> {
        self.convert();
        for index in 0..self.slots.len() {
            let time = spacing.tx_time(self.before + index as u64);
            let slot = time.and_then(|time| Slot::new(time, self.slots[index].decode_delay()));
            let Some(slot) = slot else {
                let sum = "row number * interval + decode_delay";
                let position = Position {
                    line: self.line(index),
                    column: 0,
                    row: self.number(index),
                };
                self.truncate(index);
                return Err(Error::at(ErrorKind::SumTooLarge { sum }, position));
            };
            self.slots[index] = slot;
        }
        Ok(())
    }

    /// Takes the error in the row after those that [`Rows::fill`] appended.
    pub(crate) fn take_fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    /// Line of row `index` of this batch in the input, from 1; 0 if the format has no lines. Valid once the batch
    /// has been committed.
    #[must_use]
    pub fn line(&self, index: usize) -> u64 {
        let at = self.lines.partition_point(|&(first, _)| first <= index);
        self.lines[..at]
            .last()
            .map_or(0, |&(first, line)| line + (index - first) as u64)
    }

    /// The piece that is being parsed; begins one if absent.
    pub(crate) fn piece(&mut self) -> &mut Piece {
        self.piece.get_or_insert_with(|| {
            let (start, first_entry) = (self.slots.len(), self.lines.len());
            self.lines.push((start, 0));
            Piece {
                start,
                first_entry,
                ..Piece::default()
            }
        })
    }

    /// Lines of the piece so far, without a faulty one.
    pub(crate) fn piece_lines(&self) -> u64 {
        self.piece.as_ref().map_or(0, |piece| {
            piece.others + (self.slots.len() - piece.start) as u64
        })
    }

    /// Counts a line of the piece that is not a row.
    pub(crate) fn pass_line(&mut self) {
        let index = self.slots.len();
        self.piece().others += 1;
        let line = self.piece_lines();
        match self.lines.last_mut() {
            Some(last) if last.0 == index => last.1 = line,
            _ => self.lines.push((index, line)),
        }
    }

    /// Ends the piece, whose first line is line `base` of the input.
    pub(crate) fn close_piece(&mut self, base: u64) -> Option<Piece> {
        let piece = self.piece.take()?;
        // The last entry may be for a row that did not follow.
        if self
            .lines
            .last()
            .is_some_and(|last| last.0 == self.slots.len())
        {
            self.lines.pop();
        }
        for (_, line) in &mut self.lines[piece.first_entry..] {
            *line += base;
        }
        if let Some(before) = piece.first_entry.checked_sub(1)
            && let [(index, line), next, ..] = self.lines[before..]
            && line + (next.0 - index) as u64 == next.1
        {
            self.lines.remove(piece.first_entry);
        }
        Some(piece)
    }

    /// Drops the rows from `length` on.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.convert();
        self.slots.truncate(length);
        self.attempts.truncate(length);
        let entries = self.lines.partition_point(|&(first, _)| first < length);
        self.lines.truncate(entries);
    }
}
