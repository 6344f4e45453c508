//! Errors of reading and processing a trace, with their position in the input.

use crate::types::{Span, Time};

/// Position of an error in a trace. All three fields count from 1; 0 means unknown or not applicable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Line of the text, head and header included.
    pub line: u64,
    /// Byte of the line at which the offending field begins; 0 if the error concerns the whole line.
    pub column: u64,
    /// Data row; 0 if the line is not a data row.
    pub row: u64,
}

impl Position {
    /// A position in a text that is not in a data row.
    pub(crate) const fn of_line(line: u64, column: u64) -> Self {
        Self {
            line,
            column,
            row: 0,
        }
    }

    /// A row, counted from 1, of a trace in a binary format, which has no lines.
    pub(crate) const fn of_row(row: u64) -> Self {
        Self {
            line: 0,
            column: 0,
            row,
        }
    }
}

/// Kind of an error, with what was found and what was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A field that should hold a number holds something else.
    #[error("{field}: found '{found}', expected a decimal number")]
    NotANumber {
        /// Name of the column.
        field: &'static str,
        /// The text found.
        found: String,
    },
    /// A negative number.
    #[error("{field}: found '{found}', expected zero or more")]
    Negative {
        /// Name of the column.
        field: &'static str,
        /// The text found.
        found: String,
    },
    /// A time above 2^63 − 1 ns.
    #[error("{field}: found '{found}', expected at most 9223372036.854775807 s (2^63 - 1 ns)")]
    TooLarge {
        /// Name of the column.
        field: &'static str,
        /// The text found.
        found: String,
    },
    /// A positive delay below half a nanosecond. Rounded to 0 it would mean an erasure.
    #[error(
        "decode_delay: found '{found}', which rounds to 0 ns; expected 0 (erased) or at least 0.5 ns"
    )]
    RoundsToZero {
        /// The text found.
        found: String,
    },
    /// A sum of two times above 2^63 − 1 ns.
    #[error("found {sum} above 9223372036.854775807 s, expected at most that (2^63 - 1 ns)")]
    SumTooLarge {
        /// Formula of the sum, such as `tx_time + decode_delay`.
        sum: &'static str,
    },
    /// A required column is missing from the header, or a row is too short to contain it.
    #[error("found '{found}', expected a column {name}")]
    MissingColumn {
        /// Name of the column.
        name: String,
        /// The line found.
        found: String,
    },
    /// A header names a column more than once.
    #[error("found column {name} more than once, expected each name once")]
    DuplicateColumn {
        /// Name of the column.
        name: String,
    },
    /// A row whose transmission time is earlier than that of the row before it.
    #[error("tx_time: found {found} after {previous}, expected times that do not decrease")]
    OutOfOrder {
        /// Transmission time of the row before.
        previous: Time,
        /// Transmission time of this row.
        found: Time,
    },
    /// A row that would be moved to a time before 0.
    #[error("tx_time: found {found}, which {by} earlier is before 0; expected {by} or later")]
    BeforeZero {
        /// Transmission time of the row.
        found: Time,
        /// Span by which it would be moved.
        by: Span,
    },
    /// The trace has no data row.
    #[error("found no row, expected at least one")]
    EmptyTrace,
    /// A text trace with a head but without an end line: the stage that wrote it was interrupted.
    #[error(
        "found the end of the input after {rows} whole rows, expected more rows or the line '# end: …'"
    )]
    Cut {
        /// Whole rows read.
        rows: u64,
    },
    /// A data row follows the end line.
    #[error("found a row after the end line, expected none")]
    RowAfterEnd,
    /// The end line states another number of rows than were read.
    #[error("found {read} rows, expected {stated} as stated in the end line")]
    RowCount {
        /// Rows that the end line states.
        stated: u64,
        /// Rows read.
        read: u64,
    },
    /// An invalid value in the head or in the end line.
    #[error("# {key}: found '{found}', expected {expected}")]
    Metadata {
        /// Key of the line; `end` for the end line.
        key: String,
        /// The value found.
        found: String,
        /// Description of a valid value.
        expected: &'static str,
    },
    /// A line longer than any line of a trace, so the input is something else.
    #[error("found a line of more than {limit} bytes, expected a text trace")]
    LineTooLong {
        /// Longest line accepted, bytes.
        limit: usize,
    },
    /// The file violates its format.
    #[error("found {found}, expected {expected}")]
    Format {
        /// Description of what was found.
        found: String,
        /// Description of what was expected.
        expected: String,
    },
    /// A compressed or binary stream that ends early.
    #[error(
        "found the end of the {format} stream after {rows} whole rows, expected the rest of it"
    )]
    CutStream {
        /// Name of the format, such as `gzip`.
        format: &'static str,
        /// Whole rows before the cut, counted from where the decoder that found it started.
        rows: u64,
    },
    /// A damaged compressed or binary stream.
    #[error("found a damaged {format} stream ({found}), expected an intact one")]
    Corrupt {
        /// Name of the format, such as `gzip`.
        format: &'static str,
        /// Description of the damage.
        found: String,
    },
    /// A column of Arrow or Parquet with a type that docs/trace-format.md, Sec. 6, does not allow.
    #[error("{name}: found a column of {found}, expected {expected}")]
    ColumnType {
        /// Name of the column.
        name: &'static str,
        /// Type of the column.
        found: String,
        /// Types that are allowed.
        expected: &'static str,
    },
    /// A column of numbers for which no unit is known: doubles, or integers of a foreign table.
    #[error(
        "{name}: found numbers without a unit, expected a name that ends in _s, _ms, _us or _ns, or a unit: s, ms, us or ns"
    )]
    UnitMissing {
        /// Name of the column.
        name: &'static str,
    },
    /// A unit was given for a column of integers, which are nanoseconds.
    #[error(
        "{name}: found unit {unit} for an int64 column, expected no unit or ns: integers in Arrow and Parquet are nanoseconds"
    )]
    UnitOfIntegers {
        /// Name of the column.
        name: &'static str,
        /// Unit that was given.
        unit: &'static str,
    },
    /// A unit was given that is not the one in the name of a column.
    #[error(
        "{name}: found unit {unit} for a column whose name says {named}, expected no unit or {named}"
    )]
    UnitOfName {
        /// Name of the column in traces.
        name: &'static str,
        /// Unit in the name.
        named: &'static str,
        /// Unit that was given.
        unit: &'static str,
    },
    /// A null in a column that requires a value.
    #[error("{field}: found null, expected a value")]
    Null {
        /// Name of the column.
        field: &'static str,
    },
    /// An error of the operating system.
    #[error(transparent)]
    Io(std::io::Error),
}

impl ErrorKind {
    /// An [`ErrorKind::Metadata`] that concerns the end line.
    pub(crate) fn end(found: impl Into<String>, expected: &'static str) -> Self {
        Self::Metadata {
            key: "end".to_owned(),
            found: found.into(),
            expected,
        }
    }

    /// An [`ErrorKind::Format`] with this description.
    pub(crate) fn format(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Format {
            found: found.into(),
            expected: expected.into(),
        }
    }
}

/// An error, with its position and the role of its input if these are known.
///
/// ```
/// use tmt_core::Error;
/// use tmt_core::format::{Options, TraceReader};
///
/// let text = "tx_time,decode_delay\n0.1,0.036\n0.2,x\n";
/// let mut trace = TraceReader::new(text.as_bytes(), Options::default())?;
/// let error = trace.read_lldus().unwrap_err();
/// assert_eq!(error.to_string(), "decode_delay: found 'x', expected a decimal number");
/// let place = error.position().ok_or("errors of a text have a place")?;
/// assert_eq!((place.line, place.column, place.row), (3, 5, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, derive_more::Display)]
#[display("{}", _0.kind)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    position: Option<Position>,
    input: Option<&'static str>,
}

/// Result of the fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error without a position.
    #[must_use]
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner {
            kind,
            position: None,
            input: None,
        }))
    }

    /// An error at `position` of the input.
    #[must_use]
    pub fn at(kind: ErrorKind, position: Position) -> Self {
        let mut error = Self::new(kind);
        error.0.position = Some(position);
        error
    }

    /// The same error with the role of its input, for callers that read several.
    #[must_use]
    pub fn of_input(mut self, input: &'static str) -> Self {
        self.0.input = Some(input);
        self
    }

    /// The same error with `rows` added to its row numbers.
    ///
    /// Blocks of a trace are decoded independently, and each counts from its own first row.
    #[must_use]
    pub fn offset_rows(mut self, rows: u64) -> Self {
        if let ErrorKind::CutStream { rows: whole, .. } = &mut self.0.kind {
            *whole += rows;
        }
        if let Some(position) = &mut self.0.position
            && position.row > 0
        {
            position.row += rows;
        }
        self
    }

    /// The message with the place of the error in the input `name`, without control characters.
    #[must_use]
    pub fn message_in(&self, name: &str) -> String {
        let Position { line, column, row } = self.position().unwrap_or_default();
        let place = match (line, column, row) {
            (0, _, 0) => String::new(),
            // A binary trace has rows but no lines.
            (0, _, row) => format!(": row {row}"),
            (line, 0, _) => format!(":{line}"),
            (line, column, _) => format!(":{line}:{column}"),
        };
        format!("{name}{place}: {}", one_line(&self.to_string()))
    }

    /// Role of the input in which the error was found; `None` if the caller reads only one.
    #[must_use]
    pub fn input(&self) -> Option<&'static str> {
        self.0.input
    }

    /// The kind of error, without its position.
    #[must_use]
    pub fn into_kind(self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the kind of error, without its position.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Position in the input; `None` if unknown.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }
}

/// `text` without control characters. Names and values in it come from a file and could otherwise control the terminal.
#[must_use]
pub fn one_line(text: &str) -> String {
    let parts = text.split(char::is_control).map(str::trim);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        // An error that `Read` passes on may come from the decompressor, and so be one of this crate.
        match error.downcast::<Self>() {
            Ok(own) => own,
            Err(error) => Self::new(ErrorKind::Io(error)),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // `Display` already prints the kind, so the source is that of the kind: the error that an I/O error wraps.
        self.kind().source()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}
