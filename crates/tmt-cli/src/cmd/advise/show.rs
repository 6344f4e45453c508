//! The advice as tables for people, and as JSON.

use fluid_tcp::experiment::LinkKind;
use fluid_tcp::simulation::replications::Estimate;
use serde::Serialize;
use tmt_core::types::Span;
use tmt_study::advise::{Advice, Candidate, Difference, Fate, Objective, Question, Runs};

use super::commands::{Commands, flags};
use super::of_candidates;
use crate::table::{self, Report, counted, wrap};

/// Rows of the frontier and of the ranking that the tables show.
const SHOWN: usize = 12;

/// Settings of the search.
#[derive(Debug, Serialize)]
pub(super) struct Params {
    objective: &'static str,
    link: String,
    /// Parameters given, as flags of `tmt tcp`.
    flags: String,
    trace: Option<String>,
    candidates: usize,
    exhaustive: bool,
    runs: u32,
    /// `starts` or `seeds`.
    runs_by: &'static str,
    /// First seed.
    seed: u64,
    duration_ns: Option<u64>,
    starts_over_ns: Option<u64>,
    rtt_ns: Option<u64>,
}

impl Params {
    pub(super) fn of(question: &Question, advice: &Advice) -> Self {
        let experiment = &advice.experiment;
        let (runs_by, runs) = match advice.runs {
            Runs::Starts { count, .. } => ("starts", count),
            Runs::Seeds { count } => ("seeds", count),
        };
        let over = experiment.offsets.and_then(|offsets| offsets.over);
        let all = flags(&question.experiment, |_| true);
        Self {
            objective: advice.objective.name(),
            link: experiment.link().to_string(),
            flags: all.trim_start().to_owned(),
            trace: experiment.trace.clone(),
            candidates: question.candidates.len(),
            exhaustive: question.exhaustive,
            runs,
            runs_by,
            seed: experiment.seed().0,
            duration_ns: experiment.duration.map(Span::as_nanos),
            starts_over_ns: over.map(Span::as_nanos),
            rtt_ns: advice.link.rtt.map(Span::as_nanos),
        }
    }
}

/// The advice.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    winner: String,
    commands: Commands,
    /// Difference of the first from the second.
    margin: Option<Margin>,
    /// The candidates at the top that the runs do not distinguish from the winner; it is the first.
    alike: Vec<String>,
    frontier: Vec<String>,
    channel: Option<Channel>,
    candidates: Vec<Judged>,
}

/// By how much the winner is better.
#[derive(Debug, Serialize)]
struct Margin {
    second: String,
    /// In the unit of the objective.
    difference: Option<f64>,
    ci95: Option<f64>,
    percent: Option<f64>,
    exceeds_ci95: bool,
}

/// Erasures that the closed forms take.
#[derive(Debug, Serialize)]
struct Channel {
    slots: u64,
    erasure_ratio: f64,
    alpha: Option<f64>,
    beta: Option<f64>,
}

/// A candidate.
#[derive(Debug, Serialize)]
struct Judged {
    scheme: String,
    /// `evaluated`, `dropped`, `pruned` or `refused`.
    fate: &'static str,
    reason: Option<String>,
    /// Place among those evaluated, from 1.
    rank: Option<usize>,
    runs: usize,
    runs_incomplete: usize,
    efficiency_bound: Option<f64>,
    goodput_bps: Option<Estimate>,
    completion_time_s: Option<Estimate>,
    delay_p99_s: Option<Estimate>,
    efficiency: Option<Estimate>,
    /// How much better the winner is, by the objective.
    winner_better_by: Option<f64>,
    winner_better_by_ci95: Option<f64>,
}

impl Results {
    pub(super) fn of(advice: &Advice) -> Self {
        let name = |number: &usize| advice.candidates[*number].scheme.to_string();
        let channel = advice.census.as_ref().map(|census| Channel {
            slots: census.slots(),
            erasure_ratio: census.erasure_ratio(),
            alpha: census.alpha(),
            beta: census.beta(),
        });
        let margin = second(advice).map(|(candidate, difference)| Margin {
            second: candidate.scheme.to_string(),
            difference: Some(difference.mean).filter(|mean| mean.is_finite()),
            ci95: difference.ci95,
            percent: percent(advice, difference),
            exceeds_ci95: difference.is_clear(),
        });
        let judged = advice.candidates.iter().enumerate();
        Self {
            winner: advice.winner().scheme.to_string(),
            commands: Commands::of(advice, advice.winner()),
            margin,
            alike: advice.ranking[..advice.alike].iter().map(name).collect(),
            frontier: advice.frontier.iter().map(name).collect(),
            channel,
            candidates: judged
                .map(|(number, one)| Judged::of(advice, number, one))
                .collect(),
        }
    }
}

impl Judged {
    fn of(advice: &Advice, number: usize, candidate: &Candidate) -> Self {
        let (fate, reason) = match &candidate.fate {
            Fate::Evaluated => ("evaluated", None),
            Fate::Dropped => ("dropped", None),
            Fate::Pruned(why) => ("pruned", Some(why.clone())),
            Fate::Refused(why) => ("refused", Some(super::named(why))),
        };
        let place = advice.ranking.iter().position(|ranked| *ranked == number);
        let difference = place.map(|place| advice.differences[place]);
        let mean = |objective| advice.estimate(candidate, objective);
        Self {
            scheme: candidate.scheme.to_string(),
            fate,
            reason,
            rank: place.map(|place| place + 1),
            runs: candidate.runs.len(),
            runs_incomplete: candidate.incomplete(),
            efficiency_bound: candidate.efficiency_bound,
            goodput_bps: mean(Objective::Goodput),
            completion_time_s: mean(Objective::PageTime),
            delay_p99_s: mean(Objective::P99Delay),
            efficiency: mean(Objective::Efficiency),
            winner_better_by: difference
                .map(|one| one.mean)
                .filter(|mean| mean.is_finite()),
            winner_better_by_ci95: difference.and_then(|one| one.ci95),
        }
    }
}

/// The second of the ranking, with its difference from the winner.
fn second(advice: &Advice) -> Option<(&Candidate, Difference)> {
    let number = advice.ranking.get(1)?;
    Some((&advice.candidates[*number], advice.differences[1]))
}

/// A difference in percent of the winner's value.
fn percent(advice: &Advice, difference: Difference) -> Option<f64> {
    let best = advice.estimate(advice.winner(), advice.objective)?.mean;
    let percent = 100.0 * difference.mean / best;
    percent.is_finite().then_some(percent)
}

/// Number of candidates whose fate is like `of`.
fn count(advice: &Advice, of: impl Fn(&Fate) -> bool) -> usize {
    let candidates = advice.candidates.iter();
    candidates.filter(|candidate| of(&candidate.fate)).count()
}

/// What was done, as one line.
pub(super) fn headline(advice: &Advice) -> String {
    let pruned = count(advice, |fate| matches!(fate, Fate::Pruned(_)));
    let dropped = count(advice, |fate| *fate == Fate::Dropped);
    let refused = count(advice, |fate| matches!(fate, Fate::Refused(_)));
    let mut parts = vec![format!("{} run completely", advice.ranking.len())];
    for (number, what) in [
        (dropped, "dropped in the race"),
        (pruned, "pruned by closed forms"),
        (refused, "refused"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    }
    format!(
        "{} by {}: {}; {}",
        of_candidates(advice.candidates.len()),
        advice.objective,
        parts.join(", "),
        runs(advice)
    )
}

/// The runs of a candidate in words.
fn runs(advice: &Advice) -> String {
    let experiment = &advice.experiment;
    let duration = experiment.duration.map_or_else(String::new, |duration| {
        format!(
            " of {}{duration}",
            if is_transfer(advice) { "at most " } else { "" }
        )
    });
    match advice.runs {
        Runs::Starts { count, .. } => {
            let over = experiment.offsets.and_then(|offsets| offsets.over);
            let over = over.map_or_else(String::new, |over| format!(" over {over}"));
            let starts = if count == 1 {
                "the start".to_owned()
            } else {
                format!("{count} starts")
            };
            format!("runs from {starts}{over}{duration}")
        }
        Runs::Seeds { count } => {
            let first = experiment.seed().0;
            format!(
                "{}{duration}, seeds from {first} on",
                counted(count.into(), "run")
            )
        }
    }
}

fn is_transfer(advice: &Advice) -> bool {
    advice.experiment.bytes.is_some()
}

/// Warnings of the search.
pub(super) fn warnings(advice: &Advice) -> Vec<String> {
    let mut warnings = Vec::new();
    if second(advice).is_some_and(|(_, difference)| difference.ci95.is_none()) {
        warnings.push(match advice.objective {
            Objective::Efficiency if matches!(advice.runs, Runs::Starts { .. }) => {
                "the efficiency of a scheme over a trace is one number and has no interval".to_owned()
            }
            _ => "one run has no interval: nothing says how far the ranking is chance (--starts, --seeds)".to_owned(),
        });
    }
    let incomplete = advice.winner().incomplete();
    if incomplete > 0 {
        warnings.push(format!(
            "{incomplete} of {} of the winner ended before its transfers were complete: their page time counts as the length of the run, and is longer (--duration)",
            counted(advice.winner().runs.len() as u64, "run")
        ));
    }
    if advice.objective == Objective::P99Delay {
        let best = Objective::Goodput;
        let goodput = |candidate: &Candidate| Some(advice.estimate(candidate, best)?.mean);
        let most = advice
            .ranking
            .iter()
            .filter_map(|number| goodput(&advice.candidates[*number]));
        let most = most.fold(0.0, f64::max);
        if let Some(own) = goodput(advice.winner()).filter(|own| 2.0 * own < most) {
            warnings.push(format!(
                "the winner has {:.0} % of the largest goodput: a sender that hardly sends meets no queue; see the frontier",
                100.0 * own / most
            ));
        }
    }
    warnings
}

/// Heading, factor and decimals of an objective in the tables.
fn column(objective: Objective) -> (&'static str, f64, usize) {
    match objective {
        Objective::Goodput => ("goodput kbps", 1e-3, 3),
        Objective::PageTime => ("page time s", 1.0, 4),
        Objective::P99Delay => ("delay p99 ms", 1e3, 3),
        Objective::Efficiency => ("efficiency", 1.0, 4),
    }
}

/// The tables.
pub(super) fn text(advice: &Advice) -> String {
    let mut text = String::new();
    if let Some(census) = &advice.census {
        let burst = census.beta().map(|beta| 1.0 / (1.0 - beta));
        let burst = burst.filter(|burst| burst.is_finite());
        let burst = burst.map_or_else(String::new, |burst| {
            format!(", bursts of {burst:.1} slots in the mean")
        });
        text += &format!(
            "channel: {}, {:.3} % erased{burst}\n\n",
            counted(census.slots(), "slot"),
            100.0 * census.erasure_ratio()
        );
    }
    text += &frontier(advice);
    text += &ranking(advice);
    text += &pruned(advice);
    text += &refused(advice);
    text += &verdict(advice);
    text
}

/// What is shown of a candidate: the objective with its interval, then the other numbers of the frontier.
fn shown(advice: &Advice) -> Vec<Objective> {
    let rate = match advice.objective {
        Objective::PageTime => Objective::PageTime,
        _ => Objective::Goodput,
    };
    let mut all = vec![advice.objective];
    for one in [rate, Objective::P99Delay, Objective::Efficiency] {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

fn scaled(value: Option<f64>, objective: Objective) -> String {
    let (_, factor, decimals) = column(objective);
    table::number(value.map(|value| value * factor), decimals)
}

fn frontier(advice: &Advice) -> String {
    let objectives = shown(advice);
    let mut headings = vec!["frontier".to_owned()];
    for (place, objective) in objectives.iter().enumerate() {
        headings.push(column(*objective).0.to_owned());
        if place == 0 {
            headings.push("± 95 %".to_owned());
        }
    }
    let mut report = Report::new(headings);
    for number in advice.frontier.iter().take(SHOWN) {
        let candidate = &advice.candidates[*number];
        let mut cells = Vec::new();
        for (place, objective) in objectives.iter().enumerate() {
            let estimate = advice.estimate(candidate, *objective);
            cells.push(scaled(estimate.map(|one| one.mean), *objective));
            if place == 0 {
                cells.push(scaled(estimate.and_then(|one| one.ci95), *objective));
            }
        }
        report.row(candidate.scheme.text(), cells);
    }
    let more = advice.frontier.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("and {more} more; --json has all\n"));
    format!("{report}{}\n", more.unwrap_or_default())
}

fn ranking(advice: &Advice) -> String {
    let (heading, ..) = column(advice.objective);
    let mut report = Report::new(["best", heading, "behind the winner", "± 95 %", "%"]);
    let places = advice.ranking.iter().zip(&advice.differences).enumerate();
    for (place, (number, difference)) in places.take(SHOWN.min(advice.alike.max(5))) {
        let candidate = &advice.candidates[*number];
        let mean = advice.estimate(candidate, advice.objective);
        let behind = |value: Option<f64>| value.filter(|value| place > 0 && value.is_finite());
        report.row(
            candidate.scheme.text(),
            [
                scaled(mean.map(|one| one.mean), advice.objective),
                scaled(behind(Some(difference.mean)), advice.objective),
                scaled(behind(difference.ci95), advice.objective),
                table::number(behind(percent(advice, *difference)), 2),
            ],
        );
    }
    format!("{report}\n")
}

/// What was pruned, by the reason of the first, in the order of the candidates.
fn pruned(advice: &Advice) -> String {
    let reasons = advice.candidates.iter().filter_map(|one| match &one.fate {
        Fate::Pruned(why) => Some((one.scheme.text(), why)),
        _ => None,
    });
    let reasons: Vec<(&str, &String)> = reasons.collect();
    let Some((_, why)) = reasons.first() else {
        return String::new();
    };
    let names: Vec<&str> = reasons.iter().map(|(name, _)| *name).collect();
    let few = names
        .iter()
        .take(SHOWN)
        .copied()
        .collect::<Vec<_>>()
        .join(" ");
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 {
        format!(" and {more} more (--json)")
    } else {
        String::new()
    };
    let line = format!("pruned: {few}{more}; the first because: {why}");
    format!("{}\n", wrap(&line, "  "))
}

fn refused(advice: &Advice) -> String {
    let mut text = String::new();
    for candidate in &advice.candidates {
        if let Fate::Refused(why) = &candidate.fate {
            let line = format!("refused: {}: {}", candidate.scheme, super::named(why));
            text += &format!("{}\n", wrap(&line, "  "));
        }
    }
    text
}

fn verdict(advice: &Advice) -> String {
    let objective = advice.objective;
    let (heading, factor, decimals) = column(objective);
    let (name, unit) = heading.rsplit_once(' ').unwrap_or((heading, ""));
    let (name, unit) = match objective {
        Objective::Efficiency => (heading, ""),
        _ => (name, unit),
    };
    let number = |value: f64| {
        let space = if unit.is_empty() { "" } else { " " };
        format!("{:.decimals$}{space}{unit}", value * factor)
    };
    let plus_minus = |half: Option<f64>| {
        half.map_or_else(String::new, |half| {
            format!(" ± {:.decimals$}", half * factor)
        })
    };
    let winner = advice.winner();
    let own = advice.estimate(winner, objective);
    let mut text = format!("winner: {}", winner.scheme);
    if let Some(own) = own {
        text += &format!(", {name} {}{}", number(own.mean), plus_minus(own.ci95));
    }
    text += "\n";
    if let Some((second, difference)) = second(advice) {
        let by = if difference.mean.is_finite() {
            let percent = percent(advice, difference);
            let percent = percent.map_or_else(String::new, |percent| format!(" ({percent:.2} %)"));
            format!(
                "{}{}{percent}",
                number(difference.mean),
                plus_minus(difference.ci95)
            )
        } else {
            "a value that the second does not have".to_owned()
        };
        let line = format!("margin over the second, {}: {by}", second.scheme);
        text += &format!("{}\n", wrap(&line, "  "));
        if advice.alike > 1 {
            let line = format!(
                "the first {} are not distinguishable: their differences are within the intervals",
                advice.alike
            );
            text += &format!("{}\n", wrap(&line, "  "));
        }
    }
    let commands = Commands::of(advice, winner);
    let of_one = matches!(advice.runs, Runs::Seeds { count } if count > 1)
        && advice.experiment.link != Some(LinkKind::Coupled);
    if of_one {
        text += &format!("\nThe run of seed {} again:\n", advice.experiment.seed().0);
    } else {
        text += "\nThe runs again:\n";
    }
    text += &format!("{}\n", commands.pipe());
    text
}
