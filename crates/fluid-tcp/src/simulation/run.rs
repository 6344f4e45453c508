//! Event loop of a run: flows, a shared queue and a link.
//!
//! A run is a pure function of its [`Setup`] and its link. A packet takes ⌊T1/2⌋ to the gateway and then what the link
//! reports. An ACK takes RTT − ⌊RTT/2⌋, the delay of the [`ReturnPath`](super::ReturnPath), and T1 − ⌊T1/2⌋.

mod delivery;
mod events;
mod gateway_events;

use std::sync::Arc;

use tmt_core::channel::Losses;
use tmt_core::types::{Bytes, Span, Time};

use crate::endpoint::Endpoint;
use crate::endpoint::receiver::{Ack, Receiver};
use crate::endpoint::sender::{Sender, TimerOutcome};
use crate::link::gateway::{
    CoupledLink, CoupledQueue, Departure, DropTail, Gateway, Leaving, QueueReporting, Queued,
    QueuedLink, Served, Tallied,
};
use crate::link::return_link::ReturnLink;
use crate::link::{Link, Transmission};
use crate::simulation::metrics::RunReport;
use crate::simulation::path::halves;
use crate::simulation::probe::{NoProbe, Probe, SenderEvent};
use crate::simulation::proxy::Proxy;
use crate::simulation::tally::{Count, FlowTally};
use crate::simulation::{ACK, Flow, Setup};
use delivery::{Delivery as _, DeliveryOf, Remembered};
use events::{Alarm, Events, Kind};
use gateway_events::on_served;

/// State of a flow during a run. Fields lie in the order in which they are declared, next to what is used with them.
#[derive(Debug)]
#[repr(C)]
struct Connection {
    receiver: Receiver,
    /// Number of packets to deliver; `None` if there is no last one.
    packets: Option<u64>,
    start: Time,
    delayed_ack_event: Option<Time>,
    /// Delay of a packet from the sender to the gateway, and of an ACK from there, or from the receiver, to the sender.
    terrestrial: [Span; 2],
    ack_delay: Span,
    /// Time of the scheduled timer event, as of the others.
    timer_event: Option<Time>,
    pace_event: Option<Time>,
    started: bool,
    tally: FlowTally,
    sender: Sender,
}

/// State of a run.
struct Run<'a, G: Gateway<Departure: Remembered>, P> {
    setup: &'a Setup,
    gateway: G,
    probe: &'a mut P,
    events: Events<DeliveryOf<G>>,
    connections: Vec<Connection>,
    proxy: Option<Proxy>,
    gateway_event: Option<Time>,
    queue_loss: Option<Losses>,
    /// Whether ACKs meet nothing on the return path but delay.
    returns_freely: bool,
    return_loss: Option<Losses>,
    /// Time at which a return path with a rate has sent all ACKs.
    return_free: Time,
    return_link: Option<ReturnLink>,
    sent: u64,
    /// Packets whose service has begun.
    served: u64,
    /// Flows that are not complete.
    unfinished: usize,
}

/// Runs `setup` over `link` until its end, or until all flows have delivered all their packets.
pub fn run<L: Link, P: Probe>(setup: &Setup, link: L, probe: &mut P) -> RunReport {
    if setup.discipline.is_drop_tail() {
        let capacity = setup.queue();
        // While a flow is endless, the run is known to last until its end.
        let is_endless = setup.flows.iter().any(|flow| flow.packets.is_none());
        return if probe.watches() {
            simulate(setup, DropTail::<L, Served>::new(link, capacity), probe)
        } else if is_endless && link.keeps_order() {
            let gateway = DropTail::<L, Tallied>::new(link, capacity);
            simulate(setup, gateway, &mut NoProbe)
        } else {
            let gateway = DropTail::<L, Leaving>::new(link, capacity);
            simulate(setup, gateway, &mut NoProbe)
        };
    }
    if let Some(codel) = setup.discipline.codel() {
        let gateway = QueuedLink::new(link, setup.queue(), Box::new(codel));
        return run_over(setup, gateway, probe);
    }
    let queue = setup.discipline.queue();
    run_over(setup, QueuedLink::new(link, setup.queue(), queue), probe)
}

/// Runs `setup` over a coupled link. The queue is drop-tail, whatever the setup has.
///
/// Returns `None` if the trace cannot be read or a packet has no units.
///
/// ```
/// use std::sync::Arc;
/// use fluid_tcp::congestion::Algorithm;
/// use fluid_tcp::endpoint::Endpoint;
/// use fluid_tcp::link::gateway::CoupledLink;
/// use fluid_tcp::link::timeline::GeneratedSlots;
/// use fluid_tcp::simulation::{Flow, Setup, probe::NoProbe, run_coupled};
/// use tmt_core::{BitRate, Bytes, SchemeSpec, Span};
///
/// let flow = Flow::new(Algorithm::default(), Endpoint::default()).of_packets(1000);
/// let setup = Setup::new(vec![flow], Span::from_millis(100), Span::from_secs(60));
/// let (rate, lldu) = (BitRate(2_340_000), Bytes(33));
/// let slots = GeneratedSlots::new(rate, lldu, Span::from_secs(60), "bernoulli:0.01".parse()?)
///     .ok_or("the rate leaves no slot")?;
/// let link = CoupledLink::new(Arc::new(slots.timeline(1)), SchemeSpec::arq(), 47);
/// let report = run_coupled(&setup, &link, &mut NoProbe).ok_or("a packet needs a unit")?;
/// assert_eq!(report.total.metrics.packets_delivered, 1000);
/// assert!(report.total.metrics.completion_time_s.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run_coupled<P: Probe>(
    setup: &Setup,
    link: &CoupledLink,
    probe: &mut P,
) -> Option<RunReport> {
    run_coupled_looped(setup, link, None, probe)
}

/// As [`run_coupled`], with a trace that repeats every `period` until the end of the run. Slots are numbered through all
/// rounds. Without a period the trace is used once.
///
/// Returns `None` if the trace cannot be read or a packet has no units.
pub fn run_coupled_looped<P: Probe>(
    setup: &Setup,
    link: &CoupledLink,
    period: Option<Span>,
    probe: &mut P,
) -> Option<RunReport> {
    let reporting = QueueReporting {
        acknowledgements: setup.path.split.is_some(),
        slots: probe.watches_slots(),
    };
    let mut gateway = CoupledQueue::new(link, setup.rtt, setup.queue(), setup.begin, reporting)?;
    if let Some(period) = period {
        gateway = gateway.looped(period, setup.end);
    }
    Some(run_over(setup, gateway, probe))
}

fn run_over<G: Gateway<Departure: Remembered>, P: Probe>(
    setup: &Setup,
    gateway: G,
    probe: &mut P,
) -> RunReport {
    if probe.watches() {
        simulate(setup, gateway, probe)
    } else {
        // Without the hooks a run is shorter by a tenth.
        simulate(setup, gateway, &mut NoProbe)
    }
}

fn simulate<G: Gateway<Departure: Remembered>, P: Probe>(
    setup: &Setup,
    gateway: G,
    probe: &mut P,
) -> RunReport {
    let mut endpoints = Endpoints::default();
    let tallies = FlowTally::all(setup.flows.len(), gateway.keeps_order());
    let connections = setup.flows.iter().zip(tallies).map(|(flow, tally)| {
        let start = setup.begin.saturating_add(flow.start);
        Connection::new(
            flow,
            setup.packet,
            start,
            halves(flow.terrestrial_rtt.unwrap_or(setup.path.terrestrial_rtt)),
            setup.rtt.saturating_sub(setup.rtt.half()),
            endpoints.share(flow.endpoint),
            tally,
        )
    });
    let mut run = Run {
        setup,
        gateway,
        probe,
        events: Events::default(),
        connections: connections.collect(),
        proxy: setup.path.split.map(|window| {
            let endpoints = setup.flows.iter().map(|flow| &flow.endpoint);
            Proxy::new(setup.buffer, window, endpoints)
        }),
        gateway_event: None,
        queue_loss: setup.queue_loss.clone(),
        returns_freely: setup.return_path.is_free(),
        return_loss: setup.return_path.loss.clone(),
        return_free: setup.begin,
        return_link: setup
            .return_path
            .trace
            .as_ref()
            .map(|trace| ReturnLink::new(trace, setup.begin)),
        sent: 0,
        served: 0,
        unfinished: setup.flows.len(),
    };
    for (number, connection) in (0..).zip(&run.connections) {
        run.events.alarm(Some(connection.start), |slot| {
            *slot = Alarm::Start(number);
        });
    }
    let end = run.process();
    run.report(end)
}

/// Settings of the flows. Those of successive flows that are alike are stored once.
#[derive(Debug, Default)]
struct Endpoints(Option<Arc<Endpoint>>);

impl Endpoints {
    fn share(&mut self, endpoint: Endpoint) -> Arc<Endpoint> {
        let alike = self.0.take().filter(|last| **last == endpoint);
        let shared = alike.unwrap_or_else(|| Arc::new(endpoint));
        Arc::clone(self.0.insert(shared))
    }
}

impl Connection {
    fn new(
        flow: &Flow,
        packet: Bytes,
        start: Time,
        terrestrial: [Span; 2],
        return_delay: Span,
        endpoint: Arc<Endpoint>,
        tally: FlowTally,
    ) -> Self {
        let control = flow.algorithm.start(&endpoint.connection(packet));
        Self {
            packets: flow.packets,
            start,
            terrestrial,
            ack_delay: return_delay.saturating_add(terrestrial[1]),
            sender: Sender::new(Arc::clone(&endpoint), control, flow.packets),
            receiver: Receiver::new(endpoint),
            tally,
            started: false,
            timer_event: None,
            pace_event: None,
            delayed_ack_event: None,
        }
    }
}

/// Sets `event` to `deadline` if that is earlier, and returns the time of the event to schedule.
fn sooner(event: &mut Option<Time>, deadline: Option<Time>) -> Option<Time> {
    let deadline = deadline.filter(|deadline| event.is_none_or(|event| event > *deadline))?;
    *event = Some(deadline);
    *event
}

impl<G: Gateway<Departure: Remembered>, P: Probe> Run<'_, G, P> {
    fn flow(&mut self, flow: u32) -> &mut Connection {
        &mut self.connections[flow as usize]
    }

    /// Processes all events. Returns the time at which the run ends.
    #[inline(never)]
    fn process(&mut self) -> Time {
        let end = self.setup.end;
        let mut now = self.setup.begin;
        while self.unfinished > 0 {
            let Some((at, kind)) = self.events.first(end) else {
                return end;
            };
            if kind == Kind::Timer && self.gateway.is_exhausted() && self.events.has_only_timers() {
                // Only timers are left, and the link will not serve what they send.
                return end;
            }
            now = at;
            if self.probe.watches() {
                self.process_departures(now);
            }
            self.handle(now, kind);
        }
        now
    }

    /// Removes the first event, which is of this kind, and acts on it.
    #[expect(clippy::inline_always, reason = "is called in one place")]
    #[inline(always)]
    fn handle(&mut self, now: Time, kind: Kind) {
        match kind {
            Kind::Delivery => self.on_delivery(now),
            Kind::Ack => self.on_ack(now),
            Kind::Arrival => {
                let packet = *self.events.take_arrival();
                self.on_arrival(now, packet);
            }
            Kind::Release => {
                let transmission = *self.events.take_release();
                self.on_release(now, transmission);
            }
            Kind::Pace => {
                let flow = *self.events.take_pace();
                self.flow(flow).pace_event = None;
                self.after_sender(now, flow, SenderEvent::Pace);
            }
            Kind::Timer => {
                let flow = *self.events.take_timer();
                self.on_timer(now, flow);
            }
            Kind::DelayedAck => {
                let flow = *self.events.take_delayed_ack();
                self.on_delayed_ack(now, flow);
            }
            Kind::Alarm => match *self.events.take_alarm() {
                Alarm::Start(flow) => self.on_start(now, flow),
                Alarm::Gateway => self.on_gateway(now),
            },
        }
    }

    fn on_start(&mut self, now: Time, flow: u32) {
        let rtt = self.round_trip(flow);
        let connection = self.flow(flow);
        if connection.packets == Some(0) {
            connection.tally.complete(Span::ZERO);
            self.unfinished -= 1;
            return;
        }
        if self.setup.flows[flow as usize].endpoint.handshake {
            let connection = self.flow(flow);
            if !connection.started {
                connection.started = true;
                self.events
                    .alarm(now.checked_add(rtt), |slot| *slot = Alarm::Start(flow));
                return;
            }
            connection.sender.on_handshake(rtt);
        }
        let connection = self.flow(flow);
        if let Some(window) = connection.receiver.first_window() {
            connection.sender.set_send_limit(window);
        }
        if let Some(proxy) = &mut self.proxy {
            let window = proxy.on_start(flow as usize);
            self.flow(flow).sender.set_send_limit(window);
        }
        self.after_sender(now, flow, SenderEvent::Start);
    }

    #[inline]
    fn on_ack(&mut self, now: Time) {
        // In its slot, without a copy.
        let &(flow, ref ack) = self.events.take_ack();
        self.probe.on_ack_received(now, flow as usize, ack);
        let sender = &mut self.connections[flow as usize].sender;
        let before = sender.snd_una();
        sender.on_ack(now, ack);
        let after = sender.snd_una();
        if after > before {
            self.probe.on_acked(now, flow as usize, after);
        }
        self.act_after_sender(now, flow, SenderEvent::Ack);
    }

    fn on_timer(&mut self, now: Time, flow: u32) {
        let connection = self.flow(flow);
        // The deadline has since moved to an earlier time, which had an event of its own.
        if connection.timer_event != Some(now) {
            return;
        }
        connection.timer_event = None;
        match connection.sender.on_timer(now) {
            TimerOutcome::Timeout => self.after_sender(now, flow, SenderEvent::Timeout),
            TimerOutcome::Other => self.after_sender(now, flow, SenderEvent::Timer),
            TimerOutcome::Nothing => self.watch_timer(flow),
        }
    }

    #[inline(never)]
    fn after_sender(&mut self, now: Time, flow: u32, event: SenderEvent) {
        self.act_after_sender(now, flow, event);
    }

    /// Sends all packets that the sender allows, and schedules its timers.
    #[expect(clippy::inline_always, reason = "is part of every ACK")]
    #[inline(always)]
    fn act_after_sender(&mut self, now: Time, flow: u32, event: SenderEvent) {
        loop {
            let connection = &mut self.connections[flow as usize];
            let Some(outgoing) = connection.sender.next_packet(now) else {
                break;
            };
            let transmission = Transmission {
                ordinal: self.sent,
                flow: flow as usize,
                packet: outgoing.packet,
                copy: outgoing.copy,
                why: outgoing.reason,
            };
            self.sent += 1;
            connection
                .tally
                .on_sent(transmission.ordinal, transmission.copy);
            let packet = Queued {
                transmission,
                sent: now,
                enqueued: now,
                // Retransmissions are not ECN-capable (RFC 3168, Sec. 6.1.5).
                capable: connection.sender.is_ecn_capable() && transmission.copy == 1,
                cwr: outgoing.cwr,
            };
            self.probe.on_sent(now, transmission);
            let forward_delay = connection.terrestrial[0];
            if forward_delay.is_zero() {
                self.on_arrival(now, packet);
            } else {
                let at = now.checked_add(forward_delay);
                let enqueued = at.unwrap_or(Time::MAX);
                self.events
                    .arrive(at, |slot| *slot = Queued { enqueued, ..packet });
            }
        }
        let connection = &mut self.connections[flow as usize];
        let due = sooner(&mut connection.timer_event, connection.sender.deadline());
        if due.is_some() {
            self.events.expire(due, |slot| *slot = flow);
        }
        if connection.pace_event.is_none() {
            connection.pace_event = connection.sender.pacing_release();
            self.events.pace(connection.pace_event, |slot| *slot = flow);
        }
        if self.probe.watches() {
            let connection = &self.connections[flow as usize];
            let (snapshot, delivered) =
                (connection.sender.snapshot(), connection.receiver.rcv_nxt());
            let held = self.queue_length();
            self.probe
                .on_sender(now, flow as usize, event, &snapshot, held, delivered);
        }
    }

    /// Ensures that there is an event no later than the sender's deadline.
    fn watch_timer(&mut self, flow: u32) {
        let connection = self.flow(flow);
        let due = sooner(&mut connection.timer_event, connection.sender.deadline());
        self.events.expire(due, |slot| *slot = flow);
    }

    #[inline]
    fn on_delivery(&mut self, now: Time) {
        // In its slot, without a copy.
        let delivery = self.events.take_delivery();
        let (flow, packet) = (delivery.flow(), delivery.packet());
        let connection = &mut self.connections[flow];
        if let Some((transmission, parts)) = delivery.untallied() {
            self.probe.on_delivered(now, transmission);
            let delay = now.since(packet.sent);
            let tally = &mut connection.tally;
            tally.on_delivered(transmission.ordinal, delay, parts);
        }
        let arrival = connection.receiver.on_packet(now, packet);
        let sender = &connection.sender;
        connection.receiver.on_read(now, || sender.srtt());
        if arrival.duplicate {
            connection.tally.count(Count::Spurious);
        }
        let done = connection
            .packets
            .is_some_and(|packets| connection.receiver.rcv_nxt() >= packets);
        let elapsed = now.since(connection.start);
        if done && connection.tally.complete(elapsed) {
            self.unfinished -= 1;
        }
        if self.proxy.is_some() {
            // The proxy has acknowledged it.
            return;
        }
        let number = u32::try_from(flow).unwrap_or(u32::MAX);
        let delays = connection.receiver.deadline().is_some();
        if let Some(ack) = arrival.ack {
            if self.returns_freely {
                self.probe.on_ack_sent(now, flow, &ack);
                connection.tally.count(Count::Acks);
                let arrives = now.checked_add(connection.ack_delay);
                self.events.acknowledge(arrives, |slot| {
                    slot.0 = number;
                    // Field by field, as it was written: a load of several at once would wait for their stores.
                    let to = &mut slot.1;
                    (to.next, to.blocks, to.echo, to.rwnd) =
                        (ack.next, ack.blocks, ack.echo, ack.rwnd);
                    (to.dsack, to.ece, to.window_update) = (ack.dsack, ack.ece, ack.window_update);
                });
            } else {
                self.send_ack(now, number, &ack);
            }
        }
        if delays {
            self.watch_delayed_ack(number);
        }
    }

    fn on_delayed_ack(&mut self, now: Time, flow: u32) {
        let connection = self.flow(flow);
        if connection.delayed_ack_event != Some(now) {
            return;
        }
        connection.delayed_ack_event = None;
        if let Some(ack) = connection.receiver.on_timer(now) {
            self.send_ack(now, flow, &ack);
        }
        self.watch_delayed_ack(flow);
    }

    fn watch_delayed_ack(&mut self, flow: u32) {
        let connection = self.flow(flow);
        let deadline = connection.receiver.deadline();
        let due = sooner(&mut connection.delayed_ack_event, deadline);
        self.events.delayed_ack(due, |slot| *slot = flow);
    }

    /// Sends an ACK over a return path with a rate, a trace or losses, or without.
    #[inline(never)]
    fn send_ack(&mut self, now: Time, flow: u32, ack: &Ack) {
        self.probe.on_ack_sent(now, flow as usize, ack);
        let back = self.connections[flow as usize].ack_delay;
        let (mut left, mut sent, mut on_air) = (Some(now), now, Span::ZERO);
        if let Some(rate) = self.setup.return_path.rate {
            let service = rate.time_of_bit(u128::from(ACK.0) * 8);
            let begins = now.max(self.return_free);
            (sent, on_air) = (
                begins,
                service.map_or(Span::MAX, |end| end.since(Time::ZERO)),
            );
            left = begins.checked_add(on_air);
            self.return_free = left.unwrap_or(Time::MAX);
        }
        if let Some(link) = &mut self.return_link {
            left = link.send(now);
        }
        let lost_on_trace = self.return_link.is_some() && left.is_none();
        let lost = self.return_loss.as_mut();
        let lost = lost.is_some_and(|losses| losses.loses(sent, on_air)) || lost_on_trace;
        let tally = &mut self.flow(flow).tally;
        tally.count(Count::Acks);
        if lost {
            tally.count(Count::AcksLost);
        } else {
            let arrives = left.and_then(|left| left.checked_add(back));
            self.events.acknowledge(arrives, |slot| {
                slot.0 = flow;
                slot.1 = *ack;
            });
        }
    }

    fn report(mut self, end: Time) -> RunReport {
        self.process_departures(end);
        // Packets still in service count as served if their service began within the run.
        let mut usage = self.gateway.usage(end);
        let in_service: Vec<G::Departure> = self.gateway.in_service().copied().collect();
        for served in in_service {
            if served.start() <= end && !G::Departure::IS_TALLIED {
                let left = served.left().filter(|left| *left <= end);
                self.served += 1;
                on_served(&mut self.connections, self.probe, &served, left, false);
            }
        }
        usage.packets_served = self.served;
        for connection in &mut self.connections {
            connection
                .tally
                .end(&connection.receiver, &connection.sender);
        }
        let tallies: Vec<&FlowTally> = self.connections.iter().map(|c| &c.tally).collect();
        RunReport::new(self.setup, end, usage, &tallies)
    }
}

#[cfg(test)]
mod tests;
