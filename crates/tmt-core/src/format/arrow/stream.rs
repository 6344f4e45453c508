//! Messages cut off a stream, one after the other.

use std::io::{self, Chain, Cursor, Read};

use arrow_ipc::{Endianness, MessageHeader};

use super::batch::{Batch, message};
use super::schema::Columns;
use super::{CONTINUATION, FORMAT, MAGIC, corrupt};
use crate::format::columnar::{self, Next, Options, Source, head};
use crate::format::read;
use crate::types::{EndLine, Error, ErrorKind, Metadata, Position, Result};

/// Bytes set aside at once for what a header claims is coming; the rest as it comes.
const TRUSTED: u64 = 1 << 20;

/// Longest schema taken where its length is not told, bytes.
const LONGEST_BARE_SCHEMA: usize = 1 << 24;

/// Bytes of the magic and its padding in front of a file's stream.
const FILE_START: usize = 8;

/// An Arrow stream or file that is read message by message, in the memory of one message.
#[derive(Debug)]
pub struct Stream<R> {
    /// What was read too far comes first.
    input: Chain<Cursor<Vec<u8>>, R>,
    is_file: bool,
    metadata: Metadata,
    columns: Columns,
    rows: u64,
    /// The end line where it stands in the schema, as in what was made of a Parquet file.
    told_in_front: Option<EndLine>,
    told_behind: Option<EndLine>,
    outcome: Option<Next>,
}

/// What stands next in the stream.
enum Frame {
    Message,
    EndOfStream,
    Nothing,
}

impl<R: Read + Send> Stream<R> {
    /// Opens `input`, from its very first byte, and reads its schema.
    ///
    /// # Errors
    /// A schema without the columns of the contract, or with other types; a stream that ends in the schema
    /// or is none; what the system says while reading.
    pub fn new(mut input: R, options: Options) -> Result<Self> {
        let mut first = [0; 4];
        fill(&mut input, &mut first)?;
        let is_file = MAGIC.starts_with(&first);
        if is_file {
            let mut rest = [0; FILE_START - 4];
            fill(&mut input, &mut rest)?;
            if rest[..2] != MAGIC[4..] {
                return Err(corrupt("no ARROW1 in front"));
            }
            fill(&mut input, &mut first)?;
        }
        let mut first_message = Batch::default();
        let mut ahead = Vec::new();
        if is_file && first != CONTINUATION && !is_old_length(first) {
            ahead = read_bare_schema(&mut input, first, &mut first_message.header)?;
        } else if let Frame::EndOfStream =
            read_header(&mut input, first, &mut first_message.header)?
        {
            return Err(corrupt("no schema"));
        }
        let mut input = Cursor::new(ahead).chain(input);
        let header = message(&first_message.header)?;
        let schema = header
            .header_as_schema()
            .ok_or_else(|| corrupt("a first message that is no schema"))?;
        if schema.endianness() != Endianness::Little {
            return Err(Error::new(ErrorKind::format(
                "Arrow columns in big-endian order",
                "little-endian order",
            )));
        }
        let pairs = schema.custom_metadata().into_iter().flatten();
        let (metadata, told_in_front) = head::read(pairs.map(|pair| {
            (
                pair.key().unwrap_or_default(),
                pair.value().unwrap_or_default(),
            )
        }))?;
        let columns = Columns::find(schema, header.version(), options)?;
        let length = header.bodyLength();
        read_body(&mut input, length, &mut first_message.body)?;
        Ok(Self {
            input,
            is_file,
            metadata,
            columns,
            rows: 0,
            told_in_front,
            told_behind: None,
            outcome: None,
        })
    }

    fn frame(&mut self, batch: &mut Batch) -> Result<Frame> {
        let mut first = [0; 4];
        match read_up_to(&mut self.input, &mut first)? {
            0 => Ok(Frame::Nothing),
            4 => {
                let frame = read_header(&mut self.input, first, &mut batch.header)?;
                if let Frame::Message = frame {
                    let header = message(&batch.header)?;
                    let length = header.bodyLength();
                    if header.header_type() == MessageHeader::RecordBatch {
                        read_body(&mut self.input, length, &mut batch.body)?;
                    } else {
                        skip_body(&mut self.input, length)?;
                    }
                }
                Ok(frame)
            }
            _ => Err(cut()),
        }
    }

    /// Looks at a whole message; true where it holds rows.
    fn take(&mut self, batch: &mut Batch) -> Result<bool> {
        let header = message(&batch.header)?;
        let records = match header.header_type() {
            MessageHeader::RecordBatch => header
                .header_as_record_batch()
                .ok_or_else(|| corrupt("a record batch without its header"))?,
            // The values of other columns: ours have no dictionary.
            MessageHeader::DictionaryBatch => return Ok(false),
            _ => return Err(corrupt("a message that is no batch")),
        };
        let rows = u64::try_from(records.length())
            .map_err(|_| corrupt(format!("a batch of {} rows", records.length())))?;
        if rows > 0 && self.told_behind.is_some() {
            let position = Position::of_row(self.rows + 1);
            return Err(Error::at(ErrorKind::RowAfterEnd, position));
        }
        for pair in header.custom_metadata().into_iter().flatten() {
            if pair.key() == Some(head::END) && self.metadata.is_head() {
                self.told_behind = Some(head::end_line(pair.value().unwrap_or_default())?);
            }
        }
        batch.rows = rows;
        batch.columns = Some(self.columns.clone());
        self.rows = self
            .rows
            .checked_add(rows)
            .ok_or_else(|| corrupt("more rows than can be counted"))?;
        Ok(rows > 0)
    }

    /// Reads what stands behind the end of the stream, so that a writer in front can end in peace and
    /// a checksum around it is checked.
    fn pass_rest(&mut self) -> Result<()> {
        let mut buffer = [0; 1 << 12];
        let mut last = [0; MAGIC.len()];
        loop {
            let length = read_up_to(&mut self.input, &mut buffer)?;
            let rest = &buffer[..length];
            if length == 0 {
                break;
            }
            if !self.is_file {
                // Whole streams one behind the other are not one: rows would go unseen.
                return Err(corrupt("bytes behind its end"));
            }
            let kept = length.min(last.len());
            last.rotate_left(kept);
            let from = last.len() - kept;
            last[from..].copy_from_slice(&rest[length - kept..]);
        }
        if self.is_file && &last != MAGIC {
            return Err(cut());
        }
        Ok(())
    }

    fn finish(&mut self, outcome: Next) -> Result<Next> {
        let outcome = columnar::finish(self, outcome)?;
        self.outcome = Some(outcome);
        Ok(outcome)
    }
}

impl<R: Read + Send> Source for Stream<R> {
    const FORMAT: &'static str = FORMAT;

    type Batch = Batch;

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn end(&self) -> Option<EndLine> {
        self.told_behind.or(self.told_in_front)
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<Next> {
        if let Some(outcome) = self.outcome {
            return Ok(outcome);
        }
        loop {
            match self
                .frame(batch)
                .map_err(|error| error.behind_rows(self.rows))?
            {
                Frame::Message if self.take(batch)? => return Ok(Next::Batch),
                Frame::Message => {}
                Frame::EndOfStream => {
                    self.pass_rest()
                        .map_err(|error| error.behind_rows(self.rows))?;
                    return self.finish(Next::End);
                }
                Frame::Nothing => return self.finish(Next::Cut),
            }
        }
    }
}

fn cut() -> Error {
    Error::new(ErrorKind::CutStream {
        format: FORMAT,
        rows: 0,
    })
}

/// Reads the length and the header behind `first`, the four bytes in front of every message.
fn read_header(input: &mut impl Read, first: [u8; 4], header: &mut Vec<u8>) -> Result<Frame> {
    if is_old_length(first) {
        return Err(Error::new(ErrorKind::format(
            "an Arrow stream as written before version 0.15",
            "one of Arrow 0.15 or later",
        )));
    }
    if first != CONTINUATION {
        return Err(corrupt("no message where one should begin"));
    }
    let mut length = [0; 4];
    fill(input, &mut length)?;
    let length = u64::try_from(i32::from_le_bytes(length))
        .map_err(|_| corrupt("a message header of negative length"))?;
    if length == 0 {
        return Ok(Frame::EndOfStream);
    }
    read_exactly(input, length, header)?;
    Ok(Frame::Message)
}

/// Whether this is the length of a schema, which stood in front of it before Arrow 0.15.
fn is_old_length(first: [u8; 4]) -> bool {
    (64..1 << 16).contains(&u32::from_le_bytes(first))
}

/// Reads a schema that stands there without marker and length, as in the files of polars, whose
/// readers take it from the footer: it ends where the first message begins. What was read of that
/// is given back.
fn read_bare_schema(
    input: &mut impl Read,
    first: [u8; 4],
    header: &mut Vec<u8>,
) -> Result<Vec<u8>> {
    *header = first.to_vec();
    let mut next = [0; 4];
    loop {
        fill(input, &mut next)?;
        let ends_here = next == CONTINUATION && header.len().is_multiple_of(8);
        if ends_here && message(header).is_ok_and(|it| it.header_as_schema().is_some()) {
            return Ok(next.to_vec());
        }
        header.extend_from_slice(&next);
        if header.len() > LONGEST_BARE_SCHEMA {
            return Err(corrupt("no schema"));
        }
    }
}

fn read_body(input: &mut impl Read, length: i64, body: &mut Vec<u8>) -> Result<()> {
    read_exactly(input, body_length(length)?, body)
}

fn skip_body(input: &mut impl Read, length: i64) -> Result<()> {
    let length = body_length(length)?;
    let skipped = io::copy(&mut input.take(length), &mut io::sink())?;
    if skipped < length { Err(cut()) } else { Ok(()) }
}

fn body_length(length: i64) -> Result<u64> {
    u64::try_from(length).map_err(|_| corrupt("a message body of negative length"))
}

/// Reads `length` bytes in the stead of what `into` holds; memory grows with what really comes.
fn read_exactly(input: &mut impl Read, length: u64, into: &mut Vec<u8>) -> Result<()> {
    into.clear();
    into.reserve(usize::try_from(length.min(TRUSTED)).unwrap_or(0));
    let read = input.take(length).read_to_end(into)?;
    if (read as u64) < length {
        Err(cut())
    } else {
        Ok(())
    }
}

fn fill(input: &mut impl Read, into: &mut [u8]) -> Result<()> {
    let length = into.len();
    if read_up_to(input, into)? < length {
        return Err(cut());
    }
    Ok(())
}

/// Fills `into` as far as the input goes.
fn read_up_to(input: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < into.len() {
        match read(input, &mut into[length..])? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}
