//! Text traces that are refused (docs/trace-format.md, Sec. 3–5), each with kind and position of the error, and what
//! `--allow-cut` accepts.

use crate::reading::{Refusal, decode, read, read_file};
use tmt_core::format::text::Options;
use tmt_core::format::{self, Rows, TraceReader};

/// Asserts that `text` is refused at this line and column, with an error kind whose debug form starts with `kind`,
/// however it is cut into pieces.
fn refused(text: &str, kind: &str, line: u64, column: u64) -> Refusal {
    let whole = decode(text.as_bytes(), &[usize::MAX], Options::default());
    for pieces in [&[1][..], &[7, 2, 3]] {
        assert_eq!(
            decode(text.as_bytes(), pieces, Options::default()),
            whole,
            "{text:?}"
        );
        assert_eq!(
            read_file(text.as_bytes(), pieces, Options::default()).end,
            whole.end,
            "{text:?}"
        );
    }
    let refusal = whole.end.expect_err(text);
    assert!(
        refusal.kind.starts_with(kind),
        "{text:?}: {} instead of {kind}",
        refusal.kind
    );
    let at = refusal.at.unwrap();
    assert_eq!(
        (at.line, at.column),
        (line, column),
        "{text:?}: {refusal:?}"
    );
    refusal
}

#[test]
fn negative_values_are_refused_at_their_column() {
    refused(
        "-1,1\n",
        "Negative { field: \"tx_time\", found: \"-1\" }",
        1,
        1,
    );
    refused(
        "tx_time,decode_delay\n1,-0.5\n",
        "Negative { field: \"decode_delay\", found: \"-0.5\" }",
        2,
        3,
    );
    refused("1,1\n\n# x\n2,-1e-30\n", "Negative", 4, 3);
    refused(
        "decode_delay;tx_time\n0;-7\n",
        "Negative { field: \"tx_time\", found: \"-7\" }",
        2,
        3,
    );
}

#[test]
fn invalid_numbers_are_refused_at_their_column() {
    for word in [
        "abc", "nan", "NaN", "inf", "1_000", "0x1", "1.2.3", "1e", "1e+", "--1", "1,", "é", ".",
        "-", "1e1.5", "٣",
    ] {
        let word = word.trim_end_matches(',');
        if word != "1" {
            // A delay that is not a number is erased.
            if !word.eq_ignore_ascii_case("nan") {
                refused(
                    &format!("tx_time,decode_delay\n12.5,{word}\n"),
                    "NotANumber { field: \"decode_delay\"",
                    2,
                    6,
                );
            }
            refused(
                &format!("tx_time,decode_delay\n1,1\n{word},1\n"),
                "NotANumber { field: \"tx_time\"",
                3,
                1,
            );
        }
    }
    refused(
        "1,1\n,1\n",
        "NotANumber { field: \"tx_time\", found: \"\" }",
        2,
        1,
    );
    refused("1  1\n2   x\n", "NotANumber", 2, 5);
}

#[test]
fn an_empty_field_is_refused_at_its_column() {
    refused(
        "1;2;3\n;1;3\n",
        "NotANumber { field: \"tx_time\", found: \"\" }",
        2,
        1,
    );
    refused(
        "1\t2\n\t3\n",
        "NotANumber { field: \"tx_time\", found: \"\" }",
        2,
        1,
    );
}

#[test]
fn a_missing_column_is_refused() {
    assert!(
        refused(
            "tx_time,delay\n1,1\n",
            "MissingColumn { name: \"decode_delay\"",
            1,
            0
        )
        .message
        .contains("tx_time,delay")
    );
    refused(
        "# a\n\ndecode_delay,x\n1,1\n",
        "MissingColumn { name: \"tx_time\"",
        3,
        0,
    );
    refused(
        "TX_TIME,decode_delay\n1,1\n",
        "MissingColumn { name: \"tx_time\"",
        1,
        0,
    );
    refused("1,1\n2\n", "MissingColumn { name: \"decode_delay\"", 2, 2);
    refused("1\n2\n", "MissingColumn { name: \"decode_delay\"", 1, 2);
    refused(
        "x,tx_time,decode_delay\n1,2\n",
        "MissingColumn { name: \"decode_delay\"",
        2,
        4,
    );
}

#[test]
fn a_separator_that_differs_from_the_first_line_is_refused() {
    refused("tx_time,decode_delay\n1;2\n", "MissingColumn", 2, 4);
    refused("1,2\n3 4\n", "MissingColumn", 2, 4);
    refused(
        "1;2\n3,5;2\n",
        "NotANumber { field: \"tx_time\", found: \"3,5\" }",
        2,
        1,
    );
    refused("1\t2\n3 4\n", "MissingColumn", 2, 4);
}

#[test]
fn a_duplicate_column_is_refused_at_its_second_name() {
    refused(
        "tx_time,decode_delay,tx_time\n1,1,1\n",
        "DuplicateColumn { name: \"tx_time\" }",
        1,
        22,
    );
    refused(
        "# x\ndecode_delay;decode_delay;tx_time\n1;1;1\n",
        "DuplicateColumn { name: \"decode_delay\" }",
        2,
        14,
    );
}

#[test]
fn a_decreasing_time_is_refused_at_its_column() {
    refused("1,1\n1,1\n0.999999999,1\n", "OutOfOrder", 3, 1);
    let refusal = refused(
        "decode_delay tx_time\n1 2\n# x\n1   1.5\n",
        "OutOfOrder",
        4,
        5,
    );
    assert!(
        refusal.message.contains("1.500000000") && refusal.message.contains("2.000000000"),
        "{}",
        refusal.message
    );
    assert_eq!(
        read("1.0000000004,1\n1.0000000001,1\n").slots.len(),
        2,
        "times are compared in whole nanoseconds"
    );
}

#[test]
fn the_largest_value_is_accepted_and_larger_ones_are_refused() {
    assert_eq!(
        read("9223372036.854775807,0\n").slots,
        [(i64::MAX.unsigned_abs(), 0)]
    );
    assert_eq!(
        read("0,9223372036.8547758074\n").slots,
        [(0, i64::MAX.unsigned_abs())]
    );
    for large in [
        "9223372036.854775808",
        "9223372036.8547758075",
        "1e10",
        "1e400",
        "99999999999999999999999999999999999999999",
        "1e99999999999999999999",
    ] {
        refused(
            &format!("{large},0\n"),
            "TooLarge { field: \"tx_time\"",
            1,
            1,
        );
        refused(
            &format!("0,{large}\n"),
            "TooLarge { field: \"decode_delay\"",
            1,
            3,
        );
    }
}

#[test]
fn a_sum_above_the_largest_value_is_refused() {
    assert_eq!(read("9223372036.854775806,0.000000001\n").slots.len(), 1);
    refused("9223372036.854775807,0.000000001\n", "SumTooLarge", 1, 22);
    refused("1,1\n9000000000,9000000000\n", "SumTooLarge", 2, 12);
}

#[test]
fn a_trace_without_rows_is_refused() {
    for text in [
        "",
        "\n",
        "\r\n\r\n",
        "# x\n",
        "tx_time,decode_delay\n",
        "tx_time,decode_delay",
        "\u{feff}",
        "# end: rows=0 slots=0 usable_until_ns=0\n",
    ] {
        let refusal = read(text).end.expect_err(text);
        assert!(
            refusal.kind.starts_with("EmptyTrace"),
            "{text:?}: {refusal:?}"
        );
        assert!(refusal.at.is_some(), "{text:?}");
    }
}

#[test]
fn a_positive_delay_that_rounds_to_zero_is_refused_and_half_a_nanosecond_is_not() {
    refused(
        "tx_time,decode_delay\n1,1\n2,0.00000000049999\n",
        "RoundsToZero { found: \"0.00000000049999\" }",
        3,
        3,
    );
    refused("1,1e-400\n", "RoundsToZero", 1, 3);
    assert_eq!(read("1,0.0000000005\n").slots, [(1_000_000_000, 1)]);
}

/// A head, two rows, and `rest`.
fn headed(rest: &str) -> String {
    format!("# tool: tmt 0.1.0\ntx_time,decode_delay\n1,0.1\n2,0.1\n{rest}")
}

#[test]
fn a_head_without_its_end_line_is_a_cut_after_the_last_whole_row() {
    refused(&headed(""), "Cut { rows: 2 }", 4, 0);
    refused(&headed("\n# a comment\n"), "Cut { rows: 2 }", 4, 0);
    refused("# tool: tmt\n", "Cut { rows: 0 }", 0, 0);
    refused(
        &headed("# end: rows=2 slots=2 usable_"),
        "Cut { rows: 2 }",
        4,
        0,
    );
}

#[test]
fn a_last_row_without_line_end_is_dropped_if_there_is_a_head() {
    for half in ["3", "3,", "3,0.1", "30", "x"] {
        refused(&headed(half), "Cut { rows: 2 }", 4, 0);
        assert_eq!(read(headed(half)).slots.len(), 2, "{half}");
    }
}

#[test]
fn an_end_line_without_line_end_is_a_cut() {
    let text = headed("# end: rows=2 slots=2 usable_until_ns=2000000000");
    assert!(read(format!("{text}\n")).end.is_ok());
    refused(&text, "Cut { rows: 2 }", 4, 0);
}

#[test]
fn rows_after_the_end_line_are_refused() {
    let end = "# end: rows=2 slots=2 usable_until_ns=2000000000\n";
    assert!(read(headed(end)).end.is_ok());
    assert!(read(headed(&format!("{end}\n# a comment\n"))).end.is_ok());
    refused(&headed(&format!("{end}3,0.1\n")), "RowAfterEnd", 6, 1);
    refused(&headed(&format!("{end}# x\n\n2,0\n")), "RowAfterEnd", 8, 1);
}

#[test]
fn an_end_line_with_a_wrong_number_of_rows_is_refused() {
    for stated in [0, 1, 3, 200] {
        let text = headed(&format!(
            "# end: rows={stated} slots=2 usable_until_ns=2000000000\n"
        ));
        let refusal = read(&text).end.expect_err(&text);
        assert_eq!(
            refusal.kind,
            format!("RowCount {{ stated: {stated}, read: 2 }}")
        );
        assert!(refusal.at.is_some());
    }
}

#[test]
fn an_end_line_without_a_head_is_just_a_comment() {
    let got = read("1,0\n# end: rows=7 slots=7 usable_until_ns=0\n2,0\n");
    assert_eq!((got.slots.len(), got.end.unwrap().end_line), (2, None));
}

#[test]
fn allow_cut_accepts_the_whole_rows_and_reports_the_cut() {
    let options = Options {
        allow_cut: true,
        ..Options::default()
    };
    for rest in [
        "",
        "3",
        "3,0.1",
        "# end: rows=9 sl",
        "# end: rows=2 slots=2 usable_until_ns=2000000000",
        "# a comment\n",
    ] {
        let got = decode(headed(rest).as_bytes(), &[usize::MAX], options);
        assert_eq!(got.slots.len(), 2, "{rest:?}");
        let end = got.end.unwrap();
        assert_eq!(
            (end.rows, end.end_line, end.cut),
            (2, None, true),
            "{rest:?}"
        );
    }
    let got = decode(
        headed("# end: rows=2 slots=2 usable_until_ns=2000000000\n").as_bytes(),
        &[9],
        options,
    );
    assert!(!got.end.unwrap().cut, "a whole trace is not cut");
    assert!(
        decode(b"# tool: tmt\ntx_time,decode_delay\n", &[9], options)
            .end
            .is_err(),
        "a trace without rows was accepted"
    );
    assert!(
        decode(headed("3,x\n").as_bytes(), &[9], options)
            .end
            .is_err(),
        "an invalid row is not a cut"
    );
}

#[test]
fn an_invalid_line_of_the_head_is_refused_with_its_number() {
    refused(
        "# tool: tmt\n# rtt_ns: soon\n1,1\n",
        "Metadata { key: \"rtt_ns\", found: \"soon\"",
        2,
        1,
    );
    refused(
        "# tool: tmt\n# just: fine\n# a comment\n# lldu_bytes: 33\n# lldu_bytes: 33\n1,1\n",
        "Metadata { key: \"lldu_bytes\"",
        5,
        1,
    );
    refused(
        "# rate_bps: 1.5\n\n# tool: tmt\n1,1\n",
        "Metadata { key: \"rate_bps\"",
        1,
        1,
    );
}

#[test]
fn an_invalid_line_of_a_head_after_an_end_line_is_refused_with_its_number() {
    let text = "# tool: tmt\n# end: rows=0 slots=0 usable_until_ns=0\n# rtt_ns: soon\n1,1\n";
    refused(text, "Metadata { key: \"rtt_ns\", found: \"soon\"", 3, 1);
}

#[test]
fn an_endless_line_is_refused_and_not_buffered() {
    let mut text = b"1,1\n2,".to_vec();
    text.resize(3 << 20, b'1');
    let got = decode(&text, &[1 << 16], Options::default());
    assert!(got.end.unwrap_err().kind.starts_with("LineTooLong"));
    assert_eq!(got.slots.len(), 1);
}

#[test]
fn the_rows_before_an_error_are_returned() {
    let got = read("1,1\n2,2\n3,x\n4,4\n");
    assert_eq!(
        got.slots,
        [
            (1_000_000_000, 1_000_000_000),
            (2_000_000_000, 2_000_000_000)
        ]
    );
    assert_eq!(got.end.unwrap_err().at.unwrap().row, 3);
}

#[test]
fn only_free_keys_of_a_head_may_repeat() {
    let notes = "# tool: x\n# https://a\n# https://b\n# note: rain\n# note: snow\n";
    let tail = "tx_time,decode_delay\n1,1\n# end: rows=1 slots=1 usable_until_ns=1000000000\n";
    assert!(read(format!("{notes}{tail}")).end.is_ok());
    refused(
        &format!("# tool: x\n# rtt_ns: 1\n# rtt_ns: 2\n{tail}"),
        "Metadata { key: \"rtt_ns\"",
        3,
        1,
    );
}

#[test]
fn a_row_after_the_end_line_is_refused_with_and_without_line_end() {
    let whole = "# tool: x\n1,1\n# end: rows=1 slots=1 usable_until_ns=1000000000\n";
    refused(&format!("{whole}5,6\n"), "RowAfterEnd", 4, 1);
    refused(&format!("{whole}5,6"), "RowAfterEnd", 4, 1);
}

#[test]
fn the_size_of_a_head_is_limited_and_that_of_plain_comments_is_not() {
    let text = "# sky: clear over Livorno\n".repeat(100_000) + "1,1\n";
    let mut reader = TraceReader::new(text.as_bytes(), format::Options::default()).unwrap();
    let mut rows = Rows::default();
    assert!(reader.next_rows(&mut rows).unwrap());
    assert_eq!(rows.line(0), 100_001);
    // Comments of a head are kept and passed on.
    let under_a_head = format!("# tool: x\n{text}");
    let error = TraceReader::new(under_a_head.as_bytes(), format::Options::default())
        .err()
        .unwrap();
    assert!(error.to_string().contains("a head of more than"), "{error}");
}
