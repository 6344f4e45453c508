//! `tmt reproduce`: published, ours, verdict; settings, files of one's own, folders of results.

use serde_json::Value;

use crate::common::{Folder, project, tmt};

/// A figure of closed forms, which takes no time.
const OWN: &str = r#"
name = "own"
about = "Two efficiencies"
source = "a test"

[[part]]
label = "{loss}"

[part.plan]
model = "arq"
p = "{loss}"
loss = [0.1, 0.2]
rtt = 0.5

[[part.quantity]]
name = "efficiency"
metric = "eta"
tolerance = 0.01
published = [0.9, 0.8]
"#;

fn rows(document: &Value) -> Vec<&Value> {
    let figures = document["results"].as_array().unwrap().iter();
    figures
        .flat_map(|figure| figure["rows"].as_array().unwrap())
        .collect()
}

#[test]
fn a_file_of_ones_own_runs_and_a_wrong_setting_is_off() {
    let folder = Folder::new();
    folder.write("own.toml", OWN);
    let ran = tmt("reproduce own.toml --json").within(&folder).run().ok();
    let document = ran.json();
    let verdicts: Vec<&Value> = rows(&document).iter().map(|row| &row["verdict"]).collect();
    assert_eq!(verdicts, ["ok", "ok"]);
    let ran = tmt("reproduce own.toml --set p=0.3 --json")
        .within(&folder)
        .run();
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("2 of 2 rows are off"), "{}", ran.stderr);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(rows(&document)[0]["published"], 0.9);
    folder.write("wrong.toml", OWN.replace("rtt = 0.5", "rtt = -1"));
    let ran = tmt("reproduce wrong.toml").within(&folder).run();
    assert!(
        ran.code == Some(2) && ran.stderr.contains("rtt"),
        "{}",
        ran.stderr
    );
    folder.write("wrong.toml", OWN.replace("[0.9, 0.8]", "[0.9]"));
    let ran = tmt("reproduce wrong.toml").within(&folder).run();
    assert!(
        ran.code == Some(2) && ran.stderr.contains("wrong.toml:6:1: efficiency"),
        "{}",
        ran.stderr
    );
}

#[test]
fn every_file_of_the_folder_is_listed() {
    let list = tmt("reproduce --list --json").run().ok().json();
    let listed = list["results"].as_array().unwrap().iter();
    let mut listed: Vec<String> = listed
        .map(|one| format!("{}.toml", one["figure"].as_str().unwrap()))
        .collect();
    listed.sort();
    let files = std::fs::read_dir(project("crates/tmt-study/figures")).unwrap();
    let mut files: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(listed, files);
}

#[test]
fn a_row_of_csv_has_the_columns_of_the_documentation() {
    let ran = tmt("reproduce celandroni-fig3 barakat-fig15 --csv")
        .run()
        .ok();
    let first = ran.text().lines().next().unwrap().to_owned();
    let axes = "size,redundancy,k,n,K,p";
    assert_eq!(
        first,
        format!(
            "figure,row,{axes},metric,unit,published,theory,ours,ours_low,ours_high,runs,deviation,tolerance,verdict,source,\
             quantity,subject,model,by,bound,why"
        )
    );
}

#[test]
fn a_folder_has_tables_plans_and_an_index_and_nothing_that_is_unfinished() {
    let folder = Folder::new();
    folder.write("own.toml", OWN);
    tmt("reproduce own.toml celandroni-fig3 -o results")
        .within(&folder)
        .run()
        .ok();
    let names = std::fs::read_dir(folder.path("results")).unwrap();
    let mut names: Vec<String> = names
        .map(|name| name.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "celandroni-fig3-1.plan.toml",
            "celandroni-fig3.csv",
            "celandroni-fig3.svg",
            "index.md",
            "own-1.plan.toml",
            "own.csv",
            "own.svg"
        ]
    );
    assert!(folder.read("results/index.md").contains("[own](own.csv)"));
    let csv = tmt("reproduce own.toml --csv").within(&folder).run().ok();
    assert_eq!(csv.text(), folder.read("results/own.csv"));
}

/// Finished runs of an interrupted command are refused without `--resume`, and taken with it.
#[test]
fn finished_runs_are_taken_with_resume_alone() {
    let folder = Folder::new();
    folder.write("own.toml", OWN);
    // A file in place of the index: everything runs, and the end fails.
    std::fs::create_dir_all(folder.path("results/index.md")).unwrap();
    let ran = tmt("reproduce own.toml -o results").within(&folder).run();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    std::fs::remove_dir(folder.path("results/index.md")).unwrap();
    let refused = tmt("reproduce own.toml -o results").within(&folder).run();
    assert!(
        refused.code == Some(1) && refused.stderr.contains("--resume"),
        "{}",
        refused.stderr
    );
    tmt("reproduce own.toml -o results --resume")
        .within(&folder)
        .run()
        .ok();
    assert!(folder.read("results/own.csv").lines().count() == 3);
    tmt("reproduce own.toml -o results")
        .within(&folder)
        .run()
        .ok();
}

#[test]
fn the_plans_of_a_folder_are_plans_of_a_sweep() {
    let folder = Folder::new();
    tmt("-q reproduce celandroni-fig3 -o results")
        .within(&folder)
        .run()
        .ok();
    tmt("sweep results/celandroni-fig3-1.plan.toml --dry-run")
        .within(&folder)
        .run()
        .ok();
    // Its table can be drawn.
    tmt("plot results/celandroni-fig3.csv -o figure.svg")
        .within(&folder)
        .run()
        .ok();
    let json = tmt("-q reproduce celandroni-fig3 --json")
        .within(&folder)
        .run()
        .ok();
    folder.write("figure.json", json.stdout);
    tmt("plot figure.json -o document.svg")
        .within(&folder)
        .run()
        .ok();
    for (own, words) in [
        (
            OWN.replace("\"own\"", "\"../own\""),
            "letters, digits, - and _",
        ),
        (OWN.to_owned(), "found own twice"),
    ] {
        folder.write("own.toml", own);
        let twice = "reproduce own.toml own.toml -o results";
        let ran = tmt(twice).within(&folder).run();
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        ran.says(&[words]);
    }
}

#[test]
fn settings_without_effect_are_refused() {
    for (run, words) in [
        (
            "reproduce kuhn-fig7 --set cc=bbr1",
            "--set cc: found no such name",
        ),
        (
            "reproduce celandroni-fig3 --seeds 5",
            "--seeds: found figures of closed forms alone",
        ),
        (
            "reproduce celandroni-fig3 --set seeds=5",
            "--set seeds: found no such name",
        ),
    ] {
        tmt(run).run().fails(2, &[words]);
    }
}

#[test]
fn a_setting_that_leaves_out_cells_leaves_statements_about_them_open() {
    let run = "-q reproduce kuhn-fig7 --set es_n0=5,6 --set seeds=1 --duration 5s --json";
    let ran = tmt(run).run();
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let all = rows(&document);
    let statements = all.iter().filter(|row| row["quantity"] == "statement");
    let verdicts: Vec<&str> = statements
        .map(|row| row["verdict"].as_str().unwrap())
        .collect();
    assert!(
        verdicts.iter().all(|verdict| *verdict == "not_judged"),
        "{verdicts:?}"
    );
    assert!(!verdicts.is_empty());
}
