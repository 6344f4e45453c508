//! `tmt report`: pages of every kind of input, their invariants, and refusals. The browser's part is in `tests/long/report`.

mod commands;
mod comparisons;
mod documents;
mod tables;

use std::fs;

use crate::common::{Folder, project, tmt};

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

/// The data of a page.
fn data(page: &str) -> &str {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    rest.split_once("</script>").unwrap().0
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
        "The goodput goes from 1 Mbps at C/N0 62 dBHz, a to 2 Mbps at C/N0 70 dBHz, b (no interval), of 2 rows."
    );
}

fn grouped(number: usize) -> String {
    match (number / 1000, number % 1000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
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
