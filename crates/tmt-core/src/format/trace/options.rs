//! Options for reading a trace of any format.

use crate::format::columns::Columns;
use crate::format::unit::Unit;

/// Bytes fetched at a time: large enough that the work of a round outweighs its synchronisation, small enough that
/// all batches in flight fit into the caches.
const CHUNK: usize = 1 << 20;

/// Options for reading a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Unit of numbers in columns whose names say none. `None`: seconds in a text, ns in `int64` columns with the names of
    /// a trace; doubles, and integers of a foreign table, then need one.
    pub unit: Option<Unit>,
    /// Whether a cut stream and a head without an end line are accepted.
    pub allow_cut: bool,
    /// Whether the column `attempts` is read if there is one.
    pub attempts: bool,
    /// Which columns are read.
    pub columns: Columns,
    /// Bytes fetched at a time, as far as the format allows; at least 1. The result does not depend on it.
    pub chunk: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            unit: None,
            allow_cut: false,
            attempts: false,
            columns: Columns::default(),
            chunk: CHUNK,
        }
    }
}
