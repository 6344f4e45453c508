//! Further hops of a path: before the gateway, such as a second bottleneck, and after it.

use tmt_core::types::{Span, Time};
use tmt_link::hop::{Attach, Event, Gateway, Hop};
use tmt_link::{Ecn, Packet};

use super::delivery::{Delivery as _, Form};
use super::events::{Alarm, Place};
use super::{Run, RunError, is_due, sooner};
use crate::endpoint::Transmission;
use crate::simulation::beside::Met;
use crate::simulation::probe::Probe;

/// The hops between the senders and the receivers, in order: the terrestrial path of the setup, `before`, the gateway with
/// its queue and `link`, and `after`. A link alone is a route without further hops.
///
/// A second bottleneck of 1 Mbit/s before the satellite link:
///
/// ```
/// use fluid_tcp::congestion::Algorithm;
/// use fluid_tcp::endpoint::Endpoint;
/// use fluid_tcp::simulation::{Flow, Route, Setup, probe::NoProbe, run};
/// use tmt_core::{BitRate, Span, Time};
/// use tmt_link::SyntheticLink;
/// use tmt_link::hop::Queued;
/// use tmt_link::queue::{Buffer, Fifo};
///
/// let flow = Flow::new(Algorithm::default(), Endpoint::default());
/// let setup = Setup::new(vec![flow], Span::from_millis(100), Span::from_secs(20));
/// let slow = SyntheticLink::new(BitRate(1_000_000), setup.packet, Span::ZERO, None, Time::ZERO);
/// let slow = Queued::new(slow.ok_or("no such link")?, Buffer::Packets(20), Box::<Fifo>::default());
/// let link = setup.synthetic_link(BitRate(8_000_000), None).ok_or("no such link")?;
/// let report = run(&setup, Route::new(link).behind(slow), &mut NoProbe)?;
/// assert!(report.total.metrics.goodput_bps < Some(1_000_000.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Route<L> {
    /// Hops before the gateway, in order.
    pub before: Vec<Box<dyn Hop>>,
    /// Link of the gateway.
    pub link: L,
    /// Hops after the gateway, in order.
    pub after: Vec<Box<dyn Hop>>,
}

impl<L> Route<L> {
    /// A route over `link` without further hops.
    #[must_use]
    pub const fn new(link: L) -> Self {
        Self {
            before: Vec::new(),
            link,
            after: Vec::new(),
        }
    }

    /// The same route with `hop` as the last before the gateway.
    #[must_use]
    pub fn behind(mut self, hop: impl Hop + 'static) -> Self {
        self.before.push(Box::new(hop));
        self
    }

    /// The same route with `hop` as the last.
    #[must_use]
    pub fn then(mut self, hop: impl Hop + 'static) -> Self {
        self.after.push(Box::new(hop));
        self
    }
}

/// A [`Route`], or a link alone.
pub trait IntoRoute {
    /// Link of the gateway.
    type Link: Attach;

    /// The route.
    fn into_route(self) -> Route<Self::Link>;
}

impl<L: Attach> IntoRoute for L {
    type Link = L;

    fn into_route(self) -> Route<L> {
        Route::new(self)
    }
}

impl<L: Attach> IntoRoute for Route<L> {
    type Link = L;

    fn into_route(self) -> Self {
        self
    }
}

impl<G: Gateway<Departure: Form>, P: Probe> Run<'_, G, P> {
    /// A sender has sent a packet, which crosses the terrestrial path: it is `toward` away from the first hop.
    #[expect(clippy::inline_always, reason = "as [`Run::on_arrival`]")]
    #[inline(always)]
    pub(super) fn cross_terrestrial(&mut self, now: Time, mut packet: Packet, toward: Span) {
        if toward.is_zero() {
            return self.enter(now, packet);
        }
        packet.enqueued = now.saturating_add(toward);
        let arrives = Some(packet.enqueued);
        self.events
            .transit(arrives, |slot| *slot = (Place::Network, packet));
    }

    /// A packet has crossed the terrestrial path.
    #[expect(clippy::inline_always, reason = "as [`Run::on_arrival`]")]
    #[inline(always)]
    pub(super) fn enter(&mut self, now: Time, packet: Packet) {
        if self.side.is_empty() {
            self.on_arrival(now, packet);
        } else {
            self.parked = packet;
            self.reach(now, 0);
        }
    }

    /// The parked packet reaches the hop of this number, or the receiver after the last.
    #[inline(never)]
    pub(super) fn reach(&mut self, now: Time, number: usize) {
        let mut packet = self.parked;
        let gateway = self.side.gateway();
        if number == gateway {
            packet.enqueued = now;
            self.on_arrival(now, packet);
        } else if number <= self.side.hops.len() {
            packet.enqueued = now;
            let index = number - usize::from(number > gateway);
            // Departures precede arrivals; what has left since the last event leaves its place here, too.
            self.wake_side_hop(now, index);
            if let Some(event) = self.side.hops[index].push(now, packet) {
                self.on_side_event(now, index, event);
            }
            self.wake_side_hop(now, index);
        } else if let Some(parts) = self.side.pass(now, &mut packet) {
            self.events
                .deliver(Some(now), |slot| slot.write(&packet, &parts));
        }
    }

    /// A hop beside the gateway has an action that is due.
    pub(super) fn on_side_hop(&mut self, now: Time, index: usize) {
        if is_due(&mut self.side.alarms[index], now) {
            self.wake_side_hop(now, index);
        }
    }

    /// Performs the actions of a hop that are due, and schedules the next one.
    fn wake_side_hop(&mut self, now: Time, index: usize) {
        self.side.hops[index].departed(now, &mut |_| {});
        while let Some(event) = self.side.hops[index].poll(now) {
            self.on_side_event(now, index, event);
        }
        // Actions that are due already were not done: they wait for the next packet.
        let due = self.side.hops[index].due().filter(|due| *due > now);
        let due = sooner(&mut self.side.alarms[index], due);
        self.events.alarm(due, |slot| *slot = Alarm::Hop(index));
    }

    /// Acts on what becomes of a packet at a hop beside the gateway.
    fn on_side_event(&mut self, now: Time, index: usize, event: Event) {
        let side = self.side.side(index);
        let (packet, at, what): (Packet, Time, fn(&mut Met) -> &mut u64) = match event {
            Event::Served(packet, service) => {
                let waited = service.start.since(packet.enqueued);
                self.side.on_wait(side, waited);
                if packet.ecn == Ecn::Marked && self.side.is_new_mark(packet.id) {
                    let tally = &mut self.connections[packet.flow as usize].tally;
                    tally.count_beside(side, |met| &mut met.marked);
                }
                if service.arrival.is_some() {
                    let next = index + 1 + usize::from(index >= self.side.gateway());
                    self.events
                        .transit(service.arrival, |slot| *slot = (Place::Hop(next), packet));
                    return;
                }
                (packet, service.end, |met| &mut met.lost)
            }
            Event::Refused(packet) | Event::Dropped(packet) => {
                (packet, now, |met| &mut met.dropped)
            }
            Event::Acknowledged(..) => return,
            Event::Failed(error) => {
                let hop = self.side.hops[index].name();
                return self.fail(RunError::Hop { hop, error });
            }
        };
        self.side.forget(packet.id);
        let tally = &mut self.connections[packet.flow as usize].tally;
        tally.on_gone(packet.id);
        tally.count_beside(side, what);
        let transmission = Transmission::of(&packet);
        self.probe.on_gone_beside(at, transmission, side);
    }

    /// Fails the run if a hop holds packets for which nothing is due. Called when nothing but timers of senders is scheduled.
    pub(super) fn check_stalled(&mut self) {
        if !self.events.has_only_timers() {
            return;
        }
        let side = self.side.hops.iter().map(|hop| (hop.stalled(), hop.name()));
        let gateway = (self.gateway.stalled(), self.gateway.name());
        let stalled = side.chain([gateway]).find(|(packets, _)| *packets > 0);
        if let Some((packets, hop)) = stalled {
            self.fail(RunError::Stalled { hop, packets });
        }
    }
}
