//! Datagrams: each is a packet, which nobody acknowledges or repeats.

use fluid_tcp::endpoint::{Host, Outgoing, Socket, Supply};
use tmt_core::types::{Bytes, Time};
use tmt_link::{Packet, Tag};

/// Headers of a datagram, bytes: IPv4 and UDP.
pub(crate) const HEADERS: u64 = 28;

#[derive(Debug, Default)]
pub(crate) struct DatagramSender {
    sent: u64,
    due: Option<Time>,
}

impl Host for DatagramSender {
    fn on_packet(&mut self, _now: Time, _packet: &Packet, _socket: &mut Socket) {}

    fn poll(&mut self, now: Time, socket: &mut Socket) -> Option<Outgoing> {
        self.due = None;
        match socket.supply(now) {
            Supply::Data(payload) => {
                self.sent += 1;
                Some(Outgoing {
                    size: Bytes(payload.0 + HEADERS),
                    tag: Tag([self.sent - 1, 1]),
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

#[derive(Debug)]
pub(crate) struct DatagramReceiver;

impl Host for DatagramReceiver {
    fn on_packet(&mut self, now: Time, packet: &Packet, socket: &mut Socket) {
        socket.deliver(now, 1, Bytes(packet.size.0 - HEADERS));
    }
}
