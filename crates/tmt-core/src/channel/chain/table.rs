//! The tables of processes: comma-separated rows with a header, from a file or in one line with `;` between the rows.

use crate::channel::family::TableError;

/// Longest content, bytes. It becomes part of a trace's head.
const LONGEST: usize = 256 * 1024;

/// The rows of a table with their lines.
#[derive(Debug)]
pub(in crate::channel) struct Rows<'t> {
    rows: Vec<Row<'t>>,
}

/// A row that is neither empty nor a comment.
#[derive(Debug)]
pub(in crate::channel) struct Row<'t> {
    line: usize,
    pub(in crate::channel) cells: Vec<&'t str>,
}

impl<'t> Rows<'t> {
    /// Splits a table.
    pub(in crate::channel) fn of(text: &'t str) -> Result<Self, TableError> {
        if text.len() > LONGEST {
            return Err(TableError::whole(format!(
                "found {} bytes, expected at most {LONGEST}",
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

    /// The header, which the first row is, and the rows below it, of which there must be some.
    pub(in crate::channel) fn with_header(
        &self,
        form: &str,
    ) -> Result<(&Row<'t>, &[Row<'t>]), TableError> {
        match self.rows.split_first() {
            Some((header, rows)) if !rows.is_empty() => Ok((header, rows)),
            _ => Err(TableError::whole(format!(
                "found no rows, expected a header {form} and a row below it"
            ))),
        }
    }

    /// The rows of a table of one column, whose `header` may be the first row.
    pub(in crate::channel) fn without_header(&self, header: &str) -> &[Row<'t>] {
        match self.rows.split_first() {
            Some((first, rows)) if first.cells == [header] => rows,
            _ => &self.rows,
        }
    }

    /// The table in one line, without comments.
    pub(in crate::channel) fn in_one_line(&self) -> String {
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
    pub(in crate::channel) fn wrong(&self, message: impl Into<String>) -> TableError {
        TableError {
            line: self.line,
            ..TableError::whole(message)
        }
    }

    /// A fault of cell `at`, from 0.
    pub(in crate::channel) fn fault(&self, at: usize, message: impl Into<String>) -> TableError {
        TableError {
            column: at + 1,
            ..self.wrong(message)
        }
    }

    /// The number in cell `at`, if it is from `least` to `most`.
    pub(in crate::channel) fn number(
        &self,
        at: usize,
        what: &str,
        least: f64,
        most: f64,
    ) -> Result<f64, TableError> {
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
}

/// The content of a file in one line, if `read` reads it.
pub(in crate::channel) fn content<T>(
    text: &str,
    read: impl FnOnce(&Rows<'_>) -> Result<T, TableError>,
) -> Result<String, TableError> {
    let rows = Rows::of(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    read(&rows)?;
    Ok(rows.in_one_line())
}
