//! Input that must be refused, with exit code, place, words, and nothing that looks like a result.

use std::collections::BTreeSet;
use std::fs;

use crate::common::{Folder, plain, project, tmt, trace};

/// Commands that read a trace.
const READERS: [&str; 5] = [
    "apply --scheme harq:10/12",
    "stats",
    "inject --bernoulli 0.1",
    "slice --rebase",
    "tcp --lldu 1500B --lldu-header 0B",
];

const LARGEST: &str = "expected at most 9223372036.854775807 s (2^63 - 1 ns)";
const CUT: &str =
    ":5: found the end of the input after 2 whole rows, expected more rows or the line '# end: …'";

/// Every file of `fixtures/invalid` that is a trace, and what is said of it.
fn refusals() -> Vec<(&'static str, String)> {
    let column = "expected a column decode_delay";
    let number = "expected a decimal number";
    [
        ("cut", CUT.to_owned()),
        ("cut-in-a-row", CUT.to_owned()),
        (
            "duplicate-column",
            ":1:22: found column tx_time more than once, expected each name once".to_owned(),
        ),
        ("empty-field", format!(":2:1: tx_time: found '', {number}")),
        ("end-line-without-line-end", CUT.to_owned().replace(":5", ":4")),
        (
            "half-end-line",
            ":6:1: # end: found 'rows=2 slots=2', expected rows=N slots=M usable_until_ns=T"
                .to_owned(),
        ),
        (
            "metadata-number",
            ":2:1: # rtt_ns: found 'soon', expected a whole number from 0 to 2^63 - 1".to_owned(),
        ),
        (
            "metadata-twice",
            ":3:1: # lldu_bytes: found '34', expected each key of the head at most once".to_owned(),
        ),
        (
            "metadata-zero",
            ":2:1: # rate_bps: found '0', expected more than zero".to_owned(),
        ),
        ("missing-column", format!(":1: found 'tx_time,delay', {column}")),
        ("mixed-separators", format!(":2:6: found '2;0.1', {column}")),
        ("nan", format!(":2:1: tx_time: found 'nan', {number}")),
        (
            "negative-delay",
            ":3:3: decode_delay: found '-0.1', expected zero or more".to_owned(),
        ),
        (
            "negative-time",
            ":3:1: tx_time: found '-2', expected zero or more".to_owned(),
        ),
        ("no-rows", ":2: found no row, expected at least one".to_owned()),
        ("not-a-number", format!(":3:3: decode_delay: found 'fast', {number}")),
        ("only-comments", ":3: found no row, expected at least one".to_owned()),
        (
            "out-of-order",
            ":3:1: tx_time: found 1.500000000 s after 2.000000000 s, expected times that do not decrease"
                .to_owned(),
        ),
        (
            "rounds-to-zero",
            ":2:3: decode_delay: found '0.0000000004', which rounds to 0 ns; \
             expected 0 (erased) or at least 0.5 ns"
                .to_owned(),
        ),
        (
            "row-after-end",
            ":7:1: found a row after the end line, expected none".to_owned(),
        ),
        (
            "row-count",
            ":5: found 2 rows, expected 3 as stated in the end line".to_owned(),
        ),
        ("short-row", format!(":3:2: found '2', {column}")),
        ("too-large-delay", format!(":2:3: decode_delay: found '1e10', {LARGEST}")),
        (
            "too-large-sum",
            ":2:12: found tx_time + decode_delay above 9223372036.854775807 s, \
             expected at most that (2^63 - 1 ns)"
                .to_owned(),
        ),
        (
            "too-large-time",
            format!(":2:1: tx_time: found '9223372036.854775808', {LARGEST}"),
        ),
        (
            "two-units",
            ":1:9: found the columns tx_time and tx_time_ms, expected one of them, chosen by a mapping such as tx=tx_time"
                .to_owned(),
        ),
        (
            "two-end-lines",
            ":7:1: # end: found 'rows=2 slots=2 usable_until_ns=1000000', expected one end line"
                .to_owned(),
        ),
    ]
    .into()
}

#[test]
fn an_argument_that_is_not_utf8_is_a_usage_error() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let bytes = OsStr::from_bytes(b"\xff\xfe");
    for flag in ["--no-such-flag", "--rtt"] {
        let ran = tmt("stats").arg(flag).arg(bytes).run();
        let ran = ran.fails(2, &["error: "]);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    }
}

#[test]
fn every_invalid_fixture_is_in_the_table() {
    let files: BTreeSet<String> = fs::read_dir(project("fixtures/invalid"))
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".csv").map(str::to_owned)
        })
        .collect();
    let table: BTreeSet<String> = refusals()
        .into_iter()
        .map(|(name, _)| name.to_owned())
        .collect();
    assert_eq!(files, table);
}

#[test]
fn every_refusal_names_file_line_and_column_what_was_found_and_what_was_expected() {
    for (name, words) in refusals() {
        let file = project(&format!("fixtures/invalid/{name}.csv"));
        for command in READERS {
            let verb = command.split(' ').next().unwrap();
            let ran = tmt(command).arg(&file).run();
            let line = format!("tmt {verb}: {}{words}", file.display());
            assert!(
                ran.stderr.lines().any(|said| said == line),
                "{name}: no line '{line}' in:\n{}",
                ran.stderr
            );
            assert_eq!(ran.code, Some(1), "{verb} {name}");
            assert!(!ran.text().contains("# end:"), "{verb} {name} looks whole");
        }
    }
}

#[test]
fn what_comes_through_a_pipe_is_refused_by_the_name_stdin() {
    for (name, words) in refusals() {
        let bytes = fs::read(project(&format!("fixtures/invalid/{name}.csv"))).unwrap();
        let ran = tmt("apply --scheme arq").input(&*bytes).run();
        ran.fails(1, &[&format!("tmt apply: <stdin>{words}\n")]);
        let ran = tmt("apply --scheme arq -").input(bytes).run();
        ran.fails(1, &[&format!("tmt apply: <stdin>{words}\n")]);
    }
}

#[test]
fn the_auditor_refuses_a_bad_timeline_where_it_is_bad() {
    let folder = Folder::new();
    folder.write("phy.csv", plain(&trace(200, 50)));
    tmt("tcp --packets log.csv phy.csv")
        .within(&folder)
        .run()
        .ok();
    folder.write(
        "phy.csv",
        plain(&trace(200, 50)).replace("\n0.059000000,", "\n0.059000000;"),
    );
    tmt("audit --timeline phy.csv log.csv")
        .within(&folder)
        .run()
        .fails(1, &["tmt audit: phy.csv:61:"]);
}

#[test]
fn an_attempts_column_is_checked_by_those_who_read_it() {
    for (attempts, column) in [
        ("0", 5),
        ("-1", 5),
        ("two", 5),
        ("1.5", 5),
        ("4294967296", 5),
    ] {
        let input = format!("tx_time,decode_delay,attempts\n1,1,1\n2,1,{attempts}\n");
        for command in ["stats", "tcp --lldu 1500B --lldu-header 0B"] {
            tmt(command).input(&*input).run().fails(
                1,
                &[&format!(
                    "<stdin>:3:{column}: found attempts '{attempts}', expected a whole number from 1 to 4294967295"
                )],
            );
        }
        tmt("apply --scheme arq").input(&*input).run().ok();
    }
    tmt("stats")
        .input("tx_time,decode_delay,attempts\n1,1,1\n2,1\n")
        .run()
        .fails(1, &["<stdin>:3:4: found '2,1', expected a column attempts"]);
}

#[test]
fn what_is_no_text_is_refused_in_words_that_do_no_harm() {
    let gzip = b"\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x03phy.csv\x00\x1b[31m\x07";
    let utf16 = b"\xff\xfet\x00x\x00\n\x00";
    let zeros = vec![0u8; 100_000];
    let noise: Vec<u8> = (0..100_000u32)
        .map(|i| (i.wrapping_mul(i) % 251) as u8)
        .collect();
    let rows_with_nul = b"1,0.1\n2,0.\x001\n";
    for bytes in [&gzip[..], utf16, &zeros, &noise, rows_with_nul] {
        for command in READERS {
            let ran = tmt(command).input(bytes).run().fails(1, &["<stdin>:"]);
            assert!(
                !ran.stderr.contains(|c: char| c.is_control() && c != '\n'),
                "{command}: {:?}",
                ran.stderr
            );
            assert!(ran.stderr.len() < 1000, "{command}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_line_of_two_megabytes_is_refused_and_not_shown() {
    let line = "1".repeat(2_000_000);
    for input in [
        format!("1,1\n{line},1\n"),
        format!("1,1\n2,{line}"),
        format!("# {line}\n1,1\n"),
    ] {
        for command in READERS {
            let ran = tmt(command).input(&*input).run();
            let ran = ran.fails(
                1,
                &["found a line of more than 1048576 bytes, expected a text trace"],
            );
            assert!(ran.stderr.len() < 1000, "{}", ran.stderr.len());
        }
    }
}

#[test]
fn empty_input_is_refused_however_it_is_empty() {
    for input in [
        "",
        "\n",
        "\r\n\r\n",
        "# a comment\n",
        "\u{feff}",
        "tx_time,decode_delay",
        "# tool: x\n",
    ] {
        for command in READERS {
            let ran = tmt(command).input(input).run().fails(1, &["<stdin>"]);
            assert_eq!(ran.text(), "", "{command} {input:?}");
        }
    }
    tmt("convert --from mahimahi")
        .run()
        .fails(1, &["found no row, expected at least one"]);
    tmt("convert --from delay-loss --loss - --interval 1ms")
        .run()
        .fails(1, &["found no row, expected at least one"]);
    tmt("audit").run().fails(1, &["<stdin>"]);
}

#[test]
fn a_file_that_is_not_there_and_a_folder_are_refused_by_name() {
    for command in READERS {
        let verb = command.split(' ').next().unwrap();
        for (path, words) in [
            ("no-such.csv", "No such file or directory"),
            ("/", "Is a directory"),
        ] {
            let ran = tmt(command).arg(path).run();
            ran.fails(1, &[&format!("tmt {verb}: {path}: {words}")]);
        }
    }
}

#[test]
fn a_bad_scheme_is_a_usage_error_that_names_the_part_and_shows_the_form() {
    let arq = ": arq[:rounds=R][,in-order]";
    let fec = " fec:ND/N[,interleave=I][,in-order]";
    let harq = " harq:ND/N[,extra=NS][,rounds=R][,interleave=I][,in-order]";
    let frame = " frame-arq:ND/N[,rounds=R][,in-order]";
    for (scheme, part, form) in [
        ("", "''", "expected one of none"),
        ("ARQ", "'ARQ'", "expected one of none"),
        (" arq", "' arq'", "expected one of none"),
        ("none:rounds=1", "'rounds=1'", ": none[,in-order]"),
        ("arq:", "''", arq),
        ("arq,rounds=3", "'arq,rounds=3'", "did you mean 'arq'?"),
        ("arq:rounds", "'rounds'", arq),
        ("arq:rounds=", "'rounds='", arq),
        ("arq:rounds=-1", "'rounds=-1'", arq),
        ("arq:rounds=4294967295", "'rounds=4294967295'", arq),
        ("arq:rounds=1,rounds=2", "'rounds=2'", arq),
        ("arq:extra=1", "'extra=1'", arq),
        ("arq,in-order,in-order", "'in-order'", "as the last part"),
        ("fec", "found no codeword", fec),
        ("fec:10", "'10'", fec),
        ("fec:0/12", "'0/12'", fec),
        ("fec:12/10", "'12/10'", fec),
        ("fec:10/65536", "'10/65536'", fec),
        ("fec:10/12,rounds=1", "'rounds=1'", fec),
        ("fec:10/12,interleave=0", "'interleave=0'", fec),
        ("fec:10/65535,interleave=257", "'interleave=257'", fec),
        ("harq:10/12,extra=65536", "'extra=65536'", harq),
        ("harq:10 /12", "'10 /12'", harq),
        (
            "harq:10/12,in-order,extra=1",
            "'in-order'",
            "as the last part",
        ),
        ("frame-arq:10/12,interleave=2", "'interleave=2'", frame),
    ] {
        let ran = tmt("apply no-such.csv --scheme").arg(scheme).run();
        let ran = ran.fails(2, &[part, form]);
        assert_eq!(ran.text(), "", "{scheme}");
    }
}

#[test]
fn the_largest_and_the_smallest_of_every_scheme_are_taken() {
    for scheme in [
        "none,in-order",
        "arq:rounds=0",
        "arq:rounds=4294967294,in-order",
        "fec:1/1",
        "fec:65535/65535",
        "fec:1/65535,interleave=256",
        "fec:1/1,interleave=16777216",
        "harq:10/12,interleave=2,rounds=0,extra=65535",
        "frame-arq:65535/65535,rounds=1,in-order",
    ] {
        tmt("apply --scheme")
            .arg(scheme)
            .input(trace(20, 4))
            .run()
            .ok();
    }
}

#[test]
fn text_that_is_not_utf8_is_named_with_its_line() {
    let folder = Folder::new();
    folder.write("x", b"# one\n# two\n\xff\n");
    for command in [
        "sweep x",
        "tcp --params x",
        "advise --candidates @x --channel bernoulli:0.05 --rate 1Mbps --lldu 100B --rtt 40ms",
        "synth --scenario hybrid-fading --fading-format sns3 --fading-in x",
        "synth --scenario hybrid-fading --error-curve x",
    ] {
        let ran = tmt(command).within(&folder).run();
        ran.fails(1, &["x:3: found bytes that are not UTF-8, expected text"]);
    }
}
