//! Parses lines to rows without state, so any number of threads can do it.
//!
//! [`RowParser::parse`] is the loop. `FastParser` parses common rows. All other lines, faulty ones in particular, are
//! handled one by one in `parse_line`. Both must agree on every line that `FastParser` accepts; `tests/text_pieces.rs`
//! checks it.

use super::LONGEST_LINE;
use super::fast::FastParser;
use super::field::{self, shown};
use super::layout::{Layout, fields, missing};
use crate::format::batch::{EndComment, FirstTime, LineError, Rows};
use crate::format::columns::{ATTEMPTS, COLUMNS, DECODE_DELAY, ERASED, NAMES, TX_TIME, is_missing};
use crate::types::decimal::Decimal;
use crate::types::{EndLine, ErrorKind, Slot, Span, Time};

/// Parser of the rows of a text whose head has been read. It can be copied to any thread.
///
/// ```text
/// decode(the head) -> parser() -> parse(piece) on any thread -> commit(in order) -> finish
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RowParser {
    layout: Layout,
    /// Whether the text has a head, and so an end line.
    has_head: bool,
}

impl RowParser {
    /// A parser of these columns.
    pub(super) fn new(layout: Layout, has_head: bool) -> Self {
        Self { layout, has_head }
    }

    /// Whether every received slot has the same delay, because no column of delays is read and none is given.
    pub(super) fn has_no_delays(self) -> bool {
        self.layout.places.have_no_delays()
    }

    /// Parses `text`, whole lines from anywhere after the head, and appends its rows to `rows`.
    ///
    /// Only the last line of the input may lack its LF. Parsing stops at the first faulty line. Rows, line numbers
    /// and the error become final in [`super::Decoder::commit`]. Until then, further pieces of the text may be
    /// parsed into the same `rows`.
    pub fn parse(&self, text: &[u8], rows: &mut Rows) {
        let mut fast = FastParser::new(self.layout);
        let mut at = 0;
        while at < text.len() {
            let piece = rows.piece();
            if piece.error.is_some() {
                return;
            }
            let (start, ended) = (piece.start, piece.end.is_some());
            // The first row of a piece records its time and place; after an end line every row is an error.
            if let Some(fast) = &mut fast
                && !ended
                && rows.slots.len() > start
            {
                at = fast.run(text, at, rows);
            }
            let rest = &text[at..];
            if rest.is_empty() {
                return;
            }
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            at = text.len().min(at + length + 1);
            let (line, before) = (&rest[..length], rows.slots.len());
            if let Err(error) = self.parse_line(line, rows) {
                rows.piece().error = Some(error);
            } else if let (Some(fast), Some(slot)) = (&mut fast, rows.slots.get(before)) {
                fast.learn(line, slot);
            }
        }
    }

    fn parse_line(&self, line: &[u8], rows: &mut Rows) -> Result<(), LineError> {
        if line.len() > LONGEST_LINE {
            return Err(LineError::TooLong);
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.trim_ascii_start().first() {
            Some(b'#') if self.has_head => parse_end_line(line, rows)?,
            Some(b'#') | None => {}
            Some(_) => {
                let taken = self.parse_row(line, rows);
                return taken.map_err(|(kind, offset)| LineError::Row(kind, offset as u64 + 1));
            }
        }
        rows.pass_line();
        Ok(())
    }

    /// Parses a row; an error comes with its byte offset.
    fn parse_row(&self, line: &[u8], rows: &mut Rows) -> Result<(), (ErrorKind, usize)> {
        if rows.piece().end.is_some() {
            return Err((ErrorKind::RowAfterEnd, 0));
        }
        let Layout {
            separator,
            places,
            units,
        } = self.layout;
        let mut found = [None; COLUMNS];
        for (index, field) in fields(separator, line).enumerate() {
            // A mapping may use one field twice.
            for (found, at) in found.iter_mut().zip(places.at) {
                if at == Some(index) {
                    *found = Some(field);
                }
            }
        }
        // The field of a column that is read.
        let field = |column: usize| {
            let field = || found[column].ok_or_else(|| (missing(column, line), line.len()));
            places.at[column].map(|_| field()).transpose()
        };
        let (attempts, erased) = (field(ATTEMPTS)?, field(ERASED)?);
        let (tx_time, delay) = (field(TX_TIME)?, field(DECODE_DELAY)?);

        // Without a column of times, all are set once the number of the row is known.
        let (tx_at, tx_time) = tx_time.unwrap_or((0, b"0"));
        let nanos =
            field::nanos(tx_time, units[TX_TIME], NAMES[TX_TIME]).map_err(|kind| (kind, tx_at))?;
        let tx_time = Time::from_nanos(nanos).unwrap_or(Time::MAX);
        let row_line = rows.piece_lines();
        let piece = rows.piece();
        piece.first.get_or_insert(FirstTime {
            tx_time,
            line: row_line,
            column: tx_at as u64 + 1,
        });
        let start = piece.start;
        if let Some(previous) = rows.slots[start..].last().map(Slot::tx_time)
            && tx_time < previous
        {
            let kind = ErrorKind::OutOfOrder {
                previous,
                found: tx_time,
            };
            return Err((kind, tx_at));
        }
        let erased = erased.map(|(at, text)| flag(text).map_err(|kind| (kind, at)));
        let erased = erased.transpose()?;
        let (delay_at, delay) = match delay {
            // The delay of an erased slot has no meaning.
            _ if erased == Some(true) => (0, Span::ZERO),
            None => (0, places.delay),
            Some((at, text)) if is_missing(text) => {
                rows.missing += 1;
                (at, Span::ZERO)
            }
            Some((at, text)) => {
                let nanos =
                    field::delay_nanos(text, units[DECODE_DELAY]).map_err(|kind| (kind, at))?;
                // Zero means erased, but this row says that it was received.
                rows.missing += u64::from(nanos == 0 && erased.is_some());
                (at, Span::from_nanos(nanos).unwrap_or(Span::MAX))
            }
        };
        let sum = "tx_time + decode_delay";
        let slot = Slot::new(tx_time, delay).ok_or((ErrorKind::SumTooLarge { sum }, delay_at))?;
        if let Some((offset, text)) = attempts {
            let number = std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.parse().ok());
            let attempts = number.filter(|attempts| *attempts > 0).ok_or_else(|| {
                let found = format!("attempts '{}'", shown(text));
                let expected = "a whole number from 1 to 4294967295";
                (ErrorKind::format(found, expected), offset)
            })?;
            rows.attempts.push(attempts);
        }
        rows.slots.push(slot);
        Ok(())
    }
}

/// Whether a slot is erased, by its field.
fn flag(text: &[u8]) -> Result<bool, ErrorKind> {
    // Programs that know only doubles write 0.0 and 1.0.
    let number = str::from_utf8(text).ok();
    let number = number.and_then(|text| Decimal::exactly(text, 1, 0));
    match number {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        None if text.eq_ignore_ascii_case(b"false") => Ok(false),
        None if text.eq_ignore_ascii_case(b"true") => Ok(true),
        _ => Err(ErrorKind::format(
            format!("{} '{}'", NAMES[ERASED], shown(text)),
            "0 or 1, or false or true",
        )),
    }
}

/// Looks for an end line in a comment after the head.
fn parse_end_line(line: &[u8], rows: &mut Rows) -> Result<(), LineError> {
    let text = comment(line);
    let Some(text) = text.strip_prefix("end:") else {
        return Ok(());
    };
    let found = shown(text.trim().as_bytes());
    let row_line = rows.piece_lines();
    let piece = rows.piece();
    if piece.end.is_some() {
        return Err(LineError::SecondEnd(found));
    }
    let Some(end) = EndLine::parse(text) else {
        return Err(LineError::BadEnd(found));
    };
    piece.end = Some(EndComment {
        end,
        found,
        line: row_line,
    });
    Ok(())
}

pub(super) fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().first() == Some(&b'#')
}

/// The text of a comment line without its `#` and surrounding white space.
pub(super) fn comment(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.trim_ascii_start());
    text.trim_start_matches('#').trim().to_owned()
}
