//! Reads a trace of any format.

use std::collections::VecDeque;
use std::io::{self, Cursor, Read, Seek};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use rayon::Scope;

use super::binary::Binary;
use super::input::Input;
use super::options::Options;
use super::text::Text;
use crate::format::batch::{Rows, TraceEnd};
use crate::format::columns::Spacing;
use crate::format::compression::Decompressor;
use crate::format::form::{FIRST_BYTES, FileKind, Format, recognise};
use crate::format::parquet::ChunkReader;
use crate::format::pool::Pool;
use crate::format::{arrow, columnar, parquet};
use crate::types::{Error, ErrorKind, Lldu, Metadata, Result};

/// Reads a trace batch by batch, in memory that does not grow with the trace.
///
/// ```text
/// input → fetch → raw → parse (any thread) → pieces → commit → batch
/// ```
///
/// ```
/// use tmt_core::format::{Options, TraceReader};
/// use tmt_core::{Fate, Span};
///
/// let text = "tx_time,decode_delay\n0.1,0.036\n0.2,0\n";
/// let mut trace = TraceReader::new(text.as_bytes(), Options::default())?;
/// let lldus = trace.read_lldus()?;
/// assert_eq!(lldus[0].decode_delay, Span::from_millis(36));
/// assert_eq!(lldus[1].fate, Fate::Lost);
/// assert_eq!(trace.end().map(|end| end.rows), Some(2));
/// # Ok::<(), tmt_core::Error>(())
/// ```
pub struct TraceReader<'a> {
    input: Box<dyn Input + 'a>,
    /// Rows that are being parsed in this round.
    pieces: Pool<Rows>,
    /// Committed rows, and the number of them that [`TraceReader::next_rows`] has returned.
    batch: Pool<Rows>,
    returned: usize,
    /// Batches read ahead, which follow the batch. They stay apart: what a round holds grows with its rows.
    ahead: VecDeque<Pool<Rows>>,
    /// Error that follows all batches.
    error: Option<Error>,
    /// Whether fetching has stopped: an error or the end of the trace follows all batches.
    ended: bool,
    end: Option<TraceEnd>,
    /// Times of the rows, if the table has none.
    spacing: Option<Spacing>,
    missing: u64,
}

impl<'a> TraceReader<'a> {
    /// Opens a trace in any format except Parquet, detected from its first bytes, and reads its head.
    ///
    /// # Errors
    /// An error before the first row, or an I/O error.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "options are built for one trace"
    )]
    pub fn new(input: impl Read + Send + 'a, options: Options) -> Result<Self> {
        let mut input: Box<dyn Read + Send + 'a> = Box::new(input);
        let mut kind = peek_kind(&mut input)?;
        if let FileKind::Compressed(outer) = kind {
            input = Box::new(Decompressor::new(outer, input)?);
            kind = peek_kind(&mut input)?;
            if !matches!(
                kind,
                FileKind::Plain(Format::Csv | Format::Arrow | Format::ArrowStream)
            ) {
                return Err(Error::new(ErrorKind::format(
                    format!("{} inside {}", kind.name(), outer.name()),
                    format!("a text or Arrow trace inside {}", outer.name()),
                )));
            }
        }
        match kind {
            FileKind::Plain(Format::Arrow | Format::ArrowStream) => {
                let source = arrow::open(input, &columns_options(&options))?;
                Self::binary(source, &options)
            }
            FileKind::Plain(Format::Parquet) => Err(Error::new(ErrorKind::format(
                "Parquet in a stream",
                "a file, because the footer of Parquet is at the end",
            ))),
            _ => {
                let mut rows = Rows::default();
                let (text, outcome) = Text::open(input, &options, &mut rows);
                refuse_head(text.metadata(), &options)?;
                let mut reader = Self::from_input(Box::new(text), &options);
                reader.missing = rows.missing;
                let spaced = reader.spacing.map_or(Ok(()), |spacing| rows.space(spacing));
                reader.end_round(spaced.and(outcome));
                // Rows that were read together with the head are the first batch.
                match reader.error.take_if(|_| rows.slots.is_empty()) {
                    Some(error) => return Err(error),
                    None => *reader.batch.grow() = rows,
                }
                Ok(reader)
            }
        }
    }

    /// Opens a Parquet file and reads its head.
    ///
    /// # Errors
    /// As [`TraceReader::new`].
    #[expect(
        clippy::needless_pass_by_value,
        reason = "options are built for one trace"
    )]
    pub fn parquet(input: impl ChunkReader + 'static, options: Options) -> Result<Self> {
        let source = parquet::open(input, &columns_options(&options))?;
        Self::binary(source, &options)
    }

    /// Opens a table in memory, or a stream of batches of another library, with the columns of `schema`. `metadata` are the
    /// pairs of the schema's metadata in their order, which a [`Schema`] does not keep. The columns are not copied.
    ///
    /// A head needs no end line: a table is whole.
    ///
    /// # Errors
    /// As [`TraceReader::new`].
    #[expect(
        clippy::needless_pass_by_value,
        reason = "options are built for one trace"
    )]
    pub fn batches<'m>(
        schema: &Schema,
        metadata: impl Iterator<Item = (&'m str, &'m str)>,
        batches: impl Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + Send + 'a,
        options: Options,
    ) -> Result<Self> {
        let columns = columns_options(&options);
        let source = arrow::read(schema, metadata, batches, &columns, options.allow_cut)?;
        Self::binary(source, &options)
    }

    fn binary(source: columnar::Source<'a>, options: &Options) -> Result<Self> {
        let reader = Self::from_input(Box::new(Binary::new(source, options)), options);
        refuse_head(reader.metadata(), options)?;
        Ok(reader)
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

    fn from_input(input: Box<dyn Input + 'a>, options: &Options) -> Self {
        Self {
            input,
            pieces: Pool::default(),
            batch: Pool::default(),
            returned: 0,
            ahead: VecDeque::new(),
            error: None,
            ended: false,
            end: None,
            spacing: options.columns.spacing,
            missing: 0,
        }
    }

    /// Stores the outcome of a round.
    fn end_round(&mut self, outcome: Result<Option<TraceEnd>>) {
        match outcome {
            Ok(end) => self.end = end,
            Err(error) => self.error = Some(error),
        }
        self.ended = self.end.is_some() || self.error.is_some();
    }

    /// The head; empty if absent.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        self.input.metadata()
    }

    /// The end of the trace; `None` until all rows have been read.
    #[must_use]
    pub fn end(&self) -> Option<TraceEnd> {
        self.end
    }

    /// Names of the columns that are not read, `attempts` aside; empty for a text without a header.
    #[must_use]
    pub fn ignored_columns(&self) -> &[String] {
        self.input.reading().ignored
    }

    /// Whether every received slot has the same delay, because no column of delays is read.
    #[must_use]
    pub fn has_no_delays(&self) -> bool {
        self.input.reading().has_no_delays
    }

    /// Whether times count from the first row, because they are timestamps.
    #[must_use]
    pub fn starts_at_first_row(&self) -> bool {
        self.input.reading().starts_at_first_row
    }

    /// Number of rows read so far that have no delay (empty, null or NaN), or a delay of 0 although they were received.
    /// They count as erased. A null in `decode_delay_ns` is an erasure by the rules of a trace and not counted.
    #[must_use]
    pub fn missing_delays(&self) -> u64 {
        self.missing
    }

    /// Lets the rows of the next rounds stay in columns where the format has them, until [`Rows::each`] converts a few at a time.
    /// For stages that use rows in no other way.
    pub(crate) fn keep_columns(&mut self) {
        self.input.keep_columns();
    }

    /// Puts the next rows into `rows`; returns false at the end of the trace.
    ///
    /// # Errors
    /// The first invalid row. All rows before it have been returned.
    pub fn next_rows(&mut self, rows: &mut Rows) -> Result<bool> {
        loop {
            while let Some(next) = self.batch.used_mut().get_mut(self.returned) {
                std::mem::swap(rows, next);
                self.returned += 1;
                rows.convert();
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

    /// Reads all remaining rows as LLDUs, each with its fate by [`TraceEnd::fate`].
    ///
    /// For timelines that fit into memory. A slot of a PHY trace is an LLDU with one attempt.
    ///
    /// # Errors
    /// The first invalid row, or an I/O error.
    pub fn read_lldus(&mut self) -> Result<Vec<Lldu>> {
        let (mut rows, mut lldus) = (Rows::default(), Vec::new());
        while self.next_rows(&mut rows)? {
            lldus.extend(rows.lldus());
        }
        if let Some(end) = self.end {
            end.settle(&mut lldus);
        }
        Ok(lldus)
    }

    /// Reads on until `enough` is true of a batch, or the trace ends. The rows stay and are those of the next rounds.
    ///
    /// An error that follows them is reported after them, as without looking ahead.
    pub fn look_ahead(&mut self, mut enough: impl FnMut(&Rows) -> bool) {
        let returned = self.returned;
        let mut read = std::mem::take(&mut self.ahead);
        read.push_front(std::mem::take(&mut self.batch));
        let mut unseen = read.iter().flat_map(Pool::used).skip(returned);
        let mut done = unseen.any(&mut enough);
        while !done && !self.ended {
            rayon::scope(|scope| self.round(scope, |_, _| {}));
            self.take_round();
            done = self.batch.used().iter().any(&mut enough);
            read.push_back(std::mem::take(&mut self.batch));
        }
        self.batch = read.pop_front().unwrap_or_default();
        self.returned = returned;
        self.ahead = read;
    }

    /// Spawns the tasks of a round: `take` spawns those for the next rows, which have been committed and which they may change or
    /// take; the tasks that read on run at the same time. Until [`Self::advance`], nothing else may read rows.
    pub fn round<'s>(
        &'s mut self,
        scope: &Scope<'s>,
        take: impl FnOnce(&'s mut [Rows], &Scope<'s>),
    ) {
        // A thread takes tasks from the back of its own deque, and from the front of others. So the longest tasks are
        // spawned first.
        take(self.batch.used_mut(), scope);
        if !self.ended && self.ahead.is_empty() {
            self.input.spawn(&mut self.pieces, scope);
        }
    }

    /// Commits the rows that a round parsed; returns false if the last batch has been used.
    ///
    /// # Errors
    /// An error after the batch that was used last.
    pub fn advance(&mut self) -> Result<bool> {
        if let Some(next) = self.ahead.pop_front() {
            (self.batch, self.returned) = (next, 0);
            return Ok(true);
        }
        if self.ended {
            self.batch.resize(0);
            return self.error.take().map_or(Ok(false), Err);
        }
        self.take_round();
        Ok(true)
    }

    /// Commits the rows that a round parsed, if the trace has not ended.
    fn take_round(&mut self) {
        std::mem::swap(&mut self.batch, &mut self.pieces);
        self.pieces.resize(0);
        self.returned = 0;
        let outcome = self.commit();
        self.end_round(outcome);
    }

    /// Commits the batch; returns the end of the trace if it was the last one.
    fn commit(&mut self) -> Result<Option<TraceEnd>> {
        for (index, rows) in self.batch.used_mut().iter_mut().enumerate() {
            let committed = self.input.commit(rows);
            self.missing += rows.missing;
            let spaced = self.spacing.map_or(Ok(()), |spacing| rows.space(spacing));
            // An error of the spacing is in an earlier row.
            if let Err(error) = spaced.and(committed) {
                self.batch.resize(index + 1);
                return Err(error);
            }
        }
        // A last line without LF is a piece of its own.
        let last = self.batch.grow();
        last.clear();
        let end = self.input.advance(last);
        self.missing += last.missing;
        self.spacing.map_or(Ok(()), |spacing| last.space(spacing))?;
        end
    }
}

/// Refuses the head of a trace, whose rows have times, beside an interval or a rate.
fn refuse_head(head: &Metadata, options: &Options) -> Result<()> {
    let columns = &options.columns;
    let refused = head
        .is_head()
        .then(|| columns.refuse_times("the head of a trace, whose rows have times,"));
    refused.unwrap_or(Ok(())).map_err(Error::new)
}

/// Options for the columns of a binary trace.
fn columns_options(options: &Options) -> columnar::Options {
    columnar::Options {
        unit: options.unit,
        attempts: options.attempts,
        columns: options.columns.clone(),
    }
}

/// Detects the kind of `input` from its first bytes, which remain to be read.
fn peek_kind<'a>(input: &mut Box<dyn Read + Send + 'a>) -> Result<FileKind> {
    let mut first = Vec::new();
    input.take(FIRST_BYTES as u64).read_to_end(&mut first)?;
    let kind = recognise(&first);
    let rest = std::mem::replace(input, Box::new(io::empty()));
    *input = Box::new(Cursor::new(first).chain(rest));
    Ok(kind)
}
