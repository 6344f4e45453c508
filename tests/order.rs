//! Order of delivery, causality of repeats and overload: what is measured, and what warns.

use serde_json::Value;

use crate::common::{Folder, bash, project, tmt};

/// A GEO link of 2.34 Mbps with an RTT of 500 ms and a decoding delay of 36 ms, erased in bursts.
fn geo(seconds: u32) -> Folder {
    let folder = Folder::new();
    bash(
        &folder,
        &format!(
            "tmt -q synth --rate 2.34Mbps --lldu 33B --duration {seconds}s --decode-delay 36ms --rtt 500ms \
             | tmt -q inject --gilbert-elliott alpha=0.999,beta=0.9 --seed 7 > phy.csv
             for scheme in arq arq,in-order; do
               tmt -q apply --scheme $scheme --feedback-delay decode -o $scheme.csv phy.csv
             done"
        ),
    )
    .ok();
    folder
}

/// 4000 slots on a grid of 1 ms, decoded after 36 ms; the first one and every 700th are erased.
fn grid() -> String {
    let mut text = String::from("tx_time,decode_delay\n");
    for slot in 0..4000 {
        let delay = if slot % 700 == 0 { "0" } else { "0.036" };
        text += &format!("{}.{:03},{delay}\n", slot / 1000, slot % 1000);
    }
    text
}

#[test]
fn a_repeat_leaves_when_the_receiver_has_asked_for_it() {
    // By hand: the erasure of t is known at t + 36 ms, the repeat leaves an RTT of 500 ms later and takes 36 ms.
    let found = tmt("apply --scheme arq --rtt 500ms --feedback-delay decode")
        .input(grid())
        .run()
        .ok()
        .says(&["feedback delay 36ms (median decoding delay)"]);
    assert!(!found.stderr.contains("warning"), "{}", found.stderr);
    let repeated: Vec<&str> = found
        .text()
        .lines()
        .filter(|row| row.ends_with(",2"))
        .collect();
    // The others would be decoded after the trace.
    assert_eq!(repeated.len(), 6, "{repeated:?}");
    let delay = |row: &&str| row.split(',').nth(1) == Some("0.572000000") || row.contains(",0,");
    assert!(repeated.iter().all(delay), "{repeated:?}");
    assert!(repeated[0].starts_with("0.000000000,0.572000000"));
}

#[test]
fn the_median_is_the_same_however_the_trace_arrives() {
    let flags = "apply --scheme arq --rtt 20ms --feedback-delay decode -q";
    let mut text = String::from("tx_time,decode_delay\n");
    // More slots than the median takes, whose delay changes.
    for slot in 0..90_000 {
        let delay = if slot % 9 == 0 { 0 } else { 1000 + slot / 7 };
        text += &format!("{}.{:03},0.{delay:09}\n", slot / 1000, slot % 1000);
    }
    let whole = tmt(flags).input(text.clone()).run().ok();
    for jobs in ["1", "2"] {
        let pieces = tmt(flags).arg_list("-j").arg(jobs);
        let pieces = pieces
            .input(text.clone())
            .pieces(&[1, 70_000, 3, 500_000])
            .run()
            .ok();
        assert!(pieces.stdout == whole.stdout);
    }
    // A row that is refused is reported with its line, after the rows before it.
    let broken = text + "1,1,x\n";
    tmt(flags)
        .input(broken)
        .run()
        .fails(1, &["<stdin>:90002:1"]);
}

#[test]
fn repeats_that_are_not_causal_warn_in_every_place() {
    let folder = geo(5);
    let says = |command: &str, warns: bool| {
        let found = tmt(command).within(&folder).run().ok();
        let words = "the median decoding delay of 36ms exceeds the feedback delay of 0s";
        assert_eq!(
            found.stderr.contains(words),
            warns,
            "{command}: {}",
            found.stderr
        );
        if warns {
            assert!(
                found.stderr.contains("--feedback-delay decode"),
                "{command}"
            );
            // The head has no interleaver_ns.
            let or = "(or interleaver, for a trace with interleaver_ns)";
            assert!(found.stderr.contains(or), "{command}");
        }
    };
    says(
        "apply -q --feedback-delay 0s --scheme arq --scheme harq:10/12 --summary-only phy.csv",
        true,
    );
    says("apply -q --scheme fec:10/12 --summary-only phy.csv", false);
    says("apply -q --scheme arq --summary-only phy.csv", false);
    says(
        "tcp -q --link coupled --scheme arq --feedback-delay 0s phy.csv",
        true,
    );
    says("tcp -q --link coupled --scheme none phy.csv", false);
    says("tcp -q --link coupled --scheme arq phy.csv", false);
    says(
        "apply -q --feedback-delay 0s --scheme arq -o early.csv phy.csv",
        true,
    );
    says("tcp -q early.csv", true);
    says("tcp -v arq.csv", false);
    // An interleaver that is shorter than the decoding delay would not be enough.
    for (depth_ns, is_enough) in [(36_000_000, true), (6_000_000, false)] {
        let head = format!("sed '2i # interleaver_ns: {depth_ns}' phy.csv > interleaved.csv");
        bash(&folder, &head).ok();
        for command in [
            "apply -q --feedback-delay 0s --scheme arq --summary-only interleaved.csv",
            "tcp -q --link coupled --feedback-delay 0s --scheme arq interleaved.csv",
        ] {
            let found = tmt(command).within(&folder).run().ok().stderr;
            assert_eq!(
                found.contains("decode, or interleaver"),
                is_enough,
                "{found}"
            );
            assert!(found.contains("--feedback-delay decode"), "{found}");
        }
    }
}

#[test]
fn placeholders_of_delays_are_not_taken_for_decoding_delays() {
    let folder = Folder::new();
    let opportunities: Vec<String> = (1..=2000).map(|ms: u32| ms.to_string()).collect();
    folder.write("link.down", opportunities.join("\n") + "\n");
    let losses: String = (0..2000)
        .map(|row| if row % 9 == 0 { "1\n" } else { "0\n" })
        .collect();
    folder.write("losses.txt", &losses);
    tmt("convert --from mahimahi --rtt 60ms -o phy.csv link.down")
        .within(&folder)
        .run()
        .ok();
    let columns = "--columns erased=1,interval=1ms --rtt 60ms";
    for command in [
        "apply -q --scheme arq --summary-only phy.csv".to_owned(),
        "tcp -q --link coupled --scheme arq phy.csv".to_owned(),
        format!("apply -q --scheme arq --summary-only {columns} losses.txt"),
        format!("tcp -q --link coupled --scheme arq {columns} losses.txt"),
    ] {
        let found = tmt(&command).within(&folder).run().ok();
        assert!(
            !found.stderr.contains("decoding delay"),
            "{command}: {}",
            found.stderr
        );
    }
    // Without a delay, and with one.
    let stats = |columns: &str| {
        let command = format!("stats -q --columns {columns} losses.txt");
        tmt(&command).within(&folder).run().ok().stderr
    };
    assert!(stats("erased=1,interval=1ms").contains("no column of delays"));
    assert_eq!(stats("erased=1,interval=1ms,delay=36ms"), "");
    // The remedy of the error is the command above.
    tmt("stats losses.txt")
        .within(&folder)
        .run()
        .fails(1, &["--columns erased=1,interval=DURATION"]);
}

#[test]
fn a_queue_without_a_limit_has_no_number() {
    let run = tmt("tcp --link synthetic --rate 1Mbps --rtt 50ms --duration 1s --buffer inf");
    let found = run.run().ok();
    assert!(
        found.stderr.contains(", unlimited queue"),
        "{}",
        found.stderr
    );
    assert!(!found.stderr.contains("1099511627776"), "{}", found.stderr);
}

#[test]
fn a_saved_run_has_the_median_as_a_number() {
    let folder = geo(5);
    let run = "tcp -q --json --link coupled --scheme arq --feedback-delay decode phy.csv --save-params run.toml";
    let first = tmt(run).within(&folder).run().ok();
    assert!(
        folder
            .read("run.toml")
            .contains("feedback_delay = \"36ms\"")
    );
    let again = tmt("tcp -q --json --params run.toml")
        .within(&folder)
        .run()
        .ok();
    assert!(first.stdout == again.stdout);
    let no_slot = "tx_time,decode_delay\n0,0\n1,0\n";
    for command in [
        "apply --scheme arq",
        "tcp --link coupled --scheme arq --lldu 1500B --lldu-header 0B",
    ] {
        tmt(command)
            .arg_list("--feedback-delay decode")
            .input(no_slot)
            .run()
            .fails(1, &["found no received slot"]);
    }
}

#[test]
fn reordering_that_looks_like_loss_warns_and_names_the_ways_out_that_are_not_taken() {
    let folder = geo(20);
    let stderr = |command: &str| tmt(command).within(&folder).run().ok().stderr;
    let both = stderr("tcp -q --profile rfc arq.csv");
    for words in [
        "retransmissions were spurious",
        "arrived out of order",
        "`,in-order`",
        "--loss-detection rack",
    ] {
        assert!(both.contains(words), "{words}: {both}");
    }
    let one = stderr("tcp -q --profile linux arq.csv");
    assert!(
        one.contains("`,in-order`") && !one.contains("--loss-detection"),
        "{one}"
    );
    assert!(!stderr("tcp -q arq,in-order.csv").contains("out of order"));
    let coupled =
        stderr("tcp -q --link coupled --scheme arq --feedback-delay decode --seeds 2 phy.csv");
    assert!(coupled.contains("--in-order flow"), "{coupled}");
    // Nothing was sent again.
    assert_eq!(stderr("tcp -q --cc fixed:2 arq,in-order.csv"), "");
}

#[test]
fn the_log_has_the_reordering_that_the_report_has() {
    let folder = geo(20);
    let report = tmt("tcp -q --json --packets log.csv arq.csv")
        .within(&folder)
        .run()
        .ok()
        .json();
    let total = &report["results"]["runs"][0]["total"];
    // Sec. 3.3 and 4.2.2 of RFC 4737, over the log: rows are in the order of sending.
    let log = folder.read("log.csv");
    let mut rows = log.lines().filter(|row| !row.starts_with('#'));
    let names: Vec<&str> = rows.next().unwrap().split(',').collect();
    let column = names
        .iter()
        .position(|name| name.starts_with("delivered"))
        .unwrap();
    let mut arrivals: Vec<(f64, usize)> = rows
        .enumerate()
        .filter_map(|(number, row)| Some((row.split(',').nth(column)?.parse().ok()?, number)))
        .filter(|(at, _)| *at > 0.0)
        .collect();
    arrivals.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let (mut reordered, mut furthest) = (0u64, 0);
    for (i, (_, number)) in arrivals.iter().enumerate() {
        if let Some(j) = arrivals[..i]
            .iter()
            .position(|(_, earlier)| earlier > number)
        {
            reordered += 1;
            furthest = furthest.max(i - j);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a few thousand packets")]
    let share = reordered as f64 / arrivals.len() as f64;
    assert!(reordered > 10);
    assert!((total["reordered_share"].as_f64().unwrap() - share).abs() < 1e-12);
    assert_eq!(
        total["reordering_extent_max_packets"],
        Value::from(furthest)
    );
}

#[test]
fn hybla_does_not_send_millions_and_an_overload_warns() {
    let run = "tcp -q --link synthetic --rate 2.34Mbps --rtt 500ms --duration 10s --profile rfc --json --cc";
    let found = tmt(run).arg("hybla").run().ok();
    let sent = found.json()["results"]["runs"][0]["total"]["packets_sent"]
        .as_u64()
        .unwrap();
    assert!(sent < 20_000, "{sent}");
    assert!(
        found
            .stderr
            .contains("warning: the queue of 98 packets dropped"),
        "{}",
        found.stderr
    );
    assert_eq!(tmt(run).arg("newreno").run().ok().stderr, "");
}

#[test]
fn the_default_receive_window_warns_where_it_limits() {
    let run = "tcp -v --json --link synthetic --rate 1Gbps --rtt 500ms --duration 3s";
    let found = tmt(run).run().ok().says(&[
        "rwnd 13333pkt (20000000B)",
        "warning: the receive window of 13333 packets",
    ]);
    assert_eq!(found.json()["params"]["rwnd_packets"], 13_333);
    // 80 kB of payload, in packets of 1448 B.
    assert_eq!(found.json()["params"]["first_rwnd_packets"], 55);
    for given in ["--rwnd unlimited", "--profile ns2"] {
        let found = tmt(run).arg_list(given).run().ok();
        assert!(!found.stderr.contains("the receive window"), "{given}");
        assert_eq!(
            found.json()["params"]["rwnd_packets"],
            Value::Null,
            "{given}"
        );
    }
    let found = tmt(run).arg_list("--rwnd 64kB").run().ok();
    assert_eq!(found.json()["params"]["rwnd_packets"], 42);
    assert!(!found.stderr.contains("the receive window"));
    // Less than a packet lets one packet pass.
    let found = tmt(run).arg_list("--rwnd 1kB").run().ok();
    assert_eq!(found.json()["params"]["rwnd_packets"], 1);
}

/// README's table of order of delivery and profile is what its commands give.
#[test]
fn readme_has_the_four_results() {
    let folder = geo(60);
    let readme = std::fs::read_to_string(project("README.md")).unwrap();
    for (order, scheme) in [("out of order", "arq"), ("in order", "arq,in-order")] {
        let cells = ["rfc", "linux"].map(|profile| {
            let run = format!("tcp -q --json --cc cubic --profile {profile} {scheme}.csv");
            let report = tmt(&run).within(&folder).run().ok().json();
            let goodput = report["results"]["runs"][0]["total"]["goodput_bps"]
                .as_f64()
                .unwrap();
            format!("{:.0}", goodput / 1e3)
        });
        let row = format!("| {order}: `{scheme}` | {} |", cells.join(" | "));
        assert!(readme.contains(&row), "README lacks the row\n{row}");
    }
}
