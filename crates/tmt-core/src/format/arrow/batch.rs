//! Rows of one record batch.

use std::borrow::Cow;
use std::io::Read;

use arrow_ipc::{CompressionType, Message, RecordBatch, root_as_message};

use super::corrupt;
use super::schema::{Columns, Place};
use crate::format::columnar::{self, Column, CountValues, Counts, Number, Times};
use crate::types::{Result, Slot};

/// One message of a stream: to be filled by [`Stream`](super::Stream), again and again.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub(super) header: Vec<u8>,
    pub(super) body: Vec<u8>,
    pub(super) rows: u64,
    /// Where its columns stand; none before it was filled.
    pub(super) columns: Option<Columns>,
}

impl columnar::Batch for Batch {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn append(&self, slots: &mut Vec<Slot>, attempts: &mut Vec<u32>) -> Result<()> {
        let Some(Columns(layout)) = &self.columns else {
            return Ok(());
        };
        let message = message(&self.header)?;
        let records = message
            .header_as_record_batch()
            .ok_or_else(|| corrupt("a message that is no record batch"))?;
        let parts = Parts::new(records, &self.body)?;
        let tx_data = parts.values(layout.tx_time.0, 8)?;
        let delay_data = parts.values(layout.decode_delay.0, 8)?;
        let tx_time = parts.times(layout.tx_time, &tx_data)?;
        let delay = parts.times(layout.decode_delay, &delay_data)?;
        let data;
        let counts = match layout.attempts {
            None => None,
            Some(place) => {
                data = parts.values(place, 4)?;
                Some(Counts {
                    values: CountValues::Bytes(data.as_chunks().0),
                    null: parts.first_null(place)?,
                })
            }
        };
        columnar::append(
            [&tx_time, &delay],
            counts.as_ref(),
            parts.rows,
            slots,
            attempts,
        )
    }
}

/// The header of a message.
///
/// # Errors
/// It is damaged.
pub(super) fn message(header: &[u8]) -> Result<Message<'_>> {
    root_as_message(header).map_err(|error| {
        // Behind its first line stands where in the header it was found, on lines of their own.
        let words = error.to_string();
        let first = words.lines().next().unwrap_or_default();
        corrupt(format!("a message header: {}", first.trim_end_matches('.')))
    })
}

/// The parts of a record batch that its header tells.
struct Parts<'a> {
    records: RecordBatch<'a>,
    body: &'a [u8],
    rows: usize,
}

impl<'a> Parts<'a> {
    fn new(records: RecordBatch<'a>, body: &'a [u8]) -> Result<Self> {
        let rows = usize::try_from(records.length()).map_err(|_| corrupt("too many rows"))?;
        Ok(Self {
            records,
            body,
            rows,
        })
    }

    fn times<'b>(&self, (place, number): (Place, Number), data: &'b [u8]) -> Result<Column<'b>> {
        Ok(Column {
            times: Times::Bytes(data.as_chunks().0),
            number,
            null: self.first_null(place)?,
        })
    }

    /// The values of a column of `width` bytes a row: exactly as many as there are rows.
    fn values(&self, place: Place, width: usize) -> Result<Cow<'a, [u8]>> {
        let bytes = self
            .rows
            .checked_mul(width)
            .ok_or_else(|| corrupt("too many rows"))?;
        self.buffer(place, 1, bytes)
    }

    /// Row of the first null of a column.
    fn first_null(&self, place: Place) -> Result<Option<usize>> {
        let nodes = self
            .records
            .nodes()
            .filter(|nodes| place.node < nodes.len());
        let node = nodes
            .ok_or_else(|| corrupt("a batch with fewer columns than the schema"))?
            .get(place.node);
        if node.length() != self.records.length() {
            return Err(corrupt(
                "a column with another number of rows than its batch",
            ));
        }
        if node.null_count() == 0 {
            return Ok(None);
        }
        let validity = self.buffer(place, 0, self.rows.div_ceil(8))?;
        Ok((0..self.rows).find(|row| validity[row / 8] >> (row % 8) & 1 == 0))
    }

    /// The first `length` bytes of a column's buffer number `which`.
    fn buffer(&self, place: Place, which: usize, length: usize) -> Result<Cow<'a, [u8]>> {
        let mut at = place.buffer + which;
        if place.variadic > 0 {
            let counts = self.records.variadicBufferCounts();
            for count in counts.into_iter().flatten().take(place.variadic) {
                at = usize::try_from(count)
                    .ok()
                    .and_then(|count| at.checked_add(count))
                    .ok_or_else(|| corrupt("a column with too many buffers"))?;
            }
        }
        let buffers = self.records.buffers().filter(|buffers| at < buffers.len());
        let buffer = buffers
            .ok_or_else(|| corrupt("a batch with fewer buffers than the schema has"))?
            .get(at);
        let range = usize::try_from(buffer.offset()).ok().and_then(|from| {
            let length = usize::try_from(buffer.length()).ok()?;
            self.body.get(from..from.checked_add(length)?)
        });
        let bytes = range.ok_or_else(|| corrupt("a buffer outside its message"))?;
        let Some(compression) = self.records.compression().filter(|_| !bytes.is_empty()) else {
            return bytes.get(..length).map(Cow::Borrowed).ok_or_else(too_short);
        };
        decompressed(bytes, compression.codec(), length)
    }
}

fn too_short() -> crate::Error {
    corrupt("a buffer shorter than its column")
}

/// The first `length` bytes of what a compressed buffer holds, eight bytes of size in front.
///
/// What it claims to hold is not believed: memory grows with what comes out.
fn decompressed(bytes: &[u8], codec: CompressionType, length: usize) -> Result<Cow<'_, [u8]>> {
    let (size, packed) = bytes.split_first_chunk().ok_or_else(too_short)?;
    if i64::from_le_bytes(*size) == -1 {
        return packed
            .get(..length)
            .map(Cow::Borrowed)
            .ok_or_else(too_short);
    }
    let mut out = Vec::new();
    let wanted = length as u64;
    let damaged = |error: std::io::Error| corrupt(format!("a compressed buffer: {error}"));
    match codec {
        CompressionType::LZ4_FRAME => lz4_flex::frame::FrameDecoder::new(packed)
            .take(wanted)
            .read_to_end(&mut out)
            .map_err(damaged)?,
        CompressionType::ZSTD => zstd::Decoder::with_buffer(packed)
            .and_then(|decoder| decoder.take(wanted).read_to_end(&mut out))
            .map_err(damaged)?,
        other => return Err(corrupt(format!("the unknown compression {}", other.0))),
    };
    if out.len() < length {
        return Err(too_short());
    }
    Ok(Cow::Owned(out))
}
