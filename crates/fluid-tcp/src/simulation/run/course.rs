//! The course of flows: start, wake-up, completion, and the report at the end of the run.

use tmt_core::types::Time;
use tmt_link::hop::{Departure, Gateway, Hop as _};

use super::Run;
use super::connections::{Open, handshake};
use super::delivery::Form;
use super::events::Alarm;
use super::gateway_events::on_served;
use crate::endpoint::{Ends, Wake};
use crate::simulation::metrics::{LinkUse, RunReport};
use crate::simulation::probe::{Probe, SenderEvent};
use crate::simulation::tally::FlowTally;

impl<G: Gateway<Departure: Form>, P: Probe> Run<'_, G, P> {
    pub(super) fn on_start(&mut self, now: Time, flow: u32) {
        if self.connections.have_later() {
            self.open_later(now, flow as usize);
        }
        let connection = &mut self.connections[flow as usize];
        let settings = &self.setup.flows[connection.described];
        if !connection.started && settings.is_greedy() {
            self.unstarted -= 1;
            if self.unstarted == 0 {
                self.mark_shared(0);
                let payload = self.greedy_payload();
                self.convergence.begin(now, payload);
                self.run_ahead();
            }
        }
        let connection = &mut self.connections[flow as usize];
        if let Ends::Tcp(tcp) = &mut connection.ends {
            tcp.fill(now);
            if tcp.is_complete() {
                return self.complete(now, flow);
            }
            if settings.endpoint.handshake {
                let rtt = self.setup.round_trip(settings);
                if !std::mem::replace(&mut connection.started, true) {
                    let done = now.checked_add(rtt);
                    return self.events.alarm(done, |slot| *slot = Alarm::Start(flow));
                }
                tcp.sender.on_handshake(rtt);
            }
            if let Some(window) = tcp.receiver.first_window() {
                tcp.sender.set_send_limit(window);
            }
            if let Some(proxy) = &mut self.proxy {
                tcp.sender.set_send_limit(proxy.on_start(flow as usize));
            }
        }
        self.after_sender(now, flow, SenderEvent::Start);
        self.send_answers(now, flow);
    }

    /// The time that all greedy flows share begins (0) or ends (1).
    pub(super) fn mark_shared(&mut self, side: usize) {
        let flows = self.connections.described_mut().iter_mut();
        for (connection, flow) in flows.zip(&self.setup.flows) {
            let payload = connection
                .ends
                .delivered(|packets| flow.payload_of(packets, self.setup.packet));
            connection.tally.set_shared(side, payload);
        }
    }

    /// Payload that each greedy flow has delivered, bytes.
    fn greedy_payload(&self) -> Vec<u64> {
        let flows = self.connections.described().iter();
        let flows = flows.zip(&self.setup.flows);
        let greedy = flows.filter(|(_, flow)| flow.is_greedy());
        let payload = greedy.map(|(connection, flow)| {
            let bulk = |packets| flow.payload_of(packets, self.setup.packet);
            connection.ends.delivered(bulk)
        });
        payload.collect()
    }

    /// The windows in which shares are compared and that have ended: nothing has been delivered since.
    #[inline(never)]
    pub(super) fn end_windows(&mut self, now: Time) {
        if self.convergence.is_due(now) {
            let payload = self.greedy_payload();
            self.convergence.end_windows(now, payload);
        }
    }

    /// The far host of a flow has everything.
    #[inline(never)]
    pub(super) fn complete(&mut self, now: Time, flow: u32) {
        self.end_windows(now);
        let connection = self.flow(flow);
        let elapsed = now.since(connection.start);
        if connection.tally.complete(elapsed) {
            self.unfinished -= 1;
            if self.shares && self.setup_of(flow).is_greedy() {
                self.shares = false;
                self.convergence.stop();
                self.mark_shared(1);
            }
        }
    }

    /// Asks the near hosts again for which a delivery to `flow` has changed something.
    #[inline(never)]
    pub(super) fn wake_flows(&mut self, now: Time, flow: usize) {
        while let Ends::Tcp(tcp) = &mut self.connections[flow].ends
            && let Some(stream) = &mut tcp.stream
            && let Some(wake) = stream.socket.woken()
        {
            match wake {
                Wake::Open(number, at, application) => {
                    let at = at.max(now);
                    if self.open(now, number, at, Open::Application(application)) {
                        let start = Alarm::Start(u32::try_from(number).unwrap_or(u32::MAX));
                        self.events.alarm(Some(at), |slot| *slot = start);
                    }
                }
                Wake::Ask(number) => self.ask_again(now, number),
            }
        }
    }

    /// Opens the flow on demand after one that starts, if its start is known.
    #[inline(never)]
    fn open_later(&mut self, now: Time, flow: usize) {
        let Some((number, start, source)) = self.connections.later(flow) else {
            return;
        };
        let at = self.setup.begin.saturating_add(start);
        if self.open(now, number, at, Open::Source(source)) {
            let flow = self.connections[number].flow();
            self.events.start(at, flow);
        }
    }

    /// Opens a flow on demand at a time from `now` on. Returns whether there is such a flow and it was not open.
    fn open(&mut self, now: Time, number: usize, at: Time, what: Open) -> bool {
        // A proxy announces space also to flows that are complete.
        if self.connections.are_many() && self.proxy.is_none() {
            self.process_departures(now);
            self.connections.let_go(self.setup, now);
        }
        self.connections.open(self.setup, number, at, what)
    }

    /// A near host asks its application again.
    fn ask_again(&mut self, now: Time, number: usize) {
        let Some(connection) = self.connections.get_mut(number) else {
            return;
        };
        // One that is not open looks at its application when it is.
        if let Ends::Tcp(tcp) = &mut connection.ends {
            tcp.ask_again();
        }
        let (flow, start) = (connection.flow(), connection.start);
        let settings = &self.setup.flows[connection.described];
        if now >= start.saturating_add(handshake(self.setup, settings)) {
            self.after_sender(now, flow, SenderEvent::Pace);
        }
    }

    pub(super) fn report(mut self, end: Time) -> RunReport {
        self.end_windows(end);
        self.process_departures(end);
        // Packets still in service count as served if their service began within the run.
        let usage = self.gateway.usage(end);
        for served in self.gateway.in_service().filter_map(Departure::served) {
            if served.service.start <= end {
                let left = served.left.filter(|left| *left <= end);
                self.served += 1;
                on_served(&mut self.connections, self.probe, served, left, false);
            }
        }
        self.mark_shared(1);
        let connections = self.connections.end(self.setup, end).iter();
        let tallies: Vec<&FlowTally> = connections.map(|of| &of.tally).collect();
        let link = LinkUse {
            usage,
            packets_served: self.served,
            back: self
                .return_path
                .as_ref()
                .map(|path| (path.usage(end), path.waits())),
            sides: self.side.usage(end),
        };
        let converged = self.convergence.reached();
        RunReport::new(self.setup, end, link, &tallies, converged)
    }
}
