//! Filters of ACKs before the return path (`--ack-filter`), and their registry; RFC 3449, Sec. 5.2.
//!
//! An ACK that arrives takes the place of the one before it of its flow, if that still waits and both are pure: they
//! acknowledge new data and carry nothing else, no SACK block, D-SACK, ECN echo or window update. A duplicate ACK neither
//! replaces another nor is replaced, and an ACK with duplicates behind it stays, so that the sender counts all of them.

use tmt_core::named::{self, Family, Kind, Own, Parameter, Value, Values};
use tmt_core::types::Span;

/// How a filter treats pure ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rule {
    /// Number of ACKs that one replaces and is, after which it is sent.
    pub together: u64,
    /// Longest time for which an ACK is held back until [`Self::together`] have come.
    pub hold: Span,
}

/// Constructor of the rule of a filter; `None` filters nothing.
#[derive(Debug, Clone, Copy)]
pub struct Make(pub fn(&Values) -> Option<Rule>);

/// Registry entry of a filter: name, parameters and rule.
pub type Entry = named::Entry<Make>;

/// Filter of ACKs with its parameters, such as `thin:n=4,hold=50ms` (`--ack-filter`).
///
/// ```
/// use fluid_tcp::simulation::AckFilter;
///
/// assert_eq!("thin:n=2".parse::<AckFilter>()?.to_string(), "thin:n=2,hold=100ms");
/// assert_eq!(AckFilter::default().to_string(), "off");
/// assert!("thin:n=1".parse::<AckFilter>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type AckFilter = named::Choice<Make>;

/// No filter.
pub static OFF: Entry = Entry {
    name: "off",
    about: "every ACK is sent",
    parameters: &[],
    examples: &["off"],
    make: Make(|_| None),
};

/// ACK filtering (RFC 3449, Sec. 5.2.1).
pub static FILTER: Entry = Entry {
    name: "filter",
    about: "a pure ACK replaces the one before it of its flow that waits (RFC 3449, Sec. 5.2.1)",
    parameters: &[],
    examples: &["filter"],
    make: Make(|_| {
        Some(Rule {
            together: 1,
            hold: Span::ZERO,
        })
    }),
};

/// Thinning: filtering that waits for ACKs to replace.
pub static THIN: Entry = Entry {
    name: "thin",
    about: "the same, and holds a pure ACK back until it is one for n, for a limited time (as RFC 3449, Sec. 5.2.2)",
    parameters: &[
        Parameter::preset("n", Kind::Count(2, 1024), Value::Count(4)),
        Parameter::duration("hold", Span::from_millis(100)),
    ],
    examples: &["thin", "thin:n=2,hold=20ms"],
    make: Make(|values| {
        Some(Rule {
            together: values.count("n"),
            hold: values.duration("hold"),
        })
    }),
};

/// Registry of filters. To add one, write an entry and a line here.
pub static ENTRIES: &[&Entry] = &[&OFF, &FILTER, &THIN];

impl Family for Make {
    const KIND: &'static str = "ACK filter";
    const ENTRIES: &'static [&'static Entry] = ENTRIES;
    const DEFAULT: &'static Entry = &OFF;

    fn own() -> &'static Own<Entry> {
        static OWN: Own<Entry> = Own::new();
        &OWN
    }
}

/// The rule of a filter; `None` if it filters nothing.
#[must_use]
pub fn rule(filter: &AckFilter) -> Option<Rule> {
    (filter.entry().make.0)(filter.values())
}
