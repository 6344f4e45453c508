//! A batch of rows of any format, and what else the piece of input it came of said.
//!
//! A piece is parsed without knowing what stands in front of it, so its lines and rows count from
//! its own start until they are given their place in the input, in order.

use std::iter::repeat;

use crate::format::columnar::Batch;
use crate::types::{EndLine, Error, ErrorKind, Fate, Lldu, Slot, Span, Time};

/// A batch of rows, to be used again and again.
#[derive(Debug, Default)]
pub struct Rows {
    /// The slots.
    pub slots: Vec<Slot>,
    /// Attempts of each slot's LLDU; empty where the trace has none or they were not read.
    pub attempts: Vec<u32>,
    /// (index, line) of the first row, and of each row whose line does not follow that of the row before.
    lines: Vec<(usize, u64)>,
    /// Rows of the input in front of the first.
    before: u64,
    /// What was parsed and not absorbed yet.
    piece: Option<Piece>,
    /// What is wrong behind the rows of a batch that is no text, its rows counted from the batch's first.
    fault: Option<Error>,
}

/// What was behind the last row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceEnd {
    /// Rows read.
    pub rows: u64,
    /// The end line, where there was one.
    pub end_line: Option<EndLine>,
    /// Whether an end line was missing and that was allowed.
    pub cut: bool,
}

impl TraceEnd {
    /// What became of an LLDU that was read (link-layer.md §8).
    ///
    /// A file holds a delay of zero for every LLDU that did not arrive. Those sent before the end line's
    /// `usable_until` were lost. From there on they are censored: the first of them is, unless the trace
    /// ended without any, and what comes later is outside of a run. Without an end line all were lost.
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

    /// Settles the fate of LLDUs that came of [`Rows::lldus`], once the end is known.
    pub fn settle(&self, lldus: &mut [Lldu]) {
        for lldu in lldus {
            lldu.fate = self.fate(lldu.tx_time, lldu.decode_delay);
        }
    }
}

/// What a piece of a text is beside its rows. Lines count from 0 at its first line.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    /// Rows of the batch in front of the piece.
    pub(crate) start: usize,
    /// Entries of `Rows::lines` in front of it.
    first_entry: usize,
    /// Lines that are no rows.
    others: u64,
    /// The first row's time, even where the rest of that row is wrong.
    pub(crate) first: Option<FirstTime>,
    /// The first end line.
    pub(crate) end: Option<EndComment>,
    /// Why the line behind the last one that counts was refused.
    pub(crate) error: Option<LineError>,
}

/// The time at which a piece begins, for whoever knows the time before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstTime {
    pub(crate) tx_time: Time,
    pub(crate) line: u64,
    pub(crate) column: u64,
}

/// A whole end line.
#[derive(Debug)]
pub(crate) struct EndComment {
    pub(crate) end: EndLine,
    /// Its text as messages show it.
    pub(crate) found: String,
    pub(crate) line: u64,
}

/// What is wrong with a line.
#[derive(Debug)]
pub(crate) enum LineError {
    /// A data row, at this column.
    Row(ErrorKind, u64),
    /// A line that is longer than any row.
    TooLong,
    /// An end line that cannot be read.
    BadEnd(String),
    /// One end line too many.
    SecondEnd(String),
}

impl Rows {
    /// Forgets the rows and keeps the memory.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.attempts.clear();
        self.lines.clear();
        self.before = 0;
        self.piece = None;
        self.fault = None;
    }

    /// The rows as LLDUs; a slot of a PHY trace is one that took one attempt.
    ///
    /// Whether an LLDU that did not arrive was lost or is censored is known only behind the last row:
    /// until [`TraceEnd::settle`] all of them are [`Fate::Lost`].
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

    /// Number of row `index` of this batch in the input, counted from 1, once it has been absorbed.
    #[must_use]
    pub fn number(&self, index: usize) -> u64 {
        self.before + index as u64 + 1
    }

    /// Says how many rows of the input stand in front of the first.
    pub(crate) fn set_rows_before(&mut self, rows: u64) {
        self.before = rows;
    }

    /// Fills an empty batch with rows that have no lines; what is wrong with one waits to be absorbed.
    pub(crate) fn fill(&mut self, batch: &Batch) {
        self.fault = batch.append(&mut self.slots, &mut self.attempts).err();
    }

    /// What is wrong behind the rows that [`Rows::fill`] appended.
    pub(crate) fn take_fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    /// Line of the input that holds row `index` of this batch, once it has been absorbed; 0 for none.
    #[must_use]
    pub fn line(&self, index: usize) -> u64 {
        let at = self.lines.partition_point(|&(first, _)| first <= index);
        self.lines[..at]
            .last()
            .map_or(0, |&(first, line)| line + (index - first) as u64)
    }

    /// The piece that is being parsed, begun where there is none.
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

    /// Lines of the piece so far, the line that is wrong not among them.
    pub(crate) fn piece_lines(&self) -> u64 {
        self.piece.as_ref().map_or(0, |piece| {
            piece.others + (self.slots.len() - piece.start) as u64
        })
    }

    /// Counts a line of the piece that is no row.
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
        // The last entry may wait for a row that has not come.
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
        self.slots.truncate(length);
        self.attempts.truncate(length);
        let entries = self.lines.partition_point(|&(first, _)| first < length);
        self.lines.truncate(entries);
    }
}
