//! Arrow (docs/trace-format.md, Sec. 6): reads and writes IPC streams; reads a file as the stream it contains, and batches in
//! memory.
//!
//! [`open`] reads one message after another and decodes those that contain rows. [`encode`] appends the schema,
//! any number of batches, and the end of the stream, each independently of the others.
//!
//! The head is stored as schema metadata. The end line is known only after the last row, so it is the metadata of
//! a last batch without rows. The bytes depend only on head, rows and end line.
//!
//! The crate `arrow-ipc` decodes the bodies. It panics on buffers outside the body and allocates what a
//! compressed buffer claims to contain. Therefore claims are checked first, and panics are caught.

mod batches;
pub mod encode;
mod stream;

pub use batches::read;
pub use stream::open;

/// Name of the format in error messages.
const FORMAT: &str = "Arrow";

/// Marker before every message since Arrow 0.15.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Magic bytes at the start and at the end of an Arrow file.
const MAGIC: &[u8; 6] = b"ARROW1";

/// Error of a damaged Arrow stream.
fn corrupt(found: impl Into<String>) -> crate::Error {
    crate::Error::new(crate::ErrorKind::Corrupt {
        format: FORMAT,
        found: found.into(),
    })
}
