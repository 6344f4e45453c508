//! Writes a trace or timeline: formats blocks of rows on any thread, writes them in order.

use std::io::{self, Write};

use rayon::Scope;

use super::sink::{Round, Sink, Take};
use crate::format::arrow::encode::{BatchPlace, Encoded, FILE_START, OpenBatch, batch_at};
use crate::format::compression::Block;
use crate::format::form::{Form, Format};
use crate::format::part::Part;
use crate::format::pool::Pool;
use crate::format::text::encode;
use crate::format::{arrow, columnar, parquet};
use crate::types::{EndLine, Metadata};

/// Rows per block that is visible in the output (a compressed member, an Arrow batch). It determines the bytes of the
/// output, so it does not depend on how the trace was read.
const BLOCK: usize = 1 << 15;

/// Largest number of rows per task if blocks are not visible in the output.
const PIECE: usize = 1 << 13;

/// Row of a file: a [`Slot`](crate::types::Slot) of a PHY trace or an [`Lldu`](crate::types::Lldu) of a timeline.
pub trait Row: columnar::Row + Copy + Send + Sync + 'static {}

impl<T: columnar::Row + Copy + Send + Sync + 'static> Row for T {}

/// A formatted block. An error is kept until the block is written.
#[derive(Default)]
struct Formatted {
    block: Block,
    /// Bytes of header and body of the Arrow batch in it.
    batch: Option<(usize, usize)>,
    /// Whether the last Arrow batch had erased rows, as the next one then has most often.
    has_erased: bool,
    failed: Option<io::Error>,
}

impl Formatted {
    /// Fills the empty block by `fill` and compresses it.
    fn fill(&mut self, form: Form, fill: impl FnOnce(&mut Vec<u8>)) {
        self.block.plain.clear();
        self.batch = None;
        fill(&mut self.block.plain);
        self.pack(form);
    }

    /// Compresses the block; an error is kept until it is written.
    fn pack(&mut self, form: Form) {
        self.failed = self.block.pack(form.compression).err();
    }

    /// Compresses the block, which has an Arrow batch.
    fn encoded(&mut self, encoded: Encoded, form: Form) {
        self.batch = Some((encoded.header, encoded.body));
        self.has_erased = encoded.erased > 0;
        self.pack(form);
    }

    /// Formats the rows of `parts`, one after another.
    fn rows<T: Row>(&mut self, parts: &[Part<'_, T>], form: Form) {
        match form.format {
            Format::Csv => self.fill(form, |out| {
                for part in parts {
                    part.rows(&mut |rows| encode::rows(rows, out));
                }
            }),
            Format::Arrow | Format::ArrowStream => {
                let encoded = batch_at(0, parts, self.has_erased, &mut self.block.plain);
                self.encoded(encoded, form);
            }
            // Parquet encodes columns when it writes them.
            Format::Parquet => {}
        }
    }
}

/// The blocks of a round.
struct Blocks<T: Row> {
    form: Form,
    formatted: Pool<Formatted>,
    /// An Arrow batch that is not full yet, of rows that are taken as they are made, and its block.
    open: Option<OpenBatch<T>>,
    begun: Formatted,
}

impl<T: Row> Take<T> for Blocks<T> {
    fn take(&mut self, mut rows: &[T]) {
        while !rows.is_empty() {
            let Formatted {
                block, has_erased, ..
            } = &mut self.begun;
            let new = || OpenBatch::new(0, BLOCK, *has_erased, &mut block.plain);
            let open = self.open.get_or_insert_with(new);
            let (first, rest) = rows.split_at(rows.len().min(open.left()));
            open.push(first, &mut block.plain);
            rows = rest;
            if open.left() == 0 {
                self.close();
                std::mem::swap(self.formatted.grow(), &mut self.begun);
            }
        }
    }
}

impl<T: Row> Blocks<T> {
    /// Ends the batch that is open, so that its block can be taken.
    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            let encoded = open.finish(&mut self.begun.block.plain);
            self.begun.encoded(encoded, self.form);
        }
    }
}

/// Destination of formatted rows.
enum Target<T: Row, W: Write + Send> {
    Bytes(W),
    ArrowFile(ArrowFile<W>),
    Parquet(Box<parquet::Writer<W, T>>),
}

/// Output of an Arrow file, whose footer lists the batches.
struct ArrowFile<W> {
    output: W,
    metadata: Metadata,
    /// Bytes written.
    written: u64,
    batches: Vec<BatchPlace>,
}

impl<W: Write> ArrowFile<W> {
    /// Writes blocks, and notes the places of their batches.
    fn write(&mut self, blocks: &mut Pool<Formatted>) -> io::Result<()> {
        for formatted in blocks.used_mut() {
            if let Some((header, body)) = formatted.batch {
                self.batches.push(BatchPlace {
                    offset: self.written,
                    header,
                    body,
                });
            }
            self.written += formatted.block.bytes().len() as u64;
        }
        write_all(blocks, &mut self.output)
    }
}

impl<T: Row, W: Write + Send> Target<T, W> {
    /// Spawns the tasks that write the blocks of the round before, or `parts` in a format without blocks. Returns the parts that
    /// are to be formatted.
    fn spawn<'s>(
        &'s mut self,
        writing: &'s mut Pool<Formatted>,
        parts: Vec<Part<'s, T>>,
        outcome: &'s mut io::Result<()>,
        scope: &Scope<'s>,
    ) -> Vec<Part<'s, T>> {
        match self {
            Self::Bytes(output) => scope.spawn(move |_| *outcome = write_all(writing, output)),
            Self::ArrowFile(file) => scope.spawn(move |_| *outcome = file.write(writing)),
            Self::Parquet(writer) => {
                // One thread encodes the columns.
                scope.spawn(move |_| {
                    for part in parts {
                        part.rows(&mut |rows| {
                            if outcome.is_ok() {
                                *outcome = writer.rows(rows);
                            }
                        });
                    }
                });
                return Vec::new();
            }
        }
        parts
    }
}

/// Writes rows of one type in one form, in bounded memory.
///
/// ```
/// use tmt_core::format::{Form, Options, TraceReader, TraceWriter};
/// use tmt_core::types::{EndLine, Metadata};
/// use tmt_core::{Slot, Time};
///
/// let (form, mut head): (Form, _) = ("arrow.zst".parse()?, Metadata::new());
/// head.set("tool", "my-receiver 1.0");
/// let mut writer = TraceWriter::new(Vec::new(), form, &head)?;
/// writer.write(&[Slot::erased(Time::ZERO)])?;
/// let bytes = writer.finish(&EndLine { rows: 1, slots: 1, usable_until: Time::ZERO })?;
///
/// let mut trace = TraceReader::new(&bytes[..], Options::default())?;
/// assert_eq!(trace.metadata().get("tool"), Some("my-receiver 1.0"));
/// assert_eq!(trace.read_lldus()?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TraceWriter<T: Row, W: Write + Send> {
    target: Target<T, W>,
    form: Form,
    has_head: bool,
    /// Rows that do not fill a block yet, and those of the round before, which begin a block that is being formatted.
    rest: Vec<T>,
    begun: Vec<T>,
    blocks: Blocks<T>,
    writing: Pool<Formatted>,
    outcome: io::Result<()>,
}

impl<T: Row, W: Write + Send> TraceWriter<T, W> {
    /// A writer of `form` to `output` that starts with `head`, if `head` has a key `tool`. A compressed Arrow file is
    /// written as a stream, since a file is read from any place.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn new(output: W, form: Form, head: &Metadata) -> io::Result<Self> {
        let form = form.compressed(form.compression);
        let mut writing: Pool<Formatted> = Pool::default();
        let mut begin = |fill: &dyn Fn(&mut Vec<u8>)| writing.grow().fill(form, fill);
        let target = match form.format {
            Format::Csv => {
                begin(&|front| {
                    encode::head(head, front);
                    encode::header::<T>(front);
                });
                Target::Bytes(output)
            }
            Format::ArrowStream => {
                begin(&|front| arrow::encode::head::<T>(head, front));
                Target::Bytes(output)
            }
            Format::Arrow => {
                begin(&|front| {
                    front.extend_from_slice(&FILE_START);
                    arrow::encode::file_head::<T>(head, front);
                });
                Target::ArrowFile(ArrowFile {
                    output,
                    metadata: head.clone(),
                    written: 0,
                    batches: Vec::new(),
                })
            }
            Format::Parquet => {
                let writer = parquet::Writer::new(output, head)?;
                Target::Parquet(Box::new(writer))
            }
        };
        Ok(Self {
            target,
            form,
            has_head: head.is_head(),
            rest: Vec::new(),
            begun: Vec::new(),
            blocks: Blocks {
                form,
                formatted: Pool::default(),
                open: None,
                begun: Formatted::default(),
            },
            writing,
            outcome: Ok(()),
        })
    }

    /// Formats `rows`, the next ones in order, and writes those of the call before.
    ///
    /// For programs that do nothing else meanwhile; others call [`Self::spawn`] and [`Self::advance`].
    ///
    /// # Errors
    /// An error of the output.
    pub fn write(&mut self, rows: &[T]) -> io::Result<()> {
        rayon::scope(|scope| self.spawn([rows], scope));
        self.advance()
    }

    /// Spawns the tasks that format `rows`, the next ones in order, and that write what the last call formatted.
    ///
    /// Call [`TraceWriter::advance`] when `scope` has ended.
    pub fn spawn<'s, P>(&'s mut self, rows: impl IntoIterator<Item = P>, scope: &Scope<'s>)
    where
        Part<'s, T>: From<P>,
    {
        let form = self.form;
        let parts: Vec<Part<'s, T>> = rows.into_iter().map(Part::from).collect();
        let outcome = &mut self.outcome;
        let parts = self.target.spawn(&mut self.writing, parts, outcome, scope);
        if self.blocks.open.is_some() {
            for part in parts {
                part.rows(&mut |rows| self.blocks.take(rows));
            }
            return;
        }
        let blocks = if form == Form::default() {
            in_pieces(parts)
        } else {
            in_blocks(parts, &mut self.rest, &mut self.begun)
        };
        let formatted = self.blocks.formatted.resize(blocks.len());
        for (parts, block) in blocks.into_iter().zip(formatted) {
            scope.spawn(move |_| block.rows(&parts, form));
        }
    }

    /// Passes the formatted blocks on to be written. Call it when the tasks have ended.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn advance(&mut self) -> io::Result<()> {
        std::mem::swap(&mut self.writing, &mut self.blocks.formatted);
        std::mem::replace(&mut self.outcome, Ok(()))
    }

    /// Writes the remaining rows, and the end line `end` if there was a head. Returns the output.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn finish(mut self, end: &EndLine) -> io::Result<W> {
        let (form, end) = (self.form, self.has_head.then_some(end));
        self.format_rest();
        let mut output = match self.target {
            Target::Bytes(output) => output,
            Target::ArrowFile(mut file) => {
                let last = self.writing.grow();
                let mut header = None;
                last.fill(form, |back| header = arrow::encode::end::<T>(end, back));
                last.batch = header.map(|header| (header, 0));
                file.write(&mut self.writing)?;
                let mut footer = Vec::new();
                arrow::encode::footer::<T>(&file.metadata, &file.batches, &mut footer);
                file.output.write_all(&footer)?;
                return Ok(file.output);
            }
            Target::Parquet(writer) => return writer.finish(end),
        };
        self.writing.grow().fill(form, |back| match end {
            end if form.format == Format::ArrowStream => {
                arrow::encode::end::<T>(end, back);
            }
            Some(end) => encode::end(end, back),
            None => {}
        });
        write_all(&mut self.writing, &mut output)?;
        Ok(output)
    }

    /// Writes the remaining rows without an end line, because the input is faulty after them.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn abandon(mut self) -> io::Result<()> {
        self.format_rest();
        let output = match &mut self.target {
            Target::Bytes(output) => output,
            Target::ArrowFile(file) => &mut file.output,
            Target::Parquet(_) => return Ok(()),
        };
        write_all(&mut self.writing, output)?;
        output.flush()
    }

    /// Formats the rows that do not fill a block.
    fn format_rest(&mut self) {
        if self.blocks.open.is_some() {
            self.blocks.close();
            std::mem::swap(self.writing.grow(), &mut self.blocks.begun);
        }
        if !self.rest.is_empty() {
            let rest = Part::Kept(&self.rest);
            self.writing.grow().rows(&[rest], self.form);
        }
    }
}

/// Cuts each of `parts` into pieces.
fn in_pieces<T>(parts: Vec<Part<'_, T>>) -> Vec<Vec<Part<'_, T>>> {
    let mut pieces = Vec::new();
    for mut part in parts {
        while part.len() > 0 {
            pieces.push(vec![part.take(PIECE)]);
        }
    }
    pieces
}

/// Cuts the rows of `rest` and those of `parts` into blocks, in order. Those of `rest` are then in `begun`, and `rest` has those
/// that fill no block; no others are copied.
fn in_blocks<'s, T: Copy>(
    parts: Vec<Part<'s, T>>,
    rest: &mut Vec<T>,
    begun: &'s mut Vec<T>,
) -> Vec<Vec<Part<'s, T>>> {
    let more: usize = parts.iter().map(Part::len).sum();
    let number = (rest.len() + more) / BLOCK;
    begun.clear();
    if number > 0 {
        std::mem::swap(rest, begun);
    }
    let mut blocks: Vec<Vec<_>> = (0..number).map(|_| Vec::new()).collect();
    let (mut at, mut room) = (0, BLOCK);
    for mut part in std::iter::once(Part::Kept(begun.as_slice())).chain(parts) {
        while let Some(block) = blocks.get_mut(at).filter(|_| part.len() > 0) {
            let first = part.take(room);
            room -= first.len();
            block.push(first);
            if room == 0 {
                (at, room) = (at + 1, BLOCK);
            }
        }
        part.rows(&mut |rows| rest.extend_from_slice(rows));
    }
    blocks
}

impl<T: Row, W: Write + Send> Sink<T> for TraceWriter<T, W> {
    type Output = W;

    fn round<'s>(&'s mut self, rows: &'s [T]) -> Round<'s, T> {
        let is_arrow = matches!(self.form.format, Format::Arrow | Format::ArrowStream);
        if !is_arrow || self.form.compression.is_some() {
            return Round {
                taking: None,
                tasks: Box::new(move |scope| self.spawn([rows], scope)),
            };
        }
        let rest = std::mem::take(&mut self.rest);
        self.blocks.take(&rest);
        self.blocks.take(rows);
        let (target, writing, outcome) = (&mut self.target, &mut self.writing, &mut self.outcome);
        Round {
            taking: Some(&mut self.blocks),
            tasks: Box::new(move |scope| {
                target.spawn(writing, Vec::new(), outcome, scope);
            }),
        }
    }

    fn advance(&mut self) -> io::Result<()> {
        self.advance()
    }

    fn finish(self, end: &EndLine) -> io::Result<W> {
        self.finish(end)
    }

    fn abandon(self) -> io::Result<()> {
        self.abandon()
    }
}

/// Writes the blocks in use and releases them.
fn write_all(blocks: &mut Pool<Formatted>, output: &mut impl Write) -> io::Result<()> {
    let mut used = blocks.used_mut().iter_mut();
    let written = used.try_for_each(|formatted| match formatted.failed.take() {
        Some(error) => Err(error),
        None => output.write_all(formatted.block.bytes()),
    });
    blocks.resize(0);
    written
}
