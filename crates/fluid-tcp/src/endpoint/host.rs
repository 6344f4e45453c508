//! Hosts: the ends of a flow, driven without input or output of their own.

use std::fmt::Debug;

use tmt_core::types::{Bytes, Time};
use tmt_link::{Ecn, Packet, Tag};

use super::Socket;

/// A packet as its host hands it to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outgoing {
    /// Size on the link, headers included.
    pub size: Bytes,
    /// Whether queues may mark it.
    pub ecn: Ecn,
    /// Contents, which only the hosts of the flow read. Logs take them for those of TCP
    /// ([`Transmission::of`](super::Transmission::of)).
    pub tag: Tag,
    /// Number of this transmission of the same contents, from 1. Above 1 it counts as a retransmission.
    pub copy: u32,
}

impl Outgoing {
    /// The same packet, copied field by field. A call returns it in memory; without the copy, packets of the other branches, which
    /// come from no call, would go through memory, too.
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    pub(super) fn in_registers(self) -> Self {
        Self {
            size: self.size,
            ecn: self.ecn,
            tag: self.tag,
            copy: self.copy,
        }
    }
}

/// One end of a flow: the near host, which sends data, or the far host, which gets them. It has no clock: whoever drives it
/// calls [`Self::on_packet`] for each packet that reaches it, and [`Self::poll`] at the start of the flow, after each packet
/// and at [`Self::due`], until it returns `None`.
///
/// Packets of the near host cross the path of the run, those of the far host its return path. A pair of hosts may keep
/// contents that do not fit into a tag, such as the ranges of an acknowledgement, in a place that both know (`Rc`), with
/// its index in the tag.
///
/// One message in a packet with a header of 28 B, to a host that only listens:
///
/// ```
/// use fluid_tcp::endpoint::{Host, Outgoing, Socket, Supply, Transfer};
/// use fluid_tcp::simulation::{Flow, Setup, probe::NoProbe, run};
/// use tmt_core::{BitRate, Bytes, Span, Time};
/// use tmt_link::{Packet, Tag};
///
/// #[derive(Debug)]
/// struct Near;
///
/// impl Host for Near {
///     fn on_packet(&mut self, _now: Time, _packet: &Packet, _socket: &mut Socket) {}
///
///     fn poll(&mut self, now: Time, socket: &mut Socket) -> Option<Outgoing> {
///         let Supply::Data(payload) = socket.supply(now) else {
///             return None;
///         };
///         let tag = Tag([payload.0, 0]);
///         Some(Outgoing { size: Bytes(payload.0 + 28), tag, ..Outgoing::default() })
///     }
/// }
///
/// #[derive(Debug)]
/// struct Far;
///
/// impl Host for Far {
///     fn on_packet(&mut self, now: Time, packet: &Packet, socket: &mut Socket) {
///         socket.deliver(now, 1, Bytes(packet.tag.0[0]));
///     }
/// }
///
/// let flow = Flow::between(|_| (Near, Far)).with(|_| Transfer(Bytes(972)));
/// let setup = Setup::new(vec![flow], Span::from_millis(100), Span::from_secs(60));
/// let link = setup.synthetic_link(BitRate(1_000_000), None).ok_or("no such link")?;
/// let metrics = run(&setup, link, &mut NoProbe)?.total.metrics;
/// // 1000 B take 8 ms, and the way to the other end 50 ms.
/// assert_eq!(metrics.completion_time_s, Some(0.058));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Host: Debug {
    /// A packet of the other end arrives at `now`.
    fn on_packet(&mut self, now: Time, packet: &Packet, socket: &mut Socket);

    /// Does what is due at `now`, and returns the next packet to send; `None` if absent.
    fn poll(&mut self, _now: Time, _socket: &mut Socket) -> Option<Outgoing> {
        None
    }

    /// Time at which something is due although no packet arrives, later than that of the last [`Self::poll`]; `None` if nothing
    /// is.
    fn due(&self) -> Option<Time> {
        None
    }
}
