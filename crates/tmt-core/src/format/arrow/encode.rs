//! Encodes rows as an uncompressed Arrow IPC stream in pieces: [`head`], any number of [`batch`]es, [`end`].
//!
//! Batches are independent, so several threads can encode them. Bodies in the concatenated stream start at multiples
//! of 64 bytes, as the format recommends. A file is [`FILE_START`], a stream whose head was written with [`file_head`],
//! and a [`footer`], which lists the batches.

use std::iter::repeat_n;

use arrow_ipc::{
    Block, Buffer, Field, FieldArgs, FieldNode, Footer, FooterArgs, Int, IntArgs, KeyValue,
    KeyValueArgs, Message, MessageArgs, MessageHeader, MetadataVersion, RecordBatch,
    RecordBatchArgs, Schema, SchemaArgs, Type,
};
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, UnionWIPOffset, Vector, WIPOffset};

use super::{CONTINUATION, MAGIC};
use crate::format::columnar::{Row, head};
use crate::format::columns::{BINARY_NAMES, DECODE_DELAY};
use crate::types::{EndLine, Metadata};

/// Messages, bodies and buffers are padded to a multiple of this, bytes.
const ALIGNMENT: usize = 64;

/// Rows converted at a time.
const CHUNK: usize = 512;

/// Bytes of a value: every column is int64.
const WIDTH: usize = 8;

/// First bytes of a file, padded to 8 bytes.
pub const FILE_START: [u8; 8] = *b"ARROW1\0\0";

type Builder = FlatBufferBuilder<'static>;

/// Appends the schema of a stream: the columns of `R`, and the head if there is one.
pub fn head<R: Row>(metadata: &Metadata, out: &mut Vec<u8>) {
    schema_message::<R>(metadata, 0, out);
}

/// Appends the schema of a file, which follows [`FILE_START`].
pub fn file_head<R: Row>(metadata: &Metadata, out: &mut Vec<u8>) {
    schema_message::<R>(metadata, FILE_START.len(), out);
}

/// Appends the schema, `before` bytes after the start of the file.
fn schema_message<R: Row>(metadata: &Metadata, before: usize, out: &mut Vec<u8>) {
    let mut builder = Builder::new();
    let schema = schema::<R>(&mut builder, metadata).as_union_value();
    message(
        builder,
        MessageHeader::Schema,
        schema,
        None,
        (before, 0),
        out,
    );
}

/// The columns of `R`, and the head if there is one.
fn schema<R: Row>(builder: &mut Builder, metadata: &Metadata) -> WIPOffset<Schema<'static>> {
    let columns = BINARY_NAMES.into_iter().enumerate().take(columns::<R>());
    let fields: Vec<_> = columns
        .map(|(column, name)| field(builder, name, column == DECODE_DELAY))
        .collect();
    let fields = builder.create_vector(&fields);
    let pairs = head::pairs(metadata);
    let pairs = (!pairs.is_empty()).then(|| key_values(builder, &pairs));
    let args = SchemaArgs {
        fields: Some(fields),
        custom_metadata: pairs,
        ..SchemaArgs::default()
    };
    Schema::create(builder, &args)
}

/// A batch in a file, for its footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchPlace {
    /// Bytes of the file before it.
    pub offset: u64,
    /// Bytes of its header.
    pub header: usize,
    /// Bytes of its body.
    pub body: usize,
}

/// Appends the footer of a file after its stream, and the last bytes of the file.
pub fn footer<R: Row>(metadata: &Metadata, batches: &[BatchPlace], out: &mut Vec<u8>) {
    let mut builder = Builder::new();
    let schema = schema::<R>(&mut builder, metadata);
    let blocks = batches.iter().map(|place| {
        let offset = i64::try_from(place.offset).unwrap_or(i64::MAX);
        let header = i32::try_from(place.header).unwrap_or(i32::MAX);
        Block::new(offset, header, signed(place.body))
    });
    let blocks: Vec<Block> = blocks.collect();
    let args = FooterArgs {
        version: MetadataVersion::V5,
        schema: Some(schema),
        // Some readers need the list, although there are no dictionaries.
        dictionaries: Some(builder.create_vector::<Block>(&[])),
        recordBatches: Some(builder.create_vector(&blocks)),
        custom_metadata: None,
    };
    let footer = Footer::create(&mut builder, &args);
    builder.finish(footer, None);
    let footer = builder.finished_data();
    out.extend_from_slice(footer);
    let length = i32::try_from(footer.len()).unwrap_or(i32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(MAGIC);
}

/// Appends a batch of `rows`; nothing if `rows` is empty. Returns the bytes of its header and its body.
pub fn batch<R: Row>(rows: &[R], out: &mut Vec<u8>) -> (usize, usize) {
    batch_at(out.len(), &[rows], out)
}

/// The same with rows in several `parts`, one after another, but the batch replaces the content of `out`. It is written over the
/// batch before, which mostly has the same length, so that nothing need be cleared.
pub fn batch_of<R: Row>(parts: &[&[R]], out: &mut Vec<u8>) -> (usize, usize) {
    batch_at(0, parts, out)
}

/// Writes a batch from byte `at` of `out` on, over the bytes there.
fn batch_at<R: Row>(at: usize, parts: &[&[R]], out: &mut Vec<u8>) -> (usize, usize) {
    let length: usize = parts.iter().map(|rows| rows.len()).sum();
    if length == 0 {
        out.truncate(at);
        return (0, 0);
    }
    let erased = parts.iter().map(|rows| erased_in(rows)).sum();
    let mut header = Vec::new();
    let lengths = record_batch::<R>(length, erased, None, &mut header);
    out.resize(at + lengths.0 + lengths.1, 0);
    let (front, mut body) = out[at..].split_at_mut(header.len());
    front.copy_from_slice(&header);
    let mut buffer = |bytes: usize| {
        let padded = bytes.next_multiple_of(ALIGNMENT);
        let (buffer, after) = std::mem::take(&mut body).split_at_mut(padded);
        body = after;
        let (buffer, padding) = buffer.split_at_mut(bytes);
        padding.fill(0);
        buffer
    };
    let (times, _) = buffer(length * WIDTH).as_chunks_mut();
    let valid = buffer(if erased > 0 { length.div_ceil(8) } else { 0 });
    let (delays, _) = buffer(length * WIDTH).as_chunks_mut();
    let attempts = if R::HAS_ATTEMPTS { length } else { 0 };
    let (attempts, _) = buffer(attempts * WIDTH).as_chunks_mut();
    let mut done = 0;
    // All columns of some rows, as those rows are in the L1 cache then.
    for rows in parts.iter().flat_map(|rows| rows.chunks(CHUNK)) {
        let range = done..done + rows.len();
        words(
            rows,
            |row| row.tx_time().as_nanos(),
            &mut times[range.clone()],
        );
        words(
            rows,
            |row| row.decode_delay().as_nanos(),
            &mut delays[range.clone()],
        );
        if R::HAS_ATTEMPTS {
            words(rows, |row| row.attempts().into(), &mut attempts[range]);
        }
        done += rows.len();
    }
    validity(delays, valid);
    lengths
}

fn erased_in<R: Row>(rows: &[R]) -> usize {
    rows.iter()
        .map(|row| usize::from(row.decode_delay().is_zero()))
        .sum()
}

/// Appends the end line, if there is one, and the end of the stream. Returns the bytes of the header of the batch that
/// holds the end line.
pub fn end<R: Row>(end: Option<&EndLine>, out: &mut Vec<u8>) -> Option<usize> {
    let header = end.map(|end| {
        let pairs = [(head::END.to_owned(), end.to_string())];
        record_batch::<R>(0, 0, Some(&pairs), out).0
    });
    out.extend_from_slice(&CONTINUATION);
    out.extend_from_slice(&[0; 4]);
    header
}

/// Number of columns.
const fn columns<R: Row>() -> usize {
    if R::HAS_ATTEMPTS { 3 } else { 2 }
}

fn field(builder: &mut Builder, name: &str, nullable: bool) -> WIPOffset<Field<'static>> {
    let name = builder.create_string(name);
    let int = IntArgs {
        bitWidth: 64,
        is_signed: true,
    };
    let int = Int::create(builder, &int).as_union_value();
    // Readers in other languages expect this list even if it is empty.
    let children = builder.create_vector::<WIPOffset<Field<'_>>>(&[]);
    Field::create(
        builder,
        &FieldArgs {
            name: Some(name),
            nullable,
            type_type: Type::Int,
            type_: Some(int),
            children: Some(children),
            ..FieldArgs::default()
        },
    )
}

type KeyValues = WIPOffset<Vector<'static, ForwardsUOffset<KeyValue<'static>>>>;

fn key_values(builder: &mut Builder, pairs: &[(String, String)]) -> KeyValues {
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(key, value)| {
            let args = KeyValueArgs {
                key: Some(builder.create_string(key)),
                value: Some(builder.create_string(value)),
            };
            KeyValue::create(builder, &args)
        })
        .collect();
    builder.create_vector(&pairs)
}

/// Appends the header of a batch of `rows` rows, `erased` of them without a delay, whose body follows it. Returns
/// the bytes of the header and of the body.
fn record_batch<R: Row>(
    rows: usize,
    erased: usize,
    pairs: Option<&[(String, String)]>,
    out: &mut Vec<u8>,
) -> (usize, usize) {
    let mut builder = Builder::new();
    let length = signed(rows);
    let (mut nodes, mut buffers, mut offset) = (Vec::new(), Vec::new(), 0);
    let mut buffer = |bytes: usize| {
        buffers.push(Buffer::new(signed(offset), signed(bytes)));
        offset += bytes.next_multiple_of(ALIGNMENT);
    };
    for column in 0..columns::<R>() {
        let nulls = if column == DECODE_DELAY { erased } else { 0 };
        nodes.push(FieldNode::new(length, signed(nulls)));
        // Without nulls the validity buffer is empty.
        buffer(if nulls > 0 { rows.div_ceil(8) } else { 0 });
        buffer(rows * WIDTH);
    }
    let args = RecordBatchArgs {
        length,
        nodes: Some(builder.create_vector(&nodes)),
        buffers: Some(builder.create_vector(&buffers)),
        ..RecordBatchArgs::default()
    };
    let records = RecordBatch::create(&mut builder, &args).as_union_value();
    let pairs = pairs.map(|pairs| key_values(&mut builder, pairs));
    let before = out.len();
    message(
        builder,
        MessageHeader::RecordBatch,
        records,
        pairs,
        (0, offset),
        out,
    );
    (out.len() - before, offset)
}

/// Appends the header of a message, padded so that its body is aligned: `before` bytes precede the header beyond a
/// multiple of the alignment, `body` bytes follow it.
fn message(
    mut builder: Builder,
    header_type: MessageHeader,
    header: WIPOffset<UnionWIPOffset>,
    custom_metadata: Option<KeyValues>,
    (before, body): (usize, usize),
    out: &mut Vec<u8>,
) {
    let message = Message::create(
        &mut builder,
        &MessageArgs {
            version: MetadataVersion::V5,
            header_type,
            header: Some(header),
            bodyLength: signed(body),
            custom_metadata,
        },
    );
    builder.finish(message, None);
    let header = builder.finished_data();
    let prefix = CONTINUATION.len() + size_of::<i32>();
    let length = (before + prefix + header.len()).next_multiple_of(ALIGNMENT) - prefix - before;
    out.reserve(prefix + length);
    out.extend_from_slice(&CONTINUATION);
    // The length field cannot express a head of gigabytes, which no trace has.
    let length_field = i32::try_from(length).unwrap_or(i32::MAX);
    out.extend_from_slice(&length_field.to_le_bytes());
    out.extend_from_slice(header);
    out.extend(repeat_n(0, length - header.len()));
}

/// Converts a length in memory, which always fits.
fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Lays out a column of some rows.
fn words<R>(rows: &[R], word: impl Fn(&R) -> u64, places: &mut [[u8; WIDTH]]) {
    for (place, row) in places.iter_mut().zip(rows) {
        *place = word(row).to_le_bytes();
    }
}

/// Sets a bit for each delay that is not zero, the first in the lowest bit.
fn validity(delays: &[[u8; WIDTH]], valid: &mut [u8]) {
    let (whole, last) = delays.as_chunks::<64>();
    let masks = whole.iter().map(|delays| !zeros(delays));
    let masks = masks.chain((!last.is_empty()).then(|| !zeros(last) & !(u64::MAX << last.len())));
    for (bytes, mask) in valid.chunks_mut(8).zip(masks) {
        bytes.copy_from_slice(&mask.to_le_bytes()[..bytes.len()]);
    }
}

/// Mask of those of up to 64 delays that are zero.
#[inline]
fn zeros(delays: &[[u8; WIDTH]]) -> u64 {
    // In reverse order, so that the carry of a comparison is shifted straight into the mask.
    delays.iter().rev().fold(0, |mask, delay| {
        mask << 1 | u64::from(u64::from_le_bytes(*delay) < 1)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::{Fate, Lldu, Span, Time};

    proptest! {
        #[test]
        fn a_batch_in_parts_over_an_older_one_is_that_of_all_rows_alone(
            rows in prop::collection::vec((0u64..1000, prop_oneof![9 => 1u64..5, 1 => Just(0)], 1u32..4), 0..1200),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
            older in 0usize..40_000,
            erases: bool,
        ) {
            let lldu = |&(time, delay, attempts): &(u64, u64, u32)| Lldu {
                tx_time: Time::from_nanos(time).unwrap(),
                decode_delay: Span::from_nanos(if erases { delay } else { delay.max(1) }).unwrap(),
                attempts,
                fate: Fate::Lost,
            };
            let lldus: Vec<Lldu> = rows.iter().map(lldu).collect();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(rows.len() + 1)).collect();
            cuts.extend([0, rows.len()]);
            cuts.sort_unstable();
            let parts: Vec<&[Lldu]> = cuts.windows(2).map(|ends| &lldus[ends[0]..ends[1]]).collect();
            let (mut alone, mut over) = (Vec::new(), vec![0xA5; older]);
            let lengths = batch(&lldus, &mut alone);
            prop_assert_eq!(batch_of(&parts, &mut over), lengths);
            prop_assert_eq!(&over, &alone);
            let mut appended = vec![0xA5; older];
            prop_assert_eq!(batch(&lldus, &mut appended), lengths);
            prop_assert_eq!(&appended[older..], &alone);
            prop_assert_eq!(alone.len(), lengths.0 + lengths.1);
            // The validity of the delays follows the times.
            let nulls = lldus.iter().any(|lldu| lldu.decode_delay.is_zero());
            let from = lengths.0 + (rows.len() * WIDTH).next_multiple_of(ALIGNMENT);
            for (row, lldu) in lldus.iter().enumerate().filter(|_| nulls) {
                let valid = alone[from + row / 8] >> (row % 8) & 1 == 1;
                prop_assert_eq!(valid, !lldu.decode_delay.is_zero());
            }
        }
    }
}
