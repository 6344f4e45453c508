//! Keywords: settings with a fixed set of named values.

/// Implements `VARIANTS` (for help and completions), `name`, `Display` and `FromStr` for an enum of unit variants. The
/// error of `FromStr` lists the accepted names.
#[macro_export]
macro_rules! keywords {
    ($type:ident { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $type {
            /// Names of all values, as accepted by `from_str`.
            pub const VARIANTS: &'static [&'static str] = &[$($name),+];

            /// Name of the value, as accepted by `from_str`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::named::ParseError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err($crate::named::unknown(text, Self::VARIANTS)),
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
