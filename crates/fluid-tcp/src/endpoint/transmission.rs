//! TCP's contents of packets: which packet of its flow a transmission carries, and why. Links carry them as an opaque
//! [`Tag`].

use tmt_core::types::Bytes;
use tmt_link::{Packet, Tag};

use super::receiver::Segment;
use super::sender::{OutgoingPacket, TransmissionReason};

/// One sending of a packet. The packet log has a row for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Transmission {
    /// Number in the order of sending over all flows, from 0.
    pub ordinal: u64,
    /// Number of the flow, from 0.
    pub flow: usize,
    /// Number of the packet within its flow, from 0.
    pub packet: u64,
    /// Number of the transmission of this packet: 1 for the first, 2 for the first retransmission.
    pub copy: u32,
    /// Reason for sending it: new data, or the mechanism that retransmits.
    pub why: TransmissionReason,
    /// Size on the link, headers included.
    pub size: Bytes,
}

/// Bit of the second word of a tag that stands for CWR. Above it is the reason, below it the number of the transmission.
const CWR: u64 = 1 << 32;

impl Transmission {
    /// The transmission that `packet` is.
    #[inline]
    #[must_use]
    pub fn of(packet: &Packet) -> Self {
        let Tag([number, word]) = packet.tag;
        Self {
            ordinal: packet.id,
            flow: packet.flow as usize,
            packet: number,
            copy: u32::try_from(word & (CWR - 1)).unwrap_or(u32::MAX),
            why: TransmissionReason::ALL[(word >> 33) as usize & 3],
            size: packet.size,
        }
    }
}

/// The tag of a packet as the sender requests it.
#[inline]
pub(crate) fn tag(outgoing: &OutgoingPacket) -> Tag {
    let cwr = if outgoing.cwr { CWR } else { 0 };
    let reason = (outgoing.reason as u64) << 33;
    Tag([outgoing.packet, u64::from(outgoing.copy) | cwr | reason])
}

/// Segment of a packet with this tag, as the receiver sees it.
#[inline]
pub(crate) fn segment(packet: &Packet) -> Segment {
    Segment {
        number: packet.tag.0[0],
        sent: packet.sent,
        marked: packet.ecn == tmt_link::Ecn::Marked,
        cwr: packet.tag.0[1] & CWR != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_holds_what_tcp_must_know() {
        for reason in TransmissionReason::ALL {
            for (packet, copy, cwr) in [(0, 1, false), (u64::MAX, u32::MAX, true), (7, 2, false)] {
                let outgoing = OutgoingPacket {
                    packet,
                    copy,
                    cwr,
                    reason,
                };
                let on_the_link = Packet {
                    tag: tag(&outgoing),
                    ..Packet::default()
                };
                let seen = Transmission::of(&on_the_link);
                assert_eq!((seen.packet, seen.copy, seen.why), (packet, copy, reason));
                assert_eq!(segment(&on_the_link).cwr, cwr);
            }
        }
    }
}
