//! Hops: the elements of a path, driven without input or output of their own (docs/simulator.md, Sec. 4).
//!
//! A hop gets packets at times that never decrease and says what becomes of them as soon as it is known, which may be ahead
//! of time: a drop-tail queue before a link computes the service of a packet when the packet arrives. At one instant,
//! departures precede arrivals (docs/simulator.md, Sec. 10).

pub mod access;
mod ahead;
mod any;
mod delay;
mod lossy;
mod queued;
mod return_path;
mod side_path;

use std::fmt::Debug;

use tmt_core::types::{BitRate, Bytes, Span, Time};

use crate::link::{Link, Service, SlotUse, Usage};
use crate::packet::Packet;
use crate::queue::{self, Buffer, CODEL, CoDel, Context, DROP_TAIL, Discipline};
pub use access::{Access, Demand, Terms, terms};
pub use ahead::Ahead;
pub use any::AnyHop;
pub use delay::Delay;
pub use lossy::Lossy;
pub use queued::Queued;
pub(crate) use queued::Room;
pub use return_path::{PathTrace, ReturnHop, ReturnPath};
pub use side_path::SidePath;

/// Outcome of a packet at a hop, reported as soon as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The hop does not accept the packet that was pushed: the buffer has no room, or the queue drops it on arrival.
    Refused(Packet),
    /// The hop drops a packet that it had accepted.
    Dropped(Packet),
    /// The hop passes the packet on, with an ECN mark if the queue set one. [`Service::arrival`] says when it arrives at the
    /// other end, or that it is lost.
    Served(Packet, Service),
    /// The hop learns at this time that the link has delivered the packet ([`Reporting::acknowledgements`]).
    Acknowledged(Packet, Time),
    /// The hop or its queue broke a rule. It does nothing more.
    Failed(HopError),
}

/// Element of a path: a delay, or a queue with the link after it. It has no clock: whoever drives it calls
/// [`Self::push`] for each packet, and [`Self::poll`] after that and at [`Self::due`], until it returns `None`.
///
/// ```
/// use tmt_core::{BitRate, Bytes, Span, Time};
/// use tmt_link::hop::{Event, Hop, Queued};
/// use tmt_link::queue::{Buffer, Fifo};
/// use tmt_link::{Packet, SyntheticLink};
///
/// let (rate, size) = (BitRate(12_000_000), Bytes(1500));
/// let link = SyntheticLink::new(rate, size, Span::from_millis(5), None, Time::ZERO);
/// let mut hop = Queued::new(link.ok_or("no such link")?, Buffer::Bytes(3000), Box::<Fifo>::default());
/// let mut events = Vec::new();
/// for id in 0..3 {
///     events.extend(hop.push(Time::ZERO, Packet { id, size, ..Packet::default() }));
///     events.extend(std::iter::from_fn(|| hop.poll(Time::ZERO)));
/// }
/// while let Some(due) = hop.due() {
///     events.extend(std::iter::from_fn(|| hop.poll(due)));
/// }
/// // The buffer holds two packets, the one in service included.
/// let ids = events.iter().map(|event| match event {
///     Event::Served(packet, _) => Ok(packet.id),
///     Event::Refused(packet) => Err(packet.id),
///     other => panic!("{other:?}"),
/// });
/// assert_eq!(ids.collect::<Vec<_>>(), [Ok(0), Err(2), Ok(1)]);
/// # Ok::<(), &str>(())
/// ```
pub trait Hop: Debug {
    /// Name of the hop in errors.
    fn name(&self) -> String;

    /// A packet reaches the hop at `now`. Returns what becomes of it, if that is known at once; else it waits.
    fn push(&mut self, now: Time, packet: Packet) -> Option<Event>;

    /// Performs one action that is due at `now` and reports it; `None` if nothing is left to do or to report.
    fn poll(&mut self, now: Time) -> Option<Event>;

    /// Time of the next action that no packet triggers; `None` if nothing is due.
    fn due(&self) -> Option<Time>;

    /// Whether the hop has ended: it will not pass on another packet, and those that it holds stay there.
    fn has_ended(&self) -> bool {
        false
    }

    /// Use of its link until `end`.
    fn usage(&self, _end: Time) -> Usage {
        Usage::default()
    }
}

/// Rule that a hop or its queue broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HopError {
    /// The packet does not fit into the buffer, not even into an empty one.
    #[error("found a packet of {} bytes, expected at most the buffer of {buffer} bytes", size.0)]
    TooLarge {
        /// Size of the packet.
        size: Bytes,
        /// Size of the buffer, bytes.
        buffer: u64,
    },
    /// The queue returned a packet that it did not hold.
    #[error(
        "its queue returned packet {id}, which it did not hold: found an invented or repeated packet, expected each packet once"
    )]
    Invented {
        /// Number of the packet.
        id: u64,
    },
    /// The queue lost packets, or holds them although it says that it is empty.
    #[error(
        "its queue returned no packet: found {held} that it got and neither returned nor dropped, expected none"
    )]
    Swallowed {
        /// Number of these packets.
        held: usize,
    },
}

/// Packet whose service has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// The packet, with the ECN field that it leaves with.
    pub packet: Packet,
    /// Its service.
    pub service: Service,
    /// Time at which it leaves the buffer; `None` if that is not yet known.
    pub left: Option<Time>,
}

/// Form in which a gateway keeps the packets whose service has begun until they have left: whole ([`Served`]), or the end of
/// their service ([`Tallied`]).
pub trait Departure: Copy + Debug {
    /// The packet with the service that it gets from a queue that computes it ahead.
    fn new(packet: &Packet, service: &Service) -> Self;

    /// Time at which its service ends.
    fn end(&self) -> Time;

    /// Everything about it; `None` if its driver has tallied it when its service was reported.
    fn served(&self) -> Option<&Served>;
}

impl Departure for Served {
    fn new(packet: &Packet, service: &Service) -> Self {
        Self {
            packet: *packet,
            service: *service,
            left: Some(service.end),
        }
    }

    fn end(&self) -> Time {
        self.service.end
    }

    fn served(&self) -> Option<&Served> {
        Some(self)
    }
}

/// End of the service of a packet that is tallied.
pub type Tallied = Time;

impl Departure for Tallied {
    #[inline]
    fn new(_packet: &Packet, service: &Service) -> Self {
        service.end
    }

    #[inline]
    fn end(&self) -> Time {
        *self
    }

    fn served(&self) -> Option<&Served> {
        None
    }
}

/// The hop with the queue of a run: it also reports the packets that leave, and its length.
pub trait Gateway: Hop {
    /// Record of a packet whose service has begun.
    type Departure: Departure;

    /// Whether nothing is ever due, and [`Self::wake`] has no event: it says on its arrival what becomes of a packet, unless its link has
    /// ended. It is then never woken.
    fn knows_ahead(&self) -> bool {
        false
    }

    /// Whether packets of a flow cannot overtake each other.
    fn keeps_order(&self) -> bool {
        false
    }

    /// As [`Hop::poll`], but packets leave by [`Self::departed`] only.
    fn wake(&mut self, now: Time) -> Option<Event> {
        self.poll(now)
    }

    /// Whether departures must be processed before the next arrival. Otherwise they do not affect it.
    fn departures_are_due(&self) -> bool {
        true
    }

    /// Removes the packets that have left the queue by `now` and whose fate is known, and calls `each` with each of them, in
    /// that order.
    fn departed(&mut self, now: Time, each: &mut dyn FnMut(&Self::Departure));

    /// Packets in service, the next to leave first. Call [`Self::departed`] before.
    fn in_service(&self) -> Box<dyn Iterator<Item = &Self::Departure> + '_>;

    /// Packets in the buffer, those in service included, as of the last call of [`Self::departed`].
    fn held(&self) -> u64;

    /// Number of packets that it holds although nothing is due, it has not ended, and their fate is not known.
    fn stalled(&self) -> u64 {
        0
    }

    /// Returns the next slot used by `now`, each once; `None` if slots are not reported.
    fn pop_slot_use(&mut self, _now: Time) -> Option<SlotUse> {
        None
    }

    /// Whether it reports [`Event::Acknowledged`]. Otherwise a proxy derives the time from the packet's arrival.
    fn reports_acknowledgements(&self) -> bool {
        false
    }
}

impl<H: Hop + ?Sized> Hop for &mut H {
    fn name(&self) -> String {
        (**self).name()
    }

    fn push(&mut self, now: Time, packet: Packet) -> Option<Event> {
        (**self).push(now, packet)
    }

    fn poll(&mut self, now: Time) -> Option<Event> {
        (**self).poll(now)
    }

    fn due(&self) -> Option<Time> {
        (**self).due()
    }

    fn has_ended(&self) -> bool {
        (**self).has_ended()
    }

    fn usage(&self, end: Time) -> Usage {
        (**self).usage(end)
    }
}

impl<G: Gateway + ?Sized> Gateway for &mut G {
    type Departure = G::Departure;

    fn knows_ahead(&self) -> bool {
        (**self).knows_ahead()
    }

    fn keeps_order(&self) -> bool {
        (**self).keeps_order()
    }

    fn wake(&mut self, now: Time) -> Option<Event> {
        (**self).wake(now)
    }

    fn departures_are_due(&self) -> bool {
        (**self).departures_are_due()
    }

    fn departed(&mut self, now: Time, each: &mut dyn FnMut(&Self::Departure)) {
        (**self).departed(now, each);
    }

    fn in_service(&self) -> Box<dyn Iterator<Item = &Self::Departure> + '_> {
        (**self).in_service()
    }

    fn held(&self) -> u64 {
        (**self).held()
    }

    fn stalled(&self) -> u64 {
        (**self).stalled()
    }

    fn pop_slot_use(&mut self, now: Time) -> Option<SlotUse> {
        (**self).pop_slot_use(now)
    }

    fn reports_acknowledgements(&self) -> bool {
        (**self).reports_acknowledgements()
    }
}

/// Reports of a gateway in addition to the fates of its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reporting {
    /// Times at which the gateway learns that packets have arrived ([`Event::Acknowledged`]).
    pub acknowledgements: bool,
    /// Use of every slot. With interleaving slots are then computed one by one.
    pub slots: bool,
}

/// Settings of a gateway, beside its link.
#[derive(Debug, Clone)]
pub struct GatewaySetup {
    /// Queue discipline.
    pub discipline: Discipline,
    /// Size of the buffer.
    pub buffer: Buffer,
    /// RTT of the link: propagation only, both directions.
    pub rtt: Span,
    /// Begin and end of the run.
    pub run: (Time, Time),
    /// Size of a usual packet.
    pub packet: Bytes,
    /// Seed of the run.
    pub seed: u64,
    /// Reports in addition to the fates of packets.
    pub reporting: Reporting,
}

impl GatewaySetup {
    /// Context of the queue of a link with this mean rate.
    #[must_use]
    pub fn context(&self, rate: Option<BitRate>) -> Context {
        Context {
            buffer: self.buffer,
            packet: self.packet,
            rate,
            seed: self.seed,
            hop: 0,
        }
    }
}

/// Reason why a link has no gateway.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttachError {
    /// The trace of the link cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// A packet needs no units, so that it can never be sent.
    #[error("found packets without units, expected at least one unit per packet")]
    NoUnits,
}

/// A link of any kind, which becomes the gateway of a run: every [`Link`], a [`CoupledLink`](crate::CoupledLink), and
/// [`AnyHop`].
pub trait Attach {
    /// Puts the link behind a queue and drives the resulting gateway with `driver`.
    ///
    /// # Errors
    /// [`AttachError`], if the link cannot serve any packet.
    fn attach<D: Drive>(self, setup: &GatewaySetup, driver: D) -> Result<D::Output, AttachError>;
}

/// Drives a gateway of any type.
pub trait Drive {
    /// Result of the run.
    type Output;

    /// Whether packets are tallied as soon as their service is known, so that only their departure matters. Asked for gateways
    /// that know the service of a packet on its arrival.
    fn tallies_ahead(&self, keeps_order: bool) -> bool;

    /// Drives `gateway` until the end of the run.
    fn drive<G: Gateway<Departure = Served>>(self, gateway: G) -> Self::Output;

    /// The same for a gateway that knows the service of a packet on its arrival ([`Gateway::knows_ahead`]), which a driver may make
    /// use of. Whoever attaches may call [`Self::drive`] for it, too.
    fn drive_ahead<G: Gateway<Departure = Served>>(self, gateway: G) -> Self::Output
    where
        Self: Sized,
    {
        self.drive(gateway)
    }

    /// The same where packets are tallied as soon as their service is known. The gateway must not set ECN marks: they are not
    /// counted.
    fn drive_tallied<G: Gateway<Departure = Tallied>>(self, gateway: G) -> Self::Output;
}

/// A link behind the queue of a setup, chosen as by [`Attach`], as a gateway of a type that is known only when the program runs.
pub fn gateway<'l>(
    link: impl Link + 'l,
    setup: &GatewaySetup,
) -> Box<dyn Gateway<Departure = Served> + 'l> {
    if queue::is(&setup.discipline, &DROP_TAIL) {
        return Box::new(Ahead::new(link, setup.buffer));
    }
    let queue = queue::start(&setup.discipline, &setup.context(link.rate()));
    Box::new(Queued::new(link, setup.buffer, queue))
}

impl<L: Link> Attach for L {
    fn attach<D: Drive>(self, setup: &GatewaySetup, driver: D) -> Result<D::Output, AttachError> {
        let buffer = setup.buffer;
        Ok(if queue::is(&setup.discipline, &DROP_TAIL) {
            if driver.tallies_ahead(self.keeps_order()) {
                driver.drive_tallied(Ahead::new(self, buffer))
            } else {
                driver.drive_ahead(Ahead::new(self, buffer))
            }
        } else if queue::is(&setup.discipline, &CODEL) {
            // Calls of its methods are then static, a twelfth of a run.
            let codel = Box::new(CoDel::of(setup.discipline.values()));
            driver.drive(Queued::new(self, buffer, codel))
        } else {
            let context = setup.context(self.rate());
            let queue = queue::start(&setup.discipline, &context);
            driver.drive(Queued::new(self, buffer, queue))
        })
    }
}
