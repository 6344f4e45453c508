//! `tmt report`: pages of every kind of input, their invariants, and refusals. The browser's part is in `tests/long/report`.

use std::fs;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, Decimal128Array, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray, TimestampMicrosecondArray,
};
use parquet::arrow::ArrowWriter;

use crate::common::{Folder, bash, project, tmt};

/// A table of a sweep: two schemes with a gap, three seeds.
fn sweep(rtt_ns: u64, seeds: [u64; 3], lead_bps: u64) -> String {
    let mut text = "cell,scheme,run,seed,flow,total_goodput_bps,rtt_ns,error,version\n".to_owned();
    for (cell, scheme) in ["arq", "harq:10/12", "</script><b>'&\""].iter().enumerate() {
        let scheme = format!("\"{}\"", scheme.replace('"', "\"\""));
        if cell == 2 {
            text.push_str(&format!("2,{scheme},,,,,{rtt_ns},refused,tmt 0\n"));
            continue;
        }
        for (run, seed) in seeds.iter().enumerate() {
            let goodput = 1_000_000 + cell as u64 * 300_000 + run as u64 * 1_000 + lead_bps;
            text.push_str(&format!(
                "{cell},{scheme},{run},{seed},0,{goodput},{rtt_ns},,tmt 0\n"
            ));
        }
    }
    text
}

/// The page, after a look at what every page has.
fn page(folder: &Folder, arguments: &str) -> String {
    let run = || {
        tmt("-q report")
            .arg_list(arguments)
            .within(folder)
            .run()
            .ok()
    };
    let (found, again) = (run(), run());
    assert!(
        found.stdout == again.stdout,
        "{arguments}: other bytes the second time"
    );
    let page = String::from_utf8(found.stdout).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-";
    assert_eq!(page.matches(policy).count(), 1);
    for (open, close) in [
        ("<script", "</script>"),
        ("<main", "</main>"),
        ("<table", "</table>"),
        ("<svg", "</svg>"),
    ] {
        assert_eq!(
            page.matches(open).count(),
            page.matches(close).count(),
            "{arguments}: {open}"
        );
    }
    assert_eq!(page.matches("</script>").count(), 3, "{arguments}");
    // Nothing that a browser would fetch; Chart.js names its home in a comment.
    for fetched in [
        "src=\"http",
        "href=\"http",
        "src=\"//",
        "url(http",
        "@import",
        "<iframe",
        "<link rel=\"stylesheet",
    ] {
        assert!(!page.contains(fetched), "{arguments}: {fetched}");
    }
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let _: serde_json::Value = serde_json::from_str(data).unwrap();
    assert!(data.len() <= 1_000_000);
    page
}

fn answer(page: &str) -> &str {
    let (_, rest) = page.split_once("<p class=\"answer\">").unwrap();
    rest.split_once("</p>").unwrap().0
}

#[test]
fn a_study_names_the_best_choice_with_its_interval() {
    let folder = Folder::new();
    folder.write("results.csv", sweep(500_000_000, [1, 2, 3], 0));
    let page = page(&folder, "results.csv");
    // 1.3 Mbps and 1, 2 kbps more: mean 1.301, s = 1 kbps, half-width 4.303 · 1 / √3 = 2.48 kbps. All pairs differ by 300 kbps.
    assert_eq!(
        answer(&page),
        "harq:10/12 has the highest goodput: 1.3010 ± 0.0025 Mbps (95 % interval, 3 runs); that is 300 ± 0 kbps more than arq, the next (pairs)."
    );
    assert!(page.contains("1 cell without a result, shown as gaps: refused"));
    assert!(page.contains("&lt;/script&gt;&lt;b&gt;&#39;&amp;&quot;"));
}

#[test]
fn without_seeds_no_interval_is_invented() {
    let folder = Folder::new();
    folder.write(
        "one.csv",
        "cell,scheme,run,flow,total_goodput_bps\n0,arq,0,0,1e6\n1,fec:10/12,0,0,2e6\n",
    );
    let page = page(&folder, "one.csv");
    assert_eq!(
        answer(&page),
        "fec:10/12 has the highest goodput: 2 Mbps (one run, so no interval); the next is arq, 1 Mbps off."
    );
    assert!(page.contains("no intervals: they need two runs or more"));
}

/// Runs that have a number but no seed in common are no pairs: the difference is that of the means.
#[test]
fn runs_without_seeds_are_no_pairs() {
    let folder = Folder::new();
    folder.write(
        "few.csv",
        "cell,scheme,run,flow,total_goodput_bps\n0,arq,0,0,1e6\n0,arq,1,0,2e6\n1,fec:10/12,0,0,2e6\n",
    );
    let few = page(&folder, "few.csv");
    assert!(answer(&few).ends_with("500 kbps off."), "{}", answer(&few));
    folder.write(
        "more.csv",
        "cell,scheme,run,flow,total_goodput_bps\n0,arq,0,0,1e6\n0,arq,1,0,1.1e6\n1,fec:10/12,0,0,3e6\n1,fec:10/12,1,0,3.2e6\n",
    );
    let more = page(&folder, "more.csv");
    assert!(!answer(&more).contains("pairs"), "{}", answer(&more));
}

/// A document of parameters and results has the results over the parameters that vary, and both links of a comparison.
#[test]
fn what_was_given_is_no_result() {
    let folder = Folder::new();
    let model = "-q model fec --sweep beta=0.1..0.9:5 --json -o model.json";
    tmt(model).within(&folder).run().ok();
    let of_model = page(&folder, "model.json");
    let found: serde_json::Value = serde_json::from_str(data(&of_model)).unwrap();
    let labels = |of: &str| -> Vec<String> {
        let all = found[of].as_array().unwrap().iter();
        all.map(|one| one["label"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(labels("keys"), ["model", "beta"]);
    assert!(labels("metrics").contains(&"eta".to_owned()));
    assert!(!labels("metrics").contains(&"nd".to_owned()));
    let links = "-q tcp --compare-links --scheme arq --channel bernoulli:0.02 --rate 2Mbps --lldu 100B --rtt 200ms --duration 5s \
                 --feedback-delay 10ms --cc reno --json -o links.json";
    tmt(links).within(&folder).run().ok();
    let of_links = page(&folder, "links.json");
    let found: serde_json::Value = serde_json::from_str(data(&of_links)).unwrap();
    assert_eq!(found["rows"], 2);
    assert_eq!(
        found["keys"][0]["values"],
        serde_json::json!(["timeline", "coupled"])
    );
}

#[test]
fn a_comparison_puts_regressions_first_and_says_whether_it_pairs() {
    let folder = Folder::new();
    folder.write("before.csv", sweep(500_000_000, [1, 2, 3], 50_000));
    folder.write("after.csv", sweep(600_000_000, [1, 2, 3], 0));
    folder.write("same.csv", sweep(500_000_000, [1, 2, 3], 50_000));
    folder.write("other.csv", sweep(500_000_000, [4, 5, 6], 0));
    let paired = page(&folder, "--compare before.csv after.csv");
    assert_eq!(
        answer(&paired),
        "Worse, of 2 groups: goodput in 2. First: arq, goodput -50 ± 0 kbps. No verdict on 1 group, without a difference that has an interval."
    );
    assert!(paired.contains("Paired: runs with the same seed"));
    assert!(paired.contains("differ in their conditions: rtt 500 ms and 600 ms"));
    let unpaired = page(&folder, "--compare before.csv other.csv");
    assert!(unpaired.contains("Unpaired: the tables have no common seeds"));
    let same = page(&folder, "--compare before.csv same.csv");
    assert_eq!(
        answer(&same),
        "No metric changes clearly in any of 2 groups. No verdict on 1 group, without a difference that has an interval."
    );
}

/// The data of a page.
fn data(page: &str) -> &str {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    rest.split_once("</script>").unwrap().0
}

#[test]
fn results_of_tcp_are_compared_as_those_of_a_sweep_with_one_cell() {
    let folder = Folder::new();
    let link =
        "--link synthetic --rate 2Mbps --rtt 200ms --duration 10s --flows 2 --loss bernoulli:0.02";
    for (name, more) in [
        ("before", "--cc reno --seed 1 --seeds 4"),
        ("after", "--cc cubic --seed 1 --seeds 4"),
        ("other", "--cc cubic --seed 11 --seeds 4"),
    ] {
        for run in [
            format!("-q tcp {link} {more} --results {name}-tcp.csv"),
            format!("-q sweep {link} {more} -o {name}-sweep.parquet"),
        ] {
            tmt(&run).within(&folder).run().ok();
        }
    }
    let compared = |one: &str, other: &str| page(&folder, &format!("--compare {one} {other}"));
    for after in ["after", "other"] {
        let ours = compared("before-tcp.csv", &format!("{after}-tcp.csv"));
        let swept = compared("before-sweep.parquet", &format!("{after}-sweep.parquet"));
        assert_eq!(answer(&ours), answer(&swept));
        assert_eq!(data(&ours), data(&swept));
        let how = if after == "after" {
            "Paired: runs with the same seed"
        } else {
            "Unpaired: the tables have no common seeds"
        };
        assert!(ours.contains(how) && swept.contains(how), "{after}");
        assert!(ours.contains("differ in their conditions: cc "));
        // One of each kind.
        let mixed = compared("before-sweep.parquet", &format!("{after}-tcp.csv"));
        assert_eq!(data(&mixed), data(&ours));
    }
}

/// The commands of a page, as they are typed.
fn commands(page: &str) -> String {
    let (_, commands) = page.split_once("aria-label=\"Commands\">").unwrap();
    let (commands, _) = commands.split_once("</pre>").unwrap();
    let escapes = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    escapes
        .iter()
        .fold(commands.to_owned(), |text, (from, to)| {
            text.replace(from, to)
        })
}

/// Figures of papers by name, of a file with quotes in its name, and with changed settings.
#[test]
fn the_command_of_figures_makes_their_document_again() {
    let folder = Folder::new();
    let shown = tmt("reproduce --list --json").run().ok().stdout;
    assert!(String::from_utf8(shown).unwrap().contains("barakat-fig15"));
    let own = project("crates/tmt-study/figures/barakat-fig15.toml");
    let own = fs::read_to_string(own).unwrap();
    folder.write("it's mine.toml", own.replacen("barakat-fig15", "mine", 1));
    for figures in [
        "kuhn-fig6 barakat-fig15",
        "'it'\\''s mine.toml' --set p=0.01",
    ] {
        bash(
            &folder,
            &format!("tmt -q reproduce {figures} --json > figures.json || [ -s figures.json ]"),
        )
        .ok();
        let first = fs::read(folder.path("figures.json")).unwrap();
        let page = page(&folder, "figures.json");
        assert!(page.contains("Asked: figures and tables of papers"));
        let typed = commands(&page);
        assert!(
            typed.starts_with(&format!("tmt reproduce {figures} --json > figures.json\n")),
            "{typed}"
        );
        fs::remove_file(folder.path("figures.json")).unwrap();
        bash(&folder, &format!("set +e\n{typed}\n[ -s figures.json ]")).ok();
        assert!(first == fs::read(folder.path("figures.json")).unwrap());
    }
}

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

/// Tables with rows of all flows together, as the Python package has them of a sweep, and results of TCP alone: means over the runs.
#[test]
fn rows_of_all_flows_together_make_the_answer() {
    let folder = Folder::new();
    let plain = sweep(500_000_000, [1, 2, 3], 0);
    let scoped = plain
        .lines()
        .enumerate()
        .flat_map(|(number, line)| match number {
            0 => vec![line.replace("flow,", "scope,flow,").replace("total_", "")],
            1..7 => {
                let fields: Vec<&str> = line.splitn(6, ',').collect();
                let [cell, scheme, run, seed, _, rest] = fields[..] else {
                    panic!()
                };
                let row = |scope: &str, flow: &str, rest: &str| {
                    format!("{cell},{scheme},{run},{seed},{scope},{flow},{rest}")
                };
                vec![
                    row("total", "", rest),
                    row("flow", "0", "1,500000000,,tmt 0"),
                ]
            }
            _ => vec![line.replacen(",,,,,", ",,,,,,", 1)],
        });
    let scoped: Vec<String> = scoped.map(|line| line + "\n").collect();
    folder.write("plain.csv", &plain);
    folder.write("scoped.csv", scoped.concat());
    let [plain, scoped] = ["plain.csv", "scoped.csv"].map(|name| page(&folder, name));
    assert_eq!(answer(&scoped), answer(&plain));
    assert_eq!(data(&scoped), data(&plain));
    assert!(scoped.contains("1 cell without a result, shown as gaps: refused"));

    let run = "-q tcp --link synthetic --rate 2Mbps --rtt 100ms --duration 5s --loss bernoulli:0.01 --seeds 3 --flows 2";
    let json = tmt(&format!("{run} --results runs.csv --json"))
        .within(&folder)
        .run()
        .ok()
        .stdout;
    let found: serde_json::Value = serde_json::from_slice(&json).unwrap();
    folder.write("runs.json", String::from_utf8(json).unwrap());
    let mean = &found["results"]["mean"]["goodput_bps"];
    let part = |name: &str| mean[name].as_f64().unwrap();
    assert!(part("ci95") > 1e3);
    let [table, document] = ["runs.csv", "runs.json"].map(|name| page(&folder, name));
    assert_eq!(answer(&table), answer(&document));
    let (start, end) = ("The goodput is ", " (95 % interval, 3 runs).");
    let numbers = answer(&table)
        .strip_prefix(start)
        .unwrap()
        .strip_suffix(end)
        .unwrap();
    let [value, "±", half, unit] = numbers.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{numbers}")
    };
    let size = if unit == "kbps" { 1e3 } else { 1e6 };
    let [value, half] = [value, half].map(|text| text.parse::<f64>().unwrap() * size);
    assert!(
        (value / part("mean") - 1.0).abs() < 0.05 && (half / part("ci95") - 1.0).abs() < 0.06,
        "{numbers}"
    );
    assert!(document.contains("tmt tcp --params repeated-run.toml --json"));
}

/// What a page does not show changes nothing of it; what all runs share is a parameter, also where cells were refused.
#[test]
fn further_columns_of_a_sweep_are_left_out_unless_all_runs_share_them() {
    let folder = Folder::new();
    let plain = sweep(500_000_000, [1, 2, 3], 0);
    folder.write("results.csv", &plain);
    let first = page(&folder, "results.csv");
    let wider = |value: fn(usize) -> String| {
        let mut lines = plain.lines().enumerate();
        let (_, head) = lines.next().unwrap();
        let rows = lines.map(|(number, line)| format!("{line},{}\n", value(number)));
        let further = format!("{head},further\n{}", rows.collect::<String>());
        folder.write("results.csv", further);
        page(&folder, "results.csv")
    };
    assert!(wider(|number| number.to_string()) == first);
    let shared = wider(|number| {
        if number > 6 {
            String::new()
        } else {
            "7".to_owned()
        }
    });
    assert!(shared.contains("<td class=\"word\">further</td><td class=\"word\">7</td>"));
    assert_eq!(data(&shared), data(&first));
}

#[test]
fn commands_of_a_page_make_its_table_again() {
    let folder = Folder::new();
    let link =
        "--link synthetic --rate 2Mbps --rtt 200ms --duration 5s --loss bernoulli:0.02 --seeds 2";
    let coupled = "--scheme arq --channel bernoulli:0.02 --rate 2Mbps --lldu 100B --rtt 200ms --duration 5s --feedback-delay 10ms";
    for (run, name) in [
        (
            format!("-q sweep {link} --cc reno,cubic:beta=0.6..0.8:2 -o"),
            "swept.parquet",
        ),
        (format!("-q tcp {link} --cc reno --results"), "run.parquet"),
        (
            format!("-q tcp --compare-links {coupled} --cc reno --results"),
            "links.parquet",
        ),
        (format!("-q tcp {link} --cc reno --json -o"), "run.json"),
    ] {
        tmt(&run).arg(name).within(&folder).run().ok();
        let first = fs::read(folder.path(name)).unwrap();
        let commands = commands(&page(&folder, name));
        fs::remove_file(folder.path(name)).unwrap();
        bash(&folder, &commands).ok();
        assert!(first == fs::read(folder.path(name)).unwrap(), "{name}");
        assert!(folder.read("report.html").contains("END"), "{name}");
    }
    // A trace that came through a pipe has to come so again.
    let piped = "tmt -q synth --rate 2Mbps --lldu 100B --duration 2s --decode-delay 1ms --rtt 200ms | tmt -q apply --scheme arq \
                 | tmt -q tcp --results piped.parquet";
    bash(&folder, piped).ok();
    assert!(page(&folder, "piped.parquet").contains("# The trace came through a pipe"));
    // CSV has no place for the plan.
    tmt(&format!("-q sweep {link} --cc reno,cubic -o swept.csv"))
        .within(&folder)
        .run()
        .ok();
    let page = page(&folder, "swept.csv");
    assert!(page.contains("This table has no plan in it") && !page.contains("-plan.toml"));
}

#[test]
fn links_of_one_comparison_are_groups() {
    let folder = Folder::new();
    for (name, loss) in [("before", "0.001"), ("after", "0.02")] {
        tmt(&format!(
            "-q tcp --compare-links --scheme arq --channel bernoulli:{loss} --rate 2Mbps --lldu 100B --rtt 200ms --duration 10s \
             --feedback-delay 10ms --seeds 3 --results {name}.csv"
        ))
        .within(&folder)
        .run()
        .ok();
    }
    let page = page(&folder, "--compare before.csv after.csv");
    assert!(
        answer(&page).starts_with("Worse, of 2 groups: delay p95 in 2"),
        "{}",
        answer(&page)
    );
    let found: serde_json::Value = serde_json::from_str(data(&page)).unwrap();
    assert_eq!(
        found["keys"][0]["values"],
        serde_json::json!(["timeline", "coupled"])
    );
}

#[test]
fn a_run_counts_losses_and_says_where_the_delay_goes() {
    let folder = Folder::new();
    for name in ["packets.csv", "series.csv"] {
        fs::copy(project("fixtures/plots").join(name), folder.path(name)).unwrap();
    }
    let page = page(&folder, "--packets packets.csv --series series.csv");
    let log = fs::read_to_string(folder.path("packets.csv")).unwrap();
    let rows: Vec<Vec<&str>> = log
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(',').collect())
        .collect();
    let fate = rows[0].iter().position(|name| *name == "fate").unwrap();
    let lost = rows[1..]
        .iter()
        .filter(|row| ["queue", "link"].contains(&row[fate]))
        .count();
    assert!(page.contains("Settings of the run, from the head of the packet log"));
    assert!(page.contains("Results by tmt 0.3.0"));
    // A command with these names would write over the inputs.
    assert!(!page.contains("tmt tcp --packets"));
    assert!(page.contains("tmt report --packets packets.csv --series series.csv -o run.html"));
    assert!(
        answer(&page).ends_with(&format!("{lost} lost.")),
        "{}",
        answer(&page)
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

/// Parquet of these columns, as others write it.
fn foreign(folder: &Folder, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = fs::File::create(folder.path(name)).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_column_of_another_type_is_left_out_unless_the_page_needs_it() {
    let folder = Folder::new();
    let decimal = || Arc::new(Decimal128Array::from(vec![1_234, 5_678, 9])) as ArrayRef;
    let zoned = TimestampMicrosecondArray::from(vec![1, 2, 3]).with_timezone("Europe/Rome");
    let inner: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let inner = StructArray::try_from(vec![("a", inner)]).unwrap();
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let number = || Arc::new(Float64Array::from(vec![3.0, 1.0, 2.0])) as ArrayRef;
    let whole = || Arc::new(Int64Array::from(vec![0, 1, 2])) as ArrayRef;
    let text: ArrayRef = Arc::new(StringArray::from(vec!["arq", "fec", "harq"]));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("name", text),
        ("price", decimal()),
        ("at", Arc::new(zoned)),
        ("inner", Arc::new(inner)),
        ("list", Arc::new(list)),
        ("height_m", number()),
    ];
    foreign(&folder, "odd.parquet", columns.clone());
    let said = tmt("report odd.parquet -o odd.html")
        .within(&folder)
        .run()
        .ok();
    let page = page(&folder, "odd.parquet");
    for (column, kind) in [
        ("price", "Decimal128(38, 10)"),
        ("at", "Timestamp("),
        ("inner", "Struct("),
        ("list", "List("),
    ] {
        let text = format!("The column {column} is left out: its values have the type {kind}");
        assert!(said.stderr.contains(&text), "{}", said.stderr);
        assert!(page.replace("&quot;", "\"").contains(&text), "{column}");
    }
    // All else is as without them.
    let plain = [columns[0].clone(), columns[5].clone()].to_vec();
    foreign(&folder, "plain.parquet", plain);
    let plain = self::page(&folder, "plain.parquet");
    assert_eq!(data(&page), data(&plain));
    assert_eq!(
        answer(&page).replace("odd", "plain"),
        answer(&plain).to_owned()
    );
    tmt("report odd.parquet --compare plain.parquet")
        .within(&folder)
        .run()
        .fails(1, &["expected two tables of results"]);
    // A picture of such a column is refused with the reason.
    tmt("plot odd.parquet --y price")
        .within(&folder)
        .run()
        .fails(
            2,
            &["found no column price", "The column price is left out"],
        );
    // The page of a study needs its metrics and axes.
    let study = |name: &str, goodput: ArrayRef, further: ArrayRef| {
        let columns = vec![
            ("cell", whole()),
            ("load", whole()),
            ("run", Arc::new(Int64Array::from(vec![0, 0, 0])) as ArrayRef),
            ("seed", Arc::new(Int64Array::from(vec![1, 1, 1]))),
            ("flow", Arc::new(Int64Array::from(vec![0, 0, 0]))),
            ("total_goodput_bps", goodput),
            ("own", further),
        ];
        foreign(&folder, name, columns);
    };
    study("needed.parquet", decimal(), number());
    let run = |name: &str| tmt("report").arg(name).within(&folder).run();
    run("needed.parquet").fails(
        1,
        &[
            "column total_goodput_bps: found values of the type Decimal128",
            "cast the column",
        ],
    );
    study("further.parquet", number(), decimal());
    assert!(run("further.parquet").ok().stdout.starts_with(b"<!DOCTYPE"));
}

#[test]
fn rows_over_a_time_or_a_number_have_no_winner() {
    let folder = Folder::new();
    for name in ["timeline.csv", "trace.csv.gz", "series.csv"] {
        fs::copy(project("fixtures/plots").join(name), folder.path(name)).unwrap();
    }
    let timeline = page(&folder, "timeline.csv");
    let rows = fs::read_to_string(folder.path("timeline.csv")).unwrap();
    let rows = rows
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let delays: Vec<f64> = rows
        .map(|row| row.split(',').nth(1).unwrap().parse().unwrap())
        .collect();
    let lost = delays.iter().filter(|delay| **delay == 0.0).count();
    assert!(lost > 0);
    let start = format!(
        "timeline.csv has {} LLDUs: {lost} are lost (",
        grouped(delays.len())
    );
    assert!(
        answer(&timeline).starts_with(&start),
        "{}",
        answer(&timeline)
    );
    let trace = page(&folder, "trace.csv.gz");
    assert!(answer(&trace).contains(" are lost ("), "{}", answer(&trace));
    // No value of the delay is that of a lost LLDU.
    for page in [timeline, trace] {
        let (_, data) = page.split_once("id=\"data\">").unwrap();
        let data = data.split_once("</script>").unwrap().0;
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        let metrics = data["metrics"].as_array().unwrap();
        let delay = metrics
            .iter()
            .find(|metric| metric["label"] == "decoding delay")
            .unwrap();
        let values = delay["values"].as_array().unwrap();
        assert!(
            values
                .iter()
                .all(|value| value.as_f64().is_none_or(|value| value > 0.0))
        );
    }
    let series = page(&folder, "series.csv");
    assert!(
        answer(&series).contains(", time from 0 ns to "),
        "{}",
        answer(&series)
    );
    folder.write("over.csv", "cn0_db,best,goodput_bps\n62,a,1e6\n70,b,2e6\n");
    assert_eq!(
        answer(&page(&folder, "over.csv")),
        "The goodput goes from 1 Mbps at C/N0 62 dB, a to 2 Mbps at C/N0 70 dB, b (no interval), of 2 rows."
    );
}

fn grouped(number: usize) -> String {
    match (number / 1000, number % 1000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
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

#[test]
fn a_group_that_fails_afterwards_comes_first() {
    let folder = Folder::new();
    let before = sweep(500_000_000, [1, 2, 3], 0);
    let mut after = sweep(500_000_000, [1, 2, 3], 50_000);
    let kept: Vec<&str> = after
        .lines()
        .filter(|line| !line.starts_with("0,"))
        .collect();
    after = kept.join(
        "
",
    ) + "
";
    after.push_str("0,\"arq\",,,,,500000000,refused,tmt 0\n");
    folder.write("before.csv", before);
    folder.write("after.csv", after);
    assert_eq!(
        answer(&page(&folder, "--compare before.csv after.csv")),
        "1 group has no result any more: arq. No clear regression in 1 group. Better: goodput in 1. First: harq:10/12, goodput +50 ± 0 kbps. No verdict on 1 group, without a difference that has an interval."
    );
}

#[test]
fn the_seeds_of_one_cell_are_its_draws() {
    let folder = Folder::new();
    folder.write(
        "one.csv",
        "cell,scheme,run,seed,flow,total_goodput_bps\n0,arq,0,1,0,1000000\n0,arq,1,2,0,1001000\n0,arq,2,3,0,1002000\n",
    );
    assert_eq!(
        answer(&page(&folder, "one.csv")),
        "The goodput is 1.0010 ± 0.0025 Mbps (95 % interval, 3 runs)."
    );
    folder.write(
        "mixed.csv",
        "cell,loss,run,seed,flow,total_goodput_bps\n0,a,0,1,0,1000000\n0,a,1,2,0,1100000\n1,b,0,1,0,500000\n",
    );
    let mixed = page(&folder, "mixed.csv");
    assert!(
        answer(&mixed).ends_with("(95 % interval of the latter only)."),
        "{}",
        answer(&mixed)
    );
    folder.write(
        "summary.json",
        r#"{"schema":"tmt.summarise/2","params":{},"results":[{"by":["a"],"cells":1,"refused":0,"runs":2}]}"#,
    );
    tmt("report")
        .arg_list("summary.json")
        .within(&folder)
        .run()
        .fails(1, &["tmt report results.parquet"]);
}

#[test]
fn the_data_tell_close_values_apart() {
    let folder = Folder::new();
    folder.write("close.csv", "name,goodput_bps\na,1301234\nb,1301236\n");
    let page = page(&folder, "close.csv");
    assert!(page.contains("1.301234") && page.contains("1.301236"));
}

#[test]
fn a_long_table_is_aggregated_and_the_page_says_so() {
    let folder = Folder::new();
    let rows: Vec<String> = (0..60_000)
        .map(|row| format!("{row},{}\n", row % 7))
        .collect();
    folder.write("long.csv", format!("time_s,height_m\n{}", rows.concat()));
    let page = page(&folder, "long.csv");
    assert!(page.contains("60,000 rows are aggregated: each row of the page is the mean of"));
}

#[cfg(unix)]
#[test]
fn a_full_disk_and_bad_input_fail() {
    let folder = Folder::new();
    folder.write("results.csv", sweep(500_000_000, [1, 2, 3], 0));
    folder.write("empty.csv", "cell,scheme,run,flow\n");
    let report = |arguments: &str| tmt("report").arg_list(arguments).within(&folder).run();
    report("results.csv -o /dev/full").fails(1, &["No space left on device"]);
    report("empty.csv").fails(1, &["empty.csv: found no rows"]);
    report("--packets results.csv").fails(1, &["found no column packet", "expected a packet log"]);
    report("--compare results.csv empty.csv").fails(1, &["expected"]);
    report("missing.csv").fails(1, &["missing.csv"]);
    report("results.csv -o results.csv").fails(2, &["more than once"]);
}
