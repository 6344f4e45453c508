//! Outages against a search in memory; steps against traces whose steps are known.

use proptest::prelude::*;

use super::*;
use crate::math::num::normal_quantile;
use crate::math::rng::{Stream, Uniform};

fn settings(outage: Option<u64>) -> SegmentSettings {
    SegmentSettings {
        outage: outage.and_then(Span::from_nanos),
        window: None,
        grid: Span::from_secs(15),
        seed: 1,
        shortest_is_known: false,
    }
}

fn found(rows: &[(u64, u64)], settings: SegmentSettings, piece: usize) -> Segments {
    let slot = |&(t, d): &(u64, u64)| {
        Slot::new(Time::from_nanos(t).unwrap(), Span::from_nanos(d).unwrap()).unwrap()
    };
    let slots: Vec<Slot> = rows.iter().map(slot).collect();
    let mut tally = SegmentTally::new(settings);
    slots.chunks(piece).for_each(|slots| tally.slots(slots));
    tally.finish()
}

proptest! {
    #[test]
    fn outages_are_the_long_stretches_between_deliveries(
        steps in prop::collection::vec((0u64..60_000_000, prop_oneof![Just(0u64), Just(5)]), 1..60),
        outage in prop_oneof![Just(None), (0u64..200_000_000).prop_map(Some)], piece in 1usize..70,
    ) {
        let mut t = 7;
        let rows: Vec<(u64, u64)> = steps.iter().map(|(step, d)| { t += step; (t, *d) }).collect();
        let got = found(&rows, settings(outage), piece);
        // Deliveries, with both ends of the trace.
        let mut marks: Vec<(u64, bool)> = vec![(rows[0].0, true)];
        marks.extend(rows.iter().filter(|row| row.1 > 0).map(|row| (row.0, false)));
        marks.push((rows[rows.len() - 1].0, true));
        let mut intervals: Vec<u64> = rows.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        intervals.sort_unstable();
        let median = intervals.len().checked_sub(1).map_or(0, |last| intervals[last / 2]);
        let threshold = outage.unwrap_or((10 * median).max(100_000_000));
        let expected: Vec<(u64, u64, u64)> = marks.windows(2).filter(|pair| pair[1].0 - pair[0].0 > threshold).map(|pair| {
            // Erased rows between two deliveries that are at different times, ties in time by their order.
            let lost = lost_between(&rows, pair[0], pair[1]);
            (pair[0].0, pair[1].0 - pair[0].0, lost)
        }).collect();
        let times: Vec<(u64, u64, u64)> = got.outages.iter().map(|each| (each.start.as_nanos(), each.length.as_nanos(), each.slots_lost)).collect();
        prop_assert_eq!(times, expected);
        prop_assert_eq!(got.outage_threshold_s.to_bits(), Span::from_nanos(threshold).unwrap().as_secs_f64().to_bits());
    }
}

/// Erased rows after the last delivery at `from`, before the first one at `to`.
fn lost_between(rows: &[(u64, u64)], from: (u64, bool), to: (u64, bool)) -> u64 {
    let begin = rows
        .iter()
        .rposition(|row| row.1 > 0 && row.0 == from.0 && !from.1);
    let begin = begin.map_or(0, |at| at + 1);
    let end = rows[begin..]
        .iter()
        .position(|row| row.1 > 0 && row.0 == to.0);
    let end = end.map_or(rows.len(), |at| begin + at);
    rows[begin..end].iter().filter(|row| row.1 == 0).count() as u64
}

/// Probes every 10 ms for 300 s with normal noise of 1 ms about a level; `level` is of the second, in ms.
fn noisy(level: impl Fn(u64) -> f64, seed: u64) -> Vec<(u64, u64)> {
    let mut uniform = Uniform::new(seed, Stream::FlowStart);
    let row = |row: u64| {
        let noise = normal_quantile(uniform.at(row).max(1e-12));
        let millis = level(row / 100) + noise;
        (row * 10_000_000, crate::math::num::floor_u64(millis * 1e6))
    };
    (0..30_000).map(row).collect()
}

#[test]
fn steps_are_found_where_they_are_and_not_in_noise() {
    // 40 ms, and 46 ms from 100 s to 190 s.
    let rows = noisy(
        |second| {
            if (100..190).contains(&second) {
                46.0
            } else {
                40.0
            }
        },
        1,
    );
    let got = found(&rows, settings(None), 1000);
    let times: Vec<f64> = got.steps.iter().map(|step| step.time_s).collect();
    assert_eq!(times.len(), 2, "{times:?}");
    for (step, (time, size)) in got.steps.iter().zip([(100.0, 6e-3), (190.0, -6e-3)]) {
        assert!((step.time_s - time).abs() < 0.15, "{step:?}");
        assert!((step.step_s - size).abs() < 5e-4, "{step:?}");
    }
    // The median of ten normal values has a standard deviation of 0.37 of theirs.
    let spread = got.level_spread_s.unwrap();
    assert!((3.2e-4..4.8e-4).contains(&spread), "{spread}");
    for seed in 2..12 {
        let quiet = found(&noisy(|_| 40.0, seed), settings(None), 1000);
        assert!(quiet.steps.is_empty(), "{seed}: {:?}", quiet.steps);
    }
}

#[test]
fn a_reconfigured_link_is_on_its_grid_and_an_outage_has_the_levels_around_it() {
    // A level per 15 s from 3 s on, and nothing is delivered for 400 ms from 48 s.
    let levels = [40.0, 52.0, 45.0, 60.0, 41.0, 55.0, 47.0, 63.0];
    let level = |second: u64| levels[usize::try_from((second + 12) / 15 % 8).unwrap()];
    let mut rows = noisy(level, 3);
    for row in &mut rows[4800..4840] {
        row.1 = 0;
    }
    let got = found(&rows, settings(None), 777);
    assert_eq!(
        (got.steps.len(), got.grid.steps.within),
        (20, 20),
        "{:?}",
        got.steps
    );
    assert_eq!(got.grid.steps.chance_probability, Some(0.001));
    let phase = got.grid.steps.phase_s.unwrap();
    assert!((phase - 3.0).abs() <= 0.5, "{phase}");
    let [outage] = got.outages[..] else {
        panic!("{:?}", got.outages);
    };
    assert_eq!(
        (outage.start_s, outage.length_s, outage.slots_lost),
        (47.99, 0.41, 40)
    );
    let (before, after) = (
        outage.delay_before_s.unwrap(),
        outage.delay_after_s.unwrap(),
    );
    assert!(
        (before - 0.060).abs() < 1e-3 && (after - 0.041).abs() < 1e-3,
        "{outage:?}"
    );
}

#[test]
fn unknown_delays_have_no_level() {
    let rows: Vec<(u64, u64)> = (0..1000).map(|row| (row * 10_000_000, 1)).collect();
    let got = found(&rows, settings(None), 10);
    assert_eq!((got.steps.len(), got.level_spread_s), (0, None));
    assert!(got.outages.is_empty());
}

#[test]
fn the_resolution_of_the_delays_makes_no_steps() {
    // Whole milliseconds, most of them 7: noise of 1 ms is none, a step of 20 ms is one.
    let delay = |row: u64, step: u64| {
        let noise = u64::from(row / 300 % 7 == 3);
        1_000_000 * (7 + noise + if row >= 5000 { step } else { 0 })
    };
    for (step, expected) in [(0, 0), (20, 1)] {
        let rows: Vec<(u64, u64)> = (0..10_000)
            .map(|row| (row * 10_000_000, delay(row, step)))
            .collect();
        assert_eq!(found(&rows, settings(None), 777).steps.len(), expected);
    }
}

#[test]
fn the_shortest_delay_is_a_level_where_the_propagation_was_removed() {
    // 1 ns and 20 ms in turns of 50 s: half of the levels are the shortest delay.
    let delay = |row: u64| {
        if (row / 5000).is_multiple_of(2) {
            1
        } else {
            20_000_000
        }
    };
    let rows: Vec<(u64, u64)> = (0..20_000)
        .map(|row| (row * 10_000_000, delay(row)))
        .collect();
    for (shortest_is_known, expected) in [(false, 0), (true, 3)] {
        let settings = SegmentSettings {
            shortest_is_known,
            ..settings(None)
        };
        assert_eq!(found(&rows, settings, 777).steps.len(), expected);
    }
}
