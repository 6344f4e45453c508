//! How a trace is to be read.

use crate::format::unit::Unit;

/// Bytes fetched at a time: large enough that a round's work outweighs its end, small enough that all
/// that is under way stays in the caches.
const CHUNK: usize = 1 << 20;

/// How a trace is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The unit of a text's numbers (seconds where there is none) or of a binary format's doubles.
    pub unit: Option<Unit>,
    /// Whether a head without an end line and a cut stream are accepted.
    pub allow_cut: bool,
    /// Whether the column `attempts` is read where there is one.
    pub attempts: bool,
    /// Bytes fetched at a time, as far as the format allows; at least 1. What is read never depends on it.
    pub chunk: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            unit: None,
            allow_cut: false,
            attempts: false,
            chunk: CHUNK,
        }
    }
}
