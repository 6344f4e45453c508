//! Buffers, and the hops beside the link, as a head describes them.

use std::num::NonZeroU64;

use super::{Keys, Order, missing};
use crate::audit::finding::{Finding, unfit};
use crate::audit::text::number;

/// Capacity of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::audit) struct Capacity {
    pub(in crate::audit) most: u64,
    /// Whether it counts bytes.
    pub(in crate::audit) in_bytes: bool,
}

impl Capacity {
    /// That of a buffer without a limit.
    pub(in crate::audit) const UNLIMITED: Self = Self {
        most: u64::MAX,
        in_bytes: false,
    };

    /// Room that a packet of `size` bytes takes.
    pub(in crate::audit) fn of(self, size: u64) -> u64 {
        if self.in_bytes { size } else { 1 }
    }

    /// Unit of its counts, for violations.
    pub(in crate::audit) fn unit(self) -> &'static str {
        if self.in_bytes { "bytes" } else { "packets" }
    }
}

/// How long packets are at a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::audit) enum Pace {
    /// No time.
    AtOnce,
    /// As long as this rate needs, bit/s, and the packets before them.
    Rate(u64),
    /// As the LLDUs of a trace, which a log does not have, and the number of LLDUs that a packet takes.
    Trace(Packed),
}

/// How packets take LLDUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::audit) struct Packed {
    /// Content of an LLDU, bytes.
    pub(in crate::audit) payload: u64,
    /// Whether packets share LLDUs.
    pub(in crate::audit) shared: bool,
}

impl Packed {
    /// Need of a packet of `size` bytes and content of an LLDU, in LLDUs or, if packets share them, in bytes.
    pub(in crate::audit) const fn need(self, size: u64) -> (u64, u64) {
        if self.shared {
            (size, self.payload)
        } else {
            (size.div_ceil(self.payload), 1)
        }
    }
}

/// A hop beside the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::audit) struct Hop {
    pub(in crate::audit) pace: Pace,
    pub(in crate::audit) capacity: Capacity,
    /// Whether it drops only when it is full, first in, first out.
    pub(in crate::audit) is_drop_tail: bool,
    /// Whether packets may be lost there.
    pub(in crate::audit) loses: bool,
    pub(in crate::audit) order: Order,
}

/// Capacity of the buffer, in packets or bytes.
pub(super) fn capacity(key: &str, text: &str) -> Result<Capacity, Finding> {
    let (most, in_bytes) = match text.strip_suffix("pkt") {
        Some(packets) => (number(packets.as_bytes()), false),
        None if text == "inf" => (Some(u64::MAX), false),
        None => {
            let bytes = text.strip_suffix('B').unwrap_or_default();
            (number(bytes.as_bytes()), true)
        }
    };
    let expected = "inf, or a whole number with the unit pkt or B";
    let most = most.ok_or_else(|| unfit(key, text, expected))?;
    Ok(Capacity { most, in_bytes })
}

/// The hops beside the link; `None` where the head has none.
pub(super) fn hops(keys: &Keys<'_>) -> Result<[Option<Hop>; 2], Finding> {
    let hop = |there: Option<&str>,
               rate: Option<NonZeroU64>,
               trace: Option<Option<Packed>>,
               (key, buffer): (&str, Option<&str>),
               packing_key: &str,
               [queue, loss]: [Option<&str>; 2]| {
        let hop = there.map(|_| {
            let pace = match (rate, trace) {
                (_, Some(packed)) => Pace::Trace(packed.ok_or_else(|| missing(packing_key))?),
                (Some(rate), None) => Pace::Rate(rate.get()),
                (None, None) => Pace::AtOnce,
            };
            let capacity = buffer.map(|text| capacity(key, text)).transpose()?;
            Ok(Hop {
                pace,
                capacity: capacity.unwrap_or(Capacity::UNLIMITED),
                is_drop_tail: queue.is_none_or(|queue| queue == "drop-tail"),
                loses: loss.is_some(),
                order: queue.map(Order::of).unwrap_or_default(),
            })
        });
        hop.transpose()
    };
    let packed = |payload: Option<NonZeroU64>, packing: Option<&str>| {
        let shared = packing == Some("bytes");
        let payload = payload?.get();
        Some(Packed { payload, shared })
    };
    let near = packed(
        keys.terrestrial_lldu_payload_bytes,
        keys.terrestrial_packing,
    );
    let far = packed(keys.far_lldu_payload_bytes, keys.far_packing);
    Ok([
        hop(
            keys.terrestrial_hop,
            keys.terrestrial_rate_bps,
            keys.terrestrial_trace.map(|_| near),
            ("terrestrial_buffer", keys.terrestrial_buffer),
            "terrestrial_lldu_payload_bytes",
            [keys.terrestrial_queue, keys.terrestrial_loss],
        )?,
        hop(
            keys.far_hop,
            keys.far_rate_bps,
            keys.far_trace.map(|_| far),
            ("far_buffer", keys.far_buffer),
            "far_lldu_payload_bytes",
            [keys.far_queue, keys.far_loss],
        )?,
    ])
}
