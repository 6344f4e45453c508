//! Parameters of a process as the fields of a struct, each described once: name, type, kind, default and meaning.

use crate::types::Span;
use crate::types::named::Values;

/// Defines a struct of parameters with `PARAMETERS`, which describe them, `given`, which takes their values, and `Display`,
/// which writes the text of the process of the family.
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $type:ident of $family:ident {
            $($field:ident: $value:ty, $kind:expr, $placeholder:literal $(= $default:expr)?, $about:literal;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        $visibility struct $type {
            $(#[doc = $about] $field: $value,)+
        }

        impl $type {
            const PARAMETERS: &'static [Parameter] = &[$(
                parameters!(@declare stringify!($field), $kind $(, $default)?).described($placeholder, $about)
            ),+];

            /// Takes each parameter, without a check against the others.
            fn given(values: &Values) -> Self {
                Self {
                    $($field: <$value as $crate::channel::parameters::Field>::of(values, stringify!($field)),)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let parts = [$(format!("{}={}", stringify!($field), self.$field)),+];
                write!(f, "{}:{}", $family.name, parts.join(","))
            }
        }
    };
    (@declare $name:expr, $kind:expr) => {
        Parameter::required($name, $kind)
    };
    (@declare $name:expr, $kind:expr, $default:expr) => {
        Parameter::preset($name, $kind, $default)
    };
}

pub(super) use parameters;

/// A field of a struct of parameters.
pub(super) trait Field {
    /// The value with this name.
    fn of(values: &Values, name: &str) -> Self;
}

impl Field for f64 {
    fn of(values: &Values, name: &str) -> Self {
        values.number(name)
    }
}

impl Field for Span {
    fn of(values: &Values, name: &str) -> Self {
        values.duration(name)
    }
}
