//! Text tables: no colour, numbers right-aligned.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

use crate::exit::Outcome;
use crate::output::document::Document;
use crate::output::{Output, json};

/// Number of attempts with a row of their own in a table. JSON has all attempts.
pub(crate) const SHOWN_ATTEMPTS: u32 = 6;

/// Writes a document to `path` or stdout, as JSON or as the `text` of its results.
pub(crate) fn print<P: serde::Serialize, R: serde::Serialize>(
    path: Option<&str>,
    as_json: bool,
    document: &Document<P, R>,
    text: fn(&R) -> String,
) -> Outcome {
    let mut output = Output::create(path)?;
    write(&mut output, as_json, document, text)?;
    output.finish()
}

/// Writes a document as JSON or as the `text` of its results.
pub(crate) fn write<P: serde::Serialize, R: serde::Serialize>(
    output: &mut Output,
    as_json: bool,
    document: &Document<P, R>,
    text: fn(&R) -> String,
) -> Outcome {
    if as_json {
        json(output, document)
    } else {
        output.write(text(document.results()).as_bytes())
    }
}

/// Number of units whose attempt has no row of its own.
pub(crate) fn later(attempts: &BTreeMap<u32, u64>) -> u64 {
    attempts
        .range(SHOWN_ATTEMPTS + 1..)
        .map(|(_, count)| count)
        .sum()
}

/// The longest run length, or a dash.
pub(crate) fn longest(lengths: &BTreeMap<u64, u64>) -> String {
    lengths
        .keys()
        .last()
        .map_or_else(|| "-".to_owned(), ToString::to_string)
}

/// Width of a terminal that every table fits, columns, as the tables take it.
const TERMINAL_U16: u16 = 80;

/// The same for lengths of texts.
const TERMINAL: usize = TERMINAL_U16 as usize;

/// Spaces between two columns of a table, as the tables take them.
const GAP_U16: u16 = 2;

/// The same for lengths of texts.
const GAP: usize = GAP_U16 as usize;

/// A table with a header. The first column has names, the others numbers unless [`Report::left`] is called.
///
/// A table wider than a terminal is split into blocks of columns one below the other, each with the names.
pub(crate) struct Report {
    rows: Vec<Vec<String>>,
    left: Vec<usize>,
    wrapped: Option<usize>,
    names: usize,
    group: usize,
}

impl Report {
    /// An empty table with these headings.
    pub(crate) fn new<S: Into<String>>(headings: impl IntoIterator<Item = S>) -> Self {
        Self {
            rows: vec![headings.into_iter().map(Into::into).collect()],
            left: vec![0],
            wrapped: None,
            names: 1,
            group: 1,
        }
    }

    /// Left-aligns a column.
    pub(crate) fn left(mut self, column: usize) -> Self {
        self.left.push(column);
        self
    }

    /// Left-aligns a column of text and wraps it, so that the table fits without being split.
    pub(crate) fn wrapped(mut self, column: usize) -> Self {
        self.wrapped = Some(column);
        self.left(column)
    }

    /// Repeats this many columns in each block, instead of the first only.
    pub(crate) fn names(mut self, columns: usize) -> Self {
        self.names = columns;
        self
    }

    /// Keeps this many columns together when the table is split.
    pub(crate) fn grouped(mut self, columns: usize) -> Self {
        self.group = columns;
        self
    }

    /// Appends a row.
    pub(crate) fn row<S: Into<String>>(&mut self, name: &str, values: impl IntoIterator<Item = S>) {
        let mut cells = vec![name.to_owned()];
        cells.extend(values.into_iter().map(Into::into));
        self.rows.push(cells);
    }

    /// Width of each column.
    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let lines = cells.flat_map(|cell| cell.lines());
            lines.map(|line| line.chars().count()).max().unwrap_or(0)
        };
        (0..columns).map(width).collect()
    }

    /// The columns of each block, those with the names first.
    fn blocks(&self) -> Vec<Vec<usize>> {
        let widths = self.widths();
        let names: Vec<usize> = (0..self.names.min(widths.len())).collect();
        let named = names.iter().map(|column| widths[*column]).sum::<usize>();
        let named = named + GAP * names.len().saturating_sub(1);
        let mut blocks = vec![names.clone()];
        let mut used = named;
        let columns: Vec<usize> = (names.len()..widths.len()).collect();
        for group in columns.chunks(self.group) {
            let needed: usize = group.iter().map(|column| widths[*column] + GAP).sum();
            let is_full = self.wrapped.is_none() && used + needed > TERMINAL;
            if is_full && blocks.last().is_some_and(|block| block.len() > names.len()) {
                blocks.push(names.clone());
                used = named;
            }
            used += needed;
            blocks
                .last_mut()
                .into_iter()
                .for_each(|block| block.extend(group));
        }
        blocks
    }

    /// The columns of one block as a table.
    fn block(&self, columns: &[usize]) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        if self.wrapped.is_some() {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(TERMINAL_U16);
        } else {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
        for (number, row) in self.rows.iter().enumerate() {
            let cell = |column: &usize| row.get(*column).cloned().unwrap_or_default();
            let cells: Vec<String> = columns.iter().map(cell).collect();
            if number == 0 {
                table.set_header(cells);
            } else {
                table.add_row(cells);
            }
        }
        let last = columns.len() - 1;
        for (index, column) in table.column_iter_mut().enumerate() {
            let is_left = self.left.contains(&columns[index]);
            column.set_cell_alignment(if is_left {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            });
            let is_last = index == last;
            column.set_padding((0, if is_last { 0 } else { GAP_U16 }));
            if self
                .wrapped
                .is_some_and(|wrapped| columns[index] != wrapped)
            {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        table
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, columns) in self.blocks().iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            for line in self.block(columns).lines() {
                writeln!(f, "{}", line.trim_end())?;
            }
        }
        Ok(())
    }
}

/// `count` with a noun in the right number.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// `value` with `decimals`, or a dash for `None`.
pub(crate) fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Seconds as milliseconds with three decimals, or a dash.
pub(crate) fn millis(seconds: Option<f64>) -> String {
    number(seconds.map(|seconds| seconds * 1e3), 3)
}

/// A ratio with six decimals, or a dash.
pub(crate) fn share(value: Option<f64>) -> String {
    number(value, 6)
}

/// `value` with six significant digits, without trailing zeros.
pub(crate) fn significant(value: f64) -> String {
    rounded(value, 6)
}

/// `value` with this number of significant digits, at least one, without trailing zeros.
pub(crate) fn rounded(value: f64, digits: usize) -> String {
    let last = digits.saturating_sub(1);
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:.last$e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..9).contains(&exponent) {
        let most = i32::try_from(last).unwrap_or(i32::MAX);
        let decimals = usize::try_from(most - exponent).unwrap_or(0);
        trimmed(&format!("{value:.decimals$}"))
    } else {
        format!("{}e{exponent}", trimmed(mantissa))
    }
}

/// `text` in lines of at most 80 columns, broken at spaces, each but the first after `indent`.
pub(crate) fn wrap(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if used > 0 && used + 1 + width > TERMINAL {
            lines += "\n";
            lines += indent;
            used = indent.len();
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines += word;
        used += width;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Widths of the lines of `text`.
    fn widths(text: &str) -> impl Iterator<Item = usize> {
        text.lines().map(|line| line.chars().count())
    }

    #[test]
    fn a_wide_table_is_split_into_blocks_with_the_names() {
        let headings = ["", "a", "b", "c", "d", "e"];
        let mut report = Report::new(headings).grouped(2);
        let wide = "x".repeat(20);
        report.row("name", std::iter::repeat_n(wide.as_str(), 5));
        let text = report.to_string();
        assert!(widths(&text).all(|width| width <= TERMINAL), "{text}");
        // a and b; c, d and e.
        assert_eq!(text.matches("name").count(), 2);
        assert_eq!(text.matches(&wide).count(), 5);
        // A value that is wider than a terminal stays whole.
        let long = "y".repeat(100);
        let mut report = Report::new(["", "a", "b"]);
        report.row("name", [long.as_str(), "z"]);
        let text = report.to_string();
        assert!(
            text.contains(&long) && text.matches("name").count() == 2,
            "{text}"
        );
    }

    #[test]
    fn a_column_of_text_is_wrapped_instead() {
        let mut report = Report::new(["name", "about", "n"]).wrapped(1);
        let words = "some words ".repeat(20);
        report.row("one", [words.trim(), "12345"]);
        let text = report.to_string();
        assert!(widths(&text).all(|width| width <= TERMINAL), "{text}");
        assert_eq!(text.matches("words").count(), 20);
        assert!(text.contains("12345"));
    }

    #[test]
    fn text_is_wrapped_at_spaces() {
        let text = wrap(&"word ".repeat(40), "  ");
        assert!(widths(&text).all(|width| width <= TERMINAL) && text.lines().count() == 3);
        assert!(text.lines().skip(1).all(|line| line.starts_with("  word")));
        assert_eq!(wrap("short", "  "), "short");
    }

    #[test]
    fn at_most_six_significant_digits_are_shown() {
        for (value, text) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (10.0, "10"),
            (-0.25, "-0.25"),
            (0.000_123_456_78, "0.000123457"),
            (1e-9, "1e-9"),
            (1.234_567_8e-7, "1.23457e-7"),
            (0.999_999_99, "1"),
            (123_456_789.0, "123456789"),
            (1.5e12, "1.5e12"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(significant(value), text);
        }
    }
}
