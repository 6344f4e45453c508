//! Arrow IPC (link-layer.md §8): streams read and written, files read as the stream they hold.
//!
//! Reading takes two steps. [`Stream`] cuts messages off whatever can be read, one after the other,
//! and looks no further than their headers; a [`Batch`] makes rows of its message, which depends on
//! that message alone, so several threads can do it. Writing is in pieces too: [`encode`] appends
//! the schema, batches in any number, and the end, each without knowing the others.
//!
//! A head travels as schema metadata, the end line as metadata of a last batch without rows, since
//! it is known only behind the last row. Bytes depend on what is written alone.
//!
//! The message headers are read with the crate `arrow-ipc`, the bodies are not: its decoder panics on
//! buffers that lie outside the body, and allocates what a compressed buffer claims to hold.

mod batch;
pub mod encode;
mod schema;
mod stream;

pub use batch::Batch;
pub use stream::Stream;

/// The format's name in errors.
const FORMAT: &str = "Arrow";

/// In front of every message since Arrow 0.15.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// In front of the stream in an Arrow file, and at its end.
const MAGIC: &[u8; 6] = b"ARROW1";

/// What cannot be right in an Arrow stream.
fn corrupt(found: impl Into<String>) -> crate::Error {
    crate::Error::new(crate::ErrorKind::Corrupt {
        format: FORMAT,
        found: found.into(),
    })
}
