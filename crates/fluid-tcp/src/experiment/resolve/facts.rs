//! What JSON shows of a run that no parameter says.

use serde_json::{Value, json};
use tmt_core::types::{Span, Time};

use crate::experiment::parameters::{Experiment, PARAMETERS};
use crate::experiment::params::{Overridden, Params, Shown};
use crate::experiment::plan::{FlowPlan, LinkPlan, ReturnPlan};

/// What a run has that no parameter says.
pub(super) struct Facts<'a> {
    pub(super) link: &'a LinkPlan,
    pub(super) scheme: Option<&'a str>,
    pub(super) link_rate_bps: Option<f64>,
    pub(super) overridden: &'a [Overridden],
    pub(super) buffer: u64,
    pub(super) return_trace: Option<&'a ReturnPlan>,
    pub(super) begin: Time,
    pub(super) end: Time,
    pub(super) flows: &'a [FlowPlan],
}

impl Facts<'_> {
    /// What follows the parameter `key`.
    fn after(&self, key: &str) -> Vec<(&'static str, Shown)> {
        let seconds = |time: Time| time.since(Time::ZERO).as_secs_f64();
        let value = |name, value: Value| (name, Shown::Value(value));
        let mut facts = Vec::new();
        match (key, self.link) {
            ("loss", LinkPlan::Timeline(_)) => {
                facts.extend(self.scheme.map(|scheme| value("scheme", json!(scheme))));
            }
            ("overlap", LinkPlan::Timeline(plan)) => {
                let slot = plan.shift.map(Span::as_nanos);
                facts.extend(slot.map(|slot| value("slot_ns", json!(slot))));
            }
            ("lldu_header", link) => {
                let lldus = link.lldus_per_packet();
                facts.extend(lldus.map(|lldus| value("lldus_per_packet", json!(lldus))));
                facts.push(value("link_rate_bps", json!(self.link_rate_bps)));
                if !self.overridden.is_empty() {
                    facts.push(("overridden", self.overridden()));
                }
                facts.push(value("buffer_packets", json!(self.buffer)));
            }
            ("return_rate", _) => {
                if let Some(plan) = self.return_trace {
                    facts.push(value("return_trace", json!(true)));
                    facts.push(value("return_lldu_bytes", json!(plan.lldu.0)));
                    facts.push(value("return_lldus_per_ack", json!(plan.trace.lldus)));
                }
                facts.push(value("begin_s", json!(seconds(self.begin))));
                facts.push(value("end_s", json!(seconds(self.end))));
            }
            ("handshake", _) => facts.push(("flows", self.flows())),
            _ => {}
        }
        facts
    }

    fn overridden(&self) -> Shown {
        let values = self.overridden.iter().map(|value| {
            vec![
                ("key", json!(value.key)),
                ("flag", json!(value.flag)),
                ("told", json!(value.told)),
                ("used", json!(value.used)),
            ]
        });
        Shown::List(values.collect())
    }

    fn flows(&self) -> Shown {
        let flows = self.flows.iter().map(|plan| {
            vec![
                ("cc", json!(plan.flow.algorithm.to_string())),
                ("start", json!(plan.start.to_string())),
                ("packets", json!(plan.flow.packets)),
            ]
        });
        Shown::List(flows.collect())
    }

    /// All there is to show of `resolved`.
    pub(super) fn params(&self, resolved: &Experiment) -> Params {
        let mut shown = Vec::new();
        for parameter in PARAMETERS {
            let value = (parameter.access.json)(resolved).map(Shown::Value);
            shown.extend(parameter.json_name().zip(value));
            let facts = self.after(parameter.key).into_iter();
            shown.extend(facts.map(|(name, value)| (name.to_owned(), value)));
        }
        Params(shown)
    }
}
