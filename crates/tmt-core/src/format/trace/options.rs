//! Options for reading a trace of any format.

use crate::format::unit::Unit;

/// Bytes fetched at a time: large enough that the work of a round outweighs its synchronisation, small enough that
/// all batches in flight fit into the caches.
const CHUNK: usize = 1 << 20;

/// Options for reading a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Unit of the numbers of a text (`None`: seconds), or of the double columns of a binary format.
    pub unit: Option<Unit>,
    /// Whether a cut stream and a head without an end line are accepted.
    pub allow_cut: bool,
    /// Whether the column `attempts` is read if there is one.
    pub attempts: bool,
    /// Bytes fetched at a time, as far as the format allows; at least 1. The result does not depend on it.
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
