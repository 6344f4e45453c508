//! Losses from lists: `list:FILE` against the packet log, as `--loss`, `--queue-loss` and `--return-loss`.

use std::collections::BTreeSet;

use tmt_core::format::Compression;
use tmt_core::format::compression::Compressor;

use crate::common::{Folder, tmt};

const RUN: &str = "tcp --link synthetic --rate 2Mbps --rtt 60ms --duration 20s --json";

/// A line for each of some numbers below `most`, spread by a multiplicative generator.
fn numbers(seed: u64, most: u64, count: usize) -> BTreeSet<u64> {
    let mut state = seed;
    let draw = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % most
    };
    (0..count).map(draw).collect()
}

fn lines(numbers: &BTreeSet<u64>) -> String {
    let lines: Vec<String> = numbers.iter().map(u64::to_string).collect();
    lines.join("\n") + "\n"
}

/// The fates of a packet log with the number of the service, if there was one.
fn fates(log: &str) -> Vec<(String, Option<u64>)> {
    let rows = log
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let fate = |row: &str| {
        let cells: Vec<&str> = row.split(',').collect();
        (cells[10].to_owned(), cells[7].parse().ok())
    };
    rows.map(fate).collect()
}

#[test]
fn exactly_the_listed_packets_are_lost() {
    let folder = Folder::new();
    for seed in 1..6 {
        let on_link = numbers(seed, 2500, 30);
        let at_queue = numbers(seed + 100, 2500, 30);
        folder.write("link.txt", lines(&on_link));
        folder.write(
            "queue.txt",
            format!("position # by hand\n{}", lines(&at_queue)),
        );
        let more = "--loss list:link.txt --queue-loss list:queue.txt --packets log.csv";
        // Without an own limit of the queue, the list alone drops.
        let run = tmt(&format!("{RUN} --buffer inf --rwnd 40pkt {more}"));
        run.within(&folder).run().ok();
        let fates = fates(&folder.read("log.csv"));
        for (at, (fate, service)) in (0..).zip(&fates) {
            let listed = service.is_some_and(|service| on_link.contains(&service));
            assert_eq!(
                fate == "queue",
                at_queue.contains(&at),
                "{seed}: arrival {at}"
            );
            assert!(
                fate == "open" || (fate == "link") == listed,
                "{seed}: {service:?} {fate}"
            );
        }
        assert!(fates.iter().any(|(fate, _)| fate == "link"), "{seed}");
        tmt("audit log.csv").within(&folder).run().ok();
    }
}

#[test]
fn the_lists_of_a_log_repeat_its_run() {
    let folder = Folder::new();
    let random = "--loss bernoulli:0.01 --buffer 5pkt --seed 4 --packets log.csv";
    let first = tmt(&format!("{RUN} {random}")).within(&folder).run().ok();
    let fates = fates(&folder.read("log.csv"));
    let lost = fates.iter().filter(|(fate, _)| fate == "link");
    let lost: BTreeSet<u64> = lost.filter_map(|(_, service)| *service).collect();
    let dropped = (0..).zip(&fates).filter(|(_, (fate, _))| fate == "queue");
    let dropped: BTreeSet<u64> = dropped.map(|(at, _)| at).collect();
    assert!(lost.len() > 10 && dropped.len() > 5);
    folder.write("lost.txt", lines(&lost));
    folder.write("dropped.txt", lines(&dropped));
    // The queue drops them by the list, and has room for all others.
    let listed = "--loss list:lost.txt --queue-loss list:dropped.txt --buffer inf";
    let again = tmt(&format!("{RUN} {listed}")).within(&folder).run().ok();
    assert_eq!(
        first.results()["runs"][0]["total"],
        again.results()["runs"][0]["total"]
    );
}

#[test]
fn the_auditor_finds_a_loss_that_the_list_does_not_have() {
    let folder = Folder::new();
    let run = format!(
        "{RUN} --rwnd 10pkt --loss list:{{100;200;300}} --queue-loss list:{{50;60}} --packets log.csv"
    );
    tmt(&run).within(&folder).run().ok();
    let log = folder.read("log.csv");
    for (from, to, rule) in [
        ("loss: list:{100;200;300}", "loss: list:{100;300}", "slots"),
        (
            "loss: list:{100;200;300}",
            "loss: list:{100;200;250;300}",
            "slots",
        ),
        (
            "queue_loss: list:{50;60}",
            "queue_loss: list:{50;60;70}",
            "queue",
        ),
        ("queue_loss: list:{50;60}", "queue_loss: list:{60}", "queue"),
    ] {
        assert!(log.contains(from), "{from}");
        folder.write("changed.csv", log.replace(from, to));
        let audit = tmt("audit --json changed.csv").within(&folder).run();
        assert_eq!(audit.code, Some(1), "{to}: {}", audit.text());
        let found = audit.results()["rules"].as_array().unwrap().clone();
        let broken = found.iter().filter(|rule| rule["violations_total"] != 0);
        let broken: Vec<&str> = broken.filter_map(|rule| rule["rule"].as_str()).collect();
        // The checksum of the log says that it was changed, too.
        assert_eq!(broken, ["form", rule], "{to}");
    }
}

#[test]
fn a_list_may_be_compressed_and_a_saved_run_needs_no_file() {
    let folder = Folder::new();
    let text = "# lost\nposition\n10\n11\n500\n";
    folder.write("lost.txt", text);
    for (name, compression) in [
        ("lost.gz", Compression::Gzip),
        ("lost.zst", Compression::Zstd),
    ] {
        let mut packed = Vec::new();
        let mut compressor = Compressor::new(compression).unwrap();
        compressor.block(text.as_bytes(), &mut packed).unwrap();
        folder.write(name, packed);
    }
    let run = |arguments: &str| tmt(arguments).within(&folder).run().ok().results();
    let plain = run(&format!(
        "{RUN} --loss list:lost.txt --save-params run.toml"
    ));
    for name in ["lost.gz", "lost.zst"] {
        assert_eq!(plain, run(&format!("{RUN} --loss list:{name}")), "{name}");
    }
    std::fs::remove_file(folder.path("lost.txt")).unwrap();
    assert!(
        folder
            .read("run.toml")
            .contains("list:{position;10;11;500}")
    );
    assert_eq!(plain, run("tcp --json --params run.toml"));
}

#[test]
fn lists_that_a_run_does_not_use_are_warned_of() {
    let folder = Folder::new();
    let run = |arguments: &str| {
        tmt(&format!("{RUN} {arguments}"))
            .within(&folder)
            .run()
            .ok()
    };
    run("--loss list:{5;3000000;4000000}").says(&[
        "tcp: warning: 2 of 3 positions of --loss lie beyond the ",
        " packets served",
    ]);
    run("--queue-loss list:{4000000}").says(&["1 of 1 positions of --queue-loss lies beyond the "]);
    run("--return-loss list:{7;9000000}")
        .says(&["1 of 2 positions of --return-loss lies beyond", "ACKs"]);
    run("--loss list:{}").says(&["the list of --loss has no position: nothing is lost"]);
    run("--seeds 2 --loss list:{5;3000000}").says(&[
        "in the shortest run",
        "nothing in these runs is random: every seed gives the same result",
    ]);
    let used = run("--loss list:{5;6}");
    assert!(!used.stderr.contains("warning"), "{}", used.stderr);
    folder.write("slots.csv", "tx_time,decode_delay\n0,0.001\n0.001,0.001\n");
    let inject = tmt("inject --channel list:{1;2} slots.csv -o out.csv")
        .within(&folder)
        .run()
        .ok();
    inject.says(&[
        "1 of 2 positions of --channel lies beyond the 2 slots",
        "1 of 2 slots erased",
    ]);
}

#[test]
fn wrong_lists_are_refused_with_their_place() {
    let folder = Folder::new();
    folder.write("sort.txt", "7\n3\n");
    folder.write("word.txt", "position\n1\nx\n");
    folder.write("emulator.txt", "L,7,100\n");
    folder.write("cut.gz", [0x1f, 0x8b, 8, 0]);
    let place = |flag: &str, words: &str| vec![flag.to_owned(), words.to_owned()];
    for flag in ["--loss", "--queue-loss", "--return-loss"] {
        for (list, words) in [
            (
                "sort.txt",
                "sort.txt:2: column 1: found 3 after 7, expected rising positions; sort the list",
            ),
            (
                "word.txt",
                "word.txt:3: column 1: found 'x', expected the number of a unit",
            ),
            (
                "emulator.txt",
                "emulator.txt:1: column 2: found 3 columns, expected one",
            ),
            ("cut.gz", "cut.gz: "),
            ("missing.txt", "missing.txt: "),
            ("-", "found stdin (-), expected the name of a file"),
            ("", "found no name of a file, expected list:FILE"),
        ] {
            let said = place(flag, words);
            let said: Vec<&str> = said.iter().map(String::as_str).collect();
            let run = tmt(&format!("{RUN} {flag} list:{list} -o out.json"))
                .within(&folder)
                .run();
            run.fails(1, &said);
            assert!(!folder.path("out.json").exists());
        }
    }
    tmt(&format!("{RUN} --loss list"))
        .run()
        .fails(2, &["found no file, expected list:FILE"]);
    let split = format!("{RUN} --path split --queue-loss list:{{1}}");
    tmt(&split)
        .run()
        .fails(2, &["--queue-loss cannot be combined with --path split"]);
}

/// The timeline link and the coupled link drop what is listed, too.
#[test]
fn a_list_drops_on_every_link() {
    let folder = Folder::new();
    let run = |arguments: &str| tmt(arguments).within(&folder).run().ok();
    run("synth --rate 2Mbps --lldu 125B --duration 10s --decode-delay 1ms -o slots.csv");
    run("apply --scheme none --rtt 60ms slots.csv -o timeline.csv");
    for link in [
        "--link timeline timeline.csv",
        "--link coupled --scheme none slots.csv",
    ] {
        let flags = "--rtt 60ms --lldu-header 0B --buffer inf --rwnd 20pkt --duration 8s";
        run(&format!(
            "tcp {flags} --queue-loss list:{{30;31;90}} --packets log.csv {link}"
        ));
        let fates = fates(&folder.read("log.csv"));
        let dropped = (0..).zip(&fates).filter(|(_, (fate, _))| fate == "queue");
        assert_eq!(
            dropped.map(|(at, _)| at).collect::<Vec<u64>>(),
            [30, 31, 90],
            "{link}"
        );
        run("audit log.csv");
    }
}
