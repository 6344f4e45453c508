//! One row of the log: text to a copy whose fate and fields agree, so that no rule asks again.

use tmt_core::types::{Span, Time};

use super::fields::{Columns, Fields};
use super::finding::{Finding, shown};

const COLUMNS: Columns = &[
    "flow",
    "packet",
    "copy",
    "sent",
    "enqueued",
    "service_start",
    "service_end",
    "first_lldu",
    "last_lldu",
    "delivered",
    "fate",
    "acked",
    "delay_propagation",
    "delay_queue",
    "delay_serialisation",
    "delay_wait",
    "left",
];

/// The columns of a copy's service, and what its delay is made of.
const SERVICE: Columns = COLUMNS.split_at(5).1.split_at(4).0;
pub(super) const PARTS: Columns = COLUMNS.split_at(12).1.split_at(4).0;

/// The headers accepted: all columns; without the time at which packets left the gateway's buffer, which they then do
/// with their last unit; and without what delays are made of.
pub(super) const HEADERS: [Columns; 3] = [COLUMNS, COLUMNS.split_at(16).0, COLUMNS.split_at(12).0];

/// One transmitted copy of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// Line of the log, which also numbers the copies in their order of sending.
    pub(super) line: u64,
    pub(super) flow: u64,
    pub(super) packet: u64,
    /// 1 for the first transmission.
    pub(super) copy: u64,
    pub(super) sent: Time,
    /// When it reached the gateway; none where the run ended first.
    pub(super) enqueued: Option<Time>,
    pub(super) fate: Fate,
    /// When the gateway's buffer let it go.
    pub(super) left: Option<Time>,
    /// When the sender first had an ACK that covers the packet.
    pub(super) acked: Option<Time>,
    /// What the delay of a delivered copy is made of, in the order of the columns; none where the log does not tell.
    pub(super) parts: Option<[Span; 4]>,
}

/// What became of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Delivered {
        service: Service,
        at: Time,
    },
    DroppedAtQueue,
    /// A proxy had it already.
    Duplicate,
    LostOnLink {
        service: Service,
    },
    /// The run ended first.
    Open {
        service: Option<Service>,
    },
}

/// The link's work on one copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) start: Time,
    pub(super) end: Time,
    /// LLDUs of the timeline from 0, or twice the ordinal of the service.
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Fate {
    pub(super) const fn service(&self) -> Option<Service> {
        match *self {
            Self::Delivered { service, .. } | Self::LostOnLink { service } => Some(service),
            Self::DroppedAtQueue | Self::Duplicate => None,
            Self::Open { service } => service,
        }
    }

    pub(super) const fn delivered(&self) -> Option<Time> {
        match *self {
            Self::Delivered { at, .. } => Some(at),
            _ => None,
        }
    }

    /// Whether the gateway took it in, given that it came there.
    pub(super) const fn is_taken(&self) -> bool {
        !matches!(self, Self::DroppedAtQueue | Self::Duplicate)
    }

    fn parse(
        fields: Fields<'_>,
        service: Option<Service>,
        delivered: Option<Time>,
    ) -> Result<Self, Finding> {
        match (fields.text("fate"), service, delivered) {
            (b"delivered", Some(service), Some(at)) => Ok(Self::Delivered { service, at }),
            (b"queue", None, None) => Ok(Self::DroppedAtQueue),
            (b"duplicate", None, None) => Ok(Self::Duplicate),
            (b"link", Some(service), None) => Ok(Self::LostOnLink { service }),
            (b"open", service, None) => Ok(Self::Open { service }),
            (word @ (b"delivered" | b"queue" | b"duplicate" | b"link" | b"open"), ..) => {
                let words = |present| if present { "with" } else { "without" };
                let found = format!(
                    "fate {} {} service and {} delivery",
                    shown(word),
                    words(service.is_some()),
                    words(delivered.is_some())
                );
                Err(Finding::new(
                    found,
                    "delivered with both, queue and duplicate with none, link with service, open without delivery",
                ))
            }
            _ => Err(fields.unfit("fate", "delivered, queue, duplicate, link or open")),
        }
    }
}

impl Row {
    /// Reads a row; flows are below `flows`.
    pub(super) fn parse(fields: Fields<'_>, line: u64, flows: u64) -> Result<Self, Finding> {
        let (flow, copy) = (fields.whole("flow")?, fields.whole("copy")?);
        if flow >= flows {
            let expected = format!("one of the {flows} flows, counted from 0");
            return Err(fields.unfit("flow", expected));
        }
        if copy == 0 {
            return Err(fields.unfit("copy", "copies counted from 1"));
        }
        let served = SERVICE.iter().any(|column| !fields.text(column).is_empty());
        let service = served.then(|| Service::parse(fields)).transpose()?;
        let delivered = fields.optional_time("delivered")?;
        let fate = Fate::parse(fields, service, delivered)?;
        let enqueued = fields.optional_time("enqueued")?;
        if enqueued.is_none() && fate != (Fate::Open { service: None }) {
            return Err(fields.unfit("enqueued", "a time, as the copy was at the gateway"));
        }
        let left = if fields.has("left") {
            fields.optional_time("left")?
        } else {
            service.map(|service| service.end)
        };
        if left.is_some() && service.is_none() {
            return Err(fields.unfit("left", "nothing without a service"));
        }
        Ok(Self {
            line,
            flow,
            packet: fields.whole("packet")?,
            copy,
            sent: fields.time("sent")?,
            enqueued,
            fate,
            left,
            acked: fields.optional_time("acked")?,
            parts: parts(fields, delivered)?,
        })
    }
}

impl Service {
    fn parse(fields: Fields<'_>) -> Result<Self, Finding> {
        Ok(Self {
            start: fields.time("service_start")?,
            end: fields.time("service_end")?,
            first: fields.whole("first_lldu")?,
            last: fields.whole("last_lldu")?,
        })
    }
}

/// The parts of the delay, which stand where there was a delivery and nowhere else.
fn parts(fields: Fields<'_>, delivered: Option<Time>) -> Result<Option<[Span; 4]>, Finding> {
    if delivered.is_none() {
        let strange = PARTS.iter().find(|column| !fields.text(column).is_empty());
        return match strange {
            Some(column) => Err(fields.unfit(column, "nothing without a delivery")),
            None => Ok(None),
        };
    }
    if !fields.has(PARTS[0]) {
        return Ok(None);
    }
    let mut parts = [Span::ZERO; 4];
    for (part, column) in parts.iter_mut().zip(PARTS) {
        *part = fields.time(column)?.since(Time::ZERO);
    }
    Ok(Some(parts))
}
