//! Measures of a run: a metric, a part of one, or a combination of several.

use serde_json::Value;

use crate::record::{Fields, Record, Run};

/// A measure of a run, as text:
///
/// | text | value |
/// |---|---|
/// | `NAME` | a metric of all flows together, or a result of a closed form |
/// | `NAME[K]` | share of the value K in a histogram |
/// | `flow K:NAME` | a metric of flow K, from 0 |
/// | `parameter:NAME` | a resolved parameter, by its name in JSON |
/// | a name of [`DERIVED`] | what follows from several metrics |
#[derive(Debug, Clone)]
pub(super) enum Measure {
    Total(String),
    Share(String, u64),
    Flow(usize, String),
    Parameter(String),
    Derived(&'static Derived),
}

/// A quantity of papers that is no metric of its own.
#[derive(Debug)]
pub(super) struct Derived {
    name: &'static str,
    value: fn(&Record, &Run) -> Option<f64>,
}

/// Papers, closed forms and ns-2 count whole packets over the whole run.
static DERIVED: [Derived; 5] = [
    Derived {
        name: "arrival_rate_bps",
        value: |record, run| packet_rate(record, run, "packets_arrived"),
    },
    Derived {
        name: "delivery_rate_bps",
        value: |record, run| packet_rate(record, run, "packets_delivered"),
    },
    Derived {
        name: "bandwidth_used",
        value: |record, run| {
            // Packets fill whole LLDUs, so that the slots are faster than the packets that they carry.
            let of = |name: &str| number(&record.params, name);
            let filled = of("lldus_per_packet")? * of("lldu_bytes")? / of("packet_bytes")?;
            let slots = of("link_rate_bps")? * filled;
            let carried = packet_rate(record, run, "packets_served")?;
            Some(carried / number(&run.total, "mean_coding_ratio")? / slots)
        },
    },
    // Packets that fill the link without a queue.
    Derived {
        name: "bdp_packets",
        value: |record, _| {
            let bits =
                number(&record.params, "link_rate_bps")? * number(&record.params, "rtt_ns")? * 1e-9;
            Some(bits / (number(&record.params, "packet_bytes")? * 8.0))
        },
    },
    // Slots of the link that a packet with its codewords takes.
    Derived {
        name: "slots_per_packet",
        value: |record, run| {
            let sizes =
                number(&record.params, "packet_bytes")? / number(&record.params, "lldu_bytes")?;
            Some(sizes / number(&run.total, "mean_coding_ratio")?)
        },
    },
];

/// Rate of the whole packets that the metric `name` counts, bit/s.
fn packet_rate(record: &Record, run: &Run, name: &str) -> Option<f64> {
    let bits = number(&run.total, name)? * (number(&record.params, "packet_bytes")? * 8.0);
    run.duration_s
        .filter(|length| *length > 0.0)
        .map(|length| bits / length)
}

/// A number, or a text that is one.
fn number(fields: &Fields, name: &str) -> Option<f64> {
    match fields.get(name)? {
        Value::String(text) => text.parse().ok(),
        Value::Bool(on) => Some(f64::from(u8::from(*on))),
        other => other.as_f64(),
    }
}

/// Share of `value` in a histogram, an array of objects with `value` and `count`; 0 if it has none.
fn share(histogram: &Value, value: u64) -> Option<f64> {
    let mut all = 0.0;
    let mut counted = 0.0;
    for entry in histogram.as_array()? {
        let count = entry.get("count")?.as_f64()?;
        all += count;
        if entry.get("value")?.as_u64()? == value {
            counted = count;
        }
    }
    (all > 0.0).then_some(counted / all)
}

impl Measure {
    /// Reads one.
    ///
    /// # Errors
    /// Text of another form.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let refuse = || {
            format!(
                "found '{text}', expected a metric such as goodput_bps, link_attempts[1], flow 0:goodput_bps or parameter:rate_bps"
            )
        };
        if let Some(derived) = DERIVED.iter().find(|derived| derived.name == text) {
            return Ok(Self::Derived(derived));
        }
        if let Some(name) = text.strip_prefix("parameter:") {
            return Ok(Self::Parameter(name.to_owned()));
        }
        if let Some(rest) = text.strip_prefix("flow ") {
            let (number, name) = rest.split_once(':').ok_or_else(refuse)?;
            return Ok(Self::Flow(
                number.parse().map_err(|_| refuse())?,
                name.to_owned(),
            ));
        }
        if let Some((name, rest)) = text.split_once('[') {
            let value = rest.strip_suffix(']').and_then(|value| value.parse().ok());
            return Ok(Self::Share(name.to_owned(), value.ok_or_else(refuse)?));
        }
        if text.is_empty() {
            return Err(refuse());
        }
        Ok(Self::Total(text.to_owned()))
    }

    /// Its value in a run; `None` if it has none.
    pub(super) fn of(&self, record: &Record, run: &Run) -> Option<f64> {
        match self {
            Self::Total(name) => run.metric(name),
            Self::Share(name, value) => share(run.total.get(name)?, *value),
            Self::Flow(flow, name) => number(run.flows.get(*flow)?, name),
            Self::Parameter(name) => number(&record.params, name),
            Self::Derived(derived) => (derived.value)(record, run),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: &Value) -> Fields {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn values_of_a_run_are_found_by_their_texts() {
        let record = Record {
            params: fields(
                &json!({"packet_bytes": 1500, "link_rate_bps": 1_000_000, "lldu_bytes": 33, "lldus_per_packet": 50}),
            ),
            ..Record::default()
        };
        let run = Run {
            duration_s: Some(10.0),
            total: fields(&json!({
                "packets_arrived": 100, "packets_served": 50, "mean_coding_ratio": 0.75,
                "link_attempts": [{"value": 1, "count": 3}, {"value": 2, "count": 1}],
            })),
            flows: vec![fields(&json!({"goodput_bps": 5.0}))],
            ..Run::default()
        };
        for (text, value) in [
            ("packets_arrived", Some(100.0)),
            ("arrival_rate_bps", Some(120_000.0)),
            // 50 packets of 12 kbit in 10 s are 60 kbps; three quarters of the slots used carry them, of 1100 kbps in all.
            ("bandwidth_used", Some(60.0 / 0.75 / 1100.0)),
            ("slots_per_packet", Some(1500.0 / 33.0 / 0.75)),
            ("link_attempts[2]", Some(0.25)),
            ("link_attempts[3]", Some(0.0)),
            ("flow 0:goodput_bps", Some(5.0)),
            ("flow 1:goodput_bps", None),
            ("parameter:link_rate_bps", Some(1e6)),
            ("completion_time_s", None),
        ] {
            assert_eq!(
                Measure::parse(text).unwrap().of(&record, &run),
                value,
                "{text}"
            );
        }
        for text in ["", "a[b]", "flow x:goodput_bps"] {
            assert!(Measure::parse(text).is_err(), "{text}");
        }
    }
}
