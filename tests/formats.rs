//! Every form of a trace at the command line: what one holds the others hold, by extension, by flag, by pipe.

use std::io::Read as _;
use std::process::{Command, Stdio};

use crate::common::{Folder, bash, plain, skipped, tmt, trace};
use tmt_core::format::compression::{Compressor, Decompressor};
use tmt_core::format::{Compression, FileKind, Form, recognise};

const FORMS: [&str; 8] = [
    "csv",
    "csv.gz",
    "csv.zst",
    "arrow",
    "arrows",
    "arrow.gz",
    "arrow.zst",
    "parquet",
];

/// Slots of a trace of three blocks, the last of them short.
const SLOTS: u32 = 70_000;

/// A folder with one trace in every form, `phy.csv` to `phy.parquet`.
///
/// The scheme `none` changes no row: it only adds the column of attempts.
fn every_form(text: &str) -> Folder {
    let folder = Folder::new();
    for form in FORMS {
        let name = format!("phy.{form}");
        let run = tmt("apply --scheme none -o").arg(name);
        run.input(text).within(&folder).run().ok();
    }
    folder
}

/// Kind of bytes, and of the bytes inside compressed ones.
fn kinds(bytes: &[u8]) -> Vec<FileKind> {
    let kind = recognise(bytes);
    let FileKind::Compressed(compression) = kind else {
        return vec![kind];
    };
    let mut inner = Vec::new();
    let mut stream = Decompressor::new(compression, bytes).unwrap();
    stream.read_to_end(&mut inner).unwrap();
    vec![kind, recognise(&inner)]
}

/// The kinds that a form's name says.
fn kinds_of(form: &str) -> Vec<FileKind> {
    let Form {
        format,
        compression,
    } = form.parse().unwrap();
    let outer = compression.map(FileKind::Compressed);
    outer.into_iter().chain([FileKind::Plain(format)]).collect()
}

/// The form into a pipe: a pipe has no file with a footer.
fn piped(form: &str) -> &str {
    if form == "arrow" { "arrows" } else { form }
}

#[test]
fn every_form_holds_what_the_text_holds() {
    for text in [trace(SLOTS, 97), plain(&trace(SLOTS, 97)), trace(1, 2)] {
        let folder = every_form(&text);
        let expected = tmt("stats --json phy.csv").within(&folder).run().ok();
        for form in FORMS {
            let name = format!("phy.{form}");
            let bytes = folder.bytes(&name);
            assert_eq!(kinds(&bytes), kinds_of(form), "{form}");
            let file = tmt("stats --json").arg(&name).within(&folder).run().ok();
            assert_eq!(file.text(), expected.text(), "{form}");
            let piped = tmt("stats --json").input(bytes).run().ok();
            assert_eq!(piped.text(), expected.text(), "{form} through a pipe");
        }
    }
}

#[test]
fn text_to_any_form_and_back_is_the_same_bytes() {
    let folder = every_form(&plain(&trace(SLOTS, 97)));
    let expected = plain(&folder.read("phy.csv"));
    for form in FORMS {
        let name = format!("phy.{form}");
        let back = tmt("apply --no-head --scheme none")
            .arg(name)
            .within(&folder)
            .run();
        assert!(back.ok().text() == expected, "{form}");
    }
}

#[test]
fn head_and_end_line_come_back_too() {
    let folder = every_form(&trace(SLOTS, 97));
    let expected = tmt("apply --scheme none phy.csv")
        .within(&folder)
        .run()
        .ok();
    assert!(expected.text().contains("\n# site: Livorno\n"));
    assert!(expected.text().contains("\n# end: rows=70000 "));
    for form in FORMS {
        let name = format!("phy.{form}");
        let back = tmt("apply --scheme none").arg(name).within(&folder).run();
        assert!(back.ok().text() == expected.text(), "{form}");
    }
}

#[test]
fn a_chain_runs_through_pipes_of_every_form() {
    let folder = Folder::new();
    folder.write("phy.csv", trace(SLOTS, 97));
    let chain = |form: &str| {
        format!(
            "tmt inject --bernoulli 0.1 --format {form} < phy.csv | tmt apply --scheme arq --format {form} \
             | tmt stats --json"
        )
    };
    let expected = bash(&folder, &chain("csv")).ok();
    for form in FORMS {
        assert_eq!(
            bash(&folder, &chain(form)).ok().text(),
            expected.text(),
            "{form}"
        );
    }
    assert_eq!(folder.names(), ["phy.csv"]);
}

#[test]
fn a_scheme_over_any_form_gives_the_timeline_of_the_text() {
    let folder = every_form(&trace(SLOTS, 9));
    for scheme in ["arq", "harq:10/12,interleave=2,in-order"] {
        let apply = |name: &str| {
            tmt("apply --summary summary.json --scheme")
                .arg(scheme)
                .arg(name)
                .within(&folder)
                .run()
                .ok()
        };
        let expected = apply("phy.csv");
        let summary = folder.read("summary.json");
        for form in FORMS {
            let found = apply(&format!("phy.{form}"));
            assert!(found.text() == expected.text(), "{scheme} {form}");
            assert_eq!(found.stderr, expected.stderr, "{scheme} {form}");
            assert_eq!(folder.read("summary.json"), summary, "{scheme} {form}");
        }
    }
}

#[test]
fn a_run_and_its_audit_take_timelines_of_every_form() {
    let folder = Folder::new();
    folder.write("phy.csv", trace(20_000, 9));
    for form in FORMS {
        let run = tmt("apply --scheme harq:10/12 phy.csv -o").arg(format!("line.{form}"));
        run.within(&folder).run().ok();
    }
    let report = |form: &str| {
        let run = tmt("tcp --json --cc cubic --packets log.csv").arg(format!("line.{form}"));
        let report = run.within(&folder).run().ok();
        let audit = tmt("audit log.csv --timeline").arg(format!("line.{form}"));
        let audit = audit.within(&folder).run().ok();
        assert!(audit.text().ends_with("every rule holds\n"), "{form}");
        (report.results(), folder.read("log.csv"), audit.stdout)
    };
    let expected = report("csv");
    for form in FORMS {
        assert!(report(form) == expected, "{form}");
        // The auditor reads the timeline from a pipe as well.
        let audit = tmt("audit log.csv --timeline -").input(folder.bytes(&format!("line.{form}")));
        assert_eq!(
            audit.within(&folder).run().ok().stdout,
            expected.2,
            "{form}"
        );
    }
}

#[test]
fn no_byte_depends_on_the_jobs_or_on_the_pieces_of_a_pipe() {
    let input = trace(SLOTS, 9);
    for form in FORMS {
        for command in ["inject --bernoulli 0.05", "apply --scheme harq:10/12"] {
            let run = |jobs: &str, pieces: &[usize]| {
                let run = tmt(command).arg_list(jobs).arg("--format").arg(form);
                run.input(&*input).pieces(pieces).run().ok()
            };
            let expected = run("--jobs 1", &[usize::MAX]);
            assert_eq!(kinds(&expected.stdout), kinds_of(piped(form)), "{form}");
            for jobs in ["--jobs 2", "--jobs 3", "--jobs 8", ""] {
                let found = run(jobs, &[7, 100_003, 1, 65_537]);
                assert!(found.stdout == expected.stdout, "{command} {form} {jobs}");
                assert_eq!(found.stderr, expected.stderr, "{command} {form} {jobs}");
            }
        }
    }
}

#[test]
fn no_result_depends_on_how_a_pipe_hands_out_a_binary_trace() {
    let folder = every_form(&trace(SLOTS, 97));
    let expected = tmt("stats --json phy.csv").within(&folder).run().ok();
    for form in FORMS {
        let bytes = folder.bytes(&format!("phy.{form}"));
        for (jobs, pieces) in [
            ("--jobs 1", &[1, 4095][..]),
            ("--jobs 2", &[3, 65_537, 8]),
            ("--jobs 8", &[1 << 20]),
        ] {
            let run = tmt("stats --json").arg_list(jobs).input(&*bytes);
            let found = run.pieces(pieces).run().ok();
            assert_eq!(found.text(), expected.text(), "{form} {jobs} {pieces:?}");
        }
    }
}

#[test]
fn the_form_is_that_of_the_flag_or_of_the_name() {
    let small = trace(40, 7);
    for (arguments, name, form) in [
        ("", "x", "csv"),
        ("", "x.txt", "csv"),
        ("", "x.csv", "csv"),
        ("", "x.gz", "csv.gz"),
        ("", "x.CSV.ZST", "csv.zst"),
        ("", "x.arrow", "arrow"),
        ("", "x.feather", "arrow"),
        ("", "x.IPC", "arrow"),
        ("", "x.arrows", "arrows"),
        ("", "x.ipc.zst", "arrow.zst"),
        ("", "x.parquet", "parquet"),
        ("--format arrow", "x", "arrow"),
        ("--format arrow", "x.csv", "arrow"),
        ("--format arrow", "x.arrows", "arrow"),
        ("--format arrows", "x.arrow", "arrows"),
        ("--format csv", "x.json", "csv"),
        ("--format arrow", "x.tar.bz2", "arrow"),
        ("--format arrow", "x.csv.gz", "arrow.gz"),
        ("--format csv", "x.arrow.zst", "csv.zst"),
        ("--format csv", "x.parquet", "csv"),
        ("--format csv", "phy-0.01.gz", "csv.gz"),
        ("--format arrow", "phy.v2.ZST", "arrow.zst"),
        ("--format csv.zst", "phy.v2.gz", "csv.zst"),
        ("--format csv.gz", "x.csv", "csv.gz"),
        ("--format csv.gz", "x.csv.zst", "csv.gz"),
        ("--format parquet", "x", "parquet"),
        ("--format parquet", "x.arrow", "parquet"),
    ] {
        for command in ["apply --scheme arq", "inject --bernoulli 0.1"] {
            let folder = Folder::new();
            let run = tmt(command).arg_list(arguments).arg("-o").arg(name);
            run.input(&*small).within(&folder).run().ok();
            assert_eq!(folder.names(), [name]);
            let found = kinds(&folder.bytes(name));
            assert_eq!(found, kinds_of(form), "{command} {arguments} -o {name}");
        }
    }
}

#[test]
fn a_name_that_asks_for_what_parquet_does_not_have_is_a_usage_error() {
    let folder = Folder::new();
    // Refused before anything is read: no input is there.
    for command in [
        "apply --scheme arq no-such.csv",
        "apply --scheme arq --scheme none no-such.csv",
        "inject --bernoulli 0.1 no-such.csv",
        "convert --from mahimahi no-such.txt",
        "synth --rate 264kbps --lldu 33B --duration 1s --decode-delay 1ms",
    ] {
        for name in [
            "{scheme}.csv.gz",
            "{scheme}.csv.zst",
            "{scheme}.gz",
            "{scheme}.parquet.gz",
            "{scheme}.v2.ZST",
        ] {
            let run = tmt(command).arg_list("--format parquet -o").arg(name);
            let ran = run.within(&folder).run();
            let words = "--format parquet compresses its columns itself";
            let ran = ran.fails(2, &[words, "--output"]);
            assert_eq!(ran.text(), "");
            assert_eq!(folder.names(), [""; 0]);
        }
    }
    let ran = tmt("apply --scheme arq --format parquet.gz no-such.csv").run();
    ran.fails(2, &["parquet.gz", "csv.zst"]);
}

#[test]
fn several_schemes_are_written_in_one_form() {
    for (pattern, flags, form) in [
        ("{scheme}.csv.gz", "", "csv.gz"),
        ("{scheme}.parquet", "", "parquet"),
        ("{scheme}", "--format arrow.zst", "arrow.zst"),
    ] {
        let folder = Folder::new();
        let run = tmt("apply --scheme arq --scheme harq:2/3").arg_list(flags);
        let run = run.arg("-o").arg(pattern).input(trace(SLOTS, 9));
        run.within(&folder).run().ok();
        for scheme in ["arq", "harq:2/3"] {
            let name = pattern.replace("{scheme}", &scheme.replace([':', '/'], "-"));
            let found = folder.bytes(&name);
            assert_eq!(kinds(&found), kinds_of(form), "{name}");
            let alone = tmt("apply --format").arg(form).arg("--scheme").arg(scheme);
            let alone = alone.input(trace(SLOTS, 9)).run().ok();
            assert!(found == alone.stdout, "{name}");
        }
        assert_eq!(folder.names().len(), 2);
    }
}

/// Whether a program can be started.
fn installed(program: &str) -> bool {
    let mut command = Command::new(program);
    let streams = command.arg("--version").stdin(Stdio::null());
    let is_there = streams
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !is_there {
        skipped(&format!("no {program} here"));
    }
    is_there
}

#[test]
fn the_programs_of_the_compressed_forms_read_what_is_written() {
    let folder = every_form(&trace(SLOTS, 97));
    for (program, form, script) in [
        (
            "gzip",
            "csv.gz",
            "gzip -t phy.csv.gz && gzip -dc < phy.csv.gz",
        ),
        ("zcat", "csv.gz", "zcat phy.csv.gz"),
        (
            "zstd",
            "csv.zst",
            "zstd -qt phy.csv.zst && zstd -dc < phy.csv.zst",
        ),
        ("gzip", "arrow.gz", "gzip -dc < phy.arrow.gz"),
        ("zstd", "arrow.zst", "zstd -dc < phy.arrow.zst"),
    ] {
        if installed(program) {
            let (format, _) = form.split_once('.').unwrap();
            let expected = folder.bytes(&format!("phy.{}", piped(format)));
            assert!(bash(&folder, script).ok().stdout == expected, "{script}");
        }
    }
}

#[test]
fn what_those_programs_write_is_read() {
    let folder = Folder::new();
    folder.write("phy.csv", trace(SLOTS, 97));
    let expected = tmt("stats --json phy.csv").within(&folder).run().ok();
    for (program, script) in [
        ("gzip", "gzip -c phy.csv | tmt stats --json"),
        (
            "gzip",
            "gzip -9c phy.csv > a.gz; head -c 4096 /dev/zero >> a.gz; tmt stats --json a.gz",
        ),
        (
            "gzip",
            "(head -n 30000 phy.csv | gzip; tail -n +30001 phy.csv | gzip) | tmt stats --json",
        ),
        ("zstd", "zstd -qc phy.csv | tmt stats --json"),
        ("zstd", "zstd -qc -12 --long phy.csv | tmt stats --json"),
        (
            "zstd",
            "(head -n 30000 phy.csv | zstd -qc; tail -n +30001 phy.csv | zstd -qc) | tmt stats --json",
        ),
    ] {
        if installed(program) {
            let found = bash(&folder, script).ok();
            assert_eq!(found.text(), expected.text(), "{script}");
        }
    }
}

#[test]
fn members_and_frames_behind_each_other_are_one_trace() {
    let text = trace(3000, 97);
    let expected = tmt("apply --scheme arq").input(&*text).run().ok();
    for compression in [Compression::Gzip, Compression::Zstd] {
        let mut compressor = Compressor::new(compression).unwrap();
        // Cut within a row, an empty one between.
        let (front, back) = text.as_bytes().split_at(text.len() / 2 + 3);
        let mut stream = Vec::new();
        for block in [front, b"", back] {
            compressor.block(block, &mut stream).unwrap();
        }
        let found = tmt("apply --scheme arq").input(stream).run().ok();
        assert_eq!(found.text(), expected.text(), "{compression:?}");
    }
}

#[test]
fn an_unknown_extension_is_refused_and_pipes_and_devices_have_none() {
    let folder = Folder::new();
    folder.write("phy.csv", trace(40, 7));
    let expected = tmt("apply --scheme arq phy.csv").within(&folder).run().ok();
    for name in ["x.json", "x.txt.bz2", "x.csv.xz", "phy-0.01"] {
        let refused = tmt("apply --scheme arq phy.csv -o").arg(name);
        let words = ["unknown extension", ".parquet", "--format"];
        refused.within(&folder).run().fails(2, &words);
        let refused = tmt("tcp --link synthetic --rate 1Mbps --duration 1s --packets").arg(name);
        let words = ["unknown extension", ".parquet"];
        refused.within(&folder).run().fails(2, &words);
    }
    assert_eq!(folder.names(), ["phy.csv"]);
    for place in ["/dev/null", "/dev/stdout"] {
        let ran = tmt("apply --scheme arq phy.csv -o").arg(place);
        let ran = ran.within(&folder).run().ok();
        assert!(place == "/dev/null" || ran.stdout == expected.stdout);
    }
    // A pipe has the form of its name if that is known, and an Arrow pipe is a stream.
    for (name, form) in [
        ("p.log", "csv"),
        ("p.arrow", "arrows"),
        ("p.feather", "arrows"),
    ] {
        let script = format!(
            "mkfifo {name}; cat {name} > out & tmt apply -q --scheme arq phy.csv -o {name}; wait"
        );
        bash(&folder, &script).ok();
        let written = folder.bytes("out");
        assert_eq!(kinds(&written), kinds_of(form), "{name}");
        assert!(form != "csv" || written == expected.stdout, "{name}");
    }
}
