//! What JSON shows of a run: every resolved parameter, and what follows from them.

use serde_json::{Value, json};
use tmt_core::types::{Span, Time};

use crate::experiment::parameters::PARAMETERS;
use crate::experiment::plan::{FlowPlan, LinkPlan, Params, Plan};

impl Plan {
    /// All there is to show, where the head of a timeline names `scheme`.
    pub(super) fn params(&self, scheme: Option<&str>) -> Params {
        // On a synthetic link they are about the return trace.
        let is_shown = |key: &str| self.link.trace().is_some() || !key.starts_with("lldu");
        let mut params = Params::new();
        for parameter in PARAMETERS {
            let value = (parameter.access.json)(&self.resolved);
            let value = value.filter(|_| is_shown(parameter.key));
            params.extend(parameter.json_name().zip(value));
            let facts = self.after(parameter.key, scheme).into_iter();
            params.extend(facts.map(|(name, value)| (name.to_owned(), value)));
        }
        params
    }

    /// What follows the parameter `key`.
    fn after(&self, key: &str, scheme: Option<&str>) -> Vec<(&'static str, Value)> {
        let seconds = |time: Time| time.since(Time::ZERO).as_secs_f64();
        let mut facts = Vec::new();
        match (key, &self.link) {
            ("loss", LinkPlan::Timeline(_)) => {
                facts.extend(scheme.map(|scheme| ("scheme", json!(scheme))));
            }
            ("overlap", LinkPlan::Timeline(plan)) => {
                let slot = plan.shift.map(Span::as_nanos);
                facts.extend(slot.map(|slot| ("slot_ns", json!(slot))));
            }
            ("lldu_header", link) => {
                let trace = link.trace();
                facts
                    .extend(trace.map(|trace| ("lldus_per_packet", json!(trace.lldus_per_packet))));
                facts.push(("link_rate_bps", json!(self.link_rate_bps)));
                if !self.overridden.is_empty() {
                    facts.push(("overridden", json!(self.overridden)));
                }
                facts.push(("buffer_packets", json!(self.buffer)));
            }
            ("return_rate", _) => {
                if let Some(plan) = &self.return_trace {
                    facts.push(("return_trace", json!(true)));
                    facts.push(("return_lldu_bytes", json!(plan.lldu.0)));
                    facts.push(("return_lldus_per_ack", json!(plan.trace.lldus)));
                }
                facts.push(("begin_s", json!(seconds(self.begin))));
                facts.push(("end_s", json!(seconds(self.end))));
            }
            ("handshake", _) => facts.push(("flows", self.flows.iter().map(shown).collect())),
            _ => {}
        }
        facts
    }
}

/// A flow.
fn shown(plan: &FlowPlan) -> Value {
    json!({
        "cc": plan.flow.algorithm.to_string(),
        "start": plan.start.to_string(),
        "packets": plan.flow.packets,
    })
}
