//! Helpers of the tests of text traces: read bytes with any reader, in any pieces, to results that can be compared.

use std::io::Read;

use tmt_core::format::text::{Decoder, Options};
use tmt_core::format::{self, Rows, TraceEnd, TraceReader};
use tmt_core::types::{Error, ErrorKind, Position};

/// All results of a reader of a text.
#[derive(Debug, PartialEq)]
pub(crate) struct Reading {
    /// (t, d) of the rows before the end or the error, ns.
    pub(crate) slots: Vec<(u64, u64)>,
    pub(crate) attempts: Vec<u32>,
    /// Line of each row.
    pub(crate) lines: Vec<u64>,
    pub(crate) head: Vec<(String, String)>,
    pub(crate) end: Result<TraceEnd, Refusal>,
}

/// An error, for comparison.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) kind: String,
    pub(crate) at: Option<Position>,
    pub(crate) message: String,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self {
            kind: format!("{:?}", error.kind()),
            at: error.position(),
            message: error.to_string(),
        }
    }
}

impl Reading {
    pub(crate) fn new(
        rows: &Rows,
        head: Vec<(String, String)>,
        end: Result<TraceEnd, Error>,
    ) -> Self {
        Self {
            slots: slots(rows),
            attempts: rows.attempts.clone(),
            lines: (0..rows.slots.len())
                .map(|index| rows.line(index))
                .collect(),
            head,
            end: end.map_err(Refusal::from),
        }
    }

    /// Adds the rows of a later batch.
    pub(crate) fn append(&mut self, rows: &Rows) {
        self.slots.extend(slots(rows));
        self.attempts.extend(&rows.attempts);
        self.lines
            .extend((0..rows.slots.len()).map(|index| rows.line(index)));
    }
}

fn slots(rows: &Rows) -> Vec<(u64, u64)> {
    rows.slots
        .iter()
        .map(|slot| (slot.tx_time().as_nanos(), slot.decode_delay().as_nanos()))
        .collect()
}

/// Reads the text with the push parser, in pieces of these lengths, cyclically.
pub(crate) fn decode(text: &[u8], pieces: &[usize], options: Options) -> Reading {
    let mut decoder = Decoder::new(options);
    let mut rows = Rows::default();
    let mut rest = text;
    let mut end = Ok(());
    for &piece in pieces.iter().cycle() {
        if rest.is_empty() || end.is_err() {
            break;
        }
        let (piece, after) = rest.split_at(piece.clamp(1, rest.len()));
        rest = after;
        end = decoder.decode(piece, &mut rows);
    }
    let end = end.and_then(|()| decoder.finish(&mut rows));
    Reading::new(&rows, head(&decoder), end)
}

/// The head's lines.
pub(crate) fn head(decoder: &Decoder) -> Vec<(String, String)> {
    let lines = decoder.metadata().iter();
    lines
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// Reads the whole text at once.
pub(crate) fn read(text: impl AsRef<[u8]>) -> Reading {
    decode(text.as_ref(), &[usize::MAX], Options::default())
}

/// A file that returns pieces of these lengths.
struct Pieces<'a> {
    text: &'a [u8],
    pieces: std::iter::Cycle<std::slice::Iter<'a, usize>>,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let piece = self.pieces.next().map_or(1, |piece| (*piece).max(1));
        let length = piece.min(buffer.len()).min(self.text.len());
        buffer[..length].copy_from_slice(&self.text[..length]);
        self.text = &self.text[length..];
        Ok(length)
    }
}

/// As [`decode`], with the reader that the commands use.
pub(crate) fn read_file(text: &[u8], pieces: &[usize], options: Options) -> Reading {
    let file = Pieces {
        text,
        pieces: pieces.iter().cycle(),
    };
    let nothing = Reading::new(
        &Rows::default(),
        Vec::new(),
        Err(Error::new(ErrorKind::EmptyTrace)),
    );
    let options = format::Options {
        unit: options.unit,
        allow_cut: options.allow_cut,
        attempts: options.attempts,
        columns: format::Columns::default(),
        // Batches of a different size than the pieces.
        chunk: pieces.iter().sum::<usize>().clamp(1, 1 << 20),
    };
    let mut reader = match TraceReader::new(file, options) {
        Ok(reader) => reader,
        Err(error) => {
            return Reading {
                end: Err(error.into()),
                ..nothing
            };
        }
    };
    let head = reader
        .metadata()
        .iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let mut all = Reading { head, ..nothing };
    let mut rows = Rows::default();
    loop {
        let more = reader.next_rows(&mut rows);
        all.append(&rows);
        match more {
            Ok(true) => {}
            Ok(false) => {
                all.end = Ok(reader.end().unwrap());
                return all;
            }
            Err(error) => {
                all.end = Err(error.into());
                return all;
            }
        }
    }
}
