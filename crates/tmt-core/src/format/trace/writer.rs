//! A trace or timeline on its way out: blocks of rows formatted on any thread, written in order.

use std::io::{self, Write};

use rayon::Scope;

use crate::format::compression::Block;
use crate::format::form::{Form, Format};
use crate::format::pool::Pool;
use crate::format::text::encode;
use crate::format::{arrow, columnar, parquet};
use crate::types::{EndLine, Lldu, Metadata, Slot};

/// Rows of a block that stands by itself in the output (a compressed member, an Arrow batch); part of what
/// is written, so the same whatever the trace was read in.
const BLOCK: usize = 1 << 15;

/// Most rows formatted by one task where the output shows no blocks.
const PIECE: usize = 1 << 13;

/// What a row of a file is made of: a [`Slot`] of a PHY trace, or an [`Lldu`] of a timeline.
pub trait Row: columnar::Row + Copy + Send + Sync + 'static {
    /// Appends rows as canonical text.
    fn text(rows: &[Self], out: &mut Vec<u8>);
}

impl Row for Slot {
    fn text(rows: &[Self], out: &mut Vec<u8>) {
        encode::slots(rows, out);
    }
}

impl Row for Lldu {
    fn text(rows: &[Self], out: &mut Vec<u8>) {
        encode::lldus(rows, out);
    }
}

/// A block on its way from rows to bytes; an error waits in it to be written.
#[derive(Default)]
struct Formatted {
    block: Block,
    failed: Option<io::Error>,
}

impl Formatted {
    fn fill<T: Row>(&mut self, rows: &[T], form: Form) {
        self.block.plain.clear();
        match form.format {
            Format::Csv => T::text(rows, &mut self.block.plain),
            Format::Arrow => arrow::encode::batch(rows, &mut self.block.plain),
            // Its columns are encoded where they are written.
            Format::Parquet => {}
        }
        self.failed = self.block.pack(form.compression).err();
    }

    /// A block of bytes that are made elsewhere.
    fn of_bytes(bytes: Vec<u8>, form: Form) -> Self {
        let mut formatted = Self::default();
        formatted.block.plain = bytes;
        formatted.failed = formatted.block.pack(form.compression).err();
        formatted
    }

    fn write(&mut self, output: &mut impl Write) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => output.write_all(self.block.bytes()),
        }
    }
}

/// Where formatted rows go.
enum Target<T: Row, W: Write + Send> {
    Bytes(W),
    Parquet(Box<parquet::Writer<W, T>>),
}

/// Writes rows of one kind in one form.
pub struct TraceWriter<T: Row, W: Write + Send> {
    target: Target<T, W>,
    form: Form,
    has_head: bool,
    /// Rows that do not fill a block yet.
    rest: Vec<T>,
    /// Whole blocks whose rows came in different calls.
    joined: Vec<T>,
    formatted: Pool<Formatted>,
    writing: Pool<Formatted>,
    outcome: io::Result<()>,
}

impl<T: Row, W: Write + Send> TraceWriter<T, W> {
    /// A writer of `form` into `output`, with `head` in front where it is one.
    ///
    /// # Errors
    /// What the system says about the output.
    pub fn new(output: W, form: Form, head: &Metadata) -> io::Result<Self> {
        let mut writing: Pool<Formatted> = Pool::default();
        let target = match form.format {
            Format::Csv | Format::Arrow => {
                *writing.take_next() = Formatted::of_bytes(front::<T>(form, head), form);
                Target::Bytes(output)
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
            joined: Vec::new(),
            formatted: Pool::default(),
            writing,
            outcome: Ok(()),
        })
    }

    /// Starts the tasks that format `rows`, the next ones in order, and that write what the call before
    /// formatted.
    pub fn spawn<'s>(&'s mut self, rows: impl IntoIterator<Item = &'s [T]>, scope: &Scope<'s>) {
        let Self {
            target,
            form,
            rest,
            joined,
            formatted,
            writing,
            outcome,
            ..
        } = self;
        let form = *form;
        let output = match target {
            Target::Bytes(output) => output,
            Target::Parquet(writer) => {
                // Columns are encoded as they come, by one thread.
                let rows: Vec<&[T]> = rows.into_iter().collect();
                scope.spawn(move |_| {
                    *outcome = rows.into_iter().try_for_each(|rows| writer.rows(rows));
                });
                return;
            }
        };
        scope.spawn(move |_| *outcome = write_all(writing, output));
        let pieces: Vec<&[T]> = if form == Form::default() {
            rows.into_iter()
                .flat_map(|rows| rows.chunks(PIECE))
                .collect()
        } else {
            joined.clear();
            let parts = cut(rows, rest, joined);
            let joined = &*joined;
            parts
                .into_iter()
                .map(|part| match part {
                    Part::Joined(end) => &joined[end - BLOCK..end],
                    Part::Whole(rows) => rows,
                })
                .collect()
        };
        for (rows, block) in pieces.iter().zip(formatted.take(pieces.len())) {
            let rows = *rows;
            scope.spawn(move |_| block.fill(rows, form));
        }
    }

    /// Hands on what the tasks made; to be called when they have ended.
    ///
    /// # Errors
    /// What the system says about the output.
    pub fn advance(&mut self) -> io::Result<()> {
        std::mem::swap(&mut self.writing, &mut self.formatted);
        std::mem::replace(&mut self.outcome, Ok(()))
    }

    /// Writes what is left, and the end line `end` where there was a head; the output is handed back.
    ///
    /// # Errors
    /// What the system says about the output.
    pub fn finish(mut self, end: &EndLine) -> io::Result<W> {
        let end = self.has_head.then_some(end);
        let form = self.form;
        let mut output = match self.target {
            Target::Bytes(output) => output,
            Target::Parquet(writer) => return writer.finish(end),
        };
        write_rest(&mut self.writing, &self.rest, form, &mut output)?;
        let mut back = Vec::new();
        match (form.format, end) {
            (Format::Csv, Some(end)) => encode::end(end, &mut back),
            (Format::Arrow, end) => arrow::encode::end::<T>(end, &mut back),
            _ => {}
        }
        Formatted::of_bytes(back, form).write(&mut output)?;
        Ok(output)
    }

    /// Writes what is left of the rows, without an end: the input was at fault behind them.
    ///
    /// # Errors
    /// What the system says about the output.
    pub fn abandon(mut self) -> io::Result<()> {
        let Target::Bytes(output) = &mut self.target else {
            return Ok(());
        };
        write_rest(&mut self.writing, &self.rest, self.form, output)?;
        output.flush()
    }
}

/// Writes the blocks in use, which then are not any more.
fn write_all(blocks: &mut Pool<Formatted>, output: &mut impl Write) -> io::Result<()> {
    let written = blocks
        .used_mut()
        .iter_mut()
        .try_for_each(|block| block.write(output));
    blocks.take(0);
    written
}

/// Writes the blocks that are formatted, and the rows that fill none.
fn write_rest<T: Row>(
    blocks: &mut Pool<Formatted>,
    rest: &[T],
    form: Form,
    output: &mut impl Write,
) -> io::Result<()> {
    write_all(blocks, output)?;
    if rest.is_empty() {
        return Ok(());
    }
    let mut last = Formatted::default();
    last.fill(rest, form);
    last.write(output)
}

/// A block's rows: those in front of this place among the joined ones, or a slice of their own.
enum Part<'s, T> {
    Joined(usize),
    Whole(&'s [T]),
}

/// Cuts `rest` and `rows` into blocks; what fills none is the new `rest`.
fn cut<'s, T: Row>(
    rows: impl IntoIterator<Item = &'s [T]>,
    rest: &mut Vec<T>,
    joined: &mut Vec<T>,
) -> Vec<Part<'s, T>> {
    let mut parts = Vec::new();
    for mut rows in rows {
        if !rest.is_empty() {
            let (front, behind) = rows.split_at(rows.len().min(BLOCK - rest.len()));
            rest.extend_from_slice(front);
            rows = behind;
            if rest.len() == BLOCK {
                joined.append(rest);
                parts.push(Part::Joined(joined.len()));
            }
        }
        let whole = rows.chunks_exact(BLOCK);
        rest.extend_from_slice(whole.remainder());
        parts.extend(whole.map(Part::Whole));
    }
    parts
}

/// The head and what else stands in front of the rows.
fn front<T: Row>(form: Form, head: &Metadata) -> Vec<u8> {
    let mut front = Vec::new();
    if form.format == Format::Arrow {
        arrow::encode::head::<T>(head, &mut front);
        return front;
    }
    encode::head(head, &mut front);
    if T::HAS_ATTEMPTS {
        encode::timeline_header(&mut front);
    } else {
        encode::trace_header(&mut front);
    }
    front
}
