//! Parameters of a process as the fields of a struct, each described once: name, type, text, default and meaning.

use super::ChannelError;
use crate::types::Span;

/// Defines a struct of parameters with `KEYS`, which describe them, `given`, which reads them from the text of a process
/// of the family, and `Display`, which writes that text.
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $type:ident of $family:ident {
            $($field:ident: $value:ty, $read:path, $placeholder:literal $(= $preset:literal)?, $about:literal;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        $visibility struct $type {
            $(#[doc = $about] $field: $value,)+
        }

        impl $type {
            const KEYS: &'static [Key] = &[$(
                parameters!(@key stringify!($field), $placeholder, $about $(, $preset)?)
            ),+];

            /// Reads each parameter, without a check against the others.
            fn given(text: &str) -> Result<Self, ChannelError> {
                let [$($field),+] = $family.values(text)?;
                Ok(Self {
                    $($field: $crate::channel::parameters::read(stringify!($field), $field, $read)?,)+
                })
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let parts = [$(format!("{}={}", stringify!($field), self.$field)),+];
                write!(f, "{}:{}", $family.name, parts.join(","))
            }
        }
    };
    (@key $name:expr, $placeholder:literal, $about:literal) => {
        Key::needed($name, $placeholder, $about)
    };
    (@key $name:expr, $placeholder:literal, $about:literal, $preset:literal) => {
        Key::preset($name, $placeholder, $preset, $about)
    };
}

pub(super) use parameters;

/// Reads the value `text` of the parameter `key`.
pub(super) fn read<T>(
    key: &str,
    text: &str,
    value: fn(&str) -> Result<T, String>,
) -> Result<T, ChannelError> {
    value(text).map_err(|error| ChannelError(format!("'{key}={text}': {error}")))
}

/// A duration with its unit.
pub(super) fn span(text: &str) -> Result<Span, String> {
    text.parse().map_err(|error| format!("{error}"))
}

/// A probability, from 0 to 1.
pub(super) fn probability(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    value.ok_or_else(|| "expected a probability from 0 to 1".to_owned())
}

/// A number.
pub(super) fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "expected a number".to_owned())
}
