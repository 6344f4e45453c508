//! One run: flows, a shared queue, a link, and the events between them.
//!
//! A run is a pure function of its [`Setup`], its link and nothing else. The return path takes RTT − ⌊RTT/2⌋, and what
//! [`ReturnPath`] adds; the way there takes what the link says. [`Path`] stands in front of both.

mod gateway_events;

use tmt_core::channel::Channel;
use tmt_core::types::{Span, Time};

use crate::endpoint::receiver::{Ack, Packet, Receiver};
use crate::endpoint::sender::{Sender, Wake};
use crate::link::gateway::{
    CoupledLink, CoupledQueue, DropTail, Gateway, Queued, QueuedLink, Served, Tells,
};
use crate::link::return_link::ReturnLink;
use crate::link::{Link, PacketCopy};
use crate::simulation::delay::DelayParts;
use crate::simulation::event::{EventQueue, Kinds};
use crate::simulation::metrics::RunReport;
use crate::simulation::probe::{Moment, Probe};
use crate::simulation::proxy::Proxy;
use crate::simulation::tally::{Count, FlowTally};
use crate::simulation::{ACK, Flow, Setup};

#[derive(Debug, Clone, Copy)]
enum Event {
    Start(u32),
    /// A packet reaches the gateway.
    Arrival(Queued),
    /// A proxy learns that the link has delivered this.
    Release(PacketCopy),
    /// The queue does something by itself.
    Gateway,
    Delivery {
        copy: PacketCopy,
        delay: DelayParts,
        marked: bool,
        reduced: bool,
    },
    Ack {
        flow: u32,
        ack: Ack,
    },
    /// A timer of the sender.
    Timer(u32),
    /// Pacing lets the next packet out.
    Pace(u32),
    DelayedAck(u32),
}

impl Kinds for Event {
    fn lane(&self) -> Option<usize> {
        match self {
            Self::Delivery { .. } => Some(0),
            Self::Ack { .. } => Some(1),
            Self::Pace(_) => Some(2),
            Self::Arrival(_) => Some(3),
            _ => None,
        }
    }
}

impl Event {
    /// Whether it only wakes a sender that has nothing else to wait for.
    fn is_timer(&self) -> bool {
        matches!(self, Self::Timer(_))
    }
}

/// A flow at work.
#[derive(Debug)]
struct Connection<'a> {
    flow: &'a Flow,
    sender: Sender,
    receiver: Receiver,
    tally: FlowTally,
    started: bool,
    /// When an event for the timer is due, so that it is scheduled only once.
    timer_event: Option<Time>,
    pace_event: Option<Time>,
    delayed_ack_event: Option<Time>,
}

/// A run.
struct Run<'a, G, P> {
    setup: &'a Setup,
    gateway: G,
    probe: &'a mut P,
    events: EventQueue<Event, 4>,
    connections: Vec<Connection<'a>>,
    proxy: Option<Proxy>,
    gateway_event: Option<Time>,
    return_loss: Option<Channel>,
    /// When the return path has sent all that was handed to it.
    return_free: Time,
    return_link: Option<ReturnLink>,
    sent: u64,
    /// Packets that the link has begun to serve.
    served: u64,
    /// Flows that still have something to do.
    unfinished: usize,
    /// Events under way that are no timers of senders.
    under_way: u64,
}

/// Runs `setup` over `link` to its end, or until every flow has delivered all it had.
pub fn run<L: Link, P: Probe>(setup: &Setup, link: L, probe: &mut P) -> RunReport {
    if setup.discipline.is_drop_tail() {
        return run_over(setup, DropTail::new(link, setup.queue()), probe);
    }
    if let Some(codel) = setup.discipline.codel() {
        let gateway = QueuedLink::new(link, setup.queue(), Box::new(codel));
        return run_over(setup, gateway, probe);
    }
    let queue = setup.discipline.queue();
    run_over(setup, QueuedLink::new(link, setup.queue(), queue), probe)
}

/// Runs `setup` over a coupled link, behind a drop-tail queue whatever the setup says.
///
/// `None` where the trace cannot be read, or a packet needs no unit.
pub fn run_coupled<P: Probe>(
    setup: &Setup,
    link: &CoupledLink,
    probe: &mut P,
) -> Option<RunReport> {
    run_coupled_looped(setup, link, None, probe)
}

/// The same over a trace that begins anew every `period`, as often as the run needs; at most once without. Slots are
/// numbered as if it were written out so often.
///
/// `None` where the trace cannot be read, or a packet needs no unit.
pub fn run_coupled_looped<P: Probe>(
    setup: &Setup,
    link: &CoupledLink,
    period: Option<Span>,
    probe: &mut P,
) -> Option<RunReport> {
    let tells = Tells {
        whole: setup.path.split.is_some(),
        slots: probe.watches_slots(),
    };
    let mut gateway = CoupledQueue::new(link, setup.rtt, setup.queue(), setup.begin, tells)?;
    if let Some(period) = period {
        gateway = gateway.looped(period, setup.end);
    }
    Some(run_over(setup, gateway, probe))
}

fn run_over<G: Gateway, P: Probe>(setup: &Setup, gateway: G, probe: &mut P) -> RunReport {
    let connections = setup.flows.iter().zip(FlowTally::all(setup.flows.len()));
    let mut run = Run {
        setup,
        gateway,
        probe,
        events: EventQueue::default(),
        connections: connections
            .map(|(flow, tally)| Connection::new(flow, tally))
            .collect(),
        proxy: setup.path.split.map(|window| {
            let endpoints = setup.flows.iter().map(|flow| &flow.endpoint);
            Proxy::new(setup.buffer, window, endpoints)
        }),
        gateway_event: None,
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
        under_way: 0,
    };
    for (number, flow) in (0..).zip(&setup.flows) {
        let start = setup.begin.saturating_add(flow.start);
        run.schedule(Some(start), Event::Start(number));
    }
    let mut now = setup.begin;
    while run.unfinished > 0 {
        if run.under_way == 0 && run.gateway.is_exhausted() {
            // Only timers are left, and nothing they send would ever be served.
            now = setup.end;
            break;
        }
        let Some((at, event)) = run.events.pop_until(setup.end) else {
            now = setup.end;
            break;
        };
        now = at;
        if run.probe.watches() {
            run.retire(now);
        }
        run.take(now, event);
    }
    run.report(now)
}

impl<'a> Connection<'a> {
    fn new(flow: &'a Flow, tally: FlowTally) -> Self {
        let control = flow.algorithm.start(flow.endpoint.initial_window.into());
        Self {
            flow,
            sender: Sender::new(flow.endpoint, control, flow.packets),
            receiver: Receiver::new(flow.endpoint),
            tally,
            started: false,
            timer_event: None,
            pace_event: None,
            delayed_ack_event: None,
        }
    }
}

/// Moves `event` to `deadline` where that is sooner, and returns it: it is yet to be scheduled.
fn sooner(event: &mut Option<Time>, deadline: Option<Time>) -> Option<Time> {
    let deadline = deadline.filter(|deadline| event.is_none_or(|event| event > *deadline))?;
    *event = Some(deadline);
    *event
}

impl<'a, G: Gateway, P: Probe> Run<'a, G, P> {
    /// Schedules `event`, unless it would be past 2^63 − 1 ns: that is never.
    fn schedule(&mut self, at: Option<Time>, event: Event) {
        if let Some(at) = at {
            self.under_way += u64::from(!event.is_timer());
            self.events.schedule(at, event);
        }
    }

    fn flow(&mut self, flow: u32) -> &mut Connection<'a> {
        &mut self.connections[flow as usize]
    }

    fn take(&mut self, now: Time, event: Event) {
        self.under_way -= u64::from(!event.is_timer());
        match event {
            Event::Delivery {
                copy,
                delay,
                marked,
                reduced,
            } => {
                let packet = Packet {
                    number: copy.packet,
                    marked,
                    reduced,
                };
                self.on_delivery(now, copy, &delay, packet);
            }
            Event::Ack { flow, ack } => self.on_ack(now, flow, &ack),
            Event::Arrival(packet) => self.on_arrival(now, packet),
            Event::Release(copy) => self.on_release(now, copy),
            Event::Pace(flow) => {
                self.flow(flow).pace_event = None;
                self.after_sender(now, flow, Moment::Pace);
            }
            Event::Timer(flow) => self.on_timer(now, flow),
            Event::DelayedAck(flow) => self.on_delayed_ack(now, flow),
            Event::Gateway => self.on_gateway(now),
            Event::Start(flow) => self.on_start(now, flow),
        }
    }

    fn on_start(&mut self, now: Time, flow: u32) {
        let rtt = self.round_trip();
        let connection = self.flow(flow);
        if connection.flow.packets == Some(0) {
            connection.tally.complete(Span::ZERO);
            self.unfinished -= 1;
            return;
        }
        if connection.flow.endpoint.handshake {
            if !connection.started {
                connection.started = true;
                self.schedule(now.checked_add(rtt), Event::Start(flow));
                return;
            }
            connection.sender.on_handshake(rtt);
        }
        if let Some(proxy) = &mut self.proxy {
            let room = proxy.on_start(flow as usize);
            self.flow(flow).sender.on_room(room);
        }
        self.after_sender(now, flow, Moment::Start);
    }

    fn on_ack(&mut self, now: Time, flow: u32, ack: &Ack) {
        self.probe.on_ack_received(now, flow as usize, ack);
        let sender = &mut self.connections[flow as usize].sender;
        let before = sender.una();
        sender.on_ack(now, ack);
        let after = sender.una();
        if after > before {
            self.probe.on_acked(now, flow as usize, after);
        }
        self.after_sender(now, flow, Moment::Ack);
    }

    fn on_timer(&mut self, now: Time, flow: u32) {
        let connection = self.flow(flow);
        // The deadline has moved to an earlier time since: that event was the one that counted.
        if connection.timer_event != Some(now) {
            return;
        }
        connection.timer_event = None;
        match connection.sender.on_timer(now) {
            Wake::Timeout => self.after_sender(now, flow, Moment::Timeout),
            Wake::Other => self.after_sender(now, flow, Moment::Timer),
            Wake::Nothing => self.watch_timer(flow),
        }
    }

    /// Sends what the sender lets out, and keeps its timers.
    fn after_sender(&mut self, now: Time, flow: u32, moment: Moment) {
        while let Some(transmission) = self.flow(flow).sender.next_packet(now) {
            let copy = PacketCopy {
                ordinal: self.sent,
                flow: flow as usize,
                packet: transmission.packet,
                copy: transmission.copy,
                why: transmission.why,
            };
            self.sent += 1;
            let connection = self.flow(flow);
            connection.tally.on_sent(copy.copy);
            let packet = Queued {
                copy,
                sent: now,
                enqueued: now,
                // What is sent again is not marked (RFC 3168 §6.1.5).
                capable: connection.sender.is_ecn_capable() && copy.copy == 1,
                reduced: transmission.reduced,
            };
            self.probe.on_sent(now, copy);
            let there = self.setup.path.there();
            if there.is_zero() {
                self.on_arrival(now, packet);
            } else {
                let at = now.checked_add(there);
                let enqueued = at.unwrap_or(Time::MAX);
                self.schedule(at, Event::Arrival(Queued { enqueued, ..packet }));
            }
        }
        self.watch_timer(flow);
        let connection = self.flow(flow);
        if connection.pace_event.is_none() {
            connection.pace_event = connection.sender.release();
            let release = connection.pace_event;
            self.schedule(release, Event::Pace(flow));
        }
        if self.probe.watches() {
            let connection = &self.connections[flow as usize];
            let (snapshot, delivered) = (connection.sender.snapshot(), connection.receiver.next());
            let held = self.held();
            self.probe
                .on_sender(now, flow as usize, moment, &snapshot, held, delivered);
        }
    }

    /// Makes sure that an event comes no later than the sender's deadline.
    fn watch_timer(&mut self, flow: u32) {
        let connection = self.flow(flow);
        let due = sooner(&mut connection.timer_event, connection.sender.deadline());
        self.schedule(due, Event::Timer(flow));
    }

    fn on_delivery(&mut self, now: Time, copy: PacketCopy, delay: &DelayParts, packet: Packet) {
        self.probe.on_delivered(now, copy);
        let connection = &mut self.connections[copy.flow];
        let arrival = connection.receiver.on_packet(now, packet);
        connection.tally.on_delivered(delay);
        if arrival.duplicate {
            connection.tally.count(Count::Spurious);
        }
        let Flow { packets, start, .. } = connection.flow;
        let done = packets.is_some_and(|packets| connection.receiver.next() >= packets);
        let taken = now.since(self.setup.begin.saturating_add(*start));
        if done && connection.tally.complete(taken) {
            self.unfinished -= 1;
        }
        if self.proxy.is_some() {
            // The proxy has acknowledged it.
            return;
        }
        let flow = u32::try_from(copy.flow).unwrap_or(u32::MAX);
        if let Some(ack) = arrival.ack {
            self.send_ack(now, flow, ack);
        }
        self.watch_delayed_ack(flow);
    }

    fn on_delayed_ack(&mut self, now: Time, flow: u32) {
        let connection = self.flow(flow);
        if connection.delayed_ack_event != Some(now) {
            return;
        }
        connection.delayed_ack_event = None;
        if let Some(ack) = connection.receiver.on_timer(now) {
            self.send_ack(now, flow, ack);
        }
        self.watch_delayed_ack(flow);
    }

    fn watch_delayed_ack(&mut self, flow: u32) {
        let connection = self.flow(flow);
        let deadline = connection.receiver.deadline();
        let due = sooner(&mut connection.delayed_ack_event, deadline);
        self.schedule(due, Event::DelayedAck(flow));
    }

    fn send_ack(&mut self, now: Time, flow: u32, ack: Ack) {
        self.probe.on_ack_sent(now, flow as usize, &ack);
        let back = self.back().saturating_add(self.setup.path.back());
        let mut left = Some(now);
        if let Some(rate) = self.setup.return_path.rate {
            let service = rate.time_of_bit(u128::from(ACK.0) * 8);
            let begins = now.max(self.return_free);
            left = service.and_then(|end| begins.checked_add(end.since(Time::ZERO)));
            self.return_free = left.unwrap_or(Time::MAX);
        }
        if let Some(link) = &mut self.return_link {
            left = link.send(now);
        }
        let never_comes = self.return_link.is_some() && left.is_none();
        let lost = self.return_loss.as_mut().is_some_and(Channel::erases) || never_comes;
        let tally = &mut self.flow(flow).tally;
        tally.count(Count::Acks);
        if lost {
            tally.count(Count::AcksLost);
        } else {
            let arrives = left.and_then(|left| left.checked_add(back));
            self.schedule(arrives, Event::Ack { flow, ack });
        }
    }

    fn report(mut self, end: Time) -> RunReport {
        self.retire(end);
        // What is still in service has at least begun, unless the run ended before.
        let mut usage = self.gateway.usage(end);
        let in_service: Vec<Served> = self.gateway.in_service().copied().collect();
        for served in in_service {
            if served.service.start <= end {
                self.on_served(&served, served.left.filter(|left| *left <= end), false);
            }
        }
        usage.packets_served = self.served;
        for connection in &mut self.connections {
            let delivered = connection.receiver.next();
            connection.tally.end(delivered, &connection.sender);
        }
        let tallies: Vec<&FlowTally> = self.connections.iter().map(|c| &c.tally).collect();
        RunReport::new(self.setup, end, usage, &tallies)
    }
}
