//! A split path: packets that a proxy may acknowledge, keep and release.

use super::logs::with;
use super::{broken, report};

/// Two flows through a proxy with a buffer of two packets, T1 = 40 ms, T2 = 100 ms; `arq`, one unit per packet, a slot
/// every 10 ms that takes 5 ms to decode.
///
/// The unit of line 18 is erased and repeated, line 19 finds the buffer full, and line 20 is a duplicate. The run ends
/// before the proxy knows of the last delivery.
const SPLIT: &str = "\
# tool: tmt 0.1.0
# log: packets
# link: coupled
# rtt_ns: 100000000
# terrestrial_rtt_ns: 40000000
# path: split
# packet_bytes: 1000
# buffer: 2pkt
# scheme: arq
# feedback_delay_ns: 0
# units_per_packet: 1
# interleave: 1
# in_order: flow
# run_ends_ns: 300000000
# flows: 2
flow,packet,copy,sent,enqueued,service_start,service_end,first_lldu,last_lldu,delivered,fate,acked,delay_propagation,delay_queue,delay_serialisation,delay_wait,left
0,0,1,0.000000000,0.020000000,0.020000000,0.020000000,2,2,0.075000000,delivered,0.040000000,0.070000000,0.000000000,0.000000000,0.005000000,0.125000000
0,1,1,0.000000000,0.020000000,0.030000000,0.030000000,3,3,0.185000000,delivered,0.040000000,0.070000000,0.010000000,0.000000000,0.105000000,0.235000000
1,0,1,0.010000000,0.030000000,,,,,,queue,0.150000000,,,,,
0,1,2,0.035000000,0.055000000,,,,,,duplicate,0.040000000,,,,,
1,0,2,0.110000000,0.130000000,0.140000000,0.140000000,14,14,0.195000000,delivered,0.150000000,0.070000000,0.010000000,0.000000000,0.005000000,0.245000000
0,2,1,0.220000000,0.240000000,0.240000000,0.240000000,24,24,0.295000000,delivered,0.260000000,0.070000000,0.000000000,0.000000000,0.005000000,
# end: rows=6
";

fn on_split(changes: &[(&str, &str)]) -> Vec<String> {
    broken(&report(&with(SPLIT, changes), None))
}

#[test]
fn a_correct_log_passes_and_every_rule_is_checked() {
    let report = report(SPLIT, None);
    assert!(report.passed(), "{:#?}", report.rules);
    assert!(report.rules.iter().all(|rule| rule.checks > 0));
    let counts = report.totals.counts;
    assert_eq!(
        (counts.duplicates_at_proxy, counts.dropped_at_queue),
        (1, 1)
    );
    assert_eq!(counts.packets_delivered_in_order, 4);
}

#[test]
fn acked_finds_an_ack_that_the_proxy_cannot_have_sent() {
    let row = SPLIT.lines().find(|row| row.starts_with("1,0,2")).unwrap();
    let never_let_in = [(row, ""), ("rows=6", "rows=5")];
    let without = with(SPLIT, &never_let_in).replace("\n\n", "\n");
    assert_eq!(broken(&report(&without, None)), ["acked 19"]);
    // The link has not delivered the packets that the proxy acknowledges; the proxy has had them for T1/2.
    let early = ("0.195000000,delivered,0.150", "0.195000000,delivered,0.149");
    let both = ("queue,0.150", "queue,0.149");
    assert_eq!(on_split(&[early, both]), ["acked 21"]);
    let later = ("0.295000000,delivered,0.260", "0.295000000,delivered,0.259");
    assert_eq!(on_split(&[later]), ["acked 22"]);
}

#[test]
fn queue_checks_the_limit_of_the_buffer() {
    assert_eq!(
        on_split(&[("buffer: 2pkt", "buffer: 1pkt")]),
        ["queue 18 21 22"]
    );
    assert_eq!(
        on_split(&[("buffer: 2pkt", "buffer: 3pkt")]),
        ["queue 19"],
        "a drop although the queue is not full"
    );
    let leaves = |nanos: &str| on_split(&[("0.005000000,0.125000000", nanos)]);
    assert_eq!(leaves("0.005000000,"), ["queue 21 22"], "it never leaves");
}

#[test]
fn queue_finds_a_packet_released_before_the_link_can_have_acknowledged_it() {
    let leaves = |order: &str, nanos: &str| {
        let left = format!("0.005000000,{nanos}");
        on_split(&[
            ("in_order: flow", order),
            ("0.005000000,0.125000000", &left),
        ])
    };
    // Sent at 0.020, delivered at 0.075.
    for order in ["in_order: flow", "in_order: off"] {
        assert_eq!(leaves(order, "0.125000000"), [""; 0]);
        assert_eq!(leaves(order, "0.124999999"), ["queue 17"]);
        assert_eq!(leaves(order, "0.125000001"), ["queue 17"]);
    }
}

/// Whether rule `queue` finds something on line 18, whatever it finds on the lines of packets that need the room.
fn finds_line_18(changes: &[(&str, &str)]) -> bool {
    let found = on_split(changes);
    let queue = found.iter().find(|rule| rule.starts_with("queue"));
    queue.is_some_and(|rule| rule.split(' ').any(|line| line == "18"))
}

#[test]
fn queue_bounds_the_release_of_a_packet_that_waited_for_its_turn() {
    // Both are delivered at 0.185; the second was sent at 0.030 and can have arrived from 0.080 on.
    let first = (
        "0.075000000,delivered,0.040000000,0.070000000,0.000000000,0.000000000,0.005000000,0.125000000",
        "0.185000000,delivered,0.040000000,0.070000000,0.000000000,0.000000000,0.115000000,0.235000000",
    );
    let leaves = |order: &str, nanos: &str| {
        let second = format!("0.105000000,{nanos}");
        let changes = [
            first,
            ("in_order: flow", order),
            ("0.105000000,0.235000000", second.as_str()),
        ];
        finds_line_18(&changes)
    };
    for left in ["0.130000000", "0.200000000", "0.235000000"] {
        assert!(!leaves("in_order: flow", left), "{left}");
    }
    assert!(leaves("in_order: flow", "0.129999999"));
    assert!(leaves("in_order: flow", "0.235000001"));
    assert!(leaves("in_order: off", "0.234999999"));
}

#[test]
fn queue_bounds_the_release_by_what_the_scheme_repeats() {
    // Line 18 needed a repeat, at 0.130 at the earliest, and its data was complete at 0.135.
    let leaves = |scheme: &str, delay: u32, nanos: &str| {
        let left = format!("0.105000000,{nanos}");
        let delay = format!("feedback_delay_ns: {delay}");
        let changes = [
            ("scheme: arq", scheme),
            ("feedback_delay_ns: 0", delay.as_str()),
            ("0.105000000,0.235000000", left.as_str()),
        ];
        finds_line_18(&changes)
    };
    assert!(!leaves("scheme: arq", 0, "0.235000000"));
    assert!(leaves("scheme: arq", 0, "0.235000001"));
    assert!(leaves("scheme: arq", 0, "0.234999999"));
    // The feedback for the repeat, sent before 0.135.
    assert!(!leaves("scheme: arq", 2_000_000, "0.236999999"));
    assert!(leaves("scheme: arq", 2_000_000, "0.237000000"));
    // Redundant repeats may follow.
    assert!(!leaves("scheme: harq:1/2", 0, "0.260000000"));
    assert!(leaves("scheme: harq:1/2", 0, "0.234999999"));
    // Without repeats, the feedback for its only unit, sent at 0.030.
    assert!(!leaves("scheme: fec:1/1", 20_000_000, "0.235000000"));
    assert!(leaves("scheme: fec:1/1", 20_000_000, "0.235000001"));
}

#[test]
fn story_finds_a_duplicate_without_an_original() {
    let found_no_room = ("queue,0.150", "duplicate,0.150");
    assert_eq!(on_split(&[found_no_room]), ["story 19"]);
    // Of a packet that the proxy accepts later.
    let early = (
        "0,2,1,0.220000000,0.240000000",
        "0,2,2,0.220000000,0.240000000",
    );
    let row = "\n0,2,1,0.200000000,0.220000000,,,,,,duplicate,0.260000000,,,,,\n0,2,2,";
    let changes = [early, ("\n0,2,2,", row), ("rows=6", "rows=7")];
    assert_eq!(on_split(&changes), ["story 22"]);
}

#[test]
fn story_checks_the_time_to_the_gateway() {
    for enqueued in ["0.029999999", "0.030000001", "0.010000000"] {
        let row = format!("1,0,1,0.010000000,{enqueued}");
        let found = on_split(&[("1,0,1,0.010000000,0.030000000", &row)]);
        assert_eq!(found[0], "story 19", "{enqueued}: {found:?}");
    }
    let further = (
        "terrestrial_rtt_ns: 40000000",
        "terrestrial_rtt_ns: 40000002",
    );
    assert!(on_split(&[further])[0].starts_with("story 17 18 19 20 21 22"));
}

#[test]
fn fifo_finds_a_delivery_out_of_order() {
    let late = [
        ("0.185000000,delivered", "0.295000001,delivered"),
        ("0.105000000,", "0.215000001,"),
    ];
    assert_eq!(on_split(&late), ["fifo 22", "queue 18"]);
    let off = ("in_order: flow", "in_order: off");
    // Then only the time at which the proxy knows of it is wrong.
    assert_eq!(on_split(&[off, late[0], late[1]]), ["queue 18"]);
}
