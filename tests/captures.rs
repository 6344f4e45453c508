//! `tmt tcp --pcap`: both files byte by byte, and as tshark reads them where there is one.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::common::{Folder, bash, skipped, tmt};
use serde_json::Value;

/// A packet of a capture.
struct Record {
    nanos: u64,
    kept: Vec<u8>,
    length: usize,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()))
}

fn net16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn net32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Reads a capture, and checks its header.
fn records(file: &[u8]) -> Vec<Record> {
    assert_eq!(word(file, 0), 0xa1b2_3c4d);
    assert_eq!(file[4..8], [2, 0, 4, 0]);
    let (snaplen, link) = (word(file, 16), word(file, 20));
    assert_eq!(link, 101);
    let mut records = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let [seconds, fraction, kept, length] = [0, 4, 8, 12].map(|offset| word(file, at + offset));
        assert!(fraction < 1_000_000_000 && kept <= snaplen && kept <= length);
        let kept = usize::try_from(kept).unwrap();
        records.push(Record {
            // The run's zero has the time stamp 1 s.
            nanos: seconds * 1_000_000_000 + fraction - 1_000_000_000,
            kept: file[at + 16..at + 16 + kept].to_vec(),
            length: usize::try_from(length).unwrap(),
        });
        at += 16 + kept;
    }
    records
}

/// RFC 1071: the ones' complement sum of 16-bit words, 0xffff where a checksum is among them.
fn sum(parts: &[&[u8]]) -> u16 {
    let bytes = parts.concat();
    let mut sum: u32 = 0;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap()
}

/// A segment as it was read.
#[derive(Debug, PartialEq)]
struct Segment {
    nanos: u64,
    /// Port of the flow, and whether it is the source.
    port: u16,
    from_sender: bool,
    flags: u8,
    seq: u32,
    ack: u32,
    payload: usize,
    sack: Vec<(u32, u32)>,
}

/// Reads a packet, whose lengths and checksums must be right.
fn segment(record: &Record) -> Segment {
    let ip = &record.kept[..20];
    assert_eq!(
        (ip[0], ip[9], usize::from(net16(ip, 2))),
        (0x45, 6, record.length)
    );
    assert_eq!(sum(&[ip]), 0xffff, "checksum of IPv4");
    let tcp = &record.kept[20..];
    assert_eq!(
        usize::from(tcp[12] >> 4) * 4,
        tcp.len(),
        "the payload is left out"
    );
    let payload = record.length - record.kept.len();
    let length = u16::try_from(tcp.len() + payload).unwrap().to_be_bytes();
    // The payload is zeros, which add nothing.
    assert_eq!(
        sum(&[&ip[12..20], &[0, 6], &length, tcp]),
        0xffff,
        "checksum of TCP"
    );
    let from_sender = net16(tcp, 2) == 65_500;
    let mut sack = Vec::new();
    let mut options = &tcp[20..];
    while let [kind, rest @ ..] = options {
        if *kind <= 1 {
            options = rest;
            continue;
        }
        let (option, behind) = options.split_at(usize::from(rest[0]));
        if *kind == 5 {
            sack = option[2..]
                .chunks(8)
                .map(|block| (net32(block, 0), net32(block, 4)))
                .collect();
        }
        options = behind;
    }
    Segment {
        nanos: record.nanos,
        port: net16(tcp, if from_sender { 0 } else { 2 }),
        from_sender,
        flags: tcp[13],
        seq: net32(tcp, 4),
        ack: net32(tcp, 8),
        payload,
        sack,
    }
}

const SYN: u8 = 2;
const FIN: u8 = 1;
const PSH: u8 = 8;
const ACK: u8 = 16;

/// A folder with a timeline on which packets overtake each other.
fn folder() -> Folder {
    let folder = Folder::new();
    bash(
        &folder,
        "tmt synth --rate 500kbps --lldu 33B --duration 40s --decode-delay 36ms \
         | tmt inject --gilbert-elliott alpha=0.99,beta=0.8 --seed 3 \
         | tmt apply --scheme arq -o timeline.csv",
    )
    .ok();
    folder
}

fn capture(folder: &Folder, run: &str) -> (Value, [Vec<Record>; 2], String) {
    let report = tmt(run)
        .arg_list("--json --pcap run.pcap --packets log.csv")
        .within(folder)
        .run()
        .ok()
        .json();
    let files = ["run-sender.pcap", "run-receiver.pcap"]
        .map(|name| records(&fs::read(folder.path(name)).unwrap()));
    (
        report["results"]["runs"][0]["total"].clone(),
        files,
        folder.read("log.csv"),
    )
}

/// Runs with losses in many ways: fast recoveries, timeouts, drops, windows of the receiver, small packets.
const RUNS: [&str; 6] = [
    "tcp --packet 500B --flows 2 timeline.csv",
    "tcp --link synthetic --rate 2Mbps --rtt 200ms --loss bernoulli:0.02 --duration 30s --flows 3",
    "tcp --link synthetic --rate 1Mbps --rtt 500ms --loss gilbert-elliott:alpha=0.99,beta=0.8 --duration 60s --cc newreno --sack off --recovery halving",
    "tcp --link synthetic --rate 2Mbps --rtt 100ms --buffer 4pkt --duration 20s --rwnd 40pkt --handshake on",
    "tcp --link synthetic --rate 500kbps --rtt 50ms --loss bernoulli:0.3 --duration 60s --packet 60B",
    "tcp --link synthetic --rate 5Mbps --rtt 100ms --profile ns2 --duration 10s --bytes 1MB --flows 2 --packet 9kB",
];

#[test]
fn captures_tell_what_the_log_tells_at_the_times_of_their_end() {
    let folder = folder();
    for run in RUNS {
        let (_, files, log) = capture(&folder, run);
        let nanos = |field: &str| field.replace('.', "").parse::<u64>().unwrap();
        let rows: Vec<Vec<&str>> = log
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
            .map(|line| line.split(',').collect())
            .collect();
        for (file, time) in files.iter().zip([3, 9]) {
            let segments: Vec<Segment> = file.iter().map(segment).collect();
            assert!(segments.is_sorted_by_key(|segment| segment.nanos), "{run}");
            let data = segments.iter().filter(|segment| segment.payload > 0);
            let payload = segments
                .iter()
                .map(|segment| segment.payload)
                .max()
                .unwrap() as u64;
            let mut found: Vec<(u64, u64, u64)> = data
                .map(|segment| {
                    let packet = u64::from(segment.seq - 1) / payload;
                    (segment.nanos, u64::from(segment.port - 49_152), packet)
                })
                .collect();
            let mut expected: Vec<(u64, u64, u64)> = rows
                .iter()
                .filter(|row| !row[time].is_empty())
                .map(|row| {
                    (
                        nanos(row[time]),
                        row[0].parse().unwrap(),
                        row[1].parse().unwrap(),
                    )
                })
                .collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert!(!found.is_empty());
            assert_eq!(found, expected, "{run}");
            let handshakes = segments.iter().filter(|segment| segment.flags & SYN != 0);
            let flows: std::collections::BTreeSet<u16> =
                segments.iter().map(|segment| segment.port).collect();
            assert_eq!(handshakes.count(), 2 * flows.len());
            let told = segments.iter().any(|segment| !segment.sack.is_empty());
            assert_eq!(told, !run.contains("--sack off"), "{run}");
            // A FIN takes one sequence number after the last packet.
            let ends = segments.iter().filter(|segment| segment.flags & FIN != 0);
            let ends: Vec<u32> = ends
                .map(|end| end.seq + u32::try_from(payload).unwrap())
                .collect();
            let is_fin = |seq: u32| ends.contains(&(seq - 1));
            let in_whole_packets =
                |seq: u32| u64::from(seq - 1).is_multiple_of(payload) || is_fin(seq);
            assert!(
                segments
                    .iter()
                    .flat_map(|segment| &segment.sack)
                    .all(|(a, b)| a < b && in_whole_packets(*a) && in_whole_packets(*b))
            );
        }
        // Every acknowledgement arrives as it was sent, RTT/2 later, unless the run ended before.
        let [back, sent] = [&files[0], &files[1]].map(|file| {
            let acks = file
                .iter()
                .map(segment)
                .filter(|segment| !segment.from_sender && segment.flags & SYN == 0);
            acks.map(|ack| (ack.port, ack.ack, ack.sack, ack.nanos))
                .collect::<Vec<_>>()
        });
        assert!(back.len() <= sent.len() && !back.is_empty());
        let mut ways = BTreeMap::new();
        for (arrived, left) in back.iter().zip(&sent) {
            assert_eq!(
                (arrived.0, arrived.1, &arrived.2),
                (left.0, left.1, &left.2),
                "{run}"
            );
            *ways.entry(arrived.3 - left.3).or_insert(0) += 1;
        }
        assert_eq!(ways.len(), 1, "{run}: {ways:?}");
    }
}

#[test]
fn a_simulated_handshake_has_the_times_of_each_host() {
    let folder = Folder::new();
    let run = "tcp --link synthetic --rate 2Mbps --rtt 200ms --terrestrial-rtt 30ms --duration 5s --handshake on \
               --flow cc=cubic --flow cc=reno,start=100ms";
    let (_, [sender, receiver], _) = capture(&folder, run);
    let of = |file: &[Record], port: u16| -> Vec<(u64, u8)> {
        let segments = file.iter().map(segment);
        let flow = segments.filter(|segment| segment.port == port);
        flow.map(|segment| (segment.nanos / 1_000_000, segment.flags))
            .take(4)
            .collect()
    };
    // There in 15 + 100 ms, back after 230 ms. Data follows the handshake, 6 ms later at the receiver.
    for (port, start) in [(49_152, 0), (49_153, 100)] {
        let at_sender = [
            (start, SYN),
            (start + 230, SYN | ACK),
            (start + 230, ACK),
            (start + 230, ACK),
        ];
        assert_eq!(of(&sender, port), at_sender);
        let at_receiver = of(&receiver, port);
        let handshake = [
            (start + 115, SYN),
            (start + 115, SYN | ACK),
            (start + 345, ACK),
        ];
        assert_eq!(at_receiver[..3], handshake);
        assert!(at_receiver[3].0 >= start + 351, "{at_receiver:?}");
    }
    if Command::new("tshark").arg("--version").output().is_err() {
        skipped("no tshark on this machine");
        return;
    }
    for (file, rtt) in [
        ("run-sender.pcap", "0.230000000"),
        ("run-receiver.pcap", "0.230000000"),
    ] {
        let rtts = tshark(&folder, file, "tcp.len > 0", &["tcp.analysis.initial_rtt"]);
        assert!(!rtts.is_empty());
        assert!(
            rtts.iter().all(|frame| frame[0] == rtt),
            "{file}: {:?}",
            rtts.first()
        );
    }
}

/// The payload of a capture gives the goodput of the report: headers of its size, and a last segment with the rest.
#[test]
fn the_payload_of_a_capture_is_that_of_the_report() {
    let folder = Folder::new();
    let run = "tcp --link synthetic --rate 2Mbps --rtt 200ms --bytes 100kB --duration 60s";
    for (profile, largest) in [("rfc", 1460), ("linux", 1448)] {
        let (total, files, _) = capture(&folder, &format!("{run} --profile {profile}"));
        let segments: Vec<Segment> = files[1].iter().map(segment).collect();
        let payloads: BTreeMap<u32, u64> = segments
            .iter()
            .map(|segment| (segment.seq, segment.payload as u64))
            .filter(|(_, payload)| *payload > 0)
            .collect();
        assert_eq!(payloads.values().max(), Some(&largest), "{profile}");
        let bytes: u64 = payloads.values().sum();
        assert_eq!(bytes, 100_000, "{profile}");
        let time = total["completion_time_s"].as_f64().unwrap();
        let goodput = total["goodput_bps"].as_f64().unwrap();
        assert!((goodput * time / 800_000.0 - 1.0).abs() < 1e-9, "{profile}");
    }
}

#[test]
fn a_finite_transfer_ends_with_psh_and_fin() {
    let folder = Folder::new();
    let run = "tcp --link synthetic --rate 2Mbps --rtt 200ms --loss bernoulli:0.05 --profile rfc --bytes 100kB --flows 2 --duration 60s";
    let (total, files, _) = capture(&folder, run);
    for file in &files {
        let segments: Vec<Segment> = file.iter().map(segment).collect();
        let packets = u32::try_from(total["packets_delivered"].as_u64().unwrap()).unwrap() / 2;
        let data = segments.iter().filter(|segment| segment.payload > 0);
        let last = 1 + (packets - 1) * 1460;
        for segment in data {
            let flags = if segment.seq == last {
                ACK | PSH | FIN
            } else {
                ACK
            };
            assert_eq!(segment.flags, flags, "{segment:?}");
        }
        let acks = segments.iter().filter(|segment| !segment.from_sender);
        let highest = acks.map(|segment| segment.ack).max().unwrap();
        assert!(highest <= 1 + 100_000 + 1);
    }
    // The receiver acknowledges the FIN of the flow that ends first.
    let at_receiver = files[1]
        .iter()
        .map(segment)
        .filter(|segment| !segment.from_sender);
    assert_eq!(
        at_receiver.map(|segment| segment.ack).max(),
        Some(1 + 100_000 + 1)
    );
    if Command::new("tshark").arg("--version").output().is_err() {
        skipped("no tshark on this machine");
        return;
    }
    let ends = tshark(
        &folder,
        "run-sender.pcap",
        "tcp.flags.fin == 1",
        &["tcp.stream"],
    );
    let streams: std::collections::BTreeSet<_> = ends.iter().map(|end| &end[0]).collect();
    assert_eq!(streams.len(), 2);
}

/// The capture with its payload of zeros put back, so that a reader can check every checksum.
fn whole(file: &[u8]) -> Vec<u8> {
    let mut out = file[..24].to_vec();
    out[16..20].copy_from_slice(&262_144_u32.to_le_bytes());
    for record in records(file) {
        let seconds = u32::try_from(record.nanos / 1_000_000_000 + 1).unwrap();
        let fraction = u32::try_from(record.nanos % 1_000_000_000).unwrap();
        let length = u32::try_from(record.length).unwrap();
        for word in [seconds, fraction, length, length] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&record.kept);
        out.resize(out.len() + record.length - record.kept.len(), 0);
    }
    out
}

/// Fields of each frame by tshark, one line a frame.
fn tshark(folder: &Folder, file: &str, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command
        .current_dir(folder.path(""))
        .args(["-n", "-r", file, "-T", "fields"]);
    command.args([
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "tcp.check_checksum:TRUE",
    ]);
    if !filter.is_empty() {
        command.args(["-Y", filter]);
    }
    for field in fields {
        command.args(["-e", field]);
    }
    let ran = command.output().unwrap();
    let complaints: Vec<String> = String::from_utf8_lossy(&ran.stderr)
        .lines()
        .filter(|line| !line.starts_with("Running as user"))
        .map(str::to_owned)
        .collect();
    assert!(
        ran.status.success() && complaints.is_empty(),
        "{complaints:?}"
    );
    String::from_utf8(ran.stdout)
        .unwrap()
        .lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

#[test]
fn tshark_reads_both_files_without_complaint() {
    if Command::new("tshark").arg("--version").output().is_err() {
        skipped("no tshark on this machine");
        return;
    }
    let folder = folder();
    for run in RUNS {
        let (total, files, _) = capture(&folder, run);
        for (name, records) in ["run-sender.pcap", "run-receiver.pcap"]
            .into_iter()
            .zip(&files)
        {
            assert_eq!(
                tshark(&folder, name, "", &["frame.number"]).len(),
                records.len()
            );
            folder.write("whole.pcap", whole(&fs::read(folder.path(name)).unwrap()));
            let frames = tshark(
                &folder,
                "whole.pcap",
                "",
                &["ip.checksum.status", "tcp.checksum.status"],
            );
            assert!(
                frames.iter().all(|frame| frame[..] == ["1", "1"]),
                "{run} {name}"
            );
            let wrong = tshark(
                &folder,
                name,
                "_ws.malformed || _ws.short || _ws.expert.severity == 0x800000",
                &["frame.number"],
            );
            assert!(wrong.is_empty(), "{run} {name}: {wrong:?}");
        }
        // Nothing is missing where packets are sent, and nothing acknowledged that was not.
        let strange = "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment || tcp.analysis.keep_alive \
                       || tcp.analysis.zero_window || tcp.analysis.reused_ports";
        let strange = tshark(&folder, "run-sender.pcap", strange, &["frame.number"]);
        assert!(strange.is_empty(), "{run}: {strange:?}");
        let again = "tcp.len > 0 && (tcp.analysis.retransmission || tcp.analysis.fast_retransmission \
                     || tcp.analysis.spurious_retransmission || tcp.analysis.out_of_order)";
        let again = tshark(&folder, "run-sender.pcap", again, &["frame.number"]);
        assert_eq!(
            total["packets_retransmitted"].as_u64().unwrap(),
            again.len() as u64,
            "{run}"
        );
        let arrived = tshark(
            &folder,
            "run-receiver.pcap",
            "tcp.len > 0",
            &["frame.number"],
        );
        let sent = tshark(&folder, "run-sender.pcap", "tcp.len > 0", &["frame.number"]);
        assert_eq!(total["packets_sent"].as_u64().unwrap(), sent.len() as u64);
        assert!(arrived.len() <= sent.len());
    }
}

#[test]
fn a_packet_without_room_for_its_headers_is_refused() {
    for (profile, headers) in [("rfc", 40), ("linux", 52)] {
        for size in [headers, 65_536] {
            let run = tmt("tcp --link synthetic --rate 1Mbps --duration 1s --pcap run --profile")
                .arg(profile)
                .arg_list(&format!("--packet {size}B"))
                .run();
            let range = format!("expected {} B to 65535 B", headers + 1);
            run.fails(2, &["--pcap: found packets of", &range]);
        }
    }
    tmt("tcp --link synthetic --rate 1Mbps --duration 1s --pcap -")
        .run()
        .fails(2, &["--pcap -: found stdout"]);
}
