//! In which form a trace is written: its format, and how it is compressed.

use std::fmt;
use std::str::FromStr;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Canonical text (link-layer.md §8).
    #[default]
    Csv,
    /// Arrow IPC stream.
    Arrow,
    /// Parquet.
    Parquet,
}

/// A compression around a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// None.
    #[default]
    None,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
}

/// A format and its compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Form {
    /// The format.
    pub format: Format,
    /// The compression around it.
    pub compression: Compression,
}

/// The forms by the names that `--format` takes; the first is what a name without a known extension gets.
pub const FORMS: [(&str, Form); 7] = [
    ("csv", Form::of(Format::Csv, Compression::None)),
    ("csv.gz", Form::of(Format::Csv, Compression::Gzip)),
    ("csv.zst", Form::of(Format::Csv, Compression::Zstd)),
    ("arrow", Form::of(Format::Arrow, Compression::None)),
    ("arrow.gz", Form::of(Format::Arrow, Compression::Gzip)),
    ("arrow.zst", Form::of(Format::Arrow, Compression::Zstd)),
    ("parquet", Form::of(Format::Parquet, Compression::None)),
];

impl Form {
    const fn of(format: Format, compression: Compression) -> Self {
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
        let (name, compression) = [(".gz", Compression::Gzip), (".zst", Compression::Zstd)]
            .into_iter()
            .find_map(|(extension, compression)| {
                Some((name.strip_suffix(extension)?.to_owned(), compression))
            })
            .unwrap_or((name, Compression::None));
        let ends = |extensions: &[&str]| extensions.iter().any(|end| name.ends_with(end));
        if ends(&[".arrow", ".arrows", ".ipc"]) {
            return Some(Self::of(Format::Arrow, compression));
        }
        if compression == Compression::None {
            if ends(&[".parquet"]) {
                return Some(Self::of(Format::Parquet, compression));
            }
            return ends(&[".csv"]).then_some(Self::of(Format::Csv, compression));
        }
        Some(Self::of(Format::Csv, compression))
    }
}

impl FromStr for Form {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        FORMS
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, form)| *form)
            .ok_or_else(|| {
                format!(
                    "'{text}': expected one of {}",
                    FORMS.map(|(name, _)| name).join(", ")
                )
            })
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = FORMS.iter().find(|(_, form)| form == self);
        f.write_str(name.map_or("parquet", |(name, _)| name))
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
}
