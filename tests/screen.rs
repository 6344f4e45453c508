//! Output on a terminal: headlines, notes and warnings on stderr, suggestions, widths, manual pages.

use std::fs;

use crate::common::{Folder, tmt, trace};

/// A folder with a PHY trace that has a head, and the same rows without one.
fn folder() -> Folder {
    let folder = Folder::new();
    let phy = trace(2000, 9);
    let bare: Vec<&str> = phy.lines().filter(|line| !line.starts_with('#')).collect();
    folder.write("bare.csv", bare.join("\n") + "\n");
    folder.write("phy.csv", phy);
    folder.write("opportunities.txt", "1\n2\n2\n9\n");
    folder
}

/// Lines of stderr that are warnings.
fn warnings(stderr: &str) -> Vec<&str> {
    let is_warning = |line: &&str| line.contains(": warning: ");
    stderr.lines().filter(is_warning).collect()
}

#[test]
fn a_command_prints_one_headline_and_notes_only_if_asked() {
    let folder = folder();
    let timeline = tmt("apply --scheme arq --feedback-delay decode phy.csv");
    let timeline = timeline.within(&folder).run().ok();
    folder.write("timeline.csv", timeline.stdout);
    for command in [
        "synth --rate 264kbps --lldu 33B --duration 1s --decode-delay 1ms",
        "inject --bernoulli 0.1 --seed 5 bare.csv",
        "apply --scheme arq --scheme none --feedback-delay decode -o {scheme}.csv phy.csv",
        "tcp --cc cubic --buffer 20pkt timeline.csv",
        "convert --from mahimahi --rtt 20ms opportunities.txt",
    ] {
        let name = command.split(' ').next().unwrap();
        let plain = tmt(command).within(&folder).run().ok();
        let lines: Vec<&str> = plain.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "{command}: {lines:?}");
        assert!(lines[0].starts_with(&format!("tmt {name}: ")), "{lines:?}");
        let verbose = tmt(command).arg("-v").within(&folder).run().ok();
        assert!(verbose.stderr.contains(lines[0]), "{}", verbose.stderr);
        let more = verbose.stderr.lines().count() > 1;
        assert_eq!(
            more,
            ["apply", "tcp", "convert"].contains(&name),
            "{command}"
        );
        assert!(verbose.stdout == plain.stdout, "{command}");
    }
    tmt("-v -q stats phy.csv")
        .within(&folder)
        .run()
        .fails(2, &["cannot be used with"]);
}

/// Defaults that decide, in the one line that is always there.
#[test]
fn the_headline_names_the_defaults_that_decide() {
    let folder = folder();
    let head = |command: &str, words: &[&str]| {
        tmt(command).within(&folder).run().ok().says(words);
    };
    head("inject --bernoulli 0.1 phy.csv", &["--seed 1"]);
    head(
        "apply --scheme arq --summary-only phy.csv",
        &[
            "arq over 2000 slots",
            "RTT 20ms (metadata), feedback delay 2.003ms (median decoding delay, default)",
        ],
    );
    head(
        "tcp --link synthetic --rate 1Mbps --rtt 20ms --duration 2s",
        &[
            "cubic (default), profile linux (default); synthetic link of 1.000 Mbps",
            "packets (default)",
        ],
    );
    let chosen = tmt(
        "tcp --link synthetic --rate 1Mbps --rtt 20ms --duration 2s --cc reno --profile linux --buffer 9pkt --path split",
    );
    let chosen = chosen.run().ok();
    assert!(!chosen.stderr.contains("default"), "{}", chosen.stderr);
    chosen.says(&[
        "reno, profile linux",
        "split path with an ACK per packet",
        "queue of 9 packets",
    ]);
}

/// Every case warns, with --quiet too, and what is next to it without the cause does not.
#[test]
fn what_would_mislead_is_a_warning() {
    let folder = folder();
    let milli: String = trace(2000, 9)
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| match line.split_once(',') {
            Some((at, delay)) if !at.contains('t') => {
                // Slots of 10 ms that take 20 ms, in ms.
                let milli = |text: &str| text.parse::<f64>().unwrap() * 1e4;
                format!("{},{}\n", milli(at), milli(delay))
            }
            _ => format!("{line}\n"),
        })
        .collect();
    folder.write("milli.csv", milli);
    folder.write("delay.txt", "12\n13\n12\n".repeat(50));
    let timeline = tmt("apply --scheme arq phy.csv").within(&folder).run().ok();
    folder.write("timeline.csv", timeline.stdout);
    let unit = "are the times in another unit (--unit)?";
    let tcp = "tcp --rtt 500ms --replace-head --lldu 33B --buffer 50pkt";
    let delays = "convert --from delay-loss --delay delay.txt --interval 10ms";
    let cases: [(&str, String, Option<String>); 10] = [
        // A unit a thousandfold off.
        (
            unit,
            "stats milli.csv".into(),
            Some("stats --unit ms milli.csv".into()),
        ),
        (
            unit,
            "apply --scheme arq --rtt 500ms milli.csv".into(),
            Some("apply --scheme arq --rtt 500ms --unit ms milli.csv".into()),
        ),
        (unit, format!("{tcp} milli.csv"), None),
        (
            "the largest delay is 13ns: are the delays in another unit (--delay-unit)?",
            format!("{delays} --lldu 1500B"),
            Some(format!("{delays} --lldu 1500B --delay-unit ms")),
        ),
        (
            "a slot is one probe",
            format!("{delays} --delay-unit ms"),
            Some(format!("{delays} --delay-unit ms --lldu 1500B")),
        ),
        // The wrong kind of trace.
        (
            "a PHY trace, not a timeline",
            format!("{tcp} phy.csv"),
            Some(format!("{tcp} timeline.csv")),
        ),
        (
            "the input is a timeline of scheme arq",
            "apply --scheme fec:10/12 timeline.csv".into(),
            Some("apply --scheme fec:10/12 phy.csv".into()),
        ),
        // Values that are assumed.
        (
            "no RTT in --rtt or in the trace: assuming 500ms (GEO)",
            "apply --scheme arq bare.csv".into(),
            Some("apply --scheme arq --rtt 20ms bare.csv".into()),
        ),
        (
            "no LLDU size in --lldu or in the trace: assuming 33B",
            "tcp --rtt 500ms --buffer 50pkt bare.csv".into(),
            Some(format!("{tcp} bare.csv")),
        ),
        (
            "makes a packet of 1500B take 2 LLDUs of 1500B instead of 1 (--lldu-header 0B)",
            "tcp --rtt 20ms --lldu 1500B --buffer 50pkt bare.csv".into(),
            Some("tcp --rtt 20ms --lldu 1500B --lldu-header 0B --buffer 50pkt bare.csv".into()),
        ),
    ];
    for (words, bad, good) in &cases {
        let loud = tmt(bad).within(&folder).run().ok();
        let quiet = tmt(bad).arg("-q").within(&folder).run().ok();
        for ran in [&loud, &quiet] {
            let found = warnings(&ran.stderr);
            assert!(
                found.iter().any(|line| line.contains(words)),
                "{bad}: {}",
                ran.stderr
            );
        }
        if let Some(good) = good {
            let ran = tmt(good).within(&folder).run().ok();
            assert!(!ran.stderr.contains(words), "{good}: {}", ran.stderr);
        }
    }
}

#[test]
fn misspelt_names_and_units_are_suggested() {
    for (command, words) in [
        ("apply --scheme hrq:10/12", "did you mean 'harq'?"),
        ("apply --scheme ARQ", "did you mean 'arq'?"),
        ("apply --scheme arq:rnds=3", "did you mean 'rounds'?"),
        ("tcp --cc CUBIC", "did you mean 'cubic'?"),
        ("tcp --cc bbr3", "did you mean 'bbr'?"),
        ("tcp --cc cubic:bta=0.7", "did you mean 'beta'?"),
        ("tcp --profile Linux", "did you mean 'linux'?"),
        ("tcp --link synthetik", "did you mean 'synthetic'?"),
        ("tcp --queue coddel", "did you mean 'codel'?"),
        ("tcp --buffer 64KB", "did you mean '64kB'?"),
        ("tcp --link synthetic --rate 2Kbps", "did you mean '2kbps'?"),
        (
            "tcp --link synthetic --rate 5Mbit/s",
            "did you mean '5Mbps'?",
        ),
        ("tcp --link synthetic --rate 5M", "did you mean '5Mbps'?"),
        ("tcp --rtt 5MS", "did you mean '5ms'?"),
        ("validate 000-fg6", "'000-fig6'"),
        ("model hrq", "'harq'"),
        ("model harq nd=3 betta=1", "did you mean 'beta'?"),
        ("help timelin", "did you mean 'timeline'?"),
        ("man aply", "did you mean 'apply'?"),
        ("aply", "'apply'"),
        ("tcp --bufer 3", "'--buffer'"),
    ] {
        tmt(command).run().fails(2, &[words]);
    }
}

#[test]
fn values_out_of_range_are_refused_in_our_words() {
    for (command, words) in [
        (
            "tcp --rtt -5ms",
            "error: invalid value '-5ms' for '--rtt': expected zero or more",
        ),
        ("synth --rate -5Mbps", "expected zero or more"),
        ("stats --jobs 0", "expected a whole number from 1 to 65535"),
        (
            "validate --seeds 1",
            "expected a whole number from 2 to 10000",
        ),
        (
            "inject --bernoulli 0.1 --seed x",
            "expected a whole number from 0 to",
        ),
    ] {
        let ran = tmt(command).run().fails(2, &[words]);
        // The reason is complete.
        assert!(!ran.stderr.contains("--help"), "{}", ran.stderr);
        assert!(
            !ran.stderr.contains("-- -5") && !ran.stderr.contains(".."),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_trace_of_mahimahi_is_recognised_by_every_reader() {
    let folder = folder();
    for command in [
        "stats",
        "apply --scheme arq",
        "tcp",
        "inject --bernoulli 0.1",
    ] {
        let ran = tmt(command).arg("opportunities.txt").within(&folder).run();
        ran.fails(1, &["opportunities.txt:1:", "tmt convert --from mahimahi"]);
    }
}

/// Every table fits 80 columns, and every help a terminal of that width. A line of one word is one value.
#[test]
fn everything_fits_80_columns() {
    let folder = folder();
    let mut commands: Vec<String> = [
        "demo",
        "validate --list",
        "validate 000-fig6 --seeds 2 --duration 60s --tolerance 1000",
        "validate 004-fig9 --seeds 2 --duration 100s --tolerance 1000",
        "model --list",
        "model harq",
        "model tgep --sweep N=1..3 --sweep q=1e-4,1e-3 mu=100",
        "model harq --sweep alpha=0.9..0.99:3 --sweep beta=0.1,0.2",
        "stats phy.csv",
        "stats --segments --outage 5ms --resample 40 phy.csv",
        "diff phy.csv bare.csv",
        "lint bare.csv",
        "apply --summary-only --scheme none --scheme arq --scheme fec:10/12 --scheme harq:10/12 --scheme frame-arq:10/12,rounds=3 phy.csv",
        "help LLDU",
        "help registry",
        "--help",
        "tcp -h",
        "help model harq",
    ]
    .map(str::to_owned)
    .to_vec();
    let names = "demo convert lint synth inject stats diff apply tcp advise audit model validate reproduce completions man help";
    commands.extend(names.split(' ').map(|name| format!("{name} --help")));
    for command in &commands {
        let ran = tmt(command).env("COLUMNS", "80").within(&folder).run();
        assert!(
            [Some(0), Some(1)].contains(&ran.code),
            "{command}: {}",
            ran.stderr
        );
        for line in ran.text().lines() {
            let is_value = line.split_whitespace().count() == 1;
            assert!(line.chars().count() <= 80 || is_value, "{command}: {line}");
        }
    }
}

#[test]
fn manual_pages_have_examples_exit_status_and_defaults() {
    let folder = folder();
    fs::create_dir(folder.path("man1")).unwrap();
    tmt("man --all man1").within(&folder).run().ok();
    let read = |name: &str| fs::read_to_string(folder.path("man1").join(name)).unwrap();
    for name in [
        "tmt.1",
        "tmt-apply.1",
        "tmt-tcp.1",
        "tmt-model.1",
        "tmt-model-harq.1",
    ] {
        let page = read(name);
        for code in ["129", "130", "143"] {
            assert!(page.contains(&format!(".TP\n{code}\n")), "{code}");
        }
        for section in ["SYNOPSIS", "EXAMPLES", "\"EXIT STATUS\"", "FILES"] {
            assert!(
                page.contains(&format!(".SH {section}\n")),
                "{name}: no {section}"
            );
        }
        assert!(!page.contains(".SH EXTRA"), "{name}");
    }
    let apply = read("tmt-apply.1");
    assert!(apply.contains(".SH SYNOPSIS\ntmt apply [OPTIONS] \\-\\-scheme <SCHEME> [TRACE]\n"));
    // The synopsis of 70 flags is short, and the settings of hosts have their defaults.
    let tcp = read("tmt-tcp.1");
    assert!(tcp.contains(".SH SYNOPSIS\ntmt tcp [OPTIONS] [TRACE]\n"));
    assert!(tcp.contains("[default: ns2 2, rfc 10, linux 10]"), "{tcp}");
    let single = tmt("man apply").run().ok();
    assert_eq!(single.text(), apply);
    tmt("man --all no-such")
        .within(&folder)
        .run()
        .fails(1, &["the directory no-such does not exist"]);
}

#[test]
fn completions_offer_values_and_not_files() {
    let bash = tmt("completions bash").run().ok();
    let text = bash.text();
    for (flag, words) in [
        ("--scheme", "none fec arq harq frame-arq"),
        ("--cc", "reno newreno cubic"),
        ("--profile", "ns2 rfc linux"),
        ("--sack", "on off"),
    ] {
        let case = format!("{flag})\n");
        let mut found = 0;
        for (place, _) in text.match_indices(&case) {
            let after = text[place..].lines().nth(1).unwrap();
            assert!(after.contains(words), "{flag}: {after}");
            found += 1;
        }
        assert!(found > 0, "{flag}");
    }
}

/// All that is typed, and all that a file holds, cannot control the terminal: C0, C1 and marks of direction are replaced, on
/// stderr and in tables and JSON on stdout.
#[test]
fn nothing_that_is_printed_controls_the_terminal() {
    const EVIL: &str = "a\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}1m\r\u{202e}b\u{2066}";
    let folder = folder();
    let evil = |text: &str| text.replace("EVIL", EVIL);
    for (name, text) in [
        (
            "head.csv",
            "# tool: EVIL\n# scheme: EVIL\n# EVIL: EVIL\ntx_time,decode_delay\n0,1\n1,1\n",
        ),
        (
            "results.csv",
            "scheme,cc,goodput_bps\nEVIL,cubic,1\nEVIL,reno,2\n",
        ),
        ("names.csv", "EVIL,goodput_bps\n1,1\n"),
        ("cells.csv", "tx_time,decode_delay\n0,EVIL\n"),
        ("list", "EVIL\n"),
        ("codes.csv", "name,EVIL\nEVIL,1,2\n"),
        ("fade.csv", "time_s,es_n0_db\n0,EVIL\n"),
        ("steps", "0 EVIL\n"),
        ("packets.csv", "# tool: EVIL\nEVIL\n"),
    ] {
        folder.write(name, evil(text));
    }
    // TOML has such characters escaped.
    let escaped = "a\\u001b[2J\\u009b1m\\u202eb";
    for (name, text) in [
        ("value.toml", "link = \"synthetic\"\ncc = \"EVIL\"\n"),
        ("key.toml", "\"EVIL\" = 1\n"),
        ("trace.toml", "trace = \"EVIL\"\n"),
        (
            "variable.toml",
            "link = \"synthetic\"\nrate = \"1Mbps\"\nrtt = \"20ms\"\nduration = \"1s\"\nset.day = [\"EVIL\", \"c\"]\n",
        ),
    ] {
        folder.write(name, text.replace("EVIL", escaped));
    }
    let mut commands: Vec<String> = "apply --scheme arq head.csv;apply --scheme arq -v --summary-only head.csv;stats head.csv;\
        stats --json head.csv;lint head.csv;slice head.csv;diff head.csv phy.csv;tcp head.csv;inject --bernoulli 0.1 -v head.csv;\
        fit head.csv;stats cells.csv;summarise results.csv --by scheme;summarise results.csv --by scheme --json;\
        summarise results.csv --by scheme --markdown;summarise results.csv --by scheme --latex;\
        summarise results.csv --by scheme --against cc=cubic;summarise names.csv --by EVIL;summarise names.csv;\
        advise --candidates @list --channel bernoulli:0.05 --rate 1Mbps --lldu 100B --rtt 40ms;\
        synth --scenario hybrid-fading --acm codes=codes.csv;synth --scenario hybrid-fading --fading-in fade.csv;\
        synth --scenario hybrid-fading --fading-in steps --fading-format opensand --fading-step 1s;\
        synth --scenario hybrid-fading --fading-in steps --fading-format sns3;synth --scenario hybrid-fading --error-curve list;\
        audit packets.csv;sweep value.toml;sweep key.toml;sweep trace.toml;sweep variable.toml --dry-run;sweep variable.toml;\
        tcp --params value.toml;tcp --params key.toml;tcp --params trace.toml;\
        audit packets.csv --slots EVIL;tcp --return-trace EVIL phy.csv;sweep --cc EVIL --link synthetic;convert --from EVIL phy.csv;\
        lint --from EVIL phy.csv;summarise results.csv --by EVIL;synth --channel EVIL;demo EVIL;help EVIL;model EVIL"
        .split(';')
        .map(|command| command.trim().to_owned())
        .collect();
    let all = tmt("--help").run().ok();
    let names = all
        .text()
        .lines()
        .filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let names: Vec<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        commands.extend([
            format!("{name} EVIL"),
            format!("{name} --EVIL"),
            format!("{name} -v --seed EVIL -o EVIL/EVIL"),
        ]);
    }
    for command in commands {
        let words = command.split(' ').map(evil);
        let ran = words
            .fold(tmt(""), crate::common::Tmt::arg)
            .within(&folder)
            .run();
        let is_safe = |text: &str| {
            let unsafe_here = |c: char| {
                c.is_control() && !matches!(c, '\n' | '\t')
                    || ('\u{202a}'..='\u{2069}').contains(&c)
            };
            !text.contains(unsafe_here)
        };
        // Data keeps what it has.
        let is_data = ran.text().starts_with('#') || command.starts_with("slice");
        assert!(
            is_safe(&ran.stderr) && (is_data || is_safe(ran.text())),
            "{command}: {ran:?}"
        );
    }
}
