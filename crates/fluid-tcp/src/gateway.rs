//! The queue in front of the link: first in first out, drop-tail, the packet in service included.

use std::collections::VecDeque;

/// How much the queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// So many packets.
    Packets(u64),
    /// So many bytes.
    Bytes(u64),
}

impl Buffer {
    /// Packets of `packet` bytes that fit.
    #[must_use]
    pub fn packets(self, packet: u64) -> u64 {
        match self {
            Self::Packets(packets) => packets,
            Self::Bytes(bytes) => bytes.checked_div(packet).unwrap_or(0),
        }
    }
}

/// A drop-tail queue of packets that all have the same size.
#[derive(Debug)]
pub(crate) struct Gateway<P> {
    queue: VecDeque<P>,
    capacity: u64,
}

impl<P: Copy> Gateway<P> {
    pub(crate) fn new(capacity: u64) -> Self {
        Self {
            queue: VecDeque::new(),
            capacity,
        }
    }

    /// Takes `packet` in, unless the queue is full.
    pub(crate) fn enqueue(&mut self, packet: P) -> bool {
        let room = self.len() < self.capacity;
        if room {
            self.queue.push_back(packet);
        }
        room
    }

    /// The packet in service, or about to be.
    pub(crate) fn head(&self) -> Option<P> {
        self.queue.front().copied()
    }

    /// The packet in service has been sent.
    pub(crate) fn depart(&mut self) {
        self.queue.pop_front();
    }

    /// Packets held, the one in service included.
    pub(crate) fn len(&self) -> u64 {
        self.queue.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_in_service_counts() {
        let mut gateway = Gateway::new(2);
        assert!(gateway.enqueue('a') && gateway.enqueue('b'));
        assert!(!gateway.enqueue('c'));
        assert_eq!(gateway.head(), Some('a'));
        gateway.depart();
        assert!(gateway.enqueue('d'));
        assert_eq!(gateway.len(), 2);
    }

    #[test]
    fn bytes_hold_whole_packets() {
        assert_eq!(Buffer::Bytes(64_000).packets(1500), 42);
        assert_eq!(Buffer::Packets(7).packets(1500), 7);
    }
}
