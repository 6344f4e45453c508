//! `--compare-links`: the same trace over the timeline link and the coupled link (docs/schemes.md, Sec. 10). The difference
//! is a result, not noise.

use std::collections::{BTreeMap, BTreeSet};

use fluid_tcp::experiment::{self, Params};
use fluid_tcp::simulation::replications::Estimate;
use rayon::prelude::*;
use serde::Serialize;

use super::args::Args;
use super::given::{self, Source};
use super::report::{Report, Results, cells, significant};
use super::spool::Files;
use crate::exit::{Outcome, headline};
use crate::output::{Output, json};
use crate::progress::Work;
use crate::provenance::TOOL;
use crate::table;

/// Difference of the links in one metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Gap {
    /// Mean over the coupled link − mean over the timeline.
    gap: f64,
    /// The same in percent of the mean over the timeline; `None` if that is zero.
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

/// One value per link.
#[derive(Debug, Serialize)]
struct Links<T> {
    timeline: T,
    coupled: T,
}

#[derive(Serialize)]
struct Comparison<'a> {
    tool: &'static str,
    params: Links<&'a Params>,
    links: Links<&'a Results>,
    gap: BTreeMap<&'a str, Gap>,
}

pub(super) fn run(args: &Args, source: &Source) -> Outcome {
    let plans = source.experiment.resolve_comparison(&Files);
    let plans = plans.map_err(|error| source.failure(error))?;
    headline!("tcp", "{}", plans.coupled.headline(&source.experiment));
    source.print_notes(&plans.notes());
    let mut output = Output::create(args.output.as_deref())?;
    let saved = given::save(args, &plans.coupled.resolved)?;
    let Links { timeline, coupled } = reports(&plans, source)?;
    let gap = gaps(&timeline.results.mean, &coupled.results.mean);
    if args.json {
        let comparison = Comparison {
            tool: TOOL,
            params: Links {
                timeline: &plans.timeline.params,
                coupled: &plans.coupled.params,
            },
            links: Links {
                timeline: &timeline.results,
                coupled: &coupled.results,
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

/// The reports of all runs over both links.
fn reports<'a>(plans: &'a experiment::Comparison, source: &Source) -> Outcome<Links<Report<'a>>> {
    let runs = plans.coupled.runs();
    let work = Work::new(runs.len() as u64, "pairs of runs");
    let runs = runs.into_par_iter().map(|id| {
        let [timeline, coupled] = plans.run(id, &Files)?;
        work.advance(1);
        Ok(((id, timeline, None), (id, coupled, None)))
    });
    let pairs: experiment::Result<Vec<_>> = runs.collect();
    let pairs = pairs.map_err(|error| source.failure(error))?.into_iter();
    let (timeline, coupled) = pairs.unzip();
    Ok(Links {
        timeline: Report::new(&plans.timeline, timeline),
        coupled: Report::new(&plans.coupled, coupled),
    })
}

/// The gap of every metric that both links have.
fn gaps<'a>(
    timeline: &'a BTreeMap<String, Estimate>,
    coupled: &BTreeMap<String, Estimate>,
) -> BTreeMap<&'a str, Gap> {
    let both = timeline.iter().filter_map(|(name, one)| {
        let gap = Gap::between(one, coupled.get(name)?);
        Some((name.as_str(), gap))
    });
    both.collect()
}

/// The table: one row per metric of either link.
fn text(
    timeline: &Report<'_>,
    coupled: &Report<'_>,
    gap: &BTreeMap<&str, Gap>,
    seeds: u64,
) -> String {
    let mean = if seeds == 1 {
        "1 run per link".to_owned()
    } else {
        format!("mean of {seeds} runs per link")
    };
    let mut table = table::Report::new([
        &mean,
        "timeline",
        "± 95 %",
        "coupled",
        "± 95 %",
        "coupled - timeline",
        "%",
    ]);
    let [timeline, coupled] = [timeline, coupled].map(|report| &report.results.mean);
    let names: BTreeSet<&String> = timeline.keys().chain(coupled.keys()).collect();
    for name in names {
        let gap = gap.get(name.as_str());
        let percent = gap.and_then(|gap| gap.gap_percent);
        let difference = [
            gap.map_or("-".to_owned(), |gap| significant(gap.gap)),
            table::number(percent, 2),
        ];
        let links = [timeline, coupled].map(|means| cells(means.get(name)));
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
    fn gap_is_coupled_minus_timeline() {
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
