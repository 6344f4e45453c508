//! First steps of a user: short helps, words, remedies, rates over time.

use crate::common::{Folder, rows, tmt};

/// The commands, from the help of `tmt`.
fn commands() -> Vec<String> {
    let help = tmt("--help").run().ok();
    let lines = help.text().lines().skip_while(|line| *line != "Commands:");
    let names = lines.skip(1).take_while(|line| !line.is_empty());
    names
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect()
}

#[test]
fn every_command_has_a_short_help() {
    let commands = commands();
    assert!(commands.len() > 15, "{commands:?}");
    for command in commands {
        let short = tmt(&format!("{command} -h")).run().ok();
        let full = tmt(&format!("{command} --help")).run().ok();
        let [short, full] = [&short, &full].map(|ran| ran.text().lines().count());
        assert!(short <= 70, "{command}: {short} lines");
        assert!(
            short < full || full <= 40,
            "{command}: {short} of {full} lines"
        );
    }
    // Values and defaults stay.
    let stats = tmt("stats -h").run().ok();
    for words in [
        "--rtt <RTT>",
        "[default: from the trace]",
        "Example:",
        "`tmt stats --help`",
    ] {
        assert!(stats.text().contains(words), "{words}");
    }
}

#[test]
fn words_that_users_type_are_explained() {
    for word in [
        "uplink",
        "page",
        "confidence interval",
        "paired difference",
        "interleaving",
        "bufferbloat",
        "link_share",
        "total_goodput_bps",
        "queueing_delay_p95_s",
    ] {
        let ran = tmt("help").arg(word).run().ok();
        assert!(ran.text().len() > word.len() + 20, "{word}: {}", ran.text());
    }
    for (word, term) in [
        ("confidence", "confidence interval"),
        ("paired", "paired difference"),
    ] {
        let ran = tmt("help").arg(word).run().ok();
        assert!(ran.text().starts_with(term), "{}", ran.text());
    }
}

#[test]
fn a_channel_without_its_name_is_refused_with_the_remedy() {
    let link = "--link synthetic --rate 1Mbps --rtt 40ms --duration 1s";
    for loss in ["0.01", "1%"] {
        let ran = tmt(&format!("tcp {link} --loss {loss}")).run();
        ran.fails(2, &["did you mean 'bernoulli:0.01'?"]);
    }
    let sweep = "sweep --rate 1Mbps --rtt 40ms --duration 1s --loss bernoulli:1e-5,1e-4";
    tmt(sweep)
        .run()
        .fails(2, &["'bernoulli:1e-4'", "bernoulli:1e-5..1e-4:log:2"]);
}

#[test]
fn a_scheme_without_the_variable_runs_once() {
    let folder = Folder::new();
    let sweep = "sweep --set n=11..14 --scheme arq,harq:10/{n} --channel bernoulli:0.05 --rate 1Mbps --rtt 40ms \
                 --duration 2s --seeds 2 -o cells.csv";
    tmt(sweep).within(&folder).run().ok();
    let table = rows(&folder.read("cells.csv"));
    let of = |scheme: &str| {
        table
            .iter()
            .filter(|row| row["scheme"].starts_with(scheme))
            .count()
    };
    assert_eq!((of("arq"), of("harq")), (2, 8));
    let arq = table.iter().find(|row| row["scheme"] == "arq").unwrap();
    assert_eq!(arq["n"], "");
    let summary = tmt("summarise --by scheme,n cells.csv")
        .within(&folder)
        .run()
        .ok();
    assert!(summary.text().contains("arq"), "{}", summary.text());
}

#[test]
fn an_interval_of_rows_is_a_flag_of_the_search_too() {
    let folder = Folder::new();
    let losses: String = (0..6000)
        .map(|n| if n % 97 < 3 { "1\n" } else { "0\n" })
        .collect();
    folder.write("losses.csv", format!("lost\n{losses}"));
    let search = |how: &str| {
        let search = format!(
            "-q advise --candidates arq,none --rtt 40ms --lldu 1500B --lldu-header 0B --starts 2 --fresh 2 {how} losses.csv"
        );
        let ran = tmt(&search).within(&folder).run().ok();
        let answer: Vec<String> = ran
            .text()
            .lines()
            .filter(|line| !line.contains("tmt "))
            .map(str::to_owned)
            .collect();
        answer
    };
    let by_flag = search("--columns erased=lost,delay=1ms --interval 10ms");
    assert_eq!(
        by_flag,
        search("--columns erased=lost,delay=1ms,interval=10ms")
    );
    assert!(
        by_flag.iter().any(|line| line.contains("arq")),
        "{by_flag:?}"
    );
}

#[test]
fn rates_over_time_are_counts_of_opportunities() {
    let folder = Folder::new();
    // Ten opportunities a second, twenty in the third, none in the fourth.
    let mut times: Vec<u64> = (0..2)
        .flat_map(|second| (0..10).map(move |n| second * 1000 + n * 100))
        .collect();
    times.extend((0..20).map(|n| 2000 + n * 50));
    times.extend((0..10).map(|n| 4000 + n * 100));
    let lines: Vec<String> = times.iter().map(u64::to_string).collect();
    folder.write("link.down", lines.join("\n") + "\n");
    tmt("convert --from mahimahi --rtt 60ms link.down -o link.csv")
        .within(&folder)
        .run()
        .ok();
    let ran = tmt("stats --rates rates.csv link.csv")
        .within(&folder)
        .run()
        .ok();
    let rate = |count: f64| count * 1504.0 * 8.0;
    for (which, count) in [("min", 0.0), ("p50", 10.0), ("max", 20.0)] {
        let line = ran
            .text()
            .lines()
            .find(|line| line.contains(&format!("rate over 1 s, {which} bps")));
        let value = line.unwrap().split_whitespace().last().unwrap();
        assert_eq!(value, rate(count).to_string(), "{which}");
    }
    let table = rows(&folder.read("rates.csv"));
    let found: Vec<[&str; 3]> = table
        .iter()
        .map(|row| ["time_s", "rate_bps", "slots"].map(|key| &*row[key]))
        .collect();
    let expected = [
        ["0", "120320", "10"],
        ["1", "120320", "10"],
        ["2", "240640", "20"],
        ["3", "0", "0"],
    ];
    assert_eq!(found, expected);
    // Traces of other kinds have rates on request, and an unknown size is refused.
    let slots = "synth --rate 1Mbps --lldu 125B --duration 3s --decode-delay 1ms -o slots.csv";
    tmt(slots).within(&folder).run().ok();
    let plain = tmt("stats slots.csv").within(&folder).run().ok();
    assert!(!plain.text().contains("rate over"));
    let asked = tmt("stats --json --rate-window 100ms slots.csv")
        .within(&folder)
        .run()
        .ok();
    let rates = &asked.json()["results"]["rates"];
    assert_eq!(
        (rates["windows"].as_u64(), rates["p5_bps"].as_f64()),
        (Some(29), Some(1e6))
    );
    folder.write("bare.csv", "0.0,0.001\n0.5,0.001\n2.0,0.001\n");
    let refused = tmt("stats --rate-window 1s bare.csv").within(&folder).run();
    refused.fails(2, &["found no size of LLDUs", "--lldu"]);
}
