//! Scenarios as data. A new scenario is an entry in one of the TOML files beside this file.

use std::sync::LazyLock;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use toml::{Table, Value};

use crate::types::Bytes;
use crate::types::named::{Kind, Parameter};

/// Files of scenarios, in the order in which lists show them.
pub(super) const FILES: [&str; 6] = [
    include_str!("land_mobile.toml"),
    include_str!("gilbert_elliott.toml"),
    include_str!("papers.toml"),
    include_str!("starlink.toml"),
    include_str!("corpus.toml"),
    include_str!("capacity.toml"),
];

static SCENARIOS: LazyLock<[Result<Vec<Scenario>, toml::de::Error>; 6]> =
    LazyLock::new(|| FILES.map(read));

/// All scenarios, in the order in which lists show them.
pub fn scenarios() -> impl Iterator<Item = &'static Scenario> {
    // A test reads every file.
    SCENARIOS.iter().flatten().flatten()
}

/// A file of scenarios.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    /// Keys that all scenarios of the file share.
    #[serde(default)]
    common: Table,
    scenario: Vec<Table>,
}

/// The scenarios of a file.
pub(super) fn read(text: &str) -> Result<Vec<Scenario>, toml::de::Error> {
    let ScenarioFile { common, scenario } = toml::from_str(text)?;
    let completed = |own| complete(own, &common).try_into();
    scenario.into_iter().map(completed).collect()
}

/// A scenario with what all of its file share. Its own values come first; lists are joined.
fn complete(mut own: Table, common: &Table) -> Table {
    for (key, shared) in common {
        match (own.get_mut(key), shared) {
            (Some(Value::Array(own)), Value::Array(shared)) => own.extend_from_slice(shared),
            (Some(_), _) => {}
            (None, _) => {
                own.insert(key.clone(), shared.clone());
            }
        }
    }
    own
}

/// A size as a text with its unit.
fn size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map(Some).map_err(D::Error::custom)
}

/// A named scenario: a link, an erasure process on its slots, and the load that its paper puts on it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name, as users type it.
    pub name: String,
    /// Description, one line.
    pub about: String,
    /// Where it comes from: label of docs/bibliography.md with its section, or `ours`.
    pub source: String,
    /// Name of the family of its erasure process.
    pub family: String,
    /// Whether slots that the process takes are withheld instead of erased: the link does not offer them, so that packets wait
    /// for others.
    #[serde(default)]
    pub withholds: bool,
    /// Header of an LLDU, part of its size; `None` if later stages choose it.
    #[serde(default, deserialize_with = "size")]
    pub lldu_header: Option<Bytes>,
    /// A value for each key of [`LINK`], and for the keys of the family whose default is not that of the scenario.
    pub settings: Vec<Setting>,
    /// Flags of `tmt apply` and `tmt tcp` that put the load of the source on the link.
    pub load: String,
    /// Caveats that a user has to know.
    pub notes: Vec<String>,
}

/// The parameters of the link, in the order in which they are printed.
pub static LINK: &[Parameter] = &[
    link(
        "rate",
        Kind::Rate,
        "rate of all slots, LLDU headers included",
    ),
    link(
        "every",
        Kind::Count(1, 1_000_000),
        "one slot in this many belongs to the user, from slot 0 on; 1: all. The user's rate is the rate over this number",
    ),
    link("lldu", Kind::Size, "size of an LLDU"),
    link("rtt", Kind::DURATION, "RTT of the link, propagation only"),
    link(
        "interleaver",
        Kind::DURATION,
        "depth of the physical-layer interleaver; 0s: none",
    ),
    link("duration", Kind::PERIOD, "length of the trace"),
];

const fn link(name: &'static str, kind: Kind, about: &'static str) -> Parameter {
    Parameter::required(name, kind).described("", about)
}

/// Who chose a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
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
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Name of the parameter.
    pub key: String,
    /// Its value, as users type it.
    pub value: String,
    /// Who chose the value.
    pub origin: Origin,
    /// Where the value is from, the range that the source gives, or the reason for the choice; may be empty.
    #[serde(default)]
    pub remark: String,
}
