//! A trace of any format on its way in.

use std::io::{self, Cursor, Read};

use rayon::Scope;

use super::fetch::{Behind, Fetch, Raw, TextFetch};
use super::order::Order;
use crate::format::batch::{Rows, Tail};
use crate::format::columnar::{self, Batch, Source};
use crate::format::compression::Decompressor;
use crate::format::form::{FIRST_BYTES, FileKind, Format, recognise};
use crate::format::parquet::ChunkReader;
use crate::format::pool::Pool;
use crate::format::text::{self, Decoder, RowParser};
use crate::format::unit::Unit;
use crate::format::{arrow, parquet, read};
use crate::types::{Error, ErrorKind, Lldu, Metadata, Result};

/// Bytes fetched at a time: large enough that a round's work outweighs its end, small enough that all
/// that is under way stays in the caches.
const CHUNK: usize = 1 << 20;

/// Bytes of text that one task parses.
const PIECE: usize = 1 << 16;

/// Bytes read at a time while a text's head is looked for.
const HEAD_CHUNK: usize = 1 << 16;

/// Bytes of a row of text, more or less.
const ROW: usize = 26;

/// How a trace is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The unit of a text's numbers (seconds where there is none) or of a binary format's doubles.
    pub unit: Option<Unit>,
    /// Whether a head without an end line and a cut stream are accepted.
    pub allow_cut: bool,
    /// Whether the column `attempts` is read where there is one.
    pub attempts: bool,
    /// Bytes fetched at a time, as far as the format allows; at least 1. What is read never depends on it.
    pub chunk: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            unit: None,
            allow_cut: false,
            attempts: false,
            chunk: CHUNK,
        }
    }
}

/// What counts across pieces.
enum Absorb {
    Text(Box<Decoder>),
    Binary(Order),
}

/// A trace that is read batch by batch, in memory that does not grow with it.
///
/// ```text
/// input → fetch → raw → parse (any thread) → pieces → absorb → batch
/// ```
pub struct TraceReader<'a> {
    options: Options,
    work: Work<'a>,
    absorb: Absorb,
    /// Rows that were absorbed, to be handed over, and how many batches of them have been.
    batch: Pool<Rows>,
    handed: usize,
    /// What is wrong behind the batch.
    error: Option<Error>,
    /// Nothing is handed over any more.
    ended: bool,
    tail: Option<Tail>,
}

/// The part of reading that goes on beside whatever is done with the rows.
pub struct Work<'a> {
    fetch: Fetch<'a>,
    /// How a text is parsed.
    parser: Option<RowParser>,
    /// Being fetched in this round, being parsed in this round.
    fetched: Raw,
    parsed: Raw,
    /// Rows of `parsed`.
    pieces: Pool<Rows>,
}

impl<'a> TraceReader<'a> {
    /// Opens a trace in any format but Parquet, told by its first bytes, and reads its head.
    ///
    /// # Errors
    /// Whatever is wrong in front of the first row, and what the system says while reading.
    pub fn new(input: impl Read + Send + 'a, options: Options) -> Result<Self> {
        let mut input: Box<dyn Read + Send + 'a> = Box::new(input);
        let mut kind = look(&mut input)?;
        if let FileKind::Compressed(outer) = kind {
            input = Box::new(Decompressor::new(outer, input)?);
            kind = look(&mut input)?;
            if !matches!(kind, FileKind::Plain(Format::Csv | Format::Arrow)) {
                return Err(Error::new(ErrorKind::format(
                    format!("{} inside {}", kind.name(), outer.name()),
                    format!("a text or Arrow trace inside {}", outer.name()),
                )));
            }
        }
        match kind {
            FileKind::Plain(Format::Arrow) => {
                let source = arrow::open(input, columns_options(options))?;
                Ok(Self::binary(options, source))
            }
            FileKind::Plain(Format::Parquet) => Err(Error::new(ErrorKind::format(
                "Parquet in a stream",
                "a file, whose end can be read first",
            ))),
            _ => Self::text(input, options),
        }
    }

    /// Opens a Parquet file and reads its head.
    ///
    /// # Errors
    /// As [`TraceReader::new`].
    pub fn parquet(input: impl ChunkReader + 'static, options: Options) -> Result<Self> {
        let source = parquet::open(input, columns_options(options))?;
        Ok(Self::binary(options, source))
    }

    fn of(options: Options, fetch: Fetch<'a>, parser: Option<RowParser>, absorb: Absorb) -> Self {
        Self {
            options,
            work: Work {
                fetch,
                parser,
                fetched: Raw::default(),
                parsed: Raw::default(),
                pieces: Pool::default(),
            },
            absorb,
            batch: Pool::default(),
            handed: 0,
            error: None,
            ended: false,
            tail: None,
        }
    }

    /// Reads a text's head and first row; rows that come along are the first batch.
    fn text(mut input: Box<dyn Read + Send + 'a>, options: Options) -> Result<Self> {
        let mut decoder = Box::new(Decoder::new(text::Options {
            unit: options.unit.unwrap_or_default(),
            allow_cut: options.allow_cut,
            attempts: options.attempts,
        }));
        let mut rows = Rows::default();
        let mut buffer = vec![0; HEAD_CHUNK.min(options.chunk.max(1))];
        let mut outcome = Ok(None);
        // To the first row, so that whether that is faulty is known here, however much was read at a time.
        while rows.slots.is_empty() && matches!(outcome, Ok(None)) {
            outcome = match read(&mut input, &mut buffer).map_err(Error::from) {
                Ok(0) => decoder.finish(&mut rows).map(Some),
                Ok(length) => decoder.decode(&buffer[..length], &mut rows).map(|()| None),
                Err(error) => cut_text(&mut decoder, error, options.allow_cut, &mut rows).map(Some),
            };
        }
        let parser = decoder.parser();
        let carry = decoder.take_carry();
        let fetch = match outcome {
            Ok(None) => Fetch::Text(TextFetch::new(input, carry, options.chunk.max(1))),
            _ => Fetch::Done,
        };
        let mut reader = Self::of(options, fetch, parser, Absorb::Text(decoder));
        match outcome {
            Ok(tail) => reader.tail = tail,
            Err(error) if rows.slots.is_empty() => return Err(error),
            Err(error) => reader.error = Some(error),
        }
        *reader.batch.take_next() = rows;
        Ok(reader)
    }

    /// A binary trace, which is fetched as many rows at a time as come of a text's chunk, more or less.
    fn binary(options: Options, source: Source<'a>) -> Self {
        let rows = (options.chunk / ROW).max(1) as u64;
        let absorb = Absorb::Binary(Order::new(source.metadata().clone()));
        let fetch = Fetch::Binary(Box::new(source), rows);
        Self::of(options, fetch, None, absorb)
    }

    /// The head; empty where there is none.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        match &self.absorb {
            Absorb::Text(decoder) => decoder.metadata(),
            Absorb::Binary(order) => order.metadata(),
        }
    }

    /// What was behind the last row; `None` until all rows have been handed over.
    #[must_use]
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// Puts the next rows into `rows`, on this thread alone; false when there are none left.
    ///
    /// # Errors
    /// The first row that cannot be read; all rows in front of it have been handed over.
    pub fn next_rows(&mut self, rows: &mut Rows) -> Result<bool> {
        loop {
            while let Some(next) = self.batch.used_mut().get_mut(self.handed) {
                std::mem::swap(rows, next);
                self.handed += 1;
                if !rows.slots.is_empty() {
                    return Ok(true);
                }
            }
            rows.clear();
            let (_, work) = self.round();
            work.run();
            if !self.advance()? {
                return Ok(false);
            }
        }
    }

    /// All rows that are left as LLDUs, each with its fate by the rule of [`Tail::fate`].
    ///
    /// For timelines that fit into memory; a slot of a PHY trace is an LLDU that took one attempt.
    ///
    /// # Errors
    /// The first row that cannot be read.
    pub fn read_lldus(&mut self) -> Result<Vec<Lldu>> {
        let (mut rows, mut lldus) = (Rows::default(), Vec::new());
        while self.next_rows(&mut rows)? {
            lldus.extend(rows.lldus());
        }
        if let Some(tail) = self.tail {
            tail.settle(&mut lldus);
        }
        Ok(lldus)
    }

    /// The next rows, which were absorbed before, and the work of a round, which may go on beside whatever
    /// is done with them.
    pub fn round(&mut self) -> (&[Rows], &mut Work<'a>) {
        (self.batch.used(), &mut self.work)
    }

    /// Absorbs what a round parsed; false when there is nothing left and the last batch has been used.
    ///
    /// # Errors
    /// What is wrong behind the batch that was used last.
    pub fn advance(&mut self) -> Result<bool> {
        if let Some(error) = self.error.take() {
            self.ended = true;
            self.batch.take(0);
            return Err(error);
        }
        if self.ended || self.tail.is_some() {
            self.batch.take(0);
            return Ok(false);
        }
        std::mem::swap(&mut self.batch, &mut self.work.pieces);
        self.work.pieces.take(0);
        self.handed = 0;
        match self.absorb() {
            Ok(tail) => self.tail = tail,
            Err(error) => {
                self.error = Some(error);
                self.work.fetch = Fetch::Done;
            }
        }
        let work = &mut self.work;
        std::mem::swap(&mut work.parsed, &mut work.fetched);
        work.fetched.behind = Behind::More;
        Ok(true)
    }

    /// Makes the batch final; the tail where it was the last one.
    fn absorb(&mut self) -> Result<Option<Tail>> {
        for (index, rows) in self.batch.used_mut().iter_mut().enumerate() {
            let absorbed = match &mut self.absorb {
                Absorb::Text(decoder) => decoder.absorb(rows),
                Absorb::Binary(order) => order.absorb(rows),
            };
            if absorbed.is_err() {
                self.batch.take(index + 1);
                return absorbed.map(|()| None);
            }
        }
        let behind = std::mem::take(&mut self.work.parsed.behind);
        if matches!(behind, Behind::More) {
            return Ok(None);
        }
        // The last line of a text, where it has no LF, is a piece of its own.
        let rows = self.batch.take_next();
        rows.clear();
        let allow_cut = self.options.allow_cut;
        let tail = match (&mut self.absorb, behind) {
            (Absorb::Text(decoder), Behind::Failed(error)) => {
                cut_text(decoder, error, allow_cut, rows)
            }
            (Absorb::Text(decoder), Behind::TextEnd(last)) => decoder.finish_with(&last, rows),
            (Absorb::Text(decoder), _) => decoder.finish(rows),
            (Absorb::Binary(order), Behind::Failed(error)) => order.fail(error, allow_cut),
            (Absorb::Binary(order), Behind::End(end)) => order.finish(end, false),
            (Absorb::Binary(order), _) => order.finish(None, false),
        };
        tail.map(Some)
    }
}

/// How the columns of a binary trace are to be read.
fn columns_options(options: Options) -> columnar::Options {
    columnar::Options {
        unit: options.unit,
        attempts: options.attempts,
    }
}

/// The end of a text whose stream failed: an error, unless it was only cut and that is allowed.
fn cut_text(decoder: &mut Decoder, error: Error, allow_cut: bool, rows: &mut Rows) -> Result<Tail> {
    let cut = matches!(error.kind(), ErrorKind::CutStream { .. });
    if !cut || !allow_cut {
        return Err(error.behind_rows(decoder.rows()));
    }
    // The line in which it was cut is lost.
    drop(decoder.take_carry());
    let tail = decoder.finish(rows)?;
    Ok(Tail { cut: true, ..tail })
}

/// What an input is by its first bytes, which stay in front of it.
fn look<'a>(input: &mut Box<dyn Read + Send + 'a>) -> Result<FileKind> {
    let mut first = Vec::new();
    input.take(FIRST_BYTES as u64).read_to_end(&mut first)?;
    let kind = recognise(&first);
    let rest = std::mem::replace(input, Box::new(io::empty()));
    *input = Box::new(Cursor::new(first).chain(rest));
    Ok(kind)
}

impl<'a> Work<'a> {
    /// Starts the round's tasks.
    pub fn spawn<'s>(&'s mut self, scope: &Scope<'s>)
    where
        'a: 's,
    {
        let (fetch, fetched, parser) = (&mut self.fetch, &mut self.fetched, self.parser);
        let raws = cut(&self.parsed);
        let pieces = self.pieces.take(raws.len());
        scope.spawn(move |_| fetch.fetch(fetched));
        for (raw, rows) in raws.into_iter().zip(pieces) {
            scope.spawn(move |_| raw.parse(parser, rows));
        }
    }

    /// Does the round's work on this thread.
    pub fn run(&mut self) {
        let raws = cut(&self.parsed);
        let pieces = self.pieces.take(raws.len());
        for (raw, rows) in raws.into_iter().zip(pieces) {
            raw.parse(self.parser, rows);
        }
        self.fetch.fetch(&mut self.fetched);
    }
}

/// A piece to be parsed.
enum Piece<'s> {
    Text(&'s [u8]),
    Binary(&'s Batch),
}

/// Cuts what was fetched into pieces.
fn cut(raw: &Raw) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = raw.text();
    while !rest.is_empty() {
        let from = PIECE.min(rest.len());
        let end =
            memchr::memchr(b'\n', &rest[from..]).map_or(rest.len(), |length| from + length + 1);
        let (piece, behind) = rest.split_at(end);
        pieces.push(Piece::Text(piece));
        rest = behind;
    }
    pieces.extend(raw.batches.iter().map(Piece::Binary));
    pieces
}

impl Piece<'_> {
    fn parse(&self, parser: Option<RowParser>, rows: &mut Rows) {
        rows.clear();
        match self {
            Self::Text(text) => {
                if let Some(parser) = parser {
                    parser.parse(text, rows);
                }
            }
            Self::Binary(batch) => rows.fill(batch),
        }
    }
}
