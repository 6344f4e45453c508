//! One row of the log, parsed into a transmission whose fate and fields agree.

use std::io::Read;
use std::num::NonZeroU64;

use serde::Deserialize;
use tmt_core::types::{Span, Time};

use super::finding::{Finding, ensure};
use super::head::Head;
use super::reader::LogReader;
use super::text::Seconds;
use super::totals::Counts;

/// The header: all columns, and the last columns that a log may lack.
///
/// Without `left`, packets leave the gateway's buffer at the end of their service. Without the parts of the delay,
/// rule `parts` is not checked. Without `size_bytes`, all packets have the size in the head. Without `offered`, packets reach
/// the queue when they reach the gateway. Without `crossed`, there are no hops beside the link.
pub(super) const HEADER: (&str, &[&str]) = (
    "flow,packet,copy,sent_s,enqueued_s,service_start_s,service_end_s,first_lldu,last_lldu,delivered_s,fate,acked_s,\
     delay_propagation_s,delay_queue_s,delay_serialisation_s,delay_wait_s,left_s,size_bytes,offered_s,crossed_s,delay_terrestrial_s,delay_far_s,gone_s",
    &[
        ",size_bytes,offered_s,crossed_s,delay_terrestrial_s,delay_far_s,gone_s",
        "",
        ",crossed_s,delay_terrestrial_s,delay_far_s,gone_s",
        ",offered_s,crossed_s,delay_terrestrial_s,delay_far_s,gone_s",
        ",left_s,size_bytes,offered_s,crossed_s,delay_terrestrial_s,delay_far_s,gone_s",
        ",delay_propagation_s,delay_queue_s,delay_serialisation_s,delay_wait_s,left_s,size_bytes,offered_s,crossed_s,\
         delay_terrestrial_s,delay_far_s,gone_s",
    ],
);

/// The parts of a delay.
pub(super) const PARTS: [&str; 4] = [
    "delay_propagation",
    "delay_queue",
    "delay_serialisation",
    "delay_wait",
];

/// The fields of a row, `None` if they are empty or if the log does not have the column.
#[derive(Deserialize)]
struct Fields {
    flow: u64,
    packet: u64,
    copy: NonZeroU64,
    sent: Seconds,
    enqueued: Option<Seconds>,
    service_start: Option<Seconds>,
    service_end: Option<Seconds>,
    first_lldu: Option<u64>,
    last_lldu: Option<u64>,
    delivered: Option<Seconds>,
    fate: Fate,
    acked: Option<Seconds>,
    delay_propagation: Option<Seconds>,
    delay_queue: Option<Seconds>,
    delay_serialisation: Option<Seconds>,
    delay_wait: Option<Seconds>,
    left: Option<Seconds>,
    size_bytes: Option<NonZeroU64>,
    offered: Option<Seconds>,
    crossed: Option<Seconds>,
    delay_terrestrial: Option<Seconds>,
    delay_far: Option<Seconds>,
    gone: Option<Seconds>,
}

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
    /// With hops beside the link: time at which it left the link, and its delays at the hops before and behind it.
    pub(super) beside: Option<Beside>,
}

/// Columns of a transmission that only logs with hops beside the link have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beside {
    pub(super) crossed: Option<Time>,
    at_hops: AtHops,
}

/// What the hops beside the link did to a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AtHops {
    /// It is still on its way, or never came out of the link.
    Neither,
    /// It was delivered after these delays.
    Delayed([Span; 2]),
    /// A hop dropped it then, or lost it in a service that ended then.
    Gone(Time),
}

impl Beside {
    /// Delays at the hops before and behind the link of what was delivered.
    pub(super) fn delays(&self) -> Option<[Span; 2]> {
        match self.at_hops {
            AtHops::Delayed(delays) => Some(delays),
            AtHops::Neither | AtHops::Gone(_) => None,
        }
    }

    /// Time at which a hop dropped it, or the end of its service there if it was lost; `None` if that is after the run.
    pub(super) fn gone(&self) -> Option<Time> {
        match self.at_hops {
            AtHops::Gone(at) => Some(at),
            AtHops::Neither | AtHops::Delayed(_) => None,
        }
    }
}

/// Fate of a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(super) enum Fate {
    Delivered,
    /// Dropped by the queue.
    Queue,
    /// Discarded by a proxy that had the packet already.
    Duplicate,
    /// Lost on the link.
    Link,
    /// Dropped or lost before the gateway, and behind the link.
    Terrestrial,
    Far,
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

impl Fate {
    /// Whether the gateway accepted it, given that it arrived there.
    pub(super) const fn is_taken(self) -> bool {
        !matches!(self, Self::Queue | Self::Duplicate | Self::Terrestrial)
    }

    /// Checks that service and delivery are on the row as the fate requires.
    fn check(self, served: bool, delivered: bool) -> Result<(), Finding> {
        let fits = match self {
            Self::Delivered => served && delivered,
            Self::Queue | Self::Duplicate | Self::Terrestrial => !served && !delivered,
            Self::Link | Self::Far => served && !delivered,
            Self::Open => !delivered,
        };
        let [service, delivery] = [served, delivered].map(|is| if is { "with" } else { "without" });
        let found = format_args!("fate '{self}' {service} service and {delivery} delivery");
        let expected = "delivered with both, queue, duplicate and terrestrial with neither, link and far with service only, open without delivery";
        ensure(fits, found, expected)
    }
}

impl Row {
    /// The transmission as gateway and link see it: delivered once it has left the link. `None` if it never came there.
    pub(super) fn on_link(&self) -> Option<Self> {
        let Some(Beside { crossed, .. }) = self.beside else {
            return Some(*self);
        };
        let fate = if crossed.is_some() {
            Fate::Delivered
        } else {
            self.fate
        };
        let has_come = self.enqueued.is_some();
        has_come.then_some(Self {
            delivered: crossed,
            fate,
            ..*self
        })
    }

    /// Flow whose packets keep their order if they reach the queue at the same time. A packet that a proxy offers again may come
    /// before or after any other: it has a number of its own.
    pub(super) fn kept_in_order_with(&self) -> u64 {
        self.offered.map_or(self.flow, |_| u64::MAX - self.line)
    }

    /// Counts it, except whether it is a duplicate.
    pub(super) fn count(&self, counts: &mut Counts) {
        counts.copies_sent += 1;
        counts.copies_retransmitted += u64::from(self.copy > 1);
        *match self.fate {
            Fate::Delivered => &mut counts.copies_delivered,
            Fate::Queue => &mut counts.dropped_at_queue,
            Fate::Duplicate => &mut counts.duplicates_at_proxy,
            Fate::Link => &mut counts.lost_on_link,
            Fate::Terrestrial | Fate::Far => &mut counts.gone_beside,
            Fate::Open => &mut counts.open,
        } += 1;
    }

    /// The row that was read last, of a log with this head.
    pub(super) fn of<R: Read>(log: &LogReader<R>, head: &Head) -> Result<Self, Finding> {
        let fields: Fields = log.row()?;
        let time = |field: Option<Seconds>| field.map(|seconds| seconds.0);
        let (flow, flows) = (fields.flow, head.flows);
        let expected = format_args!("one of the {flows} flows, counted from 0");
        ensure(flow < flows, format_args!("flow '{flow}'"), expected)?;
        let size = fields.size_bytes.map(NonZeroU64::get);
        let has_size = size.is_some() == log.has("size_bytes");
        ensure(has_size, "size_bytes ''", "a whole number from 1")?;
        let service = fields.service()?;
        let delivered = time(fields.delivered);
        fields.fate.check(service.is_some(), delivered.is_some())?;
        let enqueued = time(fields.enqueued);
        let away = matches!(fields.fate, Fate::Open | Fate::Terrestrial) && service.is_none();
        let expected = "a time, because the copy reached the gateway";
        ensure(enqueued.is_some() || away, "enqueued ''", expected)?;
        let left = match service {
            Some(service) if !log.has("left") => Some(service.end),
            _ => time(fields.left),
        };
        let fits = left.is_none() || service.is_some();
        ensure(fits, "a time in 'left'", "nothing without a service")?;
        let has_parts = delivered.is_some() && log.has(PARTS[0]);
        let beside = log.has("crossed").then(|| fields.beside()).transpose()?;
        Ok(Self {
            beside,
            line: log.location.line,
            flow,
            packet: fields.packet,
            copy: fields.copy.get(),
            size: size.unwrap_or(head.packet_bytes),
            sent: fields.sent.0,
            enqueued,
            offered: time(fields.offered),
            service,
            delivered,
            fate: fields.fate,
            left,
            acked: time(fields.acked),
            parts: fields.parts(has_parts)?,
        })
    }
}

impl Fields {
    fn service(&self) -> Result<Option<Service>, Finding> {
        let times = (self.service_start, self.service_end);
        match (times, self.first_lldu, self.last_lldu) {
            ((Some(start), Some(end)), Some(first), Some(last)) => Ok(Some(Service {
                start: start.0,
                end: end.0,
                first,
                last,
            })),
            ((None, None), None, None) => Ok(None),
            _ => Err(Finding::new(
                "a part of service_start, service_end, first_lldu and last_lldu",
                "all of them, or none without a service",
            )),
        }
    }

    /// Its times at hops beside the link.
    fn beside(&self) -> Result<Beside, Finding> {
        let crossed = self.crossed.map(|at| at.0);
        let gone = [Fate::Terrestrial, Fate::Far].contains(&self.fate);
        let fits = match self.fate {
            Fate::Delivered | Fate::Far => crossed.is_some(),
            Fate::Open => true,
            _ => crossed.is_none(),
        };
        let word = if gone { "gone" } else { "not gone" };
        let found = format_args!("crossed {}, {word} beside the link", crossed.is_some());
        let expected = "a time in 'crossed' for what left the link: delivered, far, or still open";
        ensure(fits, found, expected)?;
        let span = |part: Seconds| part.0.since(Time::ZERO);
        let delays = self
            .delay_terrestrial
            .map(span)
            .zip(self.delay_far.map(span));
        let fits = delays.is_some() == self.delivered.is_some();
        let expected = "both for a delivery, otherwise none";
        ensure(fits, "delays at the hops beside the link", expected)?;
        let no_time = self.gone.is_none();
        let expected = "nothing, unless the fate is terrestrial or far";
        ensure(gone || no_time, "a time in 'gone'", expected)?;
        let at_hops = match (delays, self.gone) {
            (Some((near, far)), _) => AtHops::Delayed([near, far]),
            (None, Some(at)) => AtHops::Gone(at.0),
            (None, None) => AtHops::Neither,
        };
        Ok(Beside { crossed, at_hops })
    }

    /// The parts of the delay, which must be given if and only if the log has them and the transmission was delivered.
    fn parts(&self, has_parts: bool) -> Result<Option<[Span; 4]>, Finding> {
        let parts = [
            self.delay_propagation,
            self.delay_queue,
            self.delay_serialisation,
            self.delay_wait,
        ];
        let given = parts.iter().flatten().count();
        let expected = "4 for a delivery, otherwise none";
        let fits = given == if has_parts { 4 } else { 0 };
        ensure(fits, format_args!("{given} parts of the delay"), expected)?;
        let span = |part: Option<Seconds>| part.map_or(Span::ZERO, |it| it.0.since(Time::ZERO));
        Ok(has_parts.then_some(parts.map(span)))
    }
}
