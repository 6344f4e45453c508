//! What is known of a parameter before anyone sets it: its name, type, domain, default and one line of help.

use std::sync::LazyLock;

use serde_json::Value;
use strum::{IntoStaticStr, VariantArray};

use super::Experiment;
use crate::experiment::setting::Kind;
use crate::named::ParseError;

/// Headings under which help lists parameters, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, VariantArray, IntoStaticStr)]
pub enum Group {
    /// The link and its packets.
    Link,
    /// The scheme on a coupled link, and its slots.
    #[strum(serialize = "Coupled link")]
    CoupledLink,
    /// What lies before, behind and around the link.
    #[strum(serialize = "Queue and path")]
    QueueAndPath,
    /// Congestion control and both ends.
    #[strum(serialize = "Congestion control and hosts")]
    Hosts,
    /// When the receiver acknowledges.
    #[strum(serialize = "Advanced: ACKs")]
    Acks,
    /// Timeouts and how round-trip times are measured.
    #[strum(serialize = "Advanced: RTO and RTT")]
    Timeouts,
    /// How losses are found and repaired.
    #[strum(serialize = "Advanced: loss recovery")]
    LossRecovery,
    /// Flows, and how often they run.
    #[strum(serialize = "Traffic and runs")]
    Traffic,
    /// How traces are read.
    #[strum(serialize = "Input format")]
    Input,
}

impl Group {
    /// All of them.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The heading.
    #[must_use]
    pub fn heading(self) -> &'static str {
        self.into()
    }

    /// Its parameters.
    pub fn parameters(self) -> impl Iterator<Item = &'static Parameter> {
        let all = super::PARAMETERS.iter();
        all.filter(move |parameter| parameter.group == self)
    }
}

/// What holds where nothing sets a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// A value of its own.
    Value,
    /// What the profile says.
    Profile,
    /// Something that depends on the trace or on other parameters, in words.
    Words(&'static str),
}

/// Made once: help asks for them parameter by parameter.
static DEFAULTS: LazyLock<Experiment> = LazyLock::new(Experiment::defaults);

/// One parameter of an experiment.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name: the key in a parameter file and, with `-` for `_`, the flag.
    pub key: &'static str,
    /// Where help lists it.
    pub group: Group,
    /// Whether a beginner needs it.
    pub is_basic: bool,
    /// Type, unit and domain.
    pub kind: Kind,
    /// One line of help.
    pub help: &'static str,
    /// What else there is to know; empty where the line says it all.
    pub detail: &'static str,
    /// Where its value comes from if nothing sets it.
    pub fallback: Fallback,
    /// Why that is the default; empty where it needs no reason.
    pub reason: &'static str,
    /// Parameters that must be given with it.
    pub needs: &'static [&'static str],
    /// Parameters that must not be given with it.
    pub excludes: &'static [&'static str],
    pub(super) placeholder: Option<&'static str>,
    pub(super) shown_as: Option<&'static str>,
    pub(super) is_shown: bool,
    pub(in crate::experiment) access: Access,
}

/// How the value of a parameter is reached in an experiment.
#[derive(Debug, Clone, Copy)]
pub(in crate::experiment) struct Access {
    pub(in crate::experiment) set: fn(&mut Experiment, &[&str]) -> Result<(), String>,
    pub(in crate::experiment) texts: fn(&Experiment) -> Option<Vec<String>>,
    pub(in crate::experiment) json: fn(&Experiment) -> Option<Value>,
    pub(in crate::experiment) take: fn(&mut Experiment, &mut Experiment),
}

impl Access {
    pub(super) const NONE: Self = Self {
        set: |_, _| Ok(()),
        texts: |_| None,
        json: |_| None,
        take: |_, _| (),
    };
}

impl Parameter {
    /// A parameter of an expert, unset unless it is given.
    pub(super) const fn new(group: Group) -> Self {
        Self {
            key: "",
            group,
            is_basic: false,
            kind: Kind::Switch,
            help: "",
            detail: "",
            fallback: Fallback::Words(""),
            reason: "",
            needs: &[],
            excludes: &[],
            placeholder: None,
            shown_as: None,
            is_shown: true,
            access: Access::NONE,
        }
    }

    pub(super) const fn basic(mut self) -> Self {
        self.is_basic = true;
        self
    }

    pub(super) const fn detail(mut self, detail: &'static str) -> Self {
        self.detail = detail;
        self
    }

    /// The default is a value, for this reason.
    pub(super) const fn value(mut self, reason: &'static str) -> Self {
        (self.fallback, self.reason) = (Fallback::Value, reason);
        self
    }

    /// The default is the profile's.
    pub(super) const fn profile(mut self) -> Self {
        self.fallback = Fallback::Profile;
        self
    }

    /// The default depends on other things.
    pub(super) const fn otherwise(mut self, words: &'static str, reason: &'static str) -> Self {
        (self.fallback, self.reason) = (Fallback::Words(words), reason);
        self
    }

    pub(super) const fn needs(mut self, keys: &'static [&'static str]) -> Self {
        self.needs = keys;
        self
    }

    pub(super) const fn excludes(mut self, keys: &'static [&'static str]) -> Self {
        self.excludes = keys;
        self
    }

    pub(super) const fn placeholder(mut self, placeholder: &'static str) -> Self {
        self.placeholder = Some(placeholder);
        self
    }

    /// Its key, where that cannot be the name of a field.
    pub(super) const fn named(mut self, key: &'static str) -> Self {
        self.key = key;
        self
    }

    /// On where it is given at all.
    pub(super) const fn flag(mut self) -> Self {
        self.kind = Kind::Flag;
        self
    }

    /// Its key, unless it has one, and its type, unless it is a flag.
    pub(super) const fn keyed(mut self, key: &'static str, kind: Kind) -> Self {
        if self.key.is_empty() {
            self.key = key;
        }
        if !matches!(self.kind, Kind::Flag) {
            self.kind = kind;
        }
        self
    }

    /// JSON shows it by this name.
    pub(super) const fn shown_as(mut self, name: &'static str) -> Self {
        self.shown_as = Some(name);
        self
    }

    /// JSON shows what follows from it in its place, or nothing.
    pub(super) const fn not_shown(mut self) -> Self {
        self.is_shown = false;
        self
    }

    /// The parameter with this key.
    #[must_use]
    pub fn of(key: &str) -> Option<&'static Self> {
        super::PARAMETERS
            .iter()
            .find(|parameter| parameter.key == key)
    }

    /// Whether `experiment` sets it; a flag that is off is not set.
    #[must_use]
    pub fn is_given(&self, experiment: &Experiment) -> bool {
        let value = (self.access.json)(experiment);
        value.is_some_and(|value| !matches!((self.kind, value), (Kind::Flag, Value::Bool(false))))
    }

    /// Its value in `experiment` as text.
    #[must_use]
    pub fn text(&self, experiment: &Experiment) -> Option<String> {
        (self.access.texts)(experiment).map(|texts| texts.join(" "))
    }

    /// Whether `experiment` sets it to the value that it has anyway.
    #[must_use]
    pub fn is_default(&self, experiment: &Experiment) -> bool {
        let defaults = match self.fallback {
            Fallback::Profile => Experiment::of_profile(experiment.profile()),
            Fallback::Value | Fallback::Words(_) => Experiment::defaults(),
        };
        self.is_given(experiment) && self.text(experiment) == self.text(&defaults)
    }

    /// The name of its value in JSON, with the unit; none where JSON shows what follows from it instead.
    #[must_use]
    pub fn json_name(&self) -> Option<String> {
        let named = || format!("{}{}", self.key, self.kind.suffix());
        let name = self.is_shown.then_some(self.shown_as)?;
        Some(name.map_or_else(named, str::to_owned))
    }

    /// Placeholder of its value in help.
    #[must_use]
    pub fn value_name(&self) -> String {
        let usual = || self.kind.placeholder();
        self.placeholder.map_or_else(usual, str::to_owned)
    }

    /// Checks a value without an experiment to put it in.
    ///
    /// # Errors
    /// Found and expected, where the text is not such a value.
    pub fn check(&self, text: &str) -> Result<(), ParseError> {
        Experiment::default().set(self, &[text])
    }

    /// The default as help shows it; `None` where nothing stands for a value that is not given.
    #[must_use]
    pub fn default_text(&self) -> Option<String> {
        match self.fallback {
            Fallback::Value => self.text(&DEFAULTS),
            Fallback::Profile => Some("the profile's".to_owned()),
            Fallback::Words("") => None,
            Fallback::Words(words) => Some(words.to_owned()),
        }
    }
}
