//! Logs of every kind of ping, and the order, losses and times that follow from them.

use proptest::prelude::*;

use super::super::testing::convert;
use super::*;

const P0: (&str, &str) = ("propagation", "0s");
const EVERY_S: (&str, &str) = ("interval", "1s");

#[test]
fn clock_steps_are_counted_and_an_interval_removes_them() {
    let line = |number: u32, at: f64| {
        format!("[{at:.6}] 64 bytes from 192.0.2.1: icmp_seq={number} ttl=5 time=0.0 ms\n")
    };
    let steady: String = (1..=5).map(|n| line(n, 10_000.0 + f64::from(n))).collect();
    for (step, goes_back) in [(3600.0, false), (-2.0, true), (-3600.0, true)] {
        let after: String = (6..=9)
            .map(|n| line(n, 10_000.0 + step + f64::from(n)))
            .collect();
        let log = format!("{steady}{after}");
        let found = convert(&FORMAT, &log, &[P0]);
        let slots = &found.slots;
        assert_eq!((slots.len(), found.count("clock-steps")), (9, 1), "{step}");
        let is_flat = slots[5].0 == slots[4].0;
        assert_eq!(is_flat, goes_back, "{slots:?}");
        let found = convert(&FORMAT, &log, &[P0, EVERY_S]);
        assert_eq!(found.slots[8].0, 8_000_000_000);
        assert_eq!(found.count("clock-steps"), 0);
    }
    let found = convert(&FORMAT, &steady, &[P0]);
    assert_eq!(found.count("clock-steps"), 0);
}

proptest! {
    /// Packets with losses, answered in any order within the window, give back what was sent, by another way: a list.
    #[test]
    fn a_log_in_the_order_of_arrival_gives_what_was_sent(
        first in 0u64..70_000,
        packets in prop::collection::vec((prop::bool::weighted(0.7), 1u64..900), 2..60),
    ) {
        let interval = 200_000_000u64;
        let ns = |number: usize| 1_000_000_000_000 + number as u64 * interval;
        let mut answers: Vec<(u64, usize, u64)> = (packets.iter().enumerate())
            .filter(|(_, (is_received, _))| *is_received)
            .map(|(number, (_, ms))| (ns(number) + ms * 1_000_000, number, *ms))
            .collect();
        prop_assume!(answers.len() >= 2);
        answers.sort_unstable();
        let lines = answers.iter().map(|(at, number, ms)| format!(
            "[{}.{:09}] 64 bytes from 192.0.2.1: icmp_seq={} ttl=5 time={ms} ms\n",
            at / 1_000_000_000, at % 1_000_000_000, (first + *number as u64) % 65_536,
        ));
        let found = convert(&FORMAT, lines.collect::<String>(), &[P0]);
        let numbers = answers.iter().map(|(_, number, _)| *number);
        let (low, high) = (numbers.clone().min().unwrap(), numbers.clone().max().unwrap());
        let expected: Vec<(u64, u64)> = (low..=high)
            .map(|number| {
                let (is_received, ms) = packets[number];
                (ns(number) - ns(low), if is_received { ms * 500_000 } else { 0 })
            })
            .collect();
        prop_assert_eq!(&found.slots, &expected);
        prop_assert_eq!(found.count("missing-numbers"), (high - low + 1 - answers.len()) as u64);
        let mut highest = None;
        let late = numbers.filter(|number| {
            let is_late = highest.is_some_and(|highest| *number < highest);
            highest = highest.max(Some(*number));
            is_late
        });
        prop_assert_eq!(found.count("reordered"), late.count() as u64);
        prop_assert_eq!(found.count("clock-steps"), 0);
    }
}
