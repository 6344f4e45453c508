//! Which way of a round trip a trace describes, of formats that measure each way.

use serde::Deserialize;

use super::super::finding::{Finding, counted};
use super::super::{Given, Kind, Parameter, Remark};
use super::{Fate, ROUND_TRIP, Record};
use crate::format::import::catalogue::{
    CLOCK_OFFSET, DELAYS_UNKNOWN, LOSS_DIRECTION_UNKNOWN, NEVER_SENT,
};
use crate::types::{ErrorKind, Metadata, Span};

/// Key of the direction.
pub(in super::super) const DIRECTION: Parameter = Parameter::optional(
    "direction",
    Kind::Words(&["up", "down", "round-trip"]),
    "which packets are probes: those to the server (up), its answers (down), with one-way delays, which need synchronised \
     clocks; or both (round-trip), with half of the round trip as the delay [default: round-trip]",
);

/// Which way of a round trip a trace describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
    /// Both.
    RoundTrip,
}

impl Direction {
    /// The direction that `settings` choose; round trips, unless it is given.
    pub(in super::super) fn of(settings: &Given) -> Self {
        match settings.text(DIRECTION.name) {
            Some("up") => Self::Up,
            Some("down") => Self::Down,
            _ => Self::RoundTrip,
        }
    }

    /// The direction of `settings`, which it completes: an assumption is reported, and round trips are halved.
    pub(in super::super) fn complete(settings: &mut Given, note: &mut dyn FnMut(Remark)) -> Self {
        let words = "both ways together are taken as the probe; half of the round trip is taken as the one-way delay";
        settings.assume(DIRECTION.name, "round-trip", words, note);
        let direction = Self::of(settings);
        if direction == Self::RoundTrip {
            settings.set(ROUND_TRIP.name, "");
        }
        direction
    }

    /// Writes a one-way direction to the head.
    pub(in super::super) fn describe(self, head: &mut Metadata) {
        let words = match self {
            Self::Up => "up, from the client to the server",
            Self::Down => "down, from the server to the client",
            Self::RoundTrip => return,
        };
        head.set("direction", words);
    }
}

/// Fate of a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(in super::super) enum Lost {
    /// It was answered.
    #[serde(rename = "false")]
    No,
    /// Lost in an unknown direction: the server did not count what it received.
    #[serde(rename = "true")]
    Somewhere,
    /// The packet did not reach the server.
    #[serde(rename = "true_up")]
    Up,
    /// The answer did not reach the client.
    #[serde(rename = "true_down")]
    Down,
}

/// A round trip with each way measured. Delays are in ns; clocks that differ can make them negative.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Trip {
    /// Sequence number, if the file has numbers.
    pub(in super::super) number: Option<u64>,
    pub(in super::super) lost: Lost,
    /// When the packet in the chosen direction was sent, ns since any time.
    pub(in super::super) sent: Option<i64>,
    pub(in super::super) up: Option<i64>,
    pub(in super::super) down: Option<i64>,
    pub(in super::super) both: Option<i64>,
}

/// Makes packets of one direction out of round trips.
#[derive(Debug)]
pub(in super::super) struct Ways {
    direction: Direction,
    /// Trips that hold no probe of the direction, so far.
    left_out: u64,
    /// The last known delay, ns.
    last_delay: Option<i64>,
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

impl Ways {
    /// Packets of the direction that `settings` choose.
    pub(in super::super) fn new(settings: &Given) -> Self {
        Self {
            direction: Direction::of(settings),
            left_out: 0,
            last_delay: None,
            answered: 0,
            somewhere: 0,
            not_answered: 0,
            unknown: 0,
            unknown_before_first: 0,
            impossible: 0,
            most_off: 0,
        }
    }

    /// The direction.
    pub(in super::super) fn direction(&self) -> Direction {
        self.direction
    }

    /// Round trips that were answered, so far.
    pub(in super::super) fn answered(&self) -> u64 {
        self.answered
    }

    /// The packet of a round trip in this direction; `None` if none was sent, or its delay cannot be known.
    ///
    /// # Errors
    /// A delay of the direction, or a send time, that is missing.
    pub(in super::super) fn record(&mut self, trip: Trip) -> Result<Option<Record>, ErrorKind> {
        self.answered += u64::from(trip.lost == Lost::No);
        self.somewhere += u64::from(trip.lost == Lost::Somewhere);
        let fate = match (self.direction, trip.lost) {
            (_, Lost::No) => Fate::Received(Some(self.delay(&trip)?)),
            (Direction::Down, Lost::Up) => {
                self.not_answered += 1;
                self.left_out += 1;
                return Ok(None);
            }
            (Direction::Up, Lost::Down) => {
                self.unknown += 1;
                let Some(delay) = self.last_delay else {
                    self.unknown_before_first += 1;
                    self.left_out += 1;
                    return Ok(None);
                };
                Fate::Received(Some(delay))
            }
            _ => Fate::Lost,
        };
        if let Fate::Received(delay) = fate {
            self.last_delay = delay;
            if trip.sent.is_none() {
                let expected = "a time of the same clock as of the packets before";
                return Err(ErrorKind::format("a packet without a send time", expected));
            }
        }
        let number = match trip.number {
            Some(number) => Some(number.checked_sub(self.left_out).ok_or_else(|| {
                let found = format!("packet {number} after higher ones");
                ErrorKind::format(found, "numbers in the order of sending")
            })?),
            None => None,
        };
        let sent = trip.sent;
        Ok(Some(Record { number, sent, fate }))
    }

    /// The delay of an answered packet in this direction, ns.
    fn delay(&mut self, trip: &Trip) -> Result<i64, ErrorKind> {
        let Trip {
            up,
            down,
            both: round_trip,
            ..
        } = *trip;
        if let (Some(up), Some(down), Some(round_trip)) = (up, down, round_trip) {
            let off = |way: i64| way.saturating_neg().max(way.saturating_sub(round_trip));
            let off = off(up).max(off(down));
            self.impossible += u64::from(off > 0);
            self.most_off = self.most_off.max(off);
        }
        let delay = match self.direction {
            Direction::Up => up,
            Direction::Down => down,
            Direction::RoundTrip => round_trip.filter(|delay| *delay >= 0),
        };
        delay.ok_or_else(|| match self.direction {
            Direction::RoundTrip => {
                let found = "an answered packet without a round trip of 0 ns or more";
                ErrorKind::format(found, "the delay of the round trip")
            }
            _ => ErrorKind::format(
                "an answered packet without a one-way delay: the server sent no time stamps",
                format!("one-way delays, or {} round-trip", DIRECTION.name),
            ),
        })
    }

    /// Findings on directions and delays.
    pub(in super::super) fn findings(&self, place: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let is_one_way = self.direction != Direction::RoundTrip;
        if self.impossible > 0 {
            let most = Span::from_nanos(self.most_off.unsigned_abs()).unwrap_or(Span::MAX);
            let text = format!(
                "{place}: one-way delays of {} are below 0 or above the round trip, by up to {most}: the clocks differ by at least that",
                counted(self.impossible, "packet"),
            );
            let (count, unit) = (self.impossible, "packets");
            findings.push(if is_one_way {
                let text = format!(
                    "{text}; the variation of delays above 0 holds, but neither propagation nor rtt_ns (`{}` round-trip needs no clocks)",
                    DIRECTION.name
                );
                Finding::of(&CLOCK_OFFSET, count, unit, text).assumed()
            } else {
                let text = format!("{text}; round trips do not depend on them");
                Finding::of(&CLOCK_OFFSET, count, unit, text).harmless()
            });
        }
        if self.somewhere > 0 && is_one_way {
            let text = format!(
                "{place}: {} in an unknown direction, taken as lost in this one",
                counted(self.somewhere, "lost packet")
            );
            let finding = Finding::of(&LOSS_DIRECTION_UNKNOWN, self.somewhere, "packets", text);
            findings.push(finding.assumed());
        }
        if self.unknown > 0 {
            let before = match self.unknown_before_first {
                0 => String::new(),
                before => format!("; {before} before the first known delay are left out"),
            };
            let text = format!(
                "{place}: {} whose answer with the delay was lost; up, they get the delay of the one before{before}",
                counted(self.unknown, "packet")
            );
            let finding = Finding::of(&DELAYS_UNKNOWN, self.unknown, "packets", text);
            findings.push(finding.assumed());
        }
        if self.not_answered > 0 {
            let text = format!(
                "{place}: {} that did not reach the server, which sent no answer: no probes of the way down",
                counted(self.not_answered, "packet")
            );
            findings.push(Finding::of(&NEVER_SENT, self.not_answered, "packets", text));
        }
        findings
    }
}
