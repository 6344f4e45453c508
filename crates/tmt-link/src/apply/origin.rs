//! Where a value comes from, as notes say it.

use std::fmt::Display;

/// Origin of values that are not given: the metadata of a trace, or the link of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The metadata of a trace.
    Metadata,
    /// The link to whose slots the channel belongs.
    Channel,
}

impl Origin {
    /// Its name as an origin.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Channel => "`channel`",
        }
    }

    /// The value of the parameter, else the one that is known, else the default; and its origin.
    pub fn chosen<T: PartialEq + Display>(
        self,
        key: &str,
        given: Option<T>,
        known: Option<T>,
        default: T,
    ) -> (T, String) {
        match (given, known) {
            (Some(given), Some(known)) if given != known => {
                let place = match self {
                    Self::Metadata => "in the metadata",
                    Self::Channel => "in `channel`",
                };
                (given, format!("{key}; {known} {place}"))
            }
            (Some(given), _) => (given, key.to_owned()),
            (None, Some(known)) => (known, self.name().to_owned()),
            (None, None) => (default, "default".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_that_of_whoever_says_it_first() {
        let chosen = |known: Origin, given, stored| {
            let (value, origin) = known.chosen("`rtt`", given, stored, 7);
            format!("{value} ({origin})")
        };
        let (metadata, channel) = (Origin::Metadata, Origin::Channel);
        for (known, given, stored, expected) in [
            (metadata, None, None, "7 (default)"),
            (metadata, None, Some(2), "2 (metadata)"),
            (metadata, Some(1), Some(2), "1 (`rtt`; 2 in the metadata)"),
            (metadata, Some(2), Some(2), "2 (`rtt`)"),
            (channel, None, Some(2), "2 (`channel`)"),
            (channel, Some(1), Some(2), "1 (`rtt`; 2 in `channel`)"),
            (channel, Some(1), None, "1 (`rtt`)"),
        ] {
            assert_eq!(chosen(known, given, stored), expected);
        }
    }
}
