//! The head of a log: a plan and its run.

use std::fmt::Display;
use std::iter::repeat_n;

use tmt_core::types::{Metadata, Span};

use super::{FlowPlan, LinkPlan, Plan};
use crate::application::Pace;
use crate::endpoint::Endpoint;
use crate::experiment::flows;
use crate::experiment::setting::Setting as _;
use crate::experiment::values::{FlowSpec, Start};
use crate::simulation::{self, Flow, Setup, Side, SplitAnnounce};
use tmt_link::{Overlap, Packing};

impl Plan {
    /// Adds to `head`, the metadata of a log, everything that the auditor needs.
    pub fn describe(&self, head: &mut Metadata, setup: &Setup, seed: u64) {
        let mut set = |key: &str, value: &dyn Display| head.set(key, value.to_string());
        set("link", &self.link.kind());
        set("rtt_ns", &self.rtt.as_nanos());
        set("packet_bytes", &self.resolved.packet().0);
        set("buffer", &self.resolved.buffer().text());
        set("queue", &self.resolved.queue());
        set("terrestrial_rtt_ns", &self.path.terrestrial_rtt.as_nanos());
        self.describe_flows(head, setup, seed);
        let mut set = |key: &str, value: &dyn Display| head.set(key, value.to_string());
        if let Some(digest) = self.trace_digest() {
            set("trace_digest", &digest);
        }
        set("path", &self.resolved.path());
        if let Some(window) = self.path.split {
            set("split_window", &window);
            if self.path.announce == SplitAnnounce::Every {
                set("split_announce", &self.path.announce);
            }
        }
        // Those of a transfer of bytes are all full.
        let sizes_differ = self.flows.iter().any(|plan| plan.app.is_some());
        match &self.link {
            LinkPlan::Timeline(timeline) => {
                if self.path.split.is_some() {
                    set("feedback_delay_ns", &self.path.feedback_delay.as_nanos());
                }
                set("lldus_per_packet", &timeline.lldus_per_packet);
                set("packing", &timeline.packing);
                if timeline.packing == Packing::Bytes || sizes_differ {
                    set("lldu_payload_bytes", &timeline.payload);
                }
                match timeline.shift {
                    Some(slot) => {
                        set("overlap", &Overlap::Shift);
                        set("slot_ns", &slot.as_nanos());
                    }
                    None => set("overlap", &Overlap::Asap),
                }
            }
            LinkPlan::Coupled(plan) => {
                let link = &plan.link;
                if let Some(channel) = &self.resolved.channel {
                    set("channel", channel);
                }
                set("scheme", &link.scheme);
                set("feedback_delay_ns", &link.feedback_delay.as_nanos());
                if let Some(lost) = link.lost_feedback {
                    set("feedback_loss", &lost.probability);
                    set("feedback_timer_ns", &lost.timer.as_nanos());
                }
                set("tail", &link.tail);
                set("in_order", &link.in_order);
                set("hold", &link.hold);
                set("lldus_per_packet", &link.segmentation.lldus());
                if sizes_differ {
                    set("lldu_payload_bytes", &plan.trace.payload);
                }
                set("units_per_packet", &link.units_per_packet());
                set("interleave", &link.scheme.interleave());
            }
            LinkPlan::Synthetic { rate, loss } => {
                set("rate_bps", &rate.0);
                if let Some(loss) = loss {
                    set("loss", loss);
                }
            }
        }
        if let Some(plan) = &self.return_trace {
            set("return_trace", &"on");
            set("return_lldu_bytes", &plan.lldu.0);
            set("return_lldus_per_ack", &plan.trace.segmentation.lldus());
            set("return_packing", &plan.packing);
        }
        self.describe_side_paths(head);
        let mut set = |key: &str, value: &dyn Display| head.set(key, value.to_string());
        if let Some(loss) = &self.resolved.queue_loss {
            set("queue_loss", loss);
        }
        self.describe_return_path(head);
        // All flows of TCP have the same settings but for congestion control, start and size.
        if let Some(Flow { endpoint, .. }) = setup.flows.iter().find(|flow| flow.hosts.is_none()) {
            self.describe_acks(head, endpoint);
        }
        head.set("flows", setup.flow_count().to_string());
        head.set("seed", seed.to_string());
        head.set("run_ends_ns", setup.end.as_nanos().to_string());
        for by in &self.overridden {
            head.override_value(by.key, by.flag, by.stored, by.used);
        }
        if self.resolved.looped() {
            head.set("looped", "on");
        }
        head.set("settings", self.settings.clone());
    }
}

impl Plan {
    /// Describes losses and capacity of the return path.
    fn describe_return_path(&self, head: &mut Metadata) {
        let mut set = |key: &str, value: &dyn Display| head.set(key, value.to_string());
        if let Some(loss) = &self.resolved.return_loss {
            set("return_loss", loss);
        }
        if let Some(rate) = self.resolved.return_rate {
            set("return_rate_bps", &rate.0);
        }
        if let Some(access) = &self.resolved.return_capacity {
            set("return_capacity", access);
        }
        if let Some(filter) = &self.resolved.ack_filter {
            set("ack_filter", filter);
        }
    }

    /// Describes the paths beside the link.
    fn describe_side_paths(&self, head: &mut Metadata) {
        let mut set = |key: &str, value: &dyn Display| head.set(key, value.to_string());
        for (side, plan) in Side::ALL.into_iter().zip(&self.side_paths) {
            let Some(plan) = plan else { continue };
            let side: &str = side.into();
            set(&format!("{side}_hop"), &"on");
            if let Some(rate) = plan.rate {
                set(&format!("{side}_rate_bps"), &rate.0);
            }
            if let Some(trace) = &plan.trace {
                set(&format!("{side}_trace"), &"on");
                set(&format!("{side}_packing"), &trace.packing);
                let payload = trace.payload;
                set(&format!("{side}_lldu_payload_bytes"), &payload);
            }
            if let Some(size) = &plan.size {
                set(&format!("{side}_buffer"), &size.text());
                set(&format!("{side}_queue"), &plan.discipline);
            }
            if let Some(loss) = &plan.loss {
                set(&format!("{side}_loss"), loss);
            }
        }
    }

    /// Describes the flows where they are not all alike, and as `--flow` has them.
    fn describe_flows(&self, head: &mut Metadata, setup: &Setup, seed: u64) {
        let mut set = |key: &str, value: &dyn Display| head.set(key, value.to_string());
        if setup
            .flows
            .iter()
            .any(|flow| flow.terrestrial_rtt.is_some())
        {
            let rtts = setup.numbered().map(|flow| setup.terrestrial_rtt(&flow));
            let rtts: Vec<String> = rtts.map(|rtt| rtt.as_nanos().to_string()).collect();
            set("flow_terrestrial_rtts_ns", &rtts.join(" "));
        }
        if setup.flows.iter().any(|flow| flow.class > 0) {
            let classes = setup.numbered().map(|flow| flow.class.to_string());
            set("flow_classes", &classes.collect::<Vec<_>>().join(" "));
        }
        if self.flows.iter().any(|flow| flow.datagrams.is_some()) {
            set("flow_datagrams", &described_datagrams(&self.flows, setup));
        }
        if let Some(flows) = self.described_flows(seed) {
            set("flow_settings", &flows);
        }
    }

    /// Control, application, start and the other settings of each flow in the run with `seed`; `None` if that is too long for a head.
    fn described_flows(&self, seed: u64) -> Option<String> {
        /// Longest text, bytes.
        const LONGEST: usize = 1 << 16;
        let specs = self
            .flows
            .iter()
            .enumerate()
            .map(|(number, plan)| FlowSpec {
                cc: plan
                    .datagrams
                    .is_none()
                    .then(|| plan.flow.algorithm.clone()),
                start: Some(Start::At(plan.start.draw(seed, number))),
                bytes: plan.flow.bytes().filter(|_| plan.app.is_none()),
                app: plan.app.clone(),
                terrestrial_rtt: plan.flow.terrestrial_rtt,
                class: Some(plan.flow.class).filter(|class| *class > 0),
            });
        Some(flows::in_one_line(specs)).filter(|text| text.len() <= LONGEST)
    }

    /// A digest of the rows of the trace that the link is over, in hexadecimal; `None` without one, or if it cannot be read.
    #[must_use]
    pub fn trace_digest(&self) -> Option<String> {
        let trace = match &self.link {
            LinkPlan::Timeline(trace) => trace,
            LinkPlan::Coupled(plan) if plan.channel.is_none() => &plan.trace,
            LinkPlan::Coupled(_) | LinkPlan::Synthetic { .. } => return None,
        };
        trace.rows.digest().map(|digest| format!("{digest:016x}"))
    }

    /// Describes when the receiver sends ACKs.
    fn describe_acks(&self, head: &mut Metadata, endpoint: &Endpoint) {
        let nanos = |span: Span| span.as_nanos().to_string();
        head.set("delayed_ack", endpoint.delayed_ack.to_string());
        head.set("delayed_ack_timer_ns", nanos(endpoint.delayed_ack_timer));
        head.set("quick_acks", endpoint.quick_acks.to_string());
        if endpoint.quick_while_growing {
            head.set("quick_while_growing", "on");
        }
        let held_back = endpoint.sack_compression;
        if endpoint.sack && !held_back.is_zero() && self.resolved.return_loss.is_some() {
            head.set("sack_compression_ns", nanos(held_back));
        }
    }
}

/// The datagrams of each flow, for the auditor: sizes in bytes, and rate in bit/s and whether there are pauses, unless they have
/// any size at any time; `-` for TCP.
fn described_datagrams(flows: &[FlowPlan], setup: &Setup) -> String {
    let entries = simulation::entries(&setup.flows);
    let numbered = entries.into_iter().zip(&setup.flows);
    let entries = numbered.flat_map(|(entry, flow)| repeat_n(entry, 1 + flow.on_demand));
    let flows = entries.filter_map(|entry| flows.get(entry)).map(|flow| {
        let Some(form) = flow.datagrams else {
            return "-".to_owned();
        };
        let (payload, headers) = (form.payload.0, form.headers.0);
        match form.pace {
            Pace::Rate { bps, share } => {
                let pauses = if share < 1.0 { "on" } else { "off" };
                format!("payload={payload},headers={headers},rate={bps},pauses={pauses}")
            }
            Pace::Arrivals => format!("largest={payload},headers={headers}"),
        }
    });
    flows.collect::<Vec<_>>().join(" ")
}
