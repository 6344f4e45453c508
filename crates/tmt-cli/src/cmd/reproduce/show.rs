//! Figures as tables, CSV and JSON.

use serde::Serialize;
use serde_json::{Map, Value, json};
use tmt_study::figures::{Figure, Row, Verdict, reasons};

use crate::exit::Outcome;
use crate::output::document::Document;
use crate::table::{Show, Table, print, wrap};

/// A figure with its rows.
pub(super) struct Shown {
    name: String,
    about: String,
    notes: Vec<String>,
    rows: Vec<Row>,
    /// Whether the folder of results has a picture of it.
    pub(super) is_drawn: bool,
}

impl Shown {
    pub(super) fn of(figure: &Figure, rows: Vec<Row>) -> Self {
        Self {
            name: figure.name.clone(),
            about: figure.about.clone(),
            notes: figure.notes.clone(),
            rows,
            is_drawn: false,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.rows
            .iter()
            .filter(|row| row.verdict == verdict)
            .count()
    }

    /// Number of rows beyond their tolerance.
    pub(super) fn off(&self) -> usize {
        self.count(Verdict::Off)
    }

    /// Verdicts with their numbers, as a sentence.
    fn verdicts(&self) -> String {
        let counts = Verdict::ALL
            .iter()
            .map(|verdict| (verdict, self.count(*verdict)));
        let counts = counts.filter(|(_, count)| *count > 0);
        let texts: Vec<String> = counts
            .map(|(verdict, count)| format!("{count} {}", verdict.word().to_lowercase()))
            .collect();
        texts.join(", ")
    }

    /// Mean absolute deviation from the published values, over the rows that no fit has seen, and their number.
    fn mean_deviation(&self) -> Option<(f64, usize)> {
        let rows = self.rows.iter();
        let rows = rows.filter(|row| row.published.is_some() && row.theory.is_none());
        let rows = rows
            .filter(|row| matches!(row.verdict, Verdict::Ok | Verdict::Deviates | Verdict::Off));
        let all: Vec<f64> = rows
            .filter_map(|row| row.deviation().map(f64::abs))
            // Of a published zero there is no share.
            .filter(|deviation| deviation.is_finite())
            .collect();
        let count = all.len();
        (count > 1).then(|| {
            (
                all.iter().sum::<f64>() / tmt_core::types::to_f64(count as u64),
                count,
            )
        })
    }

    /// The table of the figure, with what is to be known of it.
    pub(super) fn text(&self) -> String {
        let show = Show::Significant(4);
        let rows = &self.rows;
        let differ = |get: &dyn Fn(&Row) -> String| {
            let first = rows.first().map(get);
            rows.iter().any(|row| Some(get(row)) != first)
        };
        // Values that differ between rows name them, in one column that is wrapped; values that do not are said once.
        let quantity = |row: &Row| match row.unit.as_str() {
            "" => row.quantity.clone(),
            unit => format!("{}, {unit}", row.quantity),
        };
        let by = |row: &Row| match row.by.as_str() {
            "" => String::new(),
            by => format!("({by})"),
        };
        let subject = |row: &Row| row.subject.clone();
        let parts: [&dyn Fn(&Row) -> String; 3] = [&subject, &quantity, &by];
        let parts = parts.map(|part| (part, differ(part)));
        let words = |row: &Row, wanted: bool| {
            let chosen = parts.iter().filter(|(_, differs)| *differs == wanted);
            let texts = chosen.map(|(part, _)| part(row));
            let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
            texts.join(" ")
        };
        let mut table = Table::of(rows).wrapped("", |row| {
            let parts = [row.label.clone(), words(row, true)];
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join(": ")
        });
        if rows.iter().any(|row| row.published.is_some()) {
            table = table.number("published", show, |row| row.published);
        }
        if rows.iter().any(|row| row.theory.is_some()) {
            table = table.number("theory", show, |row| row.theory);
        }
        table = table
            .number("ours", show, |row| row.ours.map(|ours| ours.mean))
            .number("± 95 %", Show::Significant(2), |row| {
                row.ours.and_then(|ours| ours.ci95)
            })
            .plain("dev. %", |row| {
                let deviation = row.deviation().filter(|deviation| deviation.is_finite());
                deviation.map(|deviation| format!("{:+.1}", 100.0 * deviation))
            })
            .words("", |row| row.verdict.word());
        let mut text = wrap(&format!("{}: {}", self.name, self.about), "  ");
        text.push('\n');
        if let Some(common) = rows.first().map(|row| words(row, false)) {
            text += &wrap(&common, "  ");
            text.push('\n');
        }
        text += &format!("\n{table}\n");
        for (verdict, why) in reasons(rows) {
            text += &wrap(&format!("{}: {why}", verdict.word()), "  ");
            text.push('\n');
        }
        for note in &self.notes {
            text += &wrap(&format!("note: {note}"), "  ");
            text.push('\n');
        }
        if let Some((mean, count)) = self.mean_deviation() {
            text += &format!("mean deviation {:.1} % over {count} rows\n", 100.0 * mean);
        }
        text + &self.verdicts() + "\n\n"
    }

    /// For JSON.
    pub(super) fn document(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let axes = row
                .axes
                .iter()
                .map(|(name, value)| json!({"name": name, "value": value}));
            let mut object = Map::from_iter([
                ("row".to_owned(), json!(row.label)),
                ("axes".to_owned(), axes.collect()),
            ]);
            object.extend(fields(row));
            Value::from(object)
        });
        json!({
            "figure": self.name,
            "about": self.about,
            "notes": self.notes,
            "rows": rows.collect::<Vec<_>>(),
        })
    }
}

/// Columns of a row for programs, beside its figure, label and axes, by column (docs/results.md).
fn fields(row: &Row) -> [(String, Value); 18] {
    let ours = row.ours.map(|ours| ours.mean);
    let end = |side: f64| {
        row.ours
            .and_then(|ours| Some(ours.mean + side * ours.ci95?))
    };
    [
        ("metric", json!(row.metric)),
        ("unit", json!(row.unit)),
        ("published", json!(row.published)),
        ("theory", json!(row.theory)),
        ("ours", json!(ours)),
        ("ours_low", json!(end(-1.0))),
        ("ours_high", json!(end(1.0))),
        ("runs", json!(row.ours.map(|ours| ours.runs))),
        ("deviation", json!(row.deviation())),
        (
            "tolerance",
            json!(row.tolerance.map(|tolerance| tolerance * row.allowed)),
        ),
        ("verdict", json!(row.verdict)),
        ("source", json!(row.source)),
        ("quantity", json!(row.quantity)),
        ("subject", json!(row.subject)),
        ("model", json!(row.model)),
        ("by", json!(row.by)),
        ("bound", json!(row.bound)),
        ("why", json!(row.why)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
}

/// CSV of all figures. An axis that a figure does not have is empty.
pub(super) fn csv(all: &[Shown]) -> Outcome<Vec<u8>> {
    let rows = || {
        all.iter()
            .flat_map(|shown| shown.rows.iter().map(move |row| (shown, row)))
    };
    let mut axes: Vec<&str> = Vec::new();
    for (_, row) in rows() {
        for (name, _) in &row.axes {
            if !axes.contains(&name.as_str()) {
                axes.push(name);
            }
        }
    }
    let mut table = Table::of(rows())
        .value("figure", |(shown, _)| shown.name.as_str())
        .value("row", |(_, row)| row.label.as_str());
    for axis in axes {
        table = table.value(axis, |(_, row)| {
            let found = row.axes.iter().find(|(name, _)| name == axis);
            found.map(|(_, value)| value.as_str())
        });
    }
    let names = rows().next().map(|(_, row)| fields(row));
    for (place, (name, _)) in names.into_iter().flatten().enumerate() {
        table = table.value(name, |(_, row)| fields(row)[place].1.clone());
    }
    table.csv()
}

/// The index of a folder, in Markdown.
pub(super) fn index(all: &[Shown]) -> String {
    let table = Table::of(all)
        .words("figure", |shown| format!("[{0}]({0}.csv)", shown.name))
        .words("picture", |shown| {
            let picture = shown.is_drawn.then(|| format!("[SVG]({}.svg)", shown.name));
            picture.unwrap_or_default()
        })
        .words("content", |shown| shown.about.as_str())
        .words("rows", |shown| shown.verdicts());
    format!("# Figures\n\n{}", table.markdown())
}

/// A figure in the list.
#[derive(Serialize)]
struct Listed<'a> {
    figure: &'a str,
    also: &'a [String],
    about: &'a str,
    open: Option<&'a str>,
    long: Option<&'a str>,
}

/// Writes the list of figures.
pub(super) fn list(all: &[Figure], as_json: bool, as_csv: bool) -> Outcome {
    let listed: Vec<Listed<'_>> = all
        .iter()
        .map(|figure| Listed {
            figure: &figure.name,
            also: &figure.also,
            about: &figure.about,
            open: figure.open.as_deref(),
            long: figure.long.as_deref(),
        })
        .collect();
    let table = Table::of(&listed)
        .words("figure", |one| one.figure)
        .key("figure")
        .value("also", |one| one.also.join(" "))
        .wrapped("content", |one| match (one.open, one.long) {
            (Some(why), _) => format!("{} (open: {why})", one.about),
            (None, Some(time)) => format!("{} (not part of --all: {time})", one.about),
            (None, None) => one.about.to_owned(),
        })
        .value("about", |one| one.about)
        .value("open", |one| one.open)
        .value("long", |one| one.long);
    if as_csv {
        let mut output = crate::output::Output::create(None)?;
        output.write(&table.csv()?)?;
        return output.finish();
    }
    let document = Document::list("tmt.reproduce-list/1", &listed);
    print(None, as_json, &document, |_| table.to_string())
}
