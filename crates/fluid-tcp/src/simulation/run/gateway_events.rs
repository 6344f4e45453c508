//! Events at the gateway: packets at the proxy and at the queue.

use tmt_core::types::{Span, Time};
use tmt_link::hop::{Departure as _, Event, Gateway, Served};
use tmt_link::{Ecn, Packet, Service};

use super::delivery::Form;
use super::events::{Alarm, Place};
use super::{Connections, Run, RunError, connection, is_due, sooner};
use crate::endpoint::Transmission;
use crate::endpoint::receiver::Ack;
use crate::simulation::delay::DelayParts;
use crate::simulation::probe::{Probe, Refused};
use crate::simulation::proxy::Proxy;
use crate::simulation::tally::Count;

/// Shortest time after which a proxy sends a packet again that the queue after it has dropped.
const PROXY_PAUSE: Span = Span::from_millis(1);

impl<G: Gateway<Departure: Form>, P: Probe> Run<'_, G, P> {
    /// A packet reaches the gateway.
    #[expect(
        clippy::inline_always,
        reason = "avoids a copy of the packet, which is 2 % of the time of a run"
    )]
    #[inline(always)]
    pub(super) fn on_arrival(&mut self, now: Time, packet: Packet) {
        if self.proxy.is_none() || self.proxy_accepts(now, Transmission::of(&packet)) {
            self.enqueue(now, packet);
        }
    }

    /// Whether the proxy accepts a packet. The proxy answers in any case.
    #[inline(never)]
    fn proxy_accepts(&mut self, now: Time, transmission: Transmission) -> bool {
        let Some(proxy) = &mut self.proxy else {
            return true;
        };
        let (refused, ack) = proxy.on_packet(now, transmission.flow, transmission.packet.into());
        if let Some(why) = refused {
            let tally = &mut self.connections[transmission.flow].tally;
            tally.on_gone(transmission.ordinal);
            tally.count(match why {
                Refused::Full => Count::Dropped,
                Refused::Duplicate => Count::Spurious,
            });
            self.probe.on_refused(now, transmission, why);
        }
        self.send_proxy_ack(now, transmission.flow, ack);
        refused.is_none()
    }

    /// The proxy sends an ACK to the sender of `flow`.
    fn send_proxy_ack(&mut self, now: Time, flow: usize, ack: Ack) {
        self.probe.on_ack_sent(now, flow, &ack);
        self.connections[flow].tally.count(Count::Acks);
        let flow = u32::try_from(flow).unwrap_or(u32::MAX);
        let arrives = now.checked_add(self.flow(flow).terrestrial_back);
        self.events.acknowledge(arrives, |slot| *slot = (flow, ack));
    }

    /// The proxy learns that the link has delivered a packet.
    pub(super) fn on_release(&mut self, now: Time, transmission: Transmission) {
        self.probe.on_released(now, transmission);
        if let Some(proxy) = &mut self.proxy {
            proxy.on_released();
        }
        while let Some((flow, ack)) = self.proxy.as_mut().and_then(Proxy::next_window_update) {
            self.send_proxy_ack(now, flow, ack);
        }
    }

    /// Offers a packet to the queue.
    #[expect(clippy::inline_always, reason = "as [`Run::on_arrival`]")]
    #[inline(always)]
    pub(super) fn enqueue(&mut self, now: Time, packet: Packet) {
        if self.probe.watches() || self.gateway.departures_are_due() {
            self.process_departures(now);
        }
        let losses = self.queue_loss.as_mut();
        let event = if losses.is_some_and(|losses| losses.loses(now, Span::ZERO)) {
            Some(Event::Refused(packet))
        } else {
            self.gateway.push(now, packet)
        };
        if self.probe.watches() {
            let transmission = Transmission::of(&packet);
            match event {
                Some(Event::Refused(_)) if self.proxy.is_none() => {
                    self.probe.on_refused(now, transmission, Refused::Full);
                }
                _ => self.probe.on_enqueued(now, transmission),
            }
        }
        if let Some(event) = event {
            self.on_event(now, event);
        }
        debug_assert!(
            !self.gateway.knows_ahead() || self.gateway.due().is_none(),
            "it is never woken"
        );
        if !self.gateway.knows_ahead() {
            self.wake_gateway(now);
        }
    }

    /// A proxy offers a packet, which the queue after it has dropped, to the queue again.
    pub(super) fn enqueue_again(&mut self, now: Time, packet: Packet) {
        self.process_departures(now);
        if let Some(event) = self.gateway.push(now, packet) {
            self.on_event(now, event);
        }
        self.wake_gateway(now);
    }

    /// Number of packets in the gateway's buffer; on a split path in that of the proxy.
    pub(super) fn queue_length(&self) -> u64 {
        let proxy = self.proxy.as_ref().map(Proxy::held);
        proxy.unwrap_or_else(|| self.gateway.held())
    }

    /// Propagation delay of an ACK over the link.
    pub(super) fn link_return_delay(&self) -> Span {
        self.setup.rtt.saturating_sub(self.setup.rtt.half())
    }

    pub(super) fn on_gateway(&mut self, now: Time) {
        if is_due(&mut self.gateway_event, now) {
            self.process_departures(now);
            self.wake_gateway(now);
        }
    }

    /// Performs the actions of the queue that are due, and schedules the next one.
    fn wake_gateway(&mut self, now: Time) {
        while let Some(event) = self.gateway.wake(now) {
            if self.probe.watches()
                && let Event::Dropped(packet) = event
                && self.proxy.is_none()
            {
                self.probe.on_dropped(now, Transmission::of(&packet));
            }
            self.on_event(now, event);
        }
        let due = sooner(&mut self.gateway_event, self.gateway.due());
        self.events.alarm(due, |slot| *slot = Alarm::Gateway);
    }

    /// Acts on what becomes of a packet at the queue.
    #[expect(clippy::inline_always, reason = "as [`Run::on_arrival`]")]
    #[inline(always)]
    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Served(packet, service) => self.on_service(packet, service),
            Event::Refused(packet) | Event::Dropped(packet) => {
                self.parked = packet;
                self.on_drop(now);
            }
            Event::Acknowledged(packet, known) => {
                self.events
                    .transit(Some(known), |slot| *slot = (Place::Delivered, packet));
            }
            Event::Failed(error) => {
                let hop = self.gateway.name();
                self.fail(RunError::Hop { hop, error });
            }
        }
    }

    /// The queue drops the parked packet. A proxy, which has acknowledged it, sends it again one round trip over the link later.
    #[inline(never)]
    fn on_drop(&mut self, now: Time) {
        let packet = self.parked;
        if self.proxy.is_some() {
            let at = now.checked_add(self.setup.rtt.max(PROXY_PAUSE));
            if self.probe.watches() {
                let at = at.unwrap_or(Time::MAX);
                self.probe.on_offered_again(at, Transmission::of(&packet));
            }
            self.events
                .transit(at, |slot| *slot = (Place::Proxy, packet));
        } else {
            self.side.forget(packet.id);
            self.connections[packet.flow as usize]
                .tally
                .on_gone(packet.id);
        }
        self.count(packet.flow, Count::Dropped);
    }

    /// The link serves a packet.
    #[expect(clippy::inline_always, reason = "as [`Run::on_arrival`]")]
    #[inline(always)]
    fn on_service(&mut self, packet: Packet, service: Service) {
        // A drop-tail queue marks nothing.
        if !<G::Departure as Form>::IS_TALLIED
            && packet.ecn == Ecn::Marked
            && self.side.is_new_mark(packet.id)
        {
            self.count(packet.flow, Count::Marked);
        }
        if self.proxy.is_some()
            && !self.gateway.reports_acknowledgements()
            && let Some(arrival) = service.arrival
        {
            let back = self
                .link_return_delay()
                .saturating_add(self.setup.path.feedback_delay);
            let known = arrival.checked_add(back);
            self.events
                .transit(known, |slot| *slot = (Place::Delivered, packet));
        }
        let delay = DelayParts::of(packet.sent, packet.enqueued, &service);
        if <G::Departure as Form>::IS_TALLIED {
            self.tally_ahead(&packet, &service, delay.as_ref());
        }
        if let Some(delay) = delay {
            if self.side.has_hops_after() {
                // A copy, since its address is taken: else the packet would lie in memory on every path.
                let leaving = packet;
                self.side.leave_gateway(&leaving, delay);
                let next = self.side.gateway() + 1;
                self.events
                    .transit(service.arrival, |slot| *slot = (Place::Hop(next), packet));
                return;
            }
            if let Some(arrival) = service.arrival {
                self.deliver(arrival, &packet, &delay);
            }
        } else if !self.side.is_empty() {
            self.side.forget(packet.id);
        }
    }

    /// Tallies what will happen to a packet before the run ends, at a time that is known.
    #[expect(clippy::inline_always, reason = "as [`Run::on_arrival`]")]
    #[inline(always)]
    fn tally_ahead(&mut self, packet: &Packet, service: &Service, parts: Option<&DelayParts>) {
        let tally = &mut connection::<G>(&mut self.connections, packet.flow as usize).tally;
        let end = self.setup.end;
        if service.start > end {
            return;
        }
        self.served += 1;
        tally.on_service(service.start.since(packet.enqueued));
        match (service.arrival, parts) {
            (Some(arrival), Some(parts)) if arrival <= end => {
                let delay = arrival.since(packet.sent);
                tally.on_delivered(packet.id, delay, parts);
            }
            (None, _) if service.end <= end => tally.count(Count::Lost),
            _ => {}
        }
    }

    /// Counts and reports the slots used and the packets that have left the queue by `now`.
    pub(super) fn process_departures(&mut self, now: Time) {
        if self.probe.watches_slots() {
            while let Some(used) = self.gateway.pop_slot_use(now) {
                self.probe.on_slot(&used);
            }
        }
        let (connections, probe) = (&mut self.connections, &mut *self.probe);
        self.gateway.departed(now, &mut |departure| {
            if let Some(served) = departure.served() {
                self.served += 1;
                let left = served.left.unwrap_or(served.service.end);
                let lost = served.service.arrival.is_none();
                on_served(connections, probe, served, Some(left), lost);
            }
        });
    }

    pub(super) fn count(&mut self, flow: u32, what: Count) {
        self.flow(flow).tally.count(what);
    }

    /// The run ends without a result.
    #[cold]
    pub(super) fn fail(&mut self, failure: RunError) {
        self.failure.get_or_insert(failure);
        self.unfinished = 0;
    }
}

/// Tallies and reports a packet whose service has begun. It left the buffer at `left`, or is still there.
#[expect(clippy::inline_always, reason = "every packet takes this way")]
#[inline(always)]
pub(super) fn on_served<P: Probe>(
    connections: &mut Connections,
    probe: &mut P,
    served: &Served,
    left: Option<Time>,
    lost: bool,
) {
    let Served {
        packet, service, ..
    } = served;
    let tally = &mut connections[packet.flow as usize].tally;
    tally.on_service(service.start.since(packet.enqueued));
    tally.count(Count::Served);
    if lost {
        tally.count(Count::Lost);
        tally.on_gone(packet.id);
    }
    if probe.watches() {
        let transmission = Transmission::of(packet);
        probe.on_service(transmission, service);
        if let Some(left) = left {
            probe.on_departure(left, transmission, lost);
        }
    }
}
