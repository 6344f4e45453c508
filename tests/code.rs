//! `tmt code`: the answer against the model, and the cache of measurements.

use crate::common::{Folder, rows, tmt};

/// A measured question that a debug build answers soon.
const MEASURED: &str = "code table --cn0 67dBHz --symbol-rate 2M --share 0.5 --code conv:7/8 --code conv:7/8+rs:239/223 \
                        rates=measured most_bits=300000 --csv";

#[test]
fn best_and_table_say_what_the_model_says() {
    let table = tmt("code table --cn0 62..78dBHz:3 --symbol-rate 2M --share 0.5 --csv");
    let table = table.run().ok();
    let model = tmt("model code-best --sweep cn0_db=62..78:3 --csv")
        .run()
        .ok();
    let (found, expected) = (rows(table.text()), rows(model.text()));
    assert_eq!((found.len(), expected.len()), (3, 3));
    for (found, expected) in found.iter().zip(&expected) {
        let best = format!("{} {}", found["modulation"], found["code"]);
        assert_eq!(best, expected["best"]);
        for (name, key) in [
            ("goodput_bps", "goodput"),
            ("segment_error_rate", "ser"),
            ("ahead_db", "ahead_db"),
            ("ahead_bps", "ahead_bps"),
            ("next_goodput_bps", "next_goodput"),
        ] {
            let number = |text: &str| text.parse::<f64>().unwrap();
            let (found, expected) = (number(&found[name]), number(&expected[key]));
            assert!(
                (found - expected).abs() <= 1e-9 * expected.abs(),
                "{name}: {found} {expected}"
            );
        }
        let cn0 = &found["cn0_db"];
        let best = tmt(&format!(
            "code best --cn0 {cn0}dBHz --symbol-rate 2M --share 0.5 --csv"
        ));
        let best = rows(best.run().ok().text());
        assert_eq!(best[0]["goodput_bps"], found["goodput_bps"]);
        assert_eq!(best[0]["code"], found["code"]);
    }
}

#[test]
fn kept_measurements_are_used_again_and_those_of_another_version_are_not() {
    let folder = Folder::new();
    let plain = tmt(MEASURED).run().ok();
    let ask = || {
        tmt(&format!("{MEASURED} --cache curves.csv -v"))
            .within(&folder)
            .run()
            .ok()
    };
    let (first, second) = (ask(), ask());
    assert_eq!(plain.text(), first.text());
    assert_eq!(plain.text(), second.text());
    let first = first.says(&["segments lost"]);
    assert!(
        !second.stderr.contains("of 268 segments lost") && !second.stderr.contains("dB: "),
        "{}",
        second.stderr
    );
    assert!(first.stderr.contains("dB: "));

    // Counts that no measurement gives: they are taken from this version only.
    let kept = folder.read("curves.csv");
    let mut lines = kept.lines();
    let head = lines.next().unwrap().to_owned() + "\n";
    let place = head
        .trim_end()
        .split(',')
        .position(|name| name == "segment_failures")
        .unwrap();
    let edited = lines.fold(head, |text, line| {
        let mut cells: Vec<&str> = line.split(',').collect();
        cells[place] = "0";
        text + &cells.join(",") + "\n"
    });
    folder.write("curves.csv", &edited);
    assert_ne!(ask().text(), plain.text());
    let tool = concat!("tmt ", env!("CARGO_PKG_VERSION"));
    assert!(edited.contains(tool), "{edited}");
    folder.write("curves.csv", edited.replace(tool, "tmt 0.0.1"));
    let again = ask().says(&["of another version"]);
    assert_eq!(again.text(), plain.text());
    assert_eq!(folder.read("curves.csv"), kept);
}

#[test]
fn undecided_codes_name_a_measurement_that_would_decide() {
    let ran = tmt(
        "code best --cn0 72dBHz --symbol-rate 2M --share 0.5 --code conv:7/8+rs:239/223 --code conv:7/8+rs:231/223 rates=measured most_bits=1000000",
    );
    let ran = ran.run().ok();
    let said: String = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("most_bits=") && said.contains("should decide it"),
        "{said}"
    );
    // The default is not the answer.
    assert!(!said.contains("most_bits=1e8"), "{said}");
}

#[test]
fn a_group_that_may_be_behind_or_ahead_has_no_end_of_its_margin_beyond_zero() {
    let results = |text: &str| {
        let ran = tmt(&format!("model code-order {text} --json")).run().ok();
        ran.json()["results"]["result"].clone()
    };
    let open = results("first=rs second=concatenated cn0_db=69 rates=measured most_bits=300000");
    let of = |name: &str| open[name].as_f64();
    assert_eq!(open["better"], "undecided");
    assert!(of("lead_bps_low").unwrap() < 0.0 && of("lead_bps_high").unwrap() > 0.0);
    assert!(of("lead_db").unwrap() < 0.0 && of("lead_db_low").unwrap() < 0.0);
    assert_eq!(of("lead_db_high"), None, "{open}");
    // The other way round everything has the other sign.
    let turned = results("first=concatenated second=rs cn0_db=69 rates=measured most_bits=300000");
    assert_eq!(turned["lead_db"].as_f64(), of("lead_db").map(|db| -db));
    assert_eq!(turned["lead_db_low"].as_f64(), None);
    let lost = tmt("model code-order cn0_db=40").run().ok();
    assert!(
        lost.stderr
            .contains("every segment is lost with every code")
    );
    assert!(!lost.stderr.contains("too close"));
    let mut words = lost.text().split_whitespace();
    assert!(words.all(|word| word != "-0"), "{}", lost.text());
}

#[test]
fn a_c_n0_that_no_link_has_is_refused() {
    for (given, found) in [
        ("1000dBHz", "1000dBHz"),
        ("-400dBHz", "-400dBHz"),
        ("70,201dBHz", "201dBHz"),
    ] {
        let ran = tmt(&format!(
            "code table --cn0 {given} --symbol-rate 2M --share 0.5"
        ))
        .run();
        ran.fails(2, &[&format!("found {found}"), "from -100dBHz to 200dBHz"]);
    }
}

#[test]
fn a_cache_that_is_none_is_refused_and_kept() {
    let folder = Folder::new();
    folder.write("other.csv", "a,b\n1,2\n");
    let ran = tmt(&format!("{MEASURED} --cache other.csv"))
        .within(&folder)
        .run();
    ran.fails(2, &["no column code", "--cache"]);
    assert_eq!(folder.read("other.csv"), "a,b\n1,2\n");
}

#[test]
fn a_curve_is_what_the_model_measures_and_feeds_scenarios_and_tables_of_modcods() {
    let folder = Folder::new();
    let run = |line: &str| tmt(line).within(&folder).run();
    // 3.010299956639812 dB below, a channel bit of QPSK.
    let model = "model ser-measured scheme=rs n=15 k=11 count=codewords events=30 --csv ecn0_db=";
    let rate = |ecn0_db: &str| {
        let ran = run(&format!("{model}{ecn0_db}")).ok();
        rows(ran.text())[0]["word_error_rate"].clone()
    };
    let curve = "code curve --code rs:15/11 --es-n0 6,8dB events=30 seed=1";
    let written = run(&format!("{curve} -o curve.csv")).ok();
    written.says(&["--clamp-curve"]);
    let text = folder.read("curve.csv");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let expected = [
        "es_n0_db,error_rate".to_owned(),
        format!("6,{}", rate("2.989700043360188")),
        format!("8,{}", rate("4.989700043360188")),
    ];
    assert_eq!(lines, expected, "{text}");
    assert!(
        text.contains("# rs:15/11") && text.contains("seed=1"),
        "{text}"
    );

    let scenario = "synth --scenario internet --es-n0 12dB --duration 2s -q -o";
    run(&format!(
        "{scenario} a.csv --error-curve curve.csv --clamp-curve"
    ))
    .ok();
    run(&format!("{scenario} b.csv --error-curve curve.csv")).fails(2, &["clamp"]);
    // As the code of a MODCOD.
    let inline = run(&format!("{curve} --inline")).ok();
    let points = inline.text().trim_end().to_owned();
    assert!(
        points.starts_with("points:6/") && points.ends_with("@clamp"),
        "{points}"
    );
    folder.write(
        "table.csv",
        format!("name,efficiency_bit_per_symbol,threshold_es_n0_db,code\nrs,1.466,8,{points}\n"),
    );
    run(&format!("{scenario} c.csv --acm table.csv")).ok();

    for (keys, expected) in [
        ("--es-n0 6dB", "at least two values, rising"),
        ("--es-n0 8,6dB", "rising"),
        ("--es-n0 6,8", "with their unit"),
        ("--es-n0 6,8dB scheme=rs", "expected one of interleaver"),
        (
            "--es-n0 6,8dB decision=hard",
            "decision has no effect with rs:15/11",
        ),
    ] {
        run(&format!("code curve --code rs:15/11 {keys}")).fails(2, &[expected]);
    }
}

/// By chance a word is lost behind a point without losses: the two have a rate together, and none is said to lose nothing.
#[test]
fn a_point_without_losses_below_one_with_losses_is_not_called_clean() {
    let curve = "code curve --code rs:15/11 --es-n0 9.6,9.8,10,10.1,10.2,10.3,10.4,10.5dB events=1 most_bits=20000 seed=2";
    let ran = tmt(curve).run().ok();
    let point = |text: &str| {
        let mut lines = ran
            .text()
            .lines()
            .skip_while(|line| !line.starts_with(text));
        lines
            .next()
            .unwrap()
            .split_once(',')
            .unwrap()
            .1
            .parse::<f64>()
            .unwrap()
    };
    let lost = |text: &str| {
        let (before, _) = ran.text().split_once(&format!("\n{text},")).unwrap();
        before.lines().last().unwrap().starts_with("# 0 of")
    };
    assert!(lost("9.6") && !lost("9.8"), "{}", ran.text());
    assert!(point("9.6") > 0.0);
    assert!(
        ran.stderr.contains("from 10 dB on no word was lost"),
        "{}",
        ran.stderr
    );
}
