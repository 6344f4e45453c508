//! Bytes in, rows out: the push parser of text traces.
//!
//! For hackers: the head is read line by line in `take_head_line`; behind it `decode` hands whole
//! lines to a [`RowParser`], as anyone else may do on any thread, and [`Decoder::commit`] puts what
//! came of them in its place. What the end of the input means is decided in `finish`. Results
//! depend on the bytes alone, never on how they were cut (properties in `tests/text.rs` and
//! `tests/text_pieces.rs` say so).

use super::LONGEST_LINE;
use super::layout::Layout;
use super::parser::{RowParser, comment, is_comment};
use crate::format::batch::{LineError, Piece, Rows, TraceEnd};
use crate::format::unit::Unit;
use crate::types::{EndLine, Error, ErrorKind, Metadata, Position, Result, Time};

/// Most bytes of `key: value` lines a head may have; what a plain text has beyond is dropped.
const LONGEST_HEAD: usize = 1 << 20;

/// How a text is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The unit of the numbers.
    pub unit: Unit,
    /// Whether a head without an end line is accepted.
    pub allow_cut: bool,
    /// Whether the column `attempts` is read where there is one.
    pub attempts: bool,
}

/// The push parser.
#[derive(Debug)]
pub struct Decoder {
    options: Options,
    /// The beginning of a line whose end has not come yet.
    carry: Vec<u8>,
    /// Number of the line that is read next.
    line: u64,
    /// Known once the head has been read.
    parser: Option<RowParser>,
    head: Metadata,
    head_lines: Vec<u64>,
    head_bytes: usize,
    has_head: bool,
    rows: u64,
    last_row_line: u64,
    previous: Time,
    end: Option<EndLine>,
}

impl Decoder {
    /// A parser at the start of a text.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            carry: Vec::new(),
            line: 1,
            parser: None,
            head: Metadata::new(),
            head_lines: Vec::new(),
            head_bytes: 0,
            has_head: false,
            rows: 0,
            last_row_line: 0,
            previous: Time::ZERO,
            end: None,
        }
    }

    /// Takes `bytes`, the next piece of the text, and appends the rows that are whole to `out`.
    ///
    /// # Errors
    /// The first line that cannot be read; the rows before it are in `out`.
    pub fn decode(&mut self, mut bytes: &[u8], out: &mut Rows) -> Result<()> {
        // A line at a time while there is a head to read, or half a line from the call before.
        while self.parser.is_none() || !self.carry.is_empty() {
            let Some(length) = memchr::memchr(b'\n', bytes) else {
                return self.keep(bytes);
            };
            let (line, rest) = bytes.split_at(length);
            bytes = &rest[1..];
            self.keep(line)?;
            let line = self.take_carry();
            self.take_line(&line, out)?;
        }
        let whole = memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1);
        if let Some(parser) = self.parser {
            parser.parse(&bytes[..whole], out);
            self.commit(out)?;
        }
        self.keep(&bytes[whole..])
    }

    /// How the rows are read; `None` until the head has been read.
    ///
    /// Its pieces and what is handed to [`Decoder::decode`] must follow each other as in the input:
    /// take [`Decoder::take_carry`] before the first piece.
    #[must_use]
    pub fn parser(&self) -> Option<RowParser> {
        self.parser
    }

    /// Hands out the bytes behind the last line end, which no row has come of yet.
    #[must_use]
    pub fn take_carry(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.carry)
    }

    /// Takes the rows that a [`RowParser`] has put in `rows`: the piece of the text that comes next.
    ///
    /// # Errors
    /// The first line that cannot be read, just as [`Decoder::decode`] says it; the rows before it
    /// stay in `rows` and count, those behind it are dropped.
    pub fn commit(&mut self, rows: &mut Rows) -> Result<()> {
        let lines = rows.piece_lines();
        let Some(piece) = rows.close_piece(self.line) else {
            return Ok(());
        };
        let start = piece.start;
        if start == 0 {
            rows.set_rows_before(self.rows);
        }
        let refused = self.judge(piece, lines, rows);
        if let Err((taken, _)) = &refused {
            rows.truncate(start + taken);
        }
        if let Some(last) = rows.slots[start..].last() {
            self.rows += (rows.slots.len() - start) as u64;
            self.previous = last.tx_time();
            self.last_row_line = rows.line(rows.slots.len() - 1);
        }
        self.line += lines;
        refused.map_err(|(_, error)| error)
    }

    /// Rows read so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The head; empty where the text has none, or where it has not been read yet.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.head
    }

    /// Takes `last`, what is left of the text behind the pieces that were absorbed, and finishes.
    ///
    /// Its last line may lack its LF; all of it may be empty.
    ///
    /// # Errors
    /// As [`Decoder::decode`] and [`Decoder::finish`].
    pub fn finish_with(&mut self, last: &[u8], out: &mut Rows) -> Result<TraceEnd> {
        self.decode(last, out)?;
        self.finish(out)
    }

    /// Says that the text has ended.
    ///
    /// # Errors
    /// A last line that cannot be read, a text without rows, a head without its end line.
    pub fn finish(&mut self, out: &mut Rows) -> Result<TraceEnd> {
        let last = self.take_carry();
        if !last.is_empty() {
            self.take_last_line(&last, out)?;
        }
        if self.parser.is_none() {
            self.close_head()?;
        }
        let here = Position {
            line: self.last_row_line,
            column: 0,
            row: self.rows,
        };
        let cut = self.has_head && self.end.is_none();
        if cut && !self.options.allow_cut {
            return Err(Error::at(ErrorKind::Cut { rows: self.rows }, here));
        }
        if self.rows == 0 {
            let here = Position::of_line(self.line, 0);
            return Err(Error::at(ErrorKind::EmptyTrace, here));
        }
        if let Some(end) = self.end
            && end.rows != self.rows
        {
            let (declared, read) = (end.rows, self.rows);
            return Err(Error::at(
                ErrorKind::RowCount {
                    told: declared,
                    read,
                },
                here,
            ));
        }
        Ok(TraceEnd {
            rows: self.rows,
            end_line: self.end,
            cut,
        })
    }

    /// The last line, when it has no line end: whole in a plain text, but under a head, whose
    /// writer ends every line, it is what a cut left over.
    fn take_last_line(&mut self, line: &[u8], out: &mut Rows) -> Result<()> {
        if self.parser.is_none() && !is_comment(line) {
            self.close_head()?;
        }
        if !self.has_head || self.end.is_some() {
            let number = self.line;
            let taken = self.take_line(line, out);
            // No line end, no next line: an error about the whole text is told here.
            self.line = number;
            return taken;
        }
        if is_comment(line)
            && let Some(end) = comment(line).strip_prefix("end:").and_then(EndLine::parse)
        {
            // An end line cut inside its last number still parses, and tells a tenth of the time or less.
            let least = self.previous.as_nanos() / 2;
            let until = end.usable_until.as_nanos();
            self.end = (until == 0 || (least > 0 && until >= least)).then_some(end);
        }
        Ok(())
    }

    /// Finds what is wrong with a piece of so many lines; an error comes with the rows in front of it.
    fn judge(&mut self, piece: Piece, lines: u64, rows: &Rows) -> Result<(), (usize, Error)> {
        let taken = rows.slots.len() - piece.start;
        let at = |line: u64, column: u64| Position {
            line,
            column,
            row: self.rows + 1,
        };
        if self.end.is_some() {
            // The input has had its end line. Rows that were taken stand in front of another one.
            if taken > 0 {
                let place = at(rows.line(piece.start), 1);
                return Err((0, Error::at(ErrorKind::RowAfterEnd, place)));
            }
            if let Some(end) = piece.end {
                return Err((0, second_end(end.found, self.line + end.line)));
            }
        } else if let Some(first) = piece.first
            && first.tx_time < self.previous
        {
            let kind = ErrorKind::OutOfOrder {
                previous: self.previous,
                found: first.tx_time,
            };
            let place = at(self.line + first.line, first.column);
            return Err((0, Error::at(kind, place)));
        }
        let line = self.line + lines;
        let row = self.rows + taken as u64 + 1;
        let error = match piece.error {
            None => {
                self.end = self.end.or(piece.end.map(|end| end.end));
                return Ok(());
            }
            Some(LineError::Row(..)) if self.end.is_some() => {
                let column = 1;
                Error::at(ErrorKind::RowAfterEnd, Position { line, column, row })
            }
            Some(LineError::Row(kind, column)) => Error::at(kind, Position { line, column, row }),
            Some(LineError::TooLong) => too_long(line),
            Some(LineError::BadEnd(found)) if self.end.is_none() => {
                bad_end(found, EndLine::FORM, line)
            }
            Some(LineError::BadEnd(found) | LineError::SecondEnd(found)) => second_end(found, line),
        };
        Err((taken, error))
    }

    /// Keeps the beginning of a line until the rest of it comes.
    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        if self.carry.len() + bytes.len() > LONGEST_LINE {
            return Err(too_long(self.line));
        }
        self.carry.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes one line without its LF: any of the head, and behind it one that is not empty.
    fn take_line(&mut self, line: &[u8], out: &mut Rows) -> Result<()> {
        if let Some(parser) = self.parser {
            parser.parse(line, out);
            return self.commit(out);
        }
        let line = match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(behind) if self.line == 1 => behind,
            _ => line,
        };
        // A carriage return in front of the LF; what parses rows takes it off itself.
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        if is_comment(text) {
            self.take_head_comment(text)?;
        } else if !text.trim_ascii_start().is_empty() {
            self.close_head()?;
            let (mut layout, is_header) = Layout::of(text).map_err(|(column, kind)| {
                Error::at(kind, Position::of_line(self.line, column as u64))
            })?;
            layout.places[2] = layout.places[2].filter(|_| self.options.attempts);
            let parser = RowParser::new(layout, self.options.unit, self.has_head);
            self.parser = Some(parser);
            if !is_header {
                parser.parse(line, out);
                return self.commit(out);
            }
        }
        self.line += 1;
        Ok(())
    }

    fn take_head_comment(&mut self, line: &[u8]) -> Result<()> {
        let text = comment(line);
        self.head_bytes += text.len();
        if self.head_bytes <= LONGEST_HEAD {
            if self.head.read_line(&text) {
                self.head_lines.push(self.line);
            }
        } else if self.head.is_head() {
            let kind = ErrorKind::format(
                format!("a head of more than {LONGEST_HEAD} bytes"),
                "a text trace",
            );
            return Err(Error::at(kind, Position::of_line(self.line, 0)));
        } else {
            // So much can only be a plain text's; from here on there is nothing to search.
            self.head = Metadata::new();
            self.head_lines.clear();
        }
        Ok(())
    }

    /// Decides, before the first row, whether the comments so far were a head.
    fn close_head(&mut self) -> Result<()> {
        self.has_head = self.head.is_head();
        if !self.has_head {
            self.head = Metadata::new();
            return Ok(());
        }
        // A trace that was cut to its head may hold the end line there.
        let place = self.head.iter().position(|(key, _)| key == "end");
        if let Some(index) = place {
            self.end = self.head.get("end").and_then(EndLine::parse);
            self.head.remove("end");
            self.head_lines.remove(index);
        }
        self.head.check(&self.head_lines)
    }
}

fn too_long(line: u64) -> Error {
    let limit = LONGEST_LINE;
    Error::at(ErrorKind::LineTooLong { limit }, Position::of_line(line, 1))
}

fn bad_end(found: String, expected: &'static str, line: u64) -> Error {
    Error::at(ErrorKind::end(found, expected), Position::of_line(line, 1))
}

fn second_end(found: String, line: u64) -> Error {
    bad_end(found, "one end line", line)
}
