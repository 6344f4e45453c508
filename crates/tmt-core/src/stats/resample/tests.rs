//! Figures against the statistics of the trace, widths against closed forms, and how often intervals cover the truth.

use proptest::prelude::*;

use super::*;
use crate::channel::{Channel, ChannelSpec, GilbertElliott, Start};
use crate::math::num::normal_quantile;
use crate::stats::runs::RunLengths;
use crate::stats::{TraceStats, ratio};
use crate::types::{Metadata, Time};

const SETTINGS: ResampleSettings = ResampleSettings {
    resamples: 200,
    seed: 1,
    block: None,
};

fn slot(t: u64, d: u64) -> Slot {
    Slot::new(Time::from_nanos(t).unwrap(), Span::from_nanos(d).unwrap()).unwrap()
}

fn found(slots: &[Slot], settings: ResampleSettings) -> (TraceStats, Resampled) {
    let (mut tally, mut cells) = (TraceTally::default(), ResampleTally::default());
    for slots in slots.chunks(777) {
        tally.slots(slots, &[]);
        cells.slots(slots);
    }
    let (rtt, lldu) = (Some(Span::from_millis(500)), Some(Bytes(33)));
    let resampled = cells.finish(&tally, settings, rtt, lldu);
    (tally.finish(&Metadata::new(), rtt, lldu), resampled)
}

fn mean(lengths: &RunLengths) -> Option<f64> {
    let total = lengths.iter().map(|(length, count)| length * count).sum();
    ratio(total, lengths.values().sum())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn estimates_are_the_statistics_of_the_trace(
        rows in prop::collection::vec((0u64..30, prop_oneof![Just(0u64), 1u64..40]), 1..400), times in 1usize..40,
    ) {
        let mut t = 0;
        let slots: Vec<Slot> = rows.iter().cycle().take(rows.len() * times).map(|(step, d)| { t += step; slot(t, *d) }).collect();
        let (stats, found) = found(&slots, SETTINGS);
        let delay = stats.decode_delay_s;
        let one_way = stats.delay_s.unwrap();
        for (name, expected) in [
            ("erasure_ratio", stats.erasure_ratio), ("alpha", stats.alpha), ("beta", stats.beta),
            ("burst_mean_slots", mean(&stats.bursts)), ("gap_mean_slots", mean(&stats.gaps)),
            ("slots_per_s", stats.slots_per_s), ("rate_bps", stats.rate_bps),
            ("decode_delay_p50_s", delay.p50), ("decode_delay_p85_s", delay.p85),
            ("decode_delay_p95_s", delay.p95), ("decode_delay_p99_s", delay.p99),
            ("delay_p50_s", one_way.p50), ("delay_p99_s", one_way.p99),
        ] {
            let got = found.get(name).map(|interval| interval.estimate);
            let same = match (got, expected) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * b.abs().max(1e-9),
                (a, b) => a == b,
            };
            prop_assert!(same, "{}: {:?} {:?}", name, got, expected);
        }
        // The mean delay of the statistics is rounded to ns.
        let got = found.get("decode_delay_mean_s").map(|interval| interval.estimate);
        prop_assert_eq!(got.is_some(), delay.mean.is_some());
        if let (Some(a), Some(b)) = (got, delay.mean) {
            prop_assert!((a - b).abs() <= 0.51e-9);
        }
        for (figure, interval) in &found.intervals {
            let Some((low, high)) = interval.and_then(|each| each.low.zip(each.high)) else { continue };
            let estimate = interval.unwrap().estimate;
            // An estimate may lie beyond an interval of percentiles, but not far.
            let width = high - low;
            prop_assert!(low <= estimate + width && estimate <= high + width, "{}: {} {} {}", figure.name, low, estimate, high);
        }
    }
}

/// A trace of a Gilbert–Elliott channel: a slot every 100 µs.
fn gilbert_elliott(alpha: f64, beta: f64, slots: u64, seed: u64) -> Vec<Slot> {
    let channel = GilbertElliott {
        alpha,
        beta,
        pg: 0.0,
        pb: 1.0,
        start: Start::Stationary,
    };
    let mut channel = Channel::new(ChannelSpec::GilbertElliott(channel), seed);
    (0..slots)
        .map(|row| slot(row * 100_000, if channel.erases() { 0 } else { 36_000_000 }))
        .collect()
}

/// Share of seeds whose interval of `name` covers `truth`, and the mean width of the intervals.
fn coverage(
    name: &str,
    truth: f64,
    seeds: u64,
    settings: ResampleSettings,
    trace: impl Fn(u64) -> Vec<Slot> + Sync,
) -> (f64, f64) {
    let ends = (0..seeds).into_par_iter().map(|seed| {
        let settings = ResampleSettings { seed, ..settings };
        let (mut tally, mut cells) = (TraceTally::default(), ResampleTally::default());
        let slots = trace(seed);
        tally.slots(&slots, &[]);
        cells.slots(&slots);
        let figures = FIGURES.iter().filter(|figure| figure.name == name);
        let figures: Vec<&'static Figure> = figures.collect();
        let found = cells.intervals(&figures, &tally, settings, None, None);
        let interval = found.get(name).unwrap();
        (interval.low.unwrap(), interval.high.unwrap())
    });
    let ends: Vec<(f64, f64)> = ends.collect();
    let covered = ends
        .iter()
        .filter(|(low, high)| *low <= truth && truth <= *high)
        .count();
    let width: f64 = ends.iter().map(|(low, high)| high - low).sum();
    let count = to_f64(seeds);
    (to_f64(covered as u64) / count, width / count)
}

#[test]
fn intervals_of_bursty_losses_cover_the_truth_and_those_of_single_slots_do_not() {
    let (alpha, beta, slots, seeds) = (0.99, 0.9, 20_000_u64, 200);
    let truth = (1.0 - alpha) / (2.0 - alpha - beta);
    let trace = |seed| gilbert_elliott(alpha, beta, slots, seed);
    let (covered, width) = coverage("erasure_ratio", truth, seeds, SETTINGS, trace);
    // The standard deviation of a share of 200 at 0.95 is 0.015. A bootstrap covers a little less than it says.
    assert!((0.90..=0.985).contains(&covered), "{covered}");
    // Var = p (1 − p)(1 + λ)/(1 − λ)/n with λ = α + β − 1.
    let lambda = alpha + beta - 1.0;
    let deviation =
        (truth * (1.0 - truth) * (1.0 + lambda) / (1.0 - lambda) / to_f64(slots)).sqrt();
    let expected = 2.0 * 1.96 * deviation;
    assert!(
        (0.85..1.15).contains(&(width / expected)),
        "{width} for {expected}"
    );
    // Blocks of one cell, 8 slots here, are too short; an i.i.d. bootstrap is what is left of it for single slots.
    let short = ResampleSettings {
        block: Span::from_nanos(1),
        ..SETTINGS
    };
    let (covered, _) = coverage("erasure_ratio", truth, seeds, short, trace);
    assert!(covered < 0.85, "{covered}");
    let few = |seed| gilbert_elliott(alpha, beta, 4_000, seed);
    let (covered, _) = coverage("erasure_ratio", truth, seeds, short, few);
    assert!(covered < 0.6, "{covered}");
    let (covered, _) = coverage("erasure_ratio", truth, seeds, SETTINGS, few);
    assert!(covered > 0.87, "{covered}");
}

#[test]
fn intervals_of_lengths_and_transitions_cover_the_truth() {
    let (alpha, beta) = (0.98, 0.8);
    let trace = |seed| gilbert_elliott(alpha, beta, 10_000, seed);
    for (name, truth) in [
        ("alpha", alpha),
        ("beta", beta),
        ("burst_mean_slots", 1.0 / (1.0 - beta)),
        ("gap_mean_slots", 1.0 / (1.0 - alpha)),
    ] {
        let (covered, _) = coverage(name, truth, 200, SETTINGS, trace);
        assert!((0.89..=0.99).contains(&covered), "{name}: {covered}");
    }
}

/// Delays whose logarithm is an AR(1) process: median 40 ms.
fn autoregressive(seed: u64) -> Vec<Slot> {
    let (phi, mut uniform) = (0.98_f64, Uniform::new(seed, Stream::FlowStart));
    let innovation = (1.0 - phi * phi).sqrt();
    let mut x = 0.0;
    let delays = (0..20_500_u64).map(|row| {
        x = phi * x + innovation * normal_quantile(uniform.at(row).max(1e-15));
        // exp(0.2 x) by its series: |0.2 x| stays below 1.2.
        let y = 0.2 * x;
        let exp = (1..20)
            .rev()
            .fold(1.0, |sum, k| 1.0 + y / f64::from(k) * sum);
        floor_u64(40e6 * exp)
    });
    let delays: Vec<u64> = delays.skip(500).collect();
    (0..)
        .zip(delays)
        .map(|(row, delay): (u64, u64)| slot(row * 1_000_000, delay))
        .collect()
}

#[test]
fn intervals_of_delays_cover_the_truth() {
    // Quantiles of a log-normal: 40 ms · exp(0.2 z); its mean is 40 ms · exp(0.02).
    for (name, truth) in [
        ("decode_delay_mean_s", 0.040 * 1.020_201_34),
        ("decode_delay_p50_s", 0.040),
        ("decode_delay_p85_s", 0.040 * 1.230_335_7),
        ("decode_delay_p95_s", 0.040 * 1.389_522_7),
    ] {
        let (covered, _) = coverage(name, truth, 200, SETTINGS, autoregressive);
        assert!((0.87..=0.99).contains(&covered), "{name}: {covered}");
    }
    let short = ResampleSettings {
        block: Span::from_nanos(1),
        ..SETTINGS
    };
    let (covered, _) = coverage("decode_delay_p50_s", 0.040, 200, short, autoregressive);
    assert!(covered < 0.6, "{covered}");
}

#[test]
fn the_number_of_threads_changes_nothing_and_the_seed_does() {
    let slots = gilbert_elliott(0.99, 0.9, 30_000, 5);
    let with = |threads: usize, seed| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let settings = ResampleSettings { seed, ..SETTINGS };
        pool.install(|| format!("{:?}", found(&slots, settings).1))
    };
    assert_eq!(with(1, 1), with(4, 1));
    assert_ne!(with(1, 1), with(1, 2));
}

#[test]
fn blocks_may_be_given_and_nothing_is_said_where_nothing_is_known() {
    let slots = gilbert_elliott(0.99, 0.9, 4_000, 2);
    let block = Some(Span::from_millis(20));
    let interval = found(&slots, ResampleSettings { block, ..SETTINGS })
        .1
        .get("erasure_ratio")
        .unwrap();
    assert_eq!(interval.block_slots, 200);
    assert!((interval.block_s - 0.02).abs() < 1e-5 && (interval.blocks - 20.0).abs() < 1e-9);
    // No slot was erased: the ratio may be anything small.
    let whole: Vec<Slot> = (0..1000).map(|row| slot(row * 1000, 5)).collect();
    let (_, none) = found(&whole, SETTINGS);
    let interval = none.get("erasure_ratio").unwrap();
    assert_eq!(
        (interval.estimate.to_bits(), interval.low, interval.high),
        (0, None, None)
    );
    assert!(none.get("burst_mean_slots").is_none());
    let delay = none.get("decode_delay_p50_s").unwrap();
    assert_eq!((delay.low, delay.high), (Some(5e-9), Some(5e-9)));
    // One burst: some resamples have none, so that its length is not known either.
    let mut one = whole;
    one[500] = slot(500_000, 0);
    let burst = found(&one, SETTINGS).1.get("burst_mean_slots").unwrap();
    assert_eq!(
        (burst.estimate.to_bits(), burst.low),
        (1.0_f64.to_bits(), None)
    );
    assert!(found(&[], SETTINGS).1.get("erasure_ratio").is_none());
}
