//! The corpus: its scenarios are what fits of the measured traces give, and give the fits back.

use std::fs;

use serde_json::Value;
use test_support::depth;
use tmt_core::channel::Use;
use tmt_core::channel::scenario::{Configured, Origin, named, scenarios};
use tmt_core::math::num;
use tmt_core::types::{Slot, Span, Time, to_f64};
use tmt_fit::{Options, Sequence, fit, model};

use crate::common::{Folder, project, tmt, traces};

/// Rows of a file of `fixtures/corpus`, each as its cells by column.
fn rows(name: &str) -> Vec<Vec<(String, String)>> {
    let text = fs::read_to_string(project("fixtures/corpus").join(name)).unwrap();
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| -> Vec<(String, String)> {
        let cells = columns.iter().zip(line.split(','));
        cells
            .map(|(column, cell)| ((*column).to_owned(), cell.to_owned()))
            .collect()
    };
    lines.map(row).collect()
}

fn cell<'r>(row: &'r [(String, String)], column: &str) -> &'r str {
    &row.iter().find(|(name, _)| name == column).unwrap().1
}

fn value(row: &[(String, String)], column: &str) -> f64 {
    cell(row, column).parse().unwrap()
}

/// Mean bad time in seconds and share of bad time of the process in continuous time that a chain samples.
#[expect(
    clippy::disallowed_methods,
    reason = "compared with three digits, which all platforms agree on"
)]
fn in_time(alpha: f64, beta: f64, interval_s: f64) -> (f64, f64) {
    let lambda = alpha + beta - 1.0;
    let leaves = -lambda.ln() / interval_s * (1.0 - beta) / (1.0 - lambda);
    (1.0 / leaves, (1.0 - alpha) / (2.0 - alpha - beta))
}

/// The default of a parameter that was fitted.
fn default(scenario: &str, key: &str) -> &'static str {
    let setting = named(scenario).unwrap().setting(key).unwrap();
    assert_eq!(setting.origin, Origin::Fitted, "{scenario}: {key}");
    &setting.value
}

/// Three digits, as many as the standard errors of any fit could need.
fn agrees(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 0.005
}

#[test]
fn scenarios_have_the_numbers_of_the_fits() {
    let fits = rows("losses.csv");
    let mut seen = 0;
    for row in fits.iter().filter(|row| !cell(row, "scenario").is_empty()) {
        let name = cell(row, "scenario");
        let (bad_s, share) = in_time(
            value(row, "alpha"),
            value(row, "beta"),
            value(row, "interval_s"),
        );
        let m: Span = default(name, "m").parse().unwrap();
        let m_s = to_f64(m.as_nanos()) * 1e-9;
        assert!(agrees(m_s, bad_s), "{name}: {m} {bad_s}");
        let x: f64 = default(name, "X").parse().unwrap();
        assert!(agrees(x, share), "{name}: {x} {share}");
        // The page takes traces as scenarios that meet these conditions.
        let gain = value(row, "bernoulli_bic") - value(row, "simple_gilbert_bic");
        assert!(value(row, "bursts") >= 3.0 && gain >= 10.0, "{name}");
        seen += 1;
    }
    let of_fading = |name: &str| named(name).unwrap().family == "fading";
    let fitted = scenarios().filter(|one| {
        let any = one
            .settings
            .iter()
            .any(|setting| setting.origin == Origin::Fitted);
        any && of_fading(&one.name)
    });
    assert_eq!(fitted.count(), seen);
    for row in fits.iter().filter(|row| cell(row, "scenario").is_empty()) {
        let gain = |row| value(row, "bernoulli_bic") - value(row, "simple_gilbert_bic");
        let is_probe = !cell(row, "trace").starts_with("sensorlab");
        let enough = value(row, "bursts") >= 3.0 && gain(row) >= 10.0;
        assert!(!(is_probe && enough), "{}", cell(row, "trace"));
    }
}

/// Probes of no length through each scenario, as often as those of its trace: `tmt fit` finds the chain of the trace within its
/// standard errors, which are those of the trace, and loss ratio and mean burst nearly exactly.
#[test]
fn a_long_run_of_a_scenario_gives_the_fit_back() {
    const PROBES: u64 = 2_000_000;
    for row in rows("losses.csv")
        .iter()
        .filter(|row| !cell(row, "scenario").is_empty())
    {
        let name = cell(row, "scenario");
        let configured = Configured::new(named(name).unwrap(), []).unwrap();
        let interval = num::floor_u64(value(row, "interval_s") * 1e9 + 0.5);
        let probe = |number: u64| {
            let at = Time::from_nanos(number * interval).unwrap();
            Slot::new(at, Span::NANOSECOND).unwrap()
        };
        let mut probes: Vec<Slot> = (0..PROBES).map(probe).collect();
        let mut running = configured.process().begin(5, Use::Forward);
        running.erase(0, Span::ZERO, &mut probes);
        let found = Sequence::of(probes.iter().map(Slot::is_erased));
        let models = [model("simple-gilbert").unwrap()];
        let found = fit(&found, &models, &Options::default()).swap_remove(0);
        let of = |name: &str| {
            let parameter = found.parameters.iter().find(|one| one.name == name);
            parameter.unwrap().value
        };
        let (alpha, beta) = (of("alpha"), of("beta"));
        for (key, got) in [("alpha", alpha), ("beta", beta)] {
            let (expected, error) = (value(row, key), value(row, &format!("{key}_se")));
            assert!(
                (got - expected).abs() < error,
                "{name}: {key} {got}, expected {expected}"
            );
        }
        let lost = (1.0 - alpha) / (2.0 - alpha - beta);
        // The stationary chain loses a little less or more than the trace, by the ends of the trace.
        let expected = value(row, "lost") / value(row, "probes");
        assert!(
            (lost / expected - 1.0).abs() < 0.1,
            "{name}: {lost} {expected}"
        );
        let (burst, expected) = (1.0 / (1.0 - beta), 1.0 / (1.0 - value(row, "beta")));
        assert!(
            (burst / expected - 1.0).abs() < 0.05,
            "{name}: {burst} {expected}"
        );
    }
}

/// The traces themselves, where they are.
#[test]
fn traces_are_fitted_again_with_the_same_numbers() {
    let Some(shared) = traces() else {
        return;
    };
    let folder = Folder::new();
    let all = rows("traces.csv");
    let fits = rows("losses.csv");
    assert_eq!(all.len(), fits.len());
    for (trace, row) in all.iter().zip(&fits) {
        let name = cell(trace, "trace");
        assert_eq!(name, cell(row, "trace"));
        let path = shared.join(name);
        let convert = cell(trace, "convert");
        let fit = if convert == "sigfox" {
            // A message without an answer of the base station was lost.
            let messages: Value =
                serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let messages = messages.as_array().unwrap();
            let lines = messages.iter().map(|one| {
                if one.get("rx").is_some() {
                    "0\n"
                } else {
                    "1\n"
                }
            });
            folder.write("slots", lines.collect::<String>());
            format!(
                "fit --json --columns erased=1,interval={}s --period off slots",
                cell(row, "interval_s")
            )
        } else {
            let convert = format!("convert -q {convert} {} -o slots", path.display());
            tmt(&convert).within(&folder).run().ok();
            "fit --json slots".to_owned()
        };
        let results = tmt(&fit).within(&folder).run().ok().results();
        let count = |key: &str| results[key].as_u64().unwrap().to_string();
        for (column, key) in [("probes", "slots"), ("lost", "lost"), ("bursts", "bursts")] {
            assert_eq!(cell(row, column), count(key), "{name}: {column}");
        }
        assert_eq!(results["fits"][0]["model"], cell(row, "model"), "{name}");
        let fits = results["fits"].as_array().unwrap();
        for (model, keys) in [
            ("bernoulli", &["p", "p_se"][..]),
            (
                "simple-gilbert",
                &["alpha", "alpha_se", "beta", "beta_se"][..],
            ),
        ] {
            let Some(fit) = fits.iter().find(|fit| fit["model"] == model) else {
                continue;
            };
            for key in keys {
                match fit["parameters"][key].as_f64() {
                    None => assert_eq!(cell(row, key), "", "{name}: {key}"),
                    Some(found) => {
                        let kept = value(row, key);
                        let same = (found - kept).abs() <= 1e-4 * kept.abs();
                        assert!(same, "{name}: {key} {found}, expected {kept}");
                    }
                }
            }
        }
    }
}

/// The opportunities of a trace in whole steps of 100 ms.
fn per_step(times_ms: impl Iterator<Item = u64>, steps: usize) -> Vec<u64> {
    let mut counts = vec![0; steps];
    for time in times_ms {
        if let Some(count) = counts.get_mut(usize::try_from(time / 100).unwrap()) {
            *count += 1;
        }
    }
    counts
}

/// The chains of rates, from the traces, where they are: how often each level follows each.
#[test]
fn rates_are_estimated_again_with_the_same_numbers() {
    let Some(shared) = traces() else {
        return;
    };
    for row in rows("levels.csv") {
        let name = cell(&row, "trace");
        let text = fs::read_to_string(shared.join(name)).unwrap();
        let times: Vec<u64> = text
            .split_whitespace()
            .map(|line| line.parse().unwrap())
            .collect();
        let steps = usize::try_from(times[times.len() - 1] / 100).unwrap();
        assert_eq!(cell(&row, "steps"), steps.to_string());
        let counts = per_step(times.iter().copied(), steps);
        let busy = counts.iter().filter(|count| **count > 0).count();
        // Fifths of the steps with opportunities, by how many of them have fewer.
        let level = |count: &u64| match count {
            0 => 0,
            count => {
                1 + 5 * counts
                    .iter()
                    .filter(|other| **other > 0 && *other < count)
                    .count()
                    / busy
            }
        };
        let levels: Vec<usize> = counts.iter().map(level).collect();
        let mean = |at: usize| {
            let members: Vec<u64> = counts
                .iter()
                .zip(&levels)
                .filter(|(_, level)| **level == at)
                .map(|(count, _)| *count)
                .collect();
            to_f64(members.iter().sum()) / to_f64(members.len() as u64)
        };
        let peak = mean(5);
        let rate = cell(&row, "rate").strip_suffix("kbps").unwrap();
        assert!(
            (rate.parse::<f64>().unwrap() - peak * 120.0).abs() <= 0.5,
            "{name}"
        );
        for (at, share) in cell(&row, "shares").split('/').enumerate() {
            let share: f64 = share.parse().unwrap();
            assert!((share - mean(at) / peak).abs() < 1e-4, "{name}: {at}");
        }
        for (from, chances) in cell(&row, "next").split('/').enumerate() {
            let after: Vec<usize> = levels
                .windows(2)
                .filter(|pair| pair[0] == from)
                .map(|pair| pair[1])
                .collect();
            for (to, p) in chances.split(':').enumerate() {
                let p: f64 = p.parse().unwrap();
                let found = after.iter().filter(|level| **level == to).count();
                let found = to_f64(found as u64) / to_f64(after.len() as u64);
                assert!((p - found).abs() < 3e-4, "{name}: {from} {to}: {p} {found}");
            }
        }
    }
}

#[test]
fn scenarios_of_rates_have_the_numbers_of_the_file() {
    let chains = rows("levels.csv");
    for row in &chains {
        let name = cell(row, "scenario");
        for key in ["rate", "shares", "next"] {
            assert_eq!(default(name, key), cell(row, key), "{name}: {key}");
        }
    }
    let withhold = scenarios().filter(|one| one.withholds).count();
    assert_eq!(withhold, chains.len());
}

/// Rate of each link in 2000 s: nearly the mean rate of the trace, and that of the head.
#[test]
fn a_link_that_withholds_offers_what_its_trace_did() {
    let folder = Folder::new();
    let measured = rows("rates.csv");
    for row in rows("levels.csv").into_iter().step_by(depth(6, 1)) {
        let (name, trace) = (cell(&row, "scenario"), cell(&row, "trace"));
        let of_trace = measured
            .iter()
            .find(|one| cell(one, "trace") == trace)
            .unwrap();
        // The first step of the chain is drawn as any other, and those of the trace are in order: means of the chain are
        // near those of the trace, not equal to them.
        let expected = value(of_trace, "mean_mbps") * 1500.0 / 1504.0;
        let synth = format!("synth --scenario {name} --duration 2000s --seed 7 -o phy.csv");
        tmt(&synth).within(&folder).run().ok();
        let text = folder.read("phy.csv");
        let times: Vec<f64> = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.starts_with("tx"))
            .map(|line| line.split(',').next().unwrap().parse().unwrap())
            .collect();
        assert!(!text.contains(",0.000000000\n"), "{name}: an erased slot");
        let got = to_f64(times.len() as u64) * 12_000.0 / 2000.0 / 1e6;
        assert!(
            (got / expected - 1.0).abs() < 0.15,
            "{name}: {got} {expected}"
        );
        let stated = text
            .lines()
            .find_map(|line| line.strip_prefix("# rate_bps: "))
            .unwrap();
        let stated = stated.parse::<f64>().unwrap() / 1e6;
        assert!((got / stated - 1.0).abs() < 0.1, "{name}: {got} {stated}");
    }
    // Not as a process: what it withholds is no loss.
    tmt("inject --channel scenario:lte-verizon-down phy.csv")
        .within(&folder)
        .run()
        .fails(2, &["withholds slots", "tmt synth --scenario"]);
}
