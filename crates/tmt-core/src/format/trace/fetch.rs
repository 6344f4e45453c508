//! The first step of reading: bytes off the input, in batches that begin and end with a row.

use std::io::Read;

use crate::format::columnar::{Batch, Next, Source};
use crate::format::read;
use crate::format::text::LONGEST_LINE;
use crate::types::{EndLine, Error, ErrorKind, Result};

/// What was fetched at a time, yet to be parsed: rows in the form they came in, of one format.
#[derive(Default)]
pub(super) struct Raw {
    text: Vec<u8>,
    /// How much of `text` is whole lines.
    lines: usize,
    /// Rows of a binary trace.
    pub(super) batches: Vec<Batch>,
    /// What stands behind it: nothing known yet, the end of the input, or an error.
    pub(super) behind: Behind,
}

impl Raw {
    /// The lines of a text.
    pub(super) fn text(&self) -> &[u8] {
        &self.text[..self.lines]
    }

    /// Forgets the rows and keeps the memory.
    fn clear(&mut self) {
        self.lines = 0;
        self.batches.clear();
    }
}

/// Fills `batches` with the next `rows` rows of `source`, or one batch that has more.
fn fill(batches: &mut Vec<Batch>, source: &mut Source<'_>, rows: u64) -> Result<Behind> {
    batches.clear();
    let until = source.rows().saturating_add(rows);
    while source.rows() < until {
        match source.next_batch()? {
            Next::Batch(batch) => batches.push(batch),
            Next::End => return Ok(Behind::End(source.end())),
            Next::Cut => {
                let (format, rows) = (source.format, source.rows());
                return Err(Error::new(ErrorKind::CutStream { format, rows }));
            }
        }
    }
    Ok(Behind::More)
}

/// What stands behind a batch.
#[derive(Default)]
pub(super) enum Behind {
    #[default]
    More,
    /// A text ended with this, a line without its LF.
    TextEnd(Vec<u8>),
    /// A binary trace ended, with this end line.
    End(Option<EndLine>),
    Failed(Error),
}

/// The input of a trace; a binary one with the rows that are fetched at a time.
pub(super) enum Fetch<'a> {
    Text(TextFetch<'a>),
    Binary(Box<Source<'a>>, u64),
    /// Nothing is left.
    Done,
}

/// A text input.
pub(super) struct TextFetch<'a> {
    input: Box<dyn Read + Send + 'a>,
    /// The beginning of a line that is not all there yet.
    carry: Vec<u8>,
    /// Bytes fetched at a time.
    chunk: usize,
}

impl Fetch<'_> {
    /// Fetches the next batch into `raw`, whose memory is used again.
    pub(super) fn fetch(&mut self, raw: &mut Raw) {
        raw.behind = Behind::More;
        let behind = match self {
            Self::Text(text) => text.fetch(raw),
            Self::Binary(source, rows) => fill(&mut raw.batches, source, *rows),
            Self::Done => {
                raw.clear();
                return;
            }
        };
        raw.behind = behind.unwrap_or_else(Behind::Failed);
        if !matches!(raw.behind, Behind::More) {
            *self = Self::Done;
        }
    }
}

impl<'a> TextFetch<'a> {
    pub(super) fn new(input: Box<dyn Read + Send + 'a>, carry: Vec<u8>, chunk: usize) -> Self {
        Self {
            input,
            carry,
            chunk,
        }
    }

    fn fetch(&mut self, raw: &mut Raw) -> Result<Behind> {
        let bytes = &mut raw.text;
        let least = self.carry.len() + self.chunk;
        if bytes.len() < least {
            bytes.resize(least, 0);
        }
        let mut filled = self.carry.len();
        bytes[..filled].copy_from_slice(&self.carry);
        self.carry.clear();
        let outcome = loop {
            match read(&mut self.input, &mut bytes[filled..]) {
                Ok(0) => break Ok(true),
                Ok(length) => filled += length,
                Err(error) => break Err(error),
            }
            if filled == bytes.len() {
                if filled > LONGEST_LINE || memchr::memrchr(b'\n', bytes).is_some() {
                    break Ok(false);
                }
                bytes.resize(2 * filled, 0);
            }
        };
        let mut lines = memchr::memrchr(b'\n', &bytes[..filled]).map_or(0, |at| at + 1);
        if filled - lines > LONGEST_LINE {
            // The parser refuses it, and says where it stands.
            lines = filled;
        }
        self.carry.extend_from_slice(&bytes[lines..filled]);
        raw.lines = lines;
        match outcome {
            Ok(false) => Ok(Behind::More),
            Ok(true) => Ok(Behind::TextEnd(std::mem::take(&mut self.carry))),
            Err(error) => Err(Error::from(error)),
        }
    }
}
