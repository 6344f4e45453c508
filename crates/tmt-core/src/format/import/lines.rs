//! Text files that are read line by line, as by most importers.

use std::io::BufRead;

use super::finding::{Finding, counted};
use crate::format::import::catalogue::{CRLF, MIXED_LINE_ENDS};
use crate::format::text::nanos;
use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Position, Result};

/// Longest accepted line, bytes with its line end.
const LONGEST_LINE: usize = 4096;

/// The lines of the first bytes of a file: the last one only if it has its end, or if the file has no other.
pub(super) fn whole_lines(first: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    let whole = match first.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => &first[..end],
        None => first,
    };
    let first = whole.strip_prefix(b"\xef\xbb\xbf").unwrap_or(whole);
    first.split(|byte| *byte == b'\n')
}

/// Reads the lines of a file one by one and counts those that end in CRLF.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    line: u64,
    /// Lines that end in LF, with or without CR.
    ended: u64,
    crlf: u64,
    /// The first line that ends in CRLF, and in LF.
    first_crlf: u64,
    first_lf: u64,
}

/// Finding on the line ends of `file`, where `crlf` of `ended` lines end in CRLF: `crlf` or `mixed-line-ends`; `None` if all are
/// LF.
pub(crate) fn line_ends(file: &str, crlf: u64, ended: u64) -> Option<Finding> {
    let (end, removed) = match crlf {
        0 => return None,
        1 => ("ends", "its CR was"),
        _ => ("end", "the CRs were"),
    };
    Some(if crlf == ended {
        let lines = counted(crlf, "line");
        let text = format!("{file}: {lines} {end} in CRLF; {removed} removed");
        Finding::of(&CRLF, crlf, "lines", text)
    } else {
        let text = format!(
            "{file}: mixed line ends: {crlf} of {ended} lines {end} in CRLF, the others in LF; {removed} removed"
        );
        Finding::of(&MIXED_LINE_ENDS, crlf, "lines", text)
    })
}

impl<R: BufRead> Lines<R> {
    /// Reads the lines of `input` from its start.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            line: 0,
            ended: 0,
            crlf: 0,
            first_crlf: 0,
            first_lf: 0,
        }
    }

    /// Number of the line read last, from 1; 0 before the first.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Finding on the line ends of the input `file`: `crlf` or `mixed-line-ends`; `None` if all are LF.
    #[must_use]
    pub fn finding(&self, file: &'static str) -> Option<Finding> {
        // Of mixed ones the line where they change.
        let first = self.first_crlf.max(self.first_lf);
        let finding = line_ends(file, self.crlf, self.ended)?;
        Some(finding.at_line(Some(file), first))
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
        let has_end = self.buffer.ends_with(b"\n");
        if has_end {
            self.buffer.pop();
            self.ended += 1;
        }
        if self.buffer.ends_with(b"\r") {
            self.buffer.pop();
            self.crlf += 1;
            if self.first_crlf == 0 {
                self.first_crlf = self.line;
            }
        } else if has_end && self.first_lf == 0 {
            self.first_lf = self.line;
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
