//! Events at the gateway: packets at the proxy and at the queue.

use tmt_core::types::{Span, Time};

use super::delivery::{Delivery as _, Remembered};
use super::events::Alarm;
use super::{Connection, Run, sooner};
use crate::endpoint::receiver::Ack;
use crate::link::gateway::{Departure, Fate, Gateway, Queued, Served};
use crate::link::{Service, Transmission};
use crate::simulation::delay::DelayParts;
use crate::simulation::probe::{Probe, Refused};
use crate::simulation::proxy::Proxy;
use crate::simulation::tally::Count;

impl<G: Gateway<Departure: Remembered>, P: Probe> Run<'_, G, P> {
    /// A packet reaches the gateway.
    #[expect(
        clippy::inline_always,
        reason = "avoids a copy of the packet, which is 2 % of the time of a run"
    )]
    #[inline(always)]
    pub(super) fn on_arrival(&mut self, now: Time, packet: Queued) {
        if self.proxy.is_none() || self.proxy_accepts(now, packet.transmission) {
            self.enqueue(now, packet);
        }
    }

    /// Whether the proxy, if there is one, accepts a packet. The proxy answers in any case.
    #[expect(
        clippy::inline_always,
        reason = "as an argument, every packet would be stored in memory first"
    )]
    #[inline(always)]
    fn proxy_accepts(&mut self, now: Time, transmission: Transmission) -> bool {
        let Some(proxy) = &mut self.proxy else {
            return true;
        };
        let (refused, ack) = proxy.on_packet(now, transmission.flow, transmission.packet.into());
        if let Some(why) = refused {
            let tally = &mut self.connections[transmission.flow].tally;
            tally.on_gone(transmission.ordinal);
            self.count(
                transmission,
                match why {
                    Refused::Full => Count::Dropped,
                    Refused::Duplicate => Count::Spurious,
                },
            );
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
        let arrives = now.checked_add(self.terrestrial(flow)[1]);
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
    fn enqueue(&mut self, now: Time, packet: Queued) {
        if self.probe.watches() || self.gateway.departures_are_due() {
            self.process_departures(now);
        }
        let losses = self.queue_loss.as_mut();
        let fate = if losses.is_some_and(|losses| losses.loses(now, Span::ZERO)) {
            Fate::Dropped(packet)
        } else {
            self.gateway.enqueue(now, packet)
        };
        if self.probe.watches() {
            match fate {
                Fate::Dropped(_) => self
                    .probe
                    .on_refused(now, packet.transmission, Refused::Full),
                _ => self.probe.on_enqueued(now, packet.transmission),
            }
        }
        self.on_fate(fate);
        self.wake_gateway(now);
    }

    /// Number of packets in the gateway's buffer; on a split path in that of the proxy.
    pub(super) fn queue_length(&self) -> u64 {
        let proxy = self.proxy.as_ref().map(Proxy::held);
        proxy.unwrap_or_else(|| self.gateway.len())
    }

    /// Delay of a packet from the sender of `flow` to the gateway, and of an ACK back.
    pub(super) fn terrestrial(&self, flow: u32) -> [Span; 2] {
        self.connections[flow as usize].terrestrial
    }

    /// Round-trip propagation between the sender of `flow` and the node that acknowledges.
    pub(super) fn round_trip(&self, flow: u32) -> Span {
        let terrestrial = self.setup.terrestrial_rtt(flow as usize);
        match self.setup.path.split {
            None => terrestrial.saturating_add(self.setup.rtt),
            Some(_) => terrestrial,
        }
    }

    /// Propagation delay of an ACK over the link.
    pub(super) fn link_return_delay(&self) -> Span {
        self.setup.rtt.saturating_sub(self.setup.rtt.half())
    }

    pub(super) fn on_gateway(&mut self, now: Time) {
        if self.gateway_event == Some(now) {
            self.gateway_event = None;
            self.process_departures(now);
            self.wake_gateway(now);
        }
    }

    /// Performs the actions of the queue that are due, and schedules the next one.
    fn wake_gateway(&mut self, now: Time) {
        while let Some(fate) = self.gateway.wake(now) {
            if self.probe.watches()
                && let Fate::Dropped(packet) = fate
            {
                self.probe.on_dropped(now, packet.transmission);
            }
            self.on_fate(fate);
        }
        let due = sooner(&mut self.gateway_event, self.gateway.due());
        self.events.alarm(due, |slot| *slot = Alarm::Gateway);
    }

    /// Acts on the fate of a packet at the queue.
    #[expect(clippy::inline_always, reason = "as [`Run::on_arrival`]")]
    #[inline(always)]
    fn on_fate(&mut self, fate: Fate) {
        match fate {
            Fate::Dropped(packet) => {
                let Transmission { flow, ordinal, .. } = packet.transmission;
                self.connections[flow].tally.on_gone(ordinal);
                self.count(packet.transmission, Count::Dropped);
            }
            Fate::Served(packet, service, marked) => {
                if marked {
                    self.count(packet.transmission, Count::Marked);
                }
                if self.proxy.is_some()
                    && !self.gateway.reports_acknowledgements()
                    && let Some(arrival) = service.arrival
                {
                    let back = self
                        .link_return_delay()
                        .saturating_add(self.setup.path.feedback_delay);
                    self.events.release(arrival.checked_add(back), |slot| {
                        *slot = packet.transmission;
                    });
                }
                let delay = DelayParts::of(packet.sent, packet.enqueued, &service);
                if G::Departure::IS_TALLIED {
                    self.tally_ahead(&packet, &service, delay.as_ref());
                }
                if let Some(delay) = delay {
                    self.events.deliver(service.arrival, |slot| {
                        slot.write(&packet, &delay, marked);
                    });
                }
            }
            Fate::Acknowledged(packet, known) => {
                self.events
                    .release(Some(known), |slot| *slot = packet.transmission);
            }
            Fate::Waiting => {}
        }
    }

    /// Tallies what will happen to a packet before the run ends, at a time that is known.
    #[expect(clippy::inline_always, reason = "as [`Run::on_arrival`]")]
    #[inline(always)]
    fn tally_ahead(&mut self, packet: &Queued, service: &Service, parts: Option<&DelayParts>) {
        let tally = &mut self.connections[packet.transmission.flow].tally;
        let end = self.setup.end;
        if service.start > end {
            return;
        }
        self.served += 1;
        tally.on_service(service.start.since(packet.enqueued));
        match (service.arrival, parts) {
            (Some(arrival), Some(parts)) if arrival <= end => {
                let delay = arrival.since(packet.sent);
                tally.on_delivered(packet.transmission.ordinal, delay, parts);
            }
            (None, _) if service.end <= end => tally.count(Count::Lost),
            _ => {}
        }
    }

    /// Counts and reports the slots used and the packets that have left the queue by `now`.
    pub(super) fn process_departures(&mut self, now: Time) {
        while let Some(used) = self.gateway.pop_slot_use(now) {
            self.probe.on_slot(&used);
        }
        let (connections, probe) = (&mut self.connections, &mut *self.probe);
        if G::Departure::IS_TALLIED {
            return self.gateway.departed(now, |_| {});
        }
        self.gateway.departed(now, |packet| {
            self.served += 1;
            let left = packet.left().unwrap_or(packet.end());
            on_served(connections, probe, packet, Some(left), packet.is_lost());
        });
    }

    fn count(&mut self, transmission: Transmission, what: Count) {
        self.connections[transmission.flow].tally.count(what);
    }
}

/// Tallies and reports a packet whose service has begun. It left the buffer at `left`, or is still there.
#[expect(clippy::inline_always, reason = "every packet takes this way")]
#[inline(always)]
pub(super) fn on_served<D: Departure, P: Probe>(
    connections: &mut [Connection],
    probe: &mut P,
    served: &D,
    left: Option<Time>,
    lost: bool,
) {
    let tally = &mut connections[served.flow()].tally;
    tally.on_service(served.waited());
    if lost {
        tally.count(Count::Lost);
        tally.on_gone(served.ordinal());
    }
    if probe.watches()
        && let Some(Served {
            packet, service, ..
        }) = served.details()
    {
        let transmission = packet.transmission;
        probe.on_service(transmission, service);
        if let Some(left) = left {
            probe.on_departure(left, transmission, lost);
        }
    }
}
