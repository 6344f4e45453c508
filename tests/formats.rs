//! Every form of a trace at the command line: what one holds the others hold, by extension, by flag, by pipe.

use std::io::Read as _;
use std::process::{Command, Stdio};

use crate::common::{Folder, bash, plain, project, skipped, tmt, trace};
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

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path(name)).unwrap()
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
            let bytes = bytes(&folder, &name);
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
        let audit =
            tmt("audit log.csv --timeline -").input(bytes(&folder, &format!("line.{form}")));
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
        let bytes = bytes(&folder, &format!("phy.{form}"));
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
            let found = kinds(&bytes(&folder, name));
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
            let found = bytes(&folder, &name);
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
            let expected = bytes(&folder, &format!("phy.{}", piped(format)));
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
        let written = bytes(&folder, "out");
        assert_eq!(kinds(&written), kinds_of(form), "{name}");
        assert!(form != "csv" || written == expected.stdout, "{name}");
    }
}

/// A trace as text, the rows of every file of `fixtures/formats`.
fn fixture_text() -> String {
    let row = |j: u64| {
        let delay = if j % 3 == 2 { 0 } else { 7 + j };
        format!("{},{delay},{}\n", 1000 * j, 1 + j % 2)
    };
    let rows: String = (0..10).map(row).collect();
    format!("tx_time_ns,decode_delay_ns,attempts\n{rows}")
}

#[test]
fn tables_of_other_programs_give_the_bytes_of_the_text() {
    let apply = "apply --scheme arq --rtt 1us";
    let stats = "stats --json";
    let text = fixture_text();
    let expected = [apply, stats].map(|command| tmt(command).input(&*text).run().ok().stdout);
    let mapping = "--columns tx=time_ns,delay=d_ns,erased=lost,attempts=tries";
    let missing = "3 rows without a delay";
    let zero = "timestamps count from the first row";
    let ignored = "column snr_db ignored";
    for (name, flags, notes) in [
        ("crowded.arrows", "", &["columns int32, string,", "…"][..]),
        ("crowded.parquet", "", &["columns int32, string,", "…"]),
        ("duckdb.parquet", "", &[]),
        ("lz4.feather", "", &[]),
        ("polars.arrow", "", &["column word ignored"]),
        ("polars.parquet", "", &["column word ignored"]),
        ("zstd.feather", "", &["ignored"]),
        ("unit-duckdb.parquet", "", &[]),
        ("unit-durations.feather", "", &[missing]),
        ("unit-nan.parquet", "", &[missing]),
        ("unit-nan.parquet", "--unit us", &[missing]),
        ("unit-pandas.csv", "", &[missing]),
        ("unit-pandas.feather", "", &[]),
        ("unit-polars.arrow", "", &[]),
        ("unit-polars.csv", "", &[missing]),
        ("unit-timestamps.arrow", "", &[missing, zero]),
        ("unit-timestamps.parquet", "", &[missing, zero]),
        ("foreign.arrow", mapping, &[ignored]),
        ("foreign.csv", mapping, &[ignored]),
        ("foreign.parquet", mapping, &[ignored]),
    ] {
        let file = project("fixtures/formats").join(name);
        for (command, expected) in [apply, stats].into_iter().zip(&expected) {
            let run = || tmt(command).arg_list(flags);
            let ran = run().arg(&file).run().ok().says(notes);
            assert!(ran.stdout == *expected, "{command} {flags} {name}");
            for word in ["without a delay", "timestamps", "ignored"] {
                let expected = notes
                    .iter()
                    .any(|note| note.contains(word) || note.contains("columns"));
                assert!(
                    expected || !ran.stderr.contains(word),
                    "{name}: {}",
                    ran.stderr
                );
            }
            let piped = run().input(std::fs::read(&file).unwrap()).run().ok();
            assert!(piped.stdout == *expected, "{command} {flags} {name}, piped");
        }
    }
}

#[test]
fn erasures_without_times_get_them_from_an_interval_or_a_rate() {
    let lost = [0, 1, 0, 0, 1];
    let list = lost.map(|lost| format!("{lost}\n")).concat();
    let words = lost.map(|lost| if lost == 1 { "true" } else { "False" });
    let table = words.map(|lost| format!("-3.5;{lost}\n")).concat();
    let table = format!("snr;lost\n{table}");
    // By hand: row i at i * 10 ms; and slot i of 1500 B at 1 Mbps at i * 12 ms.
    for (flags, period) in [("--interval 10ms", 10), ("--rate 1Mbps --lldu 1500B", 12)] {
        let rows = lost.iter().enumerate().map(|(at, lost)| {
            let delay = if *lost == 1 { "0" } else { "0.036000000" };
            format!("0.{:03}000000,{delay},1\n", at * period)
        });
        let rows: String = rows.collect();
        let expected = format!("tx_time,decode_delay,attempts\n{rows}");
        for (columns, input) in [
            ("erased=1,delay=36ms", &list),
            ("erased=lost,delay=36ms", &table),
        ] {
            let run = tmt("apply --no-head --scheme none --columns").arg(columns);
            let ran = run.arg_list(flags).input(&**input).run().ok();
            assert_eq!(ran.text(), expected, "{flags} {columns}");
        }
    }
    // Rows keep their numbers across the pieces in which a long list is read.
    let long: String = (0..300_000)
        .map(|at| if at % 7 == 3 { "1\n" } else { "0\n" })
        .collect();
    let run = tmt("stats --json --columns erased=1,interval=1ms").input(long);
    let stats = run.run().ok().says(&["no column of delays"]).results();
    assert_eq!(stats["slots_erased"], (300_000 - 4) / 7 + 1);
    assert_eq!(stats["last_s"], 299.999);
    assert_eq!(stats["longest_slot_period_s"], 0.001);
}

#[test]
fn without_a_head_there_are_only_header_and_rows() {
    let synth = "synth --rate 264kbps --lldu 33B --duration 3ms --decode-delay 1ms";
    let ran = tmt(synth).arg("--no-head").run().ok();
    let rows = "0.000000000,0.001000000\n0.001000000,0.001000000\n0.002000000,0.001000000\n";
    assert_eq!(ran.text(), format!("tx_time,decode_delay\n{rows}"));
    let folder = Folder::new();
    folder.write("phy.csv", trace(50, 7));
    for (command, form) in [
        ("inject --bernoulli 0", "csv"),
        ("apply --scheme arq", "arrow"),
    ] {
        let run = |flags: &str, name: &str| {
            let run = tmt(command)
                .arg_list(flags)
                .arg("phy.csv")
                .arg("-o")
                .arg(name);
            run.within(&folder).run().ok();
            let again = tmt("inject --bernoulli 0 --seed 2 --no-head --allow-cut").arg(name);
            again.within(&folder).run().ok().stdout
        };
        let (bare, headed) = (format!("bare.{form}"), format!("headed.{form}"));
        assert_eq!(run("--no-head", &bare), run("", &headed));
        let has_tool = |name: &str| {
            let bytes = bytes(&folder, name);
            bytes.windows(4).any(|window| window == b"tool")
        };
        assert!(!has_tool(&bare) && has_tool(&headed));
    }
}

#[test]
fn a_run_reads_a_foreign_table_too() {
    let folder = Folder::new();
    folder.write("phy.csv", trace(3000, 9));
    let run = tmt("apply --scheme arq phy.csv -o line.csv");
    run.within(&folder).run().ok();
    let line = plain(&folder.read("line.csv"));
    let foreign = line.replacen("tx_time,decode_delay,attempts", "when,late,tries", 1);
    folder.write("foreign.csv", foreign);
    folder.write("plain.csv", line);
    let run = |arguments: &str| {
        let run = tmt("tcp --json --cc cubic --rtt 20ms --duration 2s").arg_list(arguments);
        run.within(&folder).run().ok().results()
    };
    let expected = run("plain.csv");
    assert!(run("foreign.csv --columns tx=when,delay=late,attempts=tries") == expected);
}

#[test]
fn wrong_mappings_are_refused_with_what_is_expected() {
    let table = "time,lost\n0,0\n1,2\n";
    let columns = "pairs such as tx=time,erased=lost";
    for (flags, code, words) in [
        ("--columns tx", 2, &[columns][..]),
        ("--columns tx=a,tx=b", 2, &[columns]),
        ("--columns snr=a", 2, &[columns]),
        ("--columns tx=a,interval=1ms", 2, &[columns]),
        (
            "--columns erased=lost,delay=0ms",
            2,
            &["a delay above zero"],
        ),
        (
            "--columns tx=time,delay=36ms",
            2,
            &["expected erased=COLUMN beside one delay of all received slots"],
        ),
        (
            "--columns tx=time --interval 1ms",
            2,
            &["--interval cannot be combined"],
        ),
        ("--interval 0ms", 2, &["--interval: found 0"]),
        ("--rate 1Mbps", 2, &["--lldu"]),
        (
            "--columns tx=when,erased=lost",
            1,
            &["found 'time,lost', expected a column when"],
        ),
        (
            "--columns tx=time",
            1,
            &["expected a column decode_delay", "--columns"],
        ),
        (
            "--columns tx=time,erased=lost",
            1,
            &[":3:3: found erased '2', expected 0 or 1"],
        ),
    ] {
        let refused = tmt("stats").arg_list(flags).input(table).run();
        refused.fails(code, words);
    }
    let named = "tx_time_ms,decode_delay\n0,1\n";
    let refused = tmt("stats --unit s").input(named).run();
    refused.fails(1, &["found unit s for a column whose name says ms"]);
    // The unit of integers in a foreign table is not assumed.
    let file = project("fixtures/formats/foreign.parquet");
    let refused = tmt("stats --columns tx=tries,delay=d_ns").arg(file).run();
    refused.fails(1, &["tx_time: found numbers without a unit", "--unit"]);
}

#[test]
fn times_of_a_trace_are_not_replaced_by_an_interval_or_a_rate() {
    let either = "expected either times in the table, or an interval or a rate";
    let folder = Folder::new();
    folder.write("table.csv", "lost,tx_time_ms\n0,10\n1,30\n");
    folder.write("headless.csv", "# tool: x\n0,0.036\n0.03,0\n");
    tmt("apply --scheme none -o head.parquet")
        .input(trace(20, 7))
        .within(&folder)
        .run()
        .ok();
    for (spacing, given) in [
        ("--interval 10ms", "beside an interval"),
        ("--rate 1Mbps --lldu 1500B", "beside a rate"),
    ] {
        for (name, times) in [
            (
                "table.csv --columns erased=lost",
                "csv:1:6: found the column tx_time_ms",
            ),
            (
                "headless.csv",
                "found the head of a trace, whose rows have times,",
            ),
            ("head.parquet", "found the column tx_time_ns"),
        ] {
            for command in ["stats", "apply --scheme none"] {
                let run = tmt(command).arg_list(name).arg_list(spacing);
                let refused = run.within(&folder).run();
                refused.fails(1, &[times, given, either]);
            }
        }
    }
    let run = tmt("tcp --cc cubic --rtt 20ms table.csv");
    let run = run.arg_list("--columns erased=lost,interval=1ms");
    run.within(&folder)
        .run()
        .fails(1, &["found the column tx_time_ms", either]);
}

#[test]
fn erasures_are_read_as_other_programs_write_them() {
    let expected = tmt("stats --json").input("0,0.001\n1,0\n2,0.001\n").run();
    let expected = expected.ok();
    for (no, yes) in [
        ("0", "1"),
        ("0.0", "1.0"),
        ("-0.0", "1."),
        ("false", "TRUE"),
        ("+0", "1e0"),
    ] {
        let table = format!("0,0.001,{no}\n1,0.001,{yes}\n2,0.001,{no}\n");
        let run = tmt("stats --json --columns erased=3,delay=2").input(table);
        assert_eq!(run.run().ok().text(), expected.text(), "{no} {yes}");
    }
    for wrong in ["0.5", "2.0", "-1", "x", "nan"] {
        let run = tmt("stats --columns erased=3,delay=2").input(format!("0,0.001,{wrong}\n"));
        let found =
            format!("<stdin>:1:9: found erased '{wrong}', expected 0 or 1, or false or true");
        run.run().fails(1, &[&found]);
    }
    // One column may be both: a delay of 1 s is an erasure here, one of 0 a slot without a delay.
    let run = tmt("stats --json --columns delay=2,erased=2").input("0,1\n1,0\n");
    assert_eq!(run.run().ok().results()["slots_erased"], 2);
}

/// A Python with pandas, polars, pyarrow and DuckDB: `$TMT_PYTHON`, or python3.
#[expect(clippy::disallowed_methods, reason = "where the tools of a test are")]
fn python() -> Option<String> {
    let python = std::env::var("TMT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let imports = "import pandas, polars, pyarrow.feather, duckdb";
    let check = Command::new(&python).args(["-c", imports]).output();
    let is_there = check.is_ok_and(|check| check.status.success());
    if !is_there {
        let lacks = "has no pandas, polars, pyarrow and duckdb; TMT_PYTHON names another";
        skipped(&format!("{python} {lacks}"));
    }
    is_there.then_some(python)
}

/// Reads every form with every library and writes it back.
const ROUND_TRIPS: &str = r##"
import duckdb, pandas, polars, pyarrow as pa, pyarrow.feather as feather, pyarrow.parquet as parquet
for name in ["x.arrow", "x.feather", "x.ipc"]:
    pandas.read_feather(name).to_feather("pandas-" + name)
    polars.read_ipc(name).write_ipc("polars-" + name)
    assert polars.scan_ipc(name).select(polars.len()).collect().item() == 70000
    feather.write_feather(feather.read_table(name), "pyarrow-" + name)
    held = feather.read_table(name)
    duckdb.sql(f"copy (select * from held) to 'duckdb-{name}.parquet' (format parquet)")
with pa.ipc.open_stream("x.arrows") as stream:
    held = stream.read_all()
with pa.ipc.new_stream("pyarrow-x.arrows", held.schema) as stream:
    stream.write_table(held)
polars.read_ipc_stream("x.arrows").write_ipc_stream("polars-x.arrows")
pandas.read_parquet("x.parquet").to_parquet("pandas-x.parquet")
polars.read_parquet("x.parquet").write_parquet("polars-x.parquet")
parquet.write_table(parquet.read_table("x.parquet"), "pyarrow-x.parquet")
duckdb.sql("copy (select * from 'x.parquet') to 'duckdb-x.parquet' (format parquet)")
pandas.read_csv("x.csv", comment="#").to_csv("pandas-x.csv", index=False)
polars.read_csv("x.csv", comment_prefix="#").write_csv("polars-x.csv")
assert held["decode_delay_ns"].null_count == 70000 // 97
assert [str(field.type) for field in held.schema] == ["int64", "int64", "int64"]
"##;

#[test]
fn other_programs_open_what_is_written_and_their_files_give_the_same_bytes() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    for name in [
        "x.csv",
        "x.arrow",
        "x.feather",
        "x.ipc",
        "x.arrows",
        "x.parquet",
    ] {
        let run = tmt("apply --scheme none -o").arg(name);
        run.input(trace(SLOTS, 97)).within(&folder).run().ok();
    }
    let written = Command::new(python)
        .args(["-c", ROUND_TRIPS])
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&written.stderr);
    assert!(written.status.success(), "{errors}");
    // Their files have no head, or one without an end line.
    folder.write("plain.csv", plain(&folder.read("x.csv")));
    let apply = |name: &str| {
        let run = tmt("apply --scheme harq:10/12 --rtt 20ms --allow-cut").arg(name);
        plain(run.within(&folder).run().ok().text())
    };
    let expected = apply("plain.csv");
    let names = folder.names();
    let theirs: Vec<_> = names.iter().filter(|name| name.contains("-x.")).collect();
    assert_eq!(theirs.len(), 20, "{theirs:?}");
    for name in theirs {
        assert!(apply(name) == expected, "{name}");
    }
}
