//! Scenarios, from `tmt synth --scenario` to `tmt tcp`: the same slots on every way, and what is refused.

use serde_json::Value;
use tmt_core::math::num;
use tmt_core::types::to_f64;

use crate::common::{Folder, bash, tmt};

/// The rows of a trace: what is neither head nor end line.
fn rows(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

/// Each scenario, by the list that the program prints.
fn names() -> Vec<String> {
    let list = tmt("synth --list --json").run().ok().results();
    let list = list.as_array().unwrap().iter();
    list.map(|one| one["scenario"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn every_scenario_can_be_written_and_says_what_later_stages_need() {
    let folder = Folder::new();
    for name in names() {
        tmt(&format!("synth --scenario {name} --duration 2s -o phy.csv"))
            .within(&folder)
            .run()
            .ok();
        let text = folder.read("phy.csv");
        for key in [
            "rate_bps",
            "lldu_bytes",
            "rtt_ns",
            "interleaver_ns",
            "seed: 1",
            "stage: tmt synth --scenario",
        ] {
            assert!(text.contains(&format!("# {key}")), "{name}: {key}");
        }
        // The stage is a command that gives the same trace.
        let stage = text
            .lines()
            .find_map(|line| line.strip_prefix("# stage: tmt "))
            .unwrap();
        let again = tmt(stage).run().ok();
        assert!(again.text() == text, "{name}");
    }
}

#[test]
fn the_chain_needs_no_flags_and_assumes_nothing() {
    let folder = Folder::new();
    let ran = bash(
        &folder,
        "set -o pipefail; tmt synth --scenario internet-interleaved --es-n0 6dB --duration 30s --jobs 2 \
         | tmt apply --scheme harq:10/12 | tmt tcp --json > run.json",
    )
    .ok();
    assert!(!ran.stderr.contains("assuming"), "{}", ran.stderr);
    let run: Value = serde_json::from_str(&folder.read("run.json")).unwrap();
    assert_eq!(run["params"]["rtt_ns"], 500_000_000);
    assert_eq!(run["params"]["lldu_bytes"], 33);
}

#[test]
fn a_user_has_exactly_every_tenth_row_of_all_users() {
    for name in ["internet", "internet-interleaved"] {
        let all = tmt(&format!(
            "synth --scenario {name} --all-users --duration 20s --seed 4"
        ))
        .run()
        .ok();
        let one = tmt(&format!("synth --scenario {name} --duration 20s --seed 4"))
            .run()
            .ok();
        assert!(
            all.text().contains("# rate_bps: 2630000\n")
                && one.text().contains("# rate_bps: 263000\n")
        );
        let (all, one) = (rows(all.text()), rows(one.text()));
        let tenth: Vec<&str> = all[1..].iter().step_by(10).copied().collect();
        assert!(one[1..] == tenth[..], "{name}");
        assert!(
            one.iter().filter(|row| row.ends_with(",0")).count() > 50,
            "{name}"
        );
    }
}

#[test]
fn jobs_change_no_byte() {
    for name in [
        "internet-interleaved --all-users",
        "distribution-up",
        "starlink",
        "hybrid-fading",
    ] {
        let with = |jobs: u32| {
            let command = format!(
                "synth --scenario {name} --duration 80s --seed 7 --format arrows --jobs {jobs}"
            );
            tmt(&command).run().ok().stdout
        };
        assert!(with(1) == with(3), "{name}");
    }
}

#[test]
fn synth_erases_what_inject_erases_with_the_same_seed() {
    let folder = Folder::new();
    let link = "synth --rate 2Mbps --lldu 33B --duration 12s --decode-delay 36ms";
    tmt(&format!("{link} -o clear.csv"))
        .within(&folder)
        .run()
        .ok();
    for (channel, inject) in [
        ("bernoulli:0.1", "--bernoulli 0.1"),
        (
            "gilbert-elliott:alpha=0.99,beta=0.8",
            "--gilbert-elliott alpha=0.99,beta=0.8",
        ),
        (
            "land-mobile:es-n0=6dB,interleaver=36ms",
            "--channel land-mobile:es-n0=6dB,interleaver=36ms",
        ),
        ("fading:m=50ms,X=0.1", "--channel fading:m=50ms,X=0.1"),
    ] {
        let one = tmt(&format!("{link} --channel {channel} --seed 5"))
            .run()
            .ok();
        let other = tmt(&format!("inject {inject} --seed 5 clear.csv"))
            .within(&folder)
            .run()
            .ok();
        assert!(rows(one.text()) == rows(other.text()), "{channel}");
        assert!(one.text().contains("# seed: 5\n"));
    }
}

#[test]
fn a_coupled_link_over_a_scenario_runs_on_the_slots_of_its_trace() {
    let folder = Folder::new();
    let run = "tcp --link coupled --scheme arq --feedback-delay 40ms --cc newreno --packet 500B --duration 25s --json";
    for name in [
        "internet-interleaved,es-n0=7dB",
        "starlink,rate=4Mbps",
        "barakat,p=0.01",
    ] {
        let (scenario, set) = name.split_once(',').unwrap();
        tmt(&format!(
            "synth --scenario {scenario} --set {set} --duration 30s --seed 3 -o phy.csv"
        ))
        .within(&folder)
        .run()
        .ok();
        let trace = tmt(&format!("{run} --buffer 60pkt phy.csv"))
            .within(&folder)
            .run()
            .ok()
            .results();
        let channel = tmt(&format!(
            "{run} --buffer 60pkt --channel scenario:{name} --seed 3"
        ))
        .run()
        .ok()
        .results();
        for metric in [
            "goodput_bps",
            "packets_sent",
            "retransmissions",
            "delay_mean_s",
        ] {
            let found =
                |results: &Value| find(results, metric).unwrap_or_else(|| panic!("{metric}"));
            assert_eq!(found(&trace), found(&channel), "{name}: {metric}");
        }
    }
}

/// The first value called `name`.
fn find(value: &Value, name: &str) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            let own = fields.get(name).cloned();
            own.or_else(|| fields.values().find_map(|inner| find(inner, name)))
        }
        Value::Array(items) => items.iter().find_map(|inner| find(inner, name)),
        _ => None,
    }
}

#[test]
fn a_fade_that_was_written_gives_the_same_erasures_again() {
    let folder = Folder::new();
    let synth = "synth --scenario internet-interleaved --es-n0 5dB --set implementation-loss=1dB --duration 30s --seed 6";
    for fade in ["fade.csv", "fade.csv.gz", "fade.parquet"] {
        let first = tmt(&format!("{synth} --fading-out {fade}"))
            .within(&folder)
            .run()
            .ok();
        let again = tmt(&format!("{synth} --fading-in {fade}"))
            .within(&folder)
            .run()
            .ok();
        assert!(rows(first.text()) == rows(again.text()), "{fade}");
        assert!(again.text().contains(" --fading-in fnv1a:"), "{fade}");
    }
    // A pipe can be read only once.
    let written = tmt(&format!("{synth} --fading-in fade.csv"));
    let piped = tmt(&format!("{synth} --fading-in -")).input(folder.read("fade.csv"));
    assert!(written.within(&folder).run().ok().text() == piped.run().ok().text());
    let text = folder.read("fade.csv");
    let table: Vec<(f64, f64)> = rows(&text)[1..]
        .iter()
        .map(|row| row.split_once(',').unwrap())
        .map(|(time, db)| (time.parse().unwrap(), db.parse().unwrap()))
        .collect();
    assert!(table.last().unwrap().0 >= 30.036);
    let mean = table
        .iter()
        .map(|(_, db)| num::pow(10.0, db / 10.0))
        .sum::<f64>()
        / to_f64(table.len() as u64);
    // The mean gain is -1.75 dB; deep shadow lasts 0.6 s at a time, so 30 s have some spread.
    assert!(
        (10.0 * num::log10(mean) - (5.0 - 1.75)).abs() < 1.0,
        "{mean}"
    );
}

/// A fade that is constant, and a curve with a step: every word is lost below it, none above.
#[test]
fn a_measured_fade_and_a_curve_decide_what_is_lost() {
    let folder = Folder::new();
    folder.write(
        "rain.csv",
        "time_s,attenuation_db\n0,0\n4,0\n4.001,6\n6,6\n6.001,0\n10,0\n",
    );
    folder.write("curve.csv", "es_n0_db,error_rate\n1.9,1\n2.1,0\n");
    let ran = tmt(
        "synth --scenario internet --all-users --es-n0 6dB --duration 10s --fading-in rain.csv --fading-gap 10s --error-curve curve.csv",
    )
    .within(&folder)
    .run()
    .ok();
    let text = ran.text();
    let found = rows(text);
    let mut lost = found.iter().filter(|row| row.ends_with(",0"));
    let time = |row: &str| row.split(',').next().unwrap().parse::<f64>().unwrap();
    let (first, last) = (time(lost.next().unwrap()), time(lost.next_back().unwrap()));
    assert!(
        (first - 4.0).abs() < 0.003 && (last - 6.0).abs() < 0.003,
        "{first} {last}"
    );
    let lost = found.iter().filter(|row| row.ends_with(",0")).count();
    assert!((19_850..20_000).contains(&lost), "{lost}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of refusals")]
fn what_cannot_be_is_refused_and_writes_nothing() {
    let folder = Folder::new();
    folder.write(
        "gap.csv",
        "time_s,es_n0_db\n0,5\n1,5\n2,5\n3,5\n4,5\n5,5\n60,5\n400,5\n",
    );
    folder.write("short.csv", "time_s,es_n0_db\n0,5\n1,5\n2,5\n");
    folder.write("part.csv", "es_n0_db,error_rate\n0,0.5\n1,0.1\n");
    folder.write("rising.csv", "es_n0_db,error_rate\n0,0.5\n1,0.6\n");
    let before = folder.names();
    for (flags, code, words) in [
        ("--scenario internat", 2, "did you mean 'internet'?"),
        ("--scenario internet --es-n0 6", 2, "dB"),
        ("--scenario internet --es-n0 99dB", 2, "-30dB to 40dB"),
        (
            "--scenario barakat --es-n0 6dB",
            2,
            "unknown parameter 'es-n0'",
        ),
        ("--scenario internet --set speed=0km/h", 2, "speed"),
        (
            "--scenario internet --set sped=10km/h",
            2,
            "did you mean 'speed'?",
        ),
        ("--scenario internet --set es-n0", 2, "expected KEY=VALUE"),
        (
            "--scenario internet --set es-n0=5dB --es-n0 6dB",
            2,
            "more than once",
        ),
        (
            "--scenario internet --duration 0s",
            2,
            "a duration above zero",
        ),
        (
            "--scenario internet-interleaved --duration 20ms",
            2,
            "found a trace of 20ms",
        ),
        (
            "--scenario internet --parameter-set none",
            2,
            "expected one of published",
        ),
        (
            "--scenario internet --code turbo:264-1/9",
            2,
            "unknown code",
        ),
        (
            "--scenario internet --error-curve part.csv",
            2,
            "--clamp-curve",
        ),
        (
            "--scenario internet --error-curve rising.csv",
            1,
            "line 3, column 3",
        ),
        (
            "--scenario internet --fading-in gap.csv",
            1,
            "line 8: a gap of 55s",
        ),
        (
            "--scenario internet --fading-in short.csv",
            1,
            "--duration 2s",
        ),
        (
            "--rate 263kbps --lldu 33B --duration 1s --decode-delay 1ms --channel scenario:internet --fading-in short.csv",
            2,
            "expected --scenario with the same values",
        ),
        (
            "--scenario barakat --fading-out fade.csv",
            2,
            "one with an Es/N0",
        ),
        (
            "--rate 1Mbps --lldu 33B --duration 1s --decode-delay 1ms --fading-out fade.csv",
            2,
            "--fading-out",
        ),
        (
            "--rate 1Mbps --lldu 33B --duration 1s --decode-delay 1ms --seed 1",
            2,
            "neither --channel nor --scenario",
        ),
        (
            "--scenario internet --decode-delay 1ms",
            2,
            "cannot be used with",
        ),
        ("--scenario internet --json", 2, "--show-parameters"),
        ("--es-n0 6dB", 2, "--scenario"),
    ] {
        tmt(&format!("synth {flags} -o out.csv"))
            .within(&folder)
            .run()
            .fails(code, &[words]);
        assert_eq!(folder.names(), before, "{flags}");
    }
    tmt("synth --scenario internet --error-curve part.csv --clamp-curve --duration 1s")
        .within(&folder)
        .run()
        .ok();
}

#[test]
fn a_value_that_a_measured_fade_replaces_is_named() {
    let folder = Folder::new();
    folder.write("es-n0.csv", "time_s,es_n0_db\n0,5\n1,5\n2,5\n");
    folder.write("rain.csv", "time_s,attenuation_db\n0,5\n1,5\n2,5\n");
    let run = |set: &str, fade: &str| {
        let ran = tmt(&format!(
            "synth --scenario internet --duration 1s {set} --fading-in {fade}"
        ));
        ran.within(&folder).run().ok().stderr
    };
    let warned = run("--es-n0 20dB --set speed=3km/h", "es-n0.csv");
    assert!(
        warned.contains("warning: es-n0=20dB, speed=3km/h: no effect"),
        "{warned}"
    );
    for said in [
        run("", "es-n0.csv"),
        run(
            "--es-n0 20dB --set implementation-loss=1dB --code turbo:264-1/2",
            "rain.csv",
        ),
    ] {
        assert!(!said.contains("warning"), "{said}");
    }
}

/// A word is decoded when its last bit has come: a slot and the interleaver after its start.
#[test]
fn the_interleaver_of_a_channel_delays_words_and_is_known_later() {
    let channel = "--channel land-mobile:es-n0=9dB,interleaver=36ms";
    let link = "--rate 1Mbps --lldu 33B --rtt 500ms --duration";
    tmt(&format!(
        "tcp --link coupled --scheme arq --feedback-delay interleaver -v {link} 20s {channel}"
    ))
    .run()
    .ok()
    .says(&["decoding 36.264ms", "feedback delay 36ms"]);
    tmt(&format!(
        "tcp --link coupled --scheme arq {link} 30ms {channel}"
    ))
    .run()
    .fails(2, &["interleaver of 36ms", "duration of 30ms"]);
    let trace = tmt(&format!("synth --decode-delay 37ms {link} 1s {channel}"));
    assert!(
        trace
            .run()
            .ok()
            .text()
            .contains("# interleaver_ns: 36000000\n")
    );
}

#[test]
fn an_interleaver_delays_decoding_wherever_a_channel_has_one() {
    let channel = "--channel land-mobile:es-n0=6dB,interleaver=36ms";
    let slots = "synth --rate 2Mbps --lldu 33B --duration 10s";
    tmt(slots)
        .arg_list(&format!("--decode-delay 5ms {channel}"))
        .run()
        .fails(
            2,
            &["--decode-delay 5ms: found a channel with interleaver=36ms"],
        );
    let folder = Folder::new();
    let made = tmt(slots)
        .arg_list("--decode-delay 37ms -o phy.csv")
        .within(&folder);
    made.run().ok();
    let inject = |seed: u32, depth: &str, input: &str| {
        tmt(&format!(
            "inject --seed {seed} --channel land-mobile:es-n0=6dB,interleaver={depth} {input}"
        ))
        .within(&folder)
    };
    let injected = inject(1, "36ms", "phy.csv").run().ok();
    assert!(injected.text().contains("# interleaver_ns: 36000000\n"));
    folder.write("injected.csv", injected.text());
    inject(2, "35ms", "injected.csv").run().fails(
        1,
        &["found interleaver_ns 36000000 in the metadata and a channel with interleaver=35ms"],
    );
}

#[test]
fn a_fade_that_begins_late_is_said_to_be_moved() {
    let folder = Folder::new();
    folder.write("late.csv", "time_s,attenuation_db\n200,20\n205,0\n212,0\n");
    folder.write("early.csv", "time_s,attenuation_db\n0,20\n5,0\n12,0\n");
    let run = |file: &str| {
        let synth = "synth -q --scenario internet --es-n0 8dB --duration 10s --no-head --fading-in";
        tmt(synth).arg(file).within(&folder).run().ok()
    };
    let (late, early) = (run("late.csv"), run("early.csv"));
    assert_eq!(late.stdout, early.stdout);
    assert_eq!(early.stderr, "");
    late.says(&["--fading-in late.csv: its first row, at 200.000000000 s, is time 0 of the trace"]);
}
