//! The advice as tables for people, and as JSON.

use fluid_tcp::experiment::{LinkKind, Setting as _};
use fluid_tcp::simulation::replications::Estimate;
use serde_json::{Map, Value, json};
use tmt_core::types::Span;
use tmt_study::advise::{
    Advice, Candidate, Change, Difference, Fate, Objective, Question, Runs, loads_pages,
};
use tmt_study::conditions::Conditions;

use super::commands::{Commands, flags};
use super::of_candidates;
use crate::cmd::tcp::Given;
use crate::table::{Show, Table, counted, with_interval, wrap};

/// Rows of the frontier and of the ranking that the tables show.
const SHOWN: usize = 12;

/// Settings of the search.
pub(super) fn params(question: &Question, advice: &Advice, given: &Given) -> Value {
    let experiment = &advice.experiment;
    let (runs_by, runs) = of_runs(advice.finals.runs);
    let (_, race) = of_runs(question.runs);
    let over = experiment.offsets.and_then(|offsets| offsets.over);
    json!({
        "objective": advice.objective.name(),
        "link": experiment.link().to_string(),
        // Parameters given, as flags of `tmt tcp`.
        "flags": flags(&question.experiment, given, |_| true).trim_start(),
        "trace": experiment.trace,
        "candidates": question.candidates.len(),
        "exhaustive": question.exhaustive,
        "race_runs": race,
        "race_seed": question.experiment.seed().0,
        // Of the candidates that ran again.
        "runs": runs,
        "runs_by": runs_by,
        "seed": advice.finals.seed,
        "held": conditions(advice).held,
        "duration_ns": experiment.duration.map(Span::as_nanos),
        "starts_over_ns": over.map(Span::as_nanos),
        "rtt_ns": advice.link.rtt.map(Span::as_nanos),
    })
}

/// Kind of the runs, by which they differ, and their number.
fn of_runs(runs: Runs) -> (&'static str, u32) {
    match runs {
        Runs::Starts { count, .. } => ("starts", count),
        Runs::Seeds { count } => ("seeds", count),
    }
}

/// Conditions that all candidates share.
fn conditions(advice: &Advice) -> Conditions {
    let mut params = advice.finals.params.clone();
    // That of one candidate.
    params.remove("scheme");
    Conditions::of_params(&params)
}

/// The advice, whose commands name files as `given`.
pub(super) fn results(advice: &Advice, given: &Given) -> Value {
    let names = |numbers: &[usize]| -> Vec<String> {
        let schemes = numbers
            .iter()
            .map(|number| &advice.candidates[*number].scheme);
        schemes.map(ToString::to_string).collect()
    };
    let margin = second(advice).map(|(candidate, difference)| {
        json!({
            "second": candidate.scheme.to_string(),
            // In the unit of the objective.
            "difference": difference.mean,
            "ci95": difference.ci95,
            "percent": percent(advice, difference),
            "exceeds_ci95": difference.is_clear(),
        })
    });
    // Erasures that the closed forms take.
    let channel = advice.census.as_ref().map(|census| {
        json!({
            "slots": census.slots(),
            "erasure_ratio": census.erasure_ratio(),
            "alpha": census.alpha(),
            "beta": census.beta(),
        })
    });
    json!({
        "winner": advice.winner().scheme.to_string(),
        "commands": Commands::of(advice, advice.winner(), given),
        "margin": margin,
        // The candidates at the top that the runs do not distinguish from the winner; it is the first.
        "alike": names(&advice.alike()),
        "frontier": names(&advice.frontier),
        "depends_on": changed(advice),
        "channel": channel,
        "candidates": judged(advice),
    })
}

/// Values of the objective with the question changed.
fn changed(advice: &Advice) -> Vec<Value> {
    let changed = advice.finals.changed.iter();
    let value = changed.map(|one| {
        let values = one.values.iter().map(|(number, estimate)| {
            json!({
                "scheme": advice.candidates[*number].scheme.to_string(),
                advice.objective.metric(loads_pages(&advice.experiment)): estimate,
            })
        });
        json!({
            "change": one.change.as_ref().map(change_text),
            "candidates": values.collect::<Vec<_>>(),
        })
    });
    value.collect()
}

/// A change as a flag, or in words.
fn change_text(change: &Change) -> String {
    match change {
        Change::Queue(size) => format!("--buffer {}", size.text()),
        Change::Control(control) => format!("--cc {}", control.short()),
        Change::TwiceTheLosses => "losses x 2".to_owned(),
    }
}

/// All candidates: their fate, their place among those evaluated, from 1, and how much better the winner is.
fn judged(advice: &Advice) -> Vec<Map<String, Value>> {
    let place = |number: &usize| advice.ranking.iter().position(|ranked| ranked == number);
    let difference = |number: &usize| Some(advice.differences[place(number)?]);
    let mut table = Table::of(advice.candidates.iter().enumerate())
        .value("scheme", |(_, one)| one.scheme.to_string())
        .value("fate", |(_, one)| match one.fate {
            Fate::Final => "final",
            Fate::Evaluated => "evaluated",
            Fate::Dropped => "dropped",
            Fate::Pruned(_) => "pruned",
            Fate::Refused(_) => "refused",
        })
        .value("reason", |(_, one)| match &one.fate {
            Fate::Final | Fate::Evaluated | Fate::Dropped => None,
            Fate::Pruned(why) => Some(why.clone()),
            Fate::Refused(why) => Some(super::named(why)),
        })
        .value("rank", |(number, _)| Some(place(number)? + 1))
        .value("runs", |(_, one)| one.runs.len())
        .value("race_mean", |(_, one)| one.race_mean(advice.objective))
        .value("runs_incomplete", |(_, one)| one.incomplete())
        .value("efficiency_bound", |(_, one)| one.efficiency_bound);
    let of_pages = loads_pages(&advice.experiment);
    for objective in [
        Objective::Goodput,
        Objective::PageTime,
        Objective::P99Delay,
        Objective::Efficiency,
    ] {
        let is_of_transfers = objective != Objective::PageTime || !of_pages;
        table = table.value(objective.metric(false), move |(_, one)| {
            let estimate = advice.estimate(one, objective);
            json!(estimate.filter(|_| is_of_transfers))
        });
    }
    if of_pages {
        table = table.value(Objective::PageTime.metric(true), |(_, one)| {
            json!(advice.estimate(one, Objective::PageTime))
        });
    }
    table
        .value("winner_better_by", |(number, _)| {
            Some(difference(number)?.mean)
        })
        .value("winner_better_by_ci95", |(number, _)| {
            difference(number)?.ci95
        })
        .objects()
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

/// Numbers of candidates by their fate, as one line.
pub(super) fn headline(advice: &Advice) -> String {
    let pruned = count(advice, |fate| matches!(fate, Fate::Pruned(_)));
    let dropped = count(advice, |fate| *fate == Fate::Dropped);
    let refused = count(advice, |fate| matches!(fate, Fate::Refused(_)));
    let evaluated = count(advice, |fate| *fate == Fate::Evaluated);
    let mut parts = vec![format!("{} run again", advice.ranking.len())];
    for (number, what) in [
        (evaluated, "run completely"),
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
    match advice.finals.runs {
        Runs::Starts { count, .. } => {
            let over = experiment.offsets.and_then(|offsets| offsets.over);
            let over = over.map_or_else(String::new, |over| format!(" over {over}"));
            let starts = if count == 1 {
                "the start".to_owned()
            } else {
                format!("{count} starts")
            };
            format!("{starts}{over}, runs{duration}")
        }
        Runs::Seeds { count } => {
            let first = advice.finals.seed;
            let last = first.saturating_add(u64::from(count).saturating_sub(1));
            format!("seeds {first} to {last}, runs{duration}")
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
            Objective::Efficiency if matches!(advice.finals.runs, Runs::Starts { .. }) => {
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

/// Heading, unit and format of an objective in the tables.
fn column(objective: Objective) -> (&'static str, &'static str, Show) {
    match objective {
        Objective::Goodput => ("goodput", " kbps", Show::Kilo),
        Objective::PageTime => ("page time", " s", Show::Decimals(4)),
        Objective::P99Delay => ("delay p99", " ms", Show::Milli),
        Objective::Efficiency => ("efficiency", "", Show::Decimals(4)),
    }
}

/// The tables, with commands that name files as `given`.
pub(super) fn text(advice: &Advice, given: &Given) -> String {
    let held = conditions(advice);
    let mut text = format!("{}\n", wrap(&held.line(), "  "));
    text += &format!("{}\n\n", wrap(&format!("runs: {}", runs(advice)), "  "));
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
    text += &ranking(advice);
    text += &frontier(advice);
    text += &changes(advice);
    text += &pruned(advice);
    text += &refused(advice);
    text += &verdict(advice, given);
    text
}

/// Columns of a candidate: the objective with its interval, then the other numbers of the frontier.
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

fn frontier(advice: &Advice) -> String {
    let shown_first = advice.frontier.iter().take(SHOWN);
    let shown_first = shown_first.map(|number| &advice.candidates[*number]);
    let mut table = Table::of(shown_first).words("frontier", |one| one.scheme.text());
    for objective in shown(advice) {
        let (name, unit, show) = column(objective);
        table = table.estimate(format!("{name}{unit}"), show, |one| {
            advice.estimate(one, objective)
        });
    }
    let more = advice.frontier.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("and {more} more; --json has all\n"));
    format!("{table}{}\n", more.unwrap_or_default())
}

fn ranking(advice: &Advice) -> String {
    let (name, unit, show) = column(advice.objective);
    let alike = advice.alike();
    let places = advice.ranking.iter().zip(&advice.differences).enumerate();
    let table = Table::of(places.take(SHOWN))
        .words("best", |(_, (number, _))| {
            advice.candidates[**number].scheme.text()
        })
        .estimate(format!("{name}{unit}"), show, |(_, (number, _))| {
            advice.estimate(&advice.candidates[**number], advice.objective)
        })
        .plain(format!("behind{unit}"), |(place, (_, by))| {
            let finite = (*place > 0 && by.mean.is_finite()).then_some(by)?;
            Some(with_interval(
                finite.mean,
                finite.ci95.filter(|half| *half > 0.0),
                show,
            ))
        })
        .number("%", Show::Decimals(2), |(place, (_, by))| {
            percent(advice, **by).filter(|_| *place > 0)
        })
        .words("", |(place, (number, _))| {
            let is_alike = *place > 0 && alike.contains(*number);
            if is_alike { "alike" } else { "" }
        });
    format!("{table}\n")
}

/// Sensitivity of the answer: the objective with the question changed, the best of each column marked.
fn changes(advice: &Advice) -> String {
    let (name, unit, show) = column(advice.objective);
    let changed = &advice.finals.changed;
    let Some(first) = changed.first() else {
        return String::new();
    };
    let best = |values: &[(usize, Option<Estimate>)]| {
        let known = values
            .iter()
            .filter_map(|(number, value)| Some((*number, (*value)?.mean)));
        let sign = if advice.objective.is_more_better() {
            1.0
        } else {
            -1.0
        };
        let best = known.max_by(|(_, one), (_, other)| (sign * one).total_cmp(&(sign * other)));
        best.map(|(number, _)| number)
    };
    let rows = first.values.iter().map(|(number, _)| *number).enumerate();
    let mut table = Table::of(rows).words(format!("{name}{unit}"), |(_, number)| {
        advice.candidates[*number].scheme.text()
    });
    for one in changed {
        let heading = one
            .change
            .as_ref()
            .map_or("as asked".to_owned(), change_text);
        let winner = best(&one.values);
        table = table.plain(heading, |(place, number)| {
            let value = one.values[*place].1?;
            let mark = if winner == Some(*number) { "* " } else { "" };
            Some(mark.to_owned() + &with_interval(value.mean, value.ci95, show))
        });
    }
    let others: Vec<String> = changed
        .iter()
        .filter_map(|one| {
            let winner = best(&one.values).filter(|winner| Some(*winner) != best(&first.values))?;
            let what = change_text(one.change.as_ref()?);
            Some(format!(
                "with {what} it is {}",
                advice.candidates[winner].scheme
            ))
        })
        .collect();
    let depends = if others.is_empty() {
        "* is the best of its column: none of these changes the winner.".to_owned()
    } else {
        format!(
            "* is the best of its column: the winner depends on these; {}.",
            others.join(", ")
        )
    };
    format!("{table}{}\n\n", wrap(&depends, "  "))
}

/// Pruned candidates, by the reason of the first, in the order of the candidates.
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

fn verdict(advice: &Advice, given: &Given) -> String {
    let objective = advice.objective;
    let (name, unit, show) = column(objective);
    let number = |mean: f64, half: Option<f64>| with_interval(mean, half, show) + unit;
    let winner = advice.winner();
    let own = advice.estimate(winner, objective);
    let mut text = format!("winner: {}", winner.scheme);
    if let Some(own) = own {
        text += &format!(", {name} {}", number(own.mean, own.ci95));
    }
    text += "\n";
    if let Some((second, difference)) = second(advice) {
        let by = if difference.mean.is_finite() {
            let percent = percent(advice, difference);
            let percent = percent.map_or_else(String::new, |percent| format!(" ({percent:.2} %)"));
            format!("{}{percent}", number(difference.mean, difference.ci95))
        } else {
            "a value that the second does not have".to_owned()
        };
        let line = format!("margin over the second, {}: {by}", second.scheme);
        text += &format!("{}\n", wrap(&line, "  "));
        let alike = advice.alike();
        if alike.len() > 1 {
            let names = alike.iter().skip(1);
            let names: Vec<&str> = names
                .map(|number| advice.candidates[*number].scheme.text())
                .collect();
            let line = format!(
                "alike, since the interval of their difference from it contains zero: {}",
                names.join(" ")
            );
            text += &format!("{}\n", wrap(&line, "  "));
        }
    }
    let commands = Commands::of(advice, winner, given);
    let of_one = matches!(advice.finals.runs, Runs::Seeds { count } if count > 1)
        && advice.experiment.link != Some(LinkKind::Coupled);
    if of_one {
        text += &format!("\nThe run of seed {} again:\n", advice.experiment.seed().0);
    } else {
        text += "\nThe runs again:\n";
    }
    text += &format!("{}\n", commands.pipe());
    text
}
