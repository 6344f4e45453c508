//! Text tables: no colour, numbers right-aligned.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

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

/// A table with a header. The first column has names, the others numbers unless [`Report::left`] is called.
pub(crate) struct Report {
    table: Table,
    left: Vec<usize>,
}

impl Report {
    /// An empty table with these headings.
    pub(crate) fn new<S: Into<String>>(headings: impl IntoIterator<Item = S>) -> Self {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(
            headings
                .into_iter()
                .map(Into::into)
                .collect::<Vec<String>>(),
        );
        Self {
            table,
            left: vec![0],
        }
    }

    /// Left-aligns a column.
    pub(crate) fn left(mut self, column: usize) -> Self {
        self.left.push(column);
        self
    }

    /// Appends a row.
    pub(crate) fn row<S: Into<String>>(&mut self, name: &str, values: impl IntoIterator<Item = S>) {
        let mut cells = vec![name.to_owned()];
        cells.extend(values.into_iter().map(Into::into));
        self.table.add_row(cells);
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut table = self.table.clone();
        for (index, column) in table.column_iter_mut().enumerate() {
            let alignment = if self.left.contains(&index) {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            };
            column.set_cell_alignment(alignment);
            column.set_padding((0, 2));
        }
        for line in table.lines() {
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
