//! `tmt model` and `tmt validate`: names at the interface, extremes, sweeps, refusals.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use crate::common::{Folder, tmt};
use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};
use serde_json::Value as Json;
use test_support::depth;
use tmt_cli::{CallError, Host, call};
use tmt_core::model::{Domain, Key, Model, Value};

use fluid_tcp::model::all as models;

/// Every model as `--list --json` tells it, by name.
fn listed() -> BTreeMap<String, Json> {
    let list = tmt("model --list --json").run().ok().results();
    let models = list.as_array().unwrap().iter();
    models
        .map(|model| (model["model"].as_str().unwrap().to_owned(), model.clone()))
        .collect()
}

#[test]
fn names_keys_presets_and_results_are_those_of_the_contract() {
    // docs/models.md; more results and keys may follow.
    let listed = listed();
    let table = include_str!("../fixtures/models/names.csv");
    for line in table.lines().skip(1) {
        let [name, keys, results] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let model = &listed
            .get(name)
            .unwrap_or_else(|| panic!("no model {name}"));
        let presets: BTreeMap<&str, Option<&str>> = model["keys"]
            .as_array()
            .unwrap()
            .iter()
            .map(|key| (key["key"].as_str().unwrap(), key["preset"].as_str()))
            .collect();
        for key in keys.split(' ') {
            let (key, expected) = match key.split_once('=') {
                Some((key, value)) => (key, Some(value)),
                None => (key, None),
            };
            let preset = presets
                .get(key)
                .unwrap_or_else(|| panic!("{name}: no key {key}"));
            let Some(expected) = expected else { continue };
            let preset = preset.unwrap_or_else(|| panic!("{name}: {key} has no preset"));
            match (preset.parse::<f64>(), expected.parse::<f64>()) {
                (Ok(preset), Ok(expected)) => {
                    assert!((preset - expected).abs() < 1e-15, "{name} {key}={preset}");
                }
                _ => assert_eq!(preset, expected, "{name} {key}"),
            }
        }
        let found: Vec<&str> = model["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| result["result"].as_str().unwrap())
            .collect();
        let expected: Vec<&str> = results.split(' ').collect();
        assert_eq!(found[..expected.len()], expected, "{name}");
    }
}

/// Values of a key that are at the edge of its domain or far out, whole numbers up to `large`.
fn extremes(key: &Key, large: u64) -> Vec<Value> {
    let numbers: &[f64] = match key.domain {
        Domain::Probability => &[0.0, 1e-300, 1e-9, 0.5, 1.0 - 1e-15, 1.0],
        Domain::Positive => &[1e-12, 1e-3, 1.0, 1e12],
        Domain::NonNegative => &[0.0, 1e-12, 1.0, 1e12],
        Domain::Real => &[-1e12, -100.0, 0.0, 100.0, 1e12],
        Domain::Count(least, most) => {
            let near = [least, (least + 1).min(most), large.clamp(least, most)];
            return near.map(Value::Count).to_vec();
        }
        Domain::Word(words) => return words.iter().map(|word| Value::Word(word)).collect(),
    };
    numbers
        .iter()
        .filter_map(|number| key.value(*number))
        .collect()
}

/// The answer is one, or a refusal that says what is wrong.
fn has_an_answer_or_a_reason(model: &Model, given: &[(&Key, Value)]) {
    let pairs: Vec<(&str, String)> = given
        .iter()
        .map(|(key, value)| (key.name, value.to_string()))
        .collect();
    let told = || format!("{} {pairs:?}", model.name);
    let example: Vec<(&str, &str)> = model
        .example
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='))
        .filter(|(name, _)| given.iter().all(|(key, _)| !key.answers_to(name)))
        .collect();
    // Codes that are decoded, 10^8 bits of each, take hours at all these edges.
    let is_short = |name: &str| name == "most_bits" && !pairs.iter().any(|(key, _)| *key == name);
    let short = model.keys.iter().filter(|key| is_short(key.name));
    let short = short.map(|key| (key.name, "100000"));
    let example = example.into_iter().filter(|(name, _)| !is_short(name));
    let all = pairs.iter().map(|(name, text)| (*name, text.as_str()));
    let arguments = model
        .arguments(all.chain(example).chain(short))
        .unwrap_or_else(|error| panic!("{}: {error}", told()));
    if let Err(error) = model.evaluate(&arguments) {
        let text = error.to_string();
        assert!(
            !text.contains("is undefined for these arguments"),
            "{}: {text}",
            told()
        );
    }
}

/// Models that simulate until an interval is narrow enough: some extremes take all the work that they may.
fn is_simulated(model: &Model) -> bool {
    model.keys.iter().any(|key| key.name == "seed")
}

/// Every value of `extremes` of every key.
fn every_extreme<'a>(models: impl Iterator<Item = &'a Model>, large: u64) {
    let keys = models.flat_map(|model| model.keys.iter().map(move |key| (model, key)));
    let cases: Vec<_> = keys
        .flat_map(|(model, key)| {
            extremes(key, large)
                .into_iter()
                .map(move |value| (model, key, value))
        })
        .collect();
    cases
        .into_par_iter()
        .with_max_len(1)
        .for_each(|(model, key, value)| has_an_answer_or_a_reason(model, &[(key, value)]));
}

/// The first and last values of two keys that follow each other.
fn neighbours<'a>(models: impl Iterator<Item = &'a Model>, large: u64) {
    for model in models {
        for keys in model.keys.windows(2) {
            let edges = |key: &Key| {
                let all = extremes(key, large);
                [all[0], all[all.len() - 1]]
            };
            for one in edges(&keys[0]) {
                for other in edges(&keys[1]) {
                    has_an_answer_or_a_reason(model, &[(&keys[0], one), (&keys[1], other)]);
                }
            }
        }
    }
}

#[test]
fn every_extreme_of_every_key_has_an_answer_or_a_reason() {
    every_extreme(models().filter(|model| !is_simulated(model)), 4_000);
}

#[test]
fn neighbours_at_their_extremes_have_an_answer_or_a_reason() {
    neighbours(models().filter(|model| !is_simulated(model)), 300);
}

#[test]
#[ignore = "minutes of simulation: .ci/long runs it"]
fn extremes_of_simulated_models_have_an_answer_or_a_reason() {
    every_extreme(models().filter(|model| is_simulated(model)), 4_000);
    neighbours(models().filter(|model| is_simulated(model)), 300);
}

#[test]
fn every_model_tells_its_source_and_runs_its_example() {
    for model in models() {
        let help = tmt(&format!("model {} --help", model.name)).run().ok();
        let text: String = help.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(model.source), "{}", model.name);
        for key in model.keys {
            assert!(
                text.contains(&format!("{}=", key.name)),
                "{} {}",
                model.name,
                key.name
            );
        }
        let answer = tmt(&format!("model {} {} --json", model.name, model.example))
            .run()
            .ok()
            .results();
        assert_eq!(answer["model"], model.name);
        let results = answer["result"].as_object().unwrap();
        assert_eq!(results.len(), model.results.len(), "{}", model.name);
        assert_eq!(
            answer["params"].as_object().unwrap().len(),
            model.keys.len()
        );
    }
}

#[test]
fn a_sweep_is_the_same_as_its_points_one_by_one() {
    let swept = tmt("model fec nr=3 --sweep beta=0.1..0.9:3 --sweep nd=5..7 --json")
        .run()
        .ok()
        .json();
    assert_eq!(swept["params"]["nd"], serde_json::json!([5, 6, 7]));
    assert_eq!(swept["params"]["nr"], 3);
    let swept = &swept["results"];
    let swept = swept.as_array().unwrap();
    assert_eq!(swept.len(), 9);
    for point in swept {
        let (beta, nd) = (&point["params"]["beta"], &point["params"]["nd"]);
        let alone = tmt(&format!("model fec nr=3 beta={beta} nd={nd} --json"))
            .run()
            .ok()
            .results();
        assert_eq!(point, &alone);
    }
    // The last key turns fastest.
    assert_eq!(swept[1]["params"]["nd"], 6);
    let table = tmt("model fec nr=3 --sweep beta=0.1..0.9:3 --sweep nd=5..7 --csv")
        .run()
        .ok();
    let lines: Vec<&str> = table.text().lines().collect();
    assert_eq!(lines.len(), 10);
    let head: Vec<&str> = lines[0].split(',').collect();
    let eta = head.iter().position(|name| *name == "eta").unwrap();
    for (line, point) in lines[1..].iter().zip(swept) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), head.len());
        assert_eq!(
            cells[eta].parse::<f64>().ok(),
            point["result"]["eta"].as_f64()
        );
    }
}

#[test]
fn a_point_without_an_answer_leaves_the_others_alone() {
    let ran = tmt("model ge alpha=1 --sweep beta=0,0.5,1 --json")
        .run()
        .ok()
        .says(&["1 of 3 points: refused:"]);
    let points = ran.results();
    assert!(points[0]["result"].is_object());
    assert_eq!(points[2]["result"], Json::Null);
    assert!(
        points[2]["notes"][0]
            .as_str()
            .unwrap()
            .contains("stationary")
    );
    tmt("model ge alpha=1 --sweep beta=1,1")
        .run()
        .fails(2, &["no stationary distribution"]);
    tmt("model ge alpha=1 beta=1")
        .run()
        .fails(2, &["no stationary distribution"]);
}

#[test]
fn what_is_asked_wrongly_is_refused_with_a_hint() {
    for (arguments, words) in [
        (
            "model fec nx=3",
            &[
                "'nx' is not a key of fec",
                "did you mean",
                "expected one of nd, nr",
            ][..],
        ),
        ("model fex", &["unrecognized subcommand", "fec"]),
        ("model", &["expected the name of a model", "--list"]),
        ("model fec nd", &["'nd': expected KEY=VALUE"]),
        (
            "model fec nd=2.5",
            &["nd: found '2.5', expected a whole number"],
        ),
        ("model fec nd=3 ND=3", &["'nd' is given more than once"]),
        ("model fec beta=1.5", &["expected a number from 0 to 1"]),
        ("model fec nd=60000 nr=20000", &["at most 65535"]),
        ("model fec --sweep beta=0..1", &["no number of points"]),
        (
            "model fec nd=3 --sweep nd=1..2",
            &["'nd' is given more than once"],
        ),
        ("model fec --json --csv", &["cannot be used with"]),
        ("model fec --list", &["--list"]),
        ("model --list --sweep nd=1..2", &["needs a model"]),
        ("model tgep resend=never", &["expected mu or rtt"]),
        (
            "validate 000-fig7",
            &[
                "a similar value exists",
                "[possible values: 000-fig5, 000-fig6",
            ],
        ),
        (
            "validate 000-fig5 --seeds 1",
            &["expected a whole number from 2 to 10000"],
        ),
        (
            "validate 000-fig5 --duration 1s",
            &["too short", "at least"],
        ),
        ("validate 000-fig5 --tolerance -1", &["--tolerance"]),
        (
            "validate --list 000-fig5",
            &["--list", "cannot be used with"],
        ),
    ] {
        let ran = tmt(arguments).run();
        assert!(ran.stdout.is_empty(), "{arguments}");
        ran.fails(2, words);
    }
}

#[test]
fn a_result_goes_whole_into_a_file_or_not_at_all() {
    let folder = Folder::new();
    tmt("model fec -o fec.txt").within(&folder).run().ok();
    assert!(folder.read("fec.txt").contains("eta"));
    tmt("model fec nx=1 -o none.txt")
        .within(&folder)
        .run()
        .fails(2, &["nx"]);
    tmt("validate nothing -o none.txt")
        .within(&folder)
        .run()
        .fails(2, &["FIGURES"]);
    assert_eq!(folder.names(), ["fec.txt"]);
}

/// A point that takes long ends once its caller says so, between two of its words, and leaves no file behind. If it did not, it would
/// write its answer.
#[test]
fn one_long_point_ends_when_it_is_told_to() {
    let long = "events=1000000000 most_bits=300000000";
    for command in [
        "model ser-measured scheme=rsconv rate=7/8 ecn0_db=9",
        "model ser-required-measured scheme=rsconv rate=7/8",
        "model code-best rates=measured",
        "model code-order rates=measured",
        "code best --cn0 66dBHz --symbol-rate 2M --share 0.5 rates=measured",
        "code table --cn0 66,67dBHz --symbol-rate 2M --share 0.5 rates=measured --cache CACHE",
        "code curve --code conv:7/8 --es-n0 11,12dB",
    ] {
        let folder = Folder::new();
        let path = |name: &str| folder.path(name).display().to_string();
        let words = command.split(' ').chain(long.split(' '));
        let mut words: Vec<String> = words
            .map(|word| word.replace("CACHE", &path("cache.csv")))
            .collect();
        words.extend(["-o".to_owned(), path("answer.txt")]);
        let host = Arc::new(Host::default());
        let stop = Arc::clone(&host);
        let stopping = thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            stop.stop();
        });
        let pool = tmt_cli::pool(&host, Some(2)).unwrap();
        let answer = pool.install(|| call(&host, words));
        stopping.join().unwrap();
        assert_eq!(answer, Err(CallError::Stopped), "{command}");
        // Measurements that were finished before may be kept.
        let left: Vec<_> = fs::read_dir(folder.path(".")).unwrap().collect();
        let left = left.into_iter().map(|file| file.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name != "cache.csv").collect();
        assert!(left.is_empty(), "{command}: {left:?}");
    }
}

#[test]
fn completions_know_the_figures_and_units() {
    let ran = tmt("completions bash").run();
    for values in [
        "000-fig5 000-fig6 link-further 002-fig3 002-fig9",
        "s ms us ns",
    ] {
        assert!(ran.text().contains(values), "{values}");
    }
}

/// Little of a figure, as JSON.
fn validated(arguments: &str) -> Json {
    tmt(&format!("validate {arguments} --json"))
        .run()
        .ok()
        .results()
}

#[test]
fn theory_and_transform_agree() {
    let figures = depth("000-fig5 link-further", "000-fig5 000-fig6 link-further");
    let figures = validated(&format!("{figures} --duration 60s --tolerance 5"));
    for figure in figures.as_array().unwrap() {
        let rows = figure["rows"].as_array().unwrap();
        let judged = rows.iter().filter(|row| row["verdict"] == "ok").count();
        assert!(judged * 2 > rows.len(), "{figure}");
        for row in rows {
            // The closed form next to the contract's figure, where there is one.
            if let Some(reference) = row["reference"].as_f64() {
                assert!(
                    (row["theory"].as_f64().unwrap() - reference).abs() < 5e-4,
                    "{row}"
                );
            }
        }
    }
}

#[test]
fn theory_and_simulator_agree_where_the_theory_holds() {
    let figures = validated("003-table1 --seeds 2 --duration 1000s");
    let rows = figures[0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 15);
    // Relation (15) above the link's rate and TGEP below a tenth of it are no models.
    let left_out = rows.iter().filter(|row| row["verdict"] == "not_judged");
    assert_eq!(left_out.count(), 4);
}

#[test]
fn a_deviation_beyond_tolerance_and_interval_is_a_failure() {
    let folder = Folder::new();
    let ran = tmt("validate 003-table1 --seeds 2 --duration 1000s --tolerance 0 -o rows.csv --csv")
        .within(&folder)
        .run()
        .fails(1, &["of 15 rows are off by more than their tolerance"]);
    assert!(ran.stdout.is_empty());
    assert!(folder.read("rows.csv").contains(",off,"));
}

#[test]
fn the_coupled_links_figures_go_by_either_papers_number() {
    let figures =
        validated("002-fig9 004-fig11 004-fig15 --seeds 2 --duration 100s --tolerance 15");
    let names: Vec<&str> = figures
        .as_array()
        .unwrap()
        .iter()
        .map(|figure| figure["figure"].as_str().unwrap())
        .collect();
    // The paper's simulation and its model are one figure here, under the simulation's number.
    assert_eq!(names, ["002-fig3", "004-fig11", "004-fig15"]);
    let count = |figure: usize, verdict: &str| {
        let rows = figures[figure]["rows"].as_array().unwrap();
        rows.iter().filter(|row| row["verdict"] == verdict).count()
    };
    assert_eq!((count(0, "ok"), count(0, "not_judged")), (13, 5));
    assert_eq!(count(1, "ok"), 12);
    let rows = figures[2]["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["bound"] == "upper"));
}
