//! Experiments that are no simulation of TCP with its metrics alone. A new one is a file and a line in the registry.

mod overflows;
mod scheme;
mod slots;

use crate::engine::OwnRun;

/// All of them, by the name that `run` of a part has.
const OWN: [(&str, OwnRun); 3] = [
    ("scheme", scheme::run),
    ("slots", slots::run),
    ("overflows", overflows::run),
];

/// The experiment of this name.
///
/// # Errors
/// An unknown name.
pub(super) fn named(name: &str) -> Result<OwnRun, String> {
    let found = OWN.iter().find(|(known, _)| *known == name);
    found.map(|(_, run)| *run).ok_or_else(|| {
        let all: Vec<&str> = OWN.iter().map(|(name, _)| *name).collect();
        format!("found '{name}', expected one of {}", all.join(", "))
    })
}
