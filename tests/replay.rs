//! `tmt replay`: real commands between the namespaces, exit codes, and nothing left behind.

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::common::{Folder, Ran, bash, rows, skipped, tmt};

/// Whether this machine has network namespaces and TUN devices. `.ci/long` requires them.
fn is_possible() -> bool {
    let unshared = Command::new("unshare").args(["-Urnp", "true"]).status();
    let possible = unshared.is_ok_and(|status| status.success())
        && fs::exists("/dev/net/tun").unwrap_or(false);
    assert!(
        possible || !test_support::depth(false, true),
        "no namespaces or no /dev/net/tun"
    );
    if !possible {
        skipped("no network namespaces or no /dev/net/tun");
    }
    possible
}

/// A server that sends as many bytes as it is asked for, and a client that asks it.
const SERVER: &str = "import os, socket
s = socket.create_server((os.environ['TMT_FAR'], 5000))
c, _ = s.accept()
n = int(c.recv(99))
c.sendall(bytes(n))
c.close()
import time
time.sleep(60)
";
const CLIENT: &str = "import os, socket, sys
s = socket.create_connection((os.environ['TMT_FAR'], 5000))
s.sendall(sys.argv[1].encode())
n = 0
while d := s.recv(1 << 16):
    n += len(d)
print('received', n)
";

/// A server that returns datagrams, and a client that sends 200 of them.
const ECHO: &str = "import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((os.environ['TMT_FAR'], 5000))
while True:
    data, peer = s.recvfrom(100)
    s.sendto(data, peer)
";
const CALLS: &str = "import os, socket, time
time.sleep(0.5)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(200):
    s.sendto(b'%d' % number, (os.environ['TMT_FAR'], 5000))
    time.sleep(0.001)
time.sleep(0.2)
";

/// A folder with server, client, and a trace of 5 Mbit/s in slots of 32 B; one in fifty is erased.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("server.py", SERVER);
    folder.write("client.py", CLIENT);
    let made = bash(
        &folder,
        "tmt synth --rate 5Mbps --lldu 32B --duration 20s --decode-delay 1ms | tmt inject --channel bernoulli:0.02 > phy.csv",
    );
    made.ok();
    folder
}

/// Transfers 200 kB over a link with these flags. Other programs may take the processor: lateness is no matter here.
fn transfer(folder: &Folder, flags: &str) -> Ran {
    bash(
        folder,
        &format!(
            "tmt replay {flags} --rtt 20ms --max-lateness 10s --at-end stop --far 'exec python3 server.py' -- python3 client.py 200000"
        ),
    )
}

#[test]
fn tcp_of_the_kernel_crosses_a_timeline_and_the_audit_accepts_the_log() {
    if !is_possible() {
        return;
    }
    let folder = folder();
    let flags = "--down phy.csv --scheme harq:10/12 --packets log.csv --pcap cap";
    let ran = transfer(&folder, flags).ok();
    assert!(ran.text().contains("received 200000"), "{ran:?}");
    let audited = bash(
        &folder,
        "tmt apply --scheme harq:10/12 --rtt 20ms phy.csv > timeline.csv && tmt audit --timeline timeline.csv log-down.csv",
    );
    assert!(audited.ok().text().contains("every rule holds"));
}

#[test]
fn tcp_of_the_kernel_crosses_a_coupled_link_in_both_directions() {
    if !is_possible() {
        return;
    }
    let folder = folder();
    let flags = "--down phy.csv --up phy.csv --link coupled --scheme harq:10/12 --in-order flow --packets log.csv --slots slots.csv";
    transfer(&folder, flags).ok();
    for direction in ["down", "up"] {
        let script = format!("tmt audit --slots slots-{direction}.csv log-{direction}.csv");
        bash(&folder, &script).ok();
    }
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    if !is_possible() {
        return;
    }
    for (script, code) in [
        ("exit 0", 0),
        ("exit 7", 7),
        ("kill -9 $$", 137),
        ("kill $$", 143),
    ] {
        let ran = tmt("replay --rtt 1ms -- sh -c").arg(script).run();
        assert_eq!(ran.code, Some(code), "{script}: {ran:?}");
    }
    tmt("replay --rtt 1ms -- no-such-command")
        .run()
        .fails(127, &["no-such-command"]);
    tmt("replay --rtt 1ms -- /etc").run().fails(126, &["/etc"]);
}

#[test]
fn addresses_and_mtu_are_those_of_the_link() {
    if !is_possible() {
        return;
    }
    // SIOCGIFMTU.
    let mtu = "import fcntl, socket, struct; r = fcntl.ioctl(socket.socket(), 0x8921, struct.pack('16s16x', b'tmt0')); print('mtu', struct.unpack('16xi12x', r)[0])";
    let script = format!("echo $TMT_NEAR $TMT_FAR $TMT_NEAR_6 $TMT_FAR_6; python3 -c \"{mtu}\"");
    let ran = tmt("replay --rtt 1ms --packet 1400B -- sh -c")
        .arg(script)
        .run()
        .ok();
    assert!(
        ran.text()
            .starts_with("198.18.0.1 198.18.0.2 2001:2::1 2001:2::2\n"),
        "{ran:?}"
    );
    assert!(ran.text().ends_with("\nmtu 1400\n"), "{ran:?}");
}

/// Flags that say nothing of any direction are refused before anything runs.
#[test]
fn flags_without_their_link_are_refused() {
    for (flags, words) in [
        ("--down-queue codel", ["--down-queue", "--down-rate"]),
        ("--up-buffer 5pkt", ["--up-buffer", "--up-rate"]),
        ("--queue codel", ["--queue", "--down-rate"]),
        ("--packets log.csv", ["--packets", "--down-rate"]),
        ("--down-rate 5Mbps --scheme arq", ["--scheme", "slots"]),
        (
            "--down-rate 5Mbps --link coupled",
            ["--link coupled", "slots"],
        ),
        ("--down-rate 5Mbps --slots s.csv", ["--slots", "slots"]),
        (
            "--down-rate 5Mbps --down-scheme arq",
            ["--down-scheme", "slots"],
        ),
        (
            "--down-rate 5Mbps --queue red:min-th=20",
            ["min-th=20", "max-th=15"],
        ),
    ] {
        let ran = tmt(&format!("replay --rtt 1ms {flags} -- true")).run();
        ran.fails(2, &words);
    }
}

#[test]
fn losses_of_both_directions_are_independent() {
    if !is_possible() {
        return;
    }
    let folder = Folder::new();
    let flags = "--down-rate 50Mbps --up-rate 50Mbps --down-loss bernoulli:0.3 --up-loss bernoulli:0.3 --packets log.csv";
    folder.write("echo.py", ECHO);
    folder.write("calls.py", CALLS);
    let script = format!(
        "tmt replay {flags} --rtt 2ms --max-lateness 10s --far 'exec python3 echo.py' -- python3 calls.py"
    );
    bash(&folder, &script).ok();
    let fates = |direction: &str| -> Vec<bool> {
        let log = folder.read(&format!("log-{direction}.csv"));
        let rows = log.lines().filter(|line| !line.starts_with('#')).skip(1);
        rows.take(80).map(|row| row.contains(",link,")).collect()
    };
    let (down, up) = (fates("down"), fates("up"));
    assert!(
        down.len() >= 40 && up.len() >= 40,
        "{} {}",
        down.len(),
        up.len()
    );
    let lost = |fates: &[bool]| fates.iter().filter(|lost| **lost).count();
    assert!(lost(&down) > 5 && lost(&up) > 5);
    assert!(down.iter().zip(&up).any(|(a, b)| a != b));
}

#[test]
fn a_trace_that_ends_ends_the_run() {
    if !is_possible() {
        return;
    }
    let folder = folder();
    let script = "tmt slice --until 1s phy.csv > short.csv && tmt replay --down short.csv --rtt 20ms --scheme arq --at-end stop -- sleep 60";
    bash(&folder, script).fails(
        1,
        &["down: the trace ended before the command", "--at-end loop"],
    );
}

#[test]
fn late_packets_make_a_run_invalid() {
    if !is_possible() {
        return;
    }
    let script =
        "exec 3<>/dev/udp/$TMT_FAR/9; for i in 1 2 3; do echo x >&3; sleep 0.1; done; exit 7";
    let ran = tmt("replay --rtt 20ms --max-lateness 1ns -- bash -c")
        .arg(script)
        .run();
    ran.fails(
        1,
        &["the command ended with 7", "invalid run", "--max-lateness"],
    );
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    for (flags, words) in [
        ("--scheme arq -- true", "--down or --up"),
        ("--down - -- true", "stdin"),
        ("--down-loss bernoulli:0.1 -- true", "--down-rate"),
        ("--max-lateness 0s -- true", "above 0"),
        ("--shell -- true", "cannot be used"),
    ] {
        tmt("replay").arg_list(flags).run().fails(2, &[words]);
    }
}

/// Devices, addresses, routes, rules, settings and namespaces of the host, a line each. Times of life and counters change by
/// themselves.
#[cfg(target_os = "linux")]
fn state() -> Vec<String> {
    let script = "export LC_ALL=C; ip -o link; ip -o addr; ip route show table all; ip -6 route show table all | grep -v proto.ra; ip rule; \
                  sysctl -a 2>/dev/null | grep '^net\\.' | grep -v -E 'nf_conntrack_count|\\.stable_secret|random|nr_|_mem ='; \
                  ls /run/netns 2>/dev/null; ls /sys/class/net";
    let shown = Command::new("bash").arg("-c").arg(script).output().unwrap();
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let lines = text.lines().map(|line| {
        let line = line.split(" valid_lft").next().unwrap_or_default();
        line.split(" expires").next().unwrap_or_default().to_owned()
    });
    lines.collect()
}

/// Whether `ip` and `sysctl` show the state of the host.
#[cfg(target_os = "linux")]
fn state_is_shown() -> bool {
    let shown = state().iter().any(|line| line.contains("LOOPBACK"));
    if !shown {
        skipped("`ip` shows no devices of this machine");
    }
    shown
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_of_the_host_changes_during_a_run_or_after_it() {
    if !is_possible() || !state_is_shown() {
        return;
    }
    let folder = folder();
    let before = state();
    let flags = "--down phy.csv --scheme harq:10/12 --up-rate 10Mbps --packets log.csv --pcap cap --series series.csv";
    let script = format!(
        "tmt replay {flags} --rtt 20ms --max-lateness 10s --far 'exec python3 server.py' -- sh -c 'python3 client.py 100000; sleep 2'"
    );
    let during = std::thread::scope(|scope| {
        let run = scope.spawn(|| bash(&folder, &script));
        std::thread::sleep(Duration::from_millis(1500));
        let during = state();
        assert!(run.join().unwrap().ok().text().contains("received 100000"));
        during
    });
    // Other programs may change something meanwhile, but nothing that names what the run made.
    let is_of_run = |line: &&String| line.contains("tmt0") || line.contains("198.18.");
    assert_eq!(during.iter().find(is_of_run), None);
    let after = state();
    let gone: Vec<&String> = before.iter().filter(|line| !after.contains(line)).collect();
    let left: Vec<&String> = after.iter().filter(|line| !before.contains(line)).collect();
    assert!(
        gone.is_empty() && left.is_empty(),
        "gone {gone:?}, left {left:?}"
    );
}

#[test]
fn the_series_has_the_senders_of_both_ends_as_the_kernel_reports_them() {
    if !is_possible() {
        return;
    }
    let folder = folder();
    let flags = "--down phy.csv --scheme harq:10/12 --series series.csv --series-interval 20ms";
    transfer(&folder, flags).ok();
    let far = rows(&folder.read("series-far.csv"));
    let number = |row: &std::collections::BTreeMap<String, String>, name: &str| -> f64 {
        row[name].parse().unwrap()
    };
    assert!(far.len() > 5, "{far:?}");
    let last = far.last().unwrap();
    // 200 kB are 139 segments of 1448 B; the last sample may be before the last ACK.
    assert!(number(last, "delivered") > 50.0 && number(last, "delivered") <= 139.0);
    assert!(
        far.iter()
            .all(|row| row["flow"] == "0" && row["event"] == "sample")
    );
    let srtt = number(last, "srtt_s");
    assert!(srtt > 0.02 && srtt < 5.0, "{srtt}");
    let times: Vec<f64> = far.iter().map(|row| number(row, "time_s")).collect();
    assert!(times.is_sorted());
    assert!(number(&far[0], "cwnd") >= 10.0);
    // The near end has sent a request of a few bytes.
    let near = rows(&folder.read("series-near.csv"));
    assert!(near.iter().all(|row| number(row, "delivered") <= 1.0));
    tmt("plot series-far.csv").within(&folder).run().ok();
    tmt("replay --rtt 1ms --series s.csv --series-interval 0s -- true")
        .run()
        .fails(2, &["--series-interval", "1ms"]);
}

#[test]
fn the_model_runs_on_the_losses_of_a_replay() {
    if !is_possible() {
        return;
    }
    let folder = folder();
    let flags = "--down-rate 2Mbps --down-loss bernoulli:0.03 --packets log.csv";
    transfer(&folder, flags).ok();
    let compared = tmt("tcp --cc cubic --compare-log log-down.csv --json").within(&folder);
    let results = compared.run().ok().results();
    assert_eq!(results["hosts"], "real");
    let lost = |run: &str| results[run]["packets_lost"].as_u64().unwrap();
    assert!(lost("recorded") > 0);
    // The model ends at the same time; what it had not sent by then cannot be lost.
    assert!(lost("model") <= lost("recorded"), "{results}");
    assert!(results["model"]["packets_delivered"].as_u64() > Some(50));
}

/// Number of processes whose command line has a word that only the runs have.
#[cfg(target_os = "linux")]
fn processes(word: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| String::from_utf8_lossy(line).contains(word))
        .count()
}

/// A hundred runs, several at a time, killed at random moments by several signals.
#[test]
#[ignore = "some two minutes"]
#[cfg(target_os = "linux")]
fn nothing_is_left_of_runs_that_were_killed() {
    use std::process::Stdio;

    if !is_possible() {
        return;
    }
    let mut draw = test_support::seed();
    let before = state();
    let word = format!("sleep 98765.{}", std::process::id());
    for round in 0..50 {
        let start = || {
            Command::new(env!("CARGO_BIN_EXE_tmt"))
                .args(["replay", "--rtt", "20ms", "--down-rate", "1Mbps"])
                .args(["--far", &word, "--", "sh", "-c"])
                .arg(format!("({word} &) ; (setsid {word} &) ; {word}"))
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        };
        let mut both = [start(), start()];
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_millis(draw >> 56));
        let signal = ["KILL", "TERM", "KILL", "HUP"][round % 4];
        for run in &mut both {
            let pid = run.id().to_string();
            Command::new("kill")
                .args(["-s", signal, &pid])
                .status()
                .unwrap();
            run.wait().unwrap();
        }
        let mut left = usize::MAX;
        for _ in 0..200 {
            left = processes(&word);
            if left == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(left, 0, "round {round}, SIG{signal}");
    }
    assert_eq!(state(), before);
}

/// Sends a datagram every second for ten minutes, and prints when.
const CLOCK: &str = "import os, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(601):
    print(time.monotonic_ns())
    s.sendto(b'tick', (os.environ['TMT_FAR'], 5000))
    time.sleep(1)
";

#[test]
#[ignore = "ten minutes"]
fn time_does_not_drift() {
    if !is_possible() {
        return;
    }
    let folder = Folder::new();
    folder.write("clock.py", CLOCK);
    let flags =
        "replay --rtt 2ms --up-rate 1Mbps --packets log.csv --max-lateness 10s -- python3 clock.py";
    let ran = tmt(flags).within(&folder);
    let ran = ran.patience(Duration::from_mins(15)).run().ok();
    let told: Vec<i64> = ran
        .text()
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    let log = folder.read("log-up.csv");
    let rows: Vec<_> = rows(&log)
        .into_iter()
        .filter(|row| row["size_bytes"] == "32")
        .collect();
    assert_eq!((told.len(), rows.len()), (601, 601));
    let nanos = |name: &str, row: usize| -> i64 {
        let seconds: f64 = rows[row][name].parse().unwrap();
        #[expect(clippy::cast_possible_truncation, reason = "some minutes in ns")]
        let nanos = (seconds * 1e9).round() as i64;
        nanos
    };
    // The least delay of a tenth of the run to the log: other programs can only add to it.
    let least = |name: &str, range: std::ops::Range<usize>| {
        let delays = range.map(|row| nanos(name, row) - told[row]);
        delays.min().unwrap()
    };
    for name in ["sent_s", "delivered_s"] {
        let drift = least(name, 540..601) - least(name, 0..60);
        assert!(drift.abs() < 1_000_000, "{name}: {drift} ns");
    }
}
