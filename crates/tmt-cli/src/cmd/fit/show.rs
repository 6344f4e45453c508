//! The tables of `tmt fit`.

use tmt_fit::fit::AtInterval;
use tmt_fit::models::Parameter;
use tmt_fit::{Drift, Fit, period::Period};

use super::DRIFTS;
use super::results::{Periods, Shown};
use crate::table::{Show, Table, counted, number, rounded, significant, wrap};

pub(super) fn table(shown: &Shown) -> String {
    let mut text = trace(shown) + "\n";
    text += &wrap(&periods(&shown.period), "");
    text += "\n";
    text += &wrap(&drift(&shown.drift), "");
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

fn trace(shown: &Shown) -> String {
    Table::of([shown])
        .words("", |_| "value")
        .plain("slots", |shown| shown.slots)
        .plain("slots lost", |shown| shown.lost)
        .plain("bursts", |shown| shown.bursts)
        .number("loss ratio", Show::Decimals(6), |shown| shown.loss_ratio)
        .number("slot interval, mean ms", Show::Decimals(6), |shown| {
            shown.interval_s.map(|s| s * 1e3)
        })
        .transposed()
        .to_string()
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

fn drift(drift: &Drift) -> String {
    let Some(p) = drift.p_value else {
        return "No test for a drift of the loss ratio: fewer than 20 bursts or 256 slots."
            .to_owned();
    };
    let blocks = drift.block_loss_ratios.len();
    if p > DRIFTS {
        return format!(
            "No drift or shift of the loss ratio found over {blocks} blocks (p = {}).",
            rounded(p, 2)
        );
    }
    let ratios = drift
        .block_loss_ratios
        .iter()
        .map(|ratio| rounded(100.0 * ratio, 2));
    let ratios: Vec<String> = ratios.collect();
    format!(
        "The loss ratio drifts or shifts (p = {}): in {blocks} blocks of equal length {} %.",
        rounded(p, 2),
        ratios.join(", ")
    )
}

fn comparison(fits: &[Fit]) -> String {
    let least = fits.iter().map(|fit| fit.bic).fold(f64::INFINITY, f64::min);
    Table::of(fits)
        .words("model", |fit| fit.model)
        .number("ln L", Show::Decimals(2), |fit| fit.log_likelihood)
        .plain("k", |fit| fit.free_parameters)
        .number("AIC", Show::Decimals(1), |fit| fit.aic)
        .number("BIC", Show::Decimals(1), |fit| fit.bic)
        .number("dBIC", Show::Decimals(1), |fit| fit.bic - least)
        .number("bursts p", Show::Significant(2), |fit| fit.bursts.p_value)
        .number("gaps p", Show::Significant(2), |fit| fit.gaps.p_value)
        .to_string()
}

fn parameters(fit: &Fit) -> String {
    // Two digits more than the error has.
    let text = |one: &Parameter, value: f64| {
        let error = one.error.as_ref().ok();
        rounded(value, digits(value, error.map(|error| error.standard)))
    };
    Table::of(&fit.parameters)
        .words(fit.model, |one| one.name)
        .plain("per slot", |one| text(one, one.value))
        .number("standard error", Show::Significant(3), |one| {
            Some(one.error.as_ref().ok()?.standard)
        })
        .plain("from", |one| Some(text(one, one.error.as_ref().ok()?.low)))
        .plain("to", |one| Some(text(one, one.error.as_ref().ok()?.high)))
        .to_string()
}

/// Significant digits of a value by its error.
fn digits(value: f64, error: Option<f64>) -> usize {
    let error = error.filter(|error| *error > 0.0);
    let Some(error) = error else { return 9 };
    let ratio = (value / error).abs().max(1.0);
    let before = (1..16).find(|n| tmt_core::math::num::powi(10.0, *n as u64) > ratio);
    before.unwrap_or(15) + 2
}

fn sojourns(fit: &Fit) -> String {
    let show = Show::Significant(6);
    Table::of(&fit.sojourns)
        .words("mean sojourn", |one| one.state)
        .number("slots", show, |one| one.mean_slots)
        .number("ms", show, |one| one.mean_s.map(|s| s * 1e3))
        .number("leaves per s", show, |one| one.rate_per_s)
        .to_string()
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

fn scales(fit: &Fit) -> String {
    Table::of(&fit.scales)
        .plain("slots", |scale| scale.slots)
        .plain("correlation", |scale| correlation(scale.autocorrelation))
        .plain("model", |scale| correlation(scale.model_autocorrelation))
        .plain("blocks", |scale| scale.blocks)
        .number("dispersion", Show::Decimals(3), |scale| scale.dispersion)
        .number("error", Show::Decimals(3), |scale| scale.dispersion_se)
        .number("model ", Show::Decimals(3), |scale| scale.model_dispersion)
        .to_string()
}
