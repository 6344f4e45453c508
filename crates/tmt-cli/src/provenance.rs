//! Provenance in the heads of outputs.
//!
//! A stage is recorded by its resolved settings, not as typed. The same work therefore gives the same bytes, regardless of the
//! name of the file and the number of jobs.

use tmt_core::types::Metadata;

/// Name and version of this program.
pub(crate) const TOOL: &str = concat!("tmt ", env!("CARGO_PKG_VERSION"));

/// The head of a trace that `command` generates from an input without one.
pub(crate) fn new_head(command: &str) -> Metadata {
    let mut head = Metadata::new();
    head.set("tool", TOOL);
    head.set("command", command);
    head
}
