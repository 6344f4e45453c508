//! Encodes rows as an uncompressed Arrow IPC stream in pieces: [`head`], any number of [`batch`]es, [`end`].
//!
//! Batches are independent, so several threads can encode them. Bodies in the concatenated stream start at multiples
//! of 64 bytes, as the format recommends. A file is [`FILE_START`], a stream whose head was written with [`file_head`],
//! and a [`footer`], which lists the batches.

use std::iter::repeat_n;
use std::marker::PhantomData;

use arrow_ipc::{
    Block, Buffer, Field, FieldArgs, FieldNode, Footer, FooterArgs, Int, IntArgs, KeyValue,
    KeyValueArgs, Message, MessageArgs, MessageHeader, MetadataVersion, RecordBatch,
    RecordBatchArgs, Schema, SchemaArgs, Type,
};
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, UnionWIPOffset, Vector, WIPOffset};

use super::{CONTINUATION, MAGIC};
use crate::format::columnar::{Row, head};
use crate::format::columns::{BINARY_NAMES, DECODE_DELAY};
use crate::format::part::Part;
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
    let encoded = batch_at(out.len(), &[Part::Kept(rows)], false, out);
    (encoded.header, encoded.body)
}

/// The same with rows in several `parts`, one after another, but the batch replaces what `out` has from byte `at` on; see
/// [`OpenBatch::new`] for `expects_erased`.
pub(crate) fn batch_at<R: Row>(
    at: usize,
    parts: &[Part<'_, R>],
    expects_erased: bool,
    out: &mut Vec<u8>,
) -> Encoded {
    let room = parts.iter().map(Part::len).sum();
    let mut open = OpenBatch::new(at, room, expects_erased, out);
    for part in parts {
        part.rows(&mut |rows| open.push(rows, out));
    }
    open.finish(out)
}

/// A batch that has been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Encoded {
    /// Bytes of its header.
    pub(crate) header: usize,
    /// Bytes of its body.
    pub(crate) body: usize,
    /// Number of rows without a delay.
    pub(crate) erased: usize,
}

/// A batch that is being written, a few rows at a time.
pub(crate) struct OpenBatch<R> {
    /// Where the batch starts.
    at: usize,
    /// Bytes of its header.
    header: usize,
    /// Rows that there is room for, and rows so far.
    room: usize,
    rows: usize,
    has_validity: bool,
    /// A bit for each delay that is zero, the first one in the lowest.
    erased: Vec<u64>,
    kind: PhantomData<R>,
}

/// Where the columns of a batch start and how long it is, bytes.
#[derive(Clone, Copy)]
struct Places {
    times: usize,
    delays: usize,
    attempts: usize,
    end: usize,
}

impl<R: Row> OpenBatch<R> {
    /// Begins a batch of up to `room` rows at byte `at` of `out`. It is written over the bytes there, mostly those of a batch of
    /// the same length, so that nothing need be cleared.
    ///
    /// It is the fastest if it becomes full and `expects_erased` says rightly whether rows are erased.
    pub(crate) fn new(at: usize, room: usize, expects_erased: bool, out: &mut Vec<u8>) -> Self {
        let mut header = Vec::new();
        if room > 0 {
            record_batch::<R>(room, usize::from(expects_erased), None, &mut header);
        }
        let open = Self {
            at,
            header: header.len(),
            room,
            rows: 0,
            has_validity: expects_erased,
            erased: Vec::with_capacity(room.div_ceil(64)),
            kind: PhantomData,
        };
        out.resize(open.places(room, expects_erased).end, 0);
        open
    }

    /// Number of rows that there is still room for.
    pub(crate) fn left(&self) -> usize {
        self.room - self.rows
    }

    fn places(&self, rows: usize, has_validity: bool) -> Places {
        let padded = |bytes: usize| bytes.next_multiple_of(ALIGNMENT);
        let column = padded(rows * WIDTH);
        let times = self.at + self.header;
        let validity = if has_validity {
            padded(rows.div_ceil(8))
        } else {
            0
        };
        let delays = times + column + validity;
        let attempts = delays + column;
        let end = attempts + if R::HAS_ATTEMPTS { column } else { 0 };
        Places {
            times,
            delays,
            attempts,
            end,
        }
    }

    /// Writes `rows`, at most as many as are [`Self::left`].
    pub(crate) fn push(&mut self, rows: &[R], out: &mut [u8]) {
        let places = self.places(self.room, self.has_validity);
        let mut rest = rows;
        // All columns of some rows, as those rows are in the L1 cache then; in whole words of the mask.
        while !rest.is_empty() {
            let count = rest.len().min(CHUNK - self.rows % 64);
            let (rows, after) = rest.split_at(count);
            rest = after;
            let from = self.rows * WIDTH;
            let range = |column: usize| column + from..column + from + count * WIDTH;
            words(
                rows,
                |row| row.tx_time().as_nanos(),
                &mut out[range(places.times)],
            );
            if R::HAS_ATTEMPTS {
                words(
                    rows,
                    |row| row.attempts().into(),
                    &mut out[range(places.attempts)],
                );
            }
            let delays = &mut out[range(places.delays)];
            words(rows, |row| row.decode_delay().as_nanos(), delays);
            self.mark(delays.as_chunks().0);
        }
    }

    /// Notes which of the next rows are erased.
    fn mark(&mut self, delays: &[[u8; WIDTH]]) {
        let shift = self.rows % 64;
        let (first, rest) = delays.split_at(delays.len().min((64 - shift) % 64));
        if let Some(last) = self.erased.last_mut().filter(|_| shift > 0) {
            *last |= zeros(first) << shift;
        }
        self.erased.extend(rest.chunks(64).map(zeros));
        self.rows += delays.len();
    }

    /// Ends the batch. A batch without rows is left out.
    pub(crate) fn finish(self, out: &mut Vec<u8>) -> Encoded {
        if self.rows == 0 {
            out.truncate(self.at);
            return Encoded {
                header: 0,
                body: 0,
                erased: 0,
            };
        }
        let erased: u32 = self.erased.iter().map(|mask| mask.count_ones()).sum();
        let erased = erased as usize;
        let from = self.places(self.room, self.has_validity);
        let to = self.places(self.rows, erased > 0);
        let bytes = self.rows * WIDTH;
        out.resize(from.end.max(to.end), 0);
        // A column that moves up goes before the one that it makes room for.
        let mut shift = |from: usize, to: usize| {
            if from != to {
                out.copy_within(from..from + bytes, to);
            }
        };
        if R::HAS_ATTEMPTS && to.attempts > from.attempts {
            shift(from.attempts, to.attempts);
            shift(from.delays, to.delays);
        } else {
            shift(from.delays, to.delays);
            if R::HAS_ATTEMPTS {
                shift(from.attempts, to.attempts);
            }
        }
        out.truncate(to.end);
        // Padding, and the validity of the delays, which follows the times.
        out[to.times + bytes..to.delays].fill(0);
        out[to.delays + bytes..to.attempts].fill(0);
        if R::HAS_ATTEMPTS {
            out[to.attempts + bytes..].fill(0);
        }
        if erased > 0 {
            let valid = to.times + bytes.next_multiple_of(ALIGNMENT);
            let valid = &mut out[valid..valid + self.rows.div_ceil(8)];
            let last = u64::MAX >> (self.erased.len() * 64 - self.rows);
            let whole = repeat_n(u64::MAX, self.erased.len() - 1);
            let masks = self.erased.iter().zip(whole.chain([last]));
            for (bytes, (erased, rows)) in valid.chunks_mut(8).zip(masks) {
                bytes.copy_from_slice(&(!erased & rows).to_le_bytes()[..bytes.len()]);
            }
        }
        let mut header = Vec::new();
        record_batch::<R>(self.rows, erased, None, &mut header);
        out[self.at..to.times].copy_from_slice(&header);
        Encoded {
            header: header.len(),
            body: to.end - to.times,
            erased,
        }
    }
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
fn words<R>(rows: &[R], word: impl Fn(&R) -> u64, places: &mut [u8]) {
    for (place, row) in places.as_chunks_mut().0.iter_mut().zip(rows) {
        *place = word(row).to_le_bytes();
    }
}

/// Mask of those of up to 64 delays that are zero.
fn zeros(delays: &[[u8; WIDTH]]) -> u64 {
    let is_zero = |delay: &[u8; WIDTH]| u64::from_le_bytes(*delay) == 0;
    if !delays.iter().fold(false, |any, delay| any | is_zero(delay)) {
        return 0;
    }
    let bits = delays.iter().enumerate();
    bits.fold(0, |mask, (bit, delay)| {
        mask | u64::from(is_zero(delay)) << bit
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
            expects: bool,
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
            let parts: Vec<Part<'_, Lldu>> =
                cuts.windows(2).map(|ends| Part::Kept(&lldus[ends[0]..ends[1]])).collect();
            let (mut alone, mut over) = (Vec::new(), vec![0xA5; older]);
            let lengths = batch(&lldus, &mut alone);
            let erased = lldus.iter().filter(|lldu| lldu.decode_delay.is_zero()).count();
            prop_assert_eq!(batch_at(0, &parts, expects, &mut over), Encoded { header: lengths.0, body: lengths.1, erased });
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
