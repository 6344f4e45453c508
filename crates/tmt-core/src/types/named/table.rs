//! The tables of [`Kind::Content`](super::Kind::Content): comma-separated rows with a header, from a file or in one line with
//! `;` between the rows.

use super::ParseError;
use crate::types::Span;

/// Longest content, bytes. It becomes part of a trace's head.
const LONGEST: usize = 256 * 1024;

/// Turns the content of a file into one line.
pub type Content = fn(&str) -> Result<String, TableError>;

/// Fault of the table of a parameter, and its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{message}", self.place(), self.cell())]
pub struct TableError {
    /// Name of the file; `None` for a table that is part of a text.
    pub file: Option<String>,
    /// Line from 1; 0 for the table as a whole.
    pub line: usize,
    /// Column from 1, by commas; 0 for the line as a whole.
    pub column: usize,
    /// Value found, and values expected.
    pub message: String,
}

impl TableError {
    /// A fault of the table as a whole.
    pub fn whole(message: impl Into<String>) -> Self {
        Self {
            file: None,
            line: 0,
            column: 0,
            message: message.into(),
        }
    }

    fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), 0) => format!("{file}: "),
            (Some(file), line) => format!("{file}:{line}: "),
            (None, 0) => String::new(),
            (None, line) => format!("row {line}: "),
        }
    }

    fn cell(&self) -> String {
        match self.column {
            0 => String::new(),
            column => format!("column {column}: "),
        }
    }
}

/// The rows of a table with their lines.
#[derive(Debug)]
pub struct Rows<'t> {
    rows: Vec<Row<'t>>,
}

/// A row that is neither empty nor a comment.
#[derive(Debug)]
pub struct Row<'t> {
    line: usize,
    /// Its cells, without the blanks around them.
    pub cells: Vec<&'t str>,
}

impl<'t> Rows<'t> {
    /// Splits a table of at most 256 KiB.
    ///
    /// # Errors
    /// A longer one, or a cell with a character that would end the text.
    pub fn of(text: &'t str) -> Result<Self, TableError> {
        Self::within(text, LONGEST)
    }

    /// Splits a table of at most `longest` bytes.
    ///
    /// # Errors
    /// Those of [`Self::of`].
    pub fn within(text: &'t str, longest: usize) -> Result<Self, TableError> {
        if text.len() > longest {
            return Err(TableError::whole(format!(
                "found {} bytes, expected at most {longest}",
                text.len()
            )));
        }
        let mut rows = Vec::new();
        for (at, line) in text.split(['\n', ';']).enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let row = Row {
                line: at + 1,
                cells: line.split(',').map(str::trim).collect(),
            };
            if let Some(at) = row.cells.iter().position(|cell| cell.contains(unfit)) {
                return Err(row.fault(at, "found a control character or a brace, expected text"));
            }
            rows.push(row);
        }
        Ok(Self { rows })
    }

    /// The header, which the first row is, and the rows below it.
    ///
    /// # Errors
    /// No row below it, or none at all.
    pub fn with_header(&self, form: &str) -> Result<(&Row<'t>, &[Row<'t>]), TableError> {
        match self.rows.split_first() {
            Some((header, rows)) if !rows.is_empty() => Ok((header, rows)),
            _ => Err(TableError::whole(format!(
                "found no rows, expected a header {form} and a row below it"
            ))),
        }
    }

    /// The rows of a table of one column, whose `header` may be the first row.
    #[must_use]
    pub fn without_header(&self, header: &str) -> &[Row<'t>] {
        match self.rows.split_first() {
            Some((first, rows)) if first.cells == [header] => rows,
            _ => &self.rows,
        }
    }

    /// The table in one line, without comments.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        let cell = |cell: &&str| cell.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let row = |row: &Row<'_>| row.cells.iter().map(cell).collect::<Vec<_>>().join(",");
        self.rows.iter().map(row).collect::<Vec<_>>().join(";")
    }
}

/// Whether a character is not allowed in a head, or would end the text.
fn unfit(character: char) -> bool {
    character.is_control() && character != '\t' || matches!(character, '{' | '}' | '`' | '\'')
}

impl Row<'_> {
    /// A fault of the row as a whole.
    pub fn wrong(&self, message: impl Into<String>) -> TableError {
        TableError {
            line: self.line,
            ..TableError::whole(message)
        }
    }

    /// A fault of cell `at`, from 0.
    pub fn fault(&self, at: usize, message: impl Into<String>) -> TableError {
        TableError {
            column: at + 1,
            ..self.wrong(message)
        }
    }

    /// The number in cell `at`.
    ///
    /// # Errors
    /// It is not a number from `least` to `most`; `what` says what it should be.
    pub fn number(&self, at: usize, what: &str, least: f64, most: f64) -> Result<f64, TableError> {
        let text = self.cells.get(at).copied().unwrap_or_default();
        let number = text.parse::<f64>().ok();
        let number = number.filter(|number| (least..=most).contains(number));
        let range = if most.is_finite() {
            format!("from {least} to {most}")
        } else {
            format!("from {least}")
        };
        number.ok_or_else(|| self.fault(at, format!("found '{text}', expected {what} {range}")))
    }

    /// The whole number above zero in cell `at`.
    ///
    /// # Errors
    /// It is not one below 2^63; `what` says what it should be.
    pub fn whole(&self, at: usize, what: &str) -> Result<u64, TableError> {
        let text = self.cells.get(at).copied().unwrap_or_default();
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse::<i64>().ok().filter(|_| is_plain);
        let number = number.and_then(|number| u64::try_from(number).ok());
        let number = number.filter(|number| *number > 0);
        number.ok_or_else(|| {
            let expected = format!("{what}, a whole number from 1 to 2^63 - 1");
            self.fault(at, format!("found '{text}', expected {expected}"))
        })
    }

    /// The time in seconds in cell `at`, exact to the nanosecond.
    ///
    /// # Errors
    /// It is not one of 0 s or more; `what` says what it should be.
    pub fn seconds(&self, at: usize, what: &str) -> Result<Span, TableError> {
        let text = self.cells.get(at).copied().unwrap_or_default();
        let is_number = text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
        let span = format!("{text}s").parse::<Span>().ok();
        let span = span.filter(|_| is_number);
        let expected = format!("{what} in s, with at most nine decimals");
        span.ok_or_else(|| self.fault(at, format!("found '{text}', expected {expected}")))
    }
}

/// The content of a file in one line, if `read` reads it.
///
/// # Errors
/// Those of [`Rows::of`] and of `read`.
pub fn content<T>(
    text: &str,
    read: impl FnOnce(&Rows<'_>) -> Result<T, TableError>,
) -> Result<String, TableError> {
    content_within(text, LONGEST, read)
}

/// As [`content`], for a content of at most `longest` bytes.
///
/// # Errors
/// Those of [`Rows::within`] and of `read`.
pub fn content_within<T>(
    text: &str,
    longest: usize,
    read: impl FnOnce(&Rows<'_>) -> Result<T, TableError>,
) -> Result<String, TableError> {
    let rows = Rows::within(text.strip_prefix('\u{feff}').unwrap_or(text), longest)?;
    read(&rows)?;
    Ok(rows.in_one_line())
}

/// The content in braces of the file `name`: `read` returns its text, or why it cannot be read, and `content` turns it into
/// a line. An empty name is none: `missing` is the error of a text without one.
///
/// # Errors
/// There is no name, or why the file cannot be read.
pub fn in_braces(
    name: &str,
    missing: impl FnOnce() -> ParseError,
    content: Content,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Result<String, TableError>, String> {
    if name.is_empty() {
        return Err(missing().to_string());
    }
    let line = content(&read(name)?).map_err(|error| TableError {
        file: Some(name.to_owned()),
        ..error
    });
    Ok(line.map(|line| format!("{{{line}}}")))
}
