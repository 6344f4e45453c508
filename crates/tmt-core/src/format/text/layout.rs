//! Layout of a text trace: its separator and the order of its columns (docs/trace-format.md, Sec. 3).

use super::field::shown;
use crate::format::columns::{Columns, DECODE_DELAY, NAMES, Places, TX_TIME};
use crate::format::form::{FileKind, Format, recognise};
use crate::format::unit::Unit;
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

/// Separator of a text, the fields of its columns and their units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// One of comma, semicolon, tab and space.
    pub(super) separator: u8,
    /// The columns, from 0.
    pub(super) places: Places,
    /// Units of times and delays.
    pub(super) units: [Unit; 2],
}

/// Layout and names in the first line of a text that is neither blank nor a comment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FirstLine {
    pub(super) layout: Layout,
    pub(super) is_header: bool,
    /// Names in the header that are not read.
    pub(super) ignored: Vec<String>,
}

impl FirstLine {
    /// Determines the layout, and whether the line is a header. `unit` is that of columns whose names say none.
    ///
    /// # Errors
    /// A column that is missing, with place 0, or one that is ambiguous, with its place in the line (from 1).
    pub(super) fn read(
        line: &[u8],
        columns: &Columns,
        attempts: bool,
        unit: Option<Unit>,
    ) -> Result<Self, (usize, ErrorKind)> {
        let kind = recognise(line);
        if kind != FileKind::Plain(Format::Csv) {
            let found = format!("{} data", kind.name());
            let expected = "a line of text";
            return Err((1, ErrorKind::format(found, expected)));
        }
        let known = [b',', b';', b'\t'];
        let found = known.into_iter().find(|byte| line.contains(byte));
        let separator = found.unwrap_or(b' ');
        let found: Vec<_> = fields(separator, line).collect();
        let first = found.first();
        let is_header = first.is_none_or(|(_, field)| Decimal::parse(field).is_none());
        let (places, ignored) = if is_header {
            let names: Vec<_> = found
                .iter()
                .map(|(_, name)| String::from_utf8_lossy(unquoted(name)))
                .collect();
            let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
            let places = columns.find(&names, attempts).map_err(|(kind, at)| {
                let place = at.map_or(0, |at| found[at].0 + 1);
                (place, kind)
            })?;
            (places, places.ignored(&names))
        } else {
            let places = columns.numbered(attempts).map_err(|kind| (1, kind))?;
            (places, Vec::new())
        };
        let unit_of = |column| {
            let unit = places.unit(column, unit).map_err(|kind| (1, kind))?;
            Ok(unit.unwrap_or_default())
        };
        let units = [unit_of(TX_TIME)?, unit_of(DECODE_DELAY)?];
        Ok(Self {
            layout: Layout {
                separator,
                places,
                units,
            },
            is_header,
            ignored,
        })
    }
}

/// A name without the quotes that some programs put around every name.
fn unquoted(name: &[u8]) -> &[u8] {
    let inner = name
        .strip_prefix(b"\"")
        .and_then(|name| name.strip_suffix(b"\""));
    inner.unwrap_or(name)
}

/// Error for a line without this column.
pub(super) fn missing(column: usize, line: &[u8]) -> ErrorKind {
    ErrorKind::MissingColumn {
        name: NAMES[column].to_owned(),
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
            let first = FirstLine::read(line.as_bytes(), &Columns::default(), false, None).unwrap();
            assert_eq!(
                (first.layout.separator, first.is_header),
                (separator, false),
                "{line}"
            );
        }
    }

    fn places(line: &str, columns: &str, attempts: bool) -> Result<[Option<usize>; 4], String> {
        let columns = if columns.is_empty() {
            Columns::default()
        } else {
            columns.parse().unwrap()
        };
        let first = FirstLine::read(line.as_bytes(), &columns, attempts, None);
        first
            .map(|first| first.layout.places.at)
            .map_err(|(place, kind)| format!("{place}: {kind}"))
    }

    #[test]
    fn a_header_may_name_the_columns_in_any_order() {
        let line = "rssi;decode_delay;attempts;tx_time";
        let (wanted, unwanted) = (
            [Some(3), Some(1), Some(2), None],
            [Some(3), Some(1), None, None],
        );
        assert_eq!(places(line, "", true), Ok(wanted));
        assert_eq!(places(line, "", false), Ok(unwanted));
        let line = "rssi,decode_delay_ms,tx_time_ns";
        assert_eq!(places(line, "", true), Ok([Some(2), Some(1), None, None]));
    }

    #[test]
    fn a_mapping_selects_columns_by_name_or_by_number() {
        for (line, columns, expected) in [
            (
                "time,lost,snr",
                "tx=time,erased=lost",
                [Some(0), None, None, Some(1)],
            ),
            (
                "time,lost,d_ms",
                "tx=time,erased=lost,delay=d_ms",
                [Some(0), Some(2), None, Some(1)],
            ),
            (
                "tx_time,lost",
                "erased=lost,delay=3ms",
                [Some(0), None, None, Some(1)],
            ),
            (
                "tx_time,decode_delay,lost",
                "erased=lost",
                [Some(0), Some(1), None, Some(2)],
            ),
            (
                "lost,x",
                "interval=1ms,erased=lost",
                [None, None, None, Some(0)],
            ),
            ("1,2,3", "tx=3,delay=1", [Some(2), Some(0), None, None]),
            ("0", "interval=1ms,erased=1", [None, None, None, Some(0)]),
            ("5,0.1", "interval=1ms", [None, Some(1), None, None]),
            (
                "t_s,late",
                "tx=t_s,delay=late,erased=late",
                [Some(0), Some(1), None, Some(1)],
            ),
        ] {
            assert_eq!(
                places(line, columns, true),
                Ok(expected),
                "{line} {columns}"
            );
        }
    }

    #[test]
    fn a_column_that_is_missing_or_ambiguous_is_refused() {
        for (line, columns, words) in [
            (
                "time,delay",
                "tx=time",
                "0: found 'time,delay', expected a column decode_delay",
            ),
            ("time,lost", "tx=when,erased=lost", "expected a column when"),
            (
                "tx_time,decode_delay,tx_time_ms",
                "",
                "22: found the columns tx_time and tx_time_ms",
            ),
            ("a,b,a", "tx=a,erased=b", "5: found column a more than once"),
            (
                "1,2",
                "tx=time",
                "1: found a text without a header, where tx_time is to be 'time'",
            ),
            (
                "lost,tx_time_ms",
                "interval=1ms,erased=lost",
                "6: found the column tx_time_ms beside an interval, expected either times",
            ),
        ] {
            let error = places(line, columns, true).unwrap_err();
            assert!(error.contains(words), "{line} {columns}: {error}");
        }
    }
}
