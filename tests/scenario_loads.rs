//! Loads and metadata of scenarios: loads run without a warning that the notes of the scenario do not explain, and later stages
//! and notes know what comes from the scenario.

use serde_json::Value;

use crate::common::{Folder, bash, tmt};

/// Every scenario, as the list describes it.
fn scenarios() -> Vec<Value> {
    let list = tmt("synth --list --json").run().ok().results();
    list.as_array().unwrap().clone()
}

/// Warnings that tell what the source of a scenario is about, and the words of a note that explains them.
const EXPLAINED: [(&str, &str); 2] = [
    ("the link reorders", "To deliver in order"),
    ("no packet was overtaken", "Reno without SACK"),
];

#[test]
fn loads_run_without_a_warning_that_no_note_explains() {
    let folder = Folder::new();
    for one in scenarios() {
        let text = |key: &str| one[key].as_str().unwrap();
        let notes = one["notes"].to_string();
        // After a semicolon come variants.
        let load = text("load").split(';').next().unwrap();
        let synth = format!("tmt synth --scenario {} --duration 60s", text("scenario"));
        let ran = bash(&folder, &format!("set -o pipefail; {synth} | {load} > out")).ok();
        for warning in ran.stderr.lines().filter(|line| line.contains("warning:")) {
            let explained =
                |(words, note): &(&str, &str)| warning.contains(words) && notes.contains(note);
            assert!(
                EXPLAINED.iter().any(explained),
                "{synth} | {load}: {warning}"
            );
        }
    }
}

/// A slot of these links carries a whole packet, or data units without a header of their own.
#[test]
fn a_header_of_lldus_that_the_source_excludes_is_known_to_later_stages() {
    let folder = Folder::new();
    for (name, packet, lldus) in [
        ("starlink", 1500, 1),
        ("barakat", 250, 10),
        ("hybrid", 500, 1),
    ] {
        let tcp = format!("tcp --json -v --packet {packet}B --buffer 50pkt");
        let chain = format!(
            "tmt synth --scenario {name} --duration 5s | tmt apply --scheme none | tmt {tcp}"
        );
        let by_trace = bash(&folder, &format!("set -o pipefail; {chain}")).ok();
        let by_channel = tmt(&format!(
            "{tcp} --link coupled --scheme none --channel scenario:{name},duration=5s"
        ));
        let by_channel = by_channel.run().ok();
        for (ran, origin) in [(by_trace, "metadata"), (by_channel, "--channel")] {
            let ran = ran.says(&[&format!("header 0B ({origin})")]);
            let params: Value = serde_json::from_str(ran.text()).unwrap();
            assert_eq!(params["params"]["lldus_per_packet"], lldus, "{name}");
        }
    }
    // A flag may replace it, and the report says what it replaced.
    let ran = bash(
        &folder,
        "tmt synth --scenario starlink --duration 5s | tmt tcp --link coupled --scheme none --lldu-header 2B --replace-head --json -v",
    )
    .ok()
    .says(&["header 2B (--lldu-header; 0B in the metadata)"]);
    let run: Value = serde_json::from_str(ran.text()).unwrap();
    assert_eq!(run["params"]["overridden"][0]["key"], "lldu_header_bytes");
    // A return trace has its own.
    let synth = "synth --scenario starlink --duration 5s -o back.csv";
    tmt(synth).within(&folder).run().ok();
    let run =
        "tcp -v --link synthetic --rate 1Mbps --rtt 40ms --duration 3s --return-trace back.csv";
    let ran = tmt(run).within(&folder).run().ok();
    ran.says(&["of 1500B (metadata), header 0B: 1 LLDU per ACK"]);
    // The links of Kuhn 2015 leave the header to later stages.
    let plain = tmt("synth --scenario internet --duration 1s").run().ok();
    assert!(!plain.text().contains("lldu_header_bytes"));
}

#[test]
fn notes_say_which_values_a_channel_gave() {
    let run = "tcp -v --link coupled --scheme arq --feedback-delay interleaver --channel scenario:internet-interleaved,duration=20s";
    tmt(run).run().ok().says(&[
        "0.254352 Mbps for packets (--channel), RTT 500ms (--channel)",
        "LLDU 33B (--channel), header 1B (default)",
        "feedback delay 36ms (interleaver of --channel)",
    ]);
    tmt(&format!("{run} --rate 1Mbps --rtt 40ms --lldu 66B"))
        .run()
        .ok()
        .says(&[
            "Mbps for packets (--rate), RTT 40ms (--rtt; 500ms in --channel)",
            "LLDU 66B (--lldu; 33B in --channel)",
        ]);
    tmt("tcp -v --link coupled --scheme arq --channel bernoulli:0.01 --rate 1Mbps --duration 5s")
        .run()
        .ok()
        .says(&[
            "Mbps for packets (--rate), RTT 500ms (default)",
            "LLDU 33B (default)",
        ]);
}

#[test]
fn all_users_of_a_link_with_one_user_is_warned_of() {
    let warned = |name: &str| {
        let ran = tmt(&format!(
            "synth --scenario {name} --all-users --duration 1s"
        ));
        ran.run()
            .ok()
            .stderr
            .contains("warning: --all-users: no effect")
    };
    assert!(warned("barakat") && !warned("internet"));
}

#[test]
fn a_list_of_parameters_needs_a_scenario_alone() {
    let ran = tmt("synth --show-parameters").run();
    let ran = ran.fails(2, &["--show-parameters: found no --scenario, expected one"]);
    assert!(!ran.stderr.contains("--decode-delay"), "{}", ran.stderr);
}

#[test]
fn a_zero_without_a_unit_is_answered_by_the_range() {
    for (set, words) in [
        (
            "speed=0",
            "found 'speed=0', expected a speed in km/h or m/s, above 0",
        ),
        ("carrier=0", "from 0.1GHz to 100GHz"),
        (
            "rate=0",
            "found 'rate=0', expected a rate above zero, such as 2.34Mbps",
        ),
        ("lldu=0", "found 'lldu=0', expected a size above zero"),
        (
            "duration=0",
            "found 'duration=0', expected a duration above zero",
        ),
        ("rtt=0", "or 0s"),
        ("interleaver=0", "or 0s"),
    ] {
        let ran = tmt(&format!("synth --scenario internet --set {set}")).run();
        ran.fails(2, &[words]);
    }
}

/// Messages of the library name its options; those of the program name flags.
#[test]
fn refusals_of_fades_and_curves_name_flags() {
    let folder = Folder::new();
    folder.write("fade.csv", "time_s,es_n0_db\n0,5\n1,5\n2,5\n");
    folder.write("gap.csv", "time_s,es_n0_db\n0,5\n1,5\n2,5\n40,5\n");
    folder.write("steps", "0 1\n1 2\n2 1\n");
    folder.write("part.csv", "es_n0_db,error_rate\n0,0.5\n1,0.1\n");
    for (flags, code, words) in [
        (
            "--fading-in fade.csv --fading-step 1s",
            1,
            "--fading-step 1s: found a fade of format csv",
        ),
        (
            "--fading-in gap.csv",
            1,
            "allow longer gaps by --fading-gap",
        ),
        ("--fading-in steps", 1, "expected --fading-step"),
        ("--error-curve part.csv", 2, "or --clamp-curve, which keeps"),
        (
            "--error-curve part.csv --acm dvb-s2 --fading-in fade.csv",
            2,
            "or --clamp-curve",
        ),
        (
            "--set code=points:0/0.5|1/0.1",
            2,
            "or `@clamp` after the points",
        ),
    ] {
        let ran = tmt(&format!(
            "synth --scenario internet --duration 1s {flags} -o out.csv"
        ));
        let ran = ran.within(&folder).run().fails(code, &[words]);
        assert!(!ran.stderr.contains("`step`") && !ran.stderr.contains("longest_gap"));
    }
    // The remedy belongs to the curve alone.
    let other = "synth --scenario internet --error-curve part.csv --clamp-curve --set speed=0";
    let ran = tmt(other).within(&folder).run().fails(2, &["'speed=0'"]);
    assert!(!ran.stderr.contains("curve"), "{}", ran.stderr);
}
