//! Parameter files of `tmt tcp`: what a run saves, another run reads and repeats.

use std::collections::BTreeSet;

use fluid_tcp::experiment::{Experiment, Fallback, Kind, PARAMETERS};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;

use test_support::depth;

use crate::common::{Folder, Ran, bash, tmt};

/// The traces that random runs read: a PHY trace, a timeline of it, one in order and one without loss.
fn traces() -> Folder {
    let folder = Folder::new();
    bash(
        &folder,
        "tmt synth --rate 800kbps --lldu 100B --duration 6s --decode-delay 9ms --interleaver 9ms --rtt 60ms \
         | tmt inject --bernoulli 0.03 --seed 3 -o phy.csv; \
         tmt apply --scheme arq phy.csv -o arq.csv; \
         tmt apply --scheme fec:8/10,in-order phy.csv -o fec.csv; \
         tmt inject --bernoulli 0.2 --seed 9 -o back.csv phy.csv; \
         grep -v ^# back.csv > plain.csv",
    )
    .ok();
    folder
}

/// A run of every link and path: what it needs.
const BASES: [&str; 12] = [
    "--link synthetic --rate 700kbps --duration 4s",
    "--link synthetic --rate 700kbps --duration 4s --loss bernoulli:0.01",
    "--link synthetic --rate 300kbps --duration 4s --path split --terrestrial-rtt 30ms",
    "arq.csv",
    "fec.csv",
    "--path split --split-window whole arq.csv",
    "--link coupled --scheme arq phy.csv",
    "--link coupled --scheme harq:8/10,rounds=2,in-order phy.csv",
    "--link coupled --scheme frame-arq:4/6 --path split --buffer 40pkt phy.csv",
    "--link coupled --scheme fec:8/10 --channel gilbert-elliott:alpha=0.99,beta=0.8 --rate 600kbps --lldu 100B --duration 4s",
    "--compare-links --scheme harq:8/10 --overlap shift phy.csv",
    "--compare-links --scheme arq --channel fading:m=20ms,X=0.05 --rate 500kbps --lldu 80B --duration 3s",
];

/// Additions to a run; some are refused beside some bases.
fn addition() -> impl Strategy<Value = String> {
    let text = |texts: &'static [&'static str]| select(texts).prop_map(str::to_owned);
    prop_oneof![
        6 => text(&[
            "--rtt 40ms", "--rtt 333333333ns", "--packet 1000B", "--lldu-header 3B", "--lldu 90B", "--overlap shift",
            "--buffer 20pkt", "--buffer 33kB", "--buffer 2.5bdp", "--queue codel:target=20ms", "--terrestrial-rtt 17ms",
            "--split-window whole", "--return-loss bernoulli:0.05", "--return-rate 30kbps", "--return-trace back.csv",
            "--return-trace plain.csv", "--loop --duration 9s", "--duration 3s", "--duration 2.5s --offsets 3",
            "--offsets 3:random --bytes 20kB", "--seed 7", "--seeds 2", "--bytes 50kB", "--start 100ms",
            "--start 0s..1s", "--flows 3", "--flow cc=cubic:beta=0.8,c=0.3 --flow cc=reno,start=500ms,bytes=30kB",
            "--flow start=0s..900ms --flow bytes=9kB",
        ]),
        2 => text(&[
            "--tail pad", "--in-order flow", "--in-order link", "--hold acknowledged", "--feedback-delay 12ms",
            "--feedback-delay interleaver", "--feedback-loss 0.1", "--feedback-loss 0.1 --feedback-timer 700ms",
        ]),
        4 => text(&[
            "--profile rfc", "--profile ns2", "--cc bbr", "--cc hybla:rtt0=50", "--cc vegas", "--cc fixed:12",
            "--cc cubic:hystart=on", "--cc compound", "--sack off", "--sack off --profile rfc",
        ]),
        6 => endpoint(),
    ]
}

/// A value of any parameter that a profile sets.
fn endpoint() -> impl Strategy<Value = String> {
    let of_profile =
        |parameter: &&fluid_tcp::experiment::Parameter| parameter.fallback == Fallback::Profile;
    let all: Vec<_> = PARAMETERS.iter().filter(of_profile).collect();
    (select(all), 1u64..9).prop_map(|(parameter, draw)| {
        let words = parameter.kind.words();
        let value = match parameter.kind {
            Kind::Duration => format!("{}ms", 150 * draw),
            Kind::Count(..) => draw.to_string(),
            Kind::Bytes => format!("{}B", 10 * draw),
            _ if parameter.key == "rwnd" => format!("{}pkt", 4 * draw),
            _ => words[usize::try_from(draw).unwrap() % words.len()].to_owned(),
        };
        format!("--{} {value}", parameter.key.replace('_', "-"))
    })
}

fn run(folder: &Folder, flags: &str) -> Ran {
    tmt("tcp --json -q").arg_list(flags).within(folder).run()
}

/// Random runs of every link and path: a run of the parameters that one saves prints the same bytes.
#[test]
fn a_saved_run_is_repeated_to_the_byte() {
    let folder = traces();
    let (mut accepted, mut kinds) = (0, BTreeSet::new());
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let runs = (0..BASES.len(), prop::collection::vec(addition(), 0..5));
    let wanted = depth(60, 200);
    for number in 0..700 {
        if accepted == wanted {
            break;
        }
        let (base, additions) = runs.new_tree(&mut runner).unwrap().current();
        let flags = format!("{} {}", BASES[base], additions.join(" "));
        let first = run(&folder, &format!("--save-params run{number}.toml {flags}"));
        if first.code != Some(0) {
            assert!(
                matches!(first.code, Some(1 | 2)),
                "{flags}: {:?}",
                first.code
            );
            continue;
        }
        let again = run(
            &folder,
            &format!("--params run{number}.toml --save-params again.toml"),
        );
        let saved = folder.read(&format!("run{number}.toml"));
        assert_eq!(again.code, Some(0), "{flags}\n{saved}\n{}", again.stderr);
        assert_eq!(again.stdout, first.stdout, "{flags}\n{saved}");
        // A resolved file stays as it is.
        assert_eq!(folder.read("again.toml"), saved, "{flags}");
        accepted += 1;
        kinds.insert(base);
    }
    assert_eq!((accepted, kinds.len()), (wanted, BASES.len()));
}

#[test]
fn a_pipe_is_saved_as_one() {
    let folder = traces();
    let timeline = folder.read("arq.csv");
    let save = |flags: &str| {
        tmt("tcp --json")
            .arg_list(flags)
            .within(&folder)
            .input(timeline.clone())
            .run()
            .ok()
    };
    let first = save("--save-params run.toml --cc reno");
    assert!(folder.read("run.toml").contains("trace = \"-\"\n"));
    assert_eq!(save("--params run.toml").stdout, first.stdout);
}

/// So that it stays what it is when the default changes.
#[test]
fn a_saved_run_names_its_profile_and_all_settings_of_its_hosts() {
    let folder = traces();
    run(&folder, "--save-params run.toml arq.csv").ok();
    let saved = folder.read("run.toml");
    let has = |key: &str| {
        saved
            .lines()
            .any(|line| line.starts_with(&format!("{key} = ")))
    };
    assert!(saved.contains("\nprofile = \"linux\"\n"), "{saved}");
    for parameter in PARAMETERS {
        assert!(
            parameter.fallback != Fallback::Profile || has(parameter.key),
            "{}",
            parameter.key
        );
    }
    // A file by hand that has none means the default.
    folder.write("hand.toml", "trace = \"arq.csv\"\n");
    let by_hand = run(&folder, "--params hand.toml").ok().json();
    assert_eq!(by_hand, run(&folder, "--params run.toml").ok().json());
    let rfc = run(&folder, "--params hand.toml --profile rfc").ok().json();
    assert_ne!(by_hand["params"], rfc["params"]);
}

#[test]
fn where_output_goes_is_not_saved() {
    let folder = traces();
    let save = |name: &str, flags: &str| {
        tmt("tcp")
            .arg_list(&format!("{flags} --save-params {name} arq.csv"))
            .within(&folder)
            .run()
            .ok();
        folder.read(name)
    };
    let plain = save("a.toml", "--json");
    assert_eq!(
        save(
            "b.toml",
            "-j 1 -q -o report.txt --packets log.csv --explain 1 --qlog q.sqlog"
        ),
        plain
    );
}

#[test]
fn a_flag_wins_over_the_file_and_that_is_said() {
    let folder = traces();
    folder.write("run.toml", "link = \"synthetic\"\nrate = \"1Mbps\"\nduration = \"2s\"\nrtt = \"80ms\"\nprofile = \"rfc\"\niw = 3\n");
    let ran = tmt("tcp -v --params run.toml --rtt 20ms --profile linux --json")
        .within(&folder)
        .run()
        .ok();
    let ran = ran.says(&[
        "--rtt overrides run.toml:4",
        "--profile overrides run.toml:5",
        "iw of run.toml is kept",
    ]);
    let params = &ran.json()["params"];
    assert_eq!(
        (&params["rtt_ns"], &params["iw"]),
        (&20_000_000.into(), &3.into())
    );
    assert_eq!(params["loss_detection"], "rack");
    // The same value is no conflict.
    let ran = tmt("tcp -v --params run.toml --rtt 80ms")
        .within(&folder)
        .run()
        .ok();
    assert!(!ran.stderr.contains("overrides"), "{}", ran.stderr);
}

/// A saved file holds every value: those that are defaults give way to flags that leave no meaning to them.
#[test]
fn a_flag_wins_over_defaults_that_it_rules_out() {
    let folder = traces();
    let save = |name: &str, flags: &str| {
        let flags = format!("tcp --save-params {name} {flags}");
        tmt(&flags).within(&folder).run().ok();
    };
    save("rfc.toml", "--profile rfc arq.csv");
    save("linux.toml", "--profile linux arq.csv");
    let again = |flags: &str| {
        tmt(&format!("tcp -v --json --params {flags}"))
            .within(&folder)
            .run()
            .ok()
    };
    for flags in [
        "rfc.toml --offsets 3 --duration 1s",
        "rfc.toml --flow cc=reno --flow cc=bbr,start=1s",
        "rfc.toml --path split",
        "rfc.toml --sack off",
        "linux.toml --sack off",
    ] {
        again(flags).says(&["is a default and is ignored"]);
    }
    // As if it had been typed.
    let fresh = tmt("tcp --json --profile linux arq.csv")
        .within(&folder)
        .run()
        .ok();
    let over = again("rfc.toml --profile linux --buffer 1bdp");
    assert_eq!(over.json(), fresh.json());
    over.says(&["--profile linux replaces the values of profile rfc"]);
    // A value that somebody chose stays, and is refused where it has no meaning.
    folder.write(
        "mine.toml",
        "trace = \"arq.csv\"\nseeds = 4\nreturn_loss = \"bernoulli:0.1\"\n",
    );
    let refused = |flags: &str, words: &[&str]| {
        tmt(&format!("tcp --params mine.toml {flags}"))
            .within(&folder)
            .run()
            .fails(2, words);
    };
    refused("--offsets 3 --duration 1s", &["mine.toml:2", "seeds"]);
    refused("--path split", &["mine.toml:3", "return_loss"]);
}

#[test]
fn what_is_about_the_return_trace_is_not_shown_of_a_synthetic_link() {
    let folder = traces();
    let flags = "--link synthetic --rate 1Mbps --duration 3s --return-trace plain.csv --lldu 90B --lldu-header 3B";
    let report = run(&folder, &format!("--save-params run.toml {flags}")).ok();
    let params = &report.json()["params"];
    assert!(params.get("lldu_bytes").is_none() && params.get("lldu_header_bytes").is_none());
    assert_eq!(params["return_lldu_bytes"], 90);
    assert_eq!(run(&folder, "--params run.toml").ok().stdout, report.stdout);
}

#[test]
fn more_packets_than_can_be_given_are_saved_as_products() {
    let folder = traces();
    let flags =
        "--link synthetic --rate 100Gbps --rtt 3600s --duration 1ms --packet 1B --headers 0B";
    let report = run(&folder, &format!("--save-params run.toml {flags}")).ok();
    assert!(folder.read("run.toml").contains("buffer = \"1bdp\""));
    assert_eq!(run(&folder, "--params run.toml").ok().stdout, report.stdout);
}

#[test]
fn names_of_files_are_shown_as_they_are() {
    let folder = traces();
    folder.write("x`rtt`y.csv", "tx_time,decode_delay\n0,1\n");
    tmt("tcp")
        .arg("x`rtt`y.csv")
        .within(&folder)
        .run()
        .fails(1, &["x`rtt`y.csv: found 1 LLDU,"]);
}

#[test]
fn a_bad_file_is_refused_with_its_line_and_key() {
    let folder = traces();
    let base = "link = \"synthetic\"\nrate = \"1Mbps\"\nduration = \"2s\"\n";
    for (line, words) in [
        (
            "feedback_los = 0.1",
            &["run.toml:4:1", "feedback_los", "feedback_loss"][..],
        ),
        (
            "rtt = 500",
            &["run.toml:4:7", "rtt", "duration with its unit"],
        ),
        ("rtt = \"3kB\"", &["run.toml:4:7", "rtt", "500ms"]),
        ("rate = \"2Mbps\"", &["run.toml:4:1", "rate", "once"]),
        (
            "scheme = \"arq\"",
            &["run.toml:4: scheme", "link coupled, not synthetic"],
        ),
        ("min_rto = \"150s\"", &["run.toml:4", "max"]),
        (
            "packet = \"0B\"",
            &["run.toml:4: packet 0B", "more than 0B"],
        ),
        ("offsets = \"5\"\nseeds = 3", &["run.toml:4", "offsets"]),
        (
            "flows = 2\nflow = [\"cc=reno\"]",
            &["run.toml:5: flow cannot be combined with flows"],
        ),
        // A default, too, where the file itself forbids it.
        (
            "overlap = \"asap\"",
            &["run.toml:4: overlap", "not synthetic"],
        ),
        ("iw = 0x20", &["run.toml:4:6", "iw", "from 1 to 1000000"]),
        ("version = 3", &["run.toml:4:11", "version", "a string"]),
        (
            "json = true",
            &["run.toml:4:1", "json", "does not concern output"],
        ),
        (
            "loop = false\nhandshake = \"yes\"",
            &["run.toml:5:13", "handshake", "on or off"],
        ),
    ] {
        folder.write("run.toml", format!("{base}{line}\n"));
        tmt("tcp --params run.toml -o out.json --save-params saved.toml")
            .within(&folder)
            .run()
            .fails(2, words);
        assert!(
            !folder
                .names()
                .iter()
                .any(|name| name == "saved.toml" || name == "out.json")
        );
    }
    tmt("tcp --params nowhere.toml")
        .within(&folder)
        .run()
        .fails(1, &["nowhere.toml"]);
    tmt("tcp --params -")
        .within(&folder)
        .run()
        .fails(2, &["--params -"]);
    // Found before the runs.
    tmt("tcp --link synthetic --rate 1Mbps --duration 9h --flows 9 --save-params nowhere/x.toml -o late.txt")
        .within(&folder)
        .run()
        .fails(1, &["nowhere/x.toml"]);
    folder.write("run.toml", [0xff, 0xfe, b'\n']);
    tmt("tcp --params run.toml")
        .within(&folder)
        .run()
        .fails(1, &["run.toml:1: ", "UTF-8"]);
    tmt("tcp --save-params - --link synthetic --rate 1Mbps --duration 1s")
        .within(&folder)
        .run()
        .fails(2, &["--output"]);
}

#[test]
fn a_file_of_another_version_is_read_and_that_is_said() {
    let folder = traces();
    folder.write(
        "run.toml",
        "version = \"0.0.1\"\nlink = \"synthetic\"\nrate = \"1Mbps\"\nduration = \"2s\"\n",
    );
    let ran = tmt("tcp -v --params run.toml").within(&folder).run().ok();
    ran.says(&["run.toml was saved by version 0.0.1"]);
}

/// The short help has a line a flag, the long one and the manual page every parameter.
#[test]
fn help_derives_from_the_description() {
    let short = tmt("tcp -h").env("COLUMNS", "100").run().ok();
    let short = short.text();
    let flags = short
        .lines()
        .filter(|line| line.trim_start().starts_with('-'))
        .count();
    assert!((15..=28).contains(&flags), "{flags} flags in\n{short}");
    for line in short
        .lines()
        .filter(|line| line.trim_start().starts_with("--"))
    {
        assert!(line.trim().contains("  "), "no help beside '{line}'");
    }
    let wrapped = short.lines().filter(|line| line.starts_with("          "));
    let wrapped: Vec<&str> = wrapped
        .filter(|line| !line.trim_start().starts_with('-'))
        .collect();
    assert!(wrapped.is_empty(), "{wrapped:?}");
    let (long, man) = (tmt("tcp --help").run().ok(), tmt("man tcp").run().ok());
    let bash = tmt("completions bash").run().ok();
    for parameter in PARAMETERS
        .iter()
        .filter(|parameter| parameter.key != "trace")
    {
        let flag = format!("--{}", parameter.key.replace('_', "-"));
        assert!(long.text().contains(&flag), "{flag}");
        assert!(man.text().contains(&flag.replace('-', "\\-")), "{flag}");
        for word in parameter
            .kind
            .words()
            .iter()
            .filter(|word| !word.contains(['=', ':']))
        {
            assert!(bash.text().contains(word), "{flag} {word}");
        }
        let in_profiles = long.text().lines().any(|line| {
            line.split_whitespace().next() == Some(&flag) && line.split_whitespace().count() == 4
        });
        assert_eq!(
            in_profiles,
            parameter.fallback == Fallback::Profile,
            "{flag}"
        );
    }
}

#[test]
fn defaults_are_values_of_their_own_type() {
    let defaults = Experiment::defaults();
    for parameter in PARAMETERS {
        if let Some(text) = parameter.text(&defaults) {
            parameter
                .check(&text)
                .unwrap_or_else(|why| panic!("{}: {why}", parameter.key));
        }
    }
}
