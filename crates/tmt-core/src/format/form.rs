//! Which formats and compressions there are: their names, their file extensions, their first bytes.
//!
//! A format of our own is named, listed and recognised here; what reads and writes it is in [`super::trace`].

use std::fmt;
use std::str::FromStr;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Canonical text (link-layer.md §8).
    #[default]
    Csv,
    /// Arrow IPC stream or file.
    Arrow,
    /// Parquet.
    Parquet,
}

impl Format {
    /// The format's name, as errors say it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "text",
            Self::Arrow => "Arrow",
            Self::Parquet => "Parquet",
        }
    }
}

/// A compression around a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
}

impl Compression {
    /// The compression's name, as errors say it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// A format and its compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Form {
    /// The format.
    pub format: Format,
    /// The compression around it, if any.
    pub compression: Option<Compression>,
}

const GZIP: Option<Compression> = Some(Compression::Gzip);
const ZSTD: Option<Compression> = Some(Compression::Zstd);

/// The forms by the names that `--format` takes; the first is what a name without a known extension gets.
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

    /// The form that a file's name asks for by its extension, in either case; none for one that says nothing.
    ///
    /// `.csv`, `.arrow`, `.arrows`, `.ipc`, `.parquet`, each but the last also with `.gz` or `.zst` behind
    /// it; `.gz` and `.zst` behind anything else hold text.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
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
            FormError(format!("'{text}': expected one of {names}"))
        })
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = FORMS.iter().find(|(_, form)| form == self);
        f.write_str(name.map_or("parquet", |(name, _)| name))
    }
}

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A compressed stream.
    Compressed(Compression),
    /// A file of this format; anything that is not recognised is taken for text.
    Plain(Format),
}

impl FileKind {
    /// The name of the format or compression, as errors say it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compressed(compression) => compression.name(),
            Self::Plain(format) => format.name(),
        }
    }
}

/// How many first bytes [`recognise`] wants to see; fewer do where the input is shorter.
pub const FIRST_BYTES: usize = 8;

/// What an input is by its first [`FIRST_BYTES`] bytes, or by all it has where it is shorter.
#[must_use]
pub fn recognise(first: &[u8]) -> FileKind {
    match first {
        [0x1f, 0x8b, ..] => FileKind::Compressed(Compression::Gzip),
        // Skippable frames may stand in front of the first one that holds something.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            FileKind::Compressed(Compression::Zstd)
        }
        // A stream, and a file (Feather 2).
        [0xff, 0xff, 0xff, 0xff, ..] | [b'A', b'R', b'R', b'O', b'W', b'1', ..] => {
            FileKind::Plain(Format::Arrow)
        }
        [b'P', b'A', b'R', b'1', ..] => FileKind::Plain(Format::Parquet),
        // Arrow before version 0.15, which its reader refuses: a schema's length, then where its flatbuffer
        // begins. No text holds such bytes.
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
    fn a_file_name_says_its_form_by_its_end() {
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
                Form::of_name(name),
                form.map(|form| form.parse().unwrap()),
                "{name}"
            );
        }
    }

    #[test]
    fn every_kind_is_told_by_its_first_bytes() {
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
