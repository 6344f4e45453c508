//! Event loop of a run: flows, and the hops between their hosts.
//!
//! A run is a pure function of its [`Setup`] and its link. A packet takes ⌊T1/2⌋ to the gateway and then what the link
//! reports. An ACK takes RTT − ⌊RTT/2⌋, the delay of the [`ReturnPath`](tmt_link::hop::ReturnPath), and T1 − ⌊T1/2⌋.

mod connections;
mod course;
mod delivery;
mod error;
mod events;
mod gateway_events;
mod receiving;
mod return_path;
mod route;
mod side_hops;

use std::iter::repeat_n;

use tmt_core::channel::Losses;
use tmt_core::types::{Span, Time};
use tmt_link::hop::{
    self, Attach as _, Event, Gateway, Hop as _, Reporting, ReturnHop, Served, Tallied,
};
use tmt_link::{Packet, TimelineLink};

use crate::endpoint::receiver::Ack;
use crate::endpoint::sender::TimerOutcome;
use crate::endpoint::tcp::Tcp;
use crate::endpoint::{Ends, Outgoing, Source, Transmission};
use crate::simulation::ack_filter;
use crate::simulation::convergence::Convergence;
use crate::simulation::metrics::RunReport;
use crate::simulation::probe::{All, Probe, SenderEvent, Unwatched, Watched};
use crate::simulation::proxy::Proxy;
use crate::simulation::recorded::{RecordedLosses, RepeatedLink, Repeating};
use crate::simulation::return_queue::ReturnQueue;
use crate::simulation::tally::Count;
use crate::simulation::{Flow, Setup};
use connections::{Connection, Connections};
use delivery::{DeliveryOf, Form};
pub use error::RunError;
use events::{Alarm, Events, Kind, Place};
pub use route::{IntoRoute, Route};
use side_hops::SideHops;

/// State of a run.
struct Run<'a, G: Gateway<Departure: Form>, P> {
    setup: &'a Setup,
    gateway: G,
    side: SideHops,
    /// `None` if ACKs meet nothing on the return path but delay.
    return_path: Option<ReturnHop>,
    /// The queue before it, if that replaces packets; else it has its own.
    return_queue: Option<Box<ReturnQueue>>,
    return_event: Option<Time>,
    probe: &'a mut P,
    events: Events<DeliveryOf<G>>,
    connections: Connections,
    proxy: Option<Proxy>,
    gateway_event: Option<Time>,
    queue_loss: Option<Losses>,
    sent: u64,
    /// Packet and ACK passed to a rare path. Passed here, and not by reference, they stay in registers on the common path.
    parked: Packet,
    parked_ack: Ack,
    /// Packets whose service has begun.
    served: u64,
    /// Delay of all ACKs if receivers may run ahead of their senders (`run/receiving.rs`), and whether they do already.
    ack_lead: Option<Span>,
    runs_ahead: bool,
    /// Greedy flows that have not started, and whether none of them is complete.
    unstarted: usize,
    shares: bool,
    convergence: Convergence,
    /// Flows that are not complete.
    unfinished: usize,
    failure: Option<RunError>,
}

/// Runs `setup` over a link until its end, or until all flows have delivered all their packets. The link is any that
/// [attaches](tmt_link::hop::Attach) to a queue, or a [`Route`] with further hops.
///
/// # Errors
/// [`RunError`]: a link that cannot serve any packet, a hop or queue that breaks a rule, or hosts that a split path cannot
/// have.
///
/// ```
/// use fluid_tcp::congestion::Algorithm;
/// use fluid_tcp::endpoint::Endpoint;
/// use fluid_tcp::simulation::{Flow, Setup, probe::NoProbe, run};
/// use tmt_core::{BitRate, Bytes, SchemeSpec, Span};
/// use tmt_link::timeline::GeneratedSlots;
/// use tmt_link::{CoupledLink, Segmentation};
///
/// let flow = Flow::new(Algorithm::default(), Endpoint::default()).of_packets(1000);
/// let setup = Setup::new(vec![flow], Span::from_millis(100), Span::from_secs(60));
/// let (rate, lldu) = (BitRate(2_340_000), Bytes(33));
/// let slots = GeneratedSlots::new(rate, lldu, Span::from_secs(60), "bernoulli:0.01".parse()?)
///     .ok_or("the rate leaves no slot")?;
/// let packets = Segmentation::whole(setup.packet, 47);
/// let link = CoupledLink::new(slots.trace(1), SchemeSpec::arq(), packets);
/// let report = run(&setup, link, &mut NoProbe)?;
/// assert_eq!(report.total.metrics.packets_delivered, 1000);
/// assert!(report.total.metrics.completion_time_s.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run<P: Probe>(
    setup: &Setup,
    route: impl IntoRoute,
    probe: &mut P,
) -> Result<RunReport, RunError> {
    let Route {
        before,
        link,
        after,
    } = route.into_route();
    let gateway = setup.gateway(Reporting {
        acknowledgements: setup.path.split.is_some(),
        slots: probe.watches_slots(),
    });
    let side = SideHops::new(setup, before, after)?;
    if let Some(services) = setup.recorded.as_ref().and_then(RecordedLosses::services) {
        let link = RepeatedLink::new(services.clone(), setup.rtt.half());
        return simulate_over_any(setup, &mut *hop::gateway(link, &gateway), side, probe);
    }
    link.attach(&gateway, Simulate { setup, side, probe })?
}

/// As [`run`] over a timeline. The event loop is compiled here, not once more in the crate that calls it.
///
/// # Errors
/// Those of [`run`].
pub fn run_timeline(
    setup: &Setup,
    link: TimelineLink,
    probe: &mut dyn Probe,
) -> Result<RunReport, RunError> {
    run(setup, link, &mut All(vec![probe]))
}

/// Runs a setup over a gateway of any type.
struct Simulate<'a, P> {
    setup: &'a Setup,
    side: SideHops,
    probe: &'a mut P,
}

impl<P: Probe> hop::Drive for Simulate<'_, P> {
    type Output = Result<RunReport, RunError>;

    fn tallies_ahead(&self, keeps_order: bool) -> bool {
        // While a flow is endless, the run is known to last until its end.
        let mut flows = self.setup.flows.iter();
        let is_bulk =
            |flow: &Flow| flow.hosts.is_none() && matches!(flow.source, Source::Bulk { .. });
        // What is tallied ahead is not known to be over.
        let stays = self.setup.flows.iter().all(|flow| flow.on_demand == 0);
        let can_be = stays && keeps_order && !self.probe.watches() && self.side.is_empty();
        let is_open = self.setup.recorded.is_none();
        can_be
            && is_open
            && flows.clone().all(is_bulk)
            && flows.any(|flow| flow.packets().is_none())
    }

    fn drive_tallied<G: Gateway<Departure = Tallied>>(self, gateway: G) -> Self::Output {
        let mut unwatched = Unwatched::of(self.probe);
        simulate(self.setup, gateway, self.side, &mut unwatched)
    }

    fn drive<G: Gateway<Departure = Served>>(self, mut gateway: G) -> Self::Output {
        if self.setup.recorded.is_some() || self.probe.watches() {
            return simulate_over_any(self.setup, &mut gateway, self.side, self.probe);
        }
        // Without the hooks a run is shorter by a tenth.
        let mut unwatched = Unwatched::of(self.probe);
        simulate(self.setup, gateway, self.side, &mut unwatched)
    }

    fn drive_ahead<G: Gateway<Departure = Served>>(self, gateway: G) -> Self::Output {
        if self.setup.recorded.is_some() || !self.probe.watches() {
            return self.drive(gateway);
        }
        // Static calls take a tenth less time than dynamic ones.
        simulate(self.setup, gateway, self.side, &mut Watched(self.probe))
    }
}

/// A run over a gateway of a type that is known only when the program runs: it repeats recorded losses, or a probe watches it behind
/// a queue that decides late. Each is compiled once for a probe, however many links there are.
fn simulate_over_any<P: Probe>(
    setup: &Setup,
    gateway: &mut dyn Gateway<Departure = Served>,
    side: SideHops,
    probe: &mut P,
) -> Result<RunReport, RunError> {
    match &setup.recorded {
        Some(losses) => {
            let gateway = Repeating::new(gateway, losses.clone());
            simulate(setup, gateway, side, probe)
        }
        None => simulate(setup, gateway, side, &mut Watched(probe)),
    }
}

fn simulate<G: Gateway<Departure: Form>, P: Probe>(
    setup: &Setup,
    gateway: G,
    side: SideHops,
    probe: &mut P,
) -> Result<RunReport, RunError> {
    let is_split = setup.path.split.is_some();
    if let Some(flow) = setup
        .flows
        .iter()
        .position(|flow| is_split && flow.hosts.is_some())
    {
        return Err(RunError::NotTcp { flow });
    }
    let keeps_order = gateway.keeps_order() && side.is_empty();
    let connections = Connections::new(setup, keeps_order, side.sides());
    // Loads last as long as the run: one that ended with their last transfer would be short where the load is small.
    let endless = usize::from(setup.flows.iter().any(Flow::is_part));
    let mut run = Run {
        setup,
        gateway,
        side,
        return_path: (!setup.return_path.is_free())
            .then(|| ReturnHop::new(&setup.return_path, setup.begin)),
        return_queue: {
            let rule = ack_filter::rule(&setup.ack_filter);
            let path = &setup.return_path;
            let needs = path.requested.is_some() || rule.is_some() && !path.is_free();
            needs.then(|| Box::new(ReturnQueue::new(rule, path.buffer)))
        },
        return_event: None,
        probe,
        events: Events::default(),
        proxy: setup.path.split.map(|window| {
            let flows = setup.flows.iter();
            let endpoints = flows.flat_map(|flow| repeat_n(&flow.endpoint, 1 + flow.on_demand));
            let windows = (window, setup.path.announce);
            Proxy::new(setup.buffer.packets(setup.packet.0), windows, endpoints)
        }),
        gateway_event: None,
        queue_loss: setup.queue_loss.clone(),
        sent: 0,
        parked: Packet::default(),
        parked_ack: Ack::default(),
        served: 0,
        ack_lead: receiving::ack_lead::<G>(setup, &connections),
        runs_ahead: false,
        connections,
        unstarted: setup.flows.iter().filter(|flow| flow.is_greedy()).count(),
        shares: true,
        convergence: Convergence::new(longest_round_trip(setup)),
        unfinished: setup.flow_count() + endless,
        failure: None,
    };
    for connection in run.connections.described() {
        let flow = connection.flow();
        run.events.reserve(flow as usize);
        run.events
            .alarm(Some(connection.start), |slot| *slot = Alarm::Start(flow));
    }
    run.events.reserve(setup.flow_count());
    let end = run.process();
    match run.failure.take() {
        Some(failure) => Err(failure),
        None => Ok(run.report(end)),
    }
}

/// Place of a flow. Where packets are tallied ahead, no flow is on demand, and each has its number as its place.
#[inline]
fn place<G: Gateway<Departure: Form>>(connections: &Connections, flow: usize) -> usize {
    if <G::Departure as Form>::IS_TALLIED {
        flow
    } else {
        connections.place(flow)
    }
}

/// The connection of a flow, found as [`place`] says.
#[inline]
fn connection<G: Gateway<Departure: Form>>(
    connections: &mut Connections,
    flow: usize,
) -> &mut Connection {
    connections.at(place::<G>(connections, flow))
}

/// The longest round trip of a greedy flow, without queues.
fn longest_round_trip(setup: &Setup) -> Span {
    let greedy = setup.flows.iter().filter(|flow| flow.is_greedy());
    let terrestrial = greedy.map(|flow| setup.terrestrial_rtt(flow));
    let longest = terrestrial.max().unwrap_or(Span::ZERO);
    longest.saturating_add(setup.rtt)
}

/// Whether the event at `now` is the one to act on; then it is gone. A deadline that has since moved to an earlier time had
/// an event of its own.
fn is_due(event: &mut Option<Time>, now: Time) -> bool {
    event.take_if(|event| *event == now).is_some()
}

/// Sets `event` to `deadline` if that is earlier, and returns the time of the event to schedule.
#[inline]
fn sooner(event: &mut Option<Time>, deadline: Option<Time>) -> Option<Time> {
    let deadline = deadline.filter(|deadline| event.is_none_or(|event| event > *deadline))?;
    *event = Some(deadline);
    *event
}

impl<G: Gateway<Departure: Form>, P: Probe> Run<'_, G, P> {
    fn flow(&mut self, flow: u32) -> &mut Connection {
        &mut self.connections[flow as usize]
    }

    /// What the setup says of a flow.
    fn setup_of(&self, flow: u32) -> &Flow {
        &self.setup.flows[self.connections[flow as usize].described]
    }

    /// Whether the event at `now` is the one to act on that a flow has scheduled. A flow that has been let go has none.
    fn is_due(
        &mut self,
        now: Time,
        flow: u32,
        event: fn(&mut Connection) -> &mut Option<Time>,
    ) -> bool {
        let connection = self.connections.get_mut(flow as usize);
        connection.is_some_and(|connection| is_due(event(connection), now))
    }

    /// Processes all events. Returns the time at which the run ends.
    #[inline(never)]
    fn process(&mut self) -> Time {
        let end = self.setup.end;
        let mut now = self.setup.begin;
        let can_stop = self.probe.can_stop();
        while self.unfinished > 0 {
            let Some((at, kind)) = self.events.first(end) else {
                self.check_stalled();
                return end;
            };
            if kind == Kind::Timer && self.events.has_only_timers() {
                // If only timers are left, a link that has ended will not serve what they send.
                self.check_stalled();
                if self.gateway.has_ended() || self.failure.is_some() {
                    return end;
                }
            }
            now = at;
            self.events.set_now(now);
            if can_stop && self.probe.stops(now) {
                self.failure = Some(RunError::Stopped);
                return now;
            }
            if self.probe.watches() {
                self.process_departures(now);
            }
            now = self.handle(now, kind);
        }
        now
    }

    /// Removes the first event, which is of this kind, and acts on it, perhaps on some after it. Returns the time of the last.
    #[expect(clippy::inline_always, reason = "is called in one place")]
    #[inline(always)]
    fn handle(&mut self, now: Time, kind: Kind) -> Time {
        match kind {
            Kind::Delivery => self.on_delivery(now),
            Kind::Ack => return self.on_acks(now),
            Kind::Transit => {
                let (place, packet) = *self.events.take_transit();
                match place {
                    Place::Network => self.enter(now, packet),
                    Place::Hop(hop) => {
                        self.parked = packet;
                        self.reach(now, hop);
                    }
                    Place::Proxy => self.enqueue_again(now, packet),
                    Place::Delivered => self.on_release(now, Transmission::of(&packet)),
                    Place::Near => self.on_answer(now, &packet),
                }
            }
            Kind::Near => {
                let flow = *self.events.take_near();
                if self.is_due(now, flow, |flow| &mut flow.near_event) {
                    self.after_sender(now, flow, SenderEvent::Pace);
                }
            }
            Kind::Timer => {
                let flow = *self.events.take_timer();
                self.on_timer(now, flow);
            }
            Kind::Far => {
                let flow = *self.events.take_far();
                if self.is_due(now, flow, |flow| &mut flow.far_event) {
                    self.send_answers(now, flow);
                }
            }
            Kind::Alarm => match *self.events.take_alarm() {
                Alarm::Start(flow) => self.on_start(now, flow),
                Alarm::Gateway => self.on_gateway(now),
                Alarm::Hop(hop) => self.on_side_hop(now, hop),
                Alarm::Return => self.on_return(now),
            },
        }
        now
    }

    /// Acts on an ACK, and on those that follow with no other event between them. Returns the time of the last.
    ///
    /// Not part of the loop over all events, which would then have too few registers and load `self` again for each of its uses.
    #[inline(never)]
    fn on_acks(&mut self, first: Time) -> Time {
        let mut now = first;
        loop {
            self.on_ack(now);
            // The other loop asks such probes before each event, and ends the run.
            if self.probe.watches() || self.probe.can_stop() || self.unfinished == 0 {
                return now;
            }
            let Some(next) = self.events.next_if_ack(self.setup.end) else {
                return now;
            };
            now = next;
            self.events.set_now(now);
        }
    }

    #[expect(clippy::inline_always, reason = "is called in one place")]
    #[inline(always)]
    fn on_ack(&mut self, now: Time) {
        // In its slot, without a copy.
        let &(flow, ref ack) = self.events.take_ack();
        self.probe.on_ack_received(now, flow as usize, ack);
        let Connection { ends, tally, .. } = connection::<G>(&mut self.connections, flow as usize);
        tally.count(Count::AcksArrived);
        if let Ends::Tcp(Tcp { sender, .. }) = ends {
            let before = sender.snd_una();
            sender.on_ack(now, ack);
            if let Some(rtt) = sender.take_rtt_sample() {
                tally.on_rtt(rtt);
            }
            let after = sender.snd_una();
            if after > before {
                self.probe.on_acked(now, flow as usize, after);
            }
        }
        self.act_after_sender(now, flow, SenderEvent::Ack);
    }

    fn on_timer(&mut self, now: Time, flow: u32) {
        if self.is_due(now, flow, |flow| &mut flow.timer_event)
            && let Ends::Tcp(tcp) = &mut self.flow(flow).ends
        {
            match tcp.sender.on_timer(now) {
                TimerOutcome::Timeout => self.after_sender(now, flow, SenderEvent::Timeout),
                TimerOutcome::Other => self.after_sender(now, flow, SenderEvent::Timer),
                TimerOutcome::Nothing => self.watch_timer(flow),
            }
        }
    }

    #[inline(never)]
    fn after_sender(&mut self, now: Time, flow: u32, event: SenderEvent) {
        self.act_after_sender(now, flow, event);
    }

    /// Sends all packets that the near host has, and schedules what it does next.
    #[expect(clippy::inline_always, reason = "is part of every ACK")]
    #[inline(always)]
    fn act_after_sender(&mut self, now: Time, flow: u32, event: SenderEvent) {
        // Nothing below opens or closes connections before it is used for the last time.
        let place = place::<G>(&self.connections, flow as usize);
        let connection = loop {
            let connection = self.connections.at(place);
            let Some(outgoing) = connection.ends.next(now) else {
                break connection;
            };
            let packet = packet(self.sent, flow, now, &outgoing, connection.class);
            connection.tally.on_sent(self.sent, outgoing.copy);
            let toward = connection.toward;
            self.sent += 1;
            if self.probe.watches() {
                self.probe.on_sent(now, Transmission::of(&packet));
            }
            self.cross_terrestrial(now, packet, toward);
        };
        let [timer, due] = connection.ends.near_due();
        let timer = sooner(&mut connection.timer_event, timer);
        if timer.is_some() {
            self.events.expire(timer, |slot| *slot = flow);
        }
        // Actions that are due already were not done: they wait for the next packet.
        let due = sooner(&mut connection.near_event, due.filter(|due| *due > now));
        self.events.near(due, |slot| *slot = flow);
        if connection.ends.may_be_complete() {
            self.complete(now, flow);
        }
        if self.probe.watches()
            && let Ends::Tcp(tcp) = &self.connections[flow as usize].ends
        {
            let (snapshot, delivered) = (tcp.sender.snapshot(), tcp.receiver.rcv_nxt());
            let held = self.queue_length();
            self.probe
                .on_sender(now, flow as usize, event, &snapshot, held, delivered);
        }
    }

    /// Ensures that there is an event no later than the sender's deadline.
    fn watch_timer(&mut self, flow: u32) {
        let connection = self.flow(flow);
        let [timer, _] = connection.ends.near_due();
        let timer = sooner(&mut connection.timer_event, timer);
        self.events.expire(timer, |slot| *slot = flow);
    }

    /// A packet of a far host that is not TCP reaches the near host.
    #[inline(never)]
    fn on_answer(&mut self, now: Time, packet: &Packet) {
        if let Ends::Other(other) = &mut self.flow(packet.flow).ends {
            other.near.on_packet(now, packet, &mut other.socket);
        }
        self.after_sender(now, packet.flow, SenderEvent::Ack);
    }

    /// Sends what the far host has, by itself or as an answer, and schedules what it does next.
    #[inline(never)]
    fn send_answers(&mut self, now: Time, flow: u32) {
        loop {
            let connection = self.flow(flow);
            match &mut connection.ends {
                Ends::Tcp(tcp) => match tcp.receiver.on_timer(now) {
                    Some(ack) => {
                        self.parked_ack = ack;
                        self.send_ack(now, flow);
                    }
                    None => break,
                },
                Ends::Other(other) => match other.far.poll(now, &mut other.socket) {
                    Some(outgoing) => {
                        let packet = packet(0, flow, now, &outgoing, connection.class);
                        if self.return_queue.is_some() {
                            self.wait_for_return_path(now, packet, None);
                            continue;
                        }
                        let arrives = self.cross_return_path(now, packet);
                        self.events
                            .transit(arrives, |slot| *slot = (Place::Near, packet));
                    }
                    None => break,
                },
            }
        }
        if self.flow(flow).ends.is_complete() {
            self.complete(now, flow);
        }
        self.watch_far(flow);
    }

    /// Sends the parked ACK of TCP over the return path.
    #[inline(never)]
    fn send_ack(&mut self, now: Time, flow: u32) {
        let ack = self.parked_ack;
        self.probe.on_ack_sent(now, flow as usize, &ack);
        let packet = Packet {
            flow,
            size: ack.size(&self.setup_of(flow).endpoint),
            sent: now,
            enqueued: now,
            ..Packet::default()
        };
        if self.return_queue.is_some() {
            return self.wait_for_return_path(now, packet, Some(ack));
        }
        let arrives = self.cross_return_path(now, packet);
        self.events.acknowledge(arrives, |slot| *slot = (flow, ack));
    }

    /// A packet crosses the return path. Returns the time at which it reaches the near host; `None` if it is lost.
    fn cross_return_path(&mut self, now: Time, packet: Packet) -> Option<Time> {
        let path = self.return_path.as_mut();
        let event = path.and_then(|path| path.push(now, packet));
        self.flow(packet.flow).tally.count(Count::Acks);
        self.leave_return_path(now, packet, event)
    }

    /// Time at which a packet with this event of the return path reaches the near host; `None` if it is lost.
    fn leave_return_path(
        &mut self,
        now: Time,
        packet: Packet,
        event: Option<Event>,
    ) -> Option<Time> {
        let left = match event {
            Some(Event::Served(_, service)) => service.arrival.ok_or(Count::AcksLost),
            Some(Event::Refused(_)) => Err(Count::AcksDropped),
            _ => Ok(now),
        };
        let connection = self.flow(packet.flow);
        let left = left.map_err(|why| connection.tally.count(why)).ok();
        left?.checked_add(connection.ack_delay)
    }
}

/// A packet that a host sends `now`.
#[expect(clippy::inline_always, reason = "every packet takes this way")]
#[inline(always)]
fn packet(id: u64, flow: u32, now: Time, outgoing: &Outgoing, class: u8) -> Packet {
    Packet {
        id,
        flow,
        size: outgoing.size,
        ecn: outgoing.ecn,
        class,
        sent: now,
        enqueued: now,
        tag: outgoing.tag,
    }
}

#[cfg(test)]
mod tests;
