//! Pieces of a text that are parsed apart and committed in order, compared with the same text read byte by byte. Long
//! runs of similar rows, which the fast path parses, compared with the numbers that they were written from.

use crate::reading::{self, Reading, decode};
use proptest::prelude::*;
use test_support::cases;
use tmt_core::format::text::{Decoder, LONGEST_LINE, Options};
use tmt_core::format::{Rows, TraceEnd, Unit};

const UNITS: [(Unit, u32); 4] = [
    (Unit::Seconds, 9),
    (Unit::Milliseconds, 6),
    (Unit::Microseconds, 3),
    (Unit::Nanoseconds, 0),
];

/// Formatting of a run of rows.
#[derive(Debug, Clone)]
struct Style {
    /// Decimals of the unit, and how many of them are written.
    unit: u32,
    decimals: u32,
    separator: char,
    line_end: &'static str,
    extra: String,
    /// Whether an erasure is `0` or zero with decimals.
    short_zero: bool,
}

impl Style {
    fn number(&self, nanos: u64) -> String {
        let scale = 10u64.pow(self.unit);
        let mut text = format!("{}", nanos / scale);
        if self.decimals > 0 {
            let fraction = format!("{:09}", nanos % scale * 10u64.pow(9 - self.unit));
            text += &format!(".{}", &fraction[..self.decimals as usize]);
        }
        text
    }

    fn row(&self, (time, delay, attempts): (u64, u64, u32)) -> String {
        let delay = match delay {
            0 if self.short_zero => "0".to_owned(),
            _ => self.number(delay),
        };
        let Self {
            separator,
            line_end,
            extra,
            ..
        } = self;
        let time = self.number(time);
        format!("{time}{separator}{delay}{separator}{attempts}{extra}{line_end}")
    }

    /// `nanos`, truncated to the decimals that are written.
    fn written(&self, nanos: u64) -> u64 {
        let unit = 10u64.pow(self.unit - self.decimals);
        nanos / unit * unit
    }
}

fn style(unit: u32, separator: char) -> impl Strategy<Value = Style> {
    let decimals = prop_oneof![3 => Just(unit), 1 => 0..=unit];
    let line_end = prop_oneof![3 => Just("\n"), 1 => Just("\r\n")];
    let extra = prop_oneof![
        3 => Just(String::new()),
        1 => "[a-z0-9.]{0,40}".prop_map(move |text| format!("{separator}{text}")),
    ];
    (decimals, line_end, extra, any::<bool>()).prop_map(
        move |(decimals, line_end, extra, short_zero)| Style {
            unit,
            decimals,
            separator,
            line_end,
            extra,
            short_zero,
        },
    )
}

type Row = (u64, u64, u32);

/// Rows in order: any start, steps of every size, delays that repeat and delays that do not.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    let start = prop_oneof![
        2 => Just(0u64),
        1 => 0..3_000_000_000u64,
        1 => 1_700_000_000_000_000_000..1_700_000_001_000_000_000u64,
        1 => (0u32..61).prop_map(|bits| 1 << bits),
    ];
    let step = prop_oneof![4 => Just(112_820u64), 2 => 0..2_000_000u64, 1 => 0..2_000_000_000u64, 1 => Just(0)];
    let delay = prop_oneof![
        2 => Just(0u64),
        4 => Just(36_000_000),
        4 => 30_000_000..40_000_000u64,
        1 => 1..3_000_000_000u64,
        1 => 0..1u64 << 60,
    ];
    let attempts = prop_oneof![6 => Just(1u32), 2 => 1..12u32, 1 => 1u32..];
    let steps = prop::collection::vec((step, delay, attempts), 1..60);
    (start, steps).prop_map(|(mut time, steps)| {
        let row = |(step, delay, attempts)| {
            time += step;
            (time, delay, attempts)
        };
        steps.into_iter().map(row).collect()
    })
}

/// Runs of rows of several styles in one text, the expected rows, and the unit.
fn runs() -> impl Strategy<Value = (String, Vec<Row>, Unit)> {
    let separator = prop::sample::select(vec![',', ';', '\t', ' ']);
    (0..UNITS.len(), separator).prop_flat_map(|(unit, separator)| {
        let (unit, decimals) = UNITS[unit];
        let styles = prop::collection::vec((style(decimals, separator), 1usize..30), 1..5);
        (rows(), styles).prop_map(move |(rows, styles)| {
            let header = ["tx_time", "decode_delay", "attempts", "more"];
            let mut text = header.join(&separator.to_string()) + "\n";
            let mut expected: Vec<Row> = Vec::new();
            let styles = styles.iter().cycle();
            let mut styles = styles.flat_map(|(style, length)| std::iter::repeat_n(style, *length));
            for (time, delay, attempts) in rows {
                let style = styles.next().unwrap();
                let row = (style.written(time), style.written(delay), attempts);
                // A number with fewer decimals may be smaller than the one before it.
                if expected.last().is_none_or(|last| last.0 <= row.0) {
                    text += &style.row(row);
                    expected.push(row);
                }
            }
            (text, expected, unit)
        })
    })
}

/// Valid and invalid lines of every kind, in a text long enough for the fast path.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        1 => "[0-9]{1,3}(\\.[0-9]{0,11})?,0?\\.?[0-9]{1,10}",
        1 => (0u64..9).prop_map(|rows| format!("# end: rows={rows} slots={rows} usable_until_ns={rows}000000000")),
        1 => prop::sample::select(vec![
            "", "\r", "  ", "# a comment", "# end: rows", "#end:x", " 9.0,1,1", "9.0 ,1,1", "9.0,1,1 ", "9.0,1\r,1",
            "9e0,1,1", "+9,1,1", "-9,1,1", "9.,1,1", ".9,1,1", "9,.5,1", "9,1,0", "9,1,+1", "9,1,", "9,1,,", "9,1", "9,,1",
            "9", "9.0,1,4294967296", "9.0000000004,1,1", "9,0.0000000001,1", "9,1e-30,1", "9,1.0000000000,1", "x",
            "9,9223372036,1", "9,9223372027.854775807,1", "9,9223372027.854775808,1", "9223372036.854775807,0,1",
            "9223372036.854775808,0,1", "99999999999999999999,0,1", "9,1,1\r\r", "9:0,1,1", "9/0,1,1", "9.0,1,1,\u{e9}",
        ]).prop_map(str::to_owned),
    ];
    let run = prop::collection::vec(
        (
            0u64..3_000_000,
            prop_oneof![2 => Just(0), 3 => Just(36_000_000), 3 => 1..4_000_000_000u64],
            0u32..4,
        ),
        0..40,
    );
    let piece = prop_oneof![1 => (line, Just("\n")).prop_map(|(line, end)| line + end), 2 => Just(String::new())];
    let head = prop::sample::select(vec![
        "",
        "# tool: x\n",
        "# tool: x\n# end: rows=3 slots=3 usable_until_ns=0\n",
    ]);
    let header = prop::sample::select(vec![
        "",
        "tx_time,decode_delay,attempts\n",
        "tx_time,decode_delay\r\n",
        "attempts,decode_delay,tx_time\n",
    ]);
    let last = prop_oneof![2 => Just(String::new()), 1 => "[0-9.,]{0,8}", 1 => Just("# end: rows=5 slots=5 usable_until_ns=5".to_owned())];
    (
        head,
        header,
        prop::collection::vec((run, piece), 1..8),
        last,
    )
        .prop_map(|(head, header, parts, last)| {
            let mut text = format!("{head}{header}");
            let mut time = 8_990_000_000u64;
            for (run, line) in parts {
                for (step, delay, attempts) in run {
                    time += step;
                    let seconds = |nanos: u64| {
                        format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
                    };
                    let delay = if delay == 0 {
                        "0".to_owned()
                    } else {
                        seconds(delay)
                    };
                    text += &format!("{},{delay},{}\n", seconds(time), attempts.max(1));
                }
                text += &line;
            }
            (text + &last).into_bytes()
        })
}

/// Cuts `text` into whole lines of about the lengths `pieces`; returns them and the rest.
fn cut<'a>(mut text: &'a [u8], pieces: &[usize]) -> (Vec<&'a [u8]>, &'a [u8]) {
    let mut cut = Vec::new();
    for length in pieces.iter().cycle() {
        let from = (length - 1).min(text.len());
        let Some(more) = text[from..].iter().position(|byte| *byte == b'\n') else {
            let whole = text
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |last| last + 1);
            cut.push(&text[..whole]);
            return (cut, &text[whole..]);
        };
        let (piece, after) = text.split_at(from + more + 1);
        cut.push(piece);
        text = after;
    }
    (cut, text)
}

/// Reads a text whose part after the head is parsed in pieces, the last one first, and committed in order.
fn in_pieces(text: &[u8], pieces: &[usize], options: Options) -> Reading {
    let mut decoder = Decoder::new(options);
    let mut rows = Rows::default();
    let mut at = 0;
    let mut end = Ok(());
    while end.is_ok() && decoder.parser().is_none() && at < text.len() {
        let length = pieces[0].clamp(1, text.len() - at);
        end = decoder.decode(&text[at..at + length], &mut rows);
        at += length;
    }
    let mut all = Reading::new(&rows, Vec::new(), Ok(NOTHING));
    rows.clear();
    let after = [&decoder.take_carry(), &text[at..]].concat();
    let (cut, rest) = cut(&after, pieces);
    if let (Ok(()), Some(parser)) = (&end, decoder.parser()) {
        let parse = |piece: &&[u8]| {
            let mut rows = Rows::default();
            parser.parse(piece, &mut rows);
            rows
        };
        let parsed: Vec<Rows> = cut.iter().rev().map(parse).collect();
        for mut piece in parsed.into_iter().rev() {
            end = decoder.commit(&mut piece);
            all.append(&piece);
            if end.is_err() {
                break;
            }
        }
        let end = end.and_then(|()| decoder.finish_with(rest, &mut rows));
        all.append(&rows);
        all.end = end.map_err(Into::into);
    } else {
        let end = end.and_then(|()| decoder.finish_with(&after, &mut rows));
        all.append(&rows);
        all.end = end.map_err(Into::into);
    }
    all.head = reading::head(&decoder);
    all
}

const NOTHING: TraceEnd = TraceEnd {
    rows: 0,
    end_line: None,
    cut: false,
};

fn pieces() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(
        prop_oneof![1 => 1usize..5, 2 => 5usize..200, 2 => 200usize..5_000],
        1..8,
    )
}

fn options() -> impl Strategy<Value = Options> {
    let unit = prop_oneof![3 => Just(0), 1 => 0..UNITS.len()];
    (unit, any::<bool>(), any::<bool>()).prop_map(|(unit, allow_cut, attempts)| Options {
        unit: Some(UNITS[unit].0),
        allow_cut,
        attempts,
    })
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn runs_of_rows_read_back_as_their_numbers(
        (text, expected, unit) in runs(), attempts in any::<bool>(), pieces in pieces(),
    ) {
        let options = Options { unit: Some(unit), attempts, ..Options::default() };
        for got in [decode(text.as_bytes(), &[usize::MAX], options), in_pieces(text.as_bytes(), &pieces, options)] {
            prop_assert!(got.end.is_ok(), "{:?}", got.end);
            let slots: Vec<(u64, u64)> = expected.iter().map(|&(time, delay, _)| (time, delay)).collect();
            prop_assert_eq!(got.slots, slots);
            let counts = expected.iter().map(|row| row.2).filter(|_| attempts);
            prop_assert_eq!(got.attempts, counts.collect::<Vec<u32>>());
        }
    }

    #[test]
    fn pieces_parsed_apart_give_the_same_as_byte_by_byte(
        text in lines(), pieces in pieces(), options in options(),
    ) {
        // Byte by byte, every line arrives alone, so the fast path is not used.
        let slow = decode(&text, &[1], options);
        prop_assert_eq!(&decode(&text, &[usize::MAX], options), &slow);
        prop_assert_eq!(&decode(&text, &pieces, options), &slow);
        prop_assert_eq!(&in_pieces(&text, &pieces, options), &slow);
    }

    #[test]
    fn a_changed_byte_gives_the_same_on_both_paths(
        (text, _, unit) in runs(), part in 0usize.., byte in prop_oneof![b'0'..=b'9', Just(b','), Just(b'.'), Just(b'\n'), any::<u8>()],
        attempts in any::<bool>(), pieces in pieces(),
    ) {
        let options = Options { unit: Some(unit), attempts, ..Options::default() };
        let mut text = text.into_bytes();
        let at = part % text.len();
        text[at] = byte;
        let slow = decode(&text, &[1], options);
        prop_assert_eq!(&decode(&text, &[usize::MAX], options), &slow);
        prop_assert_eq!(&in_pieces(&text, &pieces, options), &slow);
    }
}

#[test]
fn rows_are_read_wherever_the_text_ends() {
    let row = |at: u64| format!("{}.{:09},0.036000000\n", at / 7, at % 7 * 100_000_001);
    for count in 1..12 {
        let text: String = (0..count).map(row).collect();
        let expected: Vec<(u64, u64)> = (0..count)
            .map(|at| (at / 7 * 1_000_000_000 + at % 7 * 100_000_001, 36_000_000))
            .collect();
        for after in 0..140 {
            // Comments of every length after the last row, so that rows end at every distance from the end of the text.
            let comment = format!("#{}", "x".repeat(after));
            let text = format!("{text}{}", if after == 0 { "" } else { &comment });
            let got = decode(text.as_bytes(), &[usize::MAX], Options::default());
            assert!(got.end.is_ok(), "{text}");
            assert_eq!(got.slots, expected, "{text}");
        }
    }
}

#[test]
fn a_line_that_is_too_long_is_refused_with_its_number_wherever_it_is_cut() {
    for (more, line_end) in [(0, "\n"), (1, "\n"), (0, ""), (1, ""), (1, "\r\n")] {
        // Enough rows for the fast path, then one with a column that is too long.
        let rows = "1.000000000,0.036000000,1\n".repeat(20);
        let long = format!("1.000000000,0.036000000,{}", "x".repeat(LONGEST_LINE));
        let long = &long[..LONGEST_LINE - (line_end.len() + 1) / 3 + more];
        let text = format!("{rows}{long}{line_end}");
        let fits = more == 0;
        for pieces in [&[usize::MAX][..], &[1 << 16], &[300, 1 << 20]] {
            for got in [
                decode(text.as_bytes(), pieces, Options::default()),
                in_pieces(text.as_bytes(), pieces, Options::default()),
            ] {
                assert_eq!(got.slots.len(), if fits { 21 } else { 20 });
                match got.end {
                    Ok(_) => assert!(fits),
                    Err(refusal) => {
                        assert!(!fits && refusal.kind.starts_with("LineTooLong"));
                        let at = refusal.at.unwrap();
                        assert_eq!((at.line, at.column, at.row), (21, 1, 0));
                    }
                }
            }
        }
    }
}

#[test]
fn pieces_parsed_into_one_batch_are_committed_as_one() {
    let mut decoder = Decoder::new(Options::default());
    let mut rows = Rows::default();
    decoder
        .decode(b"tx_time,decode_delay\n1,1\n", &mut rows)
        .unwrap();
    let parser = decoder.parser().unwrap();
    parser.parse(b"2,1\n\n", &mut rows);
    parser.parse(b"# x\n3,1\n", &mut rows);
    decoder.commit(&mut rows).unwrap();
    assert_eq!(decoder.finish_with(b"4,1", &mut rows).unwrap().rows, 4);
    let lines: Vec<u64> = (0..4).map(|index| rows.line(index)).collect();
    assert_eq!(lines, [2, 3, 6, 7]);
}

#[test]
fn any_byte_at_any_place_of_a_row_gives_the_same_on_both_paths() {
    let options = Options {
        attempts: true,
        ..Options::default()
    };
    for row in ["1.000112820,0.036000001,1\n", "1.000112,0.03600,1\r\n"] {
        for place in 0..row.len() {
            for byte in 0..=u8::MAX {
                let mut changed = row.as_bytes().to_vec();
                changed[place] = byte;
                let head = format!("tx_time,decode_delay,attempts\n{}", row.repeat(3));
                let after = row.replace("1.0", "9.0").repeat(6);
                let text = [head.as_bytes(), &changed, after.as_bytes()].concat();
                let whole = decode(&text, &[usize::MAX], options);
                assert_eq!(whole, decode(&text, &[1], options), "{byte} at {place}");
            }
        }
    }
}

#[test]
fn leading_zeros_do_not_extend_the_range() {
    let after = "9000000000.000000000,0.1\n".repeat(10);
    for (zeros, large) in [
        ("00000000001.000000000", "99999999999.000000000"),
        ("0000000000000001.5", "9999999999999999.5"),
    ] {
        let text = format!("{zeros},0.1\n{zeros},0.2\n{zeros},0.3\n{large},0.1\n{after}");
        let got = decode(text.as_bytes(), &[usize::MAX], Options::default());
        assert_eq!(got.slots.len(), 3);
        assert!(got.end.unwrap_err().kind.starts_with("TooLarge"), "{large}");
    }
}

#[test]
fn a_second_end_line_is_refused_even_if_it_does_not_parse() {
    let text = "# tool: x\n1,1\n# end: rows=1 slots=1 usable_until_ns=1000000000\n# end: of it\n";
    for pieces in [&[usize::MAX][..], &[1], &[20]] {
        for got in [
            decode(text.as_bytes(), pieces, Options::default()),
            in_pieces(text.as_bytes(), pieces, Options::default()),
        ] {
            let refusal = got.end.unwrap_err();
            assert!(refusal.kind.contains("one end line"), "{refusal:?}");
            assert_eq!(refusal.at.unwrap().line, 4);
        }
    }
}

#[test]
fn a_last_line_without_line_end_does_not_start_another() {
    for text in ["tx_time,decode_delay\n#", "tx_time,decode_delay\n  "] {
        let refusal = decode(text.as_bytes(), &[usize::MAX], Options::default()).end;
        assert_eq!(refusal.unwrap_err().at.unwrap().line, 2, "{text}");
    }
}
