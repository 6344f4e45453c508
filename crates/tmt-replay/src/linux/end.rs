//! One end of the link: a network namespace with a TUN device.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd as _;
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};
use tun_rs::DeviceBuilder;

use super::netlink::Netlink;
use super::sockets::Sockets;

/// Name of the device at either end.
const DEVICE: &str = "tmt0";

/// Bits of the networks: the ends reach each other, and nothing else.
const PREFIX: u8 = 24;
const PREFIX_6: u8 = 64;

/// Least MTU of IPv6, bytes (RFC 8200, Sec. 5).
const LEAST_MTU_6: u16 = 1280;

/// Addresses of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// Its IPv4 address.
    pub ipv4: Ipv4Addr,
    /// Its IPv6 address, used if the MTU is at least 1280 B.
    pub ipv6: Ipv6Addr,
}

impl Addresses {
    /// The near end, where the command runs. The networks are those of RFC 2544 (Sec. C.2.2) and RFC 5180 (Sec. 8), which no
    /// host on a network has.
    pub const NEAR: Self = Self {
        ipv4: Ipv4Addr::new(198, 18, 0, 1),
        ipv6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1),
    };

    /// The far end.
    pub const FAR: Self = Self {
        ipv4: Ipv4Addr::new(198, 18, 0, 2),
        ipv6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2),
    };
}

/// A network namespace with a TUN device. It ends with its last process, and when this value is dropped.
#[derive(Debug)]
pub struct End {
    namespace: Arc<File>,
    device: Arc<File>,
}

impl End {
    /// Makes a namespace, and in it a device with these addresses and this MTU in bytes, without offloads: a packet of the
    /// device is a packet of the link.
    ///
    /// # Errors
    /// The kernel has no TUN devices, or refuses one.
    pub fn new(addresses: Addresses, mtu: u16) -> io::Result<Self> {
        on_own_thread(move || {
            unshare(CloneFlags::CLONE_NEWNET)?;
            let device = DeviceBuilder::new().name(DEVICE).enable(false).build_sync();
            let device = device.map_err(|error| explained(&error))?;
            device.set_nonblocking(true)?;
            let has_ipv6 = mtu >= LEAST_MTU_6;
            if has_ipv6 {
                // No router will answer. Without IPv6 there is no such file.
                let _ = fs::write("/proc/sys/net/ipv6/conf/tmt0/router_solicitations", "0");
            }
            let netlink = Netlink::open()?;
            netlink.up("lo", None)?;
            netlink.up(DEVICE, Some(mtu.into()))?;
            netlink.address(DEVICE, IpAddr::V4(addresses.ipv4), PREFIX)?;
            if has_ipv6 && fs::exists("/proc/sys/net/ipv6").unwrap_or(false) {
                netlink.address(DEVICE, IpAddr::V6(addresses.ipv6), PREFIX_6)?;
            }
            Ok(Self {
                namespace: Arc::new(File::open("/proc/thread-self/ns/net")?),
                device: Arc::new(File::from(device.as_fd().try_clone_to_owned()?)),
            })
        })
    }

    pub(super) fn device(&self) -> &Arc<File> {
        &self.device
    }

    /// Starts a command in the namespace.
    ///
    /// # Errors
    /// There is no such command, or it cannot be started.
    pub fn start(&self, mut command: Command) -> io::Result<Child> {
        self.within(move || command.spawn())
    }

    /// The state of the TCP connections in the namespace.
    pub(super) fn sockets(&self) -> io::Result<Sockets> {
        self.within(Sockets::open)
    }

    /// Whether a socket in the namespace waits for connections or datagrams.
    #[must_use]
    pub fn listens(&self) -> bool {
        let tables = ["tcp", "tcp6", "udp", "udp6"];
        let found = self.within(move || {
            Ok(tables.iter().any(|table| {
                let table = fs::read_to_string(format!("/proc/thread-self/net/{table}"));
                table.is_ok_and(|table| table.lines().count() > 1)
            }))
        });
        found.unwrap_or(false)
    }

    /// Does `work` on a thread in the namespace.
    fn within<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let namespace = Arc::clone(&self.namespace);
        on_own_thread(move || {
            setns(&*namespace, CloneFlags::CLONE_NEWNET)?;
            work()
        })
    }
}

/// Does `work` on a thread that ends with it: a thread that has changed its namespace is not used for anything else.
fn on_own_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = thread::Builder::new().spawn(work)?.join();
    done.unwrap_or_else(|_| Err(io::Error::other("a thread in the namespace failed")))
}

/// The error of a device, with its remedy.
fn explained(error: &io::Error) -> io::Error {
    let remedy = match error.kind() {
        io::ErrorKind::NotFound => {
            "expected /dev/net/tun; load it with `modprobe tun`, or pass the device to the container"
        }
        io::ErrorKind::PermissionDenied => {
            "expected access to /dev/net/tun and CAP_NET_ADMIN in the namespace; run as root, or allow access to the device"
        }
        _ => "expected a TUN device",
    };
    io::Error::new(
        error.kind(),
        format!("/dev/net/tun: found {error}, {remedy}"),
    )
}
