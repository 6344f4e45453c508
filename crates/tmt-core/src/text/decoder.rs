//! Bytes in, rows out: the push parser of text traces.
//!
//! For hackers: `decode` only cuts lines; what a line means is decided in `take_line`, and what the
//! end of the input means in `finish`. Results depend on the bytes alone, never on how they were
//! cut into calls of `decode` (a property in `tests/text.rs` says so).

use super::field::{self, Unit, shown};
use super::layout::{COLUMNS, FirstLine, Layout, Separator};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::metadata::{EndLine, Metadata};
use crate::slot::Slot;
use crate::units::{Span, Time};

/// Longest line taken, bytes: no trace needs it, and no line may fill the memory.
const LONGEST_LINE: usize = 1 << 20;

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

/// A batch of rows, to be used again and again.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// The slots.
    pub slots: Vec<Slot>,
    /// Attempts of each slot's LLDU; empty where they were not read.
    pub attempts: Vec<u32>,
    /// (index, line) of the first row, and of each row whose line does not follow that of the row before.
    lines: Vec<(usize, u64)>,
}

impl Rows {
    /// Forgets the rows and keeps the memory.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.attempts.clear();
        self.lines.clear();
    }

    /// Line of the input that holds row `index` of this batch.
    #[must_use]
    pub fn line(&self, index: usize) -> u64 {
        let at = self.lines.partition_point(|&(first, _)| first <= index);
        self.lines[..at]
            .last()
            .map_or(0, |&(first, line)| line + (index - first) as u64)
    }

    fn push(&mut self, slot: Slot, line: u64) {
        let index = self.slots.len();
        if self
            .lines
            .last()
            .is_none_or(|&(first, first_line)| first_line + (index - first) as u64 != line)
        {
            self.lines.push((index, line));
        }
        self.slots.push(slot);
    }
}

/// What was behind the last row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// Rows read.
    pub rows: u64,
    /// The end line, where there was one.
    pub end: Option<EndLine>,
    /// Whether an end line was missing and that was allowed.
    pub cut: bool,
}

/// The push parser.
#[derive(Debug)]
pub struct Decoder {
    options: Options,
    /// The beginning of a line whose end has not come yet.
    carry: Vec<u8>,
    /// Number of the line that is read next.
    line: u64,
    layout: Option<Layout>,
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
            layout: None,
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
        while let Some(length) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(length);
            bytes = &rest[1..];
            if self.carry.is_empty() {
                self.check_length(line.len())?;
                self.take_line(line, out)?;
            } else {
                self.check_length(self.carry.len() + line.len())?;
                self.carry.extend_from_slice(line);
                let line = std::mem::take(&mut self.carry);
                let taken = self.take_line(&line, out);
                self.carry = line;
                self.carry.clear();
                taken?;
            }
            self.line += 1;
        }
        self.check_length(self.carry.len() + bytes.len())?;
        self.carry.extend_from_slice(bytes);
        Ok(())
    }

    /// Whether everything in front of the first row has been read.
    #[must_use]
    pub fn head_is_read(&self) -> bool {
        self.layout.is_some()
    }

    /// The head; empty where the text has none, or where it has not been read yet.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.head
    }

    /// Says that the text has ended.
    ///
    /// # Errors
    /// A last line that cannot be read, a text without rows, a head without its end line.
    pub fn finish(&mut self, out: &mut Rows) -> Result<Tail> {
        let last = std::mem::take(&mut self.carry);
        if !last.is_empty() {
            self.take_last_line(&last, out)?;
        }
        if self.layout.is_none() {
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
            return Err(Error::at(
                ErrorKind::EmptyTrace,
                Position {
                    line: self.line,
                    column: 0,
                    row: 0,
                },
            ));
        }
        if let Some(end) = self.end
            && end.rows != self.rows
        {
            return Err(Error::at(
                ErrorKind::RowCount {
                    told: end.rows,
                    read: self.rows,
                },
                here,
            ));
        }
        Ok(Tail {
            rows: self.rows,
            end: self.end,
            cut,
        })
    }

    /// The last line, when it has no line end: whole in a plain text, but under a head, whose
    /// writer ends every line, it is what a cut left over.
    fn take_last_line(&mut self, line: &[u8], out: &mut Rows) -> Result<()> {
        if self.layout.is_none() && !is_comment(line) {
            self.close_head()?;
        }
        if !self.has_head {
            return self.take_line(line, out);
        }
        if self.end.is_some() {
            return self.take_line(line, out);
        }
        if is_comment(line) && self.take_comment(line).is_ok() {
            // An end line cut inside its last number still parses, and tells a tenth of the time or less.
            let least = self.previous.as_nanos() / 2;
            let whole = |until: u64| until == 0 || (least > 0 && until >= least);
            self.end = self.end.filter(|end| whole(end.usable_until.as_nanos()));
        }
        Ok(())
    }

    fn check_length(&self, length: usize) -> Result<()> {
        if length > LONGEST_LINE {
            let position = Position {
                line: self.line,
                column: 1,
                row: 0,
            };
            return Err(Error::at(
                ErrorKind::LineTooLong {
                    limit: LONGEST_LINE,
                },
                position,
            ));
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8], out: &mut Rows) -> Result<()> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = if self.line == 1 {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        } else {
            line
        };
        match line.first() {
            // A row begins with a digit, so that is all the usual line is asked.
            Some(b'0'..=b'9') => {}
            _ if line.trim_ascii_start().is_empty() => return Ok(()),
            _ if is_comment(line) => return self.take_comment(line),
            _ => {}
        }
        if let Some(layout) = self.layout {
            return self.take_row(layout, line, out);
        }
        self.close_head()?;
        match Layout::of(line) {
            Ok(FirstLine::Header(layout)) => {
                self.layout = Some(layout);
                Ok(())
            }
            Ok(FirstLine::Row(layout)) => {
                self.layout = Some(layout);
                self.take_row(layout, line, out)
            }
            Err((column, kind)) => Err(Error::at(
                kind,
                Position {
                    line: self.line,
                    column: column as u64,
                    row: 0,
                },
            )),
        }
    }

    fn take_comment(&mut self, line: &[u8]) -> Result<()> {
        let text = String::from_utf8_lossy(line.trim_ascii_start());
        let text = text.trim_start_matches('#').trim();
        if self.layout.is_none() {
            self.head_bytes += text.len();
            if self.head_bytes <= LONGEST_HEAD {
                if self.head.read_line(text) {
                    self.head_lines.push(self.line);
                }
            } else if self.head.is_head() {
                let kind = ErrorKind::Format {
                    found: format!("a head of more than {LONGEST_HEAD} bytes"),
                    expected: "a text trace".to_owned(),
                };
                let position = Position {
                    line: self.line,
                    column: 0,
                    row: 0,
                };
                return Err(Error::at(kind, position));
            } else {
                // So much can only be a plain text's; from here on there is nothing to search.
                self.head = Metadata::new();
                self.head_lines.clear();
            }
        } else if self.has_head
            && let Some(end) = text.strip_prefix("end:")
        {
            let refuse = |expected| {
                let kind = ErrorKind::Metadata {
                    key: "end".to_owned(),
                    found: shown(end.trim().as_bytes()),
                    expected,
                };
                Err(Error::at(
                    kind,
                    Position {
                        line: self.line,
                        column: 1,
                        row: 0,
                    },
                ))
            };
            if self.end.is_some() {
                return refuse("one end line");
            }
            match EndLine::parse(end) {
                Some(end) => self.end = Some(end),
                None => return refuse("rows=N slots=M usable_until_ns=T"),
            }
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

    fn take_row(&mut self, layout: Layout, line: &[u8], out: &mut Rows) -> Result<()> {
        let row = self.rows + 1;
        let at = |offset: usize| Position {
            line: self.line,
            column: offset as u64 + 1,
            row,
        };
        if self.end.is_some() {
            return Err(Error::at(ErrorKind::RowAfterEnd, at(0)));
        }
        let (tx_field, delay_field, attempts_field) = self.pick(layout, line, row)?;

        let nanos = field::nanos(tx_field.1, self.options.unit, COLUMNS[0])
            .map_err(|k| Error::at(k, at(tx_field.0)))?;
        let tx_time = Time::from_nanos(nanos).unwrap_or(Time::MAX);
        if tx_time < self.previous {
            let kind = ErrorKind::OutOfOrder {
                previous: self.previous,
                found: tx_time,
            };
            return Err(Error::at(kind, at(tx_field.0)));
        }
        let nanos = field::delay_nanos(delay_field.1, self.options.unit)
            .map_err(|k| Error::at(k, at(delay_field.0)))?;
        let delay = Span::from_nanos(nanos).unwrap_or(Span::MAX);
        let slot = Slot::new(tx_time, delay).ok_or_else(|| {
            Error::at(
                ErrorKind::SumTooLarge {
                    sum: "tx_time + decode_delay",
                },
                at(delay_field.0),
            )
        })?;
        if let Some((offset, text)) = attempts_field {
            let attempts = std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.parse().ok())
                .filter(|&a| a > 0);
            let attempts = attempts.ok_or_else(|| {
                let kind = ErrorKind::Format {
                    found: format!("attempts '{}'", shown(text)),
                    expected: "a whole number from 1 to 4294967295".to_owned(),
                };
                Error::at(kind, at(offset))
            })?;
            out.attempts.push(attempts);
        }
        out.push(slot, self.line);
        self.rows = row;
        self.last_row_line = self.line;
        self.previous = tx_time;
        Ok(())
    }

    /// The fields that are read, each with its offset.
    #[expect(
        clippy::type_complexity,
        reason = "three fields, the last of them optional, used once"
    )]
    fn pick<'a>(
        &self,
        layout: Layout,
        line: &'a [u8],
        row: u64,
    ) -> Result<(
        (usize, &'a [u8]),
        (usize, &'a [u8]),
        Option<(usize, &'a [u8])>,
    )> {
        let attempts_at = if self.options.attempts {
            layout.attempts
        } else {
            None
        };
        if let (Separator::Byte(separator), 0, 1, None) = (
            layout.separator,
            layout.tx_time,
            layout.decode_delay,
            attempts_at,
        ) && let Some(first) = memchr::memchr(separator, line)
        {
            let rest = &line[first + 1..];
            let second = memchr::memchr(separator, rest).unwrap_or(rest.len());
            let (tx, delay) = (&line[..first], &rest[..second]);
            let blank = |field: &[u8]| {
                field.first().is_none_or(|b| *b <= b' ') || field.last().is_none_or(|b| *b <= b' ')
            };
            if !blank(tx) && !blank(delay) {
                return Ok(((0, tx), (first + 1, delay), None));
            }
        }
        let (mut tx, mut delay, mut attempts) = (None, None, None);
        for (index, field) in layout.separator.fields(line).enumerate() {
            if index == layout.tx_time {
                tx = Some(field);
            } else if index == layout.decode_delay {
                delay = Some(field);
            } else if Some(index) == attempts_at {
                attempts = Some(field);
            }
        }
        let missing = |column: usize| {
            let kind = ErrorKind::MissingColumn {
                name: COLUMNS[column],
                found: shown(line),
            };
            Error::at(
                kind,
                Position {
                    line: self.line,
                    column: line.len() as u64 + 1,
                    row,
                },
            )
        };
        if attempts_at.is_some() && attempts.is_none() {
            return Err(missing(2));
        }
        Ok((
            tx.ok_or_else(|| missing(0))?,
            delay.ok_or_else(|| missing(1))?,
            attempts,
        ))
    }
}

fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().first() == Some(&b'#')
}
