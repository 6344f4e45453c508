//! Packets of a capture: to which flow they belong, and what tells them apart.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use etherparse::{EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket, TransportSlice};

/// Bytes of a payload that tell packets apart. Captures are often cut after the headers; sequence numbers of RTP, irtt, iperf3
/// and QUIC are among the first.
const COMPARED: usize = 32;

/// How a link layer holds IP.
#[derive(Debug, Clone, Copy)]
pub(super) enum Link {
    Ethernet,
    /// IP after so many bytes.
    Ip {
        before: usize,
    },
    /// IP after so many bytes, with its EtherType in two of them.
    Cooked {
        protocol: usize,
        before: usize,
    },
}

/// Packets of one protocol from one end to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Flow {
    protocol: u8,
    from: SocketAddr,
    to: SocketAddr,
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, from, to } = self;
        match IpNumber(*protocol) {
            IpNumber::TCP => write!(f, "tcp {from} > {to}"),
            IpNumber::UDP => write!(f, "udp {from} > {to}"),
            IpNumber(other) => write!(f, "protocol {other} {} > {}", from.ip(), to.ip()),
        }
    }
}

/// A packet of IP.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    /// When it was captured, ns since 1970.
    pub(super) time: i64,
    pub(super) flow: Flow,
    /// Equal for a packet in both captures.
    pub(super) identity: u64,
    /// Bytes of IP, headers included.
    pub(super) length: u64,
    /// Bytes that it carries after the headers of IP, with their extensions, UDP and TCP.
    pub(super) payload: u64,
    /// Sequence number of the first of them in TCP.
    pub(super) sequence: Option<u32>,
    /// Whether it is a SYN, with which a connection begins.
    pub(super) is_syn: bool,
    /// Whether it is a segment of TCP that carries nothing.
    pub(super) is_empty: bool,
}

/// The record of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Captured<'c> {
    /// When it was captured, ns since 1970.
    pub(super) time: i64,
    pub(super) bytes: &'c [u8],
    /// Bytes of the packet that were not captured.
    pub(super) cut: u64,
}

/// The content of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// `None` if it is none of IP, a fragment whose flow is not known, or cut within its headers.
    pub(super) packet: Option<Packet>,
    /// Whether it is a fragment of a packet of IP, the first one or another.
    pub(super) is_fragment: bool,
    /// Whether it was captured in part only, and its headers are not whole.
    pub(super) is_cut: bool,
}

impl Packet {
    /// Reads a packet.
    pub(super) fn read(link: Link, captured: Captured<'_>) -> Found {
        let sliced = Self::slice(link, captured.bytes);
        let payload = sliced
            .as_ref()
            .and_then(|sliced| sliced.net.as_ref()?.ip_payload_ref());
        let is_fragment = payload.is_some_and(|payload| payload.fragmented);
        // Of headers that are not whole, those behind them are not known either.
        let is_whole = sliced
            .as_ref()
            .is_some_and(|sliced| sliced.stop_err.is_none());
        let is_cut = captured.cut > 0 && !is_fragment && !is_whole;
        let packet = sliced.filter(|_| !is_cut);
        Found {
            is_fragment,
            is_cut,
            packet: packet.and_then(|sliced| Self::of(&sliced, captured)),
        }
    }

    fn slice(link: Link, bytes: &[u8]) -> Option<LaxSlicedPacket<'_>> {
        Some(match link {
            Link::Ethernet => LaxSlicedPacket::from_ethernet(bytes).ok()?,
            Link::Ip { before } => LaxSlicedPacket::from_ip(bytes.get(before..)?).ok()?,
            Link::Cooked { protocol, before } => {
                let kind = bytes.get(protocol..protocol + 2)?;
                let kind = EtherType(u16::from_be_bytes([kind[0], kind[1]]));
                LaxSlicedPacket::from_ether_type(kind, bytes.get(before..)?)
            }
        })
    }

    fn of(sliced: &LaxSlicedPacket<'_>, captured: Captured<'_>) -> Option<Self> {
        let mut identity = DefaultHasher::new();
        let (from, to, length, headers, payload): (IpAddr, IpAddr, u64, u64, _) =
            match sliced.net.as_ref()? {
                LaxNetSlice::Ipv4(ip) => {
                    let header = ip.header();
                    if header.fragments_offset().value() > 0 {
                        return None;
                    }
                    header.identification().hash(&mut identity);
                    let extension = ip.extensions().auth.map_or(0, |auth| auth.slice().len());
                    (
                        header.source_addr().into(),
                        header.destination_addr().into(),
                        header.total_len().into(),
                        (header.slice().len() + extension) as u64,
                        ip.payload(),
                    )
                }
                LaxNetSlice::Ipv6(ip) => {
                    let header = ip.header();
                    (
                        header.source_addr().into(),
                        header.destination_addr().into(),
                        u64::from(header.payload_length()) + 40,
                        40 + ip.extensions().slice().len() as u64,
                        ip.payload(),
                    )
                }
                LaxNetSlice::Arp(_) => return None,
            };
        let (ports, begin, own, sequence, is_syn) = match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                let flags = (tcp.syn(), tcp.fin(), tcp.rst());
                (tcp.sequence_number(), flags, timestamp(tcp.options())).hash(&mut identity);
                (
                    (tcp.source_port(), tcp.destination_port()),
                    tcp.payload(),
                    tcp.header_slice().len() as u64,
                    // A SYN takes the number before the first byte.
                    Some(tcp.sequence_number().wrapping_add(tcp.syn().into())),
                    tcp.syn(),
                )
            }
            Some(TransportSlice::Udp(udp)) => {
                udp.length().hash(&mut identity);
                (
                    (udp.source_port(), udp.destination_port()),
                    udp.payload(),
                    8,
                    None,
                    false,
                )
            }
            // Of TCP and UDP without their headers there are no ports.
            _ if matches!(payload.ip_number, IpNumber::TCP | IpNumber::UDP) => return None,
            // The header of ICMP has a sequence number.
            _ => ((0, 0), payload.payload, 0, None, false),
        };
        length.hash(&mut identity);
        begin[..begin.len().min(COMPARED)].hash(&mut identity);
        // A segment that the network card is to cut may have the length 0 in its header: that of the record counts.
        let is_unset = match sliced.net.as_ref()? {
            LaxNetSlice::Ipv4(ip) => ip.header().total_len() == 0,
            LaxNetSlice::Ipv6(ip) => ip.header().payload_length() == 0,
            LaxNetSlice::Arp(_) => false,
        };
        Some(Self {
            time: captured.time,
            flow: Flow {
                protocol: payload.ip_number.0,
                from: SocketAddr::new(from, ports.0),
                to: SocketAddr::new(to, ports.1),
            },
            identity: identity.finish(),
            length,
            payload: if is_unset {
                begin.len() as u64 + captured.cut
            } else {
                length.saturating_sub(headers + own)
            },
            sequence,
            is_syn,
            is_empty: sequence.is_some() && length > 0 && length <= headers + own,
        })
    }
}

/// The time stamp of a segment (RFC 7323), which differs between copies.
fn timestamp(options: &[u8]) -> Option<u32> {
    use etherparse::{TcpOptionElement, TcpOptionsIterator};
    TcpOptionsIterator::from_slice(options).find_map(|option| match option {
        Ok(TcpOptionElement::Timestamp(value, _)) => Some(value),
        _ => None,
    })
}
