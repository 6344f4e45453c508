//! One run: flows, a shared queue, a link, and the events between them.
//!
//! A run is a pure function of its [`Setup`], its link and nothing else. The return path is clean and
//! takes RTT − ⌊RTT/2⌋; the way there takes what the link says.

use tmt_core::units::{Bytes, Span, Time};

use crate::congestion::Algorithm;
use crate::endpoint::Endpoint;
use crate::event::{EventQueue, Kinds};
use crate::gateway::Gateway;
use crate::link::Link;
use crate::metrics::{FlowTally, RunReport};
use crate::probe::{Copy, Moment, Probe};
use crate::receiver::{Ack, Receiver};
use crate::sender::Sender;

/// One flow.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Its congestion control.
    pub algorithm: Algorithm,
    /// Its ends.
    pub endpoint: Endpoint,
    /// When it begins, from the start of the run.
    pub start: Span,
    /// Packets it has; none for a source that never ends.
    pub packets: Option<u64>,
}

/// Everything about a run but its link.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The flows.
    pub flows: Vec<Flow>,
    /// Size of a packet.
    pub packet: Bytes,
    /// Round-trip time of the link, propagation only.
    pub rtt: Span,
    /// Packets the queue holds, the one in service included.
    pub buffer: u64,
    /// The run's own zero.
    pub begin: Time,
    /// The last instant that belongs to the run.
    pub end: Time,
    /// Bits a second that packets could make of the whole link, to normalise by.
    pub link_rate_bps: Option<f64>,
}

#[derive(Debug, Clone, core::marker::Copy)]
enum Event {
    Start(usize),
    /// The link has sent the packet in service.
    Departure {
        lost: bool,
    },
    Delivery {
        copy: Copy,
        sent: Time,
    },
    Ack {
        flow: usize,
        ack: Ack,
    },
    Rto(usize),
    DelayedAck(usize),
}

impl Kinds for Event {
    const KINDS: usize = 6;

    fn kind(&self) -> usize {
        match self {
            Self::Departure { .. } => 0,
            Self::Delivery { .. } => 1,
            Self::Ack { .. } => 2,
            Self::Rto(_) => 3,
            Self::DelayedAck(_) => 4,
            Self::Start(_) => 5,
        }
    }
}

/// A flow at work.
#[derive(Debug)]
struct Connection {
    sender: Sender,
    receiver: Receiver,
    tally: FlowTally,
    start: Time,
    total: Option<u64>,
    handshake: bool,
    started: bool,
    /// When an event for the timer is due, so that it is scheduled only once.
    rto_event: Option<Time>,
    delayed_ack_event: Option<Time>,
}

/// A packet in the queue.
#[derive(Debug, Clone, core::marker::Copy)]
struct Queued {
    copy: Copy,
    sent: Time,
}

/// A run.
struct Run<'a, L, P> {
    setup: &'a Setup,
    link: L,
    probe: &'a mut P,
    events: EventQueue<Event>,
    gateway: Gateway<Queued>,
    connections: Vec<Connection>,
    /// Whether the head of the queue is in service.
    serving: bool,
    sent: u64,
    drops: u64,
    /// Flows that still have something to do.
    unfinished: usize,
    /// Events under way that are no retransmission timers.
    under_way: u64,
    /// Whether the link has come to its end.
    exhausted: bool,
}

/// Runs `setup` over `link` to its end, or until every flow has delivered all it had.
pub fn run<L: Link, P: Probe>(setup: &Setup, link: L, probe: &mut P) -> RunReport {
    let mut run = Run {
        setup,
        link,
        probe,
        events: EventQueue::default(),
        gateway: Gateway::new(setup.buffer),
        connections: setup
            .flows
            .iter()
            .map(|flow| Connection::new(flow, setup.begin))
            .collect(),
        serving: false,
        sent: 0,
        drops: 0,
        unfinished: setup.flows.len(),
        under_way: 0,
        exhausted: false,
    };
    for flow in 0..run.connections.len() {
        let start = run.connections[flow].start;
        run.schedule(Some(start), Event::Start(flow));
    }
    let mut now = setup.begin;
    while run.unfinished > 0 {
        if run.exhausted && run.under_way == 0 {
            // Only timers are left, and nothing they send would ever be served.
            now = setup.end;
            break;
        }
        let Some((at, event)) = run.events.pop_until(setup.end) else {
            now = setup.end;
            break;
        };
        now = at;
        run.take(now, event);
    }
    run.report(now)
}

impl Connection {
    fn new(flow: &Flow, begin: Time) -> Self {
        let initial_window = f64::from(flow.endpoint.initial_window);
        Self {
            sender: Sender::new(
                flow.endpoint,
                flow.algorithm.start(initial_window),
                flow.packets,
            ),
            receiver: Receiver::new(flow.endpoint),
            tally: FlowTally::default(),
            start: begin.saturating_add(flow.start),
            total: flow.packets,
            handshake: flow.endpoint.handshake,
            started: false,
            rto_event: None,
            delayed_ack_event: None,
        }
    }
}

impl<L: Link, P: Probe> Run<'_, L, P> {
    /// Schedules `event`, unless it would be past 2^63 − 1 ns: that is never.
    fn schedule(&mut self, at: Option<Time>, event: Event) {
        if let Some(at) = at {
            self.under_way += u64::from(!matches!(event, Event::Rto(_)));
            self.events.schedule(at, event);
        }
    }

    fn take(&mut self, now: Time, event: Event) {
        self.under_way -= u64::from(!matches!(event, Event::Rto(_)));
        match event {
            Event::Start(flow) => self.on_start(now, flow),
            Event::Departure { lost } => self.on_departure(now, lost),
            Event::Delivery { copy, sent } => self.on_delivery(now, copy, sent),
            Event::Ack { flow, ack } => self.on_ack(now, flow, &ack),
            Event::Rto(flow) => self.on_rto(now, flow),
            Event::DelayedAck(flow) => self.on_delayed_ack(now, flow),
        }
    }

    fn on_start(&mut self, now: Time, flow: usize) {
        let connection = &mut self.connections[flow];
        if connection.total == Some(0) {
            connection.tally.complete(Span::ZERO);
            self.unfinished -= 1;
            return;
        }
        if connection.handshake && !connection.started {
            connection.started = true;
            self.schedule(now.checked_add(self.setup.rtt), Event::Start(flow));
            return;
        }
        if connection.handshake {
            connection.sender.on_handshake(self.setup.rtt);
        }
        self.after_sender(now, flow, Moment::Start);
    }

    fn on_ack(&mut self, now: Time, flow: usize, ack: &Ack) {
        let sender = &mut self.connections[flow].sender;
        let before = sender.una();
        sender.on_ack(now, ack);
        let after = sender.una();
        if after > before {
            self.probe.on_acked(now, flow, after);
        }
        self.after_sender(now, flow, Moment::Ack);
    }

    fn on_rto(&mut self, now: Time, flow: usize) {
        let connection = &mut self.connections[flow];
        // The deadline has moved to an earlier time since: that event was the one that counted.
        if connection.rto_event != Some(now) {
            return;
        }
        connection.rto_event = None;
        let expired = connection.sender.on_timer(now);
        if expired {
            self.after_sender(now, flow, Moment::Timeout);
        } else {
            self.watch_rto(flow);
        }
    }

    /// Sends what the sender lets out, and keeps its timer.
    fn after_sender(&mut self, now: Time, flow: usize, moment: Moment) {
        while let Some(transmission) = self.connections[flow].sender.next_packet(now) {
            let copy = Copy {
                ordinal: self.sent,
                flow,
                packet: transmission.packet,
                copy: transmission.copy,
            };
            self.sent += 1;
            self.connections[flow].tally.on_sent(copy.copy);
            let enqueued = self.gateway.enqueue(Queued { copy, sent: now });
            self.probe.on_sent(now, copy, enqueued);
            if !enqueued {
                self.drops += 1;
                self.connections[flow].tally.on_dropped();
            }
            self.serve(now);
        }
        self.watch_rto(flow);
        let connection = &self.connections[flow];
        let (snapshot, delivered) = (connection.sender.snapshot(), connection.receiver.next());
        self.probe
            .on_sender(now, flow, moment, &snapshot, self.gateway.len(), delivered);
    }

    /// Makes sure that an event comes no later than the sender's deadline.
    fn watch_rto(&mut self, flow: usize) {
        let connection = &mut self.connections[flow];
        if let Some(deadline) = connection.sender.deadline()
            && connection.rto_event.is_none_or(|event| event > deadline)
        {
            connection.rto_event = Some(deadline);
            self.schedule(Some(deadline), Event::Rto(flow));
        }
    }

    /// Lets the link serve the head of the queue, unless it is at work.
    fn serve(&mut self, now: Time) {
        if self.serving {
            return;
        }
        let Some(queued) = self.gateway.head() else {
            return;
        };
        let Some(service) = self.link.serve(now) else {
            self.exhausted = true;
            return;
        };
        self.serving = true;
        self.probe.on_service(queued.copy, &service);
        if service.start <= self.setup.end {
            let tally = &mut self.connections[queued.copy.flow].tally;
            tally.on_service(service.start.since(queued.sent));
        }
        self.schedule(
            Some(service.end),
            Event::Departure {
                lost: service.arrival.is_none(),
            },
        );
        if let Some(arrival) = service.arrival {
            self.schedule(
                Some(arrival),
                Event::Delivery {
                    copy: queued.copy,
                    sent: queued.sent,
                },
            );
        }
    }

    fn on_departure(&mut self, now: Time, lost: bool) {
        if let Some(queued) = self.gateway.head() {
            self.probe.on_departure(queued.copy, lost);
            if lost {
                self.connections[queued.copy.flow].tally.on_lost();
            }
        }
        self.gateway.depart();
        self.serving = false;
        self.serve(now);
    }

    fn on_delivery(&mut self, now: Time, copy: Copy, sent: Time) {
        self.probe.on_delivered(now, copy);
        let connection = &mut self.connections[copy.flow];
        let arrival = connection.receiver.on_packet(now, copy.packet);
        connection
            .tally
            .on_delivered(now.since(sent), arrival.duplicate);
        let done = connection
            .total
            .is_some_and(|total| connection.receiver.next() >= total);
        if done && connection.tally.complete(now.since(connection.start)) {
            self.unfinished -= 1;
        }
        if let Some(ack) = arrival.ack {
            self.send_ack(now, copy.flow, ack);
        }
        self.watch_delayed_ack(copy.flow);
    }

    fn on_delayed_ack(&mut self, now: Time, flow: usize) {
        if self.connections[flow].delayed_ack_event != Some(now) {
            return;
        }
        self.connections[flow].delayed_ack_event = None;
        if let Some(ack) = self.connections[flow].receiver.on_timer(now) {
            self.send_ack(now, flow, ack);
        }
        self.watch_delayed_ack(flow);
    }

    fn watch_delayed_ack(&mut self, flow: usize) {
        let connection = &mut self.connections[flow];
        if let Some(deadline) = connection.receiver.deadline()
            && connection
                .delayed_ack_event
                .is_none_or(|event| event > deadline)
        {
            connection.delayed_ack_event = Some(deadline);
            self.schedule(Some(deadline), Event::DelayedAck(flow));
        }
    }

    fn send_ack(&mut self, now: Time, flow: usize, ack: Ack) {
        let back = self.setup.rtt.saturating_sub(self.setup.rtt.half());
        self.schedule(now.checked_add(back), Event::Ack { flow, ack });
    }

    fn report(self, end: Time) -> RunReport {
        let usage = self.link.usage(end);
        let flows = self.connections.iter().map(|connection| {
            let sender = &connection.sender;
            (
                &connection.tally,
                connection.receiver.next(),
                sender.rto_events(),
                sender.fast_recoveries(),
            )
        });
        RunReport::new(self.setup, end, usage, flows)
    }
}
