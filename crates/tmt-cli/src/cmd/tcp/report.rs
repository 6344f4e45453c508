//! Report of `tmt tcp`: JSON with the names of docs/metrics.md, a tidy table, or a table for people.

use std::collections::BTreeMap;

use fluid_tcp::experiment::{Params, Plan, RunId};
use fluid_tcp::log::PacketHistory;
use fluid_tcp::simulation::metrics::{Metrics, RunReport, Show, Total};
use fluid_tcp::simulation::replications::{Columns, Estimate, overlap};
use serde::Serialize;
use tmt_core::format::records::Records;
use tmt_core::types::{Note, to_f64};

use crate::table::{SHOWN_ATTEMPTS, Table, later};

/// Means of metrics over runs, by name.
pub(super) type Means = BTreeMap<String, Estimate>;

/// Report of all runs.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) results: Results,
    plan: &'a Plan,
    /// Number of successive runs that share part of the trace.
    overlap: usize,
}

/// Results of the runs.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    pub(super) runs: Vec<Run>,
    /// Mean of every metric over the runs.
    pub(super) mean: Means,
}

/// Results of one run.
#[derive(Debug, Serialize)]
pub(super) struct Run {
    #[serde(skip)]
    id: RunId,
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

/// Line of the table for people: a number that every run may have.
pub(super) struct Line {
    pub(super) label: String,
    pub(super) show: Show,
    /// Its mean over the runs that have it.
    pub(super) mean: Option<Estimate>,
}

impl<'a> Report<'a> {
    /// Builds the report of runs, each with the explanation of a packet if requested.
    pub(super) fn new(
        plan: &'a Plan,
        reports: Vec<(RunId, RunReport, Option<PacketHistory>)>,
    ) -> Self {
        let runs = reports.into_iter().map(|(id, report, explanation)| Run {
            id,
            seed: id.seed,
            offset_s: id.offset.map(|(_, start)| start.as_secs_f64()),
            report,
            explanation,
        });
        let runs: Vec<Run> = runs.collect();
        let totals = runs.iter().map(|run| run.report.total.numbers());
        let starts = runs.iter();
        let starts = starts.map(|run| (run.offset_s.unwrap_or(0.0), run.report.duration_s));
        let overlap = overlap(&starts.collect::<Vec<_>>());
        let mean = means(plan, overlap, totals);
        Self {
            results: Results { runs, mean },
            plan,
            overlap,
        }
    }

    /// The resolved settings of the runs.
    pub(super) fn params(&self) -> &'a Params {
        &self.plan.params
    }

    /// Warnings of the results.
    pub(super) fn findings(&self) -> Vec<Note> {
        let reports: Vec<&RunReport> = self.results.runs.iter().map(|run| &run.report).collect();
        self.plan.findings(&reports)
    }

    /// Number of runs.
    pub(super) fn runs(&self) -> usize {
        self.results.runs.len()
    }

    /// Adds the rows of all runs.
    pub(super) fn add_rows(&self, table: &mut Records) {
        let runs = self.results.runs.iter();
        let runs = runs.map(|run| (run.id, &run.report));
        self.plan.add_rows(runs, table);
    }

    /// The report as text, followed by the explanations.
    pub(super) fn text(&self) -> String {
        let mut text = self.table();
        text += &self.flows();
        for run in &self.results.runs {
            let Some(explanation) = &run.explanation else {
                continue;
            };
            let which = match run.offset_s {
                Some(offset) => format!("start {offset} s, "),
                None if self.runs() > 1 => format!("seed {}, ", run.seed),
                None => String::new(),
            };
            text += &format!("\n{which}{explanation}");
        }
        text
    }

    /// The lines of the table, the same for one run and for many.
    pub(super) fn lines(&self) -> Vec<Line> {
        let named = |(row, name): (_, &str)| {
            let fluid_tcp::simulation::metrics::Row { label, show, .. } = row;
            Line {
                label: label.to_owned(),
                show,
                mean: self.results.mean.get(name).copied(),
            }
        };
        // Those of applications and of paths beside the link are shown where there is one.
        let applies =
            |is_optional: bool, name: &str| !is_optional || self.results.mean.contains_key(name);
        let metrics = Metrics::rows().into_iter();
        let metrics = metrics.filter(|(_, m)| applies(m.is_optional, m.name));
        let metrics = metrics.map(|(row, m)| (row, m.name));
        let total = Total::rows().into_iter();
        let total = total.filter(|(_, m)| applies(m.is_optional, m.name));
        let total = total.map(|(row, m)| (row, m.name));
        let mut lines: Vec<Line> = metrics.map(named).collect();
        let durations = self.results.runs.iter();
        let durations = durations.map(|run| [("duration s", run.report.duration_s)]);
        lines.extend(self.others(durations, Show::Decimals(3)));
        lines.extend(total.map(named));
        let most = self.most_attempts();
        let attempts = self.results.runs.iter().map(|run| {
            let counts = &run.report.total.link_attempts;
            let one = (1..=most.min(SHOWN_ATTEMPTS)).map(|attempt| {
                let count = counts.get(&attempt).copied().unwrap_or(0);
                (format!("LLDUs delivered in attempt {attempt}"), count)
            });
            let later = (most > SHOWN_ATTEMPTS)
                .then(|| ("LLDUs delivered later".to_owned(), later(counts)));
            let counts = one.chain(later);
            counts.map(|(label, count)| (label, to_f64(count)))
        });
        lines.extend(self.others(attempts, Show::Count));
        lines
    }

    /// Largest number of attempts in any run.
    fn most_attempts(&self) -> u32 {
        let runs = self.results.runs.iter();
        let most = runs.filter_map(|run| run.report.total.link_attempts.keys().last());
        most.max().copied().unwrap_or(0)
    }

    /// Lines of numbers that all runs have and that are not metrics.
    fn others<L: Into<String>, I: IntoIterator<Item = (L, f64)>>(
        &self,
        runs: impl Iterator<Item = I>,
        show: Show,
    ) -> Vec<Line> {
        let runs = runs.map(|run| {
            run.into_iter()
                .map(|(label, number)| (label.into(), number))
        });
        let runs: Vec<Vec<(String, f64)>> = runs.map(Iterator::collect).collect();
        let named = runs
            .iter()
            .map(|run| run.iter().map(|(name, number)| (name.as_str(), *number)));
        let means = means(self.plan, self.overlap, named);
        let line = |(label, mean)| Line {
            label,
            show,
            mean: Some(mean),
        };
        means.into_iter().map(line).collect()
    }

    /// All flows together: the values of one run, or the means of many.
    fn table(&self) -> String {
        let (runs, lines) = (self.runs(), self.lines());
        let table = Table::of(&lines).words("", |line| line.label.as_str());
        let mean = |line: &&Line| average(line.show, Some(line.mean?.mean));
        if runs == 1 {
            return table.plain("total", mean).to_string();
        }
        let table = table
            .plain(format!("mean of {runs} runs"), mean)
            .plain("± 95 %", |line| average(line.show, line.mean?.ci95))
            .plain("", |line| left_out(line.mean.as_ref(), runs));
        let mut text = table.to_string();
        // Runs that are all equal need no blocks.
        let drawn = self.results.mean.values();
        let drawn = drawn.filter(|mean| mean.ci95.is_some_and(|half| half > 0.0));
        let blocks = drawn.filter_map(|mean| mean.block);
        if let (Some(least), Some(most)) = (blocks.clone().min(), blocks.max()) {
            text += &format!("± 95 % by block bootstrap, in blocks of {least} to {most} runs\n");
        }
        text
    }

    /// A second table, with a row per flow, if there are a few.
    fn flows(&self) -> String {
        const SHOWN_FLOWS: usize = 20;
        const SHOWN: [(&str, &str, Show); 8] = [
            ("goodput kbps", "goodput_bps", Show::Kilo),
            ("sent", "packets_sent", Show::Count),
            ("retransmitted", "packets_retransmitted", Show::Count),
            ("delay mean ms", "delay_mean_s", Show::Milli),
            ("completion s", "completion_time_s", Show::Decimals(3)),
            ("lost %", "datagram_loss_ratio", Show::Percent(3)),
            ("jitter ms", "jitter_s", Show::Milli),
            ("MOS", "mos", Show::Decimals(2)),
        ];
        /// Columns that are always there.
        const ALWAYS: usize = 4;
        let flows = self.plan.flows.len();
        if !(2..=SHOWN_FLOWS).contains(&flows) {
            return String::new();
        }
        let is_known = |(_, name, _): &&(&str, &str, Show)| {
            let runs = self.results.runs.iter();
            let mut all = runs.flat_map(|run| run.report.flows.iter());
            all.any(|flow| flow.numbers().any(|(known, _)| known == *name))
        };
        let (always, others) = SHOWN.split_at(ALWAYS);
        let others = others.iter().filter(is_known);
        let shown: Vec<_> = always.iter().chain(others).collect();
        let flows = self.plan.flows.iter().enumerate().map(|(number, flow)| {
            let mut columns = Columns::default();
            for run in &self.results.runs {
                columns.add(run.report.flows[number].numbers());
            }
            // Only the means are shown, which need no bootstrap.
            (flow.name(), columns.estimates())
        });
        let flows: Vec<(String, Means)> = flows.collect();
        // Parameters of a control would widen the table, so they follow it, once each.
        let mut with_parameters: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut table =
            Table::of(flows.iter().enumerate()).words("flow", |(number, (control, _))| {
                let (name, _) = control.split_once(':').unwrap_or((control, ""));
                format!("{number} {name}")
            });
        for (heading, name, show) in shown {
            table = table.plain(*heading, |(_, (_, means))| {
                average(*show, Some(means.get(*name)?.mean))
            });
        }
        let mut text = format!("\n{table}");
        for (number, (control, _)) in flows.iter().enumerate() {
            if control.contains(':') {
                let numbers = with_parameters.entry(control).or_default();
                numbers.push(number.to_string());
            }
        }
        for (control, flows) in with_parameters {
            text += &format!("flow {}: {control}\n", flows.join(", "));
        }
        text
    }
}

/// Means over runs, with intervals by Student's t, or by the bootstrap for runs at different starts.
fn means<'a, I: IntoIterator<Item = (&'a str, f64)>>(
    plan: &Plan,
    overlap: usize,
    runs: impl Iterator<Item = I>,
) -> Means {
    let mut columns = Columns::default();
    runs.for_each(|run| columns.add(run));
    match plan.starts {
        Some(_) => columns.bootstrap(plan.resolved.seed().0, overlap),
        None => columns.estimates(),
    }
}

/// A mean over runs in the format of the metric. A mean of counts has a decimal unless it is whole.
fn average(show: Show, value: Option<f64>) -> Option<String> {
    let text = match show {
        Show::Count => Show::Decimals(1).text(Some(value?)),
        _ => return Some(show.text(Some(value?))),
    };
    Some(text.strip_suffix(".0").unwrap_or(&text).to_owned())
}

/// The flag of a mean that leaves out runs.
pub(super) fn left_out(mean: Option<&Estimate>, runs: usize) -> String {
    match mean {
        Some(mean) if mean.runs < runs => format!("of {} runs only", mean.runs),
        _ => String::new(),
    }
}
