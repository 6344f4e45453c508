//! Arrow IPC (link-layer.md §8): streams read and written, files read as the stream they hold.
//!
//! [`open`] cuts messages off whatever can be read, one after the other, and decodes those with rows.
//! Writing is in pieces: [`encode`] appends the schema, batches in any number, and the end, each without
//! knowing the others.
//!
//! A head travels as schema metadata, the end line as metadata of a last batch without rows, since
//! it is known only behind the last row. Bytes depend on what is written alone.
//!
//! Bodies are decoded by the crate `arrow-ipc`, which panics on buffers that lie outside the body, and
//! allocates what a compressed buffer claims to hold: so claims are checked before, and panics contained.

pub mod encode;
mod stream;

pub use stream::open;

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
