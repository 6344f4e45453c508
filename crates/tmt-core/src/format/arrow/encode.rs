//! Encodes rows as an uncompressed Arrow IPC stream in pieces: [`head`], any number of [`batch`]es, [`end`].
//!
//! Batches are independent, so several threads can encode them. Bodies in the concatenated stream start at multiples
//! of 64 bytes, as the format recommends.

use std::iter::repeat_n;

use arrow_ipc::{
    Buffer, Field, FieldArgs, FieldNode, Int, IntArgs, KeyValue, KeyValueArgs, Message,
    MessageArgs, MessageHeader, MetadataVersion, RecordBatch, RecordBatchArgs, Schema, SchemaArgs,
    Type,
};
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, UnionWIPOffset, Vector, WIPOffset};

use super::CONTINUATION;
use crate::format::columnar::{NAMES, Row, head};
use crate::types::{EndLine, Metadata};

/// Messages, bodies and buffers are padded to a multiple of this, bytes.
const ALIGNMENT: usize = 64;

/// Rows converted at a time.
const CHUNK: usize = 512;

type Builder = FlatBufferBuilder<'static>;

/// Appends the schema: the columns of `R`, and the head if there is one.
pub fn head<R: Row>(metadata: &Metadata, out: &mut Vec<u8>) {
    let mut builder = Builder::new();
    let columns = NAMES.into_iter().zip(widths::<R>());
    let fields: Vec<_> = columns
        .map(|(name, width)| field(&mut builder, name, *width))
        .collect();
    let fields = builder.create_vector(&fields);
    let pairs = head::pairs(metadata);
    let pairs = (!pairs.is_empty()).then(|| key_values(&mut builder, &pairs));
    let schema = Schema::create(
        &mut builder,
        &SchemaArgs {
            fields: Some(fields),
            custom_metadata: pairs,
            ..SchemaArgs::default()
        },
    );
    message(
        builder,
        MessageHeader::Schema,
        schema.as_union_value(),
        None,
        0,
        out,
    );
}

/// Appends a batch of `rows`; nothing if `rows` is empty.
pub fn batch<R: Row>(rows: &[R], out: &mut Vec<u8>) {
    if rows.is_empty() {
        return;
    }
    record_batch::<R>(rows.len(), None, out);
    words(rows, |row| row.tx_time().as_nanos().to_le_bytes(), out);
    words(rows, |row| row.decode_delay().as_nanos().to_le_bytes(), out);
    if R::HAS_ATTEMPTS {
        words(rows, |row| row.attempts().to_le_bytes(), out);
    }
}

/// Appends the end line, if there is one, and the end of the stream.
pub fn end<R: Row>(end: Option<&EndLine>, out: &mut Vec<u8>) {
    if let Some(end) = end {
        let pairs = [(head::END.to_owned(), end.to_string())];
        record_batch::<R>(0, Some(&pairs), out);
    }
    out.extend_from_slice(&CONTINUATION);
    out.extend_from_slice(&[0; 4]);
}

/// Bytes per value of each column: times are int64, attempts uint32.
fn widths<R: Row>() -> &'static [usize] {
    if R::HAS_ATTEMPTS { &[8, 8, 4] } else { &[8, 8] }
}

fn field(builder: &mut Builder, name: &str, width: usize) -> WIPOffset<Field<'static>> {
    let name = builder.create_string(name);
    let is_signed = width == 8;
    let int = IntArgs {
        bitWidth: if is_signed { 64 } else { 32 },
        is_signed,
    };
    let int = Int::create(builder, &int).as_union_value();
    // Readers in other languages expect this list even if it is empty.
    let children = builder.create_vector::<WIPOffset<Field<'_>>>(&[]);
    Field::create(
        builder,
        &FieldArgs {
            name: Some(name),
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

/// Appends the header of a batch of `rows` rows, whose body the caller appends.
fn record_batch<R: Row>(rows: usize, pairs: Option<&[(String, String)]>, out: &mut Vec<u8>) {
    let mut builder = Builder::new();
    let length = signed(rows);
    let columns = widths::<R>();
    let nodes = vec![FieldNode::new(length, 0); columns.len()];
    let mut buffers = Vec::with_capacity(2 * columns.len());
    let mut offset = 0;
    for width in columns {
        let bytes = rows * width;
        // Without nulls the validity buffer is empty.
        buffers.push(Buffer::new(signed(offset), 0));
        buffers.push(Buffer::new(signed(offset), signed(bytes)));
        offset += bytes.next_multiple_of(ALIGNMENT);
    }
    let args = RecordBatchArgs {
        length,
        nodes: Some(builder.create_vector(&nodes)),
        buffers: Some(builder.create_vector(&buffers)),
        ..RecordBatchArgs::default()
    };
    let records = RecordBatch::create(&mut builder, &args).as_union_value();
    let pairs = pairs.map(|pairs| key_values(&mut builder, pairs));
    message(
        builder,
        MessageHeader::RecordBatch,
        records,
        pairs,
        offset,
        out,
    );
}

/// Appends the header of a message, padded so that its body is aligned.
fn message(
    mut builder: Builder,
    header_type: MessageHeader,
    header: WIPOffset<UnionWIPOffset>,
    custom_metadata: Option<KeyValues>,
    body: usize,
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
    let length = (prefix + header.len()).next_multiple_of(ALIGNMENT) - prefix;
    out.reserve(prefix + length + body);
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

/// Appends the words of a column, padded.
fn words<R, const N: usize>(rows: &[R], word: impl Fn(&R) -> [u8; N], out: &mut Vec<u8>) {
    let mut laid_out = [[0; N]; CHUNK];
    for rows in rows.chunks(CHUNK) {
        for (place, row) in laid_out.iter_mut().zip(rows) {
            *place = word(row);
        }
        out.extend_from_slice(laid_out[..rows.len()].as_flattened());
    }
    let bytes = rows.len() * N;
    out.extend(repeat_n(0, bytes.next_multiple_of(ALIGNMENT) - bytes));
}
