//! Rules `early`, `slots`, `fifo` and `queue`: link and queue.

use super::logs::{SHARING_LOG, TIMELINE, TIMELINE_LOG, with};
use super::{broken, on_synthetic, on_timeline, report, without_timeline};

#[test]
fn early_finds_a_delivery_that_the_link_cannot_explain() {
    assert_eq!(on_timeline(&[("0.174000000", "0.173999999")]), ["early 19"]);
    // Line 18 is a duplicate, so no ACK depends on it.
    assert_eq!(on_timeline(&[("0.171000000", "0.171000001")]), ["early 18"]);
    assert!(without_timeline(&[("0.174000000", "0.164000001")]).is_empty());
    assert_eq!(
        without_timeline(&[("0.174000000", "0.164000000")]),
        ["early 19"]
    );
    assert_eq!(
        on_synthetic(&[("0.052000000,delivered", "0.051999999,delivered")]),
        ["early 15"]
    );
    assert_eq!(
        on_synthetic(&[("0.052000000,delivered", "0.052000001,delivered")]),
        ["early 15"]
    );
}

/// Deliveries at 0.061, 0.082, (lost), 0.171, 0.174, 0.176. The LLDUs of a packet span 1 ms, so a slot of 2 ms moves
/// the last delivery to 0.177.
#[test]
fn early_finds_deliveries_that_are_not_kept_apart() {
    let shifted = (
        "lldus_per_packet: 2",
        "lldus_per_packet: 2\n# overlap: shift\n# slot_ns: 2000000",
    );
    assert_eq!(on_timeline(&[shifted]), ["early 22"]);
    let moved = |at: &str| {
        let row = format!("0.{at},delivered,0.227000000");
        let change = ("0.176000000,delivered,0.226000000", row.as_str());
        let is_early = |rules: Vec<String>| rules.contains(&"early 22".to_owned());
        [on_timeline, without_timeline].map(|audited| is_early(audited(&[shifted, change])))
    };
    assert_eq!(moved("177000000"), [false, false]);
    assert_eq!(moved("176999999"), [true, true]);
    // The log alone does not show when its LLDUs arrived.
    assert_eq!(moved("177000001"), [true, false]);
}

#[test]
fn early_checks_the_service_against_the_timeline() {
    assert_eq!(
        on_timeline(&[("0.113000000,0.114000000", "0.113000001,0.114000000")]),
        ["early 19"]
    );
    assert_eq!(
        on_timeline(&[("0.113000000,0.114000000", "0.113000000,0.114000001")]),
        ["early 19"]
    );
    assert_eq!(
        on_timeline(&[(
            "0.230000000,0.231000000,12,13",
            "0.231000000,0.300000000,13,14"
        )]),
        ["early 21"],
        "LLDU 12 was free"
    );
    assert_eq!(
        on_timeline(&[(
            "1,0,2,0.112000000,0.112000000",
            "1,0,2,0.112000000,0.113000001"
        )]),
        ["story 19 19", "early 19", "fifo 20"],
        "LLDU 8 had gone"
    );
}

#[test]
fn slots_checks_the_bytes_of_shared_lldus() {
    let audited = |changes: &[(&str, &str)], timeline| {
        broken(&report(
            &with(SHARING_LOG, changes),
            Some(TIMELINE).filter(|_| timeline),
        ))
    };
    let breaks = |rule: &str, changes: &[(&str, &str)], timeline| {
        let found = audited(changes, timeline);
        assert!(
            found.iter().any(|found| found.starts_with(rule)),
            "{changes:?}: {found:?}"
        );
    };
    for timeline in [true, false] {
        assert_eq!(audited(&[], timeline), [""; 0]);
        // 400 B of LLDU 0 are free for the second packet, and 200 B of it are in LLDU 1.
        for lldus in ["0.000000000,0.000000000,0,0", "0.001000000,0.001000000,1,1"] {
            let row = [("0.000000000,0.001000000,0,1", lldus)];
            breaks("slots 15", &row, timeline);
        }
        // The third packet begins where the second ends, even if all of it fits the next LLDU.
        let late = [(
            "0.001000000,0.001000000,1,1,0.061000000,delivered,0.111000000",
            "0.002000000,0.002000000,2,2,0.082000000,delivered,0.132000000",
        )];
        breaks("slots 16", &late, timeline);
        // The fourth comes too late for the 200 B left of LLDU 1.
        let early = [("0.002000000,0.002000000,2,2", "0.001000000,0.001000000,1,1")];
        breaks("slots 17", &early, timeline);
    }
    let free = (
        "0.002000000,0.002000000,2,2,0.082000000",
        "0.003000000,0.003000000,3,3,0.063000000",
    );
    let found = audited(&[free], true);
    assert_eq!(found, ["early 17"], "LLDU 2 was free");
    // Another payload: two packets fit an LLDU.
    breaks(
        "slots 15",
        &[("lldu_payload_bytes: 1000", "lldu_payload_bytes: 1200")],
        true,
    );
    let found = audited(&[("lldus_per_packet: 1", "lldus_per_packet: 2")], true);
    assert_eq!(found, ["form 13"]);
}

#[test]
fn queue_finds_a_drop_by_a_buffer_without_a_limit() {
    let unlimited = ("buffer: 3pkt", "buffer: inf");
    assert_eq!(on_timeline(&[unlimited]), ["queue 17"]);
}

#[test]
fn early_checks_a_loss_against_the_timeline() {
    assert_eq!(
        on_timeline(&[("2,3,0.082000000,delivered,0.132000000", "2,3,,link,")])[0],
        "early 15"
    );
    let found = "4,5,0.065000000,delivered,0.224000000";
    assert_eq!(
        on_timeline(&[("4,5,,link,0.224000000", found)]),
        ["early 16"]
    );
}

#[test]
fn early_finds_lldus_that_the_timeline_does_not_have() {
    let short: String = TIMELINE
        .split_inclusive('\n')
        .filter(|line| {
            !["0.231", "0.3", "# end"]
                .iter()
                .any(|text| line.starts_with(text))
        })
        .collect();
    assert_eq!(broken(&report(TIMELINE_LOG, Some(&short))), ["early 21"]);
}

#[test]
fn early_finds_an_open_fate_that_was_known() {
    // Delivered at 0.176, logged as open.
    let rows = [
        ("10,11,0.176000000,delivered", "10,11,,open"),
        ("0.226000000", ""),
        ("0.226000000", ""),
    ];
    assert_eq!(on_timeline(&rows), ["early 20"]);
    // Line 21 arrives at 0.291. An event at the end of the run may or may not be logged.
    let last_event = |nanos: u32| {
        let sent = format!("1,2,1,0.{nanos},0.{nanos}");
        on_timeline(&[
            ("run_ends_ns: 280000000", "run_ends_ns: 400000000"),
            ("1,2,1,0.279000000,0.279000000", &sent),
        ])
    };
    assert_eq!(last_event(291_000_000), [""; 0]);
    assert_eq!(last_event(291_000_001), ["early 21"]);
}

#[test]
fn early_infers_from_any_event_that_the_run_went_on() {
    // Nothing is sent after line 19, but an ACK comes back at 0.211.
    let last = "0,2,1,0.213000000,0.213000000,0.213000000,0.214000000,5,5,,open,\n";
    let rows = [
        (last, ""),
        ("4,4,0.162000000,delivered,0.212000000", "4,4,,open,"),
        ("queue,0.212000000", "queue,"),
        ("rows=7", "rows=6"),
    ];
    assert_eq!(on_synthetic(&rows), ["early 19"]);
}

#[test]
fn early_lets_a_run_end_sooner_than_it_had_to() {
    let sooner = ("run_ends_ns: 280000000", "run_ends_ns: 9000000000");
    assert_eq!(on_timeline(&[sooner]), [""; 0]);
    let sooner = ("run_ends_ns: 215000000", "run_ends_ns: 9000000000");
    assert_eq!(on_synthetic(&[sooner]), [""; 0]);
}

#[test]
fn early_finds_a_packet_that_waits_while_the_link_is_free() {
    assert_eq!(
        on_timeline(&[("0.230000000,0.231000000,12,13,,open", ",,,,,open")]),
        ["early 21"]
    );
    // The link was free for line 20 from 0.213 to 0.214, and the run went on.
    let last_event = |nanos: u32| {
        let row = format!(",,,,,open,\n1,2,1,0.{nanos},0.{nanos},,,,,,open,");
        let waits = ("0.213000000,0.214000000,5,5,,open,", row.as_str());
        on_synthetic(&[waits, ("rows=7", "rows=8")])
    };
    assert_eq!(last_event(214_000_000), [""; 0]);
    assert_eq!(last_event(214_000_001), ["early 20"]);
}

#[test]
fn early_checks_the_rate_of_the_synthetic_link() {
    // 1000 B at 7 Mbit/s take 1142857.1 ns, rounded either way.
    for (end, holds) in [
        (1_142_856, false),
        (1_142_857, true),
        (1_142_858, true),
        (1_142_859, false),
    ] {
        let log = format!(
            "# tool: t\n# log: packets\n# link: synthetic\n# rtt_ns: 3\n# packet_bytes: 1000\n# buffer: 1pkt\n\
             # rate_bps: 7000000\n# flows: 1\n# run_ends_ns: 2000000\n\
             flow,packet,copy,sent,enqueued,service_start,service_end,first_lldu,last_lldu,delivered,fate,acked\n\
             0,0,1,0.000000000,0.000000000,0.000000000,0.00{end},0,0,0.00{},delivered,0.00{}\n# end: rows=1\n",
            end + 1,
            end + 3,
        );
        let expected: &[&str] = if holds { &[] } else { &["early 11"] };
        assert_eq!(broken(&report(&log, None)), expected, "{end}");
    }
}

#[test]
fn early_finds_a_synthetic_link_that_serves_too_late_or_too_early() {
    let later = ("0.213000000,0.214000000,5,5", "0.213000001,0.214000001,5,5");
    assert_eq!(on_synthetic(&[later]), ["early 20"]);
    // Line 19 is served while line 18 still is.
    let overlap = (
        "0.111000000,0.112000000,4,4,0.162000000",
        "0.110900000,0.111900000,4,4,0.161900000",
    );
    assert_eq!(on_synthetic(&[overlap]), ["early 19"]);
}

#[test]
fn slots_finds_an_lldu_that_carries_two_packets() {
    assert_eq!(
        without_timeline(&[("8,9,0.174", "5,6,0.174")]),
        ["slots 19"]
    );
    let with_timeline = on_timeline(&[("8,9,0.174", "5,6,0.174")]);
    assert_eq!(
        with_timeline,
        ["early 20", "slots 19"],
        "and LLDU 9 was left to line 20"
    );
}

#[test]
fn slots_finds_a_packet_of_the_wrong_length() {
    for range in ["8,8", "9,8", "8,10", "8,9223372036854775807"] {
        let range = format!("{range},0.174");
        assert_eq!(
            without_timeline(&[("8,9,0.174", &range)]),
            ["slots 19"],
            "{range}"
        );
    }
    assert_eq!(on_timeline(&[("8,9,0.174", "8,10,0.174")]), ["slots 19"]);
}

#[test]
fn slots_counts_the_services_of_the_synthetic_link() {
    for ordinals in ["5,6", "4,5", "4,4", "6,6"] {
        let ordinals = format!("{ordinals},,open,");
        assert_eq!(
            on_synthetic(&[("5,5,,open,", &ordinals)]),
            ["slots 20"],
            "{ordinals}"
        );
    }
}

#[test]
fn fifo_finds_a_packet_that_overtook_another() {
    // Lines 19 and 20 change places on the link.
    let swapped = [
        (
            "0.113000000,0.114000000,8,9,0.174000000,delivered,0.224000000",
            "0.115000000,0.116000000,10,11,0.176000000,delivered,0.226000000",
        ),
        ("4,5,,link,0.224000000", "4,5,,link,0.226000000"),
        (
            "1,1,2,0.112000000,0.112000000,0.115000000,0.116000000,10,11,0.176000000",
            "1,1,2,0.112000000,0.112000000,0.113000000,0.114000000,8,9,0.174000000",
        ),
    ];
    assert_eq!(on_timeline(&swapped), ["fifo 19"]);
}

#[test]
fn fifo_accepts_any_order_of_two_flows_at_the_same_time() {
    // Lines 15 and 16 were sent 0.1 ms apart. If sent at the same time, either may be served first.
    let swapped = [
        (
            "0.001000000,0.002000000,1,1,0.052000000,delivered,0.102500000",
            "0.002000000,0.003000000,2,2,0.053000000,delivered,0.103000000",
        ),
        (
            "1,0,1,0.000100000,0.000100000",
            "1,0,1,0.000000000,0.000000000",
        ),
        (
            "0.002000000,0.003000000,2,2,,link",
            "0.001000000,0.002000000,1,1,,link",
        ),
    ];
    assert_eq!(on_synthetic(&swapped), [""; 0]);
    assert_eq!(
        on_synthetic(&[swapped[0], swapped[2]]),
        ["fifo 15"],
        "not when one came first"
    );
}

#[test]
fn fifo_finds_a_packet_that_was_skipped() {
    let waits = [
        (
            "0.115000000,0.116000000,10,11,0.176000000,delivered,0.226000000",
            ",,,,,open,",
        ),
        ("0.226000000", ""),
    ];
    assert_eq!(without_timeline(&waits), ["fifo 21"]);
}

#[test]
fn queue_finds_one_packet_too_many() {
    assert_eq!(
        on_timeline(&[("buffer: 3pkt", "buffer: 4pkt")]),
        ["queue 17"],
        "a drop although the queue is not full"
    );
    assert_eq!(
        on_timeline(&[("buffer: 3pkt", "buffer: 2pkt")]),
        ["queue 16"]
    );
    for (bytes, lines) in [(3702, None), (4935, None), (4936, Some("queue 17"))] {
        let buffer = format!("buffer: {bytes}B");
        let found = on_timeline(&[("buffer: 3pkt", &buffer)]);
        assert_eq!(found, lines.into_iter().collect::<Vec<_>>(), "{bytes} B");
    }
}

#[test]
fn queue_accepts_either_order_of_a_departure_and_an_arrival_at_the_same_time() {
    // The packet in service leaves at 0.001, when the dropped packet arrives, …
    let at_once = |sent: &str| {
        let dropped = format!("1,1,1,{sent},{sent}");
        on_synthetic(&[("1,1,1,0.000200000,0.000200000", &dropped)])
    };
    assert_eq!(at_once("0.001000000"), [""; 0]);
    assert_eq!(at_once("0.001000001"), ["queue 17"]);
    // … and when one more may be enqueued.
    let more = |sent: &str| {
        let row = format!("1,2,1,{sent},{sent},0.003000000,0.004000000,3,3,,link,\n1,0,2,");
        on_synthetic(&[
            ("1,0,2,", &row),
            ("3,3,0.161", "4,4,0.161"),
            ("4,4,0.162", "5,5,0.162"),
            ("5,5,,open", "6,6,,open"),
            ("rows=7", "rows=8"),
        ])
    };
    assert_eq!(more("0.001000000"), [""; 0]);
    assert_eq!(more("0.000999999"), ["queue 18"]);
}
