//! Messages on stderr, and when there are no messages.

use crate::common::{Folder, project, tmt, trace};

/// Commands that print notes when all goes well.
const TALKATIVE: [&str; 9] = [
    "apply --scheme arq --feedback-delay decode phy.csv",
    "apply --scheme arq --scheme none --feedback-delay decode --summary-only phy.csv",
    "inject --bernoulli 0.1 phy.csv",
    "slice --every 3 phy.csv",
    "slice phy.csv phy.csv",
    "synth --rate 264kbps --lldu 33B --duration 1s --decode-delay 1ms",
    "stats --rtt 1s phy.csv",
    "tcp --buffer 100pkt timeline.csv",
    "convert --from mahimahi opportunities.txt",
];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("phy.csv", trace(1000, 9));
    let timeline = tmt("apply --scheme arq --feedback-delay decode phy.csv");
    let timeline = timeline.within(&folder).run().ok();
    folder.write("timeline.csv", timeline.stdout);
    folder.write("cut.csv", &trace(1000, 9)[..10_000]);
    folder.write(
        "bad.csv",
        trace(1000, 9).replace("\n0.500000000,", "\n0.500000000,x"),
    );
    folder.write("opportunities.txt", "1\n2\n2\n");
    folder
}

#[test]
fn quiet_says_nothing_and_does_the_same() {
    let folder = folder();
    for command in TALKATIVE {
        let loud = tmt(command).arg("-v").within(&folder).run().ok();
        assert_ne!(loud.stderr, "", "{command}");
        for flag in ["--quiet", "-q"] {
            let quiet = tmt(command).arg(flag).within(&folder).run().ok();
            assert_eq!(quiet.stderr, "", "{command}");
            assert!(quiet.stdout == loud.stdout, "{command}");
            let quiet = tmt(flag).arg_list(command).within(&folder).run().ok();
            assert_eq!(quiet.stderr, "", "{flag} {command}");
        }
    }
    let quiet = tmt("apply --scheme arq --feedback-delay decode --allow-cut --quiet cut.csv")
        .within(&folder)
        .run();
    let quiet = quiet.ok().stderr;
    assert_eq!(
        quiet,
        "tmt apply: warning: cut.csv has no end line: it was cut (--allow-cut)\n"
    );
}

#[test]
fn quiet_still_tells_errors() {
    let folder = folder();
    for command in [
        "apply --scheme none",
        "inject --bernoulli 0.1",
        "stats",
        "tcp",
    ] {
        let verb = command.split(' ').next().unwrap();
        let ran = tmt("--quiet")
            .arg_list(command)
            .arg("bad.csv")
            .within(&folder)
            .run();
        let ran = ran.fails(
            1,
            &[&format!(
                "tmt {verb}: bad.csv:507:13: decode_delay: found 'x"
            )],
        );
        assert_eq!(ran.stderr.lines().count(), 1, "{command}: {}", ran.stderr);
        let ran = tmt("--quiet")
            .arg_list(command)
            .arg("cut.csv")
            .within(&folder)
            .run();
        ran.fails(1, &[&format!("tmt {verb}: cut.csv:"), "\nhelp: "]);
        let ran = tmt("--quiet")
            .arg_list(command)
            .arg("no-such.csv")
            .within(&folder)
            .run();
        ran.fails(1, &[&format!("tmt {verb}: no-such.csv: ")]);
    }
    let ran = tmt("--quiet apply --scheme arq -o phy.csv phy.csv")
        .within(&folder)
        .run();
    ran.fails(2, &["is given more than once"]);
    let log = project("fixtures").join("valid/canonical.csv");
    tmt("--quiet audit")
        .arg(log)
        .run()
        .fails(1, &["tmt audit: "]);
}

#[test]
fn progress_is_for_terminals() {
    // Long enough for a bar to be drawn several times.
    let folder = Folder::new();
    let long = trace(400_000, 9);
    folder.write("phy.csv", &long);
    for command in [
        "apply --scheme arq --summary-only",
        "inject --bernoulli 0.1 -o /dev/null",
        "stats -o /dev/null",
    ] {
        for ran in [
            tmt(command).arg("phy.csv").within(&folder).run().ok(),
            tmt(command).input(&*long).run().ok(),
        ] {
            let is_drawn = ran.stderr.contains(|c: char| c.is_control() && c != '\n');
            assert!(!is_drawn, "{command}: {:?}", ran.stderr);
            assert!(!ran.stderr.contains("MiB"), "{command}: {:?}", ran.stderr);
        }
    }
}
