//! Parameter sets: named values of some parameters, fitted or published as a whole. A new one is an entry here.

use super::registry::Scenario;
use crate::types::named::{ParseError, unknown_of};

/// Values that belong together, for the scenarios that have all of these parameters.
#[derive(Debug)]
pub struct ParameterSet {
    /// Name, as users type it.
    pub name: &'static str,
    /// Description, one line.
    pub about: &'static str,
    /// Parameters and their values.
    pub values: &'static [(&'static str, &'static str)],
    /// Scenarios for which the values were fitted; empty: all.
    pub scenarios: &'static [&'static str],
}

/// The links whose channel the fits are about: one simulator, one terminal.
const KUHN: &[&str] = &[
    "distribution-up",
    "distribution-down",
    "internet-interleaved",
    "internet",
];

/// All sets. The first is the default and has no values: every scenario's own are in its table.
///
/// The free numbers of the fits are `implementation-loss`, `deep-shadow` and `word-variation`
/// (`fixtures/studies/calibration`); nothing else is ever fitted.
pub static PARAMETER_SETS: &[ParameterSet] = &[
    ParameterSet {
        name: "published",
        about: "published channel statistics and codes as they are, without implementation loss",
        values: &[],
        scenarios: &[],
    },
    ParameterSet {
        name: "kuhn-loss",
        about: "ours: implementation loss fitted to NewReno with ARQ of Kuhn 2015, Table 3, and CLIFT 2014, Sec. VI",
        values: &[("implementation-loss", "2.65dB")],
        scenarios: KUHN,
    },
    ParameterSet {
        name: "kuhn-fitted",
        about: "ours: three numbers fitted to those figures and NewReno with HARQ(10/15), Table 3; the others are predictions",
        values: &[
            ("implementation-loss", "0.35dB"),
            ("deep-shadow", "0.25"),
            ("word-variation", "1.5dB"),
        ],
        scenarios: KUHN,
    },
];

impl ParameterSet {
    /// The value of `key`, if the set has one.
    pub(super) fn value(&self, key: &str) -> Option<&'static str> {
        let found = self.values.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| *value)
    }

    /// Whether the set is meant for `scenario`.
    pub(super) fn fits(&self, scenario: &Scenario) -> bool {
        self.scenarios.is_empty() || self.scenarios.contains(&scenario.name.as_str())
    }

    /// The set called `name` for `scenario`; the first without a name.
    pub(super) fn for_scenario(
        scenario: &Scenario,
        name: Option<&str>,
    ) -> Result<&'static Self, ParseError> {
        let sets = || PARAMETER_SETS.iter().filter(|set| set.fits(scenario));
        let named = |set: &&Self| name.is_none_or(|name| set.name == name);
        sets().find(named).ok_or_else(|| {
            let name = name.unwrap_or_default();
            unknown_of("parameter set", name, sets().map(|set| set.name))
        })
    }
}
