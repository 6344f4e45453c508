//! Packet traces of ns-2, plain and of satellite links: the packets of one link, from their transmission to their arrival
//! (docs/trace-format.md, Sec. 12.17).
//!
//! A line is `event time from to type size flags flow source destination sequence id`, of satellite links followed by two
//! latitudes and two longitudes. `+` puts a packet into the queue of the link, `-` takes it out to be sent, `r` is its arrival,
//! `d` a drop and `e` an error. A packet that is dropped after `+` was dropped by the queue; without `+`, by a model of errors
//! before it, and so by the link. The id stays with a packet on its way and is new for a retransmission.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::BufRead;

use super::finding::counted;
use super::probe::{self, Fate, LLDU, PROPAGATION, Record, Records, Shape};
use super::{
    Files, Finding, Given, Importer, Kind, Lines, Parameter, RTT, Remark, Rule, TRACE, whole_lines,
};
use crate::format::foreign::Carries;
use crate::format::import::catalogue::{ARRIVALS_UNSENT, QUEUE_DROPS};
use crate::format::text::{nanos, shown};
use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Result, TraceKind};

const LINK: &str = "link";

/// Packets in flight that are waited for: with more, the one sent first is lost.
const IN_FLIGHT: usize = 1 << 16;

/// Packets in a queue that are known; more are forgotten by their ids.
const MOST_QUEUED: usize = 1 << 20;

/// Links that a message names.
const SHOWN: usize = 8;

/// Columns of a line, and of a line of a satellite link.
const COLUMNS: [usize; 2] = [12, 16];

const KEYS: [Parameter; 5] = [
    TRACE,
    Parameter::optional(
        LINK,
        Kind::Nodes,
        "the link whose packets are taken, as the numbers of its nodes",
    )
    .when(Rule::Required("the file has the packets of all links")),
    PROPAGATION,
    RTT,
    LLDU,
];

/// Importer of traces of ns-2.
pub static FORMAT: Importer = Importer {
    name: "ns2",
    about: "packet trace of ns-2 (`r + - d e` lines, also of satellite links), one link of it",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.delay().loss().order(),
    keys: &KEYS,
    recognises: |first| {
        let mut lines = whole_lines(first).peekable();
        lines.peek().is_some() && lines.all(|line| event(line.trim_ascii()).is_some())
    },
    open: |given, files, note| {
        note(Remark::fact(
            "a packet is sent when it leaves the queue of the link: drops and waiting before are not part of it",
        ));
        let shape = Shape::new(&FORMAT, Some(TRACE.name), Link::open);
        probe::open(&shape, given, given.clone(), files, note)
    },
};

/// A line of a trace.
#[derive(Debug, PartialEq)]
struct Event<'a> {
    kind: u8,
    time: &'a [u8],
    link: (&'a str, &'a str),
    id: u64,
}

/// The event of a line; `None` if it is none.
fn event(line: &[u8]) -> Option<Event<'_>> {
    let text = std::str::from_utf8(line).ok()?;
    let mut fields = [""; 17];
    let mut count = 0;
    for field in text.split_ascii_whitespace() {
        *fields.get_mut(count)? = field;
        count += 1;
    }
    let [kind @ (b'r' | b'+' | b'-' | b'd' | b'e')] = fields[0].as_bytes() else {
        return None;
    };
    let is_time = fields[1].starts_with(|first: char| first.is_ascii_digit());
    let is_event = COLUMNS.contains(&count) && is_time;
    let [from, to] = [fields[2], fields[3]].map(|node| node.parse::<i32>().ok());
    Some(Event {
        kind: *kind,
        time: fields[1].as_bytes(),
        link: from
            .and(to)
            .filter(|_| is_event)
            .map(|_| (fields[2], fields[3]))?,
        id: fields[11].parse().ok()?,
    })
}

/// A packet that was sent.
#[derive(Debug)]
struct Sent {
    id: u64,
    /// ns.
    at: u64,
    /// `None` while it is in flight.
    fate: Option<Fate>,
}

/// Reads the packets of a link.
struct Link {
    lines: Lines<Box<dyn BufRead + Send>>,
    from: String,
    to: String,
    /// Packets in the order of sending, and the number of the first.
    sent: VecDeque<Sent>,
    first: u64,
    /// Ids of packets in the queue.
    queued: BTreeSet<u64>,
    /// Number of a packet in flight by its id.
    in_flight: BTreeMap<u64, u64>,
    ended: bool,
    packets: u64,
    queue_drops: u64,
    unseen: u64,
    others: BTreeSet<(String, String)>,
    /// Time of the line before, ns.
    now: u64,
}

impl Link {
    fn open(settings: &Given, files: &mut dyn Files) -> Result<Self> {
        let input = files.open(TRACE.name).map_err(Error::from)?;
        let link = settings.text(LINK).unwrap_or_default();
        let (from, to) = link.split_once('-').unwrap_or_default();
        Ok(Self {
            lines: Lines::new(input),
            from: from.to_owned(),
            to: to.to_owned(),
            sent: VecDeque::new(),
            first: 0,
            queued: BTreeSet::new(),
            in_flight: BTreeMap::new(),
            ended: false,
            packets: 0,
            queue_drops: 0,
            unseen: 0,
            others: BTreeSet::new(),
            now: 0,
        })
    }

    /// Takes the event of the line read last.
    fn take(&mut self) -> Result<()> {
        let text = self.lines.text();
        if text.is_empty() {
            return Ok(());
        }
        let Some(event) = event(text) else {
            let found = format!("'{}'", shown(text));
            let expected = "event (r, +, -, d or e), time, from, to, type, size, flags, flow, source, destination, sequence and id, perhaps with four positions";
            return Err(self.lines.error(ErrorKind::format(found, expected)));
        };
        let time =
            nanos(event.time, Unit::Seconds, "time").map_err(|kind| self.lines.error(kind))?;
        if event.link != (self.from.as_str(), self.to.as_str()) {
            if self.packets == 0 && self.others.len() <= SHOWN {
                let (from, to) = event.link;
                self.others.insert((from.to_owned(), to.to_owned()));
            }
            return Ok(());
        }
        if time < self.now {
            use crate::types::Time;
            let at = |nanos| Time::from_nanos(nanos).unwrap_or(Time::MAX);
            return Err(self.lines.error(ErrorKind::OutOfOrder {
                previous: at(self.now),
                found: at(time),
            }));
        }
        self.now = time;
        let (kind, id) = (event.kind, event.id);
        if kind == b'-' {
            let number = self.first + self.sent.len() as u64;
            self.sent.push_back(Sent {
                id,
                at: time,
                fate: None,
            });
            self.packets += 1;
            // A packet that is sent again over the same link has not arrived before.
            self.in_flight.insert(id, number);
            self.queued.remove(&id);
            return Ok(());
        }
        if kind == b'+' {
            if self.queued.len() == MOST_QUEUED {
                self.queued.pop_first();
            }
            self.queued.insert(id);
            return Ok(());
        }
        let Some(number) = self.in_flight.remove(&id) else {
            if kind == b'r' {
                self.unseen += 1;
            } else if self.queued.remove(&id) {
                self.queue_drops += 1;
            } else {
                // `lossmodel` puts a model of errors before the queue, where it drops packets that are not queued yet.
                let fate = Some(Fate::Lost);
                self.sent.push_back(Sent { id, at: time, fate });
                self.packets += 1;
            }
            return Ok(());
        };
        let place = number
            .checked_sub(self.first)
            .and_then(|place| usize::try_from(place).ok());
        let Some(sent) = place.and_then(|place| self.sent.get_mut(place)) else {
            self.unseen += 1;
            return Ok(());
        };
        sent.fate = Some(match kind {
            b'r' => Fate::Received(i64::try_from(time - sent.at).ok()),
            _ => Fate::Lost,
        });
        Ok(())
    }
}

impl Records for Link {
    fn next_record(&mut self) -> Result<Option<Record>> {
        loop {
            let is_full = self.sent.len() > IN_FLIGHT || self.ended;
            if let Some(sent) = self.sent.front()
                && (sent.fate.is_some() || is_full)
            {
                let record = Record {
                    number: None,
                    sent: Some(i64::try_from(sent.at).unwrap_or(i64::MAX)),
                    fate: sent.fate.unwrap_or(Fate::Lost),
                };
                if sent.fate.is_none() && self.in_flight.get(&sent.id) == Some(&self.first) {
                    self.in_flight.remove(&sent.id);
                }
                self.sent.pop_front();
                self.first += 1;
                return Ok(Some(record));
            }
            if self.ended {
                return Ok(None);
            }
            if self.lines.advance()? {
                self.take()?;
                continue;
            }
            self.ended = true;
            if self.packets == 0 {
                let links = self
                    .others
                    .iter()
                    .take(SHOWN)
                    .map(|(from, to)| format!("{from}-{to}"));
                let links: Vec<String> = links.collect();
                let more = if self.others.len() > SHOWN {
                    ", …"
                } else {
                    ""
                };
                let found = format!(
                    "no packet that leaves the queue of link {}-{}",
                    self.from, self.to
                );
                let expected = format!("a link of the file: {}{more}", links.join(", "));
                return Err(self.lines.error(ErrorKind::format(found, expected)));
            }
        }
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.lines.error(kind)
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.lines.finding(TRACE.name).into_iter().collect();
        if self.queue_drops > 0 {
            let text = format!(
                "{}: {} at the queue before the link, no losses of the link",
                TRACE.name,
                counted(self.queue_drops, "drop")
            );
            findings.push(Finding::of(&QUEUE_DROPS, self.queue_drops, "packets", text));
        }
        if self.unseen > 0 {
            let text = format!(
                "{}: {} without having left the queue, or after more than {IN_FLIGHT} later packets, ignored",
                TRACE.name,
                counted(self.unseen, "arrival")
            );
            let finding = Finding::of(&ARRIVALS_UNSENT, self.unseen, "packets", text);
            findings.push(finding.not_carried());
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::converted;
    use super::*;

    #[test]
    fn a_packet_that_never_arrives_does_not_hold_back_the_others_for_ever() {
        let mut text = String::from("- 0 0 1 tcp 1 - 1 0 1 3 999999\n");
        let count = IN_FLIGHT + 10;
        for at in 1..count {
            text.push_str(&format!(
                "- {at} 0 1 tcp 1 - 1 0 1 3 {at}\nr {at}.5 0 1 tcp 1 - 1 0 1 3 {at}\n"
            ));
        }
        text.push_str(&format!("r {count} 0 1 tcp 1 - 1 0 1 3 999999\n"));
        let keys = [("link", "0-1"), ("propagation", "0s")];
        let found = converted(&FORMAT, &[("trace", &text)], &keys);
        assert_eq!((found.slots.len(), found.slots[0].1), (count, 0));
        assert!(
            found
                .findings
                .iter()
                .any(|found| found.name == "arrivals-unsent")
        );
    }
}
