//! Comparisons as tables, JSON and CSV.

use serde::Serialize;

use super::figure::{Bound, Comparison, Figure, Runs};
use crate::exit::Outcome;
use crate::output::{self, Output, json};
use crate::table::{Report, significant};

/// A figure with all its rows.
#[derive(Debug, Serialize)]
pub(super) struct FigureReport {
    figure: &'static str,
    about: &'static str,
    seeds: u64,
    duration_s: f64,
    tolerance: f64,
    rows: Vec<Row>,
}

/// A row with its verdict.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    comparison: Comparison,
    /// (simulated − theory) / theory.
    deviation: f64,
    verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    /// Within tolerance and interval.
    Ok,
    /// Farther apart.
    Off,
    /// An assumption of the model does not hold.
    NotJudged,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Off => "OFF",
            Self::NotJudged => "not judged",
        }
    }
}

impl FigureReport {
    pub(super) fn new(
        figure: &'static Figure,
        runs: &Runs,
        tolerance: f64,
        comparisons: Vec<Comparison>,
    ) -> Self {
        let rows = comparisons.into_iter().map(|comparison| Row {
            deviation: comparison.deviation(),
            verdict: if comparison.outside_assumptions.is_some() {
                Verdict::NotJudged
            } else if comparison.is_off(tolerance) {
                Verdict::Off
            } else {
                Verdict::Ok
            },
            comparison,
        });
        Self {
            figure: figure.name,
            about: figure.about,
            seeds: runs.seeds,
            duration_s: runs.duration.as_secs_f64(),
            tolerance,
            rows: rows.collect(),
        }
    }

    fn count(&self, verdict: Verdict) -> usize {
        let rows = self.rows.iter();
        rows.filter(|row| row.verdict == verdict).count()
    }

    /// Rows outside of their tolerance.
    pub(super) fn outside(&self) -> usize {
        self.count(Verdict::Off)
    }

    /// All rows.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The figure's table.
    pub(super) fn text(&self) -> String {
        let headings = [
            "at",
            "simulated",
            "quantity",
            "model",
            "theory",
            "simulation",
            "± 95 %",
            "deviation %",
            "reference",
            "",
        ];
        let words = [1, 2, 3, 9];
        let mut report = words.into_iter().fold(Report::new(headings), Report::left);
        let maybe = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), significant);
        for row in &self.rows {
            let found = &row.comparison;
            report.row(
                &found.at,
                [
                    found.subject.clone(),
                    found.quantity.to_owned(),
                    found.by.to_owned(),
                    significant(found.theory),
                    significant(found.simulated),
                    maybe(found.ci95),
                    format!("{:+.2}", row.deviation * 100.0),
                    maybe(found.reference),
                    row.verdict.word().to_owned()
                        + match found.bound {
                            Some(Bound::Upper) => ", judged from above",
                            Some(Bound::Lower) => ", judged from below",
                            None => "",
                        },
                ],
            );
        }
        let mut text = format!(
            "{}: {}\n{} runs of {} s a point, tolerance {} %\n\n{report}\n",
            self.figure,
            self.about,
            self.seeds,
            significant(self.duration_s),
            significant(self.tolerance * 100.0)
        );
        let mut reasons: Vec<&str> = Vec::new();
        for row in &self.rows {
            if let Some(reason) = row.comparison.outside_assumptions
                && !reasons.contains(&reason)
            {
                reasons.push(reason);
                text.push_str(&format!("not judged: {reason}\n"));
            }
        }
        text.push_str(&format!(
            "{} ok, {} off, {} not judged\n\n",
            self.count(Verdict::Ok),
            self.count(Verdict::Off),
            self.count(Verdict::NotJudged)
        ));
        text
    }
}

/// A field of the CSV.
type Field = fn(&FigureReport, &Row) -> String;

/// The columns of the CSV.
const COLUMNS: [(&str, Field); 13] = [
    ("figure", |figure, _| figure.figure.to_owned()),
    ("at", |_, row| row.comparison.at.clone()),
    ("subject", |_, row| row.comparison.subject.clone()),
    ("quantity", |_, row| row.comparison.quantity.to_owned()),
    ("model", |_, row| row.comparison.model.clone()),
    ("theory", |_, row| number(row.comparison.theory)),
    ("simulated", |_, row| number(row.comparison.simulated)),
    ("ci95", |_, row| maybe(row.comparison.ci95)),
    ("deviation", |_, row| number(row.deviation)),
    ("tolerance", |figure, _| number(figure.tolerance)),
    ("reference", |_, row| maybe(row.comparison.reference)),
    ("verdict", |_, row| row.verdict.word().to_owned()),
    ("outside_assumptions", |_, row| {
        row.comparison
            .outside_assumptions
            .unwrap_or_default()
            .to_owned()
    }),
];

fn number(value: f64) -> String {
    let finite = value.is_finite().then(|| value.to_string());
    finite.unwrap_or_default()
}

fn maybe(value: Option<f64>) -> String {
    value.map_or_else(String::new, number)
}

/// All figures in one table.
pub(super) fn csv(figures: &[FigureReport]) -> Outcome<Vec<u8>> {
    output::csv(|writer| {
        writer.write_record(COLUMNS.map(|(name, _)| name))?;
        for figure in figures {
            for row in &figure.rows {
                writer.write_record(COLUMNS.map(|(_, field)| field(figure, row)))?;
            }
        }
        Ok(())
    })
}

/// A figure's entry in the list.
#[derive(Debug, Serialize)]
struct Entry {
    figure: &'static str,
    about: &'static str,
    tolerance: f64,
    duration_s: f64,
}

/// The figures there are.
pub(super) fn list(
    figures: impl Iterator<Item = &'static Figure>,
    output: &mut Output,
    as_json: bool,
    as_csv: bool,
) -> Outcome {
    let mut entries = figures.map(|figure| Entry {
        figure: figure.name,
        about: figure.about,
        tolerance: figure.tolerance,
        duration_s: figure.duration.as_secs_f64(),
    });
    if as_json {
        return json(output, &entries.collect::<Vec<_>>());
    }
    if as_csv {
        let bytes = output::csv(|writer| entries.try_for_each(|entry| writer.serialize(entry)))?;
        return output.write(&bytes);
    }
    let mut report =
        Report::new(["figure", "what is compared", "tolerance %", "duration s"]).left(1);
    for entry in entries {
        report.row(
            entry.figure,
            [
                entry.about.to_owned(),
                significant(entry.tolerance * 100.0),
                significant(entry.duration_s),
            ],
        );
    }
    output.write(report.to_string().as_bytes())
}
