//! The flows of a run before its begin.

use std::sync::Arc;

use tmt_core::types::{Span, Time};

use crate::endpoint::tcp::Tcp;
use crate::endpoint::{Context, Endpoint, Ends, Groups, Other};
use crate::simulation::path::halves;
use crate::simulation::setup::entries;
use crate::simulation::tally::FlowTally;
use crate::simulation::{Flow, Setup};

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
    /// Class of its packets.
    pub(super) class: u8,
    pub(super) tally: FlowTally,
    pub(super) start: Time,
    /// Delay of an ACK from the gateway to the sender.
    pub(super) terrestrial_back: Span,
    pub(super) started: bool,
}

/// The connections of the flows, over a network that may keep the order of their packets, and the delay of each from its sender to
/// the gateway. `sides` says which sides of the link have hops.
pub(super) fn connections(
    setup: &Setup,
    keeps_order: bool,
    sides: [bool; 2],
) -> (Vec<Connection>, Vec<Span>) {
    let (mut endpoints, mut groups) = (Endpoints::default(), Groups::default());
    let entries = entries(&setup.flows);
    let tallies = FlowTally::all(&entries, keeps_order, sides);
    let terrestrial: Vec<[Span; 2]> = (0..setup.flows.len())
        .map(|flow| halves(setup.terrestrial_rtt(flow)))
        .collect();
    let connections = setup.flows.iter().zip(&terrestrial).zip(tallies);
    let connections = connections.enumerate();
    let connections = connections.map(|(number, ((flow, [_, back]), tally))| {
        let return_delay = setup.rtt.saturating_sub(setup.rtt.half());
        let start = setup.begin.saturating_add(flow.start);
        let shakes_hands = flow.endpoint.handshake && flow.hosts.is_none();
        let handshake = if shakes_hands {
            setup.round_trip(number)
        } else {
            Span::ZERO
        };
        let context = Context {
            flow: number,
            entry: entries[number],
            packet: setup.packet,
            seed: setup.seed,
            start,
            open: start.saturating_add(handshake),
            back: return_delay.saturating_add(*back),
            return_rate: setup.return_path.rate,
            return_on_request: setup.return_path.on_request(),
        };
        Connection {
            ends: ends(flow, &context, &mut endpoints, &mut groups),
            // One on demand has none before it is opened.
            start: if flow.on_demand { Time::MAX } else { start },
            terrestrial_back: *back,
            ack_delay: context.back,
            far_event: None,
            timer_event: None,
            near_event: None,
            class: flow.class,
            started: false,
            tally,
        }
    });
    let connections = connections.collect();
    (
        connections,
        terrestrial
            .into_iter()
            .map(|[forward, _]| forward)
            .collect(),
    )
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

/// The hosts of a flow.
fn ends(flow: &Flow, context: &Context, endpoints: &mut Endpoints, groups: &mut Groups) -> Ends {
    let Some(make) = &flow.hosts else {
        let endpoint = endpoints.share(flow.endpoint);
        let tcp = Tcp::new(&flow.algorithm, endpoint, &flow.source, context, groups);
        return Ends::Tcp(tcp);
    };
    let [near, far] = (make.0)(context);
    let socket = flow.source.socket(context, context.packet, groups);
    Ends::Other(Box::new(Other { near, far, socket }))
}
