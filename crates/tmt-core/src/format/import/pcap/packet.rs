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
    /// IP after so many bytes, of which two say so.
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
    /// Bytes that it carries after the headers of IP, UDP and TCP; 0 where its header does not say how long it is.
    pub(super) payload: u64,
    /// Sequence number of the first of them in TCP.
    pub(super) sequence: Option<u32>,
    /// Whether it is a segment of TCP that carries nothing.
    pub(super) is_empty: bool,
}

impl Packet {
    /// Reads a packet; `None` if it is none of IP, a fragment after the first, or cut within its headers.
    pub(super) fn read(link: Link, time: i64, bytes: &[u8]) -> Option<Self> {
        let sliced = match link {
            Link::Ethernet => LaxSlicedPacket::from_ethernet(bytes).ok()?,
            Link::Ip { before } => LaxSlicedPacket::from_ip(bytes.get(before..)?).ok()?,
            Link::Cooked { protocol, before } => {
                let kind = bytes.get(protocol..protocol + 2)?;
                let kind = EtherType(u16::from_be_bytes([kind[0], kind[1]]));
                LaxSlicedPacket::from_ether_type(kind, bytes.get(before..)?)
            }
        };
        let mut identity = DefaultHasher::new();
        let (from, to, length, headers, payload): (IpAddr, IpAddr, u64, u64, _) =
            match sliced.net.as_ref()? {
                LaxNetSlice::Ipv4(ip) => {
                    let header = ip.header();
                    if header.fragments_offset().value() > 0 {
                        return None;
                    }
                    header.identification().hash(&mut identity);
                    (
                        header.source_addr().into(),
                        header.destination_addr().into(),
                        header.total_len().into(),
                        header.slice().len() as u64,
                        ip.payload(),
                    )
                }
                LaxNetSlice::Ipv6(ip) => {
                    let header = ip.header();
                    (
                        header.source_addr().into(),
                        header.destination_addr().into(),
                        u64::from(header.payload_length()) + 40,
                        40,
                        ip.payload(),
                    )
                }
                LaxNetSlice::Arp(_) => return None,
            };
        let (ports, begin, own, sequence) = match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                let flags = (tcp.syn(), tcp.fin(), tcp.rst());
                (tcp.sequence_number(), flags, timestamp(tcp.options())).hash(&mut identity);
                (
                    (tcp.source_port(), tcp.destination_port()),
                    tcp.payload(),
                    tcp.header_slice().len() as u64,
                    // A SYN takes the number before the first byte.
                    Some(tcp.sequence_number().wrapping_add(tcp.syn().into())),
                )
            }
            Some(TransportSlice::Udp(udp)) => {
                udp.length().hash(&mut identity);
                (
                    (udp.source_port(), udp.destination_port()),
                    udp.payload(),
                    8,
                    None,
                )
            }
            // Of TCP and UDP without their headers there are no ports.
            _ if matches!(payload.ip_number, IpNumber::TCP | IpNumber::UDP) => return None,
            // The header of ICMP has a sequence number.
            _ => ((0, 0), payload.payload, 0, None),
        };
        length.hash(&mut identity);
        begin[..begin.len().min(COMPARED)].hash(&mut identity);
        Some(Self {
            time,
            flow: Flow {
                protocol: payload.ip_number.0,
                from: SocketAddr::new(from, ports.0),
                to: SocketAddr::new(to, ports.1),
            },
            identity: identity.finish(),
            length,
            payload: length.saturating_sub(headers + own),
            sequence,
            // The length of a segment that the network card is to cut may be 0 in its header.
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
