//! Pieces of a text parsed apart and absorbed in order against the same text read a byte at a time,
//! and long runs of alike rows, which are parsed a word at a time, against the numbers they were
//! written from.

use crate::reading::{self, Reading, decode};
use proptest::prelude::*;
use tmt_core::format::text::{Decoder, LONGEST_LINE, Options};
use tmt_core::format::{Rows, TraceEnd, Unit};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: cases.max(ProptestConfig::default().cases),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

const UNITS: [(Unit, u32); 4] = [
    (Unit::Seconds, 9),
    (Unit::Milliseconds, 6),
    (Unit::Microseconds, 3),
    (Unit::Nanoseconds, 0),
];

/// How a run of rows is written.
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

    /// `nanos` as far as it is written.
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

/// Rows in order: steps of every size from a start anywhere, delays that repeat and that do not.
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

/// Runs of rows of several styles in one text, the rows as they should be read, and the decimals.
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
                // A coarser number may step back behind the finer one in front of it.
                if expected.last().is_none_or(|last| last.0 <= row.0) {
                    text += &style.row(row);
                    expected.push(row);
                }
            }
            (text, expected, unit)
        })
    })
}

/// Lines of every kind, right and wrong, in a text long enough for rows to be parsed by words.
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

/// Whole lines from the front of `text`, about as long as `pieces` say, and what is left.
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
        let (piece, behind) = text.split_at(from + more + 1);
        cut.push(piece);
        text = behind;
    }
    (cut, text)
}

/// The text with all behind its head parsed in pieces, the last of them first, and absorbed in order.
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
    let behind = [&decoder.take_carry(), &text[at..]].concat();
    let (cut, rest) = cut(&behind, pieces);
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
        let end = end.and_then(|()| decoder.finish_with(&behind, &mut rows));
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
        unit: UNITS[unit].0,
        allow_cut,
        attempts,
    })
}

proptest! {
    #![proptest_config(config(1500))]

    #[test]
    fn runs_of_rows_are_the_numbers_they_were_written_from(
        (text, expected, unit) in runs(), attempts in any::<bool>(), pieces in pieces(),
    ) {
        let options = Options { unit, attempts, ..Options::default() };
        for got in [decode(text.as_bytes(), &[usize::MAX], options), in_pieces(text.as_bytes(), &pieces, options)] {
            prop_assert!(got.end.is_ok(), "{:?}", got.end);
            let slots: Vec<(u64, u64)> = expected.iter().map(|&(time, delay, _)| (time, delay)).collect();
            prop_assert_eq!(got.slots, slots);
            let counts = expected.iter().map(|row| row.2).filter(|_| attempts);
            prop_assert_eq!(got.attempts, counts.collect::<Vec<u32>>());
        }
    }

    #[test]
    fn pieces_parsed_apart_are_the_text_read_byte_by_byte(
        text in lines(), pieces in pieces(), options in options(),
    ) {
        // A byte at a time every line comes alone, so that none is parsed by what the one before looked like.
        let slow = decode(&text, &[1], options);
        prop_assert_eq!(&decode(&text, &[usize::MAX], options), &slow);
        prop_assert_eq!(&decode(&text, &pieces, options), &slow);
        prop_assert_eq!(&in_pieces(&text, &pieces, options), &slow);
    }

    #[test]
    fn a_changed_byte_changes_what_it_should(
        (text, _, unit) in runs(), part in 0usize.., byte in prop_oneof![b'0'..=b'9', Just(b','), Just(b'.'), Just(b'\n'), any::<u8>()],
        attempts in any::<bool>(), pieces in pieces(),
    ) {
        let options = Options { unit, attempts, ..Options::default() };
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
        for behind in 0..140 {
            // A comment of every length behind the last row, so that every row ends everywhere in front of it.
            let comment = format!("#{}", "x".repeat(behind));
            let text = format!("{text}{}", if behind == 0 { "" } else { &comment });
            let got = decode(text.as_bytes(), &[usize::MAX], Options::default());
            assert!(got.end.is_ok(), "{text}");
            assert_eq!(got.slots, expected, "{text}");
        }
    }
}

#[test]
fn a_line_too_long_is_refused_at_its_line_wherever_it_is_cut() {
    for (more, line_end) in [(0, "\n"), (1, "\n"), (0, ""), (1, ""), (1, "\r\n")] {
        // Rows enough to be parsed by words, and then one with a column that is too long.
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
fn pieces_parsed_into_one_batch_are_absorbed_as_one() {
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
fn every_byte_in_every_place_of_a_row_means_what_it_means_alone() {
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
                let behind = row.replace("1.0", "9.0").repeat(6);
                let text = [head.as_bytes(), &changed, behind.as_bytes()].concat();
                let whole = decode(&text, &[usize::MAX], options);
                assert_eq!(whole, decode(&text, &[1], options), "{byte} at {place}");
            }
        }
    }
}

#[test]
fn zeros_in_front_make_no_room_for_larger_numbers() {
    let behind = "9000000000.000000000,0.1\n".repeat(10);
    for (zeros, large) in [
        ("00000000001.000000000", "99999999999.000000000"),
        ("0000000000000001.5", "9999999999999999.5"),
    ] {
        let text = format!("{zeros},0.1\n{zeros},0.2\n{zeros},0.3\n{large},0.1\n{behind}");
        let got = decode(text.as_bytes(), &[usize::MAX], Options::default());
        assert_eq!(got.slots.len(), 3);
        assert!(got.end.unwrap_err().kind.starts_with("TooLarge"), "{large}");
    }
}

#[test]
fn an_end_line_behind_another_is_one_too_many_even_where_it_cannot_be_read() {
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
fn a_last_line_without_its_line_end_begins_no_other() {
    for text in ["tx_time,decode_delay\n#", "tx_time,decode_delay\n  "] {
        let refusal = decode(text.as_bytes(), &[usize::MAX], Options::default()).end;
        assert_eq!(refusal.unwrap_err().at.unwrap().line, 2, "{text}");
    }
}
