//! The same input, arguments and seed give the same bytes, however many jobs work and however the input arrives.

use crate::common::{Folder, Ran, has_every_form, tmt, trace};

const SCHEMES: [&str; 6] = [
    "none",
    "arq",
    "harq:10/12",
    "harq:38/51,rounds=2,interleave=2",
    "fec:10/12,interleave=3,in-order",
    "frame-arq:5/9,rounds=1",
];

#[test]
fn every_scheme_is_held_to_it() {
    has_every_form(&SCHEMES, &tmt_core::scheme::forms(), &[]);
}

/// A folder with a bursty trace of 40 000 slots, more than any reader takes at once.
fn bursty() -> Folder {
    let folder = Folder::new();
    tmt("inject --gilbert-elliott alpha=0.99,beta=0.8 --seed 3 -o phy.csv")
        .input(trace(40_000, 97))
        .within(&folder)
        .run()
        .ok();
    folder
}

/// All files of a folder by name.
fn files(folder: &Folder) -> Vec<(String, String)> {
    let names = folder.names().into_iter();
    names
        .map(|name| (name.clone(), folder.read(&name)))
        .collect()
}

/// Asserts that two runs ended alike.
#[track_caller]
fn alike(one: &Ran, other: &Ran, what: &str) {
    assert_eq!(one.code, other.code, "{what}: {}", other.stderr);
    assert!(one.stdout == other.stdout, "{what}: stdout differs");
    assert_eq!(one.stderr, other.stderr, "{what}");
}

#[test]
fn the_number_of_jobs_changes_no_byte_of_any_file() {
    let input = bursty();
    let phy = input.path("phy.csv");
    let apply = |jobs: &str| {
        let folder = Folder::new();
        let mut run = tmt("apply -o {scheme}.csv --summary summary.json");
        for scheme in SCHEMES {
            run = run.arg("--scheme").arg(scheme);
        }
        let ran = run.arg_list(jobs).arg(&phy).within(&folder).run().ok();
        (ran, files(&folder))
    };
    let (first, expected) = apply("--jobs 1");
    assert_eq!(expected.len(), SCHEMES.len() + 1);
    for jobs in ["--jobs 2", "--jobs 3", "--jobs 8", ""] {
        let (ran, found) = apply(jobs);
        alike(&first, &ran, jobs);
        assert!(found == expected, "{jobs}: a file differs");
    }
}

#[test]
fn a_scheme_among_others_gives_what_it_gives_alone() {
    let input = bursty();
    let phy = input.path("phy.csv");
    let folder = Folder::new();
    let mut run = tmt("apply -o {scheme}.csv");
    for scheme in SCHEMES {
        run = run.arg("--scheme").arg(scheme);
    }
    run.arg(&phy).within(&folder).run().ok();
    for scheme in SCHEMES {
        let alone = tmt("apply --scheme").arg(scheme).arg(&phy).run().ok();
        let name: String = scheme
            .chars()
            .map(|c| if ":/,=".contains(c) { '-' } else { c })
            .collect();
        assert!(
            folder.read(&format!("{name}.csv")) == alone.text(),
            "{scheme}"
        );
    }
}

#[test]
fn a_failing_run_fails_alike_for_any_number_of_jobs() {
    let folder = Folder::new();
    // Two faults: a sum past the largest time for the schemes that repeat, and a bad row behind it.
    folder.write("bad.csv", "0,0.1\n9223372036,0\n9223372036,0.1\nx,y\n");
    let apply = |jobs: &str| {
        let mut run = tmt("apply --summary-only --rtt 1s");
        for scheme in SCHEMES {
            run = run.arg("--scheme").arg(scheme);
        }
        run.arg_list(jobs).arg("bad.csv").within(&folder).run()
    };
    let first = apply("--jobs 1").fails(1, &["bad.csv:"]);
    for jobs in ["--jobs 2", "--jobs 3", "--jobs 8"] {
        for _ in 0..5 {
            alike(&first, &apply(jobs), jobs);
        }
    }
}

#[test]
fn a_file_a_pipe_and_odd_pieces_of_a_pipe_give_the_same_bytes() {
    let folder = bursty();
    let phy = folder.read("phy.csv");
    for command in [
        "apply --scheme harq:10/12",
        "apply --scheme fec:10/12,interleave=3,in-order",
        "inject --bernoulli 0.1",
        "stats --json",
        "tcp --json --cc cubic",
    ] {
        let file = tmt(command).arg("phy.csv").within(&folder).run().ok();
        // The document of a run names its input.
        let output = |ran: &Ran| {
            if command.starts_with("tcp") {
                return ran.results().to_string().into_bytes();
            }
            ran.stdout.clone()
        };
        for pieces in [
            &[usize::MAX][..],
            &[7, 100, 3, 65_537],
            &[262_144, 1],
            &[4095],
        ] {
            let piped = tmt(command).input(&*phy).pieces(pieces).run().ok();
            assert!(
                output(&piped) == output(&file),
                "{command} in pieces of {pieces:?}"
            );
            assert_eq!(piped.stderr, file.stderr, "{command}");
        }
    }
}

#[test]
fn byte_by_byte_is_read_as_all_at_once() {
    for text in [trace(300, 7), trace(300, 7).replace('\n', "\r\n")] {
        let whole = tmt("apply --scheme arq").input(&*text).run().ok();
        let bytes = tmt("apply --scheme arq")
            .input(&*text)
            .pieces(&[1])
            .run()
            .ok();
        alike(&whole, &bytes, "byte by byte");
    }
    let bad = trace(300, 7).replace("\n0.150000000,", "\n0.150000000;");
    let whole = tmt("apply --scheme arq").input(&*bad).run();
    let bytes = tmt("apply --scheme arq").input(bad).pieces(&[1]).run();
    assert_eq!((whole.code, bytes.code), (Some(1), Some(1)));
    assert_eq!(whole.stderr, bytes.stderr);
}

#[test]
fn the_name_of_the_file_and_of_the_output_are_no_part_of_the_bytes() {
    let folder = bursty();
    folder.write("other name.csv", folder.read("phy.csv"));
    let one = tmt("apply --scheme arq -o one.csv phy.csv");
    one.within(&folder).run().ok();
    let other = tmt("apply --scheme arq -o")
        .arg("the other.csv")
        .arg("other name.csv");
    other.within(&folder).run().ok();
    assert!(folder.read("one.csv") == folder.read("the other.csv"));
}

#[test]
fn a_seed_gives_one_run_and_another_seed_another() {
    let run = |seed: u32| {
        let folder = Folder::new();
        let ran = tmt(
            "tcp --link synthetic --rate 2Mbps --rtt 100ms --loss bernoulli:0.01 --duration 30s",
        )
        .arg_list(
            "--flows 3 --start 0s..5s --packets packets.csv --series series.csv --json --seed",
        )
        .arg(seed.to_string())
        .within(&folder)
        .run()
        .ok();
        (ran.stdout, files(&folder))
    };
    let first = run(1);
    assert!(first == run(1), "two runs with one seed differ");
    let (report, logs) = run(2);
    assert_ne!(first.0, report);
    for (one, other) in first.1.iter().zip(&logs) {
        assert_ne!(one.1, other.1, "{} is the same for two seeds", one.0);
    }
}

#[test]
fn a_run_among_several_seeds_is_the_run_of_its_seed_alone() {
    let flags =
        "tcp --link synthetic --rate 2Mbps --rtt 100ms --loss bernoulli:0.01 --duration 20s --json";
    let several = tmt(flags).arg_list("--seed 5 --seeds 4").run().ok().json();
    for (index, seed) in (5..9).enumerate() {
        let alone = tmt(flags)
            .arg_list(&format!("--seed {seed}"))
            .run()
            .ok()
            .json();
        assert_eq!(
            several["results"]["runs"][index], alone["results"]["runs"][0],
            "seed {seed}"
        );
    }
}

#[test]
fn the_number_of_threads_changes_no_byte_of_a_report() {
    let run = |threads: &str| {
        tmt("tcp --link synthetic --rate 2Mbps --rtt 100ms --loss bernoulli:0.01 --duration 20s --json")
            .arg_list("--seeds 8")
            .env("RAYON_NUM_THREADS", threads)
            .run()
            .ok()
    };
    let first = run("1");
    for threads in ["2", "3", "8"] {
        alike(&first, &run(threads), threads);
    }
}

#[test]
fn writing_the_logs_changes_nothing_of_the_run() {
    let folder = bursty();
    tmt("apply --scheme arq -o timeline.csv phy.csv")
        .within(&folder)
        .run()
        .ok();
    let quiet = tmt("tcp --json timeline.csv").within(&folder).run().ok();
    let logged = tmt("tcp --json --packets packets.csv --series series.csv timeline.csv");
    alike(&quiet, &logged.within(&folder).run().ok(), "with logs");
}

#[test]
fn a_seed_gives_one_erasure_pattern_and_another_seed_another() {
    for process in ["--bernoulli 0.05", "--gilbert-elliott alpha=0.99,beta=0.8"] {
        let run = |seed: &str| {
            let run = tmt("inject").arg_list(process).arg("--seed").arg(seed);
            run.input(trace(5_000, 5_001)).run().ok().stdout
        };
        assert!(run("7") == run("7"), "{process}");
        assert_ne!(run("7"), run("8"), "{process}");
    }
}

#[test]
fn the_demo_is_the_same_every_time() {
    let first = tmt("demo --json").run().ok();
    let again = tmt("demo --json").env("RAYON_NUM_THREADS", "1").run().ok();
    alike(&first, &again, "demo");
}

#[test]
fn slices_are_the_same_for_any_number_of_jobs() {
    let input = bursty();
    for format in ["csv", "csv.gz", "arrow", "parquet"] {
        for command in [
            "slice --every 10 --offset 3 phy.csv",
            "slice --rows 777..33333 --rebase phy.csv",
            "slice --gap 1s phy.csv phy.csv",
            "slice --merge --take-head first phy.csv phy.csv",
        ] {
            let run = |jobs: &str| {
                let run = tmt(command).arg_list(&format!("{jobs} --format {format}"));
                run.within(&input).run().ok()
            };
            alike(&run("--jobs 1"), &run("--jobs 2"), command);
        }
    }
}
