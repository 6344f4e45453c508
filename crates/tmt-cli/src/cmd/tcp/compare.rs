//! `--compare-links`: what the timeline link and the coupled link make of the same trace (tcp.md §1.1: the difference
//! between them is a result, not noise).

use std::collections::BTreeMap;

use fluid_tcp::experiment::{self, Params};
use fluid_tcp::simulation::replications::Estimate;
use rayon::prelude::*;
use serde::Serialize;

use super::args::Args;
use super::given::{self, Source};
use super::report::{Report, significant};
use super::spool::Files;
use crate::exit::Outcome;
use crate::output::{Output, json};
use crate::provenance::TOOL;
use crate::table;

/// What the links differ by in one metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Gap {
    /// Mean over the coupled link − mean over the timeline.
    gap: f64,
    /// The same in percent of the timeline's mean; null where that is zero.
    gap_percent: Option<f64>,
}

impl Gap {
    fn between(timeline: &Estimate, coupled: &Estimate) -> Self {
        let gap = coupled.mean - timeline.mean;
        Self {
            gap,
            gap_percent: (timeline.mean != 0.0).then(|| 100.0 * gap / timeline.mean),
        }
    }
}

/// One value a link.
#[derive(Debug, Serialize)]
struct Links<T> {
    timeline: T,
    coupled: T,
}

#[derive(Serialize)]
struct Comparison<'a, P> {
    tool: &'static str,
    params: Links<&'a Params>,
    links: Links<P>,
    gap: BTreeMap<&'a str, Gap>,
}

pub(super) fn run(args: &Args, source: &Source) -> Outcome {
    let plans = source.experiment.resolve_comparison(&Files);
    let plans = plans.map_err(|error| source.failure(error))?;
    source.remark(&plans.notes());
    let mut output = Output::create(args.output.as_deref())?;
    let saved = given::save(args, &plans.coupled.resolved)?;
    let Links { timeline, coupled } = reports(&plans, source)?;
    let gap = gaps(timeline.mean(), coupled.mean());
    if args.json {
        let comparison = Comparison {
            tool: TOOL,
            params: Links {
                timeline: timeline.params(),
                coupled: coupled.params(),
            },
            links: Links {
                timeline: timeline.runs_and_mean(),
                coupled: coupled.runs_and_mean(),
            },
            gap,
        };
        json(&mut output, &comparison)?;
    } else {
        let text = text(&timeline, &coupled, &gap, source.experiment.seeds().0);
        output.write(text.as_bytes())?;
    }
    let mut outputs: Vec<Output> = saved.into_iter().collect();
    outputs.push(output);
    outputs.iter_mut().try_for_each(Output::settle)?;
    outputs.into_iter().try_for_each(Output::finish)
}

/// The reports of all runs over either link.
fn reports(plans: &experiment::Comparison, source: &Source) -> Outcome<Links<Report>> {
    let runs = plans.coupled.runs();
    let pairs = runs
        .par_iter()
        .map(|run| plans.run(*run, &Files))
        .collect::<experiment::Result<Vec<_>>>()
        .map_err(|error| source.failure(error))?;
    let (mut on_timeline, mut on_coupled) = (Vec::new(), Vec::new());
    for (run, pair) in runs.into_iter().zip(pairs) {
        let (report, link) = pair.timeline;
        on_timeline.push((run, report, link));
        on_coupled.push((run, pair.coupled));
    }
    let on_timeline = on_timeline
        .iter()
        .map(|(run, report, link)| (*run, report.clone(), link));
    Ok(Links {
        timeline: Report::over(&plans.timeline, on_timeline),
        coupled: Report::new(&plans.coupled, on_coupled),
    })
}

/// The gap of every metric that both links have.
fn gaps<'a>(
    timeline: &'a BTreeMap<String, Estimate>,
    coupled: &BTreeMap<String, Estimate>,
) -> BTreeMap<&'a str, Gap> {
    let both = timeline
        .iter()
        .filter_map(|(name, estimate)| Some((name.as_str(), estimate, coupled.get(name)?)));
    both.map(|(name, one, other)| (name, Gap::between(one, other)))
        .collect()
}

/// A row a metric, also one that only one of the links has.
fn text(timeline: &Report, coupled: &Report, gap: &BTreeMap<&str, Gap>, seeds: u64) -> String {
    let mut table = table::Report::new([
        format!("mean of {seeds} runs a link"),
        "timeline".to_owned(),
        "± 95 %".to_owned(),
        "coupled".to_owned(),
        "± 95 %".to_owned(),
        "coupled - timeline".to_owned(),
        "%".to_owned(),
    ]);
    let dash = || "-".to_owned();
    let cells = |estimate: Option<&Estimate>| {
        let mean = estimate.map_or_else(dash, |estimate| significant(estimate.mean));
        let ci95 = estimate.and_then(|estimate| estimate.ci95);
        [mean, ci95.map_or_else(dash, significant)]
    };
    let mut names: Vec<&String> = timeline
        .mean()
        .keys()
        .chain(coupled.mean().keys())
        .collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let gap = gap.get(name.as_str());
        let percent = gap.and_then(|gap| gap.gap_percent);
        let difference = [
            gap.map_or_else(dash, |gap| significant(gap.gap)),
            percent.map_or_else(dash, |percent| format!("{percent:.2}")),
        ];
        let links = [timeline, coupled].map(|report| cells(report.mean().get(name)));
        table.row(name, links.into_iter().flatten().chain(difference));
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64) -> Estimate {
        Estimate {
            mean,
            ci95: None,
            runs: 1,
            block: None,
        }
    }

    #[test]
    fn a_gap_is_what_the_coupled_link_has_more() {
        let gap = |one, other| Gap::between(&estimate(one), &estimate(other));
        let (gap_, gap_percent) = (-0.5, Some(-25.0));
        assert_eq!(
            gap(2.0, 1.5),
            Gap {
                gap: gap_,
                gap_percent
            }
        );
        assert_eq!(
            gap(0.0, 3.0),
            Gap {
                gap: 3.0,
                gap_percent: None
            }
        );
    }
}
