//! `params` of JSON: every resolved parameter, and values derived from them.

use serde_json::{Value, json};
use tmt_core::types::{Metadata, Time};

use crate::application::App;
use crate::endpoint::Endpoint;
use crate::experiment::parameters::PARAMETERS;
use crate::experiment::plan::{FlowPlan, LinkPlan, Params, Plan};
use crate::experiment::setting::Setting as _;

impl Plan {
    /// All parameters and derived values. `head` is that of the timeline.
    pub(super) fn params(&self, head: &Metadata) -> Params {
        // On a synthetic link LLDU and packing are those of the return trace.
        let describes_trace = |key: &str| key.starts_with("lldu") || key == "packing";
        // It has no effect on transfers without pauses.
        let rests = super::applications::have_pauses(&self.flows);
        let is_shown = |key: &str| match key {
            "idle_restart" => rests,
            key => self.link.trace().is_some() || !describes_trace(key),
        };
        let mut params = Params::new();
        for parameter in PARAMETERS {
            let value = (parameter.access.json)(&self.resolved);
            let value = value.filter(|_| is_shown(parameter.key));
            params.extend(parameter.json_name().zip(value));
            self.add_derived(parameter.key, head, |name, value| {
                params.insert(name.to_owned(), value);
            });
        }
        params
    }

    /// Settings of the hosts of TCP; `None` if no flow has any.
    fn tcp(&self) -> Option<Endpoint> {
        let mut flows = self.flows.iter();
        let of_tcp = flows.find(|plan| plan.datagrams.is_none())?;
        Some(of_tcp.flow.endpoint)
    }

    /// Adds the values that follow the parameter `key`.
    fn add_derived(&self, key: &str, head: &Metadata, mut add: impl FnMut(&str, Value)) {
        let seconds = |time: Time| time.since(Time::ZERO).as_secs_f64();
        match (key, &self.link) {
            ("loss", LinkPlan::Timeline(_)) => {
                if let Some(scheme) = head.get("scheme") {
                    add("scheme", json!(scheme));
                }
                if let Some(delay) = head.number("feedback_delay_ns") {
                    add("feedback_delay_ns", json!(delay));
                }
            }
            ("overlap", LinkPlan::Timeline(plan)) => {
                if let Some(slot) = plan.shift {
                    add("slot_ns", json!(slot.as_nanos()));
                }
            }
            ("lldu_header", link) => {
                if let Some(trace) = link.trace() {
                    add("lldus_per_packet", json!(trace.lldus_per_packet));
                }
                add("link_rate_bps", json!(self.link_rate_bps));
                if !self.overridden.is_empty() {
                    add("overridden", json!(self.overridden));
                }
                add("buffer_packets", json!(self.queue_limit()));
            }
            ("return_rate", _) => {
                if let Some(plan) = &self.return_trace {
                    add("return_trace", json!(true));
                    add("return_lldu_bytes", json!(plan.lldu.0));
                    add(
                        "return_lldus_per_ack",
                        json!(plan.trace.segmentation.lldus()),
                    );
                    add("return_packing", json!(plan.packing.name()));
                }
                add("begin_s", json!(seconds(self.begin)));
                add("end_s", json!(seconds(self.end)));
            }
            ("rwnd", _) => {
                let Some(endpoint) = self.tcp() else { return };
                let window = endpoint.receiver_window();
                add("rwnd_packets", json!(window));
            }
            ("first_rwnd", _) => {
                let Some(endpoint) = self.tcp() else { return };
                let grows = Some(endpoint).filter(|it| it.first_rwnd < it.rwnd);
                add("first_rwnd_packets", json!(grows.map(|it| it.first_rwnd)));
            }
            ("handshake", _) => {
                let with_apps = self.flows.iter().any(|plan| plan.app.is_some());
                let flows = self.flows.iter().map(|plan| shown(plan, with_apps));
                add("flows", flows.collect());
            }
            _ => {}
        }
    }
}

/// JSON of a flow, with its application if any flow of the run has one.
fn shown(plan: &FlowPlan, with_app: bool) -> Value {
    let control = plan.datagrams.is_none();
    let control = control.then(|| plan.flow.algorithm.to_string());
    let mut shown = json!({
        "cc": control,
        "start": plan.start.text(),
        "packets": plan.flow.packets(),
    });
    if with_app {
        let usual = match plan.flow.bytes() {
            None => "bulk".to_owned(),
            Some(bytes) => format!("bytes({bytes})"),
        };
        let app = plan.app.as_ref();
        shown["app"] = json!(app.map_or(usual, App::in_parentheses));
    }
    shown
}
