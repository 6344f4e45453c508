//! A trace of any format on its way in.

use std::io::{self, Cursor, Read, Seek};

use rayon::Scope;

use super::binary::Binary;
use super::input::Input;
use super::options::Options;
use super::text::Text;
use crate::format::batch::{Rows, Tail};
use crate::format::compression::Decompressor;
use crate::format::form::{FIRST_BYTES, FileKind, Format, recognise};
use crate::format::parquet::ChunkReader;
use crate::format::pool::Pool;
use crate::format::{arrow, columnar, parquet};
use crate::types::{Error, ErrorKind, Lldu, Metadata, Result};

/// A trace that is read batch by batch, in memory that does not grow with it.
///
/// ```text
/// input → fetch → raw → parse (any thread) → pieces → absorb → batch
/// ```
pub struct TraceReader<'a> {
    input: Box<dyn Input + 'a>,
    /// Rows that are being parsed in this round.
    pieces: Pool<Rows>,
    /// Rows that were absorbed, to be handed over, and how many batches of them have been.
    batch: Pool<Rows>,
    handed: usize,
    /// What is wrong behind the batch.
    error: Option<Error>,
    /// Nothing is fetched any more: there is an error behind the batch, or the tail.
    ended: bool,
    tail: Option<Tail>,
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
                Ok(Self::of(Box::new(Binary::new(source, options))))
            }
            FileKind::Plain(Format::Parquet) => Err(Error::new(ErrorKind::format(
                "Parquet in a stream",
                "a file, whose end can be read first",
            ))),
            _ => {
                let mut rows = Rows::default();
                let (text, outcome) = Text::open(input, options, &mut rows);
                let mut reader = Self::of(Box::new(text));
                reader.take(outcome);
                // Rows that came along with the head are the first batch.
                match reader.error.take_if(|_| rows.slots.is_empty()) {
                    Some(error) => return Err(error),
                    None => *reader.batch.take_next() = rows,
                }
                Ok(reader)
            }
        }
    }

    /// Opens a Parquet file and reads its head.
    ///
    /// # Errors
    /// As [`TraceReader::new`].
    pub fn parquet(input: impl ChunkReader + 'static, options: Options) -> Result<Self> {
        let source = parquet::open(input, columns_options(options))?;
        Ok(Self::of(Box::new(Binary::new(source, options))))
    }

    /// Opens a trace in any format, Parquet included, of an input that can be read from any place, such as a file.
    ///
    /// # Errors
    /// As [`TraceReader::new`].
    pub fn seekable<I>(mut input: I, options: Options) -> Result<Self>
    where
        I: ChunkReader + Read + Seek + 'static,
    {
        let mut first = Vec::new();
        Read::by_ref(&mut input)
            .take(FIRST_BYTES as u64)
            .read_to_end(&mut first)?;
        input.rewind()?;
        match recognise(&first) {
            FileKind::Plain(Format::Parquet) => Self::parquet(input, options),
            _ => Self::new(input, options),
        }
    }

    fn of(input: Box<dyn Input + 'a>) -> Self {
        Self {
            input,
            pieces: Pool::default(),
            batch: Pool::default(),
            handed: 0,
            error: None,
            ended: false,
            tail: None,
        }
    }

    /// Takes what came of a round's end.
    fn take(&mut self, outcome: Result<Option<Tail>>) {
        match outcome {
            Ok(tail) => self.tail = tail,
            Err(error) => self.error = Some(error),
        }
        self.ended = self.tail.is_some() || self.error.is_some();
    }

    /// The head; empty where there is none.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        self.input.metadata()
    }

    /// What was behind the last row; `None` until all rows have been handed over.
    #[must_use]
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// Puts the next rows into `rows`; false when there are none left.
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
            rayon::scope(|scope| self.round(scope, |_, _| {}));
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

    /// Starts the tasks of a round: those of `take` on the next rows, which were absorbed before, and those of
    /// reading on, which go on beside them.
    pub fn round<'s>(&'s mut self, scope: &Scope<'s>, take: impl FnOnce(&'s [Rows], &Scope<'s>)) {
        // Its own deque is taken from the back by a thread, and from the front by others: what
        // takes longest comes first.
        take(self.batch.used(), scope);
        if !self.ended {
            self.input.spawn(&mut self.pieces, scope);
        }
    }

    /// Absorbs what a round parsed; false when there is nothing left and the last batch has been used.
    ///
    /// # Errors
    /// What is wrong behind the batch that was used last.
    pub fn advance(&mut self) -> Result<bool> {
        if self.ended {
            self.batch.take(0);
            return self.error.take().map_or(Ok(false), Err);
        }
        std::mem::swap(&mut self.batch, &mut self.pieces);
        self.pieces.take(0);
        self.handed = 0;
        let outcome = self.absorb();
        self.take(outcome);
        Ok(true)
    }

    /// Makes the batch final; the tail where it was the last one.
    fn absorb(&mut self) -> Result<Option<Tail>> {
        for (index, rows) in self.batch.used_mut().iter_mut().enumerate() {
            if let Err(error) = self.input.absorb(rows) {
                self.batch.take(index + 1);
                return Err(error);
            }
        }
        // The last line of a text, where it has no LF, is a piece of its own.
        let last = self.batch.take_next();
        last.clear();
        self.input.advance(last)
    }
}

/// How the columns of a binary trace are to be read.
fn columns_options(options: Options) -> columnar::Options {
    columnar::Options {
        unit: options.unit,
        attempts: options.attempts,
    }
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
