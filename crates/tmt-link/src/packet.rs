//! Packets on a path.

use tmt_core::types::{Bytes, Time};

/// Number of classes of packets.
pub const CLASSES: u8 = 8;

/// A packet, with what queues, links and hosts need of it.
///
/// ```
/// use tmt_core::{Bytes, Time};
/// use tmt_link::Packet;
///
/// let packet = Packet { id: 7, size: Bytes(1500), ..Packet::default() };
/// assert_eq!((packet.flow, packet.sent), (0, Time::ZERO));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packet {
    /// Number in the order of sending over all flows, from 0. No two packets of a run share it.
    pub id: u64,
    /// Number of its flow, from 0.
    pub flow: u32,
    /// Size on the link, headers included.
    pub size: Bytes,
    /// Explicit congestion notification (RFC 3168, Sec. 5).
    pub ecn: Ecn,
    /// Class of its flow, from 0, the lowest, to 7: as the class selectors of RFC 2474, Sec. 4.2.2.
    pub class: u8,
    /// Time at which its host sent it.
    pub sent: Time,
    /// Time at which it reached the queue.
    pub enqueued: Time,
    /// Contents that only hosts read.
    pub tag: Tag,
}

/// ECN field of a packet (RFC 3168, Sec. 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Not ECN-capable: a queue may drop it, but not mark it.
    #[default]
    NotCapable,
    /// ECN-capable: a queue may mark it instead of dropping it.
    Capable,
    /// Marked: congestion experienced.
    Marked,
}

/// Contents of a packet that links and queues carry unread: its number and copy, the reason of a transmission, or an index
/// of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tag(pub [u64; 2]);
