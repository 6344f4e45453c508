//! `tmt tcp --compare-log`: the model beside a packet log. A log of the simulator itself differs from its model in nothing.

use std::fmt::Write as _;

use serde_json::Value;

use crate::common::{Folder, bash, tmt};

/// A folder with slots of 5 Mbit/s, one in twenty erased, and their timeline with losses.
fn folder() -> Folder {
    let folder = Folder::new();
    let script = "tmt synth --rate 5Mbps --lldu 125B --duration 12s --decode-delay 1ms --rtt 100ms \
                  | tmt inject --channel bernoulli:0.05 > phy.csv; \
                  tmt apply --scheme arq:rounds=1,in-order phy.csv > timeline.csv";
    bash(&folder, script).ok();
    folder
}

/// The rows of a log, without head and end line.
fn rows(folder: &Folder, name: &str) -> String {
    let text = folder.read(name);
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.collect::<Vec<_>>().join("\n")
}

/// Every difference of a comparison that has one.
fn differences(results: &Value) -> Vec<f64> {
    let all = results["difference_percent"].as_object().unwrap();
    all.values().filter_map(Value::as_f64).collect()
}

const SYNTHETIC: &str =
    "--link synthetic --rate 5Mbps --rtt 100ms --loss bernoulli:0.004 --duration 12s";

/// Runs with their flags that the head of a log has, and those that it lacks.
const RUNS: [(&str, &str); 11] = [
    (SYNTHETIC, "--cc newreno"),
    (SYNTHETIC, "--cc cubic"),
    (SYNTHETIC, "--cc bbr1"),
    (SYNTHETIC, "--cc bbr"),
    (SYNTHETIC, "--cc vegas --profile rfc"),
    (
        "--link synthetic --rate 5Mbps --rtt 100ms --queue codel --duration 12s",
        "--cc cubic",
    ),
    (
        "--link synthetic --rate 2Mbps --rtt 100ms --terrestrial-rtt 20ms --loss bernoulli:0.01 --duration 12s --flows 3",
        "--cc hybla --start 0s..2s",
    ),
    (
        "--link coupled --scheme harq:10/12,rounds=1,in-order",
        "--cc cubic phy.csv",
    ),
    (
        "--link coupled --scheme arq:rounds=1",
        "--cc newreno phy.csv",
    ),
    (
        "--link coupled --channel bernoulli:0.1 --duration 8s --rtt 60ms --scheme frame-arq:6/10,rounds=1,in-order",
        "--cc cubic --rate 3Mbps --lldu 125B",
    ),
    ("", "--cc cubic timeline.csv"),
];

#[test]
fn a_log_of_the_simulator_differs_from_its_model_in_nothing() {
    let folder = folder();
    for (of_head, others) in RUNS {
        tmt(&format!("tcp {of_head} {others} --packets log.csv"))
            .within(&folder)
            .run()
            .ok();
        for drops in ["own", "recorded"] {
            let compared = tmt(&format!(
                "tcp {others} --compare-log log.csv --compare-drops {drops} --packets model.csv --json"
            ));
            let results = compared.within(&folder).run().ok().results();
            let differences = differences(&results);
            assert!(
                differences.len() >= 5 && differences.iter().all(|percent| *percent == 0.0),
                "{of_head} {others} {drops}: {results}"
            );
            assert!(results["recorded"]["packets_delivered"].as_u64() > Some(100));
            let (recorded, model): (Vec<&Value>, Vec<&Value>) = results["intervals"]
                .as_array()
                .unwrap()
                .iter()
                .partition(|interval| interval["run"] == "recorded");
            assert_eq!(recorded.len(), model.len());
            for (one, other) in recorded.iter().zip(&model) {
                assert_eq!(one["in_flight_packets"], other["in_flight_packets"]);
            }
            if drops == "own" {
                // Packet by packet, to the nanosecond.
                assert_eq!(
                    rows(&folder, "log.csv"),
                    rows(&folder, "model.csv"),
                    "{of_head} {others}"
                );
            }
        }
    }
}

#[test]
fn the_model_follows_what_the_log_says() {
    let folder = Folder::new();
    tmt(&format!("tcp {SYNTHETIC} --cc newreno --packets log.csv"))
        .within(&folder)
        .run()
        .ok();
    let log = folder.read("log.csv");
    // One packet more is lost.
    let place = log.match_indices(",delivered,").nth(1500).unwrap().0;
    let (before, after) = log.split_at(place);
    folder.write(
        "other.csv",
        before.to_owned() + &after.replacen(",delivered,", ",link,", 1),
    );
    let compared = |name: &str, cc: &str| {
        let flags = format!("tcp --cc {cc} --compare-log {name} --json");
        tmt(&flags).within(&folder).run().ok().results()
    };
    let other = compared("other.csv", "newreno");
    let lost = |results: &Value, run: &str| results[run]["packets_lost"].as_u64().unwrap();
    assert_eq!(lost(&other, "recorded"), lost(&other, "model"));
    assert!(other["model"]["goodput_bps"].as_f64() < other["recorded"]["goodput_bps"].as_f64());
    // Other hosts on the same losses are another run, and are said to be.
    let flags = "tcp --profile rfc --compare-log log.csv --json";
    let rfc = tmt(flags).within(&folder).run().ok();
    rfc.says(&["log.csv is of other hosts than the model", "profile linux"]);
    // The control is that of the head, which no flag may contradict.
    let alone = tmt("tcp --compare-log log.csv --json").within(&folder);
    let alone = alone.run().ok().results();
    assert!(
        differences(&alone).iter().all(|percent| *percent == 0.0),
        "{alone}"
    );
    let cubic = tmt("tcp --cc cubic --compare-log log.csv").within(&folder);
    cubic.run().fails(
        1,
        &[
            "--cc: found cc=cubic",
            "expected that of the head",
            "cc=newreno",
        ],
    );
}

#[test]
fn mixed_flows_are_those_of_the_head() {
    let folder = folder();
    folder.write("sizes.csv", "size_bytes\n2000\n40000\n");
    folder.write(
        "load.csv",
        "time_s,size_bytes,flow\n0.5,30000,1\n1,1000,2\n2,60000,1\n",
    );
    let flows = "--flow app=cbr --flow cc=cubic,start=0s..2s,class=1 \
                 --flow cc=bbr,app=pages(size=csv(sizes.csv),objects=4,connections=2,think=1s,persistent=off) \
                 --flow cc=reno,app=arrivals(load.csv) --queue priority";
    tmt(&format!("tcp {SYNTHETIC} {flows} --packets log.csv"))
        .within(&folder)
        .run()
        .ok();
    let head = folder.read("log.csv");
    assert!(
        head.contains("\n# flow_settings: app=cbr,start=0s cc=cubic"),
        "{head}"
    );
    tmt("audit log.csv").within(&folder).run().ok();
    let compared = tmt("tcp --compare-log log.csv --packets model.csv --json").within(&folder);
    compared.run().ok();
    assert_eq!(rows(&folder, "log.csv"), rows(&folder, "model.csv"));
    for (flags, words) in [
        ("--flows 3", "--flows: found 3"),
        ("--flow app=cbr", "--flow: found 1"),
        ("--start 9s", "--start: found start=9s"),
        ("--bytes 1kB", "--bytes: found bytes=1000B"),
    ] {
        let run = tmt(&format!("tcp {flags} --compare-log log.csv")).within(&folder);
        run.run().fails(1, &[words]);
    }
}

#[test]
fn the_trace_is_that_of_the_log() {
    let folder = folder();
    tmt("tcp --cc cubic --packets log.csv timeline.csv")
        .within(&folder)
        .run()
        .ok();
    bash(&folder, "tmt apply --scheme none phy.csv > other.csv").ok();
    let other = tmt("tcp --compare-log log.csv other.csv").within(&folder);
    other
        .run()
        .fails(1, &["TRACE: found rows with the digest", "another trace"]);
    tmt("tcp --compare-log log.csv timeline.csv")
        .within(&folder)
        .run()
        .ok();
}

/// The log of a run as a replay would write it: with a size, without ACKs, and with small packets in between.
fn of_real_hosts(log: &str) -> String {
    let (mut text, mut rows) = (String::new(), 0);
    for line in log.lines().filter(|line| !line.starts_with("# end")) {
        let cells: Vec<&str> = line.split(',').collect();
        if line.starts_with("# settings") {
            text += "# hosts: real\n";
        } else if line.starts_with('#') {
            writeln!(text, "{line}").unwrap();
        } else if line.starts_with("flow,") {
            writeln!(text, "{line},size_bytes").unwrap();
        } else {
            rows += 1;
            if cells[1].ends_with('7') {
                rows += 1;
                writeln!(
                    text,
                    "0,{},1,{},{},,,,,,link,,,,,,,40",
                    cells[1], cells[3], cells[4]
                )
                .unwrap();
            }
            writeln!(text, "{line},1500").unwrap();
        }
    }
    writeln!(text, "# end: rows={rows} crc32=0").unwrap();
    text
}

#[test]
fn small_packets_of_real_hosts_are_no_data() {
    let folder = Folder::new();
    tmt(&format!(
        "tcp {SYNTHETIC} --cc cubic --start 3s --packets log.csv"
    ))
    .within(&folder)
    .run()
    .ok();
    folder.write("real.csv", of_real_hosts(&folder.read("log.csv")));
    let compared = tmt("tcp --cc cubic --compare-log real.csv --json").within(&folder);
    let ran = compared.run().ok();
    let ran = ran.says(&["packets of other sizes are left out"]);
    let results = ran.results();
    assert_eq!(results["hosts"], "real");
    assert!(results["recorded"]["packets_retransmitted"].is_null());
    for key in [
        "packets_sent",
        "packets_lost",
        "packets_dropped",
        "in_flight_packets",
    ] {
        assert_eq!(results["recorded"][key], results["model"][key], "{key}");
    }
    // A log of real hosts counts a packet that is delivered twice as two.
    let goodput = results["difference_percent"]["goodput_bps"]
        .as_f64()
        .unwrap();
    assert!(goodput.abs() < 0.2, "{goodput}");
}

#[test]
fn text_table_and_picture_have_both_runs() {
    let folder = Folder::new();
    tmt(&format!("tcp {SYNTHETIC} --packets log.csv.gz"))
        .within(&folder)
        .run()
        .ok();
    let flags =
        "tcp --compare-log log.csv.gz --interval 3s --series both.csv --series-interval 500ms";
    let ran = tmt(flags).within(&folder).run().ok();
    let text = ran.text();
    assert!(
        text.contains("recorded") && text.contains("difference %"),
        "{text}"
    );
    let times = text.lines().filter(|line| {
        ["3.000", "6.000", "9.000", "12.000"]
            .iter()
            .any(|t| line.starts_with(t))
    });
    assert_eq!(times.count(), 4, "{text}");
    let table = folder.read("both.csv");
    assert!(
        table.starts_with("run,time_s,goodput_bps,in_flight_packets,"),
        "{table}"
    );
    assert_eq!(table.lines().count(), 1 + 2 * 24);
    let drawn = tmt("plot both.csv").within(&folder).run().ok();
    assert!(drawn.text().contains("recorded") && drawn.text().contains("model"));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = folder();
    tmt(&format!("tcp {SYNTHETIC} --cc newreno --packets log.csv"))
        .within(&folder)
        .run()
        .ok();
    let log = folder.read("log.csv");
    folder.write("real.csv", of_real_hosts(&log));
    let cut: Vec<&str> = log.lines().take(700).collect();
    folder.write("cut.csv", cut.join("\n") + "\n");
    for (name, more) in [
        ("fair", "--queue fq-codel"),
        ("dropped", "--queue-loss bernoulli:0.01"),
    ] {
        let run = tmt(&format!("tcp {SYNTHETIC} {more} --packets {name}.csv"));
        run.within(&folder).run().ok();
    }
    folder.write("row.csv", log.replacen(",delivered,", ",deliverd,", 1));
    tmt("tcp --link synthetic --rate 1Mbps --duration 4s --path split --packets proxied.csv")
        .within(&folder)
        .run()
        .ok();
    for (flags, code, words) in [
        (
            "--compare-log log.csv --buffer 5pkt",
            1,
            ["--buffer", "those of the log"],
        ),
        (
            "--compare-log log.csv --loss bernoulli:0.1",
            1,
            ["--loss", "those of the log"],
        ),
        (
            "--compare-log log.csv --seeds 3",
            1,
            ["--seeds", "those of the log"],
        ),
        (
            "--compare-log log.csv --rtt 300ms",
            1,
            ["--rtt", "another value than in the head of the log"],
        ),
        (
            "--compare-log log.csv --duration 5s",
            1,
            ["--duration", "those of the log"],
        ),
        ("--compare-log cut.csv", 1, ["no end line", "it was cut"]),
        (
            "--compare-log fair.csv",
            1,
            ["behind fq-codel", "another queue"],
        ),
        (
            "--compare-log dropped.csv",
            1,
            ["--queue-loss", "--compare-drops recorded"],
        ),
        (
            "--compare-log log.csv --interval 1us",
            2,
            ["stretches of", "at most 20000"],
        ),
        ("--compare-log real.csv", 1, ["--cc", "real hosts"]),
        (
            "--compare-log proxied.csv",
            1,
            ["split path", "without a proxy"],
        ),
        ("--compare-log row.csv", 1, ["deliverd", "`fate`"]),
        ("--compare-log phy.csv", 1, ["log: packets", "--packets"]),
        ("--compare-log none.csv", 1, ["none.csv", "No such file"]),
        (
            "--compare-log log.csv --pcap x",
            2,
            ["--pcap", "--compare-log"],
        ),
        (
            "--compare-log log.csv --explain 3",
            2,
            ["--explain", "--compare-log"],
        ),
        (
            "--compare-log log.csv --series log.csv",
            2,
            ["log.csv", "more than once"],
        ),
        (
            "--compare-log log.csv --interval 0s",
            2,
            ["--interval", "above 0"],
        ),
        ("--compare-drops own", 2, ["--compare-log", "required"]),
    ] {
        let ran = tmt(&format!("tcp {flags}")).within(&folder).run();
        ran.fails(code, &words);
    }
}

#[test]
fn the_services_of_a_log_of_real_hosts_are_repeated_packet_by_packet() {
    let folder = folder();
    bash(
        &folder,
        "tmt inject --channel bernoulli:0.3 --seed 9 phy.csv > other.csv",
    )
    .ok();
    let coupled = RUNS
        .iter()
        .filter(|(of_head, _)| of_head.contains("coupled"));
    for (of_head, others) in coupled {
        tmt(&format!("tcp {of_head} {others} --packets log.csv"))
            .within(&folder)
            .run()
            .ok();
        let real = of_real_hosts(&folder.read("log.csv"));
        // With other erasures the model repeats the log only if it takes no slots of its own.
        let lines = real
            .lines()
            .filter(|line| !line.starts_with("# trace_digest"));
        let real = lines.collect::<Vec<_>>().join("\n") + "\n";
        folder.write("real.csv", real.replace("bernoulli:0.1", "bernoulli:0.3"));
        let others = others.replace("phy.csv", "other.csv");
        tmt(&format!(
            "tcp {others} --compare-log real.csv --packets model.csv"
        ))
        .within(&folder)
        .run()
        .ok();
        // What is under way at the end has no service to repeat.
        let [recorded, model] = ["log.csv", "model.csv"].map(|name| {
            let rows = rows(&folder, name);
            let sent = |row: &str| row.split(',').nth(3)?.parse::<f64>().ok();
            let end = rows.lines().filter_map(sent).fold(0.0, f64::max) - 0.5;
            let ended = rows
                .lines()
                .filter(|row| sent(row).is_some_and(|sent| sent < end));
            ended.map(String::from).collect::<Vec<_>>()
        });
        assert!(recorded.len() > 100);
        assert_eq!(recorded, model, "{of_head}");
    }
}
