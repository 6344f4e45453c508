//! Comparisons as table, JSON and CSV.

use serde::Serialize;
use serde_json::json;

use super::figure::{Comparison, Figure, figures, percent};
use super::rules::Bound;
use super::run::Runs;
use crate::exit::Outcome;
use crate::output::Output;
use crate::output::document::Document;
use crate::table::{Show, Table, print, significant, wrap};

/// Report of a figure.
#[derive(Debug, Serialize)]
pub(super) struct FigureReport {
    figure: &'static str,
    about: &'static str,
    seeds: u64,
    duration_s: f64,
    tolerance_percent: f64,
    rows: Vec<Row>,
}

/// A comparison with its verdict.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    comparison: Comparison,
    /// 100 (simulated − theory) / theory.
    deviation_percent: f64,
    verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    /// Within tolerance plus interval.
    Ok,
    /// Beyond tolerance plus interval.
    Off,
    /// An assumption of the model does not hold.
    NotJudged,
}

impl Verdict {
    /// The word of tables.
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
            deviation_percent: 100.0 * comparison.deviation(),
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
            figure: &figure.name,
            about: &figure.about,
            seeds: runs.seeds,
            duration_s: runs.duration.as_secs_f64(),
            tolerance_percent: percent(tolerance),
            rows: rows.collect(),
        }
    }

    fn count(&self, verdict: Verdict) -> usize {
        let rows = self.rows.iter();
        rows.filter(|row| row.verdict == verdict).count()
    }

    /// Number of rows beyond their tolerance.
    pub(super) fn outside(&self) -> usize {
        self.count(Verdict::Off)
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The table of the figure.
    pub(super) fn text(&self) -> String {
        // Where the table is split, the first block has the verdicts and the second the numbers.
        let verdict = |row: &Row| match row.comparison.bound {
            Some(Bound::Upper) => format!("{}, upper bound", row.verdict.word()),
            Some(Bound::Lower) => format!("{}, lower bound", row.verdict.word()),
            None => row.verdict.word().to_owned(),
        };
        let show = Show::Significant(6);
        let table = Table::of(&self.rows)
            .words("at", |row| row.comparison.at.as_str())
            .words("simulated", |row| row.comparison.subject.as_str())
            .words("quantity", |row| row.comparison.quantity.as_str())
            .plain("deviation %", |row| {
                format!("{:+.2}", row.deviation_percent)
            })
            .words("", |row| verdict(row))
            .words("model", |row| row.comparison.by.as_str())
            .number("theory", show, |row| row.comparison.theory)
            .number("simulation", show, |row| row.comparison.simulated)
            .number("± 95 %", show, |row| row.comparison.ci95)
            .number("reference", show, |row| row.comparison.reference);
        let mut text = format!(
            "{}\n{} runs of {} s per point, tolerance {} %\n\n{table}\n",
            wrap(&format!("{}: {}", self.figure, self.about), "  "),
            self.seeds,
            significant(self.duration_s),
            significant(self.tolerance_percent)
        );
        let mut reasons: Vec<&str> = Vec::new();
        for row in &self.rows {
            if let Some(reason) = row.comparison.outside_assumptions
                && !reasons.contains(&reason)
            {
                reasons.push(reason);
                let line = wrap(&format!("not judged: {reason}"), "  ");
                text.push_str(&format!("{line}\n"));
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

/// CSV of all figures.
pub(super) fn csv(figures: &[FigureReport]) -> Outcome<Vec<u8>> {
    let rows = figures.iter().flat_map(|figure| {
        let rows = figure.rows.iter();
        rows.map(move |row| (figure, row, &row.comparison))
    });
    Table::of(rows)
        .value("figure", |(figure, ..)| figure.figure)
        .value("at", |(.., found)| found.at.as_str())
        .value("subject", |(.., found)| found.subject.as_str())
        .value("quantity", |(.., found)| found.quantity.as_str())
        .value("model", |(.., found)| found.model.as_str())
        .value("theory", |(.., found)| found.theory)
        .value("simulated", |(.., found)| found.simulated)
        .value("ci95", |(.., found)| found.ci95)
        .value("deviation_percent", |(_, row, _)| row.deviation_percent)
        .value("tolerance_percent", |(figure, ..)| figure.tolerance_percent)
        .value("reference", |(.., found)| found.reference)
        .value("verdict", |(_, row, _)| json!(row.verdict))
        .value("outside_assumptions", |(.., found)| {
            found.outside_assumptions
        })
        .value("by", |(.., found)| found.by.as_str())
        .value("allowed", |(.., found)| found.allowed)
        .value("bound", |(.., found)| json!(found.bound))
        .csv()
}

/// Writes the list of figures.
pub(super) fn list(path: Option<&str>, as_json: bool, as_csv: bool) -> Outcome {
    let figures: Vec<&Figure> = figures().collect();
    // CSV has the numbers as JSON does, with a point.
    let table = Table::of(&figures)
        .words("figure", |figure| figure.name.as_str())
        .key("figure")
        .wrapped("comparison", |figure| figure.about.as_str())
        .key("about")
        .number("tolerance %", Show::Significant(6), |figure| {
            percent(figure.tolerance)
        })
        .value("tolerance_percent", |figure| {
            format!("{:?}", percent(figure.tolerance))
        })
        .number("duration s", Show::Significant(6), |figure| {
            figure.duration_s
        })
        .value("duration_s", |figure| format!("{:?}", figure.duration_s));
    let csv = table.csv()?;
    let document = Document::list("tmt.validate-list/1", &figures);
    if as_csv {
        let mut output = Output::create(path)?;
        output.write(&csv)?;
        return output.finish();
    }
    print(path, as_json, &document, |_| table.to_string())
}
