//! Applications: where the data of a flow come from, and where they go.

use std::fmt::{self, Debug};
use std::sync::Arc;

use tmt_core::types::{BitRate, Bytes, Span, Time};

use super::Outcome;

/// Answer of an application that is asked for data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supply {
    /// Data of this size: the next bytes of a stream, or one datagram. TCP puts them into full packets, and what is left
    /// into one of its own once there is nothing more to send with it, as with `TCP_NODELAY`.
    Data(Bytes),
    /// Nothing before this time, which must be later than that of the question.
    At(Time),
    /// Nothing any more. The flow is complete when everything has been delivered.
    Ended,
}

/// The application of a flow. It supplies the near host, which begins the flow, with data, and takes what the far host gets
/// of them. It is one object for both ends, so that it can compare them; it must not use at one end what only the other can
/// know.
///
/// A message of 10 kB every second, 30 in all:
///
/// ```
/// use fluid_tcp::congestion::Algorithm;
/// use fluid_tcp::endpoint::{Application, Endpoint, Supply};
/// use fluid_tcp::simulation::{Flow, Setup, probe::NoProbe, run};
/// use tmt_core::{BitRate, Bytes, Span, Time};
///
/// #[derive(Debug)]
/// struct Messages {
///     left: u32,
///     next: Time,
/// }
///
/// impl Application for Messages {
///     fn supply(&mut self, now: Time) -> Supply {
///         if self.left == 0 {
///             return Supply::Ended;
///         }
///         if now < self.next {
///             return Supply::At(self.next);
///         }
///         self.left -= 1;
///         self.next = self.next.saturating_add(Span::from_secs(1));
///         Supply::Data(Bytes(10_000))
///     }
/// }
///
/// let flow = Flow::new(Algorithm::default(), Endpoint::default());
/// let flow = flow.with(|context| Messages { left: 30, next: context.start });
/// let setup = Setup::new(vec![flow], Span::from_millis(100), Span::from_secs(60));
/// let link = setup.synthetic_link(BitRate(1_000_000), None).ok_or("no such link")?;
/// let metrics = run(&setup, link, &mut NoProbe)?.total.metrics;
/// assert_eq!(metrics.packets_delivered, 30 * 7);
/// assert!(metrics.completion_time_s > Some(29.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Application: Debug {
    /// Takes data that are available at `now`, or says when there will be some. The near host asks when it could send, until
    /// it has enough or there is nothing; TCP asks again before that time only if it is woken ([`Self::woken`]).
    fn supply(&mut self, now: Time) -> Supply;

    /// The far host passes on data at `now`: `payload` bytes of a stream, in order, or a datagram of this size.
    fn on_delivered(&mut self, _now: Time, _payload: Bytes) {}

    /// The far host gets a datagram at `now`. By default this is [`Self::on_delivered`] for its payload.
    fn on_datagram(&mut self, now: Time, datagram: &Datagram) {
        self.on_delivered(now, datagram.payload);
    }

    /// A flow for which something has changed: one after the other, then `None`. A run asks for it after each delivery of TCP; a
    /// flow that has not started is not asked. By default no flow is woken.
    fn woken(&mut self) -> Option<Wake> {
        None
    }

    /// Observations, at the end of a run. By default nothing.
    fn outcome(&mut self, _end: Time) -> Outcome {
        Outcome::default()
    }
}

/// Request of an application to its run about the flow of this number.
#[derive(Debug)]
pub enum Wake {
    /// Its near host asks its application again.
    Ask(usize),
    /// A flow on demand ([`Flow::on_demand`](crate::simulation::Flow::on_demand)) starts at this time, with this application. Each
    /// may once.
    Open(usize, Time, Box<dyn Application>),
}

/// A datagram as its receiver sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Number in the order of sending, from 0.
    pub number: u64,
    /// Time of sending, as it carries it.
    pub sent: Time,
    /// Size without headers.
    pub payload: Bytes,
}

/// A transfer of this size, which is all available at once.
#[derive(Debug, Clone, Copy)]
pub struct Transfer(pub Bytes);

impl Application for Transfer {
    fn supply(&mut self, _now: Time) -> Supply {
        match std::mem::take(&mut self.0) {
            Bytes(0) => Supply::Ended,
            all => Supply::Data(all),
        }
    }
}

/// The flow that parts are made for.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// Number of the flow for TCP, from 0.
    pub flow: usize,
    /// Number of the flow in the results, from 0: flows that are part of one load or page share it.
    pub entry: usize,
    /// Size of a usual packet of the run, headers included.
    pub packet: Bytes,
    /// Seed of the run.
    pub seed: u64,
    /// Time at which the flow starts.
    pub start: Time,
    /// Time at which a connection is open: after the handshake, if there is one.
    pub open: Time,
    /// Time of a packet from the far host to the near host, without queues.
    pub back: Span,
    /// Rate that the return path has all the time; `None` without a limit.
    pub return_rate: Option<BitRate>,
    /// Its rate on request, and the time from a request to it; `None` if there is no such rate.
    pub return_on_request: Option<(BitRate, Span)>,
}

impl Context {
    /// Time that a request of so many bytes takes to the near host. It meets no queue; over capacity on demand it takes the rate that
    /// it has, or asks for one, whichever is sooner.
    #[must_use]
    pub fn request(&self, bytes: Bytes) -> Span {
        let bits = u128::from(bytes.0) * 8;
        let at = |rate: BitRate| Some(rate.time_of_bit(bits)?.since(Time::ZERO));
        let sent = match self.return_on_request {
            None => self.return_rate.and_then(at),
            Some((rate, wait)) => {
                let requested = at(rate).map(|sent| wait.saturating_add(sent));
                let constant = self.return_rate.filter(|rate| rate.0 > 0).and_then(at);
                requested.into_iter().chain(constant).min()
            }
        };
        self.back.saturating_add(sent.unwrap_or(Span::ZERO))
    }
}

/// Makes a part of a flow, anew for every run.
pub struct Make<T>(pub Box<dyn Fn(&Context) -> T + Send + Sync>);

impl<T> Debug for Make<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Make")
    }
}

/// Where the data of a flow come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A transfer whose data are all available at once.
    Bulk {
        /// Number of packets; `None` for unlimited data.
        packets: Option<u64>,
        /// Payload of these packets, the last one perhaps partly filled; `None` if all are full.
        bytes: Option<Bytes>,
    },
    /// An application of one's own.
    Application(Arc<Make<Box<dyn Application>>>),
    /// One of several applications that know each other, for flows that follow each other. They are made for the first.
    Group(Arc<Make<Vec<Box<dyn Application>>>>),
}

/// Makes the applications of a group.
type MakeGroup = Arc<Make<Vec<Box<dyn Application>>>>;

/// The applications of a group that are left for the flows after the first.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    made_by: Option<MakeGroup>,
    left: std::vec::IntoIter<Box<dyn Application>>,
}

impl Groups {
    /// The next application of a group.
    fn next(&mut self, make: &MakeGroup, context: &Context) -> Option<Box<dyn Application>> {
        let known = self.made_by.as_ref();
        if !known.is_some_and(|known| Arc::ptr_eq(known, make)) || self.left.len() == 0 {
            self.left = (make.0)(context).into_iter();
            self.made_by = Some(Arc::clone(make));
        }
        self.left.next()
    }
}

impl Source {
    /// A transfer of `bytes` in packets with this payload; `None` without any.
    pub(crate) fn of_bytes(bytes: Bytes, payload: Bytes) -> Option<Self> {
        (payload.0 > 0).then(|| Self::Bulk {
            packets: Some(bytes.0.div_ceil(payload.0)),
            bytes: Some(bytes),
        })
    }

    /// Payload of the first `packets` packets, with this much in a full one, bytes.
    pub(crate) fn payload_of(&self, packets: u64, payload: Bytes) -> u64 {
        match self {
            Self::Bulk {
                packets: Some(all),
                bytes: Some(bytes),
            } if *all == packets => bytes.0,
            _ => packets.saturating_mul(payload.0),
        }
    }

    /// The source as an application, with full packets of `payload`.
    pub(crate) fn socket(&self, context: &Context, payload: Bytes, groups: &mut Groups) -> Socket {
        Socket::new(match self {
            Self::Group(make) => groups
                .next(make, context)
                .unwrap_or_else(|| Box::new(Transfer(Bytes(0)))),
            Self::Bulk { packets, bytes } => {
                let full = packets.map_or(u64::MAX, |packets| packets.saturating_mul(payload.0));
                Box::new(Transfer(bytes.unwrap_or(Bytes(full))))
            }
            Self::Application(make) => (make.0)(context),
        })
    }
}

/// The application of a flow, as its hosts see it.
#[derive(Debug)]
pub struct Socket {
    application: Box<dyn Application>,
    supplied: Bytes,
    /// Payload that was delivered, and number of its packets.
    pub(crate) delivered: Bytes,
    pub(crate) packets: u64,
    ended: bool,
}

impl Socket {
    /// The application before it has supplied anything.
    pub(crate) fn new(application: Box<dyn Application>) -> Self {
        Self {
            application,
            supplied: Bytes(0),
            delivered: Bytes(0),
            packets: 0,
            ended: false,
        }
    }

    /// [`Application::supply`] for the near host. Nothing follows [`Supply::Ended`].
    pub fn supply(&mut self, now: Time) -> Supply {
        if !self.ended {
            let supply = self.application.supply(now);
            if let Supply::Data(bytes) = supply {
                self.supplied.0 = self.supplied.0.saturating_add(bytes.0);
            }
            self.ended = supply == Supply::Ended;
            return supply;
        }
        Supply::Ended
    }

    /// The far host passes on the `payload` of `packets` packets that it had not passed on before.
    pub fn deliver(&mut self, now: Time, packets: u64, payload: Bytes) {
        self.packets += packets;
        self.delivered.0 = self.delivered.0.saturating_add(payload.0);
        self.application.on_delivered(now, payload);
    }

    /// The far host passes on a datagram.
    pub fn deliver_datagram(&mut self, now: Time, datagram: Datagram) {
        self.packets += 1;
        self.delivered.0 = self.delivered.0.saturating_add(datagram.payload.0);
        self.application.on_datagram(now, &datagram);
    }

    /// The next flow for which something has changed.
    pub(crate) fn woken(&mut self) -> Option<Wake> {
        self.application.woken()
    }

    /// Observations of the application until `end`.
    pub(crate) fn outcome(&mut self, end: Time) -> Outcome {
        self.application.outcome(end)
    }

    /// Whether the application has ended and everything that it supplied was delivered.
    pub(crate) fn is_complete(&self) -> bool {
        self.ended && self.delivered >= self.supplied
    }
}
