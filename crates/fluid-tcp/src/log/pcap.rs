//! `--pcap`: the packets of a run as each end would capture them, for tools that read captures.
//!
//! Format: pcap 2.4 with nanoseconds (magic 0xa1b23c4d), link type RAW (101); IPv4 and TCP by RFC 791, 9293 and
//! 2018. The sender's file has data at the times of sending and acknowledgements at those of arrival, the
//! receiver's the other way round. Each flow is a connection of its own. Times are the run's, from 1970 on.
//!
//! What no simulation of windows knows is made up, in the same way always:
//! - a handshake without length in front of the first packet, in both files at the time of its sending, so that a
//!   reader knows segment size, window scale and SACK; a run with a simulated handshake shows this one too;
//! - sequence numbers count bytes from 1, packet n begins at 1 + n · payload modulo 2^32;
//! - the payload is zeros and left out (the length on the wire tells the whole); checksums cover it;
//! - the receiver's window is that of its settings, or what 16 bits and the largest scale can say.
//!
//! As the handshake has no length, Wireshark knows no round-trip time and takes its default of 3 ms: a retransmission
//! that follows the highest packet sent within 3 ms is "out of order" to it, the others are retransmissions. In
//! the sender's file the two together are the run's retransmissions.

use std::io::{self, Write};

use etherparse::{IpNumber, Ipv4Header, TcpHeader, TcpOptionElement as Element};
use tmt_core::types::{Bytes, Time};

use crate::endpoint::receiver::Ack;
use crate::link::PacketCopy;
use crate::simulation::probe::Probe;

/// Bytes of the headers of a data packet: IPv4 and TCP, both without options.
pub const HEADERS: u64 = 40;

/// Largest packet: what the total length of IPv4 can say.
pub const LARGEST: u64 = 65_535;

/// Bytes kept of a packet at most: both headers with all options.
const SNAPLEN: u32 = 20 + 60;

/// Nanosecond pcap, written by a little-endian machine.
const MAGIC: u32 = 0xa1b2_3c4d;

/// LINKTYPE_RAW: the packet begins with its IP header.
const LINK_TYPE: u32 = 101;

/// Ports that no protocol is known by; a flow takes one, then the next address.
const FIRST_PORT: u16 = 49_152;
const PORTS: u16 = 16_000;
const SERVER_PORT: u16 = 65_500;

/// The largest window scale (RFC 7323 §2.3).
const LARGEST_SCALE: u8 = 14;

/// What a capture has to know of a flow.
#[derive(Debug, Clone, Copy)]
pub struct PcapFlow {
    /// Whether both ends know selective acknowledgements.
    pub sack: bool,
    /// The receiver's window, packets.
    pub rwnd: u64,
}

/// One file.
#[derive(Debug)]
struct Capture<W> {
    output: W,
    record: Vec<u8>,
}

impl<W: Write> Capture<W> {
    fn new(mut output: W) -> io::Result<Self> {
        let mut header = Vec::new();
        header.extend_from_slice(&MAGIC.to_le_bytes());
        header.extend_from_slice(&2u16.to_le_bytes());
        header.extend_from_slice(&4u16.to_le_bytes());
        // Times are UTC, of an accuracy that nobody tells.
        header.extend_from_slice(&[0; 8]);
        header.extend_from_slice(&SNAPLEN.to_le_bytes());
        header.extend_from_slice(&LINK_TYPE.to_le_bytes());
        output.write_all(&header)?;
        Ok(Self {
            output,
            record: Vec::new(),
        })
    }

    /// Writes `headers` of a packet that was `length` bytes long.
    fn packet(&mut self, at: Time, headers: &[u8], length: u32) -> io::Result<()> {
        const SECOND: u64 = 1_000_000_000;
        let seconds = u32::try_from(at.as_nanos() / SECOND).map_err(|_| {
            io::Error::other(format!(
                "found a packet at {at}, expected times below 2^32 s in a pcap"
            ))
        })?;
        let fraction = u32::try_from(at.as_nanos() % SECOND).unwrap_or(0);
        let kept = u32::try_from(headers.len()).unwrap_or(SNAPLEN);
        self.record.clear();
        for word in [seconds, fraction, kept, length] {
            self.record.extend_from_slice(&word.to_le_bytes());
        }
        self.record.extend_from_slice(headers);
        self.output.write_all(&self.record)
    }
}

/// One flow's connection.
#[derive(Debug, Clone, Copy)]
struct Connection {
    sack: bool,
    scale: u8,
    window: u16,
    /// The window of packets whose scale is not known yet.
    unscaled: u16,
    begun: bool,
}

/// A segment in the making.
#[derive(Default)]
struct Segment<'a> {
    flow: usize,
    from_sender: bool,
    syn: bool,
    ack: bool,
    seq: u32,
    acknowledged: u32,
    window: u16,
    options: &'a [Element],
    payload: u16,
}

/// Writes both captures while the run goes on.
#[derive(Debug)]
pub struct Pcap<W> {
    sender: Capture<W>,
    receiver: Capture<W>,
    flows: Vec<Connection>,
    payload: u16,
    zeros: Vec<u8>,
    error: Option<io::Error>,
}

impl<W: Write> Pcap<W> {
    /// Captures at both ends of packets of `packet` bytes, headers included.
    ///
    /// # Errors
    /// A packet without room for a byte beside its headers, or longer than IPv4 allows; what the system says.
    pub fn new(
        sender: W,
        receiver: W,
        packet: Bytes,
        flows: impl IntoIterator<Item = PcapFlow>,
    ) -> io::Result<Self> {
        let payload = packet
            .0
            .checked_sub(HEADERS)
            .filter(|payload| *payload > 0 && packet.0 <= LARGEST)
            .and_then(|payload| u16::try_from(payload).ok())
            .ok_or_else(|| {
                let found = format!(
                    "found packets of {packet}, expected {} B to {LARGEST} B",
                    HEADERS + 1
                );
                io::Error::new(io::ErrorKind::InvalidInput, found)
            })?;
        Ok(Self {
            sender: Capture::new(sender)?,
            receiver: Capture::new(receiver)?,
            flows: flows
                .into_iter()
                .map(|flow| Connection::new(flow, payload))
                .collect(),
            payload,
            zeros: vec![0; usize::from(payload)],
            error: None,
        })
    }

    /// Both files, the sender's first.
    ///
    /// # Errors
    /// The first error of an output.
    pub fn finish(self) -> io::Result<[W; 2]> {
        match self.error {
            Some(error) => Err(error),
            None => Ok([self.sender.output, self.receiver.output]),
        }
    }

    /// The sequence number at which a packet begins.
    fn seq(&self, packet: u64) -> u32 {
        // Only the lowest 32 bits count.
        let bytes = packet.wrapping_mul(u64::from(self.payload)).wrapping_add(1);
        u32::try_from(bytes & u64::from(u32::MAX)).unwrap_or(0)
    }

    /// Keeps the first thing that goes wrong and writes nothing behind it.
    fn tell(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = write(self).err();
        }
    }

    fn write(&mut self, at: Time, at_sender: bool, segment: &Segment<'_>) -> io::Result<()> {
        let mut packet = Vec::new();
        let payload = &self.zeros[..usize::from(segment.payload)];
        headers(segment, payload, &mut packet)?;
        let length = u32::try_from(packet.len()).unwrap_or(0) + u32::from(segment.payload);
        let file = if at_sender {
            &mut self.sender
        } else {
            &mut self.receiver
        };
        file.packet(at, &packet, length)
    }

    /// A data packet; the first of a flow has its handshake in front.
    fn data(&mut self, at: Time, at_sender: bool, copy: PacketCopy) -> io::Result<()> {
        if !self.flows[copy.flow].begun {
            self.flows[copy.flow].begun = true;
            self.handshake(at, copy.flow)?;
        }
        let segment = Segment {
            flow: copy.flow,
            from_sender: true,
            ack: true,
            seq: self.seq(copy.packet),
            acknowledged: 1,
            window: u16::MAX,
            payload: self.payload,
            ..Segment::default()
        };
        self.write(at, at_sender, &segment)
    }

    fn handshake(&mut self, at: Time, flow: usize) -> io::Result<()> {
        let connection = self.flows[flow];
        let mut options = vec![Element::MaximumSegmentSize(self.payload)];
        if connection.sack {
            options.push(Element::SelectiveAcknowledgementPermitted);
        }
        options.push(Element::WindowScale(connection.scale));
        let syn = Segment {
            flow,
            from_sender: true,
            syn: true,
            window: u16::MAX,
            options: &options,
            ..Segment::default()
        };
        let syn_ack = Segment {
            from_sender: false,
            ack: true,
            acknowledged: 1,
            window: connection.unscaled,
            ..syn
        };
        let last = Segment {
            syn: false,
            ack: true,
            seq: 1,
            acknowledged: 1,
            options: &[],
            ..syn
        };
        for segment in [&syn, &syn_ack, &last] {
            self.write(at, true, segment)?;
            self.write(at, false, segment)?;
        }
        Ok(())
    }

    fn ack(&mut self, at: Time, at_sender: bool, flow: usize, ack: &Ack) -> io::Result<()> {
        let blocks: Vec<(u32, u32)> = ack
            .blocks
            .iter()
            .filter(|(start, end)| start < end)
            .map(|(start, end)| (self.seq(*start), self.seq(*end)))
            .collect();
        let rest = [blocks.get(1).copied(), blocks.get(2).copied(), None];
        let sack = blocks
            .first()
            .map(|first| Element::SelectiveAcknowledgement(*first, rest));
        let options: Vec<Element> = sack
            .into_iter()
            .flat_map(|sack| [Element::Noop, Element::Noop, sack])
            .collect();
        let segment = Segment {
            flow,
            ack: true,
            seq: 1,
            acknowledged: self.seq(ack.next),
            window: self.flows[flow].window,
            options: &options,
            ..Segment::default()
        };
        self.write(at, at_sender, &segment)
    }
}

impl Connection {
    fn new(flow: PcapFlow, payload: u16) -> Self {
        let bytes = flow.rwnd.saturating_mul(u64::from(payload));
        let most = u64::from(u16::MAX);
        let scale = (0..LARGEST_SCALE)
            .find(|scale| bytes.div_ceil(1 << scale) <= most)
            .unwrap_or(LARGEST_SCALE);
        let window = |units: u64| u16::try_from(units).unwrap_or(u16::MAX);
        Self {
            sack: flow.sack,
            scale,
            // Rounded up, so that what the sender may send fits into what it was told.
            window: window(bytes.div_ceil(1 << scale)),
            unscaled: window(bytes),
            begun: false,
        }
    }
}

/// Appends the IPv4 and TCP headers of a segment.
fn headers(segment: &Segment<'_>, payload: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let invalid = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
    let ports = usize::from(PORTS);
    let port = FIRST_PORT + u16::try_from(segment.flow % ports).unwrap_or(0);
    let network = u8::try_from(segment.flow / ports).map_err(|error| invalid(&error))?;
    let (sender, receiver) = ([10, 0, network, 1], [10, 0, network, 2]);
    let (from, to, source, destination) = if segment.from_sender {
        (port, SERVER_PORT, sender, receiver)
    } else {
        (SERVER_PORT, port, receiver, sender)
    };
    let mut tcp = TcpHeader::new(from, to, segment.seq, segment.window);
    tcp.syn = segment.syn;
    tcp.ack = segment.ack;
    tcp.acknowledgment_number = segment.acknowledged;
    tcp.set_options(segment.options)
        .map_err(|error| invalid(&error))?;
    let length = tcp.header_len_u16() + segment.payload;
    let mut ip = Ipv4Header::new(length, 64, IpNumber::TCP, source, destination)
        .map_err(|error| invalid(&error))?;
    ip.dont_fragment = true;
    ip.header_checksum = ip.calc_header_checksum();
    tcp.checksum = tcp
        .calc_checksum_ipv4(&ip, payload)
        .map_err(|error| invalid(&error))?;
    out.extend_from_slice(&ip.to_bytes());
    out.extend_from_slice(&tcp.to_bytes());
    Ok(())
}

impl<W: Write> Probe for Pcap<W> {
    fn on_sent(&mut self, now: Time, copy: PacketCopy) {
        self.tell(|pcap| pcap.data(now, true, copy));
    }

    fn on_delivered(&mut self, now: Time, copy: PacketCopy) {
        self.tell(|pcap| pcap.data(now, false, copy));
    }

    fn on_ack_sent(&mut self, now: Time, flow: usize, ack: &Ack) {
        self.tell(|pcap| pcap.ack(now, false, flow, ack));
    }

    fn on_ack_received(&mut self, now: Time, flow: usize, ack: &Ack) {
        self.tell(|pcap| pcap.ack(now, true, flow, ack));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::sender::Why;

    fn pcap(packet: u64, rwnd: u64) -> io::Result<Pcap<Vec<u8>>> {
        let flow = PcapFlow { sack: true, rwnd };
        Pcap::new(Vec::new(), Vec::new(), Bytes(packet), [flow])
    }

    /// The TCP header of the last packet of a file.
    fn last(file: &[u8], length: usize) -> TcpHeader {
        TcpHeader::from_slice(&file[file.len() - length..])
            .unwrap()
            .0
    }

    #[test]
    fn sequence_numbers_go_on_behind_four_gigabytes() {
        // 1 + 1460 · 2941758 = 2^32 − 615 and 1 + 1460 · 2941759 = 2^32 + 845.
        for (packet, seq) in [(2_941_758, 4_294_966_681), (2_941_759, 845)] {
            let mut pcap = pcap(1500, 10).unwrap();
            let copy = PacketCopy {
                ordinal: 0,
                flow: 0,
                packet,
                copy: 1,
                why: Why::New,
            };
            pcap.on_sent(Time::ZERO, copy);
            let ack = Ack {
                next: packet,
                blocks: [(packet + 1, packet + 2), (0, 0), (0, 0)],
                ..Ack::default()
            };
            pcap.on_ack_sent(Time::ZERO, 0, &ack);
            let [sender, receiver] = pcap.finish().unwrap();
            assert_eq!(last(&sender, 20).sequence_number, seq);
            let header = last(&receiver, 32);
            assert_eq!(header.acknowledgment_number, seq);
            let block = (seq.wrapping_add(1460), seq.wrapping_add(2920));
            let options: Vec<_> = header.options_iterator().map(Result::unwrap).collect();
            assert_eq!(
                options.last(),
                Some(&Element::SelectiveAcknowledgement(block, [None; 3]))
            );
        }
    }

    #[test]
    fn the_window_is_that_of_the_receiver_or_the_largest_there_is() {
        for (rwnd, scale, window) in [(10, 0, 14_600), (45, 1, 32_850), (1 << 40, 14, u16::MAX)] {
            let connection = Connection::new(PcapFlow { sack: true, rwnd }, 1460);
            assert_eq!((connection.scale, connection.window), (scale, window));
        }
    }

    #[test]
    fn a_time_that_a_pcap_cannot_hold_is_an_error() {
        let mut pcap = pcap(1500, 10).unwrap();
        let copy = PacketCopy {
            ordinal: 0,
            flow: 0,
            packet: 0,
            copy: 1,
            why: Why::New,
        };
        pcap.on_sent(Time::from_nanos(4_294_967_296_000_000_000).unwrap(), copy);
        assert!(pcap.finish().unwrap_err().to_string().contains("2^32 s"));
    }

    #[test]
    fn packets_need_room_for_their_headers_and_a_length_of_16_bits() {
        for (packet, holds) in [(40, false), (41, true), (65_535, true), (65_536, false)] {
            assert_eq!(pcap(packet, 1).is_ok(), holds, "{packet}");
        }
    }
}
