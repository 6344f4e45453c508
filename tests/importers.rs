//! Importers of other tools' files: what they give on the command line, and captures of runs that are read back.

use std::fs;

use crate::common::{Folder, bash, plain, project, tmt, trace};

/// Time and delay of each row, ns.
fn slots(text: &str) -> Vec<(u64, u64)> {
    let nanos = |field: &str| {
        let (seconds, rest) = field.split_once('.').unwrap_or((field, ""));
        let rest: u64 = format!("{rest:0<9}").parse().unwrap();
        seconds.parse::<u64>().unwrap() * 1_000_000_000 + rest
    };
    let text = plain(text);
    let rows = text.lines().skip(1).map(|row| {
        let (time, delay) = row.split_once(',').unwrap();
        (nanos(time), nanos(delay))
    });
    rows.collect()
}

#[test]
fn a_capture_of_a_run_gives_the_losses_and_delays_of_its_packet_log() {
    let folder = Folder::new();
    for (link, seed) in [
        ("--rate 10Mbps --rtt 60ms --loss bernoulli:0.01", 3),
        (
            "--rate 2Mbps --rtt 500ms --loss gilbert-elliott:alpha=0.99,beta=0.6,pg=0,pb=1",
            4,
        ),
        ("--rate 5Mbps --rtt 40ms --buffer 20pkt", 5),
    ] {
        tmt("tcp --link synthetic --duration 20s --pcap run --packets log.csv --seed")
            .arg(seed.to_string())
            .arg_list(link)
            .within(&folder)
            .run()
            .ok();
        let converted = tmt("convert --from pcap --sender run-sender.pcap --receiver run-receiver.pcap --propagation 0s")
            .within(&folder)
            .run()
            .ok();
        let log = folder.read("log.csv");
        let mut rows = log.lines().filter(|line| !line.starts_with('#'));
        let columns: Vec<&str> = rows.next().unwrap().split(',').collect();
        let at = |name: &str| columns.iter().position(|column| *column == name).unwrap();
        let (sent, delivered) = (at("sent_s"), at("delivered_s"));
        let mut expected: Vec<(String, Option<String>)> = rows
            .map(|row| {
                let fields: Vec<&str> = row.split(',').collect();
                let arrival = Some(fields[delivered].to_owned()).filter(|it| !it.is_empty());
                (fields[sent].to_owned(), arrival)
            })
            .collect();
        expected.sort_by_key(|slot| slot_time(&slot.0));
        let zero = slot_time(&expected[0].0);
        let expected: Vec<(u64, u64)> = expected
            .iter()
            .map(|(sent, arrival)| {
                let sent = slot_time(sent);
                let delay = arrival
                    .as_ref()
                    .map_or(0, |arrival| slot_time(arrival) - sent);
                (sent - zero, delay)
            })
            .collect();
        let lost = expected.iter().filter(|slot| slot.1 == 0).count();
        assert!(lost > 5, "{link}: {lost} lost");
        assert_eq!(slots(converted.text()), expected, "{link}");
    }
}

/// Seconds with nine digits, ns.
fn slot_time(seconds: &str) -> u64 {
    seconds.replace('.', "").parse().unwrap()
}

#[test]
fn a_run_of_irtt_is_read_in_every_direction_compressed_or_not() {
    let folder = Folder::new();
    let json = fs::read_to_string(project("fixtures/importers/irtt.json")).unwrap();
    folder.write("irtt.json", &json);
    bash(&folder, "gzip -k irtt.json").ok();
    // The relay takes 5 ms up and 7 ms down; the hosts less than 2 ms.
    for (direction, rows, lost, least) in [
        ("round-trip", 16, 3, 6),
        ("up", 16, 2, 5),
        ("down", 14, 1, 7),
    ] {
        let run = |name: &str| {
            let ran = tmt("convert --from irtt --propagation 0s --direction")
                .arg(direction)
                .arg(name);
            ran.within(&folder).run().ok()
        };
        let (plain, packed) = (run("irtt.json"), run("irtt.json.gz"));
        assert_eq!(plain.text(), packed.text());
        let slots = slots(plain.text());
        let erased = slots.iter().filter(|slot| slot.1 == 0).count();
        assert_eq!((slots.len(), erased), (rows, lost), "{direction}");
        let range = least * 1_000_000..(least + 2) * 1_000_000;
        let is_right = |slot: &(u64, u64)| slot.1 == 0 || range.contains(&slot.1);
        assert!(slots.iter().all(is_right), "{direction}: {slots:?}");
    }
    let cut = &json[..json.len() / 2];
    folder.write("cut.json", cut);
    let ran = tmt("convert --from irtt -o out.csv cut.json")
        .within(&folder)
        .run();
    let line = cut.lines().count();
    ran.fails(1, &[&format!("cut.json:{line}:"), "the file was cut"]);
    assert!(!folder.path("out.csv").exists());
}

#[test]
fn strict_conversions_name_what_an_importer_assumes() {
    let folder = Folder::new();
    folder.write(
        "lens.csv",
        "timestamp,rtt,uplink,downlink\n1000000000,20,8,12\n1010000000,0,-1,0\n",
    );
    folder.write("bandwidth.txt", "1\n2\n12\n");
    folder.write("delay.txt", "7\n9\n");
    let run = |words: &str| tmt(words).within(&folder).run();
    for (words, reasons) in [
        (
            "convert --strict --from lens lens.csv",
            &[
                "assumed: both ways together",
                "(--direction)",
                "assumed: propagation 10ms",
            ][..],
        ),
        (
            "convert --strict --from lens --direction down --propagation min lens.csv",
            &["assumed: an answer is taken to be sent when the client sent the packet"],
        ),
        (
            "convert --strict --from leocc --bandwidth bandwidth.txt --delay delay.txt",
            &[
                "assumed: a line of the delay file covers 10ms (--bin)",
                "assumed: propagation 7ms",
            ],
        ),
    ] {
        run(words).fails(1, reasons);
    }
    run("convert --strict --from lens --direction up --propagation 1ms lens.csv").ok();
    run("convert --strict --from leocc --bin 10ms --propagation 7ms --bandwidth bandwidth.txt --delay delay.txt").ok();
}

/// A few bytes that would become millions of rows are refused with the limit.
#[test]
fn a_small_input_does_not_become_an_endless_output() {
    let folder = Folder::new();
    folder.write("list", "4294967290\n");
    folder.write(
        "iperf",
        "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
         [  5]   0.00-1.00   sec   119 KBytes   976 Kbits/sec  0.043 ms  0/4294967290 (0%)\n",
    );
    folder.write(
        "big.csv",
        trace(10, 1).replace("# lldu_bytes: 33", "# lldu_bytes: 4294967295"),
    );
    for (command, code, limit) in [
        (
            "--from ns3 --interval 1ms --decode-delay 1ms list",
            1,
            "expected positions below 100000000, or the number of packets",
        ),
        (
            "--from iperf3 --spread even --decode-delay 1ms iperf",
            1,
            "found more than 100000000 datagrams",
        ),
        (
            "--to mahimahi --rescale big.csv",
            2,
            "found slots of 4294967295B, expected at most 1000000B (--lldu)",
        ),
    ] {
        let ran = tmt(&format!("convert {command}")).within(&folder).run();
        assert!(ran.stdout.len() < 1 << 20, "{command}");
        ran.fails(code, &[limit]);
    }
}
