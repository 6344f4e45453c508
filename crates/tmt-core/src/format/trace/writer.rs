//! Writes a trace or timeline: formats blocks of rows on any thread, writes them in order.

use std::io::{self, Write};

use rayon::Scope;

use super::sink::Sink;
use crate::format::arrow::encode::{BatchPlace, FILE_START};
use crate::format::compression::Block;
use crate::format::form::{Form, Format};
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

    /// Formats the rows of `parts`, one after another.
    fn rows<T: Row>(&mut self, parts: &[&[T]], form: Form) {
        match form.format {
            Format::Csv => self.fill(form, |out| {
                for rows in parts {
                    encode::rows(rows, out);
                }
            }),
            Format::Arrow | Format::ArrowStream => {
                self.batch = Some(arrow::encode::batch_of(parts, &mut self.block.plain));
                self.pack(form);
            }
            // Parquet encodes columns when it writes them.
            Format::Parquet => {}
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
    formatted: Pool<Formatted>,
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
            formatted: Pool::default(),
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
    pub fn spawn<'s>(&'s mut self, rows: impl IntoIterator<Item = &'s [T]>, scope: &Scope<'s>) {
        let (outcome, writing, form) = (&mut self.outcome, &mut self.writing, self.form);
        let rows = rows.into_iter();
        match &mut self.target {
            Target::Bytes(output) => scope.spawn(move |_| *outcome = write_all(writing, output)),
            Target::ArrowFile(file) => scope.spawn(move |_| *outcome = file.write(writing)),
            Target::Parquet(writer) => {
                // One thread encodes the columns.
                let mut rows = rows.collect::<Vec<_>>().into_iter();
                scope.spawn(move |_| *outcome = rows.try_for_each(|rows| writer.rows(rows)));
                return;
            }
        }
        let blocks: Vec<Vec<&[T]>> = if form == Form::default() {
            let pieces = rows.flat_map(|rows| rows.chunks(PIECE));
            pieces.map(|rows| vec![rows]).collect()
        } else {
            in_blocks(rows.collect(), &mut self.rest, &mut self.begun)
        };
        let formatted = self.formatted.resize(blocks.len());
        for (parts, block) in blocks.into_iter().zip(formatted) {
            scope.spawn(move |_| block.rows(&parts, form));
        }
    }

    /// Passes the formatted blocks on to be written. Call it when the tasks have ended.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn advance(&mut self) -> io::Result<()> {
        std::mem::swap(&mut self.writing, &mut self.formatted);
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
        if !self.rest.is_empty() {
            self.writing.grow().rows(&[&self.rest], self.form);
        }
    }
}

/// Cuts the rows of `rest` and those of `parts` into blocks, in order. Those of `rest` are then in `begun`, and `rest` has those
/// that fill no block; no others are copied.
fn in_blocks<'s, T: Copy>(
    parts: Vec<&'s [T]>,
    rest: &mut Vec<T>,
    begun: &'s mut Vec<T>,
) -> Vec<Vec<&'s [T]>> {
    let more: usize = parts.iter().map(|rows| rows.len()).sum();
    let number = (rest.len() + more) / BLOCK;
    begun.clear();
    if number > 0 {
        std::mem::swap(rest, begun);
    }
    let mut blocks = vec![Vec::new(); number];
    let (mut at, mut room) = (0, BLOCK);
    for mut rows in std::iter::once(begun.as_slice()).chain(parts) {
        while let Some(block) = blocks.get_mut(at).filter(|_| !rows.is_empty()) {
            let (part, after) = rows.split_at(rows.len().min(room));
            block.push(part);
            rows = after;
            room -= part.len();
            if room == 0 {
                (at, room) = (at + 1, BLOCK);
            }
        }
        rest.extend_from_slice(rows);
    }
    blocks
}

impl<T: Row, W: Write + Send> Sink<T> for TraceWriter<T, W> {
    type Output = W;

    fn spawn<'s>(&'s mut self, rows: &'s [T], scope: &Scope<'s>) {
        self.spawn([rows], scope);
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
