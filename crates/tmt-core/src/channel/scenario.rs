//! `scenario`: a named link with its erasure process (docs/scenarios.md).
//!
//! A scenario is data ([`Scenario`]): values for the parameters of a link ([`LINK`]) and of a family of processes. Values of the
//! user, or of a [`ParameterSet`], replace them; the rest are the scenario's, then those of the family. The result is a process
//! like any other, which also knows its link, so that the same text gives the same slots in `tmt synth`, on a trace and on a
//! coupled link.

mod link;
mod registry;
mod sets;
mod share;

use std::fmt;
use std::sync::Arc;

pub use registry::{LINK, Origin, Scenario, Setting, scenarios};
pub use sets::{PARAMETER_SETS, ParameterSet};

use self::link::slot_link;
use self::share::Share;
use super::family::{Family, Make};
use super::process::{Erasing, Process, SlotLink, Use};
use super::{ChannelError, FAMILIES, SlotChannel};
use crate::radio::{RadioChannel, Series};
use crate::types::Span;
use crate::types::named::{Kind, Parameter, ParseError, Values, pairs, parts, unknown_of};

/// Key that selects a parameter set.
pub const SET: &str = "parameter-set";

pub(super) static FAMILY: Family = Family {
    name: "scenario",
    about: "A named link with its channel; `tmt synth --list` shows all",
    parameters: &[Parameter::required("scenario", Kind::Rest)
        .without_name()
        .described(
            "NAME[,KEY=VALUE…]",
            "name of a scenario, then any of its parameters",
        )],
    examples: &[
        "scenario:barakat,parameter-set=published,rate=2Mbps,every=1,lldu=25B,rtt=200ms,interleaver=0s,duration=2000s,p=0.001",
    ],
    make: Make::timed(|values| {
        let configured: Configured = values.text("scenario").parse()?;
        let scenario = configured.scenario;
        if scenario.withholds {
            return Err(scenario.refuse(ChannelError::Misfit(
                "found a link that withholds slots, expected one that erases them; `tmt synth --scenario` writes the slots that it \
                 offers"
                    .to_owned(),
            )));
        }
        Ok(SlotChannel::Timed(Arc::new(configured)))
    }),
};

/// The scenario called `name`.
///
/// # Errors
/// No scenario has the name. The error lists all names, and the nearest one.
pub fn named(name: &str) -> Result<&'static Scenario, ParseError> {
    let found = scenarios().find(|scenario| scenario.name == name);
    found.ok_or_else(|| {
        let names = scenarios().map(|scenario| scenario.name.as_str());
        unknown_of("scenario", name, names)
    })
}

impl Scenario {
    /// The family of the erasure process.
    #[must_use]
    pub fn family(&self) -> Option<&'static Family> {
        FAMILIES
            .iter()
            .find(|family| family.name == self.family)
            .copied()
    }

    /// Parameter sets that set a parameter of this scenario, the published one first.
    pub fn sets(&self) -> impl Iterator<Item = &'static ParameterSet> {
        PARAMETER_SETS.iter().filter(|set| set.fits(self))
    }

    /// All parameters: those of the link, then those of the process.
    pub fn parameters(&self) -> impl Iterator<Item = &'static Parameter> {
        let of_process = self
            .family()
            .map_or(&[][..], |family| family.parameters)
            .iter();
        let in_link = |name: &str| LINK.iter().any(|parameter| parameter.name == name);
        LINK.iter()
            .chain(of_process.filter(move |parameter| !in_link(parameter.name)))
    }

    fn refuse(&'static self, why: impl Into<ChannelError>) -> ChannelError {
        ChannelError::Scenario {
            name: &self.name,
            why: Box::new(why.into()),
        }
    }

    /// The scenario's own default of a parameter; `None` if it is that of the family.
    #[must_use]
    pub fn setting(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key == key)
    }

    /// A parameter with its default, which is its value, too, and who chose it.
    fn preset(&'static self, parameter: &'static Parameter) -> Configuration {
        let setting = self.setting(parameter.name);
        let default = match setting {
            Some(setting) => setting.value.clone(),
            None => parameter.default_text(),
        };
        Configuration {
            parameter,
            value: default.clone(),
            default,
            origin: setting.map_or(Origin::Ours, |setting| setting.origin),
            remark: setting.map_or("", |setting| &setting.remark),
        }
    }
}

/// A parameter of a scenario, with its value.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// The parameter.
    pub parameter: &'static Parameter,
    /// Value in use.
    pub value: String,
    /// Value without a parameter set and without a user's value.
    pub default: String,
    /// Who chose the default.
    pub origin: Origin,
    /// Where the default is from; may be empty.
    pub remark: &'static str,
}

/// A scenario with all its parameters. It displays as the text of the family `scenario`.
#[derive(Debug, Clone)]
pub struct Configured {
    scenario: &'static Scenario,
    set: &'static ParameterSet,
    parameters: Vec<Configuration>,
    link: SlotLink,
    process: SlotChannel,
}

impl Configured {
    /// The scenario with the values of `given`, and those of the parameter set that `given` names.
    ///
    /// # Errors
    /// A key that the scenario does not have or that occurs twice, or a value that cannot be read.
    pub fn new<'t>(
        scenario: &'static Scenario,
        given: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Self, ChannelError> {
        let refuse = |error| scenario.refuse(error);
        let mut values: Vec<(&str, &str)> = Vec::new();
        for (key, value) in given {
            if values.iter().any(|(known, _)| *known == key) {
                return Err(scenario.refuse(ParseError::Twice(key.to_owned())));
            }
            let mut names = scenario.parameters().map(|parameter| parameter.name);
            if key != SET && names.all(|known| known != key) {
                let names = scenario.parameters().map(|parameter| parameter.name);
                return Err(scenario.refuse(unknown_of("parameter", key, names)));
            }
            values.push((key, value));
        }
        let of = |key: &str| {
            let found = values.iter().find(|(known, _)| *known == key);
            found.map(|(_, value)| *value)
        };
        let set = ParameterSet::for_scenario(scenario, of(SET))
            .map_err(|error| scenario.refuse(error))?;
        let parameters: Vec<Configuration> = scenario
            .parameters()
            .map(|parameter| {
                let mut one = scenario.preset(parameter);
                if let Some(value) = of(parameter.name).or(set.value(parameter.name)) {
                    value.clone_into(&mut one.value);
                }
                one
            })
            .collect();
        let given = parameters
            .iter()
            .map(|one| (one.parameter, one.value.as_str()));
        let values = Values::read(given).map_err(|error| scenario.refuse(error))?;
        let mut link = slot_link(&values).map_err(refuse)?;
        link.lldu_header = scenario.lldu_header;
        let family = scenario.family().ok_or_else(|| {
            let names = FAMILIES.iter().map(|family| family.name);
            scenario.refuse(unknown_of("process", &scenario.family, names))
        })?;
        let process = (family.make.process)(&values).map_err(refuse)?;
        Ok(Self {
            scenario,
            set,
            parameters,
            link,
            process,
        })
    }

    /// The scenario with a measured fade in place of that of its radio channel.
    ///
    /// # Errors
    /// The scenario has no radio channel, or its error curve is not known for every Es/N0 of the fade.
    pub fn on_series(mut self, series: Series) -> Result<Self, ChannelError> {
        let Some(radio) = self.process.radio() else {
            return Err(self.scenario.refuse(ChannelError::Misfit(format!(
                "found a channel of family {}, expected one with an Es/N0 to replace by a measured fade",
                self.scenario.family
            ))));
        };
        let radio = RadioChannel::of_series(series, radio.parameters());
        let radio = radio.map_err(|error| self.scenario.refuse(error))?;
        self.process = SlotChannel::Timed(Arc::new(radio));
        Ok(self)
    }

    /// The scenario that is configured.
    #[must_use]
    pub fn scenario(&self) -> &'static Scenario {
        self.scenario
    }

    /// The parameter set in use.
    #[must_use]
    pub fn parameter_set(&self) -> &'static ParameterSet {
        self.set
    }

    /// All parameters, those of the link first.
    #[must_use]
    pub fn parameters(&self) -> &[Configuration] {
        &self.parameters
    }

    /// The link of the user.
    #[must_use]
    pub fn slot_link(&self) -> &SlotLink {
        &self.link
    }

    /// The mean share of its slots that a link offers which withholds the others; `None` if it withholds none.
    #[must_use]
    pub fn offered(&self) -> Option<f64> {
        let withheld = self.process.erasure_probability(Span::ZERO);
        withheld
            .filter(|_| self.scenario.withholds)
            .map(|withheld| 1.0 - withheld)
    }

    /// The erasure process on all slots of the link.
    #[must_use]
    pub fn process(&self) -> &SlotChannel {
        &self.process
    }
}

impl std::str::FromStr for Configured {
    type Err = ChannelError;

    /// Reads `NAME[,KEY=VALUE…]`.
    fn from_str(text: &str) -> Result<Self, ChannelError> {
        let mut parts = parts(text);
        let scenario = named(parts.next().map_or("", |name| name.text))?;
        let pairs = pairs(parts, "es-n0=6dB").map_err(|error| scenario.refuse(error))?;
        Self::new(scenario, pairs)
    }
}

impl fmt::Display for Configured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{},{SET}={}",
            FAMILY.name, self.scenario.name, self.set.name
        )?;
        self.parameters
            .iter()
            .try_for_each(|one| write!(f, ",{}={}", one.parameter.name, one.value))
    }
}

impl Process for Configured {
    fn begin(&self, seed: u64, used: Use) -> Box<dyn Erasing> {
        let erasing = self.process.begin(seed, used);
        // A slot is offered or not at its start.
        let on_air = if self.scenario.withholds {
            Span::ZERO
        } else {
            self.link.on_air
        };
        Box::new(Share::new(erasing, self.link.every, on_air))
    }

    fn erasure_probability(&self, _: Span) -> Option<f64> {
        self.process.erasure_probability(self.link.on_air)
    }

    fn note(&self, _: Span) -> String {
        if let Some(offered) = self.offered() {
            return format!("share of slots that the link offers {offered:.6}");
        }
        match &self.process {
            SlotChannel::Timed(process) => process.note(self.link.on_air),
            SlotChannel::Steps(_) => {
                let p = self.erasure_probability(self.link.on_air);
                p.map_or_else(String::new, |p| format!("erasure probability {p:.6}"))
            }
        }
    }

    fn link(&self) -> Option<&SlotLink> {
        Some(&self.link)
    }

    fn radio(&self) -> Option<&RadioChannel> {
        self.process.radio()
    }
}

#[cfg(test)]
mod tests;
