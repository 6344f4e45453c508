//! Every way to write a trace down that must be understood (docs/trace-format.md).

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{plain, project, tmt, trace};

/// Every trace of `fixtures/valid`: all of them say the same.
fn fixtures() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(project("fixtures/valid"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .collect();
    files.sort();
    files
}

/// The flag that a fixture needs.
fn unit(file: &Path) -> &'static str {
    if file.ends_with("milliseconds.csv") {
        "--unit ms"
    } else {
        ""
    }
}

#[test]
fn every_valid_fixture_gives_the_same_bytes() {
    let files = fixtures();
    assert!(files.len() >= 14, "{files:?}");
    for command in [
        "apply --scheme arq --rtt 1ms",
        "inject --bernoulli 0",
        "stats --json",
    ] {
        let run = |file: &PathBuf| {
            tmt(command)
                .arg_list(unit(file))
                .arg(file)
                .run()
                .ok()
                .stdout
        };
        let expected = run(&project("fixtures/valid/canonical.csv"));
        for file in &files {
            assert!(run(file) == expected, "{command} {}", file.display());
        }
    }
}

#[test]
fn what_inject_writes_without_erasures_is_what_it_read() {
    let canonical = fs::read_to_string(project("fixtures/valid/canonical.csv")).unwrap();
    for file in fixtures() {
        let ran = tmt("inject --bernoulli 0")
            .arg_list(unit(&file))
            .arg(&file)
            .run()
            .ok();
        assert_eq!(plain(ran.text()), canonical, "{}", file.display());
    }
}

#[test]
fn every_unit_of_the_input_gives_seconds() {
    for (unit, rows) in [
        ("s", "1.5 0.25\n2 0\n"),
        ("ms", "1500 250\n2000 0\n"),
        ("us", "1500000 250000\n2e6 0\n"),
        ("ns", "1500000000 25e7\n2000000000 0\n"),
    ] {
        let ran = tmt("apply --no-head --scheme none --unit")
            .arg(unit)
            .input(rows)
            .run()
            .ok();
        assert_eq!(
            ran.text(),
            "tx_time,decode_delay,attempts\n1.500000000,0.250000000,1\n2.000000000,0,1\n",
            "{unit}"
        );
    }
}

#[test]
fn more_than_nine_decimals_are_rounded_half_away_from_zero() {
    let rows = "0.0000000004999,0.0000000005\n0.0000000005,0.0000000014999\n0.0000000015,1\n";
    let ran = tmt("apply --no-head --scheme none").input(rows).run().ok();
    assert_eq!(
        ran.text(),
        "tx_time,decode_delay,attempts\n0.000000000,0.000000001,1\n\
         0.000000001,0.000000001,1\n0.000000002,1.000000000,1\n"
    );
}

#[test]
fn a_head_with_crlf_and_comments_in_between_is_a_head() {
    let text = trace(20, 5)
        .replace('\n', "\r\n")
        .replace("# site", "# no key\r\n\r\n# site");
    let ran = tmt("apply --scheme arq").input(text).run().ok();
    let expected = tmt("apply --scheme arq").input(trace(20, 5)).run().ok();
    assert_eq!(ran.text(), expected.text());
}

#[test]
fn a_dash_and_no_name_both_mean_stdin() {
    let dash = tmt("apply --scheme arq -").input(trace(20, 5)).run().ok();
    let none = tmt("apply --scheme arq").input(trace(20, 5)).run().ok();
    assert_eq!(dash.text(), none.text());
}
