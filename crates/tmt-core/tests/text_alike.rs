//! Long runs of rows that differ in the last digits of their time alone, as every trace has them, and faults within such runs:
//! the fast path against the exact one, which reads every line alone, and against the numbers that the rows were written from.

use crate::reading::{Reading, decode};
use proptest::prelude::*;
use test_support::{cases, report, seed};
use tmt_core::format::text::{Decoder, Options};
use tmt_core::format::{Rows, Unit};

/// Numbers that follow from a seed, by SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// One of 0 to `end` − 1.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        let at = self.below(choices.len() as u64);
        choices[usize::try_from(at).unwrap()]
    }
}

/// A run of rows as text.
struct Run {
    text: Vec<u8>,
    options: Options,
    /// (t, d) of each row, ns; `None` if some bytes were changed.
    slots: Option<Vec<(u64, u64)>>,
    rows: u64,
}

/// `nanos` with `decimals` of the `unit` decimals down to a nanosecond, and the value that this says.
fn number(nanos: u64, unit: u32, decimals: u32) -> (String, u64) {
    let (scale, step) = (10u64.pow(unit), 10u64.pow(unit - decimals));
    let whole = nanos / scale;
    let text = match decimals {
        0 => whole.to_string(),
        _ => format!(
            "{whole}.{:0width$}",
            nanos % scale / step,
            width = decimals as usize
        ),
    };
    (text, nanos / step * step)
}

/// A run of at most `most` rows that follows from a seed; every other one has faults.
fn run(seed: u64, most: u64) -> Run {
    let mut numbers = Numbers(seed);
    let (unit, places) = numbers.of(&[
        (Unit::Seconds, 9),
        (Unit::Seconds, 9),
        (Unit::Milliseconds, 6),
        (Unit::Microseconds, 3),
        (Unit::Nanoseconds, 0),
    ]);
    let fewer = u32::try_from(numbers.below(u64::from(places) + 1)).unwrap();
    let decimals = numbers.of(&[places, places, fewer]);
    let separator = numbers.of(&[",", ",", ";", "\t", " "]);
    let line_end = numbers.of(&["\n", "\n", "\r\n"]);
    let more = numbers.of(&["", "", "x", "0.25"]);
    let (with_attempts, short_zero) = (numbers.below(2) == 0, numbers.below(4) > 0);
    let mut time = numbers.of(&[
        0,
        113_000_000,
        9_999_000_000,
        1_700_000_000_000_000_000,
        (1 << 63) - 200_000_000_000,
    ]);
    let step = numbers.of(&[1, 112_820, 112_820, 112_821, 5_000_000, 250_000_000]);
    let delays = [
        numbers.of(&[36_000_000, 36_000_000, 12_345_678_901, 1]),
        1 + numbers.below(1 << 36),
    ];

    let names = ["tx_time", "decode_delay", "attempts", "more"];
    let columns = 2 + usize::from(with_attempts) + usize::from(!more.is_empty());
    let names = names
        .iter()
        .filter(|name| with_attempts || **name != "attempts")
        .take(columns);
    let header = names.copied().collect::<Vec<_>>().join(separator);
    let mut text = format!("{header}{line_end}");
    let (mut slots, mut last) = (Vec::new(), 0);
    for _ in 0..=numbers.below(most) {
        time += match numbers.below(200) {
            0 => 0,
            1 => numbers.below(3_000_000_000),
            _ => step,
        };
        let delay = match numbers.below(100) {
            0..8 => 0,
            8 => delays[1],
            9 => 1 + numbers.below(1 << 30),
            _ => delays[0],
        };
        let (time_text, time) = number(time, places, decimals);
        let (delay_text, delay) = number(delay, places, decimals);
        if time < last || time + delay > i64::MAX.unsigned_abs() {
            break;
        }
        // Fewer decimals may make it zero.
        let zero = if short_zero { "0" } else { &delay_text };
        text += &time_text;
        text += separator;
        text += if delay == 0 { zero } else { &delay_text };
        if with_attempts {
            text += separator;
            text += numbers.of(&["1", "1", "1", "1", "1", "1", "1", "2", "13"]);
        }
        if !more.is_empty() {
            text += separator;
            text += more;
        }
        text += line_end;
        slots.push((time, delay));
        last = time;
    }
    let rows = slots.len() as u64;
    let mut text = text.into_bytes();
    let faults = numbers.of(&[0, 0, 1, 3]);
    for _ in 0..faults {
        let at = usize::try_from(numbers.below(text.len() as u64)).unwrap();
        let byte = u8::try_from(numbers.below(256)).unwrap();
        let byte = numbers.of(&[
            byte, b'0', b'9', b'/', b':', b'.', b',', b'-', b' ', b'\n', b'\r', b'#',
        ]);
        match numbers.below(4) {
            0 => {
                text.remove(at);
            }
            1 => text.insert(at, byte),
            _ => text[at] = byte,
        }
        if text.is_empty() {
            text.push(byte);
        }
    }
    let options = Options {
        unit: Some(unit),
        allow_cut: numbers.below(2) == 0,
        attempts: numbers.below(2) == 0,
    };
    Run {
        text,
        options,
        slots: (faults == 0).then_some(slots),
        rows,
    }
}

/// Reads every line alone, which the fast path does not see.
fn line_by_line(text: &[u8], options: Options) -> Reading {
    let mut decoder = Decoder::new(options);
    let (mut rows, mut end) = (Rows::default(), Ok(()));
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let (body, line_end) = line.split_at(line.len() - 1);
        end = end
            .and_then(|()| decoder.decode(body, &mut rows))
            .and_then(|()| decoder.decode(line_end, &mut rows));
    }
    let end = end.and_then(|()| decoder.finish(&mut rows));
    Reading::new(&rows, crate::reading::head(&decoder), end)
}

/// Both paths read the run alike; returns its number of rows.
fn check(seed: u64, most: u64) -> u64 {
    let run = run(seed, most);
    let exact = line_by_line(&run.text, run.options);
    for pieces in [&[usize::MAX][..], &[1 + run.text.len() / 3]] {
        let fast = decode(&run.text, pieces, run.options);
        assert_eq!(
            fast,
            exact,
            "seed {seed}: {}",
            String::from_utf8_lossy(&run.text)
        );
    }
    if let Some(slots) = run.slots.filter(|slots| !slots.is_empty()) {
        assert!(exact.end.is_ok(), "seed {seed}: {:?}", exact.end);
        assert_eq!(exact.slots, slots, "seed {seed}");
    }
    run.rows
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn runs_of_rows_that_are_alike_read_as_line_by_line(seed: u64) {
        check(seed, 500);
    }
}

#[test]
#[ignore = "minutes; .ci/long text"]
fn a_hundred_million_rows_read_as_line_by_line() {
    let (first, mut rows, mut runs) = (seed() << 40, 0, 0);
    while rows < 100_000_000 {
        rows += check(first + runs, 4_000);
        runs += 1;
    }
    report(&format!("{rows} rows in {runs} runs"));
}

#[test]
fn every_byte_of_a_row_is_looked_at() {
    let row = |at: u64| format!("0.{at:09},0.036000000\n");
    let rows = |from: u64| (from..from + 40).map(row).collect::<String>();
    let (before, after) = (rows(200_000_000), rows(300_000_000));
    for at in 0..24 {
        for byte in 0..=u8::MAX {
            let mut changed = b"0.200000041,0.036000000\n".to_vec();
            changed[at] = byte;
            let text = [before.as_bytes(), &changed, after.as_bytes()].concat();
            let exact = line_by_line(&text, Options::default());
            let fast = decode(&text, &[usize::MAX], Options::default());
            assert_eq!(fast, exact, "byte {byte} at {at}");
        }
    }
}

#[test]
fn a_last_row_without_line_end_is_read_once() {
    let row = |at: u64| format!("0.{at:09},0.036000000\n");
    let text = (0..30).map(row).collect::<String>();
    for length in 30..text.len() {
        let mut decoder = Decoder::new(Options::default());
        let mut rows = Rows::default();
        let head = "tx_time,decode_delay\n0.000000000,0.036000000\n";
        decoder.decode(head.as_bytes(), &mut rows).unwrap();
        rows.clear();
        // A parser learns from the lines of one call, so that each of these is parsed exactly.
        let (text, mut exact) = (&text[..length], Rows::default());
        let parser = decoder.parser().unwrap();
        for line in text.split_inclusive('\n') {
            parser.parse(line.as_bytes(), &mut exact);
        }
        parser.parse(text.as_bytes(), &mut rows);
        assert_eq!(rows.slots, exact.slots, "{text}");
        assert!(rows.slots.len() >= text.lines().count() - 1);
    }
}
