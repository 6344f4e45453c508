//! Metadata that stages pass on in the head and the end line of a trace (docs/trace-format.md; docs/schemes.md, Sec. 9).

use crate::common::{Folder, bash, plain, tmt, trace};

/// The lines `# …` of a text.
fn comments(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with('#')).collect()
}

#[test]
fn the_head_passes_through_in_order_and_every_stage_adds_its_lines() {
    let phy = trace(20, 5);
    let injected = tmt("inject --bernoulli 0.2 --seed 4")
        .input(&*phy)
        .run()
        .ok();
    let applied = tmt("apply --scheme harq:2/3")
        .input(injected.text())
        .run()
        .ok();
    let mut expected: Vec<&str> = phy.lines().take(5).collect();
    expected.extend([
        "# seed: 4",
        "# stage: tmt inject --bernoulli 0.2 --seed 4",
        "# scheme: harq:2/3",
        "# feedback_delay_ns: 2003000",
        "# decode_delay_median_ns: 2003000",
        "# stage: tmt apply --scheme harq:2/3 --rtt 20ms --feedback-delay 2.003ms",
    ]);
    let found = comments(applied.text());
    assert_eq!(found[..found.len() - 1], expected);
    assert!(found.last().unwrap().starts_with("# end: rows="));
}

#[test]
fn both_seeds_of_a_twice_injected_trace_are_told() {
    let once = tmt("inject --bernoulli 0.2 --seed 4")
        .input(trace(20, 5))
        .run()
        .ok();
    let twice = tmt("inject --bernoulli 0.2 --seed 9")
        .input(once.text())
        .run()
        .ok();
    for seed in [4, 9] {
        let stage = format!("# stage: tmt inject --bernoulli 0.2 --seed {seed}\n");
        assert!(twice.text().contains(&stage), "{}", twice.text());
    }
}

#[test]
fn the_round_trip_time_of_the_metadata_is_used_as_if_it_had_been_typed() {
    let phy = trace(100, 5);
    let told = tmt("apply --scheme arq").input(&*phy).run().ok();
    let typed = tmt("apply --scheme arq --rtt 20ms")
        .input(plain(&phy))
        .run()
        .ok();
    assert_eq!(plain(told.text()), plain(typed.text()));
    told.says(&["RTT 20ms (metadata)"]);
    typed.says(&["RTT 20ms (--rtt)"]);
    let neither = tmt("apply --scheme arq").input(plain(&phy)).run().ok();
    let default = tmt("apply --scheme arq --rtt 500ms")
        .input(plain(&phy))
        .run()
        .ok();
    assert_eq!(neither.text(), default.text());
    neither.says(&["assuming 500ms (GEO)"]);
}

#[test]
fn a_flag_may_replace_what_the_head_has_and_stderr_and_the_head_say_both() {
    let ran = tmt("apply --scheme arq --rtt 7ms --replace-head")
        .input(trace(100, 5))
        .run()
        .ok();
    let typed = tmt("apply --scheme arq --rtt 7ms")
        .input(plain(&trace(100, 5)))
        .run()
        .ok();
    assert_eq!(plain(ran.text()), plain(typed.text()));
    let head = comments(ran.text()).join("\n");
    assert!(head.contains("# rtt_ns: 7000000\n"), "{head}");
    assert!(
        head.lines()
            .any(|line| line.contains("rtt_ns 20000000") && line.contains("--rtt 7000000")),
        "{head}"
    );
    ran.says(&["RTT 7ms", "--rtt", "20ms in the metadata"]);
}

#[test]
fn the_same_value_by_flag_and_metadata_is_no_override() {
    let ran = tmt("apply --scheme arq --rtt 20ms")
        .input(trace(100, 5))
        .run()
        .ok();
    assert!(!ran.text().contains("# overridden"));
    assert!(!ran.stderr.contains("in the metadata"), "{}", ran.stderr);
}

#[test]
fn tcp_says_both_values_where_a_flag_replaces_one() {
    tmt("tcp -v --rtt 7ms --lldu 100B --replace-head")
        .input(trace(200, 1000))
        .run()
        .ok()
        .says(&[
            "RTT 7ms (--rtt; 20ms in the metadata)",
            "LLDU 100B (--lldu; 33B in the metadata)",
        ]);
}

#[test]
fn stats_says_both_values_where_a_flag_wins() {
    let ran = tmt("stats -v --rtt 7ms --lldu 100B")
        .input(trace(100, 5))
        .run()
        .ok();
    for value in ["7ms", "20ms", "100B", "33B"] {
        assert!(
            ran.stderr.contains(value),
            "stderr does not say {value}: '{}'",
            ran.stderr
        );
    }
}

#[test]
fn the_interleaver_of_the_metadata_is_a_feedback_delay_only_on_request() {
    let folder = Folder::new();
    let chain = "tmt synth --rate 264kbps --lldu 33B --duration 100ms --decode-delay 1ms --rtt 4ms \
                 --interleaver 6ms | tmt inject --bernoulli 0.2 --seed 1 | tmt apply --scheme arq";
    let usual = bash(&folder, chain)
        .ok()
        .says(&["feedback delay 1ms (median decoding delay, default"]);
    let asked = bash(&folder, &format!("{chain} --feedback-delay interleaver"))
        .ok()
        .says(&["feedback delay 6ms (interleaver_ns of the metadata)"]);
    let typed = bash(&folder, &format!("{chain} --feedback-delay 6ms"))
        .ok()
        .says(&["feedback delay 6ms (--feedback-delay)"]);
    assert_eq!(asked.text(), typed.text());
    assert_ne!(plain(asked.text()), plain(usual.text()));
    assert!(asked.text().contains("# feedback_delay_ns: 6000000\n"));
}

#[test]
fn what_apply_knows_of_a_plain_csv_is_in_the_head() {
    for preface in [
        "",
        "# a comment\n",
        "# rtt_ns: 1000000\n# measured in Livorno: rain\n",
    ] {
        let input = format!("{preface}{}", plain(&trace(100, 5)));
        let ran = tmt("apply --scheme harq:10/12 --rtt 300ms --lldu 100B")
            .input(input.clone())
            .run()
            .ok();
        for known in ["# rtt_ns: 300000000\n", "# lldu_bytes: 100\n"] {
            assert!(ran.text().contains(known), "{known} after {preface:?}");
        }
        let tcp = tmt("tcp -v --packet 500B").input(ran.text()).run().ok();
        tcp.says(&["RTT 300ms (metadata)", "LLDU 100B (metadata)"]);
        let bare = tmt("apply --no-head --scheme harq:10/12")
            .input(input)
            .run()
            .ok();
        assert_eq!(comments(bare.text()), [""; 0], "after {preface:?}");
        assert!(bare.text().starts_with("tx_time,decode_delay,attempts\n"));
        bare.says(&["assuming 500ms (GEO)"]);
    }
}

#[test]
fn inject_gives_a_plain_csv_a_head_and_an_end_line() {
    let ran = tmt("inject --bernoulli 0.1 --seed 2")
        .input(plain(&trace(100, 5)))
        .run()
        .ok();
    let found = comments(ran.text());
    assert!(found[0].starts_with("# tool: tmt "), "{found:?}");
    assert_eq!(
        found.last(),
        Some(&"# end: rows=100 slots=100 usable_until_ns=99000000")
    );
}

#[test]
fn the_end_line_tells_rows_slots_and_the_first_censored_lldu() {
    // Slots 7 and 9 of ten are erased, and an RTT of 20 ms leaves no time to repeat them.
    let phy = trace(10, 100)
        .replace("0.007000000,0.002000000", "0.007000000,0")
        .replace("0.009000000,0.002002000", "0.009000000,0");
    let ran = tmt("apply --scheme arq").input(phy).run().ok();
    assert_eq!(
        ran.text().lines().last(),
        Some("# end: rows=10 slots=10 usable_until_ns=7000000")
    );
    let whole = tmt("apply --scheme fec:2/5")
        .input(trace(10, 100))
        .run()
        .ok();
    assert_eq!(
        whole.text().lines().last(),
        Some("# end: rows=4 slots=10 usable_until_ns=9000000")
    );
}

#[test]
fn a_later_stage_never_makes_more_of_a_trace_usable_than_an_earlier_one() {
    let phy = trace(10, 100).replace("usable_until_ns=9000000", "usable_until_ns=4000000");
    for command in ["apply --scheme arq", "inject --bernoulli 0"] {
        let ran = tmt(command).input(&*phy).run().ok();
        assert!(
            ran.text()
                .lines()
                .last()
                .unwrap()
                .ends_with(" usable_until_ns=4000000"),
            "{command}: {}",
            ran.text()
        );
    }
}

#[test]
fn a_run_on_a_timeline_ends_where_its_end_line_says() {
    let timeline =
        trace(2000, 5000).replace("usable_until_ns=1999000000", "usable_until_ns=1500000000");
    let ran = tmt("tcp --json").input(timeline).run().ok();
    assert_eq!(ran.json()["results"]["runs"][0]["duration_s"], 1.5);
}

#[test]
fn a_timeline_is_itself_a_trace() {
    let timeline = tmt("apply --scheme harq:2/3")
        .input(trace(60, 4))
        .run()
        .ok();
    let again = tmt("apply --scheme none").input(timeline.text()).run().ok();
    let first_two = |text: &str| -> Vec<String> {
        plain(text)
            .lines()
            .map(|row| row.rsplit_once(',').unwrap().0.to_owned())
            .collect()
    };
    assert_eq!(first_two(again.text()), first_two(timeline.text()));
}

#[test]
fn a_flag_that_the_head_contradicts_is_refused() {
    tmt("apply --scheme arq --lldu 100B")
        .input(trace(100, 5))
        .run()
        .fails(
            2,
            &[
                "--lldu: found 100B",
                "lldu_bytes in the head of the trace is 33B",
            ],
        );
    let folder = Folder::new();
    folder.write("phy.csv", trace(100, 5));
    let words = [
        "--rtt: found 7ms",
        "rtt_ns in the head of the trace is 20ms",
        "--replace-head",
    ];
    for command in [
        "apply --scheme arq --rtt 7ms phy.csv",
        "tcp --rtt 7ms phy.csv",
        "tcp --link coupled --scheme arq --rtt 7ms phy.csv",
    ] {
        tmt(command).within(&folder).run().fails(2, &words);
    }
    // Of all cells or candidates refused.
    let advise = "advise --candidates arq,none --rtt 7ms phy.csv";
    tmt(advise).within(&folder).run().fails(1, &words);
    for (replace, code) in [("", 1), ("--replace-head", 0)] {
        let sweep = format!("sweep --scheme arq --rtt 7ms,9ms --trace phy.csv {replace}");
        let ran = tmt(&sweep).within(&folder).run();
        assert_eq!(ran.code, Some(code), "{replace}: {}", ran.stderr);
        let is_refused = ran
            .stderr
            .contains("rtt_ns in the head of the trace is 20ms");
        assert_eq!(is_refused, code == 1, "{}", ran.stderr);
    }
}
