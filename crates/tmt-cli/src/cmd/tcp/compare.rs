//! `--compare-links`: the same trace over the timeline link and the coupled link (docs/schemes.md, Sec. 10). The difference
//! is a result, not noise.

use std::collections::BTreeMap;

use fluid_tcp::experiment::{self, Params};
use fluid_tcp::simulation::replications::Estimate;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};
use tmt_core::types::Note;

use super::args::Args;
use super::given::{self, Source};
use super::report::{self, Line, Report, Results};
use super::spool::Files;
use crate::exit::{Outcome, headline};
use crate::output::Output;
use crate::output::document::Document;
use crate::progress::Work;
use crate::table::{Show, Table, rounded, significant, write};

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

pub(super) fn run(args: &Args, source: &Source) -> Outcome {
    let plans = source.experiment.resolve_comparison(&Files::here());
    let plans = plans.map_err(|error| source.failure(error))?;
    headline!("tcp", "{}", plans.coupled.headline(&source.experiment));
    source.print_notes(&plans.notes());
    let mut output = Output::create(args.output.as_deref())?;
    let saved = given::save(args, &plans.coupled.resolved)?;
    let rows = super::Rows::create(args)?;
    let [timeline, coupled] = reports(&plans, source)?;
    let gap = gaps(&timeline.results.mean, &coupled.results.mean);
    for (link, report) in [("timeline", &timeline), ("coupled", &coupled)] {
        let on_link = |note: Note| Note {
            text: format!("{link} link: {}", note.text),
            ..note
        };
        let findings: Vec<Note> = report.findings().into_iter().map(on_link).collect();
        source.print_notes(&findings);
    }
    let (params, [of_timeline, of_coupled]) = split(timeline.params(), coupled.params());
    // Settings that only this link has, or that differ between the links, and its results.
    let link = |params, Results { runs, mean }: &Results| json!({ "params": params, "runs": runs, "mean": mean });
    let results = json!({
        "links": {
            "timeline": link(of_timeline, &timeline.results),
            "coupled": link(of_coupled, &coupled.results),
        },
        "gap": gap,
    });
    let document = Document::new("tmt.tcp-compare-links/1", params, results)
        .repeated_by(given::file(&plans.coupled.resolved));
    write(&mut output, args.json, &document, |_| {
        text(&timeline, &coupled)
    })?;
    let mut outputs: Vec<Output> = saved.into_iter().collect();
    let rows = rows.map(|rows| rows.write(&[&timeline, &coupled], &plans.coupled.resolved));
    outputs.extend(rows.transpose()?);
    outputs.push(output);
    outputs.iter_mut().try_for_each(Output::settle)?;
    outputs.into_iter().try_for_each(Output::finish)
}

/// The reports of all runs over both links.
fn reports<'a>(plans: &'a experiment::Comparison, source: &Source) -> Outcome<[Report<'a>; 2]> {
    let runs = plans.coupled.runs();
    let work = Work::new(runs.len() as u64, "pairs of runs");
    let runs = runs.into_par_iter().map(|id| {
        let [timeline, coupled] = plans.run(id, &Files::here())?;
        work.advance(1);
        Ok(((id, timeline, None), (id, coupled, None)))
    });
    let pairs: experiment::Result<Vec<_>> = runs.collect();
    let pairs = pairs.map_err(|error| source.failure(error))?.into_iter();
    let (timeline, coupled): (Vec<_>, Vec<_>) = pairs.unzip();
    Ok([
        Report::new(&plans.timeline, timeline),
        Report::new(&plans.coupled, coupled),
    ])
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
    let (of_timeline, of_coupled) = (timeline.lines(), coupled.lines());
    let both = [&of_timeline, &of_coupled];
    let [one, other] = both.map(|lines| lines.iter().map(|line| (line.label.as_str(), line)));
    let (one, other): (BTreeMap<&str, &Line>, BTreeMap<&str, &Line>) =
        (one.collect(), other.collect());
    let labels = of_timeline.iter().map(|line| line.label.as_str());
    let labels = labels.chain(
        other
            .keys()
            .copied()
            .filter(|label| !one.contains_key(label)),
    );
    let rows = labels.map(|label| (label, [&one, &other].map(|lines| lines.get(label).copied())));
    let rows: Vec<(&str, [Option<&Line>; 2])> = rows.collect();
    let cell = |line: Option<&Line>| {
        let (show, estimate) = (line?.show, line?.mean?);
        let half = |half| format!(" ± {}", rounded(show.scaled(half), 2));
        let ci95 = estimate.ci95.map_or_else(String::new, half);
        Some(significant(show.scaled(estimate.mean)) + &ci95)
    };
    let table = Table::of(&rows)
        .words(mean, |(label, _)| *label)
        .plain("timeline", |(_, [one, _])| cell(*one))
        .plain("coupled", |(_, [_, other])| cell(*other))
        .number("gap %", Show::Decimals(2), |(_, [one, other])| {
            Gap::between(one.as_ref()?.mean.as_ref()?, other.as_ref()?.mean.as_ref()?).gap_percent
        });
    let mut left_out = Vec::new();
    for (label, both) in &rows {
        for (link, line) in ["timeline", "coupled"].into_iter().zip(both) {
            let mean = line.and_then(|line| line.mean);
            let flag = report::left_out(mean.as_ref(), runs);
            if !flag.is_empty() {
                left_out.push(format!("{label} over the {link}: {flag}\n"));
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
