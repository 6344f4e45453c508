//! A packet log read back: the packets of a run or of a replay, their losses, and what its head says of the link.

mod flows;

use std::collections::BTreeMap;
use std::io::Read;

use csv::{ReaderBuilder, StringRecord};
use tmt_core::types::{Metadata, Span, Time};

use super::Fate;
use crate::experiment::{BufferSize, Experiment, FlowSpec, Parameter, Plan, RunId};
use crate::simulation::{Order, RecordedLosses, RecordedService, RecordedServices, Setup};
use tmt_link::queue::Discipline;

/// A gap in a log, or a part of its run that no model can repeat.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordingError(String);

type Result<T> = std::result::Result<T, RecordingError>;

fn refused<T>(why: impl Into<String>) -> Result<T> {
    Err(RecordingError(why.into()))
}

/// A packet of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) flow: usize,
    pub(super) packet: u64,
    pub(super) copy: u32,
    pub(super) at: Time,
    pub(super) enqueued: Option<Time>,
    pub(super) delivered: Option<Time>,
    pub(super) fate: Fate,
    /// Begin and end of its service, if that began.
    service: Option<(Time, Time)>,
    /// First and last unit of capacity that it used.
    units: (u64, u64),
    /// Time from the start of its service, propagation excluded, until its delivery; `None` if it was not delivered.
    wait: Option<Span>,
}

/// The packets of a packet log (docs/simulator.md, Sec. 11) in the order of sending.
///
/// Logs of real hosts have every IP packet, and neither ports nor sequence numbers. Their data are the packets of full size;
/// smaller ones, such as those of a handshake and ACKs, are left out and counted.
#[derive(Debug, Clone)]
pub struct Recording {
    head: Metadata,
    pub(super) packets: Vec<Sent>,
    /// Packets that are no data, and those of them that were lost.
    left_out: [u64; 2],
}

/// A value of the head, and the parameter that it is: key, parameter, and unit in the text of the parameter.
type Key = (&'static str, &'static str, &'static str);

/// Keys of the head of a log that describe the link, with the parameters of an experiment.
const KEYS: [Key; 24] = [
    ("link", "link", ""),
    ("rtt_ns", "rtt", "ns"),
    ("packet_bytes", "packet", "B"),
    ("terrestrial_rtt_ns", "terrestrial_rtt", "ns"),
    ("rate_bps", "rate", "bps"),
    ("packing", "packing", ""),
    ("overlap", "overlap", ""),
    ("channel", "channel", ""),
    ("scheme", "scheme", ""),
    ("feedback_delay_ns", "feedback_delay", "ns"),
    ("feedback_loss", "feedback_loss", ""),
    ("feedback_timer_ns", "feedback_timer", "ns"),
    ("tail", "tail", ""),
    ("in_order", "in_order", ""),
    ("hold", "hold", ""),
    ("return_loss", "return_loss", ""),
    ("return_rate_bps", "return_rate", "bps"),
    ("return_capacity", "return_capacity", ""),
    ("ack_filter", "ack_filter", ""),
    ("looped", "looped", ""),
    ("flows", "flows", ""),
    ("buffer", "buffer", ""),
    ("queue", "queue", ""),
    ("seed", "seed", ""),
];

/// How the drops of the queue are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drops {
    /// The model has the queue of the log, which drops by itself.
    #[default]
    Own,
    /// The packets with the numbers of those that were dropped are dropped, and the queue has no limit of its own.
    Recorded,
}

/// Parameters that the log decides.
const DECIDED: [&str; 8] = [
    "duration",
    "buffer",
    "queue",
    "queue_loss",
    "loss",
    "path",
    "offsets",
    "seeds",
];

impl Recording {
    /// Reads the text of a packet log, with its head.
    ///
    /// # Errors
    /// Text that is no packet log, with the line.
    pub fn read(mut input: impl Read) -> Result<Self> {
        let mut text = String::new();
        let read = input.read_to_string(&mut text);
        read.map_err(|error| RecordingError(error.to_string()))?;
        let mut head = Metadata::new();
        for line in text.lines().map_while(|line| line.strip_prefix("# ")) {
            if let Some((key, value)) = line.split_once(": ") {
                head.push(key, value);
            }
        }
        if head
            .get("log")
            .is_none_or(|log| !log.starts_with("packets"))
        {
            return refused(
                "found a file without `log: packets` in its head, expected a packet log of `tmt tcp` or `tmt replay` (--packets)",
            );
        }
        let full = head.get("packet_bytes").unwrap_or_default().to_owned();
        let is_real = head.get("hosts") == Some("real");
        let mut recording = Self {
            head,
            packets: Vec::new(),
            left_out: [0; 2],
        };
        let mut rows = ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        let columns = rows.headers().map_err(|error| unreadable(&error))?.clone();
        let mut row = StringRecord::new();
        while rows
            .read_record(&mut row)
            .map_err(|error| unreadable(&error))?
        {
            let line = row.position().map_or(0, csv::Position::line);
            let row = Row {
                columns: &columns,
                cells: &row,
                line,
            };
            let sent = row.sent()?;
            if is_real && row.cell("size_bytes") != Some(&full) {
                let is_lost = matches!(sent.fate, Fate::Queue | Fate::Link);
                recording.left_out[0] += 1;
                recording.left_out[1] += u64::from(is_lost);
            } else {
                recording.packets.push(sent);
            }
        }
        let end = text
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("# end: rows="));
        let stated = end.and_then(|end| end.split(' ').next()?.parse().ok());
        let found = recording.packets.len() as u64 + recording.left_out[0];
        if stated != Some(found) {
            let stated = stated.map_or_else(
                || "no end line".to_owned(),
                |stated: u64| format!("an end line of {stated} rows"),
            );
            return refused(format!(
                "found {found} rows and {stated}, expected a whole log: it was cut or changed"
            ));
        }
        if recording.packets.is_empty() {
            return refused(format!(
                "found no packet of data, expected at least one{}",
                if is_real {
                    format!(
                        " of {full} B, the MTU of the replay; the other direction has a log of its own"
                    )
                } else {
                    String::new()
                }
            ));
        }
        Ok(recording)
    }

    /// Whether the hosts were real ones.
    #[must_use]
    pub fn is_of_real_hosts(&self) -> bool {
        self.head.get("hosts") == Some("real")
    }

    /// The settings of the hosts as text; `None` of real ones.
    #[must_use]
    pub fn settings(&self) -> Option<&str> {
        self.head.get("settings")
    }

    /// Packets of the log that are no data, and those of them that were lost.
    #[must_use]
    pub const fn left_out(&self) -> [u64; 2] {
        self.left_out
    }

    /// Packets of data.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether there is no packet of data.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The losses, by the numbers of the packets of data in the order of their arrival at the queue. Retransmissions count: a log
    /// has no sequence numbers, and one that is lost again is lost in the repetition, too.
    #[must_use]
    pub fn losses(&self, drops: Drops) -> RecordedLosses {
        let mut arrived: Vec<&Sent> = self.packets.iter().collect();
        arrived.retain(|packet| packet.enqueued.is_some());
        arrived.sort_by_key(|packet| packet.enqueued);
        let numbers = |packets: &[&Sent], fate| {
            let numbered = (0..).zip(packets);
            let found = numbered.filter(|(_, packet)| packet.fate == fate);
            found.map(|(number, _)| number).collect()
        };
        let dropped = match drops {
            Drops::Own => Vec::new(),
            Drops::Recorded => numbers(&arrived, Fate::Queue),
        };
        arrived.retain(|packet| packet.fate != Fate::Queue);
        RecordedLosses::new(dropped, numbers(&arrived, Fate::Link))
    }

    /// The services of the packets that the queue did not drop, where the link repeats lost units: of real hosts on a coupled link whose
    /// packets are served one after another, in the order of their arrival, and leave the buffer with that.
    fn services(&self) -> Option<RecordedServices> {
        let is = |key, value: &str| self.head.get(key) == Some(value);
        let one_by_one = self.is_of_real_hosts()
            && is("link", "coupled")
            && is("hold", "sent")
            && is("interleave", "1")
            && is("queue", &Discipline::default().to_string());
        if !one_by_one {
            return None;
        }
        let order = match self.head.get("in_order") {
            Some("link") => Some(Order::Link),
            Some("flow") => Some(Order::Flow),
            _ => None,
        };
        let mut served: Vec<&Sent> = self.packets.iter().collect();
        served.retain(|packet| packet.enqueued.is_some() && packet.fate != Fate::Queue);
        served.sort_by_key(|packet| packet.enqueued);
        let (mut free, mut latest) = (Time::ZERO, BTreeMap::new());
        let after_end = |since| {
            let left = self.end().since(since);
            left.saturating_add(Span::from_nanos(1).unwrap_or(Span::ZERO))
        };
        let mut services = Vec::new();
        for packet in served {
            let ready = packet.enqueued.unwrap_or_default().max(free);
            let Some((start, end)) = packet.service else {
                // It waited until the end of the log, as did all packets after it.
                services.push(RecordedService {
                    pause: after_end(ready),
                    ..services.first().copied().unwrap_or_default()
                });
                break;
            };
            free = end;
            let decoding = match packet.wait {
                Some(wait) => {
                    let decoded = start.saturating_add(wait);
                    let key = order.map(|order| order.key(packet.flow as u64));
                    let before = key.and_then(|key| latest.insert(key, decoded));
                    // A packet that comes with its predecessor may have been decoded before, but not before its own slots had left.
                    if before == Some(decoded) {
                        wait.min(end.since(start))
                    } else {
                        wait
                    }
                }
                None if packet.fate == Fate::Link => Span::ZERO,
                // It was under way at the end of the log.
                None => after_end(start),
            };
            services.push(RecordedService {
                pause: start.since(ready),
                length: end.since(start),
                decoding,
                units: packet.units,
            });
        }
        (!services.is_empty()).then(|| RecordedServices::new(services, order))
    }

    /// The experiment over the link of the log. `given` has the values that are not in the head: the hosts, and where they are needed, the
    /// trace, or rate and LLDU of a channel. It also overrides the head.
    ///
    /// # Errors
    /// A parameter that the log decides, one that is missing, or a log of a run that cannot be repeated by its losses.
    pub fn experiment(&self, given: Experiment, drops: Drops) -> Result<Experiment> {
        for key in DECIDED {
            if given.gives(key) {
                return refused(format!(
                    "`{key}`: found it beside a packet log, expected none: the queue and the losses are those of the log"
                ));
            }
        }
        if self.head.get("path") == Some("split") {
            return refused("found a log of a split path, expected one without a proxy");
        }
        for key in ["terrestrial_hop", "far_hop"] {
            if self.head.get(key).is_some() {
                return refused(format!(
                    "found `{key}` in the head of the log, expected a log of one hop: the drops beside the link cannot be repeated"
                ));
            }
        }
        if drops == Drops::Own && self.head.get("queue_loss").is_some() {
            return refused(
                "found a log with `queue_loss`, whose drops the queue of the model does not have, expected recorded drops (`--compare-drops recorded`)",
            );
        }
        let queue = self.head.get("queue").unwrap_or_default();
        let is_lossy = self.packets.iter().any(|packet| packet.fate == Fate::Link);
        if queue.starts_with("fq-codel") && is_lossy {
            return refused(
                "found losses of the link behind fq-codel, which serves packets in another order than they arrive, expected another queue: the n-th packet is not the same one",
            );
        }
        if self.is_of_real_hosts() && !given.gives("cc") {
            return refused(
                "`cc`: found a log of real hosts, which does not say their congestion control, expected it",
            );
        }
        let flows = self.flows()?;
        let given = match &flows {
            Some(flows) => flows::without_flows(given, flows)?,
            None if self.is_of_real_hosts() || given.gives("flow") || given.gives("cc") => given,
            None => {
                return refused(
                    "`flow`: found a log whose head does not say what its flows are (an earlier version, or more than 64 KiB of them), expected the flows as they were, or `cc` for alike ones",
                );
            }
        };
        for (key, parameter) in [
            ("flow_terrestrial_rtts_ns", "flow"),
            ("flow_classes", "flow"),
            ("return_trace", "return_trace"),
        ] {
            if parameter == "flow" && flows.is_some() {
                continue;
            }
            if self.head.get(key).is_some() && !given.gives(parameter) {
                return refused(format!(
                    "`{parameter}`: found `{key}` in the head of the log, expected the parameter"
                ));
            }
        }
        let mut experiment = Experiment::default();
        let link = self.head.get("link").unwrap_or_default();
        for (key, parameter, unit) in KEYS {
            let is_of_one_link = match parameter {
                "packing" | "overlap" => link != "timeline",
                _ => false,
            };
            let (Some(value), false) = (self.head.get(key), is_of_one_link) else {
                continue;
            };
            let Some(parameter) = Parameter::of(parameter) else {
                continue;
            };
            let set = experiment.set(parameter, &[&format!("{value}{unit}")]);
            set.map_err(|why| RecordingError(format!("{key} of the head: {why}")))?;
        }
        if flows.is_some() || given.flow.is_some() {
            experiment.flows = None;
        }
        experiment.flow = flows;
        let needs_duration =
            link == "synthetic" || experiment.channel.is_some() || experiment.looped();
        if needs_duration {
            experiment.duration = Some(self.end().since(Time::ZERO));
        }
        if let Some(key) = experiment.override_with(given).first() {
            return refused(format!(
                "`{key}`: found another value than in the head of the log, expected that one, or no `{key}`"
            ));
        }
        if drops == Drops::Recorded {
            (experiment.buffer, experiment.queue) = (Some(BufferSize::Unlimited), None);
        }
        Ok(experiment)
    }

    /// Control, application and start of each flow, as the head has them; `None` of real hosts, of earlier versions, and where they are
    /// too long for a head.
    fn flows(&self) -> Result<Option<Vec<FlowSpec>>> {
        let text = self.head.get("flow_settings");
        let text = text.filter(|_| !self.is_of_real_hosts());
        let flows = text.map(FlowSpec::read_line).transpose();
        flows.map_err(|why| RecordingError(format!("flow_settings of the head: {why}")))
    }

    /// The setup of a run of `plan` that repeats the losses: flows that begin when those of the log did,
    /// and an end at that of the log.
    ///
    /// # Errors
    /// A trace other than that of the log, or hosts that use ECN over a queue that marks, since a log has no marks.
    pub fn setup(&self, plan: &Plan, run: RunId, drops: Drops) -> Result<Setup> {
        if let (Some(of_log), Some(found)) = (self.head.get("trace_digest"), plan.trace_digest())
            && of_log != found
        {
            return refused(format!(
                "`trace`: found rows with the digest {found}, expected those of the run of the log, {of_log}: another trace"
            ));
        }
        let mut setup = plan.setup(run);
        let queue = self.head.get("queue").unwrap_or_default();
        let marks = queue != Discipline::default().to_string();
        let has_ecn = setup.flows.iter().any(|flow| flow.endpoint.ecn);
        if drops == Drops::Recorded && marks && has_ecn {
            return refused(format!(
                "`ecn`: found it over the queue {queue} with its recorded drops, expected none: a packet log has no marks"
            ));
        }
        setup.queue_loss = None;
        setup.recorded = Some(self.losses(drops).with_services(self.services()));
        setup.end = self.end();
        if let (true, Some(first), [flow]) = (
            self.is_of_real_hosts(),
            self.packets.first(),
            &mut setup.flows[..],
        ) {
            let terrestrial = flow.terrestrial_rtt.unwrap_or(setup.path.terrestrial_rtt);
            let round_trip = Some(setup.rtt.saturating_add(terrestrial));
            let handshake = round_trip.filter(|_| flow.endpoint.handshake);
            let first = first.at.since(setup.begin);
            flow.start = first.saturating_sub(handshake.unwrap_or(Span::ZERO));
        }
        Ok(setup)
    }

    /// The end of the run; of real hosts the time at which the last packet of data was sent.
    pub(super) fn end(&self) -> Time {
        let last = self.packets.last().map_or(Time::ZERO, |packet| packet.at);
        let ends = self.head.number("run_ends_ns").and_then(Time::from_nanos);
        match ends {
            Some(ends) if !self.is_of_real_hosts() => ends,
            _ => last,
        }
    }
}

/// A row of a log, and the names of its columns.
struct Row<'a> {
    columns: &'a StringRecord,
    cells: &'a StringRecord,
    line: u64,
}

impl Row<'_> {
    /// A cell; `None` if it is empty, or if there is no such column.
    fn cell(&self, name: &str) -> Option<&str> {
        let column = self.columns.iter().position(|column| column == name)?;
        self.cells.get(column).filter(|cell| !cell.is_empty())
    }

    /// A value that every row has.
    fn value<T>(&self, name: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        let cell = self.cell(name);
        let read = cell.and_then(read);
        read.ok_or_else(|| {
            let (line, found) = (self.line, cell.unwrap_or("nothing"));
            RecordingError(format!(
                "line {line}: found {found}, expected `{name}` of a packet log"
            ))
        })
    }

    /// A time, with or without its unit in the name of the column, as earlier versions had it.
    fn time(&self, name: &str) -> Option<Time> {
        Some(Time::ZERO.saturating_add(self.span(name)?))
    }

    /// A length of time, likewise.
    fn span(&self, name: &str) -> Option<Span> {
        let cell = self.cell(&format!("{name}_s")).or(self.cell(name))?;
        format!("{cell}s").parse().ok()
    }

    fn sent(&self) -> Result<Sent> {
        let at = self.time("sent");
        Ok(Sent {
            flow: self.value("flow", |cell| cell.parse().ok())?,
            packet: self.value("packet", |cell| cell.parse().ok())?,
            copy: self.value("copy", |cell| cell.parse().ok())?,
            at: at.map_or_else(|| self.value("sent_s", |_| None), Ok)?,
            enqueued: self.time("enqueued"),
            delivered: self.time("delivered"),
            fate: self.value("fate", |cell| cell.parse().ok())?,
            service: self.time("service_start").zip(self.time("service_end")),
            units: ["first_lldu", "last_lldu"]
                .map(|name| {
                    self.cell(name)
                        .and_then(|cell| cell.parse().ok())
                        .unwrap_or(0)
                })
                .into(),
            wait: self
                .span("delay_serialisation")
                .zip(self.span("delay_wait"))
                .map(|(service, wait)| service.saturating_add(wait)),
        })
    }
}

fn unreadable(error: &csv::Error) -> RecordingError {
    RecordingError(error.to_string())
}

#[cfg(test)]
mod tests;
