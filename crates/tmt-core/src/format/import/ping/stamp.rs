//! Times before lines and in tables: seconds since 1970, or date and time of day.

use chrono::NaiveDate;

use crate::format::text::nanos;
use crate::format::unit::Unit;

/// A time, ns since 1970; a date without an offset from UTC is taken as UTC, since only differences count. `unit` is that
/// of a number. `None` if `text` is neither.
pub(super) fn parse(text: &[u8], unit: Unit) -> Option<i64> {
    let is_date = text.get(4) == Some(&b'-') && text.get(7) == Some(&b'-');
    if is_date {
        return date_time(std::str::from_utf8(text).ok()?);
    }
    i64::try_from(nanos(text, unit, "time").ok()?).ok()
}

/// `YYYY-MM-DD`, `T` or a space, `HH:MM:SS[.fraction]`, and perhaps `Z`, `+HH:MM` or `+HHMM`.
fn date_time(text: &str) -> Option<i64> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, offset_s) = with_offset(rest)?;
    let mut date = date.split('-');
    let date = NaiveDate::from_ymd_opt(
        date.next()?.parse().ok()?,
        number(date.next()?)?,
        number(date.next()?)?,
    )?;
    let (hour, rest) = clock.split_once(':')?;
    let (minute, second) = rest.split_once(':')?;
    let (second, fraction) = second.split_once('.').unwrap_or((second, "0"));
    let fraction = nanos(format!(".{fraction}").as_bytes(), Unit::Seconds, "time").ok()?;
    let time = date.and_hms_nano_opt(
        number(hour)?,
        number(minute)?,
        number(second)?,
        u32::try_from(fraction).ok()?,
    )?;
    let since_1970 = time.and_utc().timestamp_nanos_opt()?;
    since_1970.checked_sub(offset_s * 1_000_000_000)
}

/// A time of day, and the offset from UTC behind it, s.
fn with_offset(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(sign) = text.rfind(['+', '-']) else {
        return Some((text, 0));
    };
    let (clock, offset) = (&text[..sign], &text[sign + 1..]);
    let (hours, minutes) = match offset.split_once(':') {
        Some(parts) => parts,
        None if offset.len() == 4 && offset.is_ascii() => offset.split_at(2),
        None => (offset, "0"),
    };
    let seconds = i64::from(number(hours)? * 60 + number(minutes)?) * 60;
    let is_west = text.as_bytes()[sign] == b'-';
    Some((clock.trim_end(), if is_west { -seconds } else { seconds }))
}

/// At most two digits.
fn number(text: &str) -> Option<u32> {
    let is_number = matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_time_is_read_and_others_are_not() {
        // `date -u -d '2024-05-27 15:16:48' +%s`
        const AT: i64 = 1_716_823_008_000_000_000;
        for text in [
            "2024-05-27T11:16:48.964186-04:00",
            "2024-05-27T11:16:48.964186-0400",
            "2024-05-27 15:16:48.964186",
            "2024-05-27T15:16:48.964186Z",
            "2024-05-27T20:46:48.964186+05:30",
            "1716823008.964186",
        ] {
            let found = parse(text.as_bytes(), Unit::Seconds);
            assert_eq!(found, Some(AT + 964_186_000), "{text}");
        }
        assert_eq!(
            parse(b"1716823008964", Unit::Milliseconds),
            Some(AT + 964_000_000)
        );
        assert_eq!(parse(b"1970-01-01 00:00:00", Unit::Seconds), Some(0));
        assert_eq!(
            parse(b"2024-02-29 00:00:00", Unit::Seconds),
            Some(1_709_164_800_000_000_000)
        );
        for text in [
            "s",
            "2023-02-29 00:00:00",
            "2024-05-27",
            "2024-05-27 25:00:00",
            "2024-05-27 11:16",
            "2024-05-27 11:16:48.x",
            "2024-05-27 11:16:48+aa",
            "-5",
            "",
        ] {
            assert_eq!(parse(text.as_bytes(), Unit::Seconds), None, "{text}");
        }
    }
}
