//! TCP: the two hosts of a flow, with what their application supplies and gets.

use std::collections::VecDeque;
use std::sync::Arc;

use tmt_core::types::{Bytes, Time};
use tmt_link::Ecn;

use super::receiver::{Arrival, Receiver, Segment};
use super::sender::{OutgoingPacket, Sender};
use super::transmission::tag;
use super::{Context, Endpoint, Groups, Outgoing, Socket, Source, Supply};
use crate::congestion::{self, Algorithm};

/// Number of unsent packets below which the application is asked for more: the one to send, and one after it, so that the
/// sender knows whether a packet is the last for now.
const AHEAD: u64 = 2;

/// Both ends of a TCP flow. Fields lie in the order in which they are declared: a delivery needs the first two cache lines, an
/// ACK those from the packet size on.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Tcp {
    /// Number of packets to deliver; the largest number while there is no last one.
    total: u64,
    pub(crate) receiver: Receiver,
    /// Size of a packet.
    packet: Bytes,
    /// Data of an application of one's own; `None` for a bulk transfer.
    pub(crate) stream: Option<Box<Stream>>,
    pub(crate) sender: Sender,
}

/// What a TCP flow carries.
#[derive(Debug)]
pub(crate) enum Data {
    /// A transfer: its number of packets; `None` without end.
    Bulk(Option<u64>),
    /// What an application of one's own supplies.
    Stream(Socket),
}

impl Data {
    /// The data of a source.
    pub(crate) fn of(source: &Source, context: &Context, groups: &mut Groups) -> Self {
        match source {
            Source::Bulk { packets, .. } => Self::Bulk(*packets),
            Source::Application(_) | Source::Group(_) => {
                Self::Stream(source.socket(context, context.packet, groups))
            }
        }
    }
}

impl Tcp {
    /// Hosts that transfer `data` in packets of size `packet`.
    pub(crate) fn new(
        algorithm: &Algorithm,
        endpoint: Arc<Endpoint>,
        data: Data,
        packet: Bytes,
    ) -> Self {
        let control = congestion::start(algorithm, &endpoint.connection(packet));
        let (supplied, total, stream) = match data {
            Data::Bulk(packets) => (packets, packets.unwrap_or(u64::MAX), None),
            Data::Stream(socket) => {
                let stream = Stream {
                    socket,
                    payload: packet.0.saturating_sub(endpoint.headers.0).max(1),
                    rest: 0,
                    packets: 0,
                    bytes: 0,
                    ends: VecDeque::from([(0, 0)]),
                    due: None,
                    last_sent: None,
                };
                (Some(0), u64::MAX, Some(Box::new(stream)))
            }
        };
        Self {
            receiver: Receiver::new(Arc::clone(&endpoint)),
            total,
            packet,
            stream,
            sender: Sender::new(endpoint, control, supplied),
        }
    }

    /// A segment reaches the receiver.
    #[expect(clippy::inline_always, reason = "as [`Receiver::on_packet`]")]
    #[inline(always)]
    pub(crate) fn on_segment(&mut self, now: Time, segment: Segment) -> Arrival {
        let arrival = self.receiver.on_packet(now, segment);
        let sender = &self.sender;
        self.receiver.on_read(now, || sender.srtt());
        if let Some(stream) = &mut self.stream {
            stream.deliver(now, self.receiver.rcv_nxt());
        }
        arrival
    }

    /// Whether the receiver has everything in order.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.receiver.rcv_nxt() >= self.total
    }

    /// The next packet to send `now`, if there is one.
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    pub(crate) fn next(&mut self, now: Time) -> Option<Outgoing> {
        if self.stream.is_some() {
            return Some(self.next_of_stream(now)?.in_registers());
        }
        let packet = self.sender.next_packet(now)?;
        Some(self.outgoing(&packet))
    }

    /// As [`Self::next`], of a stream.
    #[inline(never)]
    fn next_of_stream(&mut self, now: Time) -> Option<Outgoing> {
        self.fill(now);
        let packet = self.sender.next_packet(now)?;
        if let Some(stream) = &mut self.stream {
            stream.last_sent = Some(now);
        }
        Some(self.outgoing(&packet))
    }

    /// A packet as it leaves.
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    fn outgoing(&self, packet: &OutgoingPacket) -> Outgoing {
        // Retransmissions are not ECN-capable (RFC 3168, Sec. 6.1.5).
        let is_capable = self.sender.is_ecn_capable() && packet.copy == 1;
        Outgoing {
            size: self.packet,
            ecn: if is_capable {
                Ecn::Capable
            } else {
                Ecn::NotCapable
            },
            tag: tag(packet),
            copy: packet.copy,
        }
    }

    /// Asks the application for data, until the sender has enough.
    #[inline(never)]
    pub(crate) fn fill(&mut self, now: Time) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        // It has nothing before the time that it said, and nothing once it has ended.
        if stream.due.is_some_and(|due| now < due) || self.total < u64::MAX {
            return;
        }
        stream.due = None;
        while self.sender.unsent() < AHEAD {
            let supply = stream.socket.supply(now);
            let supplied = stream.write(supply, self.sender.snd_nxt());
            if matches!(supply, Supply::Data(_)) && self.sender.unsent() == 0 {
                self.sender.on_data_after_pause(now, stream.last_sent);
            }
            self.sender.supply(supplied);
            match supply {
                Supply::Data(_) => {}
                Supply::At(at) => return stream.due = Some(at),
                Supply::Ended => return self.total = supplied,
            }
        }
    }

    /// Something has changed at the application: it is asked again, although it said that it has nothing yet.
    pub(crate) fn ask_again(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.due = None;
        }
    }

    /// Time at which pacing allows the next packet, or the application has more.
    #[inline]
    pub(crate) fn due(&self) -> Option<Time> {
        let release = self.sender.pacing_release();
        match &self.stream {
            None => release,
            Some(stream) => stream.due.into_iter().chain(release).min(),
        }
    }
}

/// A stream of bytes that an application supplies in pieces, cut into packets.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) socket: Socket,
    /// Payload of a full packet, bytes.
    payload: u64,
    /// Packets that do not change any more, and their bytes; and those of the packet after them, which is not full.
    packets: u64,
    bytes: u64,
    rest: u64,
    /// Packets up to and including each that is not full, and their bytes: those that are not delivered, after the last that is.
    ends: VecDeque<(u64, u64)>,
    due: Option<Time>,
    /// Time of the last transmission.
    last_sent: Option<Time>,
}

impl Stream {
    /// Takes what the application supplies, when packets below `sent` have been sent. Returns the number of packets. Data that do
    /// not fill one are sent when no other data can fill it.
    fn write(&mut self, supply: Supply, sent: u64) -> u64 {
        let Supply::Data(Bytes(more)) = supply else {
            return self.packets + u64::from(self.rest > 0);
        };
        if sent > self.packets {
            self.packets = sent;
            self.bytes += std::mem::take(&mut self.rest);
            self.ends.push_back((self.packets, self.bytes));
        }
        let bytes = self.rest.saturating_add(more);
        self.rest = bytes % self.payload;
        self.packets += bytes / self.payload;
        self.bytes += bytes - self.rest;
        self.packets
    }

    /// The receiver has all packets below `next`.
    fn deliver(&mut self, now: Time, next: u64) {
        while self.ends.get(1).is_some_and(|(end, _)| *end <= next) {
            self.ends.pop_front();
        }
        let (end, bytes) = self.ends[0];
        let bytes = if next > self.packets {
            self.bytes + self.rest
        } else {
            bytes + (next - end) * self.payload
        };
        let packets = next - self.socket.packets;
        if packets > 0 {
            let more = bytes - self.socket.delivered.0;
            self.socket.deliver(now, packets, Bytes(more));
        }
    }
}
