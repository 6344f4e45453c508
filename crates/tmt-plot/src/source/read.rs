//! Reads a source from the bytes of a file: JSON, a trace in any form, or a table with or without a head.

use std::io::{Cursor, Read as _};

use bytes::Bytes;
use tmt_core::format::compression::Decompressor;
use tmt_core::format::parquet::ChunkReader;
use tmt_core::format::records::{Kept, Records};
use tmt_core::format::{FileKind, Format, Options, TraceReader, recognise};
use tmt_core::pipeline::collect;
use tmt_core::types::{Metadata, Slot};

use super::Source;
use crate::PlotError;

/// Longest JSON document that is decompressed, bytes.
const LONGEST_DOCUMENT: u64 = 1 << 28;

/// Bytes from which the kind of a text is detected: heads are shorter.
const LOOK: u64 = 1 << 16;

/// The rows of a trace.
#[derive(Debug)]
pub struct Trace {
    /// Slots of a PHY trace, or LLDUs of a timeline.
    pub slots: Vec<Slot>,
    /// Attempts of each; empty for a PHY trace.
    pub attempts: Vec<u32>,
    /// Its head.
    pub head: Metadata,
    /// Whether its end is missing.
    pub is_cut: bool,
}

impl Trace {
    /// Reads a trace in any form.
    ///
    /// # Errors
    /// Something else, or a damaged trace, with the line.
    pub fn read(bytes: Bytes) -> tmt_core::Result<Self> {
        let options = Options {
            attempts: true,
            allow_cut: true,
            ..Options::default()
        };
        let mut reader = match recognise(&bytes) {
            FileKind::Plain(Format::Parquet) => TraceReader::parquet(bytes, options)?,
            _ => TraceReader::new(Cursor::new(bytes), options)?,
        };
        let (mut slots, mut attempts) = (Vec::new(), Vec::new());
        collect(&mut reader, |rows| {
            slots.extend_from_slice(&rows.slots);
            attempts.extend_from_slice(&rows.attempts);
        })?;
        Ok(Self {
            slots,
            attempts,
            head: reader.metadata().clone(),
            is_cut: reader.end().is_some_and(|end| end.cut),
        })
    }
}

impl Source {
    /// Reads a table, a trace or a document; the form is detected from the content.
    ///
    /// # Errors
    /// Bytes that are none of these, or damaged.
    pub fn read(bytes: Bytes) -> Result<Self, PlotError> {
        Self::read_kept(bytes, &|names| vec![usize::MAX; names.len()])
    }

    /// As [`Self::read`], of the values of a table only those that `kept` says.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn read_kept<T: ChunkReader + 'static>(
        input: T,
        kept: &Kept<'_>,
    ) -> Result<Self, PlotError> {
        let mut first = part(&input, 0, LOOK)?.to_vec();
        let kind = recognise(&first);
        if let FileKind::Compressed(compression) = kind {
            first.clear();
            let packed = input.get_read(0).map_err(unread)?;
            let reader = Decompressor::new(compression, packed);
            let read = reader.and_then(|reader| reader.take(LOOK).read_to_end(&mut first));
            read.map_err(|error| PlotError::Input(error.into()))?;
        }
        let text = String::from_utf8_lossy(&first);
        if text.trim_start().starts_with('{') {
            return Self::of_json(&document(&input, kind)?);
        }
        let is_arrow = matches!(
            recognise(&first),
            FileKind::Plain(Format::Arrow | Format::ArrowStream)
        );
        let is_text = recognise(&first) != FileKind::Plain(Format::Parquet);
        if is_arrow || is_text && is_trace(&text) {
            let trace = Trace::read(part(&input, 0, input.len())?).map_err(PlotError::Input)?;
            let source = Self::of_slots(&trace.slots, &trace.attempts);
            return Ok(source.noted(trace.is_cut));
        }
        // A compressed end is not looked at: what is cut there cannot be read.
        let last = part(&input, input.len().saturating_sub(LOOK), LOOK)?;
        let last = last.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
        let ends = last.is_some_and(|line| line.starts_with(b"# end:"));
        let is_plain = !matches!(kind, FileKind::Compressed(_));
        let is_cut = is_plain && first.starts_with(b"# tool:") && !ends;
        let table = Records::read_log(input, kept).map_err(PlotError::Input)?;
        let lines = text.lines().map_while(|line| line.strip_prefix("# "));
        let head = lines.filter_map(|line| line.split_once(": "));
        let head = head.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let head = if is_text {
            head.collect()
        } else {
            table.metadata().to_vec()
        };
        let source = Self {
            head,
            ..Self::of_table(table)
        };
        Ok(source.noted(is_cut))
    }

    /// The source with a note if its end is missing.
    fn noted(mut self, is_cut: bool) -> Self {
        if is_cut {
            let note = "The file was cut: it has no end line.";
            self.notes.push(note.to_owned());
        }
        self
    }

    fn of_json(bytes: &[u8]) -> Result<Self, PlotError> {
        let document = serde_json::from_slice(bytes).map_err(|error| {
            PlotError::Data(format!(
                "line {}, column {}: found text that is no JSON, expected a JSON document that tmt has written",
                error.line(),
                error.column()
            ))
        })?;
        Self::of_document(&document)
    }
}

/// At most `length` bytes from `start`.
fn part<T: ChunkReader>(input: &T, start: u64, length: u64) -> Result<Bytes, PlotError> {
    let length = length.min(input.len() - start);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    input.get_bytes(start, length).map_err(unread)
}

fn unread(error: impl std::error::Error + Send + Sync + 'static) -> PlotError {
    PlotError::Input(std::io::Error::other(error).into())
}

/// The text of a JSON document.
fn document<T: ChunkReader>(input: &T, kind: FileKind) -> Result<Bytes, PlotError> {
    let FileKind::Compressed(compression) = kind else {
        return part(input, 0, input.len());
    };
    let mut all = Vec::new();
    let packed = input.get_read(0).map_err(unread)?;
    let reader = Decompressor::new(compression, packed);
    let read = reader.and_then(|reader| reader.take(LONGEST_DOCUMENT + 1).read_to_end(&mut all));
    read.map_err(|error| PlotError::Input(error.into()))?;
    if all.len() as u64 > LONGEST_DOCUMENT {
        return Err(PlotError::Data(format!(
            "found more than {LONGEST_DOCUMENT} B of JSON, expected less"
        )));
    }
    Ok(all.into())
}

/// Whether a text is a trace: its header names the times, or it has none.
fn is_trace(text: &str) -> bool {
    let mut rows = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let Some(first) = rows.next() else {
        return false;
    };
    let is_number = |field: &str| field.trim().parse::<f64>().is_ok();
    first.starts_with("tx_time") || first.split([',', ';', '\t', ' ']).all(is_number)
}
