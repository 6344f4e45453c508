//! `ser-required-measured`: the Ec/N0 at which a code that is really decoded has a segment error rate (docs/models.md, Sec. 4.11).

use super::estimate::Estimate;
use super::measure::{Settings, measure};
use super::model::{
    BITS, DECISION, DEPTH, EVENT, EVENTS, INTERLEAVER, Padding, SEED, SEGMENT, SOFT, code,
    interleaver_of_theory, settings,
};
use super::simulation::Decision;
use super::spec::{CodeSpec, Interleaver};
use crate::math::num::ln;
use crate::model::conv::decibels;
use crate::model::ser::keys::{BYTES, K, N, RATE, SCHEME};
use crate::model::ser::{Code, required_ecn0_db};
use crate::model::{Arguments, ModelError};
use crate::{closed_form, keys};

/// Points of the error curve per dB.
const PER_DB: f64 = 10.0;

/// Farthest point from the closed form, dB; hard decisions are 2 to 3 dB off.
const FARTHEST_DB: f64 = 5.0;

/// Ec/N0 that a code needs, dB.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Required {
    /// From the error rates as they are.
    value: f64,
    /// From the lower ends of their intervals.
    low: f64,
    /// From the upper ends.
    high: f64,
}

/// Where the straight line of the logarithm through (`at`, `rates`) has the value `target`.
fn crossing(at: [f64; 2], rates: [f64; 2], target: f64) -> f64 {
    let [left, right] = rates.map(ln);
    at[0] + (at[1] - at[0]) * (left - ln(target)) / (left - right)
}

/// The place at which the error rate that `rate` measures falls to `target`, looked for from `start`, dB, in steps of 1/[`PER_DB`].
fn required(
    start: f64,
    target: f64,
    mut rate: impl FnMut(f64) -> Result<Estimate, ModelError>,
) -> Result<Required, ModelError> {
    let mut measured = |place: f64| {
        let ecn0_db = place / PER_DB;
        if (ecn0_db - start).abs() > FARTHEST_DB {
            return Err(ModelError::refused(format!(
                "found no segment error rate of target={target} within {FARTHEST_DB} dB of the closed form"
            )));
        }
        rate(ecn0_db)
    };
    // To where the rate is at most the target, then back to the last place where it is above.
    let mut right = (start * PER_DB).ceil();
    let (mut before, mut here) = (None, measured(right)?);
    while here.value > target {
        (right, before, here) = (right + 1.0, Some(here), measured(right + 1.0)?);
    }
    let before = loop {
        let left = match before.take() {
            Some(left) => left,
            None => measured(right - 1.0)?,
        };
        if left.value > target {
            break left;
        }
        (right, here) = (right - 1.0, left);
    };
    if here.value <= 0.0 {
        return Err(ModelError::refused(format!(
            "found no segment error at {} dB, expected some next to target={target}: a larger most_bits finds them",
            right / PER_DB
        )));
    }
    let at = [(right - 1.0) / PER_DB, right / PER_DB];
    let end = |end: fn(&Estimate) -> f64| crossing(at, [end(&before), end(&here)], target);
    Ok(Required {
        value: end(|of| of.value),
        low: end(|of| of.low),
        high: end(|of| of.high),
    })
}

fn rate_at(code: &CodeSpec, settings: &Settings, ecn0_db: f64) -> Result<Estimate, ModelError> {
    let mut settings = *settings;
    settings.link.ecn0_db = ecn0_db;
    Ok(measure(code, &settings)?.segments.rate())
}

fn answer(
    arguments: &Arguments,
    code: &CodeSpec,
    settings: &Settings,
) -> Result<(Required, f64), ModelError> {
    let target = arguments.number(&TARGET);
    if !(target > 0.0 && target < 1.0) {
        return Err(ModelError::refused(format!(
            "found target={target}, expected a segment error rate above 0, below 1"
        )));
    }
    let theory = Code {
        interleaver: interleaver_of_theory(settings.link.interleaver),
        ..code.closed_form(settings.link.segment_bytes.unwrap_or(code.segment_bytes()))
    };
    let theory = required_ecn0_db(&theory, target)?;
    let found = required(theory, target, |ecn0_db| rate_at(code, settings, ecn0_db))?;
    Ok((found, theory))
}

keys! {
    TARGET: Probability, "target" = 0.01, "segment error rate that the code is to have";
}

closed_form! {
    /// `tmt model ser-required-measured`.
    pub(super) static MODEL: "ser-required-measured", "Signal strength needed for a segment error rate by a code that is really decoded";
    source: "Monte-Carlo simulation as in ser-measured; docs/models.md, Sec. 4.11";
    notes: [
        "The error rate is measured at multiples of 0.1 dB, from the closed form on; between the two next to the target its logarithm is a \
         straight line, which is off the curve by less than 0.01 dB",
        "The interval is where the lines through the ends of their 95 % intervals meet the target",
    ];
    example: "target=0.1 scheme=rsconv rate=3/4 events=20";
    keys: [TARGET, SCHEME, RATE, N, K, BYTES, INTERLEAVER, DEPTH, DECISION, SEGMENT, EVENT, EVENTS, BITS, SEED];
    answer(arguments) {
        let code = code(arguments)?;
        let settings = settings(arguments, &code)?;
        let padding = Padding::of(arguments, &settings);
        let (found, theory) = answer(arguments, &code, &settings)?;
        let is_soft = code.inner.is_none() || settings.link.decision != Decision::Hard;
        let theory = is_soft.then_some(theory);
        let rate = code.rate() * padding.share();
        let per_bit = |ecn0_db| ecn0_db - decibels(rate);
    }
    results {
        "rate" = rate, "information bits per channel bit, all codes and padding together";
        "ecn0_db" = found.value, "Ec/N0, dB";
        "ecn0_db_low" = found.low, "lower end of its interval, dB";
        "ecn0_db_high" = found.high, "upper end, dB";
        "ebn0_db" = per_bit(found.value), "Eb/N0, dB";
        "ebn0_db_low" = per_bit(found.low), "lower end of its interval, dB";
        "ebn0_db_high" = per_bit(found.high), "upper end, dB";
        "theory_ecn0_db" = theory, "closed form of ecn0_db: model ser-required, ebl=errors";
    }
    remarks {
        if !is_soft => SOFT;
        if matches!(settings.link.interleaver, Interleaver::Block(_)) => "the closed form is that of an ideal interleaver";
        if padding.share() < 1.0 => &padding.text();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(value: f64, width: f64) -> Estimate {
        Estimate {
            value,
            low: value / width,
            high: value * width,
        }
    }

    #[test]
    fn a_known_curve_is_met_where_it_has_the_target_from_either_side() {
        // A decade per half dB, from 1 at 2 dB; the target 1e-3 is at 3.5 dB.
        let curve = |decibels: f64| crate::math::num::pow(10.0, -2.0 * (decibels - 2.0));
        for start in [0.3, 3.44, 3.5, 3.56, 6.2] {
            let found = required(start, 1e-3, |at| Ok(exactly(curve(at), 1.1))).unwrap();
            assert!((found.value - 3.5).abs() < 1e-9, "{start}: {found:?}");
            // lg 1.1 is 0.0414 decades, half a dB each.
            assert!((found.high - 3.5207).abs() < 1e-3 && (found.low - 3.4793).abs() < 1e-3);
        }
        let flat = required(0.0, 1e-3, |_| Ok(exactly(0.5, 1.0))).unwrap_err();
        assert!(flat.to_string().contains("within 5 dB"), "{flat}");
        let none = |at: f64| Ok(exactly(if at < 1.0 { 0.5 } else { 0.0 }, 1.0));
        let none = required(0.0, 1e-3, none).unwrap_err();
        assert!(none.to_string().contains("a larger most_bits"), "{none}");
    }

    #[test]
    fn a_code_whose_closed_form_is_exact_needs_what_that_says() {
        let run = |text: &str| MODEL.run(text).unwrap();
        let found = run("target=0.05 scheme=rs events=400");
        let get = |name: &str| found.get(name).unwrap();
        let theory = get("theory_ecn0_db");
        assert!(
            get("ecn0_db_low") < theory && theory < get("ecn0_db_high"),
            "{theory}"
        );
        assert!(get("ecn0_db_high") - get("ecn0_db_low") < 0.06);
        assert!(MODEL.run("target=0 scheme=rs").is_err());
    }
}
