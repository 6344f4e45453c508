//! Input that would fill the memory is refused in little of it.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::{Folder, Ran, TMT, bash, finish, tmt, trace};
use tmt_core::format::Compression;
use tmt_core::format::compression::Compressor;

/// Commands that read a trace.
const READERS: [&str; 4] = [
    "inject --bernoulli 0.1",
    "stats",
    "apply --scheme arq",
    "tcp",
];

const GIGABYTE: usize = 1_000_000_000;
const PIECE: usize = 1 << 16;
const TOO_LONG: &str = "found a line of more than 1048576 bytes, expected a text trace";
/// Most memory a run that refuses its input may have taken, kB.
const LIMIT: u64 = 128 << 10;

/// Peak of a process's memory so far, kB; none where it has ended.
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    field(&status, "VmHWM:")
}

/// The same without the pages of the program file, whose number depends on the build.
fn peak_of_data(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    field(&status, "VmHWM:")?.checked_sub(field(&status, "RssFile:")?)
}

fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// A gigabyte of '1' behind `front`: what came of it, bytes that were taken, the highest peak seen, kB.
fn endless_line(command: &str, front: &'static [u8]) -> (Ran, usize, u64) {
    let mut child = Command::new(TMT)
        .args(command.split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let process = child.id();
    let writer = thread::spawn(move || {
        let piece = vec![b'1'; PIECE];
        let (mut written, mut highest) = (0, 0);
        if stdin.write_all(front).is_err() {
            return (written, highest);
        }
        while written < GIGABYTE && stdin.write_all(&piece).is_ok() {
            written += PIECE;
            highest = highest.max(peak(process).unwrap_or(0));
        }
        (written, highest)
    });
    let ran = finish(child);
    let (written, highest) = writer.join().unwrap();
    (ran, written, highest)
}

#[test]
fn a_line_without_an_end_is_refused_before_it_fills_the_memory() {
    for command in READERS {
        for front in [&b""[..], b"tx_time,decode_delay\n0,1\n", b"# tool: x\n"] {
            let (ran, written, highest) = endless_line(command, front);
            ran.fails(1, &[TOO_LONG]);
            assert!(written < GIGABYTE, "{command}: read to its end");
            assert!(highest > 0 && highest < LIMIT, "{command}: {highest} kB");
        }
    }
}

#[test]
fn a_line_without_an_end_in_a_small_file_is_refused_in_little_memory() {
    let folder = Folder::new();
    let mut gzip = Vec::new();
    Compressor::new(Compression::Gzip)
        .unwrap()
        .block(&vec![b'1'; 1 << 20], &mut gzip)
        .unwrap();
    folder.write("x.gz", gzip.repeat(GIGABYTE >> 20));
    let mut zstd = Vec::new();
    let mut compressor = Compressor::new(Compression::Zstd).unwrap();
    compressor.block(&vec![b'1'; 1 << 20], &mut zstd).unwrap();
    folder.write("x.zst", zstd.repeat(GIGABYTE >> 20));
    for name in ["x.gz", "x.zst"] {
        // Of memory that can be written to; addresses merely set aside differ from run to run.
        let script = format!("ulimit -d 65536; tmt --jobs 2 stats {name}");
        bash(&folder, &script).fails(1, &[TOO_LONG]);
    }
}

#[test]
fn many_schemes_over_a_trace_that_begins_with_erased_slots_take_little_memory() {
    // All of these slots are read ahead for the median delay, which the heads of the timelines have.
    let rows = |slot: u64| format!("{}.{:03},0\n", slot / 1000, slot % 1000);
    let mut text: String = (0..1 << 20).map(rows).collect();
    text += "1049,0.036\n1049.001,0\n";
    let folder = Folder::new();
    folder.write("phy.csv", text);
    let schemes: Vec<String> = (2..22).map(|n| format!("--scheme fec:{n}/30")).collect();
    let schemes = schemes.join(" ");
    let script = format!(
        "ulimit -d 196608; tmt --jobs 2 apply --summary-only --summary s.json {schemes} phy.csv"
    );
    bash(&folder, &script).ok();
    let summary: serde_json::Value = serde_json::from_str(&folder.read("s.json")).unwrap();
    assert_eq!(summary["results"].as_array().unwrap().len(), 20);
    assert_eq!(summary["results"][0]["slots_erased"], (1 << 20) + 1);
}

/// Most memory a run of `tmt tcp` may take for its data, kB.
const TCP_LIMIT: u64 = 24 << 10;

#[test]
fn tcp_over_a_timeline_that_is_too_long_for_memory_takes_little_of_it() {
    let folder = Folder::new();
    // 3.5 million LLDUs, 31 MB of them even at 9 bytes each.
    let mut text = String::from(
        "# rate_bps: 264000\n# lldu_bytes: 33\n# rtt_ns: 20000000\ntx_time,decode_delay,attempts\n",
    );
    for row in 0..3_500_000_u32 {
        let delay = if row % 50_000 == 7 { "0" } else { "0.002" };
        text += &format!("{}.{:03},{delay},1\n", row / 1000, row % 1000);
    }
    text += "# end: rows=3500000 slots=3500000 usable_until_ns=3499000000000\n";
    folder.write("long.csv", &text);
    for flags in [
        "",
        "--loop --duration 4000s",
        "--offsets 5 --duration 100s",
        "--seeds 2",
    ] {
        let mut command = Command::new(TMT);
        command
            .args(["--jobs", "2", "tcp", "--json"])
            .arg(folder.path("long.csv"))
            .args(flags.split_whitespace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let process = child.id();
        let watcher = thread::spawn(move || {
            let mut highest = 0;
            while let Some(now) = peak_of_data(process) {
                highest = highest.max(now);
                thread::sleep(Duration::from_millis(1));
            }
            highest
        });
        let ran = finish(child).ok();
        let highest = watcher.join().unwrap();
        assert!(
            ran.json()["results"]["runs"][0]["total"]["packets_delivered"].as_u64() > Some(1000)
        );
        assert!(highest > 0 && highest < TCP_LIMIT, "{flags}: {highest} kB");
    }
}

#[test]
fn every_reader_refuses_a_small_file_of_one_endless_line_in_little_memory() {
    let folder = Folder::new();
    let mut zstd = Vec::new();
    let mut compressor = Compressor::new(Compression::Zstd).unwrap();
    compressor.block(&vec![b'0'; 1 << 20], &mut zstd).unwrap();
    folder.write("x.zst", zstd.repeat(GIGABYTE >> 20));
    folder.write("phy.csv", trace(1000, 9));
    let coupled = "tcp --link coupled --scheme arq --packets packets.csv phy.csv";
    tmt(coupled).within(&folder).run().ok();
    // A field in quotes may have line ends.
    folder.write(
        "quoted.csv",
        [b"a,b\n\"".to_vec(), vec![b'\n'; 1 << 22]].concat(),
    );
    let row = "a row of more than 1048576 bytes";
    let commands = [
        ("summarise x.zst", row),
        ("summarise quoted.csv", row),
        ("audit x.zst", row),
        ("audit packets.csv --slots x.zst", row),
        (
            "synth FADES --fading-in x.zst",
            "more than 100000000B of text",
        ),
        (
            "synth FADES --error-curve x.zst",
            "more than 1048576B of text",
        ),
        (
            "advise --candidates @/dev/zero --channel bernoulli:0.05 --rate 1Mbps --lldu 100B --rtt 40ms",
            "more than 4194304B of text",
        ),
        ("sweep /dev/zero", "more than 4194304B of text"),
        ("tcp --params /dev/zero", "more than 4194304B of text"),
    ];
    for (command, limit) in commands {
        let command = command.replace("FADES", "--scenario hybrid-fading");
        let script = format!("ulimit -d 262144; tmt --jobs 2 {command}");
        bash(&folder, &script).fails(1, &[limit]);
    }
}
