//! Logs of every kind of ping, and the order, losses and times that follow from them.

use proptest::prelude::*;

use super::super::{Files, Finding, Given, ImportError, open};
use super::*;

struct Text(String, bool);

impl Files for Text {
    fn open(&mut self, _: &'static str) -> std::io::Result<Box<dyn BufRead + Send>> {
        Ok(Box::new(std::io::Cursor::new(self.0.clone())))
    }

    fn can_reopen(&self, _: &'static str) -> bool {
        self.1
    }
}

/// Slots as time and delay, ns, and what was found.
type Converted = (Vec<(u64, u64)>, Vec<Finding>);

fn try_convert(text: &str, keys: &[(&'static str, &str)]) -> Result<Converted, ImportError> {
    let mut given = Given::default();
    for (key, value) in keys {
        given.set(key, *value);
    }
    let mut files = Text(text.to_owned(), true);
    let mut import = open(&Format, &given, &mut files, &mut |_| {})?;
    let mut slots = Vec::new();
    while let Some(slot) = import.slots.next_slot()? {
        slots.push((slot.tx_time().as_nanos(), slot.decode_delay().as_nanos()));
    }
    Ok((slots, import.slots.findings()))
}

fn convert(text: &str, keys: &[(&'static str, &str)]) -> Converted {
    try_convert(text, keys).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str, keys: &[(&'static str, &str)]) -> String {
    match try_convert(text, keys) {
        Ok(found) => panic!("{found:?}"),
        Err(error) => error.to_string(),
    }
}

/// The counts of what was found, by name.
fn count(findings: &[Finding], name: &str) -> u64 {
    let found = findings.iter().find(|finding| finding.name == name);
    found.map_or(0, |finding| finding.count)
}

const P0: (&str, &str) = ("propagation", "0s");
const EVERY_S: (&str, &str) = ("interval", "1s");

/// Whether each packet was received.
fn received(converted: &Converted) -> Vec<u8> {
    converted
        .0
        .iter()
        .map(|(_, delay)| u8::from(*delay > 0))
        .collect()
}

#[test]
fn a_log_with_times_gives_send_times_and_halves_round_trips() {
    let log = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n\
        [100.030000] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=58 time=30 ms\n\
        [100.250000] 64 bytes from 192.0.2.1: icmp_seq=2 ttl=58 time=50.0 ms\n\
        [100.820000] 64 bytes from 192.0.2.1: icmp_seq=5 ttl=58 time=20.0 ms\n\
        \n--- 192.0.2.1 ping statistics ---\n\
        6 packets transmitted, 3 received, 50% packet loss, time 1000ms\n\
        rtt min/avg/max/mdev = 20.0/33.3/50.0/12.5 ms\n";
    let (slots, findings) = convert(log, &[P0]);
    let ms = |time: u64, delay: u64| (time * 1_000_000, delay * 1_000_000);
    let expected: [(u64, u64); 6] = [(0, 15), (200, 25), (400, 0), (600, 0), (800, 10), (1000, 0)];
    assert_eq!(slots, expected.map(|(time, delay)| ms(time, delay)));
    assert_eq!(count(&findings, "missing-numbers"), 3);
    assert_eq!(
        count(&findings, "losses-at-ends-unknown"),
        0,
        "{findings:?}"
    );
    // The smallest one-way delay is 10 ms, of which 1 ns is left.
    let (slots, _) = convert(log, &[]);
    assert_eq!(slots[4].1, 1);
    assert_eq!(slots[1].1, 15_000_000);
}

#[test]
fn logs_of_other_pings_count_from_their_first_number() {
    for (log, expected) in [
        // busybox and macOS count from 0, iputils from 1, also for IPv6.
        (
            "PING x (192.0.2.1): 56 data bytes\n64 bytes from 192.0.2.1: seq=1 ttl=5 time=3.601 ms\n3 packets transmitted, 1 packets received, 66% packet loss\n",
            vec![0, 1, 0],
        ),
        (
            "PING x (192.0.2.1): 56 data bytes\nRequest timeout for icmp_seq 0\n64 bytes from 192.0.2.1: icmp_seq=1 ttl=5 time=3.6 ms\n2 packets transmitted, 1 packets received, 50.0% packet loss\n",
            vec![0, 1],
        ),
        (
            "PING ::1(::1) 56 data bytes\n64 bytes from ::1: icmp_seq=2 ttl=64 time=0.04 ms\n",
            vec![0, 1],
        ),
        (
            "PING6(56=40+8+8 bytes) ::1 --> ::1\n16 bytes from ::1, icmp_seq=1 hlim=64 time=0.04 ms\n",
            vec![0, 1],
        ),
        // Without a header nothing is known of packets before the first.
        (
            "64 bytes from 192.0.2.1: icmp_seq=4 ttl=5 time=3 ms\n",
            vec![1],
        ),
        (
            "no answer yet for icmp_seq=3\n64 bytes from 192.0.2.1: icmp_seq=4 ttl=5 time=3 ms\nno answer yet for icmp_seq=6\n",
            vec![0, 1, 0, 0],
        ),
        (
            "From 192.0.2.9 icmp_seq=1 Destination Host Unreachable\n64 bytes from 192.0.2.1: icmp_seq=2 ttl=5 time=3 ms\n",
            vec![0, 1],
        ),
        // Answered after all.
        (
            "no answer yet for icmp_seq=1\n64 bytes from 192.0.2.1: icmp_seq=1 ttl=5 time=1003 ms\n64 bytes from 192.0.2.1: icmp_seq=2 ttl=5 time=3 ms\n",
            vec![1, 1],
        ),
    ] {
        assert_eq!(received(&convert(log, &[EVERY_S])), expected, "{log}");
    }
}

#[test]
fn numbers_that_wrap_go_on_and_duplicates_count_once() {
    let line = |number: u32, more: &str| {
        format!("64 bytes from 192.0.2.1: icmp_seq={number} ttl=5 time=3.0 ms{more}\n")
    };
    let log = [
        line(65534, ""),
        line(0, ""),
        line(65535, ""),
        line(65535, " (DUP!)"),
        line(3, ""),
    ];
    let converted = convert(&log.concat(), &[EVERY_S]);
    assert_eq!(received(&converted), [1, 1, 1, 0, 0, 1]);
    let names = [
        "reordered",
        "duplicates",
        "missing-numbers",
        "losses-at-ends-unknown",
    ];
    assert_eq!(names.map(|name| count(&converted.1, name)), [1, 1, 2, 2]);
}

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
        let (slots, findings) = convert(&log, &[P0]);
        assert_eq!(
            (slots.len(), count(&findings, "clock-steps")),
            (9, 1),
            "{step}"
        );
        let is_flat = slots[5].0 == slots[4].0;
        assert_eq!(is_flat, goes_back, "{slots:?}");
        let (slots, findings) = convert(&log, &[P0, EVERY_S]);
        assert_eq!(slots[8].0, 8_000_000_000);
        assert_eq!(count(&findings, "clock-steps"), 0);
    }
    let (_, findings) = convert(&steady, &[P0]);
    assert_eq!(count(&findings, "clock-steps"), 0);
}

#[test]
fn a_table_of_answers_has_no_losses_and_says_so() {
    for table in [
        "time,rtt_ms,operator\n2024-05-27T11:16:48.030-04:00,30,x\n2024-05-27T11:16:48.420-04:00,20,x\n",
        "1716823008.03,30\n1716823008.42,20\n",
        "\"timestamp(s)\",rtt\n1716823008.03,30\n\n1716823008.42,20\n",
        "rtt_us,timestamp_ms\r\n30000,1716823008030\r\n20000,1716823008420\r\n",
    ] {
        let (slots, findings) = convert(table, &[P0]);
        assert_eq!(
            slots,
            [(0, 15_000_000), (400_000_000, 10_000_000)],
            "{table}"
        );
        assert_eq!(count(&findings, "losses-left-out"), 2, "{findings:?}");
    }
    // The second was sent first.
    let (slots, _) = convert("time,rtt\n1.05,50\n1.06,70\n", &[P0]);
    assert_eq!(slots, [(0, 35_000_000), (10_000_000, 25_000_000)]);
}

#[test]
fn what_cannot_be_converted_is_refused_with_the_reason() {
    let answer = "64 bytes from 192.0.2.1: icmp_seq=1 ttl=5";
    let header = "PING x (192.0.2.1) 56(84) bytes of data.\n";
    for (log, keys, reason) in [
        (
            format!("{answer} time=3 ms\n"),
            &[P0][..],
            "ping needs `interval`",
        ),
        (
            format!("{answer}\n"),
            &[P0, EVERY_S],
            "an answer with its round trip",
        ),
        (
            format!("[yesterday] {answer} time=3 ms\n"),
            &[P0],
            "seconds since 1970",
        ),
        (
            format!("{answer} time=-3 ms\n"),
            &[P0, EVERY_S],
            "zero or more",
        ),
        (
            format!("{header}146 packets transmitted, 0 received, 100% packet loss, time 9ms\n"),
            &[],
            "no received packet among 146 sent",
        ),
        (
            format!("{header}{header}"),
            &[P0],
            "one run of ping per file",
        ),
        (
            format!("[1.0] {answer} time=3 ms\n3 packets transmitted, 1 received\n{header}"),
            &[P0],
            "two received packets",
        ),
        (
            "time,rtt\ns,t\n".to_owned(),
            &[P0],
            "time 's', expected seconds since 1970",
        ),
        (
            "time,rtt\n5,1\n4,1\n".to_owned(),
            &[P0],
            "times of answers in their order",
        ),
        (
            "time,rtt\n5,1\n".to_owned(),
            &[P0, EVERY_S],
            "does not apply",
        ),
        ("time,rtt\n5\n".to_owned(), &[P0], "a time and a round trip"),
    ] {
        let found = refusal(&log, keys);
        assert!(found.contains(reason), "{log}: {found}");
    }
}

#[test]
fn a_summary_that_differs_is_pointed_out() {
    let log = "64 bytes from 192.0.2.1: icmp_seq=1 ttl=5 time=3 ms\n3 packets transmitted, 3 received, 0% packet loss\n";
    let (_, findings) = convert(log, &[EVERY_S]);
    assert_eq!(count(&findings, "summary-differs"), 2);
}

#[test]
fn first_lines_tell_what_a_file_is() {
    for text in [
        "PING x (192.0.2.1) 56(84) bytes of data.\n",
        "Start time: 1\n[2024-05-27 11:16:48.96] PING x (192.0.2.1) 38(66) bytes of data.\n",
        "64 bytes from 192.0.2.1: seq=0 ttl=58 time=33.4 ms\n",
        "time,rtt_ms,operator\n",
        "1716823008.03,30\n",
    ] {
        assert!(Format.recognises(text.as_bytes()), "{text}");
    }
    for text in [
        "",
        "1\n2\n",
        "0 6\n",
        "timestamp(ns),rtt,uplink,downlink\n",
        "{}",
    ] {
        assert!(!Format.recognises(text.as_bytes()), "{text}");
    }
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
        let (slots, findings) = convert(&lines.collect::<String>(), &[P0]);
        let numbers = answers.iter().map(|(_, number, _)| *number);
        let (low, high) = (numbers.clone().min().unwrap(), numbers.clone().max().unwrap());
        let expected: Vec<(u64, u64)> = (low..=high)
            .map(|number| {
                let (is_received, ms) = packets[number];
                (ns(number) - ns(low), if is_received { ms * 500_000 } else { 0 })
            })
            .collect();
        prop_assert_eq!(slots, expected);
        prop_assert_eq!(count(&findings, "missing-numbers"), (high - low + 1 - answers.len()) as u64);
        let mut highest = None;
        let late = numbers.filter(|number| {
            let is_late = highest.is_some_and(|highest| *number < highest);
            highest = highest.max(Some(*number));
            is_late
        });
        prop_assert_eq!(count(&findings, "reordered"), late.count() as u64);
        prop_assert_eq!(count(&findings, "clock-steps"), 0);
    }
}
