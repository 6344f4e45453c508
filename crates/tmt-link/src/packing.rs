//! Packing of packets into LLDUs: `--packing` (docs/simulator.md, Sec. 2.1).

use std::num::NonZeroU64;

use tmt_core::types::{Bytes, to_f64};

/// Packing of packets into LLDUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Packing {
    /// A packet begins an LLDU of its own (CLIFT 2014, Sec. IV).
    #[default]
    Packet,
    /// Segmentation and concatenation, as in RLC, GSE and mahimahi: an LLDU carries the tail of one packet and the head
    /// of the next.
    Bytes,
}

tmt_core::keywords!(Packing { Packet => "packet", Bytes => "bytes" });

impl Packing {
    /// Segmentation of packets into LLDUs with a payload of `payload` bytes, at first of packets of this `size`.
    #[must_use]
    pub const fn segmentation(self, size: Bytes, payload: NonZeroU64) -> Segmentation {
        Segmentation::new(self, size, (payload.get(), 1))
    }
}

/// Need of a packet and content of an LLDU, both in whole LLDUs or both in bytes.
///
/// A packet occupies consecutive units of the LLDUs. A packet that finds the link busy follows the one before without a
/// gap; with [`Packing::Bytes`] it begins in the LLDU in which that one ends, if it has room.
///
/// ```
/// use std::num::NonZeroU64;
/// use tmt_core::Bytes;
/// use tmt_link::{Packing, Segmentation};
///
/// // 1500 B need 47 LLDUs of 32 B, and 4 B of the last remain.
/// let payload = NonZeroU64::new(32).ok_or("no payload")?;
/// let shared = Packing::Bytes.segmentation(Bytes(1500), payload);
/// assert_eq!((shared.lldus(), shared.after(0)), (47, (47, 4)));
/// // The next packet takes the 4 B, and 20 B of a last LLDU.
/// assert_eq!(shared.after(4), (47, 8));
/// assert_eq!(Packing::Packet.segmentation(Bytes(1500), payload).after(0), (47, 0));
/// // A packet of 40 B needs two LLDUs.
/// assert_eq!(shared.of(Bytes(40)).lldus(), 2);
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmentation {
    packing: Packing,
    /// Size of a packet.
    size: Bytes,
    /// Bytes that an LLDU carries, as a fraction.
    payload: (u64, u64),
    /// Units that a packet needs.
    packet: u64,
    /// Units that an LLDU carries.
    room: u64,
    /// ⌊`packet` / `room`⌋, and the remainder: no packet then needs a division.
    full: u64,
    rest: u64,
}

impl Segmentation {
    /// Each packet begins an LLDU of its own. Packets of this `size` take `lldus` LLDUs, others in proportion.
    #[must_use]
    pub const fn whole(size: Bytes, lldus: u64) -> Self {
        Self::new(Packing::Packet, size, (size.0, lldus))
    }

    const fn new(packing: Packing, size: Bytes, payload: (u64, u64)) -> Self {
        let (packet, room) = match packing {
            Packing::Packet => (size.0.saturating_mul(payload.1).div_ceil(payload.0), 1),
            Packing::Bytes => (size.0, payload.0),
        };
        Self {
            packing,
            size,
            payload,
            packet,
            room,
            full: packet / room,
            rest: packet % room,
        }
    }

    /// The same for packets of this `size`.
    #[must_use]
    pub const fn of(self, size: Bytes) -> Self {
        Self::new(self.packing, size, self.payload)
    }

    /// Size of a packet.
    #[must_use]
    pub const fn size(self) -> Bytes {
        self.size
    }

    /// LLDUs of a packet that begins with one.
    #[must_use]
    pub const fn lldus(self) -> u64 {
        self.full + (self.rest > 0) as u64
    }

    /// For a packet that finds `left` free units in the LLDU of the packet before, fewer than an LLDU has: the LLDUs that
    /// it takes after that one, and the units left in its last one.
    #[must_use]
    pub const fn after(self, left: u64) -> (u64, u64) {
        match left.checked_sub(self.rest) {
            Some(left) => (self.full, left),
            None => (self.full + 1, self.room + left - self.rest),
        }
    }

    /// Packets per LLDU, on average.
    #[must_use]
    pub fn packets_per_lldu(self) -> f64 {
        to_f64(self.room) / to_f64(self.packet)
    }

    /// Packets that `slots` slots can carry, each as one LLDU: the capacity of a link, without any redundancy of a scheme.
    /// Whole packets, unless they share LLDUs.
    #[must_use]
    pub fn packets_in(self, slots: u64) -> f64 {
        match (self.room, slots.checked_div(self.packet)) {
            (1, Some(packets)) => to_f64(packets),
            _ => to_f64(slots) * self.packets_per_lldu(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares with packets laid out byte by byte.
        #[test]
        fn packets_occupy_consecutive_bytes(packet in 1u64..200, payload in 1u64..90, packets in 1u64..40) {
            let segmentation = Packing::Bytes.segmentation(Bytes(packet), NonZeroU64::new(payload).unwrap());
            let lldu_of_byte = |byte: u64| byte / payload;
            prop_assert_eq!(segmentation.lldus(), lldu_of_byte(packet - 1) + 1);
            let (mut taken, mut left) = (0, 0);
            for number in 0..packets {
                let fresh;
                (fresh, left) = segmentation.after(left);
                taken += fresh;
                let last_byte = (number + 1) * packet - 1;
                prop_assert_eq!(taken, lldu_of_byte(last_byte) + 1);
                prop_assert_eq!(left, taken * payload - last_byte - 1);
            }
        }
    }
}
