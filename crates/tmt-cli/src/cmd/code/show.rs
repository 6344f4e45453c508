//! The answer in a sentence, and tables.

use fluid_tcp::model::envelope::{BEST, CN0, Decision, Enough, Offer, RATES, Ranged};
use tmt_core::coding::model::INTERLEAVER;
use tmt_core::coding::spec::Outer;
use tmt_core::model::Arguments;
use tmt_core::types::Show;

use super::{Flags, Point};
use crate::table::{Table, rounded, significant, wrap};

/// What closed forms of a Reed–Solomon code around a convolutional one lack (docs/models.md, Sec. 4.9).
const UNDERSTATED: &str = "closed forms understate the losses of Reed-Solomon around convolutional codes without interleaver, more \
                           than tenfold at rate 7/8; rates=measured decodes";

/// Whether no code delivers anything.
fn gives_nothing(decision: &Decision) -> bool {
    decision.offers[0].goodput.bits() <= 0.0
}

/// The answer in a sentence.
pub(super) fn answer(decision: &Decision) -> String {
    let best = &decision.offers[0];
    if gives_nothing(decision) {
        return "every segment is lost with every code".to_owned();
    }
    let (Some(next), Some(ahead)) = (decision.next(), decision.ahead_bps) else {
        return format!("{} is the only choice", best.name());
    };
    let margin = match decision.ahead_db {
        Some(db) if db.value >= 20.0 => {
            "; it gives as much as that with 20 dB less, or still less".to_owned()
        }
        Some(db) => format!("; it gives as much as that with {} less", in_db(db)),
        None => String::new(),
    };
    let kilo = |bits: f64| rounded(bits / 1000.0, 4);
    let interval = if ahead.low < ahead.high {
        format!(" [{}, {}]", kilo(ahead.low), kilo(ahead.high))
    } else {
        String::new()
    };
    let verdict = if decision.is_decided {
        "is best"
    } else {
        "may be best, undecided"
    };
    format!(
        "{} {verdict}: {} kbps, {}{interval} kbps ahead of {}{margin}",
        best.name(),
        kilo(best.goodput.bits()),
        kilo(ahead.value),
        next.name(),
    )
}

fn in_db(of: Ranged) -> String {
    if of.low < of.high {
        format!("{:.2} dB [{:.2}, {:.2}]", of.value, of.low, of.high)
    } else {
        format!("{:.2} dB", of.value)
    }
}

/// Conditions that hold for all points, in a paragraph.
pub(super) fn conditions(flags: &Flags, arguments: &Arguments) -> String {
    let value = |name: &str| {
        let key = BEST.key(name).ok();
        let value = key.and_then(|key| arguments.value(key));
        value.map_or_else(|| "-".to_owned(), |value| value.to_string())
    };
    let rates = match value("rates").as_str() {
        "measured" => format!(
            "decoded, at most {} bits a point, seed {}, {}; closed forms, which are exact, for rs alone and uncoded",
            value("most_bits"),
            value("seed"),
            value("decision")
        ),
        _ => "closed forms (rates=measured decodes)".to_owned(),
    };
    let depth = match value("depth").as_str() {
        "-" => String::new(),
        depth => format!(" of depth {depth}"),
    };
    let links = match value("connections").as_str() {
        "1" => "1 connection".to_owned(),
        several => format!("{several} connections, {} link", value("links")),
    };
    wrap(
        &format!(
            "C/N0 {}; {} symbols/s, share {}; tau {} s, buffer {} bdp, b {}, {links}, TCP by {}; error rates: {rates}; \
             interleaver {}{depth}",
            flags.cn0,
            value("symrate"),
            value("rho"),
            value("tau"),
            value("beta"),
            value("b"),
            value("tg"),
            value("interleaver"),
        ),
        "",
    )
}

/// A row: a point, and a code there.
pub(super) struct Row<'a> {
    point: &'a Point,
    offer: Option<Offer>,
}

impl<'a> Row<'a> {
    fn of(&self, get: impl Fn(&Offer) -> f64) -> Option<f64> {
        self.offer.as_ref().map(get)
    }

    fn decision(&self) -> Option<&'a Decision> {
        self.point.decision.as_ref().ok()
    }

    fn next(&self) -> Option<&'a Offer> {
        self.decision()?.next()
    }

    fn ahead_db(&self) -> Option<Ranged> {
        self.decision()?.ahead_db
    }

    fn ahead_bps(&self) -> Option<Ranged> {
        self.decision()?.ahead_bps
    }
}

/// The codes at one point, best first, for people.
pub(super) fn offers(point: &Point) -> Table<Row<'_>> {
    let offers = point.decision.iter().flat_map(|of| &of.offers);
    let rows = offers.map(|offer| Row {
        point,
        offer: Some(*offer),
    });
    named(Table::of(rows))
        .number("Ec/N0 dB", Show::Decimals(2), |row| {
            row.of(|offer| offer.ecn0_db)
        })
        .number("goodput kbps", Show::Kilo, |row| {
            row.of(|offer| offer.goodput.bits())
        })
        .number("of kbps", Show::Kilo, |row| {
            row.of(|offer| offer.goodput.rate)
        })
        .number("segments lost", Show::Significant(3), |row| {
            row.of(|offer| offer.errors.value)
        })
}

/// A row per C/N0, with all that programs get.
pub(super) fn rows(points: &[Point]) -> Table<Row<'_>> {
    let rows = points.iter().map(|point| Row {
        point,
        offer: point
            .decision
            .iter()
            .flat_map(|of| &of.offers)
            .next()
            .copied(),
    });
    let table = Table::of(rows)
        .plain("C/N0 dBHz", |row| {
            significant(row.point.arguments.number(&CN0))
        })
        .value("cn0_db", |row| row.point.arguments.number(&CN0))
        .names_so_far();
    named(table)
        .number("goodput kbps", Show::Kilo, |row| {
            row.of(|offer| offer.goodput.bits())
        })
        .key("goodput_bps")
        .value("goodput_bps_low", |row| row.of(|offer| offer.low))
        .value("goodput_bps_high", |row| row.of(|offer| offer.high))
        .value("information_rate_bps", |row| {
            row.of(|offer| offer.goodput.rate)
        })
        .value("ecn0_db", |row| row.of(|offer| offer.ecn0_db))
        .value("segment_error_rate", |row| {
            row.of(|offer| offer.errors.value)
        })
        .value("segment_error_rate_low", |row| {
            row.of(|offer| offer.errors.low)
        })
        .value("segment_error_rate_high", |row| {
            row.of(|offer| offer.errors.high)
        })
        .number("ahead dB", Show::Decimals(2), |row| {
            row.ahead_db().map(|of| of.value)
        })
        .key("ahead_db")
        .value("ahead_db_low", |row| row.ahead_db().map(|of| of.low))
        .value("ahead_db_high", |row| row.ahead_db().map(|of| of.high))
        .value("ahead_bps", |row| row.ahead_bps().map(|of| of.value))
        .value("ahead_bps_low", |row| row.ahead_bps().map(|of| of.low))
        .value("ahead_bps_high", |row| row.ahead_bps().map(|of| of.high))
        .words("decided", |row| {
            let decision = row.decision();
            decision.map(|of| if of.is_decided { "yes" } else { "no" })
        })
        .value("is_decided", |row| row.decision().map(|of| of.is_decided))
        .value("next_code", |row| row.next().map(|of| of.code.to_string()))
        .value("next_modulation", |row| row.next().map(Offer::modulation))
        .value("next_goodput_bps", |row| {
            row.next().map(|of| of.goodput.bits())
        })
        .value("refused", |row| row.point.decision.as_ref().err().cloned())
}

/// Adds the names of a code and its modulation.
fn named(table: Table<Row<'_>>) -> Table<Row<'_>> {
    table
        .words("modulation and code", |row| row.offer.map(|of| of.name()))
        .value("code", |row| row.offer.map(|of| of.code.to_string()))
        .value("modulation", |row| row.offer.map(|of| of.modulation()))
}

/// Warnings about answers that could mislead.
pub(super) fn warnings(points: &[Point]) -> Vec<String> {
    let of = |points: usize, all: usize| match all {
        1 => String::new(),
        _ => format!("{points} of {all} points: "),
    };
    let all = points.len();
    let decisions = || points.iter().flat_map(|point| &point.decision);
    let lost = decisions().filter(|decision| gives_nothing(decision));
    let undecided = decisions().filter(|of| !of.is_decided && !gives_nothing(of));
    let overlap = overlap(points);
    let bold = decisions().filter(|of| {
        let best = of.offers.first().map(|offer| offer.code);
        best.is_some_and(|code| {
            code.inner.is_some() && matches!(code.outer, Some(Outer::ReedSolomon { .. }))
        })
    });
    let is_bold = points.iter().any(|point| {
        point.arguments.word(&RATES) == "closed-form"
            && point.arguments.word(&INTERLEAVER) == "none"
    });
    let refused = points.iter().filter(|point| point.decision.is_err());
    let mut texts = Vec::new();
    for (count, text) in [
        (undecided.count(), overlap.as_str()),
        (if is_bold { bold.count() } else { 0 }, UNDERSTATED),
        (lost.count(), "every segment is lost with every code"),
        (
            refused.count(),
            "no answer; the column refused of CSV and JSON says why",
        ),
    ] {
        if count > 0 {
            texts.push(of(count, all) + text);
        }
    }
    texts
}

/// Why points are undecided, and what would decide them.
fn overlap(points: &[Point]) -> String {
    let is_measured = |point: &Point| point.arguments.word(&RATES) == "measured";
    if !points.iter().any(is_measured) {
        return "the best codes give the same, or less than 1 % apart where TCP is drawn to 0.5 % (connections on one link)".to_owned();
    }
    let open = points.iter().flat_map(|point| &point.decision);
    let open: Vec<&Decision> = open
        .filter(|of| !of.is_decided && !gives_nothing(of))
        .collect();
    let enough: Vec<Enough> = open.iter().filter_map(|of| of.enough).collect();
    let longest = enough.iter().map(|of| of.most_bits).max();
    let Some(longest) = longest else {
        return "the intervals of the best codes overlap, and no measurement up to 10^13 bits would decide".to_owned();
    };
    let events = enough.iter().map(|of| of.events).max().unwrap_or_default();
    let some = if enough.len() < open.len() {
        format!("{} of them", enough.len())
    } else {
        "it".to_owned()
    };
    format!(
        "the intervals of the best codes overlap; most_bits={longest:e} events={events} should decide {some}, and --cache FILE keeps what \
         is measured"
    )
}
