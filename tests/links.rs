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
