//! The fields of a row by the names of their columns, and the one form of a number in a log.

use csv::ByteRecord;
use tmt_core::types::{NANOS_PER_SECOND, Time};

use super::finding::{Finding, shown};

/// The names of a log's columns.
pub(super) type Columns = &'static [&'static str];

/// The fields of a row that has as many as its header.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    record: &'a ByteRecord,
    columns: Columns,
}

/// Which of the `accepted` headers this one is.
pub(super) fn header(record: &ByteRecord, accepted: &[Columns]) -> Result<Columns, Finding> {
    let is = |names: Columns| record.iter().eq(names.iter().map(|name| name.as_bytes()));
    let found = accepted.iter().copied().find(|columns| is(columns));
    found.ok_or_else(|| {
        let expected = accepted.first().map(|columns| columns.join(","));
        Finding::new(
            shown(&joined(record)),
            format!("the header '{}'", expected.unwrap_or_default()),
        )
    })
}

/// The line that was cut into these fields.
pub(super) fn joined(record: &ByteRecord) -> Vec<u8> {
    record.iter().collect::<Vec<_>>().join(&b',')
}

impl<'a> Fields<'a> {
    pub(super) fn new(record: &'a ByteRecord, columns: Columns) -> Result<Self, Finding> {
        if record.len() == columns.len() {
            return Ok(Self { record, columns });
        }
        Err(Finding::new(
            format!("{} fields in {}", record.len(), shown(&joined(record))),
            format!("{} fields", columns.len()),
        ))
    }

    /// Whether the log has the column.
    pub(super) fn has(self, column: &str) -> bool {
        self.columns.contains(&column)
    }

    /// The field of a column; empty where the log does not have it.
    pub(super) fn text(self, column: &str) -> &'a [u8] {
        let index = self.columns.iter().position(|name| *name == column);
        index
            .and_then(|index| self.record.get(index))
            .unwrap_or_default()
    }

    pub(super) fn whole(self, column: &str) -> Result<u64, Finding> {
        whole(self.text(column))
            .ok_or_else(|| self.unfit(column, "a whole number from 0 to 2^63 - 1"))
    }

    pub(super) fn time(self, column: &str) -> Result<Time, Finding> {
        seconds(self.text(column))
            .ok_or_else(|| self.unfit(column, "seconds with nine decimals, up to 2^63 - 1 ns"))
    }

    /// A time that an empty field leaves out.
    pub(super) fn optional_time(self, column: &str) -> Result<Option<Time>, Finding> {
        let given = !self.text(column).is_empty();
        given.then(|| self.time(column)).transpose()
    }

    /// What was found in a column where something else was expected.
    pub(super) fn unfit(self, column: &str, expected: impl Into<String>) -> Finding {
        let found = format!("{column} {}", shown(self.text(column)));
        Finding::new(found, expected)
    }
}

/// A whole number in its one canonical form, up to 2^63 − 1.
pub(super) fn whole(text: &[u8]) -> Option<u64> {
    let canonical =
        matches!(text, [b'0'] | [b'1'..=b'9', ..]) && text.iter().all(u8::is_ascii_digit);
    let number: u64 = canonical.then(|| std::str::from_utf8(text).ok()?.parse().ok())??;
    (number <= Time::MAX.as_nanos()).then_some(number)
}

/// Seconds with exactly nine decimals.
pub(super) fn seconds(text: &[u8]) -> Option<Time> {
    let (seconds, fraction) = text.split_at_checked(text.len().checked_sub(10)?)?;
    let digits = fraction
        .strip_prefix(b".")
        .filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let nanos = digits
        .iter()
        .fold(0, |nanos, digit| nanos * 10 + u64::from(digit - b'0'));
    whole(seconds)?
        .checked_mul(NANOS_PER_SECOND)?
        .checked_add(nanos)
        .and_then(Time::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_form_of_a_time_is_taken() {
        assert_eq!(seconds(b"12.000112820"), Time::from_nanos(12_000_112_820));
        assert_eq!(seconds(b"9223372036.854775807"), Some(Time::MAX));
        for text in [
            "",
            "1",
            "1.5",
            ".000000000",
            "01.000000000",
            "+1.000000000",
            "-1.000000000",
            "1.0000000000",
            "1.00000000e",
            "9223372036.854775808",
            "99999999999999999999.000000000",
            " 1.000000000",
        ] {
            assert_eq!(seconds(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn only_the_canonical_form_of_a_whole_number_is_taken() {
        assert_eq!(whole(b"0"), Some(0));
        assert_eq!(whole(b"9223372036854775807"), Some(i64::MAX.unsigned_abs()));
        for text in [
            "",
            "00",
            "01",
            "-0",
            "+1",
            "1 ",
            "9223372036854775808",
            "99999999999999999999",
        ] {
            assert_eq!(whole(text.as_bytes()), None, "{text}");
        }
    }
}
