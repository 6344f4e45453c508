//! JSON documents and docs/schemas: every document obeys its schema, and no schema allows what no document has.

use std::fs;

use fluid_tcp::experiment::{Kind as ParameterKind, PARAMETERS};
use fluid_tcp::simulation::metrics::{Kind, Metric, Metrics, Total};
use serde_json::{Map, Value, json};

use crate::common::schema::{check, schema};
use crate::common::{Folder, project, tmt};

/// Schema of the metrics of a registry.
fn of_metrics<T>(metrics: &[Metric<T>]) -> Value {
    let properties = metrics.iter().map(|metric| {
        let mut schema = match metric.kind {
            Kind::Histogram => json!({"$ref": "common.json#/$defs/histogram"}),
            kind => {
                let name = match kind {
                    Kind::Count => "integer",
                    Kind::Real => "number",
                    _ => "string",
                };
                let types = if metric.nullable {
                    json!([name, "null"])
                } else {
                    json!(name)
                };
                json!({"type": types})
            }
        };
        schema["description"] = json!(metric.about);
        (metric.name.to_owned(), schema)
    });
    let properties: Map<String, Value> = properties.collect();
    // Those of applications are there where they apply.
    let always = metrics.iter().filter(|metric| !metric.is_optional);
    let required: Vec<&str> = always.map(|metric| metric.name).collect();
    json!({"type": "object", "required": required, "properties": properties})
}

/// Schema of the parameters that `params` shows.
fn of_parameters() -> Value {
    let shown = PARAMETERS.iter().filter_map(|parameter| {
        let types = match parameter.kind {
            ParameterKind::Duration
            | ParameterKind::Bytes
            | ParameterKind::Rate
            | ParameterKind::Count(..) => {
                json!("integer")
            }
            ParameterKind::Probability => json!("number"),
            ParameterKind::Switch | ParameterKind::Flag => json!("boolean"),
            ParameterKind::Keyword(_) => json!("string"),
            ParameterKind::Text(..) | ParameterKind::List(_) => {
                json!(["string", "number", "boolean", "null"])
            }
        };
        let description = parameter.help;
        Some((
            parameter.json_name()?,
            json!({"type": types, "description": description}),
        ))
    });
    let properties: Map<String, Value> = shown.collect();
    json!({"type": "object", "properties": properties})
}

/// Metrics and parameters of the schema are those of their registries. With `SCHEMAS=overwrite` the test writes them.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a switch of the test, as TRYCMD is"
)]
fn the_schema_of_tcp_has_the_metrics_and_parameters_of_the_registries() {
    let mut expected = schema("tcp.json").clone();
    for (name, part) in [
        ("parameters", of_parameters()),
        ("metrics", of_metrics(Metrics::ALL)),
        ("total", of_metrics(Total::ALL)),
    ] {
        expected["$defs"][name] = part;
    }
    let text = serde_json::to_string_pretty(&expected).unwrap() + "\n";
    if std::env::var("SCHEMAS").is_ok_and(|how| how == "overwrite") {
        fs::write(project("docs/schemas/tcp.json"), &text).unwrap();
    }
    let found = fs::read_to_string(project("docs/schemas/tcp.json")).unwrap();
    assert!(
        found == text,
        "SCHEMAS=overwrite cargo test -p tmt-cli --test cli schemas:: writes it anew"
    );
}

#[test]
fn references_between_schemas_resolve_by_their_ids() {
    for file in fs::read_dir(project("docs/schemas")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let id = schema(&name)["$id"].as_str().unwrap();
        assert_eq!(id, format!("https://tmt.invalid/schemas/{name}"));
    }
}

/// A folder with a trace, timelines and a packet log.
fn folder() -> Folder {
    let folder = Folder::new();
    tmt(
        "synth --rate 264kbps --lldu 33B --duration 8s --decode-delay 4ms --rtt 100ms -o slots.csv",
    )
    .within(&folder)
    .run()
    .ok();
    tmt("inject --gilbert-elliott alpha=0.98,beta=0.7 -o phy.csv slots.csv")
        .within(&folder)
        .run()
        .ok();
    tmt("apply --scheme harq:3/5,rounds=1 -o timeline.csv phy.csv")
        .within(&folder)
        .run()
        .ok();
    tmt("tcp --flows 2 --packet 200B --packets packets.csv timeline.csv")
        .within(&folder)
        .run()
        .ok();
    let rows = (0..2000).map(|row| {
        format!(
            "{},{}\n",
            f64::from(row) / 100.0,
            0.03 + 0.01 * f64::from(row / 500 % 2)
        )
    });
    folder.write("steps.csv", rows.collect::<String>());
    folder.write("losses.txt", "0\r\n1\r\n");
    tmt("sweep --link synthetic --rate 1Mbps --duration 3s --loss bernoulli:0.02 --cc reno,cubic --seeds 2 -o sweep.csv")
        .within(&folder)
        .run()
        .ok();
    folder
}

/// The commands that print JSON, each in its variants.
const COMMANDS: [&str; 46] = [
    "tcp --json --packet 200B --explain 3 timeline.csv",
    "tcp --json --packet 200B --flows 3 --start 0s..2s --bytes 2kB --seeds 3 timeline.csv",
    "tcp --json --packet 200B --bytes 2kB --offsets 4 timeline.csv",
    "tcp --json --packet 200B --link coupled --scheme arq --feedback-loss 0.1 --explain 1 phy.csv",
    "tcp --json --link coupled --scheme fec:3/5 --channel bernoulli:0.1 --rate 100kbps --packet 200B --duration 5s",
    "tcp --json --link synthetic --rate 1Mbps --duration 5s --loss bernoulli:0.02 --queue codel --return-loss bernoulli:0.1",
    "tcp --json --packet 200B --rtt 20ms --replace-head --path split --overlap shift --loop --duration 5s slots.csv",
    "tcp --json --packet 200B --rtt 20ms --replace-head --return-trace phy.csv --lldu 30B timeline.csv",
    "tcp --json --packet 200B --compare-links --scheme harq:3/5 --seeds 2 phy.csv",
    "tcp --json --compare-log packets.csv --flows 2 --packet 200B timeline.csv",
    "apply --scheme arq --scheme none --summary-only --summary - phy.csv",
    "stats --json timeline.csv",
    "stats --json --rate-window 10ms phy.csv",
    "stats --json --rtt 0s phy.csv",
    "stats --json --segments --outage 20ms phy.csv",
    "stats --json --resample 40 --seed 3 phy.csv",
    "stats --json --segments --outage 20ms --step-window 300ms steps.csv",
    "diff --json phy.csv timeline.csv",
    "diff --json slots.csv phy.csv",
    "summarise --json --by cc sweep.csv",
    "summarise --json sweep.csv",
    "fit --json --at-interval 500us phy.csv",
    "fit --json --model netem-state --at-rate 1Mbps --packet 33B phy.csv",
    "fit --json --model semi-markov phy.csv",
    "fit --json slots.csv",
    "advise --json --packet 200B --starts 3 --candidates arq,none,harq:3/5 phy.csv",
    "advise --json --packet 200B --starts 3 --objective page-time --bytes 1kB phy.csv",
    "advise --json --packet 200B --starts 3 --objective page-time --flow app=pages(size=300B,objects=2,think=50ms) --candidates arq,harq:3/5 phy.csv",
    "lint --json steps.csv",
    "lint --json --from delay-loss --loss losses.txt --lost 1 --interval 10ms --lldu 1500B",
    "audit --json packets.csv",
    "audit --json --timeline phy.csv packets.csv",
    "demo --json",
    "model harq --json",
    "model fec --json --sweep beta=0.1,1.0 --sweep nd=3..4",
    "model --list --json",
    "validate --json 000-fig6 --seeds 2 --duration 60s",
    "validate --list --json",
    "reproduce --json celandroni-fig3 --set size=23",
    "reproduce --list --json",
    "convert --list --json",
    "synth --list --json",
    "synth --scenario internet --show-parameters --json",
    "synth --list-codes --json",
    "code best --cn0 72dBHz --symbol-rate 2M --share 0.5 --json",
    "code table --cn0 66,72dBHz --symbol-rate 2M --share 0.5 --code rs:239/223 --code uncoded --json",
];

#[test]
fn every_document_obeys_its_schema_and_every_surplus_or_missing_field_breaks_it() {
    let folder = folder();
    for command in COMMANDS {
        let ran = tmt(command).arg("-q").within(&folder).run();
        let document: Value = serde_json::from_slice(&ran.stdout)
            .unwrap_or_else(|error| panic!("{command}: {error}: {}", ran.stderr));
        check(&document).unwrap_or_else(|why| panic!("{command}: {why}"));
        let names: Vec<&String> = document.as_object().unwrap().keys().collect();
        // TCP has the parameter file that repeats it.
        let names: Vec<_> = names
            .into_iter()
            .filter(|name| *name != "params_file")
            .collect();
        assert_eq!(names, ["tool", "schema", "params", "results"], "{command}");
        // The keys and results of a model are free, others are not.
        let is_free = |at: &str| {
            document["schema"] == "tmt.model/1"
                && (at.contains("/params") || at.contains("/result"))
                && !at.ends_with("/results")
                && !at
                    .trim_end_matches(|c: char| c.is_ascii_digit())
                    .ends_with("/results/")
        };
        let mut changed = 0;
        for at in objects(&document, "") {
            if is_free(&at) {
                continue;
            }
            let mut surplus = document.clone();
            let object = surplus.pointer_mut(&at).unwrap().as_object_mut().unwrap();
            object.insert("surplus".to_owned(), json!("x"));
            assert!(
                check(&surplus).is_err(),
                "{command}: {at} allows a surplus field"
            );
            let mut renamed = document.clone();
            let object = renamed.pointer_mut(&at).unwrap().as_object_mut().unwrap();
            let Some(first) = object.keys().next().cloned() else {
                continue;
            };
            let value = object.remove(&first).unwrap();
            object.insert(format!("{first}_"), value);
            let is_map = ["/mean", "/gap"].iter().any(|end| at.ends_with(end));
            assert!(
                is_map || check(&renamed).is_err(),
                "{command}: {at} allows {first}_"
            );
            changed += 1;
        }
        assert!(changed > 1, "{command}");
    }
}

/// Pointers to the first object of each kind: of arrays only the first element is searched.
fn objects(value: &Value, at: &str) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let inner = fields
                .iter()
                .flat_map(|(name, inner)| objects(inner, &format!("{at}/{name}")));
            std::iter::once(at.to_owned()).chain(inner).collect()
        }
        Value::Array(items) => items
            .iter()
            .take(1)
            .flat_map(|item| objects(item, &format!("{at}/0")))
            .collect(),
        _ => Vec::new(),
    }
}

/// The checker itself: each keyword refuses what it must.
#[test]
fn wrong_types_and_values_break_a_schema() {
    let document = tmt("stats --json")
        .input("tx_time,decode_delay\n0,1\n1,1\n")
        .run()
        .ok()
        .json();
    for (at, wrong) in [
        ("/results/slots", json!(2.5)),
        ("/results/slots", json!("2")),
        ("/results/first_s", Value::Null),
        ("/results/gaps", json!({"1": 1})),
        ("/results/gaps/0/count", json!(true)),
        ("/results/delay_percentiles", json!(1)),
        ("/schema", json!("tmt.stats/2")),
    ] {
        let mut changed = document.clone();
        *changed.pointer_mut(at).unwrap() = wrong;
        assert!(check(&changed).is_err(), "{at}");
    }
}
