//! From round trips to packets of one direction.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::finding::counted;
use super::super::json::{Elements, Piece};
use super::super::probe::{DIRECTION, Direction, Fate, Record, Records, Totals};
use super::super::{Files, Finding, Given, TRACE};
use super::File;
use crate::types::{Error, ErrorKind, Result, Span};

/// Version of the JSON that is read.
const JSON_FORMAT: u64 = 1;

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Lost {
    #[serde(rename = "false")]
    No,
    /// In an unknown direction: the server did not count what it received.
    #[serde(rename = "true")]
    Somewhere,
    #[serde(rename = "true_up")]
    Up,
    #[serde(rename = "true_down")]
    Down,
}

/// The two clocks of a host, ns since times of their own.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Stamp {
    wall: Option<i64>,
    monotonic: Option<i64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Host {
    send: Stamp,
    receive: Stamp,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Hosts {
    client: Host,
    server: Host,
}

/// Delays, ns; the round trip is without the time in the server.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct DelaysOf {
    send: Option<i64>,
    receive: Option<i64>,
    rtt: Option<i64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct RoundTrip {
    seqno: u64,
    lost: Lost,
    #[serde(default)]
    timestamps: Hosts,
    #[serde(default)]
    delay: DelaysOf,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Version {
    json_format: Option<u64>,
}

/// What the file says of all packets.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stats {
    packets_sent: Option<u64>,
    packets_received: Option<u64>,
}

/// What was odd.
#[derive(Debug, Default)]
struct Odd {
    /// Answered packets, lost ones of unknown direction, and packets that did not reach the server.
    answered: u64,
    somewhere: u64,
    not_answered: u64,
    /// Packets that reached the server, but whose answer, and with it the delay, was lost.
    unknown: u64,
    unknown_before_first: u64,
    /// One-way delays below 0 or above the round trip, and the most by which they are, ns.
    impossible: u64,
    most_off: i64,
}

/// Reads the packets of one direction.
pub(super) struct Packets {
    elements: File,
    direction: Direction,
    /// Whether the monotonic clock of the sender is used, by the first packet with a time.
    monotonic: Option<bool>,
    /// Numbers of packets that are no probes of the direction, so far.
    left_out: u64,
    /// The last known delay, ns.
    last_delay: Option<i64>,
    first: Option<u64>,
    stats: Stats,
    odd: Odd,
}

impl Packets {
    pub(super) fn open(settings: &Given, files: &mut dyn Files) -> Result<Self> {
        let input = files.open(TRACE.name).map_err(Error::from)?;
        Ok(Self {
            elements: Elements::new(input, Some("round_trips")),
            direction: Direction::of(settings),
            monotonic: None,
            left_out: 0,
            last_delay: None,
            first: None,
            stats: Stats::default(),
            odd: Odd::default(),
        })
    }

    /// Reads a member of the outermost object.
    fn member(&mut self) -> Result<()> {
        match self.elements.key() {
            b"version" => {
                let version: Version = self.elements.value()?;
                let unknown = version.json_format.filter(|format| *format != JSON_FORMAT);
                if let Some(unknown) = unknown {
                    let found = format!("json_format {unknown}");
                    let kind = ErrorKind::format(found, format!("json_format {JSON_FORMAT}"));
                    return Err(self.elements.error(kind));
                }
            }
            b"stats" => self.stats = self.elements.value()?,
            _ => {
                let _: IgnoredAny = self.elements.value()?;
            }
        }
        Ok(())
    }

    /// The packet of this direction; `None` if none was sent, or its delay cannot be known.
    fn packet(&mut self, trip: &RoundTrip) -> Result<Option<Record>> {
        self.odd.answered += u64::from(trip.lost == Lost::No);
        self.odd.somewhere += u64::from(trip.lost == Lost::Somewhere);
        if self.direction == Direction::Down && trip.lost == Lost::Up {
            self.odd.not_answered += 1;
            return Ok(None);
        }
        let fate = match (self.direction, trip.lost) {
            (_, Lost::No) => Fate::Received(Some(self.delay(trip)?)),
            (Direction::Up, Lost::Down) => {
                self.odd.unknown += 1;
                let Some(delay) = self.last_delay else {
                    self.odd.unknown_before_first += 1;
                    return Ok(None);
                };
                Fate::Received(Some(delay))
            }
            _ => Fate::Lost,
        };
        if let Fate::Received(delay) = fate {
            self.last_delay = delay;
        }
        let sent = match self.direction {
            Direction::Down => trip.timestamps.server.send,
            _ => trip.timestamps.client.send,
        };
        let number = trip.seqno.checked_sub(self.left_out).ok_or_else(|| {
            let found = format!("seqno {} after higher ones", trip.seqno);
            let kind = ErrorKind::format(found, "numbers in the order of sending");
            self.elements.error(kind)
        })?;
        let first = self.first.get_or_insert(number);
        *first = number.min(*first);
        Ok(Some(Record {
            number: Some(number),
            sent: self.time(sent, fate)?,
            fate,
        }))
    }

    /// The time of a stamp, by the clock of the first packet; a lost packet may have none.
    fn time(&mut self, stamp: Stamp, fate: Fate) -> Result<Option<i64>> {
        if self.monotonic.is_none() && (stamp.monotonic.is_some() || stamp.wall.is_some()) {
            self.monotonic = Some(stamp.monotonic.is_some());
        }
        let time = match self.monotonic {
            Some(true) => stamp.monotonic,
            _ => stamp.wall,
        };
        if time.is_none() && fate != Fate::Lost {
            let kind = ErrorKind::format(
                "an answered packet without a send time",
                "a time of the same clock as of the packets before",
            );
            return Err(self.elements.error(kind));
        }
        Ok(time)
    }

    /// The delay of an answered packet in this direction, ns.
    fn delay(&mut self, trip: &RoundTrip) -> Result<i64> {
        let DelaysOf { send, receive, rtt } = trip.delay;
        if let (Some(send), Some(receive), Some(rtt)) = (send, receive, rtt) {
            let off = [send, receive].map(|way| way.saturating_neg().max(way.saturating_sub(rtt)));
            let off = off[0].max(off[1]);
            self.odd.impossible += u64::from(off > 0);
            self.odd.most_off = self.odd.most_off.max(off);
        }
        let delay = match self.direction {
            Direction::Up => send,
            Direction::Down => receive,
            Direction::RoundTrip => rtt.filter(|rtt| *rtt >= 0),
        };
        delay.ok_or_else(|| {
            let kind = match self.direction {
                Direction::RoundTrip => ErrorKind::format(
                    "an answered packet without a round trip of 0 ns or more",
                    "delay.rtt",
                ),
                _ => ErrorKind::format(
                    "an answered packet without a one-way delay: the server sent no time stamps",
                    format!(
                        "delay.send and delay.receive, or {} round-trip",
                        DIRECTION.name
                    ),
                ),
            };
            self.elements.error(kind)
        })
    }

    /// Packets that the list has, and those of them that the server received or that were answered, against the stats.
    fn doubts_on_stats(&self) -> Option<Finding> {
        let read = self.elements.elements();
        let pairs = [
            ("sent", self.stats.packets_sent, read),
            ("received", self.stats.packets_received, self.odd.answered),
        ];
        let differing = pairs
            .iter()
            .filter_map(|(what, stated, read)| Some((what, (*stated)?, *read)));
        let (what, stated, read) = differing
            .into_iter()
            .find(|(_, stated, read)| stated != read)?;
        let text = format!(
            "{}: its stats say {stated} packets {what}, round_trips has {read}: elements are missing, or were changed",
            TRACE.name
        );
        let off = stated.abs_diff(read);
        Some(Finding::warning("summary-differs", off, "packets", text))
    }
}

impl Records for Packets {
    fn next_record(&mut self) -> Result<Option<Record>> {
        while let Some(piece) = self.elements.advance()? {
            if piece == Piece::Member {
                self.member()?;
                continue;
            }
            let trip: RoundTrip = self.elements.value()?;
            match self.packet(&trip)? {
                Some(record) => return Ok(Some(record)),
                None => self.left_out += 1,
            }
        }
        Ok(None)
    }

    fn totals(&self) -> Totals {
        // Lost packets are in the list, too.
        Totals {
            first: self.first,
            sent: Some(0),
            received: None,
        }
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.elements.error(kind)
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let odd = &self.odd;
        let is_one_way = self.direction != Direction::RoundTrip;
        if odd.impossible > 0 {
            let most = Span::from_nanos(odd.most_off.unsigned_abs()).unwrap_or(Span::MAX);
            let text = format!(
                "{}: one-way delays of {} are below 0 or above the round trip, by up to {most}: the clocks differ by at least that{}",
                TRACE.name,
                counted(odd.impossible, "packet"),
                if is_one_way {
                    format!(
                        "; the variation of delays holds, but neither propagation nor rtt_ns (`{}` round-trip needs no clocks)",
                        DIRECTION.name
                    )
                } else {
                    "; round trips do not need them".to_owned()
                }
            );
            findings.push(if is_one_way {
                Finding::warning("clock-offset", odd.impossible, "packets", text).assumed()
            } else {
                Finding::note("clock-offset", odd.impossible, "packets", text)
            });
        }
        if odd.somewhere > 0 && is_one_way {
            let text = format!(
                "{}: {} in an unknown direction, taken as lost in this one; with the statistics of the server (option --stats of irtt client) it is known",
                TRACE.name,
                counted(odd.somewhere, "lost packet")
            );
            let finding =
                Finding::warning("loss-direction-unknown", odd.somewhere, "packets", text);
            findings.push(finding.assumed());
        }
        if odd.unknown > 0 {
            let before = match odd.unknown_before_first {
                0 => String::new(),
                before => format!("; {before} before the first known delay are left out"),
            };
            let text = format!(
                "{}: {} reached the server and the answer with the delay was lost: they get the delay of the one before{before}",
                TRACE.name,
                counted(odd.unknown, "packet")
            );
            let finding = Finding::note("delays-unknown", odd.unknown, "packets", text);
            findings.push(finding.assumed());
        }
        if odd.not_answered > 0 {
            let text = format!(
                "{}: {} did not reach the server, so that there was no answer: no probes of this direction",
                TRACE.name,
                counted(odd.not_answered, "packet")
            );
            let count = odd.not_answered;
            findings.push(Finding::note("never-sent", count, "packets", text));
        }
        findings.extend(self.doubts_on_stats());
        findings
    }
}
