//! What `--json` shows of the settings.

use fluid_tcp::endpoint::Endpoint;
use serde::Serialize;
use tmt_core::types::{Span, Time};

use super::super::args::Args;
use super::endpoint::{cut_name, detection_name, recovery_name, sampling_name};
use super::{FlowPlan, LinkPlan, overlap};

/// What `--json` shows of the settings; every value that was used, wherever it came from.
#[derive(Debug, Clone, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one field a flag, shown as JSON"
)]
pub(crate) struct Params {
    pub(crate) link: &'static str,
    pub(crate) rtt_ns: u64,
    pub(crate) path: &'static str,
    pub(crate) terrestrial_rtt_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) split_window: Option<String>,
    pub(crate) packet_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loss: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scheme: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) feedback_delay_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) feedback_loss: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) feedback_timer_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) in_order: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) overlap: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slot_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hold: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lldu_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lldu_header_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lldus_per_packet: Option<u64>,
    pub(crate) link_rate_bps: Option<f64>,
    /// What the metadata said where a flag won: key, told, used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) overridden: Vec<Overridden>,
    pub(crate) buffer_packets: u64,
    pub(crate) queue: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) return_loss: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) return_rate_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) return_trace: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) return_lldu_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) return_lldus_per_ack: Option<u64>,
    pub(crate) begin_s: f64,
    pub(crate) end_s: f64,
    pub(crate) looped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offsets: Option<String>,
    pub(crate) profile: &'static str,
    pub(crate) sack: bool,
    pub(crate) delayed_ack: u32,
    pub(crate) delayed_ack_timer_ns: u64,
    pub(crate) iw: u32,
    pub(crate) first_rto_ns: u64,
    pub(crate) min_rto_ns: u64,
    pub(crate) max_rto_ns: u64,
    pub(crate) rto_tick_ns: u64,
    pub(crate) rto_margin_ns: u64,
    pub(crate) quick_acks: u32,
    pub(crate) loss_detection: &'static str,
    pub(crate) tail_loss_probe: bool,
    pub(crate) f_rto: bool,
    pub(crate) ecn: bool,
    pub(crate) pacing: bool,
    pub(crate) limited_transmit: bool,
    pub(crate) recovery: &'static str,
    pub(crate) rtt_sampling: &'static str,
    pub(crate) cut_from: &'static str,
    pub(crate) rwnd_packets: Option<u64>,
    pub(crate) window_validation: bool,
    pub(crate) handshake: bool,
    pub(crate) flows: Vec<FlowParams>,
}

impl Params {
    /// What the link says.
    pub(super) fn tell_link(&mut self, link: &LinkPlan) {
        match link {
            LinkPlan::Timeline(timeline) => {
                self.lldu_bytes = Some(timeline.lldu.0);
                self.lldus_per_packet = Some(timeline.lldus_per_packet as u64);
                self.overlap = Some(overlap::name(timeline.shift));
                self.slot_ns = timeline.shift.map(Span::as_nanos);
            }
            LinkPlan::Coupled(plan) => {
                self.lldu_bytes = Some(plan.trace.lldu.0);
                self.lldus_per_packet = Some(plan.link.data_units.into());
                self.feedback_delay_ns = Some(plan.link.feedback_delay.as_nanos());
                let lost = plan.link.lost_feedback;
                self.feedback_loss = lost.map(|lost| lost.probability);
                self.feedback_timer_ns = lost.map(|lost| lost.timer.as_nanos());
                self.hold = Some(plan.link.hold.to_string());
                self.tail = Some(plan.link.tail.to_string());
                self.in_order = Some(plan.link.in_order.to_string());
                if let Some(channel) = &plan.channel {
                    self.channel = Some(channel.process.to_string());
                    self.rate_bps = Some(channel.rate.0);
                }
            }
            LinkPlan::Synthetic { rate, loss } => {
                self.rate_bps = Some(rate.0);
                self.loss = loss.map(|loss| loss.to_string());
            }
        }
    }
}

/// A flag that won over the metadata.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Overridden {
    pub(crate) key: &'static str,
    pub(crate) flag: &'static str,
    pub(crate) told: u64,
    pub(crate) used: u64,
}

/// What `--json` shows of one flow.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FlowParams {
    pub(crate) cc: String,
    pub(crate) start: String,
    pub(crate) packets: Option<u64>,
}

/// What the flags alone say; the link fills in the rest.
pub(super) fn params(args: &Args, endpoint: &Endpoint, flows: &[FlowPlan]) -> Params {
    Params {
        link: match args.link.as_str() {
            "timeline" => "timeline",
            "coupled" => "coupled",
            _ => "synthetic",
        },
        rtt_ns: 0,
        path: if args.path == "split" { "split" } else { "e2e" },
        terrestrial_rtt_ns: 0,
        split_window: None,
        packet_bytes: args.packet.0,
        channel: None,
        rate_bps: None,
        loss: None,
        scheme: None,
        feedback_delay_ns: None,
        feedback_loss: None,
        feedback_timer_ns: None,
        tail: None,
        in_order: None,
        overlap: None,
        slot_ns: None,
        hold: None,
        lldu_bytes: None,
        lldu_header_bytes: None,
        lldus_per_packet: None,
        link_rate_bps: None,
        overridden: Vec::new(),
        buffer_packets: 0,
        queue: args.queue.to_string(),
        return_loss: args.return_loss.map(|loss| loss.to_string()),
        return_rate_bps: args.return_rate.map(|rate| rate.0),
        return_trace: None,
        return_lldu_bytes: None,
        return_lldus_per_ack: None,
        begin_s: 0.0,
        end_s: 0.0,
        looped: args.looped,
        offsets: args.offsets.map(|offsets| offsets.to_string()),
        profile: args.profile.name(),
        sack: endpoint.sack,
        delayed_ack: endpoint.delayed_ack,
        delayed_ack_timer_ns: endpoint.delayed_ack_timer.as_nanos(),
        iw: endpoint.initial_window,
        first_rto_ns: endpoint.rto.first.as_nanos(),
        min_rto_ns: endpoint.rto.min.as_nanos(),
        max_rto_ns: endpoint.rto.max.as_nanos(),
        rto_tick_ns: endpoint.rto.tick.as_nanos(),
        rto_margin_ns: endpoint.rto.margin.as_nanos(),
        quick_acks: endpoint.quick_acks,
        loss_detection: detection_name(endpoint.loss_detection),
        tail_loss_probe: endpoint.tail_loss_probe,
        f_rto: endpoint.f_rto,
        ecn: endpoint.ecn,
        pacing: endpoint.pacing,
        limited_transmit: endpoint.limited_transmit,
        recovery: recovery_name(endpoint.recovery),
        rtt_sampling: sampling_name(endpoint.rtt_sampling),
        cut_from: cut_name(endpoint.cut_from),
        rwnd_packets: endpoint.receiver_window(),
        window_validation: endpoint.window_validation,
        handshake: endpoint.handshake,
        flows: flows
            .iter()
            .map(|plan| FlowParams {
                cc: plan.flow.algorithm.to_string(),
                start: plan.start.to_string(),
                packets: plan.flow.packets,
            })
            .collect(),
    }
}

pub(super) fn seconds(time: Time) -> f64 {
    time.since(Time::ZERO).as_secs_f64()
}
