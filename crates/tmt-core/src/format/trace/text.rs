//! A text on its way in: bytes in batches that begin and end with a row.

use std::io::Read;

use rayon::Scope;

use super::input::Input;
use super::options::Options;
use crate::format::batch::{Rows, TraceEnd};
use crate::format::pool::Pool;
use crate::format::read;
use crate::format::text::{self, Decoder, LONGEST_LINE};
use crate::types::{Error, ErrorKind, Metadata, Result};

/// Bytes of text that one task parses.
const PIECE: usize = 1 << 16;

/// Bytes read at a time while a text's head is looked for.
const HEAD_CHUNK: usize = 1 << 16;

/// A text.
pub(super) struct Text<'a> {
    source: Lines<'a>,
    decoder: Decoder,
    allow_cut: bool,
    /// Being fetched in this round, being parsed in this round.
    fetched: Batch,
    parsed: Batch,
}

/// The bytes of a text, handed out in whole lines.
struct Lines<'a> {
    input: Box<dyn Read + Send + 'a>,
    /// The beginning of a line that is not all there yet.
    carry: Vec<u8>,
    /// Bytes fetched at a time.
    chunk: usize,
}

/// What was fetched at a time.
#[derive(Default)]
struct Batch {
    text: Vec<u8>,
    /// How much of `text` is whole lines.
    lines: usize,
    /// What stands behind it: nothing known yet, a last line without its LF, or an error.
    after: Option<Result<Vec<u8>>>,
}

impl<'a> Text<'a> {
    /// Reads a text's head and first row into `rows`, with rows that come along; the tail where that was all.
    pub(super) fn open(
        mut input: Box<dyn Read + Send + 'a>,
        options: Options,
        rows: &mut Rows,
    ) -> (Self, Result<Option<TraceEnd>>) {
        let chunk = options.chunk.max(1);
        let mut decoder = Decoder::new(text::Options {
            unit: options.unit.unwrap_or_default(),
            allow_cut: options.allow_cut,
            attempts: options.attempts,
        });
        let mut buffer = vec![0; HEAD_CHUNK.min(chunk)];
        let mut outcome = Ok(None);
        // To the first row, so that whether that is faulty is known here, however much was read at a time.
        while rows.slots.is_empty() && matches!(outcome, Ok(None)) {
            outcome = match read(&mut input, &mut buffer).map_err(Error::from) {
                Ok(0) => decoder.finish(rows).map(Some),
                Ok(length) => decoder.decode(&buffer[..length], rows).map(|()| None),
                Err(error) => cut(&mut decoder, error, options.allow_cut, rows).map(Some),
            };
        }
        let carry = decoder.take_carry();
        let text = Self {
            source: Lines {
                input,
                carry,
                chunk,
            },
            decoder,
            allow_cut: options.allow_cut,
            fetched: Batch::default(),
            parsed: Batch::default(),
        };
        (text, outcome)
    }
}

impl Lines<'_> {
    /// Fetches the next batch into `batch`, whose memory is used again.
    fn fetch(&mut self, batch: &mut Batch) {
        let bytes = &mut batch.text;
        let least = self.carry.len() + self.chunk;
        if bytes.len() < least {
            bytes.resize(least, 0);
        }
        let mut filled = self.carry.len();
        bytes[..filled].copy_from_slice(&self.carry);
        let ended = loop {
            match read(&mut self.input, &mut bytes[filled..]) {
                Ok(0) => break Some(Ok(())),
                Ok(length) => filled += length,
                Err(error) => break Some(Err(Error::from(error))),
            }
            if filled == bytes.len() {
                if filled > LONGEST_LINE || memchr::memrchr(b'\n', bytes).is_some() {
                    break None;
                }
                bytes.resize(2 * filled, 0);
            }
        };
        batch.lines = memchr::memrchr(b'\n', &bytes[..filled]).map_or(0, |at| at + 1);
        if filled - batch.lines > LONGEST_LINE {
            // The parser refuses it, and says where it stands.
            batch.lines = filled;
        }
        self.carry.clear();
        self.carry.extend_from_slice(&bytes[batch.lines..filled]);
        batch.after = ended.map(|ended| ended.map(|()| std::mem::take(&mut self.carry)));
    }
}

impl Input for Text<'_> {
    fn metadata(&self) -> &Metadata {
        self.decoder.metadata()
    }

    fn spawn<'s>(&'s mut self, pieces: &'s mut Pool<Rows>, scope: &Scope<'s>) {
        let (source, fetched) = (&mut self.source, &mut self.fetched);
        if self.parsed.after.is_none() {
            scope.spawn(move |_| source.fetch(fetched));
        }
        let Some(parser) = self.decoder.parser() else {
            return;
        };
        let mut rest = &self.parsed.text[..self.parsed.lines];
        let mut cut = Vec::new();
        while !rest.is_empty() {
            let from = PIECE.min(rest.len());
            let line_end = memchr::memchr(b'\n', &rest[from..]);
            let (piece, behind) = rest.split_at(line_end.map_or(rest.len(), |at| from + at + 1));
            cut.push(piece);
            rest = behind;
        }
        let pieces = pieces.resize(cut.len());
        for (text, rows) in cut.into_iter().zip(pieces) {
            scope.spawn(move |_| {
                rows.clear();
                parser.parse(text, rows);
            });
        }
    }

    fn commit(&mut self, rows: &mut Rows) -> Result<()> {
        self.decoder.commit(rows)
    }

    fn advance(&mut self, last: &mut Rows) -> Result<Option<TraceEnd>> {
        let behind = self.parsed.after.take();
        std::mem::swap(&mut self.parsed, &mut self.fetched);
        let decoder = &mut self.decoder;
        let end = match behind {
            None => return Ok(None),
            Some(Ok(line)) => decoder.finish_with(&line, last)?,
            Some(Err(error)) => cut(decoder, error, self.allow_cut, last)?,
        };
        Ok(Some(end))
    }
}

/// The end of a text whose stream failed: an error, unless it was only cut and that is allowed.
fn cut(decoder: &mut Decoder, error: Error, allow_cut: bool, rows: &mut Rows) -> Result<TraceEnd> {
    if !allow_cut || !matches!(error.kind(), ErrorKind::CutStream { .. }) {
        return Err(error.behind_rows(decoder.rows()));
    }
    // The line in which it was cut is lost.
    drop(decoder.take_carry());
    let end = decoder.finish(rows)?;
    Ok(TraceEnd { cut: true, ..end })
}
