//! What the rows of a trace are: delivery opportunities of a link, or samples of it.

use std::str::FromStr;

use super::QuantityError;

/// What the rows of a trace are, `trace_kind` of a head (docs/trace-format.md, Sec. 4).
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

    /// What to say of a trace of probes that is used as a link; `None` for any other trace.
    #[must_use]
    pub fn probe_warning(head: &super::Metadata) -> Option<String> {
        let is_probe = head.trace_kind() == Some(Self::Probe);
        is_probe.then(|| {
            "the trace holds probes, which sample delay and loss: its rate is that of the probes, not the capacity of the link; `tmt fit TRACE` gives the channel, to be used at the link's real rate: `tmt synth --rate RATE --lldu SIZE --duration TIME | tmt inject --channel CHANNEL`".to_owned()
        })
    }
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
