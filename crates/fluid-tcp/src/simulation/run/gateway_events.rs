//! The gateway's side of a run: what becomes of packets that reach it, at a proxy and at the queue.

use tmt_core::types::{Span, Time};

use super::{Event, Run, sooner};
use crate::endpoint::receiver::Ack;
use crate::link::PacketCopy;
use crate::link::gateway::{Fate, Gateway, Queued, Served};
use crate::simulation::delay::DelayParts;
use crate::simulation::probe::{Probe, Refused};
use crate::simulation::proxy::Proxy;
use crate::simulation::tally::Count;

impl<G: Gateway, P: Probe> Run<'_, G, P> {
    /// A packet reaches the gateway.
    #[expect(
        clippy::inline_always,
        reason = "a packet is made where it is offered: a fiftieth of a run"
    )]
    #[inline(always)]
    pub(super) fn on_arrival(&mut self, now: Time, packet: Queued) {
        if self.proxy.is_none() || self.passes_proxy(now, packet.copy) {
            self.offer(now, packet);
        }
    }

    /// Whether a proxy takes a packet in, which it then acknowledges.
    fn passes_proxy(&mut self, now: Time, copy: PacketCopy) -> bool {
        let Some(proxy) = &mut self.proxy else {
            return true;
        };
        let (refused, ack) = proxy.on_packet(now, copy.flow, copy.packet.into());
        if let Some(why) = refused {
            self.connections[copy.flow].tally.count(match why {
                Refused::Full => Count::Dropped,
                Refused::Duplicate => Count::Spurious,
            });
            self.probe.on_refused(now, copy, why);
        }
        self.answer(now, copy.flow, ack);
        refused.is_none()
    }

    /// The proxy acknowledges to a sender.
    fn answer(&mut self, now: Time, flow: usize, ack: Ack) {
        self.probe.on_ack_sent(now, flow, &ack);
        self.connections[flow].tally.count(Count::Acks);
        let flow = u32::try_from(flow).unwrap_or(u32::MAX);
        let arrives = now.checked_add(self.setup.path.back());
        self.schedule(arrives, Event::Ack { flow, ack });
    }

    /// The proxy learns that the link has delivered a packet.
    pub(super) fn on_release(&mut self, now: Time, copy: PacketCopy) {
        self.probe.on_released(now, copy);
        if let Some(proxy) = &mut self.proxy {
            proxy.on_released();
        }
        while let Some((flow, ack)) = self.proxy.as_mut().and_then(Proxy::reopened) {
            self.answer(now, flow, ack);
        }
    }

    /// Puts a packet into the queue.
    #[inline]
    fn offer(&mut self, now: Time, packet: Queued) {
        self.retire(now);
        let fate = self.gateway.offer(now, packet);
        if self.probe.watches() {
            match fate {
                Fate::Dropped(_) => self.probe.on_refused(now, packet.copy, Refused::Full),
                _ => self.probe.on_enqueued(now, packet.copy),
            }
        }
        self.settle(fate);
        self.wake_gateway(now);
    }

    /// Packets in the gateway's buffer.
    pub(super) fn held(&self) -> u64 {
        let proxy = self.proxy.as_ref().map(Proxy::held);
        proxy.unwrap_or_else(|| self.gateway.len())
    }

    /// Propagation between a sender and who answers it, there and back.
    pub(super) fn round_trip(&self) -> Span {
        let terrestrial = self.setup.path.terrestrial_rtt;
        match self.setup.path.split {
            None => terrestrial.saturating_add(self.setup.rtt),
            Some(_) => terrestrial,
        }
    }

    /// The way of an acknowledgement over the link.
    pub(super) fn back(&self) -> Span {
        self.setup.rtt.saturating_sub(self.setup.rtt.half())
    }

    pub(super) fn on_gateway(&mut self, now: Time) {
        if self.gateway_event == Some(now) {
            self.gateway_event = None;
            self.retire(now);
            self.wake_gateway(now);
        }
    }

    /// Lets the queue do what is due, and schedules what will be.
    fn wake_gateway(&mut self, now: Time) {
        while let Some(fate) = self.gateway.wake(now) {
            if self.probe.watches()
                && let Fate::Dropped(packet) = fate
            {
                self.probe.on_dropped(now, packet.copy);
            }
            self.settle(fate);
        }
        let due = sooner(&mut self.gateway_event, self.gateway.due());
        self.schedule(due, Event::Gateway);
    }

    /// Takes what became of a packet at the queue.
    fn settle(&mut self, fate: Fate) {
        match fate {
            Fate::Dropped(packet) => self.count(packet.copy, Count::Dropped),
            Fate::Served(packet, service, marked) => {
                if marked {
                    self.count(packet.copy, Count::Marked);
                }
                if self.proxy.is_some()
                    && !self.gateway.tells_whole()
                    && let Some(arrival) = service.arrival
                {
                    let back = self.back().saturating_add(self.setup.path.feedback_delay);
                    self.schedule(arrival.checked_add(back), Event::Release(packet.copy));
                }
                if let Some(delay) = DelayParts::of(packet.sent, packet.enqueued, &service) {
                    let event = Event::Delivery {
                        copy: packet.copy,
                        delay,
                        marked,
                        cwr: packet.cwr,
                    };
                    self.schedule(service.arrival, event);
                }
            }
            Fate::Whole(packet, known) => self.schedule(Some(known), Event::Release(packet.copy)),
            Fate::Waits => {}
        }
    }

    /// Counts what has left the queue by `now`.
    pub(super) fn retire(&mut self, now: Time) {
        while let Some(used) = self.gateway.used(now) {
            self.probe.on_slot(&used);
        }
        while let Some(served) = self.gateway.leave(now) {
            let left = served.left.unwrap_or(served.service.end);
            self.on_served(&served, Some(left), served.service.arrival.is_none());
        }
    }

    /// The link has begun to serve a packet, which has `left` since or is still there.
    pub(super) fn on_served(&mut self, served: &Served, left: Option<Time>, lost: bool) {
        let copy = served.packet.copy;
        self.served += 1;
        let tally = &mut self.connections[copy.flow].tally;
        tally.on_service(served.service.start.since(served.packet.enqueued));
        if lost {
            tally.count(Count::Lost);
        }
        if self.probe.watches() {
            self.probe.on_service(copy, &served.service);
            if let Some(left) = left {
                self.probe.on_departure(left, copy, lost);
            }
        }
    }

    fn count(&mut self, copy: PacketCopy, what: Count) {
        self.connections[copy.flow].tally.count(what);
    }
}
