//! Reads a text trace in rounds: bytes in batches of whole lines.

use std::io::Read;

use rayon::Scope;

use super::input::{Input, Reading};
use super::options::Options;
use crate::format::batch::{Rows, TraceEnd};
use crate::format::pool::Pool;
use crate::format::read;
use crate::format::text::{self, Decoder, LONGEST_LINE};
use crate::types::{Error, ErrorKind, Metadata, Result};

/// Bytes of text that one task parses.
const PIECE: usize = 1 << 16;

/// Bytes read at a time while the head is read.
const HEAD_CHUNK: usize = 1 << 16;

/// A text trace and the state of reading it.
pub(super) struct Text<'a> {
    source: Lines<'a>,
    decoder: Decoder,
    allow_cut: bool,
    /// Fetched in this round; parsed in this round.
    fetched: Batch,
    parsed: Batch,
}

/// Reads the bytes of a text in whole lines.
struct Lines<'a> {
    input: Box<dyn Read + Send + 'a>,
    /// Start of a line whose end has not been read.
    carry: Vec<u8>,
    /// Bytes fetched at a time.
    chunk: usize,
}

/// The text fetched in a round.
#[derive(Default)]
struct Batch {
    text: Vec<u8>,
    /// Bytes of `text` that are whole lines.
    lines: usize,
    /// State after the text: `None` if unknown, a last line without LF, or an error.
    after: Option<Result<Vec<u8>>>,
}

impl<'a> Text<'a> {
    /// Reads the head up to the first row at least; puts the rows into `rows`. Returns the end of the trace if that was
    /// all.
    pub(super) fn open(
        mut input: Box<dyn Read + Send + 'a>,
        options: &Options,
        rows: &mut Rows,
    ) -> (Self, Result<Option<TraceEnd>>) {
        let chunk = options.chunk.max(1);
        let mut decoder = Decoder::of_table(
            text::Options {
                unit: options.unit,
                allow_cut: options.allow_cut,
                attempts: options.attempts,
            },
            options.columns.clone(),
        );
        let mut buffer = vec![0; HEAD_CHUNK.min(chunk)];
        let mut outcome = Ok(None);
        // Up to the first row, so that an error in it is found here regardless of the chunk size.
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
    /// Fetches the next batch into `batch`, and reuses its memory.
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
            // The parser refuses this line with its number.
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

    fn reading(&self) -> Reading<'_> {
        Reading {
            ignored: self.decoder.ignored_columns(),
            has_no_delays: self.decoder.has_no_delays(),
            starts_at_first_row: false,
        }
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
            let (piece, after) = rest.split_at(line_end.map_or(rest.len(), |at| from + at + 1));
            cut.push(piece);
            rest = after;
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
        let after = self.parsed.after.take();
        std::mem::swap(&mut self.parsed, &mut self.fetched);
        let decoder = &mut self.decoder;
        let end = match after {
            None => return Ok(None),
            Some(Ok(line)) => decoder.finish_with(&line, last)?,
            Some(Err(error)) => cut(decoder, error, self.allow_cut, last)?,
        };
        Ok(Some(end))
    }
}

/// Ends a text whose stream failed: an error, unless the stream was cut and `allow_cut` is set.
fn cut(decoder: &mut Decoder, error: Error, allow_cut: bool, rows: &mut Rows) -> Result<TraceEnd> {
    if !allow_cut || !matches!(error.kind(), ErrorKind::CutStream { .. }) {
        return Err(error.offset_rows(decoder.rows()));
    }
    // The line at the cut is incomplete.
    drop(decoder.take_carry());
    let end = decoder.finish(rows)?;
    Ok(TraceEnd { cut: true, ..end })
}
