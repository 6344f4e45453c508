//! Every measured trace that `tmt convert` reads, through the whole chain and the auditor, with the facts known of it.
//!
//! The traces are other people's: they are read where they are (`common::traces`), never copied.

use std::path::Path;

use crate::common::{Folder, bash, tmt, traces};
use serde_json::Value;
use test_support::depth;

/// A scheme of every family, and all that its options do.
fn schemes() -> impl Iterator<Item = &'static str> {
    tmt_core::scheme::examples()
}

/// A share of a whole, in which a division may round the last digit up.
fn is_share(value: &Value) -> bool {
    value
        .as_f64()
        .is_some_and(|share| (0.0..=1.000_001).contains(&share))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// Converts into `phy.csv` of a new folder and returns what `tmt stats` says of it.
fn converted(arguments: &str, files: &[(&str, &Path)]) -> (Folder, Value) {
    let folder = Folder::new();
    let mut convert = tmt("convert -o phy.csv").arg_list(arguments);
    for (flag, file) in files {
        convert = convert.arg_list(flag).arg(file);
    }
    convert.within(&folder).run().ok();
    let stats = tmt("stats --json phy.csv")
        .within(&folder)
        .run()
        .ok()
        .results();
    (folder, stats)
}

const CONTROLS: [&str; 2] = ["cubic", "newreno"];

/// Takes `phy.csv` through schemes, TCP and the auditor; `tcp` holds flags that say what an LLDU is.
fn through_the_chain(folder: &Folder, stats: &Value, tcp: &str) {
    let mut apply = tmt("apply -o {scheme}.csv --summary link.json");
    for scheme in schemes() {
        apply = apply.arg("--scheme").arg(scheme);
    }
    apply.arg("phy.csv").within(folder).run().ok();
    let links: Value = serde_json::from_str(&folder.read("link.json")).unwrap();
    let mut wrong = Vec::new();
    for (place, (scheme, link)) in schemes()
        .zip(links["results"].as_array().unwrap())
        .enumerate()
    {
        let parts = ["units_data", "units_repair", "units_repeated"];
        let units: u64 = parts.iter().map(|part| number(&link[part])).sum();
        assert_eq!(units, number(&stats["slots"]), "{scheme}");
        assert_eq!(link["slots_erased"], stats["slots_erased"], "{scheme}");
        if link["slots_erased"] == 0 {
            assert_eq!(
                (&link["lost"], &link["units_repeated"]),
                (&0.into(), &0.into())
            );
            assert_eq!(link["attempts"][0]["count"], link["delivered"], "{scheme}");
        }
        let name: String = scheme
            .chars()
            .map(|c| if ":/,=".contains(c) { '-' } else { c })
            .collect();
        // Each scheme with each control, or the schemes with them in turns.
        for control in depth(&CONTROLS[place % 2..=place % 2], &CONTROLS[..]) {
            let what = format!("{scheme} {control}");
            let run = tmt("tcp --json --packets log.csv --cc")
                .arg(*control)
                .arg_list(tcp);
            let run = run.arg(format!("{name}.csv")).within(folder).run().ok();
            let report = run.json();
            let total = &report["results"]["runs"][0]["total"];
            assert!(number(&total["packets_delivered"]) > 100, "{what}: {total}");
            for share in ["link_share", "link_utilisation"] {
                assert!(is_share(&total[share]), "{what}: {share} {}", total[share]);
            }
            let audit = tmt("audit --timeline")
                .arg(format!("{name}.csv"))
                .arg("log.csv");
            let audit = audit.within(folder).run();
            if audit.code != Some(0) {
                wrong.push(format!("{what}: {}", audit.stderr));
            }
        }
    }
    for path in [
        "--scheme arq --in-order flow --path split --terrestrial-rtt 80ms --buffer 60pkt",
        "--scheme harq:10/12 --hold acknowledged --feedback-loss 0.01 --flows 2",
    ] {
        let run = tmt("tcp --link coupled --json --packets log.csv --slots slots.csv.gz")
            .arg_list(path)
            .arg_list(tcp);
        let report = run.arg("phy.csv").within(folder).run().ok().json();
        let total = &report["results"]["runs"][0]["total"];
        assert!(number(&total["packets_delivered"]) > 100, "{path}: {total}");
        assert!(is_share(&total["link_utilisation"]), "{path}: {total}");
        let audit = tmt("audit --slots slots.csv.gz log.csv")
            .within(folder)
            .run();
        if audit.code != Some(0) {
            wrong.push(format!("{path}: {}", audit.stderr));
        }
    }
    assert!(wrong.is_empty(), "the auditor found:\n{}", wrong.concat());
}

/// A delay of the statistics in ms, with one decimal.
fn millis(stats: &Value, which: &str) -> String {
    format!(
        "{:.1}",
        stats[format!("delay_{which}_s")].as_f64().unwrap() * 1e3
    )
}

/// A Starlink pair: lost packets, bursts of losses, and the delays in ms (smallest, median, largest).
fn starlink(direction: &str, lost: u64, bursts: &[(u64, u64)], delays: [&str; 3]) {
    let Some(folder) = traces() else { return };
    let file = |kind: &str| {
        folder.join(format!(
            "ebpf-trace-emu/LEO_{direction}_{kind}-000001-12h.txt"
        ))
    };
    let (scratch, stats) = converted(
        "--from delay-loss --interval 10ms",
        &[("--delay", &file("delay")), ("--loss", &file("loss"))],
    );
    assert_eq!(stats["slots"], 10_000);
    assert_eq!(stats["slots_erased"], lost);
    let found: Vec<(u64, u64)> = stats["bursts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bar| (number(&bar["value"]), number(&bar["count"])))
        .collect();
    assert_eq!(found, bursts);
    assert_eq!(
        ["min", "p50", "max"].map(|which| millis(&stats, which)),
        delays
    );
    assert_eq!(stats["last_s"], 99.99);
    // Three lost probes are no outage. The level changes where satellites are assigned: on the uplink nowhere else.
    let found = tmt("stats --json --segments --resample 200 phy.csv")
        .within(&scratch)
        .run()
        .ok()
        .results();
    assert_eq!(found["segments"]["outages"], Value::Array(Vec::new()));
    let steps = &found["segments"]["grid"]["steps"];
    if direction == "uplink" {
        assert_eq!((number(&steps["events"]), number(&steps["within"])), (4, 4));
        assert!(
            steps["chance_probability"].as_f64().unwrap() < 0.01,
            "{steps}"
        );
    }
    let loss = &found["resampled"]["figures"]["erasure_ratio"];
    let [low, estimate, high] = ["low", "estimate", "high"].map(|end| loss[end].as_f64().unwrap());
    assert!(low < estimate && estimate < high && high < 0.01, "{loss}");
    through_the_chain(&scratch, &stats, "--lldu 1500B --lldu-header 0B");
}

/// A mahimahi trace: opportunities, Mbps at 1500 B each, and the longest gap in ms.
fn mahimahi(path: &str, opportunities: u64, mbps: &str, gap: u32) {
    let Some(folder) = traces() else { return };
    let (scratch, stats) = converted("--from mahimahi --rtt 60ms", &[("", &folder.join(path))]);
    assert_eq!(stats["slots"], opportunities);
    assert_eq!(stats["slots_erased"], 0);
    let (slots, last) = (
        stats["slots"].as_f64().unwrap(),
        stats["last_s"].as_f64().unwrap(),
    );
    assert_eq!(format!("{:.2}", slots * 12_000.0 / last / 1e6), mbps);
    let longest = stats["longest_slot_period_s"].as_f64().unwrap();
    assert_eq!(
        format!("{longest:.3}"),
        format!("{:.3}", f64::from(gap) / 1e3)
    );
    let found = tmt("stats --json --segments phy.csv")
        .within(&scratch)
        .run()
        .ok()
        .results();
    let outages = found["segments"]["outages"].as_array().unwrap();
    let lengths = outages
        .iter()
        .map(|outage| outage["length_s"].as_f64().unwrap());
    assert_eq!(
        format!("{:.3}", lengths.fold(0.0, f64::max)),
        format!("{longest:.3}")
    );
    assert!(outages.iter().all(|outage| outage["slots_lost"] == 0));
    // Part of it, of a fast link a shorter one: packet logs of every scheme are audited.
    let part = if opportunities > 100_000 {
        depth("--duration 4s", "--duration 30s")
    } else {
        depth("--duration 20s", "")
    };
    through_the_chain(
        &scratch,
        &stats,
        &format!("--lldu 1504B --lldu-header 0B {part}"),
    );
}

#[test]
fn the_starlink_uplink_is_what_is_known_of_it_and_passes_the_chain() {
    starlink("uplink", 4, &[(1, 1), (3, 1)], ["3.6", "19.2", "144.4"]);
}

#[test]
fn the_starlink_downlink_is_what_is_known_of_it_and_passes_the_chain() {
    starlink(
        "downlink",
        33,
        &[(1, 24), (2, 3), (3, 1)],
        ["10.1", "19.4", "90.5"],
    );
}

#[test]
fn the_delays_of_leocc_are_what_is_known_of_them_and_pass_the_chain() {
    let Some(folder) = traces() else { return };
    let (scratch, stats) = converted(
        "--from delay-loss --interval 10ms --delay-unit ms",
        &[("--delay", &folder.join("leocc/delay_example.txt"))],
    );
    assert_eq!(
        (&stats["slots"], &stats["slots_erased"]),
        (&11_999.into(), &0.into())
    );
    assert_eq!(
        ["min", "p50", "max"].map(|which| millis(&stats, which)),
        ["7.0", "11.0", "68.0"]
    );
    through_the_chain(&scratch, &stats, "--lldu 1500B --lldu-header 0B");
}

#[test]
fn the_rate_of_leocc_is_what_is_known_of_it_and_passes_the_chain() {
    mahimahi("leocc/bw_example.txt", 487_652, "48.74", 135);
}

#[test]
fn att_lte_down_is_what_is_known_of_it_and_passes_the_chain() {
    mahimahi("mahimahi/ATT-LTE-driving-2016.down", 45_604, "4.56", 1123);
}

#[test]
fn att_lte_up_is_what_is_known_of_it_and_passes_the_chain() {
    mahimahi("mahimahi/ATT-LTE-driving-2016.up", 19_101, "1.91", 4061);
}

#[test]
fn verizon_lte_down_is_what_is_known_of_it_and_passes_the_chain() {
    mahimahi("mahimahi/Verizon-LTE-short.down", 58_655, "5.03", 1447);
}

#[test]
fn verizon_lte_up_is_what_is_known_of_it_and_passes_the_chain() {
    mahimahi("mahimahi/Verizon-LTE-short.up", 69_367, "5.95", 1718);
}

#[test]
fn tmobile_lte_down_is_what_is_known_of_it_and_passes_the_chain() {
    mahimahi("mahimahi/TMobile-LTE-short.down", 194_846, "16.70", 917);
}

#[test]
fn tmobile_umts_down_is_what_is_known_of_it_and_passes_the_chain() {
    mahimahi("mahimahi/TMobile-UMTS-driving.down", 156_262, "2.02", 5753);
}

/// Packets sent and lost, and the longest burst, of a trace that was converted.
fn facts(arguments: &str, path: &str) -> Option<(u64, u64, u64)> {
    let folder = traces()?;
    let (_, stats) = converted(arguments, &[("", &folder.join(path))]);
    let bursts = stats["bursts"].as_array().unwrap();
    let longest = bursts.iter().map(|bar| number(&bar["value"])).max();
    Some((
        number(&stats["slots"]),
        number(&stats["slots_erased"]),
        longest.unwrap_or(0),
    ))
}

#[test]
fn the_pings_over_starlink_and_lte_lose_what_their_summaries_say() {
    for (path, sent, lost) in [
        ("starlink_20240527_111234471_ping_111648884", 149, 21),
        ("starlink_20240527_112657543_ping_113111980", 149, 3),
        ("starlink_20240528_111436693_ping_111740829", 149, 18),
        ("att_20240527_112703353_ping_113119263", 150, 0),
        ("verizon_20240527_112659840_ping_113122409", 150, 0),
    ] {
        let path = format!("nuwins-starlink/{path}.out");
        let Some((slots, erased, _)) = facts("--from ping", &path) else {
            return;
        };
        assert_eq!((slots, erased), (sent, lost), "{path}");
    }
}

#[test]
fn tables_of_answers_have_no_losses_and_files_without_answers_are_refused() {
    let Some(folder) = traces() else { return };
    for (path, answers) in [
        ("starlink_20240527_111234471_ping_111648884", 128),
        ("starlink_20240527_112657543_ping_113111980", 146),
        ("starlink_20240528_111436693_ping_111740829", 131),
    ] {
        let path = format!("nuwins-starlink/{path}.csv");
        assert_eq!(facts("--from ping", &path), Some((answers, 0, 0)), "{path}");
    }
    for (ending, reason) in [
        ("out", "found no received packet among 146 sent"),
        ("csv", ":2:1: found time 's', expected seconds since 1970"),
    ] {
        let path = format!("nuwins-starlink/starlink_20240527_110122357_ping_110138720.{ending}");
        let ran = tmt("convert --from ping").arg(folder.join(path)).run();
        ran.fails(1, &[reason]);
    }
}

#[test]
fn the_frames_of_an_802_11_testbed_are_lost_as_known() {
    // Counted by `awk`: 301 less the lines of a file.
    for (link, lost) in [
        ("node3-8_sdec5-4", 88),
        ("node4-1_sdec3-8", 6),
        ("node4-3_sdec7-4", 66),
        ("node5-2_sdec3-8", 82),
        ("node5-8_sdec1-2", 59),
    ] {
        let path = format!("sensorlab-lqe/rutgers_dbm-10_{link}.txt");
        let arguments = "--from crawdad --interval 100ms --packets 301";
        let Some((slots, erased, longest)) = facts(arguments, &path) else {
            return;
        };
        assert_eq!((slots, erased), (301, lost), "{path}");
        assert!(longest <= 4, "{path}: {longest}");
    }
}

#[test]
fn the_frames_over_sigfox_are_lost_as_known() {
    let path = "sensorlab-lqe/sigfox_20160916_norep_randfreq.json";
    let Some((slots, erased, _)) = facts("--from sigfox", path) else {
        return;
    };
    assert_eq!((slots, erased), (1000, 95));
}

#[test]
fn the_pair_of_leocc_has_its_opportunities_and_delays() {
    let Some(folder) = traces() else { return };
    let files = [
        ("--bandwidth", folder.join("leocc/bw_example.txt")),
        ("--delay", folder.join("leocc/delay_example.txt")),
    ];
    let files = files.each_ref().map(|(flag, path)| (*flag, path.as_path()));
    let (folder, stats) = converted("--from leocc", &files);
    let text = folder.read("phy.csv");
    assert_eq!(number(&stats["slots"]), 487_652);
    assert_eq!(number(&stats["slots_erased"]), 0);
    // The smallest delay is 7 ms, the largest 68 ms.
    assert!(
        text.contains("# propagation_removed_ns: 7000000\n"),
        "{}",
        &text[..400]
    );
    let largest = text.lines().filter(|line| line.ends_with(",0.061000000"));
    assert!(largest.count() > 0);
    assert!(!text.lines().any(|line| line.ends_with(",0.062000000")));
}

#[test]
fn the_bins_of_iperf3_need_a_spread_and_keep_their_sums() {
    let Some(folder) = traces() else { return };
    let path = |ending: &str| {
        folder.join(format!(
            "nuwins-starlink/starlink_20240527_112657543_udp_downlink_112700580.{ending}"
        ))
    };
    let ran = tmt("convert --from iperf3").arg(path("out")).run();
    ran.fails(
        2,
        &["iperf3 needs --spread: iperf3 counts the losses of an interval"],
    );
    let ran = tmt("convert --from iperf3 --spread even")
        .arg(path("csv"))
        .run();
    ran.fails(1, &[":1:1: found a table of intervals without their times"]);
    let scratch = Folder::new();
    let script = format!(
        "tmt convert --from iperf3 --spread even '{}' | tmt stats --json",
        path("out").display()
    );
    let stats = bash(&scratch, &script).ok().json();
    // The sums of the report itself: 2333287/5356292.
    let stats = &stats["results"];
    assert_eq!(number(&stats["slots"]), 5_356_292);
    assert_eq!(number(&stats["slots_erased"]), 2_333_287);
}

#[test]
fn the_main_job_of_the_readme_gives_a_report() {
    let Some(folder) = traces() else { return };
    let file = |kind: &str| folder.join(format!("ebpf-trace-emu/LEO_uplink_{kind}-000001-12h.txt"));
    let scratch = Folder::new();
    let script = format!(
        "tmt convert --from delay-loss --delay '{}' --loss '{}' --interval 10ms --propagation 3ms \
         | tmt apply --scheme harq:10/12 --summary link.json \
         | tmt tcp --cc cubic --lldu 1500B --lldu-header 0B --json",
        file("delay").display(),
        file("loss").display()
    );
    let report = bash(&scratch, &script).ok().json();
    assert_eq!(report["params"]["rtt_ns"], 6_000_000);
    // Ten of twelve slots of 1500 B every 10 ms carry data, 1 Mbps; the queue holds two packets.
    let goodput = report["results"]["runs"][0]["total"]["goodput_bps"]
        .as_f64()
        .unwrap();
    assert!((500_000.0..=1_000_000.0).contains(&goodput), "{goodput}");
}
