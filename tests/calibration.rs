//! The calibration study: its page shows what its tables hold, and a trace of today still gives its figures.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use super::common::{Folder, project, tmt};

/// A row of a table of the study, by column.
pub(super) type Row = HashMap<String, String>;

/// Rows of a table of the study. No field has a comma in it.
pub(super) fn rows(name: &str) -> Vec<Row> {
    let path = project("fixtures/studies/calibration").join(name);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let columns: Vec<String> = lines.next().unwrap().collect();
    lines
        .map(|fields| columns.iter().cloned().zip(fields).collect())
        .collect()
}

pub(super) fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap()
}

/// Every cell of Table 3 under every set is in the page as in `cells.csv`, none is left out.
#[test]
fn the_page_shows_every_cell() {
    let page = fs::read_to_string(project("fixtures/studies/calibration/README.md")).unwrap();
    let mut found: BTreeMap<(String, String, String), Vec<String>> = BTreeMap::new();
    for row in rows("cells.csv") {
        if row["quantity"] != "page_time_s" {
            continue;
        }
        let fitted = if row["role"] == "held out" { "" } else { " *" };
        let cell = format!(
            "{:.1} ± {:.1} / {:.1} {:+.0} %{fitted}",
            number(&row, "ours"),
            number(&row, "standard_error"),
            number(&row, "published"),
            number(&row, "deviation_percent")
        );
        let key = (row["set"].clone(), row["cc"].clone(), row["scheme"].clone());
        found.entry(key).or_default().push(cell);
    }
    assert_eq!(found.len(), 3 * 15);
    for ((set, cc, scheme), cells) in found {
        assert_eq!(cells.len(), 4, "{set} {cc} {scheme}");
        let row = format!("| {cc} | {scheme} | {} |", cells.join(" | "));
        let at = page.find(&format!("<!-- page-times-{set} -->")).unwrap();
        let table = &page[at..at + page[at..].find("<!-- end -->").unwrap()];
        assert!(table.contains(&row), "{set} lacks the row\n{row}");
    }
}

/// The deviations that the table of cells prints are those of its figures.
#[test]
fn deviations_are_of_the_figures_beside_them() {
    for row in rows("cells.csv") {
        let deviation = 100.0 * (number(&row, "ours") / number(&row, "published") - 1.0);
        let printed = number(&row, "deviation_percent");
        // The figures are rounded to a thousandth.
        assert!((deviation - printed).abs() < 0.11, "{row:?}");
    }
}

/// One trace of `kuhn-fitted` that the study did not use gives page times within its spread between traces.
#[test]
fn a_new_trace_gives_the_figures_of_the_study() {
    let folder = Folder::new();
    let set = rows("sets.csv")
        .into_iter()
        .find(|row| row["set"] == "kuhn-fitted")
        .unwrap();
    let synth = format!(
        "synth -q --scenario internet-interleaved --es-n0 6dB --seed 999 --duration 400s --set implementation-loss={}dB \
         --set deep-shadow={} --set word-variation={}dB -o trace.csv",
        set["implementation_loss_db"], set["deep_shadow"], set["word_variation_db"]
    );
    tmt(&synth).within(&folder).run().ok();
    for scheme in ["arq", "harq:10/15"] {
        let apply = format!("apply -q --scheme {scheme} trace.csv -o timeline.csv");
        tmt(&apply).within(&folder).run().ok();
        let pages = "tcp -q --json --profile ns2 --buffer 100pkt --bytes 100kB --duration 60s --offsets 200 --cc newreno";
        let report = tmt(&format!("{pages} timeline.csv"))
            .within(&folder)
            .run()
            .ok()
            .json();
        let time = report["results"]["mean"]["completion_time_s"]["mean"]
            .as_f64()
            .unwrap();
        let expected = rows("cells.csv")
            .into_iter()
            .find(|row| {
                let keys = ["set", "quantity", "cc", "scheme"].map(|key| row[key].as_str());
                keys == ["kuhn-fitted", "page_time_s", "newreno", scheme]
                    && row["es_n0_db"] == "6.0"
            })
            .unwrap();
        // Ten seeds gave the standard error; a single trace is within four standard deviations of the mean.
        let spread = 4.0 * number(&expected, "standard_error") * 10.0_f64.sqrt() + 0.05;
        let ours = number(&expected, "ours");
        assert!(
            (time - ours).abs() < spread,
            "{scheme}: {time} s, the study has {ours} s ± {spread}"
        );
    }
}
