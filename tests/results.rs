//! Tidy tables of results, and distributions: what they hold is what the JSON of the same runs has.

use std::collections::BTreeMap;

use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use serde_json::Value;

use crate::common::{Folder, bash, rows, tmt};

fn folder() -> Folder {
    let folder = Folder::new();
    bash(
        &folder,
        "tmt synth --rate 975kbps --lldu 25B --duration 9s --decode-delay 4ms --rtt 100ms \
         | tmt inject --gilbert-elliott alpha=0.99,beta=0.8 --seed 3 -o phy.csv
         tmt apply --scheme harq:10/12,rounds=2 phy.csv -o timeline.csv
         tmt apply --scheme arq phy.csv -o arq.csv",
    )
    .ok();
    folder
}

/// Asserts that a row has each number of `metrics`, and an empty field for each null.
fn assert_metrics(row: &BTreeMap<String, String>, metrics: &Value) {
    let mut numbers = 0;
    for (name, value) in metrics.as_object().unwrap() {
        let field = &row[name];
        match value {
            Value::Null => assert_eq!(field, "", "{name}"),
            Value::Number(number) => {
                let (field, number) = (field.parse::<f64>().unwrap(), number.as_f64().unwrap());
                // The parser of JSON rounds the last digit as it likes.
                assert!(
                    (field - number).abs() <= 1e-14 * number.abs(),
                    "{name}: {field} {number}"
                );
                numbers += 1;
            }
            Value::String(text) => assert_eq!(field, text, "{name}"),
            _ => assert!(field.starts_with('['), "{name}: {field}"),
        }
    }
    assert!(numbers > 30, "{numbers}");
}

#[test]
fn a_row_of_results_is_a_run_or_a_flow_with_its_parameters() {
    let folder = folder();
    let report = tmt("tcp --seeds 3 --start 0s..2s --flows 2 --json --results rows.csv -o report.json timeline.csv")
        .within(&folder)
        .run()
        .ok();
    assert!(report.stdout.is_empty());
    let report: Value = serde_json::from_str(&folder.read("report.json")).unwrap();
    let rows = rows(&folder.read("rows.csv"));
    let runs = report["results"]["runs"].as_array().unwrap();
    assert_eq!((runs.len(), rows.len()), (3, 9));
    for (run, rows) in runs.iter().zip(rows.chunks(3)) {
        for row in rows {
            assert_eq!(row["seed"], run["seed"].to_string());
            assert_eq!(row["rtt_ns"], "100000000");
            assert_eq!(row["scheme"], "harq:10/12,rounds=2");
            assert_eq!(row["sack"], "true");
            assert!(row["cc"].starts_with("cubic"), "{row:?}");
            assert_eq!(row["offset_s"], "");
        }
        assert_eq!((&*rows[0]["scope"], &*rows[0]["flow"]), ("total", ""));
        assert_metrics(&rows[0], &run["total"]);
        for (flow, row) in rows[1..].iter().enumerate() {
            assert_eq!((&*row["scope"], &row["flow"]), ("flow", &flow.to_string()));
            assert_metrics(row, &run["flows"][flow]);
            assert_eq!(row["jain_index"], "");
        }
    }
}

#[test]
fn flows_of_their_own_have_their_settings_and_the_total_only_what_is_common() {
    let folder = folder();
    tmt("tcp --flow cc=bbr,start=1s --flow cc=reno,start=1s --results rows.csv timeline.csv")
        .within(&folder)
        .run()
        .ok();
    let rows = rows(&folder.read("rows.csv"));
    let column = |name: &str| -> Vec<String> { rows.iter().map(|row| row[name].clone()).collect() };
    let names: Vec<String> = column("cc")
        .iter()
        .map(|cc| cc.split(':').next().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["", "bbr", "reno"]);
    assert_eq!(column("start"), ["1s", "1s", "1s"]);
}

#[test]
fn a_comparison_has_rows_for_both_links() {
    let folder = folder();
    tmt("tcp --compare-links --scheme arq --duration 5s --results rows.csv.gz phy.csv")
        .within(&folder)
        .run()
        .ok();
    let text = bash(&folder, "gzip -dc rows.csv.gz").ok();
    let rows = rows(text.text());
    let links: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (&*row["link"], &*row["scope"]))
        .collect();
    assert_eq!(
        links,
        [
            ("timeline", "total"),
            ("timeline", "flow"),
            ("coupled", "total"),
            ("coupled", "flow")
        ]
    );
}

/// Cells of a Parquet file as text, as CSV has them.
fn parquet(folder: &Folder, name: &str) -> Vec<BTreeMap<String, String>> {
    use arrow_array::Array as _;
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::{Float64Type, Int64Type};
    let file = std::fs::File::open(folder.path(name)).unwrap();
    let mut rows = Vec::new();
    for batch in ParquetRecordBatchReader::try_new(file, 1000).unwrap() {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let cell = |index: usize| {
                let column = batch.column(index);
                let text = if column.is_null(row) {
                    String::new()
                } else if let Some(whole) = column.as_primitive_opt::<Int64Type>() {
                    whole.value(row).to_string()
                } else if let Some(real) = column.as_primitive_opt::<Float64Type>() {
                    real.value(row).to_string()
                } else if let Some(truth) = column.as_boolean_opt() {
                    truth.value(row).to_string()
                } else {
                    column.as_string::<i32>().value(row).to_owned()
                };
                (batch.schema().field(index).name().clone(), text)
            };
            rows.push((0..batch.num_columns()).map(cell).collect());
        }
    }
    rows
}

#[test]
fn parquet_has_the_cells_of_csv() {
    let folder = folder();
    for (command, file) in [
        (
            "tcp --seeds 2 --flows 2 --start 0s..1s --duration 5s timeline.csv --results",
            "tcp",
        ),
        (
            "apply --scheme arq --scheme harq:10/12,rounds=2 --summary-only phy.csv --summary",
            "apply",
        ),
        ("stats timeline.csv --summary", "stats"),
    ] {
        for end in ["csv", "parquet"] {
            tmt(command)
                .arg(format!("{file}.{end}"))
                .within(&folder)
                .run()
                .ok();
        }
        let expected = parquet(&folder, &format!("{file}.parquet"));
        assert!(!expected.is_empty());
        assert_eq!(
            rows(&folder.read(&format!("{file}.csv"))),
            expected,
            "{file}"
        );
    }
}

#[test]
fn summaries_have_a_row_per_scheme_and_per_trace() {
    let folder = folder();
    tmt("apply --scheme arq --scheme fec:10/12 --summary-only --rtt 30ms --replace-head --summary link.csv phy.csv").within(&folder).run().ok();
    tmt("apply --scheme arq --scheme fec:10/12 --summary-only --rtt 30ms --replace-head --summary link.json phy.csv").within(&folder).run().ok();
    let json: Value = serde_json::from_str(&folder.read("link.json")).unwrap();
    let link = rows(&folder.read("link.csv"));
    assert_eq!(link.len(), 2);
    for (row, scheme) in link.iter().zip(json["results"].as_array().unwrap()) {
        assert_eq!(row["rtt_ns"], "30000000");
        assert_eq!(row["feedback_delay_ns"], "4000000");
        for name in ["scheme", "delivered", "delay_p95_s", "residual_loss"] {
            let expected = scheme[name]
                .as_str()
                .map_or_else(|| scheme[name].to_string(), str::to_owned);
            let number = |text: &str| text.parse::<f64>().ok();
            assert!(
                row[name] == expected || number(&row[name]) == number(&expected),
                "{name}"
            );
        }
    }
    let stats = tmt("stats --json --summary stats.csv phy.csv")
        .within(&folder)
        .run()
        .ok()
        .json();
    let row = &rows(&folder.read("stats.csv"))[0];
    assert_eq!(row["slots"], stats["results"]["slots"].to_string());
    assert_eq!(row["lldu_bytes"], "25");
    assert_eq!(row["attempts"], "[]");
}

#[test]
fn unknown_forms_of_results_are_refused() {
    let folder = folder();
    for (command, flag, words) in [
        ("tcp timeline.csv", "--results rows.json", "expected .csv"),
        ("tcp timeline.csv", "--results rows.arrow", "expected .csv"),
        (
            "tcp timeline.csv",
            "--results -",
            "cannot both go to stdout",
        ),
        ("tcp timeline.csv", "--delays -", "cannot both go to stdout"),
        (
            "tcp --seeds 2 --start 0s..1s timeline.csv",
            "--delays delays.csv",
            "several runs need {seed}",
        ),
        (
            "tcp --compare-links --scheme arq phy.csv",
            "--delays delays.csv",
            "--compare-links",
        ),
        (
            "tcp timeline.csv",
            "--results timeline.csv",
            "more than once",
        ),
        (
            "apply --scheme arq --summary-only phy.csv",
            "--summary link.md",
            "or .json",
        ),
        ("stats phy.csv", "--summary stats.xlsx", "or .json"),
        ("stats phy.csv", "--summary -", "cannot both go to stdout"),
        ("stats phy.csv", "--summary phy.csv", "more than once"),
    ] {
        tmt(command)
            .arg_list(flag)
            .within(&folder)
            .run()
            .fails(2, &[words]);
    }
}

/// The distributions have the percentiles, the means and the extremes of the report.
#[test]
fn the_distribution_of_delays_is_that_of_the_report() {
    let folder = folder();
    for run in [
        "tcp --flows 3 --start 0s..1s --seed 4 timeline.csv",
        "tcp --link coupled --scheme arq --flows 2 --in-order flow phy.csv",
        "tcp --link synthetic --rate 2Mbps --rtt 80ms --duration 20s --loss bernoulli:0.01 --queue codel --flows 2",
        "tcp --path split --terrestrial-rtt 20ms --flows 2 --cc bbr arq.csv",
        "tcp --link synthetic --rate 200Mbps --rtt 10ms --duration 60s --flows 2",
    ] {
        let report = tmt(run)
            .arg_list("--json --delays delays.csv -o report.json")
            .within(&folder)
            .run();
        report.ok();
        let report: Value = serde_json::from_str(&folder.read("report.json")).unwrap();
        let run_ = &report["results"]["runs"][0];
        let rows = rows(&folder.read("delays.csv"));
        let flows = run_["flows"].as_array().unwrap().iter().enumerate();
        let flows = flows.map(|(flow, metrics)| (flow.to_string(), metrics));
        for (flow, metrics) in flows.chain([(String::new(), &run_["total"])]) {
            for (kind, prefix) in [("delay", "delay"), ("queueing", "queueing_delay")] {
                let rows = rows
                    .iter()
                    .filter(|row| row["flow"] == flow && row["kind"] == kind);
                let values: Vec<(f64, u64, f64)> = rows
                    .map(|row| {
                        let number = |name: &str| row[name].parse::<f64>().unwrap();
                        (
                            number("delay_s"),
                            row["count"].parse().unwrap(),
                            number("share"),
                        )
                    })
                    .collect();
                let count: u64 = values.iter().map(|value| value.1).sum();
                assert!(count > 100, "{run} {flow} {kind}: {count}");
                assert!(
                    values
                        .windows(2)
                        .all(|pair| pair[0].0 < pair[1].0 && pair[0].2 <= pair[1].2)
                );
                assert!((values.last().unwrap().2 - 1.0).abs() < 1e-9);
                let metric = |name: &str| metrics[format!("{prefix}_{name}_s")].as_f64().unwrap();
                for (percent, name) in [(50, "p50"), (85, "p85"), (95, "p95"), (99, "p99")] {
                    let rank = (count * percent).div_ceil(100);
                    let mut so_far = 0;
                    let found = values.iter().find(|value| {
                        so_far += value.1;
                        so_far >= rank
                    });
                    assert!(
                        (found.unwrap().0 - metric(name)).abs() < 1e-9,
                        "{run} {flow} {kind} {name}"
                    );
                }
                let off = if metrics[format!("{prefix}_percentiles")] == "exact" {
                    1e-9
                } else {
                    2e-3
                };
                let sum: f64 = values
                    .iter()
                    .map(|&(value, count, _)| value * f64::from(u32::try_from(count).unwrap()))
                    .sum();
                let mean = sum / f64::from(u32::try_from(count).unwrap());
                assert!(
                    (mean - metric("mean")).abs() <= off * metric("mean").max(1.0),
                    "{run} {flow} {kind}: {mean}"
                );
                if kind == "delay" {
                    let served = metrics["packets_sent"].as_u64().unwrap();
                    assert!(count <= served);
                }
            }
        }
    }
}

/// Goodput per interval, times the interval, is the payload delivered in order; without an interval nothing is written.
#[test]
fn the_goodput_of_the_series_adds_up_to_what_was_delivered() {
    let folder = folder();
    let run = "tcp --flows 2 --cc newreno --profile rfc --series series.csv timeline.csv";
    tmt(run)
        .arg_list("--series-interval 200ms")
        .within(&folder)
        .run()
        .ok();
    let rows_ = rows(&folder.read("series.csv"));
    for flow in ["0", "1"] {
        let (mut bits, mut last, mut delivered) = (0.0, 0.0, 0.0);
        for row in rows_.iter().filter(|row| row["flow"] == flow) {
            let time: f64 = row["time_s"].parse().unwrap();
            if let Ok(goodput) = row["goodput_bps"].parse::<f64>() {
                bits += goodput * (time - last);
            }
            last = time;
            delivered = row["delivered"].parse().unwrap();
        }
        let expected = delivered * 8.0 * 1460.0;
        assert!(
            delivered > 10.0 && (bits - expected).abs() < 1.0,
            "{bits} {expected}"
        );
    }
    tmt(run).within(&folder).run().ok();
    let rows_ = rows(&folder.read("series.csv"));
    assert!(rows_.len() > 20 && rows_.iter().all(|row| row["goodput_bps"].is_empty()));
}

/// Tables have the same rows for one run and for many, flag means that leave out runs, and fit 80 columns.
#[test]
fn one_table_serves_one_run_and_many() {
    let folder = folder();
    let labels = |text: &str| -> Vec<String> {
        let lines = text.lines().skip(1).take_while(|line| !line.is_empty());
        let label = |line: &str| line.split("  ").next().unwrap().to_owned();
        lines
            .map(label)
            .filter(|label| !label.starts_with('±'))
            .collect()
    };
    let ran = |flags: &str| {
        let ran = tmt("tcp --flows 4 --start 0s..8s --bytes 60kB -q")
            .arg_list(flags)
            .arg("timeline.csv");
        ran.within(&folder).run().ok()
    };
    let (one, many) = (ran("--seed 1"), ran("--seeds 6"));
    assert_eq!(labels(one.text()), labels(many.text()));
    assert!(labels(one.text()).len() > 35);
    let of_links = tmt(
        "tcp --compare-links --scheme arq --seeds 2 --flows 5 --start 0s..1s --cc cubic phy.csv",
    );
    let of_links = of_links.within(&folder).run().ok();
    for text in [one.text(), many.text(), of_links.text()] {
        for line in text.lines() {
            assert!(
                line.chars().count() <= 80,
                "{}: {line}",
                line.chars().count()
            );
        }
    }
    let line = many
        .text()
        .lines()
        .find(|line| line.starts_with("completion time"))
        .unwrap();
    assert!(line.ends_with("runs only"), "{line}");
    assert!(
        many.stderr.contains("warning: ") && many.stderr.contains("runs ended before"),
        "{}",
        many.stderr
    );
    assert!(!many.text().contains(".000000\npackets"));
    let flows: Vec<&str> = one
        .text()
        .lines()
        .filter(|line| line.contains(" cubic"))
        .collect();
    assert!(flows.len() >= 4, "{}", one.text());
}
