//! Report of `tmt tcp`: JSON with the names of docs/metrics.md, or a table.

use std::collections::BTreeMap;

use fluid_tcp::experiment::{Params, Plan, RunId};
use fluid_tcp::log::PacketHistory;
use fluid_tcp::simulation::metrics::{Metrics, RunReport, Total};
use fluid_tcp::simulation::replications::{Columns, Estimate};
use serde::Serialize;

use crate::provenance::TOOL;
use crate::table;

/// Report of all runs.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    tool: &'static str,
    params: &'a Params,
    #[serde(flatten)]
    pub(super) results: Results,
    #[serde(skip)]
    plan: &'a Plan,
}

/// Results of the runs.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    runs: Vec<Run>,
    /// Mean of every metric over the runs.
    pub(super) mean: BTreeMap<String, Estimate>,
}

/// Results of one run.
#[derive(Debug, Serialize)]
struct Run {
    seed: u64,
    /// Start after the first row of the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset_s: Option<f64>,
    #[serde(flatten)]
    report: RunReport,
    /// Course of the packet of `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<PacketHistory>,
}

impl<'a> Report<'a> {
    /// Builds the report of runs, each with the explanation of a packet if requested.
    pub(super) fn new(
        plan: &'a Plan,
        reports: Vec<(RunId, RunReport, Option<PacketHistory>)>,
    ) -> Self {
        let mut columns = Columns::default();
        for (_, report, _) in &reports {
            columns.add(report.total.numbers());
        }
        let runs = reports.into_iter().map(|(id, report, explanation)| Run {
            seed: id.seed,
            offset_s: id.offset.map(|(_, start)| start.as_secs_f64()),
            report,
            explanation,
        });
        Self {
            tool: TOOL,
            params: &plan.params,
            results: Results {
                runs: runs.collect(),
                mean: match plan.starts {
                    Some(_) => columns.bootstrap(plan.resolved.seed().0),
                    None => columns.estimates(),
                },
            },
            plan,
        }
    }

    /// The report as text, followed by the explanations.
    pub(super) fn text(&self) -> String {
        let mut text = self.table();
        for run in &self.results.runs {
            let Some(explanation) = &run.explanation else {
                continue;
            };
            let which = match run.offset_s {
                Some(offset) => format!("start {offset} s, "),
                None if self.results.runs.len() > 1 => format!("seed {}, ", run.seed),
                None => String::new(),
            };
            text += &format!("\n{which}{explanation}");
        }
        text
    }

    /// The table: all flows together, and each flow if there are few.
    fn table(&self) -> String {
        const SHOWN_FLOWS: usize = 6;
        let [run] = &self.results.runs[..] else {
            return self.means();
        };
        let flows = self.plan.flows.iter().zip(&run.report.flows).enumerate();
        let is_shown = (2..=SHOWN_FLOWS).contains(&run.report.flows.len());
        let (mut headings, mut columns) = (
            vec![String::new(), "total".to_owned()],
            vec![&run.report.total.metrics],
        );
        for (number, (plan, metrics)) in flows.filter(|_| is_shown) {
            headings.push(format!("flow {number} {}", plan.flow.algorithm));
            columns.push(metrics);
        }
        let mut report = table::Report::new(headings);
        for (row, value) in Metrics::rows() {
            let values = columns.iter().map(|metrics| row.show.text(value(metrics)));
            report.row(row.label, values);
        }
        let (duration_s, total) = (run.report.duration_s, &run.report.total);
        report.row("duration s", [format!("{duration_s:.3}")]);
        for (row, value) in Total::rows() {
            report.row(row.label, [row.show.text(value(total))]);
        }
        for (attempts, count) in &total.link_attempts {
            let label = format!("LLDUs delivered in attempt {attempts}");
            report.row(&label, [count.to_string()]);
        }
        report.to_string()
    }

    fn means(&self) -> String {
        let how = match self.plan.starts {
            Some(_) => "± 95 %, block bootstrap",
            None => "± 95 %",
        };
        let runs = format!("mean of {} runs", self.results.runs.len());
        let mut report = table::Report::new(["", &runs, how, "runs"]);
        for (name, estimate) in &self.results.mean {
            let [mean, ci95] = cells(Some(estimate));
            // A mean over some of the runs may be biased.
            let all = self.results.runs.len();
            let counted = match estimate.runs {
                runs if runs == all => runs.to_string(),
                runs => format!("{runs} of {all}"),
            };
            report.row(name, [mean, ci95, counted]);
        }
        report.to_string()
    }
}

/// A mean and the half-width of its interval, each a dash if missing.
pub(super) fn cells(estimate: Option<&Estimate>) -> [String; 2] {
    let dash = || "-".to_owned();
    let ci95 = estimate.and_then(|estimate| estimate.ci95);
    [estimate.map(|estimate| estimate.mean), ci95].map(|value| value.map_or_else(dash, significant))
}

/// At least six significant digits; large numbers without decimals.
pub(super) fn significant(value: f64) -> String {
    let decimals = if value.abs() >= 1e5 { 0 } else { 6 };
    format!("{value:.decimals$}")
}
