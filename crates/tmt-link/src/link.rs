//! Links: when a packet is served and when it arrives (docs/simulator.md, Sec. 2).

mod overlap;
mod synthetic;
mod timeline;

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Serialize;
use tmt_core::scheme::engine::UnitKind;
use tmt_core::types::{BitRate, Span, Time};

use crate::packet::Packet;
pub use overlap::Overlap;
pub use synthetic::SyntheticLink;
pub use timeline::TimelineLink;

/// Service of one packet by a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Service {
    /// Time at which its first bit, LLDU or slot is sent.
    #[serde(rename = "start_ns")]
    pub start: Time,
    /// Time at which its last bit, LLDU or slot is sent. The next packet may follow.
    #[serde(rename = "end_ns")]
    pub end: Time,
    /// Time at which it reaches the other end; `None` if the link loses it.
    #[serde(skip)]
    pub arrival: Option<Time>,
    /// Propagation delay, part of the time from `end` to `arrival`. The rest is decoding and waiting for repairs.
    #[serde(skip)]
    pub propagation: Span,
    /// First unit of capacity that it uses: number of an LLDU or slot, or of the service on a synthetic link. Packets may
    /// share an LLDU ([`Packing::Bytes`](crate::Packing::Bytes)).
    #[serde(rename = "first_lldu")]
    pub first_unit: u64,
    /// Last unit of capacity that it uses.
    #[serde(rename = "last_lldu")]
    pub last_unit: u64,
}

/// A link that serves one packet at a time.
pub trait Link: Debug {
    /// Serves `packet`, which reaches the head of the queue at `at`. Returns `None` once the link has ended.
    ///
    /// `at` never decreases and is never before the end of the previous service. It may be ahead of the run's clock.
    fn serve(&mut self, at: Time, packet: &Packet) -> Option<Service>;

    /// Whether packets arrive in the order in which they are served.
    fn keeps_order(&self) -> bool {
        false
    }

    /// Mean rate at which it serves packets, for queues that estimate delays; `None` if it is unknown.
    fn rate(&self) -> Option<BitRate> {
        None
    }

    /// Use of the link until `end`. Services that start later do not count.
    fn usage(&self, end: Time) -> Usage;
}

impl<L: Link + ?Sized> Link for Box<L> {
    fn serve(&mut self, at: Time, packet: &Packet) -> Option<Service> {
        (**self).serve(at, packet)
    }

    fn keeps_order(&self) -> bool {
        (**self).keeps_order()
    }

    fn rate(&self) -> Option<BitRate> {
        (**self).rate()
    }

    fn usage(&self, end: Time) -> Usage {
        (**self).usage(end)
    }
}

/// Use of a link during a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// Share of the capacity used, from 0 to 1; `None` if there was no capacity.
    pub utilisation: Option<f64>,
    /// LLDUs used on a timeline, each once and partly filled ones included; slots used on a coupled link; `None` on a
    /// synthetic link.
    pub lldus_used: Option<u64>,
    /// Packets of the size that the link is made for which all slots of the physical link could have carried during the run,
    /// used or not ([`Segmentation::packets_in`](crate::Segmentation::packets_in)); `None` if unknown.
    pub capacity_packets: Option<f64>,
    /// Attempts → LLDUs that were used and delivered. Empty if the link does not report attempts.
    pub attempts: BTreeMap<u32, u64>,
}

/// Use of one slot of a coupled link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotUse {
    /// Number of the slot in the trace, from 0. Slots before the run are counted.
    pub slot: u64,
    /// Time at which the slot is sent.
    pub at: Time,
    /// Kind of the unit that the slot carries.
    pub kind: UnitKind,
    /// Packet that the unit belongs to.
    pub packet: Packet,
    /// Number of the unit's codeword in the order in which the link took them, from 0.
    pub codeword: u64,
    /// Attempt of the codeword, from 1.
    pub attempt: u32,
    /// Time at which the unit is decoded, without propagation; `None` if the slot was erased.
    pub arrival: Option<Time>,
}
