//! Packets reach their receivers, which answer.
//!
//! # Receivers that run ahead
//!
//! Where the link says at once when a packet arrives, and packets keep their order, nothing that happens in between matters to a
//! receiver of TCP that neither follows the sender's RTT nor can be complete. So a packet is received when it is accepted, and its ACK is
//! scheduled as of its arrival. That saves an event per packet, and the connection is still in the cache. A delayed ACK that is due
//! before is sent before. Nothing is received that would arrive after the end of the run. Receivers run ahead only from the start of
//! the last flow on, since what others have delivered by then is observed.

use tmt_core::types::{Span, Time};
use tmt_link::Packet;
use tmt_link::hop::Gateway;

use super::connections::{Connection, Connections};
use super::delivery::{Delivery as _, Form};
use super::{Run, connection, sooner};
use crate::endpoint::Ends;
use crate::endpoint::Transmission;
use crate::endpoint::receiver::{Ack, Segment};
use crate::endpoint::transmission::segment;
use crate::simulation::delay::DelayParts;
use crate::simulation::event::Moment;
use crate::simulation::probe::Probe;
use crate::simulation::tally::Count;
use crate::simulation::{Flow, Setup};

/// Delay of all ACKs if receivers may run ahead of their senders.
pub(super) fn ack_lead<G: Gateway<Departure: Form>>(
    setup: &Setup,
    connections: &Connections,
) -> Option<Span> {
    let connections = connections.described();
    let delay = connections.first()?.ack_delay;
    let path = &setup.return_path;
    let may_be = <G::Departure as Form>::IS_TALLIED
        && setup.path.split.is_none()
        && path.is_free()
        && setup.end.checked_add(delay).is_some();
    let are_endless = |flow: &Flow| flow.is_greedy() && flow.packets().is_none();
    // Of two ACKs at one time, and of an ACK that is delayed and a packet, the one is first whose event was scheduled first. With a
    // terrestrial path or other flows that is not known of an ACK that is delayed.
    let is_alone = connections.len() == 1;
    let are_alike = |each: &Connection| {
        let Ends::Tcp(tcp) = &each.ends else {
            return false;
        };
        let delays = is_alone && each.toward.is_zero() && !tcp.receiver.follows_rtt();
        each.ack_delay == delay && (delays || tcp.receiver.answers_at_once())
    };
    let all = may_be && setup.flows.iter().all(are_endless) && connections.iter().all(are_alike);
    all.then_some(delay)
}

impl<G: Gateway<Departure: Form>, P: Probe> Run<'_, G, P> {
    /// A packet reaches its receiver.
    #[inline]
    pub(super) fn on_delivery(&mut self, now: Time) {
        if now >= self.convergence.due {
            self.end_windows(now);
        }
        // In its slot, without a copy.
        let delivery = self.events.take_delivery();
        let (flow, segment) = (delivery.flow(), delivery.segment());
        let connection = &mut self.connections[flow];
        if let Some((packet, parts)) = delivery.untallied() {
            self.probe.on_delivered(now, Transmission::of(packet));
            let delay = now.since(packet.sent);
            connection.tally.on_delivered(packet.id, delay, parts);
            if !self.side.is_empty() {
                let delays = self.side.deliver(connection.toward, packet);
                connection.tally.on_beside(delays);
            }
            if let Ends::Other(other) = &mut connection.ends {
                let (flow, size) = (packet.flow, packet.size.0);
                connection.tally.add(Count::OtherBytes, size);
                other.far.on_packet(now, packet, &mut other.socket);
                return self.send_answers(now, flow);
            }
        }
        let Ends::Tcp(tcp) = &mut connection.ends else {
            return;
        };
        let arrival = tcp.on_segment(now, segment);
        if arrival.duplicate {
            connection.tally.count(Count::Spurious);
        }
        if tcp.is_complete() {
            self.on_last_delivery(now, flow, arrival.ack);
            return self.wake_flows(now, flow);
        }
        if self.proxy.is_some() {
            // The proxy has acknowledged it.
            return self.wake_flows(now, flow);
        }
        let streams = tcp.stream.is_some();
        let delays = tcp.receiver.deadline().is_some();
        let number = u32::try_from(flow).unwrap_or(u32::MAX);
        if let Some(ack) = arrival.ack {
            if self.return_path.is_none() {
                self.probe.on_ack_sent(now, flow, &ack);
                connection.tally.count(Count::Acks);
                let arrives = now.checked_add(connection.ack_delay);
                self.events
                    .acknowledge(arrives, |slot| *slot = (number, ack));
            } else {
                self.parked_ack = ack;
                self.send_ack(now, number);
            }
        }
        if delays {
            self.watch_far(number);
        }
        if streams {
            self.wake_flows(now, flow);
        }
    }

    /// Receivers run ahead from now on, if they may.
    pub(super) fn run_ahead(&mut self) {
        let Some(lead) = self.ack_lead else { return };
        self.runs_ahead = true;
        self.events.acknowledge_ahead(lead);
        let moment = self.events.moment();
        while let Some(arrival) = self.events.first_delivery()
            && arrival <= self.setup.end
        {
            let delivery = *self.events.take_delivery();
            let flow = u32::try_from(delivery.flow()).unwrap_or(u32::MAX);
            // The event of the delivery inserts the ACK. With other flows before, none is delayed.
            self.events.set_now(arrival);
            self.receive(arrival, flow, delivery.segment());
        }
        self.events.set_moment(moment);
    }

    /// A packet that the link has accepted reaches the receiver at `arrival`. It is received at once if receivers run ahead. One that
    /// arrives after the end never is, but keeps the run going.
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    pub(super) fn deliver(&mut self, arrival: Time, packet: &Packet, delay: &DelayParts) {
        if <G::Departure as Form>::IS_TALLIED && self.runs_ahead && arrival <= self.setup.end {
            self.receive(arrival, packet.flow, segment(packet));
        } else {
            self.events
                .deliver(Some(arrival), |slot| slot.write(packet, delay));
        }
    }

    /// A packet that is accepted now reaches a receiver that runs ahead.
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    fn receive(&mut self, arrival: Time, flow: u32, segment: Segment) {
        if arrival >= self.convergence.due {
            self.end_windows(arrival);
        }
        let mut of_flow = connection::<G>(&mut self.connections, flow as usize);
        if of_flow.far_event.is_some_and(|event| event <= arrival) {
            self.act_before(arrival, flow);
            of_flow = connection::<G>(&mut self.connections, flow as usize);
        }
        let Ends::Tcp(tcp) = &mut of_flow.ends else {
            return;
        };
        // Without `Tcp::on_segment`: these receivers follow no RTT (`ack_lead`), and only bulk transfers are tallied.
        debug_assert!(tcp.stream.is_none(), "an application reads what arrives");
        let (duplicate, answer) = tcp.receiver.accept(arrival, segment);
        if duplicate {
            of_flow.tally.count(Count::Spurious);
        }
        if let Some(answer) = answer {
            of_flow.tally.count(Count::Acks);
            // In range: the run ends early enough for it (`ack_lead`).
            let arrives = arrival.saturating_add(of_flow.ack_delay);
            let place = self.events.place_of_ack(arrives);
            *place.0 = flow;
            tcp.receiver.write_ack(answer, place.1);
        }
        let due = sooner(&mut of_flow.far_event, tcp.receiver.deadline());
        if due.is_some() {
            let accepted = self.events.moment();
            self.events
                .set_moment(self.events.moment_of_delivery(arrival));
            self.wake_far(due, flow);
            self.events.set_moment(accepted);
        }
    }

    /// The events of a far host come that are due before a packet reaches it, which is accepted now. Of two events at one time,
    /// the one is first that was scheduled first.
    #[inline(never)]
    fn act_before(&mut self, arrival: Time, flow: u32) {
        let accepted = self.events.moment();
        loop {
            let connection = self.flow(flow);
            let (since, sequence) = (connection.far_since, connection.far_sequence);
            let is_first = |event: &Time| *event < arrival || *event == arrival && since < accepted;
            let Some(event) = connection.far_event.filter(is_first) else {
                break;
            };
            connection.far_event = None;
            self.events.set_moment(Moment::of(event, sequence));
            self.send_answers(event, flow);
        }
        self.events.set_moment(accepted);
    }

    /// A packet reaches a far host of TCP that has everything.
    #[inline(never)]
    fn on_last_delivery(&mut self, now: Time, flow: usize, ack: Option<Ack>) {
        let flow = u32::try_from(flow).unwrap_or(u32::MAX);
        self.complete(now, flow);
        if self.proxy.is_some() {
            return;
        }
        if let Some(ack) = ack {
            self.parked_ack = ack;
            self.send_ack(now, flow);
        }
        self.watch_far(flow);
    }

    /// Ensures that there is an event no later than the next action of the far host.
    #[inline]
    pub(super) fn watch_far(&mut self, flow: u32) {
        let connection = self.flow(flow);
        let due = sooner(&mut connection.far_event, connection.ends.far_due());
        if due.is_some() {
            self.wake_far(due, flow);
        }
    }

    #[inline(never)]
    fn wake_far(&mut self, due: Option<Time>, flow: u32) {
        let Some(at) = due else { return };
        let (since, sequence) = (self.events.moment(), self.events.far_sequence(at));
        let connection = self.flow(flow);
        (connection.far_since, connection.far_sequence) = (since, sequence);
        self.events.far(due, |slot| *slot = flow);
    }
}
