//! Commands chained with pipes: what passes through, what a cut does, and what a reader that leaves does.

use std::io::Read as _;
use std::process::{Command, Stdio};

use test_support::{depth, seed};

use crate::common::{Folder, TMT, bash, finish, tmt, trace};

/// Half a second of the papers' link.
const SYNTH: &str =
    "tmt synth --rate 2.34Mbps --lldu 33B --duration 500ms --decode-delay 36ms --rtt 20ms";
/// The same without an end in sight.
const ENDLESS: &str =
    "tmt synth --rate 2.34Mbps --lldu 33B --duration 10h --decode-delay 36ms --rtt 20ms";

#[test]
fn the_whole_chain_runs_through_pipes() {
    let folder = Folder::new();
    let script = format!(
        "{SYNTH} | tmt inject --gilbert-elliott alpha=0.999,beta=0.9 --seed 7 \
         | tmt apply --scheme harq:10/12 --summary link.json | tmt tcp --cc cubic --packets log.csv --json"
    );
    let report = bash(&folder, &script).ok().json();
    let link: serde_json::Value = serde_json::from_str(&folder.read("link.json")).unwrap();
    assert_eq!(link["results"][0]["slots"], 4432);
    assert_eq!(report["params"]["rtt_ns"], 20_000_000);
    assert_eq!(report["params"]["scheme"], "harq:10/12");
    assert_eq!(report["params"]["lldu_bytes"], 33);
    assert!(
        report["results"]["runs"][0]["total"]["packets_delivered"]
            .as_u64()
            .unwrap()
            > 0
    );
    bash(&folder, "tmt audit < log.csv").ok();
}

#[test]
fn several_schemes_are_read_in_one_pass_and_each_file_feeds_a_run() {
    let folder = Folder::new();
    let script = format!(
        "mkdir out; {SYNTH} | tmt inject --bernoulli 0.01 --seed 7 \
         | tmt apply --scheme arq --scheme harq:10/12 --scheme fec:10/12,in-order -o 'out/{{scheme}}.csv'; \
         for scheme in arq harq-10-12 fec-10-12-in-order; do tmt tcp out/$scheme.csv > $scheme.txt || exit; done"
    );
    bash(&folder, &script).ok();
    assert!(folder.read("arq.txt").contains("goodput kbps"));
    assert!(
        folder
            .read("out/harq-10-12.csv")
            .contains("# scheme: harq:10/12\n")
    );
}

#[test]
fn a_reader_that_leaves_after_one_line_is_no_error_for_any_stage() {
    let folder = Folder::new();
    let endless = [
        (
            "seq 1 100000000 | tmt convert --from mahimahi --rtt 1ms | head -1".to_owned(),
            3,
        ),
        (format!("{ENDLESS} | head -1"), 2),
        (
            format!("{ENDLESS} | tmt inject --bernoulli 0.01 | head -1"),
            3,
        ),
        (format!("{ENDLESS} | tmt apply --scheme arq | head -1"), 3),
        (
            format!("{ENDLESS} | tmt inject --bernoulli 0.01 | tmt apply --scheme harq:10/12 | head -1"),
            4,
        ),
        (
            "tmt tcp --link synthetic --rate 20Mbps --duration 60s --packets - -o /dev/null | head -1"
                .to_owned(),
            2,
        ),
    ];
    for (chain, stages) in endless {
        let ran = bash(&folder, &format!("{chain}; echo ${{PIPESTATUS[*]}} >&2")).ok();
        assert!(ran.text().starts_with("# tool: tmt "), "{chain}");
        let mut codes = ran.stderr.lines().last().unwrap().split(' ');
        if chain.starts_with("seq") {
            // The shell's own tools die of the closed pipe.
            codes.next();
        }
        assert!(codes.all(|code| code == "0"), "{chain}: {}", ran.stderr);
        assert_eq!(
            ran.stderr.lines().last().unwrap().split(' ').count(),
            stages
        );
        assert!(!ran.stderr.contains("Broken"), "{chain}: {}", ran.stderr);
    }
}

#[test]
fn a_stdout_that_nobody_reads_is_no_error_for_any_command() {
    let folder = Folder::new();
    folder.write("phy.csv", trace(200, 10));
    let log = "tcp --link synthetic --rate 1Mbps --duration 1s --packets log.csv";
    tmt(log).within(&folder).run().ok();
    folder.write("opportunities.txt", "1\n2\n");
    for command in [
        "demo",
        "convert --from mahimahi opportunities.txt",
        "synth --rate 1Mbps --lldu 33B --duration 1s --decode-delay 1ms",
        "inject --bernoulli 0.1 phy.csv",
        "stats phy.csv",
        "stats --json phy.csv",
        "apply --scheme arq phy.csv",
        "apply --scheme arq --summary-only --summary - phy.csv",
        "tcp --link synthetic --rate 1Mbps --duration 1s",
        "tcp --link synthetic --rate 1Mbps --duration 1s --json",
        "audit log.csv",
        "completions zsh",
        "man tcp",
        "--help",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = tmt(command).within(&folder).run_into(writer).ok();
        assert!(!ran.stderr.contains("Broken"), "{command}: {}", ran.stderr);
    }
}

/// The chain over 118 MB of text, in no more than `memory` kB a stage.
///
/// The limit is on the memory that a stage can write to, its threads' stacks among it: the addresses that an allocator merely
/// sets aside for each thread differ from run to run.
fn long_chain(memory: u32) -> String {
    format!(
        "ulimit -d {memory}; set -o pipefail; \
         tmt --jobs 2 synth --rate 20Mbps --lldu 33B --duration 60s --decode-delay 36ms \
         | tmt --jobs 2 inject --bernoulli 0.01 | tmt --jobs 2 apply --scheme harq:10/12 \
         | tmt --jobs 2 stats --json"
    )
}

#[test]
#[cfg(target_os = "linux")]
fn a_chain_over_a_long_trace_needs_little_memory() {
    let folder = Folder::new();
    let ran = bash(&folder, &long_chain(65_536)).ok();
    assert_eq!(ran.results()["slots"], 3_787_828);
    assert_ne!(
        bash(&folder, &long_chain(8_192)).code,
        Some(0),
        "the limit limits nothing"
    );
}

#[test]
fn a_cut_pipe_is_told_by_every_command_and_leaves_no_file() {
    let folder = Folder::new();
    for command in [
        "inject --bernoulli 0.1",
        "stats",
        "apply --scheme arq",
        "apply --scheme frame-arq:10/12,rounds=3 --summary summary.json",
        "tcp --packets log.csv",
    ] {
        let script = format!("{SYNTH} | head -c 50000 | tmt {command} -o out.csv");
        let ran = bash(&folder, &script).fails(1, &["after ", " whole rows", "help: ", "cut"]);
        assert_eq!(folder.names(), [""; 0], "{command}: {}", ran.stderr);
    }
}

#[test]
fn a_cut_passes_down_the_whole_chain() {
    let folder = Folder::new();
    let script = format!(
        "{SYNTH} | head -c 50000 | tmt inject --bernoulli 0.01 | tmt apply --scheme arq | tmt tcp > report.txt; \
         echo ${{PIPESTATUS[*]}}"
    );
    let ran = bash(&folder, &script).ok();
    assert_eq!(ran.text(), "0 0 1 1 1\n", "{}", ran.stderr);
    assert_eq!(folder.read("report.txt"), "");
}

/// Asserts that `tmt stats` takes `whole` and refuses all that a cut leaves of it.
fn refused_wherever_cut(whole: &[u8]) {
    tmt("stats").input(whole).run().ok();
    let step = depth(4, 1);
    let first = usize::try_from(seed()).unwrap() % step;
    // Without its last line end the text still says all it has to say.
    for length in 0..whole.len() - 1 {
        let is_near_an_end = whole[length.saturating_sub(2)..length + 2].contains(&b'\n');
        if length % step != first && !is_near_an_end {
            continue;
        }
        let ran = tmt("stats").input(&whole[..length]).run();
        assert_eq!(
            (ran.code, ran.text()),
            (Some(1), ""),
            "cut after {length} bytes: {:?}",
            String::from_utf8_lossy(&whole[..length])
        );
    }
}

#[test]
fn wherever_a_trace_with_a_head_is_cut_the_next_stage_refuses_it() {
    refused_wherever_cut(trace(6, 4).as_bytes());
}

#[test]
fn wherever_a_timeline_with_a_head_is_cut_the_next_stage_refuses_it() {
    let timeline = tmt("apply --scheme arq").input(trace(6, 3)).run().ok();
    refused_wherever_cut(&timeline.stdout);
}

#[test]
fn wherever_a_timeline_that_ends_in_repeats_is_cut_the_next_stage_refuses_it() {
    let phy = "# tool: hand 1\n0,0\n1,0\n2,0.1\n# end: rows=3 slots=3 usable_until_ns=2000000000\n";
    let timeline = tmt("apply --scheme arq --rtt 0s").input(phy).run().ok();
    refused_wherever_cut(&timeline.stdout);
}

#[test]
fn a_stage_that_is_killed_makes_the_next_one_fail() {
    let folder = Folder::new();
    let mut upstream = Command::new("bash")
        .args(["-c", &format!("exec {}", ENDLESS.replacen("tmt", TMT, 1))])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut downstream = Command::new(TMT)
        .args(["apply", "--scheme", "harq:10/12"])
        .current_dir(folder.path(""))
        .stdin(upstream.stdout.take().unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut early = vec![0; 1 << 20];
    let mut stdout = downstream.stdout.take().unwrap();
    stdout.read_exact(&mut early).unwrap();
    upstream.kill().unwrap();
    upstream.wait().unwrap();
    downstream.stdout = Some(stdout);
    let ran = finish(downstream).fails(1, &["after ", " whole rows"]);
    assert!(!ran.text().contains("# end:"), "the output looks whole");
}

#[test]
fn a_stage_that_fails_makes_the_next_one_fail() {
    let folder = Folder::new();
    folder.write(
        "bad.csv",
        trace(100, 10).replace("0.050000000,", "0.050000000,x"),
    );
    let ran = bash(
        &folder,
        "tmt inject --bernoulli 0.1 bad.csv | tmt apply --scheme arq -o out.csv; echo ${PIPESTATUS[*]}",
    );
    assert_eq!(ran.text(), "1 1\n");
    ran.says(&[
        "tmt inject: bad.csv:57:13: decode_delay: found 'x",
        "tmt apply: <stdin>",
    ]);
    assert_eq!(folder.names(), ["bad.csv"]);
}

#[test]
fn allow_cut_uses_the_rows_that_are_there_and_says_so() {
    let folder = Folder::new();
    for command in [
        "inject --bernoulli 0.1 --seed 1",
        "stats",
        "apply --scheme arq",
        "tcp",
    ] {
        let script = format!("{SYNTH} | head -c 50000 | tmt {command} --allow-cut");
        let ran = bash(&folder, &script).ok();
        assert!(
            ran.stderr
                .contains("<stdin> has no end line: it was cut (--allow-cut)"),
            "{command} does not say that its input was cut:\n{}",
            ran.stderr
        );
    }
}

#[test]
fn allow_cut_gives_what_the_whole_rows_alone_would() {
    let whole = trace(50, 5);
    let head = whole.split("tx_time").next().unwrap();
    let rows: Vec<&str> = whole.lines().skip(6).take(20).collect();
    let kept = rows.join("\n") + "\n";
    let expected = format!(
        "{head}tx_time,decode_delay\n{kept}# end: rows=20 slots=20 usable_until_ns=19000000\n"
    );
    let cut = format!("{head}tx_time,decode_delay\n{kept}0.020000000,0.00");
    for command in ["apply --scheme arq", "inject --bernoulli 0.1"] {
        let whole = tmt(command).input(expected.as_bytes()).run().ok();
        let allowed = tmt(command)
            .arg("--allow-cut")
            .input(cut.as_bytes())
            .run()
            .ok();
        assert_eq!(allowed.text(), whole.text(), "{command}");
    }
    tmt("apply --scheme arq --allow-cut")
        .input(head.as_bytes())
        .run()
        .fails(1, &["found no row"]);
}
