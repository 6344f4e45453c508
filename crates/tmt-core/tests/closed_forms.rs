//! Schemes on independent erasures compared with closed forms, and schemes that must be equal compared with each other.
//!
//! A measured share must be within `Z` = 4.5 standard errors of its expectation (two-sided probability 7·10^-6 per
//! comparison under the normal distribution). Seeds are fixed, so the results are reproducible.

use crate::oracle::random::{self, Link};
use proptest::prelude::*;
use test_support::cases;
use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::format::text::encode;
use tmt_core::math::num::powi;
use tmt_core::scheme::runner::SchemeRunner;
use tmt_core::stats::{LinkSummary, LlduTally, SlotTally};
use tmt_core::types::{BitRate, Bytes, Fate, Lldu, Slot, Span, Time, to_f64};

const Z: f64 = 4.5;

/// 1000 B at 8 Mbps: exactly one slot per millisecond.
const SLOT_NS: u64 = 1_000_000;
const DELAY_NS: u64 = 36_000_000;

/// A link that erases each slot independently with probability `p`.
fn bernoulli(slots: u64, p: f64, seed: u64) -> Vec<Slot> {
    let duration = Span::from_nanos(slots * SLOT_NS).unwrap();
    let link = ConstantRate::new(
        BitRate(8_000_000),
        Bytes(1000),
        duration,
        Span::from_nanos(DELAY_NS).unwrap(),
    );
    let mut channel = Channel::new(ChannelSpec::Bernoulli { p }, seed);
    let erase = |slot: Slot| {
        if channel.erases() {
            Slot::erased(slot.tx_time())
        } else {
            slot
        }
    };
    let trace: Vec<Slot> = link.unwrap().map(erase).collect();
    assert_eq!(trace.len() as u64, slots);
    trace
}

fn apply(scheme: &str, trace: &[Slot], rtt: u64, feedback: u64) -> (Vec<Lldu>, LinkSummary) {
    let span = |nanos| Span::from_nanos(nanos).unwrap();
    let mut runner = SchemeRunner::new(scheme.parse().unwrap(), span(rtt), span(feedback));
    let mut lldus = Vec::new();
    runner.push_slots(trace, &mut lldus).unwrap();
    runner.finish(&mut lldus);
    let (mut before, mut after) = (SlotTally::default(), LlduTally::default());
    before.slots(trace);
    after.lldus(&lldus);
    let summary = LinkSummary::new(
        runner.scheme(),
        span(rtt),
        span(feedback),
        runner.unit_counts(),
        &before,
        &after,
    );
    (lldus, summary)
}

/// Asserts that `measured` is within `Z` standard errors of `expected`, and that the interval is narrow enough to be
/// meaningful.
fn near(measured: f64, expected: f64, standard_error: f64, what: &str) {
    assert!(
        Z * standard_error < 0.5 * expected,
        "{what}: {standard_error} is too coarse for {expected}"
    );
    let off = (measured - expected) / standard_error;
    assert!(
        off.abs() < Z,
        "{what}: {measured} for {expected}, {off:.2} standard errors off"
    );
}

/// Standard error of a share of `n` independent trials.
fn of_share(share: f64, n: f64) -> f64 {
    (share * (1.0 - share) / n).sqrt()
}

/// P(Bin(n, p) = k).
fn binomial(n: u32, k: u32, p: f64) -> f64 {
    let mut value = 1.0;
    for i in 0..k {
        value *= f64::from(n - i) / f64::from(k - i) * p;
    }
    value * powi(1.0 - p, u64::from(n - k))
}

/// Mean and variance of the data LLDUs that a systematic ND/N codeword loses.
///
/// With E erasures among its N units it loses nothing up to E = N − ND; above, it loses its erased
/// data units, which are hypergeometric given E. LLDUs of one codeword fail together, so the
/// variance is that of the codeword, not of ND independent LLDUs.
fn lost_by_codeword(nd: u32, n: u32, p: f64) -> (f64, f64) {
    let (data, all) = (f64::from(nd), f64::from(n));
    let (mut mean, mut square) = (0.0, 0.0);
    for erased in n - nd + 1..=n {
        let (probability, erased) = (binomial(n, erased, p), f64::from(erased));
        let here = erased * data / all;
        let spread = if n == 1 {
            0.0
        } else {
            here * (1.0 - erased / all) * (all - data) / (all - 1.0)
        };
        // Drawing ND of N units, `erased` of them erased: variance ND·(e/N)·(1 − e/N)·(N − ND)/(N − 1).
        mean += probability * here;
        square += probability * (spread + here * here);
    }
    (mean, square - mean * mean)
}

#[test]
fn the_helpers_agree_with_explicit_sums() {
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    close((0..=12).map(|k| binomial(12, k, 0.3)).sum(), 1.0);
    close(binomial(4, 2, 0.1), 6.0 * 0.01 * 0.81);
    // A data LLDU is lost if it is erased and at least N − ND of the other N − 1 units are.
    for (nd, n, p) in [
        (10, 12, 0.1),
        (3, 7, 0.4),
        (1, 1, 0.2),
        (5, 5, 0.3),
        (1, 4, 0.5),
    ] {
        let others: f64 = (n - nd..n).map(|k| binomial(n - 1, k, p)).sum();
        close(lost_by_codeword(nd, n, p).0, f64::from(nd) * p * others);
    }
    // 1/2 at p = 1/2: one LLDU lost with probability 1/4. 2/2: each unit by itself.
    close(lost_by_codeword(1, 2, 0.5).1, 0.25 * 0.75);
    close(lost_by_codeword(2, 2, 0.3).1, 2.0 * 0.3 * 0.7);
}

#[test]
fn without_a_scheme_the_residual_loss_is_p() {
    for (seed, p) in [(1, 0.001), (2, 0.01), (3, 0.1), (4, 0.5), (5, 0.9)] {
        let slots = 300_000;
        let (_, summary) = apply("none", &bernoulli(slots, p, seed), 500_000_000, 0);
        let error = of_share(p, to_f64(slots));
        near(
            summary.residual_loss.unwrap(),
            p,
            error,
            &format!("residual loss at {p}"),
        );
        near(
            summary.erasure_ratio.unwrap(),
            p,
            error,
            &format!("erasure ratio at {p}"),
        );
        assert_eq!((summary.lost, summary.censored), (summary.slots_erased, 0));
    }
}

#[test]
fn the_residual_loss_and_efficiency_of_fec_are_binomial() {
    let mut compared = 0;
    for (seed, p) in [(11, 0.02), (12, 0.1), (13, 0.3)] {
        for (nd, n, depth) in [
            (10, 12, 1u32),
            (10, 12, 4),
            (4, 5, 1),
            (5, 9, 3),
            (1, 2, 1),
            (7, 7, 2),
            (30, 40, 1),
        ] {
            // At 2 % some codes rarely lose a codeword, so more codewords are needed.
            let codewords = u64::from(depth) * if p < 0.05 { 100_000 } else { 20_000 };
            let (mean, variance) = lost_by_codeword(nd, n, p);
            let residual = mean / f64::from(nd);
            let error = (variance / to_f64(codewords)).sqrt();
            // Skip combinations that are still too rare, such as five erasures among nine.
            if Z * error > 0.49 * mean {
                continue;
            }
            compared += 1;
            let scheme = format!("fec:{nd}/{n},interleave={depth}");
            let what = format!("{scheme} at {p}");
            let trace = bernoulli(codewords * u64::from(n), p, seed);
            let (lldus, summary) = apply(&scheme, &trace, 500_000_000, 0);
            assert_eq!(
                (lldus.len() as u64, summary.censored),
                (codewords * u64::from(nd), 0),
                "{what}"
            );
            near(
                summary.residual_loss.unwrap(),
                residual,
                error / f64::from(nd),
                &what,
            );
            // Delivered LLDUs per codeword of N slots: ND less what is lost.
            let efficiency = (f64::from(nd) - mean) / f64::from(n);
            near(
                summary.efficiency.unwrap(),
                efficiency,
                error / f64::from(n),
                &what,
            );
        }
    }
    assert!(
        compared >= 16,
        "only {compared} of 21 comparisons were made"
    );
}

/// LLDUs that were sent early enough for 60 attempts before the end of the trace.
fn early(lldus: &[Lldu], slots: u64, wait: u64) -> &[Lldu] {
    let until = slots * SLOT_NS - 60 * (wait + SLOT_NS);
    let early = &lldus[..lldus.partition_point(|lldu| lldu.tx_time.as_nanos() < until)];
    assert!(early.iter().all(|lldu| lldu.fate != Fate::Censored));
    early
}

#[test]
fn arq_delivers_one_lldu_per_received_slot_and_loses_none() {
    for (seed, p) in [(21, 0.01), (22, 0.2), (23, 0.5)] {
        let slots = 200_000;
        let (_, summary) = apply("arq", &bernoulli(slots, p, seed), 500_000_000, 0);
        assert_eq!(
            (summary.delivered, summary.lost),
            (slots - summary.slots_erased, 0)
        );
        near(
            summary.efficiency.unwrap(),
            1.0 - p,
            of_share(p, to_f64(slots)),
            &format!("efficiency at {p}"),
        );
    }
}

#[test]
fn the_attempts_of_arq_are_geometric() {
    for (seed, p) in [(31, 0.05), (32, 0.2), (33, 0.5)] {
        let slots = 300_000;
        let wait = 500_000_000;
        let (lldus, _) = apply("arq", &bernoulli(slots, p, seed), wait, 0);
        // No two LLDUs share a slot, so their attempts are independent.
        let early = early(&lldus, slots, wait);
        let count = to_f64(early.len() as u64);
        let mut compared = 0;
        for attempts in 1..40u32 {
            let share = powi(p, u64::from(attempts) - 1) * (1.0 - p);
            if share * count < 200.0 {
                break;
            }
            let measured = early
                .iter()
                .filter(|lldu| lldu.attempts == attempts)
                .count() as u64;
            near(
                to_f64(measured) / count,
                share,
                of_share(share, count),
                &format!("{attempts} attempts at {p}"),
            );
            compared += 1;
        }
        assert!(compared >= 3, "only {compared} numbers of attempts at {p}");
    }
}

#[test]
fn the_delay_of_arq_grows_with_the_feedback_rounded_up_to_a_slot() {
    // Slots are equally spaced and at most one repeat becomes ready per slot, so repeats never queue:
    // an attempt is the first slot at or after the feedback, and the mean number of repeats is p/(1 − p).
    for (seed, p, rtt, feedback) in [
        (41, 0.1, 500_000_000u64, 0),
        (42, 0.3, 40_000_000, 17_300_000),
        (43, 0.5, 1, 0),
    ] {
        let slots = 200_000;
        let step = (rtt + feedback).div_ceil(SLOT_NS) * SLOT_NS;
        let (lldus, _) = apply("arq", &bernoulli(slots, p, seed), rtt, feedback);
        let early = early(&lldus, slots, step);
        for lldu in early {
            let expected = DELAY_NS + u64::from(lldu.attempts - 1) * step;
            assert_eq!(lldu.decode_delay.as_nanos(), expected, "{lldu:?}");
        }
        let count = to_f64(early.len() as u64);
        let repeats: u64 = early
            .iter()
            .map(|lldu| (lldu.decode_delay.as_nanos() - DELAY_NS) / step)
            .sum();
        // Geometric: mean p/(1 − p), standard deviation √p/(1 − p).
        near(
            to_f64(repeats) / count,
            p / (1.0 - p),
            p.sqrt() / (1.0 - p) / count.sqrt(),
            &format!("repeats at {p}"),
        );
    }
}

#[test]
fn arq_with_rounds_loses_what_is_erased_in_every_attempt() {
    for (seed, p, rounds) in [(51, 0.1, 0), (52, 0.2, 1), (53, 0.5, 3), (54, 0.7, 5)] {
        let slots = 200_000;
        let (lldus, _) = apply(
            &format!("arq:rounds={rounds}"),
            &bernoulli(slots, p, seed),
            20_000_000,
            0,
        );
        let early = early(&lldus, slots, 20_000_000);
        let lost = early.iter().filter(|lldu| lldu.fate == Fate::Lost);
        let count = to_f64(early.len() as u64);
        let share = powi(p, rounds + 1);
        near(
            to_f64(lost.count() as u64) / count,
            share,
            of_share(share, count),
            &format!("{rounds} rounds at {p}"),
        );
    }
}

#[test]
fn the_first_attempt_of_harq_decodes_as_often_as_fec() {
    for (seed, p, nd, n) in [(61, 0.1, 10, 12), (62, 0.3, 5, 9)] {
        let slots = u64::from(n) * 20_000;
        // The feedback takes so long that no repeat is sent: each codeword has only its first attempt.
        let trace = bernoulli(slots, p, seed);
        let (_, summary) = apply(&format!("harq:{nd}/{n}"), &trace, slots * SLOT_NS, 0);
        let (_, fec) = apply(&format!("fec:{nd}/{n}"), &trace, slots * SLOT_NS, 0);
        let (mean, variance) = lost_by_codeword(nd, n, p);
        let censored = to_f64(summary.censored) / 20_000.0;
        near(
            censored,
            mean,
            (variance / 20_000.0).sqrt(),
            &format!("censored LLDUs per codeword at {p}"),
        );
        assert_eq!((summary.censored, summary.lost), (fec.lost, fec.censored));
    }
}

fn slots(link: &Link) -> Vec<Slot> {
    let slot = |&(t, d): &(u64, u64)| {
        Slot::new(Time::from_nanos(t).unwrap(), Span::from_nanos(d).unwrap()).unwrap()
    };
    link.trace.iter().map(slot).collect()
}

/// The rows as bytes, and the summary without the text of the scheme.
fn outcome(scheme: &str, link: &Link) -> (Vec<u8>, LinkSummary) {
    let (lldus, summary) = apply(scheme, &slots(link), link.rtt, link.feedback);
    let mut out = Vec::new();
    for lldu in &lldus {
        encode::lldu(lldu, &mut out);
    }
    (
        out,
        LinkSummary {
            scheme: String::new(),
            ..summary
        },
    )
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn harq_without_rounds_is_fec_byte_for_byte(
        link in random::link(300), nd in 1u32..12, nr in 0u32..8, depth in 1u32..6, extra in 0u32..9, in_order in any::<bool>(),
    ) {
        let tail = format!("{nd}/{},interleave={depth}{}", nd + nr, if in_order { ",in-order" } else { "" });
        let harq = tail.replace(",interleave", &format!(",rounds=0,extra={extra},interleave"));
        prop_assert_eq!(outcome(&format!("harq:{harq}"), &link), outcome(&format!("fec:{tail}"), &link));
    }

    #[test]
    fn arq_is_harq_and_frame_arq_of_one_unit(
        link in random::link(300), rounds in prop::option::of(0u32..6), in_order in any::<bool>(),
    ) {
        let mut options = rounds.map(|rounds| format!("rounds={rounds}")).into_iter().collect::<Vec<_>>();
        let arq = if options.is_empty() { "arq".to_owned() } else { format!("arq:{}", options.join(",")) };
        let tail = if in_order { ",in-order" } else { "" };
        options.insert(0, "1/1".to_owned());
        let arq = outcome(&format!("{arq}{tail}"), &link);
        prop_assert_eq!(&outcome(&format!("harq:{}{tail}", options.join(",")), &link), &arq);
        prop_assert_eq!(&outcome(&format!("frame-arq:{}{tail}", options.join(",")), &link), &arq);
    }

    #[test]
    fn a_code_without_repair_units_equals_none(link in random::link(300), nd in 1u32..9, in_order in any::<bool>()) {
        // Nothing is recovered; only the last, partly sent codeword is censored instead of lost.
        let tail = if in_order { ",in-order" } else { "" };
        let whole = link.trace.len() / nd as usize * nd as usize;
        let link = Link { trace: link.trace[..whole].to_vec(), ..link };
        // A trace shorter than a codeword has nothing to compare.
        if whole == 0 {
            return Ok(());
        }
        let (fec, none) = (outcome(&format!("fec:{nd}/{nd}{tail}"), &link), outcome(&format!("none{tail}"), &link));
        if !in_order {
            prop_assert_eq!(&fec.0, &none.0);
        }
        prop_assert_eq!((fec.1.delivered, fec.1.lost, fec.1.censored), (none.1.delivered, none.1.lost, 0));
    }
}
