//! The push parser of text traces.
//!
//! The head is read line by line (`read_line`). After it, `decode` passes whole lines to a [`RowParser`], as a
//! caller may do on any thread, and [`Decoder::commit`] checks and numbers the rows. `finish` decides what the end
//! of the input means. Results depend only on the bytes, not on how they were split: properties in `tests/text.rs`
//! and `tests/text_pieces.rs` check it.

use super::LONGEST_LINE;
use super::layout::FirstLine;
use super::parser::{RowParser, comment, is_comment};
use crate::format::batch::{LineError, Piece, Rows, TraceEnd};
use crate::format::columns::Columns;
use crate::format::unit::Unit;
use crate::types::{EndLine, Error, ErrorKind, Metadata, Position, Result, Time};

/// Largest head, bytes of its comments. Further comments of a text without a head are dropped.
const LONGEST_HEAD: usize = 1 << 20;

/// Options for reading a text trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Unit of the numbers in columns whose names say none; `None`: seconds.
    pub unit: Option<Unit>,
    /// Whether a head without an end line is accepted.
    pub allow_cut: bool,
    /// Whether the column `attempts` is read if there is one.
    pub attempts: bool,
}

/// Push parser of a text trace.
#[derive(Debug)]
pub struct Decoder {
    options: Options,
    columns: Columns,
    /// Start of a line whose end has not been received.
    carry: Vec<u8>,
    /// Number of the next line, from 1.
    line: u64,
    /// Known once the head and header have been read.
    parser: Option<RowParser>,
    ignored: Vec<String>,
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
    /// A decoder at the start of a text.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self::of_table(options, Columns::default())
    }

    /// A decoder at the start of a table that reads `columns`.
    #[must_use]
    pub fn of_table(options: Options, columns: Columns) -> Self {
        Self {
            options,
            columns,
            carry: Vec::new(),
            line: 1,
            parser: None,
            ignored: Vec::new(),
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

    /// Decodes `bytes`, the next piece of the text, and appends the complete rows to `out`.
    ///
    /// # Errors
    /// The first invalid line. The rows before it are in `out`.
    pub fn decode(&mut self, mut bytes: &[u8], out: &mut Rows) -> Result<()> {
        // Line by line while the head is read or a part of a line is left from the last call.
        while self.parser.is_none() || !self.carry.is_empty() {
            let Some(length) = memchr::memchr(b'\n', bytes) else {
                return self.buffer(bytes);
            };
            let (line, rest) = bytes.split_at(length);
            bytes = &rest[1..];
            self.buffer(line)?;
            let line = self.take_carry();
            self.read_line(&line, out)?;
        }
        let whole = memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1);
        if let Some(parser) = self.parser {
            parser.parse(&bytes[..whole], out);
            self.commit(out)?;
        }
        self.buffer(&bytes[whole..])
    }

    /// The parser of the rows; `None` until the head has been read.
    ///
    /// Bytes passed to [`Decoder::decode`] and pieces parsed apart must be committed in the order of the input. Call
    /// [`Decoder::take_carry`] before parsing the first piece.
    #[must_use]
    pub fn parser(&self) -> Option<RowParser> {
        self.parser
    }

    /// Takes the bytes after the last line end, which have not been parsed.
    #[must_use]
    pub fn take_carry(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.carry)
    }

    /// Commits the rows that a [`RowParser`] appended to `rows`: the next piece of the text.
    ///
    /// Checks the order against the rows before, and numbers lines and rows.
    ///
    /// # Errors
    /// The first invalid line, with the same error as [`Decoder::decode`]. The rows before it stay in `rows` and
    /// count; those after it are dropped.
    pub fn commit(&mut self, rows: &mut Rows) -> Result<()> {
        let lines = rows.piece_lines();
        let Some(piece) = rows.close_piece(self.line) else {
            return Ok(());
        };
        let start = piece.start;
        if start == 0 {
            rows.set_rows_before(self.rows);
        }
        let refused = self.check_piece(piece, lines, rows);
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

    /// Number of rows committed so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The head; empty if the text has none or it has not been read yet.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.head
    }

    /// Names in the header of columns that are not read; empty until it has been read.
    #[must_use]
    pub fn ignored_columns(&self) -> &[String] {
        &self.ignored
    }

    /// Whether every received slot has the same delay, because no column of delays is read.
    #[must_use]
    pub fn has_no_delays(&self) -> bool {
        self.parser.is_some_and(RowParser::has_no_delays)
    }

    /// Decodes `last`, the rest of the text after the committed pieces, and finishes.
    ///
    /// It may be empty, and its last line may lack the LF.
    ///
    /// # Errors
    /// As [`Decoder::decode`] and [`Decoder::finish`].
    pub fn finish_with(&mut self, last: &[u8], out: &mut Rows) -> Result<TraceEnd> {
        self.decode(last, out)?;
        self.finish(out)
    }

    /// Signals the end of the text.
    ///
    /// # Errors
    /// An invalid last line, a text without rows, a head without an end line, or a wrong number of rows in it.
    pub fn finish(&mut self, out: &mut Rows) -> Result<TraceEnd> {
        let last = self.take_carry();
        if !last.is_empty() {
            self.read_last_line(&last, out)?;
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
            let (stated, read) = (end.rows, self.rows);
            return Err(Error::at(ErrorKind::RowCount { stated, read }, here));
        }
        Ok(TraceEnd {
            rows: self.rows,
            end_line: self.end,
            cut,
        })
    }

    /// Reads a last line without LF. In a text without a head it is an ordinary line. In a text with a head it is
    /// incomplete, because the writer ends every line (docs/trace-format.md, Sec. 3). An end line that was cut inside its
    /// last number would parse.
    fn read_last_line(&mut self, line: &[u8], out: &mut Rows) -> Result<()> {
        if self.parser.is_none() && !is_comment(line) {
            self.close_head()?;
        }
        if self.has_head && self.end.is_none() {
            return Ok(());
        }
        let number = self.line;
        let taken = self.read_line(line, out);
        // Without a line end there is no next line: errors about the whole text refer to this one.
        self.line = number;
        taken
    }

    /// Checks a piece of `lines` lines. An error comes with the number of valid rows before it.
    fn check_piece(&mut self, piece: Piece, lines: u64, rows: &Rows) -> Result<(), (usize, Error)> {
        let taken = rows.slots.len() - piece.start;
        let at = |line: u64, column: u64| Position {
            line,
            column,
            row: self.rows + 1,
        };
        if self.end.is_some() {
            // The end line came before this piece. Rows of the piece precede any further end line in it.
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

    /// Buffers the start of a line until the rest arrives.
    fn buffer(&mut self, bytes: &[u8]) -> Result<()> {
        if self.carry.len() + bytes.len() > LONGEST_LINE {
            return Err(too_long(self.line));
        }
        self.carry.extend_from_slice(bytes);
        Ok(())
    }

    /// Reads one line without its LF: any line of the head, a non-empty line after it.
    fn read_line(&mut self, line: &[u8], out: &mut Rows) -> Result<()> {
        if let Some(parser) = self.parser {
            parser.parse(line, out);
            return self.commit(out);
        }
        let line = match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) if self.line == 1 => rest,
            _ => line,
        };
        // Remove the CR before the LF; the row parser does so itself.
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        if is_comment(text) {
            self.read_head_comment(text)?;
        } else if !text.trim_ascii_start().is_empty() {
            self.close_head()?;
            let Options { attempts, unit, .. } = self.options;
            let first = FirstLine::read(text, &self.columns, attempts, unit);
            let first = first.map_err(|(column, kind)| {
                Error::at(kind, Position::of_line(self.line, column as u64))
            })?;
            let parser = RowParser::new(first.layout, self.has_head);
            self.parser = Some(parser);
            self.ignored = first.ignored;
            if !first.is_header {
                parser.parse(line, out);
                return self.commit(out);
            }
        }
        self.line += 1;
        Ok(())
    }

    fn read_head_comment(&mut self, line: &[u8]) -> Result<()> {
        let text = comment(line);
        self.head_bytes += text.len();
        if self.head_bytes <= LONGEST_HEAD {
            if self.head.read_line(&text) {
                self.head_lines.push(self.line);
            }
        } else if self.head.is_head() {
            let kind = ErrorKind::format(
                format!("a head of more than {LONGEST_HEAD} bytes"),
                "a shorter one",
            );
            return Err(Error::at(kind, Position::of_line(self.line, 0)));
        } else {
            // Too long for a head, so this is a plain text with comments.
            self.head = Metadata::new();
            self.head_lines.clear();
        }
        Ok(())
    }

    /// Decides before the first row whether the comments so far form a head.
    fn close_head(&mut self) -> Result<()> {
        self.has_head = self.head.is_head();
        if !self.has_head {
            self.head = self.head.of_table();
            return Ok(());
        }
        // A trace without rows has its end line among the comments of the head.
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
