//! `code-order`: which of two groups of codes is better at a C/N0, and by how many dB, by closed forms or by decoding.

use strum::{EnumString, VariantNames};
use tmt_core::coding::model::{BITS, DECISION, DEPTH, EVENTS, INTERLEAVER, SEED};
use tmt_core::coding::spec::{CodeSpec, Outer};
use tmt_core::model::ModelError;
use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

use super::super::congestion::{B, BETA, TAU};
use super::super::relation15::T0;
use super::code_best::{LAW, RATES, decide, measured};
use super::codes::all;
use super::decide::{Offer, Ranged};
use super::{CN0, CONNECTIONS, LINKS, RHO, SYMBOLS};

/// A group of the codes of all families.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
enum Group {
    /// Convolutional codes alone.
    Conv,
    /// Reed-Solomon codes alone.
    Rs,
    /// Erasure codes alone.
    Erasure,
    /// Reed-Solomon codes around convolutional ones.
    RsConv,
    /// Erasure codes around convolutional ones.
    ErConv,
    /// Either kind of outer code around convolutional ones.
    Concatenated,
    /// Any code alone.
    Alone,
}

impl Group {
    /// Whether `code` is in this group; no code at all is in none.
    fn has(self, code: &CodeSpec) -> bool {
        let is_inner = code.inner.is_some();
        match (self, code.outer) {
            (Self::Conv, outer) => is_inner && outer.is_none(),
            (Self::Rs, Some(Outer::ReedSolomon { .. }))
            | (Self::Erasure, Some(Outer::Erasure { .. })) => !is_inner,
            (Self::RsConv, Some(Outer::ReedSolomon { .. }))
            | (Self::ErConv, Some(Outer::Erasure { .. }))
            | (Self::Concatenated, Some(_)) => is_inner,
            (Self::Alone, outer) => is_inner != outer.is_some(),
            _ => false,
        }
    }
}

keys! {
    FIRST: Word(Group::VARIANTS), "first" = "concatenated",
        "codes that are compared: by kind, concatenated for rsconv and erconv together, alone for conv, rs and erasure together";
    SECOND: Word(Group::VARIANTS), "second" = "alone", "codes that they are compared with, as for first";
}

/// A margin as seen from the first group, which is negative if the second one is ahead.
fn seen(of: Option<Ranged>, is_ahead: bool) -> Option<Ranged> {
    let turned = |of: Ranged| Ranged {
        // Not the negative numbers, which have a zero of their own.
        value: 0.0 - of.value,
        low: 0.0 - of.high,
        high: 0.0 - of.low,
    };
    of.map(|of| if is_ahead { of } else { turned(of) })
}

closed_form! {
    /// `tmt model code-order` (docs/models.md, Sec. 4.10).
    pub(crate) static MODEL: "code-order", "Which of two groups of codes is better at a C/N0, by closed forms or decoded";
    source: "Celandroni 2006, Sec. IV.B; docs/models.md, Sec. 4.10";
    notes: [
        "Codes are those of code-best without uncoded; each group is as good as its best code and modulation",
        "lead_db: dB of C/N0 that the better group can lose, with any of its codes, until its goodput is that of the other one now, 20 at \
         most; negative if the second one is better",
        "Intervals and the race of measurements as in code-best",
    ];
    example: "first=rsconv second=rs cn0_db=72";
    keys: [
        FIRST, SECOND, CN0, SYMBOLS, RHO, RATES, INTERLEAVER, DEPTH, TAU, BETA, B, LAW, T0, CONNECTIONS, LINKS, DECISION, EVENTS,
        BITS, SEED,
    ];
    answer(arguments) {
        let (first, second): (Group, Group) = (arguments.choice(&FIRST), arguments.choice(&SECOND));
        let of_all = all();
        if let Some(code) = of_all.iter().find(|code| first.has(code) && second.has(code)) {
            return Err(ModelError::refused(format!(
                "first={} and second={} both have {code}: expected groups without a common code",
                arguments.word(&FIRST),
                arguments.word(&SECOND)
            )));
        }
        let codes: Vec<CodeSpec> = of_all.into_iter().filter(|code| first.has(code) || second.has(code)).collect();
        let sides: Vec<usize> = codes.iter().map(|code| usize::from(second.has(code))).collect();
        let decision = decide(arguments, &codes, Some(&sides), &measured)?;
        let of = |side: usize| decision.offers.iter().find(|offer| offer.side == side);
        let is_ahead = decision.offers.first().is_some_and(|best| best.side == 0);
        let (bps, db) = (seen(decision.ahead_bps, is_ahead), seen(decision.ahead_db, is_ahead));
        let gives_nothing = decision.offers.iter().all(|offer| offer.goodput.bits() <= 0.0);
        // How far the other group may be ahead is not looked for.
        let is_end = |is_other: bool| decision.is_decided || is_other;
        let name = |side| of(side).map_or_else(String::new, Offer::name);
        let goodput = |side| of(side).map(|offer| offer.goodput.bits());
        let better = match (decision.is_decided, is_ahead) {
            (false, _) => "undecided",
            (true, true) => arguments.word(&FIRST),
            (true, false) => arguments.word(&SECOND),
        };
    }
    results {
        "better" = better.to_owned(), "the group whose interval is above that of the other one, or undecided";
        "first_best" = name(0), "best modulation and code of the first group";
        "first_goodput" = goodput(0), "its goodput, bit/s";
        "second_best" = name(1), "best modulation and code of the second group";
        "second_goodput" = goodput(1), "its goodput, bit/s";
        "lead_bps" = bps.map(|of| of.value), "goodput by which the first group is ahead, bit/s";
        "lead_bps_low" = bps.map(|of| of.low), "lower end of its interval, bit/s";
        "lead_bps_high" = bps.map(|of| of.high), "upper end, bit/s";
        "lead_db" = db.map(|of| of.value), "C/N0 that the better group can lose until its goodput is that of the other one now, dB; negative if that is the second";
        "lead_db_low" = db.map(|of| of.low).filter(|_| is_end(!is_ahead)), "lower end of its interval, dB";
        "lead_db_high" = db.map(|of| of.high).filter(|_| is_end(is_ahead)), "upper end, dB";
        "enough_bits" = decision.enough.map(|of| to_f64(of.most_bits)), "most_bits of a measurement that would decide, by the error rates as they seem now";
        "enough_events" = decision.enough.map(|of| to_f64(of.events)), "events of that measurement";
    }
    remarks {
        if decision.enough.is_some() => "undecided: with most_bits of enough_bits and events of enough_events the intervals would not overlap";
        if gives_nothing => "every segment is lost with every code";
        if !decision.is_decided && decision.enough.is_none() && !gives_nothing => "the groups are too close to decide";
        if !decision.is_decided && db.is_some() => "undecided: the interval of lead_db ends beyond zero, where it was not looked for, and has no value on that side";
        if db.is_none() && !gives_nothing => "one of the groups gives nothing: there is no margin in dB";
    }
}
