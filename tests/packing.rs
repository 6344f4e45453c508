//! `--packing`: packets and ACKs that share LLDUs, and a queue without a limit.

use std::path::Path;

use serde_json::Value;
use tmt_core::types::to_f64;

use crate::common::{Folder, bash, tmt, traces};

/// The totals of the only run of a report.
fn total(report: &Value) -> &Value {
    &report["results"]["runs"][0]["total"]
}

/// Bytes of whole packets that a run delivered in order.
fn delivered_bytes(folder: &Folder, size: u64, flags: &str, trace: &str) -> f64 {
    let run = tmt("tcp --json --packet").arg(format!("{size}B"));
    let run = run.arg_list(flags).arg(trace).within(folder).run().ok();
    let packets = total(&run.json())["packets_delivered"].as_u64().unwrap();
    to_f64(packets * size)
}

/// Relative difference of two numbers.
fn differ(one: f64, other: f64) -> f64 {
    (one - other).abs() / other
}

/// Slots of a constant rate, 1504 B each, as `NAME.csv`.
fn synth(folder: &Folder, name: &str, rate: &str) {
    tmt("synth --lldu 1504B --rtt 60ms --duration 60s --decode-delay 1ns --rate")
        .arg(rate)
        .arg_list(&format!("-o {name}.csv"))
        .within(folder)
        .run()
        .ok();
}

fn convert(folder: &Folder, trace: &Path) {
    tmt("convert --from mahimahi --rtt 60ms -o trace.csv")
        .arg(trace)
        .within(folder)
        .run()
        .ok();
}

#[test]
fn a_window_that_fills_a_mahimahi_trace_carries_the_same_bytes_in_small_packets() {
    let Some(traces) = traces() else { return };
    let files = [
        "mahimahi/ATT-LTE-driving-2016.down",
        "mahimahi/ATT-LTE-driving-2016.up",
        "mahimahi/TMobile-LTE-short.down",
        "mahimahi/TMobile-UMTS-driving.down",
        "mahimahi/Verizon-LTE-short.down",
        "mahimahi/Verizon-LTE-short.up",
        "leocc/bw_example.txt",
    ];
    for file in files {
        let folder = Folder::new();
        convert(&folder, &traces.join(file));
        let bytes = |size, flags| delivered_bytes(&folder, size, flags, "trace.csv");
        let large = bytes(1500, "--profile rfc --buffer inf --cc fixed:250");
        let small = bytes(300, "--profile rfc --buffer inf --cc fixed:1250");
        assert!(differ(small, large) < 0.02, "{file}: {small} B, {large} B");
    }
}

#[test]
fn small_packets_fill_opportunities_of_a_mahimahi_trace_only_by_bytes() {
    let folder = Folder::new();
    // 2000 opportunities of 1503 B in 10 s, some of them in the same millisecond.
    bash(
        &folder,
        "seq 0 1999 | awk '{ print int($1 / 3) * 15 }' > opportunities; \
         tmt convert --from mahimahi --rtt 60ms -o trace.csv opportunities",
    )
    .ok();
    let bytes = |packing| {
        let flags = format!("--profile rfc --buffer inf --cc fixed:500 --duration 9s {packing}");
        delivered_bytes(&folder, 300, &flags, "trace.csv")
    };
    // The last 30 ms are on their way; the first of them are the round trip of the first window.
    let capacity = 9.0 / 0.015 * 3.0 * 1503.0;
    assert!(differ(bytes(""), capacity) < 0.01, "{}", bytes(""));
    let fifth = capacity * 300.0 / 1503.0;
    let alone = bytes("--packing packet");
    assert!(differ(alone, fifth) < 0.01, "{alone}");
}

#[test]
fn a_return_trace_and_a_return_rate_of_the_same_capacity_give_the_same_goodput() {
    let folder = Folder::new();
    synth(&folder, "forward", "4.5Mbps");
    synth(&folder, "return", "1.9Mbps");
    for control in [
        "--cc cubic",
        "--cc fixed:80 --buffer inf",
        "--cc reno --buffer 100pkt",
    ] {
        let bytes = |flags: &str| {
            let flags = format!("--profile linux {control} {flags}");
            delivered_bytes(&folder, 1500, &flags, "forward.csv")
        };
        let by_rate = bytes("--return-rate 1.9Mbps");
        let by_trace = bytes("--return-trace return.csv --packing bytes");
        assert!(
            differ(by_trace, by_rate) < 0.02,
            "{control}: {by_trace} B, {by_rate} B"
        );
    }
    // 40 B in each slot of 1504 B: 158 ACKs per second for two packets each, of 372 packets per second.
    let flags =
        "--profile rfc --cc fixed:80 --buffer inf --return-trace return.csv --packing packet";
    let alone = delivered_bytes(&folder, 1500, flags, "forward.csv");
    let acks = 2.0 * 1_900_000.0 / (8.0 * 1504.0) * 1500.0 * 60.0;
    assert!(differ(alone, acks) < 0.02, "{alone} B, {acks} B");
}

#[test]
fn the_trace_decides_unless_the_flag_does() {
    let folder = Folder::new();
    bash(
        &folder,
        "seq 1 2000 > opportunities; \
         tmt convert --from mahimahi --rtt 60ms -o new.csv opportunities; \
         grep -v '^# packing' new.csv > old.csv; \
         sed 's/^# packing: .*/# packing: packet/' new.csv > packet.csv; \
         sed 's/^# packing: .*/# packing: bits/' new.csv > bits.csv; \
         tmt apply -q --scheme arq -o timeline.csv new.csv; \
         grep -v '^#' new.csv > plain.csv",
    )
    .ok();
    let packing = |flags: &str, trace: &str| {
        let run = tmt("tcp --json").arg_list(flags).arg(trace);
        let report = run.within(&folder).run().ok().json();
        report["params"]["packing"].as_str().unwrap().to_owned()
    };
    assert!(folder.read("new.csv").contains("\n# packing: bytes\n"));
    for (trace, expected) in [
        ("new.csv", "bytes"),
        ("old.csv", "bytes"),
        ("timeline.csv", "bytes"),
        ("packet.csv", "packet"),
        ("plain.csv", "packet"),
    ] {
        assert_eq!(packing("", trace), expected, "{trace}");
    }
    assert_eq!(packing("--packing packet", "new.csv"), "packet");
    assert_eq!(packing("--packing bytes", "plain.csv"), "bytes");
    tmt("tcp bits.csv")
        .within(&folder)
        .run()
        .fails(1, &["packing", "bits", "packet or bytes"]);
    // Each trace decides for its direction.
    let run = tmt("tcp --json --return-trace new.csv plain.csv").within(&folder);
    let params = &run.run().ok().json()["params"];
    assert_eq!(params["packing"], "packet");
    assert_eq!(params["return_packing"], "bytes");
}

#[test]
fn links_that_cannot_share_lldus_say_so() {
    let folder = Folder::new();
    bash(
        &folder,
        "seq 1 2000 > opportunities; tmt convert --from mahimahi --rtt 60ms -o trace.csv opportunities",
    )
    .ok();
    let run = |flags: &str| {
        tmt("tcp")
            .arg_list(flags)
            .arg("trace.csv")
            .within(&folder)
            .run()
    };
    run("--link coupled --scheme arq --quiet")
        .ok()
        .says(&["warning: the trace says packing bytes", "--packing packet"]);
    let silent = run("--link coupled --scheme arq --quiet --packing packet").ok();
    assert!(!silent.stderr.contains("packing"), "{}", silent.stderr);
    run("--link coupled --scheme arq --packing bytes")
        .fails(2, &["--packing bytes", "--packing packet", "tmt apply"]);
    run("--overlap shift").fails(2, &["--overlap shift", "--packing packet"]);
    run("--overlap shift --packing packet").ok();
    run("--packet 300B --packing packet --quiet")
        .ok()
        .says(&["warning: a packet of 300B fills 20.0 %", "--packing bytes"]);
    run("--duration 60s --quiet")
        .ok()
        .says(&["--loop repeats it, as mm-link does by default"]);
    tmt("tcp --link synthetic --rate 1Mbps --duration 1s --packing bytes")
        .run()
        .fails(2, &["--packing", "needs a trace"]);
}

#[test]
fn shared_lldus_pass_the_audit_and_are_explained_and_saved() {
    let folder = Folder::new();
    bash(
        &folder,
        "seq 0 1999 | awk '{ print int($1 / 7) * 20 }' > opportunities; \
         tmt convert --from mahimahi --rtt 60ms -o phy.csv opportunities; \
         tmt inject --bernoulli 0.01 --seed 3 phy.csv -o erased.csv",
    )
    .ok();
    let flags =
        "--json --packet 400B --flows 3 --buffer inf --return-trace phy.csv --packets log.csv";
    let run = tmt("tcp --save-params run.toml --explain 2:9").arg_list(flags);
    let first = run.arg("erased.csv").within(&folder).run().ok();
    tmt("audit --timeline erased.csv log.csv")
        .within(&folder)
        .run()
        .ok();
    let log = folder.read("log.csv");
    for line in [
        "# packing: bytes",
        "# lldu_payload_bytes: 1503",
        "# buffer: inf",
        "# return_packing: bytes",
    ] {
        assert!(log.contains(line), "no '{line}'");
    }
    // A packet that begins where the one before ends.
    let lldus = log.lines().filter_map(|row| {
        let fields: Vec<&str> = row.split(',').collect();
        Some((
            fields.get(7)?.parse::<u64>().ok()?,
            fields[8].parse::<u64>().ok()?,
        ))
    });
    let lldus: Vec<(u64, u64)> = lldus.collect();
    let shared = lldus
        .windows(2)
        .filter(|pair| pair[0].1 == pair[1].0)
        .count();
    assert!(shared > lldus.len() / 2, "{shared} of {}", lldus.len());
    let crossing = lldus.iter().filter(|(first, last)| last > first).count();
    assert!(crossing > lldus.len() / 10, "{crossing} of {}", lldus.len());
    let damaged = log.replace("# lldu_payload_bytes: 1503", "# lldu_payload_bytes: 1500");
    tmt("audit --timeline erased.csv -")
        .input(damaged)
        .within(&folder)
        .run()
        .fails(1, &[]);
    let saved = folder.read("run.toml");
    assert!(saved.contains("buffer = \"inf\""), "{saved}");
    let again = tmt("tcp --params run.toml --json")
        .within(&folder)
        .run()
        .ok();
    let (again, first) = (again.json(), first.json());
    assert_eq!(total(&again), total(&first));
    assert_eq!(again["params"]["buffer_packets"], Value::Null);
}

#[test]
fn a_queue_without_a_limit_drops_nothing_itself() {
    let run = |flags: &str| {
        let link =
            "tcp --link synthetic --rate 1Mbps --rtt 40ms --duration 20s --json --buffer inf";
        let report = tmt(link).arg_list(flags).run().ok().json();
        let dropped = total(&report)["packets_dropped"].as_u64().unwrap();
        let longest = total(&report)["delay_max_s"].as_f64().unwrap();
        (dropped, longest)
    };
    // 1000 packets of 12 ms wait.
    let (dropped, longest) = run("--cc fixed:1000");
    assert_eq!(dropped, 0);
    assert!((11.9..=12.1).contains(&longest), "{longest} s");
    let (dropped, _) = run("--cc fixed:1000 --queue codel");
    assert!(dropped > 0, "CoDel drops what has waited too long");
}
