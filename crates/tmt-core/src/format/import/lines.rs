//! One number a line: what delay, loss and mahimahi files have in common.

use std::io::BufRead;

use crate::format::text::nanos;
use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Position, Result};

/// Longest line taken, bytes.
const LONGEST_LINE: usize = 4096;

/// The lines of a file, one by one, with what was odd about them.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    line: u64,
    crlf: u64,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `input`.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            line: 0,
            crlf: 0,
        }
    }

    /// Number of the line read last.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// What was odd about the lines of the input `file`: that they end in CRLF.
    #[must_use]
    pub fn finding(&self, file: &str) -> Option<String> {
        let lines = self.crlf;
        (lines > 0).then(|| format!("{file}: {lines} lines end in CRLF; the CR was taken off"))
    }

    /// Reads the next line; false at the end of the file.
    ///
    /// # Errors
    /// What the system says, and a line too long to hold a number.
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

    /// The line read last, without blanks around it.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.buffer.trim_ascii()
    }

    /// The line read last as a non-negative number of `unit`, in nanoseconds, rounded half away from zero.
    ///
    /// # Errors
    /// A line that is no such number.
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
