//! File formats: traces and tables as text, Arrow and Parquet, compressed or not, and traces of other tools.
//!
//! Whoever reads or writes a trace needs what stands here by name, and none of the modules: a
//! [`TraceReader`] hands out [`Rows`] and then the [`Tail`], whatever the file is; a [`TraceWriter`] takes
//! rows in any [`Form`].

pub mod arrow;
mod batch;
pub mod columnar;
pub mod compression;
mod form;
pub mod import;
pub mod parquet;
pub(crate) mod pool;
pub mod table;
pub mod text;
pub mod trace;
mod unit;

pub use batch::{Rows, Tail};
pub use columnar::panics_are_contained;
pub use form::{Compression, FIRST_BYTES, FORMS, FileKind, Form, FormError, Format, recognise};
pub use trace::{Options, Row, TraceReader, TraceWriter};
pub use unit::Unit;

/// Reads once, however often the system is interrupted.
fn read(input: &mut impl std::io::Read, bytes: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match input.read(bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}
