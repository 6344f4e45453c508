//! One row of the log, parsed into a transmission whose fate and fields agree.

use strum::EnumString;
use tmt_core::types::{Span, Time};

use super::fields::{Field, Fields};
use super::finding::{Finding, shown};
use super::head::Head;

/// The header: all columns, and the last columns that a log may lack.
///
/// Without `left`, packets leave the gateway's buffer at the end of their service. Without the parts of the delay,
/// rule `parts` is not checked. Without `size_bytes`, all packets have the size in the head. Without `offered`, packets reach
/// the queue when they reach the gateway.
pub(super) const HEADER: (&str, &[&str]) = (
    "flow,packet,copy,sent,enqueued,service_start,service_end,first_lldu,last_lldu,delivered,fate,acked,\
     delay_propagation,delay_queue,delay_serialisation,delay_wait,left,size_bytes,offered",
    &[
        ",size_bytes,offered",
        ",offered",
        "",
        ",left,size_bytes,offered",
        ",delay_propagation,delay_queue,delay_serialisation,delay_wait,left,size_bytes,offered",
    ],
);

/// The columns of a transmission's service, and below those of the parts of its delay.
const SERVICE: [&str; 4] = ["service_start", "service_end", "first_lldu", "last_lldu"];
pub(super) const PARTS: [&str; 4] = [
    "delay_propagation",
    "delay_queue",
    "delay_serialisation",
    "delay_wait",
];

/// One transmission of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// Line of the log. Lines are in the order of sending.
    pub(super) line: u64,
    pub(super) flow: u64,
    pub(super) packet: u64,
    /// 1 for the first transmission.
    pub(super) copy: u64,
    /// Size on the link, bytes.
    pub(super) size: u64,
    pub(super) sent: Time,
    /// Time at which it reached the gateway; `None` if the run ended first.
    pub(super) enqueued: Option<Time>,
    /// Time at which a proxy offers it to the queue for the last time, if that is later.
    pub(super) offered: Option<Time>,
    /// Service by the link; `Some` if it was delivered or lost on the link, `None` if the link never had it.
    pub(super) service: Option<Service>,
    /// Time at which the receiver had it; `Some` if and only if it was delivered.
    pub(super) delivered: Option<Time>,
    pub(super) fate: Fate,
    /// Time at which it left the gateway's buffer.
    pub(super) left: Option<Time>,
    /// Time of the sender's first ACK that covers the packet.
    pub(super) acked: Option<Time>,
    /// Parts of the delay of a delivered transmission, in the order of the columns; `None` if the log has no such columns.
    pub(super) parts: Option<[Span; 4]>,
}

/// Fate of a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Fate {
    Delivered,
    /// Dropped by the queue.
    Queue,
    /// Discarded by a proxy that had the packet already.
    Duplicate,
    /// Lost on the link.
    Link,
    /// The run ended first.
    Open,
}

/// Service of one transmission by the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) start: Time,
    pub(super) end: Time,
    /// First LLDU of the timeline or slot of the trace, from 0; on a synthetic link the number of the service.
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Field for Fate {
    const FORM: &'static str = "delivered, queue, duplicate, link or open";

    fn read(text: &[u8]) -> Option<Self> {
        std::str::from_utf8(text).ok()?.parse().ok()
    }
}

impl Fate {
    /// Whether the gateway accepted it, given that it arrived there.
    pub(super) const fn is_taken(self) -> bool {
        !matches!(self, Self::Queue | Self::Duplicate)
    }

    /// Checks that service and delivery are on the row as the fate requires.
    fn check(self, text: &str, served: bool, delivered: bool) -> Result<(), Finding> {
        let fits = match self {
            Self::Delivered => served && delivered,
            Self::Queue | Self::Duplicate => !served && !delivered,
            Self::Link => served && !delivered,
            Self::Open => !delivered,
        };
        let [service, delivery] = [served, delivered].map(|is| if is { "with" } else { "without" });
        let found = format_args!("fate {text} {service} service and {delivery} delivery");
        let expected = "delivered with both, queue and duplicate with neither, link with service only, open without delivery";
        fits.then_some(())
            .ok_or_else(|| Finding::new(found, expected))
    }
}

impl Row {
    /// Flow whose packets keep their order if they reach the queue at the same time. A packet that a proxy offers again may come
    /// before or after any other: it has a number of its own.
    pub(super) fn kept_in_order_with(&self) -> u64 {
        self.offered.map_or(self.flow, |_| u64::MAX - self.line)
    }

    /// Reads a row of a log with this head.
    pub(super) fn parse(fields: Fields<'_>, line: u64, head: &Head) -> Result<Self, Finding> {
        let flows = head.flows;
        let (flow, copy) = (fields.get("flow")?, fields.get("copy")?);
        let expected = format_args!("one of the {flows} flows, counted from 0");
        fields.ensure(flow < flows, "flow", expected)?;
        fields.ensure(copy > 0, "copy", "copies counted from 1")?;
        let size = if fields.has("size_bytes") {
            fields.get("size_bytes")?
        } else {
            head.packet_bytes
        };
        fields.ensure(size > 0, "size_bytes", "at least one byte")?;
        let served = SERVICE.iter().any(|column| !fields.text(column).is_empty());
        let service = served.then(|| Service::parse(fields)).transpose()?;
        let delivered: Option<Time> = fields.get("delivered")?;
        let fate: Fate = fields.get("fate")?;
        let word = shown(fields.text("fate"));
        fate.check(&word, served, delivered.is_some())?;
        let enqueued: Option<Time> = fields.get("enqueued")?;
        let away = fate == Fate::Open && !served;
        let expected = "a time, because the copy reached the gateway";
        fields.ensure(enqueued.is_some() || away, "enqueued", expected)?;
        let left = match service {
            Some(service) if !fields.has("left") => Some(service.end),
            _ => fields.get("left")?,
        };
        let expected = "nothing without a service";
        fields.ensure(left.is_none() || served, "left", expected)?;
        Ok(Self {
            line,
            flow,
            packet: fields.get("packet")?,
            copy,
            size,
            sent: fields.get("sent")?,
            enqueued,
            offered: fields.get("offered")?,
            service,
            delivered,
            fate,
            left,
            acked: fields.get("acked")?,
            parts: parts(fields, delivered.is_some())?,
        })
    }
}

impl Service {
    fn parse(fields: Fields<'_>) -> Result<Self, Finding> {
        Ok(Self {
            start: fields.get(SERVICE[0])?,
            end: fields.get(SERVICE[1])?,
            first: fields.get(SERVICE[2])?,
            last: fields.get(SERVICE[3])?,
        })
    }
}

/// Reads the parts of the delay, which must be given if and only if the transmission was delivered.
fn parts(fields: Fields<'_>, delivered: bool) -> Result<Option<[Span; 4]>, Finding> {
    let mut parts = [Span::ZERO; 4];
    for (part, column) in parts.iter_mut().zip(PARTS) {
        if delivered && fields.has(column) {
            *part = fields.get::<Time>(column)?.since(Time::ZERO);
        } else {
            let empty = fields.text(column).is_empty();
            fields.ensure(empty, column, "nothing without a delivery")?;
        }
    }
    Ok((delivered && fields.has(PARTS[0])).then_some(parts))
}
