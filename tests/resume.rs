//! Sweeps that are killed, stopped by a full disk, or begun with something else, and then resumed.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use test_support::depth;

use crate::common::{Folder, TMT, bash, finish, tmt, trace};

/// A sweep of a second or so.
const PLAN: &str = "sweep --scheme arq,in-order,harq:10/12 --cc newreno,cubic:beta=0.8 \
    --loss bernoulli:1e-3..1e-2:log:3 --rate 2Mbps --duration 30s --seeds 6";

/// The same with a rule for stopping.
const STOP: &str = "--stop goodput_bps:5%,min=3";

/// A sweep whose tasks have several runs; the rule for stopping does not need all of them.
const CHUNKS: &str = "sweep --cc newreno,cubic:beta=0.8 --loss bernoulli:1e-3..1e-2:log:3 \
    --rate 2Mbps --duration 30s --seeds 24 --stop goodput_bps:5%,min=3";

/// Numbers that look random, from 0 to 1.
struct Moments(u64);

impl Moments {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 32).unwrap()) / f64::from(u32::MAX)
    }
}

/// `tmt` with these arguments, begun.
fn begin(folder: &Folder, arguments: &str) -> Child {
    let mut command = Command::new(TMT);
    command
        .args(arguments.split_whitespace())
        .current_dir(folder.path(""));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a test waits is no part of what it computes"
)]
fn now() -> Instant {
    Instant::now()
}

/// Output of an undisturbed run, and the time it takes.
fn undisturbed(folder: &Folder, plan: &str) -> (Vec<u8>, Duration) {
    let start = now();
    tmt(&format!("{plan} -o undisturbed.parquet"))
        .within(folder)
        .run()
        .ok();
    let bytes = fs::read(folder.path("undisturbed.parquet")).unwrap();
    (bytes, start.elapsed())
}

/// Names of all that is in `folder`, but for a table whose writing was killed.
fn files(folder: &Folder) -> Vec<String> {
    let mut names = folder.names();
    names.retain(|name| !name.starts_with(".tmt-"));
    names
}

/// Kills `--resume` at `kills` random moments, beginning again whenever a sweep is complete, and compares every result.
fn killed(plan: &str, kills: u32, seed: u64) {
    let folder = Folder::new();
    let (expected, took) = undisturbed(&folder, plan);
    let mut moments = Moments(seed);
    let mut left = kills;
    let mut complete = 0;
    while left > 0 || complete == 0 {
        let mut child = begin(&folder, &format!("{plan} -o results.parquet --resume"));
        if left > 0 {
            // A few moments of every sweep; the last ones are those in which its table is written.
            thread::sleep(took.mul_f64(0.7 * moments.next()));
            child.kill().unwrap();
        }
        let ran = finish(child);
        if ran.code.is_none() {
            left -= 1;
            continue;
        }
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(
            fs::read(folder.path("results.parquet")).unwrap(),
            expected,
            "after {left} of {kills} kills"
        );
        assert_eq!(files(&folder), ["results.parquet", "undisturbed.parquet"]);
        fs::remove_file(folder.path("results.parquet")).unwrap();
        complete += 1;
    }
}

/// The same for shards; any of them may be killed.
fn killed_shards(plan: &str, kills: u32, seed: u64) {
    const SHARDS: u32 = 3;
    let folder = Folder::new();
    let (expected, took) = undisturbed(&folder, plan);
    let mut moments = Moments(seed);
    let mut left = kills;
    let mut open: Vec<u32> = (1..=SHARDS).collect();
    while !open.is_empty() {
        let begun: Vec<(u32, Child)> = open
            .iter()
            .map(|shard| {
                (
                    *shard,
                    begin(
                        &folder,
                        &format!("{plan} --shard {shard}/{SHARDS} --jobs 1 -o results.parquet"),
                    ),
                )
            })
            .collect();
        open.clear();
        for (shard, mut child) in begun {
            if left > 0 {
                thread::sleep(took.mul_f64(0.3 * moments.next()));
                child.kill().unwrap();
            }
            let ran = finish(child);
            if ran.code.is_none() {
                left -= 1;
                open.push(shard);
            } else {
                assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            }
        }
    }
    let merged = tmt(&format!("{plan} -o results.parquet --resume"))
        .within(&folder)
        .run()
        .ok();
    assert!(
        !merged.stderr.contains("without records"),
        "{}",
        merged.stderr
    );
    assert_eq!(fs::read(folder.path("results.parquet")).unwrap(), expected);
    assert_eq!(folder.names(), ["results.parquet", "undisturbed.parquet"]);
}

#[test]
fn a_killed_sweep_resumes_to_the_same_bytes() {
    killed(&format!("{PLAN} --jobs 1"), 3, 1);
    killed(&format!("{CHUNKS} --jobs 2"), 3, 2);
}

#[test]
fn killed_shards_resume_to_the_same_bytes() {
    killed_shards(PLAN, 3, 3);
}

#[test]
#[ignore = "minutes; .ci/long runs it"]
fn sweeps_killed_at_twenty_moments_resume_to_the_same_bytes() {
    for (number, jobs) in [(10, "--jobs 1"), (20, "--jobs 2")] {
        killed(&format!("{PLAN} {jobs}"), 20, number);
        killed(&format!("{PLAN} {STOP} {jobs}"), 20, number + 1);
        killed(&format!("{CHUNKS} {jobs}"), 20, number + 2);
    }
    killed_shards(PLAN, 20, 30);
    killed_shards(&format!("{PLAN} {STOP}"), 20, 31);
}

#[test]
fn a_sweep_killed_as_its_table_appears_resumes_to_the_same_bytes() {
    let folder = Folder::new();
    let (expected, _) = undisturbed(&folder, PLAN);
    let mut child = begin(&folder, &format!("{PLAN} -o results.parquet"));
    while !folder.path("results.parquet").exists() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_micros(50));
    }
    child.kill().unwrap();
    finish(child);
    assert_eq!(fs::read(folder.path("results.parquet")).unwrap(), expected);
    resumed(&folder, &expected);
    let partial = folder.path("results.parquet.partial");
    assert!(!partial.exists());
}

/// Resumes the sweep of `PLAN`, whose table must be `expected`.
#[track_caller]
fn resumed(folder: &Folder, expected: &[u8]) {
    tmt(&format!("{PLAN} -o results.parquet --resume"))
        .within(folder)
        .run()
        .ok();
    assert_eq!(fs::read(folder.path("results.parquet")).unwrap(), expected);
}

/// A sweep that has the records of some cells.
fn interrupted(folder: &Folder, plan: &str) {
    tmt(&format!("{plan} --shard 1/3 -o results.parquet"))
        .within(folder)
        .run()
        .ok();
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let folder = Folder::new();
    let (expected, _) = undisturbed(&folder, PLAN);
    // The limit of the size of a file stands for the disk: KiB of the plan, of records, of the table.
    let all = [(0, 0), (16, 3), (16, 0), (64, 0)];
    for &(limit, shards) in &all[..depth(2, 4)] {
        for shard in 1..=shards {
            tmt(&format!(
                "{PLAN} --shard {shard}/{shards} -o results.parquet"
            ))
            .within(&folder)
            .run()
            .ok();
        }
        bash(
            &folder,
            &format!("ulimit -f {limit}; tmt {PLAN} -o results.parquet --resume"),
        )
        .fails(1, &["File too large"]);
        assert_eq!(
            folder.names(),
            ["results.parquet.partial", "undisturbed.parquet"],
            "{limit}"
        );
        resumed(&folder, &expected);
        assert_eq!(folder.names(), ["results.parquet", "undisturbed.parquet"]);
        fs::remove_file(folder.path("results.parquet")).unwrap();
    }
}

#[test]
fn another_plan_trace_or_version_is_refused() {
    let folder = Folder::new();
    folder.write("trace.csv", trace(30_000, 50));
    let plan = "sweep --scheme arq --cc newreno,cubic --trace trace.csv --offsets 4 --duration 5s";
    let resume = |plan: &str| {
        tmt(&format!("{plan} -o results.csv --resume"))
            .within(&folder)
            .run()
    };
    tmt(&format!("{plan} --shard 1/2 -o results.csv"))
        .within(&folder)
        .run()
        .ok();
    let records = || folder.read("results.csv.partial/shard-1-of-2-0001.jsonl");
    let kept = records();
    for (other, words) in [
        (
            plan.replace("newreno,cubic", "newreno,cubic,bbr"),
            ["cc was", "bbr"],
        ),
        (
            plan.replace("--offsets 4", "--offsets 5"),
            ["offsets was", "5"],
        ),
        (
            format!("{plan} --rtt 600ms"),
            ["rtt was not given and is", "600ms"],
        ),
        (
            plan.replace("--duration 5s", "--duration 5s --stop goodput_bps:2%")
                .replace("--offsets", "--seeds"),
            ["offsets was", "stop was not given"],
        ),
    ] {
        resume(&other)
            .fails(1, &words)
            .says(&["use another --output, or remove"]);
    }
    let listed =
        "sweep --cc newreno,cubic --scheme arq --trace trace.csv --offsets 4 --duration 5s";
    resume(listed).fails(1, &["order of the axes"]);
    folder.write("trace.csv", trace(30_000, 60));
    resume(plan).fails(1, &["content of trace.csv was"]);
    folder.write("trace.csv", trace(30_000, 50));
    let known = folder.read("results.csv.partial/plan.txt");
    let (_, rest) = known.split_once('\n').unwrap();
    folder.write(
        "results.csv.partial/plan.txt",
        format!("version = tmt 0.0.1\n{rest}"),
    );
    resume(plan).fails(1, &["version was tmt 0.0.1 and is tmt"]);
    folder.write("results.csv.partial/plan.txt", &known);
    tmt(&format!("{plan} -o results.csv"))
        .within(&folder)
        .run()
        .fails(
            1,
            &["8 finished runs"].map(|_| "finished runs of an interrupted sweep"),
        );
    assert_eq!(records(), kept);
    resume(plan).ok();
    tmt(&format!("{plan} -o undisturbed.csv"))
        .within(&folder)
        .run()
        .ok();
    assert_eq!(folder.read("results.csv"), folder.read("undisturbed.csv"));
}

#[test]
fn two_sweeps_into_one_file_are_refused() {
    let folder = Folder::new();
    let plan = PLAN.replace("30s", "300s");
    let begun = |arguments: &str| {
        let child = begin(&folder, &format!("{plan} {arguments} -o results.parquet"));
        let partial = folder.path("results.parquet.partial");
        let has_begun = || {
            let mut entries = fs::read_dir(&partial).into_iter().flatten().flatten();
            entries.any(|entry| {
                entry
                    .path()
                    .extension()
                    .is_some_and(|ending| ending == "jsonl")
            })
        };
        while !has_begun() {
            thread::sleep(Duration::from_millis(1));
        }
        child
    };
    let run = |arguments: &str| {
        tmt(&format!("{plan} {arguments} -o results.parquet"))
            .within(&folder)
            .run()
    };
    let end = |mut child: Child| {
        child.kill().unwrap();
        finish(child);
        fs::remove_dir_all(folder.path("results.parquet.partial")).unwrap();
    };
    let first = begun("");
    run("").fails(1, &["found another sweep that writes the same file"]);
    run("--resume").fails(1, &["found another sweep"]);
    run("--shard 1/2").fails(1, &["found another sweep"]);
    end(first);
    let shard = begun("--shard 1/2");
    run("--resume").fails(1, &["found another sweep"]);
    run("--shard 1/2").fails(1, &["found another sweep"]);
    end(shard);
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

/// A shard counts its own runs, whoever has run them, and does not look into the files of the others.
#[test]
fn a_shard_takes_the_records_of_its_cells() {
    let folder = Folder::new();
    let (expected, _) = undisturbed(&folder, PLAN);
    let shard = |shard: &str| {
        tmt(&format!("{PLAN} --shard {shard} -o results.parquet"))
            .within(&folder)
            .run()
    };
    shard("1/3")
        .ok()
        .says(&["shard-1-of-3: 24 runs done, 0 found"]);
    shard("2/3")
        .ok()
        .says(&["shard-2-of-3: 24 runs done, 0 found"]);
    // Of the 12 cells, 0, 3 … and 1, 4 … are there; cells 0, 2 … are of this one.
    shard("1/2")
        .ok()
        .says(&["shard-1-of-2: 12 runs done, 24 found"]);
    shard("1/2")
        .ok()
        .says(&["shard-1-of-2: 0 runs done, 36 found"]);
    resumed(&folder, &expected);
}

/// Tasks under a rule for stopping have four runs.
#[test]
fn runs_beyond_the_rule_for_stopping_are_dropped_after_resuming() {
    let folder = Folder::new();
    let plan = CHUNKS.replace("5%,min=3", "500%,min=3");
    tmt(&format!("{plan} --shard 1/2 -o results.csv"))
        .within(&folder)
        .run()
        .ok();
    tmt(&format!("{plan} -o results.csv --resume"))
        .within(&folder)
        .run()
        .ok();
    assert_eq!(folder.read("results.csv").lines().count(), 1 + 6 * 3);
}

#[test]
fn records_that_vanish_are_missed() {
    let folder = Folder::new();
    let child = begin(&folder, &format!("{PLAN} -o results.parquet"));
    let journal = folder.path("results.parquet.partial/sweep-0001.jsonl");
    while fs::metadata(&journal).map_or(0, |file| file.len()) == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    fs::remove_file(&journal).unwrap();
    finish(child);
    assert!(!folder.path("results.parquet").exists());
    tmt(&format!("{PLAN} -o results.parquet --resume"))
        .within(&folder)
        .run()
        .ok();
}

#[test]
fn a_line_that_is_cut_runs_again_and_a_damaged_one_is_named() {
    let folder = Folder::new();
    let (expected, _) = undisturbed(&folder, PLAN);
    interrupted(&folder, PLAN);
    let journal = "results.parquet.partial/shard-1-of-3-0001.jsonl";
    let text = folder.read(journal);
    let lines: Vec<&str> = text.lines().collect();
    folder.write(
        journal,
        format!("{}\n{{\"cell\":\n{}\n", lines[0], lines[1]),
    );
    tmt(&format!("{PLAN} -o results.parquet --resume"))
        .within(&folder)
        .run()
        .fails(
            1,
            &[
                "shard-1-of-3-0001.jsonl:2: ",
                "remove the file to run its cells again",
            ],
        );
    folder.write(journal, &text[..text.len() - 20]);
    resumed(&folder, &expected);
}

#[test]
fn traces_whose_path_has_a_variable_are_watched_too() {
    let folder = Folder::new();
    folder.write("a.csv", trace(10_000, 50));
    folder.write("b.csv", trace(10_000, 60));
    let plan = "sweep --scheme arq --set day=a,b --trace {day}.csv --offsets 2 --duration 2s";
    tmt(&format!("{plan} --shard 1/2 -o results.csv"))
        .within(&folder)
        .run()
        .ok();
    folder.write("b.csv", trace(10_000, 70));
    tmt(&format!("{plan} -o results.csv --resume"))
        .within(&folder)
        .run()
        .fails(1, &["content of b.csv was"]);
}

#[test]
fn flags_of_an_engine_are_checked() {
    for (flags, words) in [
        ("--tasks 3 -o x.csv", ["--tasks needs --engine slurm", ""]),
        ("--engine slurm", ["need --output FILE", ""]),
        (
            "--engine slurm --shard 1/2 -o x.csv",
            ["--engine", "--shard"],
        ),
        (
            "--engine slurm --sbatch --array=3 -o x.csv",
            ["found --array", "which the engine sets"],
        ),
        (
            "--engine slurm --sbatch -ofile -o x.csv",
            ["found -o", "which the engine sets"],
        ),
        ("--engine pbs -o x.csv", ["local", "slurm"]),
    ] {
        let folder = Folder::new();
        tmt(&format!("{PLAN} {flags}"))
            .within(&folder)
            .run()
            .fails(2, &words);
        assert!(folder.names().is_empty(), "{flags}: {:?}", folder.names());
    }
    let folder = Folder::new();
    let ran = tmt(&format!("{PLAN} --engine slurm -o x.csv"))
        .within(&folder)
        .env("PATH", "/nowhere")
        .run();
    ran.fails(1, &["found no sbatch on PATH", "tmt sweep --shard K/N"]);
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

/// A file that a sweep did not make in its folder is refused before anything runs, and is still there afterwards.
#[test]
#[cfg(unix)]
fn a_folder_with_anything_else_is_refused_and_left_as_it_is() {
    let plan =
        "sweep --link synthetic --rate 1Mbps --rtt 40ms --duration 1s --cc newreno,cubic -o a.csv";
    for make in [
        "mkdir a.csv.partial; echo x > a.csv.partial/notes.txt",
        "mkdir a.csv.partial; echo x > a.csv.partial/run.sh",
        "mkdir -p a.csv.partial/sub",
        "mkdir a.csv.partial; echo x > a.csv.partial/task.sh",
        "mkdir a.csv.partial; ln -s target a.csv.partial/lock",
        "mkdir a.csv.partial; mkfifo a.csv.partial/sweep-0003.jsonl",
        "mkdir a.csv.partial; mkfifo a.csv.partial/plan.txt",
        "mkdir other; ln -s other a.csv.partial",
        "touch a.csv.partial",
        "mkdir a.csv.partial.removed; touch a.csv.partial.removed/notes.txt",
    ] {
        let folder = Folder::new();
        let list = "find . | sort";
        let before = bash(&folder, &format!("{make}; {list}")).ok().stdout;
        for more in ["", "--resume", "--shard 1/2"] {
            let ran = tmt(&format!("{plan} {more}")).within(&folder).run();
            ran.fails(
                1,
                &[
                    "a.csv.partial",
                    "found ",
                    "expected only files that a sweep makes",
                ],
            );
        }
        assert_eq!(bash(&folder, list).ok().stdout, before, "{make}");
    }
    // An empty one, and what a sweep leaves that is killed at once, are taken.
    let folder = Folder::new();
    bash(
        &folder,
        "mkdir a.csv.partial; touch a.csv.partial/lock a.csv.partial/plan.txt.17",
    )
    .ok();
    tmt(plan).within(&folder).run().ok();
    assert_eq!(folder.names(), ["a.csv"]);
}

#[test]
fn records_that_were_changed_or_are_of_another_plan_are_refused() {
    let plan = "sweep --link synthetic --rate 1Mbps --rtt 40ms --duration 1s --cc newreno,cubic --loss bernoulli:0.01";
    let (folder, other) = (Folder::new(), Folder::new());
    let begin = |folder: &Folder, seeds: u32| {
        let shard = format!("{plan} --seeds {seeds} -o a.csv --shard 1/2");
        tmt(&shard).within(folder).run().ok();
    };
    begin(&folder, 2);
    begin(&other, 3);
    let records = "a.csv.partial/shard-1-of-2-0001.jsonl";
    let text = folder.read(records);
    assert!(text.contains("\"seed\":2"), "{text}");
    for (changed, why) in [
        (
            text.replacen("\"seed\":2", "\"seed\":7", 1),
            "that was changed",
        ),
        (
            text.replacen("\"goodput_bps\":", "\"goodput_bps\":1", 1),
            "that was changed",
        ),
        (text.replacen("\"crc\"", "\"src\"", 1), "that was changed"),
        (other.read(records), "of another plan"),
    ] {
        folder.write(records, changed);
        let words = [
            ":1: found a record ",
            why,
            "remove the file to run its cells again",
        ];
        tmt(&format!("{plan} --seeds 2 -o a.csv --resume"))
            .within(&folder)
            .run()
            .fails(1, &words);
    }
    folder.write(records, text);
    tmt(&format!("{plan} --seeds 2 -o a.csv --resume"))
        .within(&folder)
        .run()
        .ok();
}
