//! Round trips of irtt, in every direction.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::testing::{Converted, convert, only, refusal};
use super::*;

/// A round trip that was answered: sent at `at`, with the delays up and down, all in ms.
fn answered(seqno: u64, at: i64, up: i64, down: i64) -> Value {
    let ms = 1_000_000;
    json!({
        "seqno": seqno,
        "lost": "false",
        "timestamps": {
            "client": { "send": { "wall": 0, "monotonic": at * ms }, "receive": {} },
            // The server takes 1 ms, and its clock has another zero.
            "server": { "receive": {}, "send": { "monotonic": (at + up + 1) * ms - 77 } },
        },
        "delay": { "send": up * ms, "receive": down * ms, "rtt": (up + down) * ms },
        "ipdv": {},
    })
}

/// A round trip that was lost.
fn lost(seqno: u64, at: i64, how: &str) -> Value {
    json!({
        "seqno": seqno,
        "lost": how,
        "timestamps": {
            "client": { "send": { "wall": 0, "monotonic": at * 1_000_000 }, "receive": {} },
            "server": { "receive": {}, "send": {} },
        },
        "delay": {},
        "ipdv": {},
    })
}

fn document(trips: &[Value]) -> String {
    let answered = trips.iter().filter(|trip| trip["lost"] == "false").count();
    let stats = json!({ "packets_sent": trips.len(), "packets_received": answered });
    let version = json!({ "irtt": "0.9.0", "protocol": 1, "json_format": 1 });
    let document = json!({ "version": version, "stats": stats, "round_trips": trips });
    serde_json::to_string_pretty(&document).unwrap()
}

/// Each direction of the same packets, with times and delays in ms.
fn directions(text: &str) -> [(Converted, Vec<(u64, u64)>); 3] {
    ["round-trip", "up", "down"].map(|direction| {
        let keys = [("direction", direction), ("propagation", "0s")];
        let found = convert(&FORMAT, text, &keys);
        let slots = found.slots.iter();
        let slots = slots.map(|(at, delay)| (at / 1_000_000, delay / 1_000_000));
        let slots = slots.collect();
        (found, slots)
    })
}

#[test]
fn each_direction_has_its_own_packets_losses_delays_and_times() {
    let trips = [
        answered(0, 100, 10, 20),
        lost(1, 110, "true_up"),
        lost(2, 120, "true_down"),
        answered(3, 130, 12, 24),
        lost(4, 140, "true_up"),
    ];
    let [(both, round_trips), (up, ups), (down, downs)] = directions(&document(&trips));
    assert_eq!(round_trips, [(0, 15), (10, 0), (20, 0), (30, 18), (40, 0)]);
    // The delay of packet 2 is not known; it reached the server.
    assert_eq!(ups, [(0, 10), (10, 0), (20, 10), (30, 12), (40, 0)]);
    // Packets 1 and 4 never left the server. 32 ms pass in the server from the first answer to the last.
    assert_eq!(downs, [(0, 20), (16, 0), (32, 24)]);
    assert_eq!(both.names(), ["rate-of-probes"]);
    assert_eq!(up.names(), ["delays-unknown", "rate-of-probes"]);
    assert_eq!(
        down.names(),
        ["never-sent", "missing-numbers", "rate-of-probes"]
    );
    assert_eq!(
        (up.count("delays-unknown"), down.count("never-sent")),
        (1, 2)
    );
    let direction = |found: &Converted| found.head.get("direction").map(str::to_owned);
    assert_eq!(direction(&both), None);
    assert!(direction(&up).unwrap().starts_with("up"));
    assert!(direction(&down).unwrap().starts_with("down"));
}

#[test]
fn packets_without_a_delay_before_the_first_one_with_it_are_left_out_and_counted() {
    let trips = [
        lost(0, 0, "true_down"),
        answered(1, 10, 5, 5),
        answered(2, 20, 5, 5),
    ];
    let [_, (up, ups), _] = directions(&document(&trips));
    assert_eq!(ups, [(0, 5), (10, 5)]);
    let unknown = up
        .findings
        .iter()
        .find(|it| it.name == "delays-unknown")
        .unwrap();
    assert!(
        unknown
            .text
            .contains("1 before the first known delay are left out"),
        "{unknown}"
    );
}

#[test]
fn a_loss_in_an_unknown_direction_counts_in_both_and_is_reported() {
    let trips = [
        answered(0, 0, 5, 5),
        lost(1, 10, "true"),
        answered(2, 20, 5, 5),
    ];
    let [(both, _), (up, ups), (down, downs)] = directions(&document(&trips));
    assert_eq!(
        (both.count("loss-direction-unknown"), ups[1].1, downs[1].1),
        (0, 0, 0)
    );
    assert_eq!(up.count("loss-direction-unknown"), 1);
    assert_eq!(down.count("loss-direction-unknown"), 1);
}

#[test]
fn clocks_that_differ_are_found_in_one_way_delays() {
    let trips = [answered(0, 0, 10_490, -10_470), answered(1, 10, 10, 10)];
    let [(both, _), (up, _), (down, _)] = directions(&document(&trips));
    for found in [&both, &up, &down] {
        let named = found.findings.iter().filter(|it| it.name == "clock-offset");
        let [offset] = named.collect::<Vec<_>>()[..] else {
            panic!("{:?}", found.names())
        };
        assert_eq!(offset.count, 1);
        assert!(offset.text.contains("by up to 10470ms"), "{offset}");
    }
    assert_eq!(down.count("negative-delays"), 1);
    // With `min` the smallest delay becomes 0, and nothing is known of the propagation.
    let trips = [
        answered(0, 0, 10_490, -10_470),
        answered(1, 10, 10_487, -10_465),
    ];
    let found = convert(&FORMAT, document(&trips), &[("direction", "down")]);
    assert_eq!(found.delays(), [1, 5_000_000]);
    assert_eq!(
        (
            found.count("clocks-aligned"),
            found.count("negative-delays")
        ),
        (1, 0)
    );
    assert_eq!(found.head.get("rtt_ns"), None);
    // The smallest difference that cannot be: 1 ns below 0.
    let mut trip = answered(0, 0, 5, 5);
    trip["delay"] = json!({ "send": 10_000_001, "receive": -1, "rtt": 10_000_000 });
    let (found, _) = &directions(&document(&[trip.clone()]))[1];
    assert_eq!(found.count("clock-offset"), 1);
    trip["delay"] = json!({ "send": 10_000_000, "receive": 0, "rtt": 10_000_000 });
    let (found, _) = &directions(&document(&[trip]))[1];
    assert_eq!(found.count("clock-offset"), 0);
}

#[test]
fn the_direction_is_assumed_and_reported_unless_it_is_given() {
    let text = document(&[answered(0, 0, 5, 7)]);
    let assumed = convert(&FORMAT, &text, &[]);
    assert!(
        assumed.remarks[0].text.contains("`direction`"),
        "{:?}",
        assumed.remarks
    );
    assert_eq!(assumed.head.get("rtt_ns"), Some("12000000"));
    assert_eq!(
        assumed.head.get("one_way_delay"),
        Some("half of the measured round trip")
    );
    let given = convert(
        &FORMAT,
        &text,
        &[("direction", "up"), ("propagation", "min")],
    );
    assert_eq!(given.head.get("propagation_removed_ns"), Some("5000000"));
}

#[test]
fn stats_that_count_other_packets_are_a_warning() {
    let text = document(&[answered(0, 0, 5, 5), lost(1, 10, "true_up")]);
    let keys = [("propagation", "0s")];
    let found = convert(
        &FORMAT,
        text.replace("\"packets_sent\": 2", "\"packets_sent\": 5"),
        &keys,
    );
    assert_eq!(found.count("summary-differs"), 3);
    let found = convert(
        &FORMAT,
        text.replace("\"packets_received\": 1", "\"packets_received\": 2"),
        &keys,
    );
    assert_eq!(found.count("summary-differs"), 1);
}

#[test]
fn an_interval_replaces_the_times_but_not_of_answers() {
    let text = document(&[answered(0, 0, 5, 5), answered(1, 13, 5, 5)]);
    let keys = [("direction", "up"), ("interval", "10ms")];
    assert_eq!(convert(&FORMAT, &text, &keys).slots[1].0, 10_000_000);
    let keys = [("direction", "down"), ("interval", "10ms")];
    let words = refusal(&FORMAT, only(&text), &keys);
    assert!(
        words.contains("`interval` does not apply to `direction` down"),
        "{words}"
    );
}

#[test]
fn wall_clocks_are_used_where_there_are_no_others() {
    let trip = |seqno: u64, at: i64| {
        json!({
            "seqno": seqno, "lost": "false",
            "timestamps": { "client": { "send": { "wall": at }, "receive": {} } },
            "delay": { "rtt": 4 },
        })
    };
    let text = document(&[
        trip(0, 1_700_000_000_000_000_000),
        trip(1, 1_700_000_000_000_000_500),
    ]);
    assert_eq!(convert(&FORMAT, &text, &[]).slots, [(0, 1), (500, 1)]);
}

#[test]
fn what_is_cut_changed_or_lacks_what_is_asked_for_is_refused_where_it_is() {
    let trips = [answered(0, 0, 5, 5), answered(1, 10, 5, 5)];
    let text = document(&trips);
    let cut = &text[..text.len() - 30];
    let second = text.lines().position(|line| line.contains("\"seqno\": 1"));
    assert_eq!(second, Some(37));
    let mut no_server = answered(0, 0, 5, 5);
    no_server["delay"] = json!({ "rtt": 10 });
    let mut no_time = answered(1, 10, 5, 5);
    no_time["timestamps"] = json!({});
    for (text, direction, words) in [
        (cut.to_owned(), "up", "the file was cut"),
        (
            text.replace("\"seqno\": 1", "\"seqno\": -1"),
            "up",
            "38:17: found element 2: invalid value: integer `-1`",
        ),
        (
            text.replace("\"lost\": \"false\"", "\"lost\": \"maybe\""),
            "up",
            "unknown variant `maybe`",
        ),
        (
            text.replace("\"json_format\": 1", "\"json_format\": 2"),
            "up",
            "found json_format 2, expected json_format 1",
        ),
        (
            text.replace("round_trips", "trips"),
            "up",
            "without a list 'round_trips'",
        ),
        (format!("{text}\n{text}"), "up", "one document in a file"),
        (
            document(&[no_server]),
            "down",
            "the server sent no time stamps",
        ),
        (
            document(&[answered(0, 0, 5, 5), no_time]),
            "up",
            "a packet without a send time",
        ),
        (
            document(&[lost(0, 0, "true_up"), lost(1, 10, "true")]),
            "up",
            "no received packet",
        ),
        (String::new(), "up", "no row"),
    ] {
        let found = refusal(&FORMAT, only(&text), &[("direction", direction)]);
        assert!(found.contains(words), "{found}");
    }
}

proptest! {
    #[test]
    fn what_irtt_writes_is_what_is_read(
        packets in prop::collection::vec((1_i64..900, 0_usize..5, 1_i64..50, 1_i64..50), 1..60),
        pretty: bool,
    ) {
        let mut at = 0;
        let mut trips = Vec::new();
        let mut expected = Vec::new();
        for (seqno, (gap, fate, up, down)) in packets.iter().enumerate() {
            at += gap;
            let seqno = seqno as u64;
            trips.push(match fate {
                0 => lost(seqno, at, "true_up"),
                1 => lost(seqno, at, "true_down"),
                2 => lost(seqno, at, "true"),
                _ => answered(seqno, at, *up, *down),
            });
            let delay = if *fate < 3 { 0 } else { (up + down) * 500_000 };
            let since = (at - packets[0].0) * 1_000_000;
            expected.push((since.unsigned_abs(), i64::unsigned_abs(delay)));
        }
        let mut text = document(&trips);
        if !pretty {
            let value: Value = serde_json::from_str(&text).unwrap();
            text = value.to_string();
        }
        let found = convert(&FORMAT, &text, &[("propagation", "0s")]);
        prop_assert_eq!(found.count("clock-steps") + found.count("missing-numbers"), 0);
        prop_assert_eq!(found.slots, expected);
    }
}

/// Few packets are held between the two passes for the smallest delay; of many the file is read again.
#[test]
fn the_smallest_delay_is_removed_whether_packets_are_held_or_read_again() {
    for packets in [3, 63, 64, 65, 200] {
        let trip = |n: u64| match n % 7 {
            5 => lost(n, 10 * i64::try_from(n).unwrap(), "true_up"),
            _ => answered(
                n,
                10 * i64::try_from(n).unwrap(),
                20 + i64::try_from(n % 5).unwrap(),
                30,
            ),
        };
        let text = document(&(0..packets).map(trip).collect::<Vec<_>>());
        let smallest = convert(&FORMAT, &text, &[]);
        // Half of the smallest round trip.
        let given = convert(&FORMAT, &text, &[("propagation", "25ms")]);
        assert_eq!(smallest.slots, given.slots, "{packets}");
        assert_eq!(smallest.slots.len() as u64, packets);
        assert_eq!(smallest.names(), given.names());
        assert_eq!(
            smallest.head.get("propagation_removed_ns"),
            Some("25000000")
        );
        assert_eq!(smallest.remarks.len(), given.remarks.len());
    }
}
