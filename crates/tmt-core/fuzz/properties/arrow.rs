//! Arrow streams and files: no panic, the same result for any split of the input, and written rows read back.

use std::io::Read;

use tmt_core::format::Unit;
use tmt_core::format::arrow::{self, encode};
use tmt_core::format::columnar::{Options, Row};

use super::{Pieces, Reading, lldus};

/// Any bytes are read or refused, with the same result in pieces of any size.
pub(crate) fn check(data: &[u8]) {
    for unit in [None, Some(Unit::Seconds), Some(Unit::Nanoseconds)] {
        let options = Options {
            unit,
            attempts: true,
            ..Options::default()
        };
        let reading = read(data, options.clone());
        for most in [1, 13] {
            assert_eq!(read(Pieces { bytes: data, most }, options.clone()), reading);
        }
        let ours = Options {
            unit: None,
            attempts: true,
            ..Options::default()
        };
        if matches!(reading.end, Some(Ok(_))) {
            let again = read(&written(&reading)[..], ours);
            assert_eq!(again, reading);
        }
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "options are built for one trace"
)]
fn read(input: impl Read + Send, options: Options) -> Reading {
    Reading::of(arrow::open(input, &options))
}

/// Encodes what was read; a new batch starts where a time decreases.
fn written(reading: &Reading) -> Vec<u8> {
    if reading.attempts.is_empty() {
        return in_batches(&reading.slots, reading);
    }
    in_batches(&lldus(&reading.slots, &reading.attempts), reading)
}

fn in_batches<R: Row>(rows: &[R], reading: &Reading) -> Vec<u8> {
    let mut out = Vec::new();
    encode::head::<R>(&reading.head, &mut out);
    let mut from = 0;
    for to in 1..=rows.len() {
        if to == rows.len() || rows[to].tx_time() < rows[to - 1].tx_time() {
            encode::batch(&rows[from..to], &mut out);
            from = to;
        }
    }
    encode::end::<R>(reading.line.as_ref(), &mut out);
    out
}
