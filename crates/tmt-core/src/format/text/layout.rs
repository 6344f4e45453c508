//! Layout of a text trace: its separator and the order of its columns (docs/trace-format.md, Sec. 3).

use super::field::shown;
use crate::format::columnar::NAMES;
use crate::format::form::{FileKind, Format, recognise};
use crate::types::ErrorKind;
use crate::types::decimal::Decimal;

/// The fields of `line`, each with its byte offset.
///
/// A run of spaces is one separator. With any other separator, white space around a field is removed.
pub(super) fn fields(separator: u8, line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut next = 0;
    let fields = line.split(move |byte| *byte == separator);
    let placed = fields.map(move |field| {
        let from = next;
        next += field.len() + 1;
        if separator == b' ' {
            return (from, field);
        }
        let trimmed = field.trim_ascii_start();
        (from + field.len() - trimmed.len(), trimmed.trim_ascii_end())
    });
    placed.filter(move |(_, field)| separator != b' ' || !field.is_empty())
}

/// Separator of a text and the fields of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// One of comma, semicolon, tab and space.
    pub(super) separator: u8,
    /// Field index of each column of [`NAMES`], from 0; only that of attempts may be `None`.
    pub(super) places: [Option<usize>; 3],
}

impl Layout {
    /// Determines the layout from the first line that is neither blank nor a comment, and whether it is a header.
    ///
    /// # Errors
    /// A duplicate column, with its place in the line (from 1), or a missing one, with place 0.
    pub(super) fn of(line: &[u8]) -> Result<(Self, bool), (usize, ErrorKind)> {
        let kind = recognise(line);
        if kind != FileKind::Plain(Format::Csv) {
            let found = format!("{} data", kind.name());
            let expected = "a line of text";
            return Err((1, ErrorKind::format(found, expected)));
        }
        let known = [b',', b';', b'\t'];
        let found = known.into_iter().find(|byte| line.contains(byte));
        let separator = found.unwrap_or(b' ');
        let first = fields(separator, line).next();
        if first.is_some_and(|(_, field)| Decimal::parse(field).is_some()) {
            let places = [Some(0), Some(1), None];
            return Ok((Self { separator, places }, false));
        }
        let mut places = [None; 3];
        for (index, (offset, name)) in fields(separator, line).enumerate() {
            if let Some(column) = NAMES.iter().position(|known| known.as_bytes() == name)
                && places[column].replace(index).is_some()
            {
                let name = NAMES[column].to_owned();
                return Err((offset + 1, ErrorKind::DuplicateColumn { name }));
            }
        }
        match (0..2).find(|column| places[*column].is_none()) {
            Some(column) => Err((0, missing(column, line))),
            None => Ok((Self { separator, places }, true)),
        }
    }
}

/// Error for a line without this column of [`NAMES`].
pub(super) fn missing(column: usize, line: &[u8]) -> ErrorKind {
    ErrorKind::MissingColumn {
        name: NAMES[column],
        found: shown(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(separator: u8, line: &str) -> Vec<(usize, String)> {
        fields(separator, line.as_bytes())
            .map(|(at, field)| (at, String::from_utf8(field.to_vec()).unwrap()))
            .collect()
    }

    #[test]
    fn a_run_of_spaces_is_one_separator_and_a_run_of_commas_is_not() {
        assert_eq!(placed(b' ', "  a   b "), [(2, "a".into()), (6, "b".into())]);
        assert_eq!(
            placed(b',', "a,, b"),
            [(0, "a".into()), (2, String::new()), (4, "b".into())]
        );
    }

    #[test]
    fn the_first_line_determines_the_separator() {
        for (line, separator) in [("1,2", b','), ("1;2", b';'), ("1\t2", b'\t'), ("1 2", b' ')] {
            let (layout, is_header) = Layout::of(line.as_bytes()).unwrap();
            assert_eq!((layout.separator, is_header), (separator, false), "{line}");
        }
    }

    #[test]
    fn a_header_may_name_the_columns_in_any_order() {
        let (layout, is_header) = Layout::of(b"rssi;decode_delay;attempts;tx_time").unwrap();
        assert_eq!(
            (layout.places, is_header),
            ([Some(3), Some(1), Some(2)], true)
        );
    }
}
