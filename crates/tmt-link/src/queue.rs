//! Queue disciplines: the trait, the registry, and what a discipline knows of the link after it (docs/simulator.md, Sec. 4).

mod codel;
mod drop_tail;
mod fq_codel;
#[cfg(test)]
mod peers;
mod pie;
mod priority;
mod red;

use std::collections::VecDeque;
use std::fmt;

use tmt_core::math::rng::Uniform;
use tmt_core::named::{self, Family, Own, Values};
use tmt_core::types::{BitRate, Bytes, Time};

use crate::packet::Packet;
pub use codel::{CoDel, ENTRY as CODEL};
pub use drop_tail::{ENTRY as DROP_TAIL, Fifo};
pub use fq_codel::{ENTRY as FQ_CODEL, FqCoDel};
pub use pie::{ENTRY as PIE, Pie};
pub use priority::{ENTRY as PRIORITY, Priority};
pub use red::{ENTRY as RED, Red};

/// Queue discipline: stores the packets that wait for the link and decides which to serve, mark or drop. Packets in service
/// are not in the queue.
///
/// Its hop counts the packets against the [`Buffer`], those in service included. A queue returns each packet that it got
/// once, from [`Self::dequeue`] or as dropped; it may set [`Packet::ecn`] of capable packets to
/// [`Marked`](crate::Ecn::Marked).
pub trait Queue: fmt::Debug + Send {
    /// Adds a packet at `now`. The buffer has room for it. Appends the packets that the discipline drops to `dropped`: this
    /// one, or others that it holds.
    fn enqueue(&mut self, now: Time, packet: Packet, dropped: &mut Vec<Packet>);

    /// Removes the packet to be served when the link is free at `now`; `None` if none is left. Appends the packets that the
    /// discipline drops to `dropped`.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet>;

    /// Removes a packet to make room for `packet`, for which the buffer has none; called until it has. `None`, the default,
    /// drops `packet` itself.
    fn make_room(&mut self, _now: Time, _packet: &Packet) -> Option<Packet> {
        None
    }

    /// Number of packets in the queue.
    fn waiting(&self) -> u64;
}

/// Size of the buffer of a queue (`--buffer`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// Number of packets, of any size.
    Packets(u64),
    /// Number of bytes; only whole packets count.
    Bytes(u64),
}

impl Default for Buffer {
    fn default() -> Self {
        Self::UNLIMITED
    }
}

impl Buffer {
    /// A buffer without a limit.
    pub const UNLIMITED: Self = Self::Packets(u64::MAX);

    /// Number of packets of `packet` bytes that fit into the buffer.
    #[must_use]
    pub fn packets(self, packet: u64) -> u64 {
        match self {
            Self::Packets(packets) => packets,
            Self::Bytes(bytes) => bytes.checked_div(packet).unwrap_or(0),
        }
    }

    /// Whether the buffer could hold a packet of this size if it were empty.
    #[must_use]
    pub fn could_hold(self, packet: Bytes) -> bool {
        self.has_room(0, 0, packet)
    }

    /// Whether there is room for a packet of size `packet` beside `packets` packets with `bytes` bytes.
    #[must_use]
    pub fn has_room(self, packets: u64, bytes: u64, packet: Bytes) -> bool {
        match self {
            Self::Packets(limit) => packets < limit,
            Self::Bytes(limit) => bytes
                .checked_add(packet.0)
                .is_some_and(|bytes| bytes <= limit),
        }
    }
}

/// Facts about a hop that its discipline may know.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// Size of the buffer.
    pub buffer: Buffer,
    /// Size of a usual packet of the run.
    pub packet: Bytes,
    /// Mean rate of the link after the queue; `None` if it is unknown.
    pub rate: Option<BitRate>,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the hop on its path, from 0.
    pub hop: u32,
}

impl Context {
    /// Random numbers of the stream `name` at this hop: functions of (seed, name, hop, index).
    #[must_use]
    pub fn random(&self, name: &str) -> Uniform {
        Uniform::named(self.seed, name, self.hop)
    }
}

/// Constructor of an empty queue, with the properties of its discipline.
#[derive(Debug, Clone, Copy)]
pub struct Make {
    /// Whether it marks ECN-capable packets.
    pub marks: bool,
    /// Whether it tells flows apart: what it does then depends on [`Packet::flow`] or [`Packet::class`].
    pub by_flow: bool,
    /// Whether it draws random numbers, so that seeds make a difference.
    pub draws: bool,
    /// Why values contradict each other, as found and expected; `None` if they do not.
    pub refuses: fn(&Values) -> Option<String>,
    /// Creates an empty queue from the values of its entry's parameters.
    pub queue: fn(&Values, &Context) -> Box<dyn Queue>,
}

/// Registry entry of a queue discipline: name, parameters and constructor.
pub type Entry = named::Entry<Make>;

/// Queue discipline with its parameters, such as `codel:target=5ms,interval=100ms` (`--queue`).
///
/// ```
/// use tmt_core::Span;
/// use tmt_link::queue::{CODEL, Discipline};
///
/// let codel = Discipline::new(&CODEL, [("target", Span::from_millis(50).into())])?;
/// assert_eq!(codel, "codel:target=50ms".parse()?);
/// assert!(codel.entry().make.marks);
/// assert_eq!(Discipline::default().to_string(), "drop-tail");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Discipline = named::Choice<Make>;

/// Registry of queue disciplines. To add one, write a file and a line here.
pub static ENTRIES: &[&Entry] = &[&DROP_TAIL, &CODEL, &RED, &PIE, &FQ_CODEL, &PRIORITY];

impl Family for Make {
    const KIND: &'static str = "queue";
    const ENTRIES: &'static [&'static Entry] = ENTRIES;
    const DEFAULT: &'static Entry = &DROP_TAIL;

    fn own() -> &'static Own<Entry> {
        static OWN: Own<Entry> = Own::new();
        &OWN
    }
}

/// Creates an empty queue of a discipline.
#[must_use]
pub fn start(discipline: &Discipline, context: &Context) -> Box<dyn Queue> {
    (discipline.entry().make.queue)(discipline.values(), context)
}

/// Whether a discipline is that of `entry`.
pub(crate) fn is(discipline: &Discipline, entry: &'static Entry) -> bool {
    std::ptr::eq(discipline.entry(), entry)
}

/// Numbers and sizes of the packets that a queue holds. It finds packets that a queue invents, changes or swallows.
#[derive(Debug, Default)]
pub(crate) struct Ledger(VecDeque<(u64, Bytes)>);

impl Ledger {
    #[inline]
    pub(crate) fn push(&mut self, packet: &Packet) {
        self.0.push_back((packet.id, packet.size));
    }

    /// Whether the queue held this packet, which it returns now.
    #[inline]
    pub(crate) fn take(&mut self, packet: &Packet) -> bool {
        // The first, under most disciplines.
        let is_first = self.0.front() == Some(&(packet.id, packet.size));
        if is_first {
            self.0.pop_front();
        }
        is_first || self.take_later(packet)
    }

    #[inline(never)]
    fn take_later(&mut self, packet: &Packet) -> bool {
        let held = (packet.id, packet.size);
        let place = self.0.iter().position(|one| *one == held);
        place.is_some_and(|place| self.0.remove(place).is_some())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_in_bytes_holds_whole_packets() {
        assert_eq!(Buffer::Bytes(64_000).packets(1500), 42);
        assert_eq!(Buffer::Packets(7).packets(1500), 7);
        let has_room = |packets, bytes, size| {
            let of = |buffer: Buffer| buffer.has_room(packets, bytes, Bytes(size));
            (of(Buffer::Packets(2)), of(Buffer::Bytes(3000)))
        };
        assert_eq!(has_room(1, 1500, 1500), (true, true));
        assert_eq!(has_room(1, 1500, 1501), (true, false));
        assert_eq!(has_room(2, 80, 40), (false, true));
        assert!(!Buffer::Bytes(1499).could_hold(Bytes(1500)));
    }

    #[test]
    fn a_discipline_is_displayed_as_it_is_parsed() {
        for text in ["drop-tail", "codel:target=20ms,interval=1s"] {
            assert_eq!(text.parse::<Discipline>().unwrap().to_string(), text);
        }
        assert_eq!(
            "codel".parse::<Discipline>().unwrap().to_string(),
            "codel:target=5ms,interval=100ms"
        );
        for text in [
            "",
            "blue",
            "red:unit=bits",
            "fq-codel:flows=0",
            "priority:7",
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

    #[test]
    fn a_ledger_knows_what_is_inside() {
        let packet = |id| Packet {
            id,
            ..Packet::default()
        };
        let mut ledger = Ledger::default();
        (0..4).for_each(|id| ledger.push(&packet(id)));
        assert!(ledger.take(&packet(2)) && ledger.take(&packet(0)));
        assert!(!ledger.take(&packet(2)), "twice");
        assert!(!ledger.take(&packet(9)), "never");
        assert_eq!(ledger.len(), 2);
    }
}
