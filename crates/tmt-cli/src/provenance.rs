//! What a command writes into the head of its output.
//!
//! A stage is told by its resolved settings, not by what was typed: the same work gives the same
//! bytes, whatever the file was called and however many jobs did it.

use tmt_core::types::Metadata;

/// This program and its version.
pub(crate) const TOOL: &str = concat!("tmt ", env!("CARGO_PKG_VERSION"));

/// A head for a trace that `command` makes out of something that has none.
pub(crate) fn new_head(command: &str) -> Metadata {
    let mut head = Metadata::new();
    head.set("tool", TOOL);
    head.set("command", command);
    head
}

/// Says in `head` that a flag won over what it had told.
pub(crate) fn overridden(head: &mut Metadata, key: &str, flag: &str, told: u64, used: u64) {
    head.push("overridden", format!("{key} {told} by {flag} {used}"));
}
