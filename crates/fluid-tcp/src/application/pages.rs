//! Pages of objects over several connections, with pauses to read between them.
//!
//! A page begins with a request on each connection; one on which an object has arrived requests the next one, until there is
//! none. The page is loaded with the last byte of the last object. After a pause the next one begins. Requests take the time of
//! [`Context::request`] to the server, which answers at once. Sizes and pauses are drawn in the order of the requests.
//!
//! Connections stay open, and restart after a pause (RFC 5681, Sec. 4.1; `endpoint/sender/idle.rs`), or each carries one object:
//! then the client opens another one, which its handshake delays, if the hosts have one. Their flows have as many numbers as the
//! shortest pages would need, and a connection only while they are open.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use tmt_core::math::rng::Uniform;
use tmt_core::named::{Kind, Parameter, ParseError, Value, Values};
use tmt_core::types::{Bytes, Span, Time, to_f64};

use super::law::{Law, Unit};
use super::{Entry, Make, Site, Traffic};
use crate::endpoint::{self, Application, Context, Outcome, Source, Supply, Times, Wake};
use crate::simulation::Flow;

pub(super) static ENTRY: Entry = Entry {
    name: "pages",
    about: "pages of objects over several connections, with pauses to read",
    parameters: &[
        Parameter::required("size", Kind::Text("a size or a distribution"))
            .described("SIZE", "size of an object, fixed or drawn"),
        Parameter::preset("objects", Kind::Count(1, 100_000), Value::Count(30)),
        Parameter::preset("connections", Kind::Count(1, 1000), Value::Count(6)),
        Parameter::preset(
            "think",
            Kind::Text("a duration or a distribution"),
            Value::text("10s"),
        ),
        Parameter::preset("up", Kind::Size, Value::Size(Bytes(500))),
        Parameter::switch("persistent", true)
            .described("on|off", "connections stay open; off: one an object"),
    ],
    examples: &[
        "pages(size=50kB)",
        "pages(objects=12,size=20kB,think=2s,persistent=off)",
        "pages(objects=10,size=lognormal(median=10kB,sigma=1.5),connections=2,think=exponential(5s),up=1kB)",
    ],
    make: Make::of(|values| Ok(Box::new(Pages::of(values)?))),
};

/// Requests of one object in a fixed period, over one connection.
pub(super) static REQUEST: Entry = Entry {
    name: "request",
    about: "requests with an answer over a connection, one every so often",
    parameters: &[
        Parameter::preset("up", Kind::Size, Value::Size(Bytes(1000))),
        Parameter::required("down", Kind::Text("a size or a distribution"))
            .described("SIZE", "size of an answer, fixed or drawn"),
        Parameter::required("every", Kind::PERIOD),
    ],
    examples: &[
        "request(down=100kB,every=10s)",
        "request(up=2kB,down=exponential(20kB),every=1s)",
        "request(down=csv({size_bytes;700;12000;90000}),every=500ms)",
    ],
    make: Make::of(|values| {
        Ok(Box::new(Pages {
            size: Law::read(values.text("down"), Unit::Bytes)?,
            objects: 1,
            connections: 1,
            pause: Pause::Every(values.duration("every")),
            up: values.size("up"),
            stays_open: true,
        }))
    }),
};

/// Objects of a run above which nothing is counted any more: more are refused.
const MOST: u64 = 1 << 20;

/// When a page begins after the one before it.
#[derive(Debug, Clone)]
enum Pause {
    /// So long after it is loaded.
    After(Law),
    /// So long after its start, but not before it is loaded.
    Every(Span),
}

#[derive(Debug, Clone)]
struct Pages {
    size: Law,
    objects: u64,
    connections: usize,
    pause: Pause,
    up: Bytes,
    stays_open: bool,
}

impl Pages {
    fn of(values: &Values) -> Result<Self, ParseError> {
        Ok(Self {
            size: Law::read(values.text("size"), Unit::Bytes)?,
            objects: values.count("objects"),
            connections: usize::try_from(values.count("connections")).unwrap_or(1),
            pause: Pause::After(Law::of_pauses(values.text("think"))?),
            up: values.size("up"),
            stays_open: values.is_on("persistent"),
        })
    }

    /// Connections that are open at once.
    fn at_once(&self) -> usize {
        let objects = usize::try_from(self.objects).unwrap_or(usize::MAX);
        self.connections.min(objects)
    }

    /// The numbers from which the flow `entry` of a run draws.
    fn numbers(seed: u64, entry: usize) -> Uniform {
        let lane = u32::try_from(entry).unwrap_or(u32::MAX);
        Uniform::named(seed, ENTRY.name, lane)
    }

    /// Flows that a run needs: connections that stay open, or one for each object of the pages that can begin in it. No object
    /// takes less than a round trip.
    fn needed(&self, flow: &Flow, site: &Site) -> u64 {
        let Pause::After(think) = &self.pause else {
            return self.connections as u64;
        };
        if self.stays_open {
            return self.connections as u64;
        }
        let rounds = self.objects.div_ceil(self.at_once() as u64);
        let fastest = site.rtt.as_nanos().saturating_mul(rounds);
        let mut numbers = Self::numbers(site.seed, site.number);
        let (mut pages, mut begin) = (0_u64, flow.start.as_nanos());
        let end = site.length.as_nanos();
        while begin <= end && pages.saturating_mul(self.objects) <= MOST {
            pages += 1;
            // The pause after a page is drawn after the sizes of its objects.
            let u = numbers.at(pages * self.objects + pages - 1);
            begin = begin.saturating_add(fastest).saturating_add(think.draw(u));
        }
        pages * self.objects
    }

    /// The first connections of a run, which has `flows` in all.
    fn start(&self, flows: usize, context: &Context) -> Vec<Box<dyn Application>> {
        let open = if self.stays_open {
            flows
        } else {
            self.at_once()
        };
        let connection = |number| Connection {
            number,
            ..Connection::default()
        };
        let mut page = Page {
            pages: self.clone(),
            numbers: Self::numbers(context.seed, context.entry),
            drawn: 0,
            first: context.flow,
            request: context.request(self.up),
            handshake: context.open.since(context.start),
            begun: context.start,
            left: 0,
            open: 0,
            connections: (0..open).map(connection).collect(),
            unused: open..flows,
            woken: VecDeque::new(),
            loaded: Vec::new(),
        };
        page.begin(context.open);
        let page = Rc::new(RefCell::new(page));
        let all = (0..open).map(|number| OfPage::of(&page, number, number));
        all.collect()
    }
}

impl Traffic for Pages {
    fn opens_connections(&self) -> bool {
        !self.stays_open
    }

    fn is_random(&self) -> bool {
        let pause = matches!(&self.pause, Pause::After(law) if law.is_random());
        pause || self.size.is_random()
    }

    fn flow(&self, flow: Flow, _packet: Bytes) -> Option<Flow> {
        let own = self.clone();
        Some(grouped(flow, move |context| {
            own.start(own.connections, context)
        }))
    }

    fn most_flows(&self, flow: &Flow, site: &Site) -> f64 {
        to_f64(self.needed(flow, site))
    }

    fn flows(&self, flow: &Flow, site: &Site) -> Option<Vec<Flow>> {
        let needed = usize::try_from(self.needed(flow, site)).unwrap_or(usize::MAX);
        if self.stays_open {
            return Some(vec![flow.clone(); needed]);
        }
        let (own, open) = (self.clone(), self.at_once());
        let flow = grouped(flow.clone(), move |context| own.start(needed, context));
        let mut flows = vec![flow; open];
        if let Some(last) = flows.last_mut() {
            last.on_demand = needed.saturating_sub(open);
        }
        Some(flows)
    }
}

/// The flow with applications that know each other.
fn grouped(
    flow: Flow,
    start: impl Fn(&Context) -> Vec<Box<dyn Application>> + Send + Sync + 'static,
) -> Flow {
    Flow {
        source: Source::Group(Arc::new(endpoint::Make(Box::new(start)))),
        ..flow
    }
}

/// A connection, as server and client see it.
#[derive(Debug, Clone, Default)]
struct Connection {
    /// Its number among those of the run.
    number: usize,
    /// The request that is on its way to the server: when it is there, and the size of the object.
    request: Option<(Time, u64)>,
    /// Bytes that the client waits for.
    missing: u64,
    /// Whether the server has answered.
    answered: bool,
}

/// The page that is loaded, and the pages before it.
#[derive(Debug)]
struct Page {
    pages: Pages,
    numbers: Uniform,
    drawn: u64,
    /// Number of the flow of the first connection.
    first: usize,
    /// Time of a request to the server, and of the opening of a connection.
    request: Span,
    handshake: Span,
    begun: Time,
    /// Objects that are not requested, and those that are and have not arrived.
    left: u64,
    open: u64,
    /// The connection that is, or was last, open in each place.
    connections: Vec<Connection>,
    /// Numbers of those that were never open.
    unused: Range<usize>,
    /// Connections that have a request: place, number, and when to open those that are not open.
    woken: VecDeque<(usize, usize, Option<Time>)>,
    loaded: Vec<Span>,
}

impl Page {
    fn draw(&mut self) -> f64 {
        self.drawn += 1;
        self.numbers.at(self.drawn - 1)
    }

    /// A page begins, whose first requests leave at `now`.
    fn begin(&mut self, now: Time) {
        self.left = self.pages.objects;
        for place in 0..self.connections.len() {
            self.request_next(place, now);
        }
    }

    /// The client requests the next object in a place, if there is one, over a connection that is open, or that it opens.
    fn request_next(&mut self, place: usize, now: Time) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        self.open += 1;
        let (mut sent, mut opens) = (now, None);
        let mut number = self.connections[place].number;
        if !self.pages.stays_open && self.connections[place].answered {
            let Some(unused) = self.unused.next() else {
                // A page after the end of the run.
                return;
            };
            (number, opens) = (unused, Some(now));
            sent = now.saturating_add(self.handshake);
        }
        let u = self.draw();
        let size = self.pages.size.draw(u);
        self.connections[place] = Connection {
            number,
            request: Some((sent.saturating_add(self.request), size)),
            missing: size,
            answered: false,
        };
        self.woken.push_back((place, number, opens));
    }

    /// Bytes reach the client.
    fn on_bytes(&mut self, place: usize, now: Time, bytes: u64) {
        let missing = &mut self.connections[place].missing;
        let before = std::mem::replace(missing, missing.saturating_sub(bytes));
        if before == 0 || *missing > 0 {
            return;
        }
        self.open -= 1;
        if self.left > 0 {
            return self.request_next(place, now);
        }
        if self.open == 0 {
            self.loaded.push(now.since(self.begun));
            let next = match &self.pages.pause {
                Pause::Every(period) => self.begun.saturating_add(*period).max(now),
                Pause::After(law) => {
                    let law = law.clone();
                    let u = self.draw();
                    now.saturating_add(law.draw_span(u))
                }
            };
            self.begun = next;
            self.begin(next);
        }
    }
}

/// A connection of a page.
#[derive(Debug)]
struct OfPage {
    page: Rc<RefCell<Page>>,
    number: usize,
    /// Its place among those that are open at once.
    place: usize,
}

impl OfPage {
    fn of(page: &Rc<RefCell<Page>>, number: usize, place: usize) -> Box<dyn Application> {
        let page = Rc::clone(page);
        Box::new(Self {
            page,
            number,
            place,
        })
    }
}

impl Application for OfPage {
    fn supply(&mut self, now: Time) -> Supply {
        let mut page = self.page.borrow_mut();
        let stays_open = page.pages.stays_open;
        let connection = &mut page.connections[self.place];
        if connection.number != self.number {
            // Another one is open in its place.
            return Supply::Ended;
        }
        match connection.request {
            Some((at, size)) if at <= now => {
                connection.request = None;
                connection.answered = true;
                Supply::Data(Bytes(size))
            }
            Some((at, _)) => Supply::At(at),
            None if connection.answered && !stays_open => Supply::Ended,
            // It is woken with the next request.
            None => Supply::At(Time::MAX),
        }
    }

    fn on_delivered(&mut self, now: Time, payload: Bytes) {
        let mut page = self.page.borrow_mut();
        if page.connections[self.place].number == self.number {
            page.on_bytes(self.place, now, payload.0);
        }
    }

    fn woken(&mut self) -> Option<Wake> {
        let mut page = self.page.borrow_mut();
        let (place, number, opens) = page.woken.pop_front()?;
        let flow = page.first + number;
        Some(match opens {
            Some(at) => Wake::Open(flow, at, Self::of(&self.page, number, place)),
            None => Wake::Ask(flow),
        })
    }

    fn outcome(&mut self, end: Time) -> Outcome {
        if self.number > 0 {
            return Outcome::default();
        }
        let mut page = self.page.borrow_mut();
        let complete = std::mem::take(&mut page.loaded);
        let is_open = page.begun < end;
        let times = Some(Times {
            begun: complete.len() as u64 + u64::from(is_open),
            complete,
        });
        match page.pages.pause {
            Pause::Every(_) => Outcome {
                responses: times,
                ..Outcome::default()
            },
            Pause::After(_) => Outcome {
                pages: times,
                ..Outcome::default()
            },
        }
    }
}
