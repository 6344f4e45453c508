//! Small texts, such as the table of a process.

use std::io::{Cursor, Read};

use super::Decompressor;
use crate::format::form::{FileKind, recognise};

/// Longest text that is read, bytes. Parameters may have lower limits of their own.
const LONGEST: u64 = 4 << 20;

/// The text of the file `path`, open as `file`, which may be gzip or zstd.
///
/// # Errors
/// An I/O error, more than 4 MiB, or bytes that are not UTF-8; the message begins with the name.
pub fn small_text(path: &str, file: impl Read) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{path}: {error}");
    let mut bytes = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if let FileKind::Compressed(compression) = recognise(&bytes) {
        let mut text = Vec::new();
        let unpacked = Decompressor::new(compression, Cursor::new(bytes)).map_err(failed)?;
        let read = unpacked.take(LONGEST + 1).read_to_end(&mut text);
        read.map_err(failed)?;
        bytes = text;
    }
    if bytes.len() as u64 > LONGEST {
        return Err(format!(
            "{path}: found more than {LONGEST} bytes, expected a table"
        ));
    }
    String::from_utf8(bytes)
        .map_err(|_| format!("{path}: found bytes that are not UTF-8, expected a table as text"))
}
