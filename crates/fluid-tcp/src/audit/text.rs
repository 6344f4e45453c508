//! Fields of rows and values of the head, read by serde in the canonical form of a log.

use std::fmt::Display;

use serde::de::value::MapDeserializer;
use serde::de::{self, Deserialize, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use tmt_core::types::{NANOS_PER_SECOND, Time};

use super::finding::{Finding, unfit};

/// Reads the texts of a row or head by their names. `missing` is what a name without a text is reported as.
pub(super) fn read<'a, T: Deserialize<'a>>(
    texts: impl Iterator<Item = (&'a str, &'a [u8])>,
    missing: impl Fn(&str) -> Finding,
) -> Result<T, Finding> {
    let mut latest = ("", &b""[..]);
    let texts = texts.map(|(name, text)| {
        latest = (name, text);
        (name, Text(text))
    });
    T::deserialize(MapDeserializer::new(texts)).map_err(|refusal| match refusal {
        Refusal::Missing(name) => missing(name),
        Refusal::Unfit(expected) => unfit(latest.0, latest.1, expected),
    })
}

/// Reads a whole number in canonical form: digits only, no leading zeros, at most 2^63 - 1.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let canonical = matches!(text, [b'0'] | [b'1'..=b'9', ..]);
    digits(text).filter(|number| canonical && *number <= Time::MAX.as_nanos())
}

fn digits(text: &[u8]) -> Option<u64> {
    let are_digits = text.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(text).ok().filter(|_| are_digits);
    text?.parse().ok()
}

/// A time with nine decimals.
#[derive(Clone, Copy)]
pub(super) struct Seconds(pub(super) Time);

impl Seconds {
    fn of(text: &[u8]) -> Option<Self> {
        let (seconds, fraction) = text.split_at_checked(text.len().checked_sub(10)?)?;
        let nanos = digits(fraction.strip_prefix(b".")?)?;
        let seconds = number(seconds)?.checked_mul(NANOS_PER_SECOND)?;
        let nanos = seconds.checked_add(nanos)?;
        Time::from_nanos(nanos).map(Self)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let time = Self::of(Deserialize::deserialize(deserializer)?);
        time.ok_or_else(|| de::Error::custom("seconds with nine decimals, up to 2^63 - 1 ns"))
    }
}

/// Why a text was refused: its name has none, or what was expected instead.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
enum Refusal {
    Missing(&'static str),
    Unfit(String),
}

impl de::Error for Refusal {
    fn custom<T: Display>(expected: T) -> Self {
        Self::Unfit(expected.to_string())
    }

    /// Only 0 is read as a number and refused.
    fn invalid_value(_: Unexpected<'_>, _: &dyn Expected) -> Self {
        Self::custom("a whole number from 1 to 2^63 - 1")
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(expected.join(" or "))
    }

    fn missing_field(name: &'static str) -> Self {
        Self::Missing(name)
    }
}

/// A text that is there.
struct Text<'a>(&'a [u8]);

impl<'de> IntoDeserializer<'de, Refusal> for Text<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_borrowed_bytes(self.0)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        let number = number(self.0);
        let expected = || de::Error::custom("a whole number from 0 to 2^63 - 1");
        visitor.visit_u64(number.ok_or_else(expected)?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &str,
        _: &[&str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_enum(String::from_utf8_lossy(self.0).into_deserializer())
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_form_of_a_time_is_accepted() {
        let read = |text: &str| Seconds::of(text.as_bytes()).map(|seconds| seconds.0);
        assert_eq!(read("12.000112820"), Time::from_nanos(12_000_112_820));
        assert_eq!(read("9223372036.854775807"), Some(Time::MAX));
        let wrong = ",1,1.5,.000000000,01.000000000,+1.000000000,-1.000000000,1.0000000000,1.00000000e,\
                     9223372036.854775808,99999999999999999999.000000000, 1.000000000";
        for text in wrong.split(',') {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn only_the_canonical_form_of_a_whole_number_is_accepted() {
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"9223372036854775807"), Some(i64::MAX as u64));
        for text in ",00,01,-0,+1,1 ,9223372036854775808,99999999999999999999".split(',') {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }
}
