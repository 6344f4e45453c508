//! Each check on a trace that shows what it looks for, and on one that just does not.

use proptest::prelude::*;

use super::*;
use crate::math::num;
use crate::math::rng::{Stream, Uniform};
use crate::types::to_f64;

/// A slot at `nanos` with a delay in ns; 0 is erased.
fn slot(nanos: u64, delay: u64) -> Slot {
    let time = Time::from_nanos(nanos).unwrap();
    Slot::new(time, Span::from_nanos(delay).unwrap()).unwrap()
}

const MS: u64 = 1_000_000;

fn head(entries: &[(&str, &str)]) -> Metadata {
    let mut head = Metadata::new();
    for (key, value) in entries {
        head.set(key, *value);
    }
    head
}

/// Findings of all checks, in batches of several sizes, which must not matter.
fn look(slots: &[Slot], head: &Metadata) -> Vec<Finding> {
    let run = |batch: usize| {
        let mut lint = Lint::new();
        slots.chunks(batch).for_each(|batch| lint.slots(batch));
        lint.finish(head, None, true).findings
    };
    let found = run(7);
    assert_eq!(found, run(5000));
    found
}

/// The finding of this name.
fn found(slots: &[Slot], head: &Metadata, name: &str) -> Option<Finding> {
    look(slots, head)
        .into_iter()
        .find(|found| found.name == name)
}

/// `count` slots every `interval` ns, with delays by their numbers.
fn every(interval: u64, count: u64, delay: impl Fn(u64) -> u64) -> Vec<Slot> {
    (0..count)
        .map(|row| slot(row * interval, delay(row)))
        .collect()
}

#[test]
fn more_than_half_erased_is_a_question_of_polarity_and_all_is_nothing_received() {
    let head = head(&[("lldu_bytes", "33")]);
    let erased = |count: u64| every(MS, 100, move |row| u64::from(row >= count));
    let of = |count, name| found(&erased(count), &head, name);
    assert!(of(50, "polarity-suspected").is_none());
    let odd = of(51, "polarity-suspected").unwrap();
    assert_eq!((odd.count, odd.first.slot), (51, Some(0)));
    assert!(of(99, "polarity-suspected").is_some() && of(99, "nothing-received").is_none());
    assert!(of(100, "polarity-suspected").is_none());
    assert_eq!(of(100, "nothing-received").unwrap().count, 100);
}

#[test]
fn gaps_of_whole_intervals_are_missing_rows_and_others_steps_of_the_clock() {
    let empty = Metadata::new();
    let with_gap = |gap: u64| {
        let mut slots = every(200 * MS, 100, |_| 5);
        slots.extend((0..100).map(|row| slot(99 * 200 * MS + gap + row * 200 * MS, 5)));
        slots
    };
    for (gap, missing, steps) in [
        (200 * MS, 0, 0),
        (299 * MS, 0, 0),
        (400 * MS, 1, 0),
        (455 * MS, 1, 0),
        (500 * MS, 0, 0),
        (1000 * MS, 4, 0),
        (1099 * MS, 0, 1),
        (999 * MS, 4, 0),
        (900 * MS, 0, 0),
    ] {
        let found = look(&with_gap(gap), &empty);
        let count = |name| {
            let found = found.iter().find(|found| found.name == name);
            found.map_or(0, |found| found.count)
        };
        assert_eq!(
            (count("missing-rows"), count("clock-steps")),
            (missing, steps),
            "{gap}"
        );
    }
    let first = found(&with_gap(400 * MS), &empty, "missing-rows").unwrap();
    assert_eq!(first.first.slot, Some(100));
    // Opportunities have no constant interval.
    let uneven: Vec<Slot> = (0..300u64).map(|row| slot(row * row * MS, 1)).collect();
    assert_eq!(look(&uneven, &empty), []);
    // Beyond the intervals that tell the usual one.
    let mut long = every(10 * MS, 6000, |_| 5);
    long.remove(5000);
    let gap = found(&long, &empty, "missing-rows").unwrap();
    assert_eq!((gap.count, gap.first.slot), (1, Some(5000)));
}

#[test]
fn delays_of_the_slot_before_are_odd_unless_delays_are_coarse() {
    let empty = Metadata::new();
    let fine = |row: u64| 20 * MS + row * 7919 % 1_000_003;
    let repeats = |count: u64| {
        every(MS, 1000, move |row| {
            let is_filler = row > 0 && row % 20 == 0 && row <= 20 * count;
            fine(row - u64::from(is_filler))
        })
    };
    assert_eq!(found(&repeats(9), &empty, "repeated-delays"), None);
    let odd = found(&repeats(10), &empty, "repeated-delays").unwrap();
    assert_eq!((odd.count, odd.first.slot), (10, Some(20)));
    // Whole ms repeat at any distance.
    let coarse = every(MS, 1000, |row| (20 + row * 7919 % 1_000_003 % 10) * MS);
    assert_eq!(found(&coarse, &empty, "repeated-delays"), None);
    let equal = every(MS, 1000, |_| 20 * MS);
    assert_eq!(found(&equal, &empty, "repeated-delays"), None);
}

#[test]
fn a_smallest_delay_that_no_network_has_is_an_offset_of_clocks() {
    let removed = |nanos: u64| head(&[("propagation_removed_ns", &nanos.to_string())]);
    let slots = |smallest: u64| every(MS, 200, move |row| smallest + row);
    let empty = Metadata::new();
    let name = "clock-offset";
    assert!(found(&slots(1500 * MS - 1), &empty, name).is_none());
    assert!(found(&slots(1500 * MS), &empty, name).is_some());
    assert!(found(&slots(10), &removed(1500 * MS - 11), name).is_none());
    assert!(found(&slots(10), &removed(1500 * MS - 10), name).is_some());
    // Half of a round trip, which has one clock.
    let halves = head(&[("one_way_delay", "half of the measured round trip")]);
    assert!(found(&slots(1500 * MS), &halves, name).is_none());
    // Many delays of 1 ns.
    let floored = |count: u64| every(MS, 200, move |row| 1 + u64::from(row >= count) * row);
    let name = "least-delays";
    assert!(found(&floored(10), &removed(MS), name).is_none());
    let many = found(&floored(11), &removed(MS), name).unwrap();
    assert_eq!((many.count, many.first.slot), (11, Some(0)));
    assert_eq!(many.severity, Severity::Note);
    assert!(found(&floored(11), &empty, name).is_none());
    assert!(found(&floored(200), &removed(MS), name).is_none());
}

#[test]
fn times_of_another_unit_are_suspected() {
    let empty = Metadata::new();
    let name = "unit-suspected";
    assert!(found(&every(1000 * MS, 10, |_| 5000 * MS), &empty, name).is_none());
    assert!(found(&every(1001 * MS, 10, |_| 1), &empty, name).is_some());
    assert!(found(&every(MS, 10, |_| 5001 * MS), &empty, name).is_some());
    // Probes every ten minutes have no other unit, but delays of 5 s do.
    let probe = head(&[("trace_kind", "probe")]);
    assert!(found(&every(600_000 * MS, 10, |_| 1), &probe, name).is_none());
    assert!(found(&every(MS, 10, |_| 5001 * MS), &probe, name).is_some());
}

#[test]
fn rows_that_look_like_the_other_kind_are_suspected() {
    let empty = Metadata::new();
    let probes = |interval, count| every(interval, count, |row| (row % 10) * MS);
    let name = "probes-suspected";
    assert!(found(&probes(10 * MS, 100), &empty, name).is_some());
    assert!(found(&probes(10 * MS, 99), &empty, name).is_none());
    assert!(found(&probes(MS, 100), &empty, name).is_some());
    assert!(found(&probes(MS - 1, 100), &empty, name).is_none());
    // Neither losses nor delays, or a size of what a slot carries, or a kind.
    assert!(found(&every(10 * MS, 100, |_| 1), &empty, name).is_none());
    for stated in [("lldu_bytes", "33"), ("trace_kind", "capacity")] {
        assert!(found(&probes(10 * MS, 100), &head(&[stated]), name).is_none());
    }
    // Four fifths of 100 intervals.
    let jittered = |odd: u64| {
        let mut time = 0;
        let rows = (0..101u64).map(|row| {
            time += if row > 0 && row <= odd {
                13 * MS
            } else {
                10 * MS
            };
            slot(time, (row % 10) * MS)
        });
        rows.collect::<Vec<_>>()
    };
    assert!(found(&jittered(20), &empty, name).is_some());
    assert!(found(&jittered(21), &empty, name).is_none());
    // The reverse.
    let name = "capacity-suspected";
    let probe = head(&[("trace_kind", "probe")]);
    let uneven = |delay| -> Vec<Slot> {
        let rows = (0..100u64).map(|row| slot(row * row / 8 * MS, delay));
        rows.collect()
    };
    assert!(found(&uneven(1), &probe, name).is_some());
    assert!(found(&uneven(1), &empty, name).is_none());
    assert!(found(&uneven(2), &probe, name).is_none());
    assert!(found(&every(MS, 100, |_| 1), &probe, name).is_none());
}

#[test]
fn a_pause_at_the_seam_of_a_loop_is_found_at_either_end() {
    let empty = Metadata::new();
    let name = "loop-seam";
    let ends = |begin: u64, inner: u64, end: u64| {
        let mut times: Vec<u64> = (0..100).map(|row| begin + row).collect();
        times.extend((0..100).map(|row| begin + 99 + inner + row));
        times.push(begin + 198 + inner + end);
        times
            .iter()
            .map(|time| slot(time * MS, 1))
            .collect::<Vec<_>>()
    };
    assert!(found(&ends(0, 1, 99), &empty, name).is_none());
    assert_eq!(
        found(&ends(0, 1, 100), &empty, name).unwrap().first.slot,
        Some(200)
    );
    assert_eq!(
        found(&ends(100, 1, 1), &empty, name).unwrap().first.slot,
        Some(0)
    );
    assert!(found(&ends(99, 1, 1), &empty, name).is_none());
    // As long as twice another pause, and longer.
    assert!(found(&ends(0, 100, 200), &empty, name).is_none());
    assert!(found(&ends(0, 100, 201), &empty, name).is_some());
    let probe = head(&[("trace_kind", "probe")]);
    assert!(found(&ends(0, 1, 100), &probe, name).is_none());
}

#[test]
fn opportunities_of_1500_bytes_are_those_of_a_manual_page() {
    let name = "opportunity-size";
    let whole = every(4 * MS, 100, |_| 1);
    let fine = every(4 * MS + 1, 100, |_| 1);
    let sized = |bytes| head(&[("lldu_bytes", bytes)]);
    assert!(found(&whole, &sized("1500"), name).is_some());
    assert!(found(&whole, &sized("1504"), name).is_none());
    assert!(found(&fine, &sized("1500"), name).is_none());
    let by_bytes = head(&[("lldu_bytes", "1500"), ("packing", "bytes")]);
    assert!(found(&fine, &by_bytes, name).is_some());
    let probes = head(&[("lldu_bytes", "1500"), ("trace_kind", "probe")]);
    assert!(found(&whole, &probes, name).is_none());
}

/// Probes every 10 ms for `seconds`, over a path of 20 ms with exponential queues of `queue_ns` in the mean, and clocks that
/// differ by `ppm`.
fn skewed(seed: u64, seconds: u64, ppm: f64, queue_ns: f64) -> Vec<Slot> {
    let mut uniform = Uniform::new(seed, Stream::ChannelState);
    let rows = (0..seconds * 100).map(|row| {
        let time = row * 10 * MS;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a delay of a test"
        )]
        let delay =
            (20e6 - queue_ns * num::ln(1.0 - uniform.at(row)) + ppm * 1e-6 * to_f64(time)) as u64;
        slot(time, delay)
    });
    rows.collect()
}

fn skew(slots: &[Slot]) -> Skew {
    let mut skew = Skew::default();
    slots.chunks(999).for_each(|slots| skew.add(slots));
    skew
}

#[test]
fn the_slope_of_a_skew_is_found_within_its_standard_error() {
    let (mut within, mut reported) = (0, 0);
    for seed in 0..200 {
        let skew = skew(&skewed(seed, 300, -20.0, 5e6));
        let found = skew.estimate().unwrap();
        within += u32::from((found.ppm + 20.0).abs() <= 2.0 * found.standard_error_ppm);
        reported += u32::from(skew.significant().is_some());
    }
    // 95.4 % of normal errors lie within two standard errors: of 200 at least 183, unless by a chance of 1e-3.
    assert!((181..200).contains(&within), "{within}");
    assert!(reported >= 190, "{reported}");
}

#[test]
fn clocks_without_skew_show_none() {
    let is_reported = |seed: &u64| skew(&skewed(*seed, 300, 0.0, 5e6)).significant().is_some();
    let reported = (0..400).filter(is_reported).count();
    assert!(reported <= 1, "{reported}");
    // Below 1 ppm, however sure.
    let slight = skew(&skewed(1, 3000, 0.9, 1e4));
    let found = slight.estimate().unwrap();
    assert!((found.ppm - 0.9).abs() < 0.05, "{found:?}");
    assert_eq!(slight.significant(), None);
    assert!(skew(&skewed(1, 3000, 1.1, 1e4)).significant().is_some());
}

#[test]
fn a_path_that_steps_is_no_skew_and_neither_is_a_round_trip() {
    for at in [30, 100, 150, 200, 270] {
        let step = every(10 * MS, 30_000, |row| {
            20 * MS + u64::from(row >= at * 100) * 3 * MS + row * 7919 % 500_000
        });
        assert_eq!(skew(&step).significant(), None, "{at}");
    }
    let slots = skewed(1, 300, 50.0, 1e6);
    let name = "clock-skew";
    assert!(found(&slots, &Metadata::new(), name).is_some());
    let halves = head(&[("one_way_delay", "half of the measured round trip")]);
    assert!(found(&slots, &halves, name).is_none());
    // Times that stand in for unknown ones say nothing.
    let mut lint = Lint::new();
    lint.slots(&slots);
    let found = lint.finish(&Metadata::new(), None, false).findings;
    assert_eq!(found, []);
}

#[test]
fn line_ends_are_counted_however_reads_are_cut() {
    use std::io::Read as _;
    for (text, name, count) in [
        ("1\n2\n", None, 0),
        ("1\r\n2\r\n", Some("crlf"), 2),
        ("1\r\n2\n3\r\n", Some("mixed-line-ends"), 2),
        ("1\r2\n", None, 0),
    ] {
        for cut in 1..=text.len() {
            let (before, after) = text.as_bytes().split_at(cut);
            let (mut reader, seen) = LineEnds::new(before.chain(after));
            reader.read_to_end(&mut Vec::new()).unwrap();
            let found = seen.finding("file");
            let found = found.map(|found| (found.name, found.count));
            assert_eq!(found, name.map(|name| (name, count)), "{text:?} {cut}");
        }
    }
}

proptest! {
    /// The slope of few points is the median of all slopes, by brute force.
    #[test]
    fn the_slope_is_the_median_of_all_slopes(delays in prop::collection::vec(1..1_000_000_000u64, 33..64)) {
        // A window of 1 ms each, so that every slot is the smallest of its own.
        let slots: Vec<Slot> = (0..).zip(&delays).map(|(row, delay)| slot(row * MS, *delay)).collect();
        let mut slopes = Vec::new();
        for a in 0..delays.len() {
            for b in a + 1..delays.len() {
                slopes.push((to_f64(delays[b]) - to_f64(delays[a])) / to_f64((b - a) as u64));
            }
        }
        slopes.sort_by(f64::total_cmp);
        let half = slopes.len() / 2;
        let median = if slopes.len() % 2 == 1 { slopes[half] } else { f64::midpoint(slopes[half - 1], slopes[half]) };
        let found = skew(&slots).estimate().unwrap();
        prop_assert!((found.ppm - median).abs() <= 1e-6 * median.abs().max(1.0), "{} {median}", found.ppm);
    }

    /// Checks end on any slots, and batches do not matter.
    #[test]
    fn any_slots_are_looked_at(rows in prop::collection::vec((0..5_000_000_000u64, 0..3_000_000_000u64), 1..300), scale in 0..60u32) {
        let mut time = 0u64;
        let slots: Vec<Slot> = rows.iter().filter_map(|(gap, delay)| {
            time = time.saturating_add(gap >> (scale % 30));
            Slot::new(Time::from_nanos(time)?, Span::from_nanos(delay >> (scale / 2))?)
        }).collect();
        look(&slots, &Metadata::new());
    }
}

#[test]
fn delays_at_a_limit_are_saturated_unless_they_are_few_values() {
    let empty = Metadata::new();
    // 40 delays below; every `nth` slot has the limit instead.
    let at_limit = |nth: u64, values: u64| {
        every(10 * MS, 1000, move |row| {
            let limit = row % nth == 0;
            if limit {
                200 * MS
            } else {
                20 * MS + row % values * 1000
            }
        })
    };
    let of = |slots: &[Slot]| found(slots, &empty, "saturated-delays");
    let odd = of(&at_limit(20, 40)).unwrap();
    assert_eq!((odd.count, odd.first.slot), (50, Some(0)));
    assert_eq!(of(&at_limit(21, 40)), None);
    assert!(of(&at_limit(20, 33)).is_some());
    assert_eq!(of(&at_limit(20, 32)), None);
    // Three of four, as a limit of 200 ms below many delays has it.
    assert!(
        of(&every(MS, 1000, |row| if row % 4 > 0 {
            200 * MS
        } else {
            row * 1000 + 1000
        }))
        .is_some()
    );
    assert_eq!(of(&every(MS, 1000, |_| 36 * MS)), None);
}

#[test]
fn delays_near_a_power_of_two_have_wrapped_if_others_are_small() {
    let empty = Metadata::new();
    let with = |nth: u64, wrapped: u64, others: u64| {
        let slots = every(10 * MS, 1000, move |row| {
            if row % nth == 3 {
                wrapped
            } else {
                others + row * 977
            }
        });
        found(&slots, &empty, "wrapped-delays").map(|found| (found.count, found.first.slot))
    };
    let limit = 1 << 32;
    assert_eq!(with(7, limit - 5 * MS, 25 * MS), Some((143, Some(3))));
    assert_eq!(with(7, limit + 25 * MS, 25 * MS), Some((143, Some(3))));
    assert_eq!(
        with(1000, limit * 1000 - 5 * MS, 25 * MS),
        Some((1, Some(3)))
    );
    assert_eq!(with(7, limit - 300 * MS, 25 * MS), None);
    assert_eq!(with(4, limit - 5 * MS, 25 * MS), None);
    assert_eq!(with(7, limit - 5 * MS, 300 * MS), None);
}

#[test]
fn a_time_that_falls_is_a_finding_that_names_a_wrap() {
    let at = |nanos| Time::from_nanos(nanos).unwrap();
    for (back, words) in [
        (5 * MS, "5ms before"),
        (4_294_960 * MS, "2^32 us"),
        (4_290 * MS, "2^32 ns"),
        (4_294_960_000 * MS, "2^32 ms"),
    ] {
        let (previous, row) = (at(5_000_000_000 * MS), at(5_000_000_000 * MS - back));
        let error = Error::new(ErrorKind::OutOfOrder {
            previous,
            found: row,
        });
        let finding = finding_of(&error).unwrap();
        assert_eq!(finding.name, "unsorted-times");
        assert!(finding.text.contains(words), "{}", finding.text);
    }
}
