//! Pages of documents: figures, closed forms, fits, advice.

use std::fs;

use crate::common::{Folder, project, tmt};
use crate::pages::{answer, data, page};

/// A result may have the name of a parameter: it is a result, unless it repeats what was given.
#[test]
fn a_result_with_the_name_of_a_parameter_is_a_result() {
    let folder = Folder::new();
    let model = "-q model ser scheme=rs n=255 --sweep ebn0_db=4,5,6";
    for format in ["json", "csv"] {
        let file = format!("model.{format}");
        let command = format!("{model} --{format} -o {file}");
        tmt(&command).within(&folder).run().ok();
        let of_model = page(&folder, &file);
        let found: serde_json::Value = serde_json::from_str(data(&of_model)).unwrap();
        let has = |of: &str, label: &str| {
            let mut all = found[of].as_array().unwrap().iter();
            all.any(|one| one["label"] == label)
        };
        assert!(has("metrics", "rate") && has("metrics", "ser"), "{file}");
        assert!(
            has("keys", "key.rate") && !has("keys", "key.ebn0"),
            "{file}"
        );
        assert!(has("keys", "Eb/N0") && !has("metrics", "Eb/N0"), "{file}");
        assert!(
            answer(&of_model)
                .contains("The bit error rate goes from 0.004161 at Ec/N0 5.418 dB, Eb/N0 6 dB"),
            "{}",
            answer(&of_model)
        );
    }
}

/// Ends of intervals are intervals in documents of tmt; in other tables the names may mean something else.
#[test]
fn ends_of_intervals_of_a_document_are_no_results() {
    let folder = Folder::new();
    let row = |at: u64, high: u64| {
        format!(r#"{{"at_db": {at}, "x_bps": 2, "x_bps_low": 1, "x_bps_high": {high}}}"#)
    };
    let rows = [row(1, 4), row(2, 1)].join(", ");
    folder.write(
        "x.json",
        format!(r#"{{"schema": "tmt.model/1", "results": [{rows}]}}"#),
    );
    folder.write(
        "x.csv",
        "at_db,x_bps,x_bps_low,x_bps_high\n1,2,1,4\n2,2,1,1\n",
    );
    let metrics = |file: &str| {
        let found: serde_json::Value = serde_json::from_str(data(&page(&folder, file))).unwrap();
        found["metrics"].clone()
    };
    let found = metrics("x.json");
    let has = |label: &str| {
        found
            .as_array()
            .unwrap()
            .iter()
            .position(|one| one["label"] == label)
    };
    let x = has("x").unwrap();
    assert_eq!(
        found[x]["halves"],
        serde_json::json!([1.5, null]),
        "{found}"
    );
    assert_eq!(has("x bps low"), None);
    assert_eq!(metrics("x.csv").as_array().unwrap().len(), 4);
}

/// A point that is refused has no results, and its parameters are those of the others.
#[test]
fn a_refused_point_is_a_gap() {
    let folder = Folder::new();
    let model = "-q model ser scheme=rs n=10 ebn0_db=5 --sweep k=5,20 --json -o model.json";
    let _ = tmt(model).within(&folder).run();
    let found: serde_json::Value =
        serde_json::from_str(data(&page(&folder, "model.json"))).unwrap();
    let keys = found["keys"].as_array().unwrap();
    let rate = keys.iter().find(|key| key["label"] == "key.rate").unwrap();
    assert_eq!(rate["values"], serde_json::json!(["1/2"]));
    assert!(!keys.iter().any(|key| key["label"] == "rate"), "{keys:?}");
    let metrics = found["metrics"].as_array().unwrap();
    let rate = metrics
        .iter()
        .find(|metric| metric["label"] == "rate")
        .unwrap();
    assert_eq!(rate["values"], serde_json::json!([0.5, null]));
}

/// A single fitted model cannot be best: its criterion says nothing without another.
#[test]
fn the_only_model_of_a_fit_has_won_nothing() {
    let folder = Folder::new();
    tmt("-q synth --channel bernoulli:0.05 --rate 1Mbps --lldu 100B --duration 2s --decode-delay 1ms --seed 3 -o phy.csv")
        .within(&folder)
        .run()
        .ok();
    tmt("-q fit --model bernoulli --json phy.csv -o fit.json")
        .within(&folder)
        .run()
        .ok();
    let found = page(&folder, "fit.json");
    assert!(
        answer(&found)
            .starts_with("bernoulli is the only row, compared with no other: its BIC is "),
        "{}",
        answer(&found)
    );
}

/// Statements say yes or no, which a verdict does better than a chart.
#[test]
fn statements_are_in_the_table_and_not_in_charts() {
    let folder = Folder::new();
    let pairs = "row,quantity,unit,verdict,published,ours\na,page time,s,ok,1,2\nb,statement,,held,1,1\nc,statement,s,held,1,2\nd,statement,,held,0.3333,0.3333\n";
    folder.write("pairs.csv", pairs);
    let found = page(&folder, "pairs.csv");
    let found: serde_json::Value = serde_json::from_str(data(&found)).unwrap();
    assert_eq!(found["pair"]["statements"], serde_json::json!([1]));
    let picture = tmt("plot pairs.csv").within(&folder).run().ok();
    let picture = String::from_utf8(picture.stdout).unwrap();
    assert!(picture.contains("1 statement not drawn."), "{picture}");
}

/// Several decades need a logarithmic scale; it is chosen for each quantity.
#[test]
fn published_values_of_several_decades_have_a_logarithmic_scale() {
    let folder = Folder::new();
    folder.write(
        "pairs.csv",
        "row,quantity,unit,published,ours\na,loss,,0.001,0.002\na,delay,s,1,2\nb,loss,,0.2,0\nb,delay,s,90,100\nc,gain,,-1,900\n",
    );
    let found = page(&folder, "pairs.csv");
    let found: serde_json::Value = serde_json::from_str(data(&found)).unwrap();
    assert_eq!(found["pair"]["log"], serde_json::json!([0, 2]));
    let picture = tmt("plot pairs.csv").within(&folder).run().ok();
    let picture = String::from_utf8(picture.stdout).unwrap();
    assert!(
        picture.contains("loss: 1 value of zero or less not on the logarithmic axis"),
        "{picture}"
    );
}

#[test]
fn documents_and_foreign_tables_have_pages() {
    let folder = Folder::new();
    for name in ["advise.json", "series.csv", "sweep.csv"] {
        fs::copy(project("fixtures/plots").join(name), folder.path(name)).unwrap();
        let _ = page(&folder, name);
    }
    folder.write("foreign.csv", "name,height_m\n\"</script>\",1\nb,\n");
    let foreign = page(&folder, "foreign.csv");
    assert!(
        answer(&foreign).contains("has the highest height m: 1 (no interval)"),
        "{}",
        answer(&foreign)
    );
}

#[test]
fn advice_has_a_winner_only_beyond_its_interval() {
    let folder = Folder::new();
    let text = fs::read_to_string(project("fixtures/plots/advise.json")).unwrap();
    folder.write("clear.json", &text);
    let clear = page(&folder, "clear.json");
    assert!(
        answer(&clear).starts_with("arq,in-order has the best goodput: 194.8 ± 5.7 kbps (95 % interval); it is better than harq:10/12,in-order, the next, by 32.9 ± 3.5 kbps."),
        "{}",
        answer(&clear)
    );
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    document["results"]["margin"]["exceeds_ci95"] = false.into();
    document["results"]["margin"]["difference"] = 827.0.into();
    folder.write("close.json", document.to_string());
    let close = page(&folder, "close.json");
    assert!(
        answer(&close).starts_with("No clear winner: "),
        "{}",
        answer(&close)
    );
}

#[test]
fn a_choice_refused_at_the_worst_loss_does_not_win() {
    let folder = Folder::new();
    let mut text = "cell,scheme,loss,run,seed,flow,total_goodput_bps,error\n".to_owned();
    for (cell, scheme, loss, goodput) in [
        (0, "arq", "bernoulli:0.001", Some(1_000_000)),
        (1, "arq", "bernoulli:0.1", None),
        (2, "harq:10/12", "bernoulli:0.001", Some(1_200_000)),
        (3, "harq:10/12", "bernoulli:0.1", Some(360_000)),
    ] {
        let Some(goodput) = goodput else {
            text.push_str(&format!("{cell},{scheme},{loss},,,,,refused\n"));
            continue;
        };
        for run in 0..3 {
            let goodput = goodput + run * 1000;
            text.push_str(&format!(
                "{cell},{scheme},{loss},{run},{run},0,{goodput},\n"
            ));
        }
    }
    folder.write("unb.csv", text);
    // Over both losses, 781 kbps of harq would lose against 1001 kbps of arq.
    assert_eq!(
        answer(&page(&folder, "unb.csv")),
        "harq:10/12 has the highest goodput: 1.2010 ± 0.0025 Mbps (95 % interval, 3 runs), in the mean over loss without 1 combination, where not all choices have a result; that is 200 ± 0 kbps more than arq, the next (pairs)."
    );
}
