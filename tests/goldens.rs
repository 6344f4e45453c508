//! Goldens of the command line: help, refusals with their exit codes, and small outputs, one file a case in `cases/`.

use std::collections::BTreeSet;
use std::fs;

use crate::common::{TMT, project, tmt};

/// Every case: its name and its text.
fn cases() -> Vec<(String, String)> {
    fs::read_dir(project("tests/cases"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

#[test]
fn every_golden_is_met() {
    trycmd::TestCases::new()
        .register_bin("tmt", std::path::Path::new(TMT))
        .env("COLUMNS", "100")
        .case("../../tests/cases/*.toml");
}

#[test]
fn every_golden_says_what_it_expects_of_both_streams() {
    for (name, text) in cases() {
        for stream in ["stdout", "stderr"] {
            let written = text.contains(&format!("\n{stream} = "));
            let beside = project(&format!("tests/cases/{name}.{stream}")).exists();
            assert!(written || beside, "{name} says nothing of {stream}");
        }
    }
}

#[test]
fn every_refusal_has_an_exit_code_and_writes_nothing_to_stdout() {
    for (name, text) in cases() {
        let code = match name.split('-').next().unwrap() {
            "refuse" => "2",
            "fail" => "1",
            _ => continue,
        };
        assert!(
            text.contains(&format!("status.code = {code}\n")),
            "{name} does not expect exit code {code}"
        );
        if code == "2" {
            assert!(text.contains("stdout = \"\"\n"), "{name} expects stdout");
        }
    }
}

#[test]
fn every_command_has_a_golden_help() {
    let help = tmt("--help").run().ok();
    let commands: BTreeSet<&str> = help
        .text()
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().next().unwrap())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() >= 10, "{commands:?}");
    for command in commands {
        assert!(
            project(&format!("tests/cases/help-{command}.toml")).exists(),
            "{command} has none"
        );
    }
}
