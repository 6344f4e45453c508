//! Input that is odd but right, and settings at their ends: everything comes to an end and says something true.

use crate::common::{Folder, bash, has_every_form, plain, tmt, trace};
use serde_json::Value;

/// One of each kind, bounded and unbounded.
const SCHEMES: [&str; 12] = [
    "none",
    "arq",
    "arq:rounds=0",
    "arq:rounds=3,in-order",
    "fec:10/12",
    "fec:2/3,interleave=2,in-order",
    "harq:10/12",
    "harq:2/3,extra=2,rounds=2,interleave=3",
    "harq:1/1,in-order",
    "frame-arq:10/12",
    "frame-arq:2/3,rounds=3,in-order",
    "fec:100/120",
];

#[test]
fn every_scheme_and_control_is_taken_to_its_ends() {
    has_every_form(&SCHEMES, &tmt_core::scheme::forms(), &[]);
    let deaf_to_losses = ["bbr", "bbr1", "fixed"];
    has_every_form(
        &CONTROLS,
        &fluid_tcp::congestion::Algorithm::forms(),
        &deaf_to_losses,
    );
}

/// The summary of `scheme` over `phy`.
fn summary(scheme: &str, rtt: &str, phy: &str) -> Value {
    let ran = tmt("apply --summary-only --summary - --scheme")
        .arg(scheme)
        .arg("--rtt")
        .arg(rtt)
        .arg_list("--feedback-delay 0s")
        .input(phy)
        .run()
        .ok();
    ran.results()[0].take()
}

/// The rows of the timeline of `scheme` over `phy`.
fn timeline(scheme: &str, rtt: &str, phy: &str) -> Vec<String> {
    let ran = tmt("apply --scheme")
        .arg(scheme)
        .arg("--rtt")
        .arg(rtt)
        .arg_list("--feedback-delay 0s")
        .input(phy)
        .run()
        .ok();
    plain(ran.text())
        .lines()
        .skip(1)
        .map(str::to_owned)
        .collect()
}

/// The sum of fields of a summary.
fn sum(summary: &Value, fields: &[&str]) -> u64 {
    fields
        .iter()
        .map(|field| summary[field].as_u64().unwrap())
        .sum()
}

/// The total of the one run of `tmt tcp` on a synthetic link.
fn synthetic(flags: &str) -> Value {
    let ran = tmt("tcp --link synthetic --json")
        .arg_list(flags)
        .run()
        .ok();
    ran.json()["results"]["runs"][0]["total"].take()
}

#[test]
fn a_round_trip_of_zero_repeats_in_the_very_next_slot() {
    let phy = "0,0.1\n1,0\n2,0\n3,0.1\n4,0.1\n";
    assert_eq!(
        timeline("arq", "0s", phy),
        [
            "0.000000000,0.100000000,1",
            "1.000000000,2.100000000,3",
            "4.000000000,0.100000000,1"
        ]
    );
}

#[test]
fn a_round_trip_of_zero_among_slots_of_one_time_ends() {
    let phy = "0,0\n".repeat(1000) + "0,0.1\n";
    assert_eq!(
        timeline("arq", "0s", &phy),
        ["0.000000000,0.100000000,1001"]
    );
}

#[test]
fn every_scheme_ends_where_all_slots_are_erased() {
    let phy: String = (0..5000).fold(String::new(), |text, slot| text + &format!("{slot},0\n"));
    for scheme in SCHEMES {
        for rtt in ["0s", "1s", "30s"] {
            let found = summary(scheme, rtt, &phy);
            assert_eq!(found["delivered"], 0, "{scheme} {rtt}");
            assert_eq!(found["slots_erased"], 5000);
            assert_eq!(found["efficiency"], 0.0);
            assert_eq!(found["delay_max_s"], Value::Null);
            assert_eq!(
                sum(&found, &["units_data", "units_repair", "units_repeated"]),
                5000
            );
            let lldus = sum(&found, &["lost", "censored"]);
            let rows = timeline(scheme, rtt, &phy);
            assert_eq!(rows.len() as u64, lldus, "{scheme} {rtt}");
            assert!(rows.iter().all(|row| row.split(',').nth(1) == Some("0")));
        }
    }
}

#[test]
fn one_slot_is_enough_for_every_scheme() {
    for scheme in SCHEMES {
        let received = timeline(scheme, "500ms", "7,0.25\n");
        // A frame is delivered whole or not at all, and this one was never whole.
        let delay = if scheme.starts_with("frame-arq") {
            "0"
        } else {
            "0.250000000"
        };
        assert_eq!(received, [format!("7.000000000,{delay},1")], "{scheme}");
        let erased = timeline(scheme, "500ms", "7,0\n");
        let attempts = if erased[0].ends_with(",2") { 2 } else { 1 };
        assert_eq!(erased, [format!("7.000000000,0,{attempts}")], "{scheme}");
    }
}

#[test]
fn a_codeword_longer_than_the_trace_delivers_what_came_through_by_itself() {
    let phy = "0,0.1\n1,0\n2,0.1\n";
    for scheme in [
        "fec:100/120",
        "harq:100/120,rounds=2",
        "fec:2/4,interleave=9",
    ] {
        let found = summary(scheme, "500ms", phy);
        assert_eq!(found["delivered"], 2, "{scheme}");
        assert_eq!(found["censored"], 1, "{scheme}");
        assert_eq!(found["lost"], 0, "{scheme}");
    }
    let frame = summary("frame-arq:100/120", "500ms", phy);
    assert_eq!(
        (&frame["delivered"], &frame["censored"]),
        (&0.into(), &3.into())
    );
}

#[test]
fn the_largest_times_are_taken_and_sums_past_them_are_refused_where_they_arise() {
    let last = "9223372036.854775807,0\n";
    assert_eq!(
        timeline("none", "9223372036854775807ns", last),
        ["9223372036.854775807,0,1"]
    );
    for (scheme, rtt) in [("arq", "1ns"), ("harq:1/1", "9223372036854775807ns")] {
        let ran = tmt("apply --scheme").arg(scheme).arg("--rtt").arg(rtt);
        ran.input(last).run().fails(
            1,
            &["<stdin>:1:1: found tx_time + RTT + feedback delay above 9223372036.854775807 s"],
        );
    }
    tmt("apply --scheme arq --rtt 9223372036854775807ns --feedback-delay 9223372036854775807ns")
        .input("0,0\n1,0.1\n")
        .run()
        .fails(
            1,
            &["<stdin>:1:1: found tx_time + RTT + feedback delay above"],
        );
    // Comments and blank lines in front of the slot count as lines.
    tmt("apply --scheme arq --rtt 1s")
        .input("# a comment\n1,0.5\n\n9223372036,0.5\n# x\n9223372036.5,0\n")
        .run()
        .fails(
            1,
            &["<stdin>:6:1: found tx_time + RTT + feedback delay above"],
        );
    let found = tmt("stats --json").input(last).run().ok().results();
    assert_eq!(
        (&found["slots"], &found["slots_erased"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn a_run_that_begins_at_the_largest_time_ends() {
    let folder = Folder::new();
    folder.write("last.csv", "9223372036.854775807,0\n");
    let tcp = "timeout 60 tmt tcp --lldu 1500B --lldu-header 0B --buffer 2pkt --json last.csv";
    let report = bash(&folder, tcp).ok().json();
    let run = &report["results"]["runs"][0];
    assert_eq!(run["duration_s"], 0.0);
    // Of ten packets one is sent and erased, two wait, and the queue has no room for the others.
    for (name, packets) in [
        ("sent", 10),
        ("dropped", 7),
        ("served", 1),
        ("lost", 1),
        ("delivered", 0),
    ] {
        assert_eq!(run["total"][format!("packets_{name}")], packets, "{name}");
    }
}

#[test]
fn more_jobs_than_there_is_work_for_cost_nothing() {
    let folder = Folder::new();
    folder.write("phy.csv", trace(20, 4));
    for schemes in ["--scheme arq", "--scheme arq --scheme none --summary-only"] {
        // Half a gigabyte to write to has no room for a thousand threads of two megabytes each.
        let script = format!(
            "ulimit -d 500000; tmt apply --jobs 1000 {schemes} --summary link.json phy.csv"
        );
        let many = bash(&folder, &script).ok();
        let summary = folder.read("link.json");
        let script = format!("tmt apply --jobs 1 {schemes} --summary link.json phy.csv");
        assert_eq!(many.stdout, bash(&folder, &script).ok().stdout);
        assert_eq!(summary, folder.read("link.json"));
        assert_eq!(
            many.stdout.is_empty(),
            schemes.ends_with("only"),
            "{schemes}"
        );
    }
}

#[test]
fn a_window_of_one_packet_is_one_packet_a_round_trip() {
    // 500 ms and 12 ms of service: packet 39 has been acknowledged at 19.968 s.
    let run = "--rate 1Mbps --duration 20s --rtt 500ms --rwnd 1pkt --profile rfc";
    let found = synthetic(&format!("{run} --delayed-ack off"));
    assert_eq!(found["packets_sent"], 40);
    assert_eq!(found["packets_retransmitted"], 0);
    let delayed = synthetic(run);
    // Every acknowledgement waits 100 ms for a second packet that never comes.
    assert_eq!(delayed["packets_sent"], 33);
}

/// Every control that gives way to losses.
const CONTROLS: [&str; 7] = [
    "reno", "newreno", "cubic", "compound", "hybla", "westwood", "vegas",
];

#[test]
fn a_round_trip_of_zero_is_no_hang() {
    for loss in ["bernoulli:0", "bernoulli:0.01", "bernoulli:0.5"] {
        for control in CONTROLS {
            let found = synthetic(&format!(
                "--rate 1Mbps --duration 200s --rtt 0s --cc {control} --loss {loss}"
            ));
            assert!(
                found["packets_delivered"].as_u64().unwrap() > 0,
                "{control} {loss}"
            );
        }
    }
}

#[test]
fn a_link_that_loses_everything_is_tried_ever_more_rarely() {
    for control in CONTROLS {
        for sack in ["on", "off"] {
            let found = synthetic(&format!(
                "--rate 1Mbps --duration 200s --loss bernoulli:1 --iw 10 --cc {control} --sack {sack} \
                 --profile rfc --recovery halving"
            ));
            // Timeouts at 1, 3, 7, 15, 31 and 63 s, then every 60 s: 123 and 183 s.
            assert_eq!(found["rto_events"], 8, "{control} sack {sack}");
            assert_eq!(found["packets_sent"], 18, "{control} sack {sack}");
            assert_eq!(found["packets_delivered"], 0);
        }
    }
}

#[test]
fn a_transfer_of_nothing_is_done_at_once() {
    let found = synthetic("--rate 1Mbps --duration 20s --bytes 0B");
    assert_eq!(found["completion_time_s"], 0.0);
    assert_eq!(found["packets_sent"], 0);
    assert_eq!(found["goodput_bps"], Value::Null);
}

#[test]
fn a_thousand_flows_share_a_link() {
    let ran = tmt(
        "tcp --link synthetic --rate 100Mbps --rtt 50ms --duration 20s --flows 1000 --start 0s..5s",
    )
    .arg_list("--profile rfc --bytes 14600B --json")
    .run()
    .ok();
    let report = ran.json();
    let flows = report["results"]["runs"][0]["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 1000);
    assert!(flows.iter().all(|flow| flow["packets_delivered"] == 10));
    assert_eq!(
        report["results"]["runs"][0]["total"]["packets_delivered"],
        10_000
    );
}

#[test]
fn an_outage_of_minutes_is_survived() {
    let mut phy = String::new();
    for slot in (0..2_000).chain(200_000..210_000u32) {
        phy += &format!("{}.{:03},0.001\n", slot / 1000, slot % 1000);
    }
    for control in ["cubic", "newreno"] {
        let ran = tmt("tcp --rtt 100ms --lldu 1500B --lldu-header 0B --json --cc")
            .arg(control)
            .input(&*phy)
            .run()
            .ok();
        let report = ran.json();
        let total = &report["results"]["runs"][0]["total"];
        assert_eq!(total["packets_lost"], 0, "{control}");
        // The first stretch has 2 000 LLDUs of a packet each.
        assert!(
            total["packets_delivered"].as_u64().unwrap() > 2_000,
            "{control}: {total}"
        );
        assert!(
            total["rto_events"].as_u64().unwrap() <= 12,
            "{control}: {total}"
        );
    }
}

#[test]
fn a_timeline_that_loses_everything_ends_the_run_where_it_ends() {
    let phy: String = (0..100_000).fold(String::new(), |text, slot| {
        text + &format!("{}.{:03},0\n", slot / 1000, slot % 1000)
    });
    let ran = tmt("tcp --rtt 100ms --lldu 1500B --lldu-header 0B --json")
        .input(phy)
        .run()
        .ok();
    let report = ran.json();
    assert_eq!(report["results"]["runs"][0]["duration_s"], 99.999);
    assert_eq!(
        report["results"]["runs"][0]["total"]["packets_delivered"],
        0
    );
    assert_eq!(report["results"]["runs"][0]["total"]["goodput_bps"], 0.0);
}

#[test]
fn settings_at_their_ends_are_taken() {
    for flags in [
        "--rate 9223372036854775807bps --duration 1s --bytes 1MB",
        "--rate 1bps --duration 1000000h --bytes 3kB",
        "--rate 1Mbps --duration 1s --packet 1B --headers 0B --bytes 1kB",
        "--rate 1Gbps --duration 1s --packet 1GB",
        "--rate 1Mbps --duration 1s --buffer 1pkt",
        "--rate 1Mbps --duration 1s --buffer 9223372036854775807B",
        "--rate 1Mbps --duration 1s --buffer 1000000bdp",
        "--rate 1Mbps --duration 1s --iw 1000000",
        "--rate 1Mbps --duration 1s --rwnd 1099511627776pkt",
        "--rate 1Mbps --duration 1s --bytes 9223372036854775807B",
        "--rate 1Mbps --duration 1s --rtt 9223372036854775807ns",
        "--rate 1Mbps --duration 9223372036854775807ns --bytes 15kB",
        "--rate 1Mbps --duration 1s --start 9223372036854775807ns",
        "--rate 1Mbps --duration 1s --start 0s..9223372036854775807ns",
        "--rate 1Mbps --duration 1s --min-rto 9223372036854775807ns --max-rto 9223372036854775807ns",
        "--rate 1Mbps --duration 1s --rto-tick 9223372036854775807ns --loss bernoulli:0.5",
        "--rate 1Mbps --duration 1s --delayed-ack 1000 --delayed-ack-timer 9223372036854775807ns",
        "--rate 1Mbps --duration 1s --delayed-ack-timer 0s --rtt 0s",
        "--rate 1Mbps --duration 0s",
        "--rate 1Mbps --duration 1s --seed 9223372036854775806",
        "--rate 1Mbps --duration 1s --loss gilbert-elliott:alpha=1,beta=1,start=bad",
        "--rate 1Mbps --duration 1s --loss gilbert-elliott:alpha=0,beta=0",
    ] {
        let found = synthetic(flags);
        assert!(found["packets_sent"].as_u64().is_some(), "{flags}");
    }
}

#[test]
fn a_run_of_no_time_has_no_rates() {
    let found = synthetic("--rate 1Mbps --duration 0s");
    assert_eq!(found["goodput_bps"], Value::Null);
    assert_eq!(found["link_utilisation"], Value::Null);
}

#[test]
fn a_flow_that_never_starts_sends_nothing() {
    let found = synthetic("--rate 1Mbps --duration 10s --start 11s");
    assert_eq!(found["packets_sent"], 0);
    assert_eq!(found["completion_time_s"], Value::Null);
}

#[test]
fn a_looped_timeline_goes_on_for_as_long_as_the_run() {
    let ran = tmt("tcp --loop --duration 30s --json --lldu 1500B --lldu-header 0B --replace-head")
        .input(trace(1000, 5000))
        .run()
        .ok();
    let report = ran.json();
    assert_eq!(report["results"]["runs"][0]["duration_s"], 30.0);
    assert_eq!(report["params"]["looped"], true);
    // A thousand LLDUs a second; each holds a packet.
    let delivered = report["results"]["runs"][0]["total"]["packets_delivered"]
        .as_u64()
        .unwrap();
    assert!((20_000..=30_000).contains(&delivered), "{delivered}");
}

#[test]
fn a_packet_that_needs_more_lldus_than_there_are_is_refused() {
    let lldus = trace(46, 100);
    tmt("tcp").input(&*lldus).run().fails(
        1,
        &["<stdin>: found 46 LLDUs, expected at least 47, which a packet of 1500B needs"],
    );
    tmt("tcp").input(trace(47, 100)).run().ok();
    tmt("tcp --packet 9223372036854775807B")
        .input(lldus)
        .run()
        .fails(1, &["found 46 LLDUs, expected at least "]);
}
