//! The tables of `tmt fit`.

use tmt_fit::fit::AtInterval;
use tmt_fit::{Fit, period::Period};

use super::results::{Periods, Shown};
use crate::table::{Report, counted, number, rounded, significant, wrap};

pub(super) fn table(shown: &Shown) -> String {
    let mut text = trace(shown).to_string();
    text += "\n";
    text += &wrap(&periods(&shown.period), "");
    text += "\n";
    if let Some(bound) = shown.never_seen_bound {
        let which = if shown.lost_fitted == 0 {
            "lost"
        } else {
            "received"
        };
        let bound = format!(
            "No slot of {} was {which}: at a confidence of 95 % the probability is at most {}.",
            shown.slots_fitted,
            rounded(bound, 3)
        );
        text += &format!("\n{}\n", wrap(&bound, ""));
    }
    if shown.fits.len() > 1 {
        text += &format!("\n{}", comparison(&shown.fits));
        text += "k free parameters; dBIC above the best; p of lengths that differ more by chance\n";
    }
    if let Some(best) = shown.fits.first() {
        text += &format!("\n{}", parameters(best));
        for reason in &best.without_error {
            text += &wrap(
                &format!("{}: no standard error, {}", reason.parameter, reason.reason),
                "  ",
            );
            text += "\n";
        }
        if !best.sojourns.is_empty() {
            text += &format!("\n{}", sojourns(best));
        }
        if let Some(at) = &best.at_interval {
            text += &format!("\n{}\n", at_interval(best, at));
        }
        if shown.never_seen_bound.is_none() {
            text += &format!("\n{}", scales(best));
        }
    }
    let mut before = f64::NAN;
    for line in &shown.commands {
        let interval = line.interval_s.unwrap_or_default();
        if interval.to_bits() != before.to_bits() {
            let of = match line.interval_s {
                Some(interval) => format!("a packet every {} ms", significant(interval * 1e3)),
                None => "the period and the rest".to_owned(),
            };
            text += &format!("\n{of}:\n");
            before = interval;
        }
        text += &format!("  {}\n", brief(&line.line));
    }
    text
}

/// A line whose content in braces is cut if it is long; JSON and `--process` have all of it.
fn brief(line: &str) -> String {
    /// Longest content that is shown, characters.
    const SHOWN: usize = 300;
    let braces = line.find('{').zip(line.rfind('}'));
    match braces {
        Some((begin, end)) if end > begin + SHOWN => {
            format!(
                "(the histograms are in --json and --process) {}{{…{}",
                &line[..begin],
                &line[end..]
            )
        }
        _ => line.to_owned(),
    }
}

fn trace(shown: &Shown) -> Report {
    let mut report = Report::new(["", "value"]);
    let mut row = |name: &str, value: String| report.row(name, [value]);
    row("slots", shown.slots.to_string());
    row("slots lost", shown.lost.to_string());
    row("bursts", shown.bursts.to_string());
    row("loss ratio", number(shown.loss_ratio, 6));
    row(
        "slot interval, mean ms",
        number(shown.interval_s.map(|s| s * 1e3), 6),
    );
    report
}

fn periods(periods: &Periods) -> String {
    let window = |period: &Period| {
        format!(
            "{} s, {} to {} s after its multiples, in {} of {} periods (p = {})",
            significant(period.period_s),
            significant(period.phase_s),
            significant(period.phase_s + period.window_s),
            period.hits,
            period.periods,
            rounded(period.p_value, 2)
        )
    };
    let none = |what: &str, p: Option<f64>| match p {
        Some(p) => format!(
            "No period of {what} found up to {} s (p = {}).",
            periods.longest_tried_s.unwrap_or_default(),
            rounded(p, 2)
        ),
        None => format!("No test for a period of {what}: fewer than 6 periods, or not asked for."),
    };
    let losses = match &periods.losses {
        Some(period) => format!(
            "Losses have a period of {}. {} of {} in these windows lost, {} % of all losses; the models are fitted to the rest.",
            window(period),
            periods.lost_inside,
            counted(periods.slots_inside, "slot"),
            rounded(100.0 * periods.share_of_losses.unwrap_or_default(), 3)
        ),
        None => none("losses", periods.losses_p_value),
    };
    let delays = match &periods.delays {
        Some(period) => format!("Delays change with a period of {}.", window(period)),
        None => none("changes of delay", periods.delays_p_value),
    };
    format!("{losses} {delays}")
}

fn comparison(fits: &[Fit]) -> Report {
    let headings = [
        "model", "ln L", "k", "AIC", "BIC", "dBIC", "bursts p", "gaps p",
    ];
    let mut report = Report::new(headings);
    let least = fits.iter().map(|fit| fit.bic).fold(f64::INFINITY, f64::min);
    for fit in fits {
        let p = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |p| rounded(p, 2));
        report.row(
            fit.model,
            [
                number(Some(fit.log_likelihood), 2),
                fit.free_parameters.to_string(),
                number(Some(fit.aic), 1),
                number(Some(fit.bic), 1),
                number(Some(fit.bic - least), 1),
                p(fit.bursts.p_value),
                p(fit.gaps.p_value),
            ],
        );
    }
    report
}

fn parameters(fit: &Fit) -> Report {
    let mut report = Report::new([fit.model, "per slot", "standard error", "from", "to"]);
    for one in &fit.parameters {
        let error = one.error.as_ref().ok();
        // Two digits more than the error has.
        let value = |value: f64| rounded(value, digits(value, error.map(|error| error.standard)));
        let shown = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        report.row(
            one.name,
            [
                value(one.value),
                shown(error.map(|error| rounded(error.standard, 3))),
                shown(error.map(|error| value(error.low))),
                shown(error.map(|error| value(error.high))),
            ],
        );
    }
    report
}

/// Significant digits of a value by its error.
fn digits(value: f64, error: Option<f64>) -> usize {
    let error = error.filter(|error| *error > 0.0);
    let Some(error) = error else { return 9 };
    let ratio = (value / error).abs().max(1.0);
    let before = (1..16).find(|n| tmt_core::math::num::powi(10.0, *n as u64) > ratio);
    before.unwrap_or(15) + 2
}

fn sojourns(fit: &Fit) -> Report {
    let mut report = Report::new(["mean sojourn", "slots", "ms", "leaves per s"]);
    for one in &fit.sojourns {
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), significant);
        report.row(
            one.state,
            [
                shown(one.mean_slots),
                shown(one.mean_s.map(|s| s * 1e3)),
                shown(one.rate_per_s),
            ],
        );
    }
    report
}

fn at_interval(fit: &Fit, at: &AtInterval) -> String {
    let interval = significant(at.interval_s * 1e3);
    let Some(values) = &at.parameters else {
        let reason = at.reason.as_deref().unwrap_or_default();
        let text = format!(
            "{} has no parameters at a slot every {interval} ms: {reason}.",
            fit.model
        );
        return wrap(&text, "");
    };
    let values: Vec<String> = values
        .iter()
        .map(|(name, value)| format!("{name} {}", rounded(*value, 9)))
        .collect();
    wrap(
        &format!("At a slot every {interval} ms: {}.", values.join(", ")),
        "  ",
    )
}

/// A correlation with four decimals, without the sign of a zero.
fn correlation(value: Option<f64>) -> String {
    let text = number(value, 4);
    if text == "-0.0000" {
        "0.0000".to_owned()
    } else {
        text
    }
}

fn scales(fit: &Fit) -> Report {
    let headings = [
        "slots",
        "correlation",
        "model",
        "blocks",
        "dispersion",
        "error",
        "model ",
    ];
    let mut report = Report::new(headings);
    for scale in &fit.scales {
        report.row(
            &scale.slots.to_string(),
            [
                correlation(scale.autocorrelation),
                correlation(scale.model_autocorrelation),
                scale.blocks.to_string(),
                number(scale.dispersion, 3),
                number(scale.dispersion_se, 3),
                number(scale.model_dispersion, 3),
            ],
        );
    }
    report
}
