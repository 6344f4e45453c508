//! Parquet (link-layer.md §8): files read and written.
//!
//! A Parquet file is told by its footer, so reading needs random access: anything that implements
//! [`ChunkReader`], such as a `File` or `Bytes`. The head and the end line are key-value pairs of
//! the footer.

mod columns;
mod dictionary;
mod open;
mod reader;
mod table_text;
mod writer;

pub use ::parquet::file::reader::{ChunkReader, Length};
pub(crate) use columns::ColumnFile;
pub use reader::open;
pub use table_text::TableText;
pub use writer::{ROW_GROUP, Writer};

use std::io;

use ::parquet::errors::ParquetError;

use crate::types::{Error, ErrorKind};

/// The format's name in errors.
const FORMAT: &str = "Parquet";

fn corrupt(found: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt {
        format: FORMAT,
        found: found.into(),
    })
}

/// What the crate says, in ours: what the system said is passed on as such.
fn error(error: ParquetError) -> Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(io) => Error::from(*io),
            Err(other) => corrupt(other.to_string()),
        },
        other => corrupt(other.to_string()),
    }
}

/// As [`error`], for what could not be written.
fn write_error(parquet: ParquetError) -> io::Error {
    match error(parquet).into_kind() {
        ErrorKind::Io(error) => error,
        kind => io::Error::other(Error::new(kind)),
    }
}
