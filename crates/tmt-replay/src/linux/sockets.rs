//! State of the TCP connections of a namespace, by sock_diag (sock_diag(7), inet_diag.h and tcp.h of Linux): what `ss -ti`
//! shows.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use fluid_tcp::endpoint::sender::Snapshot;
use fluid_tcp::log::HostSample;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    socket,
};
use tmt_core::types::{Bytes, Span};

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// NLM_F_REQUEST and NLM_F_DUMP.
const DUMP: u16 = 0x1 | 0x300;
const IPPROTO_TCP: u8 = 6;
const FAMILIES: [u8; 2] = [2, 10];
/// All states but LISTEN, as bits.
const STATES: u32 = 0xfff & !(1 << 10);
/// Attribute with a `tcp_info`, and its bit in a request.
const INET_DIAG_INFO: u16 = 2;
const WITH_INFO: u8 = 1 << (INET_DIAG_INFO - 1);
/// Length of the head of a message, of an `inet_diag_msg`, and of the name of a socket within it, bytes.
const HEAD: usize = 16;
const MESSAGE: usize = 72;
const SOCKET: usize = 48;
/// `snd_ssthresh` before a loss (TCP_INFINITE_SSTHRESH).
const INFINITE: u32 = 0x7fff_ffff;

/// A connection, named as the kernel names it: ports, addresses, device and cookie.
type Name = Vec<u8>;

/// A connection and its `tcp_info`.
type Connection<'a> = (Name, &'a [u8]);

/// Connection to the sock_diag of the namespace of the thread that opened it.
#[derive(Debug)]
pub(super) struct Sockets {
    socket: OwnedFd,
    /// The connections that were seen, in order.
    seen: Vec<Name>,
    buffer: Vec<u8>,
}

impl Sockets {
    pub(super) fn open() -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkSockDiag,
        )?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Self {
            socket,
            seen: Vec::new(),
            buffer: vec![0; 1 << 16],
        })
    }

    /// The connections that have begun to send, as they are now.
    pub(super) fn samples(&mut self) -> io::Result<Vec<HostSample>> {
        let mut samples = Vec::new();
        for family in FAMILIES {
            send(self.socket.as_raw_fd(), &request(family), MsgFlags::empty())?;
            loop {
                let length = recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty())?;
                let (connections, is_over) = answer(&self.buffer[..length])?;
                for (name, info) in connections {
                    let known = self.seen.iter().position(|seen| *seen == name);
                    let flow = known.unwrap_or_else(|| {
                        self.seen.push(name);
                        self.seen.len() - 1
                    });
                    samples.extend(sample(flow as u64, info));
                }
                if is_over {
                    break;
                }
            }
        }
        Ok(samples)
    }
}

/// A request for all connections of a family.
fn request(family: u8) -> Vec<u8> {
    let length = HEAD + 8 + SOCKET;
    let mut message = Vec::with_capacity(length);
    message.extend(u32::try_from(length).unwrap_or(0).to_ne_bytes());
    message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message.extend(DUMP.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([family, IPPROTO_TCP, WITH_INFO, 0]);
    message.extend(STATES.to_ne_bytes());
    message.resize(length, 0);
    message
}

/// A number of 16 bits, if the bytes go so far.
fn short(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_ne_bytes(bytes.try_into().ok()?))
}

/// The same of 32 bits.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

/// The same of 64 bits.
fn long(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

/// The connections of an answer, each with its `tcp_info`, and whether it is the last.
fn answer(mut bytes: &[u8]) -> io::Result<(Vec<Connection<'_>>, bool)> {
    let mut connections = Vec::new();
    while let (Some(length), Some(kind)) = (word(bytes, 0), short(bytes, 4)) {
        let length = length as usize;
        let message = bytes.get(HEAD..length);
        match (kind, message) {
            (NLMSG_DONE, _) => return Ok((connections, true)),
            (NLMSG_ERROR, _) => {
                let code = word(bytes, HEAD).unwrap_or(0).cast_signed();
                return Err(io::Error::from_raw_os_error(-code));
            }
            (SOCK_DIAG_BY_FAMILY, Some(message)) => {
                let name = message.get(4..4 + SOCKET).unwrap_or_default().to_vec();
                if let Some(info) = attribute(message.get(MESSAGE..).unwrap_or_default()) {
                    connections.push((name, info));
                }
            }
            _ => {
                return Err(io::Error::other(
                    "found another message of sock_diag, expected a connection",
                ));
            }
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok((connections, false))
}

/// The `tcp_info` among attributes.
fn attribute(mut attributes: &[u8]) -> Option<&[u8]> {
    while let (Some(length), Some(kind)) = (short(attributes, 0), short(attributes, 2)) {
        let length = usize::from(length).max(4);
        if kind == INET_DIAG_INFO {
            return attributes.get(4..length);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// A sample from a `tcp_info`; `None` if the connection has sent nothing, or is older than the fields needed.
fn sample(flow: u64, info: &[u8]) -> Option<HostSample> {
    let micros = |at| Some(Span::from_micros(word(info, at)?));
    let acked = long(info, 120)?;
    let (mss, unacked) = (u64::from(word(info, 16)?), u64::from(word(info, 24)?));
    if mss == 0 || acked <= 1 && unacked <= 1 {
        return None;
    }
    let ssthresh = word(info, 76).filter(|packets| *packets < INFINITE);
    Some(HostSample {
        flow,
        state: Snapshot {
            cwnd: word(info, 80)?.into(),
            ssthresh: ssthresh.map(f64::from),
            srtt: micros(68).filter(|srtt| !srtt.is_zero()),
            rto: micros(8)?,
            in_flight: unacked,
        },
        delivered: acked / mss,
        acked: Bytes(acked),
        retransmitted: word(info, 100)?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `tcp_info` by hand.
    fn info() -> Vec<u8> {
        let mut info = vec![0; 136];
        let mut put =
            |at: usize, value: u32| info[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        put(8, 300_000);
        put(16, 1448);
        put(24, 7);
        put(68, 100_250);
        put(76, INFINITE);
        put(80, 20);
        put(100, 3);
        put(120, 14_480);
        info
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEAD + body.len()).unwrap();
        let head = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10]].concat();
        let mut message = [head, body.to_vec()].concat();
        message.resize(message.len().next_multiple_of(4), 0);
        message
    }

    #[test]
    fn a_connection_is_read_from_its_attribute() {
        let info = info();
        let attribute = |kind: u16, content: &[u8]| {
            let length = u16::try_from(4 + content.len()).unwrap();
            let mut attribute = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), content].concat();
            attribute.resize(attribute.len().next_multiple_of(4), 0);
            attribute
        };
        let mut body = vec![0; MESSAGE];
        body[4] = 9;
        body.extend(attribute(8, &[0]));
        body.extend(attribute(INET_DIAG_INFO, &info));
        let whole = [
            message(SOCK_DIAG_BY_FAMILY, &body),
            message(NLMSG_DONE, &[0; 4]),
        ]
        .concat();
        let (connections, is_over) = answer(&whole).unwrap();
        assert!(is_over);
        assert_eq!((connections.len(), connections[0].0[0]), (1, 9));
        let sample = sample(4, connections[0].1).unwrap();
        assert_eq!(
            (sample.flow, sample.delivered, sample.retransmitted),
            (4, 10, 3)
        );
        assert_eq!(sample.state.ssthresh, None);
        assert_eq!((sample.state.cwnd, sample.state.in_flight), (20.0, 7));
        assert_eq!(sample.state.rto, Span::from_millis(300));
        assert_eq!(sample.state.srtt, Some(Span::from_micros(100_250)));
    }

    #[test]
    fn errors_and_cut_answers_are_no_connections() {
        let refused = message(NLMSG_ERROR, &(-1_i32).to_ne_bytes());
        assert_eq!(
            answer(&refused).unwrap_err().kind(),
            io::ErrorKind::PermissionDenied
        );
        assert!(answer(&message(77, &[])).is_err());
        assert!(answer(&[1, 2, 3]).unwrap().0.is_empty());
        assert!(sample(0, &info()[..100]).is_none());
        assert!(sample(0, &[0; 136]).is_none());
    }
}
