//! Description of a parameter: name, type, domain, default and help.

use std::sync::LazyLock;

use serde_json::Value;
use strum::{IntoStaticStr, VariantArray};

use super::Experiment;
use crate::experiment::setting::Kind;
use tmt_core::named::ParseError;

/// Headings of help, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, VariantArray, IntoStaticStr)]
pub enum Group {
    /// The link and its packets.
    Link,
    /// The scheme on a coupled link, and its slots.
    #[strum(serialize = "Coupled link")]
    CoupledLink,
    /// The queue, the terrestrial path and the return path.
    #[strum(serialize = "Queue and path")]
    QueueAndPath,
    /// Congestion control and settings of both hosts.
    #[strum(serialize = "Congestion control and hosts")]
    Hosts,
    /// Timing of ACKs.
    #[strum(serialize = "Advanced: ACKs")]
    Acks,
    /// Retransmission timeouts and RTT samples.
    #[strum(serialize = "Advanced: RTO and RTT")]
    Timeouts,
    /// Loss detection and recovery.
    #[strum(serialize = "Advanced: loss recovery")]
    LossRecovery,
    /// Flows, transfer sizes, and the number of runs.
    #[strum(serialize = "Traffic and runs")]
    Traffic,
    /// Reading of traces.
    #[strum(serialize = "Input format")]
    Input,
}

impl Group {
    /// All groups, in the order of help.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The heading that help prints.
    #[must_use]
    pub fn heading(self) -> &'static str {
        self.into()
    }

    /// The parameters of this group.
    pub fn parameters(self) -> impl Iterator<Item = &'static Parameter> {
        let all = super::PARAMETERS.iter();
        all.filter(move |parameter| parameter.group == self)
    }
}

/// Default of a parameter that is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// A fixed value.
    Value,
    /// The profile's value.
    Profile,
    /// A value that depends on the trace or on other parameters, described in words.
    Words(&'static str),
}

/// Cached: help asks for them once per parameter.
static DEFAULTS: LazyLock<Experiment> = LazyLock::new(Experiment::defaults);

/// One parameter of an experiment.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Key in a parameter file; with `-` for `_`, the flag.
    pub key: &'static str,
    /// Heading under which help lists it.
    pub group: Group,
    /// Whether the short help lists it.
    pub is_basic: bool,
    /// Type, unit and domain.
    pub kind: Kind,
    /// One line of help, without the default, which is appended.
    pub help: &'static str,
    /// Further lines of help; may be empty.
    pub detail: &'static str,
    /// Value that applies if the parameter is not given, and its reason.
    pub fallback: Fallback,
    /// Reason for the default; may be empty.
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

/// Accessors of a parameter's field in an experiment.
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
    /// An advanced parameter without a default.
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

    /// Whether the value is an erasure process, whose text may name files.
    #[must_use]
    pub fn takes_process(&self) -> bool {
        matches!(self.kind, Kind::Text("PROCESS", _))
    }

    /// Whether the value is the file of a trace.
    #[must_use]
    pub fn is_trace(&self) -> bool {
        self.key == "trace" || self.key.ends_with("_trace")
    }

    pub(super) const fn basic(mut self) -> Self {
        self.is_basic = true;
        self
    }

    pub(super) const fn detail(mut self, detail: &'static str) -> Self {
        self.detail = detail;
        self
    }

    /// Sets a fixed default and its reason.
    pub(super) const fn value(mut self, reason: &'static str) -> Self {
        (self.fallback, self.reason) = (Fallback::Value, reason);
        self
    }

    /// Takes the default from the profile.
    pub(super) const fn profile(mut self) -> Self {
        self.fallback = Fallback::Profile;
        self
    }

    /// Describes a default that depends on the trace or on other parameters, and its reason.
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

    /// Sets a key that cannot be the name of a field.
    pub(super) const fn named(mut self, key: &'static str) -> Self {
        self.key = key;
        self
    }

    /// Makes it a flag without a value.
    pub(super) const fn flag(mut self) -> Self {
        self.kind = Kind::Flag;
        self
    }

    /// Sets the key unless it has one, and the type unless it is a flag.
    pub(super) const fn keyed(mut self, key: &'static str, kind: Kind) -> Self {
        if self.key.is_empty() {
            self.key = key;
        }
        if !matches!(self.kind, Kind::Flag) {
            self.kind = kind;
        }
        self
    }

    /// Sets its key in JSON.
    pub(super) const fn shown_as(mut self, name: &'static str) -> Self {
        self.shown_as = Some(name);
        self
    }

    /// Omits it from JSON, which has a value derived from it, or nothing.
    pub(super) const fn not_shown(mut self) -> Self {
        self.is_shown = false;
        self
    }

    /// The parameter with this key, if there is one.
    #[must_use]
    pub fn of(key: &str) -> Option<&'static Self> {
        super::PARAMETERS
            .iter()
            .find(|parameter| parameter.key == key)
    }

    /// Whether `experiment` gives it. A flag that is off counts as not given.
    #[must_use]
    pub fn is_given(&self, experiment: &Experiment) -> bool {
        let value = (self.access.json)(experiment);
        value.is_some_and(|value| !matches!((self.kind, value), (Kind::Flag, Value::Bool(false))))
    }

    /// Its value in `experiment` as text; `None` if not given.
    #[must_use]
    pub fn text(&self, experiment: &Experiment) -> Option<String> {
        (self.access.texts)(experiment).map(|texts| texts.join(" "))
    }

    /// The texts of its value in `experiment`, several of a list; `None` if not given.
    #[must_use]
    pub fn texts(&self, experiment: &Experiment) -> Option<Vec<String>> {
        (self.access.texts)(experiment)
    }

    /// Its value in `experiment` in JSON, with the unit of [`Self::json_name`]; `None` if not given.
    #[must_use]
    pub fn json(&self, experiment: &Experiment) -> Option<Value> {
        (self.access.json)(experiment)
    }

    /// Whether `experiment` gives it its default value.
    #[must_use]
    pub fn is_default(&self, experiment: &Experiment) -> bool {
        let defaults = match self.fallback {
            Fallback::Profile => Experiment::of_profile(experiment.profile()),
            Fallback::Value | Fallback::Words(_) => Experiment::defaults(),
        };
        self.is_given(experiment) && self.text(experiment) == self.text(&defaults)
    }

    /// Its key in JSON, with the unit; `None` if JSON omits it.
    #[must_use]
    pub fn json_name(&self) -> Option<String> {
        let named = || format!("{}{}", self.key, self.kind.suffix());
        let name = self.is_shown.then_some(self.shown_as)?;
        Some(name.map_or_else(named, str::to_owned))
    }

    /// Name of its column in a table of results, with the unit.
    #[must_use]
    pub fn column(&self) -> String {
        let unit = self.kind.suffix();
        self.json_name().unwrap_or_else(|| match self.kind {
            // `flow` is the number of a flow.
            Kind::List(_) => format!("{}_settings", self.key),
            _ if unit.trim_start_matches('_') == self.key => self.key.to_owned(),
            _ => format!("{}{unit}", self.key),
        })
    }

    /// Placeholder of its value in help.
    #[must_use]
    pub fn value_name(&self) -> String {
        let usual = || self.kind.placeholder();
        self.placeholder.map_or_else(usual, str::to_owned)
    }

    /// Checks a value without storing it.
    ///
    /// # Errors
    /// The text is not such a value; the message has found and expected.
    pub fn check(&self, text: &str) -> Result<(), ParseError> {
        Experiment::default().set(self, &[text])
    }

    /// The default as help shows it; `None` if absent.
    #[must_use]
    pub fn default_text(&self) -> Option<String> {
        match self.fallback {
            Fallback::Value => self.text(&DEFAULTS),
            Fallback::Profile => Some("from --profile".to_owned()),
            Fallback::Words("") => None,
            Fallback::Words(words) => Some(words.to_owned()),
        }
    }
}
