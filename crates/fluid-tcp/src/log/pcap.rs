//! `--pcap`: the packets of a run, as each end would capture them.
//!
//! Format: pcap 2.4 with nanoseconds (magic 0xa1b23c4d), link type RAW (101); IPv4 and TCP by RFC 791, 9293 and
//! 2018. The sender's file has data at the times of sending and ACKs at the times of arrival; the receiver's file has
//! the opposite. Each flow is a connection of its own. The run's zero is 1970-01-01 00:00:01 UTC.
//!
//! Values that the simulator does not have are fixed:
//! - With a simulated handshake, SYN, SYN/ACK and ACK have the times at which each host sends or receives them. Without
//!   one the connection is open from the start; a handshake of zero length then precedes the first packet, in both
//!   files at the time at which that is sent. It gives readers the segment size, window scale and SACK.
//! - The last segment of a finite transfer has PSH and FIN, in every copy. The receiver acknowledges the FIN and leaves
//!   its own direction open.
//! - Data segments have as many NOP options as make their headers as long as `headers` says. The last segment of a
//!   transfer has the payload that is left.
//! - Sequence numbers count bytes from 1. Packet n begins at 1 + n · payload modulo 2^32.
//! - The payload is zeros. It is not stored, but it is part of the length on the wire and of the checksums.
//! - Datagrams are UDP (RFC 768) between the same addresses and ports as a connection would be.
//! - The receiver's window is that of its settings, limited by 16 bits and the largest window scale.
//!
//! Wireshark shows a retransmission within the round-trip time of the handshake after the highest packet as "out of
//! order" and the others as retransmissions; for a handshake of zero length it assumes 3 ms. In the sender's file, both
//! together are the run's retransmissions.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::RangeInclusive;

use etherparse::{PacketBuilder, TcpHeader, TcpOptionElement as Element};
use tmt_core::types::{Bytes, NANOS_PER_SECOND, Time};

use crate::endpoint::receiver::Ack;
use crate::endpoint::{Transmission, UDP_HEADERS};
use crate::simulation::probe::Probe;
use crate::simulation::{Flow, Setup};

/// Length in bytes of the IPv4 and TCP headers of a packet without options.
const HEADERS: u64 = 40;

/// Largest packet in bytes, given by the 16 bits of IPv4's total length.
const LARGEST: u64 = 65_535;

/// Maximum number of bytes stored per packet: both headers with all options.
const SNAPLEN: u32 = 20 + 60;

/// The same of a capture of whole packets.
const LARGEST_CAPTURED: u32 = 65_535;

/// Nanosecond pcap, written by a little-endian machine.
const MAGIC: u32 = 0xa1b2_3c4d;

/// LINKTYPE_RAW: the packet begins with its IP header.
const LINK_TYPE: u32 = 101;

/// Time stamp of the run's zero, s: Wireshark takes a time stamp of 0 for none, and then knows no round-trip time.
const ZERO: u64 = 1;

/// Ports without a registered protocol. Each flow has one; if they are used up, the next address follows.
const FIRST_PORT: u16 = 49_152;
const PORTS: u16 = 16_000;
const SERVER_PORT: u16 = 65_500;

/// The largest window scale (RFC 7323, Sec. 2.3).
const LARGEST_SCALE: u8 = 14;

/// Connection of one flow.
#[derive(Debug, Clone, Copy)]
struct Connection {
    sack: bool,
    scale: u8,
    window: u16,
    /// The window of packets whose scale is not known yet.
    unscaled: u16,
    /// Number of packets of a finite transfer.
    packets: Option<u64>,
    /// Payload of a finite transfer of a given size, bytes.
    bytes: Option<u64>,
    begun: bool,
    /// Whether it is UDP, which has no connection.
    datagrams: bool,
}

/// A segment to be written.
#[derive(Default, Clone, Copy)]
struct Segment<'a> {
    flow: usize,
    from_sender: bool,
    syn: bool,
    /// Whether it ends the transfer: PSH and FIN.
    last: bool,
    seq: u32,
    acknowledged: Option<u32>,
    window: u16,
    options: &'a [Element],
    payload: u16,
}

/// Probe that writes both captures during the run.
#[derive(Debug)]
pub struct Pcap<W> {
    /// The sender's file and the receiver's.
    files: [W; 2],
    flows: Vec<Connection>,
    /// Segments of simulated handshakes that are not written yet, by time: file, flow and number of the segment.
    handshakes: VecDeque<(Time, usize, usize, usize)>,
    payload: u16,
    /// NOPs with which a data segment has headers of the size that the run counts.
    padding: usize,
    zeros: Vec<u8>,
    error: Option<io::Error>,
}

/// Options of a data segment.
const NOPS: [Element; 40] = [const { Element::Noop }; 40];

/// Payload of a packet, and the NOP options with which its headers have the size `headers`, both in bytes.
///
/// # Errors
/// Found and expected values: headers that options cannot make up, or a packet that is not longer than its headers or longer than
/// IPv4 allows.
pub fn check_packet(packet: Bytes, headers: Bytes) -> Result<(u16, usize), String> {
    // Options take whole words, at most ten.
    let padding = usize::try_from(headers.0.wrapping_sub(HEADERS)).unwrap_or(usize::MAX);
    if padding > NOPS.len() || !padding.is_multiple_of(4) {
        let most = HEADERS + NOPS.len() as u64;
        return Err(format!(
            "found headers of {headers}, expected {HEADERS} B to {most} B in steps of 4 B: IPv4 and TCP headers with whole words of options"
        ));
    }
    let payload = u16::try_from(packet.0.saturating_sub(headers.0)).ok();
    payload
        .filter(|payload| *payload > 0 && packet.0 <= LARGEST)
        .map(|payload| (payload, padding))
        .ok_or_else(|| {
            let (least, headers) = (headers.0 + 1, headers.0);
            format!("found packets of {packet}, expected {least} B to {LARGEST} B, of which {headers} B are IPv4 and TCP headers")
        })
}

/// Index of the sender's file; below that of the receiver's.
const SENDER: usize = 0;
const RECEIVER: usize = 1;

/// Capture of whole packets at one place: raw IP, times in ns.
///
/// ```
/// use fluid_tcp::log::Capture;
/// use tmt_core::Time;
///
/// let mut capture = Capture::new(Vec::new())?;
/// capture.packet(Time::ZERO, &[0x45, 0, 0, 20])?;
/// assert_eq!(capture.into_inner().len(), 24 + 16 + 4);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Capture<W>(W);

impl<W: Write> Capture<W> {
    /// Writes the head of the file.
    ///
    /// # Errors
    /// An error of the output.
    pub fn new(mut file: W) -> io::Result<Self> {
        // Version 2.4; times are UTC, of unknown accuracy.
        words(
            &mut file,
            &[MAGIC, 4 << 16 | 2, 0, 0, LARGEST_CAPTURED, LINK_TYPE],
            &[],
        )?;
        Ok(Self(file))
    }

    /// Writes a packet, IP header first.
    ///
    /// # Errors
    /// A time that a pcap cannot hold, or an error of the output.
    pub fn packet(&mut self, at: Time, packet: &[u8]) -> io::Result<()> {
        record(at, packet, packet.len() as u64, &mut self.0)
    }

    /// The file.
    #[must_use]
    pub fn into_inner(self) -> W {
        self.0
    }
}

/// Writes a record: its time, and the first bytes of a packet of this `length`.
fn record(at: Time, kept: &[u8], length: u64, file: &mut impl Write) -> io::Result<()> {
    let (seconds, fraction) = (
        at.as_nanos() / NANOS_PER_SECOND + ZERO,
        at.as_nanos() % NANOS_PER_SECOND,
    );
    let seconds = u32::try_from(seconds).map_err(|_| {
        io::Error::other(format!(
            "found a packet at {at}, expected times below 2^32 s in a pcap"
        ))
    })?;
    let lengths = [fraction, kept.len() as u64, length];
    let lengths = lengths.map(|it| u32::try_from(it).unwrap_or(u32::MAX));
    words(file, &[&[seconds], &lengths[..]].concat(), kept)
}

impl<W: Write> Pcap<W> {
    /// Captures at both ends of a run of `setup`.
    ///
    /// # Errors
    /// A packet that no capture holds ([`check_packet`]), or an error of the output.
    pub fn new(sender: W, receiver: W, setup: &Setup) -> io::Result<Self> {
        // All flows of TCP have the same headers.
        let headers = setup.flows.iter().find(|flow| flow.hosts.is_none());
        let headers = headers.map(|flow| flow.endpoint.headers);
        let headers = headers.unwrap_or(Bytes(HEADERS));
        let (payload, padding) = check_packet(setup.packet, headers)
            .map_err(|found| io::Error::new(io::ErrorKind::InvalidInput, found))?;
        let mut files = [sender, receiver];
        for file in &mut files {
            // Version 2.4; times are UTC, of unknown accuracy.
            words(file, &[MAGIC, 4 << 16 | 2, 0, 0, SNAPLEN, LINK_TYPE], &[])?;
        }
        let flows = setup.numbered();
        Ok(Self {
            files,
            flows: flows.map(|flow| Connection::new(&flow, payload)).collect(),
            handshakes: handshakes(setup),
            payload,
            padding,
            zeros: vec![0; usize::from(payload)],
            error: None,
        })
    }

    /// Flushes and returns both files, the sender's first.
    ///
    /// # Errors
    /// The first error of an output.
    pub fn finish(mut self) -> io::Result<[W; 2]> {
        self.write_handshakes(Time::MAX);
        self.error.map_or(Ok(self.files), Err)
    }

    /// Payload of a packet: the last one of a transfer has what is left.
    fn payload_of(&self, copy: Transmission) -> u16 {
        let rest = self.flows[copy.flow]
            .bytes
            .map(|bytes| bytes.saturating_sub(copy.packet.saturating_mul(self.payload.into())));
        let rest = rest.and_then(|rest| u16::try_from(rest).ok());
        rest.map_or(self.payload, |rest| rest.min(self.payload))
    }

    /// The sequence number at which a packet begins.
    fn seq(&self, packet: u64) -> u32 {
        // Sequence numbers have 32 bits.
        let bytes = packet.wrapping_mul(u64::from(self.payload)).wrapping_add(1);
        u32::try_from(bytes & u64::from(u32::MAX)).unwrap_or(0)
    }

    /// The sequence number after a packet. The last packet carries the FIN, which takes one.
    fn seq_after(&self, flow: usize, next: u64) -> u32 {
        let Connection { packets, bytes, .. } = self.flows[flow];
        if packets != Some(next) {
            return self.seq(next);
        }
        // SYN and FIN take one each.
        let end = bytes.map(|bytes| u32::try_from((bytes + 2) & u64::from(u32::MAX)).unwrap_or(0));
        end.unwrap_or_else(|| self.seq(next).wrapping_add(1))
    }

    /// Writes the headers of `segments`, each to all of `files`, after the handshakes before them.
    fn write(&mut self, at: Time, files: &[usize], segments: &[Segment<'_>]) {
        self.write_handshakes(at);
        self.records(at, files, segments);
    }

    /// As [`Self::write`], without the handshakes. After the first error nothing is written.
    fn records(&mut self, at: Time, files: &[usize], segments: &[Segment<'_>]) {
        for segment in segments {
            for file in files {
                if self.error.is_none() {
                    let payload = &self.zeros[..usize::from(segment.payload)];
                    self.error = segment.write(at, payload, &mut self.files[*file]).err();
                }
            }
        }
    }

    /// Writes a data packet; the first of a flow follows its handshake.
    fn data(&mut self, at: Time, file: usize, copy: Transmission) {
        if self.flows[copy.flow].datagrams {
            self.write_handshakes(at);
            if self.error.is_none() {
                self.error = datagram(at, copy, &mut self.files[file]).err();
            }
            return;
        }
        if !self.flows[copy.flow].begun {
            self.flows[copy.flow].begun = true;
            self.write_handshakes(at);
            self.handshake(at, &[SENDER, RECEIVER], copy.flow, 0..=2);
        }
        let segment = Segment {
            flow: copy.flow,
            from_sender: true,
            seq: self.seq(copy.packet),
            last: self.flows[copy.flow].packets == Some(copy.packet + 1),
            acknowledged: Some(1),
            window: u16::MAX,
            options: &NOPS[..self.padding],
            payload: self.payload_of(copy),
            ..Segment::default()
        };
        self.write(at, &[file], &[segment]);
    }

    /// Writes the segments of simulated handshakes up to a time.
    fn write_handshakes(&mut self, until: Time) {
        while let Some(&(at, file, flow, step)) =
            self.handshakes.front().filter(|next| next.0 <= until)
        {
            self.handshakes.pop_front();
            self.handshake(at, &[file], flow, step..=step);
        }
    }

    /// Writes segments of a handshake: 0 is the SYN, 1 the SYN/ACK, 2 the ACK.
    fn handshake(&mut self, at: Time, files: &[usize], flow: usize, steps: RangeInclusive<usize>) {
        let connection = self.flows[flow];
        let mut options = vec![Element::MaximumSegmentSize(
            self.payload + u16::try_from(self.padding).unwrap_or(0),
        )];
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
            acknowledged: Some(1),
            window: connection.unscaled,
            ..syn
        };
        let ack = Segment {
            syn: false,
            seq: 1,
            acknowledged: Some(1),
            options: &[],
            ..syn
        };
        self.records(at, files, &[syn, syn_ack, ack][steps]);
    }

    fn ack(&mut self, at: Time, file: usize, flow: usize, ack: &Ack) {
        let blocks = ack.blocks.iter().filter(|(start, end)| start < end);
        let mut blocks = blocks.map(|(start, end)| (self.seq(*start), self.seq_after(flow, *end)));
        let sack = blocks.next().map(|first| {
            let rest = [blocks.next(), blocks.next(), None];
            let sack = Element::SelectiveAcknowledgement(first, rest);
            [Element::Noop, Element::Noop, sack]
        });
        let segment = Segment {
            flow,
            seq: 1,
            acknowledged: Some(self.seq_after(flow, ack.next)),
            window: self.flows[flow].window,
            options: sack.as_ref().map_or(&[], |sack| sack),
            ..Segment::default()
        };
        self.write(at, &[file], &[segment]);
    }
}

impl Connection {
    fn new(flow: &Flow, payload: u16) -> Self {
        let bytes = flow.endpoint.rwnd.saturating_mul(u64::from(payload));
        let most = u64::from(u16::MAX);
        let scale = (0..LARGEST_SCALE)
            .find(|scale| bytes.div_ceil(1 << scale) <= most)
            .unwrap_or(LARGEST_SCALE);
        let window = |units: u64| u16::try_from(units).unwrap_or(u16::MAX);
        Self {
            sack: flow.endpoint.sack,
            scale,
            // Rounded up, so that everything that the sender may send fits into the advertised window.
            window: window(bytes.div_ceil(1 << scale)),
            unscaled: window(bytes),
            packets: flow.packets(),
            bytes: flow.bytes().map(|bytes| bytes.0),
            begun: flow.endpoint.handshake,
            datagrams: flow.hosts.is_some(),
        }
    }
}

/// The segments of simulated handshakes within the run, by time. Each takes one round trip of the path.
fn handshakes(setup: &Setup) -> VecDeque<(Time, usize, usize, usize)> {
    let mut segments = Vec::new();
    for (flow, of) in setup.numbered().enumerate() {
        let terrestrial = setup.terrestrial_rtt(&of);
        let there = terrestrial.half().saturating_add(setup.rtt.half());
        let rtt = setup.rtt.saturating_add(terrestrial);
        if of.hosts.is_none() && of.endpoint.handshake && of.packets() != Some(0) {
            let syn = setup.begin.saturating_add(of.start);
            let syn_ack = syn.saturating_add(there);
            let ack = syn.saturating_add(rtt);
            segments.extend([
                (syn, SENDER, flow, 0),
                (syn_ack, RECEIVER, flow, 0),
                (syn_ack, RECEIVER, flow, 1),
                (ack, SENDER, flow, 1),
                (ack, SENDER, flow, 2),
                (ack.saturating_add(there), RECEIVER, flow, 2),
            ]);
        }
    }
    segments.retain(|(at, ..)| *at <= setup.end);
    segments.sort_unstable();
    segments.into()
}

/// Addresses and ports of a flow, the sender's first.
fn ends(flow: usize) -> io::Result<[([u8; 4], u16); 2]> {
    let ports = usize::from(PORTS);
    let port = FIRST_PORT + u16::try_from(flow % ports).unwrap_or(0);
    let network = u8::try_from(flow / ports).map_err(io::Error::other)?;
    Ok([
        ([10, 0, network, 1], port),
        ([10, 0, network, 2], SERVER_PORT),
    ])
}

/// Writes the record of a datagram: its IPv4 and UDP headers, and its length. Headers above those, such as RTP, are zeros and
/// part of what UDP carries.
fn datagram(at: Time, copy: Transmission, file: &mut impl Write) -> io::Result<()> {
    let [(source, from), (destination, to)] = ends(copy.flow)?;
    let carried = copy.size.0.saturating_sub(UDP_HEADERS.0);
    let payload = vec![0; usize::try_from(carried).map_err(io::Error::other)?];
    let mut packet = Vec::new();
    PacketBuilder::ipv4(source, destination, 64)
        .udp(from, to)
        .write(&mut packet, &payload)
        .map_err(io::Error::other)?;
    let headers = &packet[..packet.len() - payload.len()];
    record(at, headers, packet.len() as u64, file)
}

impl Segment<'_> {
    /// Writes the record of a packet: its IPv4 and TCP headers, and its length with the payload.
    fn write(&self, at: Time, payload: &[u8], file: &mut impl Write) -> io::Result<()> {
        let mut ends = ends(self.flow)?;
        if !self.from_sender {
            ends.reverse();
        }
        let [(source, from), (destination, to)] = ends;
        let mut tcp = TcpHeader::new(from, to, self.seq, self.window);
        tcp.syn = self.syn;
        (tcp.psh, tcp.fin) = (self.last, self.last);
        tcp.ack = self.acknowledged.is_some();
        tcp.acknowledgment_number = self.acknowledged.unwrap_or_default();
        tcp.set_options(self.options).map_err(io::Error::other)?;
        let mut packet = Vec::new();
        PacketBuilder::ipv4(source, destination, 64)
            .tcp_header(tcp)
            .write(&mut packet, payload)
            .map_err(io::Error::other)?;
        let headers = &packet[..packet.len() - payload.len()];
        record(at, headers, packet.len() as u64, file)
    }
}

/// Writes little-endian words and then `rest`, in one call.
fn words(file: &mut impl Write, words: &[u32], rest: &[u8]) -> io::Result<()> {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(rest);
    file.write_all(&bytes)
}

impl<W: Write> Probe for Pcap<W> {
    fn on_sent(&mut self, now: Time, copy: Transmission) {
        self.data(now, SENDER, copy);
    }

    fn on_delivered(&mut self, now: Time, copy: Transmission) {
        self.data(now, RECEIVER, copy);
    }

    fn on_ack_sent(&mut self, now: Time, flow: usize, ack: &Ack) {
        self.ack(now, RECEIVER, flow, ack);
    }

    fn on_ack_received(&mut self, now: Time, flow: usize, ack: &Ack) {
        self.ack(now, SENDER, flow, ack);
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::Span;

    use super::*;
    use crate::congestion::Algorithm;
    use crate::endpoint::Transmission;
    use crate::endpoint::sender::TransmissionReason;
    use crate::endpoint::{Endpoint, Profile};

    fn flow(rwnd: u64) -> Flow {
        let endpoint = Endpoint {
            rwnd,
            ..Profile::Rfc.endpoint()
        };
        Flow::new(Algorithm::default(), endpoint)
    }

    fn pcap(packet: u64, rwnd: u64) -> io::Result<Pcap<Vec<u8>>> {
        let run = Setup::new(vec![flow(rwnd)], Span::from_millis(100), Span::from_secs(1));
        let packet = Bytes(packet);
        Pcap::new(Vec::new(), Vec::new(), &Setup { packet, ..run })
    }

    /// The TCP header of the last packet of a file.
    fn last(file: &[u8], length: usize) -> TcpHeader {
        TcpHeader::from_slice(&file[file.len() - length..])
            .unwrap()
            .0
    }

    #[test]
    fn sequence_numbers_wrap_after_four_gigabytes() {
        // 1 + 1460 · 2941758 = 2^32 − 615 and 1 + 1460 · 2941759 = 2^32 + 845.
        for (packet, seq) in [(2_941_758, 4_294_966_681), (2_941_759, 845)] {
            let mut pcap = pcap(1500, 10).unwrap();
            let copy = Transmission {
                ordinal: 0,
                flow: 0,
                packet,
                copy: 1,
                why: TransmissionReason::New,
                size: Bytes(1500),
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
    fn the_window_is_the_receivers_or_the_largest_possible() {
        for (rwnd, scale, window) in [(10, 0, 14_600), (45, 1, 32_850), (1 << 40, 14, u16::MAX)] {
            let connection = Connection::new(&flow(rwnd), 1460);
            assert_eq!((connection.scale, connection.window), (scale, window));
        }
    }

    #[test]
    fn a_time_that_a_pcap_cannot_hold_is_an_error() {
        let mut pcap = pcap(1500, 10).unwrap();
        let copy = Transmission {
            ordinal: 0,
            flow: 0,
            packet: 0,
            copy: 1,
            why: TransmissionReason::New,
            size: Bytes(1500),
        };
        pcap.on_sent(Time::from_nanos(4_294_967_296_000_000_000).unwrap(), copy);
        assert!(pcap.finish().unwrap_err().to_string().contains("2^32 s"));
    }

    #[test]
    fn packets_must_be_longer_than_their_headers_and_fit_16_bits() {
        for (packet, holds) in [(40, false), (41, true), (65_535, true), (65_536, false)] {
            assert_eq!(pcap(packet, 1).is_ok(), holds, "{packet}");
        }
    }

    #[test]
    fn headers_are_whole_words_from_40_to_80_bytes() {
        let padding = |headers| {
            let shape = check_packet(Bytes(1500), Bytes(headers)).ok();
            shape.map(|(payload, padding)| (u64::from(payload), padding))
        };
        for words in 0..=10 {
            let headers = HEADERS + 4 * words;
            let nops = usize::try_from(4 * words).unwrap();
            assert_eq!(padding(headers), Some((1500 - headers, nops)));
        }
        for headers in [0, 20, 36, 39, 41, 42, 43, 50, 79, 81, 84, u64::MAX] {
            assert_eq!(padding(headers), None, "{headers}");
        }
    }
}
