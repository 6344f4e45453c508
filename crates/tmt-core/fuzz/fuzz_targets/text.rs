//! Text traces: nothing panics, pieces do not matter, and what is written reads back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tmt_core::text::{Decoder, Options, Rows, encode};

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Rows, Result<u64, String>) {
    let mut decoder = Decoder::new(Options { attempts: true, ..Options::default() });
    let mut rows = Rows::default();
    for piece in pieces {
        if let Err(error) = decoder.decode(piece, &mut rows) {
            return (rows, Err(error.to_string()));
        }
    }
    let end = decoder.finish(&mut rows).map(|tail| tail.rows).map_err(|error| error.to_string());
    (rows, end)
}

fuzz_target!(|data: &[u8]| {
    let (rows, whole) = decode(std::iter::once(data));
    let (again, pieces) = decode(data.chunks(7));
    assert_eq!((&rows.slots, &rows.attempts), (&again.slots, &again.attempts));
    assert_eq!(whole, pieces);
    if whole.is_ok() {
        let mut text = Vec::new();
        encode::trace_header(&mut text);
        for slot in &rows.slots {
            encode::slot(slot, &mut text);
        }
        let (back, end) = decode(std::iter::once(&text[..]));
        assert_eq!(end, Ok(rows.slots.len() as u64));
        assert_eq!(back.slots, rows.slots);
    }
});
