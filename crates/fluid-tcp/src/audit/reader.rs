//! A log, line by line: its head, its header, its rows and the end line that counts them.

use std::io::{self, Read};

use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};
use tmt_core::types::Metadata;

use super::fields::{self, Columns, Fields, joined, whole};
use super::finding::{Finding, shown};
use super::head;
use super::report::{Log, Place, Rule, RuleTally};

/// Reads a log in memory that does not grow with it.
pub(super) struct LogReader<R> {
    csv: Reader<R>,
    record: ByteRecord,
    log: Log,
    /// Number of the line read last, from 1; 0 before the first.
    line: u64,
    /// The columns of its rows; none where there is no header that can be used.
    columns: Columns,
    rows: u64,
    /// Whether the end line has been read.
    ended: bool,
}

impl<R: Read> LogReader<R> {
    pub(super) fn new(log: Log, input: R) -> Self {
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
            log,
            line: 0,
            columns: &[],
            rows: 0,
            ended: false,
        }
    }

    /// Reads the head and the header; `None` for an empty log.
    pub(super) fn head(
        &mut self,
        accepted: &[Columns],
        tally: &mut RuleTally,
    ) -> io::Result<Option<Metadata>> {
        let mut metadata = Metadata::new();
        while self.advance()? {
            let Some(text) = self.comment() else {
                let columns = fields::header(&self.record, accepted);
                let columns = tally.take(Rule::Form, self.place(), columns);
                self.columns = columns.unwrap_or_default();
                return Ok(Some(metadata));
            };
            let entry = head::entry(&text, &metadata);
            if let Some((key, value)) = tally.take(Rule::Form, self.place(), entry) {
                metadata.push(key, value);
            }
        }
        let empty = self.line == 0;
        tally.check(Rule::Form, self.place(), false, || {
            if empty {
                return Finding::new("an empty log", "a head, a header and rows");
            }
            let found = "the end of the log behind its head: the log is cut";
            Finding::new(found, "a header and rows")
        });
        Ok((!empty).then_some(metadata))
    }

    /// Whether its header can be used.
    pub(super) fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Goes on to the next row; behind the header the only comment is the end line. `false` when there is none left.
    pub(super) fn next_row(&mut self, tally: &mut RuleTally) -> io::Result<bool> {
        while self.advance()? {
            let rows = self.rows;
            let Some(text) = self.comment() else {
                self.rows += 1;
                if self.ended {
                    tally.check(Rule::Form, self.place(), false, || {
                        Finding::new("a row", "nothing behind the end line")
                    });
                }
                return Ok(true);
            };
            let end = text.strip_prefix(" end: rows=");
            let told = end.and_then(|rows| whole(rows.as_bytes()));
            let holds = !self.ended && told == Some(rows);
            tally.check(Rule::Form, self.place(), holds, || {
                let found = shown(format!("#{text}").as_bytes());
                Finding::new(found, format!("'# end: rows={rows}' once"))
            });
            self.ended |= told.is_some();
        }
        Ok(false)
    }

    /// The row that was read last.
    pub(super) fn fields(&self) -> Result<Fields<'_>, Finding> {
        Fields::new(&self.record, self.columns)
    }

    /// The line read last.
    pub(super) fn place(&self) -> Place {
        Place {
            log: self.log,
            line: self.line,
        }
    }

    /// Whether the end line has been read.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The log must not stop before its end line.
    pub(super) fn check_end(&self, tally: &mut RuleTally) {
        tally.check(Rule::Form, self.place(), self.ended, || {
            let found = format!(
                "the end of the log after {} rows: the log is cut",
                self.rows
            );
            Finding::new(found, "more rows or the line '# end: rows=N'")
        });
    }

    /// Reads the next line; `false` when there is none left.
    fn advance(&mut self) -> io::Result<bool> {
        let starts = self.csv.position().line();
        let read = self.csv.read_byte_record(&mut self.record);
        let read = read.map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => error,
            other => io::Error::other(format!("{other:?}")),
        })?;
        if read {
            // Blank lines in front were passed over, so the line is the one before the next.
            self.line = starts.max(self.csv.position().line() - 1);
        }
        Ok(read)
    }

    /// What stands behind the `#` of a comment.
    fn comment(&self) -> Option<String> {
        let is_comment = self.record.get(0)?.starts_with(b"#");
        is_comment.then(|| String::from_utf8_lossy(&joined(&self.record))[1..].to_owned())
    }
}
