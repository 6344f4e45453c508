//! Reading and writing text traces (docs/trace-format.md, Sec. 2–5): round trips, pieces, every accepted variant.
//! `text_numbers.rs` tests numbers, `text_refusals.rs` refused inputs.

use crate::reading::{Reading, decode, read, read_file};
use proptest::prelude::*;
use test_support::cases;
use tmt_core::format::Unit;
use tmt_core::format::text::{Options, encode};
use tmt_core::types::{EndLine, Fate, Lldu, Metadata, Slot, Span, Time};

const LARGEST: u64 = i64::MAX as u64;

/// Slots in order, with times up to the largest and delays that fit.
fn slots() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let time =
        prop_oneof![3 => 0u64..100_000_000_000, 1 => 0..=LARGEST, 1 => LARGEST - 5..=LARGEST];
    let delay = prop_oneof![2 => Just(0), 1 => Just(1), 4 => 1u64..3_000_000_000, 1 => 0..=LARGEST];
    prop::collection::vec((time, delay), 1..40).prop_map(|mut slots| {
        slots.sort_unstable();
        slots
            .into_iter()
            .map(|(t, d)| (t, d.min(LARGEST - t)))
            .collect()
    })
}

fn slot((t, d): (u64, u64)) -> Slot {
    Slot::new(Time::from_nanos(t).unwrap(), Span::from_nanos(d).unwrap()).unwrap()
}

/// The canonical text, with head and end line if `with_head` is set.
fn written(slots: &[(u64, u64)], with_head: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut head = Metadata::new();
    head.set("tool", "tmt 0.1.0");
    head.push("stage", "tmt synth --rate 2.34Mbps");
    if with_head {
        encode::head(&head, &mut out);
    }
    encode::trace_header(&mut out);
    for &each in slots {
        encode::slot(&slot(each), &mut out);
    }
    if with_head {
        let rows = slots.len() as u64;
        let last = slots.last().map_or(0, |slot| slot.0);
        encode::end(
            &EndLine {
                rows,
                slots: rows,
                usable_until: Time::from_nanos(last).unwrap(),
            },
            &mut out,
        );
    }
    out
}

/// Valid and invalid lines of every kind, with either line end.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        4 => "[0-9]{1,3}(\\.[0-9]{0,11})?,0?\\.?[0-9]{1,10}",
        3 => (0u32..20).prop_map(|t| format!("{t},0.1,{}", t + 1)),
        1 => Just(String::new()),
        1 => Just("# a comment".to_owned()),
        1 => Just("# tool: tmt".to_owned()),
        1 => Just("# rtt_ns: 5".to_owned()),
        1 => (0u64..9).prop_map(|rows| format!("# end: rows={rows} slots={rows} usable_until_ns={rows}000000000")),
        1 => Just("tx_time,decode_delay,attempts".to_owned()),
        1 => "[0-9,;\t .e#-]{0,12}",
    ];
    let end = prop_oneof![8 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\n\n")];
    let lines = prop::collection::vec((line, end), 0..14);
    (any::<bool>(), lines, "[0-9,.#]{0,6}", 0u8..3).prop_map(|(bom, lines, last, order)| {
        let mut text = if bom {
            "\u{feff}".to_owned()
        } else {
            String::new()
        };
        let mut lines: Vec<String> = lines.into_iter().map(|(line, end)| line + end).collect();
        if order > 0 {
            // Sorting gives long runs of rows in order, after the comments.
            lines.sort_by_key(|line| {
                line.split(',')
                    .next()
                    .and_then(|t| t.parse::<f64>().ok())
                    .map(f64::to_bits)
            });
        }
        text.extend(lines);
        if order < 2 {
            text += &last;
        }
        text.into_bytes()
    })
}

/// A valid file with either line end, possibly without its last bytes.
fn almost_whole() -> impl Strategy<Value = Vec<u8>> {
    let missing = prop_oneof![1 => Just(0), 2 => Just(1), 1 => 2usize..60];
    (slots(), any::<bool>(), any::<bool>(), missing).prop_map(
        |(slots, with_head, crlf, missing)| {
            let mut text = written(&slots, with_head);
            if crlf {
                text = String::from_utf8(text)
                    .unwrap()
                    .replace('\n', "\r\n")
                    .into_bytes();
            }
            text.truncate(text.len().saturating_sub(missing));
            text
        },
    )
}

fn options() -> impl Strategy<Value = Options> {
    let unit = prop::sample::select(vec![
        Unit::Seconds,
        Unit::Milliseconds,
        Unit::Microseconds,
        Unit::Nanoseconds,
    ]);
    (unit, any::<bool>(), any::<bool>()).prop_map(|(unit, allow_cut, attempts)| Options {
        unit: Some(unit),
        allow_cut,
        attempts,
    })
}

fn pieces() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(
        prop_oneof![3 => 1usize..5, 2 => 5usize..60, 1 => 60usize..5_000],
        1..12,
    )
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn reading_what_was_written_gives_the_same_slots(slots in slots(), with_head in any::<bool>()) {
        let text = written(&slots, with_head);
        let got = read(&text);
        prop_assert!(got.end.is_ok(), "{:?}", got.end);
        prop_assert_eq!(&got.slots, &slots);
        prop_assert_eq!(got.head.is_empty(), !with_head);
        prop_assert_eq!(written(&got.slots, with_head), text);
    }

    #[test]
    fn a_timeline_round_trips(
        slots in slots(), attempts in prop::collection::vec(1u32.., 40),
    ) {
        let mut text = Vec::new();
        encode::timeline_header(&mut text);
        for (&each, &attempts) in slots.iter().zip(&attempts) {
            let (tx_time, decode_delay) = (slot(each).tx_time(), slot(each).decode_delay());
            encode::lldu(&Lldu { tx_time, decode_delay, attempts, fate: Fate::Delivered }, &mut text);
        }
        let got = decode(&text, &[usize::MAX], Options { attempts: true, ..Options::default() });
        prop_assert_eq!(&got.attempts, &attempts[..slots.len()]);
        prop_assert_eq!(&got.slots, &slots);
        prop_assert_eq!(read(&text).slots, slots, "a timeline is itself a valid trace");
    }

    #[test]
    fn a_headed_trace_cut_anywhere_is_refused(slots in slots(), part in 0.0f64..1.0) {
        let text = written(&slots, true);
        // A cut of the last LF alone, too.
        let cut = share(part, text.len());
        let got = read(&text[..cut]);
        prop_assert!(got.end.is_err(), "cut at {} of {}", cut, text.len());
        prop_assert_eq!(&got.slots[..], &slots[..got.slots.len()], "a row that was not written");
        prop_assert!(read(&text[..text.len() - 1]).end.is_err(), "only the last LF is missing");
        prop_assert_eq!(read(&text).slots, slots);
    }

    #[test]
    fn the_result_does_not_depend_on_the_pieces(
        text in prop_oneof![2 => lines(), 1 => almost_whole()], pieces in pieces(), options in options(),
    ) {
        let whole = decode(&text, &[usize::MAX], options);
        prop_assert_eq!(&decode(&text, &pieces, options), &whole);
        let file = read_file(&text, &pieces, options);
        // If there is an error before the first row, the reader returns no head.
        if !file.slots.is_empty() {
            prop_assert_eq!(&file.head, &whole.head);
        }
        prop_assert_eq!(Reading { head: Vec::new(), ..file }, Reading { head: Vec::new(), ..whole });
    }

    #[test]
    fn random_bytes_never_panic(text in prop::collection::vec(any::<u8>(), 0..300), options in options()) {
        let got = decode(&text, &[usize::MAX], options);
        prop_assert_eq!(got.slots.len(), got.lines.len());
    }

    #[test]
    fn random_characters_of_a_trace_never_panic(
        text in "[0-9.,;\t \n\r#:=eE+-]{0,200}", options in options(), pieces in pieces(),
    ) {
        let got = decode(text.as_bytes(), &pieces, options);
        prop_assert!(got.slots.windows(2).all(|two| two[0].0 <= two[1].0));
    }

    #[test]
    fn small_mutations_of_a_valid_file_never_panic(
        slots in slots(), changes in prop::collection::vec((0.0f64..1.0, 0u8..4, any::<u8>()), 1..5), options in options(),
    ) {
        let mut text = written(&slots, true);
        for (part, kind, byte) in changes {
            let at = share(part, text.len().max(1) - 1);
            match kind {
                0 => text.insert(at, byte),
                1 if !text.is_empty() => drop(text.remove(at)),
                2 if !text.is_empty() => text[at] = byte,
                _ => text.truncate(text.len() - at / 8),
            }
        }
        let got = decode(&text, &[usize::MAX], options);
        prop_assert!(got.slots.windows(2).all(|two| two[0].0 <= two[1].0));
        prop_assert!(got.slots.iter().all(|slot| slot.0 <= LARGEST && slot.1 <= LARGEST - slot.0));
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a small file"
)]
fn share(part: f64, whole: usize) -> usize {
    (part * whole as f64) as usize
}

#[test]
fn every_accepted_variant_reads_as_the_canonical_text() {
    let canonical =
        "tx_time,decode_delay\n1.000000000,0.036000000\n2.500000000,0\n2.500000000,0.000000001\n";
    let expected = [
        (1_000_000_000, 36_000_000),
        (2_500_000_000, 0),
        (2_500_000_000, 1),
    ];
    let crlf = canonical.replace('\n', "\r\n");
    for (variant, text) in [
        ("canonical", canonical),
        ("CRLF", &crlf),
        ("CRLF and no last line end", crlf.trim_end()),
        ("no last line end", canonical.trim_end()),
        ("a byte order mark", &format!("\u{feff}{canonical}")),
        (
            "a byte order mark and no header",
            "\u{feff}1,0.036\n2.5,0\n2.5,1e-9\n",
        ),
        (
            "a byte order mark before a comment",
            &format!("\u{feff}# x\n{canonical}"),
        ),
        (
            "blank lines anywhere",
            "\n\ntx_time,decode_delay\n\n1,0.036\n\n\n2.5,0\n2.5,1e-9\n\n",
        ),
        (
            "blank lines that end in CRLF",
            "\r\ntx_time,decode_delay\r\n\r\n1,0.036\r\n2.5,0\r\n2.5,1e-9\r\n\r\n",
        ),
        (
            "comments anywhere",
            "# a\n#b: c\ntx_time,decode_delay\n# 9,9\n1,0.036\n#\n2.5,0\n2.5,1e-9\n# end: of it",
        ),
        ("no header", "1,0.036\n2.5,0\n2.5,1e-9\n"),
        (
            "no header, the rest ignored",
            "1,0.036,x,9\n2.5,0,,\n2.5,1e-9,7\n",
        ),
        (
            "semicolons",
            "tx_time;decode_delay\n1;0.036\n2.5;0\n2.5;1e-9\n",
        ),
        (
            "tabs",
            "tx_time\tdecode_delay\n1\t0.036\n2.5\t0\n2.5\t1e-9\n",
        ),
        ("spaces", "tx_time decode_delay\n1 0.036\n2.5 0\n2.5 1e-9\n"),
        (
            "several spaces",
            "tx_time   decode_delay\n1  0.036\n2.5      0\n2.5 1e-9\n",
        ),
        ("no header and semicolons", "1;0.036\n2.5;0\n2.5;1e-9\n"),
        ("no header and tabs", "1\t0.036\n2.5\t0\n2.5\t1e-9\n"),
        ("no header and spaces", "1 0.036\n2.5 0\n2.5 1e-9\n"),
        (
            "columns in reverse order",
            "decode_delay,tx_time\n0.036,1\n0,2.5\n1e-9,2.5\n",
        ),
        (
            "columns among others",
            "rssi,decode_delay,attempts,note,tx_time\n-70,0.036,1,a b,1\n,0,3,,2.5\nx,1e-9,1,y,2.5\n",
        ),
        (
            "a timeline's columns",
            "tx_time,decode_delay,attempts\n1,0.036,1\n2.5,0,1\n2.5,1e-9,3\n",
        ),
        (
            "columns and spaces",
            "decode_delay attempts tx_time\n0.036 1 1\n0 1 2.5\n1e-9 1 2.5\n",
        ),
        (
            "more decimals",
            "1.00000000000,0.03600000049\n2.4999999995,0.0\n2.50000000049999,0.0000000005\n",
        ),
        ("exponents", "1e0,36e-3\n25E-1,0e7\n0.0025e+3,1E-9\n"),
        ("minus zero", "1,0.036\n2.5,-0\n2.5,1e-9\n"),
        (
            "minus zero with decimals",
            "1,0.036\n2.5,-0.000\n2.5,1e-9\n",
        ),
        ("leading zeros", "001,00.036\n0002.5,0000\n2.5,1e-9\n"),
    ] {
        let crlf = text.replace("\r\n", "\n").replace('\n', "\r\n");
        for text in [text, &crlf] {
            let file = read_file(text.as_bytes(), &[5, 1, 100], Options::default());
            for got in [read(text), file] {
                assert!(got.end.is_ok(), "{variant}: {:?}", got.end);
                assert_eq!(got.slots, expected, "{variant}");
            }
        }
    }
}

#[test]
fn minus_zero_is_a_time_too() {
    assert_eq!(
        read("-0,1\n-0.0,1\n").slots,
        [(0, 1_000_000_000), (0, 1_000_000_000)]
    );
}

#[test]
fn more_decimals_round_half_away_from_zero() {
    let text =
        "1.0000000004999,0.0000000014\n1.0000000005,0.0000000015\n1.0000000015,0.0000000025\n";
    assert_eq!(
        read(text).slots,
        [(1_000_000_000, 1), (1_000_000_001, 2), (1_000_000_002, 3)]
    );
}

#[test]
fn the_unit_applies_to_both_columns() {
    for (unit, text) in [
        ("s", "1.5,0.25\n"),
        ("ms", "1500,250\n"),
        ("us", "1500000,250e3\n"),
        ("ns", "1500000000,250000000.4\n"),
    ] {
        let options = Options {
            unit: Some(unit.parse().unwrap()),
            ..Options::default()
        };
        assert_eq!(
            decode(text.as_bytes(), &[usize::MAX], options).slots,
            [(1_500_000_000, 250_000_000)],
            "{unit}"
        );
    }
    for unknown in ["", "S", "sec", "min", "µs"] {
        assert!(unknown.parse::<Unit>().is_err(), "{unknown}");
    }
}

#[test]
fn only_comments_with_a_tool_line_are_a_head() {
    let rows = "1,1\n";
    assert_eq!(read(format!("# rtt_ns: 7\n# what: ever\n{rows}")).head, []);
    let got = read(format!(
        "\u{feff}# rtt_ns: 7\r\n# tool: tmt 0.1.0\r\n# a comment\r\n{rows}# end: rows=1 slots=1 usable_until_ns=1000000000\r\n"
    ));
    let head = [("rtt_ns", "7"), ("tool", "tmt 0.1.0")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(got.head, head);
    let end = got.end.unwrap();
    assert_eq!(
        (
            end.rows,
            end.cut,
            end.end_line.unwrap().usable_until.as_nanos()
        ),
        (1, false, 1_000_000_000)
    );
}
