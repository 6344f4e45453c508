//! Comparisons as table, JSON and CSV.

use serde::Serialize;
use serde_json::json;

use tmt_core::types::Span;
use tmt_study::figures::{Bound, Figure, Part, Row as Compared, Verdict};

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

/// A quantity at a point, with its verdict.
#[derive(Debug, Serialize)]
struct Row {
    /// Position on the axis of the figure.
    at: String,
    /// Scheme or flows simulated.
    subject: String,
    /// Quantity, with its unit.
    quantity: String,
    /// Short name of the model.
    by: String,
    /// Arguments of `tmt model`.
    model: String,
    /// Result of the model.
    theory: Option<f64>,
    /// Mean over the runs.
    simulated: Option<f64>,
    /// Half-width of its 95 % interval.
    ci95: Option<f64>,
    /// Value to compare the theory with: check values for Kuhn 2015, printed for Celandroni 2006.
    reference: Option<f64>,
    /// Factor on the tolerance.
    allowed: f64,
    /// Set if the model is a bound: deviations to one side are allowed.
    bound: Option<Bound>,
    /// Reason not to judge the row: an assumption of the model that does not hold here.
    outside_assumptions: Option<String>,
    /// 100 (simulated − theory) / theory.
    deviation_percent: Option<f64>,
    verdict: Verdict,
}

impl From<Compared> for Row {
    fn from(row: Compared) -> Self {
        let is_excused = row.verdict == Verdict::NotJudged;
        Self {
            deviation_percent: row.deviation().map(|deviation| 100.0 * deviation),
            at: row.label,
            subject: row.subject,
            quantity: row.quantity,
            by: row.by,
            model: row.model,
            theory: row.theory,
            simulated: row.ours.map(|ours| ours.mean),
            ci95: row.ours.and_then(|ours| ours.ci95),
            reference: row.published,
            allowed: row.allowed,
            bound: row.bound,
            outside_assumptions: row.why.filter(|_| is_excused),
            verdict: row.verdict,
        }
    }
}

/// A share in percent, free of the rounding of the product.
fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

impl FigureReport {
    pub(super) fn new(
        part: &'static Part,
        seeds: u32,
        duration: Span,
        tolerance: Option<f64>,
        rows: Vec<Compared>,
    ) -> Self {
        let rows = rows.into_iter().filter(|row| row.theory.is_some());
        Self {
            figure: super::name(part),
            about: part.about(),
            seeds: seeds.into(),
            duration_s: duration.as_secs_f64(),
            tolerance_percent: percent(tolerance.or(part.tolerance()).unwrap_or(0.0)),
            rows: rows.map(Row::from).collect(),
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
        let verdict = |row: &Row| match row.bound {
            Some(Bound::Upper) => format!("{}, upper bound", row.verdict.word()),
            Some(Bound::Lower) => format!("{}, lower bound", row.verdict.word()),
            None => row.verdict.word().to_owned(),
        };
        let show = Show::Significant(6);
        let table = Table::of(&self.rows)
            .words("at", |row| row.at.as_str())
            .words("simulated", |row| row.subject.as_str())
            .words("quantity", |row| row.quantity.as_str())
            .plain("deviation %", |row| {
                let deviation = row.deviation_percent.unwrap_or(f64::NAN);
                format!("{deviation:+.2}")
            })
            .words("", |row| verdict(row))
            .words("model", |row| row.by.as_str())
            .number("theory", show, |row| row.theory)
            .number("simulation", show, |row| row.simulated)
            .number("± 95 %", show, |row| row.ci95)
            .number("reference", show, |row| row.reference);
        let mut text = format!(
            "{}\n{} runs of {} s per point, tolerance {} %\n\n{table}\n",
            wrap(&format!("{}: {}", self.figure, self.about), "  "),
            self.seeds,
            significant(self.duration_s),
            significant(self.tolerance_percent)
        );
        let mut reasons: Vec<&String> = Vec::new();
        for row in &self.rows {
            if let Some(reason) = &row.outside_assumptions
                && !reasons.contains(&reason)
            {
                reasons.push(reason);
                let line = wrap(&format!("not judged: {reason}"), "  ");
                text.push_str(&format!("{line}\n"));
            }
        }
        let bounded = match self.count(Verdict::Bounded) {
            0 => String::new(),
            count => format!("{count} bounded, "),
        };
        text.push_str(&format!(
            "{} ok, {bounded}{} off, {} not judged\n\n",
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
        rows.map(move |row| (figure, row))
    });
    Table::of(rows)
        .value("figure", |(figure, _)| figure.figure)
        .value("at", |(_, found)| found.at.as_str())
        .value("subject", |(_, found)| found.subject.as_str())
        .value("quantity", |(_, found)| found.quantity.as_str())
        .value("model", |(_, found)| found.model.as_str())
        .value("theory", |(_, found)| found.theory)
        .value("simulated", |(_, found)| found.simulated)
        .value("ci95", |(_, found)| found.ci95)
        .value("deviation_percent", |(_, row)| row.deviation_percent)
        .value("tolerance_percent", |(figure, _)| figure.tolerance_percent)
        .value("reference", |(_, found)| found.reference)
        .value("verdict", |(_, row)| json!(row.verdict))
        .value("outside_assumptions", |(_, found)| {
            found.outside_assumptions.as_deref()
        })
        .value("by", |(_, found)| found.by.as_str())
        .value("allowed", |(_, found)| found.allowed)
        .value("bound", |(_, found)| json!(found.bound))
        .csv()
}

/// A figure in the list.
#[derive(Debug, Serialize)]
struct Listed {
    figure: &'static str,
    about: &'static str,
    tolerance_percent: f64,
    duration_s: f64,
}

/// Writes the list of figures.
pub(super) fn list(
    parts: &[(&'static Figure, &'static Part)],
    path: Option<&str>,
    as_json: bool,
    as_csv: bool,
) -> Outcome {
    let listed = parts.iter().map(|(_, part)| {
        Ok(Listed {
            figure: super::name(part),
            about: part.about(),
            tolerance_percent: percent(part.tolerance().unwrap_or(0.0)),
            duration_s: super::duration(part, None)?.as_secs_f64(),
        })
    });
    let listed: Vec<Listed> = listed.collect::<Outcome<_>>()?;
    // CSV has the numbers as JSON does, with a point.
    let table = Table::of(&listed)
        .words("figure", |one| one.figure)
        .key("figure")
        .wrapped("comparison", |one| one.about)
        .key("about")
        .number("tolerance %", Show::Significant(6), |one| {
            one.tolerance_percent
        })
        .value("tolerance_percent", |one| {
            format!("{:?}", one.tolerance_percent)
        })
        .number("duration s", Show::Significant(6), |one| one.duration_s)
        .value("duration_s", |one| format!("{:?}", one.duration_s));
    let csv = table.csv()?;
    let document = Document::list("tmt.validate-list/1", &listed);
    if as_csv {
        let mut output = Output::create(path)?;
        output.write(&csv)?;
        return output.finish();
    }
    print(path, as_json, &document, |_| table.to_string())
}
