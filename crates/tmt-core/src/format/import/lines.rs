//! Files with one number per line, as read by all importers.

use std::io::BufRead;

use crate::format::text::nanos;
use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Position, Result};

/// Longest accepted line, bytes with its line end.
const LONGEST_LINE: usize = 4096;

/// Reads the lines of a file one by one and counts those that end in CRLF.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    line: u64,
    crlf: u64,
}

impl<R: BufRead> Lines<R> {
    /// Reads the lines of `input` from its start.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            line: 0,
            crlf: 0,
        }
    }

    /// Number of the line read last, from 1; 0 before the first.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// A sentence about the lines of the input `file` that end in CRLF; `None` if there are none.
    #[must_use]
    pub fn finding(&self, file: &str) -> Option<String> {
        let lines = self.crlf;
        match lines {
            0 => None,
            1 => Some(format!("{file}: 1 line ends in CRLF; its CR was removed")),
            _ => Some(format!(
                "{file}: {lines} lines end in CRLF; the CRs were removed"
            )),
        }
    }

    /// Reads the next line; returns false at the end of the file.
    ///
    /// # Errors
    /// A line that is too long, or an I/O error.
    pub fn advance(&mut self) -> Result<bool> {
        self.buffer.clear();
        let limit = LONGEST_LINE as u64 + 1;
        let length =
            std::io::Read::take(&mut self.input, limit).read_until(b'\n', &mut self.buffer)?;
        if length == 0 {
            return Ok(false);
        }
        self.line += 1;
        if length > LONGEST_LINE {
            return Err(self.error(ErrorKind::LineTooLong {
                limit: LONGEST_LINE,
            }));
        }
        if self.buffer.ends_with(b"\n") {
            self.buffer.pop();
        }
        if self.buffer.ends_with(b"\r") {
            self.buffer.pop();
            self.crlf += 1;
        }
        if self.line == 1 && self.buffer.starts_with(b"\xef\xbb\xbf") {
            self.buffer.drain(..3);
        }
        Ok(true)
    }

    /// The line read last, without surrounding white space.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.buffer.trim_ascii()
    }

    /// Parses the line read last as a non-negative number of `unit`; returns nanoseconds, rounded half away from zero.
    ///
    /// # Errors
    /// The line is not such a number. `field` names it in the message.
    pub fn nanos(&self, field: &'static str, unit: Unit) -> Result<u64> {
        nanos(self.text(), unit, field).map_err(|kind| self.error(kind))
    }

    /// An error at the line read last.
    #[must_use]
    pub fn error(&self, kind: ErrorKind) -> Error {
        Error::at(
            kind,
            Position {
                line: self.line,
                column: 1,
                row: self.line,
            },
        )
    }
}
