//! `tmt convert --to`: what is written, what is said of it, what is refused, and that nothing is half-written.

use std::fs;

use tmt_core::format::export::Exporters;
use tmt_core::named::Kind;

use crate::common::{Folder, tmt, traces};

/// A folder with a trace of 1504 B slots, 1 ms apart, every 10th erased.
fn folder() -> Folder {
    let folder = Folder::new();
    let link =
        "synth --rate 12.032Mbps --lldu 1504B --duration 100ms --decode-delay 5ms --rtt 40ms";
    tmt(link)
        .arg_list("--channel outages:every=10ms,length=1ms -o phy.csv --seed 1")
        .within(&folder)
        .run()
        .ok();
    folder
}

#[test]
fn every_file_of_mahimahi_in_and_out_is_the_same() {
    let Some(traces) = traces() else { return };
    let mut files = 0;
    for entry in fs::read_dir(traces.join("mahimahi")).unwrap() {
        let path = entry.unwrap().path();
        if !path
            .extension()
            .is_some_and(|end| end == "up" || end == "down")
        {
            continue;
        }
        let original = fs::read(&path).unwrap();
        let direct = tmt("convert --from mahimahi --to mahimahi")
            .arg(&path)
            .run()
            .ok();
        assert!(direct.text().as_bytes() == original, "{}", path.display());
        let folder = Folder::new();
        tmt("convert --from mahimahi -o phy.arrow")
            .arg(&path)
            .within(&folder)
            .run()
            .ok();
        tmt("convert --to mahimahi phy.arrow -o link")
            .within(&folder)
            .run()
            .ok();
        assert!(
            folder.read("link").as_bytes() == original,
            "{}",
            path.display()
        );
        files += 1;
    }
    assert!(files > 3, "{files}");
}

#[test]
fn a_measured_pair_in_and_out_is_the_same() {
    let Some(traces) = traces() else { return };
    let path =
        |what: &str| traces.join(format!("ebpf-trace-emu/LEO_downlink_{what}-000001-12h.txt"));
    let folder = Folder::new();
    tmt("convert --from delay-loss --interval 10ms --propagation 1ms --to delay-loss --to-delay d --to-loss l")
        .arg("--delay")
        .arg(path("delay"))
        .arg("--loss")
        .arg(path("loss"))
        .within(&folder)
        .run()
        .ok();
    // The file of losses has CRLF.
    let losses = fs::read_to_string(path("loss")).unwrap().replace('\r', "");
    assert!(folder.read("l") == losses);
    let delays = fs::read_to_string(path("delay")).unwrap();
    let (written, mut lost) = (folder.read("d"), 0);
    for ((measured, written), loss) in delays.lines().zip(written.lines()).zip(losses.lines()) {
        lost += u32::from(loss == "1");
        assert_eq!(written, if loss == "1" { "0" } else { measured.trim() });
    }
    assert_eq!((written.lines().count(), lost), (10_000, 33));
}

#[test]
fn what_is_not_carried_is_said_and_strict_writes_nothing() {
    let folder = folder();
    let run = |flags: &str| {
        tmt("convert --to mahimahi phy.csv")
            .arg_list(flags)
            .within(&folder)
            .run()
    };
    let ran = run("-o link").ok();
    ran.says(&[
        "the propagation of 20ms is not carried (mm-delay adds one)",
        "left out: packets wait for the next opportunity instead of being lost in mahimahi (--erased keep keeps their opportunities)",
        "decoding delays of 5ms are not carried",
    ]);
    assert!(folder.read("link").lines().count() < 100);
    assert_eq!(run("--erased keep").ok().text().lines().count(), 100);
    let refused = run("--strict -o strict")
        .fails(1, &["refused by --strict", "not carried: decoding delays"]);
    assert_eq!(refused.text(), "");
    assert!(run("--strict").fails(1, &[]).text().is_empty());
    assert!(!folder.names().contains(&"strict".to_owned()));
}

#[test]
fn a_faulty_or_cut_trace_leaves_no_file_and_no_output() {
    let folder = folder();
    let text = folder.read("phy.csv");
    let (cut, _) = text.split_once("# end").unwrap();
    folder.write("cut.csv", cut);
    folder.write("bad.csv", text.replace("0.050000000,", "x,"));
    for file in ["cut.csv", "bad.csv"] {
        for to in [
            "mahimahi",
            "netem",
            "ns3",
            "theaterq",
            "delay-loss --to-delay d --to-loss l",
        ] {
            let ran = tmt(&format!("convert {file} --to {to}"))
                .within(&folder)
                .run();
            assert!(ran.fails(1, &[file]).text().is_empty(), "{file} {to}");
        }
        tmt(&format!("convert {file} --to mahimahi -o link"))
            .within(&folder)
            .run()
            .fails(1, &[file]);
    }
    tmt("convert cut.csv --to ns3")
        .within(&folder)
        .run()
        .fails(1, &["tmt slice --rows 0.. --allow-cut"]);
    let names = folder.names();
    assert_eq!(names, ["bad.csv", "cut.csv", "phy.csv"]);
}

#[test]
fn flags_that_do_not_fit_are_refused_with_the_way() {
    let folder = folder();
    for (flags, words) in [
        (
            "--to mahimahy",
            "--to: unknown format 'mahimahy' (did you mean 'mahimahi'?)",
        ),
        (
            "--to mahimahi --table slot",
            "--table does not apply to mahimahi: it is an option of --to netem",
        ),
        (
            "--to mahimahi --interval 1ms",
            "--interval does not apply to mahimahi",
        ),
        ("--to mahimahi --lldu 33B", "expected --rescale"),
        (
            "--to mahimahi --format arrow",
            "--format does not apply to --to mahimahi",
        ),
        ("--to mahimahi -o link.gz", "expected a name without .gz"),
        (
            "--to mahimahi -o phy.csv",
            "phy.csv is given more than once",
        ),
        (
            "--to delay-loss",
            "delay-loss needs --to-delay, --to-loss or both",
        ),
        (
            "--to delay-loss -o x",
            "--output does not apply to --to delay-loss: it has --to-delay and --to-loss",
        ),
        (
            "--to delay-loss --to-delay - --to-loss -",
            "cannot both go to stdout",
        ),
        (
            "--to delay-loss --to-delay d --to-loss d",
            "d is given more than once",
        ),
        (
            "--to cellreplay --train 3 --to-heavy h",
            "--train needs --to-light",
        ),
    ] {
        let ran = tmt("convert phy.csv").arg_list(flags).within(&folder).run();
        ran.fails(2, &[words]);
    }
    assert_eq!(folder.names(), ["phy.csv"]);
    // A trace without a head.
    let ran = tmt("convert --to mahimahi -v")
        .input("0.001,0.000000001\n0.002,0\n")
        .run()
        .ok();
    ran.says(&["the size of a slot is unknown; each is taken as an opportunity of 1504B (--lldu)"]);
}

#[test]
fn every_format_is_written_listed_and_has_its_own_help() {
    let folder = folder();
    let list = tmt("convert --list").run().ok();
    for exporter in Exporters::default().iter() {
        let name = exporter.name;
        let row = |line: &str| line.starts_with(name) && line.contains(" out ");
        assert!(list.text().lines().any(row), "{name}");
        let help = tmt(&format!("convert --to {name} --help")).run().ok();
        for known in Exporters::default().keys() {
            let flag = format!("--{} ", known.0.name);
            let is_own = exporter.keys.iter().any(|key| key.name == known.0.name);
            let is_shown = help
                .text()
                .lines()
                .any(|line| line.trim_start().starts_with(&flag))
                || help.text().contains(&format!("--{}\n", known.0.name));
            assert_eq!(is_shown, is_own, "{name} {flag}");
        }
        let files = exporter.keys.iter().filter(|key| key.kind == Kind::File);
        let files: Vec<String> = files
            .map(|key| format!("--{} {name}-{}", key.name, key.name))
            .collect();
        let more = if name == "cellreplay" {
            "--rescale --train-every 20ms"
        } else {
            ""
        };
        tmt(&format!("convert --to {name} phy.csv {more}"))
            .arg_list(&files.join(" "))
            .within(&folder)
            .run()
            .ok();
    }
    for file in [
        "cellreplay-to-heavy",
        "cellreplay-to-light",
        "delay-loss-to-delay",
        "delay-loss-to-loss",
    ] {
        assert!(!folder.read(file).is_empty(), "{file}");
    }
}

#[test]
fn probes_are_no_capacity_unless_it_is_said() {
    let folder = Folder::new();
    folder.write("loss", "0\n1\n0\n");
    let run = |flags: &str| {
        tmt("convert --from delay-loss --loss loss --interval 10ms --to mahimahi --lldu 1504B")
            .arg_list(flags)
            .within(&folder)
            .run()
            .ok()
    };
    let ran = run("");
    assert_eq!(ran.text(), "0\n20\n");
    ran.says(&["warning: the slots are probes"]);
    assert!(!run("--kind capacity").stderr.contains("warning"));
}

#[test]
fn the_delays_and_the_bandwidth_of_a_starlink_replay_become_one_link() {
    let Some(traces) = traces() else { return };
    let folder = Folder::new();
    tmt("convert --from leoreplayer -o phy.arrow --delay")
        .arg(traces.join("leocc/delay_example.txt"))
        .arg("--bandwidth")
        .arg(traces.join("leocc/bw_example.txt"))
        .within(&folder)
        .run()
        .ok();
    let stats = tmt("stats --json phy.arrow")
        .within(&folder)
        .run()
        .ok()
        .results();
    assert_eq!(
        (&stats["slots"], &stats["slots_erased"]),
        (&487_652.into(), &0.into())
    );
    // Delays are 7 to 68 ms, 7 ms of them propagation.
    assert_eq!(stats["decode_delay_max_s"], 0.061);
    tmt("convert --to mahimahi phy.arrow -o link")
        .within(&folder)
        .run()
        .ok();
    let original = fs::read(traces.join("leocc/bw_example.txt")).unwrap();
    let original = String::from_utf8(original).unwrap();
    assert!(original.lines().eq(folder.read("link").lines()));
}
