//! Compressed and binary traces that are cut, damaged or no trace: exit code, words, and nothing half-written.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use crate::common::{Folder, Ran, plain, tmt, trace};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use test_support::depth;
use tmt_core::format::Compression;
use tmt_core::format::compression::Compressor;

const FORMS: [&str; 7] = [
    "csv",
    "csv.gz",
    "csv.zst",
    "arrow",
    "arrow.gz",
    "arrow.zst",
    "parquet",
];

/// Commands that read a trace and write a file.
const READERS: [&str; 5] = [
    "inject --bernoulli 0.1 --seed 9",
    "slice --every 3 --offset 1",
    "stats",
    "apply --scheme arq",
    "tcp",
];

/// Slots of a trace of two blocks.
const SLOTS: u32 = 40_000;

/// A trace with a head in some form.
fn in_form(form: &str, text: &str) -> Vec<u8> {
    let run = tmt("inject --bernoulli 0 --format").arg(form);
    run.input(text).run().ok().stdout
}

/// The format that a cut of this form is told of: the outermost one.
fn format(form: &str) -> &'static str {
    match form.split_once('.') {
        Some((_, "gz")) => "gzip",
        Some(_) => "zstd",
        None if form == "arrow" => "Arrow",
        None => "Parquet",
    }
}

/// The number in front of `words` in what was said.
fn number_before(ran: &Ran, words: &str) -> usize {
    let (front, _) = ran.stderr.split_once(words).unwrap();
    front.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Asserts that no command makes anything of `file`, neither on stdout nor in a file.
#[track_caller]
fn refused(folder: &Folder, file: &str, words: &[&str]) {
    let before = folder.names();
    for command in READERS {
        for output in ["-o out.csv", "-o out.parquet"] {
            let run = tmt(command).arg_list(output).arg(file).within(folder);
            let ran = run.run().fails(1, words).says(&[file]);
            assert_eq!(ran.text(), "", "{command}");
            assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
            assert_eq!(folder.names(), before, "{command}");
        }
    }
}

#[test]
fn a_cut_stream_gives_its_whole_rows_and_says_how_many() {
    let text = trace(SLOTS, 9);
    let whole = tmt("apply --scheme none")
        .input(in_form("csv", &text))
        .run()
        .ok();
    let (head, rows) = whole.text().split_once("attempts\n").unwrap();
    for form in ["csv.gz", "csv.zst", "arrow", "arrow.gz", "arrow.zst"] {
        let bytes = in_form(form, &text);
        let folder = Folder::new();
        let mut most = 0;
        for part in [
            20,
            1000,
            bytes.len() / 3,
            bytes.len() * 2 / 3,
            bytes.len() - 9,
            bytes.len() - 1,
        ] {
            folder.write("cut", &bytes[..part]);
            let ran = tmt("apply --scheme none cut").within(&folder).run();
            let ran = ran.fails(1, &["cut: ", format(form), " stream after "]);
            let told = number_before(&ran, " whole rows");
            if told > 0 {
                let (found_head, found) = ran.text().split_once("attempts\n").unwrap();
                assert_eq!(found_head, head, "{form}");
                assert!(rows.starts_with(found), "{form} {part}: other rows");
                assert!(
                    !found.contains('#') && found.ends_with('\n'),
                    "{form} {part}"
                );
                assert_eq!(found.lines().count(), told, "{form} {part}");
            }
            most = most.max(told);
        }
        assert!(most > SLOTS as usize / 2, "{form}: {most}");
    }
}

#[test]
fn a_cut_stream_leaves_no_file() {
    let text = trace(SLOTS, 9);
    for form in FORMS {
        let bytes = in_form(form, &text);
        for part in [bytes.len() / 2, bytes.len() - 1] {
            let folder = Folder::new();
            folder.write("cut", &bytes[..part]);
            // A text without its last line end says all it has to say.
            if form != "csv" || part < bytes.len() - 1 {
                refused(&folder, "cut", &["found the end of "]);
            }
        }
    }
}

#[test]
fn a_cut_parquet_file_has_no_rows() {
    let bytes = in_form("parquet", &trace(1000, 9));
    for part in [
        8,
        11,
        12,
        100,
        bytes.len() / 2,
        bytes.len() - 5,
        bytes.len() - 1,
    ] {
        let ran = tmt("apply --scheme arq --allow-cut")
            .input(&bytes[..part])
            .run();
        let ran = ran.fails(1, &["<stdin>: found the end of the Parquet stream after"]);
        assert_eq!(ran.text(), "", "{part}");
    }
}

#[test]
fn allow_cut_uses_the_whole_rows_of_any_stream() {
    let text = trace(SLOTS, 9);
    let csv = String::from_utf8(in_form("csv", &text)).unwrap();
    let rows_from = csv.find("decode_delay\n").unwrap() + "decode_delay\n".len();
    for form in ["csv.gz", "csv.zst", "arrow", "arrow.gz", "arrow.zst"] {
        let bytes = in_form(form, &text);
        for part in [bytes.len() * 9 / 10, bytes.len() - 9] {
            let cut = &bytes[..part];
            let ran = tmt("stats").input(cut).run().fails(1, &[]);
            let told = number_before(&ran, " whole rows");
            let kept: usize = csv[rows_from..]
                .split_inclusive('\n')
                .take(told)
                .map(str::len)
                .sum();
            let kept = &csv[..rows_from + kept];
            for command in [
                "apply --scheme harq:10/12 --allow-cut",
                "stats --json --allow-cut",
            ] {
                let found = tmt(command).input(cut).run().ok();
                let expected = tmt(command).input(kept).run().ok();
                assert!(found.text() == expected.text(), "{command} {form} {part}");
                // The cut may stand behind the end line.
                let words = expected
                    .stderr
                    .replace("has no end line: it was cut", "was cut");
                let found = found.says(&["was cut (--allow-cut)"]);
                let said = found
                    .stderr
                    .replace("has no end line: it was cut", "was cut");
                assert_eq!(said, words, "{command} {form} {part}");
            }
        }
    }
}

#[test]
fn a_stream_without_a_head_is_cut_where_its_own_end_is_missing() {
    let text = plain(&trace(SLOTS, 9));
    for form in ["csv.gz", "csv.zst", "arrow", "arrow.gz", "arrow.zst"] {
        let bytes = tmt("apply --scheme none --format")
            .arg(form)
            .input(&*text)
            .run()
            .ok();
        let cut = &bytes.stdout[..bytes.stdout.len() - 3];
        let ran = tmt("stats").input(cut).run();
        ran.fails(1, &["<stdin>: found the end of the ", format(form)]);
    }
}

#[test]
fn a_checksum_that_does_not_fit_is_told() {
    let text = trace(SLOTS, 9);
    for (form, place) in [
        ("csv.gz", 5),
        ("arrow.gz", 5),
        ("csv.zst", 1),
        ("arrow.zst", 1),
    ] {
        let mut bytes = in_form(form, &text);
        let folder = Folder::new();
        let at = bytes.len() - place;
        bytes[at] ^= 0x10;
        folder.write("bad", &bytes);
        refused(
            &folder,
            "bad",
            &["found a damaged", format(form), "checksum"],
        );
        let allowed = tmt("stats --allow-cut bad").within(&folder).run();
        allowed.fails(1, &["found a damaged"]);
        // In the middle it makes other rows, and one of them may be refused first.
        let at = bytes.len() / 2;
        bytes[at] ^= 0x10;
        folder.write("bad", &bytes);
        refused(&folder, "bad", &["found "]);
    }
}

#[test]
fn what_stands_in_front_of_damage_does_not_depend_on_the_pieces_of_a_pipe() {
    let text = trace(SLOTS, 9);
    for form in ["csv.gz", "csv.zst", "arrow.gz", "arrow.zst"] {
        let mut bytes = in_form(form, &text);
        let at = bytes.len() * 2 / 3;
        bytes[at..at + 8].fill(0xa5);
        let run = |jobs: &str, pieces: &[usize]| {
            let run = tmt("apply --scheme none").arg_list(jobs);
            run.input(&*bytes).pieces(pieces).run().fails(1, &[])
        };
        let expected = run("--jobs 1", &[usize::MAX]);
        for (jobs, pieces) in [
            ("--jobs 1", &[1, 4095][..]),
            ("--jobs 2", &[3, 65_537, 8]),
            ("--jobs 8", &[70_001]),
        ] {
            let found = run(jobs, pieces);
            assert!(found.stdout == expected.stdout, "{form} {jobs} {pieces:?}");
            assert_eq!(found.stderr, expected.stderr, "{form} {jobs} {pieces:?}");
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_in_a_table_does_no_harm() {
    let text = trace(300, 9);
    for form in ["arrow", "parquet"] {
        let whole = in_form(form, &text);
        // Everywhere, and byte by byte where the first page's header stands, which decoders take at its word.
        let places = (0..whole.len()).step_by(whole.len() / depth(15, 60));
        for at in (0..depth(10, 40)).chain(places) {
            for flip in [0xff, 1 << (at % 8)] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                let ran = tmt("stats").input(bytes).run();
                let said = &ran.stderr;
                assert!(matches!(ran.code, Some(0 | 1)), "{form} {at}: {said}");
                assert!(!said.contains("panicked"), "{form} {at}: {said}");
                assert!(said.lines().count() <= 2, "{form} {at}: {said}");
            }
        }
    }
}

/// A Parquet file with these columns, as the crate's own writer makes it.
fn table(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn integers(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn doubles(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

#[test]
fn doubles_need_a_unit_and_integers_take_none() {
    let folder = Folder::new();
    let delays = [0.25, 0.0, 0.5];
    folder.write(
        "double.parquet",
        table(vec![
            ("tx_time", doubles(&[0.0, 1.5, 2.0])),
            ("decode_delay", doubles(&delays)),
        ]),
    );
    folder.write(
        "int.parquet",
        table(vec![
            ("tx_time", integers(&[0, 1, 2])),
            ("decode_delay", integers(&[1, 0, 1])),
        ]),
    );
    refused(
        &folder,
        "double.parquet",
        &["tx_time: found numbers without a unit", "--unit"],
    );
    let ran = tmt("apply --no-head --scheme none --unit ms double.parquet")
        .within(&folder)
        .run()
        .ok();
    let rows = "0.000000000,0.000250000,1\n0.001500000,0,1\n0.002000000,0.000500000,1\n";
    assert_eq!(ran.text(), format!("tx_time,decode_delay,attempts\n{rows}"));
    for unit in ["ms", "us", "s"] {
        let run = tmt("stats int.parquet --unit").arg(unit).within(&folder);
        let told = format!("unit {unit} for an int64 column");
        run.run().fails(1, &["int.parquet: tx_time: ", &told]);
    }
    for unit in ["", "--unit ns"] {
        let run = tmt("stats --json int.parquet")
            .arg_list(unit)
            .within(&folder);
        assert_eq!(run.run().ok().results()["last_s"], 2e-9);
    }
}

#[test]
fn columns_that_are_not_the_contracts_are_refused_by_name() {
    let folder = Folder::new();
    let time = || integers(&[0, 1, 2]);
    let words: ArrayRef = Arc::new(StringArray::from(vec!["0", "1", "2"]));
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(1)]));
    for (columns, said) in [
        (
            vec![("tx_time", nulls), ("decode_delay", time())],
            "x.parquet: row 2: tx_time: found null, expected a value",
        ),
        (
            vec![("tx_time", time()), ("decode_delay", words)],
            "x.parquet: decode_delay: found a column of utf8, expected integers, doubles or durations",
        ),
        (
            vec![("tx_time", time()), ("delay", time())],
            "x.parquet: found 'tx_time,delay', expected a column decode_delay",
        ),
        (
            vec![("tx_time", time()), ("decode_delay", integers(&[1, 1, -1]))],
            "x.parquet: row 3: decode_delay: found '-1', expected zero or more",
        ),
        (
            vec![("tx_time", integers(&[0, 2, 1])), ("decode_delay", time())],
            "x.parquet: row 3: tx_time: found 0.000000001 s after 0.000000002 s",
        ),
        (
            vec![("tx_time", integers(&[])), ("decode_delay", integers(&[]))],
            "x.parquet: found no row, expected at least one",
        ),
    ] {
        folder.write("x.parquet", table(columns));
        refused(&folder, "x.parquet", &[said]);
    }
}

#[test]
fn what_a_table_says_of_itself_does_no_harm_to_a_terminal() {
    let folder = Folder::new();
    let columns = || integers(&[1, 1]);
    let table = table(vec![
        ("\u{1b}[31mtx\r\n\u{7}", columns()),
        ("tx_time", columns()),
    ]);
    folder.write("x.parquet", table);
    folder.write("x.csv", "# tool: x\n# rtt_ns: \u{1b}[31m\n1,1\n");
    for name in ["x.parquet", "x.csv"] {
        let ran = tmt("stats").arg(name).within(&folder).run();
        let ran = ran.fails(1, &["[31m"]);
        assert_eq!(
            ran.stderr.lines().count(),
            if name == "x.csv" { 1 } else { 2 }
        );
        let harm = ran.stderr.contains(|c: char| c.is_control() && c != '\n');
        assert!(!harm, "{:?}", ran.stderr);
    }
}

#[test]
fn an_attempts_column_of_another_type_matters_to_those_who_read_it() {
    let folder = Folder::new();
    let ones = || integers(&[1, 1]);
    let columns = vec![
        ("tx_time", ones()),
        ("decode_delay", ones()),
        ("attempts", doubles(&[1.0, 1.0])),
    ];
    folder.write("x.parquet", table(columns));
    let ran = tmt("stats x.parquet").within(&folder).run();
    ran.fails(
        1,
        &["x.parquet: attempts: found a column of float64, expected integers"],
    );
    tmt("apply --scheme arq x.parquet")
        .within(&folder)
        .run()
        .ok();
}

#[test]
fn a_compressed_stream_holds_a_text_or_an_arrow_trace() {
    let folder = Folder::new();
    for (inner, name) in [
        ("csv.gz", "gzip"),
        ("csv.zst", "zstd"),
        ("parquet", "Parquet"),
    ] {
        for outside in [Compression::Gzip, Compression::Zstd] {
            let mut outer = Compressor::new(outside).unwrap();
            let outside = outside.name();
            let mut bytes = Vec::new();
            outer
                .block(&in_form(inner, &trace(50, 9)), &mut bytes)
                .unwrap();
            folder.write("x", bytes);
            let said = format!(
                "x: found {name} inside {outside}, expected a text or Arrow trace inside {outside}"
            );
            refused(&folder, "x", &[&said]);
        }
    }
}

#[test]
fn zeros_behind_a_text_are_refused_at_their_line() {
    let zeros = "\0".repeat(4096);
    for (text, line) in [(plain(&trace(100, 9)), 102), (trace(100, 9), 108)] {
        let text = text + &zeros;
        let folder = Folder::new();
        folder.write("x.csv", &text);
        refused(&folder, "x.csv", &[&format!("x.csv:{line}:")]);
        let mut compressed = Vec::new();
        Compressor::new(Compression::Gzip)
            .unwrap()
            .block(text.as_bytes(), &mut compressed)
            .unwrap();
        folder.write("x.csv", &compressed);
        refused(&folder, "x.csv", &[&format!("x.csv:{line}:")]);
    }
}

#[test]
fn an_output_over_its_own_input_is_refused_in_every_form() {
    for form in FORMS {
        let folder = Folder::new();
        let bytes = in_form(form, &trace(100, 9));
        let input = format!("arq.{form}");
        folder.write(&input, &bytes);
        symlink(&input, folder.path(&format!("link.{form}"))).unwrap();
        for output in [
            input.clone(),
            format!("./{input}"),
            format!("link.{form}"),
            format!("{{scheme}}.{form}"),
        ] {
            for command in READERS {
                if output.contains("{scheme}") && !command.starts_with("apply") {
                    continue;
                }
                let run = tmt(command).arg("-o").arg(&output).arg(&input);
                let ran = run.within(&folder).run();
                ran.fails(2, &["is given more than once"]);
                assert!(
                    fs::read(folder.path(&input)).unwrap() == bytes,
                    "{command} -o {output}"
                );
                assert_eq!(folder.names().len(), 2, "{command} -o {output}");
            }
        }
    }
}

#[test]
fn an_intact_zstd_frame_with_a_large_window_is_not_called_damaged() {
    // Magic, no checksum and no size, a window of 2^31 B, and a last raw block of one byte.
    let frame = [0x28_u8, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 9, 0, 0, b'0'];
    tmt("stats").input(frame).run().fails(
        1,
        &["a zstd frame with a window above 128 MiB, expected a window of up to 128 MiB"],
    );
}
