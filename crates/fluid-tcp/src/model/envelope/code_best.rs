//! `code-best`: the best code and modulation of all families, with its margin, by closed forms or by decoding.

use tmt_core::coding::measure::{Event, Settings, measure};
use tmt_core::coding::model::{BITS, DECISION, DEPTH, EVENTS, INTERLEAVER, SEED, interleaver};
use tmt_core::coding::simulation::Link;
use tmt_core::coding::spec::{CodeSpec, Interleaver};
use tmt_core::model::{Arguments, Key, ModelError, Value};
use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

use super::super::congestion::{B, BETA, TAU};
use super::super::relation15::T0;
use super::codes::all;
use super::decide::{Decision, Measure, Offer, Question, Rates};
use super::{CN0, CONNECTIONS, LINKS, RHO, SYMBOLS, TG, read};

keys! {
    pub RATES: Word(&["closed-form", "measured"]), "rates" = "closed-form",
        "segment error rates: closed forms, or those of codes that are encoded and decoded unless a closed form is exact";
}

/// The rule of the paper, unless another is asked for.
pub(super) const LAW: Key = Key {
    preset: Some(Value::Word("hybrid")),
    ..TG
};

/// The answer for arguments of `code-best`, with `codes` to choose from, on `sides` if they are compared by groups, and measurements
/// by `measure`.
///
/// # Errors
/// As [`Question::answer`], and arguments that contradict each other.
pub fn decide(
    arguments: &Arguments,
    codes: &[CodeSpec],
    sides: Option<&[usize]>,
    measure: Measure<'_>,
) -> Result<Decision, ModelError> {
    let (carrier, path) = read(arguments)?;
    let interleaver = interleaver(arguments)?;
    let is_measured = arguments.word(&RATES) == "measured";
    if !is_measured && matches!(interleaver, Interleaver::Block(_)) {
        return Err(ModelError::refused(
            "interleaver=block with rates=closed-form: closed forms know none and ideal; rates=measured decodes",
        ));
    }
    let question = Question {
        carrier,
        codes,
        sides,
        path,
        interleaver,
        rates: if is_measured {
            Rates::Measured(settings(arguments), measure)
        } else {
            Rates::ClosedForm
        },
    };
    question.answer()
}

fn settings(arguments: &Arguments) -> Settings {
    Settings {
        link: Link {
            decision: arguments.choice(&DECISION),
            seed: arguments.count(&SEED),
            ..Link::at(0.0)
        },
        event: Event::Segments,
        events: arguments.count(&EVENTS),
        most_bits: arguments.count(&BITS),
        stopped: arguments.stopped(),
    }
}

/// Counts of segments, measured now.
///
/// # Errors
/// A code that its decoder refuses, and [`Settings::stopped`].
pub fn measured(
    code: &CodeSpec,
    settings: &Settings,
) -> Result<tmt_core::coding::counts::Tally, ModelError> {
    Ok(measure(code, settings)?.segments)
}

closed_form! {
    /// `tmt model code-best`, and of `tmt code` (docs/models.md, Sec. 4.9).
    pub static MODEL: "code-best", "The best code and modulation at a C/N0 and its margin, by closed forms or decoded";
    source: "Celandroni 2006, Sec. IV; docs/models.md, Sec. 4.9";
    notes: [
        "Codes of all families of envelope with set=paper, each once; long-lived connections",
        "Codes are measured in a race, ten times as long until intervals of 95 % tell the best from the others and its lead is clear; \
         reed-solomon alone and uncoded by closed forms, which are exact. Left out are those that closed forms put behind with 0.75 dB \
         in their favour, 3.5 dB with hard decisions",
        "goodput_low and _high follow from the interval of the segment error rate, and 0.5 % where TGEP is drawn",
        "ahead_db: dB of C/N0 that the best can lose until it gives what the next gives now; 20 means 20 or more",
        "interleaver=ideal and block add no delay",
    ];
    example: "cn0_db=72 symrate=2e6 rho=0.5";
    keys: [
        CN0, SYMBOLS, RHO, RATES, INTERLEAVER, DEPTH, TAU, BETA, B, LAW, T0, CONNECTIONS, LINKS, DECISION, EVENTS, BITS, SEED,
    ];
    answer(arguments) {
        let decision = decide(arguments, &all(), None, &measured)?;
        let best = *decision.offers.first().ok_or_else(|| ModelError::refused("no codes"))?;
        let next = decision.next();
        let (bps, db) = (decision.ahead_bps, decision.ahead_db);
    }
    results {
        "best" = best.name(), "best modulation and code";
        "goodput" = best.goodput.bits(), "goodput of all connections, bit/s";
        "goodput_low" = best.low, "lower end of its interval, bit/s";
        "goodput_high" = best.high, "upper end, bit/s";
        "info_rate" = best.goodput.rate, "information rate, bit/s";
        "ser" = best.errors.value, "segment error rate";
        "ser_low" = best.errors.low, "lower end of its 95 % interval";
        "ser_high" = best.errors.high, "upper end";
        "next" = next.map_or_else(String::new, Offer::name), "the next best";
        "next_goodput" = next.map(|next| next.goodput.bits()), "its goodput, bit/s";
        "ahead_bps" = bps.map(|of| of.value), "goodput by which the best is ahead, bit/s";
        "ahead_bps_low" = bps.map(|of| of.low), "lower end of its interval, bit/s";
        "ahead_bps_high" = bps.map(|of| of.high), "upper end, bit/s";
        "ahead_db" = db.map(|of| of.value), "C/N0 that the best can lose until it gives what the next gives now, dB";
        "ahead_db_low" = db.map(|of| of.low), "lower end of its interval, dB";
        "ahead_db_high" = db.map(|of| of.high), "upper end, dB";
        "decided" = decision.is_decided, "whether the interval of the best one is above those of all others";
        "enough_bits" = decision.enough.map(|of| to_f64(of.most_bits)), "most_bits of a measurement that would decide, by the error rates as they seem now";
        "enough_events" = decision.enough.map(|of| to_f64(of.events)), "its events";
    }
    remarks {
        if decision.enough.is_some() => "the intervals of the best codes overlap; with most_bits of enough_bits and events of enough_events they would not";
        if !decision.is_decided && decision.enough.is_none() => "the best codes are too close to decide";
        if db.is_none() => "no other code gives anything: there is no margin in dB";
        if best.goodput.segment >= 1.0 => "every segment is lost with every code";
    }
}
