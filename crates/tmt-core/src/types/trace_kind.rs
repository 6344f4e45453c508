//! Kinds of rows of a trace: delivery opportunities of a link, or samples of it.

use std::str::FromStr;

use super::QuantityError;

/// Kind of the rows of a trace, `trace_kind` of a head (docs/trace-format.md, Sec. 4).
#[derive(Debug, derive_more::Display, Clone, Copy, PartialEq, Eq)]
pub enum TraceKind {
    /// Every row is a delivery opportunity: a slot that the link could fill. The rows give its capacity.
    #[display("capacity")]
    Capacity,
    /// Every row is a packet that was sent to sample delay and loss. The rows say nothing about the capacity.
    #[display("probe")]
    Probe,
}

impl TraceKind {
    /// The key in a head.
    pub const KEY: &'static str = "trace_kind";

    /// Its values.
    pub const NAMES: [&'static str; 2] = ["capacity", "probe"];
}

impl FromStr for TraceKind {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "capacity" => Ok(Self::Capacity),
            "probe" => Ok(Self::Probe),
            _ => Err(QuantityError::new(text, "capacity or probe")),
        }
    }
}
