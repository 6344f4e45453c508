//! Reads and writes Parquet files (docs/trace-format.md, Sec. 7).
//!
//! The footer of a Parquet file describes it, so reading needs random access: a [`ChunkReader`], such as a `File`
//! or `Bytes`. Head and end line are key-value pairs of the footer.

mod claims;
mod column_batches;
mod columns;
mod open;
mod pages;
mod reader;
mod table_text;
mod writer;

pub use ::parquet::file::reader::{ChunkReader, Length};
pub(crate) use column_batches::ColumnBatches;
pub(crate) use columns::ColumnFile;
pub use reader::open;
pub use table_text::TableText;
pub use writer::{ROW_GROUP, Writer};

use std::io;

use ::parquet::errors::ParquetError;

use crate::types::{Error, ErrorKind};

/// Name of the format in error messages.
const FORMAT: &str = "Parquet";

fn corrupt(found: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt {
        format: FORMAT,
        found: found.into(),
    })
}

/// Converts an error of the `parquet` crate; an I/O error inside it is extracted.
fn error(error: ParquetError) -> Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(io) => Error::from(*io),
            Err(other) => corrupt(other.to_string()),
        },
        other => corrupt(innermost(&other.to_string())),
    }
}

/// The message of an error without the kinds of the errors around it, one before the other.
fn innermost(message: &str) -> &str {
    const AROUND: [&str; 4] = [
        "Parquet argument error: ",
        "Parquet error: ",
        "External: ",
        "Arrow: ",
    ];
    let inner = AROUND.iter().find_map(|kind| message.strip_prefix(kind));
    inner.map_or(message, innermost)
}

/// As [`error()`], for writing.
fn write_error(parquet: ParquetError) -> io::Error {
    match error(parquet).into_kind() {
        ErrorKind::Io(error) => error,
        kind => io::Error::other(Error::new(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_within_errors_is_told_without_their_kinds() {
        let nested = ParquetError::General("Parquet argument error: External: a page".to_owned());
        let told = error(nested).to_string();
        assert!(told.contains("(a page)"), "{told}");
    }
}
