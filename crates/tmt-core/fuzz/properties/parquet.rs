//! Parquet files: any bytes are read or refused, and written rows read back.

use bytes::Bytes;
use tmt_core::format::Unit;
use tmt_core::format::columnar::{Options, Row};
use tmt_core::format::parquet::{self, Writer};

use super::{Reading, lldus};

/// Any bytes are read or refused, and what is read can be written.
pub(crate) fn check(data: &[u8]) {
    for unit in [None, Some(Unit::Seconds)] {
        let reading = read(data, unit);
        if matches!(reading.end, Some(Ok(_))) {
            let written = if reading.attempts.is_empty() {
                written(&reading.slots, &reading)
            } else {
                written(&lldus(&reading.slots, &reading.attempts), &reading)
            };
            assert_eq!(read(&written, None), reading);
        }
    }
}

fn read(data: &[u8], unit: Option<Unit>) -> Reading {
    let options = Options {
        unit,
        attempts: true,
        ..Options::default()
    };
    Reading::of(parquet::open(Bytes::copy_from_slice(data), &options))
}

fn written<R: Row + Copy>(rows: &[R], reading: &Reading) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &reading.head).unwrap();
    writer.rows(rows).unwrap();
    writer.finish(reading.line.as_ref()).unwrap()
}
