//! Metrics of `tmt tcp` (docs/metrics.md) against hand computation, and against the packet log.

use std::collections::BTreeMap;
use std::fs;

use fluid_tcp::simulation::metrics::{Metrics, Total};
use serde_json::Value;
use tmt_core::types::to_f64;

use crate::common::{Folder, bash, project, tmt};

/// The first run of a report.
fn first_run(report: &Value) -> &Value {
    &report["results"]["runs"][0]
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn near(found: f64, expected: f64, tolerance: f64) {
    let off = found / expected - 1.0;
    assert!(off.abs() <= tolerance, "{found} for {expected}");
}

/// Total of a run with these arguments.
fn total(folder: &Folder, arguments: &str) -> Value {
    let report = tmt("tcp --json").arg_list(arguments).within(folder).run();
    first_run(&report.ok().json())["total"].clone()
}

#[test]
fn a_full_link_carries_payload_at_its_rate_less_the_headers() {
    let folder = Folder::new();
    let full = "--link synthetic --rate 10Mbps --rtt 40ms --cc fixed:60 --duration 120s --profile";
    // 10 Mbit/s · 1460/1500. The first packet takes 21.2 ms, 0.02 % of the run.
    let rfc = total(&folder, &format!("{full} rfc"));
    near(number(&rfc["goodput_bps"]), 9.7333e6, 0.002);
    near(number(&rfc["throughput_bps"]), 10e6, 0.002);
    near(number(&rfc["link_share"]), 1.0, 0.002);
    // 52 B with timestamps.
    let linux = total(&folder, &format!("{full} linux"));
    near(number(&linux["goodput_bps"]), 9.6533e6, 0.002);
    let all = total(&folder, &format!("{full} rfc --headers 0B"));
    assert_eq!(all["goodput_bps"], all["throughput_bps"]);
    assert_eq!(all["throughput_bps"], rfc["throughput_bps"]);
}

#[test]
fn a_late_flow_is_measured_over_its_own_time() {
    let folder = Folder::new();
    let late = total(
        &folder,
        "--link synthetic --rate 1Mbps --rtt 20ms --buffer 20pkt --profile rfc --flow cc=cubic,start=20s --duration 30s",
    );
    near(number(&late["goodput_bps"]), 0.97e6, 0.01);
    near(number(&late["throughput_bps"]), 0.998e6, 0.002);
    // A third of the run.
    near(number(&late["link_share"]), 0.333, 0.02);
}

#[test]
fn a_transfer_is_its_payload_whatever_the_packets() {
    let folder = Folder::new();
    // Windows of 10, 20 and 39 packets without delayed ACKs: three round trips, then 39 packets of 0.12 ms.
    let transfer = "--link synthetic --rate 100Mbps --rtt 500ms --delayed-ack off --duration 60s --bytes 100kB";
    let rfc = total(&folder, &format!("{transfer} --profile rfc"));
    assert_eq!(rfc["packets_delivered"], 69);
    let time = number(&rfc["completion_time_s"]);
    near(time, 1.25 + 0.000_12 * 39.0, 0.001);
    near(number(&rfc["goodput_bps"]), 800_000.0 / time, 1e-9);
    near(number(&rfc["throughput_bps"]), 69.0 * 12_000.0 / time, 1e-9);
    // ⌈100 000 / 1448⌉ = 70, ⌈100 000 / 448⌉ = 224.
    for (arguments, packets) in [
        ("--profile linux", 70),
        ("--packet 500B --profile linux", 224),
    ] {
        let other = total(&folder, &format!("{transfer} {arguments}"));
        assert_eq!(other["packets_delivered"], packets);
        let time = number(&other["completion_time_s"]);
        near(number(&other["goodput_bps"]), 800_000.0 / time, 1e-9);
    }
}

/// Packets that a flow got, counted from the packet log.
#[derive(Default)]
struct Got {
    /// First arrival of each packet, ns.
    arrived: BTreeMap<u64, u64>,
}

impl Got {
    /// Packets in order at the end, and the time of the last in-order delivery, ns.
    fn in_order(&self) -> (u64, u64) {
        let in_order = (0..).zip(&self.arrived).take_while(|(n, (p, _))| n == *p);
        in_order.fold((0, 0), |(packets, last), (_, (_, at))| {
            (packets + 1, last.max(*at))
        })
    }
}

fn nanos(seconds: &str) -> u64 {
    let (whole, decimals) = seconds.split_once('.').unwrap();
    whole.parse::<u64>().unwrap() * 1_000_000_000 + decimals.parse::<u64>().unwrap()
}

#[test]
fn rates_and_shares_follow_from_the_packet_log() {
    let folder = Folder::new();
    let rate = 2e6;
    let flows = [
        ("cc=cubic,start=3s", 3.0, None),
        ("cc=newreno,start=1s,bytes=1234567B", 1.0, Some(1_234_567.0)),
        ("cc=reno,start=25s,bytes=7MB", 25.0, Some(7e6)),
    ];
    let given: Vec<String> = flows
        .iter()
        .map(|(flow, ..)| format!("--flow {flow}"))
        .collect();
    let report =
        tmt("tcp --link synthetic --rate 2Mbps --rtt 60ms --buffer 15pkt --loss bernoulli:0.003")
            .arg_list(&format!(
                "--profile rfc --packet 900B --duration 40s --json --packets log.csv {}",
                given.join(" ")
            ))
            .within(&folder)
            .run()
            .ok()
            .json();
    let mut got: Vec<Got> = flows.iter().map(|_| Got::default()).collect();
    for row in folder.read("log.csv").lines() {
        let fields: Vec<&str> = row.split(',').collect();
        if row.starts_with(|c: char| c.is_ascii_digit()) && fields[10] == "delivered" {
            let (flow, packet): (usize, u64) =
                (fields[0].parse().unwrap(), fields[1].parse().unwrap());
            let first = got[flow].arrived.entry(packet).or_insert(u64::MAX);
            *first = (*first).min(nanos(fields[9]));
        }
    }
    let run = first_run(&report);
    let capacity = 40.0 * rate / (900.0 * 8.0);
    let (mut payload, mut packets, mut received, mut complete) = (0.0, 0.0, 0.0, 0);
    for ((flow, got), (_, start, bytes)) in
        run["flows"].as_array().unwrap().iter().zip(&got).zip(flows)
    {
        let (in_order, last) = got.in_order();
        let full = 860.0 * to_f64(in_order);
        let is_complete = bytes.is_some_and(|bytes| full >= bytes);
        complete += usize::from(is_complete);
        let (own, end) = if is_complete {
            (bytes.unwrap(), to_f64(last) / 1e9)
        } else {
            (full, 40.0)
        };
        near(
            number(&flow["goodput_bps"]),
            8.0 * own / (end - start),
            1e-9,
        );
        let whole = to_f64(got.arrived.len() as u64);
        near(
            number(&flow["throughput_bps"]),
            7200.0 * whole / (end - start),
            1e-9,
        );
        near(
            number(&flow["link_share"]),
            to_f64(in_order) / capacity,
            1e-9,
        );
        payload += own;
        packets += to_f64(in_order);
        received += whole;
    }
    // One of the two transfers is complete, the other is cut by the end of the run.
    assert_eq!(complete, 1);
    let total = &run["total"];
    near(number(&total["goodput_bps"]), 8.0 * payload / 39.0, 1e-9);
    near(
        number(&total["throughput_bps"]),
        7200.0 * received / 39.0,
        1e-9,
    );
    near(number(&total["link_share"]), packets / capacity, 1e-9);
    assert!(number(&total["packets_spurious"]) + number(&total["packets_retransmitted"]) > 10.0);
}

/// Times of the slots of a PHY trace, ns.
fn slot_times(folder: &Folder, name: &str) -> Vec<u64> {
    let text = folder.read(name);
    let rows = text
        .lines()
        .filter(|row| row.starts_with(|c: char| c.is_ascii_digit()));
    rows.map(|row| nanos(row.split(',').next().unwrap()))
        .collect()
}

/// Packets that the link could have carried: what a share of 1 would be.
fn capacity(total: &Value) -> f64 {
    number(&total["packets_delivered"]) / number(&total["link_share"])
}

const SCHEMES: [&str; 6] = [
    "none",
    "fec:10/12",
    "arq",
    "arq,in-order",
    "harq:10/15",
    "harq:10/12,in-order",
];

/// Applies all schemes and calls `check` with the scheme, the file and the report of a run over each.
fn each_scheme(folder: &Folder, arguments: &str, check: impl Fn(&str, &Value)) {
    for scheme in SCHEMES {
        tmt("apply --scheme")
            .arg(scheme)
            .arg_list("-o timeline.csv phy.csv")
            .within(folder)
            .run()
            .ok();
        let report = tmt("tcp --json timeline.csv").arg_list(arguments);
        check(scheme, &report.within(folder).run().ok().json());
    }
}

#[test]
fn all_schemes_and_links_have_the_slots_of_the_trace_as_denominator() {
    let folder = Folder::new();
    bash(
        &folder,
        "tmt synth --rate 2.34Mbps --lldu 33B --duration 30s --decode-delay 36ms --rtt 500ms \
         | tmt inject --gilbert-elliott alpha=0.9995,beta=0.995 --seed 7 -o phy.csv",
    )
    .ok();
    let slots = slot_times(&folder, "phy.csv");
    // 1500 B take 47 LLDUs of 32 B.
    let carried = |from: f64, to: f64| {
        let within = |at: &&u64| (from * 1e9..=to * 1e9 + 0.5).contains(&to_f64(**at));
        to_f64(slots.iter().filter(within).count() as u64 / 47)
    };
    for (arguments, from) in [
        ("", 0.0),
        ("--duration 7s", 0.0),
        ("--offsets 2 --duration 9s", 14.5),
    ] {
        each_scheme(&folder, arguments, |scheme, report| {
            let run = report["results"]["runs"]
                .as_array()
                .unwrap()
                .last()
                .unwrap();
            let start = run["offset_s"].as_f64().unwrap_or(0.0);
            assert!((start - from).abs() < 10.0, "{start}");
            let expected = carried(start, start + number(&run["duration_s"]));
            let found = capacity(&run["total"]);
            assert!(
                (found - expected).abs() < 1e-6,
                "{scheme} {arguments}: {found} {expected}"
            );
        });
    }
    let coupled = total(&folder, "--link coupled --scheme harq:10/12 phy.csv");
    assert!((capacity(&coupled) - carried(0.0, 30.0)).abs() < 1e-6);
    // The same scheme on both links: the same use of the same link.
    tmt("apply --scheme none -o none.csv phy.csv")
        .within(&folder)
        .run()
        .ok();
    let replayed = total(&folder, "none.csv");
    let coupled = total(&folder, "--link coupled --scheme none phy.csv");
    assert!((capacity(&replayed) - capacity(&coupled)).abs() < 1e-6);
}

#[test]
fn slots_at_irregular_times_are_counted_in_proportion() {
    let folder = Folder::new();
    // 1 to 5 slots each 10 ms, one in ten erased.
    let mut phy = "# tool: x\n# rtt_ns: 20000000\ntx_time,decode_delay\n".to_owned();
    let (mut slots, mut last) = (0, 0);
    for step in 0_u64..3000 {
        for _ in 0..=(step * step / 7 % 5) {
            let delay = if slots % 10 == 3 { "0" } else { "0.001" };
            phy += &format!("{}.{:02},{delay}\n", step / 100, step % 100);
            slots += 1;
            last = step * 10_000_000;
        }
    }
    phy += &format!("# end: rows={slots} slots={slots} usable_until_ns={last}\n");
    folder.write("phy.csv", phy);
    let times = slot_times(&folder, "phy.csv");
    let common = "--lldu 500B --lldu-header 0B";
    each_scheme(&folder, common, |_, report| {
        let run = first_run(report);
        let end = number(&run["duration_s"]) * 1e9 + 0.5;
        let within = times.iter().filter(|at| to_f64(**at) <= end).count();
        near(capacity(&run["total"]), to_f64(within as u64 / 3), 0.003);
    });
}

#[test]
fn the_default_queue_is_the_same_for_all_schemes() {
    let folder = Folder::new();
    // Rate and decoding delay from the head, rate measured, and no head at all.
    for (head, rtt) in [(true, "500ms"), (false, "40ms")] {
        bash(
            &folder,
            &format!(
                "tmt synth --rate 2.34Mbps --lldu 33B --duration 40s --decode-delay 36ms --rtt {rtt} \
                 | tmt inject --gilbert-elliott alpha=0.999,beta=0.9 --seed 7 \
                 | if {head}; then cat; else grep -v rate_bps; fi > phy.csv"
            ),
        )
        .ok();
        let packets = |report: &Value| report["params"]["buffer_packets"].clone();
        let coupled = tmt("tcp --json --lldu 33B --link coupled --scheme arq phy.csv");
        let coupled = packets(&coupled.within(&folder).run().ok().json());
        // ⌈(2 340 000/264) / 47 · (0.5 + 0.036)⌉ = ⌈101.08⌉, ⌈188.59 · 0.076⌉ = ⌈14.3⌉.
        assert_eq!(coupled, if head { 102 } else { 15 });
        each_scheme(&folder, "--lldu 33B", |scheme, report| {
            assert_eq!(packets(report), coupled, "{scheme}");
        });
    }
    // The service time of a packet does not count: 2 packets of 12 ms.
    let synthetic = tmt("tcp --link synthetic --rate 1Mbps --rtt 20ms --duration 1s --json").run();
    assert_eq!(synthetic.ok().json()["params"]["buffer_packets"], 2);
}

#[test]
fn without_an_end_line_the_share_of_the_link_is_unknown() {
    let folder = Folder::new();
    bash(
        &folder,
        "tmt synth --rate 2.34Mbps --lldu 33B --duration 3s --decode-delay 1ms --rtt 40ms \
         | tmt apply --scheme arq | grep -v ^# > timeline.csv",
    )
    .ok();
    let total = total(&folder, "--rtt 40ms timeline.csv");
    assert_eq!(total["link_share"], Value::Null);
    assert!(number(&total["goodput_bps"]) > 1e6);
}

#[test]
fn a_packet_has_more_than_its_headers() {
    let run = |arguments: &str| {
        tmt("tcp --link synthetic --rate 1Mbps --rtt 20ms --duration 1s")
            .arg_list(arguments)
            .run()
    };
    run("--packet 40B --profile rfc")
        .fails(2, &["--packet 40B: expected more than --headers", "40B"]);
    run("--packet 41B --profile rfc").ok();
    run("--packet 52B --profile linux").fails(2, &["52B"]);
    run("--packet 53B --profile linux").ok();
    run("--headers 1500B").fails(2, &["--headers", "1500B"]);
}

#[test]
fn every_metric_is_listed_with_its_definition() {
    let folder = Folder::new();
    let table = tmt("tcp --metrics").run().ok();
    let text = table.text();
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let listed = tmt("tcp --metrics --json").run().ok().results();
    let listed = listed["metrics"].as_array().unwrap();
    let total = total(
        &folder,
        "--link synthetic --rate 1Mbps --rtt 20ms --duration 1s",
    );
    let names: Vec<&str> = listed
        .iter()
        .map(|metric| metric["name"].as_str().unwrap())
        .collect();
    let reported: Vec<&String> = total.as_object().unwrap().keys().collect();
    // Those of applications and of paths beside the link are there where they apply.
    let optional = Metrics::ALL.iter().filter(|metric| metric.is_optional);
    let of_total = Total::ALL.iter().filter(|metric| metric.is_optional);
    let optional = optional.map(|metric| metric.name);
    let optional: Vec<&str> = optional.chain(of_total.map(|metric| metric.name)).collect();
    assert_eq!(names.len(), reported.len() + optional.len());
    let page = fs::read_to_string(project("docs/metrics.md")).unwrap();
    for metric in listed {
        let (name, unit) = (
            metric["name"].as_str().unwrap(),
            metric["unit"].as_str().unwrap(),
        );
        let is_absent = optional.contains(&name);
        assert_eq!(total.get(name).is_none(), is_absent, "{name}");
        assert_eq!(name.ends_with("_bps"), unit == "bit/s", "{name}");
        assert_eq!(name.ends_with("_s"), unit == "s", "{name}");
        assert!(
            metric["definition"].as_str().unwrap().ends_with('.'),
            "{name}"
        );
        assert!(text.contains(name), "{name}");
        // The page lists the percentiles of a delay as a range.
        let is_quantile = name.contains("delay_")
            && ["_mean_s", "_p50_s", "_p85_s", "_p95_s", "_p99_s"]
                .iter()
                .any(|end| name.ends_with(end));
        assert!(
            is_quantile || page.contains(&format!("`{name}`")),
            "{name} is not in docs/metrics.md"
        );
    }
}
