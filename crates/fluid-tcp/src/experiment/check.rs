//! What does not go together, whatever the trace holds.

use super::error::{Error, Result, refused};
use super::parameters::{Experiment, PARAMETERS, Parameter};
use super::values::{LinkKind, PathKind};
use crate::link::gateway::Discipline;

/// Parameters that a circumstance leaves without a meaning.
struct Rule {
    keys: &'static [&'static str],
    /// Whether it is so.
    holds: fn(&Experiment) -> bool,
    /// What to say after the key.
    says: fn(&Experiment) -> String,
}

const fn rule(
    keys: &'static [&'static str],
    holds: fn(&Experiment) -> bool,
    says: fn(&Experiment) -> String,
) -> Rule {
    Rule { keys, holds, says }
}

fn with_link(experiment: &Experiment) -> String {
    format!("has no meaning with `link` {}", experiment.link())
}

const BEHIND_A_PROXY: &str = "the proxy's acknowledgements do not cross the return path";

const RULES: &[Rule] = &[
    rule(
        &["link"],
        |e| e.compares() && e.link() != LinkKind::Timeline,
        |e| {
            format!(
                "{} has no meaning with `compare_links`, which runs the timeline and the coupled link",
                e.link()
            )
        },
    ),
    rule(
        &["offsets", "loop", "feedback_loss"],
        Experiment::compares,
        |_| "has no meaning with `compare_links`: run each link by itself".to_owned(),
    ),
    rule(
        &["return_trace"],
        |e| e.compares() && e.return_trace.as_ref().is_some_and(|file| file.0 == "-"),
        |_| "- has no meaning with `compare_links`: run each link by itself".to_owned(),
    ),
    rule(
        &[
            "scheme",
            "feedback_delay",
            "feedback_loss",
            "tail",
            "in_order",
            "hold",
        ],
        |e| !e.is_coupled(),
        with_link,
    ),
    rule(
        &["channel"],
        |e| e.link() == LinkKind::Synthetic,
        |e| format!("{}: the losses of its packets are `loss`", with_link(e)),
    ),
    rule(
        &["channel"],
        |e| !e.is_coupled(),
        |e| format!("{}: its slots are those of `link` coupled", with_link(e)),
    ),
    rule(&["overlap"], |e| e.link() != LinkKind::Timeline, with_link),
    rule(&["trace"], |e| e.link() == LinkKind::Synthetic, with_link),
    // What is about a trace is about that of the return path, where there is one.
    rule(
        &["lldu", "lldu_header", "loop", "allow_cut", "unit"],
        |e| e.link() == LinkKind::Synthetic && e.return_trace.is_none(),
        with_link,
    ),
    rule(
        &["trace", "loss"],
        |e| e.channel.is_some(),
        |_| "has no meaning with `channel`, which makes and erases the slots".to_owned(),
    ),
    rule(
        &["unit", "allow_cut", "loop"],
        |e| e.channel.is_some() && e.return_trace.is_none(),
        |_| "has no meaning with `channel`, which makes and erases the slots".to_owned(),
    ),
    rule(
        &["rate", "loss"],
        |e| e.link() != LinkKind::Synthetic && e.channel.is_none(),
        |e| format!("{}: the trace says", with_link(e)),
    ),
    rule(
        &["queue"],
        |e| e.is_coupled() && e.queue() != Discipline::DropTail,
        |e| format!("{}: a coupled link has a drop-tail queue only", e.queue()),
    ),
    rule(
        &["offsets"],
        |e| e.link() == LinkKind::Synthetic,
        |e| format!("{}, which is the same at any time: `seeds`", with_link(e)),
    ),
    rule(
        &["offsets"],
        |e| e.channel.is_some(),
        |_| "has no meaning with `channel`, which is the same at any time: `seeds`".to_owned(),
    ),
    rule(
        &["split_window"],
        |e| e.path() != PathKind::Split,
        |_| "has no meaning without `path` split".to_owned(),
    ),
    rule(
        &["return_loss", "return_rate", "return_trace"],
        |e| e.path() == PathKind::Split,
        |_| format!("has no meaning with `path` split: {BEHIND_A_PROXY}"),
    ),
    rule(
        &["delayed_ack", "delayed_ack_timer"],
        |e| e.path() == PathKind::Split,
        |_| "has no meaning with `path` split: the proxy acknowledges at once".to_owned(),
    ),
    rule(
        &["hold"],
        |e| e.path() == PathKind::Split,
        |_| {
            "has no meaning with `path` split: a proxy keeps what the link has not acknowledged"
                .to_owned()
        },
    ),
    rule(
        &["queue"],
        |e| e.path() == PathKind::Split && e.queue() != Discipline::DropTail,
        |e| {
            format!(
                "{} has no meaning with `path` split: a packet that the proxy has acknowledged is never sent again",
                e.queue()
            )
        },
    ),
    rule(
        &["packet"],
        |e| e.packet().0 == 0,
        |_| "0B: expected more than 0B".to_owned(),
    ),
    rule(
        &["return_rate"],
        |e| e.return_rate.is_some_and(|rate| rate.0 == 0),
        |_| {
            "0bps: expected more than 0bps; `return_loss` bernoulli:1 loses every acknowledgement"
                .to_owned()
        },
    ),
    rule(
        &["seed"],
        |e| i64::try_from(e.seed().0.saturating_add(e.seeds().0)).is_err(),
        |e| format!("{}: expected seeds below 2^63", e.seed().0),
    ),
    rule(
        &["return_trace"],
        |e| {
            let from_stdin = |path: Option<&str>| path.unwrap_or("-") == "-";
            let has_trace = e.link() != LinkKind::Synthetic && e.channel.is_none();
            e.return_trace.is_some()
                && has_trace
                && from_stdin(e.return_trace.as_ref().map(|file| &*file.0))
                && from_stdin(e.trace.as_ref().map(|file| &*file.0))
        },
        |_| "and `trace` cannot both be stdin".to_owned(),
    ),
];

impl Experiment {
    /// Whether the coupled link and the timeline link are compared.
    #[must_use]
    pub fn compares(&self) -> bool {
        self.compare_links().0
    }

    /// Whether there is a coupled link, alone or in a comparison.
    #[must_use]
    pub fn is_coupled(&self) -> bool {
        self.link() == LinkKind::Coupled || self.compares()
    }

    /// Whether the parameter `key` is given; a flag that is off is not.
    #[must_use]
    pub fn gives(&self, key: &str) -> bool {
        Parameter::of(key).is_some_and(|parameter| parameter.is_given(self))
    }

    /// Refuses what does not go together.
    pub(super) fn check(&self) -> Result<()> {
        for rule in RULES.iter().filter(|rule| (rule.holds)(self)) {
            if let Some(key) = rule.keys.iter().find(|key| self.gives(key)) {
                return refused(key, format!("`{key}` {}", (rule.says)(self)));
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
        for rule in RULES {
            assert!(rule.keys.iter().all(|key| known(key)), "{:?}", rule.keys);
        }
        for parameter in PARAMETERS {
            for other in parameter.needs.iter().chain(parameter.excludes) {
                assert!(known(other), "{}: {other}", parameter.key);
            }
        }
    }
}
