//! Why a run has no result.

use tmt_link::hop::{AttachError, HopError};

/// Reason why a run has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The link cannot serve any packet.
    #[error(transparent)]
    Link(#[from] AttachError),
    /// A hop or its queue broke a rule.
    #[error("hop '{hop}': {error}")]
    Hop {
        /// Name of the hop.
        hop: String,
        /// The rule.
        error: HopError,
    },
    /// A hop holds packets for which nothing is due, and nothing else happens in the run.
    #[error(
        "hop '{hop}': found {packets} packets that it holds without a time at which anything is due, expected a time"
    )]
    Stalled {
        /// Name of the hop.
        hop: String,
        /// Number of the packets.
        packets: u64,
    },
    /// The probe has ended the run ([`Probe::stops`](crate::simulation::probe::Probe::stops)).
    #[error("the run was stopped before its end")]
    Stopped,
    /// A flow of a split path is not TCP, whose packets its proxy acknowledges.
    #[error("flow {flow}: found hosts that are not TCP on a split path, expected TCP")]
    NotTcp {
        /// Number of the flow, from 0.
        flow: usize,
    },
}
