//! Resolution of the path between senders and link, with or without a proxy, and of the queue size.

use tmt_core::math::num::floor_u64;
use tmt_core::scheme::{Rounds, SchemeSpec};
use tmt_core::types::{Bytes, Note, Span, Time, to_f64};

use super::link::Link;
use crate::experiment::counted::counted;
use crate::experiment::error::{Result, data, refused};
use crate::experiment::parameters::Experiment;
use crate::experiment::plan::{LinkPlan, TraceBesidePlan};
use crate::experiment::setting::Setting as _;
use crate::experiment::values::{BufferSize, MAX_PACKETS, PathKind};
use crate::simulation::{Path, SplitWindow};
use tmt_link::hop::terms;
use tmt_link::queue::Buffer;

/// Buffer per flow, in packets, below which three duplicate ACKs cannot arrive (Zhu 2006, eq. (58)).
const MIN_FOR_FAST_RETRANSMIT: u64 = 4;

/// Largest buffer of a proxy, in packets: senders fill all that it offers, and a run holds each packet in memory.
const MAX_AT_PROXY: u64 = 1_000_000;

/// Smallest size, in packets, of a queue given in BDPs.
const MIN_BDP: u64 = 2;

/// Origin of a value that metadata never have.
pub(super) fn origin(given: bool, key: &'static str) -> &'static str {
    if given { key } else { "default" }
}

/// Packets in `products` BDPs of `rate` bit/s and `delay`, rounded up.
pub(super) fn bdp(products: f64, rate: f64, delay: Span, packet: Bytes) -> u64 {
    let bytes = products * rate * delay.as_secs_f64() / 8.0;
    floor_u64((bytes / to_f64(packet.0)).ceil()).max(MIN_BDP)
}

impl Experiment {
    /// Size of the queue in packets, its resolved size, and a note with its origin.
    pub(super) fn queue_size(&self, link: &Link) -> Result<(u64, BufferSize, String)> {
        let origin = origin(self.buffer.is_some(), "`buffer`");
        let packet = self.packet();
        match self.buffer() {
            BufferSize::Packets(packets) => {
                let note = format!("buffer {} ({origin})", counted(packets, "packet"));
                Ok((packets, BufferSize::Packets(packets), note))
            }
            BufferSize::Bytes(bytes) => {
                let packets = Buffer::Bytes(bytes.0).packets(packet.0);
                if packets == 0 {
                    return refused(
                        "buffer",
                        format!("`buffer` {bytes}: expected at least one packet of {packet}"),
                    );
                }
                let packets_text = counted(packets, "packet");
                let note = format!("buffer {bytes}, {packets_text} ({origin})");
                Ok((packets, BufferSize::Bytes(bytes), note))
            }
            BufferSize::Unlimited => {
                let note = format!("buffer unlimited ({origin})");
                Ok((MAX_PACKETS, BufferSize::Unlimited, note))
            }
            BufferSize::Bdp(products) => {
                let rate = link.rate_bps.ok_or_else(|| {
                    data("found a link of unknown rate, expected a size of `buffer` in packets or bytes")
                })?;
                let (rtt, decode_delay) = (link.rtt, link.decode_delay);
                let delay = rtt.saturating_add(decode_delay);
                let packets = bdp(products, rate, delay, packet);
                let note = format!(
                    "buffer {} ({origin}: {products} BDP of {:.6} Mbps x ({rtt} + decoding {decode_delay}{}))",
                    counted(packets, "packet"),
                    rate / 1e6,
                    link.decode_delay_origin
                );
                Ok((packets, BufferSize::Packets(packets), note))
            }
        }
    }

    /// Size of the queue of the return path, and a note on it; `None` without a rate or trace.
    pub(super) fn return_queue(
        &self,
        trace: Option<&TraceBesidePlan>,
        rtt: Span,
        notes: &mut Vec<Note>,
    ) -> Result<Option<BufferSize>> {
        let origin = origin(self.return_buffer.is_some(), "`return_buffer`");
        let peak = self
            .return_capacity
            .as_ref()
            .map(|access| terms(access).peak());
        let given = self.return_rate.or(peak).map(|rate| to_f64(rate.0));
        if given.is_none() && trace.is_none() {
            return match self.return_buffer {
                None => Ok(None),
                Some(_) => refused(
                    "return_buffer",
                    "`return_buffer`: found a return path on which ACKs never wait, expected `return_rate`, `return_trace` or `return_capacity`",
                ),
            };
        }
        let size = match self.return_buffer() {
            BufferSize::Bdp(products) => {
                let rate = given.or(trace.and_then(|trace| trace.rate_bps)).ok_or_else(|| {
                    data("found a return path of unknown rate, expected a size of `return_buffer` in packets or bytes")
                })?;
                let bytes = floor_u64((products * rate * rtt.as_secs_f64() / 8.0).ceil());
                BufferSize::Bytes(Bytes(bytes.max(MIN_BDP * self.packet().0)))
            }
            size => size,
        };
        notes.push(format!("return path: queue {} ({origin})", size.text()).into());
        Ok(Some(size))
    }

    /// The path over `link`, for `flows` flows and a buffer of `buffer` packets, and notes on it.
    pub(super) fn path_plan(
        &self,
        link: &Link,
        plan: &LinkPlan,
        flows: usize,
        buffer: u64,
    ) -> Result<(Path, Vec<Note>)> {
        let terrestrial_rtt = self.terrestrial_rtt();
        let flows = flows as u64;
        let mut notes = Vec::new();
        if self.path() == PathKind::EndToEnd {
            if self.terrestrial_rtt.is_some() {
                notes.push(format!("path e2e, terrestrial RTT {terrestrial_rtt}").into());
            }
            if flows > buffer {
                notes.push(Note::warning(format!(
                    "the queue of {} is shorter than one packet for each of the {flows} flows",
                    counted(buffer, "packet")
                )));
            }
            let path = Path {
                terrestrial_rtt,
                ..Path::default()
            };
            return Ok((path, notes));
        }
        refuse_lossy(plan)?;
        if buffer > MAX_AT_PROXY {
            return refused(
                "buffer",
                format!(
                    "`buffer`: found {} on a path split by a proxy, expected at most {MAX_AT_PROXY}: senders fill what the proxy offers",
                    counted(buffer, "packet")
                ),
            );
        }
        let window = self.split_window();
        if window == SplitWindow::Share && buffer < flows {
            return refused(
                "buffer",
                format!(
                    "`buffer`: found {} for {flows} flows, expected at least one each: a flow that is offered less could never send; or use `split_window` whole",
                    counted(buffer, "packet")
                ),
            );
        }
        let origin = origin(self.split_window.is_some(), "`split_window`");
        notes.push(format!(
            "path split, terrestrial RTT {terrestrial_rtt}; of the buffer of {} each flow is offered {} ({origin})",
            counted(buffer, "packet"),
            match window {
                SplitWindow::Whole => "all free space",
                SplitWindow::Share => "an equal share",
            }
        ).into());
        if let Some(announce) = self.split_announce {
            notes.push(format!("the proxy announces free space: {announce}").into());
        }
        if window == SplitWindow::Whole && flows > 1 && buffer / flows < MIN_FOR_FAST_RETRANSMIT {
            notes.push(Note::warning(format!(
                "the buffer holds fewer than {MIN_FOR_FAST_RETRANSMIT} packets per flow: a flow recovers from a drop at the proxy only by a timeout (Zhu 2006, eq. (58))"
            )));
        }
        let mut feedback_delay = Span::ZERO;
        if let LinkPlan::Timeline(_) = plan {
            // Time from the delivery of a packet to its acknowledgement by the link.
            let known = link.head.number("feedback_delay_ns");
            feedback_delay = known.and_then(Span::from_nanos).unwrap_or(Span::ZERO);
            notes.push(format!(
                "the proxy keeps a packet until RTT / 2 + {feedback_delay} ({}) after its delivery",
                match known {
                    Some(_) => "metadata",
                    None => "none in the metadata",
                }
            ).into());
            let scheme = link.head.get("scheme").map(str::parse::<SchemeSpec>);
            if scheme.is_some_and(|scheme| scheme.is_ok_and(|scheme| scheme.in_order())) {
                notes.push("the timeline records in-order delivery, not arrival: the proxy also keeps packets that wait for earlier ones".to_owned().into());
            }
        }
        let path = Path {
            terrestrial_rtt,
            split: Some(window),
            announce: self.split_announce.unwrap_or_default(),
            feedback_delay,
        };
        Ok((path, notes))
    }
}

/// Refuses a link that can lose packets: the sender never retransmits what the proxy has acknowledged.
fn refuse_lossy(link: &LinkPlan) -> Result<()> {
    let refuse = |key, found: String| {
        refused(
            key,
            format!(
                "`path` split: found {found}, expected a link that delivers every packet: the sender never retransmits what the proxy has acknowledged"
            ),
        )
    };
    match link {
        LinkPlan::Synthetic {
            loss: Some(loss), ..
        } => refuse("loss", format!("`loss` {loss}")),
        LinkPlan::Coupled(plan) if plan.link.scheme.rounds() != Rounds::Unlimited => refuse(
            "scheme",
            format!("`scheme` {}, which limits its rounds", plan.link.scheme),
        ),
        LinkPlan::Timeline(plan) => {
            let usable_until = plan.end_line.map_or(Time::MAX, |end| end.usable_until);
            match plan.rows.first_lost(usable_until) {
                Some(lldu) => refuse("path", format!("a timeline whose LLDU {lldu} was lost")),
                None => Ok(()),
            }
        }
        LinkPlan::Coupled(_) | LinkPlan::Synthetic { .. } => Ok(()),
    }
}
