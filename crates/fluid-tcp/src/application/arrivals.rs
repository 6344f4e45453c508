//! Data that arrive at given times: a table of times, sizes and flows, such as that of a capture.
//!
//! Over TCP each flow of the table is a connection, which is opened by its first arrival; over UDP each arrival is a datagram.
//! An arrival over TCP is complete with the delivery of its last byte, and its time counts from the arrival.

use std::collections::HashMap;
use std::sync::Arc;

use tmt_core::named::{
    Content, Kind, Parameter, ParseError, Row, Rows, TableError, Values, content_within,
};
use tmt_core::types::{Bytes, Span, Time, to_f64};

use super::datagrams::{Jitter, over_udp};
use super::{Entry, Form, Make, Pace, Site, Traffic};
use crate::endpoint::{
    self, Application, Context, Datagram, Mean, Outcome, Source, Supply, Times, UDP_HEADERS,
};
use crate::simulation::{Flow, Later};

/// Name of the parameter of the table.
const FILE: &str = "file";

/// Longest table, bytes, and most arrivals.
const LONGEST: usize = 4 << 20;
const MOST: usize = 100_000;

/// Headers of the table; without the third column each arrival is a flow of its own.
const COLUMNS: [&str; 3] = ["time_s", "size_bytes", "flow"];

const CONTENT: Content = |text| content_within(text, LONGEST, arrivals);

pub(super) static ENTRY: Entry = Entry {
    name: "arrivals",
    about: "data that arrive at given times, over TCP or UDP",
    parameters: &[
        Parameter::required(FILE, Kind::Content)
            .without_name()
            .described(
                "FILE",
                "a table time_s,size_bytes,flow, or a capture (pcap)",
            ),
        Parameter::keyword("over", &["tcp", "udp"]),
        Parameter::optional("headers", Kind::Size, "").described(
            "SIZE",
            "headers of a datagram, 28B of IPv4 and UDP if not given",
        ),
    ],
    examples: &[
        "arrivals({time_s,size_bytes,flow;0,30000,a;0.5,1200,b;0.75,90000,a})",
        "arrivals({time_s,size_bytes;0,30000;0.125,5000})",
        "arrivals({time_s,size_bytes,flow;0,172,1;0.02,172,1;0.031,900,2},over=udp,headers=28B)",
    ],
    make: Make {
        traffic: |values| Ok(Box::new(Arrivals::of(values)?)),
        content: Some(CONTENT),
    },
};

/// A time since the start of the flow, and the size of what arrives then.
type Arrival = (Span, Bytes);

/// The arrivals of each flow, each rising, in the order of their first ones.
#[derive(Debug)]
struct Arrivals {
    flows: Arc<[Arc<[Arrival]>]>,
    /// Headers of a datagram; `None` over TCP.
    headers: Option<Bytes>,
}

/// The arrivals of each flow of a table.
fn arrivals(rows: &Rows<'_>) -> Result<Vec<Vec<Arrival>>, TableError> {
    let form = COLUMNS.join(",");
    let (header, rows) = rows.with_header(&form)?;
    let columns = &COLUMNS[..header.cells.len().clamp(2, 3)];
    if header.cells != columns {
        let found = header.cells.join(",");
        return Err(header.wrong(format!(
            "found '{found}', expected the header {form}, the last of which may be left out"
        )));
    }
    if rows.len() > MOST {
        let found = rows.len();
        return Err(TableError::whole(format!(
            "found {found} arrivals, expected at most {MOST}"
        )));
    }
    let mut flows: Vec<Vec<Arrival>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut last = Span::ZERO;
    for row in rows {
        let arrival @ (time, _) = arrival(row, columns.len())?;
        if time < last {
            return Err(row.fault(
                0,
                format!("found {time} after {last}, expected rising times"),
            ));
        }
        last = time;
        let new = flows.len();
        let place = row
            .cells
            .get(2)
            .map_or(new, |name| *places.entry(*name).or_insert(new));
        if place == new {
            flows.push(Vec::new());
        }
        flows[place].push(arrival);
    }
    Ok(flows)
}

/// The arrival on a row of so many columns.
fn arrival(row: &Row<'_>, columns: usize) -> Result<Arrival, TableError> {
    let found = row.cells.len();
    if found != columns {
        return Err(row.wrong(format!("found {found} columns, expected {columns}")));
    }
    Ok((
        row.seconds(0, "a time")?,
        Bytes(row.whole(1, "a size in bytes")?),
    ))
}

impl Arrivals {
    fn of(values: &Values) -> Result<Self, ParseError> {
        let over_udp = values.word("over") == "udp";
        let headers = values.get("headers").map(|_| values.size("headers"));
        match headers {
            Some(headers) if !over_udp => {
                return Err(ParseError::mismatch(
                    format!("headers={headers} with over=tcp"),
                    "over=udp, whose datagrams have them",
                ));
            }
            Some(headers) if headers < UDP_HEADERS => {
                return Err(ParseError::mismatch(
                    format!("headers={headers}"),
                    format!("at least {UDP_HEADERS} of IPv4 and UDP"),
                ));
            }
            _ => {}
        }
        let rows = Rows::within(values.text(FILE), LONGEST);
        let flows = rows.and_then(|rows| arrivals(&rows));
        let flows = flows.map_err(|error| ParseError::new(error.to_string()))?;
        Ok(Self {
            flows: flows.into_iter().map(Arc::from).collect(),
            headers: over_udp.then(|| headers.unwrap_or(UDP_HEADERS)),
        })
    }

    fn all(&self) -> impl Iterator<Item = &Arrival> {
        self.flows.iter().flat_map(|flow| flow.iter())
    }

    /// Bytes on the link of an arrival of `flow`.
    fn on_link(&self, size: Bytes, flow: &Flow, packet: Bytes) -> u64 {
        if let Some(headers) = self.headers {
            return size.0.saturating_add(headers.0);
        }
        let packets = size.0.div_ceil(flow.payload(packet).0.max(1));
        packets.saturating_mul(packet.0)
    }
}

impl Traffic for Arrivals {
    fn opens_connections(&self) -> bool {
        true
    }

    fn datagrams(&self) -> Option<Form> {
        let headers = self.headers?;
        let payload = self.all().map(|(_, size)| *size).max()?;
        Some(Form {
            payload,
            headers,
            pace: Pace::Arrivals,
        })
    }

    fn load(&self, flow: &Flow, site: &Site) -> Option<f64> {
        let room = site.length.saturating_sub(flow.start);
        let within = self.all().filter(|(time, _)| *time < room);
        let bytes = within.map(|(_, size)| to_f64(self.on_link(*size, flow, site.packet)));
        let carried = site.rate_bps? * site.length.as_secs_f64() / 8.0;
        (carried > 0.0).then(|| bytes.sum::<f64>() / carried)
    }

    fn note(&self, flow: &Flow, site: &Site) -> Option<String> {
        let room = site.length.saturating_sub(flow.start);
        let late = self.all().filter(|(time, _)| *time >= room).count();
        let all = self.all().count();
        (late > 0).then(|| {
            format!(
                "{late} of {all} arrivals are not before the end of the run: a longer `duration`"
            )
        })
    }

    fn flow(&self, flow: Flow, _packet: Bytes) -> Option<Flow> {
        Some(match self.headers {
            Some(headers) => over_udp(flow, headers),
            None => flow,
        })
    }

    fn flows(&self, flow: &Flow, site: &Site) -> Option<Vec<Flow>> {
        let (begin, length, is_stream) = (flow.start, site.length, self.headers.is_none());
        let payload = is_stream.then(|| flow.payload(site.packet));
        let all = Arc::clone(&self.flows);
        let starts = move || {
            let all = Arc::clone(&all);
            let starts = (0..all.len()).filter_map(move |at| {
                let (first, _) = *all[at].first()?;
                Some((begin.saturating_add(first), source(&all[at], payload)?))
            });
            starts.take_while(move |(start, _)| *start < length)
        };
        let made = |(start, source)| Flow {
            start,
            source,
            ..flow.clone()
        };
        let mut flows: Vec<Flow> = if is_stream {
            starts().take(1).map(made).collect()
        } else {
            starts().map(made).collect()
        };
        if flows.is_empty() {
            // One without data, so that they are in the results.
            let arriving =
                move |context: &Context| Arriving::new(Arc::default(), context.start, is_stream);
            flows.push(flow.clone().with(arriving));
        } else if let ([first], true) = (&mut flows[..], is_stream) {
            first.on_demand = starts().skip(1).count();
            first.later = Some(Later::new(move || starts().skip(1)));
        }
        Some(flows)
    }
}

/// Where the data of arrivals of a flow come from, over TCP in full packets with this payload, or else over UDP.
fn source(arrivals: &Arc<[Arrival]>, payload: Option<Bytes>) -> Option<Source> {
    if let ([(_, size)], Some(payload)) = (&arrivals[..], payload) {
        return Source::of_bytes(*size, payload);
    }
    let (arrivals, is_stream) = (Arc::clone(arrivals), payload.is_some());
    Some(Source::Application(Arc::new(endpoint::Make(Box::new(
        move |context| {
            Box::new(Arriving::new(
                Arc::clone(&arrivals),
                context.start,
                is_stream,
            ))
        },
    )))))
}

/// The arrivals of a flow during a run.
#[derive(Debug)]
struct Arriving {
    arrivals: Arc<[Arrival]>,
    /// Time of the zero of their times.
    zero: Time,
    supplied: usize,
    bytes: u64,
    /// Of a stream, the arrival that is delivered next and what it lacks, bytes.
    delivered: usize,
    missing: u64,
    complete: Vec<Span>,
    /// Jitter of datagrams; `None` for a stream.
    jitter: Option<Jitter>,
}

impl Arriving {
    /// Arrivals of a flow that starts with the first of them.
    fn new(arrivals: Arc<[Arrival]>, start: Time, is_stream: bool) -> Self {
        let first = arrivals.first().copied().unwrap_or_default();
        let since = start.since(Time::ZERO).saturating_sub(first.0);
        Self {
            zero: Time::ZERO.saturating_add(since),
            supplied: 0,
            bytes: 0,
            delivered: 0,
            missing: first.1.0,
            complete: Vec::new(),
            jitter: (!is_stream).then(Jitter::default),
            arrivals,
        }
    }

    fn time(&self, number: usize) -> Option<Time> {
        let (after, _) = self.arrivals.get(number)?;
        Some(self.zero.saturating_add(*after))
    }
}

impl Application for Arriving {
    fn supply(&mut self, now: Time) -> Supply {
        let Some(at) = self.time(self.supplied) else {
            return Supply::Ended;
        };
        if now < at {
            return Supply::At(at);
        }
        let (_, size) = self.arrivals[self.supplied];
        self.supplied += 1;
        self.bytes = self.bytes.saturating_add(size.0);
        Supply::Data(size)
    }

    fn on_delivered(&mut self, now: Time, payload: Bytes) {
        let mut bytes = payload.0;
        while let Some(at) = self.time(self.delivered) {
            if bytes < self.missing {
                self.missing -= bytes;
                return;
            }
            bytes -= self.missing;
            self.complete.push(now.since(at));
            self.delivered += 1;
            let next = self.arrivals.get(self.delivered);
            self.missing = next.map_or(0, |(_, size)| size.0);
        }
    }

    fn on_datagram(&mut self, now: Time, datagram: &Datagram) {
        if let Some(jitter) = &mut self.jitter {
            jitter.on_arrival(now, datagram.sent);
        }
    }

    fn outcome(&mut self, end: Time) -> Outcome {
        let Some(jitter) = &self.jitter else {
            let begun = (0..).map_while(|number| self.time(number));
            return Outcome {
                transfers: Some(Times {
                    begun: begun.take_while(|at| *at < end).count() as u64,
                    complete: std::mem::take(&mut self.complete),
                }),
                ..Outcome::default()
            };
        };
        let values = jitter.values();
        Outcome {
            offered: Some(Bytes(self.bytes)),
            jitter_s: values.map_or_else(Mean::default, |(last, _)| Mean::of(last)),
            jitter_max_s: values.map(|(_, most)| most),
            ..Outcome::default()
        }
    }
}
