//! Links of `tmt tcp` held against each other: generated channels against traces in files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[allow(
    dead_code,
    reason = "the test programs share the helper, and none needs all of it"
)]
mod common;

use common::{Folder, bash, tmt};

const COUPLED: &str = "tcp --link coupled --scheme harq:6/10,rounds=2 --lldu 25B --lldu-header 0B --rtt 100ms \
                       --duration 7.9999s --cc newreno --seed 3 --json";

#[test]
fn a_generated_channel_is_the_file_of_synth_and_inject() {
    let folder = Folder::new();
    for (name, parameters) in [
        ("bernoulli", "0.02"),
        ("gilbert-elliott", "alpha=0.99,beta=0.8"),
        (
            "gilbert-elliott",
            "alpha=0.9999,beta=0.999,pg=0.01,pb=0.3,start=bad",
        ),
    ] {
        // Slots of 205.128… µs, and a trace that goes on behind the run.
        bash(
            &folder,
            &format!(
                "tmt synth --rate 975kbps --lldu 25B --duration 9s --decode-delay 205128ns \
                 | tmt inject --{name} {parameters} --seed 3 -o phy.csv"
            ),
        )
        .ok();
        let from_file = tmt(COUPLED)
            .arg("phy.csv")
            .within(&folder)
            .run()
            .ok()
            .json();
        let made = tmt(COUPLED)
            .arg_list(&format!("--channel {name}:{parameters} --rate 975kbps"))
            .run()
            .ok()
            .json();
        assert_eq!(made["runs"], from_file["runs"]);
        let total = &made["runs"][0]["total"];
        assert!(
            total["packets_delivered"].as_u64() > Some(20)
                && total["lldus_used"].as_u64() > Some(2000)
        );
        assert_eq!(made["params"]["rate_bps"], 975_000);
        assert_eq!(made["params"]["lldu_bytes"], 25);
    }
}

#[test]
fn every_seed_has_a_channel_of_its_own() {
    let runs = |seeds: &str, process: &str| {
        let report =
            tmt("tcp --link coupled --scheme arq --rate 1Mbps --rtt 100ms --duration 10s --json")
                .arg_list(&format!("{seeds} --channel {process}"))
                .run()
                .ok();
        report.json()["runs"].as_array().unwrap().clone()
    };
    for process in ["bernoulli:0.1", "fading:m=50ms,X=0.1"] {
        let several = runs("--seeds 3", process);
        for (seed, run) in (1..).zip(&several) {
            assert_eq!(runs(&format!("--seed {seed}"), process)[0], *run);
        }
        assert_ne!(several[0]["total"], several[1]["total"]);
        assert_ne!(several[1]["total"], several[2]["total"]);
    }
}

/// A return path whose LLDUs come often and at once is a clean one but for their spacing; one that erases all brings
/// nothing; and the same trace serves both ways.
#[test]
fn acknowledgements_come_as_their_trace_lets_them() {
    let folder = Folder::new();
    let script =
        "tmt synth --rate 400Mbps --lldu 50B --duration 21s --decode-delay 1us -o often.csv
                  tmt inject --bernoulli 1 often.csv -o never.csv
                  tmt synth --rate 100kbps --lldu 25B --duration 9s --decode-delay 2ms -o slow.csv";
    bash(&folder, script).ok();
    let run = |flags: &str| {
        let ran = tmt("tcp --link synthetic --rate 1Mbps --rtt 100ms --duration 20s --buffer 20pkt --cc newreno --json")
            .arg_list(flags)
            .within(&folder)
            .run()
            .ok();
        (ran.json()["runs"][0]["total"].clone(), ran.stderr)
    };
    let number = |total: &serde_json::Value, name: &str| total[name].as_f64().unwrap();
    let (clean, _) = run("");
    let (often, _) = run("--return-trace often.csv");
    let (goodput, reached) = (number(&clean, "goodput_bps"), number(&often, "goodput_bps"));
    assert!(
        (reached / goodput - 1.0).abs() < 0.01,
        "{reached} {goodput}"
    );
    assert!(number(&often, "acks_lost") == 0.0);
    let (never, _) = run("--return-trace never.csv");
    assert!(number(&never, "acks_sent") > 0.0);
    assert!(never["acks_lost"] == never["acks_sent"]);
    // 4 ms an acknowledgement leave 50 % more of them than there are, until the trace ends.
    let (ended, words) = run("--return-trace slow.csv");
    assert!(words.contains("the return trace ends at 8.998"), "{words}");
    assert!(number(&ended, "acks_lost") > 0.0);
    assert!(number(&ended, "goodput_bps") < 0.6 * goodput);
}
