//! Files that are written: whole or not at all, where they are asked for, and nothing else beside them.

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};

use test_support::depth;

use crate::common::{Folder, bash, skipped, tmt, trace};

const SYNTH: &str = "synth --rate 264kbps --lldu 33B --duration 50ms --decode-delay 1ms";

/// A folder with a good trace and one whose 60th row is no row.
fn traces() -> Folder {
    let folder = Folder::new();
    folder.write("phy.csv", trace(100, 5));
    folder.write(
        "bad.csv",
        trace(100, 5).replace("\n0.059000000,", "\n0.059000000;"),
    );
    folder
}

fn mode(folder: &Folder, name: &str) -> u32 {
    fs::metadata(folder.path(name))
        .unwrap()
        .permissions()
        .mode()
        & 0o7777
}

/// Commands that read a trace and write a file.
const READERS: [&str; 4] = [
    "inject --bernoulli 0.1",
    "stats",
    "apply --scheme arq",
    "tcp",
];

#[test]
fn a_run_that_fails_leaves_no_file_and_nothing_beside_it() {
    for command in READERS {
        let folder = traces();
        let run = tmt(command).arg("-o").arg("out.csv").arg("bad.csv");
        run.within(&folder).run().fails(1, &["bad.csv:66:"]);
        assert_eq!(folder.names(), ["bad.csv", "phy.csv"], "{command}");
    }
}

#[test]
fn a_path_that_cannot_be_written_is_refused_before_the_work() {
    let folder = traces();
    // It would run for hours, warn of the overload, or refuse the malformed row.
    let endless = "tcp --link synthetic --rate 100Gbps --rtt 10ms --cc fixed:100000 --duration 50000s --results";
    let overload = "tcp --compare-links --channel bernoulli:0.1 --rate 264kbps --lldu 33B --scheme arq --rtt 10ms \
                    --cc fixed:1000 --buffer 10pkt --duration 10s --results";
    for command in [
        endless,
        overload,
        "stats bad.csv --summary",
        "stats bad.csv -o",
    ] {
        let run = tmt(command).arg("nowhere/out.csv").within(&folder).run();
        let words = ["nowhere/out.csv: ", "the directory nowhere does not exist"];
        let ran = run.fails(1, &words);
        assert!(!ran.stderr.contains("overload"), "{}", ran.stderr);
        assert_eq!(folder.names(), ["bad.csv", "phy.csv"], "{command}");
    }
}

#[test]
fn a_run_that_fails_leaves_an_existing_file_as_it_was() {
    for command in READERS {
        let folder = traces();
        folder.write("out.csv", "precious\n");
        let before = fs::metadata(folder.path("out.csv")).unwrap().ino();
        let run = tmt(command).arg("-o").arg("out.csv").arg("bad.csv");
        run.within(&folder).run().fails(1, &[]);
        assert_eq!(folder.read("out.csv"), "precious\n", "{command}");
        assert_eq!(fs::metadata(folder.path("out.csv")).unwrap().ino(), before);
        assert_eq!(folder.names(), ["bad.csv", "out.csv", "phy.csv"]);
    }
}

#[test]
fn a_run_that_fails_leaves_none_of_its_several_files() {
    let folder = traces();
    tmt("apply --scheme arq --scheme fec:2/3 -o {scheme}.csv --summary link.json bad.csv")
        .within(&folder)
        .run()
        .fails(1, &["bad.csv:66:"]);
    assert_eq!(folder.names(), ["bad.csv", "phy.csv"]);
    tmt("apply --scheme arq --scheme fec:2/3 -o {scheme}.csv --summary no-such/link.json phy.csv")
        .within(&folder)
        .run()
        .fails(1, &["no-such/link.json"]);
    assert_eq!(folder.names(), ["bad.csv", "phy.csv"]);
}

#[test]
fn a_run_that_is_terminated_leaves_nothing_behind() {
    let folder = Folder::new();
    let script = "tmt synth --rate 1Gbps --lldu 33B --duration 10h --decode-delay 1ms -o out.csv 2> /dev/null & \
                  for i in $(seq 50); do ls -A | grep -q . && break; sleep 0.01; done; kill -TERM $!; wait $!; true";
    bash(&folder, script).ok();
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_run_that_is_interrupted_in_the_middle_leaves_nothing_behind_in_any_form() {
    let all = [
        "csv",
        "arrow.zst",
        "parquet",
        "csv.gz",
        "csv.zst",
        "arrow",
        "arrow.gz",
    ];
    for form in &all[..depth(2, 7)] {
        let folder = Folder::new();
        // Rows without end come in, and the signal when some have gone into the temporary file. (A program
        // that a script starts in the background ignores SIGINT unless job control is on.)
        let script = format!(
            "set -m; tmt synth --rate 1Gbps --lldu 33B --duration 10h --decode-delay 1ms 2> /dev/null \
             | tmt apply --scheme arq -o out.{form} 2> /dev/null & \
             for i in $(seq 3000); do find . -name '.tmt-*' -size +0 | grep -q . && break; sleep 0.01; done; \
             find . -name '.tmt-*' -size +0 | grep -q . && echo under way; \
             kill -INT -- -$!; wait $!; echo $?"
        );
        let ran = bash(&folder, &script).ok();
        assert_eq!(ran.text(), "under way\n130\n", "{form}");
        assert_eq!(folder.names(), [""; 0], "{form}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_refused_by_the_name_that_was_typed() {
    let folder = traces();
    folder.write("file", "");
    for place in ["no-such/out.csv", "file/out.csv", "/proc/out.csv", "."] {
        let ran = tmt(SYNTH).arg("-o").arg(place).within(&folder).run();
        let ran = ran.fails(1, &[&format!("tmt synth: {place}: "), "(os error "]);
        assert!(
            !ran.stderr.contains(".tmp"),
            "the message names a file that was not typed: {}",
            ran.stderr
        );
        assert_eq!(ran.text(), "");
    }
    assert_eq!(folder.names(), ["bad.csv", "file", "phy.csv"]);
}

#[test]
fn a_full_disk_is_an_error_for_every_command() {
    let folder = traces();
    tmt("tcp --link synthetic --rate 1Mbps --duration 1s --packets log.csv")
        .within(&folder)
        .run()
        .ok();
    folder.write("opportunities.txt", "1\n2\n");
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for command in [
        "synth --rate 1Mbps --lldu 33B --duration 1s --decode-delay 1ms",
        "inject --bernoulli 0.1 phy.csv",
        "stats phy.csv",
        "apply --scheme arq phy.csv",
        "tcp phy.csv",
        "convert --from mahimahi --rtt 1ms opportunities.txt",
    ] {
        let run = tmt(command).within(&folder).run_into(full());
        run.fails(1, &["<stdout>: No space left on device"]);
        let run = tmt(command)
            .arg("-o")
            .arg("/dev/full")
            .within(&folder)
            .run();
        run.fails(1, &["/dev/full: No space left on device"]);
    }
    for command in ["demo", "audit log.csv", "completions bash", "man"] {
        let run = tmt(command).within(&folder).run_into(full());
        run.fails(1, &["<stdout>: No space left on device"]);
    }
    tmt("tcp --packets /dev/full phy.csv")
        .within(&folder)
        .run()
        .fails(1, &["/dev/full: No space left on device"]);
    assert_eq!(
        folder.names(),
        ["bad.csv", "log.csv", "opportunities.txt", "phy.csv"]
    );
}

#[test]
fn a_summary_that_cannot_be_written_leaves_no_timeline() {
    let folder = traces();
    tmt("apply --scheme arq --summary /dev/full -o out.csv phy.csv")
        .within(&folder)
        .run()
        .fails(1, &["/dev/full: No space left on device"]);
    assert_eq!(folder.names(), ["bad.csv", "phy.csv"]);
}

#[test]
fn devices_are_written_to_and_stay_devices() {
    let folder = Folder::new();
    tmt(SYNTH).arg("-o").arg("/dev/null").run().ok();
    assert!(
        fs::metadata("/dev/null")
            .unwrap()
            .file_type()
            .is_char_device()
    );
    let typed = tmt(SYNTH).arg("-o").arg("/dev/stdout").run().ok();
    assert_eq!(typed.text(), tmt(SYNTH).run().ok().text());
    assert_eq!(
        tmt(SYNTH).arg("-o").arg("-").run().ok().text(),
        typed.text()
    );
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn what_the_shell_wrote_around_a_run_to_dev_stdout_stays() {
    let folder = Folder::new();
    let script = format!("(echo before; tmt {SYNTH} -o /dev/stdout; echo after) > all.txt");
    bash(&folder, &script).ok();
    let expected = format!("before\n{}after\n", tmt(SYNTH).run().ok().text());
    assert_eq!(folder.read("all.txt"), expected);
}

#[test]
fn a_named_pipe_is_written_and_read() {
    let folder = traces();
    let script = "mkfifo in out; cat phy.csv > in & tmt apply --scheme arq -o out in & cat out > copy.csv; wait";
    bash(&folder, script).ok();
    let direct = tmt("apply --scheme arq phy.csv").within(&folder).run().ok();
    assert_eq!(folder.read("copy.csv"), direct.text());
    assert!(
        fs::metadata(folder.path("out"))
            .unwrap()
            .file_type()
            .is_fifo()
    );
}

#[test]
fn a_link_stays_and_the_file_behind_it_is_replaced() {
    let folder = Folder::new();
    fs::create_dir(folder.path("data")).unwrap();
    folder.write("data/real.csv", "old\n");
    symlink("data/real.csv", folder.path("link.csv")).unwrap();
    tmt(SYNTH)
        .arg("-o")
        .arg("link.csv")
        .within(&folder)
        .run()
        .ok();
    assert!(
        fs::symlink_metadata(folder.path("link.csv"))
            .unwrap()
            .is_symlink()
    );
    assert!(
        folder
            .read("data/real.csv")
            .ends_with(" usable_until_ns=49000000\n")
    );
    assert_eq!(fs::read_dir(folder.path("data")).unwrap().count(), 1);
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_and_the_file_appears() {
    let folder = Folder::new();
    fs::create_dir(folder.path("data")).unwrap();
    symlink("data/real.csv", folder.path("link.csv")).unwrap();
    tmt(SYNTH)
        .arg("-o")
        .arg("link.csv")
        .within(&folder)
        .run()
        .ok();
    assert!(
        fs::symlink_metadata(folder.path("link.csv"))
            .unwrap()
            .is_symlink(),
        "the link was replaced"
    );
    assert!(folder.path("data/real.csv").exists());
}

#[test]
fn the_permissions_of_a_new_file_follow_the_umask() {
    let folder = Folder::new();
    for (umask, expected) in [
        ("022", 0o644),
        ("077", 0o600),
        ("000", 0o666),
        ("002", 0o664),
    ] {
        let script = format!("umask {umask}; rm -f out.csv; tmt {SYNTH} -o out.csv");
        bash(&folder, &script).ok();
        assert_eq!(mode(&folder, "out.csv"), expected, "umask {umask}");
    }
}

#[test]
fn the_permissions_of_an_existing_file_are_kept() {
    for kept in [0o600, 0o640, 0o644, 0o664, 0o666, 0o755] {
        let folder = Folder::new();
        folder.write("out.csv", "old\n");
        fs::set_permissions(folder.path("out.csv"), Permissions::from_mode(kept)).unwrap();
        bash(&folder, &format!("umask 022; tmt {SYNTH} -o out.csv")).ok();
        assert_eq!(
            format!("{:o}", mode(&folder, "out.csv")),
            format!("{kept:o}")
        );
    }
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    let folder = Folder::new();
    folder.write("out.csv", "precious\n");
    let path = folder.path("out.csv");
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    if OpenOptions::new().append(true).open(&path).is_ok() {
        skipped("this user may write any file");
        return;
    }
    let ran = tmt(SYNTH).arg("-o").arg("out.csv").within(&folder).run();
    ran.fails(1, &["tmt synth: out.csv: Permission denied"]);
    assert_eq!(folder.read("out.csv"), "precious\n");
    assert_eq!(folder.names(), ["out.csv"]);
}

#[test]
fn an_output_over_its_own_input_is_refused_before_either_is_touched() {
    for command in READERS {
        for (input, output) in [("phy.csv", "phy.csv"), ("bad.csv", "./bad.csv")] {
            let folder = traces();
            let before = folder.read(input);
            let run = tmt(command).arg("-o").arg(output).arg(input);
            run.within(&folder)
                .run()
                .fails(2, &["is given more than once"]);
            assert_eq!(folder.read(input), before, "{command}");
        }
    }
}

#[test]
fn schemes_are_told_apart_by_harmless_file_names() {
    let folder = traces();
    fs::create_dir(folder.path("out")).unwrap();
    tmt("apply --scheme none --scheme arq:rounds=3,in-order --scheme fec:10/12,interleave=2")
        .arg("--scheme")
        .arg("harq:2/3,extra=1,rounds=2")
        .arg("-o")
        .arg("out/a {scheme}.csv")
        .arg("phy.csv")
        .within(&folder)
        .run()
        .ok();
    let mut names: Vec<String> = fs::read_dir(folder.path("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "a arq-rounds-3-in-order.csv",
            "a fec-10-12-interleave-2.csv",
            "a harq-2-3-extra-1-rounds-2.csv",
            "a none.csv",
        ]
    );
}

#[test]
fn names_that_meet_are_refused_before_anything_is_read_or_written() {
    let folder = Folder::new();
    folder.write("x.csv", "precious\n");
    for arguments in [
        "apply --scheme arq --scheme none -o x.csv no-such.csv",
        "apply --scheme arq --scheme none no-such.csv",
        "apply --scheme arq --scheme none --scheme arq -o {scheme}.csv no-such.csv",
        "apply --scheme arq -o x.csv --summary x.csv no-such.csv",
        "tcp --packets x.csv --series x.csv no-such.csv",
        "tcp --packets x.csv --seeds 2 no-such.csv",
    ] {
        let ran = tmt(arguments).within(&folder).run().fails(2, &["tmt "]);
        assert_eq!(ran.text(), "");
        assert_eq!(folder.names(), ["x.csv"], "{arguments}");
        assert_eq!(folder.read("x.csv"), "precious\n", "{arguments}");
    }
}

#[test]
fn a_log_and_the_report_are_not_written_into_one_file() {
    for flag in ["--packets", "--series"] {
        let folder = Folder::new();
        let ran = tmt("tcp --link synthetic --rate 1Mbps --duration 1s -o x.csv")
            .arg(flag)
            .arg("x.csv")
            .within(&folder)
            .run();
        assert_eq!(ran.code, Some(2), "{flag}: the report replaced the log");
        assert_eq!(folder.names(), [""; 0]);
    }
}

#[test]
fn one_file_by_two_names_is_refused_too() {
    let folder = traces();
    for arguments in [
        "apply --scheme arq -o x.csv --summary ./x.csv phy.csv",
        "tcp --packets x.csv --series ./x.csv phy.csv",
    ] {
        let ran = tmt(arguments).within(&folder).run();
        assert_eq!(
            ran.code,
            Some(2),
            "{arguments}: one output replaced the other"
        );
    }
}

#[test]
fn every_seed_has_its_own_log() {
    let folder = Folder::new();
    tmt("tcp --link synthetic --rate 1Mbps --loss bernoulli:0.1 --duration 2s --seed 5 --seeds 3")
        .arg("--packets")
        .arg("log {seed}.csv")
        .arg("--series")
        .arg("{seed}.csv")
        .within(&folder)
        .run()
        .ok();
    assert_eq!(
        folder.names(),
        [
            "5.csv",
            "6.csv",
            "7.csv",
            "log 5.csv",
            "log 6.csv",
            "log 7.csv"
        ]
    );
    assert!(folder.read("log 6.csv").contains("\n# seed: 6\n"));
    assert_ne!(folder.read("log 5.csv"), folder.read("log 6.csv"));
}

#[test]
fn the_file_that_stdin_reads_is_not_replaced() {
    let folder = traces();
    let text = folder.read("phy.csv");
    symlink(folder.path("phy.csv"), folder.path("link.csv")).unwrap();
    for command in [
        "tmt apply --scheme arq -o phy.csv",
        "tmt apply --scheme arq -o link.csv",
        "tmt apply --scheme arq --summary phy.csv -o out.csv",
        "tmt inject --bernoulli 0.1 -o ./phy.csv",
        "tmt stats -o phy.csv",
        "tmt tcp --packets phy.csv",
        "tmt tcp --save-params phy.csv -",
        "tmt stats >> phy.csv",
    ] {
        let ran = bash(&folder, &format!("{command} < phy.csv"));
        ran.fails(2, &["is the file that stdin reads"]);
        assert_eq!(folder.read("phy.csv"), text, "{command}");
        assert_eq!(folder.names(), ["bad.csv", "link.csv", "phy.csv"]);
    }
}

#[test]
fn a_loop_of_links_is_not_replaced() {
    let folder = traces();
    symlink("one", folder.path("two")).unwrap();
    symlink("two", folder.path("one")).unwrap();
    tmt("apply --scheme arq -o one phy.csv")
        .within(&folder)
        .run()
        .fails(1, &["one: Too many levels of symbolic links"]);
    assert!(folder.path("one").is_symlink());
}

#[test]
fn a_stdout_that_cannot_be_written_is_an_error() {
    let folder = traces();
    for command in [
        "stats phy.csv",
        "apply --scheme arq phy.csv",
        "tcp --link synthetic --rate 1Mbps --duration 1s",
        "synth --rate 1Mbps --lldu 33B --duration 1s --decode-delay 1ms",
        "model --list",
        "--help",
        "--version",
        "tcp --help",
        "model harq --help",
    ] {
        for (stdout, reason) in [
            ("1< phy.csv", "Bad file descriptor"),
            ("> /dev/full", "No space left"),
        ] {
            bash(&folder, &format!("tmt {command} {stdout}")).fails(1, &[reason]);
        }
    }
}

#[test]
fn a_closed_stdout_is_an_error() {
    let folder = traces();
    for command in [
        "stats phy.csv",
        "-q stats phy.csv",
        "--version",
        "tcp --help",
        "model ge --help",
    ] {
        bash(&folder, &format!("tmt {command} >&-")).fails(1, &["<stdout>: it is closed"]);
    }
    // A parent may open /dev/null for reading and writing.
    for elsewhere in [
        "> /dev/null",
        "| cat",
        "-o out.csv >&-",
        "> out.txt",
        "1<> /dev/null",
    ] {
        let ran = bash(&folder, &format!("tmt stats phy.csv {elsewhere}")).ok();
        assert!(
            !ran.stderr.contains("warning"),
            "{elsewhere}: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_leaves_nothing() {
    let folder = traces();
    let synth = SYNTH.replace("50ms", "60s");
    let script = format!("ulimit -f 20; tmt {synth} -o out.csv");
    bash(&folder, &script).fails(1, &["out.csv: File too large"]);
    assert_eq!(folder.names(), ["bad.csv", "phy.csv"]);
}

#[test]
fn each_signal_has_its_exit_code_and_leaves_nothing() {
    for (signal, code) in [("HUP", 129), ("TERM", 143), ("XCPU", 152)] {
        let folder = Folder::new();
        let script = format!(
            "tmt synth --rate 1Gbps --lldu 33B --duration 10h --decode-delay 1ms -o out.csv 2> /dev/null & \
             for i in $(seq 500); do ls -A | grep -q . && break; sleep 0.01; done; kill -{signal} $!; wait $!; echo $?"
        );
        assert_eq!(bash(&folder, &script).ok().text(), format!("{code}\n"));
        assert_eq!(folder.names(), [""; 0], "{signal}");
    }
}

#[test]
fn a_replaced_file_keeps_its_owner_and_its_permissions() {
    let folder = traces();
    let own = fs::metadata(folder.path("phy.csv")).unwrap().uid();
    if own != 0 {
        skipped("only root can give a file away");
        return;
    }
    folder.write("out.csv", "");
    bash(&folder, "chown 12:34 out.csv; chmod 2640 out.csv").ok();
    tmt("apply --scheme arq -o out.csv phy.csv")
        .within(&folder)
        .run()
        .ok();
    let found = fs::metadata(folder.path("out.csv")).unwrap();
    assert_eq!((found.uid(), found.gid()), (12, 34));
    assert_eq!(mode(&folder, "out.csv"), 0o2640);
}

#[test]
fn the_logs_of_many_runs_do_not_stay_open() {
    let folder = Folder::new();
    let script = "ulimit -n 64; tmt tcp --link synthetic --rate 1Mbps --rtt 20ms --duration 1s --loss bernoulli:0.01 \
                  --seeds 100 --pcap 'run{seed}' --packets '{seed}.csv'";
    bash(&folder, script).ok();
    assert_eq!(folder.names().len(), 300);
}

#[test]
fn a_damaged_count_in_parquet_costs_no_time() {
    let corpus = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tmt-core/fuzz/corpus/parquet"
    );
    let folder = Folder::new();
    for name in ["endless-list", "long-list"] {
        let script = format!("ulimit -t 5; tmt stats {corpus}/{name}");
        bash(&folder, &script).fails(1, &["damaged Parquet"]);
    }
}
