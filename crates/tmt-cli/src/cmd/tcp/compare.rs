//! `--compare-links`: the same trace over the timeline link and the coupled link (docs/schemes.md, Sec. 10). The difference
//! is a result, not noise.

use std::collections::{BTreeMap, BTreeSet};

use fluid_tcp::experiment::{self, Params};
use fluid_tcp::simulation::replications::Estimate;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;
use tmt_core::types::Note;

use super::args::Args;
use super::given::{self, Source};
use super::report::{self, Line, Report, Results};
use super::spool::Files;
use crate::exit::{Outcome, headline};
use crate::output::document::Document;
use crate::output::{Output, json};
use crate::progress::Work;
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

/// Results of both links, and their difference.
#[derive(Serialize)]
struct Comparison<'a> {
    links: Links<LinkResults<'a>>,
    gap: BTreeMap<&'a str, Gap>,
}

/// Results of one link.
#[derive(Serialize)]
struct LinkResults<'a> {
    /// Settings that only this link has, or that differ between the links.
    params: Params,
    #[serde(flatten)]
    results: &'a Results,
}

pub(super) fn run(args: &Args, source: &Source) -> Outcome {
    let plans = source.experiment.resolve_comparison(&Files);
    let plans = plans.map_err(|error| source.failure(error))?;
    headline!("tcp", "{}", plans.coupled.headline(&source.experiment));
    source.print_notes(&plans.notes());
    let mut output = Output::create(args.output.as_deref())?;
    let saved = given::save(args, &plans.coupled.resolved)?;
    let rows = super::Rows::create(args)?;
    let Links { timeline, coupled } = reports(&plans, source)?;
    let gap = gaps(&timeline.results.mean, &coupled.results.mean);
    for (link, report) in [("timeline", &timeline), ("coupled", &coupled)] {
        let on_link = |note: Note| Note {
            text: format!("{link} link: {}", note.text),
            ..note
        };
        let findings: Vec<Note> = report.findings().into_iter().map(on_link).collect();
        source.print_notes(&findings);
    }
    if args.json {
        let (params, [of_timeline, of_coupled]) = split(timeline.params(), coupled.params());
        let comparison = Comparison {
            links: Links {
                timeline: LinkResults {
                    params: of_timeline,
                    results: &timeline.results,
                },
                coupled: LinkResults {
                    params: of_coupled,
                    results: &coupled.results,
                },
            },
            gap,
        };
        let document = Document::new("tmt.tcp-compare-links/1", params, comparison);
        json(&mut output, &document)?;
    } else {
        output.write(text(&timeline, &coupled).as_bytes())?;
    }
    let mut outputs: Vec<Output> = saved.into_iter().collect();
    let rows = rows.map(|rows| rows.write(&[&timeline, &coupled]));
    outputs.extend(rows.transpose()?);
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
    let (timeline, coupled): (Vec<_>, Vec<_>) = pairs.unzip();
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

/// The settings that the links share, and those of each.
fn split(timeline: &Params, coupled: &Params) -> (Params, [Params; 2]) {
    let is_common = |(name, value): &(&String, &Value)| {
        timeline.get(*name) == Some(*value) && coupled.get(*name) == Some(*value)
    };
    let owned = |(name, value): (&String, &Value)| (name.clone(), value.clone());
    let common = timeline.iter().filter(is_common).map(owned).collect();
    let own = |params: &Params| {
        params
            .iter()
            .filter(|pair| !is_common(pair))
            .map(owned)
            .collect()
    };
    (common, [own(timeline), own(coupled)])
}

/// The table: one row per metric, in the format of the table of one link.
fn text(timeline: &Report<'_>, coupled: &Report<'_>) -> String {
    let runs = timeline.runs();
    let mean = match runs {
        1 => "1 run per link".to_owned(),
        _ => format!("mean of {runs} runs per link"),
    };
    let mut table = table::Report::new([&mean, "timeline", "coupled", "gap %"]);
    let cell = |line: &Line| match line.mean {
        None => "-".to_owned(),
        Some(estimate) => {
            let value = table::significant(line.show.scaled(estimate.mean));
            let ci95 = estimate
                .ci95
                .map(|half| table::rounded(line.show.scaled(half), 2));
            let ci95 = ci95.map_or_else(String::new, |half| format!(" ± {half}"));
            format!("{value}{ci95}")
        }
    };
    let of_coupled: BTreeMap<String, Line> = coupled
        .lines()
        .into_iter()
        .map(|line| (line.label.clone(), line))
        .collect();
    let mut left_out = Vec::new();
    let of_timeline = timeline.lines();
    let extra: Vec<&Line> = {
        let known: BTreeSet<&str> = of_timeline.iter().map(|line| line.label.as_str()).collect();
        of_coupled
            .values()
            .filter(|line| !known.contains(line.label.as_str()))
            .collect()
    };
    let none = |line: &&Line| Line {
        mean: None,
        label: line.label.clone(),
        show: line.show,
    };
    let pairs = of_timeline
        .iter()
        .map(|line| (Some(line), of_coupled.get(&line.label)));
    let pairs = pairs.chain(extra.iter().map(|line| (None, Some(*line))));
    for (timeline, coupled) in pairs {
        let Some(line) = timeline.or(coupled) else {
            continue;
        };
        let missing = none(&line);
        let (one, other) = (timeline.unwrap_or(&missing), coupled.unwrap_or(&missing));
        let gap = one.mean.zip(other.mean);
        let gap = gap.and_then(|(one, other)| Gap::between(&one, &other).gap_percent);
        table.row(&line.label, [cell(one), cell(other), table::number(gap, 2)]);
        for (link, line) in [("timeline", one), ("coupled", other)] {
            let flag = report::left_out(line.mean.as_ref(), runs);
            if !flag.is_empty() {
                left_out.push(format!("{} over the {link}: {flag}\n", line.label));
            }
        }
    }
    let interval = if runs > 1 {
        "± 95 % of the mean. "
    } else {
        ""
    };
    format!(
        "{table}{interval}gap: coupled - timeline, in percent of the timeline\n{}",
        left_out.concat()
    )
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
