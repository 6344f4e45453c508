//! The ends of a flow in a run: TCP, or hosts of one's own.

use tmt_core::types::Time;

use super::tcp::Tcp;
use super::{Host, Outcome, Outgoing, Socket};

/// The ends of a flow. TCP is kept whole and called statically.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "TCP is the usual one")]
pub(crate) enum Ends {
    Tcp(Tcp),
    Other(Box<Other>),
}

/// Hosts that are not TCP, with their application.
#[derive(Debug)]
pub(crate) struct Other {
    pub(crate) near: Box<dyn Host>,
    pub(crate) far: Box<dyn Host>,
    pub(crate) socket: Socket,
}

impl Ends {
    /// Next packet that the near host sends `now`.
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    pub(crate) fn next(&mut self, now: Time) -> Option<Outgoing> {
        match self {
            Self::Tcp(tcp) => tcp.next(now),
            Self::Other(other) => {
                let outgoing = other.near.poll(now, &mut other.socket)?;
                Some(outgoing.in_registers())
            }
        }
    }

    /// Time at which a timer of TCP's sender expires, and at which the near host may have something to send besides.
    #[inline]
    pub(crate) fn near_due(&self) -> [Option<Time>; 2] {
        match self {
            Self::Tcp(tcp) => [tcp.sender.deadline(), tcp.due()],
            Self::Other(other) => [None, other.near.due()],
        }
    }

    /// Time at which the far host has something to send.
    #[inline]
    pub(crate) fn far_due(&self) -> Option<Time> {
        match self {
            Self::Tcp(tcp) => tcp.receiver.deadline(),
            Self::Other(other) => other.far.due(),
        }
    }

    /// Payload that the far host has in order, bytes. `bulk` is that of so many packets of a bulk transfer.
    pub(crate) fn delivered(&self, bulk: impl Fn(u64) -> u64) -> u64 {
        match self {
            Self::Tcp(tcp) => match &tcp.stream {
                Some(stream) => stream.socket.delivered.0,
                None => bulk(tcp.receiver.rcv_nxt()),
            },
            Self::Other(other) => other.socket.delivered.0,
        }
    }

    /// Whether the far host has everything, after the near host has acted: a bulk transfer is complete only when a packet
    /// arrives, and what its receiver has is far from what its sender needs.
    #[inline]
    pub(crate) fn may_be_complete(&self) -> bool {
        let is_bulk = matches!(self, Self::Tcp(tcp) if tcp.stream.is_none());
        !is_bulk && self.is_complete()
    }

    /// Observations of the application until `end`; `None` for a bulk transfer, which TCP does by itself.
    pub(crate) fn outcome(&mut self, end: Time) -> Option<Outcome> {
        let socket = match self {
            Self::Tcp(tcp) => &mut tcp.stream.as_mut()?.socket,
            Self::Other(other) => &mut other.socket,
        };
        Some(socket.outcome(end))
    }

    /// Whether the far host has everything.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        match self {
            Self::Tcp(tcp) => tcp.is_complete(),
            Self::Other(other) => other.socket.is_complete(),
        }
    }
}
