//! The line that says what a run is.

use tmt_core::types::Time;

use super::counted::counted;
use super::parameters::Experiment;
use super::plan::{FlowPlan, LinkPlan, Plan};
use super::setting::Setting as _;
use super::values::BufferSize;
use crate::simulation::Side;

impl FlowPlan {
    /// The congestion control of a flow, with its application if that is no single transfer; the application alone of datagrams.
    #[must_use]
    pub fn name(&self) -> String {
        let control = self.flow.algorithm.short();
        match (&self.app, self.datagrams) {
            (Some(app), Some(_)) => app.short(),
            (Some(app), None) if app.entry().name != "bulk" && self.flow.bytes().is_none() => {
                format!("{control} {}", app.entry().name)
            }
            _ => control,
        }
    }
}

impl Plan {
    /// Time at which every run begins, unless it has an offset.
    #[must_use]
    pub const fn begin(&self) -> Time {
        self.begin
    }

    /// Congestion control, profile, link, RTT and queue of the runs in one sentence. `given` is the experiment that was
    /// resolved: what it does not give is marked as a default.
    #[must_use]
    pub fn headline(&self, given: &Experiment) -> String {
        let default = |key| if given.gives(key) { "" } else { " (default)" };
        let flows = self.flows.iter();
        let names: Vec<String> = flows.map(FlowPlan::name).collect();
        let mut controls: Vec<String> = Vec::new();
        for alike in names.chunk_by(|a, b| a == b) {
            controls.push(match alike.len() {
                1 => alike[0].clone(),
                flows => format!("{flows} x {}", alike[0]),
            });
        }
        let cc = if given.gives("flow") {
            ""
        } else {
            default("cc")
        };
        let rate = self.link_rate_bps.map_or_else(String::new, |bps| {
            format!(" of {:.3} Mbps for packets", bps / 1e6)
        });
        let scheme = match &self.link {
            LinkPlan::Coupled(plan) => format!(" {}", plan.link.scheme),
            LinkPlan::Timeline(_) | LinkPlan::Synthetic { .. } => String::new(),
        };
        // The proxy replaces the delayed ACKs of the profile.
        let path = match self.path.split {
            Some(_) => ", split path with an ACK per packet",
            None => "",
        };
        let profile = if self.flows.iter().any(|plan| plan.datagrams.is_none()) {
            let profile = self.resolved.profile();
            format!(", profile {profile}{}", default("profile"))
        } else {
            String::new()
        };
        let beside = Side::ALL.into_iter().zip(&self.side_paths);
        let beside = beside.filter_map(|(side, plan)| {
            let side: &str = side.into();
            let (plan, size) = plan.as_ref().and_then(|plan| Some((plan, plan.size?)))?;
            let rate = match plan.rate {
                Some(rate) => rate.to_string(),
                None => "a trace".to_owned(),
            };
            let queue = match size {
                BufferSize::Packets(packets) => counted(packets, "packet"),
                size => size.text(),
            };
            let default = default(if side == "far" {
                "far_buffer"
            } else {
                "terrestrial_buffer"
            });
            Some(format!(
                ", {side} path of {rate} with a queue of {queue}{default}"
            ))
        });
        let beside: String = beside.collect();
        format!(
            "{}{cc}{profile}; {} link{scheme}{rate}, RTT {}{path}, {}{}{beside}",
            controls.join(" + "),
            self.link.kind(),
            self.rtt,
            self.queue_text(),
            default("buffer"),
        )
    }

    /// The queue and its size, in words.
    pub(super) fn queue_text(&self) -> String {
        self.queue_limit().map_or_else(
            || "unlimited queue".to_owned(),
            |packets| format!("queue of {}", counted(packets, "packet")),
        )
    }

    /// Size of the queue in packets; `None` if it has no limit.
    pub(super) fn queue_limit(&self) -> Option<u64> {
        (self.resolved.buffer() != BufferSize::Unlimited).then_some(self.buffer)
    }
}
