//! Links of `tmt tcp` held against each other: generated channels against traces in files.

use crate::common::{Folder, bash, tmt};

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
        assert_eq!(made["results"]["runs"], from_file["results"]["runs"]);
        let total = &made["results"]["runs"][0]["total"];
        assert!(
            total["packets_delivered"].as_u64() > Some(20)
                && total["lldus_used"].as_u64() > Some(2000)
        );
        assert_eq!(made["params"]["rate_bps"], 975_000);
        assert_eq!(made["params"]["lldu_bytes"], 25);
    }
}

/// A trace of 4 s whose rows, and those of the packet log and the slot log, go on for two more rounds.
#[test]
fn a_trace_begins_anew_as_if_it_were_written_out() {
    let folder = Folder::new();
    bash(
        &folder,
        "tmt synth --rate 100kbps --lldu 25B --duration 4s --decode-delay 2ms \
         | tmt inject --bernoulli 0.1 --seed 3 -o once.csv; \
         grep ^# once.csv | grep -v '^# end' > long.csv; \
         for round in 0 4 8; do \
             grep ^[0-9] once.csv | awk -F, -v r=$round '{printf \"%.9f,%s\\n\", $1 + r, $2}'; \
         done >> long.csv; \
         echo '# end: rows=6000 slots=6000 usable_until_ns=11998000000' >> long.csv",
    )
    .ok();
    for scheme in ["arq", "harq:6/10,rounds=2", "fec:2/3,interleave=5"] {
        let run = |trace: &str| {
            let flags = format!(
                "tcp --link coupled --scheme {scheme} --lldu 25B --lldu-header 0B --rtt 100ms --buffer 9pkt \
                 --duration 11.9s --packets packets.csv --slots slots.csv --json {trace}"
            );
            let ran = tmt(&flags).within(&folder).run().ok().json();
            let rows = |name| {
                let log = folder.read(name);
                let rows = log.lines().filter(|line| !line.starts_with('#'));
                rows.map(str::to_owned).collect::<Vec<_>>()
            };
            tmt("audit --slots slots.csv packets.csv")
                .within(&folder)
                .run()
                .ok();
            (
                rows("packets.csv"),
                rows("slots.csv"),
                ran["results"]["runs"].clone(),
            )
        };
        let (looped, written) = (run("--loop once.csv"), run("long.csv"));
        assert_eq!(looped.0, written.0, "{scheme}");
        assert!(looped.1 == written.1, "{scheme}");
        assert_eq!(looped.2, written.2, "{scheme}");
        assert!(looped.1.len() > 1000, "{scheme}: {}", looped.1.len());
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
        report.json()["results"]["runs"].as_array().unwrap().clone()
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
    let script = "tmt synth --rate 40Mbps --lldu 50B --duration 21s --decode-delay 1us -o often.csv
                  tmt inject --bernoulli 1 often.csv -o never.csv
                  tmt synth --rate 100kbps --lldu 25B --duration 9s --decode-delay 2ms -o slow.csv";
    bash(&folder, script).ok();
    let run = |flags: &str| {
        let ran = tmt("tcp --link synthetic --rate 1Mbps --rtt 100ms --duration 20s --buffer 20pkt --cc newreno --profile rfc --json")
            .arg_list(flags)
            .within(&folder)
            .run()
            .ok();
        (
            ran.json()["results"]["runs"][0]["total"].clone(),
            ran.stderr,
        )
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

/// Each side of a comparison is the run that one would make by hand.
#[test]
fn a_comparison_holds_the_runs_of_both_links() {
    let folder = Folder::new();
    bash(
        &folder,
        "tmt synth --rate 2.34Mbps --lldu 33B --duration 31s --decode-delay 36ms --rtt 200ms \
         | tmt inject --gilbert-elliott alpha=0.99,beta=0.8 --seed 3 -o phy.csv
         tmt apply --scheme harq:10/12,rounds=2 --feedback-delay 5ms phy.csv -o timeline.csv",
    )
    .ok();
    let flags = "--duration 25s --buffer 30pkt --flows 2 --start 0s..1s --seeds 3 --json";
    let ran = |command: &str| {
        tmt(command)
            .arg_list(flags)
            .within(&folder)
            .run()
            .ok()
            .json()
    };
    let scheme = "--scheme harq:10/12,rounds=2 --feedback-delay 5ms";
    for overlap in ["", "--overlap shift"] {
        let both = ran(&format!("tcp --compare-links {scheme} {overlap} phy.csv"));
        let timeline = ran(&format!("tcp {overlap} timeline.csv"));
        let coupled = ran(&format!("tcp --link coupled {scheme} phy.csv"));
        for (link, alone) in [("timeline", &timeline), ("coupled", &coupled)] {
            for part in ["runs", "mean"] {
                assert_eq!(
                    both["results"]["links"][link][part], alone["results"][part],
                    "{link} {part}"
                );
            }
            // Parameters that the links share and parameters of one link together are the parameters of each.
            let own = both["results"]["links"][link]["params"]
                .as_object()
                .unwrap();
            let mut params = both["params"].as_object().unwrap().clone();
            assert!(!own.is_empty() && own.keys().all(|name| !params.contains_key(name)));
            params.extend(own.clone());
            assert_eq!(&params, alone["params"].as_object().unwrap(), "{link}");
        }
        let mean = |report: &serde_json::Value| {
            report["results"]["mean"]["goodput_bps"]["mean"]
                .as_f64()
                .unwrap()
        };
        let gap = mean(&coupled) - mean(&timeline);
        let shown = &both["results"]["gap"]["goodput_bps"];
        assert!((shown["gap"].as_f64().unwrap() - gap).abs() < 1e-6);
        assert!(
            (shown["gap_percent"].as_f64().unwrap() - 100.0 * gap / mean(&timeline)).abs() < 1e-9
        );
        assert!(gap.abs() > 1.0);
    }
}

/// On a generated channel each seed has its own slots, the same for both links.
#[test]
fn a_comparison_on_a_channel_is_one_on_its_trace() {
    let folder = Folder::new();
    bash(
        &folder,
        "tmt synth --rate 975kbps --lldu 25B --duration 9.9999s --decode-delay 205128ns \
         | tmt inject --bernoulli 0.02 --seed 4 -o phy.csv",
    )
    .ok();
    let flags = "tcp --compare-links --scheme arq --lldu 25B --lldu-header 0B --rtt 100ms --buffer 30pkt \
                 --duration 9.9999s --json";
    let ran = |more: &str| tmt(flags).arg_list(more).within(&folder).run().ok().json();
    let from_file = ran("--seed 4 phy.csv");
    let made = ran("--seed 3 --seeds 2 --channel bernoulli:0.02 --rate 975kbps");
    for link in ["timeline", "coupled"] {
        assert_eq!(
            made["results"]["links"][link]["runs"][1],
            from_file["results"]["links"][link]["runs"][0],
            "{link}"
        );
        assert_ne!(
            made["results"]["links"][link]["runs"][0]["total"],
            made["results"]["links"][link]["runs"][1]["total"]
        );
    }
}
