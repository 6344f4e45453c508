//! What `tmt tcp` prints: JSON by the names of tcp.md §7, or a table.

use std::collections::BTreeMap;

use fluid_tcp::experiment::{LinkPlan, Params, Plan, RunId};
use fluid_tcp::log::Story;
use fluid_tcp::simulation::metrics::{Metrics, RunReport, Total};
use fluid_tcp::simulation::replications::{Columns, Estimate};
use serde::Serialize;
use tmt_core::types::{Bytes, to_f64};

use crate::provenance::TOOL;
use crate::table::{self, number};

/// The report of all runs.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    tool: &'static str,
    params: &'a Params,
    runs: Vec<Run>,
    /// Every metric's mean over the runs.
    pub(super) mean: BTreeMap<String, Estimate>,
    #[serde(skip)]
    plan: &'a Plan,
}

/// One run.
#[derive(Debug, Serialize)]
pub(super) struct Run {
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

impl Run {
    /// A run over `link`.
    pub(super) fn new(plan: &Plan, id: RunId, report: RunReport, link: &LinkPlan) -> Self {
        let packet = plan.resolved.packet();
        Self {
            seed: id.seed,
            offset_s: id.offset.map(|(_, start)| start.as_secs_f64()),
            duration_s: report.duration_s,
            flows: report.flows,
            total: RunTotal {
                mean_coding_ratio: mean_coding_ratio(packet, link, &report.total),
                total: report.total,
            },
            explanation: None,
        }
    }
}

#[derive(Debug, Serialize)]
struct RunTotal {
    #[serde(flatten)]
    total: Total,
    /// IP bytes handed to the link / (slots used × LLDU bytes); null where the timeline tells no slots.
    mean_coding_ratio: Option<f64>,
}

impl<'a> Report<'a> {
    /// The report of runs over the links of `plan`.
    pub(super) fn new(plan: &'a Plan, reports: Vec<(RunId, RunReport)>) -> Self {
        let run = |(id, report)| Run::new(plan, id, report, &plan.link);
        Self::of(plan, reports.into_iter().map(run).collect())
    }

    /// The report of these runs.
    pub(super) fn of(plan: &'a Plan, runs: Vec<Run>) -> Self {
        let mut columns = Columns::default();
        for run in &runs {
            let ratio = run.total.mean_coding_ratio;
            columns.add(run.total.total.numbers());
            columns.add(ratio.map(|ratio| ("mean_coding_ratio", ratio)));
        }
        Self {
            tool: TOOL,
            params: &plan.params,
            runs,
            mean: match plan.starts {
                Some(_) => columns.bootstrap(plan.resolved.seed().0),
                None => columns.estimates(),
            },
            plan,
        }
    }

    /// The runs and their means alone, for a report of several links.
    pub(super) fn runs_and_mean(&self) -> impl Serialize + '_ {
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
    pub(super) fn unfinished(&self) -> Option<String> {
        let mut flows = self.plan.flows.iter();
        if self.runs.len() < 2 || flows.any(|plan| plan.flow.packets.is_none()) {
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
    pub(super) fn explained(mut self, explanations: Vec<Story>) -> Self {
        for (run, explanation) in self.runs.iter_mut().zip(explanations) {
            run.explanation = Some(explanation);
        }
        self
    }

    /// What is printed for people: the report, and the stories behind it.
    pub(super) fn text(&self) -> String {
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
        let flows = self.plan.flows.iter().zip(&run.flows).enumerate();
        let is_shown = (2..=SHOWN_FLOWS).contains(&run.flows.len());
        let (mut headings, mut columns) = (
            vec![String::new(), "total".to_owned()],
            vec![&run.total.total.metrics],
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
        let total = &run.total;
        report.row("duration s", [format!("{:.3}", run.duration_s)]);
        for (row, value) in Total::rows() {
            report.row(row.label, [row.show.text(value(&total.total))]);
        }
        report.row("mean coding ratio", [number(total.mean_coding_ratio, 4)]);
        for (attempts, count) in &total.total.link_attempts {
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
        let runs = format!("mean of {} runs", self.runs.len());
        let mut report = table::Report::new(["", &runs, how, "runs"]);
        for (name, estimate) in &self.mean {
            let [mean, ci95] = cells(Some(estimate));
            report.row(name, [mean, ci95, estimate.runs.to_string()]);
        }
        report.to_string()
    }
}

/// A mean and the half-width of its interval, a dash for what there is not.
pub(super) fn cells(estimate: Option<&Estimate>) -> [String; 2] {
    let dash = || "-".to_owned();
    let ci95 = estimate.and_then(|estimate| estimate.ci95);
    [estimate.map(|estimate| estimate.mean), ci95].map(|value| value.map_or_else(dash, significant))
}

/// Six significant digits at least, whole numbers whole.
pub(super) fn significant(value: f64) -> String {
    let decimals = if value.abs() >= 1e5 { 0 } else { 6 };
    format!("{value:.decimals$}")
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
