//! Tables for people: plain text, no colour, numbers to the right.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Attempts with a row of their own in a table; the JSON has them all.
pub(crate) const SHOWN_ATTEMPTS: u32 = 6;

/// A table with its header; the first column holds names, the others numbers.
pub(crate) struct Report(Table);

impl Report {
    /// A table whose columns have these headings.
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
        Self(table)
    }

    /// Adds a row.
    pub(crate) fn row<S: Into<String>>(&mut self, name: &str, values: impl IntoIterator<Item = S>) {
        let mut cells = vec![name.to_owned()];
        cells.extend(values.into_iter().map(Into::into));
        self.0.add_row(cells);
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut table = self.0.clone();
        for (index, column) in table.column_iter_mut().enumerate() {
            let alignment = if index == 0 {
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

/// `value` with `decimals`, or a dash where there is none.
pub(crate) fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Seconds shown as milliseconds with three decimals, or a dash.
pub(crate) fn millis(seconds: Option<f64>) -> String {
    number(seconds.map(|seconds| seconds * 1e3), 3)
}

/// A share shown with six decimals, or a dash.
pub(crate) fn share(value: Option<f64>) -> String {
    number(value, 6)
}
