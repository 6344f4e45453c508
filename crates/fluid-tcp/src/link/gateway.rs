//! The queue in front of a link, and how it feeds it.
//!
//! Departures are no events where nothing depends on them: under drop-tail a packet's service follows from when it
//! was taken in and when the one before it ends. What has left is told when somebody asks (`Gateway::leave`), and
//! what leaves at an instant has left before what comes at that instant.

mod codel;
mod coupled;
mod drop_tail;
mod queue;

use tmt_core::types::Time;

use crate::link::{PacketCopy, Service, SlotUse, Usage};
use crate::named::Family;
pub use codel::ENTRY as CODEL;
pub use coupled::{CoupledLink, Hold, InOrder, LostFeedback, Tail};
pub(crate) use coupled::{CoupledQueue, Tells};
pub(crate) use drop_tail::DropTail;
pub(crate) use queue::QueuedLink;
pub use queue::{Discipline, Entry, Make, Queue, Taken};

/// How much the queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// So many packets.
    Packets(u64),
    /// So many bytes.
    Bytes(u64),
}

impl Buffer {
    /// Packets of `packet` bytes that fit.
    #[must_use]
    pub fn packets(self, packet: u64) -> u64 {
        match self {
            Self::Packets(packets) => packets,
            Self::Bytes(bytes) => bytes.checked_div(packet).unwrap_or(0),
        }
    }
}

/// Every queue there is; a new one is a file and a line here.
pub static ENTRIES: &[&Entry] = &[&drop_tail::ENTRY, &codel::ENTRY];

impl Family for Make {
    const KIND: &'static str = "queue";
    const ENTRIES: &'static [&'static Entry] = ENTRIES;
}

impl Discipline {
    /// Packets that find the queue full are dropped, and only these.
    pub const DROP_TAIL: Self = Self::plain(&drop_tail::ENTRY);

    /// Whether it drops only what finds the queue full.
    #[must_use]
    pub fn is_drop_tail(&self) -> bool {
        std::ptr::eq(self.entry(), &raw const drop_tail::ENTRY)
    }

    /// An empty queue.
    #[must_use]
    pub fn queue(&self) -> Box<dyn Queue> {
        (self.entry().make)(self.values())
    }
}

impl Default for Discipline {
    fn default() -> Self {
        Self::DROP_TAIL
    }
}

/// A packet at the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queued {
    /// Which copy of which packet of which flow.
    pub copy: PacketCopy,
    /// When its sender sent it.
    pub sent: Time,
    /// When it reached the queue.
    pub enqueued: Time,
    /// ECN-capable: a mark may take the place of a drop.
    pub capable: bool,
    /// Its sender has reduced its window on an echoed mark (CWR).
    pub reduced: bool,
}

/// What becomes of a packet, as soon as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is dropped, or was dropped from the queue.
    Dropped(Queued),
    /// The link serves it so; it was marked (ECN) or not.
    Served(Queued, Service, bool),
    /// The gateway knows from then on that the link has delivered it; only told where asked for.
    Whole(Queued, Time),
    /// It waits.
    Waits,
}

/// A packet that the link has served, or serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) packet: Queued,
    pub(crate) service: Service,
    /// When the buffer lets it go; none where that is not known yet.
    pub(crate) left: Option<Time>,
}

/// A queue with its link.
pub(crate) trait Gateway {
    /// Takes `packet` in at `now`, if there is room.
    fn offer(&mut self, now: Time, packet: Queued) -> Fate;

    /// When it does something by itself next.
    fn due(&self) -> Option<Time>;

    /// Does one thing that is due; none when there is no more.
    fn wake(&mut self, now: Time) -> Option<Fate>;

    /// The next packet that has left the queue by `now` and whose fate is known, in the order in which that is so.
    fn leave(&mut self, now: Time) -> Option<Served>;

    /// The next slot used by `now`, each once; none where nobody asked for them.
    fn used(&mut self, _now: Time) -> Option<SlotUse> {
        None
    }

    /// Packets that the link serves but has not finished, the next to leave first; after all that have left.
    fn in_service(&self) -> impl Iterator<Item = &Served>;

    /// Packets held, the one in service included, as of the last call of `leave`.
    fn len(&self) -> u64;

    /// Whether it tells [`Fate::Whole`]; where not, a packet's arrival is all there is to know.
    fn tells_whole(&self) -> bool {
        false
    }

    /// Whether the link has come to its end, and no packet will ever be served again.
    fn is_exhausted(&self) -> bool;

    /// What the link was used for until `end`.
    fn usage(&self, end: Time) -> Usage;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_hold_whole_packets() {
        assert_eq!(Buffer::Bytes(64_000).packets(1500), 42);
        assert_eq!(Buffer::Packets(7).packets(1500), 7);
    }

    #[test]
    fn a_discipline_is_shown_as_it_is_read() {
        for text in ["drop-tail", "codel:target=20ms,interval=1s"] {
            assert_eq!(text.parse::<Discipline>().unwrap().to_string(), text);
        }
        assert_eq!(
            "codel".parse::<Discipline>().unwrap().to_string(),
            "codel:target=5ms,interval=100ms"
        );
        assert!("drop-tail".parse::<Discipline>().unwrap().is_drop_tail());
        for text in [
            "",
            "red",
            "codel:",
            "codel:target",
            "codel:target=0s",
            "codel:x=1",
            "codelx",
            "codel:target=1s,target=1s",
            "drop-tail:",
        ] {
            assert!(text.parse::<Discipline>().is_err(), "{text}");
        }
    }
}
