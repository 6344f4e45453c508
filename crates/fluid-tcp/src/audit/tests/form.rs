//! Rules `form` and `story`: checks of the head, of single rows and of the end line.

use super::logs::{SYNTHETIC, TIMELINE, TIMELINE_LOG, with};
use super::{broken, on_synthetic, on_timeline, report, without_timeline};
use crate::audit::Totals;
use crate::audit::head::KEYS;

#[test]
fn form_requires_every_key_of_the_head() {
    for (log, keys) in [
        (
            TIMELINE_LOG,
            [
                "lldus_per_packet: 2",
                "packet_bytes: 1234",
                "run_ends_ns: 280000000",
            ],
        ),
        (
            SYNTHETIC,
            ["rate_bps: 8000000", "link: synthetic", "rtt_ns: 100000000"],
        ),
    ] {
        let common = [
            "tool: tmt 0.1.0",
            "log: packets",
            "buffer: 3pkt",
            "flows: 2",
        ];
        for key in keys.iter().chain(&common) {
            let line = format!("# {key}\n");
            let report = report(&with(log, &[(&line, "")]), None);
            assert!(!report.passed(), "{key}");
            assert_eq!(
                report.totals,
                Totals::default(),
                "nothing is read without a head"
            );
        }
    }
}

#[test]
fn form_refuses_impossible_values_in_the_head() {
    for (right, wrong) in [
        ("packet_bytes: 1234", "packet_bytes: 0"),
        ("buffer: 3pkt", "buffer: 3"),
        ("buffer: 3pkt", "buffer: 03pkt"),
        ("flows: 2", "flows: 0"),
        ("link: timeline", "link: coupled"),
        ("log: packets", "log: series"),
        ("rtt_ns: 100000000", "rtt_ns: 0.1"),
        (
            "run_ends_ns: 280000000",
            "run_ends_ns: 99999999999999999999",
        ),
    ] {
        assert_eq!(on_timeline(&[(right, wrong)]), ["form 13"], "{wrong}");
    }
    assert_eq!(
        on_timeline(&[("# flows: 2\n", "# flows: 2\n# flows: 2\n")]),
        ["form 11"]
    );
    assert_eq!(on_timeline(&[("# flows", "#flows")])[0], "form 10 13");
    assert_eq!(
        on_synthetic(&[("rate_bps: 8000000", "rate_bps: 0")]),
        ["form 13"]
    );
}

#[test]
fn names_of_times_may_have_their_unit_all_or_none() {
    let old = "flow,packet,copy,sent,enqueued,service_start,service_end,first_lldu,last_lldu,delivered,fate,acked\n";
    let new = "flow,packet,copy,sent_s,enqueued_s,service_start_s,service_end_s,first_lldu,last_lldu,delivered_s,fate,\
               acked_s\n";
    let renamed = report(&with(TIMELINE_LOG, &[(old, new)]), Some(TIMELINE));
    assert!(renamed.passed(), "{:#?}", renamed.rules);
    assert_eq!(renamed.totals, report(TIMELINE_LOG, Some(TIMELINE)).totals);
    for mixed in [new.replace("sent_s", "sent"), new.replace("copy", "copy_s")] {
        assert_eq!(on_timeline(&[(old, &mixed)]), ["form 13"], "{mixed}");
    }
}

#[test]
fn an_end_line_without_its_line_end_is_a_cut() {
    let log = TIMELINE_LOG.strip_suffix('\n').unwrap();
    assert_eq!(broken(&report(log, Some(TIMELINE))), ["form 23"]);
}

/// If a key has two values, either could be meant.
#[test]
fn form_refuses_every_known_key_that_is_given_more_than_once() {
    for (key, _) in KEYS {
        let (head, rest) = SYNTHETIC.split_once("flow,").unwrap();
        let missing = !head.contains(&format!("# {key}: "));
        let first = if missing {
            format!("# {key}: 1\n")
        } else {
            String::new()
        };
        let once = format!("{head}{first}flow,{rest}");
        let twice = format!("{head}{first}# {key}: 1\nflow,{rest}");
        let line = head.lines().count() + usize::from(missing) + 1;
        let form = |log: &str| {
            let form = report(log, None).rules.swap_remove(0);
            form.violations
                .iter()
                .any(|violation| violation.line == line as u64)
        };
        assert!(form(&twice), "{key}");
        assert!(missing || !form(&once), "{key}");
    }
}

#[test]
fn form_accepts_further_keys_in_the_head() {
    let stages = "# flows: 2\n# stage: synth\n# stage: apply\n# overlap: asap\n";
    assert!(on_timeline(&[("# flows: 2\n", stages)]).is_empty());
}

#[test]
fn form_requires_the_exact_header() {
    assert_eq!(on_timeline(&[("flow,packet", "packet,flow")]), ["form 13"]);
    assert_eq!(
        on_timeline(&[("fate,acked\n", "fate,acked\r\n")]),
        ["form 13"]
    );
}

#[test]
fn form_finds_a_log_that_was_cut() {
    assert_eq!(on_timeline(&[("# end: rows=9\n", "")]), ["form 22"]);
    assert_eq!(on_timeline(&[("rows=9", "rows=8")]), ["form 23"]);
    assert_eq!(broken(&report("", None)), ["form 0"]);
}

#[test]
fn form_accepts_nothing_after_the_end_line_and_no_other_comment() {
    assert_eq!(
        on_timeline(&[("rows=9\n", "rows=9\n# end: rows=9\n")]),
        ["form 24"]
    );
    assert_eq!(
        on_timeline(&[("0,0,1,", "# a remark\n0,0,1,")]),
        ["form 14"]
    );
    let (cut, last) = TIMELINE_LOG.split_once("1,2,1").unwrap();
    let (last, _) = last.split_once('\n').unwrap();
    let late = format!("{cut}# end: rows=8\n1,2,1{last}\n");
    assert_eq!(broken(&report(&late, Some(TIMELINE))), ["form 23"]);
}

#[test]
fn form_finds_a_log_that_is_cut_after_its_head() {
    for log in [TIMELINE_LOG, SYNTHETIC] {
        let (head, _) = log.split_once("flow,packet").unwrap();
        let lines = head.lines().count();
        assert_eq!(broken(&report(head, None)), [format!("form {lines}")]);
    }
}

#[test]
fn form_finds_fields_that_do_not_parse() {
    for (right, wrong) in [
        ("1,2,1,0.279000000,0.279000000", "1,2,1,0.279,0.279000000"),
        ("1,2,1,0.279000000,0.279000000", "1,2,1,0.279000000,"),
        ("1,2,1,0.279000000", "2,2,1,0.279000000"),
        ("1,2,1,0.279000000", "1,2,0,0.279000000"),
        ("1,2,1,0.279000000", "1,,1,0.279000000"),
        (",open,\n# end", ",lost,\n# end"),
        (",open,\n# end", ",open,,\n# end"),
        (",open,\n# end", ",open\n# end"),
        (",open,\n# end", ",\"open\",\n# end"),
    ] {
        assert_eq!(on_timeline(&[(right, wrong)]), ["form 22"], "{wrong}");
    }
}

#[test]
fn form_finds_a_fate_that_does_not_fit_its_fields() {
    for fate in ["delivered", "link"] {
        let fate = format!(",{fate},\n# end");
        assert_eq!(
            on_timeline(&[(",open,\n# end", &fate)]),
            ["form 22"],
            "{fate}"
        );
    }
    let half = ",,,,12,13,,open,\n# end";
    assert_eq!(on_timeline(&[(",,,,,,open,\n# end", half)]), ["form 22"]);
    let arrived = ",,,,,0.280000000,open,\n# end";
    assert_eq!(on_timeline(&[(",,,,,,open,\n# end", arrived)]), ["form 22"]);
}

#[test]
fn form_finds_rows_out_of_order_and_times_after_the_run() {
    assert_eq!(
        on_timeline(&[(
            "0,2,1,0.225000000,0.225000000",
            "0,2,1,0.111999999,0.111999999"
        )]),
        ["form 21", "fifo 21"]
    );
    assert_eq!(
        without_timeline(&[
            ("0.226000000", "0.281000000"),
            ("0.226000000", "0.281000000")
        ]),
        ["form 17 20"]
    );
    assert_eq!(
        on_timeline(&[(
            "1,2,1,0.279000000,0.279000000",
            "1,2,1,0.281000000,0.281000000"
        )]),
        ["form 22 22"]
    );
}

#[test]
fn story_finds_a_time_before_its_cause() {
    // Enqueued before it was sent. It waited for the link in any case.
    assert_eq!(
        on_synthetic(&[(
            "1,0,1,0.000100000,0.000100000",
            "1,0,1,0.000100000,0.000099999"
        )]),
        ["story 16"]
    );
    // Without the timeline no other rule detects that a service ended before it began.
    assert_eq!(
        without_timeline(&[("0.002000000,0.003000000", "0.002000000,0.001500000")]),
        ["story 15"]
    );
}

#[test]
fn story_requires_a_delivery_after_its_service() {
    // A delivery before the end of its service is also too early.
    assert_eq!(
        without_timeline(&[("0.174000000", "0.113900000")]),
        ["story 19", "early 19"]
    );
    assert_eq!(
        without_timeline(&[("0.174000000", "0.114000000")]),
        ["story 19", "early 19"]
    );
    let no_rtt = "# tool: t\n# log: packets\n# link: synthetic\n# rtt_ns: 0\n# packet_bytes: 1000\n\
        # buffer: 1000B\n# rate_bps: 8000000\n# flows: 1\n# run_ends_ns: 2000000\n\
        flow,packet,copy,sent,enqueued,service_start,service_end,first_lldu,last_lldu,delivered,fate,acked\n\
        0,0,1,0.000000000,0.000000000,0.000000000,0.001000000,0,0,0.001000000,delivered,0.001000000\n\
        # end: rows=1\n";
    assert!(
        report(no_rtt, None).passed(),
        "without an RTT service and delivery end together"
    );
}

#[test]
fn blank_lines_are_skipped_but_counted() {
    let changes = [
        ("1,2,1,", "\n\n1,2,1,"),
        (",open,\n# end", ",open,\n\n# end"),
    ];
    assert_eq!(on_timeline(&changes), [""; 0]);
    let changes = [changes[0], (",open,\n# end", ",what,\n# end")];
    assert_eq!(on_timeline(&changes), ["form 24"]);
}

#[test]
fn an_odd_rtt_gives_its_last_nanosecond_to_the_ack() {
    let log = |acked: &str| {
        let log = with(SYNTHETIC, &[("rtt_ns: 100000000", "rtt_ns: 100000001")]);
        broken(&report(&with(&log, &[("0.101000000", acked)]), None))
    };
    assert_eq!(log("0.101000001"), ["acked 18 19"]);
    assert_eq!(log("0.101000000"), ["acked 14 18 19"]);
}

/// The log of the synthetic link with the parts of its delays. Its packets wait 0, 1, 0 and 0.5 ms in the queue.
fn with_parts() -> String {
    let mut queue = ["0.000000000", "0.001000000", "0.000000000", "0.000500000"].into_iter();
    let mut text = String::new();
    for line in SYNTHETIC.lines() {
        text += line;
        if line.starts_with("flow") {
            text += ",delay_propagation,delay_queue,delay_serialisation,delay_wait";
        } else if line.contains(",delivered,") {
            let queue = queue.next().unwrap();
            text += &format!(",0.050000000,{queue},0.001000000,0.000000000");
        } else if !line.starts_with('#') {
            text += ",,,,";
        }
        text.push('\n');
    }
    text
}

#[test]
fn parts_follow_from_the_times_and_add_up() {
    let log = with_parts();
    let right = report(&log, None);
    assert!(right.passed(), "{:#?}", right.rules);
    let parts = right
        .rules
        .iter()
        .find(|rule| rule.rule == "parts")
        .unwrap();
    assert_eq!(parts.checks, 4 * 5);
    for (right, wrong, expected) in [
        // A part too long; two wrong parts that add up; a part without a delivery; a missing part.
        (
            "0.050000000,0.000500000",
            "0.050000000,0.000500001",
            "parts 19 19",
        ),
        (
            "0.050000000,0.000500000,0.001000000",
            "0.050500000,0.000000000,0.001000000",
            "parts 19 19",
        ),
        (
            ",link,0.211000000,,,,",
            ",link,0.211000000,0.050000000,,,",
            "form 16",
        ),
        ("0.050000000,0.000500000", "0.050000000,", "form 19"),
    ] {
        let found = broken(&report(&with(&log, &[(right, wrong)]), None));
        assert_eq!(found[0], expected, "{wrong}: {found:?}");
    }
}
