//! Links: when a packet is served and when it arrives (docs/simulator.md, Sec. 2).

pub mod gateway;
mod overlap;
mod packet;
mod packing;
pub mod return_link;
mod synthetic;
pub mod timeline;
mod timeline_link;

use std::collections::BTreeMap;

use serde::Serialize;
use tmt_core::types::{Span, Time};

pub use overlap::Overlap;
pub use packet::{SlotUse, Transmission};
pub use packing::{Packing, Segmentation};
pub use synthetic::SyntheticLink;
pub use timeline_link::TimelineLink;

/// Service of one packet by a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Service {
    /// Time at which its first bit, LLDU or slot is sent.
    #[serde(rename = "start_ns")]
    pub start: Time,
    /// Time at which its last bit, LLDU or slot is sent. The next packet may follow.
    #[serde(rename = "end_ns")]
    pub end: Time,
    /// Time at which it reaches the receiver; `None` if the link loses it.
    #[serde(skip)]
    pub arrival: Option<Time>,
    /// Propagation delay, part of the time from `end` to `arrival`. The rest is decoding and waiting for repairs.
    #[serde(skip)]
    pub propagation: Span,
    /// First unit of capacity that it uses: number of an LLDU or slot, or of the service on a synthetic link. Packets may
    /// share an LLDU ([`Packing::Bytes`]).
    #[serde(rename = "first_lldu")]
    pub first_unit: u64,
    /// Last unit of capacity that it uses.
    #[serde(rename = "last_lldu")]
    pub last_unit: u64,
}

/// A link that serves one packet at a time.
pub trait Link {
    /// Serves the packet that reaches the head of the queue at `at`. Returns `None` once the link has ended.
    ///
    /// `at` never decreases and is never before the end of the previous service. It may be ahead of the run's clock.
    fn serve(&mut self, at: Time) -> Option<Service>;

    /// Whether packets arrive in the order in which they are served.
    fn keeps_order(&self) -> bool {
        false
    }

    /// Use of the link until `end`. Services that start later do not count.
    fn usage(&self, end: Time) -> Usage;
}

/// Use of a link during a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// Share of the capacity used, from 0 to 1; `None` if there was no capacity.
    pub utilisation: Option<f64>,
    /// Packets whose service has begun, lost ones included.
    pub packets_served: u64,
    /// LLDUs used on a timeline, each once and partly filled ones included; slots used on a coupled link; `None` on a
    /// synthetic link.
    pub lldus_used: Option<u64>,
    /// Packets that all slots of the physical link could have carried during the run, used or not
    /// ([`Segmentation::packets_in`]); `None` if unknown.
    pub capacity_packets: Option<f64>,
    /// Attempts → LLDUs that were used and delivered. Empty if the link does not report attempts.
    pub attempts: BTreeMap<u32, u64>,
}
