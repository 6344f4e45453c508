//! UDP (RFC 768): each answer of the application is a datagram, without acknowledgement, retransmission or pacing.

use tmt_core::types::{Bytes, Time};
use tmt_link::{Packet, Tag};

use super::{Datagram, Host, Outgoing, Socket, Supply};

/// Headers of IPv4 and UDP without options, bytes (RFC 791, 768).
pub const UDP_HEADERS: Bytes = Bytes(28);

/// The host that sends datagrams. A tag has the number of the datagram, and 1 for its only copy.
#[derive(Debug)]
pub struct UdpSender {
    headers: Bytes,
    sent: u64,
    due: Option<Time>,
}

impl UdpSender {
    /// A sender that adds `headers` to each datagram.
    #[must_use]
    pub const fn new(headers: Bytes) -> Self {
        Self {
            headers,
            sent: 0,
            due: None,
        }
    }
}

impl Host for UdpSender {
    fn on_packet(&mut self, _now: Time, _packet: &Packet, _socket: &mut Socket) {}

    fn poll(&mut self, now: Time, socket: &mut Socket) -> Option<Outgoing> {
        self.due = None;
        match socket.supply(now) {
            Supply::Data(payload) => {
                let number = self.sent;
                self.sent += 1;
                Some(Outgoing {
                    size: Bytes(payload.0.saturating_add(self.headers.0)),
                    tag: Tag([number, 1]),
                    copy: 1,
                    ..Outgoing::default()
                })
            }
            Supply::At(at) => {
                self.due = Some(at);
                None
            }
            Supply::Ended => None,
        }
    }

    fn due(&self) -> Option<Time> {
        self.due
    }
}

/// The host that receives them.
#[derive(Debug)]
pub struct UdpReceiver {
    headers: Bytes,
}

impl UdpReceiver {
    /// A receiver of datagrams with these headers.
    #[must_use]
    pub const fn new(headers: Bytes) -> Self {
        Self { headers }
    }
}

impl Host for UdpReceiver {
    fn on_packet(&mut self, now: Time, packet: &Packet, socket: &mut Socket) {
        let datagram = Datagram {
            number: packet.tag.0[0],
            sent: packet.sent,
            payload: Bytes(packet.size.0.saturating_sub(self.headers.0)),
        };
        socket.deliver_datagram(now, datagram);
    }
}
