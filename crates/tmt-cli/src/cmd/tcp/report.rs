//! What `tmt tcp` prints: JSON by the names of tcp.md §7, or a table.

use std::collections::BTreeMap;

use fluid_tcp::experiment::{FlowPlan, LinkPlan, Params, Plan, RunId};
use fluid_tcp::log::Story;
use fluid_tcp::simulation::metrics::{Metrics, RunReport, Total};
use fluid_tcp::simulation::replications::{Columns, Estimate};
use serde::Serialize;
use tmt_core::types::{Bytes, to_f64};

use crate::provenance::TOOL;
use crate::table::{self, number};

/// The report of all runs.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    tool: &'static str,
    params: Params,
    runs: Vec<Run>,
    mean: BTreeMap<String, Estimate>,
    /// The congestion control of each flow.
    #[serde(skip)]
    controls: Vec<String>,
    /// Whether every flow has an end.
    #[serde(skip)]
    finite: bool,
    /// Whether the runs are from several places of one trace.
    #[serde(skip)]
    has_offsets: bool,
}

/// One run.
#[derive(Debug, Serialize)]
struct Run {
    seed: u64,
    /// Where it begins, from the trace's first row on.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset_s: Option<f64>,
    duration_s: f64,
    flows: Vec<Metrics>,
    total: RunTotal,
    /// The packet that `--explain` asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Story>,
}

#[derive(Debug, Serialize)]
struct RunTotal {
    #[serde(flatten)]
    total: Total,
    /// IP bytes handed to the link / (slots used × LLDU bytes); null where the timeline tells no slots.
    mean_coding_ratio: Option<f64>,
}

impl Report {
    pub(crate) fn new(plan: &Plan, reports: Vec<(RunId, RunReport)>) -> Self {
        let reports = reports.into_iter();
        Self::over(
            plan,
            reports.map(|(which, report)| (which, report, &plan.link)),
        )
    }

    /// The report of runs each with the link that it ran over.
    pub(crate) fn over<'a>(
        plan: &Plan,
        reports: impl Iterator<Item = (RunId, RunReport, &'a LinkPlan)>,
    ) -> Self {
        let runs: Vec<Run> = reports
            .map(|(which, report, link)| Run {
                seed: which.seed,
                offset_s: which.offset.map(|(_, start)| start.as_secs_f64()),
                duration_s: report.duration_s,
                flows: report.flows,
                total: RunTotal {
                    mean_coding_ratio: mean_coding_ratio(
                        plan.resolved.packet(),
                        link,
                        &report.total,
                    ),
                    total: report.total,
                },
                explanation: None,
            })
            .collect();
        let mut columns = Columns::default();
        for run in &runs {
            let ratio = run.total.mean_coding_ratio;
            columns.add(run.total.total.numbers());
            columns.add(ratio.map(|ratio| ("mean_coding_ratio", ratio)));
        }
        let mean = match plan.starts {
            Some(_) => columns.bootstrap(plan.resolved.seed().0),
            None => columns.estimates(),
        };
        Self {
            tool: TOOL,
            params: plan.params.clone(),
            mean,
            runs,
            controls: plan
                .flows
                .iter()
                .map(|plan| plan.flow.algorithm.to_string())
                .collect(),
            finite: plan
                .flows
                .iter()
                .all(|plan: &FlowPlan| plan.flow.packets.is_some()),
            has_offsets: plan.starts.is_some(),
        }
    }

    /// The settings.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// Every metric's mean over the runs.
    pub(crate) fn mean(&self) -> &BTreeMap<String, Estimate> {
        &self.mean
    }

    /// The runs and their means alone, for a report of several links.
    pub(crate) fn runs_and_mean(&self) -> impl Serialize + '_ {
        #[derive(Serialize)]
        struct Part<'a> {
            runs: &'a [Run],
            mean: &'a BTreeMap<String, Estimate>,
        }
        Part {
            runs: &self.runs,
            mean: &self.mean,
        }
    }

    /// What to say of transfers that the end of the run or of the trace cut short, where there were several runs.
    pub(crate) fn unfinished(&self) -> Option<String> {
        if self.runs.len() < 2 || !self.finite {
            return None;
        }
        let done = |run: &Run| run.total.total.metrics.completion_time_s.is_some();
        let cut = self.runs.iter().filter(|run| !done(run)).count();
        (cut > 0).then(|| {
            let runs = self.runs.len();
            format!(
                "{cut} of {runs} runs ended before all was delivered: they have no completion time, and its mean is over the others"
            )
        })
    }

    /// With one packet's story from each run; none at all where none was asked for.
    pub(crate) fn explained(mut self, explanations: Vec<Story>) -> Self {
        for (run, explanation) in self.runs.iter_mut().zip(explanations) {
            run.explanation = Some(explanation);
        }
        self
    }

    /// What is printed for people: the report, and the stories behind it.
    pub(crate) fn text(&self) -> String {
        let mut text = self.table();
        for run in &self.runs {
            if let Some(explanation) = &run.explanation {
                let which = match run.offset_s {
                    Some(offset) => format!("from {offset} s on, "),
                    None if self.runs.len() > 1 => format!("seed {}, ", run.seed),
                    None => String::new(),
                };
                text += &format!("\n{which}{explanation}");
            }
        }
        text
    }

    /// The report for people: all flows together, and each flow where they are few.
    fn table(&self) -> String {
        const SHOWN_FLOWS: usize = 6;
        let [run] = &self.runs[..] else {
            return self.means();
        };
        let shown = if run.flows.len() > 1 && run.flows.len() <= SHOWN_FLOWS {
            &run.flows[..]
        } else {
            &[]
        };
        let mut headings = vec![String::new(), "total".to_owned()];
        headings
            .extend((0..shown.len()).map(|flow| format!("flow {flow} {}", self.controls[flow])));
        let mut report = table::Report::new(headings);
        let columns: Vec<&Metrics> = std::iter::once(&run.total.total.metrics)
            .chain(shown)
            .collect();
        for (row, value) in Metrics::rows() {
            let values = columns.iter().map(|metrics| row.show.text(value(metrics)));
            report.row(row.label, values);
        }
        let total = &run.total;
        report.row("duration s", [format!("{:.3}", run.duration_s)]);
        for (row, value) in Total::rows() {
            report.row(row.label, [row.show.text(value(&total.total))]);
        }
        report.row("mean coding ratio", [number(total.mean_coding_ratio, 4)]);
        for (attempts, count) in &total.total.link_attempts {
            report.row(
                &format!("LLDUs delivered in attempt {attempts}"),
                [count.to_string()],
            );
        }
        report.to_string()
    }

    fn means(&self) -> String {
        let mut report = table::Report::new([
            String::new(),
            format!("mean of {} runs", self.runs.len()),
            if self.has_offsets {
                "± 95 %, block bootstrap".to_owned()
            } else {
                "± 95 %".to_owned()
            },
            "runs".to_owned(),
        ]);
        for (name, estimate) in &self.mean {
            report.row(
                name,
                [
                    significant(estimate.mean),
                    estimate.ci95.map_or("-".to_owned(), significant),
                    estimate.runs.to_string(),
                ],
            );
        }
        report.to_string()
    }
}

/// Six significant digits at least, whole numbers whole.
pub(super) fn significant(value: f64) -> String {
    if value.abs() >= 1e5 {
        format!("{value:.0}")
    } else {
        format!("{value:.6}")
    }
}

/// tcp.md §5: what packets carried, over what the slots they took could carry.
fn mean_coding_ratio(packet: Bytes, link: &LinkPlan, total: &Total) -> Option<f64> {
    let used = to_f64(total.lldus_used?);
    let (link, slots, packets) = match link {
        LinkPlan::Timeline(link) => {
            let end = link.end_line.filter(|end| end.rows > 0)?;
            let slots = used * to_f64(end.slots) / to_f64(end.rows);
            (link, slots, total.packets_served)
        }
        LinkPlan::Coupled(plan) => {
            // A packet that fails is not sent to its end.
            let lost = total.metrics.packets_lost;
            (&plan.trace, used, total.packets_served.saturating_sub(lost))
        }
        LinkPlan::Synthetic { .. } => return None,
    };
    let packets = to_f64(packets) * to_f64(packet.0);
    (slots > 0.0).then(|| packets / (slots * to_f64(link.lldu.0)))
}
