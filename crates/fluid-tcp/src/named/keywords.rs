//! Keywords: settings with a fixed set of named values.

use tmt_core::model::nearest;

use super::ParseError;

/// Implements `VARIANTS` (for help and completions), `name`, `Display` and `FromStr` for an enum of unit variants. The
/// error of `FromStr` lists the accepted names.
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

/// Error message for `text`, which is not one of `names`.
pub(crate) fn unknown(text: &str, names: &[&str]) -> ParseError {
    let expected = match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    };
    let suggestion = nearest(text, names.iter().copied()).map_or_else(String::new, |nearest| {
        format!(" (did you mean '{nearest}'?)")
    });
    ParseError(format!("found '{text}'{suggestion}, expected {expected}"))
}

#[cfg(test)]
mod tests {
    use crate::endpoint::{CutFrom, LossDetection, Profile, Recovery, RttSampling, TimerRestart};
    use crate::link::Overlap;
    use crate::link::gateway::{Hold, InOrder, Tail};
    use crate::simulation::SplitWindow;

    #[test]
    fn displayed_names_are_parsed_and_others_are_refused() {
        macro_rules! check {
            ($($type:ident: $names:literal),+) => {$(
                assert_eq!($type::VARIANTS.join(" "), $names);
                for name in $type::VARIANTS {
                    assert_eq!(name.parse::<$type>().unwrap().to_string(), *name);
                }
                let error = "Sent".parse::<$type>().unwrap_err().to_string();
                for name in $type::VARIANTS {
                    assert!(error.contains(name), "{error}");
                }
            )+};
        }
        check!(
            Profile: "ns2 rfc linux", CutFrom: "flight window cwnd", LossDetection: "dupack rack",
            Recovery: "halving prr prr-9937", RttSampling: "window ack sack",
            TimerRestart: "acked sacked", Hold: "sent acknowledged",
            InOrder: "link flow off", Tail: "short pad", SplitWindow: "whole share", Overlap: "asap shift"
        );
        assert_eq!(
            "x".parse::<InOrder>().unwrap_err().to_string(),
            "found 'x', expected link, flow or off"
        );
        assert_eq!(
            "Linux".parse::<Profile>().unwrap_err().to_string(),
            "found 'Linux' (did you mean 'linux'?), expected ns2, rfc or linux"
        );
    }
}
