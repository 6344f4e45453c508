//! What a scenario is, as data. A new scenario is an entry in one of the tables beside this file.

use crate::types::Bytes;

/// A named scenario: a link, an erasure process on its slots, and the load that its paper puts on it.
#[derive(Debug)]
pub struct Scenario {
    /// Name, as users type it.
    pub name: &'static str,
    /// Description, one line.
    pub about: &'static str,
    /// Where it comes from: label of docs/bibliography.md with its section, or `ours`.
    pub source: &'static str,
    /// Name of the family of its erasure process.
    pub family: &'static str,
    /// Whether slots that the process takes are withheld instead of erased: the link does not offer them, so that packets wait
    /// for others.
    pub withholds: bool,
    /// Header of an LLDU, part of its size; `None` if later stages choose it.
    pub lldu_header: Option<Bytes>,
    /// A value for each key of [`LINK`], and for the keys of the family whose default is not that of the scenario.
    pub settings: &'static [Setting],
    /// Flags of `tmt apply` and `tmt tcp` that put the load of the source on the link.
    pub load: &'static str,
    /// What a user has to know before using it.
    pub notes: &'static [&'static str],
}

/// A parameter of every scenario: one of its link.
#[derive(Debug)]
pub struct LinkKey {
    /// Name of the parameter.
    pub name: &'static str,
    /// Description with the range of values.
    pub about: &'static str,
}

const fn link(name: &'static str, about: &'static str) -> LinkKey {
    LinkKey { name, about }
}

/// The parameters of the link, in the order in which they are printed.
pub static LINK: &[LinkKey] = &[
    link("rate", "rate of all slots, LLDU headers included"),
    link(
        "every",
        "one slot in this many belongs to the user, from slot 0 on; 1: all. The user's rate is the rate over this number",
    ),
    link("lldu", "size of an LLDU"),
    link("rtt", "RTT of the link, propagation only"),
    link(
        "interleaver",
        "depth of the physical-layer interleaver; 0s: none",
    ),
    link("duration", "length of the trace"),
];

/// Who chose a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Origin {
    /// The source states it.
    Published,
    /// We estimated it from measurements of the source, which state no such number (docs/corpus.md).
    Fitted,
    /// We chose it: the source leaves it open.
    Ours,
}

impl Origin {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Default of a parameter in a scenario.
#[derive(Debug)]
pub struct Setting {
    /// Name of the parameter.
    pub key: &'static str,
    /// Its value, as users type it.
    pub value: &'static str,
    /// Who chose the value.
    pub origin: Origin,
    /// Where the value is from, the range that the source gives, or the reason for the choice; may be empty.
    pub remark: &'static str,
}

/// A value that the source states.
pub(super) const fn published(
    key: &'static str,
    value: &'static str,
    remark: &'static str,
) -> Setting {
    Setting {
        key,
        value,
        origin: Origin::Published,
        remark,
    }
}

/// A value that was estimated from a trace.
pub(super) const fn fitted(
    key: &'static str,
    value: &'static str,
    remark: &'static str,
) -> Setting {
    Setting {
        origin: Origin::Fitted,
        ..published(key, value, remark)
    }
}

/// A value that the source leaves open.
pub(super) const fn ours(key: &'static str, value: &'static str, remark: &'static str) -> Setting {
    Setting {
        origin: Origin::Ours,
        ..published(key, value, remark)
    }
}
