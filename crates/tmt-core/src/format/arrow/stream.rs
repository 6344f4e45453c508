//! Reads the messages of an Arrow stream one after another.

use std::collections::HashMap;
use std::io::{Chain, Cursor, Read};
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::RecordBatchDecoder;
use arrow_ipc::{
    Endianness, Message, MessageHeader, MetadataVersion, RecordBatch, root_as_message,
};
use arrow_schema::{Field, Schema, SchemaRef};

use super::{CONTINUATION, FORMAT, MAGIC, corrupt};
use crate::format::columnar::{Item, Layout, Options, Source, catch_panics, head};
use crate::types::{Error, ErrorKind, Position, Result};

/// Bytes allocated at once for a length that a header claims; more is allocated as data arrives.
const TRUSTED: u64 = 1 << 20;

/// Longest schema without a length field, bytes.
const LONGEST_BARE_SCHEMA: usize = 1 << 24;

/// Bytes of the widest value of a trace column.
const WIDEST: u64 = 8;

/// Largest number of rows per byte of a compressed body: zstd can encode 2^17 repeated bytes in four bytes.
const ROWS_OF_A_BYTE: u64 = (1 << 15) / WIDEST;

/// The messages after the schema.
struct Messages<R> {
    /// Bytes that were read ahead come first.
    input: Chain<Cursor<Vec<u8>>, R>,
    is_file: bool,
    has_head: bool,
    /// Whether the end line has been read.
    is_over: bool,
    schema: SchemaRef,
    version: MetadataVersion,
    /// Indices of the columns that are read.
    columns: Vec<usize>,
}

/// Opens an Arrow stream or file at its first byte. It is read message by message, in the memory of one.
///
/// # Errors
/// A schema without the required columns or with unsupported types, a stream that ends within the schema or is not
/// Arrow, or an I/O error.
pub fn open<'a>(mut input: impl Read + Send + 'a, options: &Options) -> Result<Source<'a>> {
    let mut first = read_word(&mut input)?;
    let is_file = MAGIC.starts_with(&first);
    if is_file {
        if !read_word(&mut input)?.starts_with(&MAGIC[4..]) {
            return Err(corrupt("no ARROW1 at the start"));
        }
        first = read_word(&mut input)?;
    }
    let (header, ahead) = if is_file && first != CONTINUATION && !is_old_length(first) {
        read_bare_schema(&mut input, first)?
    } else {
        let header = read_header(&mut input, first)?;
        (header.ok_or_else(|| corrupt("no schema"))?, Vec::new())
    };
    let mut input = Cursor::new(ahead).chain(input);
    let header = message(&header)?;
    let schema = header
        .header_as_schema()
        .ok_or_else(|| corrupt("a first message that is not a schema"))?;
    if schema.endianness() != Endianness::Little {
        return Err(Error::new(ErrorKind::format(
            "Arrow columns in big-endian order",
            "little-endian order",
        )));
    }
    let pairs = schema.custom_metadata().into_iter().flatten();
    let (metadata, end) = head::read(pairs.map(|pair| {
        (
            pair.key().unwrap_or_default(),
            pair.value().unwrap_or_default(),
        )
    }))?;
    let schema = catch_panics(undecodable, || try_fb_to_schema(schema))?
        .map_err(|error| corrupt(error.to_string()))?;
    let layout = Layout::of(&schema, options)?;
    // A null is refused with its row number, even if the schema declares the column as not null.
    let nullable = |field: &Arc<Field>| Field::clone(field).with_nullable(true);
    let schema = Schema::new(schema.fields().iter().map(nullable).collect::<Vec<_>>());
    read_exactly(&mut input, body_length(&header)?)?;
    let mut messages = Messages {
        input,
        is_file,
        has_head: metadata.is_head(),
        is_over: false,
        schema: Arc::new(schema),
        version: header.version(),
        columns: layout.indices(),
    };
    Ok(Source {
        format: FORMAT,
        has_end_line: true,
        metadata,
        end,
        layout: Arc::new(layout),
        zero: None,
        rows: 0,
        items: Box::new(move || messages.next()),
    })
}

impl<R: Read> Messages<R> {
    fn next(&mut self) -> Result<Item> {
        loop {
            let first = read_up_to(&mut self.input, 4)?;
            if first.is_empty() {
                return Ok(Item::Cut);
            }
            let first = first.try_into().map_err(|_| cut())?;
            let Some(header) = read_header(&mut self.input, first)? else {
                self.pass_rest()?;
                return Ok(Item::End);
            };
            let header = message(&header)?;
            let body = read_exactly(&mut self.input, body_length(&header)?)?;
            match header.header_type() {
                MessageHeader::RecordBatch => return self.rows(&header, body),
                // Dictionaries belong to columns that are not read.
                MessageHeader::DictionaryBatch => {}
                _ => return Err(corrupt("a message that is not a batch")),
            }
        }
    }

    /// The rows of a batch, and the end line if it is stored with it.
    fn rows(&mut self, header: &Message<'_>, mut body: Vec<u8>) -> Result<Item> {
        let records = header
            .header_as_record_batch()
            .ok_or_else(|| corrupt("a record batch without its header"))?;
        if records.length() > 0 && self.is_over {
            return Err(Error::at(ErrorKind::RowAfterEnd, Position::of_row(1)));
        }
        let mut end = None;
        for pair in header.custom_metadata().into_iter().flatten() {
            if pair.key() == Some(head::END) && self.has_head {
                end = Some(head::end_line(pair.value().unwrap_or_default())?);
                self.is_over = true;
            }
        }
        check_claims(records, &mut body)?;
        let body = Buffer::from_vec(body);
        let schema = Arc::clone(&self.schema);
        let decoded = catch_panics(undecodable, || {
            RecordBatchDecoder::try_new(&body, records, schema, &HashMap::new(), &self.version)?
                .with_projection(Some(&self.columns))
                .read_record_batch()
        })?;
        let rows = decoded.map_err(|error| corrupt(error.to_string()))?;
        Ok(Item::Rows(rows, end))
    }

    /// Reads the bytes after the end of the stream, so that a writer upstream is not interrupted and the checksum of a
    /// compressed stream is verified.
    fn pass_rest(&mut self) -> Result<()> {
        let mut last = Vec::new();
        loop {
            let rest = read_up_to(&mut self.input, 1 << 12)?;
            if rest.is_empty() {
                break;
            }
            if !self.is_file {
                // Concatenated streams are not one stream: their rows would be ignored.
                return Err(corrupt("bytes after its end"));
            }
            last.drain(..last.len().saturating_sub(MAGIC.len()));
            last.extend(rest);
        }
        if self.is_file && !last.ends_with(MAGIC) {
            return Err(cut());
        }
        Ok(())
    }
}

/// Checks the sizes that a batch claims before it is decoded, because the decoder allocates them.
///
/// If a compressed buffer claims more than a column can need, its claim is replaced by the size of a column. A buffer
/// of a column that is read then has that size or is refused; the others are not decoded.
fn check_claims(records: RecordBatch<'_>, body: &mut [u8]) -> Result<()> {
    let rows = u64::try_from(records.length())
        .map_err(|_| corrupt(format!("a batch that claims {} rows", records.length())))?;
    if records.compression().is_none() {
        return Ok(());
    }
    let column = rows.saturating_mul(WIDEST);
    let is_room = Vec::<u8>::new().try_reserve_exact(usize::try_from(column).unwrap_or(usize::MAX));
    if rows / ROWS_OF_A_BYTE > body.len() as u64 || is_room.is_err() {
        return Err(corrupt(format!("a batch that claims {rows} rows")));
    }
    let most = i64::try_from(column.saturating_mul(2).max(TRUSTED)).unwrap_or(i64::MAX);
    for buffer in records.buffers().into_iter().flatten() {
        let claim = usize::try_from(buffer.offset())
            .ok()
            .and_then(|from| body.get_mut(from..)?.first_chunk_mut())
            .filter(|claim| buffer.length() > 0 && i64::from_le_bytes(**claim) > most);
        if let Some(claim) = claim {
            *claim = column.to_le_bytes();
        }
    }
    Ok(())
}

/// Parses the header of a message.
///
/// # Errors
/// The header is damaged.
fn message(header: &[u8]) -> Result<Message<'_>> {
    root_as_message(header).map_err(|error| {
        // Only the first line; the others give the place in the header.
        let words = error.to_string();
        let first = words.lines().next().unwrap_or_default();
        corrupt(format!("a message header: {}", first.trim_end_matches('.')))
    })
}

fn undecodable() -> Error {
    corrupt("a message that cannot be decoded")
}

fn cut() -> Error {
    Error::new(ErrorKind::CutStream {
        format: FORMAT,
        rows: 0,
    })
}

/// Reads length and header of a message after `first`, its first four bytes; `None` at the end of the stream.
fn read_header(input: &mut impl Read, first: [u8; 4]) -> Result<Option<Vec<u8>>> {
    if is_old_length(first) {
        return Err(Error::new(ErrorKind::format(
            "an Arrow stream written before version 0.15",
            "Arrow 0.15 or later",
        )));
    }
    if first != CONTINUATION {
        return Err(corrupt("no marker at the start of a message"));
    }
    let length = u64::try_from(i32::from_le_bytes(read_word(input)?))
        .map_err(|_| corrupt("a message header of negative length"))?;
    if length == 0 {
        return Ok(None);
    }
    read_exactly(input, length).map(Some)
}

/// Whether `first` is the length of a schema, which came first before Arrow 0.15.
fn is_old_length(first: [u8; 4]) -> bool {
    (64..1 << 16).contains(&u32::from_le_bytes(first))
}

/// Reads a schema without marker and length, as in files of polars, whose readers use the footer. It ends where the
/// first message begins. Returns the schema and the bytes of that message read so far.
fn read_bare_schema(input: &mut impl Read, first: [u8; 4]) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut header = first.to_vec();
    loop {
        let next = read_word(input)?;
        let ends_here = next == CONTINUATION && header.len().is_multiple_of(8);
        if ends_here && message(&header).is_ok_and(|it| it.header_as_schema().is_some()) {
            return Ok((header, next.to_vec()));
        }
        header.extend_from_slice(&next);
        if header.len() > LONGEST_BARE_SCHEMA {
            return Err(corrupt("no schema"));
        }
    }
}

fn body_length(header: &Message<'_>) -> Result<u64> {
    u64::try_from(header.bodyLength()).map_err(|_| corrupt("a message body of negative length"))
}

fn read_word(input: &mut impl Read) -> Result<[u8; 4]> {
    read_up_to(input, 4)?.try_into().map_err(|_| cut())
}

fn read_exactly(input: &mut impl Read, length: u64) -> Result<Vec<u8>> {
    let bytes = read_up_to(input, length)?;
    if (bytes.len() as u64) < length {
        return Err(cut());
    }
    Ok(bytes)
}

/// Reads `length` bytes, or fewer at the end of the input. Memory grows with the data that arrives.
fn read_up_to(input: &mut impl Read, length: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(TRUSTED)).unwrap_or(0));
    input.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}
