//! The loop between a port and the gateway of a run.
//!
//! The gateway gets each packet at the time of its arrival and says when it leaves, which is a time of the run and not of the
//! loop. A loop that is late therefore changes no decision of the link: the packet leaves late, and [`Lateness`] counts it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;

use fluid_tcp::endpoint::Transmission;
use fluid_tcp::simulation::probe::{Probe, Refused};
use tmt_core::types::{Bytes, Time};
use tmt_link::hop::{Departure, Drive, Event, Gateway, HopError, Served, Tallied};
use tmt_link::{Ecn, Packet, Tag};

use crate::header;
use crate::lateness::Lateness;
use crate::port::Port;

/// Packets that are taken from the port before deliveries are looked at again.
const BATCH: usize = 16;

/// Traffic carried in one direction.
#[derive(Debug, Clone, Default)]
pub struct Carried {
    /// Packets that arrived, and their bytes.
    pub packets: u64,
    /// Bytes of these packets, IP headers included.
    pub bytes: u64,
    /// Packets that were handed over to the other end.
    pub delivered: u64,
    /// Bytes of these packets.
    pub delivered_bytes: u64,
    /// Packets that the queue dropped.
    pub dropped: u64,
    /// Packets that the link lost.
    pub lost: u64,
    /// Packets that the queue marked.
    pub marked: u64,
    /// Packets that the other end did not take, for example because its device was down.
    pub rejected: u64,
    /// How late packets left.
    pub lateness: Lateness,
    /// Whether the link ended before the run.
    pub link_ended: bool,
}

impl Carried {
    /// Packets that were still on their way at the end.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        let over = self.delivered + self.dropped + self.lost + self.rejected;
        self.packets.saturating_sub(over)
    }
}

/// Reason why a direction could not go on.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// The device failed.
    #[error("the device: {0}")]
    Device(#[from] io::Error),
    /// The hop or its queue broke a rule.
    #[error(transparent)]
    Hop(#[from] HopError),
    /// The gateway computed departures ahead, which a run in real time cannot use.
    #[error("found a gateway that tallies ahead, expected one that reports departures")]
    Tallied,
}

/// Carries the packets of a port over a gateway until the run is over, the link has ended, or the time is `end`.
#[derive(Debug)]
pub struct Carrier<'a, P, R> {
    port: &'a mut P,
    probe: &'a mut R,
    end: Time,
}

impl<'a, P: Port, R: Probe> Carrier<'a, P, R> {
    /// Carries the packets of `port` until `end` at the latest. `probe` observes them.
    pub fn new(port: &'a mut P, probe: &'a mut R, end: Time) -> Self {
        Self { port, probe, end }
    }
}

impl<P: Port, R: Probe> Drive for Carrier<'_, P, R> {
    type Output = Result<Carried, CarryError>;

    fn tallies_ahead(&self, _keeps_order: bool) -> bool {
        false
    }

    fn drive<G: Gateway<Departure = Served>>(self, gateway: G) -> Self::Output {
        let run = Run {
            gateway,
            port: self.port,
            probe: self.probe,
            end: self.end,
            clock: Time::ZERO,
            contents: Contents::default(),
            deliveries: BinaryHeap::new(),
            carried: Carried::default(),
        };
        run.run()
    }

    fn drive_tallied<G: Gateway<Departure = Tallied>>(self, _gateway: G) -> Self::Output {
        Err(CarryError::Tallied)
    }
}

/// Contents of the packets that are in the queue or on the link, by their numbers.
#[derive(Debug, Default)]
struct Contents {
    /// Number of the first.
    first: u64,
    packets: VecDeque<Option<Vec<u8>>>,
    /// Memory of packets that are gone.
    spare: Vec<Vec<u8>>,
}

impl Contents {
    /// Keeps the contents of the next packet.
    fn push(&mut self, bytes: Vec<u8>) {
        self.packets.push_back(Some(bytes));
    }

    fn take(&mut self, id: u64) -> Option<Vec<u8>> {
        let index = usize::try_from(id.checked_sub(self.first)?).ok()?;
        let bytes = self.packets.get_mut(index)?.take();
        while self.packets.pop_front_if(|bytes| bytes.is_none()).is_some() {
            self.first += 1;
        }
        bytes
    }

    /// Memory for a packet.
    fn memory(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Forgets a packet.
    fn drop(&mut self, id: u64) {
        let bytes = self.take(id);
        self.spare.extend(bytes);
    }
}

/// A packet on its way to the other end.
#[derive(Debug, PartialEq, Eq)]
struct Delivery {
    at: Time,
    id: u64,
    marked: bool,
    size: Bytes,
}

impl Ord for Delivery {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.id).cmp(&(other.at, other.id))
    }
}

impl PartialOrd for Delivery {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// State of the loop.
struct Run<'a, G, P, R> {
    gateway: G,
    port: &'a mut P,
    probe: &'a mut R,
    end: Time,
    /// Time up to which the gateway has been driven.
    clock: Time,
    contents: Contents,
    /// Packets on their way, the next to arrive first.
    deliveries: BinaryHeap<Reverse<Delivery>>,
    carried: Carried,
}

/// Contents of a packet for the probe: each packet is a transmission of its own.
fn tagged(id: u64) -> Tag {
    Tag([id, 1])
}

impl<G: Gateway<Departure = Served>, P: Port, R: Probe> Run<'_, G, P, R> {
    fn run(mut self) -> Result<Carried, CarryError> {
        loop {
            let now = self.port.now();
            self.advance(now.min(self.end))?;
            self.deliver(now.min(self.end))?;
            let served = self.last_service();
            self.carried.link_ended =
                now >= self.end || self.gateway.has_ended() && served.is_none();
            if self.carried.link_ended {
                return Ok(self.finish());
            }
            if self.receive()? {
                continue;
            }
            let due = self.gateway.due().map(|due| due.max(self.clock));
            let delivery = self.deliveries.peek().map(|Reverse(next)| next.at);
            let served = served.filter(|_| self.gateway.has_ended());
            let next = due.into_iter().chain(delivery).chain(served).min();
            if !self.port.wait(next.map(|next| next.min(self.end)))? {
                let now = self.port.now().min(self.end);
                self.advance(now)?;
                self.deliver(now)?;
                return Ok(self.finish());
            }
        }
    }

    /// End of the last service or delivery that is not over yet. A queue that computes services ahead knows that the link ends
    /// before the packets that it still serves have left.
    fn last_service(&self) -> Option<Time> {
        let services = self.gateway.in_service().map(Departure::end);
        let deliveries = self.deliveries.iter().map(|Reverse(next)| next.at);
        services
            .chain(deliveries)
            .filter(|end| *end > self.clock)
            .max()
    }

    /// Reports the packets whose service has begun by the clock and has not ended.
    fn finish(self) -> Carried {
        for served in self
            .gateway
            .in_service()
            .filter_map(|served| served.served())
        {
            if served.service.start <= self.clock {
                let transmission = Transmission::of(&served.packet);
                self.probe.on_service(transmission, &served.service);
                if let Some(left) = served.left.filter(|left| *left <= self.clock) {
                    self.probe.on_departure(left, transmission, false);
                }
            }
        }
        self.carried
    }

    /// Performs all actions of the gateway that are due by `now`, each at its own time.
    fn advance(&mut self, now: Time) -> Result<(), CarryError> {
        while let Some(due) = self.gateway.due().filter(|due| *due <= now) {
            self.clock = self.clock.max(due);
            self.departures();
            // Actions that are due but not done wait for the next packet.
            if !self.wake()? && self.gateway.due().is_some_and(|next| next <= self.clock) {
                break;
            }
        }
        self.clock = self.clock.max(now);
        self.departures();
        Ok(())
    }

    /// Takes the packets that wait, up to a number. Returns whether there was one.
    fn receive(&mut self) -> Result<bool, CarryError> {
        for taken in 0..BATCH {
            let mut bytes = self.contents.memory();
            if !self.port.receive(&mut bytes)? {
                self.contents.spare.push(bytes);
                return Ok(taken > 0);
            }
            let now = self.port.now().min(self.end);
            self.advance(now)?;
            self.push(bytes)?;
        }
        Ok(true)
    }

    /// A packet arrives.
    fn push(&mut self, bytes: Vec<u8>) -> Result<(), CarryError> {
        let (now, id) = (self.clock, self.carried.packets);
        let packet = Packet {
            id,
            flow: 0,
            size: Bytes(bytes.len() as u64),
            ecn: header::ecn(&bytes),
            class: 0,
            sent: now,
            enqueued: now,
            tag: tagged(id),
        };
        self.carried.packets += 1;
        self.carried.bytes += packet.size.0;
        self.contents.push(bytes);
        let transmission = Transmission::of(&packet);
        self.probe.on_sent(now, transmission);
        let event = self.gateway.push(now, packet);
        match event {
            Some(Event::Refused(_)) => self.probe.on_refused(now, transmission, Refused::Full),
            _ => self.probe.on_enqueued(now, transmission),
        }
        if let Some(event) = event {
            self.on_event(event)?;
        }
        self.wake()?;
        Ok(())
    }

    /// Performs what is due at the clock. Returns whether anything was.
    fn wake(&mut self) -> Result<bool, CarryError> {
        let mut any = false;
        while let Some(event) = self.gateway.wake(self.clock) {
            any = true;
            if let Event::Dropped(packet) = event {
                self.probe.on_dropped(self.clock, Transmission::of(&packet));
            }
            self.on_event(event)?;
        }
        Ok(any)
    }

    fn on_event(&mut self, event: Event) -> Result<(), CarryError> {
        match event {
            Event::Served(packet, service) => {
                let is_marked = packet.ecn == Ecn::Marked;
                if let Some(at) = service.arrival {
                    self.deliveries.push(Reverse(Delivery {
                        at,
                        id: packet.id,
                        marked: is_marked,
                        size: packet.size,
                    }));
                } else {
                    self.carried.lost += 1;
                    self.contents.drop(packet.id);
                }
            }
            Event::Refused(packet) | Event::Dropped(packet) => {
                self.carried.dropped += 1;
                self.contents.drop(packet.id);
            }
            Event::Acknowledged(..) => {}
            Event::Failed(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Reports the slots used and the packets that have left the queue by the clock.
    fn departures(&mut self) {
        while let Some(used) = self.gateway.pop_slot_use(self.clock) {
            self.probe.on_slot(&used);
        }
        let probe = &mut *self.probe;
        self.gateway.departed(self.clock, &mut |departure| {
            if let Some(served) = departure.served() {
                let transmission = Transmission::of(&served.packet);
                probe.on_service(transmission, &served.service);
                let left = served.left.unwrap_or(served.service.end);
                probe.on_departure(left, transmission, served.service.arrival.is_none());
            }
        });
    }

    /// Hands over the packets that have arrived by `now`.
    fn deliver(&mut self, now: Time) -> Result<(), CarryError> {
        while let Some(Reverse(next)) = self.deliveries.peek()
            && next.at <= now
            && let Some(Reverse(next)) = self.deliveries.pop()
        {
            let Some(mut bytes) = self.contents.take(next.id) else {
                continue;
            };
            if next.marked && header::ecn(&bytes) == Ecn::Capable {
                header::mark(&mut bytes);
                self.carried.marked += 1;
            }
            match self.port.send(&bytes) {
                Ok(()) => {
                    self.carried.delivered += 1;
                    self.carried.delivered_bytes += next.size.0;
                    let late = self.port.now().since(next.at);
                    self.carried.lateness.push(late);
                }
                Err(error) if is_of_packet(&error) => self.carried.rejected += 1,
                Err(error) => return Err(error.into()),
            }
            self.contents.spare.push(bytes);
            let packet = Packet {
                id: next.id,
                size: next.size,
                tag: tagged(next.id),
                ..Packet::default()
            };
            self.probe.on_delivered(next.at, Transmission::of(&packet));
        }
        Ok(())
    }
}

/// Whether the other end rejected one packet: its device is down, or the packet is malformed.
fn is_of_packet(error: &io::Error) -> bool {
    // EIO of a TUN device that is down has no kind of its own.
    let (invalid, is_down) = (io::ErrorKind::InvalidInput, error.raw_os_error() == Some(5));
    error.kind() == invalid || is_down
}

#[cfg(test)]
mod tests;
