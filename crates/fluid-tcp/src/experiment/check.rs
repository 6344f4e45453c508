//! Parameters that contradict each other, for any trace.

use tmt_core::channel::SlotChannel;
use tmt_core::types::BitRate;

use super::error::{Error, Result, refused};
use super::parameters::{Experiment, PARAMETERS, Parameter};
use super::values::{BufferSize, LinkKind, PathKind};
use crate::simulation;
use tmt_link::Packing;

/// Parameters, the condition under which they are refused, and the message after the key. `{link}` is replaced by the
/// link, `{value}` by the value of the parameter.
type Rule = (&'static str, fn(&Experiment) -> bool, &'static str);

/// Message for a parameter of the coupled link.
const NEEDS_COUPLED: &str = "needs `link` coupled, not {link}";

const RULES: &[Rule] = &[
    (
        "link",
        |e| e.compares() && e.link() != LinkKind::Timeline,
        "{value} cannot be combined with `compare_links`, which runs the timeline link and the coupled link",
    ),
    (
        "offsets loop feedback_loss",
        Experiment::compares,
        "cannot be combined with `compare_links`; run each link by itself",
    ),
    (
        "return_trace",
        |e| e.compares() && is_stdin(e.return_trace.as_ref()),
        "- cannot be combined with `compare_links`; run each link by itself",
    ),
    (
        "scheme",
        |e| e.link() == LinkKind::Timeline && !e.compares(),
        "needs `link` coupled; or run `tmt apply --scheme {value}` first and pass its output",
    ),
    (
        "scheme feedback_delay feedback_loss tail in_order hold",
        |e| !e.is_coupled(),
        NEEDS_COUPLED,
    ),
    (
        "channel",
        Experiment::is_synthetic,
        "cannot be combined with `link` {link}; use `loss` for packet losses",
    ),
    ("channel", |e| !e.is_coupled(), NEEDS_COUPLED),
    (
        "overlap",
        |e| e.link() != LinkKind::Timeline,
        "needs `link` timeline, not {link}",
    ),
    (
        "packing",
        |e| e.is_coupled() && e.packing == Some(Packing::Bytes),
        "{value} cannot be combined with a coupled link, which takes codewords packet by packet; use `packing` packet, or `tmt apply` and `link` timeline",
    ),
    (
        "trace",
        Experiment::is_synthetic,
        "cannot be combined with `link` {link}, which reads no trace",
    ),
    // With a return trace, settings of a trace apply to it.
    (
        "lldu lldu_header packing loop allow_cut unit columns",
        |e| e.is_synthetic() && !e.has_trace_beside(),
        "needs a trace; `link` {link} reads none",
    ),
    (
        "trace loss",
        |e| e.channel.is_some(),
        "cannot be combined with `channel`, which generates the slots and their erasures",
    ),
    (
        "unit columns allow_cut loop",
        |e| e.channel.is_some() && !e.has_trace_beside(),
        "cannot be combined with `channel`, which generates the slots and their erasures",
    ),
    (
        "rate loss",
        |e| !e.is_synthetic() && e.channel.is_none(),
        "cannot be combined with `link` {link}: the trace determines it",
    ),
    (
        "offsets",
        Experiment::is_synthetic,
        "cannot be combined with `link` {link}, which has no trace to start in; use `seeds`",
    ),
    (
        "offsets",
        |e| e.channel.is_some(),
        "cannot be combined with `channel`, which is the same at any time; use `seeds`",
    ),
    (
        "split_window split_announce",
        |e| !e.is_split(),
        "needs `path` split",
    ),
    (
        "queue_loss",
        Experiment::is_split,
        "cannot be combined with `path` split: a packet that the proxy has acknowledged is never sent again",
    ),
    (
        "return_loss return_rate return_trace return_capacity ack_filter",
        Experiment::is_split,
        "cannot be combined with `path` split: the proxy's ACKs do not cross the return path",
    ),
    (
        "delayed_ack delayed_ack_timer",
        Experiment::is_split,
        "cannot be combined with `path` split: the proxy acknowledges every packet at once",
    ),
    (
        "hold",
        Experiment::is_split,
        "cannot be combined with `path` split: the proxy keeps a packet until the link has acknowledged it",
    ),
    (
        "buffer",
        |e| e.is_split() && e.buffer() == BufferSize::Unlimited,
        "{value} cannot be combined with `path` split: the proxy offers its free space as the window, so that senders would outrun the link without end",
    ),
    (
        "packet",
        |e| e.packet().0 == 0,
        "{value}: expected more than 0B",
    ),
    (
        "return_rate",
        |e| e.return_rate.is_some_and(|rate| rate.0 == 0),
        "{value}: expected more than 0bps; to lose every ACK use `return_loss` bernoulli:1",
    ),
    (
        "ack_filter",
        |e| {
            let waits =
                e.return_rate.is_some() || e.return_trace.is_some() || e.return_capacity.is_some();
            let filters = e.ack_filter.as_ref().and_then(simulation::ack_filter::rule);
            filters.is_some() && !waits
        },
        "{value}: found a return path on which ACKs never wait, expected `return_rate`, `return_trace` or `return_capacity`",
    ),
    (
        "terrestrial_rate",
        |e| e.terrestrial_rate.is_some_and(|rate| rate.0 == 0),
        "{value}: expected more than 0bps; to lose every packet use `terrestrial_loss` bernoulli:1",
    ),
    (
        "far_rate",
        |e| e.far_rate.is_some_and(|rate| rate.0 == 0),
        "{value}: expected more than 0bps; to lose every packet use `far_loss` bernoulli:1",
    ),
    (
        "terrestrial_trace far_trace",
        |e| {
            [&e.terrestrial_trace, &e.far_trace]
                .into_iter()
                .flatten()
                .any(|file| file == "-")
        },
        "{value}: expected a file; only `trace` and `return_trace` may be stdin",
    ),
    (
        "far_rate far_trace far_queue far_buffer far_loss",
        Experiment::is_split,
        "cannot be combined with `path` split: the sender never retransmits what the proxy has acknowledged and the far path drops or loses",
    ),
    (
        "seed",
        |e| i64::try_from(e.seed().0.saturating_add(e.seeds().0)).is_err(),
        "{value}: expected seeds below 2^63",
    ),
    (
        "return_trace",
        |e| {
            let reads_trace = !e.is_synthetic() && e.channel.is_none();
            reads_trace && is_stdin(e.return_trace.as_ref()) && is_stdin(e.trace.as_ref())
        },
        "and `trace` cannot both be stdin",
    ),
];

fn is_stdin(file: Option<&String>) -> bool {
    file.is_none_or(|file| file == "-")
}

impl Experiment {
    /// Whether the coupled link and the timeline link are compared.
    #[must_use]
    pub fn compares(&self) -> bool {
        self.compare_links()
    }

    /// Whether there is a coupled link, alone or in a comparison.
    #[must_use]
    pub fn is_coupled(&self) -> bool {
        self.link() == LinkKind::Coupled || self.compares()
    }

    pub(super) fn is_synthetic(&self) -> bool {
        self.link() == LinkKind::Synthetic
    }

    /// Whether a path beside the link has a trace.
    pub(super) fn has_trace_beside(&self) -> bool {
        let traces = [&self.return_trace, &self.terrestrial_trace, &self.far_trace];
        traces.into_iter().any(Option::is_some)
    }

    pub(super) fn is_split(&self) -> bool {
        self.path() == PathKind::Split
    }

    /// Whether the parameter `key` is given. A flag that is off counts as not given.
    #[must_use]
    pub fn gives(&self, key: &str) -> bool {
        Parameter::of(key).is_some_and(|parameter| parameter.is_given(self))
    }

    /// Whether the parameter `key` is given, or known from the link to whose slots the channel belongs.
    fn has(&self, key: &str) -> bool {
        self.gives(key) || key == "rate" && self.rate_of_slots().is_some()
    }

    /// Rate of the slots of the channel: as given, else that of the link to which it belongs.
    pub(super) fn rate_of_slots(&self) -> Option<BitRate> {
        let link = self.channel.as_ref().and_then(SlotChannel::link);
        self.rate.or_else(|| link.map(|link| link.rate))
    }

    /// Refuses parameters that contradict each other or miss one that they need.
    pub(super) fn check(&self) -> Result<()> {
        for (keys, _, message) in RULES.iter().filter(|(_, holds, _)| holds(self)) {
            let mut given = keys.split(' ').filter_map(Parameter::of);
            if let Some(parameter) = given.find(|parameter| parameter.is_given(self)) {
                let value = parameter.text(self).unwrap_or_default();
                let message = message
                    .replace("{link}", self.link().name())
                    .replace("{value}", &value);
                return refused(parameter.key, format!("`{}` {message}", parameter.key));
            }
        }
        for parameter in PARAMETERS
            .iter()
            .filter(|parameter| parameter.is_given(self))
        {
            let key = parameter.key;
            if let Some(other) = parameter.excludes.iter().find(|other| self.gives(other)) {
                return refused(key, format!("`{key}` cannot be combined with `{other}`"));
            }
            if let Some(needed) = parameter.needs.iter().find(|needed| !self.has(needed)) {
                return refused(key, format!("`{key}` needs `{needed}`"));
            }
        }
        let needed: &[&'static str] = match self.link() {
            LinkKind::Synthetic => &["rate", "duration"],
            LinkKind::Coupled => &["scheme"],
            LinkKind::Timeline => &[],
        };
        match needed.iter().find(|key| !self.gives(key)) {
            Some(key) => Err(self.missing(key)),
            None => Ok(()),
        }
    }

    /// The error that the link needs `key`.
    pub(super) fn missing(&self, key: &'static str) -> Error {
        let message = match (self.link(), key) {
            (LinkKind::Synthetic, "duration") => {
                "`link` synthetic needs `duration`: it has no end of its own".to_owned()
            }
            (link, _) => format!("`link` {link} needs `{key}`"),
        };
        Error::Refused { key, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_parameters() {
        let known = |key: &str| Parameter::of(key).is_some();
        for (keys, ..) in RULES {
            assert!(keys.split(' ').all(known), "{keys}");
        }
        for parameter in PARAMETERS {
            for other in parameter.needs.iter().chain(parameter.excludes) {
                assert!(known(other), "{}: {other}", parameter.key);
            }
        }
    }
}
