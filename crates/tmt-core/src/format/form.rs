//! Formats and compressions: names, file extensions and magic bytes (docs/trace-format.md, Sec. 9).
//!
//! A new format is named, listed and recognised here; [`super::trace`] reads and writes it.

use std::fmt;
use std::str::FromStr;

/// Format of a trace, compression aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Canonical text (docs/trace-format.md, Sec. 2).
    #[default]
    Csv,
    /// Arrow IPC stream or file (docs/trace-format.md, Sec. 6).
    Arrow,
    /// Parquet file (docs/trace-format.md, Sec. 7).
    Parquet,
}

impl Format {
    /// Name of the format in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "text",
            Self::Arrow => "Arrow",
            Self::Parquet => "Parquet",
        }
    }
}

/// A compression around a format (docs/trace-format.md, Sec. 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip, RFC 1952.
    Gzip,
    /// zstd, RFC 8878.
    Zstd,
}

impl Compression {
    /// Name of the compression in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// A format with the compression around it.
///
/// ```
/// use tmt_core::format::{Compression, Form, Format};
///
/// let form = Form::from_file_name("phy.csv.gz").ok_or("unknown extension")?;
/// assert_eq!((form.format, form.compression), (Format::Csv, Some(Compression::Gzip)));
/// assert_eq!(form, "csv.gz".parse()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Form {
    /// Format of the uncompressed bytes.
    pub format: Format,
    /// Compression around the format; `None` if uncompressed.
    pub compression: Option<Compression>,
}

const GZIP: Option<Compression> = Some(Compression::Gzip);
const ZSTD: Option<Compression> = Some(Compression::Zstd);

/// The forms by the names that `--format` accepts. The first is the default for unknown file extensions.
pub const FORMS: [(&str, Form); 7] = [
    ("csv", Form::of(Format::Csv, None)),
    ("csv.gz", Form::of(Format::Csv, GZIP)),
    ("csv.zst", Form::of(Format::Csv, ZSTD)),
    ("arrow", Form::of(Format::Arrow, None)),
    ("arrow.gz", Form::of(Format::Arrow, GZIP)),
    ("arrow.zst", Form::of(Format::Arrow, ZSTD)),
    ("parquet", Form::of(Format::Parquet, None)),
];

impl Form {
    const fn of(format: Format, compression: Option<Compression>) -> Self {
        Self {
            format,
            compression,
        }
    }

    /// The form that the extension of a file name selects, regardless of letter case; `None` if the extension is
    /// unknown.
    ///
    /// The extensions are `.csv`, `.arrow`, `.arrows`, `.ipc` and `.parquet`. All but the last may be followed by
    /// `.gz` or `.zst`. `.gz` and `.zst` after any other name select compressed text.
    #[must_use]
    pub fn from_file_name(name: &str) -> Option<Self> {
        let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        let (name, compression) = [(".gz", GZIP), (".zst", ZSTD)]
            .into_iter()
            .find_map(|(extension, compression)| Some((name.strip_suffix(extension)?, compression)))
            .unwrap_or((&name, None));
        let format = match (name.rsplit_once('.').map(|(_, end)| end), compression) {
            (Some("arrow" | "arrows" | "ipc"), _) => Format::Arrow,
            (Some("parquet"), None) => Format::Parquet,
            (Some("csv"), _) | (_, Some(_)) => Format::Csv,
            _ => return None,
        };
        Some(Self::of(format, compression))
    }
}

/// A form that is unknown, or that does not suit what is written; its text says what is expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FormError(pub(super) String);

impl FromStr for Form {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let form = FORMS.iter().find(|(name, _)| *name == text);
        form.map(|(_, form)| *form).ok_or_else(|| {
            let names = FORMS.map(|(name, _)| name).join(", ");
            FormError(format!("unknown format '{text}', expected one of {names}"))
        })
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = FORMS.iter().find(|(_, form)| form == self);
        f.write_str(name.map_or("parquet", |(name, _)| name))
    }
}

/// Kind of an input, detected from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A compressed stream; the format inside is detected after decompression.
    Compressed(Compression),
    /// An uncompressed file. Anything that is not recognised counts as text.
    Plain(Format),
}

impl FileKind {
    /// Name of the format or compression in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compressed(compression) => compression.name(),
            Self::Plain(format) => format.name(),
        }
    }
}

/// Number of bytes that [`recognise`] needs; fewer if the input is shorter.
pub const FIRST_BYTES: usize = 8;

/// Detects the kind of an input from its first [`FIRST_BYTES`] bytes, or from all bytes if it is shorter.
#[must_use]
pub fn recognise(first: &[u8]) -> FileKind {
    match first {
        [0x1f, 0x8b, ..] => FileKind::Compressed(Compression::Gzip),
        // Skippable frames may precede the first data frame.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            FileKind::Compressed(Compression::Zstd)
        }
        // A stream; a file (Feather 2).
        [0xff, 0xff, 0xff, 0xff, ..] | [b'A', b'R', b'R', b'O', b'W', b'1', ..] => {
            FileKind::Plain(Format::Arrow)
        }
        [b'P', b'A', b'R', b'1', ..] => FileKind::Plain(Format::Parquet),
        // Arrow before version 0.15, which the reader refuses: length of the schema, then offset of its flatbuffer
        // root. Text does not contain such bytes.
        [low, high, 0, 0, root @ 1..=64, 0, 0, 0, ..]
            if (*low >= 64 || *high > 0) && root.is_multiple_of(4) =>
        {
            FileKind::Plain(Format::Arrow)
        }
        _ => FileKind::Plain(Format::Csv),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for (name, form) in FORMS {
            assert_eq!(name.parse(), Ok(form));
            assert_eq!(form.to_string(), name);
        }
        assert!("parquet.gz".parse::<Form>().is_err());
    }

    #[test]
    fn the_extension_of_a_file_name_selects_the_form() {
        for (name, form) in [
            ("out/a.csv", Some("csv")),
            ("a.CSV.GZ", Some("csv.gz")),
            ("a.txt.zst", Some("csv.zst")),
            ("a.arrow", Some("arrow")),
            ("a.ipc.zst", Some("arrow.zst")),
            ("a.parquet", Some("parquet")),
            ("b.arrow/a.txt", None),
            ("a", None),
        ] {
            assert_eq!(
                Form::from_file_name(name),
                form.map(|form| form.parse().unwrap()),
                "{name}"
            );
        }
    }

    #[test]
    fn every_kind_is_detected_from_its_first_bytes() {
        let gzip = FileKind::Compressed(Compression::Gzip);
        let zstd = FileKind::Compressed(Compression::Zstd);
        let [text, arrow, parquet] =
            [Format::Csv, Format::Arrow, Format::Parquet].map(FileKind::Plain);
        for (first, kind) in [
            (&b"\x1f\x8b\x08\0\0\0\0\0"[..], gzip),
            (b"\x1f\x8b", gzip),
            (b"\x28\xb5\x2f\xfd\x04\0\0\0", zstd),
            (b"\x5a\x2a\x4d\x18\x04\0\0\0", zstd),
            (b"\xff\xff\xff\xff\xf8\x01\0\0", arrow),
            (b"ARROW1\0\0", arrow),
            (b"\xf4\x01\0\0\x10\0\0\0", arrow),
            (b"PAR1\x15\x04\x15\x20", parquet),
            (b"tx_time,", text),
            (b"# tool: ", text),
            (b"4\0\0\x000\0\0\0", text),
            (b"\xef\xbb\xbf0,0\n", text),
            (b"\x1f", text),
            (b"", text),
        ] {
            assert_eq!(recognise(first), kind, "{first:x?}");
        }
    }
}
