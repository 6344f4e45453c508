//! Flags that take a quantity, and the origin of the value used.

use std::ffi::OsStr;
use std::fmt;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use fluid_tcp::experiment::{DEFAULT_RTT, assumed_rtt};
use tmt_core::scheme::{FAMILIES, SchemeSpec};
use tmt_core::types::{Metadata, Span};

/// Reads a whole number from `least` to `most`.
pub(crate) fn whole<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number: Option<u64> = text.parse().ok();
        let number = number.filter(|number| (least..=most).contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("expected a whole number from {least} to {most}"))
    }
}

/// Reads a scheme, and offers the names of the families for completion.
#[derive(Debug, Clone)]
pub(crate) struct SchemeParser;

impl TypedValueParser for SchemeParser {
    type Value = SchemeSpec;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<SchemeSpec, clap::Error> {
        let parser = StringValueParser::new().try_map(|text: String| text.parse::<SchemeSpec>());
        parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = FAMILIES.iter().map(|family| family.name);
        Some(Box::new(names.map(PossibleValue::new)))
    }
}

/// Origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A flag.
    Flag,
    /// The head of the input.
    Metadata,
    /// The default.
    Default,
}

/// An RTT with its origin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rtt {
    pub(crate) value: Span,
    pub(crate) origin: Origin,
    /// The value in the head, if the flag overrides it.
    pub(crate) overridden: Option<Span>,
}

impl Rtt {
    /// The flag, else the head, else 500 ms.
    pub(crate) fn resolve(flag: Option<Span>, head: &Metadata) -> Self {
        let stored = head.rtt();
        let (value, origin) = match (flag, stored) {
            (Some(value), _) => (value, Origin::Flag),
            (None, Some(value)) => (value, Origin::Metadata),
            (None, None) => (DEFAULT_RTT, Origin::Default),
        };
        Self {
            value,
            origin,
            overridden: stored.filter(|stored| *stored != value),
        }
    }
}

impl Rtt {
    /// The warning on an RTT that is assumed.
    pub(crate) fn warning(&self) -> Option<String> {
        (self.origin == Origin::Default).then(|| assumed_rtt("--rtt or in the trace").text)
    }
}

impl fmt::Display for Rtt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, .. } = self;
        match (self.origin, self.overridden) {
            (Origin::Flag, None) => write!(f, "RTT {value} (--rtt)"),
            (Origin::Flag, Some(stored)) => {
                write!(f, "RTT {value} (--rtt; {stored} in the metadata)")
            }
            (Origin::Metadata, _) => write!(f, "RTT {value} (metadata)"),
            (Origin::Default, _) => write!(f, "RTT {value} (default)"),
        }
    }
}
