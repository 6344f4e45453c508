//! Addresses and state of a device, by rtnetlink (rtnetlink(7)): three messages, each answered.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd as _, OwnedFd};

use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    socket,
};

const NLMSG_ERROR: u16 = 2;
const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
/// NLM_F_REQUEST and NLM_F_ACK, and with NLM_F_CREATE and NLM_F_EXCL.
const CHANGE: u16 = 0x1 | 0x4;
const CREATE: u16 = CHANGE | 0x200 | 0x400;
const IFF_UP: u32 = 1;
const IFLA_MTU: u16 = 4;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
/// No duplicate address detection: the address can be used at once.
const IFA_F_NODAD: u8 = 2;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
/// Length of the head of a message, bytes.
const HEAD: usize = 16;

/// Connection to the rtnetlink of the namespace of the calling thread.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: OwnedFd,
}

impl Netlink {
    pub(super) fn open() -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Self { socket })
    }

    /// Brings a device up, with this MTU in bytes if given.
    pub(super) fn up(&self, device: &str, mtu: Option<u32>) -> io::Result<()> {
        let mut body = vec![0; 4];
        body.extend(index(device)?.to_ne_bytes());
        body.extend(IFF_UP.to_ne_bytes());
        body.extend(IFF_UP.to_ne_bytes());
        if let Some(mtu) = mtu {
            attribute(&mut body, IFLA_MTU, &mtu.to_ne_bytes());
        }
        self.ask(RTM_NEWLINK, CHANGE, &body)
    }

    /// Gives a device an address.
    pub(super) fn address(&self, device: &str, address: IpAddr, prefix: u8) -> io::Result<()> {
        let (family, flags, bytes) = match address {
            IpAddr::V4(address) => (AF_INET, 0, address.octets().to_vec()),
            IpAddr::V6(address) => (AF_INET6, IFA_F_NODAD, address.octets().to_vec()),
        };
        let mut body = vec![family, prefix, flags, 0];
        body.extend(index(device)?.to_ne_bytes());
        attribute(&mut body, IFA_LOCAL, &bytes);
        attribute(&mut body, IFA_ADDRESS, &bytes);
        self.ask(RTM_NEWADDR, CREATE, &body)
    }

    /// Sends a request and reads its answer.
    fn ask(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let mut message = Vec::with_capacity(HEAD + body.len());
        let length = u32::try_from(HEAD + body.len()).map_err(io::Error::other)?;
        message.extend(length.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        // Sequence number and sender: requests and answers alternate.
        message.extend([0; 8]);
        message.extend(body);
        send(self.socket.as_raw_fd(), &message, MsgFlags::empty())?;
        let mut answer = [0; 4096];
        let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        outcome(&answer[..length])
    }
}

/// Number of a device.
fn index(device: &str) -> io::Result<u32> {
    Ok(if_nametoindex(device)?)
}

/// Appends an attribute, padded to 4 bytes.
fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    body.extend(length.to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// The outcome that an answer states: a negative error number, or 0.
fn outcome(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).map(|kind| [kind[0], kind[1]]);
    let code = answer.get(HEAD..HEAD + 4);
    let code = code.map(|code| i32::from_ne_bytes([code[0], code[1], code[2], code[3]]));
    match (kind.map(u16::from_ne_bytes), code) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(code)) => Err(io::Error::from_raw_os_error(-code)),
        _ => Err(io::Error::other(
            "found another message of rtnetlink, expected an answer to a request",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_answers_read() {
        let mut body = Vec::new();
        attribute(&mut body, 7, &[1, 2, 3]);
        assert_eq!(body[4..], [1, 2, 3, 0]);
        assert_eq!(body[..4], [7u16.to_ne_bytes(), 7u16.to_ne_bytes()].concat());
        let answer = |code: i32| {
            let head = [&[0; 4][..], &NLMSG_ERROR.to_ne_bytes(), &[0; 10]].concat();
            [head, code.to_ne_bytes().to_vec()].concat()
        };
        assert!(outcome(&answer(0)).is_ok());
        let refused = outcome(&answer(-1)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert!(outcome(&[]).is_err());
    }
}
