//! Links: how long a packet takes to be sent, and what becomes of it (tcp.md §1).

pub mod gateway;
mod overlap;
mod packet;
pub mod return_link;
mod synthetic;
pub mod timeline;
mod timeline_link;

use std::collections::BTreeMap;

use serde::Serialize;
use tmt_core::types::{Span, Time};

pub use overlap::Overlap;
pub use packet::{SlotUse, Transmission};
pub use synthetic::SyntheticLink;
pub use timeline_link::TimelineLink;

/// What a link does with one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Service {
    /// Its first bit, or first LLDU, goes out.
    #[serde(rename = "start_ns")]
    pub start: Time,
    /// Its last bit, or last LLDU, has gone out: the next packet may follow.
    #[serde(rename = "end_ns")]
    pub end: Time,
    /// It reaches the receiver; none where it is lost on the way.
    #[serde(skip)]
    pub arrival: Option<Time>,
    /// Part of the time from `end` to `arrival` that it travels; the rest is decoding and waiting for repairs.
    #[serde(skip)]
    pub propagation: Span,
    /// Its first unit of link capacity: LLDU of the timeline, or ordinal of the packet.
    #[serde(rename = "first_lldu")]
    pub first_unit: u64,
    /// Its last.
    #[serde(rename = "last_lldu")]
    pub last_unit: u64,
}

/// A link that serves one packet at a time.
pub trait Link {
    /// Serves the packet that reaches the head of the queue at `at`; none when the link has come to its end.
    ///
    /// `at` never falls, and is never before the end of the service before; it may lie ahead of the run's clock.
    fn serve(&mut self, at: Time) -> Option<Service>;

    /// What the link was used for until `end`: services that start later do not count.
    fn usage(&self, end: Time) -> Usage;
}

/// How much of a link was used.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// Share of the capacity used.
    pub utilisation: Option<f64>,
    /// Packets served, those lost on the way included.
    pub packets_served: u64,
    /// LLDUs used, on a timeline; slots used, on a coupled link.
    pub lldus_used: Option<u64>,
    /// LLDUs used that were delivered, by the attempts they took; empty where that is not told.
    pub attempts: BTreeMap<u32, u64>,
}
