//! Flags that take a quantity, and where the value that is used came from.

use std::fmt;
use std::str::FromStr;

use tmt_core::types::{Metadata, Span};

use crate::exit::{Failure, Outcome};

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A flag was given.
    Flag,
    /// The head of the input.
    Metadata,
    /// Neither.
    Default,
}

/// The papers' GEO round trip, used where nothing says another (link-layer.md §10).
pub(crate) const DEFAULT_RTT: Span = Span::from_millis(500);

/// A round-trip time with its origin, and what the head said where a flag overrode it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rtt {
    pub(crate) value: Span,
    pub(crate) origin: Origin,
    pub(crate) overridden: Option<Span>,
}

impl Rtt {
    /// The flag, else the head, else 500 ms.
    pub(crate) fn resolve(flag: Option<Span>, head: &Metadata) -> Self {
        let told = head.rtt();
        let (value, origin) = match (flag, told) {
            (Some(value), _) => (value, Origin::Flag),
            (None, Some(value)) => (value, Origin::Metadata),
            (None, None) => (DEFAULT_RTT, Origin::Default),
        };
        Self {
            value,
            origin,
            overridden: told.filter(|told| *told != value),
        }
    }
}

impl fmt::Display for Rtt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rtt {}", self.value)?;
        match (self.origin, self.overridden) {
            (Origin::Flag, None) => f.write_str(" (--rtt)"),
            (Origin::Flag, Some(told)) => write!(f, " (--rtt; the metadata says {told})"),
            (Origin::Metadata, _) => f.write_str(" (metadata)"),
            (Origin::Default, _) => {
                f.write_str(" (default, the papers' GEO link: neither --rtt nor metadata says)")
            }
        }
    }
}

/// What `--feedback-delay` takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Feedback {
    Interleaver,
    Of(Span),
}

impl FromStr for Feedback {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "interleaver" {
            return Ok(Self::Interleaver);
        }
        text.parse()
            .map(Self::Of)
            .map_err(|error| format!("{error}, or 'interleaver'"))
    }
}

impl Feedback {
    /// The feedback delay and the words that say where it came from.
    pub(crate) fn resolve(flag: Option<Self>, head: &Metadata) -> Outcome<(Span, String)> {
        match flag {
            None => Ok((
                Span::ZERO,
                "0s (default, as in the papers' equations)".to_owned(),
            )),
            Some(Self::Of(span)) => Ok((span, format!("{span} (--feedback-delay)"))),
            Some(Self::Interleaver) => match head.interleaver() {
                Some(span) => Ok((span, format!("{span} (interleaver_ns of the metadata)"))),
                None => Err(Failure::failed(
                    "--feedback-delay interleaver: found no interleaver_ns in the metadata, expected one (or say a duration)",
                )),
            },
        }
    }
}
