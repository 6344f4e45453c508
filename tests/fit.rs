//! `tmt fit` at the command line: what it prints is read back by the other commands, and what it refuses.

use std::fs;

use serde_json::Value;
use tmt_core::channel::SlotChannel;

use crate::common::{Folder, project, tmt, traces};

/// Makes a trace of a slot every 10 ms with the losses of a process.
fn trace(folder: &Folder, name: &str, seconds: u32, process: &str) {
    let synth = format!(
        "synth -q --rate 1.2Mbps --lldu 1500B --duration {seconds}s --decode-delay 20ms --channel {process} -o {name}"
    );
    tmt(&synth).within(folder).run().ok();
}

fn fitted(folder: &Folder, arguments: &str) -> Value {
    let ran = tmt(&format!("fit -q --json {arguments}"))
        .within(folder)
        .run()
        .ok();
    serde_json::from_slice(&ran.stdout).unwrap()
}

const GE: &str = "gilbert-elliott:alpha=0.99,beta=0.9,pg=0.005,pb=0.6";

/// Two links after each other are no stationary one; the warning says what to do.
#[test]
fn a_shift_of_the_loss_ratio_is_told() {
    let folder = Folder::new();
    trace(&folder, "before.csv", 500, "bernoulli:0.02");
    trace(&folder, "after.csv", 500, "bernoulli:0.03");
    tmt("slice -q before.csv after.csv -o both.csv")
        .within(&folder)
        .run()
        .ok();
    let one = &fitted(&folder, "before.csv")["results"]["drift"];
    assert!(one["p_value"].as_f64().unwrap() > 0.05, "{one}");
    let ran = tmt("fit --model bernoulli both.csv")
        .within(&folder)
        .run()
        .ok();
    let ran = ran.says(&[
        "loss ratio drifts or shifts",
        "tmt stats --segments",
        "tmt slice",
    ]);
    assert!(
        ran.text().contains("in 16 blocks of equal length"),
        "{}",
        ran.text()
    );
}

#[test]
fn parameters_come_back() {
    let folder = Folder::new();
    trace(&folder, "phy.csv", 1000, GE);
    let results = &fitted(&folder, "phy.csv")["results"];
    assert_eq!(results["slots"], 100_000);
    let best = &results["fits"][0];
    assert_eq!(best["model"], "gilbert-elliott");
    for (name, truth) in [("alpha", 0.99), ("beta", 0.9), ("pg", 0.005), ("pb", 0.6)] {
        let value = best["parameters"][name].as_f64().unwrap();
        let error = best["parameters"][format!("{name}_se")].as_f64().unwrap();
        assert!(
            (value - truth).abs() < 3.0 * error,
            "{name} {value} {error}"
        );
    }
    let bics: Vec<f64> = results["fits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fit| fit["bic"].as_f64().unwrap())
        .collect();
    assert!(bics.is_sorted() && bics.len() == tmt_fit::MODELS.len());
}

/// Every line of `tmt` is run, at the interval of the trace and at another; `tc`'s numbers are those of the parameters.
#[test]
fn printed_lines_run() {
    let folder = Folder::new();
    trace(&folder, "phy.csv", 200, GE);
    tmt("synth -q --rate 1.2Mbps --lldu 1500B --duration 200s --decode-delay 20ms --format csv -o TRACE")
        .within(&folder)
        .run()
        .ok();
    for model in tmt_fit::MODELS.iter().map(|model| model.name) {
        let results = &fitted(
            &folder,
            &format!("--model {model} --at-rate 4Mbps --packet 1500B phy.csv"),
        )["results"];
        let lines = results["commands"].as_array().unwrap();
        assert!(!lines.is_empty(), "{model}");
        for line in lines {
            let text = line["line"].as_str().unwrap();
            let Some(arguments) = text.strip_prefix("tmt ") else {
                continue;
            };
            // As a shell takes it: what is quoted is one word.
            let mut words: Vec<String> = Vec::new();
            for (at, part) in arguments.split('\'').enumerate() {
                if at % 2 == 1 {
                    words.push(part.to_owned());
                } else {
                    words.extend(part.split_whitespace().map(str::to_owned));
                }
            }
            let mut command = tmt(&format!("{} -q", words[0]));
            for word in &words[1..] {
                command = command.arg(word);
            }
            let ran = command.within(&folder).run().ok();
            let slots = ran
                .text()
                .lines()
                .filter(|row| row.starts_with(|c: char| c.is_ascii_digit()));
            let expected =
                if line["interval_s"].as_f64() == Some(0.003) && arguments.starts_with("synth") {
                    66_667
                } else {
                    20_000
                };
            assert_eq!(slots.count(), expected, "{text}");
        }
        let best = &results["fits"][0];
        for texts in [&best["process"], &best["at_interval"]["process"]] {
            if let Some(channel) = texts["channel"].as_str() {
                let process: SlotChannel = channel.parse().unwrap();
                assert_eq!(process.to_string(), channel);
            }
        }
        let process = tmt(&format!("fit -q --process --model {model} phy.csv"))
            .within(&folder)
            .run()
            .ok();
        let text = process.text();
        assert!(text.trim_end().parse::<SlotChannel>().is_ok(), "{text}");
        if let Some(netem) = best["process"]["netem"]
            .as_str()
            .filter(|text| text.starts_with("gemodel"))
        {
            let numbers: Vec<f64> = netem
                .split(' ')
                .skip(1)
                .map(|word| word.trim_end_matches('%').parse::<f64>().unwrap() / 100.0)
                .collect();
            let of = |name: &str, absent: f64| best["parameters"][name].as_f64().unwrap_or(absent);
            let expected = [
                1.0 - of("alpha", 0.0),
                1.0 - of("beta", 0.0),
                of("pb", 1.0),
                of("pg", 0.0),
            ];
            for (found, expected) in numbers.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-8, "{netem} {expected}");
            }
        }
    }
}

/// The same channel sampled at two intervals: the parameters of one follow from those of the other.
#[test]
fn parameters_at_another_interval_are_those_of_the_channel() {
    let folder = Folder::new();
    trace(
        &folder,
        "fine.csv",
        4000,
        "gilbert-elliott:alpha=0.995,beta=0.97,pg=0,pb=0.8",
    );
    tmt("slice -q --every 3 -o coarse.csv fine.csv")
        .within(&folder)
        .run()
        .ok();
    let results = &fitted(&folder, "--model gilbert --at-interval 10ms coarse.csv")["results"];
    let interval = results["interval_s"].as_f64().unwrap();
    assert!((interval - 0.03).abs() < 1e-6, "{interval}");
    let at = &results["fits"][0]["at_interval"]["parameters"];
    for (name, truth, within) in [
        ("alpha", 0.995, 0.0008),
        ("beta", 0.97, 0.005),
        ("pb", 0.8, 0.03),
    ] {
        let value = at[name].as_f64().unwrap();
        assert!((value - truth).abs() < within, "{name} {value}");
    }
}

#[test]
fn a_period_is_found_and_set_apart() {
    let folder = Folder::new();
    trace(
        &folder,
        "starlink.csv",
        600,
        "reconfiguration:disturbed=0.7,burst=1.5,loss=0.002",
    );
    let results = &fitted(&folder, "starlink.csv")["results"];
    let period = &results["period"];
    assert_eq!(period["losses"]["period_s"], 15.0);
    assert_eq!(period["losses"]["phase_s"], 12.0);
    assert!(period["share_of_losses"].as_f64().unwrap() > 0.3);
    let channel = period["channel"].as_str().unwrap();
    assert!(channel.parse::<SlotChannel>().is_ok(), "{channel}");
    assert_eq!(results["fits"][0]["model"], "simple-gilbert");
    let ran = tmt("fit -q --process starlink.csv")
        .within(&folder)
        .run()
        .ok();
    assert!(
        ran.stderr.contains("the process leaves out"),
        "{}",
        ran.stderr
    );
    let off = &fitted(&folder, "--period off starlink.csv")["results"];
    assert_eq!(off["period"]["losses"], Value::Null);
    assert_eq!(off["slots_fitted"], off["slots"]);
}

#[test]
fn what_is_unknown_is_not_made_up() {
    let folder = Folder::new();
    trace(&folder, "clean.csv", 10, "bernoulli:0");
    let ran = tmt("fit clean.csv").within(&folder).run().ok();
    assert!(
        ran.stderr
            .contains("warning: clean.csv: found no lost slot: only a bound"),
        "{}",
        ran.stderr
    );
    assert!(ran.text().contains("0.00299"), "{}", ran.text());
    let results = &fitted(&folder, "clean.csv")["results"];
    assert_eq!(results["fits"].as_array().unwrap().len(), 1);
    // At p = 0 the likelihood (1 - p)^1000 falls to e^-2, two standard errors, at 1 - e^(-0.002).
    let error = results["fits"][0]["parameters"]["p_se"].as_f64().unwrap();
    assert!((2.0 * error / 0.001_998 - 1.0).abs() < 0.01, "{error}");
    trace(&folder, "dead.csv", 10, "bernoulli:1");
    let ran = tmt("fit dead.csv").within(&folder).run().ok();
    assert!(
        ran.stderr.contains("found no received slot"),
        "{}",
        ran.stderr
    );
    folder.write("empty.csv", "tx_time,decode_delay\n");
    tmt("fit empty.csv")
        .within(&folder)
        .run()
        .fails(1, &["empty.csv"]);
    folder.write("one.csv", "tx_time,decode_delay\n0.5,0.01\n");
    tmt("fit one.csv").within(&folder).run().ok();
}

#[test]
fn few_bursts_and_extrapolations_are_warned_of() {
    let folder = Folder::new();
    trace(
        &folder,
        "short.csv",
        50,
        "gilbert-elliott:alpha=0.995,beta=0.15",
    );
    let ran = tmt("fit --model simple-gilbert --at-interval 1ms short.csv")
        .within(&folder)
        .run()
        .ok();
    for text in [
        "expected at least 50",
        "less than the 10.000 ms between two slots of the trace",
    ] {
        assert!(ran.stderr.contains(text), "{text}: {}", ran.stderr);
    }
    // Losses that avoid each other have no process in continuous time.
    trace(
        &folder,
        "apart.csv",
        100,
        "gilbert-elliott:alpha=0.5,beta=0.1",
    );
    let results = &fitted(
        &folder,
        "--model simple-gilbert --at-interval 1ms apart.csv",
    )["results"];
    let at = &results["fits"][0]["at_interval"];
    assert_eq!(at["parameters"], Value::Null);
    assert!(
        at["reason"]
            .as_str()
            .unwrap()
            .contains("no process in continuous time")
    );
    tmt("fit --process --model simple-gilbert --at-interval 1ms apart.csv")
        .within(&folder)
        .run()
        .fails(1, &["no process in continuous time"]);
}

/// The traces of a Starlink dish: 33 losses in 28 bursts down, 4 in 2 up.
#[test]
fn measured_traces_are_fitted() {
    let Some(shared) = traces().map(|folder| folder.join("ebpf-trace-emu")) else {
        return;
    };
    let folder = Folder::new();
    for (way, lost, bursts) in [("down", 33, 28), ("up", 4, 2)] {
        let file = |kind: &str| format!("{}/LEO_{way}link_{kind}-000001-12h.txt", shared.display());
        let convert = format!(
            "convert -q --from delay-loss --interval 10ms --delay {} --loss {} -o {way}.csv",
            file("delay"),
            file("loss")
        );
        tmt(&convert).within(&folder).run().ok();
        let results = &fitted(&folder, &format!("{way}.csv"))["results"];
        assert_eq!(
            (&results["lost"], &results["bursts"]),
            (&lost.into(), &bursts.into())
        );
        assert_eq!(results["fits"][0]["model"], "simple-gilbert", "{way}");
    }
}

/// The table of docs/fit.md is the registry.
#[test]
fn the_models_of_the_page_are_the_registry() {
    let page = fs::read_to_string(project("docs/fit.md")).unwrap();
    let (_, table) = page
        .split_once("\n| model | parameters | process |\n")
        .unwrap();
    let rows = table
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    let names: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    let models: Vec<&str> = tmt_fit::MODELS.iter().map(|model| model.name).collect();
    assert_eq!(names, models);
}
