use std::cell::RefCell;

use test_support::depth;
use tmt_core::math::num::floor_u64;
use tmt_core::types::to_f64;

use super::super::{Law, Links, all};
use super::*;

const PATH: Path = Path {
    tau: 0.5,
    beta: 0.8,
    per_ack: 2.0,
    timeout: 1.0,
    law: Law::Hybrid,
    connections: 1.0,
    links: Links::Shared,
};

fn question<'a>(cn0_db: f64, codes: &'a [CodeSpec], rates: Rates<'a>) -> Question<'a> {
    Question {
        carrier: Carrier {
            cn0_db,
            bits: 1.0,
            symbols: 2e6,
            part: 0.5,
        },
        codes,
        sides: None,
        path: PATH,
        interleaver: Interleaver::None,
        rates,
    }
}

/// Goodput by closed forms of every code and modulation, without any of the module's shortcuts.
fn brute_force(cn0_db: f64, codes: &[CodeSpec]) -> Vec<(f64, f64, CodeSpec)> {
    let mut all = Vec::new();
    for bits in [1.0, 2.0] {
        for code in codes {
            let closed = ser::Code {
                interleaver: ser::Interleaver::None,
                ..code.closed_form(code.segment_bytes())
            };
            let rate = bits * 1e6 * closed.rate();
            // 10 lg 10^6, and of 2.
            let ecn0_db = cn0_db - 60.0 - (bits - 1.0) * 3.010_299_956_639_812;
            let lost = closed.errors_at(ecn0_db).segment;
            let norm = PATH.goodput(rate / closed.segment_bits(), lost).unwrap();
            all.push((rate * norm, bits, *code));
        }
    }
    all.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    all
}

#[test]
fn the_best_two_are_those_of_all_codes_and_the_margins_are_theirs() {
    let codes = all();
    assert_eq!(codes.len(), 5 + 1 + 5 + 8 + 10 + 25);
    for cn0_db in [60.0, 63.5, 66.0, 68.0, 69.0, 72.0, 75.0, 79.0] {
        let found = question(cn0_db, &codes, Rates::ClosedForm)
            .answer()
            .unwrap();
        let expected = brute_force(cn0_db, &codes);
        for (offer, (bits, eta, code)) in found.offers.iter().zip(&expected).take(2) {
            assert_eq!((offer.code, offer.goodput.eta), (*code, *eta), "{cn0_db}");
            assert!((offer.goodput.bits() / bits - 1.0).abs() < 1e-9, "{cn0_db}");
        }
        assert!(found.is_decided, "{cn0_db}");
        let (ahead, lost) = (found.ahead_bps.unwrap(), found.ahead_db.unwrap());
        assert!((ahead.value - (expected[0].0 - expected[1].0)).abs() < 1e-3);
        assert!((lost.high - lost.low).abs() < 1e-12);
        let left = |less: f64| {
            let (_, eta, code) = expected[0];
            let both = brute_force(cn0_db - less, &[code]);
            let same = both.iter().find(|(_, other, _)| (*other - eta).abs() < 0.1);
            same.unwrap().0
        };
        assert!(
            left(lost.value - 0.01) >= expected[1].0,
            "{cn0_db} {lost:?}"
        );
        assert!(
            lost.value >= 20.0 || left(lost.value) < expected[1].0,
            "{cn0_db} {lost:?}"
        );
    }
}

/// Counts that a measurement of as many bits would give, if the segments of a code failed at its closed form `dB` further on.
fn counted(code: &CodeSpec, settings: &Settings, more: f64) -> Tally {
    let closed = ser::Code {
        interleaver: ser::Interleaver::None,
        ..code.closed_form(code.segment_bytes())
    };
    let lost = closed.errors_at(settings.link.ecn0_db + more).segment;
    let all = settings.most_bits / floor_u64(closed.segment_bits());
    // It stops after as many errors as are asked for.
    let enough = to_f64(settings.events) / lost;
    let all = if enough < to_f64(all) {
        floor_u64(enough).max(1)
    } else {
        all
    };
    Tally {
        all,
        failures: floor_u64((lost * to_f64(all)).round()),
        undetected: 0,
    }
}

const SETTINGS: Settings = Settings {
    link: Link {
        ecn0_db: 0.0,
        decision: tmt_core::coding::simulation::Decision::Quantised,
        interleaver: Interleaver::None,
        segment_bytes: None,
        seed: 1,
        point: 0,
    },
    event: tmt_core::coding::measure::Event::Segments,
    events: 100,
    most_bits: 10_000_000_000,
    stopped: tmt_core::types::Stopped::NEVER,
};

#[test]
fn measurements_that_agree_with_the_closed_forms_give_their_answer_and_long_ones_go_to_the_best() {
    let codes = all();
    for &cn0_db in depth(&[66.0][..], &[66.0, 72.0]) {
        let theory = question(cn0_db, &codes, Rates::ClosedForm)
            .answer()
            .unwrap();
        let asked = RefCell::new(Vec::new());
        let measure = |code: &CodeSpec, settings: &Settings| {
            asked
                .borrow_mut()
                .push((*code, settings.link.ecn0_db, settings.most_bits));
            Ok(counted(code, settings, 0.0))
        };
        let rates = Rates::Measured(SETTINGS, &measure);
        let found = question(cn0_db, &codes, rates).answer().unwrap();
        let (best, expected) = (&found.offers[0], &theory.offers[0]);
        assert_eq!(
            (best.code, best.goodput.eta),
            (expected.code, expected.goodput.eta)
        );
        let holds = |of: Ranged, theory: Ranged| of.low <= theory.value && theory.value <= of.high;
        assert!(
            holds(found.ahead_bps.unwrap(), theory.ahead_bps.unwrap()),
            "{cn0_db}"
        );
        assert!(
            holds(found.ahead_db.unwrap(), theory.ahead_db.unwrap()),
            "{cn0_db}"
        );
        // Most codes are left out, or measured briefly.
        let asked = asked.borrow();
        let long = asked.iter().filter(|(.., bits)| *bits > FIRST_BITS);
        let mut long: Vec<CodeSpec> = long.map(|(code, ..)| *code).collect();
        long.dedup();
        long.sort_by_key(ToString::to_string);
        long.dedup();
        assert!(long.len() < 8, "{long:?}");
        let is_asked = asked.iter().any(|(code, ..)| *code == best.code);
        assert_ne!(is_asked, is_exact(&best.code), "{cn0_db} {}", best.code);
    }
}

#[test]
fn a_code_that_fails_where_its_closed_form_does_not_loses() {
    let codes = all();
    let best = question(66.0, &codes, Rates::ClosedForm)
        .answer()
        .unwrap()
        .offers[0]
        .code;
    let measure = |code: &CodeSpec, settings: &Settings| {
        Ok(counted(
            code,
            settings,
            if *code == best { -3.0 } else { 0.0 },
        ))
    };
    let found = question(66.0, &codes, Rates::Measured(SETTINGS, &measure))
        .answer()
        .unwrap();
    assert_ne!(found.offers[0].code, best);
    assert!(found.is_decided);
}

/// Two codes that are measured, of nearly one rate.
fn close() -> [CodeSpec; 2] {
    ["conv:7/8+rs:239/223", "conv:7/8+rs:231/223"].map(|code| code.parse().unwrap())
}

#[test]
fn short_measurements_of_codes_that_are_close_do_not_decide() {
    // No error in few segments: the bounds on their losses reach each other.
    let codes = close();
    let measure = |code: &CodeSpec, settings: &Settings| Ok(counted(code, settings, 0.0));
    let short = Settings {
        most_bits: 1_000_000,
        ..SETTINGS
    };
    let found = question(72.0, &codes, Rates::Measured(short, &measure))
        .answer()
        .unwrap();
    assert!(!found.is_decided);
    assert!(found.ahead_bps.unwrap().low < 0.0 && found.ahead_db.unwrap().low.abs() < 1e-9);
    let long = question(72.0, &codes, Rates::Measured(SETTINGS, &measure));
    assert!(long.answer().unwrap().is_decided);
}

#[test]
fn ties_and_codes_that_give_nothing_decide_nothing() {
    let twice = ["rs:239/223"; 2].map(|code| code.parse().unwrap());
    let found = question(72.0, &twice, Rates::ClosedForm).answer().unwrap();
    assert!(
        !found.is_decided && found.ahead_db.unwrap().value.abs() < 0.011,
        "{found:?}"
    );
    let codes = all();
    let lost = question(20.0, &codes, Rates::ClosedForm).answer().unwrap();
    assert!(!lost.is_decided && lost.offers.len() == 2, "{lost:?}");
}

#[test]
fn hard_decisions_are_not_left_out_by_what_soft_ones_do() {
    // Every code fails as if it had 2.5 dB less: the best is one that soft decisions put far behind.
    let mut codes = all();
    codes.retain(|code| !is_exact(code));
    let hard = Settings {
        link: Link {
            decision: Decider::Hard,
            ..SETTINGS.link
        },
        ..SETTINGS
    };
    let measure = |code: &CodeSpec, settings: &Settings| Ok(counted(code, settings, -2.5));
    let found = question(66.0, &codes, Rates::Measured(hard, &measure))
        .answer()
        .unwrap();
    let expected = question(63.5, &codes, Rates::ClosedForm).answer().unwrap();
    assert_eq!(found.offers[0].code, expected.offers[0].code);
}

#[test]
fn one_code_has_no_margin_and_none_is_refused() {
    let one = [CodeSpec::default()];
    let mut only = question(80.0, &one, Rates::ClosedForm).answer().unwrap();
    // The other modulation is a choice, too.
    assert_eq!(only.offers.len(), 2);
    only.offers.truncate(1);
    assert_eq!(only.offers[0].modulation(), "QPSK");
    assert!(question(80.0, &[], Rates::ClosedForm).answer().is_err());
}

/// The codes and sides of a comparison: outer codes around convolutional ones on side 0, others on side 1.
fn sided() -> (Vec<CodeSpec>, Vec<usize>) {
    let codes: Vec<CodeSpec> = all()
        .into_iter()
        .filter(|code| *code != CodeSpec::default())
        .collect();
    let sides = codes
        .iter()
        .map(|code| usize::from(code.inner.is_none() || code.outer.is_none()));
    let sides = sides.collect();
    (codes, sides)
}

#[test]
fn a_side_is_as_good_as_its_best_code_and_loses_as_much_as_all_of_them_can() {
    let (codes, sides) = sided();
    for &cn0_db in depth(&[68.0][..], &[65.0, 68.0, 70.0, 74.0]) {
        let asked = Question {
            sides: Some(&sides),
            ..question(cn0_db, &codes, Rates::ClosedForm)
        };
        let found = asked.answer().unwrap();
        let best = |less: f64, side: usize| {
            let all = brute_force(cn0_db - less, &codes);
            let place = |code: &CodeSpec| codes.iter().position(|known| known == code).unwrap();
            let on_side = all.iter().find(|(.., code)| sides[place(code)] == side);
            on_side.unwrap().0
        };
        let first = found.offers[0].side;
        let next = found.next().unwrap();
        assert_ne!(next.side, first);
        let (high, low) = (best(0.0, first), best(0.0, 1 - first));
        assert!(high > low && found.is_decided, "{cn0_db}");
        assert!(
            (found.offers[0].goodput.bits() / high - 1.0).abs() < 1e-9,
            "{cn0_db}"
        );
        assert!((next.goodput.bits() / low - 1.0).abs() < 1e-9, "{cn0_db}");
        let lost = found.ahead_db.unwrap().value;
        assert!(
            best(lost - 0.01, first) >= low && best(lost, first) < low,
            "{cn0_db} {lost}"
        );
    }
}

#[test]
fn measured_sides_meet_the_closed_forms_that_they_are_drawn_from() {
    let (codes, sides) = sided();
    let measure = |code: &CodeSpec, settings: &Settings| Ok(counted(code, settings, 0.0));
    for &cn0_db in depth(&[66.0][..], &[66.0, 72.0]) {
        let asked = |rates| {
            let asked = Question {
                sides: Some(&sides),
                ..question(cn0_db, &codes, rates)
            };
            asked.answer().unwrap()
        };
        let theory = asked(Rates::ClosedForm);
        let found = asked(Rates::Measured(SETTINGS, &measure));
        assert!(found.is_decided && found.enough.is_none(), "{cn0_db}");
        assert_eq!(found.offers[0].side, theory.offers[0].side);
        let holds =
            |of: Ranged, theory: Ranged| of.low <= theory.value + 0.04 && theory.value <= of.high;
        let (db, bps) = (found.ahead_db.unwrap(), found.ahead_bps.unwrap());
        assert!(holds(db, theory.ahead_db.unwrap()), "{cn0_db} {db:?}");
        assert!(holds(bps, theory.ahead_bps.unwrap()), "{cn0_db} {bps:?}");
    }
}

#[test]
fn what_is_said_to_be_enough_decides_and_half_a_decade_less_does_not() {
    let codes = close();
    // A quarter of a dB worse than the closed forms, which is what is expected where no error is seen.
    let measure = |code: &CodeSpec, settings: &Settings| Ok(counted(code, settings, -0.25));
    let with = |most_bits, events| {
        let settings = Settings {
            most_bits,
            events,
            ..SETTINGS
        };
        let asked = question(72.0, &codes, Rates::Measured(settings, &measure));
        asked.answer().unwrap()
    };
    let enough = with(1_000_000, 100).enough.unwrap();
    assert!(
        with(enough.most_bits, enough.events).is_decided,
        "{enough:?}"
    );
    assert!(
        !with(enough.most_bits / 3, enough.events).is_decided,
        "{enough:?}"
    );
    // Codes that are the same are never told apart, and closed forms measure nothing.
    let twice = [codes[0]; 2];
    let settings = Settings {
        most_bits: 1_000_000,
        ..SETTINGS
    };
    let same = question(72.0, &twice, Rates::Measured(settings, &measure));
    let same = same.answer().unwrap();
    assert!(!same.is_decided && same.enough.is_none());
}

#[test]
fn reed_solomon_alone_and_no_code_are_not_measured_and_decide_at_once() {
    let codes = ["rs:239/223", "rs:231/223", "uncoded"].map(|code| code.parse().unwrap());
    let measure = |code: &CodeSpec, _: &Settings| -> Result<Tally, ModelError> {
        panic!("{code} is measured")
    };
    for cn0_db in [67.0, 69.0, 72.0] {
        let found = question(cn0_db, &codes, Rates::Measured(SETTINGS, &measure));
        let found = found.answer().unwrap();
        let theory = question(cn0_db, &codes, Rates::ClosedForm)
            .answer()
            .unwrap();
        assert_eq!(found.offers[..2], theory.offers[..2], "{cn0_db}");
        assert_eq!(found.ahead_bps, theory.ahead_bps);
        let db = |of: &Decision| of.ahead_db.map(|ahead| ahead.value);
        let off = db(&found).unwrap_or(0.0) - db(&theory).unwrap_or(0.0);
        assert!(
            found.is_decided && (0.0..0.04).contains(&off),
            "{cn0_db} {off}"
        );
    }
}

#[test]
fn a_race_goes_on_until_its_lead_is_clear_and_no_longer() {
    let codes = ["conv:1/2+rs:239/223", "conv:7/8+rs:239/223"].map(|code| code.parse().unwrap());
    let longest = RefCell::new(0);
    let measure = |code: &CodeSpec, settings: &Settings| {
        // Of the race; its margin is measured with less signal.
        if settings.link.ecn0_db > 16.98 {
            let mut longest = longest.borrow_mut();
            *longest = settings.most_bits.max(*longest);
        }
        Ok(counted(code, settings, 0.0))
    };
    let with = |most_bits| {
        let settings = Settings {
            most_bits,
            ..SETTINGS
        };
        let found = question(80.0, &codes, Rates::Measured(settings, &measure));
        let found = found.answer().unwrap();
        let ahead = found.ahead_bps.unwrap();
        (found.is_decided, ahead.high - ahead.low <= ahead.value)
    };
    // The longest that decides without a clear lead.
    let bits = (0..6).map(|power| 10_000_000 * 10_u64.pow(power));
    let decided = bits
        .into_iter()
        .find(|bits| with(*bits) == (true, false))
        .unwrap();
    *longest.borrow_mut() = 0;
    assert_eq!(with(u64::MAX), (true, true));
    let longest = *longest.borrow();
    assert!(
        longest > decided && longest < 1_000 * decided,
        "{decided} {longest}"
    );
}

#[test]
fn the_best_of_a_side_is_what_is_known_to_be_good() {
    // The faster code has had no error in few segments; that of the other side gives half as much.
    let codes = [
        "conv:3/4+rs:239/223",
        "conv:7/8+rs:239/223",
        "conv:1/2+rs:255/223",
    ];
    let codes = codes.map(|code| code.parse::<CodeSpec>().unwrap());
    let measure = |code: &CodeSpec, _: &Settings| {
        let all = if *code == codes[1] { 200 } else { 100_000_000 };
        Ok(Tally {
            all,
            failures: 0,
            undetected: 0,
        })
    };
    let asked = Question {
        sides: Some(&[0, 0, 1]),
        ..question(67.5, &codes, Rates::Measured(SETTINGS, &measure))
    };
    let found = asked.answer().unwrap();
    assert_eq!(found.offers[0].code, codes[0]);
    let hidden = found
        .offers
        .iter()
        .find(|offer| offer.code == codes[1])
        .unwrap();
    assert!(hidden.goodput.bits() > found.offers[0].goodput.bits());
    let ahead = found.ahead_bps.unwrap();
    assert!(
        ahead.high > hidden.high - found.next().unwrap().low - 1.0,
        "{ahead:?}"
    );
}

#[test]
fn a_side_that_gives_nothing_leaves_the_other_one_its_best_code() {
    let (codes, _) = sided();
    let mut codes = codes;
    codes.retain(|code| code.outer.is_some() && code.inner.is_some() || is_exact(code));
    let sides: Vec<usize> = codes
        .iter()
        .map(|code| usize::from(is_exact(code)))
        .collect();
    let measure = |code: &CodeSpec, settings: &Settings| Ok(counted(code, settings, 0.0));
    let answer = |rates| {
        let asked = Question {
            sides: Some(&sides),
            ..question(61.0, &codes, rates)
        };
        asked.answer().unwrap()
    };
    let (theory, found) = (
        answer(Rates::ClosedForm),
        answer(Rates::Measured(SETTINGS, &measure)),
    );
    assert!(found.next().unwrap().goodput.bits() < 1.0);
    assert_eq!(found.offers[0].code, theory.offers[0].code);
}

#[test]
fn the_lead_is_that_over_all_others() {
    let offer = |side, low, value, high| Offer {
        code: CodeSpec::default(),
        side,
        ecn0_db: 0.0,
        errors: Estimate {
            value: 0.0,
            low: 0.0,
            high: 0.0,
        },
        goodput: Goodput {
            eta: 1.0,
            rate: value,
            segment: 0.0,
            norm: 1.0,
        },
        low,
        high,
    };
    let offers = [
        offer(0, 9.9, 10.0, 10.1),
        offer(1, 7.9, 8.0, 8.1),
        offer(2, 5.0, 7.5, 9.0),
        offer(3, 1.0, 2.0, 3.0),
    ];
    let lead = lead(&offers).unwrap();
    let is = |one: f64, other: f64| (one - other).abs() < 1e-12;
    assert!(
        is(lead.value, 2.0) && is(lead.low, 0.9) && is(lead.high, 2.2),
        "{lead:?}"
    );
    let codes = [CodeSpec::default()];
    let asked = question(70.0, &codes, Rates::ClosedForm);
    // The third may be the next.
    assert_eq!(asked.due(&offers), [true, true, true, false]);
}

#[test]
fn a_code_that_there_is_not_is_refused() {
    let outer = Some(Outer::ReedSolomon { n: 300, k: 223 });
    let codes = [CodeSpec { inner: None, outer }];
    let refused = question(70.0, &codes, Rates::ClosedForm).answer();
    assert!(
        matches!(refused, Err(ModelError::Refused(_))),
        "{refused:?}"
    );
}
