//! Tables of commands: columns over rows, as text without colour or as values for programs.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, presets};
use fluid_tcp::simulation::replications::Estimate;
use serde_json::{Map, Value, json};
use tmt_core::format::records::{Records, cells};
use tmt_core::format::table::TableForm;
pub(crate) use tmt_core::types::{Show, rounded};

use crate::exit::{Failure, Outcome};
use crate::output::document::Document;
use crate::output::{Output, json};

/// Number of attempts with a row of their own in a table. JSON has all attempts.
pub(crate) const SHOWN_ATTEMPTS: u32 = 6;

/// Writes a document to `path` or stdout, as JSON or as the `text` of its results.
pub(crate) fn print<P: serde::Serialize, R: serde::Serialize>(
    path: Option<&str>,
    as_json: bool,
    document: &Document<P, R>,
    text: impl FnOnce(&R) -> String,
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
    text: impl FnOnce(&R) -> String,
) -> Outcome {
    if as_json {
        json(output, document)
    } else {
        output.show(&text(document.results()))
    }
}

/// Number of units whose attempt has no row of its own.
pub(crate) fn later(attempts: &BTreeMap<u32, u64>) -> u64 {
    attempts
        .range(SHOWN_ATTEMPTS + 1..)
        .map(|(_, count)| count)
        .sum()
}

/// Width of a terminal that every table fits, columns, as the tables take it.
const TERMINAL_U16: u16 = 80;

/// The same for lengths of texts.
const TERMINAL: usize = TERMINAL_U16 as usize;

/// Spaces between two columns of a table, as the tables take them.
const GAP_U16: u16 = 2;

/// The same for lengths of texts.
const GAP: usize = GAP_U16 as usize;

/// A table: columns over rows. People get it as text, programs as rows of JSON, or through [`Records`] as CSV.
///
/// The first column has names, the others numbers or words. A table wider than a terminal is split into blocks of
/// columns one below the other, each with the names.
pub(crate) struct Table<R> {
    rows: Vec<R>,
    columns: Vec<Column>,
    names: usize,
    group: usize,
}

// Each of the hundreds of closures that fill a column compiles these bodies again: they are only loops, and call shared code.

/// A column with what it has of each row.
struct Column {
    /// Name for programs, with its unit; `None` for people only.
    key: Option<String>,
    /// Heading for people, with its unit; `None` for programs only.
    label: Option<String>,
    side: Side,
    /// For people.
    texts: Vec<String>,
    /// For programs.
    values: Vec<Value>,
}

impl Column {
    fn of_numbers(label: String, show: Show, numbers: &[Option<f64>]) -> Self {
        Self {
            key: None,
            label: Some(label),
            side: Side::Right,
            texts: numbers.iter().map(|number| show.text(*number)).collect(),
            values: numbers.iter().map(|number| Value::from(*number)).collect(),
        }
    }

    fn of_values(label: Option<String>, side: Side, values: Vec<Value>) -> Self {
        let text = |value: &Value| match value {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self {
            key: None,
            label,
            side,
            texts: values.iter().map(text).collect(),
            values,
        }
    }
}

/// How the text of a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
    /// Left, in several lines, so that the table fits without being split.
    Wrapped,
}

impl<R> Table<R> {
    /// A table of these rows without columns.
    pub(crate) fn of(rows: impl IntoIterator<Item = R>) -> Self {
        Self {
            rows: rows.into_iter().collect(),
            columns: Vec::new(),
            names: 1,
            group: 1,
        }
    }

    /// Adds a column of numbers, set right. A row without one has a dash.
    pub(crate) fn number<N: Into<Option<f64>>>(
        mut self,
        label: impl Into<String>,
        show: Show,
        get: impl Fn(&R) -> N,
    ) -> Self {
        let numbers = self.each(&|row| get(row).into());
        self.columns
            .push(Column::of_numbers(label.into(), show, &numbers));
        self
    }

    /// What `get` says of each row: one loop, compiled once for all columns of a type.
    fn each<T>(&self, get: &dyn Fn(&R) -> T) -> Vec<T> {
        let mut all = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            all.push(get(row));
        }
        all
    }

    /// Adds a column of means with their 95 % intervals, set right: `1548 ± 52`. The interval has two significant digits, and
    /// the mean as many decimals. A row without a mean has a dash.
    pub(crate) fn estimate(
        mut self,
        label: impl Into<String>,
        show: Show,
        get: impl Fn(&R) -> Option<Estimate>,
    ) -> Self {
        let all = self.each(&get);
        let text = |one: &Option<Estimate>| match one {
            Some(one) => with_interval(one.mean, one.ci95, show),
            None => show.text(None),
        };
        self.columns.push(Column {
            key: None,
            label: Some(label.into()),
            side: Side::Right,
            texts: all.iter().map(text).collect(),
            values: all.iter().map(|one| json!(one)).collect(),
        });
        self
    }

    /// Adds a column of values as they are, set right: counts, or texts of numbers. A row without one has a dash.
    pub(crate) fn plain<V: Into<Value>>(
        self,
        label: impl Into<String>,
        get: impl Fn(&R) -> V,
    ) -> Self {
        self.column(Some(label.into()), Side::Right, get)
    }

    /// Adds a column of words, set left.
    pub(crate) fn words<V: Into<Value>>(
        self,
        label: impl Into<String>,
        get: impl Fn(&R) -> V,
    ) -> Self {
        self.column(Some(label.into()), Side::Left, get)
    }

    /// Adds a column of text, wrapped so that the table fits a terminal.
    pub(crate) fn wrapped<V: Into<Value>>(
        self,
        label: impl Into<String>,
        get: impl Fn(&R) -> V,
    ) -> Self {
        self.column(Some(label.into()), Side::Wrapped, get)
    }

    /// Adds a column that only programs see.
    pub(crate) fn value<V: Into<Value>>(
        self,
        key: impl Into<String>,
        get: impl Fn(&R) -> V,
    ) -> Self {
        self.column(None, Side::Left, get).key(key)
    }

    /// Names the last column for programs, which do not see columns without a name.
    pub(crate) fn key(mut self, key: impl Into<String>) -> Self {
        if let Some(last) = self.columns.last_mut() {
            last.key = Some(key.into());
        }
        self
    }

    fn column<V: Into<Value>>(
        mut self,
        label: Option<String>,
        side: Side,
        get: impl Fn(&R) -> V,
    ) -> Self {
        let values = self.each(&|row| get(row).into());
        self.columns.push(Column::of_values(label, side, values));
        self
    }

    /// Repeats the columns so far in each block, instead of the first only.
    pub(crate) fn names_so_far(mut self) -> Self {
        self.names = self.columns.len();
        self
    }

    /// Keeps this many columns together when the table is split.
    pub(crate) fn grouped(mut self, columns: usize) -> Self {
        self.group = columns;
        self
    }

    /// The rows for programs, in JSON.
    pub(crate) fn objects(&self) -> Vec<Map<String, Value>> {
        let object = |row: usize| {
            let columns = self.columns.iter();
            let fields =
                columns.filter_map(|one| Some((one.key.clone()?, one.values[row].clone())));
            fields.collect()
        };
        (0..self.rows.len()).map(object).collect()
    }

    /// The rows for programs, as CSV.
    pub(crate) fn csv(&self) -> Outcome<Vec<u8>> {
        let mut records = Records::default();
        for object in self.objects() {
            records.row(cells(&object));
        }
        let csv = records.write(Vec::new(), TableForm::Text(None), &[]);
        csv.map_err(Failure::failed)
    }

    /// A line per column for people: heading, and texts of the rows.
    fn lines(&self) -> Vec<Vec<String>> {
        let shown = self.columns.iter().filter_map(|column| {
            let label = column.label.iter().chain(&column.texts);
            column.label.as_ref().map(|_| label.cloned().collect())
        });
        shown.collect()
    }

    /// The table in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = String::new();
        for (number, row) in self.rows_of_text().into_iter().enumerate() {
            let cells = row
                .iter()
                .map(|cell| cell.replace('\\', "\\\\").replace('|', "\\|"));
            text += &line(cells.collect());
            if number == 0 {
                let rules = self.shown().map(|column| match column.side {
                    Side::Right => "--:".to_owned(),
                    Side::Left | Side::Wrapped => ":--".to_owned(),
                });
                text += &line(rules.collect());
            }
        }
        text
    }

    /// The table in LaTeX, for the package booktabs.
    pub(crate) fn latex(&self) -> String {
        let sides = self.shown().map(|column| match column.side {
            Side::Right => 'r',
            Side::Left | Side::Wrapped => 'l',
        });
        let mut text = format!(
            "\\begin{{tabular}}{{{}}}\n\\toprule\n",
            sides.collect::<String>()
        );
        for (number, row) in self.rows_of_text().into_iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| tex(cell)).collect();
            text += &format!("{} \\\\\n", cells.join(" & "));
            if number == 0 {
                text += "\\midrule\n";
            }
        }
        text + "\\bottomrule\n\\end{tabular}\n"
    }

    /// The columns for people.
    fn shown(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.label.is_some())
    }

    /// The headings, then the rows, for people.
    fn rows_of_text(&self) -> Vec<Vec<String>> {
        let columns = self.lines();
        let line = |place: usize| columns.iter().map(|column| column[place].clone()).collect();
        (0..=self.rows.len()).map(line).collect()
    }

    /// The text with a line per column, and a column per row whose heading is its first text.
    pub(crate) fn transposed(&self) -> Layout {
        Layout {
            sides: vec![Side::Right; self.rows.len() + 1],
            lines: self.lines(),
            names: self.names,
            group: self.group,
        }
    }
}

impl<R> std::fmt::Display for Table<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let layout = Layout {
            lines: self.rows_of_text(),
            sides: self.shown().map(|column| column.side).collect(),
            names: self.names,
            group: self.group,
        };
        layout.fmt(f)
    }
}

/// The text of a table, the headings first.
pub(crate) struct Layout {
    lines: Vec<Vec<String>>,
    /// By column. Names are always aligned left.
    sides: Vec<Side>,
    names: usize,
    group: usize,
}

impl Layout {
    fn is_wrapped(&self) -> bool {
        self.sides.contains(&Side::Wrapped)
    }

    /// Width of each column.
    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = self.lines.iter().map(|line| &line[column]);
            let lines = cells.flat_map(|cell| cell.lines());
            lines.map(|line| line.chars().count()).max().unwrap_or(0)
        };
        (0..self.sides.len()).map(width).collect()
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
            let is_full = !self.is_wrapped() && used + needed > TERMINAL;
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
    fn block(&self, columns: &[usize]) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        if self.is_wrapped() {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(TERMINAL_U16);
        } else {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
        for (number, line) in self.lines.iter().enumerate() {
            let cells = columns.iter().map(|column| &line[*column]);
            if number == 0 {
                table.set_header(cells);
            } else {
                table.add_row(cells);
            }
        }
        let last = columns.len() - 1;
        for (index, column) in table.column_iter_mut().enumerate() {
            let side = self.sides[columns[index]];
            column.set_cell_alignment(if columns[index] == 0 || side != Side::Right {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            });
            let is_last = index == last;
            column.set_padding((0, if is_last { 0 } else { GAP_U16 }));
            if self.is_wrapped() && side != Side::Wrapped {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        table
    }
}

impl std::fmt::Display for Layout {
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

/// A mean and the half-width of its interval, if it has one.
pub(crate) fn with_interval(mean: f64, half: Option<f64>, show: Show) -> String {
    let Some(half) = half else {
        return show.text(Some(mean));
    };
    let shown = show.scaled(half).abs();
    let mut digits = shown;
    let mut decimals = 0;
    while digits < 9.95 && decimals < show.decimals() {
        digits *= 10.0;
        decimals += 1;
    }
    format!("{:.decimals$} ± {shown:.decimals$}", show.scaled(mean))
}

/// `text` as LaTeX sets it.
fn tex(text: &str) -> String {
    let mut set = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                set.push('\\');
                set.push(c);
            }
            '\\' => set += "\\textbackslash{}",
            '~' => set += "\\textasciitilde{}",
            '^' => set += "\\textasciicircum{}",
            '±' => set += "$\\pm$",
            '−' => set += "$-$",
            other => set.push(other),
        }
    }
    set
}

/// `count` with a noun in the right number.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// `value` with `decimals`, or a dash for `None`.
pub(crate) fn number(value: Option<f64>, decimals: usize) -> String {
    Show::Decimals(decimals).text(value)
}

/// Seconds as milliseconds with three decimals, or a dash.
pub(crate) fn millis(seconds: Option<f64>) -> String {
    Show::Milli.text(seconds)
}

/// `value` with six significant digits, without trailing zeros.
pub(crate) fn significant(value: f64) -> String {
    rounded(value, 6)
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
        let wide = "x".repeat(20);
        let mut table = Table::of([&wide]).words("", |_| "name").grouped(2);
        for label in ["a", "b", "c", "d", "e"] {
            table = table.plain(label, |wide| wide.as_str());
        }
        let text = table.to_string();
        assert!(widths(&text).all(|width| width <= TERMINAL), "{text}");
        // a and b; c, d and e.
        assert_eq!(text.matches("name").count(), 2);
        assert_eq!(text.matches(&wide).count(), 5);
        // A value that is wider than a terminal stays whole.
        let long = "y".repeat(100);
        let table = Table::of([()]).words("", |()| "name");
        let table = table.plain("a", |()| long.as_str()).plain("b", |()| "z");
        let text = table.to_string();
        assert!(
            text.contains(&long) && text.matches("name").count() == 2,
            "{text}"
        );
    }

    #[test]
    fn a_column_of_text_is_wrapped_instead() {
        let words = "some words ".repeat(20);
        let table = Table::of([()]).words("name", |()| "one");
        let table = table
            .wrapped("about", |()| words.trim())
            .plain("n", |()| 12345);
        let text = table.to_string();
        assert!(widths(&text).all(|width| width <= TERMINAL), "{text}");
        assert_eq!(text.matches("words").count(), 20);
        assert!(text.contains("12345"));
    }

    #[test]
    fn programs_see_the_columns_with_a_key_and_people_those_with_a_label() {
        let rows = [(1, Some(0.0005)), (2, None)];
        let table = Table::of(rows)
            .plain("n", |row| row.0)
            .key("number")
            .number("delay ms", Show::Milli, |row| row.1)
            .key("delay_s")
            .words("for people", |_| "a, b")
            .value("words", |_| "a, b");
        assert_eq!(
            table.to_string(),
            "n  delay ms  for people\n1     0.500  a, b\n2         -  a, b\n"
        );
        let csv = String::from_utf8(table.csv().unwrap()).unwrap();
        assert_eq!(
            csv,
            "number,delay_s,words\n1,0.0005,\"a, b\"\n2,,\"a, b\"\n"
        );
        assert_eq!(table.objects()[1]["delay_s"], Value::Null);
        assert_eq!(
            table.transposed().to_string(),
            "n               1     2\ndelay ms    0.500     -\nfor people   a, b  a, b\n"
        );
    }

    #[test]
    fn an_interval_has_two_digits_and_the_mean_as_many_decimals() {
        let text = |mean, half, show| with_interval(mean, Some(half), show);
        assert_eq!(text(1_548_123.0, 52_345.0, Show::Kilo), "1548 ± 52");
        assert_eq!(text(1_548_123.0, 5_234.0, Show::Kilo), "1548.1 ± 5.2");
        assert_eq!(text(0.12345, 0.0099, Show::Milli), "123.5 ± 9.9");
        assert_eq!(text(1.5, 0.00123, Show::Decimals(6)), "1.5000 ± 0.0012");
        assert_eq!(text(1.5, 0.0, Show::Decimals(2)), "1.50 ± 0.00");
        assert_eq!(with_interval(1.5, None, Show::Decimals(2)), "1.50");
    }

    #[test]
    fn tables_for_papers_escape_what_their_format_means() {
        let table = Table::of([("a_b|c", 1), ("50 %", 2)]);
        let table = table.words("name", |row| row.0).plain("x ± y", |row| row.1);
        assert_eq!(
            table.markdown(),
            "| name | x ± y |\n| :-- | --: |\n| a_b\\|c | 1 |\n| 50 % | 2 |\n"
        );
        assert_eq!(
            table.latex(),
            "\\begin{tabular}{lr}\n\\toprule\nname & x $\\pm$ y \\\\\n\\midrule\na\\_b|c & 1 \\\\\n50 \\% & 2 \\\\\n\\bottomrule\n\\end{tabular}\n"
        );
    }

    #[test]
    fn text_is_wrapped_at_spaces() {
        let text = wrap(&"word ".repeat(40), "  ");
        assert!(widths(&text).all(|width| width <= TERMINAL) && text.lines().count() == 3);
        assert!(text.lines().skip(1).all(|line| line.starts_with("  word")));
        assert_eq!(wrap("short", "  "), "short");
    }
}
