//! Text traces: the result does not depend on how the input is split, for the push parser and for pieces parsed apart,
//! and written rows read back.

use tmt_core::format::text::{Decoder, Options, encode};
use tmt_core::format::{Rows, TraceEnd, Unit};

use super::{Refusal, assert_in_order, lines, lldus, refusal};

/// All results of a reader of a text.
#[derive(Debug, PartialEq)]
struct Reading {
    rows: Vec<(u64, u64)>,
    attempts: Vec<u32>,
    /// Line of each row.
    lines: Vec<u64>,
    head: Vec<(String, String)>,
    end: Result<TraceEnd, Refusal>,
}

/// Any bytes give the same result by every way of reading them.
pub(crate) fn check(data: &[u8]) {
    let forgiving = Options {
        unit: Some(Unit::Milliseconds),
        allow_cut: true,
        attempts: false,
    };
    let strict = Options {
        attempts: true,
        ..Options::default()
    };
    for options in [strict, forgiving] {
        // Byte by byte, every line arrives alone and is parsed by the slow path.
        let slow = decode(data.chunks(1), options);
        assert_eq!(decode(std::iter::once(data), options), slow);
        assert_eq!(decode(data.chunks(7), options), slow);
        assert_eq!(apart(data, 1, options), slow);
        assert_eq!(apart(data, 90, options), slow);
    }
    written_reads_back(data, strict);
}

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>, options: Options) -> Reading {
    let mut decoder = Decoder::new(options);
    let mut rows = Rows::default();
    let mut end = Ok(());
    for piece in pieces {
        end = end.and_then(|()| decoder.decode(piece, &mut rows));
    }
    let end = end.and_then(|()| decoder.finish(&mut rows));
    let mut reading = nothing();
    reading.take(&rows);
    reading.head = lines(decoder.metadata());
    reading.end = end.map_err(|error| refusal(&error));
    reading
}

/// As [`decode`], but everything after the head is parsed in pieces of whole lines, the last piece first.
fn apart(data: &[u8], least: usize, options: Options) -> Reading {
    let mut decoder = Decoder::new(options);
    let mut rows = Rows::default();
    let mut reading = nothing();
    let mut rest = data;
    let mut end = Ok(());
    while end.is_ok() && decoder.parser().is_none() && !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(5));
        rest = after;
        end = decoder.decode(piece, &mut rows);
    }
    reading.take(&rows);
    rows.clear();
    let after = [&decoder.take_carry(), rest].concat();
    let mut rest = &after[..];
    if let (Ok(()), Some(parser)) = (&end, decoder.parser()) {
        let mut pieces = Vec::new();
        while let Some(more) = rest.iter().skip(least - 1).position(|byte| *byte == b'\n') {
            let (piece, after) = rest.split_at(least + more);
            pieces.push((piece, Rows::default()));
            rest = after;
        }
        for (piece, rows) in pieces.iter_mut().rev() {
            parser.parse(piece, rows);
        }
        for (_, rows) in &mut pieces {
            if end.is_ok() {
                end = decoder.commit(rows);
                reading.take(rows);
            }
        }
    }
    let end = end.and_then(|()| decoder.finish_with(rest, &mut rows));
    reading.take(&rows);
    reading.head = lines(decoder.metadata());
    reading.end = end.map_err(|error| refusal(&error));
    reading
}

fn written_reads_back(data: &[u8], options: Options) {
    let mut decoder = Decoder::new(options);
    let mut rows = Rows::default();
    let end = decoder.decode(data, &mut rows);
    let Ok(trace_end) = end.and_then(|()| decoder.finish(&mut rows)) else {
        return;
    };
    assert_in_order(&rows.slots);
    let mut text = Vec::new();
    encode::head(decoder.metadata(), &mut text);
    if rows.attempts.is_empty() {
        encode::trace_header(&mut text);
        for slot in &rows.slots {
            encode::slot(slot, &mut text);
        }
    } else {
        encode::timeline_header(&mut text);
        encode::lldus(&lldus(&rows.slots, &rows.attempts), &mut text);
    }
    if let Some(end) = trace_end.end_line {
        encode::end(&end, &mut text);
    }
    let again = decode(std::iter::once(&text[..]), options);
    let first = decode(std::iter::once(data), options);
    assert_eq!(again.rows, first.rows);
    assert_eq!(again.attempts, first.attempts);
    assert_eq!(again.head, first.head);
    assert_eq!(again.end, first.end);
}

impl Reading {
    /// Adds the rows of a batch.
    fn take(&mut self, rows: &Rows) {
        let slots = rows.slots.iter();
        self.rows
            .extend(slots.map(|slot| (slot.tx_time().as_nanos(), slot.decode_delay().as_nanos())));
        self.attempts.extend(&rows.attempts);
        self.lines
            .extend((0..rows.slots.len()).map(|index| rows.line(index)));
    }
}

fn nothing() -> Reading {
    let trace_end = TraceEnd {
        rows: 0,
        end_line: None,
        cut: false,
    };
    Reading {
        rows: Vec::new(),
        attempts: Vec::new(),
        lines: Vec::new(),
        head: Vec::new(),
        end: Ok(trace_end),
    }
}
