//! What does not go together, whatever the trace holds.

use super::error::{Error, Result, refused};
use super::parameters::{Experiment, PARAMETERS, Parameter};
use super::values::{LinkKind, PathKind};

/// Parameters, a circumstance that leaves them without a meaning, and what to say after the key. `{link}` stands for the
/// link, `{value}` for the value of the parameter.
type Rule = (&'static str, fn(&Experiment) -> bool, &'static str);

/// What to say of a parameter that another link has.
const OF_ANOTHER_LINK: &str = "has no meaning with `link` {link}";

const RULES: &[Rule] = &[
    (
        "link",
        |e| e.compares() && e.link() != LinkKind::Timeline,
        "{value} has no meaning with `compare_links`, which runs the timeline and the coupled link",
    ),
    (
        "offsets loop feedback_loss",
        Experiment::compares,
        "has no meaning with `compare_links`: run each link by itself",
    ),
    (
        "return_trace",
        |e| e.compares() && is_stdin(e.return_trace.as_ref()),
        "- has no meaning with `compare_links`: run each link by itself",
    ),
    (
        "scheme feedback_delay feedback_loss tail in_order hold",
        |e| !e.is_coupled(),
        OF_ANOTHER_LINK,
    ),
    (
        "channel",
        Experiment::is_synthetic,
        "has no meaning with `link` {link}: the losses of its packets are `loss`",
    ),
    (
        "channel",
        |e| !e.is_coupled(),
        "has no meaning with `link` {link}: its slots are those of `link` coupled",
    ),
    (
        "overlap",
        |e| e.link() != LinkKind::Timeline,
        OF_ANOTHER_LINK,
    ),
    ("trace", Experiment::is_synthetic, OF_ANOTHER_LINK),
    // What is about a trace is about that of the return path, where there is one.
    (
        "lldu lldu_header loop allow_cut unit",
        |e| e.is_synthetic() && e.return_trace.is_none(),
        OF_ANOTHER_LINK,
    ),
    (
        "trace loss",
        |e| e.channel.is_some(),
        "has no meaning with `channel`, which makes and erases the slots",
    ),
    (
        "unit allow_cut loop",
        |e| e.channel.is_some() && e.return_trace.is_none(),
        "has no meaning with `channel`, which makes and erases the slots",
    ),
    (
        "rate loss",
        |e| !e.is_synthetic() && e.channel.is_none(),
        "has no meaning with `link` {link}: the trace says",
    ),
    (
        "queue",
        |e| e.is_coupled() && !e.queue().is_drop_tail(),
        "{value}: a coupled link has a drop-tail queue only",
    ),
    (
        "offsets",
        Experiment::is_synthetic,
        "has no meaning with `link` {link}, which is the same at any time: `seeds`",
    ),
    (
        "offsets",
        |e| e.channel.is_some(),
        "has no meaning with `channel`, which is the same at any time: `seeds`",
    ),
    (
        "split_window",
        |e| !e.is_split(),
        "has no meaning without `path` split",
    ),
    (
        "return_loss return_rate return_trace",
        Experiment::is_split,
        "has no meaning with `path` split: the proxy's acknowledgements do not cross the return path",
    ),
    (
        "delayed_ack delayed_ack_timer",
        Experiment::is_split,
        "has no meaning with `path` split: the proxy acknowledges at once",
    ),
    (
        "hold",
        Experiment::is_split,
        "has no meaning with `path` split: a proxy keeps what the link has not acknowledged",
    ),
    (
        "queue",
        |e| e.is_split() && !e.queue().is_drop_tail(),
        "{value} has no meaning with `path` split: a packet that the proxy has acknowledged is never sent again",
    ),
    (
        "packet",
        |e| e.packet().0 == 0,
        "{value}: expected more than 0B",
    ),
    (
        "return_rate",
        |e| e.return_rate.is_some_and(|rate| rate.0 == 0),
        "{value}: expected more than 0bps; `return_loss` bernoulli:1 loses every acknowledgement",
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

    pub(super) fn is_split(&self) -> bool {
        self.path() == PathKind::Split
    }

    /// Whether the parameter `key` is given; a flag that is off is not.
    #[must_use]
    pub fn gives(&self, key: &str) -> bool {
        Parameter::of(key).is_some_and(|parameter| parameter.is_given(self))
    }

    /// Refuses what does not go together.
    pub(super) fn check(&self) -> Result<()> {
        for (keys, _, says) in RULES.iter().filter(|(_, holds, _)| holds(self)) {
            let mut given = keys.split(' ').filter_map(Parameter::of);
            if let Some(parameter) = given.find(|parameter| parameter.is_given(self)) {
                let value = parameter.text(self).unwrap_or_default();
                let says = says
                    .replace("{link}", self.link().name())
                    .replace("{value}", &value);
                return refused(parameter.key, format!("`{}` {says}", parameter.key));
            }
        }
        for parameter in PARAMETERS
            .iter()
            .filter(|parameter| parameter.is_given(self))
        {
            let key = parameter.key;
            if let Some(other) = parameter.excludes.iter().find(|other| self.gives(other)) {
                return refused(key, format!("`{key}` does not go with `{other}`"));
            }
            if let Some(needed) = parameter.needs.iter().find(|needed| !self.gives(needed)) {
                return refused(key, format!("`{key}` needs `{needed}`"));
            }
        }
        let needed: &[&'static str] = match self.link() {
            LinkKind::Synthetic => &["rate", "duration"],
            LinkKind::Coupled => &["scheme"],
            LinkKind::Timeline => &[],
        };
        match needed.iter().find(|key| !self.gives(key)) {
            Some(key) => Err(self.lacks(key)),
            None => Ok(()),
        }
    }

    /// The link needs `key`.
    pub(super) fn lacks(&self, key: &'static str) -> Error {
        let message = match (self.link(), key) {
            (LinkKind::Synthetic, "duration") => {
                "`link` synthetic needs `duration`: it never ends by itself".to_owned()
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
