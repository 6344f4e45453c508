//! `tmt convert`: what becomes of measured delays and losses, what is told about them, and what is refused.

use crate::common::{Folder, Ran, bash, plain, tmt};

/// Converts a pair of files, 10 ms apart, with further flags.
fn convert(delays: &str, losses: &str, flags: &str) -> Ran {
    let folder = Folder::new();
    folder.write("delay.txt", delays);
    folder.write("loss.txt", losses);
    tmt("convert -v --from delay-loss --interval 10ms --delay delay.txt --loss loss.txt")
        .arg_list(flags)
        .within(&folder)
        .run()
}

/// The second column.
fn delays(ran: &Ran) -> Vec<String> {
    plain(ran.text())
        .lines()
        .skip(1)
        .map(|row| row.split_once(',').unwrap().1.to_owned())
        .collect()
}

#[test]
fn the_smallest_delay_of_a_received_packet_is_taken_off_and_told() {
    // The smallest of all is the filler of a lost packet.
    let ran = convert("23000000\n25000000\n1\n24000000\n", "0\n0\n1\n0\n", "").ok();
    assert_eq!(
        delays(&ran),
        ["0.000000001", "0.002000000", "0", "0.001000000"]
    );
    for line in [
        "# propagation_removed_ns: 23000000\n",
        "# rtt_ns: 46000000\n",
    ] {
        assert!(ran.text().contains(line), "{}", ran.text());
    }
    ran.says(&["propagation 23ms (the smallest delay of a received packet)"]);
}

#[test]
fn a_propagation_that_was_typed_is_taken_off_and_no_delay_becomes_an_erasure() {
    let ran = convert(
        "3000000\n5000000\n2000000\n",
        "0\n0\n0\n",
        "--propagation 3ms",
    )
    .ok();
    assert_eq!(delays(&ran), ["0.000000001", "0.002000000", "0.000000001"]);
    ran.says(&[
        "propagation 3ms (as given)",
        "1 delay below the propagation of 3ms",
    ]);
}

#[test]
fn a_round_trip_is_halved_and_the_head_says_so() {
    let ran = convert(
        "46000000\n50000000\n",
        "0\n0\n",
        "--round-trip --propagation 20ms",
    )
    .ok();
    assert_eq!(delays(&ran), ["0.003000000", "0.005000000"]);
    assert!(ran.text().contains("half of the measured round trip"));
}

#[test]
fn a_round_trip_time_that_was_typed_is_told_instead_of_twice_the_propagation() {
    let ran = convert("23000000\n25000000\n", "0\n0\n", "--rtt 70ms").ok();
    assert!(
        ran.text().contains("# rtt_ns: 70000000\n"),
        "{}",
        ran.text()
    );
    assert!(ran.text().contains("# propagation_removed_ns: 23000000\n"));
}

#[test]
fn the_digit_that_means_lost_can_be_turned_round_and_a_wrong_guess_is_pointed_out() {
    let (delay, loss) = ("1000\n1000\n1000\n", "1\n1\n0\n");
    let linkem = convert(delay, loss, "--lost 0 --propagation 0s").ok();
    assert_eq!(delays(&linkem), ["0.000001000", "0.000001000", "0"]);
    let guessed = convert(delay, loss, "--propagation 0s").ok();
    assert_eq!(delays(&guessed), ["0", "0", "0.000001000"]);
    guessed.says(&[
        "2 of 3 packets are lost if 1 means lost",
        "perhaps 0 means lost in this file (--lost)",
    ]);
}

#[test]
fn crlf_and_fillers_are_found_and_told() {
    convert(
        "1000\n2000\n2000\n3000\n",
        "0\r\n0\r\n1\r\n0\r\n",
        "--propagation 0s",
    )
    .ok()
    .says(&[
        "loss: 4 lines end in CRLF",
        "delay: 1 lost packet with a filler delay (1 equal to that of the packet before)",
    ]);
}

#[test]
fn losses_alone_get_the_delay_that_was_typed_and_one_nanosecond_otherwise() {
    let run = |flags| {
        tmt("convert -v --from delay-loss --interval 10ms --loss -")
            .arg_list(flags)
            .input("0\n1\n0\n")
            .run()
            .ok()
    };
    assert_eq!(delays(&run("")), ["0.000000001", "0", "0.000000001"]);
    assert_eq!(
        delays(&run("--decode-delay 3ms")),
        ["0.003000000", "0", "0.003000000"]
    );
    run("").says(&[
        "every received slot gets 1ns (--decode-delay)",
        "the head gets no rtt_ns",
    ]);
}

#[test]
fn a_pipe_and_a_file_give_the_same_trace() {
    let folder = Folder::new();
    let (delay, loss) = ("4000000\n5000000\n", "0\n1\n");
    folder.write("delay.txt", delay);
    folder.write("loss.txt", loss);
    let flags = "convert --from delay-loss --interval 10ms --propagation 3ms";
    let files = format!("{flags} --delay delay.txt --loss loss.txt");
    let files = tmt(&files).within(&folder).run().ok();
    let delays = tmt(&format!("{flags} --delay - --loss loss.txt"))
        .within(&folder)
        .input(delay);
    let losses = tmt(&format!("{flags} --delay delay.txt --loss -"))
        .within(&folder)
        .input(loss);
    assert_eq!(delays.run().ok().text(), files.text());
    assert_eq!(losses.run().ok().text(), files.text());
}

#[test]
fn the_rate_of_a_mahimahi_file_is_told_and_that_of_a_pipe_is_not() {
    let folder = Folder::new();
    // 1504 B a millisecond are 12.032 Mbps.
    folder.write("trace", "1\n2\n3\n4\n");
    let file = tmt("convert --from mahimahi trace")
        .within(&folder)
        .run()
        .ok();
    assert!(
        file.text().contains("# rate_bps: 12032000\n"),
        "{}",
        file.text()
    );
    let pipe = tmt("convert -v --from mahimahi")
        .input("1\n2\n3\n4\n")
        .run()
        .ok();
    assert!(!pipe.text().contains("rate_bps"));
    assert_eq!(plain(pipe.text()), plain(file.text()));
    pipe.says(&["the rate of a pipe is not known in advance"]);
}

#[test]
fn conversions_refuse_a_bad_line_in_the_file_that_holds_it() {
    let folder = Folder::new();
    for (name, text) in [
        ("good.txt", "1000\n2000\n3000\n"),
        ("word.txt", "1000\nslow\n3000\n"),
        ("negative.txt", "1000\n2000\n-3000\n"),
        ("blank.txt", "1000\n\n3000\n"),
        ("short.txt", "1000\n2000\n"),
        ("losses.txt", "0\n1\n0\n"),
        ("two.txt", "0\n2\n0\n"),
        ("more.txt", "0\n0\n0\n0\n"),
    ] {
        folder.write(name, text);
    }
    for (delay, loss, words) in [
        (
            "word.txt",
            "more.txt",
            "word.txt:2:1: delay: found 'slow', expected",
        ),
        (
            "negative.txt",
            "losses.txt",
            "negative.txt:3:1: delay: found '-3000', expected",
        ),
        (
            "good.txt",
            "two.txt",
            "two.txt:2:1: found '2', expected 0 or 1",
        ),
        ("short.txt", "losses.txt", "short.txt:"),
        ("good.txt", "more.txt", "good.txt:"),
        ("blank.txt", "more.txt", "blank.txt:2:1: "),
    ] {
        let ran = tmt("convert --from delay-loss --interval 10ms -o out.csv --delay")
            .arg(delay)
            .arg("--loss")
            .arg(loss)
            .within(&folder)
            .run();
        ran.fails(1, &[words]);
    }
    for (text, place) in [
        (
            "1\n2\nx\n",
            ":3:1: found 'x', expected a whole number of milliseconds",
        ),
        (
            "1\n2.5\n",
            ":2:1: found '2.5', expected a whole number of milliseconds",
        ),
        (
            "1\n\n2\n",
            ":2:1: found '', expected a whole number of milliseconds",
        ),
        (
            "-1\n",
            ":1:1: found '-1', expected a whole number of milliseconds",
        ),
        (
            "5\n4\n",
            ":2:1: tx_time: found 0.004000000 s after 0.005000000 s",
        ),
        ("0\n0\n", "found a last opportunity at 0 ms"),
        (
            "9223372036855\n",
            ":1:1: opportunity: found '9223372036855', expected at most",
        ),
    ] {
        folder.write("trace.txt", text);
        let ran = tmt("convert --from mahimahi -o out.csv trace.txt")
            .within(&folder)
            .run();
        ran.fails(
            1,
            &[
                &format!(
                    "trace.txt{}",
                    if place.starts_with(':') { place } else { "" }
                ),
                place,
            ],
        );
    }
    assert!(!folder.path("out.csv").exists());
}

/// A log of ping with dates, in which packets 3 and 6 are lost; answers are 10 ms away.
const PING: &str = "PING x (192.0.2.1) 56(84) bytes of data.\n\
    [1.010000] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=58 time=10.0 ms\n\
    [2.020000] 64 bytes from 192.0.2.1: icmp_seq=2 ttl=58 time=20.0 ms\n\
    [4.010000] 64 bytes from 192.0.2.1: icmp_seq=4 ttl=58 time=10.0 ms\n\
    [5.010000] 64 bytes from 192.0.2.1: icmp_seq=5 ttl=58 time=10.0 ms\n\
    6 packets transmitted, 4 received, 33% packet loss, time 5000ms\n";

#[test]
fn the_kind_of_a_trace_survives_every_stage_and_every_format() {
    let folder = Folder::new();
    folder.write("ping.log", PING);
    folder.write("opportunities.txt", "1\n2\n3\n4\n");
    for (convert, kind) in [
        ("convert --from ping ping.log", "probe"),
        (
            "convert --from mahimahi --rtt 60ms opportunities.txt",
            "capacity",
        ),
        ("convert --from ping --kind capacity ping.log", "capacity"),
        (
            "convert --from mahimahi --rtt 60ms --kind probe opportunities.txt",
            "probe",
        ),
    ] {
        let run = |words: &str| tmt(words).within(&folder).run().ok();
        run(&format!("{convert} -o a.csv"));
        run("inject --channel bernoulli:0.1 --seed 1 a.csv -o b.arrow");
        run("slice --rows 0..3 b.arrow -o c.parquet");
        run("slice --rebase c.parquet -o d.csv");
        let applied = run("apply --scheme none d.csv -o e.csv");
        let line = format!("# trace_kind: {kind}\n");
        for name in ["a.csv", "d.csv", "e.csv"] {
            assert!(folder.read(name).contains(&line), "{convert}: {name}");
        }
        let warned = tmt("tcp --duration 1s --lldu 1500B --replace-head e.csv")
            .within(&folder)
            .run();
        for ran in [&applied, &warned] {
            assert_eq!(
                ran.stderr.contains("warning: the trace holds probes"),
                kind == "probe",
                "{convert}: {}",
                ran.stderr
            );
        }
    }
    // A kind that no one has given is not added to the head.
    let made = tmt("synth --rate 1Mbps --lldu 100B --duration 1ms --decode-delay 1ms")
        .run()
        .ok();
    assert!(!made.text().contains("trace_kind"));
}

#[test]
fn a_kind_that_differs_is_refused_when_traces_are_put_together() {
    let folder = Folder::new();
    folder.write("ping.log", PING);
    for (kind, name) in [("probe", "a.csv"), ("capacity", "b.csv")] {
        tmt("convert --from ping ping.log --kind")
            .arg(kind)
            .arg("-o")
            .arg(name)
            .within(&folder)
            .run()
            .ok();
    }
    let ran = tmt("slice a.csv b.csv --gap 1s").within(&folder).run();
    ran.fails(1, &["trace_kind: found capacity, expected probe"]);
    folder.write(
        "c.csv",
        folder.read("a.csv").replace("kind: probe", "kind: guess"),
    );
    let ran = tmt("stats c.csv").within(&folder).run();
    ran.fails(
        1,
        &["# trace_kind: found 'guess', expected capacity or probe"],
    );
}

#[test]
fn strict_names_what_was_assumed_or_not_carried_and_writes_nothing() {
    let folder = Folder::new();
    folder.write("ping.log", PING);
    folder.write("answers.csv", "time,rtt_ms\n1.5,10\n2.5,20\n");
    let run = |words: &str| tmt(words).within(&folder).run();
    for (words, reasons) in [
        (
            "convert --strict --from ping ping.log",
            &[
                "assumed: ping measures round trips",
                "assumed: propagation 5ms",
            ][..],
        ),
        (
            "convert --strict --from ping --round-trip --propagation 0s answers.csv",
            &[
                "not carried: ",
                "no lost packets",
                "assumed: trace: times are those of the answers",
            ],
        ),
    ] {
        let ran = run(&format!("{words} -o out.csv")).fails(1, reasons);
        assert!(!ran.stderr.contains("slots ("), "{}", ran.stderr);
        assert!(!folder.path("out.csv").exists());
        assert_eq!(run(words).fails(1, reasons).stdout, b"");
    }
    let words = "convert --strict --from ping --round-trip --propagation min";
    let file = run(&format!("{words} ping.log")).ok();
    let relaxed = run("convert --from ping ping.log").ok();
    assert_eq!(plain(file.text()), plain(relaxed.text()));
    // A pipe is kept, so that it can be read twice.
    let words = "convert --strict --from ping --round-trip --propagation 5ms";
    let pipe = tmt(words).input(PING).run().ok();
    assert_eq!(plain(pipe.text()), plain(relaxed.text()));
}

#[test]
fn a_missing_or_unknown_format_is_refused_with_a_guess() {
    let folder = Folder::new();
    folder.write("ping.log", PING);
    folder.write("frames.txt", "0 5\n2 6\n");
    folder.write("random.txt", "what is this\n");
    folder.write("empty.txt", "");
    let run = |words: &str| tmt(words).within(&folder).run();
    for (words, reasons) in [
        (
            "convert ping.log",
            &["--from is missing", "ping.log looks like ping: --from ping"][..],
        ),
        (
            "convert --from pin frames.txt",
            &[
                "unknown format 'pin'",
                "did you mean 'ping'?",
                "--from crawdad",
            ],
        ),
        (
            "convert random.txt",
            &["--from is missing: expected a format"],
        ),
    ] {
        run(words).fails(2, reasons);
    }
    let random = run("convert random.txt");
    assert!(!random.stderr.contains("looks like"), "{}", random.stderr);
    let piped = tmt("convert").input(PING).run();
    piped.fails(2, &["<stdin> looks like ping"]);
    run("convert --from ping --decode-delay 1ms ping.log").fails(
        2,
        &["--decode-delay does not apply to ping: it is an option of delay-loss, mahimahi"],
    );
    for format in ["ping", "mahimahi", "crawdad --interval 1s"] {
        run(&format!("convert --from {format} empty.txt -o out.csv"))
            .fails(1, &["empty.txt: found no row"]);
    }
    assert!(!folder.path("out.csv").exists());
}

#[test]
fn help_has_the_options_of_one_format_and_manual_pages_those_of_all() {
    let general = tmt("convert --help").run().ok();
    assert!(
        !general.text().contains("--propagation <"),
        "{}",
        general.text()
    );
    for help in ["convert --from ping --help", "convert --help --from=ping"] {
        let own = tmt(help).run().ok();
        assert!(own.text().contains("--propagation <"), "{}", own.text());
        assert!(!own.text().contains("--delay-unit"), "{}", own.text());
    }
    assert_eq!(tmt("help convert").run().ok().text(), general.text());
    for all in ["man convert", "completions bash"] {
        let all = tmt(all).run().ok().text().replace('\\', "");
        for (key, _) in tmt_core::format::import::Importers::default().keys() {
            let is_flag = key.kind != tmt_core::named::Kind::Input;
            assert!(
                !is_flag || all.contains(&format!("--{}", key.name)),
                "{}",
                key.name
            );
        }
    }
}

#[test]
fn a_compressed_file_is_read_as_the_file() {
    let folder = Folder::new();
    folder.write("ping.log", PING);
    let plain = tmt("convert --from ping ping.log")
        .within(&folder)
        .run()
        .ok();
    for command in ["gzip -k ping.log", "zstd -q ping.log"] {
        bash(&folder, command).ok();
    }
    for name in ["ping.log.gz", "ping.log.zst"] {
        let ran = tmt("convert --from ping")
            .arg(name)
            .within(&folder)
            .run()
            .ok();
        assert_eq!(ran.text(), plain.text(), "{name}");
    }
    tmt("convert ping.log.gz")
        .within(&folder)
        .run()
        .fails(2, &["looks like ping"]);
}
