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

keywords!(Packing { Packet => "packet", Bytes => "bytes" });

impl Packing {
    /// Segmentation of packets of size `packet` into LLDUs with a payload of `payload` bytes.
    #[must_use]
    pub const fn segmentation(self, packet: Bytes, payload: NonZeroU64) -> Segmentation {
        match self {
            Self::Packet => Segmentation::whole(packet.0.div_ceil(payload.get())),
            Self::Bytes => Segmentation::bytes(packet, payload),
        }
    }
}

/// What a packet needs and what an LLDU carries, both in whole LLDUs or both in bytes.
///
/// A packet occupies consecutive units of the LLDUs. A packet that finds the link busy follows the one before without a
/// gap; with [`Segmentation::bytes`] it begins in the LLDU in which that one ends, if it has room.
///
/// ```
/// use std::num::NonZeroU64;
/// use fluid_tcp::link::Segmentation;
/// use tmt_core::Bytes;
///
/// // 1500 B need 47 LLDUs of 32 B, and 4 B of the last remain.
/// let shared = Segmentation::bytes(Bytes(1500), NonZeroU64::new(32).ok_or("no payload")?);
/// assert_eq!((shared.lldus(), shared.after(0)), (47, (47, 4)));
/// // The next packet takes the 4 B, and 20 B of a last LLDU.
/// assert_eq!(shared.after(4), (47, 8));
/// assert_eq!(Segmentation::whole(47).after(0), (47, 0));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmentation {
    /// Units that a packet needs.
    packet: u64,
    /// Units that an LLDU carries.
    room: u64,
    /// ⌊`packet` / `room`⌋, and the remainder: no packet then needs a division.
    full: u64,
    rest: u64,
}

impl Segmentation {
    /// Each packet begins an LLDU of its own and takes `lldus` LLDUs.
    #[must_use]
    pub const fn whole(lldus: u64) -> Self {
        Self::new(lldus, 1)
    }

    /// Packets of size `packet` share LLDUs that carry `payload` bytes each.
    #[must_use]
    pub const fn bytes(packet: Bytes, payload: NonZeroU64) -> Self {
        Self::new(packet.0, payload.get())
    }

    const fn new(packet: u64, room: u64) -> Self {
        Self {
            packet,
            room,
            full: packet / room,
            rest: packet % room,
        }
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

    /// Packets served without a gap from the begin of an LLDU whose first unit is in one of the first `lldus` LLDUs.
    #[must_use]
    pub(super) fn begun_in(self, lldus: u64) -> u64 {
        let units = u128::from(lldus) * u128::from(self.room);
        let packets = units.div_ceil(u128::from(self.packet.max(1)));
        u64::try_from(packets).unwrap_or(u64::MAX)
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
            let segmentation = Segmentation::bytes(Bytes(packet), NonZeroU64::new(payload).unwrap());
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
            for lldus in 0..taken {
                let begun = (0..packets).filter(|number| lldu_of_byte(number * packet) < lldus).count() as u64;
                prop_assert_eq!(segmentation.begun_in(lldus).min(packets), begun);
            }
        }
    }
}
