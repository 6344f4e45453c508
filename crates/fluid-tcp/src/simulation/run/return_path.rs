//! Packets that wait before the return path in a queue that may replace them.

use tmt_core::types::Time;
use tmt_link::Packet;
use tmt_link::hop::{Event, Gateway};

use super::delivery::Form;
use super::events::{Alarm, Place};
use super::{Run, is_due, sooner};
use crate::endpoint::receiver::Ack;
use crate::simulation::probe::Probe;
use crate::simulation::return_queue::{Pushed, Waiting};
use crate::simulation::tally::Count;

impl<G: Gateway<Departure: Form>, P: Probe> Run<'_, G, P> {
    /// A packet of a far host reaches the queue before the return path: an ACK of TCP, or another.
    pub(super) fn wait_for_return_path(&mut self, now: Time, packet: Packet, ack: Option<Ack>) {
        // Departures precede arrivals.
        self.serve_return_path(now);
        let tally = &mut self.connections[packet.flow as usize].tally;
        tally.count(Count::Acks);
        let Some(queue) = &mut self.return_queue else {
            return;
        };
        match queue.push(now, packet, ack) {
            Pushed::Queued => {}
            Pushed::Replaced => tally.count(Count::AcksFiltered),
            Pushed::Refused => tally.count(Count::AcksDropped),
        }
        self.serve_return_path(now);
    }

    /// The queue before the return path has something to send.
    pub(super) fn on_return(&mut self, now: Time) {
        if is_due(&mut self.return_event, now) {
            self.serve_return_path(now);
        }
    }

    /// Sends what is due by `now`, and schedules what follows.
    fn serve_return_path(&mut self, now: Time) {
        loop {
            let (Some(queue), Some(path)) = (&mut self.return_queue, &mut self.return_path) else {
                return;
            };
            if path.demand().is_some() {
                return self.serve_on_demand(now);
            }
            let due = queue.due(path.free());
            let waiting = due.filter(|due| *due <= now).and_then(|due| queue.pop(due));
            let Some(waiting) = waiting else {
                let due = sooner(&mut self.return_event, due);
                return self.events.alarm(due, |slot| *slot = Alarm::Return);
            };
            let packet = waiting.packet;
            let event = path.push_late(now, waiting.since, packet);
            if let Some(Event::Served(_, service)) = event {
                queue.serve(service.end, packet.size);
            }
            self.arrive(now, waiting, event);
        }
    }

    /// The same over a path whose rate follows requests.
    fn serve_on_demand(&mut self, now: Time) {
        loop {
            let (Some(queue), Some(path)) = (&mut self.return_queue, &mut self.return_path) else {
                return;
            };
            let Some(demand) = path.demand() else { return };
            if demand.advance(now, |at| queue.backlog(at))
                && let Some((waiting, start)) = queue.in_service.take()
            {
                let event = path.finish(waiting.packet, waiting.since, (start, now));
                self.arrive(now, waiting, Some(event));
                continue;
            }
            if !demand.is_busy()
                && let Some(waiting) = queue.pop(now)
            {
                demand.start(waiting.packet.size);
                queue.in_service = Some((waiting, now));
                continue;
            }
            // Without anything to send, nothing is requested.
            let held = queue.due(now).filter(|held| *held > now);
            let due = demand.is_busy().then(|| demand.due());
            let due = due.into_iter().chain(held).min();
            let due = sooner(&mut self.return_event, due);
            return self.events.alarm(due, |slot| *slot = Alarm::Return);
        }
    }

    /// A packet has left the return path, which says this about it.
    fn arrive(&mut self, now: Time, waiting: Waiting, event: Option<Event>) {
        let packet = waiting.packet;
        let flow = packet.flow;
        let arrives = self.leave_return_path(now, packet, event);
        match waiting.ack {
            Some(ack) => self.events.acknowledge(arrives, |slot| *slot = (flow, ack)),
            None => self
                .events
                .transit(arrives, |slot| *slot = (Place::Near, packet)),
        }
    }
}
