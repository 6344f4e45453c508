//! Pages of objects over several connections that stay open, with pauses to read between them.
//!
//! A page begins with a request on each connection; one on which an object has arrived requests the next one, until there is
//! none. The page is loaded with the last byte of the last object. After a pause the next one begins. Requests take the time of
//! [`Context::request`] to the server, which answers at once. Sizes and pauses are drawn in the order of the requests. A
//! connection that was idle goes on with its window: a restart (RFC 5681, Sec. 4.1) is not modelled.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use tmt_core::math::rng::Uniform;
use tmt_core::named::{Kind, Parameter, ParseError, Value, Values};
use tmt_core::types::{Bytes, Span, Time};

use super::law::{Law, Unit};
use super::{Entry, Make, Site, Traffic};
use crate::endpoint::{self, Application, Context, Outcome, Source, Supply, Times};
use crate::simulation::Flow;

pub(super) static ENTRY: Entry = Entry {
    name: "pages",
    about: "pages of objects over connections that stay open, with pauses to read",
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
    ],
    examples: &[
        "pages(size=50kB)",
        "pages(objects=10,size=lognormal(median=10kB,sigma=1.5),connections=2,think=exponential(5s),up=1kB)",
    ],
    make: Make(|values| Ok(Box::new(Pages::of(values)?))),
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
    make: Make(|values| {
        Ok(Box::new(Pages {
            size: Law::read(values.text("down"), Unit::Bytes)?,
            objects: 1,
            connections: 1,
            pause: Pause::Every(values.duration("every")),
            up: values.size("up"),
        }))
    }),
};

/// When a page begins after the one before it.
#[derive(Debug, Clone)]
enum Pause {
    /// So long after it is loaded.
    After(Law),
    /// So long after its begin, but not before it is loaded.
    Every(Span),
}

#[derive(Debug, Clone)]
struct Pages {
    size: Law,
    objects: u64,
    connections: usize,
    pause: Pause,
    up: Bytes,
}

impl Pages {
    fn of(values: &Values) -> Result<Self, ParseError> {
        Ok(Self {
            size: Law::read(values.text("size"), Unit::Bytes)?,
            objects: values.count("objects"),
            connections: usize::try_from(values.count("connections")).unwrap_or(1),
            pause: Pause::After(Law::read(values.text("think"), Unit::Span)?),
            up: values.size("up"),
        })
    }

    /// The connections of a run.
    fn start(&self, context: &Context) -> Vec<Box<dyn Application>> {
        let lane = u32::try_from(context.entry).unwrap_or(u32::MAX);
        let mut page = Page {
            pages: self.clone(),
            numbers: Uniform::named(context.seed, ENTRY.name, lane),
            drawn: 0,
            first: context.flow,
            request: context.request(self.up),
            begun: context.start,
            left: 0,
            open: 0,
            connections: vec![Connection::default(); self.connections],
            woken: VecDeque::new(),
            loaded: Vec::new(),
        };
        page.begin(context.open);
        let page = Rc::new(RefCell::new(page));
        let connection = |number| -> Box<dyn Application> {
            Box::new(OfPage {
                page: Rc::clone(&page),
                number,
            })
        };
        (0..self.connections).map(connection).collect()
    }
}

impl Traffic for Pages {
    fn is_random(&self) -> bool {
        let pause = matches!(&self.pause, Pause::After(law) if law.is_random());
        pause || self.size.is_random()
    }

    fn flow(&self, flow: Flow, _packet: Bytes) -> Option<Flow> {
        let own = self.clone();
        let make = endpoint::Make(Box::new(move |context: &Context| own.start(context)));
        Some(Flow {
            source: Source::Group(Arc::new(make)),
            ..flow
        })
    }

    fn flows(&self, flow: &Flow, _site: &Site) -> Option<Vec<Flow>> {
        Some(vec![flow.clone(); self.connections])
    }
}

/// A connection, as server and client see it.
#[derive(Debug, Clone, Default)]
struct Connection {
    /// The request that is on its way to the server: when it is there, and the size of the object.
    request: Option<(Time, u64)>,
    /// Bytes that the client waits for.
    missing: u64,
}

/// The page that is loaded, and the pages before it.
#[derive(Debug)]
struct Page {
    pages: Pages,
    numbers: Uniform,
    drawn: u64,
    /// Number of the flow of the first connection.
    first: usize,
    /// Time of a request to the server.
    request: Span,
    begun: Time,
    /// Objects that are not requested, and those that are and have not arrived.
    left: u64,
    open: u64,
    connections: Vec<Connection>,
    woken: VecDeque<usize>,
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
        for connection in 0..self.connections.len() {
            self.request_next(connection, now);
        }
    }

    /// The client requests the next object, if there is one.
    fn request_next(&mut self, connection: usize, now: Time) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        self.open += 1;
        let u = self.draw();
        let size = self.pages.size.draw(u);
        self.connections[connection] = Connection {
            request: Some((now.saturating_add(self.request), size)),
            missing: size,
        };
        self.woken.push_back(self.first + connection);
    }

    /// Bytes reach the client.
    fn on_bytes(&mut self, connection: usize, now: Time, bytes: u64) {
        let missing = &mut self.connections[connection].missing;
        let before = std::mem::replace(missing, missing.saturating_sub(bytes));
        if before == 0 || *missing > 0 {
            return;
        }
        self.open -= 1;
        if self.left > 0 {
            return self.request_next(connection, now);
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
}

impl Application for OfPage {
    fn supply(&mut self, now: Time) -> Supply {
        let request = &mut self.page.borrow_mut().connections[self.number].request;
        match *request {
            Some((at, size)) if at <= now => {
                *request = None;
                Supply::Data(Bytes(size))
            }
            Some((at, _)) => Supply::At(at),
            // It is woken with the next request.
            None => Supply::At(Time::MAX),
        }
    }

    fn on_delivered(&mut self, now: Time, payload: Bytes) {
        self.page.borrow_mut().on_bytes(self.number, now, payload.0);
    }

    fn woken(&mut self) -> Option<usize> {
        self.page.borrow_mut().woken.pop_front()
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
