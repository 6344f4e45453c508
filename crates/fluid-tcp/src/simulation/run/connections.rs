//! The connections of a run: those of all flows from its start on, those of flows on demand while they are open.

use std::fmt;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use tmt_core::types::{Span, Time};

use crate::endpoint::tcp::{Data, Tcp};
use crate::endpoint::{Application, Context, Endpoint, Ends, Groups, Other, Socket, Source};
use crate::simulation::event::Moment;
use crate::simulation::path::halves;
use crate::simulation::setup::entries;
use crate::simulation::tally::FlowTally;
use crate::simulation::{Flow, Setup};

/// Number of connections on demand below which none is let go.
const FEW: usize = 64;

/// Place of a flow that is not open.
const CLOSED: u32 = u32::MAX;

/// State of a flow during a run. Fields lie in the order in which they are declared, next to what is used with them.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Connection {
    pub(super) ends: Ends,
    /// Delay of an ACK from the receiver.
    pub(super) ack_delay: Span,
    /// Times of the scheduled events: of the far host, of the timer of a TCP sender, of the near host.
    pub(super) far_event: Option<Time>,
    pub(super) timer_event: Option<Time>,
    pub(super) near_event: Option<Time>,
    /// Delay of a packet from the sender to the first hop.
    pub(super) toward: Span,
    /// Class of its packets.
    pub(super) class: u8,
    pub(super) tally: FlowTally,
    pub(super) start: Time,
    /// Delay of an ACK from the gateway to the sender.
    pub(super) terrestrial_back: Span,
    /// Where the event of the far host was scheduled, and its sequence number.
    pub(super) far_since: Moment,
    pub(super) far_sequence: u64,
    pub(super) started: bool,
    /// Number of its flow, and place of that in the setup.
    number: usize,
    pub(super) described: usize,
    /// Its data, if they are not those of that place.
    source: Option<Source>,
}

/// What a flow on demand carries.
pub(super) enum Open {
    /// What an application supplies.
    Application(Box<dyn Application>),
    /// Data that were known before the run.
    Source(Source),
}

/// Flows that follow one of the setup at known times.
struct Following {
    starts: Box<dyn Iterator<Item = (Span, Source)>>,
    /// Number of the next one, and of the one after the last.
    next: usize,
    end: usize,
}

impl fmt::Debug for Following {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Following {} to {}", self.next, self.end)
    }
}

impl Connection {
    /// Number of its flow, as packets have it.
    pub(super) fn flow(&self) -> u32 {
        u32::try_from(self.number).unwrap_or(u32::MAX)
    }

    /// Whether nothing of it is under way, and nothing will be: one without data is complete when it starts, not before.
    fn is_over(&self) -> bool {
        let is_done = self.tally.is_complete()
            && match &self.ends {
                Ends::Tcp(tcp) => {
                    tcp.is_complete() && tcp.sender.is_done() && tcp.receiver.deadline().is_none()
                }
                Ends::Other(_) => false,
            };
        let is_due = self.far_event.is_some() || self.near_event.is_some();
        is_done && !is_due && !self.tally.is_under_way()
    }

    /// Takes what its hosts have counted until `end`.
    fn end(&mut self, setup: &Setup, end: Time) {
        let flow = &setup.flows[self.described];
        let source = self.source.as_ref().unwrap_or(&flow.source);
        let is_of_load = flow.part_of.is_some() && matches!(source, Source::Bulk { .. });
        let begins = is_of_load.then_some(self.start < end);
        let payload = |packets| source.payload_of(packets, flow.payload(setup.packet));
        let (ends, is_part) = (&mut self.ends, flow.is_part());
        self.tally.end(ends, end, is_part, begins, payload);
    }
}

/// The connections of a run, by the numbers of their flows.
#[derive(Debug)]
pub(super) struct Connections {
    /// Those of the flows of the setup, and then those on demand that are open, in any order.
    open: Vec<Connection>,
    /// Place of each flow in `open`; empty if that is its number.
    places: Vec<u32>,
    /// Numbers of the flows of the setup, and their numbers in the results.
    numbers: Vec<usize>,
    entries: Vec<usize>,
    endpoints: Endpoints,
    /// Those that follow flows of the setup.
    following: Vec<Following>,
    /// Number of open connections above which those that are over are let go.
    most: usize,
}

impl Connections {
    /// The connections of the flows of `setup`, over a network that may keep the order of their packets. `sides` says which sides of
    /// the link have hops.
    pub(super) fn new(setup: &Setup, keeps_order: bool, sides: [bool; 2]) -> Self {
        let flows = &setup.flows;
        let entries = entries(flows);
        let tallies = FlowTally::all(&entries, keeps_order, sides);
        let mut all = Self {
            open: Vec::with_capacity(flows.len()),
            places: Vec::new(),
            numbers: Vec::with_capacity(flows.len()),
            most: flows.len() + FEW,
            entries,
            endpoints: Endpoints::default(),
            following: Vec::new(),
        };
        let (mut groups, mut number) = (Groups::default(), 0);
        for (described, (flow, tally)) in flows.iter().zip(tallies).enumerate() {
            let start = setup.begin.saturating_add(flow.start);
            let context = all.context(setup, described, number, start);
            let ends = ends(flow, &context, &mut all.endpoints, &mut groups);
            all.numbers.push(number);
            all.add(setup, described, &context, (ends, None), tally);
            let (next, end) = (number + 1, number + 1 + flow.on_demand);
            let starts = flow.later.as_ref().filter(|_| next < end);
            all.following.extend(starts.map(|later| Following {
                starts: later.starts(),
                next,
                end,
            }));
            number = end;
        }
        if number > flows.len() {
            all.places = vec![CLOSED; number];
            for (place, number) in (0..).zip(&all.numbers) {
                all.places[*number] = place;
            }
        }
        all
    }

    /// What the hosts of flow `number` know of their run.
    fn context(&self, setup: &Setup, described: usize, number: usize, start: Time) -> Context {
        let flow = &setup.flows[described];
        let [_, back] = halves(setup.terrestrial_rtt(flow));
        let return_delay = setup.rtt.saturating_sub(setup.rtt.half());
        Context {
            flow: number,
            entry: self.entries[described],
            packet: setup.packet,
            seed: setup.seed,
            start,
            open: start.saturating_add(handshake(setup, flow)),
            back: return_delay.saturating_add(back),
            return_rate: setup.return_path.rate,
            return_on_request: setup.return_path.on_request(),
        }
    }

    fn add(
        &mut self,
        setup: &Setup,
        described: usize,
        context: &Context,
        (ends, source): (Ends, Option<Source>),
        tally: FlowTally,
    ) {
        let flow = &setup.flows[described];
        let [toward, back] = halves(setup.terrestrial_rtt(flow));
        self.open.push(Connection {
            ends,
            start: context.start,
            terrestrial_back: back,
            toward,
            ack_delay: context.back,
            far_event: None,
            far_since: Moment::default(),
            far_sequence: 0,
            timer_event: None,
            near_event: None,
            class: flow.class,
            started: false,
            tally,
            number: context.flow,
            described,
            source,
        });
    }

    /// Opens flow `number`, which is on demand, at `start`. Returns whether there is such a flow and it was not open.
    pub(super) fn open(&mut self, setup: &Setup, number: usize, start: Time, what: Open) -> bool {
        if self.places.get(number) != Some(&CLOSED) {
            return false;
        }
        // After those of the setup, whose first has number 0.
        let described = self.numbers.partition_point(|first| *first < number) - 1;
        let context = self.context(setup, described, number, start);
        let flow = &setup.flows[described];
        let (data, source) = match what {
            Open::Application(application) => (Data::Stream(Socket::new(application)), None),
            Open::Source(source) => {
                let data = Data::of(&source, &context, &mut Groups::default());
                (data, Some(source))
            }
        };
        let endpoint = self.endpoints.share(flow.endpoint);
        let tcp = Tcp::new(&flow.algorithm, endpoint, data, setup.packet);
        let tally = self.open[described].tally.another();
        self.places[number] = u32::try_from(self.open.len()).unwrap_or(CLOSED);
        self.add(setup, described, &context, (Ends::Tcp(tcp), source), tally);
        true
    }

    /// Whether flows follow others at known times.
    #[inline]
    pub(super) fn have_later(&self) -> bool {
        !self.following.is_empty()
    }

    /// The flow that follows `flow`, if it has not been asked for: its number, start and data.
    pub(super) fn later(&mut self, flow: usize) -> Option<(usize, Span, Source)> {
        let mut all = self.following.iter_mut();
        let following = all.find(|following| following.next == flow + 1)?;
        let number = following.next;
        if number == following.end {
            return None;
        }
        let (start, source) = following.starts.next()?;
        following.next += 1;
        Some((number, start, source))
    }

    /// Whether enough connections are open to let those go that are over.
    pub(super) fn are_many(&self) -> bool {
        self.open.len() > self.most
    }

    /// Lets those on demand go that are over, and keeps their counts.
    pub(super) fn let_go(&mut self, setup: &Setup, now: Time) {
        self.close(setup, now, Connection::is_over);
        // Looking at all of them costs no more than opening as many as are left.
        let left = self.open.len() - self.numbers.len();
        self.most = self.open.len() + left.max(FEW);
    }

    /// Ends all connections with the run at `end`, and returns those of the setup, which have the counts of all.
    pub(super) fn end(&mut self, setup: &Setup, end: Time) -> &[Connection] {
        self.close(setup, end, |_| true);
        for connection in &mut self.open {
            connection.end(setup, end);
        }
        &self.open
    }

    fn close(&mut self, setup: &Setup, now: Time, which: impl Fn(&Connection) -> bool) {
        let mut place = self.numbers.len();
        while let Some(connection) = self.open.get(place) {
            if !which(connection) {
                place += 1;
                continue;
            }
            let mut closed = self.open.swap_remove(place);
            closed.end(setup, now);
            self.open[closed.described].tally.take_in(&closed.tally);
            self.places[closed.number] = CLOSED;
            if let Some(moved) = self.open.get(place) {
                self.places[moved.number] = u32::try_from(place).unwrap_or(CLOSED);
            }
        }
    }

    /// Those of the flows of the setup, in their order.
    pub(super) fn described(&self) -> &[Connection] {
        &self.open[..self.numbers.len()]
    }

    /// As [`Self::described`].
    pub(super) fn described_mut(&mut self) -> &mut [Connection] {
        &mut self.open[..self.numbers.len()]
    }

    /// Place of a flow.
    #[inline]
    pub(super) fn place(&self, flow: usize) -> usize {
        if self.places.is_empty() {
            flow
        } else {
            self.places[flow] as usize
        }
    }

    /// The connection at this place, until others are opened or closed.
    #[inline]
    pub(super) fn at(&mut self, place: usize) -> &mut Connection {
        &mut self.open[place]
    }

    /// The connection of a flow; `None` if it is not open, or no flow has this number.
    #[inline]
    pub(super) fn get_mut(&mut self, flow: usize) -> Option<&mut Connection> {
        let place = match self.places.get(flow) {
            Some(place) => *place as usize,
            None if self.places.is_empty() => flow,
            None => return None,
        };
        self.open.get_mut(place)
    }
}

impl Index<usize> for Connections {
    type Output = Connection;

    #[inline]
    fn index(&self, flow: usize) -> &Connection {
        &self.open[self.place(flow)]
    }
}

impl IndexMut<usize> for Connections {
    #[inline]
    fn index_mut(&mut self, flow: usize) -> &mut Connection {
        let place = self.place(flow);
        &mut self.open[place]
    }
}

/// Time that the handshake of a flow takes; zero without one.
pub(super) fn handshake(setup: &Setup, flow: &Flow) -> Span {
    if flow.endpoint.handshake && flow.hosts.is_none() {
        setup.round_trip(flow)
    } else {
        Span::ZERO
    }
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

/// The hosts of a flow of the setup.
fn ends(flow: &Flow, context: &Context, endpoints: &mut Endpoints, groups: &mut Groups) -> Ends {
    let Some(make) = &flow.hosts else {
        let endpoint = endpoints.share(flow.endpoint);
        let data = Data::of(&flow.source, context, groups);
        return Ends::Tcp(Tcp::new(&flow.algorithm, endpoint, data, context.packet));
    };
    let [near, far] = (make.0)(context);
    let socket = flow.source.socket(context, context.packet, groups);
    Ends::Other(Box::new(Other { near, far, socket }))
}
