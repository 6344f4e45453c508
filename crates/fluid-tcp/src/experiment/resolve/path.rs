//! What lies between the senders and the link: a way, or a proxy; and the size of the queue.

use tmt_core::math::num::floor_u64;
use tmt_core::scheme::{Rounds, SchemeSpec};
use tmt_core::types::{Span, Time, to_f64};

use super::link::{Link, origin};
use crate::experiment::error::{Result, data, refused};
use crate::experiment::parameters::Experiment;
use crate::experiment::plan::LinkPlan;
use crate::experiment::values::{BufferSize, PathKind};
use crate::link::gateway::Buffer;
use crate::simulation::{Path, SplitWindow};

/// Packets of a flow in flight below which three duplicate acknowledgements cannot come (papers/004 eq 58).
const FEWEST_FOR_FAST_RETRANSMIT: u64 = 4;

/// Fewest packets of a queue that is sized by bandwidth and delay.
const LEAST_BDP: u64 = 2;

impl Experiment {
    /// Packets the queue holds, its size, and the words that say why.
    pub(super) fn queue_size(&self, link: &Link) -> Result<(u64, BufferSize, String)> {
        let origin = origin(self.buffer.is_some(), "`buffer`");
        let packet = self.packet();
        match self.buffer() {
            BufferSize::Packets(packets) => {
                let note = format!("buffer {packets} packets ({origin})");
                Ok((packets, BufferSize::Packets(packets), note))
            }
            BufferSize::Bytes(bytes) => {
                let packets = Buffer::Bytes(bytes.0).packets(packet.0);
                if packets == 0 {
                    return refused(
                        "buffer",
                        format!("`buffer` {bytes} holds no packet of {packet}"),
                    );
                }
                let note = format!("buffer {bytes}, {packets} packets ({origin})");
                Ok((packets, BufferSize::Bytes(bytes), note))
            }
            BufferSize::Bdp(products) => {
                let rate = link.rate_bps.ok_or_else(|| {
                    data("found a link of unknown rate, expected `buffer` in packets or bytes")
                })?;
                let (rtt, own_delay) = (link.rtt, link.own_delay);
                let delay = rtt.saturating_add(own_delay);
                let bytes = products * rate * delay.as_secs_f64() / 8.0;
                let packets = floor_u64((bytes / to_f64(packet.0)).ceil()).max(LEAST_BDP);
                let note = format!(
                    "buffer {packets} packets ({origin}: {products} bandwidth-delay product of {:.6} Mbps x ({rtt} + {own_delay}))",
                    rate / 1e6
                );
                Ok((packets, BufferSize::Packets(packets), note))
            }
        }
    }

    /// The path over `link`, of `flows` flows and a buffer of `buffer` packets; and words about it.
    pub(super) fn way(
        &self,
        link: &Link,
        plan: &LinkPlan,
        flows: usize,
        buffer: u64,
    ) -> Result<(Path, Vec<String>)> {
        let terrestrial_rtt = self.terrestrial_rtt();
        let flows = flows as u64;
        let mut notes = Vec::new();
        if self.path() == PathKind::EndToEnd {
            if self.terrestrial_rtt.is_some() {
                notes.push(format!("path e2e, terrestrial RTT {terrestrial_rtt}"));
            }
            if flows > buffer {
                notes.push(format!(
                    "the queue of {buffer} packets has less than a place for each of the {flows} flows"
                ));
            }
            let path = Path {
                terrestrial_rtt,
                ..Path::default()
            };
            return Ok((path, notes));
        }
        refuse_lossy(plan)?;
        let window = self.split_window();
        if window == SplitWindow::Share && buffer < flows {
            return refused(
                "buffer",
                format!(
                    "`buffer`: found {buffer} packets for {flows} flows, expected at least one each, as a flow that is offered its share of less could never send (or `split_window` whole)"
                ),
            );
        }
        let origin = origin(self.split_window.is_some(), "`split_window`");
        notes.push(format!(
            "path split, terrestrial RTT {terrestrial_rtt}, a buffer of {buffer} packets of which each flow is offered {} ({origin})",
            match window {
                SplitWindow::Whole => "all that is free",
                SplitWindow::Share => "an equal share",
            }
        ));
        if window == SplitWindow::Whole && flows > 1 && buffer / flows < FEWEST_FOR_FAST_RETRANSMIT
        {
            notes.push(format!(
                "less than {FEWEST_FOR_FAST_RETRANSMIT} places for each of the {flows} flows: where one loses a packet at the proxy only a timeout helps it (papers/004 eq 58)"
            ));
        }
        let mut feedback_delay = Span::ZERO;
        if let LinkPlan::Timeline(_) = plan {
            // How much later than its delivery a timeline's feedback acknowledges a packet.
            let known = link.head.number("feedback_delay_ns");
            feedback_delay = known.and_then(Span::from_nanos).unwrap_or(Span::ZERO);
            notes.push(format!(
                "the proxy keeps a packet until RTT / 2 + {feedback_delay} ({}) after its delivery",
                match known {
                    Some(_) => "metadata",
                    None => "no feedback delay in the metadata",
                }
            ));
            let scheme = link.head.get("scheme").map(str::parse::<SchemeSpec>);
            if scheme.is_some_and(|scheme| scheme.is_ok_and(|scheme| scheme.in_order())) {
                notes.push("the timeline holds deliveries in order, not arrivals: the proxy keeps a packet that waits for an earlier one".to_owned());
            }
        }
        let path = Path {
            terrestrial_rtt,
            split: Some(window),
            feedback_delay,
        };
        Ok((path, notes))
    }
}

/// A link that may lose a packet for good: no sender repeats what the proxy has acknowledged.
fn refuse_lossy(link: &LinkPlan) -> Result<()> {
    let refuse = |key, found: String| {
        refused(
            key,
            format!(
                "`path` split: found {found}, expected a link that delivers everything, as no sender repeats what the proxy has acknowledged"
            ),
        )
    };
    match link {
        LinkPlan::Synthetic {
            loss: Some(loss), ..
        } => refuse("loss", format!("`loss` {loss}")),
        LinkPlan::Coupled(plan) if plan.link.scheme.rounds() != Rounds::Unlimited => refuse(
            "scheme",
            format!("`scheme` {}, which gives up", plan.link.scheme),
        ),
        LinkPlan::Timeline(plan) => {
            let usable_until = plan.end_line.map_or(Time::MAX, |end| end.usable_until);
            match plan.timeline.first_lost(usable_until) {
                Some(lldu) => refuse("path", format!("a timeline whose LLDU {lldu} was lost")),
                None => Ok(()),
            }
        }
        LinkPlan::Coupled(_) | LinkPlan::Synthetic { .. } => Ok(()),
    }
}
