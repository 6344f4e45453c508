//! Comparisons as table, JSON and CSV.

use serde::Serialize;
use serde_json::Map;

use super::figure::{Comparison, Figure, percent};
use super::rules::Bound;
use super::run::Runs;
use crate::exit::Outcome;
use crate::output::document::Document;
use crate::output::{self, Output, json};
use crate::table::{Report, significant, wrap};

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

    /// The word of JSON and CSV.
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Off => "off",
            Self::NotJudged => "not_judged",
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
        let headings = [
            "at",
            "simulated",
            "quantity",
            "deviation %",
            "",
            "model",
            "theory",
            "simulation",
            "± 95 %",
            "reference",
        ];
        // Where the table is split, the first block has the verdicts and the second the numbers.
        let words = [1, 2, 4, 5];
        let mut report = words.into_iter().fold(Report::new(headings), Report::left);
        let maybe = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), significant);
        for row in &self.rows {
            let found = &row.comparison;
            report.row(
                &found.at,
                [
                    found.subject.clone(),
                    found.quantity.clone(),
                    format!("{:+.2}", row.deviation_percent),
                    row.verdict.word().to_owned()
                        + match found.bound {
                            Some(Bound::Upper) => ", upper bound",
                            Some(Bound::Lower) => ", lower bound",
                            None => "",
                        },
                    found.by.clone(),
                    significant(found.theory),
                    significant(found.simulated),
                    maybe(found.ci95),
                    maybe(found.reference),
                ],
            );
        }
        let mut text = format!(
            "{}\n{} runs of {} s per point, tolerance {} %\n\n{report}\n",
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

fn number(value: f64) -> String {
    let finite = value.is_finite().then(|| value.to_string());
    finite.unwrap_or_default()
}

fn maybe(value: Option<f64>) -> String {
    value.map_or_else(String::new, number)
}

/// CSV of all figures.
pub(super) fn csv(figures: &[FigureReport]) -> Outcome<Vec<u8>> {
    output::csv(|writer| {
        writer.write_record([
            "figure",
            "at",
            "subject",
            "quantity",
            "model",
            "theory",
            "simulated",
            "ci95",
            "deviation_percent",
            "tolerance_percent",
            "reference",
            "verdict",
            "outside_assumptions",
            "by",
            "allowed",
            "bound",
        ])?;
        for figure in figures {
            for Row {
                comparison: found,
                deviation_percent,
                verdict,
            } in &figure.rows
            {
                writer.write_record([
                    figure.figure,
                    &found.at,
                    &found.subject,
                    &found.quantity,
                    &found.model,
                    &number(found.theory),
                    &number(found.simulated),
                    &maybe(found.ci95),
                    &number(*deviation_percent),
                    &number(figure.tolerance_percent),
                    &maybe(found.reference),
                    verdict.name(),
                    found.outside_assumptions.unwrap_or_default(),
                    &found.by,
                    &number(found.allowed),
                    found.bound.map_or("", Bound::name),
                ])?;
            }
        }
        Ok(())
    })
}

/// Writes the list of figures.
pub(super) fn list(
    mut figures: impl Iterator<Item = &'static Figure>,
    output: &mut Output,
    as_json: bool,
    as_csv: bool,
) -> Outcome {
    if as_json {
        let figures: Vec<&Figure> = figures.collect();
        return json(
            output,
            &Document::new("tmt.validate-list/1", Map::new(), figures),
        );
    }
    if as_csv {
        let bytes = output::csv(|writer| figures.try_for_each(|figure| writer.serialize(figure)))?;
        return output.write(&bytes);
    }
    let mut report = Report::new(["figure", "comparison", "tolerance %", "duration s"]).wrapped(1);
    for figure in figures {
        let numbers = [percent(figure.tolerance), figure.duration_s].map(significant);
        report.row(
            &figure.name,
            [figure.about.clone()].into_iter().chain(numbers),
        );
    }
    output.write(report.to_string().as_bytes())
}
