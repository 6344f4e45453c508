//! Short transfers that arrive at random, by the load that they offer to the link.
//!
//! Arrivals are a Poisson process: the gaps are exponential. Transfer k takes numbers 2 k (gap before it) and 2 k + 1 (size) of the
//! load. Each is a flow of its own for TCP, made when its time has come, and all are one in the results.

use tmt_core::math::rng::Uniform;
use tmt_core::named::{Kind, Parameter, ParseError, Values};
use tmt_core::types::{Bytes, Span, to_f64};

use super::law::{Law, Unit};
use super::{Entry, Make, Site, Traffic};
use crate::endpoint::Source;
use crate::simulation::{Flow, Later};

pub(super) static ENTRY: Entry = Entry {
    name: "poisson",
    about: "transfers that arrive at random, by the load that they offer to the link",
    parameters: &[
        Parameter::required("load", Kind::Number(1e-6, 100.0))
            .described("LOAD", "mean rate with headers over the rate of the link"),
        Parameter::required("size", Kind::Text("a size or a distribution"))
            .described("SIZE", "payload of a transfer, fixed or drawn"),
    ],
    examples: &[
        "poisson(load=0.5,size=100kB)",
        "poisson(load=0.8,size=pareto(least=10kB,shape=1.5))",
    ],
    make: Make::of(|values| Ok(Box::new(Poisson::of(values)?))),
};

#[derive(Debug)]
struct Poisson {
    load: f64,
    size: Law,
}

impl Poisson {
    fn of(values: &Values) -> Result<Self, ParseError> {
        Ok(Self {
            load: values.number("load"),
            size: Law::read(values.text("size"), Unit::Bytes)?,
        })
    }

    /// Mean time between transfers, ns; `None` if the rate of the link is unknown.
    fn gap_ns(&self, flow: &Flow, site: &Site) -> Option<f64> {
        let payload = to_f64(flow.payload(site.packet).0);
        let on_link = self.size.mean_pieces(payload) * to_f64(site.packet.0);
        Some(1e9 * 8.0 * on_link / (self.load * site.rate_bps?))
    }
}

impl Traffic for Poisson {
    fn opens_connections(&self) -> bool {
        true
    }

    fn is_random(&self) -> bool {
        true
    }

    fn load(&self, _flow: &Flow, _site: &Site) -> Option<f64> {
        Some(self.load)
    }

    fn flow(&self, flow: Flow, _packet: Bytes) -> Option<Flow> {
        Some(flow)
    }

    fn most_flows(&self, flow: &Flow, site: &Site) -> f64 {
        let gap_ns = self.gap_ns(flow, site);
        gap_ns.map_or(0.0, |gap_ns| to_f64(site.length.as_nanos()) / gap_ns)
    }

    fn flows(&self, flow: &Flow, site: &Site) -> Option<Vec<Flow>> {
        let (gap, size) = (
            Law::exponential(self.gap_ns(flow, site)?),
            self.size.clone(),
        );
        let (start, payload, site) = (flow.start, flow.payload(site.packet), *site);
        let transfers = move || Transfers {
            gap: gap.clone(),
            size: size.clone(),
            numbers: numbers(&site),
            drawn: 0,
            start,
            length: site.length,
            payload,
        };
        let mut all = transfers();
        let first = all.next();
        let Some((start, source)) = first else {
            // One that begins after the run, so that the load is in the results.
            return Some(vec![flow.clone().starting(all.start.max(site.length))]);
        };
        Some(vec![Flow {
            start,
            source,
            on_demand: all.count(),
            later: Some(Later::new(move || transfers().skip(1))),
            ..flow.clone()
        }])
    }
}

/// The numbers from which the load of a run draws.
fn numbers(site: &Site) -> Uniform {
    let lane = u32::try_from(site.number).unwrap_or(u32::MAX);
    Uniform::named(site.seed, ENTRY.name, lane)
}

/// The transfers of a run: start and data of each.
struct Transfers {
    gap: Law,
    size: Law,
    numbers: Uniform,
    drawn: u64,
    /// Start of the last one.
    start: Span,
    length: Span,
    payload: Bytes,
}

impl Transfers {
    fn draw(&mut self) -> f64 {
        self.drawn += 1;
        self.numbers.at(self.drawn - 1)
    }
}

impl Iterator for Transfers {
    type Item = (Span, Source);

    fn next(&mut self) -> Option<(Span, Source)> {
        let u = self.draw();
        self.start = self.start.saturating_add(self.gap.draw_span(u));
        if self.start > self.length {
            return None;
        }
        let u = self.draw();
        let source = Source::of_bytes(Bytes(self.size.draw(u)), self.payload)?;
        Some((self.start, source))
    }
}
