//! Fields of a row by column name, and the canonical form of numbers in a log.

use std::fmt::Display;

use csv::ByteRecord;
use tmt_core::types::{NANOS_PER_SECOND, Time};

use super::finding::{Finding, shown};

/// Type of the value of a field.
pub(super) trait Field: Sized {
    /// Description of a valid field, for violations.
    const FORM: &'static str;

    fn read(text: &[u8]) -> Option<Self>;
}

/// The fields of a row with the right number of fields.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    record: &'a ByteRecord,
    columns: &'a [&'static str],
}

/// The columns of times, whose names end in `_s`.
const TIMES: [&str; 14] = [
    "sent",
    "enqueued",
    "service_start",
    "service_end",
    "delivered",
    "acked",
    "delay_propagation",
    "delay_queue",
    "delay_serialisation",
    "delay_wait",
    "left",
    "offered",
    "time",
    "arrival",
];

/// A header with the unit in the names of times. Logs of earlier versions have names without units, which is how the
/// auditor names columns.
pub(super) fn with_units(header: &str) -> String {
    let names = header.split(',').map(|name| {
        let end = if TIMES.contains(&name) { "_s" } else { "" };
        format!("{name}{end}")
    });
    names.collect::<Vec<_>>().join(",")
}

/// The line that was split into these fields.
pub(super) fn joined(record: &ByteRecord) -> Vec<u8> {
    record.iter().collect::<Vec<_>>().join(&b',')
}

impl<'a> Fields<'a> {
    pub(super) fn new(
        record: &'a ByteRecord,
        columns: &'a [&'static str],
    ) -> Result<Self, Finding> {
        let (found, expected) = (record.len(), columns.len());
        if found == expected {
            return Ok(Self { record, columns });
        }
        let found = format!("{found} fields in {}", shown(&joined(record)));
        Err(Finding::new(found, format_args!("{expected} fields")))
    }

    /// Whether the log has the column.
    pub(super) fn has(self, column: &str) -> bool {
        self.columns.contains(&column)
    }

    /// The field of a column; empty if the log does not have the column.
    pub(super) fn text(self, column: &str) -> &'a [u8] {
        let index = self.columns.iter().position(|name| *name == column);
        let field = index.and_then(|index| self.record.get(index));
        field.unwrap_or_default()
    }

    pub(super) fn get<F: Field>(self, column: &str) -> Result<F, Finding> {
        F::read(self.text(column)).ok_or_else(|| self.unfit(column, F::FORM))
    }

    /// The finding that a column holds something else than expected.
    pub(super) fn unfit(self, column: &str, expected: impl Display) -> Finding {
        let found = shown(self.text(column));
        Finding::new(format_args!("{column} {found}"), expected)
    }

    pub(super) fn ensure(
        self,
        holds: bool,
        column: &str,
        expected: impl Display,
    ) -> Result<(), Finding> {
        let unfit = (!holds).then(|| self.unfit(column, expected));
        unfit.map_or(Ok(()), Err)
    }
}

impl Field for u64 {
    const FORM: &'static str = "a whole number from 0 to 2^63 - 1";

    /// Reads a whole number in canonical form: digits only, no leading zeros.
    fn read(text: &[u8]) -> Option<Self> {
        let canonical =
            matches!(text, [b'0'] | [b'1'..=b'9', ..]) && text.iter().all(u8::is_ascii_digit);
        let number = canonical.then(|| std::str::from_utf8(text).ok()?.parse().ok())??;
        (number <= Time::MAX.as_nanos()).then_some(number)
    }
}

impl Field for Time {
    const FORM: &'static str = "seconds with nine decimals, up to 2^63 - 1 ns";

    fn read(text: &[u8]) -> Option<Self> {
        let (seconds, fraction) = text.split_at_checked(text.len().checked_sub(10)?)?;
        // Prefixed by 1, because a canonical number has no leading zeros.
        let nanos = [b"1", fraction.strip_prefix(b".")?].concat();
        u64::read(seconds)?
            .checked_mul(NANOS_PER_SECOND)?
            .checked_add(u64::read(&nanos)? - NANOS_PER_SECOND)
            .and_then(Self::from_nanos)
    }
}

/// A field that may be empty.
impl<F: Field> Field for Option<F> {
    const FORM: &'static str = F::FORM;

    fn read(text: &[u8]) -> Option<Self> {
        match text {
            [] => Some(None),
            _ => F::read(text).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_form_of_a_time_is_accepted() {
        assert_eq!(
            Time::read(b"12.000112820"),
            Time::from_nanos(12_000_112_820)
        );
        assert_eq!(Time::read(b"9223372036.854775807"), Some(Time::MAX));
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
            assert_eq!(Time::read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn only_the_canonical_form_of_a_whole_number_is_accepted() {
        assert_eq!(u64::read(b"0"), Some(0));
        assert_eq!(
            u64::read(b"9223372036854775807"),
            Some(i64::MAX.unsigned_abs())
        );
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
            assert_eq!(u64::read(text.as_bytes()), None, "{text}");
        }
    }
}
