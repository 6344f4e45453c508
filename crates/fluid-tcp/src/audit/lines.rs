//! The log, line by line: comments whole, rows cut into fields.

use std::io::{self, Read};

use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};

/// A line of the log.
pub(super) enum Line<'a> {
    /// What stands behind the `#`.
    Comment(String),
    /// The fields of any other line.
    Fields(&'a ByteRecord),
}

/// Reads the log in memory that does not grow with it.
pub(super) struct Lines<R> {
    csv: Reader<R>,
    record: ByteRecord,
    line: u64,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        // Only LF ends a line and nothing is quoted: the auditor takes the canonical form alone, and
        // with that a comment's text is its fields joined by commas again.
        let csv = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quoting(false)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(input);
        Self {
            csv,
            record: ByteRecord::new(),
            line: 0,
        }
    }

    /// The next line with its number, from 1; `None` when there is none left.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        let starts = self.csv.position().line();
        if !self
            .csv
            .read_byte_record(&mut self.record)
            .map_err(io_error)?
        {
            return Ok(None);
        }
        // Blank lines in front were passed over, so the line is the one before the next.
        self.line = starts.max(self.csv.position().line() - 1);
        if self
            .record
            .get(0)
            .is_some_and(|field| field.starts_with(b"#"))
        {
            let fields: Vec<&[u8]> = self.record.iter().collect();
            let text = String::from_utf8_lossy(&fields.join(&b','))[1..].to_owned();
            return Ok(Some((self.line, Line::Comment(text))));
        }
        Ok(Some((self.line, Line::Fields(&self.record))))
    }

    /// Number of the line read last, from 1; 0 before the first.
    pub(super) fn line(&self) -> u64 {
        self.line
    }
}

fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
