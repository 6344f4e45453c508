//! The first step of reading: bytes off the input, in batches that begin and end with a row.

use std::io::Read;

use crate::format::columnar::Next;
use crate::format::text::LONGEST_LINE;
use crate::format::{arrow, parquet};
use crate::types::{EndLine, Error, ErrorKind, Result, Slot};

/// What was fetched at a time, yet to be parsed.
#[derive(Default)]
pub(super) struct Raw {
    pub(super) content: Content,
    /// What stands behind it: nothing known yet, the end of the input, or an error.
    pub(super) behind: Behind,
}

/// Rows in the form they came in.
#[derive(Default)]
pub(super) enum Content {
    #[default]
    Nothing,
    /// Whole lines: the bytes in front of the mark.
    Text { bytes: Vec<u8>, filled: usize },
    /// Batches of an Arrow stream, so many of them in use.
    Arrow {
        batches: Vec<arrow::Batch>,
        used: usize,
    },
    /// Rows of a Parquet file, so many batches of them in use.
    Parquet { batches: Vec<Columns>, used: usize },
}

impl Content {
    /// Forgets the rows and keeps the memory.
    fn clear(&mut self) {
        match self {
            Self::Nothing => {}
            Self::Text { filled, .. } => *filled = 0,
            Self::Arrow { used, .. } | Self::Parquet { used, .. } => *used = 0,
        }
    }
}

/// Rows, as their file's own reader makes them.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) slots: Vec<Slot>,
    pub(super) attempts: Vec<u32>,
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

/// The input of a trace.
pub(super) enum Fetch<'a> {
    Text(TextFetch<'a>),
    Arrow(ArrowFetch<'a>),
    Parquet(ParquetFetch),
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

/// An Arrow input.
pub(super) struct ArrowFetch<'a> {
    pub(super) stream: arrow::Stream<Box<dyn Read + Send + 'a>>,
    /// Rows fetched at a time, or one batch that has more.
    pub(super) rows: u64,
}

impl ArrowFetch<'_> {
    fn fetch(&mut self, raw: &mut Raw) -> Result<Behind> {
        let mut batches = match std::mem::take(&mut raw.content) {
            Content::Arrow { batches, .. } => batches,
            _ => Vec::new(),
        };
        let (mut used, mut rows) = (0, 0);
        let outcome = loop {
            if rows >= self.rows {
                break Ok(Next::Batch);
            }
            if batches.len() == used {
                batches.push(arrow::Batch::default());
            }
            match self.stream.next_batch(&mut batches[used]) {
                Ok(Next::Batch) => {
                    rows += batches[used].rows();
                    used += 1;
                }
                other => break other,
            }
        };
        raw.content = Content::Arrow { batches, used };
        match outcome? {
            Next::Batch => Ok(Behind::More),
            Next::End => Ok(Behind::End(self.stream.end())),
            Next::Cut => Err(cut("Arrow", self.stream.rows())),
        }
    }
}

impl Fetch<'_> {
    /// Fetches the next batch into `raw`, whose memory is used again.
    pub(super) fn fetch(&mut self, raw: &mut Raw) {
        raw.behind = Behind::More;
        let behind = match self {
            Self::Text(text) => text.fetch(raw),
            Self::Arrow(arrow) => arrow.fetch(raw),
            Self::Parquet(parquet) => parquet.fetch(raw),
            Self::Done => {
                raw.content.clear();
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
        let mut bytes = match std::mem::take(&mut raw.content) {
            Content::Text { bytes, .. } => bytes,
            _ => Vec::new(),
        };
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
                if filled > LONGEST_LINE || memchr::memrchr(b'\n', &bytes).is_some() {
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
        raw.content = Content::Text {
            bytes,
            filled: lines,
        };
        match outcome {
            Ok(false) => Ok(Behind::More),
            Ok(true) => Ok(Behind::TextEnd(std::mem::take(&mut self.carry))),
            Err(error) => Err(Error::from(error)),
        }
    }
}

/// Reads once, however often the system is interrupted.
pub(super) fn read(input: &mut impl Read, bytes: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match input.read(bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// A Parquet input.
pub(super) struct ParquetFetch {
    pub(super) reader: parquet::Reader,
    /// Rows fetched at a time, more or less.
    pub(super) rows: u64,
}

impl ParquetFetch {
    fn fetch(&mut self, raw: &mut Raw) -> Result<Behind> {
        let mut batches = match std::mem::take(&mut raw.content) {
            Content::Parquet { batches, .. } => batches,
            _ => Vec::new(),
        };
        let (mut used, mut rows) = (0, 0);
        let outcome = loop {
            if rows >= self.rows {
                break Ok(Next::Batch);
            }
            if batches.len() == used {
                batches.push(Columns::default());
            }
            let columns = &mut batches[used];
            columns.slots.clear();
            columns.attempts.clear();
            let next = self
                .reader
                .append(&mut columns.slots, &mut columns.attempts);
            // Rows in front of a faulty one count.
            used += usize::from(!columns.slots.is_empty());
            rows += columns.slots.len() as u64;
            if !matches!(next, Ok(Next::Batch)) {
                break next;
            }
        };
        raw.content = Content::Parquet { batches, used };
        Ok(match outcome? {
            Next::Batch => Behind::More,
            Next::End => Behind::End(self.reader.end()),
            Next::Cut => return Err(cut("Parquet", self.reader.rows())),
        })
    }
}

/// A head without its end line, or a stream without its end.
fn cut(format: &'static str, rows: u64) -> Error {
    Error::new(ErrorKind::CutStream { format, rows })
}
