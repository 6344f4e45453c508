//! Scoreboard entries of the packets that are sent and not cumulatively acknowledged.

use std::ops::Range;

use super::Outstanding;

/// Smallest number of slots, once there is any.
const LEAST_SLOTS: usize = 32;

/// A ring of entries, found by packet number: the sender knows which packets are outstanding, so the ring need not, and
/// an acknowledged packet leaves it without a change.
#[derive(Debug, Default)]
pub(super) struct Flight {
    /// Their number is a power of two.
    slots: Vec<Outstanding>,
}

impl Flight {
    #[inline]
    fn slot(&self, packet: u64) -> usize {
        usize::try_from(packet).unwrap_or(usize::MAX) & self.slots.len().wrapping_sub(1)
    }

    /// The entry of an outstanding packet.
    #[inline]
    pub(super) fn entry(&self, packet: u64) -> &Outstanding {
        &self.slots[self.slot(packet)]
    }

    /// The entry of an outstanding packet, to be changed.
    #[inline]
    pub(super) fn entry_mut(&mut self, packet: u64) -> &mut Outstanding {
        let slot = self.slot(packet);
        &mut self.slots[slot]
    }

    /// The entries of outstanding packets.
    pub(super) fn entries(
        &self,
        packets: Range<u64>,
    ) -> impl DoubleEndedIterator<Item = (u64, &Outstanding)> {
        packets.map(|packet| (packet, self.entry(packet)))
    }

    /// Adds the packet after those that are `outstanding`.
    #[inline]
    pub(super) fn push(&mut self, outstanding: Range<u64>, entry: Outstanding) {
        let packet = outstanding.end;
        if packet - outstanding.start >= self.slots.len() as u64 {
            self.grow(outstanding);
        }
        *self.entry_mut(packet) = entry;
    }

    #[cold]
    fn grow(&mut self, outstanding: Range<u64>) {
        let more = (2 * self.slots.len()).max(LEAST_SLOTS);
        let mut grown = Self {
            slots: vec![Outstanding::default(); more],
        };
        for (packet, entry) in self.entries(outstanding) {
            *grown.entry_mut(packet) = *entry;
        }
        *self = grown;
    }
}
