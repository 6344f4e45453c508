//! What can be wrong with a trace, and where.

use crate::types::Time;

/// Where in a text an error was found; all three count from 1, zero says "unknown" or "none".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Line of the text.
    pub line: u64,
    /// Byte of the line at which the offending field begins; 0 where the whole line is meant.
    pub column: u64,
    /// Data row; 0 where the line is none.
    pub row: u64,
}

impl Position {
    /// A place in a text where no row is.
    pub(crate) const fn of_line(line: u64, column: u64) -> Self {
        Self {
            line,
            column,
            row: 0,
        }
    }

    /// A row of a trace without lines, from 1.
    pub(crate) const fn of_row(row: u64) -> Self {
        Self {
            line: 0,
            column: 0,
            row,
        }
    }
}

/// What was wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A field that should hold a number holds something else.
    #[error("{field}: found '{found}', expected a decimal number")]
    NotANumber {
        /// The column's name.
        field: &'static str,
        /// The text found.
        found: String,
    },
    /// A negative number.
    #[error("{field}: found '{found}', expected zero or more")]
    Negative {
        /// The column's name.
        field: &'static str,
        /// The text found.
        found: String,
    },
    /// A number past 2^63 − 1 ns.
    #[error("{field}: found '{found}', expected at most 9223372036.854775807 s (2^63 - 1 ns)")]
    TooLarge {
        /// The column's name.
        field: &'static str,
        /// The text found.
        found: String,
    },
    /// A positive delay below half a nanosecond: written as 0 it would read as an erasure.
    #[error(
        "decode_delay: found '{found}', which rounds to 0 ns; expected 0 (erased) or at least 0.5 ns"
    )]
    RoundsToZero {
        /// The text found.
        found: String,
    },
    /// A sum of two times past 2^63 − 1 ns.
    #[error("found {sum} past 9223372036.854775807 s, expected at most that (2^63 - 1 ns)")]
    SumTooLarge {
        /// The sum, by its formula.
        sum: &'static str,
    },
    /// A header without a column that is needed, or a row too short to hold it.
    #[error("found '{found}', expected a column {name}")]
    MissingColumn {
        /// The column's name.
        name: &'static str,
        /// The line found.
        found: String,
    },
    /// A header that names a column twice.
    #[error("found the column {name} twice, expected every name once")]
    DuplicateColumn {
        /// The column's name.
        name: String,
    },
    /// A slot sent before the one in front of it.
    #[error("tx_time: found {found} after {previous}, expected times that never go back")]
    OutOfOrder {
        /// The slot in front.
        previous: Time,
        /// This slot.
        found: Time,
    },
    /// No data row at all.
    #[error("found no row, expected at least one")]
    EmptyTrace,
    /// A head without its end line: the stage before was cut off.
    #[error(
        "found the end of the input after {rows} whole rows, expected more rows or the line '# end: …'"
    )]
    Cut {
        /// Whole rows read.
        rows: u64,
    },
    /// A data row behind the end line.
    #[error("found a row after the end line, expected nothing more")]
    RowAfterEnd,
    /// An end line that tells another number of rows than were read.
    #[error("found {read} rows, expected the {stated} that the end line says")]
    RowCount {
        /// Rows the end line tells.
        stated: u64,
        /// Rows read.
        read: u64,
    },
    /// A line of the head or the end line that cannot be right.
    #[error("# {key}: found '{found}', expected {expected}")]
    Metadata {
        /// Its key.
        key: String,
        /// The value found.
        found: String,
        /// What it should have been.
        expected: &'static str,
    },
    /// A line longer than any trace needs.
    #[error("found a line of more than {limit} bytes, expected a text trace")]
    LineTooLong {
        /// Longest line taken, bytes.
        limit: usize,
    },
    /// The file is not what the format requires.
    #[error("found {found}, expected {expected}")]
    Format {
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A compressed or binary stream that ends in the middle.
    #[error(
        "found the end of the {format} stream in the middle, after {rows} whole rows; expected the rest of it"
    )]
    CutStream {
        /// Name of the format, such as `gzip`.
        format: &'static str,
        /// Whole rows in front of the cut, as far as whoever found it has counted.
        rows: u64,
    },
    /// A damaged compressed or binary stream.
    #[error("found a damaged {format} stream ({found}), expected one as it was written")]
    Corrupt {
        /// Name of the format, such as `gzip`.
        format: &'static str,
        /// What is wrong with it.
        found: String,
    },
    /// A column of Arrow or Parquet whose type is not the contract's.
    #[error("{name}: found a column of {found}, expected {expected}")]
    ColumnType {
        /// The column's name.
        name: &'static str,
        /// The type found.
        found: String,
        /// The type expected.
        expected: &'static str,
    },
    /// A column of doubles without a unit.
    #[error(
        "{name}: found a column of doubles without a unit, expected int64 (ns), or a unit given for doubles: s, ms, us or ns"
    )]
    UnitMissing {
        /// The column's name.
        name: &'static str,
    },
    /// A unit given for a column of whole numbers, which are nanoseconds.
    #[error(
        "{name}: found the unit {unit} for a column of int64, expected no unit or ns: whole numbers of Arrow and Parquet are nanoseconds"
    )]
    UnitOfIntegers {
        /// The column's name.
        name: &'static str,
        /// The unit given.
        unit: &'static str,
    },
    /// A row without a value in a column that needs one.
    #[error("{field}: found null, expected a value")]
    Null {
        /// The column's name.
        field: &'static str,
    },
    /// The operating system refused.
    #[error(transparent)]
    Io(std::io::Error),
}

impl ErrorKind {
    /// [`ErrorKind::Metadata`] of an end line.
    pub(crate) fn end(found: impl Into<String>, expected: &'static str) -> Self {
        Self::Metadata {
            key: "end".to_owned(),
            found: found.into(),
            expected,
        }
    }

    /// [`ErrorKind::Format`] in these words.
    pub(crate) fn format(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Format {
            found: found.into(),
            expected: expected.into(),
        }
    }
}

/// An error with its place in the input, where it has one.
#[derive(Debug, derive_more::Display)]
#[display("{}", _0.kind)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    position: Option<Position>,
    input: Option<&'static str>,
}

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error that belongs to no place in particular.
    #[must_use]
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner {
            kind,
            position: None,
            input: None,
        }))
    }

    /// An error found at `position`.
    #[must_use]
    pub fn at(kind: ErrorKind, position: Position) -> Self {
        let mut error = Self::new(kind);
        error.0.position = Some(position);
        error
    }

    /// The same error, found in one of several inputs.
    #[must_use]
    pub fn of_input(mut self, input: &'static str) -> Self {
        self.0.input = Some(input);
        self
    }

    /// The same error with `rows` added to its counts of rows.
    ///
    /// Blocks of a trace are decoded on their own and count from their own first row.
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

    /// The input it was found in, by its role, where there are several.
    #[must_use]
    pub fn input(&self) -> Option<&'static str> {
        self.0.input
    }

    /// What was wrong, by itself.
    #[must_use]
    pub fn into_kind(self) -> ErrorKind {
        self.0.kind
    }

    /// What was wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Where it was found.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        // What `Read` passes on may be an error of this crate, from the decompressor inside it.
        match error.downcast::<Self>() {
            Ok(own) => own,
            Err(error) => Self::new(ErrorKind::Io(error)),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // `Display` already prints the kind; naming it again as the source would only say it twice. What the operating
        // system's own error wraps is passed on.
        self.kind().source()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}
