//! `--explain`: one packet's story, in words and as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use fluid_tcp::endpoint::sender::Why;
use fluid_tcp::experiment::{LinkPlan, Plan, TracePlan};
use fluid_tcp::link;
use fluid_tcp::log::{CopyStory, Story};
use fluid_tcp::simulation::probe::Refused;
use serde::Serialize;
use tmt_core::types::{Span, Time};

/// What `--explain` takes: a packet, of flow 0 or of another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketFlag {
    pub(crate) flow: usize,
    pub(crate) packet: u64,
}

impl FromStr for PacketFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (flow, packet) = text.split_once(':').unwrap_or(("0", text));
        flow.parse()
            .ok()
            .zip(packet.parse().ok())
            .map(|(flow, packet)| Self { flow, packet })
            .ok_or_else(|| {
                format!("found '{text}', expected a packet, or a flow and its packet, counted from 0: 17 or 2:17")
            })
    }
}

/// The story, with what the timeline knows of its LLDUs. Times are integer nanoseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Explanation {
    flow: usize,
    packet: u64,
    copies: Vec<Copy>,
    /// Whether a proxy answered the sender.
    #[serde(skip)]
    proxied: bool,
    receiver_told_ns: Option<u64>,
    sacked_ns: Option<u64>,
    acked_ns: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Copy {
    #[serde(rename = "copy")]
    number: u32,
    why: &'static str,
    sent_ns: u64,
    /// When it reached the gateway; left out where the run ended before.
    #[serde(skip_serializing_if = "Option::is_none")]
    reached_ns: Option<u64>,
    queue_met_packets: u64,
    /// When the queue dropped it that had taken it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped_ns: Option<u64>,
    service: Option<Service>,
    fate: &'static str,
    delivered_ns: Option<u64>,
    delay: Option<Delay>,
}

#[derive(Debug, Serialize)]
struct Service {
    start_ns: u64,
    end_ns: u64,
    first_lldu: u64,
    last_lldu: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lldus: Option<Lldus>,
}

/// What became of the LLDUs of a copy.
#[derive(Debug, Default, Serialize)]
struct Lldus {
    /// Delivered, by attempts; empty where the timeline does not tell them.
    attempts: BTreeMap<u32, u64>,
    delivered: u64,
    lost: u64,
    /// The one that was delivered last, and when, propagation left out.
    latest: Option<(u64, u64)>,
}

#[derive(Debug, Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the unit stands in the names that JSON shows"
)]
struct Delay {
    propagation_ns: u64,
    queue_ns: u64,
    serialisation_ns: u64,
    wait_ns: u64,
    total_ns: u64,
}

impl Explanation {
    pub(crate) fn new(plan: &Plan, story: &Story) -> Self {
        let timeline = match &plan.link {
            LinkPlan::Timeline(timeline) => Some(timeline),
            // A packet's slots do not tell what became of its LLDUs: their repeats are not among them.
            LinkPlan::Coupled(_) | LinkPlan::Synthetic { .. } => None,
        };
        let nanos = |time: Option<Time>| time.map(Time::as_nanos);
        Self {
            flow: story.flow,
            packet: story.packet,
            copies: story
                .copies
                .iter()
                .map(|copy| Copy::new(copy, timeline))
                .collect(),
            proxied: plan.path.split.is_some(),
            receiver_told_ns: nanos(story.told),
            sacked_ns: nanos(story.sacked),
            acked_ns: nanos(story.acked),
        }
    }
}

impl Copy {
    fn new(story: &CopyStory, timeline: Option<&TracePlan>) -> Self {
        let delay = story.delay.filter(|_| story.delivered.is_some());
        Self {
            number: story.copy,
            why: match story.why {
                Why::New => "new",
                Why::FastRetransmit => "fast_retransmit",
                Why::Timeout => "timeout",
                Why::TailProbe => "tail_loss_probe",
            },
            sent_ns: story.sent.as_nanos(),
            reached_ns: story.reached.map(Time::as_nanos),
            queue_met_packets: story.queue_met,
            service: story.service.map(|served| Service {
                start_ns: served.start.as_nanos(),
                end_ns: served.end.as_nanos(),
                first_lldu: served.first_unit,
                last_lldu: served.last_unit,
                lldus: timeline.map(|timeline| Lldus::of(timeline, served)),
            }),
            dropped_ns: story.dropped.map(Time::as_nanos),
            fate: match (story.refused, story.lost, story.delivered) {
                (Some(Refused::Full), ..) => "queue",
                (Some(Refused::Duplicate), ..) => "duplicate",
                _ if story.dropped.is_some() => "queue",
                (_, true, _) => "link",
                (_, _, Some(_)) => "delivered",
                _ => "open",
            },
            delivered_ns: story.delivered.map(Time::as_nanos),
            delay: delay.map(|parts| Delay {
                propagation_ns: parts.propagation.as_nanos(),
                queue_ns: parts.queue.as_nanos(),
                serialisation_ns: parts.serialisation.as_nanos(),
                wait_ns: parts.wait.as_nanos(),
                total_ns: parts.total().as_nanos(),
            }),
        }
    }
}

impl Lldus {
    fn of(plan: &TracePlan, served: link::Service) -> Self {
        let mut lldus = Self::default();
        let rows = plan.timeline.len();
        for unit in served.first_unit..=served.last_unit {
            let index = unit % rows;
            let Some((sent, delay)) = plan.timeline.lldu(index) else {
                continue;
            };
            if delay.is_zero() {
                lldus.lost += 1;
                continue;
            }
            lldus.delivered += 1;
            if let Some(attempts) = plan.timeline.attempts(index) {
                *lldus.attempts.entry(attempts).or_insert(0) += 1;
            }
            let shift = plan
                .period
                .and_then(|period| period.checked_mul(unit / rows));
            let at = sent
                .saturating_add(shift.unwrap_or(Span::ZERO))
                .saturating_add(delay)
                .as_nanos();
            if lldus.latest.is_none_or(|(_, before)| at > before) {
                lldus.latest = Some((unit, at));
            }
        }
        lldus
    }
}

/// A time of the run.
fn at(nanos: u64) -> String {
    Time::from_nanos(nanos).unwrap_or(Time::MAX).to_string()
}

/// A length of time.
fn long(nanos: u64) -> String {
    Span::from_nanos(nanos).unwrap_or(Span::MAX).to_string()
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "packet {} of flow {}", self.packet, self.flow)?;
        for copy in &self.copies {
            write!(f, "{copy}")?;
        }
        if let Some(told) = self.receiver_told_ns {
            writeln!(
                f,
                "  {}: {} sends the first acknowledgement that tells of it",
                at(told),
                if self.proxied {
                    "the proxy"
                } else {
                    "the receiver"
                }
            )?;
        }
        if let Some(sacked) = self.sacked_ns {
            writeln!(
                f,
                "  {}: the sender learns of it from a SACK block",
                at(sacked)
            )?;
        }
        match self.acked_ns {
            Some(acked) => writeln!(f, "  {}: acknowledged, with all before it", at(acked)),
            None => writeln!(f, "  not acknowledged by the end of the run"),
        }
    }
}

impl fmt::Display for Copy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            "fast_retransmit" => "sent again in a fast recovery",
            "timeout" => "sent again after a retransmission timeout",
            "tail_loss_probe" => "sent again as a tail loss probe",
            _ => "sent for the first time",
        };
        writeln!(f, "  {}: copy {}, {why}", at(self.sent_ns), self.number)?;
        let Some(reached) = self.reached_ns else {
            return writeln!(
                f,
                "    still on its way to the gateway at the end of the run"
            );
        };
        if reached > self.sent_ns {
            writeln!(f, "    {}: at the gateway", at(reached))?;
        }
        if self.fate == "duplicate" {
            return writeln!(f, "    the proxy had it already");
        }
        let met = match self.queue_met_packets {
            0 => "nothing in the queue".to_owned(),
            1 => "1 packet in the queue".to_owned(),
            met => format!("{met} packets in the queue"),
        };
        if self.fate == "queue" {
            return match self.dropped_ns {
                None => writeln!(f, "    met {met}, which was full: dropped"),
                Some(dropped) => writeln!(
                    f,
                    "    met {met}, and was dropped from it at {}",
                    at(dropped)
                ),
            };
        }
        writeln!(
            f,
            "    met {met}, and took place {}",
            self.queue_met_packets + 1
        )?;
        match &self.service {
            Some(service) => write!(f, "{service}")?,
            None => writeln!(f, "    still in the queue at the end of the run")?,
        }
        match (self.fate, self.delivered_ns, &self.delay) {
            ("link", ..) => writeln!(f, "    lost on the link"),
            (_, Some(delivered), Some(delay)) => {
                writeln!(
                    f,
                    "    {}: delivered, {} after it was sent:",
                    at(delivered),
                    long(delay.total_ns)
                )?;
                writeln!(
                    f,
                    "      {} propagation + {} queue + {} serialisation + {} decoding and ARQ/FEC",
                    long(delay.propagation_ns),
                    long(delay.queue_ns),
                    long(delay.serialisation_ns),
                    long(delay.wait_ns)
                )
            }
            _ if self.service.is_some() => {
                writeln!(f, "    still on its way at the end of the run")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end) = (at(self.start_ns), at(self.end_ns));
        let Some(lldus) = &self.lldus else {
            return writeln!(
                f,
                "    {start} to {end}: on the link, as its packet {}",
                self.first_lldu
            );
        };
        writeln!(
            f,
            "    {start} to {end}: on the link, LLDUs {} to {}",
            self.first_lldu, self.last_lldu
        )?;
        let mut words: Vec<String> = lldus
            .attempts
            .iter()
            .map(|(attempts, count)| format!("{count} delivered in attempt {attempts}"))
            .collect();
        if words.is_empty() {
            words.push(format!("{} delivered", lldus.delivered));
        }
        words.push(format!("{} lost", lldus.lost));
        writeln!(f, "      {}", words.join(", "))?;
        if let Some((lldu, arrived)) = lldus.latest {
            writeln!(
                f,
                "      the last of them, LLDU {lldu}, decoded {} (propagation left out)",
                at(arrived)
            )?;
        }
        Ok(())
    }
}
