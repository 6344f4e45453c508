//! `--qlog`: the senders' recovery metrics as qlog, for tools that show those of QUIC senders.
//!
//! Format: JSON text sequences (RFC 7464) by draft-ietf-quic-qlog-main-schema (`QlogFileSeq`), events of
//! draft-ietf-quic-qlog-quic-events-12: `quic:recovery_metrics_updated` with the metrics that changed, and
//! `quic:packet_lost`. There is one trace; the flow of an event is its `group_id`. Times are milliseconds from the run's
//! zero, windows are bytes of whole packets.
//!
//! A packet is reported as lost when it is retransmitted: with trigger `reordering_threshold` in fast recovery,
//! `pto_expired` after an RTO.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::Number;
use tmt_core::types::{Bytes, Span, Time, to_f64};

use crate::endpoint::Transmission;
use crate::endpoint::sender::{Snapshot, TransmissionReason};
use crate::simulation::probe::{Probe, SenderEvent};

/// Byte before every record (RFC 7464, Sec. 2.2). A line feed follows the record.
const RECORD_SEPARATOR: u8 = 0x1e;

/// Number of bytes that are buffered before a write.
const BLOCK: usize = 1 << 16;

/// The first record, with DESCRIPTION in place of the description of the run.
const HEAD: &str = concat!(
    r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","#,
    r#""serialization_format":"application/qlog+json-seq","#,
    r#""title":"tmt tcp: a model of TCP, not QUIC","description":DESCRIPTION,"#,
    r#""trace":{"title":"TCP senders of a simulation","description":"#,
    r#""each group_id is a flow, counted from 0; packet numbers count packets of "#,
    r#"the flow from 0 and are the same in a retransmission","#,
    r#""common_fields":{"time_format":"relative_to_epoch","#,
    r#""reference_time":{"clock_type":"monotonic","epoch":"unknown"},"protocol_types":["TCP"]},"#,
    r#""vantage_point":{"name":"sender of the TCP model","type":"client"},"#,
    r#""event_schemas":["urn:ietf:params:qlog:events:quic-12"]}}"#,
);

#[derive(Debug, Serialize)]
struct Event<'a, D> {
    time: f64,
    name: &'a str,
    group_id: String,
    data: D,
}

/// Metrics of a sender. Those without a value and those that did not change are omitted.
const METRICS: [&str; 5] = [
    "smoothed_rtt",
    "congestion_window",
    "bytes_in_flight",
    "ssthresh",
    "packets_in_flight",
];

/// Data of `quic:recovery_metrics_updated`: the metrics that changed.
struct MetricsUpdated(Vec<(&'static str, Number)>);

impl Serialize for MetricsUpdated {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[derive(Debug, Serialize)]
struct Lost<'a> {
    header: Header<'a>,
    trigger: &'a str,
}

#[derive(Debug, Serialize)]
struct Header<'a> {
    packet_type: &'a str,
    packet_number: u64,
}

/// Probe that writes the events during the run.
#[derive(Debug)]
pub struct Qlog<W> {
    output: W,
    buffer: Vec<u8>,
    packet: u64,
    latest: Vec<[Option<Number>; 5]>,
    error: Option<io::Error>,
}

impl<W: Write> Qlog<W> {
    /// Creates the log of `flows` flows with packets of `packet` bytes and writes its first record.
    ///
    /// `tool` and `settings` go into the description.
    ///
    /// # Errors
    /// An error of the output.
    pub fn new(
        output: W,
        packet: Bytes,
        flows: usize,
        tool: &str,
        settings: &str,
    ) -> io::Result<Self> {
        let description = serde_json::to_string(&format!("{tool}; {settings}"))?;
        let mut buffer = vec![RECORD_SEPARATOR];
        buffer.extend(HEAD.replacen("DESCRIPTION", &description, 1).bytes());
        buffer.push(b'\n');
        Ok(Self {
            output,
            buffer,
            packet: packet.0,
            latest: vec![METRICS.map(|_| None); flows],
            error: None,
        })
    }

    /// Writes the buffered events.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(mut self) -> io::Result<W> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.output.write_all(&self.buffer)?;
        Ok(self.output)
    }

    /// Writes an event, unless an error occurred before.
    fn event(&mut self, now: Time, flow: usize, name: &str, data: impl Serialize) {
        if self.error.is_some() {
            return;
        }
        let event = Event {
            time: millis(now.since(Time::ZERO)),
            name,
            group_id: flow.to_string(),
            data,
        };
        self.buffer.push(RECORD_SEPARATOR);
        let written = serde_json::to_writer(&mut self.buffer, &event);
        self.error = written.err().map(io::Error::from);
        self.buffer.push(b'\n');
        if self.buffer.len() >= BLOCK {
            let written = self.output.write_all(&self.buffer);
            self.error = self.error.take().or(written.err());
            self.buffer.clear();
        }
    }

    /// Size in bytes of a window in segments, rounded down.
    fn bytes(&self, segments: f64) -> u64 {
        tmt_core::math::num::floor_u64(segments * to_f64(self.packet))
    }
}

fn millis(span: Span) -> f64 {
    to_f64(span.as_nanos()) / 1e6
}

impl<W: Write> Probe for Qlog<W> {
    fn on_sent(&mut self, now: Time, copy: Transmission) {
        let trigger = match copy.why {
            // A tail loss probe does not mean that the packet is lost.
            TransmissionReason::New | TransmissionReason::TailProbe => return,
            TransmissionReason::FastRetransmit => "reordering_threshold",
            TransmissionReason::Timeout => "pto_expired",
        };
        let lost = Lost {
            header: Header {
                packet_type: "1RTT",
                packet_number: copy.packet,
            },
            trigger,
        };
        self.event(now, copy.flow, "quic:packet_lost", lost);
    }

    fn on_sender(
        &mut self,
        now: Time,
        flow: usize,
        _moment: SenderEvent,
        sender: &Snapshot,
        _queue: u64,
        _delivered: u64,
    ) {
        let state = [
            sender.srtt.map(millis).and_then(Number::from_f64),
            Some(self.bytes(sender.cwnd).into()),
            Some(sender.in_flight.saturating_mul(self.packet).into()),
            sender.ssthresh.map(|segments| self.bytes(segments).into()),
            Some(sender.in_flight.into()),
        ];
        let changed = METRICS.iter().zip(&state).zip(&self.latest[flow]);
        let changed = changed.filter(|((_, now), before)| now != before);
        let changed = changed.filter_map(|((name, now), _)| Some((*name, now.clone()?)));
        let changed = MetricsUpdated(changed.collect());
        if !changed.0.is_empty() {
            self.latest[flow] = state;
            self.event(now, flow, "quic:recovery_metrics_updated", changed);
        }
    }
}
