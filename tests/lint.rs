//! `tmt lint`: what is found in files of other tools and in traces, the catalogue, and exit codes.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use serde_json::{Value, json};
use tmt_cli::{CallError, Host, call};
use tmt_core::format::TraceReader;
use tmt_core::format::import::{CATALOGUE, Severity, known, render_keys};

use crate::common::{Folder, project, tmt, trace, traces};

/// Runs a look that must end with `code`, and returns its results.
fn look(folder: &Folder, command: &str, code: i32) -> Value {
    let ran = tmt(&format!("lint --json {command}")).within(folder).run();
    assert_eq!(ran.code, Some(code), "{command}: {}", ran.stderr);
    ran.results()
}

/// A stream that fails says nothing of the trace; one that ends too early or has a row that is off does.
#[test]
fn a_stream_that_fails_is_no_finding() {
    let times: ArrayRef = Arc::new(Int64Array::from(vec![0, 1_000, 2_000]));
    let delays: ArrayRef = Arc::new(Int64Array::from(vec![7, 7, 7]));
    let look = |times: ArrayRef, fails: bool| {
        let columns = [("tx_time_ns", times), ("decode_delay_ns", delays.clone())];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let error =
            RecordBatch::try_from_iter([("short", delays.slice(0, 1)), ("long", delays.clone())]);
        let error = fails.then_some(error);
        let batches: Vec<_> = [Ok(batch.clone())].into_iter().chain(error).collect();
        let host = Arc::new(Host::default());
        let open = move |options| {
            TraceReader::batches(
                &batch.schema(),
                std::iter::empty(),
                batches.into_iter(),
                options,
            )
        };
        host.hold_trace("the table", Box::new(open));
        let words = ["lint", "--json", "the table"].map(str::to_owned).to_vec();
        let pool = tmt_cli::pool(&host, Some(1)).unwrap();
        pool.install(|| call(&host, words))
    };
    let whole = look(times.clone(), false).unwrap();
    assert!(whole.printed.starts_with(b"{") && whole.complaint.is_none());
    match look(times, true) {
        Err(CallError::Failed(text)) => assert!(text.contains("same length"), "{text}"),
        other => panic!("{other:?}"),
    }
    let falling: ArrayRef = Arc::new(Int64Array::from(vec![0, 2_000, 1_000]));
    let odd = look(falling, false).unwrap();
    assert!(odd.printed.starts_with(b"{") && odd.complaint.is_some());
}

/// Name, severity, count and first line or slot of each finding.
fn named(results: &Value) -> Vec<(&str, &str, u64, Option<u64>)> {
    let findings = results["findings"].as_array().unwrap();
    let named = findings.iter().map(|found| {
        let first = found["first_line"].as_u64();
        (
            found["name"].as_str().unwrap(),
            found["severity"].as_str().unwrap(),
            found["count"].as_u64().unwrap(),
            first.or(found["first_slot"].as_u64()),
        )
    });
    named.collect()
}

#[test]
fn the_table_of_the_docs_is_the_catalogue() {
    let page = fs::read_to_string(project("docs/lint.md")).unwrap();
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `") && line.matches(" | ").count() == 4)
        .collect();
    let spelt = |text: &str| {
        let flag = |key: &str| match key {
            "min" => "`min`".to_owned(),
            key => format!("`--{key}`"),
        };
        render_keys(text, flag)
    };
    let expected: Vec<String> = CATALOGUE
        .iter()
        .map(|known| {
            format!(
                "| `{}` | {} | {} | {} | {} |",
                known.name,
                match known.severity {
                    Severity::Warning => "warning",
                    Severity::Note => "note",
                },
                known.meaning,
                known.threshold,
                spelt(known.remedy)
            )
        })
        .collect();
    assert_eq!(rows, expected);
}

/// The sources below a folder, except the catalogue and tests.
pub(crate) fn sources(folder: &str) -> String {
    let mut folders = vec![project(folder)];
    let mut all = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("catalogue.rs") && !path.ends_with("tests.rs") {
                all += &fs::read_to_string(&path).unwrap();
            }
        }
    }
    all
}

/// Names of the catalogue whose constants a text uses.
pub(crate) fn used(text: &str) -> BTreeSet<&'static str> {
    let constant = |name: &str| format!("&{}", name.replace('-', "_").to_uppercase());
    let words: BTreeSet<&str> = text
        .split(|c: char| !c.is_ascii_alphanumeric() && !"_&".contains(c))
        .collect();
    let names = CATALOGUE.iter().map(|known| known.name);
    names
        .filter(|name| words.contains(constant(name).as_str()))
        .collect()
}

/// Readers and checks find what is in the catalogue, all of it and nothing else.
#[test]
fn every_finding_of_the_code_is_in_the_catalogue() {
    let mut all = BTreeSet::new();
    for folder in [
        "crates/tmt-core/src/format/import",
        "crates/tmt-core/src/pipeline/lint",
    ] {
        let text = sources(folder);
        for maker in ["Finding::note(", "Finding::warning("] {
            assert!(!text.contains(maker), "{folder}: {maker} with a name");
        }
        all.append(&mut used(&text));
    }
    let known: BTreeSet<&str> = CATALOGUE.iter().map(|known| known.name).collect();
    assert_eq!(all, known);
}

/// docs/warnings.md has each warning of a conversion by the name of its finding.
#[test]
fn the_page_of_warnings_has_all_that_conversions_find() {
    let page = fs::read_to_string(project("docs/warnings.md")).unwrap();
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `convert` | "));
    let found: BTreeSet<&str> = rows
        .map(|row| {
            let (situation, _) = row.split_once(" | ").unwrap();
            let name = situation
                .strip_suffix("`)")
                .and_then(|it| it.rsplit('`').next());
            name.unwrap_or_else(|| panic!("{situation} has no name"))
        })
        .collect();
    let is_warning = |name: &&str| {
        known(name).unwrap().severity == Severity::Warning
            // A conversion refuses these.
            && !["nothing-received", "unsorted-times"].contains(name)
    };
    let text = sources("crates/tmt-core/src/format/import");
    let expected: BTreeSet<&str> = used(&text).into_iter().filter(is_warning).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_clean_trace_has_nothing_odd_in_any_form() {
    let folder = Folder::new();
    folder.write("phy.csv", trace(3000, 9));
    for form in tmt_core::format::FORMS.map(|(name, _)| name) {
        tmt(&format!(
            "slice phy.csv --shift 0s --format {form} -o copy.{form}"
        ))
        .within(&folder)
        .run()
        .ok();
        let results = look(&folder, &format!("copy.{form}"), 0);
        assert_eq!(named(&results), [], "{form}");
        assert_eq!(results["slots"], 3000);
        assert_eq!(results["slots_erased"], 333);
        let ran = tmt("lint -").input(fs::read(folder.path(&format!("copy.{form}"))).unwrap());
        let ran = ran.within(&folder).run().ok();
        assert!(ran.text().contains("nothing odd was found"), "{form}");
    }
}

#[test]
fn what_a_conversion_refuses_is_found_with_its_line() {
    let folder = Folder::new();
    folder.write("back.csv", "time,rtt\n1000,40\n1001,41\n990,42\n991,40\n");
    let ran = tmt("convert --from ping back.csv").within(&folder).run();
    ran.fails(1, &["back.csv:4", "before"]);
    let found = look(&folder, "back.csv", 1);
    assert!(
        named(&found).contains(&("unsorted-times", "warning", 1, Some(4))),
        "{found}"
    );
    assert_eq!(
        (&found["format"], &found["recognised"]),
        (&"ping".into(), &true.into())
    );

    folder.write("falls.down", "1\n5\n3\n9\n");
    tmt("convert --from mahimahi falls.down")
        .within(&folder)
        .run()
        .fails(1, &["falls.down:3"]);
    let found = look(&folder, "--from mahimahi falls.down", 1);
    assert_eq!(named(&found), [("unsorted-times", "warning", 1, Some(3))]);

    folder.write("delay.txt", "20\n-5\n21\n");
    let found = look(
        &folder,
        "--from delay-loss --delay delay.txt --delay-unit ms",
        1,
    );
    assert!(
        named(&found).contains(&("negative-delays", "warning", 1, Some(2))),
        "{found}"
    );
}

/// The first row is read before anything else is known of a file; a conversion and a look agree on it.
#[test]
fn a_negative_first_delay_is_a_finding_as_any_other() {
    let folder = Folder::new();
    folder.write("delay.txt", "-5\n10\n20\n");
    folder.write("loss.txt", "0\n0\n0\n");
    let files = "--from delay-loss --delay delay.txt --loss loss.txt --interval 10ms";
    let found = look(&folder, files, 1);
    assert!(
        named(&found).contains(&("negative-delays", "warning", 1, Some(1))),
        "{found}"
    );
    assert_eq!(found["error"], Value::Null);
    assert!(found.to_string().contains("which a conversion refuses"));
    tmt(&format!("convert {files} -o phy.csv"))
        .within(&folder)
        .run()
        .fails(1, &["delay.txt:1:1", "'-5'"]);
    // An error that nobody can pass over ends the list, in the document, too.
    folder.write("delay.txt", "x\n10\n20\n");
    let found = tmt(&format!("lint --json {files}")).within(&folder).run();
    let results = found.results();
    assert!(results["error"].as_str().unwrap().contains("delay.txt:1:1"));
    found.fails(1, &["delay.txt:1:1"]);
}

#[test]
fn delays_of_a_wrong_unit_or_of_one_value_are_named() {
    let folder = Folder::new();
    let pair = "--from delay-loss --delay-unit ns --delay delay.txt";
    let write = |delay: &dyn Fn(u32) -> u32| {
        let lines: Vec<String> = (0..300).map(|row| delay(row).to_string()).collect();
        folder.write("delay.txt", lines.join("\n") + "\n");
        let found = look(&folder, pair, 1);
        let names: Vec<String> = named(&found).iter().map(|one| one.0.to_owned()).collect();
        names
    };
    // 25 ms in us, read as ns.
    assert_eq!(write(&|row| 25_000 + row * 7 % 900)[0], "unit-suspected");
    assert_eq!(write(&|_| 25_000_000)[0], "constant-delay");
    let steady = |row| 25_000_000 + row * 7919 % 1_000_003;
    assert_eq!(
        write(&|row| if row % 7 == 1 {
            u32::MAX - row
        } else {
            steady(row)
        })[0],
        "wrapped-delays"
    );
    assert_eq!(
        write(&|row| if row % 4 > 0 {
            200_000_000
        } else {
            steady(row)
        })[0],
        "saturated-delays"
    );
}

/// The finding, the kind of the remedy, and the file is read without an end line.
#[test]
fn a_line_says_that_a_table_made_by_hand_holds_probes() {
    let folder = Folder::new();
    let rows =
        (0..200_u32).map(|row| format!("{}.{:02},0.0{}\n", row / 100, row % 100, 20 + row % 7));
    let rows = rows.collect::<Vec<String>>().concat();
    folder.write("plain.csv", &rows);
    assert_eq!(
        named(&look(&folder, "plain.csv", 1))[0].0,
        "probes-suspected"
    );
    for text in [
        format!("# trace_kind: probe\n{rows}"),
        format!("# mine\n# trace_kind: probe\ntx_time,decode_delay\n{rows}"),
    ] {
        folder.write("probes.csv", text);
        let found = look(&folder, "probes.csv", 0);
        assert_eq!((named(&found), &found["kind"]), (vec![], &"probe".into()));
        let fitted = tmt("fit probes.csv").within(&folder).run().ok();
        fitted.says(&["per probe"]);
    }
    // No other line has a meaning without a head.
    folder.write(
        "probes.csv",
        format!("# trace_kind: cake\n# rtt_ns: 5\n{rows}"),
    );
    assert_eq!(
        named(&look(&folder, "probes.csv", 1))[0].0,
        "probes-suspected"
    );
}

#[test]
fn a_time_that_falls_in_a_trace_is_a_finding_too() {
    let folder = Folder::new();
    folder.write(
        "back.csv",
        "tx_time,decode_delay\n1,0.1\n2,0.1\n1.5,0.1\n3,0.1\n",
    );
    let ran = tmt("lint --json back.csv").within(&folder).run();
    let results = ran.results();
    ran.fails(1, &["back.csv:4"]);
    assert_eq!(named(&results), [("unsorted-times", "warning", 1, Some(4))]);
    assert!(results["error"].as_str().unwrap().contains("back.csv:4"));
}

#[test]
fn times_that_fall_in_a_pair_are_named_with_their_file_and_line() {
    let folder = Folder::new();
    folder.write("bandwidth.txt", "1\n5\n3\n9\n");
    folder.write("delay.txt", "7\n9\n7\n");
    for format in ["leocc", "leoreplayer"] {
        let pair = format!("--from {format} --bandwidth bandwidth.txt --delay");
        tmt(&format!("convert -o phy.csv {pair} delay.txt"))
            .within(&folder)
            .run()
            .fails(1, &["bandwidth.txt:3:1", "tx_time"]);
        let found = look(&folder, &format!("{pair} delay.txt"), 1);
        let falls = found["findings"].as_array().unwrap().iter();
        let falls = falls
            .clone()
            .find(|found| found["name"] == "unsorted-times");
        let falls = falls.unwrap();
        assert_eq!(
            (&falls["input"], &falls["first_line"]),
            (&"--bandwidth".into(), &3.into()),
            "{format}"
        );
        // Delays may fall, but not be anything else.
        folder.write("bad.txt", "7\n9\n-1\n");
        for command in ["convert -o phy.csv", "lint"] {
            tmt(&format!("{command} {pair} bad.txt"))
                .within(&folder)
                .run()
                .fails(1, &["bad.txt:3:1", "'-1'"]);
        }
    }
}

#[test]
fn the_options_that_decide_are_in_the_document() {
    let folder = Folder::new();
    folder.write("loss.txt", "0\n0\n1\n");
    let command = "lint --json --from delay-loss --loss loss.txt --interval 10ms --lost 1 --decode-delay 2ms --lldu 1500B";
    let params = tmt(command).within(&folder).run().ok().json()["params"].take();
    assert_eq!(
        params,
        json!({
            "from": "delay-loss",
            "unit": null,
            "allow_cut": false,
            "columns": null,
            "interval_ns": 10_000_000,
            "rate_bps": null,
            "lldu_bytes": 1500,
            "inputs": ["--loss"],
            "options": [{"flag": "--decode-delay", "value": "2ms"}, {"flag": "--lost", "value": "1"}],
        })
    );
    let command = "lint --json --unit ms --columns erased=1 --rate 1Mbps --lldu 1500B loss.txt";
    let params = tmt(command).within(&folder).run().json()["params"].take();
    let given = ["unit", "columns", "rate_bps", "from"].map(|name| params[name].clone());
    assert_eq!(
        given,
        [
            json!("ms"),
            json!("erased=1"),
            json!(1_000_000),
            Value::Null
        ]
    );
}

#[test]
fn an_error_ends_the_list_and_says_where() {
    let folder = Folder::new();
    folder.write("bad.txt", "0\r\n1\n0\nx\n");
    let ran = tmt("lint --json --from delay-loss --loss bad.txt")
        .within(&folder)
        .run();
    let results = ran.results();
    ran.fails(1, &["bad.txt:4:1", "'x'"]);
    assert_eq!(
        named(&results)[0],
        ("mixed-line-ends", "warning", 1, Some(2))
    );
    assert!(results["error"].as_str().unwrap().contains("bad.txt:4:1"));
    folder.write("bad.csv", "tx_time,decode_delay\r\n0,0.1\r\n0,x\r\n");
    let ran = tmt("lint --json bad.csv").within(&folder).run();
    let results = ran.results();
    ran.fails(1, &["bad.csv:3:3"]);
    assert_eq!(named(&results)[0].0, "crlf");
}

#[test]
fn the_content_chooses_a_reader_only_if_one_fits() {
    let folder = Folder::new();
    folder.write("plain.csv", "0,0.1\n1,0.2\n");
    assert_eq!(look(&folder, "plain.csv", 0)["format"], "tmt");
    folder.write("answers.csv", "1700000000,40\n1700000001,41\n");
    assert_eq!(look(&folder, "answers.csv", 1)["format"], "ping");
    folder.write("losses.txt", "0\n1\n0\n");
    assert_eq!(look(&folder, "losses.txt", 0)["format"], "delay-loss");
    let table = "losses.txt --columns erased=1 --interval 10ms";
    assert_eq!(look(&folder, table, 0)["format"], "tmt");
    for (command, words) in [
        ("lint --from pong losses.txt", &["did you mean 'ping'?"][..]),
        (
            "lint --from ping --loss losses.txt",
            &["--loss does not apply to ping"],
        ),
        ("lint --lost 0 missing.txt", &["missing.txt"]),
    ] {
        let ran = tmt(command).within(&folder).run();
        let code = if command.contains("missing") { 1 } else { 2 };
        ran.fails(code, words);
    }
}

#[test]
fn lost_packets_need_a_flag_not_a_new_file() {
    let folder = Folder::new();
    folder.write("loss.txt", "1\n1\n1\n0\n");
    let found = look(&folder, "loss.txt", 1);
    assert_eq!(
        named(&found)[0],
        ("polarity-suspected", "warning", 3, Some(0))
    );
    assert!(
        found["findings"][0]["remedy"]
            .as_str()
            .unwrap()
            .contains("--lost")
    );
    assert_eq!(found["duration_s"], Value::Null);
    let found = look(&folder, "--from delay-loss --loss loss.txt --lost 0", 0);
    assert_eq!(found["slots_erased"], 1);
}

/// Which datagrams of an interval were lost is asked by a conversion, and does not matter to a look.
#[test]
fn a_report_of_iperf3_needs_no_spread() {
    let folder = Folder::new();
    let row = |from: u32, lost: u32| {
        format!(
            "[2024-05-27 11:27:24.427603] [  5]  {from}.00-{}.00   sec  5.47 MBytes  91.5 Mbits/sec  0.008 ms  {lost}/10 (80%)  \n",
            from + 1
        )
    };
    folder.write("server.txt", format!("{}{}", row(0, 2), row(1, 0)));
    let ran = tmt("convert --from iperf3 server.txt")
        .within(&folder)
        .run();
    ran.fails(2, &["--spread"]);
    let ran = tmt("lint --json --from iperf3 server.txt")
        .within(&folder)
        .run();
    let results = ran.results();
    assert_eq!(results["slots"], 20, "{}", ran.stderr);
    assert_eq!(results["slots_erased"], 2);
}

#[test]
fn measured_traces_show_what_is_known_of_them() {
    let Some(traces) = traces() else { return };
    let folder = Folder::new();
    let at = |name: &str| traces.join(name).display().to_string();
    // Losses with CRLF, and lost packets with the delay of a neighbour.
    let [delay, loss] = ["delay", "loss"].map(|kind| {
        at(&format!(
            "ebpf-trace-emu/LEO_downlink_{kind}-000001-12h.txt"
        ))
    });
    let pair = format!("--from delay-loss --interval 10ms --delay {delay}");
    let found = look(&folder, &format!("{pair} --loss {loss}"), 0);
    assert_eq!(found["slots_erased"], 33);
    let names = named(&found);
    assert!(
        names.contains(&("filler-delays", "note", 33, Some(1173))),
        "{names:?}"
    );
    assert_eq!(names.iter().filter(|found| found.0 == "crlf").count(), 2);
    // Without the losses, the repeated delays show them.
    let found = look(&folder, &pair, 1);
    assert!(
        named(&found).contains(&("repeated-delays", "warning", 30, Some(1285))),
        "{found}"
    );
    // One answer came twice.
    let found = look(
        &folder,
        &at("nuwins-starlink/att_20240527_112703353_ping_113119263.out"),
        0,
    );
    assert!(
        named(&found).contains(&("duplicates", "note", 1, Some(134))),
        "{found}"
    );
    // All packets were lost.
    let lost = at("nuwins-starlink/starlink_20240527_110122357_ping_110138720.out");
    let found = look(&folder, &lost, 1);
    assert_eq!(named(&found)[0], ("nothing-received", "warning", 146, None));
    // The table of a log leaves out as many packets as the log has lost.
    let run = "nuwins-starlink/starlink_20240527_111234471_ping_111648884";
    let log = look(&folder, &at(&format!("{run}.out")), 0);
    let table = look(&folder, &at(&format!("{run}.csv")), 1);
    assert_eq!(log["slots_erased"], 21);
    let missing = named(&table)
        .into_iter()
        .find(|found| found.0 == "missing-rows");
    assert_eq!(missing.unwrap().2, 21);
    // Capacity traces as mahimahi ships them.
    for name in ["ATT-LTE-driving-2016.up", "TMobile-UMTS-driving.down"] {
        let found = look(&folder, &at(&format!("mahimahi/{name}")), 0);
        assert_eq!(named(&found), []);
    }
}
