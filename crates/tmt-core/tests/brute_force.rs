//! [`SchemeRunner`] and its summary compared with the naive model in `oracle/`, on random links and schemes
//! (docs/schemes.md, Sec. 2–8).

use crate::oracle::random::{self, Link};
use crate::oracle::{self, Code, Kind, TimeAndDelay};
use proptest::prelude::*;
use test_support::cases;
use tmt_core::format::text::encode;
use tmt_core::scheme::runner::{RunnerError, SchemeRunner};
use tmt_core::stats::{LinkSummary, LlduTally, SlotTally};
use tmt_core::types::{EndLine, ErrorKind, Fate, Lldu, Slot, Span, Time};

fn slot((t, d): TimeAndDelay) -> Slot {
    Slot::new(Time::from_nanos(t).unwrap(), Span::from_nanos(d).unwrap()).unwrap()
}

fn walk(code: &Code, link: &Link) -> SchemeRunner {
    let span = |nanos| Span::from_nanos(nanos).unwrap();
    SchemeRunner::new(
        code.text.parse().unwrap(),
        span(link.rtt),
        span(link.feedback),
    )
}

/// Output of the crate for `link`, pushed in slices of these lengths in turn.
fn in_slices(code: &Code, link: &Link, lengths: &[usize]) -> (Vec<Lldu>, EndLine, LinkSummary) {
    let mut runner = walk(code, link);
    let (mut lldus, mut before, mut after) =
        (Vec::new(), SlotTally::default(), LlduTally::default());
    let slots: Vec<Slot> = link.trace.iter().copied().map(slot).collect();
    let (mut rest, mut counted) = (&slots[..], 0);
    for length in lengths.iter().cycle() {
        let (slice, remaining) = rest.split_at(rest.len().min(*length));
        rest = remaining;
        runner.push_slots(slice, &mut lldus).unwrap();
        before.slots(slice);
        after.lldus(&lldus[counted..]);
        counted = lldus.len();
        if rest.is_empty() {
            break;
        }
    }
    let end = runner.finish(&mut lldus);
    after.lldus(&lldus[counted..]);
    let [rtt, feedback] = [link.rtt, link.feedback].map(|nanos| Span::from_nanos(nanos).unwrap());
    let summary = LinkSummary::new(
        runner.scheme(),
        rtt,
        feedback,
        runner.unit_counts(),
        &before,
        &after,
    );
    (lldus, end, summary)
}

/// Output of the crate for `link`, pushed as one slice.
fn real(code: &Code, link: &Link) -> (Vec<Lldu>, EndLine, LinkSummary) {
    in_slices(code, link, &[usize::MAX])
}

/// Output of the model for `link`.
fn model(code: &Code, link: &Link) -> (Vec<Lldu>, EndLine, LinkSummary) {
    let history = oracle::saturated(code, &link.trace, link.rtt + link.feedback);
    let rows = oracle::rows(code, &link.trace, &history);
    let end = oracle::end_line(&link.trace, &rows);
    let summary = oracle::summary(code, &link.trace, &history, &rows, link.rtt, link.feedback);
    (rows, end, summary)
}

fn encoded(lldus: &[Lldu]) -> String {
    let mut out = Vec::new();
    encode::timeline_header(&mut out);
    for lldu in lldus {
        encode::lldu(lldu, &mut out);
    }
    String::from_utf8(out).unwrap()
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn rows_equal(code in random::code(), link in random::link(400)) {
        prop_assert_eq!(real(&code, &link).0, model(&code, &link).0);
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn written_rows_equal_byte_for_byte(code in random::code(), link in random::link(200)) {
        prop_assert_eq!(encoded(&real(&code, &link).0), oracle::text(&model(&code, &link).0));
    }

    #[test]
    fn summary_equals(code in random::code(), link in random::link(400)) {
        prop_assert_eq!(real(&code, &link).2, model(&code, &link).2);
    }

    #[test]
    fn end_line_equals(code in random::code(), link in random::link(400)) {
        prop_assert_eq!(real(&code, &link).1, model(&code, &link).1);
    }

    #[test]
    fn units_add_up_to_slots(code in random::code(), link in random::link(400)) {
        let (rows, _, summary) = real(&code, &link);
        prop_assert_eq!(summary.units_data + summary.units_repair + summary.units_repeated, link.trace.len() as u64);
        prop_assert_eq!(summary.units_data, rows.len() as u64);
        prop_assert_eq!(summary.delivered + summary.lost + summary.censored, rows.len() as u64);
    }

    #[test]
    fn in_order_deliveries_do_not_decrease(code in random::code(), link in random::link(400)) {
        let code = in_order(code);
        let mut last = 0;
        for lldu in real(&code, &link).0.iter().filter(|lldu| lldu.fate == Fate::Delivered) {
            let delivery = lldu.tx_time.as_nanos() + lldu.decode_delay.as_nanos();
            prop_assert!(delivery >= last, "{} after {}", delivery, last);
            last = delivery;
        }
    }

    #[test]
    fn in_order_only_adds_delay(code in random::code(), link in random::link(400)) {
        let without = Code { text: code.text.replace(",in-order", ""), ..code.clone() };
        let (with, without) = (real(&in_order(code), &link).0, real(&without, &link).0);
        prop_assert_eq!(with.len(), without.len());
        for (with, without) in with.iter().zip(&without) {
            prop_assert_eq!(Lldu { decode_delay: without.decode_delay, ..*with }, *without);
            prop_assert!(with.decode_delay >= without.decode_delay);
        }
    }

    #[test]
    fn slicing_does_not_change_the_output(
        code in random::code(), link in random::link(400), lengths in prop::collection::vec(0usize..60, 1..8),
    ) {
        let mut lengths = lengths;
        lengths.push(7);
        let whole = real(&code, &link);
        prop_assert_eq!(&in_slices(&code, &link, &lengths), &whole);
        prop_assert_eq!(&in_slices(&code, &link, &[1]), &whole);
    }

    #[test]
    fn a_row_does_not_change_with_a_longer_trace(
        code in random::code(), link in random::link(200), part in 0.0f64..1.0,
    ) {
        // A row is returned when its fate is known: no later slot may change it.
        let whole = real(&code, &link).0;
        let mut runner = walk(&code, &link);
        let mut early = Vec::new();
        for &each in link.trace.iter().take(share(part, link.trace.len())) {
            runner.push_slots(&[slot(each)], &mut early).unwrap();
        }
        prop_assert_eq!(&whole[..early.len()], &early[..]);
    }
}

fn in_order(mut code: Code) -> Code {
    if !code.in_order {
        code.in_order = true;
        code.text += ",in-order";
    }
    code
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a few hundred"
)]
fn share(part: f64, whole: usize) -> usize {
    (part * whole as f64) as usize
}

/// The comparison is only meaningful if the random links reach all cases.
#[test]
fn the_random_links_reach_every_case() {
    let mut seen = std::collections::BTreeMap::new();
    // At any depth: the bound below is for this number of links.
    let config = ProptestConfig {
        cases: 3000,
        ..cases(3000)
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let cell = std::cell::RefCell::new(&mut seen);
    let strategy = (random::code(), random::link(400));
    let run = runner.run(&strategy, |(code, link)| {
        let history = oracle::saturated(&code, &link.trace, link.rtt + link.feedback);
        let rows = oracle::rows(&code, &link.trace, &history);
        let fate = |fate| rows.iter().any(|row| row.fate == fate);
        let mut seen = cell.borrow_mut();
        let mut count =
            |name: &'static str, met: bool| *seen.entry(name).or_insert(0) += u32::from(met);
        count("lost", fate(Fate::Lost));
        count("censored", fate(Fate::Censored));
        count(
            "recovered",
            rows.iter()
                .any(|row| row.fate == Fate::Delivered && row.attempts > 1),
        );
        count(
            "many attempts",
            rows.iter()
                .any(|row| row.fate == Fate::Delivered && row.attempts > 5),
        );
        count(
            "repeats",
            history.sent.iter().any(|unit| unit.kind == Kind::Repeat),
        );
        count(
            "interleaved",
            code.interleave > 1 && history.sent.iter().any(|unit| unit.codeword > 3),
        );
        count(
            "repeated frames",
            code.frame
                && code.n > 1
                && rows
                    .iter()
                    .any(|row| row.fate == Fate::Delivered && row.attempts > 1),
        );
        count(
            "failed after repeats",
            rows.iter()
                .any(|row| row.fate == Fate::Lost && row.attempts > 1),
        );
        count(
            "unit received after its codeword was complete",
            code.nd > 1 && rows.iter().any(|row| row.decode_delay.as_nanos() > 1 << 39),
        );
        Ok(())
    });
    run.unwrap();
    for (name, times) in seen {
        // The rarest case occurs about 80 times on average.
        assert!(times >= 30, "{name}: only {times} of 3000 links");
    }
}

/// Whether each scheme with repeats refuses two erased slots at `t`.
fn refusals(t: u64, rtt: u64, feedback: u64) -> Vec<bool> {
    let schemes = ["arq", "harq:1/2", "frame-arq:1/1,rounds=1"];
    let refused = |scheme: &str| {
        let span = |nanos| Span::from_nanos(nanos).unwrap();
        let mut runner = SchemeRunner::new(scheme.parse().unwrap(), span(rtt), span(feedback));
        let mut out = Vec::new();
        let results = [0, 1].map(|_| runner.push_slots(&[slot((t, 0))], &mut out));
        for result in &results {
            assert!(
                matches!(
                    result,
                    Ok(())
                        | Err(RunnerError {
                            index: 0,
                            kind: ErrorKind::SumTooLarge { .. },
                            ..
                        })
                ),
                "{scheme}: {result:?}"
            );
        }
        results.iter().any(Result::is_err)
    };
    schemes.map(refused).to_vec()
}

/// t + RTT + fb above 2^63 − 1 ns is refused; the limit itself is accepted.
#[test]
fn a_repeat_ready_after_the_latest_time_is_refused_and_one_at_it_is_not() {
    let last = i64::MAX.unsigned_abs();
    for (t, rtt, feedback) in [
        (last - 1000, 1000, 0),
        (last - 1000, 500, 500),
        (0, last, 0),
        (0, 1, last - 1),
        (last, 0, 0),
    ] {
        assert_eq!(
            refusals(t, rtt, feedback),
            [false; 3],
            "{t} {rtt} {feedback}"
        );
    }
    for (t, rtt, feedback) in [
        (last - 1000, 1001, 0),
        (last - 1000, 500, 501),
        (1, last, 0),
        (last, 0, 1),
        (1, last, last),
    ] {
        assert_eq!(
            refusals(t, rtt, feedback),
            [true; 3],
            "{t} {rtt} {feedback}"
        );
    }
}

#[test]
fn rtt_and_feedback_delay_whose_sum_is_too_long_are_refused() {
    let last = i64::MAX.unsigned_abs();
    for (rtt, feedback) in [(last, 1), (1, last), (last, last)] {
        assert_eq!(refusals(0, rtt, feedback), [true; 3], "{rtt} {feedback}");
    }
}

#[test]
fn a_refused_repeat_is_reported_with_the_index_of_its_slot() {
    let seconds = |t: u64, d| slot((t * 1_000_000_000, d));
    let slots = [
        seconds(1, 5),
        seconds(9_223_372_036, 5),
        seconds(9_223_372_036, 0),
        seconds(9_223_372_036, 5),
    ];
    let mut out = Vec::new();
    let mut runner = SchemeRunner::new("arq".parse().unwrap(), Span::from_secs(1), Span::ZERO);
    let RunnerError { index, slot, kind } = runner.push_slots(&slots, &mut out).unwrap_err();
    assert!(matches!(kind, ErrorKind::SumTooLarge { .. }), "{kind:?}");
    assert_eq!((index, slot), (2, 3));
    assert_eq!(out.len(), 2, "the rows before it are returned");
}

#[test]
fn the_index_of_a_refused_slot_is_that_in_a_long_slice() {
    let slots: Vec<Slot> = (0..20_000)
        .map(|t| slot((t, u64::from(t != 15_000))))
        .collect();
    for scheme in ["arq", "harq:3/3", "frame-arq:3/3"] {
        let mut out = Vec::new();
        let mut runner = SchemeRunner::new(scheme.parse().unwrap(), Span::MAX, Span::ZERO);
        let index = runner.push_slots(&slots, &mut out).unwrap_err().index;
        // The codewords of three end in slot 15,002.
        assert_eq!(
            index,
            if scheme == "arq" { 15_000 } else { 15_002 },
            "{scheme}"
        );
        assert_eq!(out.len(), 15_000, "{scheme}");
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn rows_before_a_refused_slot_do_not_depend_on_slicing(
        code in random::code(), link in random::link(300), part in 0.0f64..1.0, length in 1usize..60,
    ) {
        // The latest time at which a repeat can be requested is inside the trace.
        let slots: Vec<Slot> = link.trace.iter().copied().map(slot).collect();
        let latest = slots[share(part, slots.len())].tx_time();
        let rtt = Span::from_nanos(Time::MAX.as_nanos() - latest.as_nanos()).unwrap();
        let new = || SchemeRunner::new(code.text.parse().unwrap(), rtt, Span::ZERO);
        let run = |length: usize| {
            let (mut runner, mut out) = (new(), Vec::new());
            for (number, slice) in slots.chunks(length).enumerate() {
                if let Err(error) = runner.push_slots(slice, &mut out) {
                    assert_eq!(error.slot, (number * length + error.index) as u64 + 1);
                    return (Some(number * length + error.index), out);
                }
            }
            (None, out)
        };
        let by_one = run(1);
        prop_assert_eq!(&run(length), &by_one);
        prop_assert_eq!(&run(slots.len()), &by_one);
        let fit = new().repeats_fit_until().unwrap();
        prop_assert_eq!(fit, if code.rounds == Some(0) { Time::MAX } else { latest });
        prop_assert!(by_one.0.is_none_or(|index| slots[index].tx_time() > fit));
    }
}

#[test]
fn repeats_never_fit_if_the_feedback_takes_too_long() {
    let [last, one] = [Span::MAX, Span::from_nanos(1).unwrap()];
    let fit =
        |scheme: &str| SchemeRunner::new(scheme.parse().unwrap(), last, one).repeats_fit_until();
    assert_eq!(fit("arq"), None);
    assert_eq!(fit("fec:2/3"), Some(Time::MAX));
}
