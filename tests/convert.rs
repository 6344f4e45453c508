//! `tmt convert`: what becomes of measured delays and losses, what is told about them, and what is refused.

use crate::common::{Folder, Ran, plain, tmt};

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
