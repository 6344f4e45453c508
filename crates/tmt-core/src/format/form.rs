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
    /// Arrow IPC file, which is Feather version 2 (docs/trace-format.md, Sec. 6).
    Arrow,
    /// Arrow IPC stream (docs/trace-format.md, Sec. 6).
    ArrowStream,
    /// Parquet file (docs/trace-format.md, Sec. 7).
    Parquet,
}

impl Format {
    /// Name of the format in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "text",
            Self::Arrow | Self::ArrowStream => "Arrow",
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

    /// Extension of names of compressed files.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }

    /// The compression that the end of a file name selects, regardless of what precedes it and of letter case.
    #[must_use]
    pub fn from_file_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let mut all = [Self::Gzip, Self::Zstd].into_iter();
        all.find(|compression| name.ends_with(compression.extension()))
    }
}

/// A format with the compression around it.
///
/// ```
/// use tmt_core::format::{Compression, Form, Format};
///
/// let form = Form::from_file_name("phy.csv.gz")?.ok_or("no extension")?;
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

/// The forms by the names that `--format` accepts. The first is the default for names without an extension.
pub const FORMS: [(&str, Form); 8] = [
    ("csv", Form::of(Format::Csv, None)),
    ("csv.gz", Form::of(Format::Csv, GZIP)),
    ("csv.zst", Form::of(Format::Csv, ZSTD)),
    ("arrow", Form::of(Format::Arrow, None)),
    ("arrows", Form::of(Format::ArrowStream, None)),
    ("arrow.gz", Form::of(Format::ArrowStream, GZIP)),
    ("arrow.zst", Form::of(Format::ArrowStream, ZSTD)),
    ("parquet", Form::of(Format::Parquet, None)),
];

impl Form {
    const fn of(format: Format, compression: Option<Compression>) -> Self {
        Self {
            format,
            compression,
        }
    }

    /// The form that the extension of a file name selects, regardless of letter case; `None` without an extension.
    ///
    /// The extensions are `.csv`, `.txt`, `.arrow`, `.feather`, `.ipc`, `.arrows` and `.parquet`. All but the last may be
    /// followed by `.gz` or `.zst`, which alone select compressed text.
    ///
    /// # Errors
    /// The extension is unknown.
    pub fn from_file_name(name: &str) -> Result<Option<Self>, FormError> {
        Self::named(name, EXTENSIONS)
    }

    /// As [`from_file_name`](Self::from_file_name); the error says that `extensions` were expected.
    pub(super) fn named(name: &str, extensions: &str) -> Result<Option<Self>, FormError> {
        let file = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        let compression = Compression::from_file_name(&file);
        let end = compression.map_or(0, |compression| compression.extension().len());
        let file = &file[..file.len() - end];
        // A name that starts with its only full stop is that of a hidden file.
        let extension = file.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        let format = match (extension.map(|(_, extension)| extension), compression) {
            (None, None) => return Ok(None),
            (None | Some("csv" | "txt"), _) => Format::Csv,
            (Some("arrow" | "feather" | "ipc"), None) => Format::Arrow,
            (Some("arrow" | "feather" | "ipc" | "arrows"), _) => Format::ArrowStream,
            (Some("parquet"), None) => Format::Parquet,
            (Some("parquet"), Some(compression)) => {
                return Err(FormError(format!(
                    "{name}: found Parquet inside {}, expected .parquet alone: it compresses its columns itself",
                    compression.name()
                )));
            }
            (Some(extension), _) => {
                return Err(FormError(format!(
                    "{name}: unknown extension .{extension}, expected {extensions}"
                )));
            }
        };
        Ok(Some(Self::of(format, compression)))
    }

    /// The same form for an output that is read while it is written, such as a pipe: an Arrow file becomes a stream.
    #[must_use]
    pub const fn streamed(self) -> Self {
        match self.format {
            Format::Arrow => Self::of(Format::ArrowStream, self.compression),
            _ => self,
        }
    }

    /// The same form inside a compression, if it is one. A compressed Arrow file becomes a stream.
    #[must_use]
    pub const fn compressed(self, compression: Option<Compression>) -> Self {
        let form = Self::of(self.format, compression);
        match compression {
            Some(_) => form.streamed(),
            None => form,
        }
    }
}

/// The known extensions, for messages.
const EXTENSIONS: &str = ".csv, .txt, .arrow, .feather, .ipc or .arrows, also with .gz or .zst, .parquet, or no extension (text)";

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
        [0xff, 0xff, 0xff, 0xff, ..] => FileKind::Plain(Format::ArrowStream),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => FileKind::Plain(Format::Arrow),
        [b'P', b'A', b'R', b'1', ..] => FileKind::Plain(Format::Parquet),
        // Arrow before version 0.15, which the reader refuses: length of the schema, then offset of its flatbuffer
        // root. Text does not contain such bytes.
        [low, high, 0, 0, root @ 1..=64, 0, 0, 0, ..]
            if (*low >= 64 || *high > 0) && root.is_multiple_of(4) =>
        {
            FileKind::Plain(Format::ArrowStream)
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
            ("a.gz", Some("csv.gz")),
            ("a.arrow", Some("arrow")),
            ("a.feather", Some("arrow")),
            ("a.ipc", Some("arrow")),
            ("a.arrows", Some("arrows")),
            ("a.ipc.zst", Some("arrow.zst")),
            ("a.arrows.gz", Some("arrow.gz")),
            ("a.parquet", Some("parquet")),
            ("b.arrow/a.txt", Some("csv")),
            ("b.arrow/a", None),
            (".hidden", None),
            ("a", None),
        ] {
            assert_eq!(
                Form::from_file_name(name),
                Ok(form.map(|form| form.parse().unwrap())),
                "{name}"
            );
        }
    }

    #[test]
    fn an_unknown_extension_is_refused_with_the_known_ones() {
        for name in [
            "a.json",
            "a.txt.bz2",
            "b/a.CSV.xz",
            "a.json.gz",
            "phy-0.01",
            "a.parquet.gz",
        ] {
            let error = Form::from_file_name(name).unwrap_err().to_string();
            assert!(
                error.starts_with(name) && error.contains(".parquet"),
                "{error}"
            );
        }
    }

    #[test]
    fn only_an_uncompressed_file_is_an_arrow_file() {
        let arrow: Form = "arrow".parse().unwrap();
        assert_eq!(arrow.streamed().to_string(), "arrows");
        assert_eq!(arrow.compressed(GZIP).to_string(), "arrow.gz");
        assert_eq!(arrow.compressed(None), arrow);
    }

    #[test]
    fn every_kind_is_detected_from_its_first_bytes() {
        let gzip = FileKind::Compressed(Compression::Gzip);
        let zstd = FileKind::Compressed(Compression::Zstd);
        let [text, file, arrow, parquet] = [
            Format::Csv,
            Format::Arrow,
            Format::ArrowStream,
            Format::Parquet,
        ]
        .map(FileKind::Plain);
        for (first, kind) in [
            (&b"\x1f\x8b\x08\0\0\0\0\0"[..], gzip),
            (b"\x1f\x8b", gzip),
            (b"\x28\xb5\x2f\xfd\x04\0\0\0", zstd),
            (b"\x5a\x2a\x4d\x18\x04\0\0\0", zstd),
            (b"\xff\xff\xff\xff\xf8\x01\0\0", arrow),
            (b"ARROW1\0\0", file),
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
