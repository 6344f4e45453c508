//! Outputs of `tmt tcp` beside its report: logs in every form, one packet's story, qlog.

use std::fs;

use crate::common::{Folder, bash, tmt, trace};
use serde_json::Value;

/// A folder with a bursty timeline.
fn timeline() -> Folder {
    let folder = Folder::new();
    folder.write("phy.csv", trace(20_000, 30_000));
    bash(
        &folder,
        "tmt inject --gilbert-elliott alpha=0.99,beta=0.8 --seed 3 phy.csv \
         | tmt apply --scheme harq:10/12,rounds=1 -o timeline.csv",
    )
    .ok();
    folder
}

const LOSSY: &str = "tcp --link synthetic --rate 2Mbps --rtt 200ms --loss bernoulli:0.02 --duration 30s \
                     --flows 2";

#[test]
fn logs_hold_the_same_in_every_form_and_the_auditor_reads_them_all() {
    let folder = timeline();
    for run in ["tcp --packet 500B --flows 2 timeline.csv", LOSSY] {
        for form in ["csv", "csv.gz", "csv.zst", "parquet"] {
            tmt(run)
                .arg_list(&format!("--packets log.{form} --series series.{form}"))
                .within(&folder)
                .run()
                .ok();
        }
        let told = |name: &str| {
            let report = tmt("audit --json")
                .arg(name)
                .within(&folder)
                .run()
                .ok()
                .json();
            let checked =
                |rule: &Value| rule["rule"] == "parts" && rule["checks"].as_u64() > Some(0);
            assert!(
                report["results"]["rules"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(checked),
                "{name}"
            );
            report
        };
        let csv = told("log.csv");
        for form in ["csv.gz", "csv.zst", "parquet"] {
            assert_eq!(told(&format!("log.{form}")), csv, "{form}");
        }
        // A Parquet file may come through a pipe too, and a damaged one says what it is.
        bash(&folder, "tmt audit < log.parquet").ok();
        let parquet = fs::read(folder.path("log.parquet")).unwrap();
        tmt("audit")
            .input(&parquet[..parquet.len() - 9])
            .run()
            .fails(1, &["<stdin>: ", "Parquet"]);
        bash(&folder, "gzip -dc series.csv.gz | cmp - series.csv").ok();
    }
}

#[test]
fn the_parts_of_the_delay_add_up_to_it() {
    let folder = timeline();
    for run in [
        "tcp --packet 500B --flows 2 --json timeline.csv",
        "tcp --link synthetic --rate 2Mbps --rtt 200ms --duration 30s --json",
    ] {
        let report = tmt(run).within(&folder).run().ok().json();
        let total = &report["results"]["runs"][0]["total"];
        let mean = |part: &str| total[format!("delay_{part}mean_s")].as_f64().unwrap();
        let parts: f64 = ["propagation_", "queue_", "serialisation_", "wait_"]
            .map(mean)
            .iter()
            .sum();
        // Each mean is rounded to a nanosecond.
        assert!((parts - mean("")).abs() < 3e-9, "{parts} {}", mean(""));
        assert_eq!(mean("wait_") > 0.0, run.ends_with("timeline.csv"));
    }
}

#[test]
fn a_lost_packets_story_agrees_with_the_log() {
    let folder = timeline();
    for run in ["tcp --packet 500B --flows 2 timeline.csv", LOSSY] {
        tmt(run)
            .arg_list("--packets log.csv")
            .within(&folder)
            .run()
            .ok();
        let log = folder.read("log.csv");
        let rows: Vec<Vec<&str>> = log
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
            .map(|line| line.split(',').collect())
            .collect();
        // One that was sent again and came through, of the second flow.
        let again = rows
            .iter()
            .find(|row| {
                row[0] == "1" && row[2] != "1" && row[10] == "delivered" && !row[11].is_empty()
            })
            .unwrap();
        let copies: Vec<_> = rows.iter().filter(|row| row[..2] == again[..2]).collect();
        let report = tmt(run)
            .arg_list(&format!("--json --explain 1:{}", again[1]))
            .within(&folder)
            .run()
            .ok()
            .json();
        let story = &report["results"]["runs"][0]["explanation"];
        let nanos = |value: &Value| {
            value.as_u64().map_or_else(String::new, |nanos| {
                format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
            })
        };
        let told = story["copies"].as_array().unwrap();
        assert_eq!(told.len(), copies.len());
        for (copy, row) in told.iter().zip(copies) {
            let of_row = [
                nanos(&copy["sent_ns"]),
                nanos(&copy["service"]["start_ns"]),
                nanos(&copy["service"]["end_ns"]),
                nanos(&copy["delivered_ns"]),
                copy["fate"].as_str().unwrap().to_owned(),
                nanos(&story["acked_ns"]),
                nanos(&copy["delay"]["queue_ns"]),
                nanos(&copy["delay"]["wait_ns"]),
            ];
            assert_eq!(
                of_row,
                [3, 5, 6, 9, 10, 11, 13, 15].map(|index| row[index].to_owned())
            );
            assert_eq!(copy["why"] == "new", row[2] == "1");
            let lldus = &copy["service"]["lldus"];
            if lldus.is_object() {
                // A packet that the link lost has a lost LLDU; the last one sets the delivery.
                assert_eq!(lldus["lost"].as_u64() > Some(0), row[10] == "link");
                assert_eq!(
                    lldus["lost"].as_u64().unwrap() + lldus["delivered"].as_u64().unwrap(),
                    500_u64.div_ceil(32)
                );
            }
        }
        let words = tmt(run)
            .arg_list(&format!("--explain 1:{}", again[1]))
            .within(&folder)
            .run()
            .ok();
        assert!(
            words
                .text()
                .contains(&format!("\npacket {} of flow 1\n", again[1]))
        );
        assert!(
            words
                .text()
                .contains(&format!("{} s: delivered, ", again[9]))
        );
    }
}

#[test]
fn a_packet_that_was_never_sent_has_no_story() {
    let run = tmt(
        "tcp --link synthetic --rate 1Mbps --rtt 100ms --profile rfc --bytes 14600B --duration 9s --explain 10",
    )
    .run();
    assert_eq!(run.stdout, b"");
    run.fails(
        1,
        &["packet 10 of flow 0 was never sent: found 10 packets sent, counted from 0"],
    );
    tmt("tcp --link synthetic --rate 1Mbps --duration 9s --explain 1:0")
        .run()
        .fails(
            2,
            &["--explain: found flow 1, expected flow 0, the only one"],
        );
}

#[test]
fn every_record_of_a_qlog_parses_and_its_times_rise() {
    let folder = Folder::new();
    let run = tmt(LOSSY)
        .arg_list("--json --qlog run.sqlog")
        .within(&folder)
        .run()
        .ok()
        .json();
    let text = folder.read("run.sqlog");
    let records: Vec<Value> = text
        .split('\u{1e}')
        .skip(1)
        .map(|record| serde_json::from_str(record.strip_suffix('\n').unwrap()).unwrap())
        .collect();
    assert!(text.starts_with('\u{1e}'));
    let head = &records[0];
    assert_eq!(head["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert_eq!(head["serialization_format"], "application/qlog+json-seq");
    assert!(head["title"].as_str().unwrap().contains("model of TCP"));
    assert_eq!(head["trace"]["vantage_point"]["type"], "client");
    assert!(head["trace"]["event_schemas"][0].is_string());
    let (mut before, mut lost) = (0.0, 0);
    let mut latest = [Value::Null, Value::Null];
    for event in &records[1..] {
        let time = event["time"].as_f64().unwrap();
        assert!(time >= before, "{event}");
        before = time;
        let flow: usize = event["group_id"].as_str().unwrap().parse().unwrap();
        match event["name"].as_str().unwrap() {
            "quic:packet_lost" => {
                lost += 1;
                assert!(event["data"]["header"]["packet_number"].is_u64());
                let trigger = event["data"]["trigger"].as_str().unwrap();
                assert!(["reordering_threshold", "pto_expired"].contains(&trigger));
            }
            "quic:recovery_metrics_updated" => {
                let data = event["data"].as_object().unwrap();
                assert!(!data.is_empty());
                for (key, value) in data {
                    let known = [
                        "smoothed_rtt",
                        "congestion_window",
                        "bytes_in_flight",
                        "ssthresh",
                        "packets_in_flight",
                    ];
                    assert!(
                        known.contains(&key.as_str()) && value.is_number(),
                        "{event}"
                    );
                }
                if let Some(window) = data.get("congestion_window") {
                    assert_ne!(*window, latest[flow], "what has not changed is not told");
                    latest[flow] = window.clone();
                }
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(
        run["results"]["runs"][0]["total"]["packets_retransmitted"],
        lost
    );
}

#[test]
fn logs_of_several_seeds_have_names_of_their_own() {
    let folder = Folder::new();
    let several = format!("{LOSSY} --seeds 2 --explain 3");
    tmt(&several)
        .arg_list("--qlog q{seed}.sqlog --pcap p{seed} --packets l{seed}.parquet --series s{seed}.csv.zst")
        .within(&folder)
        .run()
        .ok();
    for name in [
        "q1.sqlog",
        "q2.sqlog",
        "p1-sender.pcap",
        "p2-receiver.pcap",
        "l2.parquet",
        "s2.csv.zst",
    ] {
        assert!(folder.path(name).exists(), "{name}");
    }
    for flag in ["--qlog q.sqlog", "--pcap p.pcap"] {
        tmt(&several)
            .arg_list(flag)
            .within(&folder)
            .run()
            .fails(2, &["several runs need {seed} in the file name"]);
    }
}

#[test]
fn intervals_are_printed_before_the_report_and_add_up() {
    let run = "tcp --link synthetic --rate 2Mbps --rtt 100ms --profile rfc --cc fixed:10 --buffer 100pkt --duration 10s --flows 2 --interval 3s";
    let ran = tmt(run).run().ok();
    let lines: Vec<&str> = ran
        .text()
        .lines()
        .take_while(|line| !line.is_empty())
        .collect();
    assert_eq!(
        lines[0],
        "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd"
    );
    // Three whole intervals and one of a second, of two flows and their sum.
    assert_eq!(lines.len(), 1 + 4 * 3);
    assert!(
        lines[12].starts_with("[SUM]   9.00-10.00  sec  "),
        "{}",
        lines[12]
    );
    // 2 Mbit/s of packets of 1500 B with 1460 B of payload: 1.947 Mbit/s while the windows fill the link.
    for line in [lines[6], lines[9], lines[12]] {
        assert!(
            line.contains(" 1.9") && line.contains(" Mbits/sec"),
            "{line}"
        );
    }
    for (flags, words) in [
        ("--json", "cannot be used with"),
        (
            "--seeds 2 --loss bernoulli:0.1",
            "--interval prints the intervals of one run",
        ),
        ("--interval 0s", "--interval"),
        (
            "--interval 100ns",
            "--interval 100ns: found 10000000 lines in a run of 1s, expected at most 1000000; use a longer interval, or --series",
        ),
    ] {
        let command = "tcp --link synthetic --rate 2Mbps --duration 1s";
        let interval = if flags.contains("--interval") {
            ""
        } else {
            "--interval 1s"
        };
        tmt(command)
            .arg_list(flags)
            .arg_list(interval)
            .run()
            .fails(2, &[words]);
    }
}
