//! Experiments that are no simulation of TCP with its metrics alone. A new one is a file and a line in the registry.

mod overflows;
mod scheme;
mod slots;

use crate::engine::OwnRun;

/// An experiment, and the parameters that it reads; all without a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Own {
    pub(super) run: OwnRun,
    reads: Option<&'static [&'static str]>,
}

impl Own {
    /// Whether a parameter can change the result.
    pub(super) fn reads(&self, key: &str) -> bool {
        self.reads.is_none_or(|keys| keys.contains(&key))
    }
}

/// All of them, by the name that `run` of a part has.
const OWN: [(&str, Own); 3] = [
    (
        "scheme",
        Own {
            run: scheme::run,
            reads: Some(&[
                "scheme",
                "channel",
                "rate",
                "duration",
                "rtt",
                "feedback_delay",
                "lldu",
                "seed",
            ]),
        },
    ),
    (
        "slots",
        Own {
            run: slots::run,
            reads: Some(&[
                "channel", "loss", "trace", "rate", "duration", "lldu", "seed",
            ]),
        },
    ),
    (
        "overflows",
        Own {
            run: overflows::run,
            reads: None,
        },
    ),
];

/// The experiment of this name.
///
/// # Errors
/// An unknown name.
pub(super) fn named(name: &str) -> Result<Own, String> {
    let found = OWN.iter().find(|(known, _)| *known == name);
    found.map(|(_, own)| *own).ok_or_else(|| {
        let all: Vec<&str> = OWN.iter().map(|(name, _)| *name).collect();
        format!("found '{name}', expected one of {}", all.join(", "))
    })
}
