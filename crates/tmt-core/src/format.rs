//! File formats: traces and tables as text, Arrow and Parquet, plain or compressed, and importers for traces of
//! other tools. docs/trace-format.md is the contract.
//!
//! The re-exports below are enough to read and write traces. A [`TraceReader`] returns [`Rows`] and then the
//! [`TraceEnd`], for every format. A [`TraceWriter`] writes rows in any [`Form`].

pub mod arrow;
mod batch;
mod bounded;
pub mod columnar;
mod columns;
pub mod compression;
pub mod export;
mod foreign;
mod form;
pub mod import;
pub mod parquet;
mod part;
pub(crate) mod pool;
pub mod records;
pub mod table;
pub mod text;
pub mod trace;
mod unit;

pub use batch::{Rows, TraceEnd};
pub use bounded::Bounded;
pub use columnar::panics_are_contained;
pub use columns::{Columns, Spacing};
pub use foreign::{Carries, ForeignFormat, joined};
pub use form::{Compression, FIRST_BYTES, FORMS, FileKind, Form, FormError, Format, recognise};
pub use part::{Make, Part};
pub use trace::{
    Batches, Options, Round, Row, Sink, Take, TraceCollector, TraceReader, TraceWriter,
    reading_notes,
};
pub use unit::Unit;

/// Reads once; retries if the system call is interrupted.
fn read(input: &mut impl std::io::Read, bytes: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match input.read(bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}
