//! How a text trace is laid out: its separator, and which field holds what.

use super::field::shown;
use crate::format::columnar::NAMES;
use crate::format::form::{FileKind, Format, recognise};
use crate::types::ErrorKind;
use crate::types::decimal::Decimal;

/// What stands between two fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    /// One of comma, semicolon, tab; blanks beside it are taken off.
    Byte(u8),
    /// One space or more.
    Spaces,
}

impl Separator {
    fn of(line: &[u8]) -> Self {
        [b',', b';', b'\t']
            .into_iter()
            .find(|byte| line.contains(byte))
            .map_or(Self::Spaces, Self::Byte)
    }

    /// The fields of `line` with the byte offset at which each begins.
    pub(super) fn fields(self, line: &[u8]) -> Fields<'_> {
        Fields {
            separator: self,
            line,
            at: Some(0),
        }
    }
}

/// Iterator over the fields of a line.
pub(super) struct Fields<'a> {
    separator: Separator,
    line: &'a [u8],
    at: Option<usize>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = (usize, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let from = self.at?;
        let rest = &self.line[from..];
        match self.separator {
            Separator::Byte(separator) => {
                let length = memchr::memchr(separator, rest);
                self.at = length.map(|length| from + length + 1);
                let field = &rest[..length.unwrap_or(rest.len())];
                let blanks = field.iter().take_while(|b| b.is_ascii_whitespace()).count();
                Some((from + blanks, field.trim_ascii()))
            }
            Separator::Spaces => {
                let blanks = rest.iter().take_while(|b| **b == b' ').count();
                let rest = &rest[blanks..];
                if rest.is_empty() {
                    self.at = None;
                    return None;
                }
                let length = rest.iter().position(|b| *b == b' ').unwrap_or(rest.len());
                self.at = Some(from + blanks + length);
                Some((from + blanks, &rest[..length]))
            }
        }
    }
}

/// Which field of a row holds which column, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) separator: Separator,
    pub(super) tx_time: usize,
    pub(super) decode_delay: usize,
    pub(super) attempts: Option<usize>,
}

/// What the first line that is neither blank nor comment turned out to be.
pub(super) enum FirstLine {
    Header(Layout),
    Row(Layout),
}

impl Layout {
    /// Reads the layout off the first line.
    ///
    /// # Errors
    /// The column (from 1) of a duplicate, or 0 with the missing one.
    pub(super) fn of(line: &[u8]) -> Result<FirstLine, (usize, ErrorKind)> {
        let kind = recognise(line);
        if kind != FileKind::Plain(Format::Csv) {
            let found = format!("{} data", kind.name());
            let expected = "text, as nothing else is read line by line";
            return Err((1, ErrorKind::format(found, expected)));
        }
        let separator = Separator::of(line);
        let first = separator
            .fields(line)
            .next()
            .map_or(&[][..], |(_, field)| field);
        if Decimal::parse(first).is_some() {
            return Ok(FirstLine::Row(Self {
                separator,
                tx_time: 0,
                decode_delay: 1,
                attempts: None,
            }));
        }
        let mut places: [Option<usize>; 3] = [None; 3];
        for (index, (offset, name)) in separator.fields(line).enumerate() {
            let Some(column) = NAMES.iter().position(|known| known.as_bytes() == name) else {
                continue;
            };
            if places[column].replace(index).is_some() {
                let name = NAMES[column].to_owned();
                return Err((offset + 1, ErrorKind::DuplicateColumn { name }));
            }
        }
        let place = |column: usize| places[column].ok_or_else(|| (0, missing(column, line)));
        Ok(FirstLine::Header(Self {
            separator,
            tx_time: place(0)?,
            decode_delay: place(1)?,
            attempts: places[2],
        }))
    }
}

/// A line without this column of [`NAMES`].
pub(super) fn missing(column: usize, line: &[u8]) -> ErrorKind {
    ErrorKind::MissingColumn {
        name: NAMES[column],
        found: shown(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(separator: Separator, line: &str) -> Vec<(usize, String)> {
        separator
            .fields(line.as_bytes())
            .map(|(at, field)| (at, String::from_utf8(field.to_vec()).unwrap()))
            .collect()
    }

    #[test]
    fn a_run_of_spaces_is_one_separator_and_a_run_of_commas_is_not() {
        assert_eq!(
            fields(Separator::Spaces, "  a   b "),
            [(2, "a".into()), (6, "b".into())]
        );
        assert_eq!(
            fields(Separator::Byte(b','), "a,, b"),
            [(0, "a".into()), (2, String::new()), (4, "b".into())]
        );
    }

    #[test]
    fn the_separator_is_read_off_the_first_line() {
        for (line, separator) in [
            ("1,2", Separator::Byte(b',')),
            ("1;2", Separator::Byte(b';')),
            ("1\t2", Separator::Byte(b'\t')),
            ("1 2", Separator::Spaces),
        ] {
            assert_eq!(Separator::of(line.as_bytes()), separator, "{line}");
        }
    }

    #[test]
    fn a_header_may_name_the_columns_in_any_order() {
        let Ok(FirstLine::Header(layout)) = Layout::of(b"rssi;decode_delay;attempts;tx_time")
        else {
            panic!()
        };
        assert_eq!(
            (layout.tx_time, layout.decode_delay, layout.attempts),
            (3, 1, Some(2))
        );
    }
}
