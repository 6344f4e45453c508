//! Any queue before a link that serves one packet at a time. Departures are events.

use std::collections::VecDeque;

use tmt_core::types::{Bytes, Time};

use super::{Departure as _, Event, Gateway, Hop, HopError, Served};
use crate::link::{Link, Usage};
use crate::packet::Packet;
use crate::queue::{Buffer, Ledger, Queue};

/// Room of a queue: the packets that it holds, their bytes, and what it drops. It finds a queue that breaks its rules.
#[derive(Debug)]
pub(crate) struct Room<Q: ?Sized> {
    queue: Box<Q>,
    buffer: Buffer,
    ledger: Ledger,
    /// Packets in the buffer and their bytes, those in service included.
    held: u64,
    bytes: u64,
    /// Scratch memory for packets that the queue drops.
    dropped: Vec<Packet>,
    /// Events that have not been reported.
    events: VecDeque<Event>,
    failed: bool,
}

impl<Q: Queue + ?Sized> Room<Q> {
    pub(crate) fn new(queue: Box<Q>, buffer: Buffer) -> Self {
        Self {
            queue,
            buffer,
            ledger: Ledger::default(),
            held: 0,
            bytes: 0,
            dropped: Vec::new(),
            events: VecDeque::new(),
            failed: false,
        }
    }

    /// Packets in the buffer, those in service included.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Packets in the queue.
    pub(crate) fn waiting(&self) -> usize {
        if self.failed { 0 } else { self.ledger.len() }
    }

    pub(crate) fn pop_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    #[cold]
    fn fail(&mut self, error: HopError) {
        self.failed = true;
        self.events.push_back(Event::Failed(error));
    }

    /// A packet of this size leaves the buffer after its service.
    pub(crate) fn release(&mut self, size: Bytes) {
        self.held -= 1;
        self.bytes -= size.0;
    }

    /// The queue has returned or dropped `packet`. Returns whether it held it.
    #[inline]
    fn check(&mut self, packet: &Packet) -> bool {
        let held = self.ledger.take(packet);
        if !held && !self.failed {
            self.fail(HopError::Invented { id: packet.id });
        }
        held
    }

    /// Offers `packet` to the queue at `now`. Returns it if it is refused; other packets that the queue drops are reported
    /// as events.
    #[expect(clippy::inline_always, reason = "avoids copies of the packet")]
    #[inline(always)]
    pub(crate) fn push(&mut self, now: Time, packet: Packet) -> Option<Event> {
        let size = packet.size;
        if let Buffer::Bytes(buffer) = self.buffer
            && !self.buffer.could_hold(size)
        {
            return Some(Event::Failed(HopError::TooLarge { size, buffer }));
        }
        while !self.buffer.has_room(self.held, self.bytes, size) {
            let Some(victim) = self.queue.make_room(now, &packet) else {
                return Some(Event::Refused(packet));
            };
            self.drop_packet(victim);
            if self.failed {
                return None;
            }
        }
        self.held += 1;
        self.bytes += size.0;
        self.ledger.push(&packet);
        self.queue.enqueue(now, packet, &mut self.dropped);
        let is_refused = !self.dropped.is_empty() && self.drop_all(Some(packet.id));
        is_refused.then_some(Event::Refused(packet))
    }

    /// Reports the packets that the queue has dropped as events. Returns whether the packet `arriving` is one of them; it is
    /// not reported.
    #[inline(never)]
    fn drop_all(&mut self, arriving: Option<u64>) -> bool {
        let mut is_refused = false;
        let mut all = std::mem::take(&mut self.dropped);
        for dropped in all.drain(..) {
            if arriving != Some(dropped.id) {
                self.drop_packet(dropped);
            } else if self.check(&dropped) {
                self.release(dropped.size);
                is_refused = true;
            }
        }
        self.dropped = all;
        is_refused
    }

    /// Reports that the queue drops a packet.
    fn drop_packet(&mut self, packet: Packet) {
        if self.check(&packet) {
            self.release(packet.size);
            self.events.push_back(Event::Dropped(packet));
        }
    }

    /// The packet to be served at `now`. It stays in the buffer until it is released.
    #[expect(clippy::inline_always, reason = "avoids copies of the packet")]
    #[inline(always)]
    pub(crate) fn next(&mut self, now: Time) -> Option<Packet> {
        let packet = self.queue.dequeue(now, &mut self.dropped);
        if !self.dropped.is_empty() {
            self.drop_all(None);
        }
        if let Some(packet) = packet {
            return self.check(&packet).then_some(packet);
        }
        let held = self.ledger.len();
        if held > 0 && !self.failed {
            self.fail(HopError::Swallowed { held });
        }
        None
    }
}

/// Gateway with any queue. It serves one packet at a time.
#[derive(Debug)]
pub struct Queued<L, Q: ?Sized> {
    link: L,
    room: Room<Q>,
    served: Option<Served>,
    /// Whether the link has ended.
    ended: bool,
}

impl<L: Link, Q: Queue + ?Sized> Queued<L, Q> {
    /// A gateway with an empty `queue` and a buffer of this size before `link`.
    #[must_use]
    pub fn new(link: L, buffer: Buffer, queue: Box<Q>) -> Self {
        Self {
            link,
            room: Room::new(queue, buffer),
            served: None,
            ended: false,
        }
    }

    /// Serves the next packet.
    #[expect(
        clippy::inline_always,
        reason = "avoids copies of packet, service and event"
    )]
    #[inline(always)]
    fn serve(&mut self, now: Time) -> Option<Event> {
        let Some(packet) = self.room.next(now) else {
            return self.room.pop_event();
        };
        let Some(service) = self.link.serve(now, &packet) else {
            self.ended = true;
            return self.room.pop_event();
        };
        self.served = Some(Served::new(&packet, &service));
        if self.room.events.is_empty() {
            return Some(Event::Served(packet, service));
        }
        // Packets that the queue has dropped come before.
        self.room.events.push_back(Event::Served(packet, service));
        self.room.pop_event()
    }
}

impl<L: Link, Q: Queue + ?Sized> Hop for Queued<L, Q> {
    fn name(&self) -> String {
        "queue".to_owned()
    }

    #[expect(clippy::inline_always, reason = "as [`Room::push`]")]
    #[inline(always)]
    fn push(&mut self, now: Time, packet: Packet) -> Option<Event> {
        self.room.push(now, packet)
    }

    fn poll(&mut self, now: Time) -> Option<Event> {
        self.departed(now, &mut |_| {});
        self.wake(now)
    }

    fn due(&self) -> Option<Time> {
        if self.room.waiting() == 0 || self.ended {
            return None;
        }
        Some(self.served.map_or(Time::ZERO, |served| served.end()))
    }

    fn has_ended(&self) -> bool {
        self.ended
    }

    fn usage(&self, end: Time) -> Usage {
        self.link.usage(end)
    }
}

impl<L: Link, Q: Queue + ?Sized> Gateway for Queued<L, Q> {
    type Departure = Served;

    #[expect(
        clippy::inline_always,
        reason = "finds mostly that there is nothing to do"
    )]
    #[inline(always)]
    fn wake(&mut self, now: Time) -> Option<Event> {
        if !self.room.events.is_empty() {
            return self.room.pop_event();
        }
        if self.served.is_some() || self.ended || self.room.waiting() == 0 {
            return None;
        }
        self.serve(now)
    }

    #[inline]
    fn departed(&mut self, now: Time, each: &mut dyn FnMut(&Served)) {
        if let Some(served) = self.served.take_if(|served| served.end() <= now) {
            self.room.release(served.packet.size);
            each(&served);
        }
    }

    fn in_service(&self) -> Box<dyn Iterator<Item = &Served> + '_> {
        Box::new(self.served.iter())
    }

    fn held(&self) -> u64 {
        self.room.held()
    }
}
