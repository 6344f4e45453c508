//! Reads a log line by line: head, header, rows and end line.

use std::io::{self, Read};

use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};
use flate2::Crc;
use serde::Deserialize;
use tmt_core::format::Bounded;
use tmt_core::types::Metadata;

use super::finding::{Finding, shown, unfit};
use super::head;
use super::report::{Location, Log, Rule, RuleTally};
use super::text::read;

/// Reader of a log, in constant memory.
pub(super) struct LogReader<R> {
    csv: Reader<Bounded<Ended<R>>>,
    record: ByteRecord,
    /// The last line read, from 1; 0 before the first.
    pub(super) location: Location,
    /// The columns of its rows; empty if there is no usable header.
    columns: Vec<&'static str>,
    rows: u64,
    /// Whether the end line has the CRC-32 of all lines before it, as in version 2; and the CRC-32 of those read.
    has_crc: bool,
    crc: Crc,
    /// Whether the end line has been read.
    pub(super) ended: bool,
}

/// An input whose last byte is known.
struct Ended<R> {
    input: R,
    last: u8,
}

impl<R: Read> Read for Ended<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        self.last = buffer[..length].last().copied().unwrap_or(self.last);
        Ok(length)
    }
}

impl<R: Read> LogReader<R> {
    pub(super) fn new(log: Log, input: R) -> Self {
        // Lines end with LF and nothing is quoted: the auditor accepts the canonical form only. A comment's text is
        // then its fields joined by commas.
        let csv = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quoting(false)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(Bounded::new(Ended { input, last: b'\n' }));
        Self {
            csv,
            record: ByteRecord::new(),
            location: Location { log, line: 0 },
            columns: Vec::new(),
            rows: 0,
            has_crc: false,
            crc: Crc::new(),
            ended: false,
        }
    }

    /// Reads the head and the header. The header lacks one of `tails`, the last columns, usually the first, and may lack the
    /// units of times.
    ///
    /// `None` if `of` cannot use the head, or if there is no such header.
    pub(super) fn head<H>(
        &mut self,
        (header, tails): (&'static str, &[&str]),
        tally: &mut RuleTally,
        of: impl FnOnce(&Metadata) -> Result<H, Finding>,
    ) -> io::Result<Option<H>> {
        let mut metadata = Metadata::new();
        while self.advance()? {
            let mut form = tally.at(Rule::Form, self.location);
            let Some(text) = self.comment() else {
                let line = joined(&self.record);
                let mut accepted = tails.iter().filter_map(|tail| header.strip_suffix(tail));
                let is_header = |columns: &&str| {
                    columns.as_bytes() == line || names(columns).join(",").as_bytes() == line
                };
                let columns = accepted.find(is_header);
                let usual = header.strip_suffix(tails[0]).unwrap_or(header);
                let expected = format_args!("the header '{usual}'");
                form.check(columns.is_some(), shown(&line), expected);
                self.columns = columns.map_or(Vec::new(), names);
                let version = metadata.get("log").map(head::version);
                self.has_crc = version.is_some_and(|(_, version)| version > 1);
                let head = form.take(of(&metadata));
                return Ok(head.filter(|_| columns.is_some()));
            };
            if let Some((key, value)) = form.take(head::entry(&text, &metadata)) {
                metadata.push(key, value);
            }
        }
        let mut form = tally.at(Rule::Form, self.location);
        if self.location.line == 0 {
            form.check(false, "an empty log", "a head, a header and rows");
        } else {
            let found = "the end of the log after its head: the log is cut";
            form.check(false, found, "a header and rows");
            // Also reports what the head lacks.
            form.take(of(&metadata));
        }
        Ok(None)
    }

    /// Advances to the next row; `false` if nothing is left. After the header the end line is the only comment.
    pub(super) fn next_row(&mut self, tally: &mut RuleTally) -> io::Result<bool> {
        while self.advance()? {
            let mut form = tally.at(Rule::Form, self.location);
            let Some(text) = self.comment() else {
                self.rows += 1;
                if self.ended {
                    form.check(false, "a row", "nothing after the end line");
                }
                return Ok(true);
            };
            let mut end = format!(" end: rows={}", self.rows);
            if self.has_crc {
                end += &format!(" crc32={:08x}", self.crc.sum());
            }
            let is_end = text.starts_with(" end: rows=");
            let found = shown(format!("#{text}").as_bytes());
            let expected = format_args!("'#{end}' once");
            form.check(!self.ended && text == end, found, expected);
            self.ended |= is_end;
        }
        Ok(false)
    }

    /// Whether the log has a column.
    pub(super) fn has(&self, column: &str) -> bool {
        self.columns.contains(&column)
    }

    /// The fields of the row that was read last. Empty ones are left out.
    pub(super) fn row<'r, F: Deserialize<'r>>(&'r self) -> Result<F, Finding> {
        let (found, expected) = (self.record.len(), self.columns.len());
        if found != expected {
            let found = format!("{found} fields in {}", shown(&joined(&self.record)));
            return Err(Finding::new(found, format_args!("{expected} fields")));
        }
        let fields = self.columns.iter().copied().zip(&self.record);
        let given = fields.filter(|(_, text)| !text.is_empty());
        read(given, |column| unfit(column, "", "a value"))
    }

    /// Whether the end line has been read, and the line end after it: one that lost its last digits would still be an end
    /// line.
    pub(super) fn is_whole(&self) -> bool {
        self.ended && self.csv.get_ref().get_ref().last == b'\n'
    }

    /// Checks that the log has its end line.
    pub(super) fn check_end(&self, tally: &mut RuleTally) {
        let found = match (self.ended, self.rows) {
            (true, _) => "an end line without its line end: the log is cut".to_owned(),
            (false, rows) => format!("the end of the log after {rows} rows: the log is cut"),
        };
        let expected = "more rows or the line '# end: rows=N'";
        let mut form = tally.at(Rule::Form, self.location);
        form.check(self.is_whole(), found, expected);
    }

    /// Reads the next line; `false` if nothing is left.
    fn advance(&mut self) -> io::Result<bool> {
        let starts = self.csv.position().line();
        self.csv.get_mut().next_row();
        let read = self.csv.read_byte_record(&mut self.record);
        let read = read.map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => error,
            other => io::Error::other(format!("{other:?}")),
        })?;
        let is_end = self
            .record
            .get(0)
            .is_some_and(|text| text.starts_with(b"# end: "));
        if read && !is_end {
            for (place, field) in self.record.iter().enumerate() {
                if place > 0 {
                    self.crc.update(b",");
                }
                self.crc.update(field);
            }
            self.crc.update(b"\n");
        }
        if read {
            // Blank lines were skipped, so this line is the one before the next.
            self.location.line = starts.max(self.csv.position().line() - 1);
        }
        Ok(read)
    }

    /// The text after the `#` of a comment.
    fn comment(&self) -> Option<String> {
        let is_comment = self.record.get(0)?.starts_with(b"#");
        is_comment.then(|| String::from_utf8_lossy(&joined(&self.record))[1..].to_owned())
    }
}

/// The names of the columns of a header. Those of times end with their unit; logs of earlier versions have them without it, and
/// so has the auditor.
fn names(header: &str) -> Vec<&str> {
    let names = header.split(',');
    names
        .map(|name| name.strip_suffix("_s").unwrap_or(name))
        .collect()
}

/// The line that was split into these fields.
fn joined(record: &ByteRecord) -> Vec<u8> {
    record.iter().collect::<Vec<_>>().join(&b',')
}
